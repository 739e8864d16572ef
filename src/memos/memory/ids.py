"""Identifiers: UUIDv7 (RFC 9562), ordered by creation time, strictly increasing within a process."""

from __future__ import annotations

import os
import threading
import time
import uuid

from memos.errors import InvalidInput

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
    rand = int.from_bytes(os.urandom(8), "big") & ((1 << 62) - 1)
    h = f"{stamp >> 12:012x}7{stamp & 0xFFF:03x}{(2 << 62) | rand:016x}"
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def id_to_bytes(value: str) -> bytes:
    """16 bytes of a canonical id. Raises InvalidInput when it is not a UUID."""
    if not isinstance(value, str) or len(value) != 36:
        raise InvalidInput(f"{value!r} is not a memory id; ids are UUIDs like '0190a3c2-…' as returned by add() and search()")
    try:
        return bytes.fromhex(value.replace("-", ""))
    except ValueError:
        raise InvalidInput(f"{value!r} is not a memory id (not hexadecimal)") from None


def id_from_bytes(value: bytes) -> str:
    """Canonical text of 16 id bytes."""
    h = value.hex()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def is_id(value: str) -> bool:
    """Whether `value` is a well-formed UUID."""
    try:
        uuid.UUID(value)
    except ValueError:
        return False
    return True
