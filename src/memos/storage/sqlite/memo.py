"""What the changes of one connection read again and again, kept as it was parsed: memories by the row of their version, steps and
calls by number. Nothing is answered from here alone: that a row is the current one is asked of the file each time.

A row never changes but by a deletion, after which everything kept is dropped (`forget`).
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, TypeVar

import apsw

from memos.memory.learned import reading_once
from memos.memory.model import Memory

T = TypeVar("T")
MOST = 4_000  # things of a kind that are kept
MEMOS = 4  # connections for which anything is kept: those that were used last
LONGEST = 8_000  # characters of a memory that is kept


class Memo:
    """What one connection keeps. Used by the thread that has the connection; may be emptied by another."""

    def __init__(self) -> None:
        self.memories: dict[int, Memory] = {}
        self.steps: dict[int, tuple[Any, Any]] = {}  # by number: from what it was made, and the step
        self.uses: dict[int, tuple[Any, Any]] = {}
        self.bodies: dict[Any, Any] = {}

    def forget(self) -> None:
        """Drop everything."""
        for kept in (self.memories, self.steps, self.uses, self.bodies):
            kept.clear()

    def keep(self, kept: dict[int, T], key: int, value: T) -> None:
        """Add to what is kept; of too much the half that came first is dropped."""
        if len(kept) >= MOST:
            for old in [*kept][: MOST // 2]:
                kept.pop(old, None)
        kept[key] = value

    def keep_memory(self, n: int, memory: Memory) -> None:
        """Keep the memory of a row, unless it is long."""
        if len(memory.text) <= LONGEST:
            self.keep(self.memories, n, memory)


_in_use: dict[int, Memo] = {}  # by connection, while a change reads with one
_last_used: OrderedDict[int, weakref.ref[Memo]] = OrderedDict()
_lock = threading.Lock()


def of(db: apsw.Connection) -> Memo | None:
    """What a connection keeps, within `reading`."""
    return _in_use.get(id(db))


@contextlib.contextmanager
def reading(db: apsw.Connection, memo: Memo) -> Iterator[None]:
    """Within this, reads of this connection use what it keeps, and bodies are read once."""
    with _lock:
        _last_used[id(memo)] = weakref.ref(memo)
        _last_used.move_to_end(id(memo))
        while len(_last_used) > MEMOS:
            oldest = _last_used.popitem(last=False)[1]()
            if oldest is not None:
                oldest.forget()
    _in_use[id(db)] = memo
    try:
        with reading_once(memo.bodies):
            yield
    finally:
        _in_use.pop(id(db), None)
