"""What must never be learned from: recalled memories fed back in, heartbeats, and prompts of the system.

The raw text stays verbatim in the trace (law 1); only what is *derived* from it sees the cleaned text. Cleaning keeps
the length, so a span in the cleaned text is the same span in the original.
"""

from __future__ import annotations

import re
from enum import StrEnum

from memos.memory.message import Message
from memos.reading.parts import is_blank

_QUICK = re.compile(r"</?\w*[-_]?(?:mem|system|developer)|heartbeat|#[ \t]*re|new session|\[cron", re.IGNORECASE)
_TAG = re.compile(
    r"<(?P<close>/)?(?P<name>memor(?:y|ies)(?:[-_]\w+)*"
    r"|(?:\w+[-_])?(?:relevant|recalled|retrieved|user|long[-_]term)[-_]memor(?:y|ies)|memos(?:[-_]\w+)*"
    r"|system(?:[-_](?:reminder|prompt|message))?|developer(?:[-_](?:prompt|message))?)"
    r"(?:\s[^<>]*)?(?P<self>/)?(?:>|$)",
    re.IGNORECASE,
)
# A tag cut off by a length limit at the very end: "</memor".
_CUT_CLOSE = re.compile(r"</?(?:m(?:e(?:m(?:o(?:r(?:i(?:e)?)?)?)?)?)?)?$", re.IGNORECASE)
_LINES = (
    re.compile(r"^[^\n]*\bHEARTBEAT_OK\b[^\n]*", re.MULTILINE),
    re.compile(r"^[ \t]*\[\s*heartbeat\b[^\n]*", re.MULTILINE | re.IGNORECASE),
    re.compile(
        r"^[ \t]*(?:please )?(?:read|check|see|follow) (?:the )?[`*]?HEARTBEAT\.md\b[^\n]*",
        re.MULTILINE | re.IGNORECASE,
    ),
    re.compile(r"^[ \t]*\[cron:[^\n]*", re.MULTILINE | re.IGNORECASE),
    re.compile(r"^[ \t]*A new session was started via /(?:new|reset)\b[^\n]*", re.MULTILINE),
    # A recalled list under a heading, as some hosts write it: the heading and the list after it.
    re.compile(
        r"^[ \t]*#{1,6}[ \t]*(?:recalled|relevant|retrieved)[ \t]+memor(?:y|ies)\b[^\n]*"
        r"(?:\n[ \t]*(?:(?:[-*•]|\d+[.)])[ \t][^\n]*)?(?=\n|$))*",
        re.MULTILINE | re.IGNORECASE,
    ),
)


class Reason(StrEnum):
    """Why nothing may be learned from a message."""

    SYSTEM_PROMPT = "system_prompt"
    TOOL_OUTPUT = "tool_output"
    INJECTED = "injected"
    BLANK = "blank"


def why_not(message: Message) -> Reason | None:
    """Why facts must not be derived from `message`, or None where they may (from its cleaned text)."""
    if message.role in ("system", "developer"):
        return Reason.SYSTEM_PROMPT
    if message.role == "tool":
        return Reason.TOOL_OUTPUT
    if is_blank(message.text):
        return Reason.BLANK
    return Reason.INJECTED if is_blank(strip_injected(message.text)[0]) else None


def strip_injected(text: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """`text` with injected passages blanked out, and their spans (end exclusive, ascending, disjoint).

    Each removed character becomes a newline: the result has the length of `text` and every span in it holds in `text`.
    An opening tag that is never closed takes everything after it; a closing tag that was never opened, everything
    before it.
    """
    if not _QUICK.search(text):
        return text, ()
    spans = _blocks(text)
    for pattern in _LINES:
        spans.extend(match.span() for match in pattern.finditer(text))
    merged = _merge(spans)
    if not merged:
        return text, ()
    out, at = [], 0
    for start, end in merged:
        out += [text[at:start], "\n" * (end - start)]
        at = end
    return "".join(out) + text[at:], tuple(merged)


def _blocks(text: str) -> list[tuple[int, int]]:
    """The spans of fenced blocks, with nested, unclosed and unopened tags."""
    spans: list[tuple[int, int]] = []
    stack: list[str] = []
    start = done = 0
    for tag in _TAG.finditer(text):
        name = re.sub(r"[-_]", "", tag["name"].lower())
        if tag["self"] or not tag["close"]:
            if not stack:
                start = tag.start()
            if not tag["self"]:
                stack.append(name)
            elif not stack:
                spans.append(tag.span())
        elif not stack:
            spans.append((done, tag.end()))
        elif name in stack:
            del stack[len(stack) - 1 - stack[::-1].index(name) :]
            if not stack:
                spans.append((start, tag.end()))
        if not stack:
            done = tag.end()
    if stack:
        spans.append((start, len(text)))
    elif spans and (cut := _CUT_CLOSE.search(text)):
        spans.append(cut.span())
    return spans


def _merge(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(span for span in spans if span[1] > span[0]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
