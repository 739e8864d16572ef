"""Identifiers: UUIDv7 (RFC 9562), ordered by creation time, strictly increasing within a process; and keys made of contents."""

from __future__ import annotations

import hashlib
import os
import random
import re
import threading
import time

from memos.errors import InvalidInput

_random = random.Random(os.urandom(16))  # unique, not secret; asking the system each time costs a thread switch
os.register_at_fork(after_in_child=lambda: _random.seed(os.urandom(16))) if hasattr(os, "register_at_fork") else None
_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """A new UUIDv7 as canonical text: 48 bits of Unix milliseconds, 12 bits of sub-millisecond order, 62 random bits.

    Two calls in one process never return the same or a smaller value.
    """
    global _last
    with _lock:
        # 60 bits: milliseconds, then a 12-bit fraction of the millisecond (RFC 9562 §6.2, method 3).
        ns = time.time_ns()
        stamp = (ns // 1_000_000 << 12) | (ns % 1_000_000) * 4096 // 1_000_000
        _last = stamp = max(stamp, _last + 1)
    rand = _random.getrandbits(62)
    h = f"{stamp >> 12:012x}7{stamp & 0xFFF:03x}{(2 << 62) | rand:016x}"
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


_CANONICAL = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def id_to_bytes(value: str) -> bytes:
    """16 bytes of a canonical id. Raises InvalidInput when it is not a UUID."""
    if not isinstance(value, str) or not _CANONICAL.fullmatch(value):
        raise InvalidInput(
            f"{value!r} is not a memory id; ids are UUIDs such as 01a22a82-4e41-70a5-ae4d-30bf30d73c9d, from add() or search()"
        )
    return bytes.fromhex(value.replace("-", ""))


def id_from_bytes(value: bytes) -> str:
    """Canonical text of 16 id bytes."""
    h = value.hex()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def is_id(value: str) -> bool:
    """Whether `value` is a well-formed UUID."""
    return isinstance(value, str) and _CANONICAL.fullmatch(value) is not None


def unique_key(*parts: str) -> bytes:
    """What something is stored once under: 16 bytes, the same for the same parts in the same order."""
    return hashlib.blake2b("\x1f".join(parts).encode("utf-8", "replace"), digest_size=16).digest()
