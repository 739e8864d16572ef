"""The log of a server: a line for each request, with its id and without anything that was said."""

from __future__ import annotations

import json
import logging
import re
import time

import httpx2
import pytest
import structlog
from fastapi import FastAPI
from serving import Live, Starter
from structlog.testing import capture_logs

from memos import AsyncMemOS, MemOS
from memos.server import logs


@pytest.fixture
async def app(app: FastAPI) -> FastAPI:
    async def item(id: str) -> dict[str, str]:
        return {"id": id}

    async def crash() -> None:
        raise RuntimeError("told in confidence")

    app.add_api_route("/items/{id}", item, methods=["GET", "POST"])
    app.add_api_route("/crash", crash)
    return app


async def test_a_request_is_one_line(app_client: httpx2.AsyncClient, memos: AsyncMemOS) -> None:
    _, secret = await memos.accounts.create_key("alice")
    with capture_logs() as lines:
        answer = await app_client.post(
            "/items/private-id",
            params={"q": "private-query"},
            json={"text": "private-body"},
            headers={"Authorization": f"Bearer {secret}", "X-Secret": "private-header"},
        )
    (line,) = [line for line in lines if line["event"] == "request"]
    assert line["method"] == "POST"
    assert line["route"] == "/items/{id}"
    assert line["status"] == 200
    assert line["user"] == "alice"
    assert line["request_id"] == answer.headers["x-request-id"]
    assert 0 <= line["ms"] < 60_000
    assert "private" not in str(lines)
    assert secret not in str(lines)


@pytest.mark.parametrize("asked", ["abc-123", "0af7651916cd43dd8448eb211c80319c", "a.b:c_d"])
async def test_a_sane_request_id_is_taken_over(app_client: httpx2.AsyncClient, asked: str) -> None:
    assert (await app_client.get("/health", headers={"X-Request-ID": asked})).headers["x-request-id"] == asked


@pytest.mark.parametrize("asked", ["", "a b", 'x"y', "{}", "a" * 129, "é", "a,b"])
async def test_any_other_is_replaced(app_client: httpx2.AsyncClient, asked: str) -> None:
    answer = await app_client.get("/health", headers=[(b"X-Request-ID", asked.encode())])
    assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["x-request-id"])


async def test_every_answer_has_an_id(app_client: httpx2.AsyncClient) -> None:
    for path in ("/nowhere", "/crash", "/items/1", "/v1/nothing"):
        assert "x-request-id" in (await app_client.get(path)).headers
    assert "x-request-id" in (await app_client.get("/health", headers={"Host": "evil.example"})).headers


async def test_a_bug_is_answered_without_its_words(app_client: httpx2.AsyncClient) -> None:
    with capture_logs() as lines:
        answer = await app_client.get("/crash")
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "internal"
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    assert "confidence" not in answer.text
    (line,) = [line for line in lines if line["event"] == "request_broke"]
    assert line["request_id"] == answer.headers["x-request-id"]
    assert line["error"] == "RuntimeError"
    assert "confidence" not in str(lines)


def test_a_real_server_logs_json_lines_on_stderr(serve: Starter) -> None:
    live = serve(MEMOS_SERVER_LOG_LEVEL="info")
    with live.client() as client:
        client.get("/nowhere/private-path?q=private-query", headers={"X-Request-ID": "mine"})
        client.get("/health")
    assert live.stop() == 0
    (line,) = _told(live, "request")
    assert (line["route"], line["status"], line["request_id"], line["level"]) == ("(no route)", 404, "mine", "info")
    assert "private" not in "".join(live.log)
    assert not [line for line in live.log if "/health" in line]  # asked all the time, so only at debug


def test_an_exception_is_told_without_its_words_and_values(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    root, handlers = logging.getLogger(), logging.getLogger().handlers[:]
    try:
        logs.configure("info")
        secret = "told in confidence"
        try:
            try:
                raise KeyError(secret)
            except KeyError as inner:
                raise RuntimeError(secret) from inner
        except RuntimeError as error:
            structlog.get_logger("x").error("broke", exc_info=error)
            logging.getLogger("some.library").error("went wrong\nwith %s", secret, exc_info=True)
        logging.getLogger("some.library").info("chatter")
    finally:
        root.handlers[:] = handlers
    ours, theirs = (json.loads(line) for line in capfdbinary.readouterr().err.splitlines())
    assert ours["error"] == theirs["error"] == "RuntimeError, from KeyError"
    assert ours["at"][0].endswith("test_an_exception_is_told_without_its_words_and_values")
    assert theirs["message"] == "went wrong"
    assert secret not in str((ours, theirs))


def test_the_log_level_is_kept(serve: Starter) -> None:
    live = serve("--log-level", "warning")
    with live.client() as client:
        client.get("/nowhere")
    assert live.stop() == 0
    assert live.log == []


def _lines(live: Live, least: int) -> list[dict[str, object]]:
    until = time.monotonic() + 10
    while len(live.log) < least and time.monotonic() < until:
        time.sleep(0.02)
    return [json.loads(line) for line in live.log]


def _told(live: Live, event: str) -> list[dict[str, object]]:
    return [line for line in map(json.loads, live.log) if line["event"] == event]


def test_a_server_logs_its_start_its_first_key_and_its_end(serve: Starter) -> None:
    live = serve(MEMOS_SERVER_PROT="1")
    _lines(live, 2)
    (start,) = _told(live, "serving")
    assert (start["url"], start["home"], start["queue"]) == (live.url, str(live.home), "sqlite")
    assert (start["auth"], start["keys_needed"]) == ("auto", False)
    (unknown,) = _told(live, "unknown_variable")
    assert "did you mean MEMOS_SERVER_PORT?" in str(unknown["message"])
    with live.client() as client:
        assert client.get("/v1/cubes").status_code == 200
        with MemOS(live.home, embedder="none", background=False) as memos:
            memos.accounts.create_key("ann")
        for _ in range(2):
            assert client.get("/v1/cubes").status_code == 401
    assert live.stop() == 0
    assert len(_told(live, "keys_needed")) == len(_told(live, "stopping")) == len(_told(live, "stopped")) == 1
