"""What the changes of one connection read again and again while they learn, kept as it was parsed: memories by id, steps and
calls by number. Whatever writes a version of a memory or a value of a step drops it here (`changed`, `revalued`); what another
process wrote, a rollback or a deletion drops everything (`forget`).
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import apsw

from memos.memory.learned import reading_once
from memos.memory.model import Memory

if TYPE_CHECKING:
    from memos.memory.episode import Step

MOST = 4_000  # memories, and steps, that are kept
MEMOS = 4  # connections for which anything is kept: those that were used last
LONGEST = 8_000  # characters of a memory that is kept


class Memo:
    """What one connection keeps. Used by the thread that has the connection; emptied by another only while it is not in use."""

    def __init__(self) -> None:
        self.memories: dict[str, Memory] = {}
        self.steps: dict[int, Step] = {}
        self.uses: dict[int, Any] = {}
        self.bodies: dict[Any, Any] = {}
        self._numbers: dict[str, int] = {}  # of the steps and uses, by the id of their memory

    def forget(self) -> None:
        """Drop everything."""
        for kept in (self.memories, self.steps, self.uses, self.bodies, self._numbers):
            kept.clear()

    def changed(self, id: str) -> None:
        """Drop a memory, and the step that it is."""
        self.memories.pop(id, None)
        number = self._numbers.pop(id, None)
        if number is not None:
            self.steps.pop(number, None)
            self.uses.pop(number, None)

    def revalued(self, number: int) -> None:
        """Drop a step, whose value is another now."""
        self.steps.pop(number, None)

    def keep_memory(self, memory: Memory) -> None:
        """Keep a memory, unless it is long; of too many, those that came first are dropped."""
        if len(memory.text) <= LONGEST:
            for old in [*self.memories][: MOST // 2] if len(self.memories) >= MOST else ():
                del self.memories[old]
            self.memories[memory.id] = memory

    def keep_step(self, step: Step) -> None:
        """Keep a step, unless its memory is long."""
        if len(step.memory.text) <= LONGEST:
            self._number(step.id, step.number)
            self.steps[step.number] = step

    def keep_use(self, id: str, number: int, use: Any) -> None:
        """Keep a call: what was made of the step of this number."""
        self._number(id, number)
        self.uses[number] = use

    def _number(self, id: str, number: int) -> None:
        for old in [*self._numbers][: MOST // 2] if len(self._numbers) >= MOST else ():
            self.changed(old)
        self._numbers[id] = number


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
        _in_use[id(db)] = memo
        _last_used[id(memo)] = weakref.ref(memo)
        _last_used.move_to_end(id(memo))
        _empty_others()
    try:
        with reading_once(memo.bodies):
            yield
    finally:
        with _lock:
            del _in_use[id(db)]


def _empty_others() -> None:
    busy = {id(memo) for memo in _in_use.values()}
    for key in [*_last_used][:-MEMOS]:
        if key not in busy:
            memo = _last_used.pop(key)()
            if memo is not None:
                memo.forget()
