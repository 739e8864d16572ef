"""`python -m memos.bench evolution`: whether an agent that reports its work gets better at the next task, in a simulated world
(`agent_world`), with and without memory.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from memos.bench.agent_world import measure
from memos.bench.agent_world.plot import Panel, svg
from memos.bench.agent_world.run import phases, run_with_memory
from memos.bench.agent_world.stream import Phase, Plan
from memos.bench.pages import COMMAND, block, write_into
from memos.bench.work import say
from memos.errors import MemosError


def main(argv: Sequence[str]) -> int:
    """Parse the arguments, measure, print, and draw where asked."""
    args = _parser().parse_args(argv)
    try:
        return asyncio.run(_measure(args))
    except MemosError as e:
        say(f"bench: {e}")
        return 2


def _parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog=f"{COMMAND} evolution", description=__doc__)
    p.add_argument("--seeds", type=int, default=5, help="how many seeds (default 5)")
    p.add_argument("--first", type=int, default=0, help="the first seed (default 0; what is reported uses 100)")
    p.add_argument("--tasks", type=int, default=240, help="tasks of a run (default 240)")
    p.add_argument("--embedder", default="none", help="embedder of the memory (default none: words only)")
    p.add_argument(
        "--no-asking",
        action="store_true",
        help="the agent reads what turns and steps are answered with, and asks nothing itself",
    )
    p.add_argument("--twice", action="store_true", help="make the first seed's run again and say whether both agree")
    p.add_argument("--plot", type=Path, help="file for the learning curve (SVG)")
    p.add_argument(
        "--docs", type=Path, action="append", help="Markdown page whose <!-- bench:NAME --> blocks are filled"
    )
    p.add_argument("--json", action="store_true", help="print the scores as JSON instead of tables")
    return p


async def _measure(args: argparse.Namespace) -> int:
    plan, seeds = Plan(tasks=args.tasks), range(args.first, args.first + args.seeds)
    found = await measure.pairs(seeds, plan, embedder=args.embedder, ask=not args.no_asking, say=say)
    if args.plot is not None:
        args.plot.write_text(_picture(found), encoding="utf-8")
    if args.json:
        print(json.dumps(_plain(found), indent=1))
    else:
        command = (
            f"evolution --first {args.first} --seeds {args.seeds} --tasks {args.tasks}"
            + " --no-asking" * args.no_asking
        )
        blocks = {
            "evolution": block(f"{measure.by_phase(found)}\n\n{measure.by_family(found)}", command),
            "evolution-poison": block(measure.poison(found), command),
        }
        for name, text in blocks.items():
            print(f"\n## {name}\n\n{text}")
        for page in args.docs or ():
            write_into(page, blocks)
    if args.twice:
        again = await run_with_memory(args.first, plan, embedder=args.embedder, ask=not args.no_asking)
        same = measure.fingerprint(again) == measure.fingerprint(found[0].memory)
        say(f"seed {args.first} again: {'the same' if same else 'NOT the same'}")
        return 0 if same else 1
    return 0


def _picture(found: Sequence[measure.Pair]) -> str:
    blind, memory = [p.blind for p in found], [p.memory for p in found]
    held = sum(d.task.phase is Phase.LEARNING and not d.task.is_novel for d in memory[0].done)
    panels = [
        Panel(
            "steps for a task",
            14,
            measure.curve(memory, lambda d: d.steps),
            measure.curve(blind, lambda d: d.steps),
            held,
        ),
        Panel(
            "success",
            1,
            measure.curve(memory, lambda d: d.success),
            measure.curve(blind, lambda d: d.success),
            held,
            percent=True,
        ),
    ]
    return svg(
        panels, f"Steps and success over a stream of tasks, moving average of {measure.WINDOW}, {len(found)} seeds"
    )


def _plain(found: Sequence[measure.Pair]) -> list[dict[str, object]]:
    return [
        {
            "seed": p.memory.seed,
            "without": {phase: asdict(measure.Score.of(done)) for phase, done in phases(p.blind.done).items()},
            "with": {phase: asdict(measure.Score.of(done)) for phase, done in phases(p.memory.done).items()},
            "policies": p.memory.policies,
            "single": p.memory.single,
            "skills": p.memory.skills,
            "poison": asdict(p.memory.poison),
        }
        for p in found
    ]
