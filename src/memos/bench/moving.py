"""How fast a foreign file is taken in: an export of ChatGPT of so many messages, made here, read, stored, and brought again."""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from memos.bench.pages import COMMAND, block, table, write_into
from memos.moving.bring import bring_now
from memos.sync import MemOS

_LENGTH = 20  # messages of a conversation


def main(argv: Sequence[str]) -> int:
    """Measure, print, and put the table into pages when asked."""
    parser = argparse.ArgumentParser(prog=f"{COMMAND} moving", description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--docs", type=Path, action="append", help="page whose <!-- bench:moving --> block is filled")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        text = block(_measured(Path(folder), args.messages), f"moving --messages {args.messages}")
    print(text)
    for page in args.docs or ():
        write_into(page, {"moving": text})
    return 0


def _measured(folder: Path, count: int) -> str:
    path = folder / "conversations.json"
    _write(path, count)
    rows = []
    with MemOS(folder / "home", embedder="none", background=False) as memos:
        for what, dry in (("dry run", True), ("import", False), ("import again", False)):
            start = time.perf_counter()
            report = bring_now(memos, path, dry_run=dry)
            seconds = time.perf_counter() - start
            rows.append((what, report.messages, 0 if dry else report.new, seconds, report.messages / seconds))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = path.stat().st_size / 1e6
    told = f"\n\nThe file has {size:.0f} MB; the process took {peak:.0f} MB at most. Facts are read and vectors made after that."
    return table(("run", "messages", "stored", "seconds", "messages/s"), rows) + told


def _write(path: Path, count: int) -> None:
    """An export with the newest conversation first, as the real ones have it."""
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        for number in range(count // _LENGTH, 0, -1):
            file.write(json.dumps(_conversation(number)) + ("," if number > 1 else ""))
        file.write("]")


def _conversation(number: int) -> dict[str, object]:
    began = 1_600_000_000 + number * 7_200
    mapping: dict[str, object] = {"root": {"id": "root", "parent": None, "children": [], "message": None}}
    parent = "root"
    for place in range(_LENGTH):
        id = f"{number:08d}-{place:04d}"
        asks = place % 2 == 0
        text = (
            f"I went to place {number} with friend {place} and bought thing {number * place} for the flat."
            if asks
            else "That sounds good. " + "Here is what else you could do about it. " * 8
        )
        message = {
            "id": id,
            "author": {"role": "user" if asks else "assistant"},
            "create_time": began + place * 60.0,
            "content": {"content_type": "text", "parts": [text]},
            "recipient": "all",
            "metadata": {},
        }
        mapping[id] = {"id": id, "parent": parent, "children": [], "message": message}
        parent = id
    return {"conversation_id": f"c{number}", "title": f"Chat {number}", "mapping": mapping, "current_node": parent}
