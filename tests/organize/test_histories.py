"""Random histories of one slot, through the whole system: adding, editing, deleting softly and hard, and undoing any of it
leave a timeline that a model of a few lines agrees with.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memos import MemOS
from memos.errors import Conflict, NotFound
from memos.memory.model import Kind, Layer, Memory, Status

CITIES = ("Oslo", "Rome", "Lima")
START = datetime(2024, 1, 1, tzinfo=UTC)
VERBS = ("add", "update", "soft", "hard", "undo", "undo fact", "soft fact")
Step = tuple[str, int, int]

_numbers = itertools.count()


def _name() -> str:
    n = next(_numbers)
    return "Z" + "".join(chr(97 + n // 26**i % 26) for i in range(3))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemOS]:
    with MemOS(tmp_path_factory.mktemp("histories"), embedder="none", background=False, durability="normal") as made:
        yield made


@dataclass
class Life:
    """What one person said of where she lives. `strict`: every message that stands was read for what it says now."""

    memos: MemOS
    name: str
    traces: list[str] = field(default_factory=list)
    days: set[int] = field(default_factory=set)
    strict: bool = True

    def facts(self, as_of: datetime | None = None) -> list[Memory]:
        where = {"slot": {"like": f"{self.name}|"}, "layer": "derived"}
        return list(self.memos.list(filter=where, include_inactive=as_of is None, as_of=as_of, limit=1_000).items)

    def do(self, verb: str, which: int, other: int) -> None:
        text = f"I live in {CITIES[other % 3]}."
        if verb == "add":
            day = which % 40
            if day in self.days:
                return
            self.days.add(day)
            message = {"role": "user", "name": self.name, "content": text, "chat_time": START + timedelta(days=day)}
            self.traces += self.memos.add(message, wait=True).ids
            return
        facts = sorted(self.facts(), key=lambda m: m.id) if verb.endswith("fact") else []
        ids = [m.id for m in facts] if verb.endswith("fact") else self.traces
        if not ids:
            return
        id = ids[which % len(ids)]
        try:
            if verb == "update" and self.memos.get(id).status is Status.ACTIVE:
                self.memos.update(id, text=text)
            elif verb.startswith("undo"):
                self.strict &= any(m.layer is Layer.TRACE for m in self.memos.undo(id)) and verb == "undo"
            elif verb in ("soft", "hard", "soft fact"):
                self.memos.delete(id, hard=verb == "hard")
                self.strict &= verb != "soft fact"
        except Conflict:
            pass
        except NotFound:
            assert id in self.traces
            self.traces.remove(id)
        self.memos.flush()

    def check(self) -> None:
        facts = self.facts()
        standing = [m for m in facts if m.status in (Status.ACTIVE, Status.SUPERSEDED)]
        said: dict[datetime, str] = {}
        for fact in standing:
            assert fact.kind is Kind.PROFILE and fact.sources
            assert fact.seen == len(fact.sources)
            for source in fact.sources:
                assert source.memory_id is not None and source.time is not None
                trace = self.memos.get(source.memory_id)
                assert trace.status is Status.ACTIVE, "a value stands on what was taken back"
                assert str(fact.body["value"]) in trace.text
                assert said.setdefault(source.time, str(fact.body["value"])) == fact.body["value"]
        if self.strict:
            assert said == dict(filter(None, map(self.says, self.traces)))
        current = [str(m.body["value"]) for m in facts if m.status is Status.ACTIVE]
        assert current == [said[t] for t in sorted(said)[-1:]]
        for day in self.days:
            for at in (START + timedelta(days=day), START + timedelta(days=day, hours=12)):
                expected = [said[t] for t in sorted(said) if t <= at][-1:]
                assert [m.body["value"] for m in self.facts(as_of=at)] == expected, at

    def says(self, id: str) -> tuple[datetime, str] | None:
        try:
            trace = self.memos.get(id)
        except NotFound:
            return None
        if trace.status is not Status.ACTIVE or trace.valid_from is None:
            return None
        return trace.valid_from, next(c for c in CITIES if c in trace.text)


steps = st.lists(st.tuples(st.sampled_from((*VERBS, "add", "add")), st.integers(0, 60), st.integers(0, 2)), max_size=9)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(first=st.tuples(st.just("add"), st.integers(0, 39), st.integers(0, 2)), rest=steps)
@example(("add", 1, 0), [("soft", 0, 0), ("add", 5, 1), ("undo", 0, 0)])
@example(("add", 1, 0), [("update", 0, 1), ("undo fact", 0, 0)])
@example(("add", 1, 0), [("update", 0, 1), ("add", 5, 2), ("undo fact", 0, 0)])
@example(("add", 1, 0), [("add", 9, 0), ("soft", 0, 0), ("add", 5, 1), ("undo", 0, 0)])
@example(("add", 1, 0), [("soft fact", 0, 0), ("soft", 0, 0), ("undo fact", 0, 0)])
@example(("add", 1, 1), [("undo fact", 0, 0), ("update", 0, 0), ("undo fact", 0, 0)])
@example(("add", 1, 0), [("add", 9, 0), ("undo fact", 0, 0), ("soft", 1, 0), ("undo fact", 0, 0)])
@example(("add", 0, 0), [("add", 1, 0), ("update", 0, 1), ("hard", 1, 0), ("undo", 0, 0)])
@example(("add", 0, 0), [("add", 1, 0), ("soft", 0, 0), ("hard", 1, 0), ("undo", 0, 0)])
def test_any_history_leaves_one_current_value_and_the_right_past(shared: MemOS, first: Step, rest: list[Step]) -> None:
    life = Life(shared, _name())
    for verb, which, other in (first, *rest):
        life.do(verb, which, other)
        life.check()
