"""Half load for a long time: does anything grow, does anything fail?"""

from __future__ import annotations

import asyncio
import secrets
import tempfile
import time
from pathlib import Path

from memos.bench import load
from memos.bench.process import Server, server
from memos.bench.speed import Latency
from memos.bench.work import Behind, Digesting, behind, say
from memos.client import AsyncClient
from memos.errors import MemosError

CLIENTS = 16
SAMPLES = 12
FINDING = 10.0  # seconds of full load, to find out what half of it is
HEAD = ("minute", "MB", "threads", "descriptors", "waiting", "oldest s", "memories added")


async def soak(
    minutes: float, *, embedder: str = "default", users: int = 1_000
) -> tuple[tuple[str, ...], tuple[tuple[object, ...], ...]]:
    """Adds over many cubes at half of what the server keeps pace with, and searches beside them: a row each few minutes.

    The last row counts calls and failures, with p50 and p99 of adds and searches.
    """
    with tempfile.TemporaryDirectory() as folder, server(Path(folder, "home"), embedder=embedder) as target:
        async with AsyncClient(target.url) as client:
            rate = await _half_load(target, client, users)
            say(f"half load: {rate:.0f} adds/s")
            seconds = minutes * 60
            adding = asyncio.create_task(_run(target, "add", rate, seconds, users))
            asking = asyncio.create_task(_run(target, "search", 2.0, seconds, 1))
            rows = await _sampled(target, client, seconds, rate)
            added, asked = await adding, await asking
    quick, found = Latency.of(added.latencies), Latency.of(asked.latencies)
    failed = sum(added.failed.values()) + sum(asked.failed.values())
    told = f"{len(added.latencies):,} adds {quick.p50:.1f}/{quick.p99:.1f} ms; {len(asked.latencies):,} searches"
    told += f" {found.p50:.1f}/{found.p99:.1f} ms; {failed} failed {added.failed or ''} {asked.failed or ''}".rstrip(
        " {}"
    )
    return HEAD, (*rows, ("all", "", "", "", "", "", told))


async def _half_load(target: Server, client: AsyncClient, users: int) -> float:
    """Half of the adds a second that are acknowledged and digested and embedded."""
    done = await load.run(
        load.Plan("add", target.host, target.port, secrets.token_hex(4), clients=CLIENTS, users=users, seconds=FINDING)
    )
    after = await Digesting.wait(client)
    return 0.5 * len(done.latencies) / (done.seconds + after.idle)


async def _run(target: Server, kind: str, rate: float, seconds: float, users: int) -> load.Measured:
    clients = CLIENTS if kind == "add" else 2
    user = "bench" if kind == "add" else "bench0"
    plan = load.Plan(
        kind, target.host, target.port, secrets.token_hex(4), clients=clients, users=users, pause=clients / rate,
        seconds=seconds, user=user,
    )  # fmt: skip
    return await load.run(plan)


async def _sampled(target: Server, client: AsyncClient, seconds: float, rate: float) -> list[tuple[object, ...]]:
    start = time.perf_counter()
    rows: list[tuple[object, ...]] = []
    for sample in range(SAMPLES + 1):
        await asyncio.sleep(max(0.0, start + seconds * sample / SAMPLES - time.perf_counter()))
        passed = time.perf_counter() - start
        cost = target.cost()
        try:
            lag = await behind(client)
        except MemosError:
            lag = Behind(-1)
        row = (
            f"{passed / 60:.1f}",
            cost.rss,
            cost.threads,
            cost.descriptors,
            lag.waiting,
            lag.oldest,
            round(rate * passed),
        )
        say(" | ".join(map(str, row)))
        rows.append(row)
    return rows
