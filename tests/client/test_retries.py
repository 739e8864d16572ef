"""What the client does when a server is busy, gone, slow or cut off: try again where that is safe, and say what happened."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from client_helpers import ADDED, BadServer, Request, answers, cuts, cuts_within, streams

from memos import errors
from memos.client import AsyncClient, Client
from memos.models.resilience import RetryPolicy

ERROR = {"error": {"code": "storage_busy", "message": "locked"}, "request_id": "r-1"}


@pytest.fixture
def client(bad: BadServer) -> Iterator[Client]:
    with quick(bad.url) as client:
        yield client


def quick(url: str, **options: Any) -> Client:
    """A client whose pauses are short."""
    client = Client(url, **{"timeout": 5, **options})
    client._system._transport._policy = RetryPolicy(attempts=options.get("attempts", 5), base=0.01, longest=0.05)
    return client


def hangs(seconds: float = 30) -> Any:
    def behave(connection: socket.socket, request: Request) -> None:
        time.sleep(seconds)
        cuts(connection, request)

    return behave


@pytest.mark.parametrize(
    "first",
    [
        answers(ERROR, 503),
        answers(b"<html>bad gateway</html>", 502),
        answers(b"", 504),
        cuts,
        cuts_within(b'{"cube"', 99),
    ],
    ids=["503", "502", "504", "cut", "cut within the answer"],
)
def test_an_add_is_sent_again_with_the_same_key(bad: BadServer, client: Client, first: Any) -> None:
    bad.behaviours = [first, first, answers(ADDED)]
    assert client.add("I moved to Oslo", user="ada").ids == ("m1",)
    assert len(bad.requests) == 3
    keys = {r.headers["retry-key"] for r in bad.requests}
    assert len(keys) == 1 and len(keys.pop()) >= 16
    assert len({r.body for r in bad.requests}) == 1


def test_each_add_has_a_key_of_its_own_and_a_given_key_is_sent_as_it_is(bad: BadServer, client: Client) -> None:
    bad.behaviours = [answers(ADDED)]
    client.add("one")
    client.add("two")
    client.add("three", idempotency_key="mine")
    one, two, three = bad.requests
    assert len({r.headers["retry-key"] for r in (one, two, three)}) == 3
    assert three.json["idempotency_key"] == "mine"


@pytest.mark.parametrize("first", [answers(ERROR, 503), cuts, answers(b"", 502)], ids=["503", "cut", "502"])
@pytest.mark.parametrize("verb", ["undo", "update", "delete", "create_cube", "delete_cube", "create_key"])
def test_what_must_not_happen_twice_is_sent_once_and_the_doubt_is_told(
    bad: BadServer, client: Client, verb: str, first: Any
) -> None:
    bad.behaviours = [first]
    calls = {
        "undo": lambda: client.undo("m1"),
        "update": lambda: client.update("m1", text="new"),
        "delete": lambda: client.delete("m1"),
        "create_cube": lambda: client.create_cube("c"),
        "delete_cube": lambda: client.delete_cube("c"),
        "create_key": lambda: client.create_key("ada"),
    }
    with pytest.raises((errors.Unavailable, errors.StorageBusy)) as caught:
        calls[verb]()
    assert len(bad.requests) == 1
    if first is cuts:
        assert "not known whether it was done" in str(caught.value)


@pytest.mark.parametrize("verb", ["add", "undo"])
def test_too_many_requests_are_tried_again_after_the_time_the_server_says(
    bad: BadServer, client: Client, verb: str
) -> None:
    busy = {"error": {"code": "busy", "message": "slow down"}}
    bad.behaviours = [answers(busy, 429, Retry_After="1"), answers(ADDED if verb == "add" else {"items": []})]
    began = time.monotonic()
    client.add("x") if verb == "add" else client.undo("m1")
    assert 1.0 <= time.monotonic() - began < 3
    assert len(bad.requests) == 2


def test_a_server_that_stays_busy_is_busy_at_once_when_it_asks_for_more_time_than_there_is(bad: BadServer) -> None:
    bad.behaviours = [answers({"error": {"code": "busy", "message": "slow down"}}, 429, Retry_After="60")]
    with quick(bad.url, timeout=2) as client, pytest.raises(errors.Busy, match="slow down") as caught:
        client.search("x")
    assert caught.value.retry_after == 60
    assert len(bad.requests) == 1


def test_attempts_are_counted(bad: BadServer) -> None:
    bad.behaviours = [answers(ERROR, 503)]
    with quick(bad.url, attempts=3) as client, pytest.raises(errors.StorageBusy, match="locked") as caught:
        client.search("x")
    assert len(bad.requests) == 3
    assert "r-1" in "".join(caught.value.__notes__)


def test_a_server_that_hangs_is_given_up_in_time(bad: BadServer) -> None:
    bad.behaviours = [hangs()]
    began = time.monotonic()
    with quick(bad.url, timeout=0.6) as client, pytest.raises(errors.TimedOut) as caught:
        client.search("x")
    assert time.monotonic() - began < 2
    assert isinstance(caught.value, TimeoutError) and isinstance(caught.value, errors.Unavailable)


def test_a_hanging_attempt_leaves_time_for_another(bad: BadServer) -> None:
    bad.behaviours = [hangs(), answers(ADDED)]
    with quick(bad.url, timeout=1.0) as client:
        assert client.add("x").ids == ("m1",)


def test_an_answer_that_trickles_is_bounded_too(bad: BadServer) -> None:
    def trickles(connection: socket.socket, request: Request) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(100):
            connection.sendall(b" ")
            time.sleep(0.05)

    bad.behaviours = [trickles]
    began = time.monotonic()
    with quick(bad.url, timeout=0.6) as client, pytest.raises(errors.TimedOut):
        client.search("x")
    assert time.monotonic() - began < 2


def test_a_server_that_is_not_there_yet_is_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    made: list[BadServer] = []

    def appear() -> None:
        time.sleep(0.3)
        server = BadServer([answers({"items": [], "cursor": None})], port=port)
        made.append(server)

    appearing = threading.Thread(target=appear, daemon=True)
    appearing.start()
    with Client(f"http://127.0.0.1:{port}", attempts=8, timeout=10) as client:
        assert client.list().items == ()
    appearing.join(10)  # it may have answered before it was noted
    made[0].close()


def test_a_server_that_is_not_there_is_unavailable_and_the_message_says_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    with quick(f"http://127.0.0.1:{port}") as client, pytest.raises(errors.Unavailable, match="memos serve"):
        client.undo("m1")


def test_an_upload_is_not_repeated_when_its_answer_is_lost(bad: BadServer, client: Client, tmp_path: Path) -> None:
    (tmp_path / "a.memos").write_bytes(b"archive")
    bad.behaviours = [cuts]
    with pytest.raises(errors.Unavailable, match="not known"):
        client.import_cube(tmp_path / "a.memos", "c")
    assert [r.body for r in bad.requests] == [b"archive"]


def test_a_download_that_is_cut_leaves_no_file(bad: BadServer, client: Client, tmp_path: Path) -> None:
    bad.behaviours = [cuts_within(b"PK", 100)]
    with pytest.raises(errors.Unavailable):
        client.export_cube(tmp_path / "a.memos", cube="c")
    bad.behaviours = [answers(b"PK no archive")]
    with pytest.raises(errors.ArchiveError):
        client.export_cube(tmp_path / "a.memos", cube="c")
    assert list(tmp_path.iterdir()) == []


def test_broken_streams_are_taken_up_again_and_no_state_is_told_twice(bad: BadServer, client: Client) -> None:
    waiting, done = task("waiting"), task("completed")
    bad.behaviours = [streams(waiting), cuts, answers(ERROR, 503), streams(waiting, task("in_progress")), streams(done)]
    told = [t.state for t in client.follow_task("t1")]
    assert told == ["waiting", "in_progress", "completed"]


def test_a_stream_that_never_ends_well_is_given_up(bad: BadServer, client: Client) -> None:
    bad.behaviours = [streams()]
    with pytest.raises(errors.Unavailable, match="before it was finished"):
        list(client.follow_task("t1"))


def test_an_iteration_that_is_left_lets_the_connection_go(bad: BadServer, client: Client) -> None:
    gone = threading.Event()

    def endless(connection: socket.socket, request: Request) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        connection.sendall(event(task("waiting")))
        connection.settimeout(5)
        if connection.recv(1) == b"":
            gone.set()

    bad.behaviours = [endless]
    for one in client.follow_task("t1"):
        assert one.state == "waiting"
        break
    assert gone.wait(5)


async def test_one_client_serves_several_loops_one_after_another(bad: BadServer) -> None:
    bad.behaviours = [answers({"items": [], "cursor": None})]
    client = AsyncClient(bad.url)
    await client.list()

    def elsewhere() -> None:
        import asyncio

        async def use() -> None:
            await client.list()
            await client.close()

        asyncio.run(use())

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join(10)
    await client.list()
    await client.close()
    assert len(bad.requests) == 3


def task(state: str) -> dict[str, Any]:
    at = "2026-01-01T00:00:00Z"
    return {
        "id": "t1", "kind": "digest", "user": "ada", "lane": "ada", "cube": "ada", "payload": {}, "caller_id": None, "priority": 0,
        "state": state, "attempts": 1, "max_attempts": 5, "enqueued_at": at, "available_at": at,
    }  # fmt: skip


def event(value: Any) -> bytes:
    import json

    return f"data: {json.dumps(value)}\n\n".encode()
