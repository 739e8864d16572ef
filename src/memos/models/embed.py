"""The embedding port: what every embedder promises, and the checks that hold each of them to it.

Providers live in their own files (`bundled`, `openai`, `ollama`, `sentence_transformers`), what they share in `remote`,
`windows`, `cache` and `resilience`, the choice by name in `factory`. Guards law 6: whatever fails here fails with a
typed error, so that search can go on without vectors.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from memos.errors import DimensionMismatch, ModelError

THREADS = 8
_LARGEST = 60_000.0  # half floats, as vectors are stored, end at 65,504
Vectors = NDArray[np.float32]
Purpose = Literal["document", "query"]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their likeness (-1 to 1)."""

    @property
    def model_id(self) -> str:
        """Stable name, version and quantisation included; vectors of different ids are never compared."""

    @property
    def dim(self) -> int:
        """Length of each vector. A remote model whose length was not declared answers 0 before its first call."""

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        """Return shape (len(texts), dim), finite, each row of length 1; a blank text's row is all zeros (like nothing).

        A text of any length is embedded whole, in windows whose vectors are averaged; nothing is cut off silently.

        Raises:
            ModelUnavailable: the package, weights or server are missing; the message says what to install or start.
            ModelTimeout: the model did not answer in time.
            DimensionMismatch: vectors of another length than declared.
            ModelError: any other failure, such as a number that is not finite.
        """


@runtime_checkable
class LocalEmbedder(Embedder, Protocol):
    """An embedder that runs in this process, so that any thread may call it without an event loop."""

    def embed_sync(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        """As `embed`, in the calling thread."""


class ThreadedEmbedder(ABC):
    """Base of local embedders: `embed` runs `embed_sync` in a thread."""

    @abstractmethod
    def embed_sync(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        """See `LocalEmbedder.embed_sync`."""

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        """See `Embedder.embed`."""
        call = functools.partial(contextvars.copy_context().run, self.embed_sync, texts, purpose=purpose)
        return await asyncio.get_running_loop().run_in_executor(_threads(), call)


_pools: dict[int, ThreadPoolExecutor] = {}  # by process: threads do not come along into a forked child


def _threads() -> ThreadPoolExecutor:
    """Threads of its own: a model that hangs must not take those by which cubes are opened and read."""
    if os.getpid() not in _pools:
        _pools[os.getpid()] = ThreadPoolExecutor(THREADS, "memos-embed")
    return _pools[os.getpid()]


def is_blank(text: str) -> bool:
    """Say whether `text` holds nothing that a model could read."""
    return not text or text.isspace()


def checked(rows: object, *, count: int, dim: int, model_id: str) -> Vectors:
    """Return `rows` as `count` unit vectors of length `dim` (0: any one length), or say what is wrong with them.

    Raises:
        DimensionMismatch: another length than `dim`.
        ModelError: not a table of numbers, another count, not finite, or a vector of length 0.
    """
    try:
        vectors = np.asarray(rows, np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{model_id} answered something other than {count} vectors of one length") from error
    if count == 0:
        return np.zeros((0, dim), np.float32)
    if vectors.ndim != 2 or len(vectors) != count:
        raise ModelError(f"{model_id} answered an array of shape {vectors.shape} for {count} texts")
    if dim and vectors.shape[1] != dim:
        raise DimensionMismatch(f"{model_id} answered vectors of length {vectors.shape[1]}, declared was {dim}")
    return unit(vectors, model_id=model_id)


def unit(vectors: Vectors, *, model_id: str) -> Vectors:
    """Scale each row to length 1.

    Raises:
        ModelError: a row is not finite or all zeros.
    """
    # In float64: the square of a large float32 overflows.
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    if not np.isfinite(lengths).all():
        raise ModelError(f"{model_id} answered a number that is not finite")
    if not lengths.all():
        raise ModelError(f"{model_id} answered a vector of length 0")
    return np.asarray(vectors / lengths[:, None], dtype=np.float32)


def sound(vectors: object, count: int, model_id: str) -> Vectors:
    """Return the answer of an embedder that was given as an object, and so held to its promises by nothing else.

    Raises:
        ModelError: not one row of numbers per text, or a number that is not finite or that no half float holds.
    """
    rows = np.asarray(vectors, np.float32)
    if rows.ndim != 2 or len(rows) != count or not rows.shape[1]:
        raise ModelError(f"{model_id} answered an array of shape {rows.shape} for {count} texts")
    if not (np.abs(rows) < _LARGEST).all():
        raise ModelError(f"{model_id} answered a number that is not finite, or too large")
    return rows


def pooled(vectors: Vectors, owners: Sequence[int], weights: Sequence[float], count: int) -> Vectors:
    """Average the windows of each text: row i of the answer is the weighted mean of the rows whose owner is i.

    Rows have length 1, or are zeros for a text without windows. If windows cancel out, the first one stands for all.
    """
    out = np.zeros((count, vectors.shape[1]), np.float32)
    np.add.at(out, np.asarray(owners, np.intp), vectors * np.asarray(weights, np.float32)[:, None])
    lengths = np.linalg.norm(out, axis=1, keepdims=True)
    for owner in set(owners) if len(vectors) else ():
        if lengths[owner, 0] < 1e-6:
            out[owner] = vectors[list(owners).index(owner)]
            lengths[owner, 0] = 1.0
    out /= np.where(lengths > 0, lengths, 1.0)
    return out
