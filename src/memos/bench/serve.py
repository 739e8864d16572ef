"""`python -m memos.bench serve`: a real server process on this machine, load from another process, and what the answers took.

Latencies are those of the one who asks. A client that asks at fixed times ("10/s each") counts from when it meant to ask, so
that a server that stalls is not flattered; "closed" means that each client asks again as soon as it is answered. `cpu ms` is
processor time of the server (of all its processes) per call, background work included; `load cpu %` is that of the process that
asks.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memos.bench import load, speed
from memos.bench.pages import COMMAND, block, table, write_into
from memos.bench.process import Cost, Server, redis, server
from memos.bench.soak import soak
from memos.bench.speed import Latency
from memos.bench.work import Digesting, Watch, say
from memos.client import AsyncClient
from memos.errors import MemosError
from memos.system import AsyncMemOS

SEARCHED = 10_000
PACE = 0.1
PACES = (0.25, PACE, 0.0)  # seconds between the calls of one of 64 clients
SEARCH_PACE = 0.5
WARM_UP = 20  # calls
REST = 0.02


@dataclass(frozen=True, slots=True)
class Table:
    """What one measurement found."""

    name: str
    head: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    command: str


@dataclass(frozen=True, slots=True)
class Setting:
    """How everything is measured. `seconds`: of each measurement. `cubes`: in the measurement over many."""

    seconds: float = 10.0
    cubes: int = 1_000
    embedder: str = "default"
    processes: int = 1
    work: Path = Path(".bench")

    @property
    def words(self) -> str:
        """As arguments of the command."""
        named = {"seconds": f"{self.seconds:g}", "cubes": str(self.cubes), "embedder": self.embedder,
                 "processes": str(self.processes)}  # fmt: skip
        return "".join(f" --{k} {v}" for k, v in named.items() if getattr(self, k) != getattr(PLAIN, k))

    def server(self, home: Path, **more: Any) -> AbstractContextManager[Server]:
        """A server to be measured."""
        return server(home, embedder=self.embedder, MEMOS_SERVER_PROCESSES=str(self.processes), **more)


PLAIN = Setting()


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the arguments, measure, print."""
    parser = _parser()
    args = parser.parse_args(argv)
    if unknown := set(args.what) - set(MEASURES):
        parser.error(f"unknown measurement {min(unknown)!r}; one of {', '.join(MEASURES)}")
    setting = Setting(args.seconds, args.cubes, args.embedder, args.processes, args.work)
    wanted = [name for name in MEASURES if name in (args.what or ([] if args.soak else MEASURES))]
    found: list[Table] = []
    try:
        for name in wanted:
            say(f"measuring {name}")
            found.append(asyncio.run(MEASURES[name](setting)))
        if args.soak:
            head, rows = asyncio.run(soak(args.soak, embedder=setting.embedder, users=setting.cubes))
            found.append(Table("soak", head, rows, f"serve --soak {args.soak:g}{setting.words}"))
    except MemosError as e:
        print(f"bench: {e}", file=sys.stderr)
        return 2
    blocks = {f"serve-{t.name}": block(table(t.head, t.rows), t.command) for t in found}
    if args.json:
        print(json.dumps({t.name: [dict(zip(t.head, row, strict=True)) for row in t.rows] for t in found}, indent=1))
    else:
        for name, text in blocks.items():
            print(f"\n## {name}\n\n{text}")
    for page in args.docs or ():
        write_into(page, blocks)
    return 0


def _parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog=f"{COMMAND} serve",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="measurements:\n"
        + "\n".join(f"  {name:<10} {(m.__doc__ or '').splitlines()[0]}" for name, m in MEASURES.items()),
    )
    p.add_argument("what", nargs="*", metavar="WHAT", help="which measurements (default: all below; none with --soak)")
    p.add_argument("--seconds", type=float, default=PLAIN.seconds, help="length of each measurement (default 10)")
    p.add_argument("--cubes", type=int, default=PLAIN.cubes, help="cubes in the measurement over many (default 1000)")
    p.add_argument("--embedder", default=PLAIN.embedder, help="embedder of the server (default: default)")
    p.add_argument("--processes", type=int, default=PLAIN.processes, help="processes of the server (default 1)")
    p.add_argument(
        "--soak", type=float, metavar="MINUTES", help="half load for so long, with memory, threads and descriptors"
    )
    p.add_argument("--work", type=Path, default=PLAIN.work, help="where the cube to search is kept between runs")
    p.add_argument("--json", action="store_true", help="print the rows as JSON")
    p.add_argument(
        "--docs", type=Path, action="append", help="Markdown page whose <!-- bench:serve-NAME --> blocks are filled"
    )
    return p


