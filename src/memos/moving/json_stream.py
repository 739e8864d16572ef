"""A JSON file read element by element, so that its size does not matter: the elements of the list it is, or of the lists
under the keys of the object it is.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from memos.errors import InvalidInput
from memos.moving.files import LONGEST_LINE

_CHUNK = 1 << 20
_SPACE = re.compile(r"[ \t\n\r]*")
_WHOLE = -1
_BEHIND = frozenset(" \t\n\r,:]}")  # what may stand behind a value


@dataclass(frozen=True, slots=True)
class Element:
    """A value of a file. `key`: under which it stands ("" in a list); `index`: its place in its list, -1 for a value that is no
    list.
    """

    key: str
    index: int
    value: Any

    @property
    def where(self) -> str:
        """Its place, for people."""
        return self.key if self.index == _WHOLE else f"{self.key}[{self.index}]"

    def within(self, name: str) -> str:
        """Its place in the file of that name."""
        return f"{name}: {self.where}" if self.key else f"{name}{self.where}"


def elements(file: IO[bytes], name: str) -> Iterator[Element]:
    """The elements of a file, in order. Raises InvalidInput where it is not JSON (or not UTF-8), one element is larger than
    64 MB, or it is nested too deeply.
    """
    reader = _Reader(file, name)
    first = reader.peek()
    if first == "[":
        yield from reader.items("")
    elif first == "{":
        yield from reader.values()
    else:
        raise InvalidInput(f"{name} is no JSON list or object")
    if reader.peek():
        raise reader.bad("goes on behind its end")


class _Reader:
    """Decodes values from a window of text that moves over the file."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("strict").decode
        self._json = json.JSONDecoder()
        self._text, self._at, self._passed, self._ended = "", 0, 0, False

    def items(self, key: str) -> Iterator[Element]:
        """The elements of the list that begins here."""
        self._take("[")
        if self.peek() == "]":
            self._at += 1
            return
        index = 0
        while True:
            yield Element(key, index, self._value())
            index += 1
            if self._next_is("]"):
                return

    def values(self) -> Iterator[Element]:
        """The values of the object that begins here; of those that are lists, the elements."""
        self._take("{")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            if self.peek() != '"':
                raise self.bad("has a key that is no text")
            key = self._value()
            self._take(":")
            if self.peek() == "[":
                yield from self.items(key)
            else:
                yield Element(key, _WHOLE, self._value())
            if self._next_is("}"):
                return

    def peek(self) -> str:
        """The next character that is no space; nothing at the end."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more(_CHUNK):
                return ""

    def bad(self, why: str) -> InvalidInput:
        """An error that names the place."""
        return InvalidInput(f"{self._name} {why} (near character {self._passed + self._at:,})")

    def _next_is(self, closing: str) -> bool:
        found = self.peek()
        if found not in (closing, ","):
            raise self.bad("is cut off" if not found else "is not JSON")
        self._at += 1
        return found == closing

    def _take(self, char: str) -> None:
        if self.peek() != char:
            raise self.bad("is not JSON")
        self._at += 1

    def _value(self) -> Any:
        self.peek()
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except RecursionError:
                raise self.bad("is nested too deeply") from None
            except ValueError as e:
                if self._grow():
                    continue
                raise self.bad(f"is cut off or not JSON: {getattr(e, 'msg', e)}") from None
            if self._text[end : end + 1] in _BEHIND or not self._grow():  # a number may go on behind the window
                self._at = end
                return value

    def _grow(self) -> bool:
        """A larger window, twice what is in it already, so that little is decoded twice."""
        held = len(self._text) - self._at
        if held > LONGEST_LINE:
            raise self.bad(f"has an element of more than {LONGEST_LINE >> 20} MB, or is not JSON")
        return self._more(max(_CHUNK, held))

    def _more(self, size: int) -> bool:
        if self._ended:
            return False
        data = self._file.read(size)
        try:
            new = self._decode(data, not data)
        except UnicodeDecodeError as e:
            raise InvalidInput(f"{self._name} is not UTF-8 text ({e.reason})") from None
        self._ended = not data
        self._passed += self._at
        self._text, self._at = self._text[self._at :] + new, 0
        return bool(data)
