"""A model's thinking told from its answer while both come in: `<think>…</think>` at the beginning, in pieces of any size."""

from __future__ import annotations

import re
from typing import Literal

_OPEN = ("<think>", "<thinking>", "<thought>", "<reasoning>")
_CLOSE = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_LONGEST_CLOSE = len("</reasoning>")


class Thoughts:
    """Takes pieces of what a model sends, gives (answer, thinking). Tags later in an answer are left: it may be about them."""

    def __init__(self) -> None:
        self._state: Literal["begin", "thinking", "answer"] = "begin"
        self._held = ""
        self._thought = False

    def feed(self, piece: str) -> tuple[str, str]:
        """What of the answer and of the thinking is known now."""
        self._held += piece
        answer, thinking = "", ""
        while True:
            before = self._state
            if before == "begin":
                self._begin()
            elif before == "thinking":
                thinking += self._think()
            else:
                answer, self._held = answer + self._held, ""
            if self._state == before:
                return answer, thinking

    def end(self) -> tuple[str, str]:
        """What was held back. A thought that was not closed stays a thought."""
        held, self._held = self._held.strip() if self._state == "begin" and self._thought else self._held, ""
        return ("", held) if self._state == "thinking" else (held, "")

    def _begin(self) -> None:
        """Wait until it is clear whether a thought begins."""
        start = self._held.lstrip()
        tag = next((t for t in _OPEN if start[: len(t)].lower() == t), None)
        if tag is not None:
            self._state, self._held, self._thought = "thinking", start[len(tag) :], True
        elif start and not any(t.startswith(start.lower()) for t in _OPEN):
            self._state, self._held = "answer", start if self._thought else self._held

    def _think(self) -> str:
        close = _CLOSE.search(self._held)
        if close is not None:
            thought, self._held, self._state = self._held[: close.start()], self._held[close.end() :], "begin"
            return thought
        last = self._held.rfind("<", -_LONGEST_CLOSE)
        thought, self._held = (self._held, "") if last < 0 else (self._held[:last], self._held[last:])
        return thought


def split(text: str) -> tuple[str, str]:
    """A whole answer: (answer, thinking). What is before a closing tag whose opening was in the prompt was thought, too."""
    thoughts = Thoughts()
    answer, thinking = thoughts.feed(text)
    more, rest = thoughts.end()
    answer, thinking = answer + more, thinking + rest
    if not thinking and (close := _CLOSE.search(answer)) is not None and not _opened(answer, close.start()):
        answer, thinking = answer[close.end() :].lstrip(), answer[: close.start()]
    return answer, thinking


def _opened(text: str, before: int) -> bool:
    return any(tag in text[:before].lower() for tag in _OPEN)
