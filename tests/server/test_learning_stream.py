"""The stream of what is learned through a real server: resumed by a number, kept open, bounded, and ended when it must."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from serving import Live, Starter

from agent_script import PACKAGES, install, learn
from memos import MemOS
from memos.client import Client
from memos.errors import NotFound

STREAM = "/v1/learning/stream"


def read(live: Live, most: int, key: str | None = None, **options: Any) -> list[tuple[int, dict[str, Any]]]:
    """The first events of a stream, each with its id."""
    found: list[tuple[int, dict[str, Any]]] = []
    with live.client(key) as client, client.stream("GET", STREAM, **options) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        id = 0
        for line in answer.iter_lines():
            if line.startswith("id: "):
                id = int(line[4:])
            elif line.startswith("data: "):
                found.append((id, json.loads(line[6:])))
                if len(found) == most:
                    break
    return found


@pytest.fixture(scope="module")
def worked(live: Live) -> Live:
    with Client(live.url, user="ada") as client:
        learn(client)
    return live


def test_a_stream_goes_on_after_the_number_one_has(worked: Live) -> None:
    with Client(worked.url, user="ada") as client:
        there = client.learning_events(limit=1000).items
    assert len(there) >= 10
    every = read(worked, len(there), params={"user": "ada"})
    assert [event["number"] for _, event in every] == [id for id, _ in every] == [e.number for e in there]
    middle = every[4][0]
    assert read(worked, 3, params={"user": "ada", "after": middle}) == every[5:8]
    header = {"Last-Event-ID": str(middle)}
    assert read(worked, 3, params={"user": "ada", "after": 0}, headers=header) == every[5:8]


def test_what_happens_meanwhile_comes_at_once(worked: Live) -> None:
    with Client(worked.url, user="eve") as client:
        install(client, *PACKAGES[0])
        seen = client.learning_events(limit=1000).last
        found: list[Any] = []
        stream = threading.Thread(target=lambda: found.extend(read(worked, 1, params={"user": "eve", "after": seen})))
        stream.start()
        time.sleep(0.5)
        began = time.monotonic()
        install(client, *PACKAGES[1])
        stream.join(10)
        assert found and found[0][1]["what"] == "episode.closed" and time.monotonic() - began < 5


def test_two_users_follow_their_own(worked: Live) -> None:
    with worked.client() as client, client.stream("GET", STREAM, params={"user": "beta"}, timeout=3) as answer:
        assert answer.status_code == 200
        said: list[str] = []
        with pytest.raises(httpx2.ReadTimeout):
            said.extend(answer.iter_lines())
        assert not [line for line in said if line.startswith("data: ")]


@pytest.mark.parametrize("header", ["x", "-1", "9" * 30])
def test_an_id_that_no_event_has_is_refused(worked: Live, header: str) -> None:
    with worked.client() as client:
        answer = client.get(STREAM, headers={"Last-Event-ID": header})
    assert answer.status_code == 400 and "Last-Event-ID" in answer.text


def test_a_stream_is_one_of_those_that_are_counted_and_stops_with_the_server(serve: Starter) -> None:
    live = serve(MEMOS_SERVER_STREAMS="1")
    with live.client() as client, client.stream("GET", STREAM, params={"user": "ada"}) as answer:
        assert answer.status_code == 200
        with live.client() as other:
            assert other.get(STREAM, params={"user": "ada"}).status_code == 429
        began = time.monotonic()
        threading.Timer(0.3, live.process.terminate).start()
        list(answer.iter_lines())  # ends without an error
        assert time.monotonic() - began < 10
    assert live.process.wait(20) == 0


def test_a_stream_ends_when_the_right_or_the_key_is_gone(serve: Starter, tmp_path: Path) -> None:
    with MemOS(tmp_path / "home", embedder="none", background=False) as memos:
        memos.create_cube("team", user="ada")
        memos.share("team", "bob", "read", user="ada")
        _, bob = memos.accounts.create_key("bob")
        key, carl = memos.accounts.create_key("carl")
        live = serve(home=tmp_path / "home")
        with contextlib.ExitStack() as stack:
            client = stack.enter_context(live.client(bob))
            answer = stack.enter_context(client.stream("GET", STREAM, params={"cube": "team"}, timeout=15))
            other = stack.enter_context(live.client(carl))
            own = stack.enter_context(other.stream("GET", STREAM, timeout=15))
            assert answer.status_code == own.status_code == 200
            memos.share("team", "bob", None, user="ada")
            memos.accounts.revoke_key(key.id)
            assert not [line for line in answer.iter_lines() if line.startswith("data: ")]
            assert not [line for line in own.iter_lines() if line.startswith("data: ")]
            assert client.get(STREAM, params={"cube": "team"}).status_code == 404
            assert other.get(STREAM).status_code == 401


def test_a_client_that_follows_misses_nothing_when_the_server_is_restarted(serve: Starter, tmp_path: Path) -> None:
    home = tmp_path / "home"
    live = serve(home=home)
    port = live.url.rsplit(":", 1)[1]
    with Client(live.url, user="ada", timeout=30) as client:
        install(client, *PACKAGES[0])
        client.evolve(now=True)
        stream = client.follow_learning()
        seen = [next(stream) for _ in range(len(client.learning_events().items))]
        assert live.stop() == 0
        live = serve("--port", port, home=home)
        install(client, *PACKAGES[1])
        client.evolve(now=True)
        wanted = [e.number for e in client.learning_events(limit=1000).items]
        while len(seen) < len(wanted):
            seen.append(next(stream))
        assert [e.number for e in seen] == wanted == sorted({*wanted})


def test_a_client_that_may_not_is_told_so(worked: Live) -> None:
    with Client(worked.url, user="beta") as client, pytest.raises(NotFound):
        next(client.follow_learning(cube="ada"))


def test_the_library_follows_what_another_process_learns(worked: Live) -> None:
    with MemOS(worked.home, embedder="none", background=False) as memos, Client(worked.url, user="dan") as client:
        install(client, *PACKAGES[0])
        assert next(memos.follow_learning(user="dan")).what == "episode.closed"
