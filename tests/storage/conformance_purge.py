"""What every home must do with hard deletion: everything of it goes, what rests on something else stays (laws 1 and
2).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from making import (
    EVERYTHING,
    add,
    add_text,
    day,
    derive,
    embed,
    fact,
    found,
    link,
    supersede,
    texts,
    trace,
    unit,
    update,
)

from memos.memory.ids import new_id
from memos.memory.model import Edge, EdgeType, Kind, Memory, Source, Status
from memos.storage.ports import CubeStore, Purged, View

MENTIONS = EdgeType.MENTIONS


async def purge(store: CubeStore, *memories: Memory) -> Purged:
    """Hard-delete."""
    return await store.write(lambda tx: tx.purge([m.id for m in memories]))


class Purges:
    """Subclasses give a fixture `store`: an empty cube."""

    async def test_everything_of_a_memory_goes_and_is_counted(self, store: CubeStore) -> None:
        memory = trace("secret words")
        other = await add_text(store, "shared words")
        await store.write(lambda tx: [tx.put(memory, key=b"k"), tx.mark(memory.id, "digest")])
        await embed(store, "m", [unit(1, 0), unit(0, 1)])
        await update(store, (await store.get([memory.id]))[0], text="secret plans")
        await link(store, Edge(memory.id, other.id, EdgeType.USES), Edge(other.id, memory.id, EdgeType.USES))
        report = await purge(store, memory)
        assert (report.memories, report.cascaded, report.versions, report.edges, report.vectors) == (1, 0, 2, 2, 1)
        assert report.ids == (memory.id,)
        assert report.terms >= 2
        assert await texts(store, EVERYTHING) == ["shared words"]
        assert (await found(store, "secret"), await found(store, "words")) == ([], ["shared words"])
        assert await store.write(lambda tx: tx.find_key(b"k")) is None
        assert (await store.todo("digest"), await store.neighbors([other.id])) == ([], [])
        stats = await store.stats()
        assert (stats.versions, stats.edges, stats.vectors) == (1, 0, {"m": 1})

    async def test_what_was_embedded_with_a_deleted_record_is_embedded_again(self, store: CubeStore) -> None:
        one, two, _ = await add(store, *(trace(t, valid_from=day(n)) for n, t in enumerate(("one", "two", "three"))))
        await embed(store, "m", [unit(1, n) for n in range(3)])
        await add_text(store, "late", valid_from=day(0))
        await embed(store, "m", [unit(1, 5)])
        assert await store.pending_vectors("m") == []
        assert len(await store.search_vector(unit(1, 0), "m")) == 4
        report = await purge(store, one)
        assert report.vectors == 3  # its own, that of "two", and that of "late", which came between later
        assert {p.text for p in await store.pending_vectors("m")} == {"late", "late\ntwo"}
        assert two.id not in {h.id for h in await store.search_vector(unit(1, 0), "m")}
        await embed(store, "m", [unit(0, 1), unit(0, 1)])
        assert len(await store.search_vector(unit(1, 0), "m")) == 3

    async def test_unknown_ids_are_ignored_and_counted_as_nothing(self, store: CubeStore) -> None:
        assert await store.write(lambda tx: tx.purge([new_id()])) == Purged()

    async def test_what_rests_on_nothing_else_goes_at_any_depth(self, store: CubeStore) -> None:
        said = await add_text(store, "said")
        other = await add_text(store, "other")
        one = await derive(store, "from one", said)
        both = await derive(store, "from both", said, other)
        await derive(store, "from the fact", one)
        await derive(store, "from facts", one, both)
        await derive(store, "from the user")
        part = await add_text(store, "a chunk", kind=Kind.CHUNK)
        await link(store, Edge(part.id, said.id, EdgeType.PART_OF))
        report = await purge(store, said)
        assert await texts(store) == ["from both", "from facts", "from the user", "other"]
        assert report.cascaded == 3
        (kept,) = await store.get([both.id])
        assert [s.memory_id for s in kept.sources] == [other.id]

    async def test_a_lost_source_is_lost_in_every_version(self, store: CubeStore) -> None:
        said, other = await add(store, trace("said", speaker="Sibyl"), trace("other"))
        kept = await derive(store, "fact", said, other)
        await update(store, kept, confidence=0.5)
        await purge(store, said)
        for version in await store.history(kept.id):
            assert [s.memory_id for s in version.memory.sources] == [other.id]

    async def test_what_was_derived_from_an_edited_text_goes_too(self, store: CubeStore) -> None:
        said = await add_text(store, "I live in Oslo")
        was = await derive(store, "lives in Oslo", said)
        entity = (await add(store, Memory(new_id(), Kind.ENTITY, "Oslo")))[0]
        await link(store, Edge(said.id, entity.id, MENTIONS))

        def edit(tx: Any) -> None:
            tx.unlink(was.id, said.id, EdgeType.DERIVED_FROM)
            tx.unlink(said.id, entity.id, MENTIONS)
            tx.put(replace(was, status=Status.RETRACTED))
            tx.put(replace(said, text="I live in Rome"))

        await store.write(edit)
        await purge(store, said)
        assert await texts(store, EVERYTHING) == []

    async def test_entities_mentioned_nowhere_else_go(self, store: CubeStore) -> None:
        a, b = await add(store, trace("a"), trace("b"))
        shared, lone = await add(store, Memory(new_id(), Kind.ENTITY, "Ann"), Memory(new_id(), Kind.ENTITY, "Bob"))
        await link(
            store, Edge(a.id, shared.id, MENTIONS), Edge(b.id, shared.id, MENTIONS), Edge(a.id, lone.id, MENTIONS)
        )
        await purge(store, a)
        assert await texts(store) == ["Ann", "b"]
        await purge(store, b)
        assert await texts(store) == []

    async def test_superseded_facts_come_back(self, store: CubeStore) -> None:
        said = await add_text(store, "moved")
        old = await derive(store, "lives in Oslo", valid_from=day(0))
        new = await supersede(store, old, Memory(new_id(), Kind.FACT, "lives in Rome"), day(3))
        await link(store, Edge(new.id, said.id, EdgeType.DERIVED_FROM))
        report = await purge(store, said)
        assert report.restored == (old.id,)
        assert await texts(store) == ["lives in Oslo"]
        assert (await store.get([old.id]))[0].valid_to is None

    async def test_the_middle_of_a_chain_does_not_bring_the_first_back(self, store: CubeStore) -> None:
        for fields in ({}, {"slot": "ann|home", "body": {"single": True}}):
            a = await derive(store, "Oslo", valid_from=day(0), **fields)
            b = await supersede(store, a, Memory(new_id(), Kind.FACT, "Rome", **fields), day(3))
            c = await supersede(store, b, Memory(new_id(), Kind.FACT, "Kyiv", **fields), day(6))
            assert (await purge(store, b)).restored == ()
            assert await texts(store) == ["Kyiv"]
            (was,) = await store.get([a.id], EVERYTHING)
            assert (was.status, was.valid_to) == (Status.SUPERSEDED, day(6))
            assert (await purge(store, c)).restored == (a.id,)
            await purge(store, a)

    async def test_a_whole_chain_goes_without_restoring_any_of_it(self, store: CubeStore) -> None:
        a = await derive(store, "Oslo", valid_from=day(0))
        b = await supersede(store, a, Memory(new_id(), Kind.FACT, "Rome"), day(3))
        c = await supersede(store, b, Memory(new_id(), Kind.FACT, "Kyiv"), day(6))
        assert (await purge(store, b, c)).restored == (a.id,)
        assert await texts(store) == ["Oslo"]

    async def test_an_ended_fact_comes_back_unless_its_slot_was_filled_since(self, store: CubeStore) -> None:
        fields: dict[str, Any] = {"slot": "ann|home", "body": {"single": True}}
        a = await derive(store, "Oslo", valid_from=day(0), **fields)
        left = await add_text(store, "left Oslo", valid_from=day(3))

        def end(tx: Any) -> None:
            tx.put(replace(a, status=Status.SUPERSEDED, valid_to=day(3)))
            tx.link(Edge(left.id, a.id, EdgeType.SUPERSEDES))

        await store.write(end)
        b = await derive(store, "Rome", valid_from=day(6), **fields)
        await purge(store, left)
        assert await texts(store) == ["Rome"]
        await purge(store, b)
        assert await texts(store) == ["Oslo"]

    async def test_a_number_is_never_used_again(self, store: CubeStore) -> None:
        await add_text(store, "first")
        newest = await add_text(store, "newest secret")
        await embed(store, "m", [unit(1, 0), unit(0, 1)])
        assert len(await store.search_vector(unit(0, 1), "m")) == 2
        pending = await store.pending_vectors("other")
        await purge(store, newest)
        again = await add_text(store, "again")
        assert [h.id for h in await store.search_vector(unit(0, 1), "m")] != [again.id]
        items = [(p.text_id, unit(1, 0)) for p in pending]
        assert await store.write(lambda tx: tx.put_vectors("other", items)) == 1
        assert (await found(store, "secret"), await found(store, "again")) == ([], ["again"])

    async def test_a_purged_memory_may_come_back_as_a_new_one(self, store: CubeStore) -> None:
        memory = trace("tea")
        await store.write(lambda tx: tx.put(memory, key=b"k"))
        await purge(store, memory)
        stored = await store.write(lambda tx: tx.put(memory, key=b"k"))
        assert (stored.version, await found(store, "tea")) == (1, ["tea"])
        assert await store.write(lambda tx: tx.find_key(b"k")) == memory.id

    async def test_sources_that_name_no_memory_stay(self, store: CubeStore) -> None:
        said, other = await add(store, trace("said"), trace("other"))
        kept = await derive(store, "fact", said, other)
        kept = await update(store, kept, sources=(*kept.sources, Source(uri="file:notes")))
        await purge(store, said)
        assert [s.uri for s in (await store.get([kept.id]))[0].sources] == [None, "file:notes"]

    async def test_a_fact_that_stays_forgets_what_only_the_deleted_evidence_told(self, store: CubeStore) -> None:
        gone, other = await add(
            store, trace("said", session="secret", valid_from=day(0)), trace("again", session="open", valid_from=day(5))
        )
        first = Source(memory_id=gone.id, time=day(0))
        kept = fact("Oslo", session="secret", valid_from=day(0), sources=(first,))
        await add(store, kept)
        await link(store, Edge(kept.id, gone.id, EdgeType.DERIVED_FROM, weight=0.9))
        both = (first, Source(memory_id=other.id, time=day(5)))
        await update(store, (await store.get([kept.id]))[0], sources=both, seen=2)
        await link(store, Edge(kept.id, other.id, EdgeType.DERIVED_FROM, weight=0.6))
        await embed(store, "m", [unit(1, 0), unit(0, 1), unit(1, 1)])
        assert (await store.history(kept.id))[0].memory.session == "secret"
        await purge(store, gone)
        history = [v.memory for v in await store.history(kept.id)]
        assert [m.version for m in history] == [2, 3]  # the first rested on nothing else
        for m in history:
            assert (m.session, m.seen, m.valid_from, m.confidence) == ("open", 1, day(5), 0.6)
            assert [s.memory_id for s in m.sources] == [other.id]
        assert await found(store, "Oslo") == ["Oslo"]
        assert kept.id in {h.id for h in await store.search_vector(unit(1, 1), "m")}
        assert await found(store, "Oslo", View(known_at=history[0].known_from)) == ["Oslo"]

    async def test_a_former_text_that_only_the_deleted_evidence_gave_goes(self, store: CubeStore) -> None:
        gone, other = await add(store, trace("said"), trace("again"))
        kept = await derive(store, "zanzibar", gone)
        sources = (*kept.sources, Source(memory_id=other.id))
        await update(store, kept, text="an island", sources=sources)
        await link(store, Edge(kept.id, other.id, EdgeType.DERIVED_FROM))
        report = await purge(store, gone)
        assert report.terms >= 1
        assert [v.memory.text for v in await store.history(kept.id)] == ["an island", "an island"]
        assert await found(store, "zanzibar", EVERYTHING) == []
        assert await found(store, "island") == ["an island"]
