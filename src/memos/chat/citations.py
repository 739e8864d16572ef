"""Citations in a streamed answer: `[n:ref]` is passed on whole, never in two pieces, and one of no known memory is left out."""

from __future__ import annotations

import re
from collections.abc import Collection

_WHOLE = re.compile(r"\[(\d{1,4}):([0-9a-f]{8})\]")
_BEGUN = re.compile(r"\[(?:\d{1,4}(?::(?:[0-9a-f]{0,8}))?)?$")
_SPACED = re.compile(r" ?\[\d{1,4}:[0-9a-f]{8}\]")


class Citations:
    """Passes the text of an answer on, piece by piece. `marks`: the citations that mean something, as `[1:9f2c01ab]`."""

    def __init__(self, marks: Collection[str]) -> None:
        self._marks, self._held = frozenset(marks), ""

    def feed(self, text: str) -> str:
        """What can be passed on now that this came; what may become a citation is held back."""
        text, self._held = self._held + text, ""
        begun = _BEGUN.search(text)
        if begun:
            text, self._held = text[: begun.start()], text[begun.start() :]
        return self._known(text)

    def end(self) -> str:
        """What was held back: it became no citation."""
        text, self._held = self._held, ""
        return text

    def _known(self, text: str) -> str:
        return _WHOLE.sub(lambda found: found[0] if found[0] in self._marks else "", text)


def without_citations(text: str) -> str:
    """The answer as it is worth keeping: a mark means something beside this one list of memories only."""
    return _SPACED.sub("", text)
