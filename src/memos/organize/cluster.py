"""Groups of memories that are about the same thing, by vectors: deterministic, and quick for some ten thousand.

Vectors come from the embedder where there is one. Without, a memory's words are folded into as many numbers by hashing
(Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", 2009), weighted by how rare they are.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
Ints = NDArray[np.intp]

LEAST, MOST = 4, 40  # memories of a topic
COHESION = 0.30  # mean cosine to the others of a group from which it is one topic
APART = 0.25  # cosine between the middles of two halves below which they are two topics
NEAR = 0.20  # cosine to the others below which a memory is not about it
JOINS = 0.25  # the same for a memory that joins a topic that is there already
_FEW = 20  # memories up to which it is left open what all have in common
_DIM = 512
_ROUNDS = 8


def by_terms(documents: Sequence[Sequence[str]]) -> F32:
    """A vector for each document out of its terms."""
    df = Counter(term for terms in documents for term in set(terms))
    out = np.zeros((len(documents), _DIM), np.float32)
    for i, terms in enumerate(documents):
        for term, n in Counter(terms).items():
            if df[term] > 1:  # what one says is no topic
                place, sign = _place(term)
                out[i, place] += sign * (1 + math.log(n)) * math.log(1 + len(documents) / df[term])
    return unit(out)


def centred(vectors: F32) -> F32:
    """Unit vectors of what sets each apart from all together, as far as there are many; zeros stay zeros. To an embedder any two
    texts are somewhat alike; of few, that may be because they are about the same thing.
    """
    out = unit(vectors)
    some = np.linalg.norm(out, axis=1) > 0
    if some.any():
        out[some] -= out[some].mean(axis=0) * np.float32(some.sum() / (some.sum() + _FEW))
    return unit(out)


def unit(vectors: F32) -> F32:
    """The vectors at length 1; zeros stay zeros."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), np.float32)


def groups(vectors: F32, *, least: int = LEAST, most: int = MOST) -> list[Ints]:
    """Row numbers of each group, by cutting in two what is too large or too loose, again and again. Rows that are near no others
    are in none. `vectors` as `centred` gives them.
    """
    waiting = [np.flatnonzero(np.linalg.norm(vectors, axis=1) > 0)]
    out: list[Ints] = []
    while waiting:
        rows = waiting.pop()
        if len(rows) < least:
            continue
        near = _to_others(vectors[rows])
        side = _cut(vectors[rows], near)
        alone = bool(side.all() or not side.any())
        if len(rows) <= most and float(near.mean()) >= COHESION and (alone or not _apart(vectors[rows], side, least)):
            kept = rows[near >= NEAR]
            if len(kept) >= least:
                out.append(kept)
        elif not alone:
            waiting += [rows[~side], rows[side]]
    return sorted(out, key=lambda rows: int(rows[0]))


def _apart(vectors: F32, side: NDArray[np.bool_], least: int) -> bool:
    """Whether two halves, each large enough, have so little in common that they are two topics."""
    if min(int(side.sum()), int((~side).sum())) < least:
        return False
    one, other = (unit(half.mean(axis=0)) for half in (vectors[~side], vectors[side]))
    return float(one @ other) < APART


def _to_others(vectors: F32) -> F32:
    """The cosine of each unit vector to the middle of the others: of itself, every vector is the middle."""
    total = vectors.sum(axis=0)
    along = vectors @ total
    others = np.sqrt(np.maximum(total @ total - 2 * along + 1, 1e-6))
    return np.asarray((along - 1) / others, np.float32)


def nearest(vectors: F32, middles: F32) -> tuple[Ints, F32]:
    """For each vector the nearest of some unit vectors, and the cosine to it."""
    if not len(middles):
        return np.zeros(len(vectors), np.intp), np.full(len(vectors), -1, np.float32)
    cosines = vectors @ middles.T
    best = np.argmax(cosines, axis=1)
    return best, np.asarray(cosines[np.arange(len(vectors)), best], np.float32)


def _cut(vectors: F32, near: F32) -> NDArray[np.bool_]:
    """Which of two halves each is in: first along the direction they differ in most (Boley, "Principal Direction Divisive
    Partitioning", 1998), then by which middle is nearer.
    """
    apart = vectors - vectors.mean(axis=0)
    way = apart[int(np.argmin(near))]
    for _ in range(_ROUNDS):
        way = unit(apart.T @ (apart @ way))
    side = np.asarray(apart @ way > 0)
    for _ in range(_ROUNDS):
        if side.all() or not side.any():
            break
        middles = unit(np.stack([vectors[~side].mean(axis=0), vectors[side].mean(axis=0)]))
        now = np.asarray(vectors @ middles[1] > vectors @ middles[0])
        if (now == side).all() or now.all() or not now.any():
            break
        side = now
    return side


@lru_cache(maxsize=100_000)
def _place(term: str) -> tuple[int, int]:
    digest = hashlib.blake2b(term.encode("utf-8", "replace"), digest_size=8).digest()
    number = int.from_bytes(digest, "big")
    return number % _DIM, 1 if number >> 63 else -1
