"""The short way into a route answers what FastAPI's own way answers, and leaves nothing behind when it does not go it."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from memos.server.quick import QuickRoute, _Quick

ADD = b'{"messages": "I like tea.", "user": "ada"}'


def take_the_long_way(app: FastAPI) -> None:
    for route in app.routes:
        if isinstance(route, QuickRoute) and isinstance(route.app, _Quick):
            route.app = route.app._slow


def kinds() -> list[str]:
    return [
        *("application/json", "Application/JSON", "application/json; charset=utf-8", "application/json;x", " application/json "),
        *("application/jsonx", "application/json-patch", "application/json/x", "application/problem+json", "text/json"),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", kinds())
async def test_a_kind_of_body_is_json_to_both_or_to_none(
    app: FastAPI, app_client: httpx2.AsyncClient, kind: str
) -> None:
    headers = {"Content-Type": kind}
    quick = await app_client.post("/v1/memories", content=ADD, headers=headers)
    take_the_long_way(app)
    own = await app_client.post("/v1/memories", content=ADD, headers=headers)
    assert quick.status_code == own.status_code
    assert set(quick.json()) == set(own.json())


@pytest.mark.parametrize("kind", ["application/jsonx", "application/json-patch"])
async def test_what_is_nearly_called_json_brings_no_nan(app_client: httpx2.AsyncClient, kind: str) -> None:
    body = b'{"query": "x", "threshold": NaN}'
    answer = await app_client.post("/v1/memories/search", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 422


async def test_a_request_that_takes_the_long_way_leaves_nothing_unfinished(app_client: httpx2.AsyncClient) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for body in (b"{", b'{"messages": "x", "wait": 1}'):
            answer = await app_client.post("/v1/memories", content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code in (400, 422)


async def test_a_client_that_leaves_amid_its_body_is_no_error(app: FastAPI) -> None:
    sent: list[Any] = []
    parts = iter([{"type": "http.request", "body": b'{"mess', "more_body": True}, {"type": "http.disconnect"}])

    async def receive() -> Any:
        return next(parts, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json"), (b"content-length", b"40")]
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": "POST",
        "scheme": "http", "path": "/v1/memories", "raw_path": b"/v1/memories", "query_string": b"", "root_path": "",
        "headers": headers, "client": ("127.0.0.1", 5), "server": ("127.0.0.1", 8000), "state": {},
    }  # fmt: skip
    await asyncio.wait_for(app(scope, receive, send), 5)
    assert [m["status"] for m in sent if m["type"] == "http.response.start"] in ([], [400])
