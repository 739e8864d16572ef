"""Events of a stream (`data:` lines), put together from bytes that may be cut anywhere: in a line, in a character."""

from __future__ import annotations

from collections.abc import Iterator

LONGEST_LINE = 16 << 20


class TooLong(ValueError):
    """A line that does not end."""


class Events:
    """Takes bytes, gives what stands behind `data:`, a line at a time. `other`: the first bytes of lines that are no part of the
    protocol, such as the error of a server that does not stream."""

    def __init__(self) -> None:
        self._line = bytearray()
        self.other = ""

    def feed(self, chunk: bytes) -> Iterator[str]:
        """The data of every line that is complete now. Raises TooLong."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._line += line
            yield from self._data()
        self._line += rest
        if len(self._line) > LONGEST_LINE:
            self._line.clear()
            raise TooLong

    def end(self) -> Iterator[str]:
        """The data of the last line, which had no end."""
        yield from self._data()

    def _data(self) -> Iterator[str]:
        line, self._line = self._line.decode("utf-8", "replace").strip("\r\ufeff"), bytearray()
        if line.startswith("data:"):
            yield line[5:].strip()
        elif line and not line.startswith((":", "event:", "id:", "retry:")) and len(self.other) < LONGEST_LINE:
            self.other += line + "\n"
