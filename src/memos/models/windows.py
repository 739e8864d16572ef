"""Cuts texts to what a model can read at once, and groups them into requests of bounded size.

Token counts are estimates on the high side: a server's tokenizer is not at hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_SPACE = re.compile(r"\s")
_ASCII_PER_TOKEN = 3
_LOOK_BACK = 0.2


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may hold. Tokens are estimates on the high side."""

    text_tokens: int = 2_000
    """Longer texts are cut into windows."""
    batch_tokens: int = 16_000
    batch_texts: int = 64


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a text, with the position of that text in the caller's list and the part's share of it (its tokens)."""

    owner: int
    text: str
    tokens: int


def estimated_tokens(text: str) -> int:
    """Guess the number of tokens, rather too many: one per 3 ASCII characters, one per other character; at least 1."""
    return max(1, guessed_tokens(text, _ASCII_PER_TOKEN))


def guessed_tokens(text: str, ascii_per_token: int) -> int:
    """One for so many ASCII characters, one for each other character."""
    ascii_count = len(text) if text.isascii() else sum(map(str.isascii, text))
    return -(-ascii_count // ascii_per_token) + len(text) - ascii_count


def windows_of(texts: Sequence[str], owners: Sequence[int], longest: int) -> list[Window]:
    """Cut each of `texts` (owner `owners[i]`) into windows of at most `longest` tokens, at white space if possible.

    The windows of a text joined together are that text: nothing is lost or read twice.
    """
    return [
        Window(owner, part, estimated_tokens(part))
        for text, owner in zip(texts, owners, strict=True)
        for part in _parts(text, longest)
    ]


def batches_of(windows: Sequence[Window], limits: Limits) -> Iterator[list[Window]]:
    """Group neighbours into batches within `limits`; a window larger than a batch goes alone."""
    batch, tokens = list[Window](), 0
    for window in windows:
        if batch and (len(batch) >= limits.batch_texts or tokens + window.tokens > limits.batch_tokens):
            yield batch
            batch, tokens = [], 0
        batch.append(window)
        tokens += window.tokens
    if batch:
        yield batch


def _parts(text: str, longest: int) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = _end(text, start, longest)
        if text[start:end].strip():
            yield text[start:end]
        start = end


def _end(text: str, start: int, longest: int) -> int:
    """Return where the window from `start` must end: after white space in its last fifth if there is some."""
    if estimated_tokens(text[start : start + _ASCII_PER_TOKEN * longest]) <= longest:
        end = min(len(text), start + _ASCII_PER_TOKEN * longest)
    else:
        thirds, end = 0, start
        while (
            end < len(text) and thirds + (1 if text[end].isascii() else _ASCII_PER_TOKEN) <= _ASCII_PER_TOKEN * longest
        ):
            thirds += 1 if text[end].isascii() else _ASCII_PER_TOKEN
            end += 1
        end = max(end, start + 1)
    if end == len(text):
        return end
    earliest = end - max(1, int((end - start) * _LOOK_BACK))
    spaces = [match.end() for match in _SPACE.finditer(text, earliest, end)]
    return spaces[-1] if spaces else end
