"""`python -m memos.bench`: the measurements that the documentation quotes, as Markdown, each with the command that made it."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from memos.bench import derived, extraction, feedback, locomo, reading, recall, speed
from memos.bench.pages import COMMAND, block, write_into
from memos.errors import InvalidInput, MemosError
from memos.system import AsyncMemOS

# Measured on their own, with options of their own.
_ALONE = ("serve", "evolution", "evolution-scale", "hooks", "hermes", "moving", "moving-plugin")


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the arguments, measure, print, and put the tables into the documentation when asked."""
    given = sys.argv[1:] if argv is None else [*argv]
    if given and given[0] in _ALONE:
        measurement = import_module(f"memos.bench.{given[0].replace('-', '_')}")
        return int(measurement.main(given[1:]))
    args = _parser().parse_args(given)
    try:
        blocks = asyncio.run(_measure(args))
    except MemosError as e:
        print(f"bench: {e}", file=sys.stderr)
        return 2
    for name, text in blocks.items():
        print(f"\n## {name}\n\n{text}")
    for page in args.docs or ():
        write_into(page, blocks)
    return 0


def _parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog=COMMAND,
        description=__doc__,
        epilog=f"Measured on their own: {COMMAND} {'|'.join(_ALONE)} --help",
    )
    p.add_argument(
        "what",
        nargs="*",
        default=["writes", "speed"],
        help="recall, words, ablation, pooled, derived, extraction, reading, feedback, speed, writes (default: the last two)",
    )
    p.add_argument(
        "--data",
        type=Path,
        help="folder of LoCoMo conversations (*.json), needed for recall, ablation, pooled and reading",
    )
    p.add_argument("--only", default="", help="names of conversations, comma-separated")
    p.add_argument("--embedder", default="default", help="embedder for recall, ablation and pooled")
    p.add_argument(
        "--size",
        type=int,
        action="append",
        help="messages in the cube for the speed measurement (default 10000 and 100000)",
    )
    p.add_argument("--work", type=Path, default=Path(".bench"), help="where generated cubes are kept between runs")
    p.add_argument(
        "--docs", type=Path, action="append", help="Markdown page whose <!-- bench:NAME --> blocks are filled"
    )
    return p


async def _measure(args: argparse.Namespace) -> dict[str, str]:
    blocks: dict[str, str] = {}
    say: Callable[[str], None] = lambda s: print(s, file=sys.stderr, flush=True)  # noqa: E731
    wanted = set(args.what)
    if wanted & {"recall", "words", "ablation", "pooled", "extraction", "reading", "derived"}:
        if args.data is None:
            raise InvalidInput("name the folder of the LoCoMo conversations with --data; they do not ship with MemOS")
        only = tuple(filter(None, args.only.split(",")))
        conversations = list(locomo.load(args.data, only))
        blocks |= await _recall(wanted, conversations, args, say)
        if "reading" in wanted:
            named = f" --only {args.only}" if args.only else ""
            blocks["reading"] = block(await reading.costs(conversations, say), f"reading --data DATA{named}")
        if "derived" in wanted:
            named = f" --only {args.only}" if args.only else ""
            observed = derived.Observer(derived.observations(args.data, only))
            text = await derived.compare(conversations, observed, args.embedder, say)
            blocks["derived"] = block(text, f"derived --data DATA{named}")
        if "extraction" in wanted:
            blocks["extraction"] = block(extraction.report(extraction.score(conversations)), "extraction --data DATA")
    if "feedback" in wanted:
        blocks["feedback"] = block(await feedback.measure(say), "feedback")
    if "speed" in wanted:
        rows = [await _speed_row(args.work, size, say) for size in args.size or (10_000, 100_000)]
        head = (
            "| messages | p50 ms | p95 ms | of it embedding | of it candidates | first answer s | peak MB | bytes a message |\n"
            + "|---" * 8
            + "|"
        )
        sizes = " ".join(f"--size {s}" for s in args.size or ())
        blocks["speed"] = block("\n".join([head, *rows]), f"speed {sizes}".strip())
    if "writes" in wanted:
        blocks["writes"] = block(await _writes(), "writes")
    return blocks


async def _recall(
    wanted: set[str], conversations: list[locomo.Conversation], args: argparse.Namespace, say: Callable[[str], None]
) -> dict[str, str]:
    """The tables over conversations: each to its own cube, by words alone, all in one cube, and with parts taken out."""
    blocks: dict[str, str] = {}
    only = f" --only {args.only}" if args.only else ""
    for name, embedder in (("recall", args.embedder), ("words", "none"), ("pooled", args.embedder)):
        ablate = name == "recall" and "ablation" in wanted
        if name not in wanted and not ablate:
            continue
        pooled = name == "pooled"
        with tempfile.TemporaryDirectory() as home:
            async with AsyncMemOS(home, embedder=embedder, background=False, durability="normal") as memos:
                await recall.fill(memos, conversations, pooled=pooled, progress=say)
                if name in wanted:
                    seconds: list[float] = []
                    totals = await recall.ask_all(memos, conversations, pooled=pooled, seconds=seconds)
                    text = f"{recall.table(totals)}\n\nSearch for 100 hits: {recall.latency(seconds)}."
                    blocks[name] = block(text, f"{name} --data DATA{only}")
                if ablate:
                    blocks["ablation"] = block(
                        await _ablation(memos, conversations, say), f"ablation --data DATA{only}"
                    )
    return blocks


async def _ablation(memos: AsyncMemOS, conversations: list[locomo.Conversation], say: Callable[[str], None]) -> str:
    results = {}
    for name, recipe in recall.ablations().items():
        results[name] = await recall.ask_all(memos, conversations, recipe=recipe)
        say(f"measured {name}")
    return recall.ablation_table(results)


async def _speed_row(work: Path, size: int, say: Callable[[str], None]) -> str:
    home = work / f"speed-{size}"
    await speed.fill(home, size, say)
    cost = await speed.search_cost(home)
    disk = await speed.disk_per_memory(home)
    whole = f"{cost.latency.p50:.1f} | {cost.latency.p95:.1f} | {cost.embed:.1f} | {cost.gather:.1f}"
    return f"| {size:,} | {whole} | {cost.first:.2f} | {cost.peak:,.0f} | {disk:,.0f} |"


async def _writes() -> str:
    rows = []
    with tempfile.TemporaryDirectory() as home:
        alone = await speed.one_by_one(Path(home))
    for pause in (0.1, 0.0):
        with tempfile.TemporaryDirectory() as home:
            latency, rate = await speed.write_latency(Path(home), pause=pause, each=30 if pause else 100)
        how = "each adds every 100 ms" if pause else "each adds as fast as it is answered"
        rows.append(f"| 64, {how} | {latency.p50:.1f} | {latency.p99:.1f} | {rate:,.0f} | {rate / alone:.1f} × |")
    head = "| writers | p50 ms | p99 ms | adds/s | against one writer |\n|---|---|---|---|---|"
    return "\n".join([head, *rows, f"| 1, waiting for each | | | {alone:,.0f} | 1 × |"])


if __name__ == "__main__":
    raise SystemExit(main())
