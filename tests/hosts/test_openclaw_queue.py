"""The plugin for OpenClaw when something is away, killed, full or slow: nothing is lost, nothing told twice, and the host goes on."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from hosts_world import Serve
from openclaw_world import Gateway, Gateways, Session, a_turn, node, of_turn, told

pytestmark = pytest.mark.skipif(node() is None, reason="NOT TESTED: the plugin for OpenClaw needs Node 20 or later")


def test_turns_that_were_missed_are_taken_over_in_order(gateways: Gateways, live: Path, user: str) -> None:
    session = Session(gateways())
    a_turn(session, 1)
    session.away = True
    for number in (2, 3):
        a_turn(session, number)
    session.away = False
    a_turn(session, 4)
    session.gateway = gateways()  # another process, which knows nothing
    a_turn(session, 5)
    assert told(live, user) == [text for number in range(1, 6) for text in of_turn(number)]


def test_what_was_said_before_the_plugin_was_there_is_not_taken(gateway: Gateway, live: Path, user: str) -> None:
    session = Session(gateway, away=True)
    a_turn(session, 1)
    session.away = False
    a_turn(session, 2)
    assert told(live, user) == of_turn(2)


def test_a_gateway_that_is_killed_in_a_run_loses_nothing(gateways: Gateways, live: Path, user: str) -> None:
    session = Session(gateways())
    session.prompt("Question 1")
    session.bash("echo 1", "1")
    session.say("Answer 1")
    session.gateway.kill()
    session.keep()
    session.gateway = gateways()
    a_turn(session, 2)
    assert told(live, user) == of_turn(1) + of_turn(2)


def test_lost_cursors_make_nothing_twice(gateways: Gateways, live: Path, user: str) -> None:
    session = Session(gateways())
    a_turn(session, 1)
    for file in (session.gateway.home / "hosts" / "openclaw" / "sessions").glob("*"):
        file.write_text(json.dumps({**json.loads(file.read_text()), "at": 0, "runs": []}))
    session.gateway = gateways()
    a_turn(session, 2)
    assert Counter(told(live, user)) == Counter(of_turn(1) + of_turn(2))


def test_without_a_server_everything_waits_and_the_host_goes_on(
    tmp_path: Path, serving: Serve, gateways: Gateways, user: str
) -> None:
    home = tmp_path / "home"
    gateway = gateways(home)
    session = Session(gateway)
    start = time.monotonic()
    a_turn(session, 1)
    a_turn(session, 2)
    assert time.monotonic() - start < 5
    assert len(gateway.spool) == 1 and gateway.spool[0].stat().st_mode & 0o077 == 0
    assert sum("no server runs" in line for line in gateway.log) >= 1
    gateway.kill()
    serving(home)
    after = gateways(home)
    third = Session(after)
    a_turn(third, 3)
    assert told(home, user) == of_turn(1) + of_turn(2) + of_turn(3)
    assert after.spool == []


def test_a_server_that_comes_back_gets_the_rest_by_itself(
    tmp_path: Path, serving: Serve, gateways: Gateways, user: str
) -> None:
    home = tmp_path / "home"
    server = serving(home)
    gateway = gateways(home)
    session = Session(gateway)
    a_turn(session, 1)
    server.kill()
    server.wait()
    a_turn(session, 2)
    serving(home)
    until = time.monotonic() + 20
    while gateway.spool and time.monotonic() < until:
        gateway.ask("wait", ms=100)
    assert told(home, user) == of_turn(1) + of_turn(2)
    assert any("is there again" in line for line in gateway.log)


def test_a_server_that_says_nothing_is_not_waited_for(tmp_path: Path, gateways: Gateways) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        gateway = gateways(tmp_path / "home", url=f"http://127.0.0.1:{deaf.getsockname()[1]}", deadlineMs=400)
        session = Session(gateway)
        start = time.monotonic()
        assert session.prompt("Hello") == ""
        assert time.monotonic() - start < 2
        assert session.prompt("Hello again") == ""
        assert time.monotonic() - start < 3
        assert len(gateway.spool) == 1


@pytest.mark.parametrize("head", ["200 OK", "405 Method Not Allowed", "422 Unprocessable", "400 Bad Request"])
def test_what_answers_and_is_no_server_gets_nothing(head: str, tmp_path: Path, gateways: Gateways) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def serve() -> None:
            while True:
                try:
                    connection, _ = other.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65_536)
                    connection.sendall(
                        f"HTTP/1.1 {head}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}".encode()
                    )

        threading.Thread(target=serve, daemon=True).start()
        gateway = gateways(tmp_path / "home", url=f"http://127.0.0.1:{other.getsockname()[1]}")
        assert Session(gateway).prompt("Hello") == ""
        assert len(gateway.spool) == 1 and any("no MemOS server" in line for line in gateway.log)


def test_it_starts_a_server_where_none_runs_which_ends_with_the_gateway(
    tmp_path: Path, gateways: Gateways, user: str
) -> None:
    home = tmp_path / "home"
    gateway = gateways(home, python=sys.executable)
    gateway.ask("service", what="start")
    session = Session(gateway)
    a_turn(session, 1)
    until = time.monotonic() + 20
    while gateway.spool and time.monotonic() < until:
        gateway.ask("wait", ms=100)
    assert told(home, user) == of_turn(1)
    gateway.kill()
    while (home / "server.json").exists() and time.monotonic() < until + 20:
        time.sleep(0.05)
    assert not (home / "server.json").exists()


def test_a_server_that_cannot_be_started_is_said(tmp_path: Path, gateways: Gateways) -> None:
    gateway = gateways(tmp_path / "home", python=str(tmp_path / "nowhere"))
    start = time.monotonic()
    assert Session(gateway).prompt("Hello") == ""
    assert time.monotonic() - start < 5
    assert any("could not be started" in line for line in gateway.log) and len(gateway.spool) == 1


def test_reports_that_are_refused_do_not_block_those_behind(gateway: Gateway, live: Path, user: str) -> None:
    session = Session(gateway, id="bad\x07id")  # no name of a session
    session.prompt("Hello")
    session.end()
    a_turn(Session(gateway), 1)
    assert told(live, user) == of_turn(1)
    assert any("start_turn is not kept: the server answered 4" in line for line in gateway.log)
    assert gateway.spool == []


def test_a_broken_line_of_the_queue_is_left_out(gateways: Gateways, live: Path, user: str, tmp_path: Path) -> None:
    gateway = gateways()
    a_turn(Session(gateway), 0)
    (folder,) = (tmp_path / "own" / "hosts" / "openclaw").glob("spool*")
    fields = {"text": "Kept", "session": "s", "key": "k1", "recall": False, "user": user}
    good = {"number": 1, "verb": "start_turn", "fields": fields}
    (folder / "999999999-1-ab.jsonl").write_text(f'not json\n{json.dumps(good)}\n{{"number": 2, "verb"')
    a_turn(Session(gateway), 1)
    assert told(live, user) == [*of_turn(0), "Kept", *of_turn(1)]
    assert gateway.spool == []


def test_a_queue_that_another_takes_over_while_it_grows_loses_nothing(
    tmp_path: Path, serving: Serve, gateways: Gateways, user: str
) -> None:
    home = tmp_path / "home"
    gateway = gateways(home)
    session = Session(gateway)
    a_turn(session, 1)
    (file,) = gateway.spool
    file.rename(file.with_name("999999999-1-ab.jsonl"))  # as by one in another container, which sees no such process
    a_turn(session, 2)
    serving(home)
    a_turn(session, 3)
    assert told(home, user) == [text for number in (1, 2, 3) for text in of_turn(number)]
    assert gateway.spool == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="NOT TESTED: files of a size are a matter of Linux")
def test_a_disk_that_is_full_for_a_while_loses_nothing_and_tears_no_line(
    tmp_path: Path, serving: Serve, gateways: Gateways, user: str
) -> None:
    gateway = gateways(tmp_path / "home")
    session = Session(gateway)
    gateway.room(1_000)
    a_turn(session, 1)
    a_turn(session, 2)  # not all of it is on disk
    assert gateway.spool[0].stat().st_size <= 1_000 and gateway.spool[0].read_bytes().endswith(b"\n")
    assert any("cannot be written (EFBIG)" in line and "in memory only" in line for line in gateway.log)
    gateway.room(1 << 30)
    a_turn(session, 3)
    gateway.kill()
    serving(tmp_path / "home")
    a_turn(Session(gateways(tmp_path / "home")), 4)
    assert told(tmp_path / "home", user) == [text for number in (1, 2, 3, 4) for text in of_turn(number)]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="NOT TESTED: files of a size are a matter of Linux")
def test_with_a_disk_that_is_full_a_prompt_gets_its_block_and_is_stored(
    tmp_path: Path, gateways: Gateways, live: Path, user: str
) -> None:
    gateway = gateways()
    first = Session(gateway)
    first.prompt("Always use uv instead of pip.")
    first.end()
    gateway.room(10)
    start = time.monotonic()
    assert "use uv" in Session(gateway).prompt("Install lxml")
    assert time.monotonic() - start < 3
    assert told(live, user) == ["Always use uv instead of pip.", "Install lxml"]


def test_a_folder_that_is_taken_away_under_it_is_made_anew(
    gateways: Gateways, tmp_path: Path, serving: Serve, user: str
) -> None:
    home = tmp_path / "home"
    gateway = gateways(home)
    session = Session(gateway)
    a_turn(session, 1)
    (home / "hosts").rename(tmp_path / "moved")
    a_turn(session, 2)
    serving(home)
    a_turn(session, 3)
    assert told(home, user) == [text for number in (2, 3) for text in of_turn(number)]


def test_after_a_server_that_did_not_answer_nobody_waits_long(tmp_path: Path, gateways: Gateways) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        gateway = gateways(tmp_path / "home", url=f"http://127.0.0.1:{deaf.getsockname()[1]}", deadlineMs=2_500)
        session = Session(gateway)
        session.prompt("Hello")
        for _ in range(2):
            start = time.monotonic()
            assert session.prompt("Hello again") == ""
            assert time.monotonic() - start < 1.5
        start = time.monotonic()
        session.end()
        assert time.monotonic() - start < 1.5


def test_a_server_that_asks_for_a_pause_gets_it(tmp_path: Path, gateways: Gateways) -> None:
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as busy:

        def serve() -> None:
            while True:
                try:
                    connection, _ = busy.accept()
                except OSError:
                    return
                with connection:
                    asked.append(connection.recv(65_536))
                    connection.sendall(
                        b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3600\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
                    )

        threading.Thread(target=serve, daemon=True).start()
        gateway = gateways(tmp_path / "home", url=f"http://127.0.0.1:{busy.getsockname()[1]}")
        session = Session(gateway)
        a_turn(session, 1)
        a_turn(session, 2)
        gateway.ask("wait", ms=1_500)
        assert len(asked) == 1
        assert any("answered 429" in line for line in gateway.log) and len(gateway.spool) == 1


def test_what_a_gateway_of_another_user_left_behind_is_not_taken_over(
    tmp_path: Path, gateways: Gateways, serving: Serve
) -> None:
    home = tmp_path / "home"
    ada = gateways(home, user="ada")
    a_turn(Session(ada), 1)
    ada.kill()
    serving(home)
    a_turn(Session(gateways(home, user="bob")), 2)
    assert told(home, "bob") == of_turn(2) and told(home, "ada") == []
    a_turn(Session(gateways(home, user="ada")), 3)
    assert told(home, "ada") == of_turn(1) + of_turn(3)


def test_a_report_over_which_the_server_breaks_does_not_jam_those_behind_it(
    gateways: Gateways, live: Path, user: str
) -> None:
    real = json.loads((live / "server.json").read_text())["url"]

    class Door(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, answer = 500, b'{"error": {"code": "internal"}}'
            if b"poison" not in body:
                request = Request(real + self.path, body, {"Content-Type": "application/json"})
                with urlopen(request) as response:
                    status, answer = 200, response.read()
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Door) as door:
        threading.Thread(target=door.serve_forever, daemon=True).start()
        gateway = gateways(url=f"http://127.0.0.1:{door.server_address[1]}")
        session = Session(gateway)
        session.prompt("poison")
        for _ in range(5):
            session.end()  # each tries it again
        a_turn(Session(gateway), 1)
        assert told(live, user) == of_turn(1)
        assert any("breaks over a start_turn" in line for line in gateway.log)
        (kept,) = gateway.spool
        assert "poison" in kept.read_text() and kept.stat().st_mode & 0o077 == 0
        door.shutdown()
