"""`python -m memos.bench evolution-scale`: what learning costs with thousands of episodes behind it: for each step, for each
turn of an agent in the foreground, and for a recall with a thousand policies.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from memos.bench.agent_world.many import Story, first
from memos.bench.pages import COMMAND, block, table, write_into
from memos.bench.speed import Latency
from memos.bench.work import say
from memos.errors import MemosError
from memos.memory.acting import Trigger
from memos.memory.episode import StepReport
from memos.memory.learned import State
from memos.storage.sqlite import lived
from memos.system import DEFAULT_USER, AsyncMemOS

TOOL = "shell"
START = datetime(2024, 1, 1, tzinfo=UTC)
ENVIRONMENTS = ("lab", "ci", "prod")


def main(argv: Sequence[str]) -> int:
    """Parse the arguments, measure and print."""
    args = _parser().parse_args(argv)
    try:
        text = asyncio.run(_measure(args))
    except MemosError as e:
        say(f"bench: {e}")
        return 2
    print(f"\n## evolution-scale\n\n{text}")
    for page in args.docs or ():
        write_into(page, {"evolution-scale": text})
    return 0


def _parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog=f"{COMMAND} evolution-scale", description=__doc__)
    p.add_argument("--episodes", type=int, default=10_000, help="episodes that are learned from (default 10000)")
    p.add_argument("--steps", type=int, default=10, help="steps of an episode (default 10)")
    p.add_argument("--kinds", type=int, default=1_200, help="kinds of tasks, each with a fix of its own (default 1200)")
    p.add_argument("--turns", type=int, default=200, help="turns measured in the foreground (default 200)")
    p.add_argument("--embedder", default="none", help="embedder (default none: words only)")
    p.add_argument(
        "--docs", type=Path, action="append", help="Markdown page whose <!-- bench:NAME --> blocks are filled"
    )
    return p


@dataclass(slots=True)
class Cost:
    """Seconds for each measured thing, in order."""

    learn: list[float] = field(default_factory=list)  # of one step
    cpu: list[float] = field(default_factory=list)  # of it, work of the processor
    turn: list[float] = field(default_factory=list)
    repair: list[float] = field(default_factory=list)


async def _measure(args: argparse.Namespace) -> str:
    told = first(args.episodes + args.turns, args.kinds, args.steps)
    cost = Cost()
    with tempfile.TemporaryDirectory() as home:
        async with _system(home, args.embedder) as memos:
            policies = await _fill(memos, told[: args.episodes], cost)
            await memos.flush()  # or the first recalls would digest what no background did here
            await memos.recall(told[0].goal)  # and read what was learned
            for story in told[args.episodes :]:
                await _recall(memos, story, cost)
    tenth = max(1, len(cost.learn) // 10)
    rows = [_row("learning, for each step, first tenth", cost.learn[:tenth])]
    rows.append(_row("learning, for each step, last tenth", cost.learn[-tenth:]))
    rows.append(_row("of it work of the processor", cost.cpu[-tenth:]))
    rows.append(_row(f"recall at the start of a turn, {policies:,} policies", cost.turn))
    rows.append(_row(f"recall after an error, {policies:,} policies", cost.repair))
    head = f"{args.episodes:,} episodes of {args.steps} steps, {args.kinds:,} kinds of tasks:"
    measured = table(("what", "p50 ms", "p95 ms", "most ms"), rows)
    turns = await _foreground(args)
    command = f"evolution-scale --episodes {args.episodes} --kinds {args.kinds} --turns {args.turns}"
    return block(f"{head}\n\n{measured}\n\n{turns}", command)


def _system(home: str, embedder: str, *, background: bool = False, evolve: bool = True) -> AsyncMemOS:
    return AsyncMemOS(
        home, embedder=embedder, llm="none", background=background, evolve=evolve, durability="normal", reward_window=0
    )


async def _fill(memos: AsyncMemOS, told: Sequence[Story], cost: Cost) -> int:
    """Report every episode, learn from each at once, and count the active policies at the end."""
    begun = time.perf_counter()
    for n, story in enumerate(told):
        await _report(memos, story, n)
        start, busy = time.perf_counter(), time.process_time()
        await memos.evolve(now=True)
        steps = len(story.calls) + 2  # the message and the reply are steps too
        cost.learn.append((time.perf_counter() - start) / steps)
        cost.cpu.append((time.process_time() - busy) / steps)
        if (n + 1) % 500 == 0:
            last, busy = (median(x[-500:]) * 1e3 for x in (cost.learn, cost.cpu))
            say(
                f"{n + 1:,} episodes, {time.perf_counter() - begun:.0f} s, learning {last:.2f} ms a step, {busy:.2f} of it work"
            )
    async with memos._cube(DEFAULT_USER, None, "read") as (_, store):
        return len(await store.lived(lived.learned_memories, "policy", states=(State.ACTIVE,)))


async def _report(memos: AsyncMemOS, story: Story, n: int) -> None:
    session, at = f"s{n}", START + timedelta(minutes=20 * n)
    await memos.start_turn(story.goal, session=session, environment=ENVIRONMENTS[n % 3], recall=False, at=at)
    steps = [StepReport(TOOL, c.command, c.output or None, c.error or None, ok=not c.error) for c in story.calls]
    await memos.end_turn(
        "Done." if story.success else "It failed.", steps=steps, session=session, at=at + timedelta(minutes=5)
    )
    score = 1.0 if story.success else -1.0
    await memos.report_outcome(score, source="verifier", session=session, at=at + timedelta(minutes=6))
    await memos.end_session(session, at=at + timedelta(minutes=7))


async def _recall(memos: AsyncMemOS, story: Story, cost: Cost) -> None:
    start = time.perf_counter()
    await memos.recall(story.goal, environment=ENVIRONMENTS[0])
    cost.turn.append(time.perf_counter() - start)
    failed = next(c for c in story.calls if c.error)
    start = time.perf_counter()
    await memos.recall(
        failed.command, trigger=Trigger.REPAIR, tool=TOOL, error=failed.error, environment=ENVIRONMENTS[0]
    )
    cost.repair.append(time.perf_counter() - start)


async def _foreground(args: argparse.Namespace) -> str:
    """What a turn costs an agent that waits for its reports, with learning in the background and without; in turns, so that both
    meet the same load of the machine.
    """
    told = first(2 * args.turns, 20, 6, seed=1)
    spent: dict[bool, list[float]] = {True: [], False: []}
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        async with (
            _system(one, args.embedder, background=True) as learning,
            _system(two, args.embedder, background=True, evolve=False) as idle,
        ):
            for n, story in enumerate(told):
                for evolve, memos in ((True, learning), (False, idle)):
                    spent[evolve].append(await _turn(memos, story, n))
    with_, without = (Latency.of(spent[evolve][args.turns // 4 :]) for evolve in (True, False))
    rows = [
        ("learning in the background", with_.p50, with_.p95),
        ("`evolve` off", without.p50, without.p95),
        ("added", with_.p50 - without.p50, with_.p95 - without.p95),
    ]
    steps = len(told[0].calls)
    head = (
        f"{len(told)} turns in the foreground, each a beginning without recall, {steps} steps one by one, and an end:"
    )
    return f"{head}\n\n{table(('ms', 'p50', 'p95'), rows)}"


async def _turn(memos: AsyncMemOS, story: Story, n: int) -> float:
    session = f"s{n}"
    start = time.perf_counter()
    await memos.start_turn(story.goal, session=session, environment="lab", recall=False)
    for c in story.calls:
        await memos.report_step(
            TOOL, c.command, c.output or None, error=c.error or None, ok=not c.error, session=session
        )
    await memos.end_turn("Done.", session=session)
    spent = time.perf_counter() - start
    await memos.report_outcome(1.0 if story.success else -1.0, source="verifier", session=session)
    await memos.end_session(session)
    return spent


def _row(name: str, seconds: Sequence[float]) -> tuple[str, str, str, str]:
    if not seconds:
        return name, "-", "-", "-"
    found = Latency.of(seconds)
    return name, f"{found.p50:.2f}", f"{found.p95:.2f}", f"{max(seconds) * 1e3:.1f}"
