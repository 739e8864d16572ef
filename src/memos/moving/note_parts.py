"""Markdown notes in parts of their own: one for each entry of a list and each paragraph, under the headings it stands below."""

from __future__ import annotations

import re
from collections.abc import Iterator

MOST_PART = 4_000  # characters
_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_ENTRY = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s+")


def parts(markdown: str) -> Iterator[str]:
    """The parts of a note, each with its headings before it; code between fences stays together."""
    headings: dict[int, str] = {}
    held: list[str] = []
    fenced = False

    def part() -> Iterator[str]:
        words = "\n".join(held).strip()
        held.clear()
        if words:
            said = " › ".join(headings[level] for level in sorted(headings))
            for first in range(0, len(words), MOST_PART):
                yield f"{said}: {words[first : first + MOST_PART]}" if said else words[first : first + MOST_PART]

    for line in markdown.splitlines():
        fence = line.lstrip().startswith(("```", "~~~"))
        heading = None if fenced or fence else _HEADING.match(line)
        if heading is not None:
            yield from part()
            level = len(heading[1])
            for deeper in [n for n in headings if n >= level]:
                del headings[deeper]
            if heading[2].strip():
                headings[level] = heading[2].strip()[:200]
            continue
        if not fenced and (not line.strip() or _ENTRY.match(line)):
            yield from part()
        held.append(_ENTRY.sub("", line, count=1) if not fenced and _ENTRY.match(line) else line)
        fenced ^= fence
    yield from part()
