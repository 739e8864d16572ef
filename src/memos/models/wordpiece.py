"""The WordPiece tokenizer of the uncased English BERT family, in plain Python.

Equal, token for token, to the reference tokenizer on ordinary text (tests compare the two); written here because the
reference package brings a model hub client with it. The vocabulary (30,522 entries) is Google's BERT uncased list,
Apache-2.0, kept compressed beside this file.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Final

from memos.errors import ModelUnavailable

CLS: Final = 101
SEP: Final = 102
UNKNOWN: Final = 100

_LONGEST_WORD = 100
_VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
_DROPPED = frozenset({"Cc", "Cf", "Co"})
_ASCII_WORD = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
_IDEOGRAPHS = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b81f\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f]"
)


class WordPiece:
    """Turns text into token ids, without the two frame tokens `CLS` and `SEP`. Safe for use by several threads."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        self._vocabulary = vocabulary
        self._pieces = lru_cache(maxsize=32_768)(self._split_word)

    @classmethod
    def load(cls) -> WordPiece:
        """Load the vocabulary that comes with the package (about 10 ms).

        Raises:
            ModelUnavailable: the vocabulary file is damaged.
        """
        text = gzip.decompress(files("memos.models").joinpath("bert_vocab.txt.gz").read_bytes())
        if hashlib.sha256(text).hexdigest() != _VOCABULARY_SHA256:
            raise ModelUnavailable("the bundled vocabulary is damaged; reinstall memos")
        return cls({word: index for index, word in enumerate(text.decode().splitlines())})

    @property
    def vocabulary(self) -> dict[str, int]:
        """Every known piece and its id, most general words first."""
        return self._vocabulary

    def encode(self, text: str) -> list[int]:
        """Return the token ids of `text`; an unknown word becomes `UNKNOWN`. Case and accents are dropped."""
        ids: list[int] = []
        for word in _words(text):
            ids.extend(self._pieces(word))
        return ids

    def _split_word(self, word: str) -> tuple[int, ...]:
        if len(word) > _LONGEST_WORD:
            return (UNKNOWN,)
        vocabulary, ids, start = self._vocabulary, list[int](), 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                found = vocabulary.get(prefix + word[start:end])
                if found is not None:
                    break
            else:
                return (UNKNOWN,)
            ids.append(found)
            start = end
        return tuple(ids)


def _words(text: str) -> Iterator[str]:
    """Split into lower-case words without accents; each punctuation mark and each ideograph is a word of its own."""
    if text.isascii() and text.isprintable():
        yield from _ASCII_WORD.findall(text.lower())
        return
    cleaned = "".join(map(_clean, text))
    spaced = _IDEOGRAPHS.sub(lambda match: f" {match.group()} ", cleaned)
    plain = "".join(c for c in unicodedata.normalize("NFD", spaced) if unicodedata.category(c) != "Mn")
    for chunk in "".join(map(_lower, plain)).split():
        yield from _split_punctuation(chunk)


def _clean(char: str) -> str:
    if char in "\t\n\r" or unicodedata.category(char) == "Zs":
        return " "
    if char in "\0\ufffd" or unicodedata.category(char) in _DROPPED:
        return ""
    return char


def _lower(char: str) -> str:
    return char.lower()


def _split_punctuation(chunk: str) -> Iterator[str]:
    start = 0
    for index, char in enumerate(chunk):
        if _is_punctuation(char):
            if index > start:
                yield chunk[start:index]
            yield char
            start = index + 1
    if start < len(chunk):
        yield chunk[start:]


def _is_punctuation(char: str) -> bool:
    return (
        "!" <= char <= "/" or ":" <= char <= "@" or "[" <= char <= "`" or "{" <= char <= "~"
    ) or unicodedata.category(char)[0] == "P"
