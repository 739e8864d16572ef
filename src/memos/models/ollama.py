"""Embeddings by Ollama's own protocol (`POST {base}/api/embed`)."""

from __future__ import annotations

from collections.abc import Sequence

from memos.errors import ModelError
from memos.models.http import JsonClient
from memos.models.resilience import Failure

BASE_URL = "http://127.0.0.1:11434"


class OllamaEmbeddings:
    """Asks an Ollama server. It is told not to cut long texts: they come in windows already."""

    def __init__(self, model: str, *, base_url: str = BASE_URL, api_key: str | None = None) -> None:
        """`api_key` is for a server behind a proxy."""
        self._model = model
        self._http = JsonClient(
            base_url, api_key=api_key, hint=f"start it with `ollama serve` and get the model with `ollama pull {model}`"
        )

    @property
    def name(self) -> str:
        """`ollama:MODEL`."""
        return f"ollama:{self._model}"

    async def ask(self, texts: Sequence[str]) -> list[object]:
        """See `EmbeddingApi.ask`."""
        body = await self._http.post("/api/embed", {"model": self._model, "input": list(texts), "truncate": False})
        rows = body.get("embeddings") if isinstance(body, dict) else None
        if not isinstance(rows, list) or len(rows) != len(texts):
            raise Failure(ModelError(f"{self.name} answered no list of {len(texts)} embeddings"))
        return rows

    async def aclose(self) -> None:
        """Close connections."""
        await self._http.aclose()
