"""The inverted index in memory: for each term the documents that hold it, ascending, and how often.

A base in compressed rows plus a small tail of recent documents, folded into the base when it has grown.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

I32 = NDArray[np.int32]
U8 = NDArray[np.uint8]

_NO_DOCS: I32 = np.empty(0, np.int32)
_NO_TF: U8 = np.empty(0, np.uint8)
_NO_TERMS: NDArray[np.uint32] = np.empty(0, np.uint32)
_TAIL_MIN = 4096
_DOC_BLOCK = 1 << 17
_KEY_BLOCK = 1 << 22


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

    def build(self, lengths: NDArray[np.int64], parts: list[NDArray[np.uint32]]) -> None:
        """Replace everything: document i has the next `lengths[i]` terms of `parts`, which is emptied on the way."""
        self.documents = len(lengths)
        self._tail, self._tail_docs, self._tail_terms = {}, [], []
        self._starts, self._docs, self._tf = _invert(lengths, parts)

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
        first = self._tail_docs[0]
        lengths = np.zeros(self._tail_docs[-1] - first + 1, np.int64)
        lengths[np.asarray(self._tail_docs) - first] = [len(t) for t in self._tail_terms]
        starts, new_docs, new_tf = _invert(lengths, self._tail_terms)
        new_docs += np.int32(first)
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


def _invert(lengths: NDArray[np.int64], parts: list[NDArray[np.uint32]]) -> tuple[NDArray[np.int64], I32, U8]:
    """Terms in document order to row starts, documents ascending and frequencies.

    One in-place sort of 64-bit keys (term, document), then blocks of it: at a million messages memory is what is scarce.
    """
    total = int(lengths.sum())
    if not total:
        return np.zeros(1, np.int64), _NO_DOCS, _NO_TF
    keys = np.empty(total, np.uint64)
    at = 0
    for i, part in enumerate(parts):
        keys[at : at + len(part)] = part
        at += len(part)
        parts[i] = _NO_TERMS
    keys <<= np.uint64(32)
    ends = np.cumsum(lengths)
    for low in range(0, len(lengths), _DOC_BLOCK):
        high = min(low + _DOC_BLOCK, len(lengths))
        docs = np.repeat(np.arange(low, high, dtype=np.uint64), lengths[low:high])
        keys[int(ends[high - 1]) - len(docs) : int(ends[high - 1])] |= docs
    keys.sort()
    counts = np.zeros(int(keys[-1] >> np.uint64(32)) + 2, np.int64)
    docs_out, tf_out, low = [], [], 0
    while low < total:
        high = min(low + _KEY_BLOCK, total)
        while high < total and keys[high] == keys[high - 1]:  # a (term, document) pair is never cut
            high += 1
        block = keys[low:high]
        first = np.flatnonzero(np.concatenate(([True], block[1:] != block[:-1])))
        unique = block[first]
        tf_out.append(np.minimum(np.diff(first, append=len(block)), 255).astype(np.uint8))
        docs_out.append((unique & np.uint64(0xFFFFFFFF)).astype(np.int32))
        found, each = np.unique(unique >> np.uint64(32), return_counts=True)
        counts[found.astype(np.int64) + 1] += each
        low = high
    return np.cumsum(counts), np.concatenate(docs_out), np.concatenate(tf_out)


def _padded(starts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    return np.concatenate((starts, np.full(size - len(starts), starts[-1], np.int64)))
