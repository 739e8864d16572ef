"""A process that learns from everything that is due in a cube file, and may kill itself (SIGKILL) in the middle of a change.

    python learning_child.py FILE [STATEMENTS]

STATEMENTS: after so many calls that write, in whatever change that is.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

from memos.evolution.learn import learn_episode
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.tx import SqliteTx

WRITES = ("put", "put_new", "link", "unlink", "point")
ROWS = ("set_values", "set_reward", "put_lessons", "attach", "resolve_trial", "tell")


def die_after(left: int) -> None:
    """Kill this process before the call that comes after so many."""

    def counted(fn: Any) -> Any:
        def call(*args: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return fn(*args, **named)

        return call

    for name in WRITES:
        setattr(SqliteTx, name, counted(getattr(SqliteTx, name)))
    for name in ROWS:
        setattr(lived, name, counted(getattr(lived, name)))


def _learn(tx: Any, episode: str) -> None:
    learn_episode(tx, episode)


async def learn_all(path: Path) -> None:
    store = SqliteCube.open(path, durability="normal")
    while found := await store.lived(lived.due, None):
        await store.write(partial(_learn, episode=found[0]))
    await store.close()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        die_after(int(sys.argv[2]))
    asyncio.run(learn_all(Path(sys.argv[1])))
