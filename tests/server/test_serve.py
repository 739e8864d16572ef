"""`memos serve` as a process: how it starts, what it refuses, how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx2
import pytest
from serving import SRC, Live, Starter

from memos import AsyncMemOS, MemOS


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


def make_key(home: Path, user: str = "alice", **options: object) -> str:
    async def make() -> str:
        async with AsyncMemOS(home, embedder="none", background=False) as memos:
            return (await memos.accounts.create_key(user, **options))[1]

    return asyncio.run(make())


def test_one_line_says_where_it_serves(serve: Starter) -> None:
    process = serve.begin(home=(home := serve.folder / "h"))
    line = process.stdout.readline()
    assert str(home) in line
    assert "http://127.0.0.1:" in line
    assert "no keys needed" in line
    process.send_signal(signal.SIGTERM)
    code, out, err = ended(process)
    assert (code, out) == (0, "")
    assert "Traceback" not in err


def test_with_json_the_line_is_json(serve: Starter) -> None:
    process = serve.begin("--json", home=serve.folder / "h")
    told = json.loads(process.stdout.readline())
    assert told["url"].startswith("http://127.0.0.1:")
    assert told["keys"] is False


def test_the_port_that_is_taken_is_named(serve: Starter) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = ended(serve.begin("--port", str(port), home=serve.folder / "h"))
    assert code == 1
    assert f"127.0.0.1:{port}: the port is taken" in err
    assert len(err.splitlines()) == 1


def test_an_address_that_is_not_ours_is_refused_in_a_line(serve: Starter) -> None:
    home = serve.folder / "h"
    make_key(home)
    code, _, err = ended(serve.begin("--host", "192.0.2.1", home=home))
    assert code == 1
    assert "cannot listen at 192.0.2.1" in err
    assert len(err.splitlines()) == 1


def test_serving_the_network_without_a_key_is_refused_and_explained(serve: Starter) -> None:
    code, _, err = ended(serve.begin("--host", "0.0.0.0", home=serve.folder / "h"))
    assert code == 2
    assert "no API key" in err
    assert "memos keys create" in err
    assert len(err.splitlines()) == 1


def test_serving_the_network_without_auth_is_refused_even_with_keys(serve: Starter) -> None:
    home = serve.folder / "h"
    make_key(home)
    code, _, err = ended(serve.begin("--host", "0.0.0.0", "--auth", "off", home=home))
    assert code == 2
    assert "auth off is refused" in err


def test_serving_the_network_with_a_key_works_and_needs_it(serve: Starter) -> None:
    home = serve.folder / "h"
    secret = make_key(home)
    live = serve("--host", "0.0.0.0", home=home)
    url = live.url.replace("0.0.0.0", "127.0.0.1")
    assert httpx2.get(f"{url}/metrics").status_code == 401
    assert httpx2.get(f"{url}/metrics", headers={"Authorization": f"Bearer {secret}"}).status_code == 200


def test_a_key_made_while_it_runs_counts_at_once(serve: Starter) -> None:
    live = serve()
    with live.client() as client:
        assert client.get("/metrics").status_code == 200
        secret = make_key(live.home)
        assert client.get("/metrics").status_code == 401
        assert client.get("/metrics", headers={"Authorization": secret}).status_code == 200


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"MEMOS_SERVER_PORT": "x"}, "MEMOS_SERVER_PORT must be a whole number"),
        ({"MEMOS_SERVER_AUTH": "maybe"}, "MEMOS_SERVER_AUTH: auth is auto, on or off"),
        ({"MEMOS_SERVER_CORS_ORIGINS": "*"}, "MEMOS_SERVER_CORS_ORIGINS"),
        ({"MEMOS_SERVER_BODY_MB": "0"}, "MEMOS_SERVER_BODY_MB"),
    ],
)
def test_an_option_that_cannot_be_is_one_line(serve: Starter, env: dict[str, str], words: str) -> None:
    command = [sys.executable, "-m", "memos.cli", "--home", str(serve.folder / "h"), "serve"]
    env = {**os.environ, "PYTHONPATH": str(SRC), **env}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_the_server_packages_the_command_says_what_to_install(serve: Starter) -> None:
    code = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "from memos.cli.main import app; app(['--home', sys.argv[1], 'serve', '--port', '0'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(serve.folder / "h")],
        env={**os.environ, "PYTHONPATH": str(SRC)}, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "pip install '.[server]'" in done.stderr


def test_a_data_folder_that_cannot_be_used_is_one_line(serve: Starter) -> None:
    home = serve.folder / "h"
    home.mkdir()
    (home / "control.db").write_bytes(b"no database at all" * 100)
    code, _, err = ended(serve.begin(home=home))
    assert code == 1
    assert "control.db" in err.splitlines()[-1]
    assert "Traceback" not in err


def listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=2).close()
    except OSError:
        return False
    return True


def begun_request(length: int) -> bytes:
    """The head of a request with so long a body. The server answers 100 when it is about to read that."""
    head = "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
    return f"{head}Content-Length: {length}\r\n\r\n".encode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_request_under_way_is_finished_before_the_end(serve: Starter, number: int) -> None:
    live = serve()
    host, port = live.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as sock:
        body = b'{"a": 1}'
        sock.sendall(begun_request(len(body)) + body[:4])
        assert sock.recv(65_536).startswith(b"HTTP/1.1 100")  # the server waits for the rest of the body
        live.process.send_signal(number)
        until = time.monotonic() + 20
        while listens(host, int(port)):
            assert time.monotonic() < until, "it still takes connections"
        assert live.process.poll() is None
        sock.sendall(body[4:])
        got = b""
        while data := sock.recv(65_536):
            got += data
    assert got.startswith(b"HTTP/1.1 404")
    assert live.process.wait(30) == 0


def test_the_end_does_not_wait_for_ever(serve: Starter) -> None:
    live = serve(MEMOS_SERVER_SHUTDOWN_SECONDS="1")
    host, port = live.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as sock:
        sock.sendall(begun_request(9) + b"{")
        assert sock.recv(65_536).startswith(b"HTTP/1.1 100")
        begun = time.monotonic()
        assert live.stop() == 0
        assert time.monotonic() - begun < 10


def test_what_was_acknowledged_before_the_end_is_there_after_it(serve: Starter) -> None:
    live = serve()
    with live.client() as client:
        for i in range(20):
            answer = client.post("/v1/memories", json={"messages": f"Fact {i}: the code of door {i} is Z-{i:04}."})
            assert answer.status_code in (200, 201, 202), answer.text
    assert live.stop() == 0
    with MemOS(live.home, embedder="none") as memos:
        memos.flush()
        assert "Z-0019" in memos.search("code of door 19").hits[0].memory.text


def test_two_servers_on_one_folder_work_together(serve: Starter) -> None:
    one = serve(home=serve.folder / "shared")
    two = serve(home=serve.folder / "shared")
    failed: list[str] = []

    def write(live: Live, name: str) -> None:
        with live.client() as client:
            for i in range(15):
                answer = client.post("/v1/memories", json={"messages": f"{name} wrote line {i}: token-{name}-{i}."})
                if answer.status_code not in (200, 201, 202):
                    failed.append(answer.text)

    threads = [threading.Thread(target=write, args=(live, name)) for live, name in ((one, "first"), (two, "second"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    for live in (one, two):
        with live.client() as client:
            for name in ("first", "second"):
                answer = client.post("/v1/memories/search", json={"query": f"token-{name}-14"})
                assert f"token-{name}-14" in answer.text
    assert one.stop() == 0
    with two.client() as client:
        assert client.get("/ready").status_code == 200
    assert two.stop() == 0


def test_no_workers_leaves_the_work_to_others(serve: Starter) -> None:
    live = serve("--workers", "0")
    with live.client() as client:
        assert client.get("/ready").json()["status"] == "ready"
    assert live.stop() == 0


def test_an_open_stream_is_ended_at_the_end_and_forgotten_when_its_client_leaves(serve: Starter) -> None:
    live = serve("--workers", "0")  # so that a task waits, and the stream with it
    with live.client() as client, live.client() as other:
        client.post("/v1/memories", json={"messages": "I live in Oslo.", "task_id": "t"})
        with client.stream("GET", "/v1/tasks/events") as stream:
            lines = stream.iter_lines()  # held: a generator that is dropped closes the stream
            assert next(lines).startswith("data: ")
            assert "memos_http_streams 1.0" in other.get("/metrics").text
        until = time.monotonic() + 10
        while "memos_http_streams 0.0" not in other.get("/metrics").text:
            assert time.monotonic() < until
            time.sleep(0.1)
        with client.stream("GET", "/v1/tasks/events") as stream:
            lines = stream.iter_lines()
            next(lines)
            begun = time.monotonic()
            live.process.send_signal(signal.SIGTERM)
            list(lines)
        assert live.process.wait(30) == 0
        assert time.monotonic() - begun < 15
    assert not [line for line in live.log if "Traceback" in line or "request_broke" in line]
