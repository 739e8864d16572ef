"""What an import found and did, and how far it is: plain values, printable as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memos.moving.items import Bad, Left

MOST_SHOWN = 20  # bad rows that a report names


@dataclass(frozen=True, slots=True)
class Report:
    """What there is at a path, and (unless `dry_run`) what was stored of it.

    `messages`, `notes`, `turns`, `steps`, `skills`: what the source holds, each once. `repeated`: what it holds twice.
    `known`: of it, what was stored already before; `new`: what this run stored, or with `dry_run` would store. `first`,
    `last`: the earliest and the latest time, ISO 8601 in UTC; `undated`: what has no time, or none that can be read, and
    gets that of the import. `users`: whose memories they are there. `bad`: all rows that cannot be taken, `bad_rows` the
    first 20 of them; `left`: what is left out on purpose. `seconds`: how long it took, or (`dry_run`) roughly would; reading
    facts comes on top.
    """

    source: str
    title: str
    path: str
    dry_run: bool
    messages: int = 0
    notes: int = 0
    turns: int = 0
    steps: int = 0
    skills: int = 0
    sessions: int = 0
    first: str | None = None
    last: str | None = None
    undated: int = 0
    users: tuple[str, ...] = ()
    repeated: int = 0
    known: int = 0
    new: int = 0
    bad: int = 0
    bad_rows: tuple[Bad, ...] = ()
    left: tuple[Left, ...] = ()
    seconds: float = 0.0

    @property
    def items(self) -> int:
        """How many things there are to be stored, each once."""
        return self.messages + self.notes + self.turns + self.skills


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an import is. `phase`: `reading` the source or `storing`; `total` None: not known yet."""

    phase: str
    done: int
    total: int | None = None


Watch = Callable[[Progress], None]
