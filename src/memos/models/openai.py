"""Embeddings by the OpenAI protocol (`POST {base}/embeddings`), which most servers and providers speak."""

from __future__ import annotations

from collections.abc import Sequence

from memos.errors import ModelError
from memos.models.http import JsonClient
from memos.models.resilience import Failure

BASE_URL = "https://api.openai.com/v1"


class OpenAIEmbeddings:
    """Asks an OpenAI-compatible server."""

    def __init__(
        self, model: str, *, base_url: str = BASE_URL, api_key: str | None = None, dimensions: int | None = None
    ) -> None:
        """`dimensions` asks the server to shorten its vectors; only some models can."""
        self._model = model
        self._dimensions = dimensions
        self._http = JsonClient(base_url, api_key=api_key, hint="check the base URL and that the server runs")

    @property
    def name(self) -> str:
        """`openai:MODEL`, with `@N` for shortened vectors."""
        return f"openai:{self._model}" + (f"@{self._dimensions}" if self._dimensions else "")

    async def ask(self, texts: Sequence[str]) -> object:
        """See `EmbeddingApi.ask`."""
        payload: dict[str, object] = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        if self._dimensions:
            payload["dimensions"] = self._dimensions
        body = await self._http.post("/embeddings", payload)
        rows: dict[int, object] = {}
        data = body.get("data") if isinstance(body, dict) else None
        for position, item in enumerate(data if isinstance(data, list) else []):
            index = item.get("index", position) if isinstance(item, dict) else None
            if isinstance(index, int):
                rows[index] = item.get("embedding")
        if set(rows) != set(range(len(texts))):
            raise Failure(ModelError(f"{self.name} answered {len(rows)} embeddings for {len(texts)} texts"))
        return [rows[i] for i in range(len(texts))]

    async def aclose(self) -> None:
        """Close connections."""
        await self._http.aclose()
