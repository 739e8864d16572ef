"""A cube into which statements arrive one after another, without any reading of texts."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memos.memory.filter import Compare, Field, Op
from memos.memory.ids import new_id
from memos.memory.model import EdgeType, Kind, Memory, Status
from memos.memory.statement import Statement
from memos.organize.reconcile import Outcome, reconcile
from memos.reading.traces import source_of
from memos.storage.ports import ANY_STATUS, WAS_TRUE, View, WriteTx
from memos.storage.sqlite.cube import SqliteCube

START = datetime(2024, 1, 1, tzinfo=UTC)


def day(n: float) -> datetime:
    return START + timedelta(days=n)


class Arriving:
    """Statements about one slot after another; `slot` is what the next ones are about."""

    def __init__(self, path: Path) -> None:
        self.cube = SqliteCube.open(path, durability="normal")
        self.slot = "ann|home"

    def close(self) -> None:
        self.cube.close_now()

    def say(
        self,
        value: str,
        said: float,
        *,
        single: bool = True,
        ended: bool = False,
        since: float | None = None,
        until: float | None = None,
        kind: Kind = Kind.PROFILE,
        confidence: float = 0.9,
    ) -> tuple[Memory, Outcome]:
        """One message of day `said` that states `value`; returns its trace and what came of it."""

        def apply(tx: WriteTx) -> tuple[Memory, Outcome]:
            trace = tx.put(
                Memory(id=new_id(), kind=Kind.TRACE, text=f"{value} on day {said}", valid_from=day(said), role="user")
            )
            outcome = Outcome()
            statement = Statement(
                kind=kind,
                text=f"Ann: {value}",
                slot=self.slot,
                key=f"{self.slot}|{value}",
                value=value,
                single=single,
                confidence=confidence,
                source=source_of(trace),
                valid_from=None if since is None else day(since),
                valid_to=None if until is None else day(until),
                ended=ended,
            )
            reconcile(tx, trace, [statement], outcome)
            return trace, outcome

        return self.cube.write_soon(apply).result()

    def facts(self, *statuses: Status, as_of: float | None = None) -> list[Memory]:
        """The facts of the slot, oldest row first."""
        view = View(
            as_of=None if as_of is None else day(as_of),
            statuses=frozenset(statuses) or (None if as_of is not None else ANY_STATUS),
        )
        where = Compare(Field("slot"), Op.EQ, self.slot)
        return list(asyncio.run(self.cube.list(where, view=view, limit=1_000, newest_first=False)).items)

    def current(self) -> list[str]:
        return [str(m.body["value"]) for m in self.facts(Status.ACTIVE)]

    def then(self, at: float) -> list[str]:
        return [str(m.body["value"]) for m in self.facts(as_of=at)]

    def spans(self) -> dict[str, tuple[float | None, float | None]]:
        """From which day to which each value held (None: open)."""
        return {str(m.body["value"]): (self.days(m.valid_from), self.days(m.valid_to)) for m in self.facts(*WAS_TRUE)}

    def supersedes(self) -> set[tuple[str, str]]:
        """(newer, older) by value, of the edges that stand between facts."""

        def read(tx: WriteTx) -> set[tuple[str, str]]:
            out = set()
            for m in tx.find_slot(self.slot, ANY_STATUS):
                for edge in tx.edges(m.id, "out", (EdgeType.SUPERSEDES,)):
                    other = tx.get(edge.dst)
                    assert other is not None
                    out.add((str(m.body["value"]), str(other.body["value"])))
            return out

        return self.cube.write_soon(read).result()

    def history(self, id: str) -> list[str]:
        """What was done to a memory, in order."""
        return [version.op for version in asyncio.run(self.cube.history(id))]

    @staticmethod
    def days(at: datetime | None) -> float | None:
        """The number of the day of a time."""
        return None if at is None else (at - START).total_seconds() / 86_400
