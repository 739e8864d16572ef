"""Embeddings by a local sentence-transformers model (extra `sentence-transformers`; brings torch).

The model must be on this machine already: nothing is downloaded unless the caller allows it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from memos.errors import ModelUnavailable
from memos.models.embed import Purpose, ThreadedEmbedder, Vectors, checked, is_blank, pooled
from memos.models.remote import Prefixes
from memos.models.windows import windows_of

_UNLIMITED = 8_192
_BATCH = 16


def installed(*modules: str) -> list[Any]:
    """The modules of these names, which the extra `sentence-transformers` brings. Raises ModelUnavailable without it."""
    try:
        return [import_module(name) for name in modules]
    except ImportError as error:
        raise ModelUnavailable(
            "the package sentence-transformers is not installed; "
            "install the extra 'sentence-transformers': pip install '.[sentence-transformers]' in a checkout of MemOS"
        ) from error


class SentenceTransformersEmbedder(ThreadedEmbedder):
    """A sentence-transformers model by name or folder, loaded at the first text; one call at a time."""

    def __init__(
        self, model: str, *, prefixes: Prefixes | None = None, device: str | None = None, download: bool = False
    ) -> None:
        """Load nothing yet. `device` is torch's name for where to run; `download` allows fetching a missing model."""
        self._name = model
        self._prefixes = prefixes or Prefixes()
        self._device = device
        self._download = download
        self._lock = threading.RLock()

    @property
    def model_id(self) -> str:
        """`st:MODEL`."""
        return f"st:{self._name}"

    @property
    def dim(self) -> int:
        """Length of the vectors. Loads the model."""
        with self._lock:
            return int(self._model.get_sentence_embedding_dimension())

    def embed_sync(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        """See `Embedder.embed`."""
        prefix = self._prefixes.of(purpose)
        with self._lock:
            dim = self.dim
            # Estimates run high, but by less than two for odd text: half the model's limit never overflows it.
            longest = max(16, int(self._model.max_seq_length or _UNLIMITED) // 2)
            readable = [i for i, text in enumerate(texts) if not is_blank(text)]
            windows = windows_of([texts[i] for i in readable], readable, longest)
            if not windows:
                return np.zeros((len(texts), dim), np.float32)
            rows = self._model.encode(
                [prefix + window.text for window in windows],
                batch_size=_BATCH,
                convert_to_numpy=True,
                show_progress_bar=False,
            )
        vectors = checked(rows, count=len(windows), dim=dim, model_id=self.model_id)
        return pooled(vectors, [w.owner for w in windows], [w.tokens for w in windows], len(texts))

    @cached_property
    def _model(self) -> Any:
        (package,) = installed("sentence_transformers")
        try:
            return package.SentenceTransformer(self._name, device=self._device, local_files_only=not self._download)
        except (OSError, ValueError) as error:
            raise ModelUnavailable(
                f"the model {self._name!r} is not on this machine; get it with `hf download {self._name}`, "
                "give the folder it is in, or allow the download"
            ) from error
