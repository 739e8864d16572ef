"""What every home must do with reads: listings, filters, the two clocks, and walks through the graph."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from making import EVERYTHING, add, add_text, day, derive, found, link, supersede, texts, trace, update

from memos.errors import InvalidInput, NotFound
from memos.memory.filter import matches, parse_filter
from memos.memory.ids import new_id
from memos.memory.model import Edge, EdgeType, Kind, Memory, Origin, Status
from memos.storage.ports import ANY_STATUS, CubeStore, Direction, View

REL = EdgeType.RELATES_TO
WORDS = st.sampled_from(["a", "A", "ß", "SS", "茶馆", "", "1", "true", 'q"\\%_', "\x00n"])
VALUES = st.none() | st.booleans() | st.sampled_from([0, 1, -1, 0.5, 2**53 + 1, 2**63, float("nan")]) | WORDS
KEYS = st.sampled_from(["a", "b", 'q"k', "键"])
OBJECTS = st.dictionaries(
    KEYS, VALUES | st.lists(VALUES, max_size=2) | st.dictionaries(KEYS, VALUES, max_size=1), max_size=2
)
MEMORIES = st.builds(
    lambda **fields: Memory(id=new_id(), **fields),
    kind=st.sampled_from(Kind), text=WORDS, title=st.none() | WORDS, tags=st.lists(WORDS, max_size=2).map(tuple),
    status=st.sampled_from(Status), valid_from=st.none() | st.integers(0, 3).map(day), origin=st.sampled_from(Origin),
    importance=st.sampled_from([0.0, 0.5, 1.0]), owner=st.none() | WORDS, session=st.none() | WORDS, info=OBJECTS, body=OBJECTS,
)  # fmt: skip
CONDITIONS = st.one_of(
    st.builds(lambda k, o, v: {f"info.{k}": {o: v}}, KEYS, st.sampled_from(["eq", "ne"]), WORDS | st.integers(-1, 1)),
    st.builds(lambda k, o: {f"body.{k}": {"exists": o}}, KEYS, st.booleans()),
    st.builds(lambda k, o, v: {f"info.{k}": {o: v}}, KEYS, st.sampled_from(["gt", "lte"]), st.sampled_from([0, 0.5, 2**63, "a"])),
    st.builds(lambda o, v: {"tags": {o: v}}, st.sampled_from(["contains", "like"]), WORDS),
    st.builds(lambda f, o, v: {f: {o: v}}, st.sampled_from(["text", "title", "owner", "session"]),
              st.sampled_from(["eq", "ne", "like", "contains", "gt"]), WORDS),
    st.builds(lambda o, n: {"happened_at": {o: day(n)}}, st.sampled_from(["lt", "gte"]), st.integers(0, 3)),
    st.builds(lambda v: {"status": {"in": v}}, st.lists(st.sampled_from([s.value for s in Status]), max_size=2)),
    st.builds(lambda v: {"importance": {"gte": v}}, st.sampled_from([0, 0.5, 1])),
)  # fmt: skip
FILTERS = st.recursive(
    CONDITIONS,
    lambda inner: (
        st.builds(lambda x: {"not": x}, inner)
        | st.builds(lambda k, x: {k: x}, st.sampled_from(["and", "or"]), st.lists(inner, min_size=1, max_size=3))
    ),
    max_leaves=4,
)


class Reads:
    """Subclasses give the fixtures `store` (an empty cube) and `fresh` (makes more of them)."""

    async def test_get_answers_in_the_order_asked_and_leaves_out_what_is_not_there(self, store: CubeStore) -> None:
        a, b = await add(store, trace("a"), trace("b"))
        assert [m.id for m in await store.get([b.id, new_id(), a.id, b.id])] == [b.id, a.id, b.id]
        assert await store.get([]) == []
        with pytest.raises(InvalidInput):
            await store.get(["not-an-id"])

    async def test_ids_are_found_by_their_beginning_or_end(self, store: CubeStore) -> None:
        ids = [f"01a22a82-4e41-70a5-ae4d-{end}" for end in ("01a22a82cc3d", "aaaaaaaaaa4d", "bbbbbbbbbb3d")]
        await add(store, *(replace(trace("x"), id=id, status=s) for id, s in zip(ids, Status, strict=False)))
        await update(store, (await store.get([ids[0]], EVERYTHING))[0], text="a second version")
        assert await store.find_ids("01a22a82") == ids
        assert await store.find_ids("01a22a824") == ids
        assert await store.find_ids("01a22a82", limit=2) == ids[:2]
        assert await store.find_ids("aa4d") == [ids[1]]
        assert await store.find_ids("3d") == [ids[0], ids[2]]
        assert await store.find_ids(ids[2].replace("-", "")) == [ids[2]]
        for nothing in ("", "%", "_", "99", "xyz", "A" * 4, "0" * 33):
            assert await store.find_ids(nothing) == []

    async def test_only_active_memories_are_visible_unless_asked(self, store: CubeStore) -> None:
        await add(store, *(trace(s.value, status=s) for s in Status))
        assert await texts(store) == ["active"]
        assert await texts(store, View(statuses=frozenset({Status.ARCHIVED}))) == ["archived"]
        assert await store.count(view=View(statuses=ANY_STATUS)) == 5
        assert await store.count() == 1

    async def test_stats_count_everything(self, store: CubeStore) -> None:
        a = await add_text(store, "a")
        await update(store, a, text="b")
        await derive(store, "f", a)
        stats = await store.stats()
        assert (stats.memories, dict(stats.by_kind), stats.versions, stats.edges) == (2, {"trace": 1, "fact": 1}, 3, 1)
        assert stats.by_status == {"active": 2}
        assert stats.disk_bytes > 0
        with pytest.raises(NotFound):
            await store.history(new_id())

    # -- pages ---------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("newest_first", [True, False])
    async def test_pages_hold_everything_once_in_order(self, store: CubeStore, newest_first: bool) -> None:
        made = [m.id for m in await add(store, *(trace(f"{i}") for i in range(23)))]
        seen: list[str] = []
        cursor = None
        while True:
            page = await store.list(limit=5, cursor=cursor, newest_first=newest_first)
            assert len(page.items) <= 5
            seen += [m.id for m in page.items]
            if (cursor := page.cursor) is None:
                break
        assert seen == (made[::-1] if newest_first else made)
        assert (await store.list(limit=23)).cursor is None

    @pytest.mark.parametrize("newest_first", [True, False])
    async def test_writes_between_pages_neither_skip_nor_repeat(self, store: CubeStore, newest_first: bool) -> None:
        made = await add(store, *(trace(f"{i}") for i in range(40)))
        stop = False

        async def write() -> None:
            n = 0
            while not stop:
                n += 1
                await add(store, trace(f"new {n}"))
                await update(store, (await store.get([made[n % 40].id]))[0], tags=(f"{n}",))

        writer = asyncio.create_task(write())
        seen: list[str] = []
        cursor = None
        while True:
            page = await store.list(limit=3, cursor=cursor, newest_first=newest_first)
            seen += [m.id for m in page.items]
            if (cursor := page.cursor) is None or len(seen) > 500:
                break
        stop = True
        await writer
        assert len(seen) == len(set(seen))
        assert {m.id for m in made} <= set(seen)

    @pytest.mark.parametrize("bad", [{"limit": 0}, {"cursor": "x"}, {"cursor": "' OR 1"}])
    async def test_bad_limits_and_cursors_are_refused(self, store: CubeStore, bad: dict[str, Any]) -> None:
        with pytest.raises(InvalidInput):
            await store.list(**bad)

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(memories=st.lists(MEMORIES, min_size=1, max_size=5), filters=st.lists(FILTERS, min_size=1, max_size=12))
    async def test_filters_select_what_the_evaluator_accepts(
        self, fresh: Callable[[], Awaitable[CubeStore]], memories: list[Memory], filters: list[Any]
    ) -> None:
        store = await fresh()
        stored = await add(store, *memories)
        for wanted in map(parse_filter, filters):
            expected = sorted(m.id for m in stored if matches(wanted, m))
            page = await store.list(wanted, view=EVERYTHING)
            assert sorted(m.id for m in page.items) == expected, wanted
            assert await store.count(wanted, view=EVERYTHING) == len(expected)

    # -- the two clocks ------------------------------------------------------------------------------------------

    async def _history(self, store: CubeStore) -> tuple[Memory, Memory, list[datetime]]:
        """Oslo until day 10, Rome from then on; Rome later retracted. Returns both and the instants after each
        change.
        """
        oslo = await derive(store, "Ann lives in Oslo", valid_from=day(0))
        times = [oslo.known_from]
        rome = await supersede(store, oslo, Memory(new_id(), Kind.FACT, "Ann lives in Rome"), day(10))
        times.append(rome.known_from)
        gone = await update(store, rome, status=Status.RETRACTED)
        times.append(gone.known_from)
        return oslo, rome, [t for t in times if t is not None]

    async def test_reads_at_four_pairs_of_clocks(self, store: CubeStore) -> None:
        oslo, rome, (t1, t2, t3) = await self._history(store)
        before = t1 - timedelta(microseconds=1)
        expected = {
            (None, None): [], (day(5), None): ["Oslo"], (day(15), None): [], (None, t1): ["Oslo"], (day(15), t1): ["Oslo"],
            (None, t2): ["Rome"], (day(5), t2): ["Oslo"], (day(15), t2): ["Rome"], (day(15), t3): [], (day(5), t3): ["Oslo"],
            (day(-1), t2): [], (None, before): [], (day(10), t2): ["Rome"],
        }  # fmt: skip
        for (as_of, known_at), places in expected.items():
            view = View(as_of=as_of, known_at=known_at)
            wanted = sorted(f"Ann lives in {p}" for p in places)
            assert await texts(store, view) == wanted, view
            assert sorted(m.text for m in await store.get([oslo.id, rome.id], view)) == wanted, view
            assert sorted(await found(store, "Ann lives", view)) == wanted, view
            assert await store.count(view=view) == len(wanted), view

    async def test_former_words_are_found_only_at_the_time_they_were_known(self, store: CubeStore) -> None:
        memory = await add_text(store, "the launch is in march")
        await update(store, memory, text="the launch is in june")
        then = View(known_at=memory.known_from)
        assert await found(store, "march") == []
        assert await found(store, "june") == ["the launch is in june"]
        assert await found(store, "march", then) == ["the launch is in march"]
        assert await found(store, "june", then) == []

    async def test_superseded_is_seen_by_as_of_and_retracted_is_not(self, store: CubeStore) -> None:
        a = await derive(store, "was true", valid_from=day(0))
        await supersede(store, a, Memory(new_id(), Kind.FACT, "is true"), day(5))
        b = await derive(store, "was wrong", valid_from=day(0))
        await update(store, b, status=Status.RETRACTED)
        assert await texts(store, View(as_of=day(2))) == ["was true"]
        assert await texts(store) == ["is true"]

    async def test_edges_follow_both_clocks(self, store: CubeStore) -> None:
        a, b = await add(store, trace("a"), trace("b"))
        await link(store, Edge(a.id, b.id, REL, "works at", valid_from=day(0), valid_to=day(10)))
        at = (await store.neighbors([a.id]))[0].edge.known_from
        assert at is not None

        async def sees(**clocks: Any) -> int:
            return len(await store.neighbors([a.id], view=View(**clocks)))

        assert [await sees(as_of=day(n)) for n in (-1, 0, 9, 10)] == [0, 1, 1, 0]
        assert [await sees(known_at=at - timedelta(microseconds=1)), await sees(known_at=at)] == [0, 1]

    # -- the graph -----------------------------------------------------------------------------------------------

    async def test_walks_by_depth_direction_and_type(self, store: CubeStore) -> None:
        a, b, c, d = [m.id for m in await add(store, *(trace(x) for x in "abcd"))]
        await link(store, Edge(a, b, REL), Edge(b, c, EdgeType.USES), Edge(d, a, REL), Edge(c, a, EdgeType.USES))

        async def walk(direction: Direction, depth: int, *types: EdgeType) -> set[tuple[str, int]]:
            names = {a: "a", b: "b", c: "c", d: "d"}
            links = await store.neighbors([a], depth=depth, direction=direction, types=types or None)
            assert [x.depth for x in links] == sorted(x.depth for x in links)
            return {(names[x.edge.src] + names[x.edge.dst], x.depth) for x in links}

        assert await walk("out", 1) == {("ab", 1)}
        assert await walk("out", 5) == {("ab", 1), ("bc", 2), ("ca", 3)}
        assert await walk("in", 1) == {("da", 1), ("ca", 1)}
        assert await walk("both", 1) == {("ab", 1), ("da", 1), ("ca", 1)}
        assert await walk("both", 9) == {("ab", 1), ("da", 1), ("ca", 1), ("bc", 2)}
        assert await walk("both", 9, REL) == {("ab", 1), ("da", 1)}
        for bad in ({"depth": 0}, {"limit": 0}):
            with pytest.raises(InvalidInput):
                await store.neighbors([a], **bad)  # type: ignore[arg-type]
        assert await store.neighbors([]) == []

    async def test_the_limit_is_filled_whatever_was_met_before(self, store: CubeStore) -> None:
        a, b, *rest = [m.id for m in await add(store, *(trace(f"{i}") for i in range(12)))]
        await link(store, *(Edge(a, b, REL, f"p{i}") for i in range(6)), *(Edge(x, b, REL, "z") for x in rest))
        for limit in (1, 5, 7, 10, 16):
            links = await store.neighbors([a, b], limit=limit)
            assert len({(x.edge.src, x.edge.predicate) for x in links}) == len(links) == min(limit, 16)

    async def test_a_hub_does_not_slow_a_walk(self, store: CubeStore) -> None:
        hub, *others = [m.id for m in await add(store, *(trace(f"{i}") for i in range(3_000)))]
        await link(store, *(Edge(x, hub, REL) for x in others))
        started = time.perf_counter()
        links = await store.neighbors([others[0]], depth=3, limit=50)
        assert time.perf_counter() - started < 1.0
        assert len(links) == 50

    async def test_preceding_gives_the_records_before_by_time(self, store: CubeStore) -> None:
        say = lambda n, **f: trace(f"turn {n}", valid_from=day(n), **f)  # noqa: E731
        one, two, four, _ = await add(store, say(1), say(2), say(4), say(3, session="other"))
        late = await add_text(store, "turn 3", valid_from=day(3))
        await derive(store, "a fact", two, session="s", valid_from=day(3))
        await update(store, one, tags=("changed",))
        before = await store.preceding([four.id, one.id], 2)
        assert [m.text for m in before[four.id]] == ["turn 2", "turn 3"]
        assert before[one.id] == ()
        assert [m.text for m in (await store.preceding([late.id], 5))[late.id]] == ["turn 1", "turn 2"]
