"""Hooks when what answers is slow, broken, busy, or no MemOS server at all: the host waits no longer, and nothing is lost."""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hosts_world import Host
from openclaw_world import told

from memos import MemOS
from memos.hosts.session import Session

Answering = Callable[[bytes], str]


@pytest.fixture
def answering() -> Iterator[Answering]:
    """The address of something that answers whatever it is asked with the same bytes; with none it says nothing."""
    open_: list[socket.socket] = []

    def start(said: bytes) -> str:
        listening = socket.create_server(("127.0.0.1", 0))
        open_.append(listening)

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                open_.append(connection)
                connection.recv(65_536)
                if said:
                    connection.sendall(said)
                    connection.close()

        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    yield start
    for one in open_:
        one.close()


def reply(status: str, body: str = "{}", *heads: str) -> bytes:
    return "\r\n".join((f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *heads, "", body)).encode()


TROUBLE = {
    "silent": (b"", "cannot be reached"),
    "somebody else": (reply("405 Method Not Allowed", "<html>"), "no MemOS server"),
    "somebody else in JSON": (reply("422 Unprocessable", '{"detail": "no"}'), "no MemOS server"),
    "busy": (reply("429 Too Many", '{"error": {"code": "busy"}}', "Retry-After: 3600"), "answered 429"),
    "broken": (reply("500 Broken", '{"error": {"code": "internal"}}'), "answered 500"),
    "wants a key": (reply("401 Unauthorized", '{"error": {"code": "unauthorized"}}'), "answered 401"),
    "half": (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", "cannot be reached"),
    "no http": (b"SSH-2.0-OpenSSH\r\n", "cannot be reached"),
    "endless": (reply("200 OK", "[" * 200_000), "no MemOS server"),
}


@pytest.mark.parametrize("trouble", sorted(TROUBLE))
def test_a_turn_is_kept_and_the_host_does_not_wait(
    trouble: str, answering: Answering, tmp_path: Path, live: Path, user: str
) -> None:
    said, why = TROUBLE[trouble]
    whose = ("--user", user)
    host = Host("claude-code", tmp_path / "home", tmp_path, ("--url", answering(said), "--deadline", "1", *whose))
    ran = host.prompt("Count the lines")
    assert ran is not None and (ran.out, ran.code) == ("", 0) and why in ran.err and ran.seconds < 3
    host.bash("wc -l a", "12 a")  # behind, so that it does not wait at all
    host.say("There are 12.")
    host.stop()
    assert sum(one.seconds for one in host.ran) < 6
    host.args = ("--url", json.loads((live / "server.json").read_text())["url"], *whose)
    host.end()
    assert told(live, user) == ["Count the lines", "Bash: wc -l a\nok\n12 a", "There are 12."]


def test_a_data_folder_that_cannot_be_written_is_named_and_nothing_is_lost(
    tmp_path: Path, live: Path, user: str
) -> None:
    url = json.loads((live / "server.json").read_text())["url"]
    host = Host("claude-code", tmp_path / "home", tmp_path, ("--url", url, "--user", user))
    host.home.mkdir()
    (host.home / "hosts").write_text("in the way of the folder")
    ran = host.prompt("Count the lines")
    assert ran is not None and ran.code == 0 and "cannot write" in ran.err and "hosts/sessions" in ran.err
    host.say("There are 12.")
    (host.home / "hosts").unlink()
    host.end()
    assert told(live, user) == ["Count the lines", "There are 12."]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no flock")
def test_a_file_system_without_locks_is_worked_on_without_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def refuse(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with Session(str(tmp_path), "codex", "s").held(time.monotonic() + 1) as session:
        session.offset = 7
    with Session(str(tmp_path), "codex", "s").held(time.monotonic() + 1) as session:
        assert session.offset == 7


def test_a_state_file_of_a_server_that_was_killed_does_not_stand_in_the_way_of_the_library(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    home = tmp_path / "home"
    home.mkdir()
    (home / "server.json").write_text(json.dumps({"url": url, "pid": os.getpid()}))  # the number is somebody else's now
    host = Host("claude-code", home, tmp_path, ("--deadline", "50"))
    ran = host.prompt("Count the lines")
    assert ran is not None and not ran.err
    with MemOS(home, embedder="none", background=False) as memos:
        assert [m.text for m in memos.list(kinds=["trace"]).items] == ["Count the lines"]
    host.args = ("--no-embedded",)
    ran = host.prompt("Count them again")
    assert ran is not None and "no server runs" in ran.err
