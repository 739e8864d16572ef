"""`GET /v1/profile`: what is known of somebody, and what cannot be asked."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest


async def test_what_is_known_with_its_sources(app_client: httpx2.AsyncClient) -> None:
    message = {"role": "user", "content": "I live in Oslo. Always answer in French.", "message_id": "m1"}
    added = await app_client.post("/v1/memories", json={"user": "ann", "messages": [message]})
    assert added.status_code in (200, 201), added.text
    found = (await app_client.get("/v1/profile", params={"user": "ann"})).json()
    assert [(i["section"], i["text"], i["message_ids"]) for i in found["items"]] == [
        ("wishes", "Ann wants the assistant to always answer in French.", ["m1"]),
        ("facts", "Ann lives in Oslo.", ["m1"]),
    ]
    assert found["text"].startswith("<memos-context>")
    assert (found["tokens"], found["left_out"]) == (-(-len(found["text"]) // 4), 0)


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({"max_tokens": 0}, 422),
        ({"about": ""}, 422),
        ({"about": "x" * 201}, 422),
        ({"reference_time": "5/8/2023"}, 400),
    ],
)
async def test_what_cannot_be_asked_is_refused(
    app_client: httpx2.AsyncClient, params: dict[str, Any], status: int
) -> None:
    assert (await app_client.get("/v1/profile", params=params)).status_code == status
