"""What every home must do with searches: words without syntax, vectors like brute force, pools, and what others
wrote.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from making import add, add_text, day, derive, embed, found, texts, trace, unit, update

from memos.errors import DimensionMismatch
from memos.memory.filter import parse_filter
from memos.memory.ids import new_id
from memos.memory.model import Kind, Memory, Status
from memos.storage.ports import CubeStore, Pool, Probe, TextQuery, View, Wanted
from memos.text.document import index_terms


async def pool_texts(store: CubeStore, pool: Pool, column: str = "lexical") -> list[str]:
    """Texts of a pool, best of a column first, those at 0 left out."""
    values = pool.columns[column]
    memories = await store.fetch(pool.rows.tolist())
    order = [i for i in np.argsort(-values, kind="stable") if values[i] > 0]
    return [memories[int(pool.rows[i])].text for i in order]


class Searches:
    """Subclasses give a fixture `store`: an empty cube."""

    async def test_words_find_the_texts_that_hold_them_best_first(self, store: CubeStore) -> None:
        await add(store, trace("the red fox"), trace("red red wine"), trace("blue fox in a red hat with long words"))
        assert (await found(store, "fox"))[0] == "the red fox"
        assert (await found(store, "red fox"))[0] == "the red fox"
        assert await found(store, "green") == []
        assert len(await found(store, "red", limit=2)) == 2

    async def test_title_speaker_and_date_are_found_too(self, store: CubeStore) -> None:
        await add_text(store, "see you", title="harbour", speaker="Melanie", valid_from=day(40))
        for words in ("harbour", "Melanie", "February 2030"):
            assert await found(store, words) == ["see you"], words

    async def test_a_record_moved_to_another_date_is_found_by_the_new_one(self, store: CubeStore) -> None:
        memory = await add_text(store, "see you", valid_from=day(40))
        await update(store, memory, valid_from=day(190))
        assert (await found(store, "February"), await found(store, "July")) == ([], ["see you"])

    @pytest.mark.parametrize(
        "words",
        ['"', '""', "*", "NEAR(", "NEAR(a b)", "OR", "AND NOT", "-", "-zebra", "zebra*", "^zebra", "{", "a:b", "terms:zebra",
         "\x00", "zebra\x00*", "'; DROP TABLE memories; --", "(", ")", "+", "\\", "%", "\ud800", "😀", " ", "zebra " * 300,
         " ".join("word" + "".join(chr(97 + int(d)) for d in str(i)) for i in range(3_000))],
    )  # fmt: skip
    async def test_no_user_text_is_syntax(self, store: CubeStore, words: str) -> None:
        await add(store, trace("zebra crossing"), trace("plain"))
        hits = await found(store, words)
        assert hits == (["zebra crossing"] if "zebra" in words else []), words[:80]
        raw = tuple(t for t in (words, f'"{words}"', "NEAR(", "1", "*") if t)
        assert await store.search_text(TextQuery(raw)) == []
        await store.frequencies(raw)
        await store.gather(Probe(dict.fromkeys(raw, 1.0)))
        assert await texts(store) == ["plain", "zebra crossing"]

    async def test_text_search_obeys_filters_and_views(self, store: CubeStore) -> None:
        await add(store, trace("tea in oslo", tags=("x",)), trace("tea in rome"), trace("tea", status=Status.ARCHIVED))
        query = TextQuery(index_terms("tea"))
        tagged = await store.search_text(query, where=parse_filter({"tags": "x"}))
        assert len(tagged) == 1
        assert len(await store.search_text(query)) == 2
        assert len(await store.search_text(query, view=View(statuses=frozenset(Status)))) == 3

    async def test_frequencies_and_speakers_count(self, store: CubeStore) -> None:
        await add(store, trace("tea", speaker="Ann"), trace("tea time", speaker="Ann"), trace("milk", speaker="Bob"))
        total, counts = await store.frequencies(["tea", "milk", "none"])
        assert (total, counts) == (3, {"tea": 2, "milk": 1})
        outline = await store.outline()
        assert outline.speakers == {"Ann": 2, "Bob": 1}
        assert outline.first is not None
        assert outline.last is not None
        assert outline.first <= outline.last

    # -- vectors -------------------------------------------------------------------------------------------------

    async def test_vector_search_is_brute_force(self, store: CubeStore) -> None:
        rng = np.random.default_rng(7)
        vectors = [unit(*v) for v in rng.normal(size=(200, 24))]
        made = await add(store, *(trace(f"{i}", importance=float(i % 2)) for i in range(200)))
        await embed(store, "m", vectors)
        stored = np.asarray(vectors, np.float16).astype(np.float32)
        for query in (unit(*rng.normal(size=24)) for _ in range(5)):
            scores = stored @ query
            best = np.argsort(-scores)[:10]
            hits = await store.search_vector(query, "m", limit=10)
            assert [h.id for h in hits] == [made[i].id for i in best]
            np.testing.assert_allclose([h.score for h in hits], scores[best], atol=1e-5)
            odd = await store.search_vector(query, "m", limit=5, where=parse_filter({"importance": 1}))
            assert [h.id for h in odd] == [made[i].id for i in np.argsort(-scores) if i % 2][:5]

    async def test_models_of_several_lengths_live_side_by_side(self, store: CubeStore) -> None:
        a, b = await add(store, trace("a"), trace("b"))
        await embed(store, "two", [unit(1, 0), unit(0, 1)])
        await embed(store, "three", [unit(0, 1, 0), unit(1, 0, 0)])
        assert (await store.search_vector(unit(1, 0), "two"))[0].id == a.id
        assert (await store.search_vector(unit(1, 0, 0), "three"))[0].id == b.id
        assert await store.search_vector(unit(1, 0), "unknown") == []
        with pytest.raises(DimensionMismatch):
            await store.search_vector(unit(1, 0), "three")
        with pytest.raises(DimensionMismatch):
            await store.gather(Probe({}, vector=unit(1, 0), model="three"))

    async def test_vectors_are_kept_to_half_precision(self, store: CubeStore) -> None:
        await add_text(store, "a")
        vector = unit(*np.linspace(-1, 1, 64))
        await embed(store, "m", [vector])
        (hit,) = await store.search_vector(vector, "m")
        assert hit.score == pytest.approx(1.0, abs=2e-3)

    async def test_vectors_follow_updates_retractions_and_purges(self, store: CubeStore) -> None:
        a, b, c = await add(store, trace("a"), trace("b"), trace("c"))
        await embed(store, "m", [unit(1, 0), unit(1, 0.1), unit(1, 0.2)])
        assert len(await store.search_vector(unit(1, 0), "m")) == 3
        await update(store, a, text="a2")
        await update(store, b, status=Status.RETRACTED)
        assert [h.id for h in await store.search_vector(unit(1, 0), "m")] == [c.id]
        then = await store.search_vector(unit(1, 0), "m", view=View(known_at=c.known_from))
        assert [h.id for h in then] == [a.id, b.id, c.id]
        await store.write(lambda tx: tx.purge([c.id]))
        assert await store.search_vector(unit(1, 0), "m") == []

    # -- pools ---------------------------------------------------------------------------------------------------

    async def test_a_pool_holds_what_the_question_is_about(self, store: CubeStore) -> None:
        await add(
            store,
            trace("tea in oslo", speaker="Ann", valid_from=day(1)),
            trace("nothing", session="t", valid_from=day(9)),
        )
        probe = Probe({"tea": 1.0}, speakers={"Ann": 1.0}, spans=(Wanted(day(0), day(2)),))
        pool = await store.gather(probe)
        assert await pool_texts(store, pool) == ["tea in oslo"]
        assert await pool_texts(store, pool, "speaker") == ["tea in oslo"]
        assert (await pool_texts(store, pool, "date"))[0] == "tea in oslo"
        assert {len(c) for c in pool.columns.values()} == {len(pool.rows)}
        assert pool.full_match > 0

    async def test_an_empty_cube_gives_an_empty_pool(self, store: CubeStore) -> None:
        pool = await store.gather(Probe({"tea": 1.0}, vector=unit(1, 0), model="m"))
        assert (len(pool.rows), pool.documents) == (0, 0)
        assert await store.fetch([]) == {}

    async def test_a_pool_obeys_filters_views_and_both_clocks(self, store: CubeStore) -> None:
        tea = await add_text(store, "tea at five", tags=("x",), session="a")
        await add_text(store, "tea at six", session="b")
        await update(store, tea, text="coffee at five")

        async def gathered(words: str, **how: Any) -> list[str]:
            return await pool_texts(store, await store.gather(Probe(dict.fromkeys(index_terms(words), 1.0)), **how))

        then = View(known_at=tea.known_from)
        assert await gathered("tea") == ["tea at six"]
        assert await gathered("tea", where=parse_filter({"tags": "x"})) == []
        assert await gathered("coffee", where=parse_filter({"tags": "x"})) == ["coffee at five"]
        assert await gathered("tea", view=then) == ["tea at five"]
        assert await gathered("coffee", view=then) == []

    async def test_a_pool_of_the_past_gives_memories_as_they_were(self, store: CubeStore) -> None:
        tea = await derive(store, "likes tea")
        await update(store, tea, status=Status.SUPERSEDED, tags=("changed",))
        pool = await store.gather(Probe({"tea": 1.0}), view=View(known_at=tea.known_from))
        (then,) = (await store.fetch(pool.rows.tolist())).values()
        assert (then.status, then.tags) == (Status.ACTIVE, ())

    async def test_a_filter_on_arrivals_sees_a_new_arrival(self, store: CubeStore) -> None:
        tea = await add_text(store, "tea")
        wanted = parse_filter({"seen": {"gte": 2}})
        assert len((await store.gather(Probe({"tea": 1.0}), where=wanted)).rows) == 0
        await store.write(lambda tx: tx.touch(tea.id))
        assert len((await store.gather(Probe({"tea": 1.0}), where=wanted)).rows) == 1

    async def test_memories_deleted_after_gathering_are_left_out(self, store: CubeStore) -> None:
        a, _ = await add(store, trace("tea one"), trace("tea two"))
        pool = await store.gather(Probe({"tea": 1.0}))
        await store.write(lambda tx: tx.purge([a.id]))
        assert [m.text for m in (await store.fetch(pool.rows.tolist())).values()] == ["tea two"]

    async def test_a_forced_memory_is_in_the_pool(self, store: CubeStore) -> None:
        await add(store, *(trace(f"tea {i}") for i in range(20)))
        odd = await add_text(store, "unrelated", kind=Kind.DOCUMENT)
        pool = await store.gather(Probe({"tea": 1.0}, text_pool=5, force=(odd.id, new_id())))
        assert "unrelated" in {m.text for m in (await store.fetch(pool.rows.tolist())).values()}

    async def test_facts_are_marked_as_derived_and_entities_come_only_when_asked_for(self, store: CubeStore) -> None:
        said = await add_text(store, "tea please")
        await derive(store, "likes tea", said)
        await add(store, Memory(new_id(), Kind.ENTITY, "tea house"))
        found = []
        for where in (None, parse_filter({"kind": "entity"})):
            pool = await store.gather(Probe({"tea": 1.0}), where=where)
            memories = await store.fetch(pool.rows.tolist())
            found.append({memories[int(n)].text: bool(d) for n, d in zip(pool.rows, pool.derived, strict=True)})
        assert found == [{"tea please": False, "likes tea": True}, {"tea house": True}]
