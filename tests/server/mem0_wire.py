"""Asks mem0's wires of an application in this process."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2

BASE = "/compat/mem0"
VEGAN = {"role": "user", "content": "I'm vegetarian and I live in Oslo."}


class Wire:
    """The wires, asked with one key."""

    def __init__(self, client: httpx2.AsyncClient, headers: dict[str, str] | None = None) -> None:
        self._client, self._headers = client, headers or {}

    async def __call__(self, method: str, path: str, status: int = 200, **options: Any) -> Any:
        """The body of an answer of this status."""
        answer = await self._client.request(method, f"{BASE}{path}", headers=self._headers, **options)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def add(self, text: str, infer: bool = False, **more: Any) -> list[dict[str, Any]]:
        """What became of one message, waited for."""
        body = {"messages": [{"role": "user", "content": text}], "infer": infer, "async_mode": False, **more}
        answer = await self("POST", "/v3/memories/add/", json=body)
        assert answer["status"] == "SUCCEEDED"
        return answer["results"]

    async def texts(self, filters: Any, **more: Any) -> list[str]:
        """What is listed, the newest first."""
        listed = await self("POST", "/v3/memories/", json={"filters": filters, **more})
        return [memory["memory"] for memory in listed["results"]]

    async def found(self, query: str, filters: Any, **more: Any) -> list[str]:
        """What a search finds."""
        body = {"query": query, "filters": filters, "threshold": 0, **more}
        return [memory["memory"] for memory in (await self("POST", "/v3/memories/search/", json=body))["results"]]

    async def done(self, event: str) -> dict[str, Any]:
        """An event, once it has ended."""
        for _ in range(200):
            told = await self("GET", f"/v1/event/{event}/")
            if told["status"] in ("SUCCEEDED", "FAILED"):
                return told
            await asyncio.sleep(0.05)
        raise AssertionError(told)
