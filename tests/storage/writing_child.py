"""Run as a process of its own: writes into a cube from several threads and says each id only after its write has
returned.

`python writing_child.py PATH TAG THREADS COUNT [full|normal]`; COUNT 0 writes until it is killed. Prints `ok` once it
is ready.
"""

from __future__ import annotations

import sys
import threading
from itertools import count, islice
from pathlib import Path
from typing import Any

from memos.memory.ids import new_id
from memos.memory.model import Edge, EdgeType, Kind, Memory
from memos.storage.ports import Durability
from memos.storage.sqlite.cube import SqliteCube

_out = threading.Lock()


def word(tag: str, thread: int, number: int) -> str:
    """A word no other write has, of letters alone."""
    return "w" + "".join(chr(103 + int(c, 16)) for c in f"{tag.encode().hex()}e{thread:x}e{number:x}") + "q"


def say(line: str) -> None:
    """One line, at once."""
    with _out:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def write(cube: SqliteCube, tag: str, thread: int, number: int) -> str:
    """One change: a trace with a word of its own, a fact resting on it, a mark, and now and then an update or a
    deletion.
    """
    trace = Memory(new_id(), Kind.TRACE, f"{word(tag, thread, number)} said among many words", session=f"{tag}{thread}")
    fact = Memory(new_id(), Kind.FACT, f"fact {tag} {thread} {number}")

    def run(tx: Any) -> None:
        tx.put(trace, key=trace.id.encode())
        tx.mark(trace.id, "digest")
        tx.put(fact, "derive")
        tx.link(Edge(fact.id, trace.id, EdgeType.DERIVED_FROM))
        if number % 3 == 0:
            tx.put(tx.get(fact.id), "again")

    cube.write_soon(run).result()
    if number % 5 == 0:
        cube.write_soon(lambda tx: tx.purge([fact.id])).result()
    return trace.id


def main() -> None:
    """See the module."""
    path, tag, threads, amount = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    durability: Durability = "normal" if sys.argv[5:] == ["normal"] else "full"
    cube = SqliteCube.open(path, durability=durability)
    say("ok")

    def work(thread: int) -> None:
        for number in islice(count(), amount or None):
            say(f"{write(cube, tag, thread, number)} {word(tag, thread, number)}")

    workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    cube.close_now()
    say("done")


if __name__ == "__main__":
    main()
