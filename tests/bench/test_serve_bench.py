"""The measurements of a server: what the load sends and counts, and that each of them runs."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from memos.bench import __main__ as bench
from memos.bench import load, serve, soak
from memos.bench.pages import table
from memos.bench.process import cost, server

pytest.importorskip("fastapi")
Answer = Callable[[dict[str, Any]], Awaitable[tuple[int, bytes]]]


class Echo:
    """A server whose answers a test decides; keeps the bodies it was sent."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.bodies = answer, list[dict[str, Any]]()
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                body = json.loads(await reader.readexactly(length))
                self.bodies.append(body)
                status, content = await self.answer(body)
                if status == 0:
                    break
                writer.write(
                    b"HTTP/1.1 %d X\r\ncontent-type: x\r\nContent-Length: %d\r\n\r\n" % (status, len(content)) + content
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def echo(few_words: None) -> AsyncIterator[Callable[[Answer], Awaitable[Echo]]]:
    running: list[asyncio.Server] = []

    async def start(answer: Answer) -> Echo:
        made = Echo(answer)
        running.append(await asyncio.start_server(made.serve, "127.0.0.1", 0))
        made.port = running[0].sockets[0].getsockname()[1]
        return made

    yield start
    for one in running:
        one.close()


@pytest.fixture
def few_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The generated traffic takes seconds to make; these tests need none of it."""
    texts = [{"content": f"text {i}"} for i in range(50)]
    monkeypatch.setattr(load.corpus, "messages", lambda count, seed: [("s", texts)])
    monkeypatch.setattr(load.corpus, "questions", lambda count: ["who?", "when?"])


def plan(kind: str, port: int, **how: Any) -> load.Plan:
    return load.Plan(kind, "127.0.0.1", port, "r", **how)


async def test_every_add_is_another_message_and_each_client_walks_over_its_own_cubes(echo: Any) -> None:
    async def ok(body: dict[str, Any]) -> tuple[int, bytes]:
        return 200, b"{}" * 5_000  # comes in several pieces

    there = await echo(ok)
    done = await load._Run(plan("add", there.port, clients=2, users=4, calls=4, warm=0, messages=3)).measure()
    assert len(done.latencies) == 8 and done.messages == 24 and done.failed == {}
    ids = [m["message_id"] for body in there.bodies for m in body["messages"]]
    assert len(set(ids)) == 24
    users = {body["messages"][0]["message_id"].split("-")[1]: set() for body in there.bodies}
    for body in there.bodies:
        users[body["messages"][0]["message_id"].split("-")[1]].add(body["user"])
    assert sorted(map(sorted, users.values())) == [["bench0", "bench1"], ["bench2", "bench3"]]


async def test_what_fails_is_counted_apart_and_the_connection_is_made_again(echo: Any) -> None:
    statuses = iter([200, 429, 0, 200, 500, 200])

    async def answer(body: dict[str, Any]) -> tuple[int, bytes]:
        return next(statuses), b"x"

    there = await echo(answer)
    done = await load._Run(plan("search", there.port, calls=6, warm=0, user="ada")).measure()
    assert len(done.latencies) == 3
    assert done.failed == {"429": 1, "0": 1, "500": 1}
    assert {b["user"] for b in there.bodies} == {"ada"}


async def test_a_paced_client_counts_from_when_it_meant_to_ask(echo: Any) -> None:
    calls = 0

    async def stalls_once(body: dict[str, Any]) -> tuple[int, bytes]:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0.4 if calls == 1 else 0)
        return 200, b""

    there = await echo(stalls_once)
    done = await load._Run(plan("search", there.port, calls=4, warm=0, pause=0.1)).measure()
    first, second, third, _ = done.latencies
    assert first >= 0.4
    assert second >= 0.25 and third >= 0.15  # they were due while the server stalled


async def test_calls_of_the_warm_up_are_not_counted(echo: Any) -> None:
    async def ok(body: dict[str, Any]) -> tuple[int, bytes]:
        return 200, b""

    there = await echo(ok)
    done = await load._Run(plan("search", there.port, calls=3, warm=2)).measure()
    assert len(done.latencies) == 3 and len(there.bodies) == 5
    assert done.calls_per_second > 0


async def test_the_load_in_its_own_process_measures_a_real_server(tmp_path: Path) -> None:
    with server(tmp_path / "home", embedder="none") as target:
        found = await load.run(plan("add", target.port, clients=4, users=4, calls=5, warm=1, messages=2))
        assert len(found.latencies) == 20 and found.messages == 40 and found.failed == {}
        used = target.cost()
        assert used.rss > 20 and used.threads >= 1 and used.cpu > 0
        assert 0 < target.ready < 60
    assert target.process.returncode == 0


def test_a_server_that_cannot_start_is_told_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["serve", "adds", "--embedder", "nonsense", "--seconds", "1"]) == 2
    assert "nonsense" in capsys.readouterr().err


def test_the_cost_of_this_process() -> None:
    here = cost(os.getpid())
    assert here.rss > 5 and here.descriptors > 2
    assert cost(2**30).rss == 0


def test_help_names_every_measurement(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["serve", "--help"])
    told = capsys.readouterr().out
    assert all(f"  {name} " in told for name in serve.MEASURES)
    with pytest.raises(SystemExit):
        bench.main(["serve", "nonsense"])


def test_tables_are_markdown() -> None:
    assert table(("a", "b"), [(1234, 0.25), ("x", 1234.5)]) == "| a | b |\n|---|---|\n| 1,234 | 0.2 |\n| x | 1,234 |"


@pytest.mark.slow
@pytest.mark.parametrize("what", ["sustained", "homes"])
def test_a_measurement_runs_and_its_rows_are_complete(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"<!-- bench:serve-{what} -->\nstale\n<!-- /bench -->\n", encoding="utf-8")
    options = ["--seconds", "0.5", "--cubes", "4", "--embedder", "none", "--json", "--docs", str(page)]
    assert bench.main(["serve", what, *options]) == 0
    rows = json.loads(capsys.readouterr().out)[what]
    assert len(rows) >= 3 and all(row["failed"] == 0 for row in rows)
    assert "stale" not in page.read_text("utf-8") and f"python -m memos.bench serve {what}" in page.read_text("utf-8")


@pytest.mark.slow
async def test_a_soak_samples_and_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "FINDING", 1.0)
    head, rows = await soak.soak(0.05, embedder="none", users=4)
    assert len(rows) == soak.SAMPLES + 2 and all(len(row) == len(head) for row in rows)
    assert "0 failed" in str(rows[-1][-1])