async def adds(setting: Setting) -> Table:
    """Asynchronous adds until acknowledged: 1 and 64 clients, into one cube and over many, paced and closed."""
    head = ("clients", "cubes", "how", "p50 ms", "p95 ms", "p99 ms", "adds/s", "failed", "cpu ms", "load cpu %")
    rows: list[tuple[object, ...]] = []
    for users in (1, setting.cubes):
        with tempfile.TemporaryDirectory() as folder, setting.server(Path(folder, "home")) as target:
            if users > 1:
                each = -(-users // 8)
                say(f"making {users} cubes")
                await _load(target, "add", clients=8, users=users, calls=each, warm=0)
            for clients, pause in ((1, 0.0), *((64, pause) for pause in PACES)):
                await _idle(target)
                done, cpu = await _costing(
                    target, "add", clients=clients, users=users, pause=pause, seconds=setting.seconds
                )
                rows.append((clients, users, f"{1 / pause:.0f}/s each" if pause else "closed", *_figures(done, cpu)))
    return Table("adds", head, tuple(rows), f"serve adds{setting.words}")


async def sustained(setting: Setting) -> Table:
    """Sustained adds of 1, 2 and 8 messages by 32 clients, each into its own cube, and how far behind digesting is."""
    head = ("messages an add", "messages/s", "p50 ms", "p99 ms", "failed", "waiting at the end", "oldest s", "digested after s",
            "embedded after s", "digested/s")  # fmt: skip
    rows = []
    for messages in (1, 2, 8):
        with tempfile.TemporaryDirectory() as folder, setting.server(Path(folder, "home")) as target:
            async with AsyncClient(target.url) as client:
                watch = Watch(client)
                done = await _load(target, "add", clients=32, users=32, messages=messages, seconds=setting.seconds)
                behind = await watch.stop()
                after = await Digesting.wait(client)
            latency = Latency.of(done.latencies)
            rate = done.messages / (done.seconds + after.digested)
            rows.append((messages, done.messages_per_second, latency.p50, latency.p99, sum(done.failed.values()), behind.waiting,
                         behind.oldest, after.digested, after.idle, rate))  # fmt: skip
    return Table("sustained", head, tuple(rows), f"serve sustained{setting.words}")


async def search(setting: Setting) -> Table:
    """Search in a cube of 10,000 messages: 1 client, and 8 that ask twice a second or as soon as they are answered."""
    head = ("clients", "how", "p50 ms", "p95 ms", "p99 ms", "searches/s", "failed", "cpu ms", "load cpu %")
    home = setting.work / f"speed-{SEARCHED}"
    await speed.fill(home, SEARCHED, say)
    rows = []
    with setting.server(home) as target:
        await _load(target, "search", clients=1, calls=20, warm=0)
        for clients, pause in ((1, 0.0), (8, SEARCH_PACE), (8, 0.0)):
            done, cpu = await _costing(target, "search", clients=clients, pause=pause, seconds=setting.seconds)
            rows.append((clients, "2/s each" if pause else "closed", *_figures(done, cpu)))
    return Table("search", head, tuple(rows), f"serve search{setting.words}")


async def overhead(setting: Setting) -> Table:
    """What HTTP adds to the call in Python: the same adds and searches by one client, both ways."""
    head = ("call", "Python p50 ms", "HTTP p50 ms", "difference ms", "ratio")
    home = setting.work / f"speed-{SEARCHED}"
    await speed.fill(home, SEARCHED, say)
    calls = max(20, round(setting.seconds * 10))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, here, there in (("add", Path(folder, "python"), Path(folder, "http")), ("search", home, home)):
            with setting.server(there) as target:
                async with AsyncMemOS(here, embedder=setting.embedder) as memos:
                    python, http = await _by_turns(memos, target, kind, calls)
            ours, theirs = Latency.of(python).p50, Latency.of(http).p50
            rows.append((kind, ours, theirs, theirs - ours, f"{theirs / ours:.2f}"))
    return Table("overhead", head, tuple(rows), f"serve overhead{setting.words}")


async def homes(setting: Setting) -> Table:
    """The task queue in SQLite and in Redis under the same load: 64 clients, each over its own of the many cubes."""
    head = ("queue", "how", "p50 ms", "p95 ms", "p99 ms", "adds/s", "failed", "cpu ms", "load cpu %", "idle after s")
    rows: list[tuple[object, ...]] = []
    with redis() as url:
        for name, queue in (("SQLite", None), *((("Redis", url),) if url else ())):
            for pause in (PACE, 0.0):
                with (
                    tempfile.TemporaryDirectory() as folder,
                    setting.server(Path(folder, "home"), queue=queue) as target,
                ):
                    done, cpu = await _costing(
                        target, "add", clients=64, users=64, pause=pause, seconds=setting.seconds
                    )
                    idle = await _idle(target)
                    rows.append((name, "10/s each" if pause else "closed", *_figures(done, cpu), idle))
    return Table("homes", head, tuple(rows), f"serve homes{setting.words}")


async def start(setting: Setting) -> Table:
    """How long until the server answers, and what it uses: idle, and after a first add and a first search."""
    head = ("home", "ready s", "idle MB", "threads", "descriptors", "MB after an add and a search")
    home = setting.work / f"speed-{SEARCHED}"
    await speed.fill(home, SEARCHED, say)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, where in (("empty", Path(folder, "home")), (f"{SEARCHED:,} messages", home)):
            with setting.server(where) as target:
                await asyncio.sleep(3)
                idle = target.cost()
                async with AsyncClient(target.url) as client:
                    await client.add("I moved to Oslo last week", user="somebody", wait=True)
                    await client.search("where do I live?", user="bench" if where == home else "somebody")
                after = target.cost()
                rows.append((name, f"{target.ready:.2f}", idle.rss, idle.threads, idle.descriptors, after.rss))
    return Table("start", head, tuple(rows), f"serve start{setting.words}")


MEASURES: dict[str, Callable[[Setting], Coroutine[Any, Any, Table]]] = {
    "adds": adds, "sustained": sustained, "search": search, "overhead": overhead, "homes": homes, "start": start,
}  # fmt: skip


async def _load(target: Server, kind: str, **how: float) -> load.Measured:
    """Run a load against a server."""
    run = secrets.token_hex(4)
    return await load.run(load.Plan(kind, target.host, target.port, run, **how))  # type: ignore[arg-type]


async def _costing(target: Server, kind: str, **how: float) -> tuple[load.Measured, float]:
    """The same, and the processor milliseconds of the server per call."""
    before: Cost = target.cost()
    done = await _load(target, kind, **how)
    return done, (target.cost().cpu - before.cpu) * 1e3 / max(1, len(done.latencies))


def _figures(done: load.Measured, cpu: float) -> tuple[object, ...]:
    latency = Latency.of(done.latencies)
    share = 100 * done.cpu / max(done.seconds, 1e-9)
    return latency.p50, latency.p95, latency.p99, done.calls_per_second, sum(done.failed.values()), cpu, share


async def _idle(target: Server) -> float:
    """Wait until no task waits; seconds that it took."""
    async with AsyncClient(target.url) as client:
        return (await Digesting.wait(client)).idle


async def _by_turns(memos: AsyncMemOS, target: Server, kind: str, calls: int) -> tuple[list[float], list[float]]:
    """Seconds of the same calls in Python and over HTTP, one after the other, so that a noisy moment meets both. The first
    twenty are not counted.
    """
    plan = load.Plan(kind, target.host, target.port, secrets.token_hex(4))
    make = load.adds(plan) if kind == "add" else load.searches(plan)
    _, connection = await asyncio.get_running_loop().create_connection(load.Connection, target.host, target.port)
    python, http = [], []
    for n in range(calls + WARM_UP):
        request = make(0, n)
        body = _body(request)
        call = memos.search(body["query"], user="bench") if kind == "search" else _add(memos, body)
        python.append(await _timed(call))
        http.append(await _timed(connection.ask(request)))
        await asyncio.sleep(REST)  # what an add leaves to be done is not to hold up the next call
    connection.close()
    return python[WARM_UP:], http[WARM_UP:]


async def _timed(call: Awaitable[object]) -> float:
    start = time.perf_counter()
    await call
    return time.perf_counter() - start


def _add(memos: AsyncMemOS, body: dict[str, str]) -> Awaitable[object]:
    return memos.add(body["messages"], user=body["user"], session=body["session"])


def _body(request: bytes) -> dict[str, str]:
    value: dict[str, str] = json.loads(request.partition(b"\r\n\r\n")[2])
    return value
