"""Regular expressions that are compiled when first used: tables of hundreds of patterns must not slow down an import."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

_METHODS = ("match", "fullmatch", "search", "finditer", "findall", "split", "sub")


class LazyPattern:
    """A pattern with the methods of `re.Pattern` that tables need; compiled on the first call."""

    def __init__(self, source: str, flags: int = 0) -> None:
        self.source = source
        self.flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled pattern, whose own methods stand here from now on."""
        made = re.compile(self.source, self.flags)
        self.__dict__.update({name: getattr(made, name) for name in _METHODS})
        return made

    @property
    def groupindex(self) -> Mapping[str, int]:
        """The numbers of the named groups."""
        return self.compiled.groupindex

    def match(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """As `re.Pattern.match`."""
        return self.compiled.match(text, start, end)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """As `re.Pattern.fullmatch`."""
        return self.compiled.fullmatch(text)

    def search(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """As `re.Pattern.search`."""
        return self.compiled.search(text, start, end)

    def finditer(self, text: str, start: int = 0, end: int = sys.maxsize) -> Iterator[re.Match[str]]:
        """As `re.Pattern.finditer`."""
        return self.compiled.finditer(text, start, end)

    def findall(self, text: str) -> list[Any]:
        """As `re.Pattern.findall`."""
        return self.compiled.findall(text)

    def split(self, text: str, most: int = 0) -> list[str | Any]:
        """As `re.Pattern.split`."""
        return self.compiled.split(text, most)

    def sub(self, repl: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        """As `re.Pattern.sub`."""
        return self.compiled.sub(repl, text, count)
