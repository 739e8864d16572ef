"""The inverted index in memory: for each term the documents that hold it, ascending, and how often.

A base in compressed rows plus a small tail of recent documents, folded into the base when it has grown.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

I32 = NDArray[np.int32]
U8 = NDArray[np.uint8]

_NO_DOCS: I32 = np.empty(0, np.int32)
_NO_TF: U8 = np.empty(0, np.uint8)
_TAIL_MIN = 4096


class Postings:
    """Documents per term number. Document numbers must be appended in ascending order; term frequencies are capped at
    255.
    """

    def __init__(self) -> None:
        self._starts: NDArray[np.int64] = np.zeros(1, np.int64)
        self._docs: I32 = _NO_DOCS
        self._tf: U8 = _NO_TF
        self._tail: dict[int, list[int]] = {}
        self._tail_docs: list[int] = []
        self._tail_terms: list[NDArray[np.uint32]] = []
        self.documents = 0

    def build(self, lengths: NDArray[np.int64], terms: NDArray[np.uint32]) -> None:
        """Replace everything: document i has the next `lengths[i]` of `terms`."""
        self.documents = len(lengths)
        self._tail, self._tail_docs, self._tail_terms = {}, [], []
        docs = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        self._starts, self._docs, self._tf = _invert(terms, docs)

    def append(self, doc: int, terms: NDArray[np.uint32]) -> None:
        """Add the next document."""
        self.documents = doc + 1
        self._tail_docs.append(doc)
        self._tail_terms.append(terms)
        for term in terms.tolist():
            self._tail.setdefault(term, []).append(doc)
        if len(self._tail_docs) >= max(_TAIL_MIN, self.documents // 8):
            self._fold()

    def get(self, term: int) -> tuple[I32, U8]:
        """Documents holding the term (ascending, unique) and its frequency in each."""
        docs, tf = _NO_DOCS, _NO_TF
        if term + 1 < len(self._starts):
            a, b = self._starts[term], self._starts[term + 1]
            docs, tf = self._docs[a:b], self._tf[a:b]
        recent = self._tail.get(term)
        if recent:
            more, counts = np.unique(np.asarray(recent, np.int32), return_counts=True)
            docs = np.concatenate((docs, more))
            tf = np.concatenate((tf, np.minimum(counts, 255).astype(np.uint8)))
        return docs, tf

    def frequency(self, term: int) -> int:
        """An upper bound of the number of documents holding the term (repeats in the tail count)."""
        base = int(self._starts[term + 1] - self._starts[term]) if term + 1 < len(self._starts) else 0
        return base + len(self._tail.get(term, ()))

    @property
    def nbytes(self) -> int:
        """Bytes held by the base."""
        return int(self._starts.nbytes + self._docs.nbytes + self._tf.nbytes)

    def _fold(self) -> None:
        lengths = [len(t) for t in self._tail_terms]
        docs = np.repeat(np.asarray(self._tail_docs, np.int32), lengths)
        starts, new_docs, new_tf = _invert(_concat(self._tail_terms), docs)
        size = max(len(self._starts), len(starts))
        base, more = _padded(self._starts, size), _padded(starts, size)
        # per term the base's documents all come before the tail's, so both move by what the other holds before them
        base_at = np.arange(len(self._docs)) + np.repeat(more[:-1], np.diff(base))
        more_at = np.arange(len(new_docs)) + np.repeat(base[1:], np.diff(more))
        total = len(self._docs) + len(new_docs)
        merged, merged_tf = np.empty(total, np.int32), np.empty(total, np.uint8)
        merged[base_at], merged[more_at] = self._docs, new_docs
        merged_tf[base_at], merged_tf[more_at] = self._tf, new_tf
        self._starts, self._docs, self._tf = base + more, merged, merged_tf
        self._tail, self._tail_docs, self._tail_terms = {}, [], []


def _invert(terms: NDArray[np.uint32], docs: I32) -> tuple[NDArray[np.int64], I32, U8]:
    """(term, doc) pairs to row starts, documents ascending and frequencies. One sort of 64-bit keys, no index array."""
    if not len(terms):
        return np.zeros(1, np.int64), _NO_DOCS, _NO_TF
    keys = terms.astype(np.uint64) << np.uint64(32)
    keys |= docs.astype(np.uint64)
    keys.sort()
    first = np.empty(len(keys), bool)
    first[0] = True
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    at = np.flatnonzero(first)
    tf = np.minimum(np.diff(at, append=len(keys)), 255).astype(np.uint8)
    keys = keys[first]
    starts = _row_starts((keys >> np.uint64(32)).astype(np.uint32))
    return starts, (keys & np.uint64(0xFFFFFFFF)).astype(np.int32), tf


def _padded(starts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    return np.concatenate((starts, np.full(size - len(starts), starts[-1], np.int64)))


def _row_starts(sorted_terms: NDArray[np.uint32]) -> NDArray[np.int64]:
    size = int(sorted_terms[-1]) + 1 if len(sorted_terms) else 0
    return np.concatenate(([0], np.cumsum(np.bincount(sorted_terms, minlength=size)))).astype(np.int64)


def _concat(parts: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    return np.concatenate(parts) if parts else np.empty(0, np.uint32)
