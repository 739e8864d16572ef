"""Remembers vectors by the hash of their text, in memory, up to a size. Texts themselves are not kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from memos.models.embed import Embedder, LocalEmbedder, Purpose, Vectors

_OVERHEAD = 250
"""Bytes of an entry beside its numbers."""


class CachedEmbedder:
    """An embedder that asks `inner` only for texts it has not seen lately. Safe for several threads."""

    def __init__(self, inner: Embedder, *, max_bytes: int = 32_000_000) -> None:
        """Keep at most about `max_bytes` (32 MB hold some 18,000 vectors of 384 numbers)."""
        self.inner = inner
        self.hits = 0
        self.misses = 0
        self._max_bytes = max_bytes
        self._bytes = 0
        self._rows: OrderedDict[bytes, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def model_id(self) -> str:
        """Of the inner embedder."""
        return self.inner.model_id

    @property
    def dim(self) -> int:
        """Of the inner embedder."""
        return self.inner.dim

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        """See `Embedder.embed`."""
        keys, known, missing = self._look_up(texts, purpose)
        fresh = await self.inner.embed(list(missing.values()), purpose=purpose) if missing else None
        return self._answer(keys, known, missing, fresh)

    async def aclose(self) -> None:
        """Close the inner embedder, if it can be closed."""
        close = getattr(self.inner, "aclose", None)
        if close:
            await close()

    def _look_up(
        self, texts: Sequence[str], purpose: Purpose
    ) -> tuple[list[bytes], dict[bytes, Vectors], dict[bytes, str]]:
        """Return the key of each text, the known rows, and the texts to ask for, each once."""
        keys = [_key(text, purpose) for text in texts]
        known: dict[bytes, Vectors] = {}
        missing: dict[bytes, str] = {}
        with self._lock:
            for key, text in zip(keys, texts, strict=True):
                row = self._rows.get(key)
                if row is None:
                    missing[key] = text
                    self.misses += 1
                else:
                    self._rows.move_to_end(key)
                    known[key] = row
                    self.hits += 1
        return keys, known, missing

    def _answer(
        self, keys: Sequence[bytes], known: dict[bytes, Vectors], missing: dict[bytes, str], fresh: Vectors | None
    ) -> Vectors:
        if fresh is not None:
            rows = dict(zip(missing, fresh, strict=True))
            known |= rows
            self._remember(rows)
        if not keys:
            return np.zeros((0, self.dim), np.float32)
        return np.stack([known[key] for key in keys])

    def _remember(self, rows: dict[bytes, Vectors]) -> None:
        with self._lock:
            for key, row in rows.items():
                if key not in self._rows:
                    self._rows[key] = row.copy()  # not a view that keeps the whole batch alive
                    self._bytes += row.nbytes + _OVERHEAD
            while self._bytes > self._max_bytes and self._rows:
                _, dropped = self._rows.popitem(last=False)
                self._bytes -= dropped.nbytes + _OVERHEAD


class CachedLocalEmbedder(CachedEmbedder):
    """The same over an embedder that runs in this process."""

    inner: LocalEmbedder

    def __init__(self, inner: LocalEmbedder, *, max_bytes: int = 32_000_000) -> None:
        super().__init__(inner, max_bytes=max_bytes)

    def embed_sync(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        """See `LocalEmbedder.embed_sync`."""
        keys, known, missing = self._look_up(texts, purpose)
        fresh = self.inner.embed_sync(list(missing.values()), purpose=purpose) if missing else None
        return self._answer(keys, known, missing, fresh)


def _key(text: str, purpose: Purpose) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, person=purpose.encode()).digest()
