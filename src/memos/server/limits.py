"""How much a caller may ask for: requests a minute, messages of one add. (For bodies see `bodies`.)"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from memos.errors import Busy, InvalidInput
from memos.server.options import ServerOptions
from memos.server.wire import Scope, add_header

_KNOWN = 10_000  # buckets kept at most; the least recently used are forgotten, which forgives them


class RateLimit:
    """A token bucket for each key, and each address without one. Refused calls do not count."""

    def __init__(self, options: ServerOptions) -> None:
        self._per_second = options.rate_per_minute / 60
        self._burst = options.rate_burst or options.rate_per_minute
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens left, and when

    def take(self, scope: Scope, who: str) -> None:
        """Count one request. Raises Busy when there were too many."""
        if not self._per_second:
            return
        now = time.monotonic()
        left, at = self._buckets.get(who, (float(self._burst), now))
        left = min(float(self._burst), left + (now - at) * self._per_second)
        granted = left >= 1
        left -= granted
        self._buckets[who] = (left, now)
        self._buckets.move_to_end(who)
        if len(self._buckets) > _KNOWN:
            self._buckets.popitem(last=False)
        full_in = math.ceil((self._burst - left) / self._per_second)
        add_header(scope, "X-RateLimit-Limit", str(self._burst))
        add_header(scope, "X-RateLimit-Remaining", str(int(left)))
        add_header(scope, "X-RateLimit-Reset", str(full_in))
        if not granted:
            wait = (1 - left) / self._per_second
            raise Busy(f"too many requests; try again in {math.ceil(wait)} s", wait)


def check_messages(options: ServerOptions, messages: object) -> None:
    """Raise InvalidInput when one add has too many messages, or a message too much text."""
    rows: Sequence[Any] = messages if isinstance(messages, (list, tuple)) else [messages]
    if len(rows) > options.messages_per_add:
        raise InvalidInput(
            f"{len(rows):,} messages in one add, at most {options.messages_per_add:,} are allowed (MEMOS_SERVER_MESSAGES_PER_ADD)"
        )
    for number, row in enumerate(rows, 1):
        size = _characters(row)
        if size > options.text_chars:
            raise InvalidInput(
                f"message {number} has {size:,} characters, at most {options.text_chars:,} are allowed (MEMOS_SERVER_TEXT_CHARS)"
            )


def check_text(options: ServerOptions, messages: object, what: str = "the messages have") -> None:
    """Raise InvalidInput when what is read while the caller waits has more text than one message may have."""
    size = _characters(messages)
    if size > options.text_chars:
        raise InvalidInput(
            f"{what} {size:,} characters, at most {options.text_chars:,} are read at once (MEMOS_SERVER_TEXT_CHARS)"
        )


def _characters(value: object) -> int:
    """Characters of the texts in a message; of data in it (an image as a URL), nothing."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(_characters(value[k]) for k in ("content", "text") if k in value)
    if isinstance(value, (list, tuple)):
        return sum(map(_characters, value))
    return 0
