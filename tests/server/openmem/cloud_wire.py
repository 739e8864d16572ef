"""A caller of the cloud wire, in this process: posts JSON and checks the envelope."""

from __future__ import annotations

from typing import Any

import httpx2

BASE = "/api/openmem/v1"


class Cloud:
    """Calls endpoints. `key` is sent as the cloud's clients send theirs."""

    def __init__(self, client: httpx2.AsyncClient, key: str | None = None) -> None:
        self.client = client
        self.headers = {"Authorization": f"Token {key}"} if key else {}

    def with_key(self, key: str) -> Cloud:
        return Cloud(self.client, key)

    async def answer(self, path: str, **body: Any) -> httpx2.Response:
        return await self.client.post(f"{BASE}/{path}", json=body, headers=self.headers)

    async def ok(self, path: str, **body: Any) -> Any:
        """The data of a success."""
        found = await self.answer(path, **body)
        told = found.json()
        assert (found.status_code, told["code"], told["message"]) == (200, 0, "ok"), told
        assert set(told) == {"code", "message", "data"}
        return told["data"]

    async def error(self, path: str, **body: Any) -> tuple[int, int]:
        """HTTP status and code of a failure."""
        found = await self.answer(path, **body)
        told = found.json()
        assert told["code"] != 0, told
        assert told["data"] is None
        assert told["message"]
        return found.status_code, told["code"]

    async def get(self, path: str) -> httpx2.Response:
        return await self.client.get(f"{BASE}/{path}", headers=self.headers)

    async def add(self, text: str, role: str = "user", **body: Any) -> Any:
        """Add one message and wait until it is read."""
        message = {"role": role, "content": text}
        if "chat_time" in body:
            message["chat_time"] = body.pop("chat_time")
        return await self.ok("add/message", **{"async_mode": False, **body}, messages=[message])

    async def values(self, query: str, **body: Any) -> list[str]:
        """The memory values that a search finds."""
        return [
            item["memory_value"] for item in (await self.ok("search/memory", query=query, **body))["memory_detail_list"]
        ]
