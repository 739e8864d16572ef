"""HTML to readable text: what a reader of the page sees, block by block; scripts, styles and hidden parts are left out."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from html.parser import HTMLParser

from memos.errors import UnreadableFile

_SKIPPED = frozenset({"script", "style", "template", "noscript", "svg", "math", "iframe", "object", "select", "head"})
_BLOCKS = frozenset(
    """address article aside blockquote body br dd details dialog div dl dt fieldset figcaption figure footer form
    h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table tbody tfoot thead title tr ul""".split()  # noqa: SIM905
)
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())  # noqa: SIM905
_SPACE = re.compile(r"[ \t\n\r\f\v\u00a0]+")
SECONDS, SLOWEST = 10.0, 100_000  # reading a page may take this, and a second for so many characters


def html_text(html: str) -> tuple[str, str]:
    """The title of a page, and its text: a line for each block, headings with #, cells apart by |."""
    reader = _Reader(SECONDS + len(html) / SLOWEST)
    reader.feed(html)
    reader.close()
    return " ".join("".join(reader.title).split()), reader.text()


class _Reader(HTMLParser):
    def __init__(self, seconds: float) -> None:
        super().__init__(convert_charrefs=True)
        self._until = time.monotonic() + seconds
        self.title: list[str] = []
        self._out: list[str] = []
        self._line: list[str] = []
        self._skipped: list[str] = []  # open tags from the first whose content is not shown
        self._in_title = self._in_pre = False

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
            return
        if self._skipped:
            if tag == "body":  # a head that was not closed
                self._skipped.clear()
            elif tag not in _VOID:
                self._skipped.append(tag)
            return
        given = dict(attrs)
        if (tag in _SKIPPED or "hidden" in given) and tag not in _VOID:
            self._skipped.append(tag)
            return
        if tag in _BLOCKS:
            self._end_line()
        if tag in ("td", "th") and self._line:
            self._line.append(" | ")
        elif tag == "li":
            self._line.append("- ")
        elif len(tag) == 2 and tag[0] == "h" and tag[1] in "123456":
            self._line.append("#" * int(tag[1]) + " ")
        elif tag == "pre":
            self._in_pre = True
        elif tag == "img" and given.get("alt"):
            self._line.append(f"[image: {given['alt']}]")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
            return
        if self._skipped:
            if tag in self._skipped:
                del self._skipped[len(self._skipped) - 1 - self._skipped[::-1].index(tag) :]
            return
        if tag in _BLOCKS:
            self._end_line(keep=self._in_pre)
        if tag == "pre":
            self._in_pre = False

    def handle_data(self, data: str) -> None:
        if time.monotonic() > self._until:  # tags that never end: each is looked for to the last character
            raise UnreadableFile(
                "the HTML takes too long to read: many of its tags or comments never end; nothing was stored"
            )
        if self._in_title:
            self.title.append(data)
        elif self._skipped:
            return
        elif self._in_pre:
            first, *rest = data.split("\n")
            self._line.append(first)
            for line in rest:
                self._end_line(keep=True)
                self._line.append(line)
        else:
            self._line.append(_SPACE.sub(" ", data))

    def text(self) -> str:
        """The lines so far."""
        self._end_line()
        return "\n".join(self._out)

    def _end_line(self, *, keep: bool = False) -> None:
        line = "".join(self._line)
        line = line.rstrip() if keep else _SPACE.sub(" ", line).strip()
        self._line.clear()
        if line.strip(" -#|"):
            self._out.append(line)
