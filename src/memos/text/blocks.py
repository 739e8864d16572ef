"""Where a block between two tags ends, also where blocks of the same name stand within it."""

from __future__ import annotations


class Blocks:
    """The blocks of one name in a text (its tags in lower case), asked for from its beginning to its end."""

    def __init__(self, text: str, name: str) -> None:
        self._text, self._opening, self._closing = text, f"<{name}", f"</{name}>"
        self._nested = self._closed = True

    def end(self, at: int) -> int:
        """The place behind the tag that closes the block whose opening tag ends at `at`; -1 where nothing closes it. Where fewer
        are closed than opened, it is the first closing tag. All places of a text together take one look at it.
        """
        if not self._closed:
            return -1
        first = self._close(at)
        self._closed = first >= 0
        end, begin, depth = first, at, 1
        while self._nested and end >= 0:
            depth += self._text.count(self._opening, begin, end) - 1
            if not depth:
                return end
            begin, end = end, self._close(end)
        if first >= 0:
            self._nested = False
        return first

    def _close(self, at: int) -> int:
        found = self._text.find(self._closing, at)
        return found if found < 0 else found + len(self._closing)
