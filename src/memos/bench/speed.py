"""How fast and how big: search latency by cube size, cold start, durable writes under concurrency, disk per memory."""

from __future__ import annotations

import asyncio
import os
import resource
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from memos.bench import corpus
from memos.memory.time import utcnow
from memos.recall.recipe import DEFAULT
from memos.recall.understand import understand
from memos.storage.ports import Change, Probe
from memos.system import AsyncMemOS

USER = "bench"


@dataclass(frozen=True, slots=True)
class Latency:
    """Percentiles in milliseconds."""

    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Latency:
        """From single measurements in seconds."""
        ordered = sorted(seconds)
        return cls(
            statistics.median(ordered) * 1e3,
            ordered[int(len(ordered) * 0.95)] * 1e3,
            ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] * 1e3,
        )


async def fill(home: Path, count: int, progress: Callable[[str], None] = lambda _: None) -> None:
    """Make a cube of `count` generated messages with vectors, unless it is there already."""
    async with AsyncMemOS(home, background=False, durability="normal") as memos:
        have = (await memos.stats(user=USER)).store.memories
        if have >= count:
            return
        start = time.perf_counter()
        done = 0
        for session, messages in corpus.messages(count):
            await memos.add(messages, user=USER, session=session, derive=False)
            done += len(messages)
            if done % 50_000 < len(messages):
                progress(f"{done:,} messages added, {done / (time.perf_counter() - start):,.0f}/s")
        await _fill_vectors(memos, count, progress)


async def _fill_vectors(memos: AsyncMemOS, count: int, progress: Callable[[str], None]) -> None:
    parts = memos._parts()
    assert parts.embedder is not None
    model, dim = parts.embedder.model_id, parts.embedder.dim
    async with memos._cube(USER, None, "write") as (_, store):
        store_batch = 10_000
        seed = 0
        while pending := await store.pending_vectors(model, store_batch):
            made = corpus.vectors(len(pending), dim, seed=seed)
            items = [(p.text_id, v) for p, v in zip(pending, made, strict=True)]
            await store.write(lambda tx, items=items: tx.put_vectors(model, items), Change(actor="bench"))  # type: ignore[misc]
            seed += 1
            progress(f"{seed * store_batch:,} vectors stored")


@dataclass(frozen=True, slots=True)
class SearchCost:
    """What searching a cube costs: the whole call, its two large parts (p50, ms), the first answer (s) and peak memory (MB)."""

    latency: Latency
    embed: float
    gather: float
    first: float
    peak: float


async def search_cost(home: Path, asked: int = 200) -> SearchCost:
    """Search a cube with as many questions, query embedding included; a large cube's index is waited for first."""
    async with AsyncMemOS(home, background=False) as memos:
        questions = corpus.questions(asked + 10)
        start = time.perf_counter()
        answer = await memos.search(questions[0], user=USER)
        first = time.perf_counter() - start
        while any("still loading" in r for r in answer.reasons):
            await asyncio.sleep(0.2)
            answer = await memos.search(questions[0], user=USER)
        for q in questions[1:10]:
            await memos.search(q, user=USER)
        seconds = [await _timed(memos.search(q, user=USER)) for q in questions[10:]]
        embed, gather = await _parts_of(memos, questions[10:110])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return SearchCost(Latency.of(seconds), embed, gather, first, peak)


async def _timed(call: Awaitable[object]) -> float:
    start = time.perf_counter()
    await call
    return time.perf_counter() - start


async def _parts_of(memos: AsyncMemOS, questions: Sequence[str]) -> tuple[float, float]:
    """Median milliseconds of embedding a question, and of finding its candidates."""
    parts = memos._parts()
    assert parts.embedder is not None
    embeds, gathers = [], []
    async with memos._cube(USER, None, "read") as (_, store):
        outline = await store.outline()
        for q in questions:
            asked = understand(q, outline.speakers, now=utcnow())
            embeds.append(await _timed(parts.embedder.embed([f"{asked.meaning} "], purpose="query")))
            vector = (await parts.embedder.embed([f"{asked.meaning} "], purpose="query"))[0]
            probe = Probe(
                asked.terms,
                vector=vector,
                model=parts.embedder.model_id,
                speakers=asked.speakers,
                weights=DEFAULT.first_stage(),
            )
            gathers.append(await _timed(store.gather(probe)))
    return Latency.of(embeds).p50, Latency.of(gathers).p50


async def write_latency(home: Path, writers: int = 64, each: int = 100, pause: float = 0.0) -> tuple[Latency, float]:
    """Latency of durable adds by concurrent writers into one cube, and adds per second. `pause`: seconds between a
    writer's adds.
    """
    seconds: list[float] = []
    rng = np.random.default_rng(3)
    texts = [m["content"] for _, ms in corpus.messages(writers * each) for m in ms]
    async with AsyncMemOS(home, background=False, embedder="none") as memos:
        await memos.add("warm up the cube before the measurement", user=USER)

        async def writer(number: int) -> None:
            await asyncio.sleep(float(rng.random()) * pause)
            for i in range(number, len(texts), writers):
                message = {"role": "user", "content": texts[i], "message_id": str(i)}
                start = time.perf_counter()
                await memos.add(message, user=USER)
                seconds.append(time.perf_counter() - start)
                if pause:
                    await asyncio.sleep(pause)

        start = time.perf_counter()
        await asyncio.gather(*(writer(i) for i in range(writers)))
        total = time.perf_counter() - start
    return Latency.of(seconds), len(seconds) / total


async def one_by_one(home: Path, count: int = 300) -> float:
    """Adds per second by a single writer that waits for each commit."""
    _, rate = await write_latency(home, writers=1, each=count)
    return rate


async def disk_per_memory(home: Path) -> float:
    """Bytes on disk per memory, everything included."""
    async with AsyncMemOS(home, background=False) as memos:
        stats = await memos.stats(user=USER)
    return sum(f.stat().st_size for f in home.rglob("*") if f.is_file()) / max(1, stats.store.memories)  # noqa: ASYNC240


def cores() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
