"""Whatever a first model read, a cube read anew by another says what one says that only the other has read; and an undo gives
back what there was.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memos.memory.ids import new_id
from memos.memory.model import EdgeType, Kind, Layer, Memory
from memos.memory.statement import Mention, Reading, Relation, SegmentReading, Statement
from memos.organize.forget import undo
from memos.organize.reread import Reread, apply_reading, noted
from memos.reading.traces import source_of
from memos.storage.ports import ANY_STATUS, READ, Change, View, WriteTx
from memos.storage.sqlite.cube import SqliteCube

START = datetime(2024, 1, 1, tzinfo=UTC)
VALUES = {"home": ("Oslo", "Rome", "Lima"), "pet": ("cat", "dog", "owl")}
SEGMENTS = ((0, 1, 2), (3, 4))
Said = tuple[int, str, int, frozenset[int], int | None]
"""Number of the message, slot, number of the value, further messages that say it, and days before since when it is so."""

_said = st.tuples(
    st.integers(0, 4),
    st.sampled_from(sorted(VALUES)),
    st.integers(0, 2),
    st.frozensets(st.integers(0, 4), max_size=2),
    st.one_of(st.none(), st.integers(0, 3)),
)
_named = st.tuples(st.integers(0, 4), st.sampled_from(("Ada", "Bob", "Cleo")), st.sampled_from(("knows", "leads")))
_numbers = itertools.count()


class Life:
    """What one person said in five messages, and what was made of them. Many share a cube."""

    def __init__(self, cube: SqliteCube) -> None:
        self.cube, self.who = cube, f"p{next(_numbers)}"
        self.traces = [
            Memory(new_id(), Kind.TRACE, f"{self.who} said {n}", valid_from=START + timedelta(days=n * 10), role="user")
            for n in range(5)
        ]

        def put(tx: WriteTx) -> None:
            for trace in self.traces:
                tx.put(trace)

        self.write(put)

    def write(self, fn: object, change: Change = Change()) -> object:
        return self.cube.write_soon(fn, change).result()  # type: ignore[arg-type]

    def read(self, reader: str, said: Sequence[Said], named: Sequence[tuple[int, str, str]] = ()) -> None:
        for segment in SEGMENTS:
            traces = [self.traces[n] for n in segment]
            readings = {
                self.traces[n].id: Reading(
                    tuple(self.statement(s, segment) for s in said if s[0] == n),
                    relations=tuple(
                        Relation(Mention(f"{who} {self.who}", "other"), how, Mention(f"Zed {self.who}", "other"))
                        for number, who, how in named
                        if number == n
                    ),
                )
                for n in segment
            }
            before = asyncio.run(noted(self.cube, [t.id for t in traces]))

            def apply(tx: WriteTx, traces=traces, readings=readings, before=before) -> Reread:  # type: ignore[no-untyped-def]
                for trace in traces:
                    tx.mark(trace.id, READ)
                return apply_reading(tx, traces, SegmentReading(reader, readings), before)

            self.write(apply)

    def statement(self, said: Said, segment: Sequence[int]) -> Statement:
        n, slot, number, also, since = said
        value, trace = VALUES[slot][number], self.traces[n]
        name = f"{self.who}|{slot}"
        assert trace.valid_from is not None
        return Statement(
            kind=Kind.PROFILE,
            text=f"{self.who}: {slot} {value}",
            slot=name,
            key=f"{name}|{value}",
            value=value,
            single=slot == "home",
            confidence=0.9,
            source=source_of(trace),
            also=tuple(source_of(self.traces[i]) for i in sorted(also) if i in segment and i > n),
            valid_from=None if since is None else trace.valid_from - timedelta(days=since),
        )

    def state(self) -> object:
        """What is believed: facts with status, span and evidence, names and relations with theirs."""

        def read(tx: WriteTx) -> object:
            number = {trace.id: n for n, trace in enumerate(self.traces)}
            facts: set[object] = set()
            days: dict[int, str] = {}
            for slot in VALUES:
                for m in tx.find_slot(f"{self.who}|{slot}", ANY_STATUS):
                    edges = {number[e.dst] for e in tx.edges(m.id, "out", (EdgeType.DERIVED_FROM,))}
                    assert {number[s.memory_id or ""] for s in m.sources} == edges or m.status == "retracted"
                    if m.status != "retracted":
                        assert m.valid_from is not None
                        facts.add((m.text, m.valid_from, m.valid_to, frozenset(edges), m.body["reader"]))
                        if slot == "home":
                            until = 60 if m.valid_to is None else (m.valid_to - START).days
                            days |= dict.fromkeys(range((m.valid_from - START).days, until), m.text)
            graph: set[object] = set()
            for id, n in number.items():
                for edge in tx.edges(id, "out", (EdgeType.MENTIONS,)):
                    name = tx.get(edge.dst)
                    assert name is not None
                    graph.add((n, name.text))
                    for r in tx.edges(edge.dst, "out", (EdgeType.RELATES_TO,)):
                        graph.add((name.text, r.predicate, frozenset(number[i] for i in r.info["evidence"])))
            return facts | set(days.items()), graph

        return self.write(read)


@pytest.fixture(scope="module")
def cube(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteCube]:
    made = SqliteCube.open(tmp_path_factory.mktemp("rereading") / "a.cube", durability="normal")
    yield made
    made.close_now()


def unlike(said: Sequence[Said]) -> list[Said]:
    """One home for each message: two at once would be two homes, which is another question."""
    homes: dict[int, Said] = {}
    for s in said:
        if s[1] == "home":
            homes.setdefault(s[0], (s[0], "home", s[2], frozenset(), None))
    return [*homes.values(), *(s for s in said if s[1] == "pet")]


@settings(max_examples=500)
@given(
    st.lists(_said, max_size=7), st.lists(_said, max_size=7), st.lists(_named, max_size=4), st.lists(_named, max_size=4)
)
def test_the_last_reading_is_what_counts(
    cube: SqliteCube,
    first: list[Said],
    last: list[Said],
    first_named: list[tuple[int, str, str]],
    last_named: list[tuple[int, str, str]],
) -> None:
    twice, once = Life(cube), Life(cube)
    twice.read("old", unlike(first), first_named)
    twice.read("new", unlike(last), last_named)
    once.read("new", unlike(last), last_named)
    assert without_names(twice) == without_names(once)


@settings(max_examples=50)
@given(st.lists(_said, min_size=1, max_size=7), st.lists(_said, max_size=7))
def test_the_same_reading_again_changes_nothing(cube: SqliteCube, said: list[Said], other: list[Said]) -> None:
    life = Life(cube)
    life.read("model", unlike(said))
    before = life.state()
    life.read("model", unlike(said))
    assert life.state() == before


def without_names(life: Life) -> object:
    return str(sorted(map(str, life.state()[0]))).replace(life.who, "X"), str(  # type: ignore[index]
        sorted(str(sorted(map(str, g))) for g in life.state()[1])  # type: ignore[index]
    ).replace(life.who, "X")


def test_an_undone_reading_gives_back_the_one_before(tmp_path: Path) -> None:
    cube = SqliteCube.open(tmp_path / "a.cube", durability="normal")
    life = Life(cube)
    life.read("old", [(0, "home", 0, frozenset(), None), (1, "pet", 1, frozenset({2}), None)], [(0, "Ada", "knows")])
    before = life.state()
    life.read("new", [(0, "home", 1, frozenset(), None), (2, "pet", 2, frozenset(), None)], [(1, "Bob", "leads")])
    assert life.state() != before
    (fact,) = [
        m
        for m in asyncio.run(cube.list(view=View(), limit=100)).items
        if m.layer is Layer.DERIVED and m.body.get("value") == "owl"
    ]
    life.write(lambda tx: undo(tx, fact.id))
    assert life.state() == before
    cube.close_now()
