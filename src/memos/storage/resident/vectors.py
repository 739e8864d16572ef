"""Vectors of one model in memory, one slot per document.

Small: exact cosine over a float matrix. Large: a first pass over sign bits (Hamming distance), then exact re-scoring
of the best by 8-bit codes. The stored vectors are the truth; this is a cache of them.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memos.storage.resident.arrays import Growable
from memos.storage.threads import ThreadPool

F32 = NDArray[np.float32]
N = TypeVar("N", bound=np.generic)

EXACT_LIMIT = 16_384  # documents up to which every vector is scored exactly
RESCORED = (
    1_000  # documents re-scored exactly after the first pass, at least (and at least four times what is asked for)
)
_CHUNK = 16_384
_pool = ThreadPool(2, "memos-scan")


class VectorIndex:
    """Unit vectors by document number; a document without a vector scores 0."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.filled = 0
        self._has = Growable(np.bool_)
        self._sum = np.zeros(dim, np.float64)
        self._kept: _Exact | _Quantised = _Exact(dim)

    def __len__(self) -> int:
        return self._has.size

    def resize(self, documents: int) -> None:
        """Make room for documents 0..documents-1; new ones have no vector yet."""
        missing = documents - len(self)
        if missing <= 0:
            return
        if isinstance(self._kept, _Exact) and documents > EXACT_LIMIT:
            self._kept = self._kept.quantised(len(self))
        self._kept.resize(documents)
        self._has.extend(np.zeros(missing, np.bool_))

    def put(self, docs: NDArray[np.intp], vectors: F32) -> None:
        """Set the vectors (shape (len(docs), dim)) of these documents."""
        if not len(docs):
            return
        self.drop(docs)
        self._kept.put(docs, vectors)
        self._has.view[docs] = True
        self._sum += vectors.sum(axis=0, dtype=np.float64)
        self.filled += len(docs)

    def drop(self, docs: NDArray[np.intp]) -> None:
        """Forget the vectors of these documents."""
        docs = docs[self.has(docs)]
        if len(docs):
            self._sum -= self._kept.vectors(docs).sum(axis=0, dtype=np.float64)
            self._kept.put(docs, np.zeros((len(docs), self.dim), np.float32))
            self._has.view[docs] = False
            self.filled -= len(docs)

    def has(self, docs: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which of these documents have a vector."""
        return np.asarray(self._has.view[docs])

    def mean(self) -> F32:
        """Mean of all vectors, shape (dim,)."""
        return np.asarray(self._sum / max(1, self.filled), np.float32)

    def cosine(self, query: F32, docs: NDArray[np.intp]) -> F32:
        """Cosine of the unit query with these documents, shape (len(docs),); 0 where there is no vector."""
        return np.asarray(self._kept.vectors(docs) @ query, np.float32)

    def vectors(self, docs: NDArray[np.intp]) -> F32:
        """The vectors of these documents, shape (len(docs), dim); zeros where there is none."""
        return self._kept.vectors(docs)

    def best(self, query: F32, limit: int, allowed: NDArray[np.bool_] | None = None) -> tuple[NDArray[np.intp], F32]:
        """The `limit` nearest documents (among the allowed) and their cosines, best first."""
        if limit < 1 or not self.filled:
            return np.empty(0, np.intp), np.empty(0, np.float32)
        wanted = self._has.view if allowed is None else self._has.view & allowed
        candidates, scores = self._kept.scan(query, max(RESCORED, 4 * limit), wanted)
        order = np.argsort(-scores, kind="stable")[:limit] if len(scores) <= limit * 4 else _top(scores, limit)
        return candidates[order], scores[order]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._kept.nbytes


class _Exact:
    """A float matrix: every document is a candidate."""

    def __init__(self, dim: int) -> None:
        self._matrix = np.zeros((64, dim), np.float32)

    def resize(self, documents: int) -> None:
        self._matrix = _grow(self._matrix, documents)

    def put(self, docs: NDArray[np.intp], vectors: F32) -> None:
        self._matrix[docs] = vectors

    def vectors(self, docs: NDArray[np.intp]) -> F32:
        return self._matrix[docs]

    def scan(self, query: F32, wanted: int, among: NDArray[np.bool_]) -> tuple[NDArray[np.intp], F32]:
        docs = np.flatnonzero(among)
        return docs, np.asarray((self._matrix[: len(among)] @ query)[docs], np.float32)

    def quantised(self, documents: int) -> _Quantised:
        """The same vectors in the form for many."""
        made = _Quantised(self._matrix.shape[1])
        made.resize(documents)
        made.put(np.arange(documents), self._matrix[:documents])
        return made

    @property
    def nbytes(self) -> int:
        return int(self._matrix.nbytes)


class _Quantised:
    """8-bit codes with a scale per vector, and sign bits for a quick first pass."""

    def __init__(self, dim: int) -> None:
        self._words = -(-dim // 64)
        self._codes = np.zeros((64, dim), np.int8)
        self._scale = Growable(np.float32)
        self._bits = Growable(np.uint64, (self._words,))

    def resize(self, documents: int) -> None:
        missing = documents - self._scale.size
        self._codes = _grow(self._codes, documents)
        self._scale.extend(np.zeros(missing, np.float32))
        self._bits.extend(np.zeros((self._words, missing), np.uint64))

    def put(self, docs: NDArray[np.intp], vectors: F32) -> None:
        scale = (np.maximum(np.abs(vectors).max(axis=1), 1e-9) / 127).astype(np.float32)
        self._codes[docs] = np.rint(vectors / scale[:, None]).astype(np.int8)
        self._scale.view[docs] = scale
        self._bits.view[:, docs] = _sign_bits(vectors, self._words).T

    def vectors(self, docs: NDArray[np.intp]) -> F32:
        return np.asarray(self._codes[docs].astype(np.float32) * self._scale.view[docs][:, None], np.float32)

    def scan(self, query: F32, wanted: int, among: NDArray[np.bool_]) -> tuple[NDArray[np.intp], F32]:
        few = np.count_nonzero(among) <= EXACT_LIMIT
        docs = np.flatnonzero(among) if few else self._first_pass(query, wanted, among)
        return docs, np.asarray(self.vectors(docs) @ query, np.float32)

    def _first_pass(self, query: F32, wanted: int, among: NDArray[np.bool_]) -> NDArray[np.intp]:
        bits = self._bits.view
        code = _sign_bits(query[None, :], self._words)[0]
        n = bits.shape[1]
        distance = np.empty(n, np.uint16)
        half = n // 2 // _CHUNK * _CHUNK
        other = _pool.submit(_hamming, bits[:, :half], code, distance[:half]) if half else None
        _hamming(bits[:, half:], code, distance[half:])
        if other is not None:
            other.result()
        distance[~among] = 0xFFFF
        return _nearest(distance, wanted)

    @property
    def nbytes(self) -> int:
        return int(self._codes.nbytes + self._bits.nbytes + self._scale.nbytes)


def _hamming(bits: NDArray[np.uint64], code: NDArray[np.uint64], out: NDArray[np.uint16]) -> None:
    for i in range(0, bits.shape[1], _CHUNK):
        part = bits[:, i : i + _CHUNK]
        total = np.bitwise_count(part[0] ^ code[0]).astype(np.uint16)
        for word in range(1, len(code)):
            total += np.bitwise_count(part[word] ^ code[word])
        out[i : i + _CHUNK] = total


def _nearest(distance: NDArray[np.uint16], wanted: int) -> NDArray[np.intp]:
    """About `wanted` documents of smallest distance: the cut is estimated on a sample, then widened until enough are
    in.
    """
    sample = np.sort(distance[:: max(1, len(distance) // 16_384)])
    share = wanted / len(distance)
    while True:
        cut = sample[min(len(sample) - 1, int(share * len(sample)) + 1)]
        found = np.flatnonzero(distance <= cut) if cut < 0xFFFF else np.flatnonzero(distance < 0xFFFF)
        if len(found) >= wanted or cut >= 0xFFFF or share >= 1:
            return found
        share *= 2


def _sign_bits(vectors: F32, words: int) -> NDArray[np.uint64]:
    """Sign bits packed into 64-bit words, shape (len(vectors), words); missing dimensions are 0 bits."""
    packed = np.packbits(vectors > 0, axis=1)
    full = np.zeros((len(vectors), words * 8), np.uint8)
    full[:, : packed.shape[1]] = packed
    return full.view(np.uint64)


def _grow(array: NDArray[N], rows: int) -> NDArray[N]:
    if rows <= len(array):
        return array
    grown = np.zeros((max(rows, len(array) * 3 // 2), array.shape[1]), array.dtype)
    grown[: len(array)] = array
    return grown


def _top(scores: F32, limit: int) -> NDArray[np.intp]:
    part = np.argpartition(-scores, limit)[:limit]
    return np.asarray(part[np.argsort(-scores[part], kind="stable")], np.intp)
