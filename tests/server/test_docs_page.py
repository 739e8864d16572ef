"""`/docs` tells every documented route and loads nothing from anywhere."""

from __future__ import annotations

import re

import httpx2

from memos.server.docs_page import page


async def test_every_documented_route_is_on_the_page(app_client: httpx2.AsyncClient) -> None:
    openapi = (await app_client.get("/openapi.json")).json()
    answer = await app_client.get("/docs")
    assert answer.headers["content-type"].startswith("text/html")
    missing = [path for path in openapi["paths"] if f"<code>{path}</code>" not in answer.text]
    assert missing == []
    assert "reference_time" in answer.text  # fields of bodies, too


async def test_the_page_runs_and_loads_nothing(app_client: httpx2.AsyncClient) -> None:
    answer = await app_client.get("/docs")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert not re.search(r"<script|<link|<img|<iframe|https?://|\bon\w+=", answer.text)


def test_what_a_document_says_is_text() -> None:
    evil = "<script>alert(1)</script>"
    operation = {
        "summary": evil,
        "description": evil,
        "tags": [evil],
        "parameters": [{"name": evil, "in": "query", "description": evil}],
    }
    text = page(
        {
            "info": {"title": evil, "version": "1"},
            "paths": {f"/{evil}": {"get": operation}},
            "components": {"schemas": {}},
        }
    )
    assert "<script" not in text
