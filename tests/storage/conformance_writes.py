"""What every home must do with writes: versions, keys, marks, edges, history and undo."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from typing import Any

import pytest
from making import EVERYTHING, add, add_text, day, derive, embed, found, link, supersede, texts, trace, unit, update

from memos.errors import Conflict, DimensionMismatch, InvalidInput, NotFound
from memos.memory.ids import new_id
from memos.memory.model import Edge, EdgeType, Kind, Memory, Origin, Source, Status
from memos.storage.ports import ANY_STATUS, Change, CubeStore, View

REL = EdgeType.RELATES_TO


class Writes:
    """Subclasses give a fixture `store`: an empty cube."""

    async def test_every_field_comes_back_as_it_was_stored(self, store: CubeStore) -> None:
        full = Memory(
            id=new_id(), kind=Kind.PREFERENCE, text="a\x00b \U0001f600 茶馆", title="t", tags=("x", "ÿ", 'q"'),
            sources=(Source(new_id(), "m1", "user", "Ann", day(1), 0, 4, "file:a"), Source(start=0)),
            status=Status.QUARANTINED, valid_from=day(-400_000), valid_to=day(9), recorded_at=day(2), retracted_at=day(3),
            confidence=0.25, importance=0.75, origin=Origin.WEB, trust=0.3, owner="o", session="s", role="user",
            speaker="Ann", message_id="m", slot="a|b", seen=3, info={"k": [1, {"ü": None}], "b": True}, body={"n": 1.5},
        )  # fmt: skip
        (stored,) = await add(store, full)
        assert stored == replace(full, version=1, known_from=stored.known_from)
        assert await store.get([full.id], EVERYTHING) == [stored]

    async def test_numbers_that_json_lacks_become_null(self, store: CubeStore) -> None:
        memory = await add_text(store, "x", info={"a": math.nan, "b": [math.inf, 1.0], "c": {"d": -math.inf}})
        (read,) = await store.get([memory.id])
        assert read.info == {"a": None, "b": [None, 1.0], "c": {"d": None}}

    @pytest.mark.parametrize(
        "fields", [{"text": "half \ud800"}, {"tags": ("\udfff",)}, {"info": {"k": "\ud800"}}, {"info": {"k": object()}}]
    )
    async def test_what_cannot_be_stored_is_refused_and_nothing_changes(self, store: CubeStore, fields: Any) -> None:
        first = await add_text(store, "whole")

        def run(tx: Any) -> None:
            with pytest.raises(InvalidInput):
                tx.put(replace(first, **fields))

        await store.write(run)
        assert await store.get([first.id]) == [first]

    async def test_a_new_version_keeps_the_old_one_and_the_first_time(self, store: CubeStore) -> None:
        first = await add_text(store, "one", recorded_at=day(0))
        second = await update(store, first, text="two", recorded_at=day(5))
        assert (second.version, second.recorded_at) == (2, day(0))
        assert second.known_from > first.known_from  # type: ignore[operator]
        versions = await store.history(first.id)
        assert [(v.op, v.memory.text, v.memory.known_to) for v in versions] == [
            ("add", "one", second.known_from), ("update", "two", None),
        ]  # fmt: skip
        assert (versions[1].actor, versions[1].cause, versions[1].at) == ("u", "c", second.known_from)
        assert await texts(store) == ["two"]

    async def test_a_version_made_from_an_old_one_is_a_conflict(self, store: CubeStore) -> None:
        first = await add_text(store, "one")
        await update(store, first, text="two")
        with pytest.raises(Conflict):
            await update(store, first, text="three")
        assert await texts(store) == ["two"]

    async def test_of_changes_made_from_the_same_version_one_wins(self, store: CubeStore) -> None:
        first = await add_text(store, "start")
        done = await asyncio.gather(*(update(store, first, text=f"{i}") for i in range(8)), return_exceptions=True)
        assert sum(isinstance(d, Conflict) for d in done) == 7
        assert len(await store.history(first.id)) == 2

    async def test_a_change_that_raises_leaves_nothing(self, store: CubeStore) -> None:
        kept = await add_text(store, "kept")

        def run(tx: Any) -> None:
            tx.put(trace("lost words"))
            tx.put(replace(kept, text="overwritten"))
            tx.mark(kept.id, "t")
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await store.write(run)
        assert await texts(store, EVERYTHING) == ["kept"]
        assert await store.todo("t") == []
        assert await found(store, "lost") == []

    async def test_the_change_sees_its_own_writes(self, store: CubeStore) -> None:
        memory = trace("seen")

        def run(tx: Any) -> bool:
            tx.put(memory, key=b"k")
            return tx.get(memory.id).text == "seen" and tx.find_key(b"k") == memory.id and tx.now.tzinfo is not None  # type: ignore[no-any-return]

        assert await store.write(run)

    async def test_a_memory_is_found_under_every_key_that_points_to_it(self, store: CubeStore) -> None:
        first, second = await add_text(store, "a"), await add_text(store, "b")
        await store.write(lambda tx: [tx.point(key, first.id) for key in (b"k1", b"k2")])
        await store.write(lambda tx: tx.point(b"k2", second.id))
        assert await store.write(lambda tx: (tx.find_key(b"k1"), tx.find_key(b"k2"))) == (first.id, second.id)
        (unchanged,) = await store.get([first.id])
        assert unchanged.version == 1

    async def test_a_key_finds_the_memory_that_was_last_put_under_it(self, store: CubeStore) -> None:
        first, second = trace("a"), trace("b")
        await store.write(lambda tx: tx.put(first, key=b"\x00k"))
        assert await store.write(lambda tx: (tx.find_key(b"\x00k"), tx.find_key(b"other"))) == (first.id, None)
        await store.write(lambda tx: tx.put(second, key=b"\x00k"))
        assert await store.write(lambda tx: tx.find_key(b"\x00k")) == second.id

    async def test_touch_counts_arrivals(self, store: CubeStore) -> None:
        memory = await add_text(store, "again")
        assert [await store.write(lambda tx: tx.touch(memory.id)) for _ in range(2)] == [2, 3]
        assert (await store.get([memory.id]))[0].seen == 3
        with pytest.raises(NotFound):
            await store.write(lambda tx: tx.touch(new_id()))

    async def test_a_slot_gives_current_versions_by_status(self, store: CubeStore) -> None:
        a = await derive(store, "lives in Oslo", slot="ann|home", valid_from=day(0))
        b = await supersede(store, a, Memory(new_id(), Kind.FACT, "lives in Rome", slot="ann|home"), day(3))
        await derive(store, "other", slot="bob|home")
        find = lambda *s: store.write(lambda tx: [m.id for m in tx.find_slot("ann|home", *s)])  # noqa: E731
        assert await find() == [b.id]
        assert await find(ANY_STATUS) == [a.id, b.id]
        assert await find([Status.SUPERSEDED]) == [a.id]

    async def test_a_subject_gives_the_memories_of_all_its_slots_of_a_kind(self, store: CubeStore) -> None:
        home = await derive(store, "lives in Oslo", slot="ann|home")
        job = await derive(store, "works as a cook", slot="ann|job")
        for slot in ("ann's brother|home", "anna|home", "an|home"):
            await derive(store, "other", slot=slot)
        find = lambda kind: store.write(lambda tx: [m.id for m in tx.find_about("ann", kind)])  # noqa: E731
        assert await find(home.kind) == [home.id, job.id]
        assert await find(Kind.EVENT) == []

    # -- marks ---------------------------------------------------------------------------------------------------

    async def test_marks_are_kept_once_in_order_and_taken_once(self, store: CubeStore) -> None:
        a, b = await add(store, trace("a"), trace("b"))
        await store.write(lambda tx: [tx.mark(i, "digest") for i in (b.id, a.id, b.id)])
        await store.write(lambda tx: tx.mark(a.id, "other"))
        assert [t.id for t in await store.todo("digest")] == [b.id, a.id]
        assert [t.id for t in await store.todo("digest", 1)] == [b.id]
        await store.write(lambda tx: [tx.fail(b.id, "digest", "no"), tx.fail(b.id, "digest", "still no")])
        failed = (await store.todo("digest"))[0]
        assert (failed.attempts, failed.error) == (2, "still no")
        assert [t.id for t in await store.todo("digest", 1, attempts_below=2)] == [a.id]
        assert await store.write(lambda tx: [tx.unmark(b.id, "digest") for _ in range(2)]) == [True, False]
        assert (await store.stats()).pending == {"digest": 1, "other": 1}

    async def test_work_for_a_memory_that_does_not_exist_is_refused(self, store: CubeStore) -> None:
        with pytest.raises(NotFound):
            await store.write(lambda tx: tx.mark(new_id(), "digest"))
        assert await store.todo("digest") == []

    # -- edges ---------------------------------------------------------------------------------------------------

    async def test_the_same_edge_again_only_raises_its_weight(self, store: CubeStore) -> None:
        a, b = await add(store, trace("a"), trace("b"))
        for weight in (0.4, 0.9, 0.2):
            await link(store, Edge(a.id, b.id, REL, "knows", weight=weight, info={"i": weight}))
        await link(store, Edge(a.id, b.id, REL, "likes"), Edge(b.id, a.id, REL, "knows"))
        edges = [x.edge for x in await store.neighbors([a.id])]
        assert sorted((e.predicate or "", e.src == a.id, e.weight) for e in edges) == [
            ("knows", False, 1.0), ("knows", True, 0.9), ("likes", True, 1.0),
        ]  # fmt: skip

    async def test_an_edge_carries_its_clocks_and_metadata(self, store: CubeStore) -> None:
        a, b = await add(store, trace("a"), trace("b"))
        edge = Edge(a.id, b.id, EdgeType.SUPPORTS, weight=0.5, valid_from=day(1), valid_to=day(2), info={"k": 1})
        await link(store, edge)
        (read,) = [x.edge for x in await store.neighbors([a.id])]
        assert read == replace(edge, known_from=read.known_from)
        assert read.known_from is not None

    async def test_an_unlinked_edge_stays_visible_to_the_past(self, store: CubeStore) -> None:
        a, b = await add(store, trace("a"), trace("b"))
        await link(store, Edge(a.id, b.id, EdgeType.USES))
        then = (await store.neighbors([a.id]))[0].edge.known_from
        assert await store.write(lambda tx: [tx.unlink(a.id, b.id, EdgeType.USES) for _ in range(2)]) == [True, False]
        assert await store.neighbors([a.id]) == []
        assert len(await store.neighbors([a.id], view=View(known_at=then))) == 1
        await link(store, Edge(a.id, b.id, EdgeType.USES))
        assert len(await store.neighbors([a.id])) == 1

    async def test_edges_to_nowhere_and_predicates_out_of_place_are_refused(self, store: CubeStore) -> None:
        a = await add_text(store, "a")
        for edge in (Edge(a.id, new_id(), REL), Edge(new_id(), a.id, REL)):
            with pytest.raises(NotFound):
                await link(store, edge)
        with pytest.raises(InvalidInput):
            await link(store, Edge(a.id, a.id, EdgeType.USES, "predicate"))

    async def test_edges_inside_a_change_by_direction_and_type(self, store: CubeStore) -> None:
        a, b = await add(store, trace("a"), trace("b"))
        await link(store, Edge(a.id, b.id, REL), Edge(b.id, a.id, EdgeType.USES), Edge(a.id, a.id, EdgeType.SUPPORTS))

        def run(tx: Any) -> list[list[str]]:
            asked = (("out", None), ("in", None), ("both", None), ("both", [EdgeType.USES]))
            return [sorted(e.type.value for e in tx.edges(a.id, d, t)) for d, t in asked]

        assert await store.write(run) == [
            ["RELATES_TO", "SUPPORTS"], ["SUPPORTS", "USES"], ["RELATES_TO", "SUPPORTS", "USES"], ["USES"],
        ]  # fmt: skip

    # -- vectors -------------------------------------------------------------------------------------------------

    async def test_pending_vectors_are_current_texts_without_one_of_that_model(self, store: CubeStore) -> None:
        async def pending(model: str) -> list[str]:
            return [p.text.split("\n")[-1] for p in await store.pending_vectors(model)]

        a, b = await add(store, trace("a"), trace("b"))
        await add(store, Memory(new_id(), Kind.ENTITY, "Oslo"))
        assert await pending("m") == ["a", "b"]
        await embed(store, "m", [unit(1, 0)])
        assert await pending("m") == ["b"]
        assert await store.count_pending_vectors("m") == 1
        assert len(await store.pending_vectors("other")) == 2
        await embed(store, "m", [unit(0, 1)])
        await update(store, a, text="new")
        await update(store, b, tags=("t",))
        assert await pending("m") == ["new"]
        assert await store.count_pending_vectors("m") == 1

    async def test_a_raw_record_is_embedded_after_the_one_before_it(self, store: CubeStore) -> None:
        await add(
            store, trace("when?", valid_from=day(2)), trace("in May", valid_from=day(3)), trace("hm", session="t")
        )
        await add_text(store, "hello", valid_from=day(1))
        asked = {p.text for p in await store.pending_vectors("m")}
        assert asked == {"hello", "hello\nwhen?", "when?\nin May", "hm"}

    async def test_a_vector_of_another_length_is_refused(self, store: CubeStore) -> None:
        await add(store, trace("a"), trace("b"))
        await embed(store, "m", [unit(1, 0)])
        with pytest.raises(DimensionMismatch):
            await embed(store, "m", [unit(1, 0, 0)])
        await embed(store, "other", [unit(1, 0, 0)])
        assert (await store.stats()).vectors == {"m": 1, "other": 1}

    async def test_vectors_of_texts_that_are_gone_are_skipped(self, store: CubeStore) -> None:
        a, _ = await add(store, trace("a"), trace("b"))
        pending = await store.pending_vectors("m")
        await store.write(lambda tx: tx.purge([a.id]))
        items = [(p.text_id, unit(1, 0)) for p in pending]
        assert await store.write(lambda tx: tx.put_vectors("m", items)) == 1

    async def test_dropped_vectors_of_a_model_leave_the_others(self, store: CubeStore) -> None:
        await add(store, *(trace(f"t{i}") for i in range(5)))
        await embed(store, "old", [unit(1, i) for i in range(5)])
        await embed(store, "new", [unit(1, i, 1) for i in range(5)])
        assert len(await store.search_vector(unit(1, 0), "old")) == 5
        assert await store.drop_vectors("old") == 5
        assert await store.drop_vectors("old") == 0
        assert (await store.stats()).vectors == {"new": 5}
        assert await store.search_vector(unit(1, 0), "old") == []
        assert len(await store.search_vector(unit(1, 0, 1), "new")) == 5
        assert len(await store.pending_vectors("old")) == 5
        await embed(store, "third", [unit(1, i, 1, 1) for i in range(5)])
        await embed(store, "old", [unit(0, 1)])
        assert len(await store.search_vector(unit(1, 0), "old")) == 1

    # -- undo ----------------------------------------------------------------------------------------------------

    async def test_undo_of_an_add_retracts_and_undo_of_that_brings_it_back(self, store: CubeStore) -> None:
        memory = await add_text(store, "oops")
        (undone,) = await store.write(lambda tx: tx.undo(memory.id))
        assert undone.status is Status.RETRACTED
        assert (await texts(store), await found(store, "oops")) == ([], [])
        await store.write(lambda tx: tx.undo(memory.id))
        assert (await texts(store), await found(store, "oops")) == (["oops"], ["oops"])
        assert [v.op for v in await store.history(memory.id)] == ["add", "undo", "undo"]

    async def test_undo_of_an_update_brings_text_tags_and_search_back(self, store: CubeStore) -> None:
        memory = await add_text(store, "likes tea", tags=("x",))
        await update(store, memory, text="likes coffee", tags=("y",))
        (undone,) = await store.write(lambda tx: tx.undo(memory.id))
        assert (undone.text, undone.tags, undone.version) == ("likes tea", ("x",), 3)
        assert (await found(store, "tea"), await found(store, "coffee")) == (["likes tea"], [])

    async def test_undo_reverts_everything_the_change_did(self, store: CubeStore) -> None:
        old = await derive(store, "lives in Oslo", valid_from=day(0))
        other = await add_text(store, "other")
        await link(store, Edge(old.id, other.id, EdgeType.USES))
        fresh = Memory(new_id(), Kind.FACT, "lives in Rome", valid_from=day(1))

        def change(tx: Any) -> None:
            tx.put(fresh)
            tx.put(replace(tx.get(old.id), status=Status.SUPERSEDED, valid_to=day(1)))
            tx.link(Edge(fresh.id, old.id, EdgeType.SUPERSEDES))
            tx.unlink(old.id, other.id, EdgeType.USES)

        await store.write(change)
        undone = await store.write(lambda tx: tx.undo(old.id))
        assert {(m.text, m.status) for m in undone} == {
            ("lives in Oslo", Status.ACTIVE), ("lives in Rome", Status.RETRACTED),
        }  # fmt: skip
        edges = [(x.edge.src, x.edge.type) for x in await store.neighbors([old.id])]
        assert edges == [(old.id, EdgeType.USES)]
        assert [m.valid_to for m in await store.get([old.id])] == [None]

    async def test_undo_is_a_conflict_when_part_of_the_change_was_changed_again(self, store: CubeStore) -> None:
        a, b = await add(store, trace("a"), trace("b"))
        await update(store, b, text="b2")
        with pytest.raises(Conflict):
            await store.write(lambda tx: tx.undo(a.id))
        assert await texts(store) == ["a", "b2"]
        with pytest.raises(NotFound):
            await store.write(lambda tx: tx.undo(new_id()))

    async def test_changes_with_one_id_are_one_change(self, store: CubeStore) -> None:
        both, a, b = Change(id=new_id()), trace("a"), trace("b")
        await store.write(lambda tx: tx.put(a), both)
        await store.write(lambda tx: tx.put(b), both)
        assert len(await store.write(lambda tx: tx.undo(a.id))) == 2
        assert await texts(store) == []
