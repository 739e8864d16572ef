"""Puts the messages of an agent's session together into turns: what the user said, what was called and came of it, the reply."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from memos.moving.injected import said_only
from memos.moving.items import Bad, Call, Item, Worked
from memos.moving.transcript import MOST_OUTPUT, MOST_TEXT, fit, fitted, plain_call

MOST_CALLS = 2_000  # of one turn
OWN_TOOLS = ("memos_", "mcp__memos__", "memos__")  # what they give back comes from memory
_MOST_THINKING = 4_000
_MOST_SAID = 200  # texts of the assistant in one turn: of more, the first and the last


class Turns:
    """The turns of one session, from its messages in their order. What comes before the first message of a user is a turn
    of its own, if anything was called in it.
    """

    def __init__(self, session: str, info: Mapping[str, Any] | None = None) -> None:
        self._session, self._info = session, dict(info or {})
        self._id, self._text = "", ""
        self._at: str | None = None
        self._said: list[str] = []
        self._thought: list[str] = []
        self._calls: list[Call] = []
        self._where: dict[str, int] = {}
        self._left = 0
        self._done: Worked | None = None

    def user(self, text: str, *, id: str, at: str | None) -> Iterator[Item]:
        """A message of the user; gives the turn before the last one, which is certain not to be the session's last."""
        text = said_only(text)
        if not text:
            return
        yield from self._close()
        self._id, self._text, self._at = id, fit(text, MOST_TEXT), at

    def assistant(self, text: str, *, id: str, at: str | None) -> None:
        """A text of the assistant."""
        if text.strip():
            if self._said[-1:] != [text]:
                self._said.append(fit(text, MOST_TEXT))
            del self._said[_MOST_SAID // 2 : -_MOST_SAID // 2]
            self._begun(id, at)

    def thought(self, text: str) -> None:
        """What a model thought before it answered: kept beside the turn, not learned from."""
        if text.strip() and sum(map(len, self._thought)) < _MOST_THINKING:
            self._thought.append(text.strip()[:_MOST_THINKING])

    def call(self, id: str, tool: str, given: Any, *, at: str | None = None) -> None:
        """A tool was called."""
        if len(self._calls) >= MOST_CALLS:
            self._left += 1
            return
        tool, given = plain_call(tool or "tool", given)
        self._where[id] = len(self._calls)
        self._calls.append(Call(tool, given, at=at, id=id or None))
        self._begun(id, at)

    def result(self, id: str, words: str, *, ok: bool | None, tool: str = "", duration: float | None = None) -> None:
        """What came of a call, after `duration` seconds; of one that nobody saw, it is a call of its own."""
        place = self._where.get(id)
        if place is None:
            if not tool:
                return
            self.call(id, tool, None)
            place = self._where.get(id, -1)
        if 0 <= place < len(self._calls):
            self._calls[place] = replace(ended(self._calls[place], words, ok), duration=duration)

    def end(self) -> Iterator[Item]:
        """The turns that are still held; the last one ends the session's work."""
        yield from self._close()
        if self._done is not None:
            yield replace(self._done, over=True)
            self._done = None

    def _begun(self, id: str, at: str | None) -> None:
        if not self._id:
            self._id, self._at = f"before:{id}", at

    def _close(self) -> Iterator[Item]:
        if self._left:
            yield Bad(
                f"session {self._session!r:.80}, turn {self._id!r:.80}", f"{self._left} calls more than {MOST_CALLS:,}"
            )
        calls = tuple(c for c in self._calls if not c.tool.startswith(OWN_TOOLS))
        if self._text or calls:
            if self._done is not None:
                yield self._done
            info = {
                **self._info,
                **({"thinking": "\n\n".join(self._thought)[:_MOST_THINKING]} if self._thought else {}),
            }
            self._done = Worked(
                self._session, self._id, self._text, fit("\n\n".join(self._said), MOST_TEXT), calls, self._at, info=info
            )
        self._id, self._text, self._at, self._left = "", "", None, 0
        self._said, self._thought, self._calls, self._where = [], [], [], {}


def ended(call: Call, words: str, ok: bool | None) -> Call:
    """A call with what came of it."""
    words = fit(words, MOST_OUTPUT)
    if ok is False:
        return replace(call, error=words or "failed", ok=False)
    return replace(call, output=words, ok=ok)


def plain(value: Any) -> str:
    """What a tool gave back, as text."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(fitted(value), ensure_ascii=False)
