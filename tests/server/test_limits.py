"""How much may be asked: size and pace of heads and bodies, connections, streams, requests a minute, messages of an add."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI, Request
from serving import Live, Starter, in_process

from memos import AsyncMemOS
from memos.errors import Busy, InvalidInput
from memos.models.llm.port import ChatReply, ChatRequest, Piece
from memos.server.app import create_app
from memos.server.limits import RateLimit, check_messages
from memos.server.options import ServerOptions
from memos.server.sse import frame

MB = 1 << 20


def add_probes(app: FastAPI) -> FastAPI:
    async def echo(body: dict[str, object]) -> dict[str, object]:
        return {"keys": len(body)}

    async def raw(request: Request) -> dict[str, int]:
        return {"bytes": len(await request.body())}

    async def stream(request: Request) -> object:
        async def events() -> AsyncIterator[object]:
            yield {"n": 1}
            await asyncio.sleep(60)

        return request.app.state.frame.streams.reply(events())

    app.add_api_route("/echo", echo, methods=["POST"])
    app.add_api_route("/raw", raw, methods=["POST"])
    app.add_api_route("/stream", stream, methods=["GET"])
    return app


@contextlib.asynccontextmanager
async def client_with(memos: AsyncMemOS, **options: object) -> AsyncIterator[httpx2.AsyncClient]:
    app = add_probes(create_app(memos, ServerOptions.load({}, **options)))
    async with app.router.lifespan_context(app), in_process(app) as client:
        yield client


# -- bodies -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/echo", "/raw"])
async def test_a_body_that_is_too_large_is_refused(memos: AsyncMemOS, path: str) -> None:
    async with client_with(memos, body_mb=1) as client:
        kind = {"Content-Type": "application/json" if path == "/echo" else "application/octet-stream"}
        declared = await client.post(path, content=b"x" * (MB + 1), headers=kind)

        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(20):
                yield b"x" * (MB // 10)

        streamed = await client.post(path, content=pieces(), headers=kind)
        for answer in (declared, streamed):
            assert answer.status_code == 413
            assert answer.json()["error"]["code"] == "too_large"
            assert answer.headers["connection"] == "close"
        fits = await client.post("/raw", content=b"x" * MB, headers={"Content-Type": "application/octet-stream"})
        assert fits.json() == {"bytes": MB}


@pytest.mark.parametrize("length", ["-1", "1e3", "99999999999999999999", "²"])
async def test_a_length_that_is_none_is_refused(memos: AsyncMemOS, length: str) -> None:
    async with client_with(memos) as client:
        headers = [(b"Content-Length", length.encode()), (b"Content-Type", b"application/json")]
        assert (await client.post("/echo", content=b"{}", headers=headers)).status_code in (400, 413)


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"", b"nonsense", b'{"a": NaN}', b'{"a": [-Infinity]}', b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000, b"\xff\xfe", b'{"a": "\xff"}', b"\x00", b"1" * 10_000, b'{"a": 1} 2',
        b'{"a": ' + b"9" * 6_000 + b"}",
    ],
)  # fmt: skip
async def test_bad_json_is_the_callers_fault(memos: AsyncMemOS, body: bytes) -> None:
    async with client_with(memos) as client:
        answer = await client.post("/echo", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in (400, 422)
        assert answer.json()["error"]["code"]


async def test_a_text_that_speaks_of_nan_is_json(memos: AsyncMemOS) -> None:
    async with client_with(memos) as client:
        assert (await client.post("/echo", json={"a": "NaN, Infinity"})).json() == {"keys": 1}
        half = await client.post("/echo", content=rb'{"a": "NaN \ud83d"}', headers={"Content-Type": "application/json"})
        assert half.json() == {"keys": 1}


# -- requests a minute --------------------------------------------------------------------------------------------


async def test_each_key_has_its_own_rate_and_is_told(memos: AsyncMemOS) -> None:
    async with client_with(memos, rate_per_minute=60, rate_burst=3) as client:
        _, one = await memos.accounts.create_key("alice")
        _, two = await memos.accounts.create_key("bob")
        left = []
        for _ in range(3):
            answer = await client.post("/echo", json={}, headers={"Authorization": one})
            left.append(answer.headers["x-ratelimit-remaining"])
        assert left == ["2", "1", "0"]
        refused = await client.post("/echo", json={}, headers={"Authorization": one, "X-Forwarded-For": "9.9.9.9"})
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "1"
        assert refused.headers["x-ratelimit-limit"] == "3"
        assert (await client.post("/echo", json={}, headers={"Authorization": two})).status_code == 200
        assert (await client.get("/health", headers={"Authorization": one})).status_code == 200
        for _ in range(3):
            assert (await client.post("/echo", json={}, headers={"Authorization": "mk_guess"})).status_code == 401
        assert (await client.post("/echo", json={}, headers={"Authorization": "mk_guess"})).status_code == 429


def test_refused_calls_do_not_count_and_tokens_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    rate = RateLimit(ServerOptions(rate_per_minute=60, rate_burst=2))
    rate.take({}, "a")
    rate.take({}, "a")
    for _ in range(5):
        with pytest.raises(Busy) as refused:
            rate.take({}, "a")
        assert refused.value.retry_after == pytest.approx(1.0)
    now += 1.0
    rate.take({}, "a")
    with pytest.raises(Busy):
        rate.take({}, "a")
    now += 3600
    rate.take({}, "a")
    rate.take({}, "a")
    with pytest.raises(Busy):
        rate.take({}, "a")


def test_buckets_of_many_callers_do_not_pile_up() -> None:
    rate = RateLimit(ServerOptions(rate_per_minute=60))
    for i in range(10_500):
        rate.take({}, f"address {i}")
    assert len(rate._buckets) == 10_000


# -- messages -----------------------------------------------------------------------------------------------------


def test_messages_of_an_add_are_bounded() -> None:
    options = ServerOptions(messages_per_add=2, text_chars=10)
    check_messages(options, "x" * 10)
    check_messages(options, [{"role": "user", "content": "x" * 10}, {"content": [{"type": "text", "text": "y"}]}])
    for messages in (
        "x" * 11,
        [{"content": "x" * 11}],
        [{"content": [{"text": "x" * 6}, {"text": "y" * 6}]}],
        ["a"] * 3,
    ):
        with pytest.raises(InvalidInput, match="at most"):
            check_messages(options, messages)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/memories", {}),
        ("/product/add", {"user_id": "ada"}),
        ("/api/openmem/v1/add/message", {"user_id": "ada", "conversation_id": "c"}),
    ],
)
async def test_every_wire_keeps_these_limits(memos: AsyncMemOS, path: str, body: dict[str, object]) -> None:
    async with client_with(memos, messages_per_add=2, text_chars=10) as client:
        fits = {"role": "user", "content": "I am here."}
        for messages in ([fits] * 3, [{"role": "user", "content": "x" * 11}]):
            answer = await client.post(path, json=body | {"messages": messages})
            assert "at most" in answer.text
            assert answer.status_code == 400 or answer.json()["code"] not in (0, 200)
        assert (await client.post(path, json=body | {"messages": [fits]})).status_code == 200
        assert await memos.count(user="ada" if "user_id" in body else "default", kinds=["trace"]) == 1


async def test_messages_that_are_read_at_once_are_bounded_together(memos: AsyncMemOS) -> None:
    app = create_app(memos, ServerOptions(text_chars=1_000))
    async with app.router.lifespan_context(app), in_process(app) as client:
        path, message = "/api/openmem/v1/extract/memory", {"role": "user", "content": "I moved to Oslo. " * 20}
        assert (await client.post(path, json={"messages": [message] * 2})).json()["code"] == 0
        refused = (await client.post(path, json={"messages": [message] * 4})).json()
        assert (refused["code"], "1,000" in refused["message"]) == (40000, True)


async def test_every_wire_tells_of_limits_in_its_own_envelope(memos: AsyncMemOS) -> None:
    async with client_with(memos, body_mb=1, rate_per_minute=60, rate_burst=3) as client:
        paths = {"/v1/memories": "error", "/product/add": "code", "/api/openmem/v1/add/message": "code"}
        large = {"messages": "x" * MB, "user_id": "a"}
        for path, key in paths.items():
            answer = await client.post(path, json=large)
            assert answer.status_code == 413
            assert answer.json()[key]
        for path, key in paths.items():
            answer = await client.post(path, json={})
            assert answer.status_code == 429
            assert answer.json()[key]
            assert answer.headers["retry-after"] == "1"


# -- streams ------------------------------------------------------------------------------------------------------


def test_frames_of_events() -> None:
    assert frame({"a": 1}) == b'data: {"a":1}\n\n'
    assert frame("two\nlines") == b"data: two\ndata: lines\n\n"
    assert frame("") == b"data: \n\n"


async def test_streams_are_counted_and_ended_when_clients_leave_or_the_server_stops(memos: AsyncMemOS) -> None:
    app = add_probes(create_app(memos, ServerOptions(streams=1)))
    streams = app.state.frame.streams

    async def events() -> AsyncIterator[object]:
        begun.set()
        try:
            yield 1
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    begun, ended = asyncio.Event(), list[bool]()
    reply = streams.reply(events(), heartbeat=0.05)
    with pytest.raises(Busy):
        streams.reply(events())
    sent: list[bytes] = []
    gone = asyncio.Event()

    async def receive() -> dict[str, object]:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, object]) -> None:
        sent.append(message.get("body", b""))
        if len(sent) > 3:
            gone.set()

    await asyncio.wait_for(reply({"type": "http", "asgi": {"spec_version": "2.3"}}, receive, send), 5)
    assert sent[1] == b"data: 1\n\n"
    assert sent[2].startswith(b":")
    assert ended == [True]
    begun.clear()
    second = asyncio.create_task(
        streams.reply(events())({"type": "http", "asgi": {"spec_version": "2.3"}}, asyncio.Event().wait, send)
    )
    await asyncio.wait_for(begun.wait(), 5)
    streams.stop()
    await asyncio.wait_for(second, 5)
    assert ended == [True, True]
    with pytest.raises(Busy):
        streams.reply(events())


# -- connections, on a real server --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    start = Starter(tmp_path_factory.mktemp("strict"))
    try:
        yield start(
            MEMOS_SERVER_READ_SECONDS="0.7",
            MEMOS_SERVER_IDLE_SECONDS="1",
            MEMOS_SERVER_CONNECTIONS="10",
            MEMOS_SERVER_BODY_MB="1",
        )
    finally:
        start.end()


def connect(live: Live) -> socket.socket:
    host, port = live.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def until_closed(sock: socket.socket) -> tuple[bytes, float]:
    begun, got = time.monotonic(), b""
    with contextlib.suppress(ConnectionResetError):
        while data := sock.recv(65_536):
            got += data
    return got, time.monotonic() - begun


def test_a_head_that_dribbles_in_is_cut_off(strict: Live) -> None:
    for first in (b"", b"GET /health HT", b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n"):
        with connect(strict) as sock:
            sock.sendall(first)
            got, seconds = until_closed(sock)
            assert got == b""
            assert 0.4 < seconds < 5


def test_dribbling_does_not_renew_the_time_of_a_head(strict: Live) -> None:
    with connect(strict) as sock:
        begun = time.monotonic()
        with contextlib.suppress(OSError):
            for byte in b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"a" * 100:
                sock.sendall(bytes([byte]))
                time.sleep(0.05)
        assert time.monotonic() - begun < 5


def test_a_body_that_dribbles_in_is_answered_408(strict: Live) -> None:
    with connect(strict) as sock:
        head = "POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"
        sock.sendall(head.encode())
        got, seconds = until_closed(sock)
    assert got.startswith(b"HTTP/1.1 408")
    assert b"too_slow" in got
    assert seconds < 5


def test_a_head_that_is_too_large_is_refused(strict: Live) -> None:
    with connect(strict) as sock:
        got = b""
        with contextlib.suppress(OSError):
            sock.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
            for _ in range(20):
                sock.sendall(b"X-A: " + b"a" * 9_000 + b"\r\n")
                time.sleep(0.01)
        got, _ = until_closed(sock)
    assert got.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400")) or got == b""


def test_an_idle_connection_is_closed_and_a_busy_one_reused(strict: Live) -> None:
    ask = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connect(strict) as sock:
        for _ in range(3):
            sock.sendall(ask)
            got = b""
            while not got.endswith(b"}"):
                got += sock.recv(65_536)
            assert got.startswith(b"HTTP/1.1 200")
            time.sleep(0.4)
        _, seconds = until_closed(sock)
        assert seconds < 5


def test_more_connections_than_allowed_are_told_to_come_back(strict: Live) -> None:
    with strict.client() as client:
        assert client.post("/v1/memories", json={"messages": "I live in Oslo."}).status_code == 200
    with contextlib.ExitStack() as stack:
        answers = []
        for _ in range(15):
            sock = stack.enter_context(connect(strict))
            with contextlib.suppress(OSError):  # streams, which go on: every connection is there at the same time
                sock.sendall(b"GET /v1/learning/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answers.append(sock.recv(12, socket.MSG_WAITALL))
    assert answers.count(b"HTTP/1.1 503") >= 4
    assert b"HTTP/1.1 200" in answers
    until = time.monotonic() + 10
    with strict.client() as client:
        while (status := client.get("/health").status_code) == 503:  # until the server has seen that they are gone
            assert time.monotonic() < until
            time.sleep(0.05)
        assert status == 200


def test_after_all_that_the_server_is_well(strict: Live) -> None:
    with strict.client() as client:
        assert client.get("/ready").json()["status"] == "ready"
    assert strict.process.poll() is None
    assert not [line for line in strict.log if "Traceback" in line or "request_broke" in line]


async def test_no_more_models_are_asked_than_streams_may_be_open(tmp_path: Path) -> None:
    asked: list[str] = []
    refused = asyncio.Semaphore(0)

    class Slow:
        model_id = "page:slow"

        async def complete(self, request: ChatRequest) -> ChatReply:
            return ChatReply("yes")

        async def stream(self, request: ChatRequest) -> AsyncIterator[Piece]:
            asked.append("asked")
            async with asyncio.timeout(20):  # the stream goes on until all others were answered
                for _ in range(3):
                    await refused.acquire()
            yield Piece(reply=ChatReply("yes"))

    memos = AsyncMemOS(tmp_path, embedder="none", llm=Slow(), reading="fast")
    app = create_app(memos, ServerOptions(streams=1))
    inside = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1:8000")
    async with app.router.lifespan_context(app), inside:
        body = {"query": "Is it late?", "stream": True, "add": False}

        async def ask() -> httpx2.Response:
            answer = await inside.post("/v1/chat", json=body)
            if answer.status_code != 200:
                refused.release()
            return answer

        answers = await asyncio.gather(*(ask() for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 429, 429, 429]
    assert asked == ["asked"]
