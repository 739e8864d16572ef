"""Cutting text into sentences and passages: spans that cover every character, in order, without overlap."""

from __future__ import annotations

import re
import unicodedata

from memos.errors import InvalidInput

Span = tuple[int, int]

_FENCE = re.compile(
    r"^[ \t]{0,3}(?P<mark>```+|~~~+).*?(?:^[ \t]{0,3}(?P=mark)[`~]*[ \t]*$\n*|\Z)", re.MULTILINE | re.DOTALL
)
_CLOSERS = "\"'”’»」』）)\\]】》〉"
_END = re.compile(
    rf"(?:[。！？｡…]+[{_CLOSERS}]*|[!?]+[{_CLOSERS}]*(?=\s|$)|(?P<dot>\.+)[{_CLOSERS}]*(?=\s|$)|(?=\n))\s*"
    r"|[；;](?=\s|[\u3000-\u9fff])\s*"
)
_ABBREVIATION = re.compile(
    r"(?:^|[^\w.'’])(?:mr|mrs|ms|dr|prof|st|sr|jr|vs|etc|e\.g|i\.e|cf|no|approx|fig|inc|ltd|co|dept|est|a\.m|p\.m|u\.s|u\.k|[a-z])$",
    re.IGNORECASE,
)
_MAX_GRAPHEME = 64
_BREAKS = re.compile(r"\s+|(?<=[,，、;；:：)）\]】])")


def sentences(text: str) -> list[Span]:
    """Spans (start, end) of the sentences; white space belongs to the sentence before it, a code fence is one sentence.

    The spans cover the text from 0 to its length. Empty text has none.
    """
    spans: list[Span] = []
    at = 0
    for fence in _FENCE.finditer(text):
        _plain_sentences(text, at, fence.start(), spans)
        spans.append(fence.span())
        at = fence.end()
    _plain_sentences(text, at, len(text), spans)
    return spans


def passages(text: str, max_chars: int = 1200) -> list[Span]:
    """Spans of at most `max_chars` characters, as few as greedy packing of sentences gives; they cover the whole text.

    A sentence longer than that is cut between words, else anywhere but inside a grapheme (an emoji with joiners, a
    letter with its marks, a surrogate pair); only a single grapheme longer than `max_chars` makes a longer passage.
    """
    if max_chars < 1:
        raise InvalidInput(f"max_chars is {max_chars}; a passage needs at least 1 character")
    spans: list[Span] = []
    start = end = 0
    for first, last in sentences(text):
        if last - start > max_chars and end > start:
            spans.append((start, end))
            start = first
        while last - start > max_chars:
            cut = _cut_point(text, start, last, max_chars)
            if cut >= last:
                break
            spans.append((start, cut))
            start = cut
        end = last
    if end > start:
        spans.append((start, end))
    return spans


def _plain_sentences(text: str, start: int, stop: int, spans: list[Span]) -> None:
    at = start
    for match in _END.finditer(text, start, stop):
        if match["dot"] == "." and _ABBREVIATION.search(text[max(at, match.start() - 12) : match.start()]):
            continue
        if match.end() > at and not text[at : match.start()].isspace() and match.end() > match.start():
            if inside_grapheme(text, match.end()):
                continue
            spans.append((at, match.end()))
            at = match.end()
    if stop > at:
        spans.append((at, stop))


def _cut_point(text: str, start: int, stop: int, max_chars: int) -> int:
    limit = start + max_chars
    best = 0
    for match in _BREAKS.finditer(text, start + max_chars // 2, min(limit + 1, stop)):
        if match.end() <= limit:
            best = match.end()
    if best > start and not inside_grapheme(text, best, start):
        return best
    for cut in range(limit, max(start, limit - _MAX_GRAPHEME), -1):
        if not inside_grapheme(text, cut, start):
            return cut
    for cut in range(limit + 1, min(stop, start + _MAX_GRAPHEME)):
        if not inside_grapheme(text, cut, start):
            return cut
    # More marks than any language stacks on one letter: not a grapheme, only a surrogate pair must hold together.
    return limit + _splits_surrogates(text, limit) if max_chars >= _MAX_GRAPHEME else min(stop, start + _MAX_GRAPHEME)


def inside_grapheme(text: str, at: int, since: int | None = None) -> bool:
    """Whether a cut at this index would separate characters that are seen as one. `since`: a cut before it that is none,
    from which on flags are counted in pairs (a long row of them looks the same everywhere).
    """
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if after < "\u0300":
        return before == "\r" and after == "\n"
    if before in "\u200d\u094d\u09cd\u0d4d" or after in "\u200c\u200d" or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if unicodedata.category(after)[0] == "M" or "\U000e0020" <= after <= "\U000e007f":
        return True
    if "\u1160" <= after <= "\u11ff":
        return "\u1100" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"
    return _splits_surrogates(text, at) or _splits_flag(
        text, at, max(0, at - _MAX_GRAPHEME) if since is None else since
    )


def _splits_surrogates(text: str, at: int) -> bool:
    return "\ud800" <= text[at - 1] <= "\udbff" and "\udc00" <= text[at] <= "\udfff"


def _splits_flag(text: str, at: int, since: int) -> bool:
    if not ("\U0001f1e6" <= text[at] <= "\U0001f1ff"):
        return False
    count = 0
    while at - count > since and "\U0001f1e6" <= text[at - count - 1] <= "\U0001f1ff":
        count += 1
    return count % 2 == 1
