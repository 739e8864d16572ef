"""Corrections in ordinary turns: "No, I meant Bergen, not Oslo" right after an answer of the assistant's that says so.

Conservative: only a message that begins by refusing what was just said, and only of what that answer told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memos.memory.message import Message
from memos.memory.statement import Correction

_REFUSES = re.compile(
    r"\s*(?:(?:no|nope|nah|wrong|incorrect|sorry|actually|not quite|that'?s (?:wrong|not right|not true)|i meant|correction)\b"
    r"|不对|不是|不，|不,|错了|说错|你?记错|更正|搞错)",
    re.IGNORECASE,
)
_MOST = 300  # characters of a message that only puts something right


def corrected_in_passing(message: Message, before: Sequence[Message]) -> tuple[tuple[Correction, ...], str]:
    """The corrections a message makes of the assistant's answer just before it, and that answer; none and "" else."""
    last = before[-1] if before else None
    if last is None or last.role != "assistant" or message.role != "user" or len(message.text) > _MOST:
        return (), ""
    if last.text.rstrip().endswith(("?", "？")) or not _REFUSES.match(message.text):
        return (), ""
    if message.text.rstrip().endswith(("?", "？", "吗", "吗。")):
        return (), ""
    from memos.reading.correction import corrections_of  # its patterns take a while to be compiled

    found = tuple(c for c in corrections_of(message.text) if c.old is None or c.old.casefold() in last.text.casefold())
    return (found, last.text) if found else ((), "")
