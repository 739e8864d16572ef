"""`python -m memos.bench hermes`: what a prompt of Hermes waits for memory, on a data folder with many memories in it: in the
process of Hermes, and over a server on this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from memos.bench import corpus
from memos.bench.pages import COMMAND, block, table, write_into
from memos.bench.speed import USER, Latency, fill
from memos.bench.work import say
from memos.errors import MemosError
from memos.hosts.hermes import options
from memos.hosts.hermes.provider import Provider
from memos.hosts.reach import running

_STARTS = 60.0  # seconds


def main(argv: Sequence[str]) -> int:
    """Parse the arguments, measure and print."""
    args = _parser().parse_args(argv)
    try:
        text = _measured(args)
    except MemosError as e:
        say(f"bench: {e}")
        return 2
    print(f"\n## hermes\n\n{text}")
    for page in args.docs or ():
        write_into(page, {"hermes": text})
    return 0


def _parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog=f"{COMMAND} hermes", description=__doc__)
    p.add_argument("--size", type=int, default=10_000, help="memories in the cube (default 10000)")
    p.add_argument("--turns", type=int, default=200, help="turns measured (default 200)")
    p.add_argument("--work", type=Path, default=Path(".bench"), help="where generated cubes are kept between runs")
    p.add_argument(
        "--docs", type=Path, action="append", help="Markdown page whose <!-- bench:NAME --> blocks are filled"
    )
    return p


def _measured(args: argparse.Namespace) -> str:
    home = (args.work / f"hermes{args.size}").absolute()
    asyncio.run(fill(home, args.size, say))
    rows = [("in the process of Hermes", *_turns(home, args.turns))]
    with _serving(home):
        rows.append(("over `memos serve` on this machine", *_turns(home, args.turns)))
    lines = [
        (name, *(f"{value:.0f} ms" for value in (p.p50, p.p95, p.p99, s.p50, s.p95)), f"{late} of {args.turns}")
        for name, p, s, late in rows
    ]
    head = ("", "`prefetch` median", "p95", "p99", "`sync_turn` median", "p95", "late")
    return block(table(head, lines), f"hermes --size {args.size} --turns {args.turns}")


def _turns(home: Path, count: int) -> tuple[Latency, Latency, int]:
    """What prompts waited, what `sync_turn` took, and how many prompts were answered late."""
    with tempfile.TemporaryDirectory() as hermes_home:
        options.save({"home": str(home), "user": USER, "prefetch_seconds": 6.0}, hermes_home)
        provider = Provider()
        provider.initialize(f"bench-{time.time_ns()}", hermes_home=hermes_home, platform="bench")
        provider.on_turn_start(1, "hello")
        provider.prefetch("hello")
        provider.sync_turn("hello", "Hello.")
        waited: list[float] = []
        synced: list[float] = []
        late = 0
        for n, question in enumerate(corpus.questions(count)):
            provider.on_turn_start(n + 2, question)
            start = time.perf_counter()
            provider.prefetch(question)
            waited.append(time.perf_counter() - start)
            status = provider.recall_status()
            late += status is not None and "late" in status.provider_label
            start = time.perf_counter()
            provider.sync_turn(question, f"That was answer {n}.")
            synced.append(time.perf_counter() - start)
            time.sleep(0.2)  # somebody reads
        provider.shutdown()
    return Latency.of(waited), Latency.of(synced), late


@contextmanager
def _serving(home: Path) -> Iterator[None]:
    """A server on a data folder."""
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "memos.cli", "--home", str(home), "serve", "--port", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + _STARTS
        while running(str(home)) is None and process.poll() is None and time.monotonic() < until:
            time.sleep(0.1)
        if running(str(home)) is None:
            raise MemosError("the server did not start: " + json.dumps(process.args))
        time.sleep(1.0)
        yield
    finally:
        process.terminate()
        process.wait(30)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
