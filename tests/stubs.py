"""Stand-ins for models: small, deterministic, and failing on request."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import memos
from memos.errors import ModelError
from memos.models.embed import Purpose, ThreadedEmbedder, Vectors
from memos.text.document import index_terms


class Words(ThreadedEmbedder):
    """Words hashed to dimensions: near means words in common. `errors` are raised first, one per call."""

    def __init__(self, name: str = "words", dim: int = 24, errors: Sequence[ModelError] = ()) -> None:
        self.model_id, self.dim = name, dim
        self.errors = list(errors)
        self.calls = 0

    def embed_sync(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        out = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(out, texts, strict=True):
            for term in index_terms(text):
                row[hashlib.blake2b(f"{self.model_id}{term}".encode(), digest_size=4).digest()[0] % self.dim] += 1.0
        return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-6)


class Constant(ThreadedEmbedder):
    """Every number of every vector is the same, finite or not."""

    def __init__(self, value: float, dim: int = 4) -> None:
        self.model_id, self.dim, self.value = f"constant {value}", dim, value

    def embed_sync(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        return np.full((len(texts), self.dim), self.value, np.float32)


class Broken(ThreadedEmbedder):
    """Never answers anything but its error."""

    def __init__(self, error: ModelError) -> None:
        self.model_id, self.dim, self.error, self.calls = "broken", 8, error, 0

    def embed_sync(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        self.calls += 1
        raise self.error


def child_env() -> dict[str, str]:
    """The environment of a process that uses the same source as this one."""
    return {**os.environ, "PYTHONPATH": str(Path(memos.__file__).parent.parent), "OMP_NUM_THREADS": "1"}
