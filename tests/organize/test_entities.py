"""Entities under several names: aliases told and given, merging two, and taking that back exactly."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memos import AsyncMemOS
from memos.errors import Conflict, InvalidInput, NotFound
from memos.memory.entity import Entity
from memos.memory.model import EdgeType, Kind
from memos.storage.ports import RELATION_EVIDENCE

Links = set[tuple[str, str, str, str]]


@pytest.fixture
async def memos(tmp_path: Path) -> AsyncIterator[AsyncMemOS]:
    async with AsyncMemOS(tmp_path, embedder="none", background=False) as system:
        yield system


async def say(memos: AsyncMemOS, *texts: str, by: str | None = None, role: str = "user") -> list[str]:
    ids = []
    for text in texts:
        message = {"role": role, "content": text} | ({"name": by} if by else {})
        ids += (await memos.add([message], user="team", wait=True)).ids
    return ids


async def entity(memos: AsyncMemOS, name: str) -> Entity:
    (found,) = await memos.resolve_entity(name, user="team")
    return found


async def mentions(memos: AsyncMemOS, id: str) -> set[str]:
    links = await memos.neighbors(id, types=[EdgeType.MENTIONS], direction="in", user="team")
    return {link.edge.src for link in links}


async def whole(memos: AsyncMemOS, *ids: str) -> list[tuple[object, ...]]:
    """Everything about the edges of some entities that can be seen."""
    links = await memos.neighbors(ids[0], user="team")
    for id in ids[1:]:
        links += await memos.neighbors(id, user="team")
    return sorted(
        (e.src, e.dst, e.type, e.predicate or "", e.weight, e.valid_from, sorted(e.info.items(), key=str))
        for e in (link.edge for link in links)
    )


async def test_merging_moves_mentions_and_names_and_keeps_the_node(memos: AsyncMemOS) -> None:
    first, second = await say(memos, "We met Robert Chen in Oslo.", "Then Bob Miller called us.")
    kept, other = await entity(memos, "Robert Chen"), await entity(memos, "Bob Miller")
    done = await memos.merge_entities("Robert Chen", "Bob Miller", user="team")
    assert (done.kept.id, done.kept.aliases, done.edges) == (kept.id, ("Bob Miller",), 1)
    assert await mentions(memos, kept.id) == {first, second}
    assert await mentions(memos, other.id) == set()
    node = await memos.get(other.id, user="team")
    assert (node.status, node.body["merged_into"]) == ("superseded", kept.id)
    assert (await entity(memos, "bob miller")).id == kept.id
    assert [v.op for v in await memos.history(other.id, user="team")][-1] == "merge"


async def test_unmerging_restores_exactly(memos: AsyncMemOS) -> None:
    await say(
        memos, "We met Robert Chen in Oslo.", "Then Bob Miller and Robert Chen called us.", "Bob Miller was late."
    )
    kept, other = await entity(memos, "Robert Chen"), await entity(memos, "Bob Miller")
    before = await whole(memos, kept.id, other.id)
    await memos.merge_entities(kept.id, other.id, user="team")
    assert await whole(memos, kept.id, other.id) != before
    done = await memos.unmerge(other.id, user="team")
    assert (done.edges, done.followed, done.stayed) == (2, 0, 0)
    assert await whole(memos, kept.id, other.id) == before
    assert (await entity(memos, "Robert Chen"), await entity(memos, "Bob Miller")) == (kept, other)


async def test_what_was_said_since_stays_unless_it_names_the_other_exactly(memos: AsyncMemOS) -> None:
    old_kept, old_other = await say(memos, "We met Robert Chen in Oslo.", "Then Bob Miller called us.")
    kept, other = await entity(memos, "Robert Chen"), await entity(memos, "Bob Miller")
    await memos.merge_entities(kept.id, other.id, user="team")
    by_name, by_other = await say(memos, "Robert Chen moved to Bergen.", "I saw Bob Miller at noon.")
    assert await mentions(memos, kept.id) == {old_kept, old_other, by_name, by_other}
    done = await memos.unmerge("Bob Miller", user="team")
    assert (done.edges, done.followed, done.stayed) == (1, 1, 1)
    assert await mentions(memos, kept.id) == {old_kept, by_name}
    assert await mentions(memos, other.id) == {old_other, by_other}
    (later,) = await say(memos, "Bob Miller sends his regards.")
    assert later in await mentions(memos, other.id)


async def test_undoing_a_merge_restores_as_well(memos: AsyncMemOS) -> None:
    await say(memos, "We met Robert Chen in Oslo.", "Then Bob Miller called us.")
    kept, other = await entity(memos, "Robert Chen"), await entity(memos, "Bob Miller")
    before = await whole(memos, kept.id, other.id)
    await memos.merge_entities(kept.id, other.id, user="team")
    await memos.undo(other.id, user="team")
    assert await whole(memos, kept.id, other.id) == before
    (later,) = await say(memos, "Bob Miller sends his regards.")
    assert later in await mentions(memos, other.id)


async def test_merges_of_merges_come_apart_in_their_order(memos: AsyncMemOS) -> None:
    await say(memos, "We met Robert Chen.", "Bob Miller called us.", "Rob Jones and Robert Chen and Bob Miller met.")
    rob, robert, bob = [await entity(memos, n) for n in ("Rob Jones", "Robert Chen", "Bob Miller")]
    before = await whole(memos, rob.id, robert.id, bob.id)
    await memos.merge_entities(robert.id, bob.id, user="team")
    middle = await whole(memos, rob.id, robert.id, bob.id)
    done = await memos.merge_entities(rob.id, robert.id, user="team")
    assert set(done.kept.aliases) == {"Robert Chen", "Bob Miller"}
    with pytest.raises(Conflict, match="unmerge that first"):
        await memos.unmerge(bob.id, user="team")
    await memos.unmerge(robert.id, user="team")
    assert await whole(memos, rob.id, robert.id, bob.id) == middle
    assert (await entity(memos, "Bob Miller")).id == robert.id
    await memos.unmerge(bob.id, user="team")
    assert await whole(memos, rob.id, robert.id, bob.id) == before


async def test_two_merged_into_one_come_apart_in_any_order(memos: AsyncMemOS) -> None:
    await say(memos, "We met Robert Chen.", "Bob Miller called us.", "Rob Jones and Robert Chen and Bob Miller met.")
    robert, bob, rob = [await entity(memos, n) for n in ("Robert Chen", "Bob Miller", "Rob Jones")]
    before = await whole(memos, rob.id, robert.id, bob.id)
    await memos.merge_entities(robert.id, bob.id, user="team")
    await memos.merge_entities(robert.id, rob.id, user="team")
    await memos.unmerge(bob.id, user="team")
    assert (await entity(memos, "Rob Jones")).id == robert.id
    await memos.unmerge(rob.id, user="team")
    assert await whole(memos, rob.id, robert.id, bob.id) == before


async def test_what_cannot_be_merged_is_refused_and_nothing_changes(memos: AsyncMemOS) -> None:
    await say(memos, "We met Robert Chen in Oslo.", "Then Bob Miller called us.")
    kept, other = await entity(memos, "Robert Chen"), await entity(memos, "Bob Miller")
    record = (await memos.list(kinds=["trace"], user="team")).items[0]
    with pytest.raises(InvalidInput, match="itself"):
        await memos.merge_entities(kept.id, kept.id, user="team")
    with pytest.raises(NotFound):
        await memos.merge_entities(kept.id, record.id, user="team")
    with pytest.raises(NotFound, match="no entity is called"):
        await memos.merge_entities(kept.id, "Nobody Known", user="team")
    with pytest.raises(InvalidInput, match="not merged"):
        await memos.unmerge(other.id, user="team")
    await memos.merge_entities(kept.id, other.id, user="team")
    with pytest.raises(Conflict, match="merged into"):
        await memos.merge_entities(other.id, kept.id, user="team")


async def test_relations_move_with_their_evidence_and_back(memos: AsyncMemOS) -> None:
    from memos.memory.statement import Mention, Relation
    from memos.organize.reconcile import Outcome
    from memos.organize.relate import relate
    from memos.storage.ports import Change

    a, b, c = await say(memos, "Robert Chen knows Acme Corp.", "Bob Miller knows Acme Corp.", "Robert Chen again.")
    kept, other = await entity(memos, "Robert Chen"), await entity(memos, "Bob Miller")
    acme = await entity(memos, "Acme Corp")

    async def told(record: str, name: str) -> None:
        trace = await memos.get(record, user="team")
        relation = Relation(Mention(name, "person"), "works for", Mention("Acme Corp", acme.type))
        async with memos._cube("team", None, "write") as (_, store):
            await store.write(lambda tx: relate(tx, trace, relation, Outcome()), Change())

    async def evidence(id: str) -> list[str]:
        links = await memos.neighbors(id, types=[EdgeType.RELATES_TO], direction="out", user="team")
        return [e for link in links for e in link.edge.info[RELATION_EVIDENCE]]

    await told(a, "Robert Chen")
    await told(b, "Bob Miller")
    before = await whole(memos, kept.id, other.id)
    await memos.merge_entities(kept.id, other.id, user="team")
    assert await evidence(kept.id) == [a, b]
    await memos.unmerge(other.id, user="team")
    assert await whole(memos, kept.id, other.id) == before
    await memos.merge_entities(kept.id, other.id, user="team")
    await told(c, "Robert Chen")
    assert await evidence(kept.id) == [a, b, c]
    await memos.unmerge(other.id, user="team")
    assert (await evidence(kept.id), await evidence(other.id)) == ([a, c], [b])


async def test_an_alias_is_a_name_like_any_other_until_it_is_taken_away(memos: AsyncMemOS) -> None:
    await say(memos, "We met Robert Chen in Oslo.", "Anna Berg was there.")
    kept = await memos.add_alias("Robert Chen", "Bobby", user="team")
    assert kept.aliases == ("Bobby",)
    (said,) = await say(memos, "I met Bobby yesterday.")
    assert said in await mentions(memos, kept.id)
    with pytest.raises(Conflict, match="another entity"):
        await memos.add_alias("Anna Berg", "bobby", user="team")
    assert (await memos.remove_alias(kept.id, "Bobby", user="team")).aliases == ()
    assert await memos.resolve_entity("Bobby", user="team") == []
    with pytest.raises(NotFound):
        await memos.remove_alias(kept.id, "Bobby", user="team")


@pytest.mark.parametrize(
    ("texts", "name", "alias"),
    [
        (("My name is Robert Chen, or Bob for short.",), "Robert Chen", "Bob"),
        (("My name is Robert Chen.", "Please call me Bob."), "Robert Chen", "Bob"),
        (("My name is Robert Chen.", "Everyone calls me Bobby."), "Robert Chen", "Bobby"),
        (("我叫王伟。", "从现在起叫我小王"), "王伟", "小王"),
        (("我叫王伟。", "大家都叫我阿强。"), "王伟", "阿强"),
    ],
)
async def test_a_name_that_is_told_is_an_alias(
    memos: AsyncMemOS, texts: tuple[str, ...], name: str, alias: str
) -> None:
    await say(memos, *texts)
    found = await entity(memos, alias)
    assert (found.name, found.aliases, found.subject) == (name, (alias,), "team")


async def test_names_told_of_others_are_aliases_too(memos: AsyncMemOS) -> None:
    await say(memos, "Robert Chen, also known as Bob, works with me.")
    assert (await entity(memos, "Bob")).name == "Robert Chen"


async def test_somebody_else_of_that_name_is_not_made_one_with_the_speaker(memos: AsyncMemOS) -> None:
    (earlier,) = await say(memos, "Bob Miller and Bob called.")
    bob = await entity(memos, "Bob")
    await say(memos, "My name is Robert Chen.", "Please call me Bob.")
    assert (await entity(memos, "Bob")).id == bob.id and (await entity(memos, "Robert Chen")).aliases == ()
    assert earlier in await mentions(memos, bob.id)


async def test_new_statements_of_an_alias_are_filed_under_the_one_subject(memos: AsyncMemOS) -> None:
    from datetime import UTC, datetime

    from memos.memory.ids import new_id
    from memos.memory.model import Memory
    from memos.memory.statement import Statement
    from memos.organize.reconcile import Outcome, reconcile
    from memos.reading.traces import source_of

    await say(memos, "We met Robert Chen.")
    await memos.add_alias("Robert Chen", "Bob", user="team")

    async def told(subject: str, value: str, month: int) -> None:
        trace = Memory(
            new_id(), Kind.TRACE, f"{subject} in {value}", role="user", valid_from=datetime(2024, month, 1, tzinfo=UTC)
        )
        slot = f"{subject}|home_city"
        s = Statement(
            Kind.FACT, f"{subject} lives in {value}.", slot, f"{slot}|{value}", value, True, 0.9, source_of(trace)
        )
        async with memos._cube("team", None, "write") as (_, store):
            await store.write(lambda tx: (tx.put(trace), reconcile(tx, trace, [s], Outcome())))

    await told("robert chen", "oslo", 1)
    await told("bob", "bergen", 2)
    await told("bob's sister", "rome", 3)
    facts = (await memos.list(kinds=["fact"], user="team", newest_first=False)).items
    assert [(m.slot, m.body["value"]) for m in facts] == [
        ("robert chen|home_city", "bergen"),
        ("robert chen's sister|home_city", "rome"),
    ]
    assert facts[0].text == "bob lives in bergen.", "the words stay as they were said"


async def test_a_search_by_one_name_finds_what_is_said_of_the_other(memos: AsyncMemOS) -> None:
    (said,) = await say(memos, "Robert Chen bought a telescope last week.")
    await say(memos, "Anna Berg sold a bicycle.", "The weather in Oslo was fine.")
    assert said not in [h.id for h in await memos.search("What did Bobby do?", user="team")]
    await memos.add_alias("Robert Chen", "Bobby", user="team")
    assert said in [h.id for h in await memos.search("What did Bobby do?", user="team")]
    await memos.remove_alias("Robert Chen", "Bobby", user="team")
    assert said not in [h.id for h in await memos.search("What did Bobby do?", user="team")]


async def test_a_search_by_an_alias_wants_the_words_of_that_speaker(memos: AsyncMemOS) -> None:
    await say(memos, "I bought a telescope.", "I sold my bicycle.", by="Robert Chen")
    await say(memos, "I painted a fence.", by="Anna Berg")
    await say(memos, "We met Robert Chen.", by="Anna Berg")
    await memos.add_alias("Robert Chen", "Bobby", user="team")
    found = await memos.search("What did Bobby buy?", user="team")
    assert [h.memory.speaker for h in found.hits[:2]] == ["Robert Chen"] * 2 and "speaker" in found.served_by


async def test_entities_are_listed_by_page_part_of_a_name_and_type(memos: AsyncMemOS) -> None:
    await say(memos, "We met Robert Chen in Oslo.", "Then Bob Miller called us from Bergen.")
    await memos.add_alias("Robert Chen", "Bobby", user="team")
    assert {e.name for e in await memos.entities(user="team")} == {"Robert Chen", "Bob Miller", "Oslo", "Bergen"}
    assert {e.name for e in await memos.entities(name="bob", user="team")} == {"Bob Miller", "Robert Chen"}
    assert {e.name for e in await memos.entities(type="place", user="team")} == {"Oslo", "Bergen"}
    first = await memos.entities(limit=3, user="team")
    rest = await memos.entities(limit=3, cursor=first.cursor, user="team")
    assert len(first) + len(rest) == 4 and rest.cursor is None
    for blank in ("", "  ", "x" * 201):
        with pytest.raises(InvalidInput):
            await memos.resolve_entity(blank, user="team")


async def test_a_record_that_names_both_by_their_names_names_both_after_an_unmerge(memos: AsyncMemOS) -> None:
    await say(memos, "We met Robert Chen in Oslo.", "Then Bob Miller bought a telescope.")
    kept, other = await entity(memos, "Robert Chen"), await entity(memos, "Bob Miller")
    await memos.merge_entities("Robert Chen", "Bob Miller", user="team")
    both = await say(memos, "Then Bob Miller and Robert Chen met Carl.", "Then Robert Chen called Bob Miller.")
    await memos.unmerge("Bob Miller", user="team")
    assert set(both) <= await mentions(memos, kept.id)
    assert set(both) <= await mentions(memos, other.id)


async def test_the_name_of_what_was_merged_into_a_merged_one_stays_until_it_is_unmerged(memos: AsyncMemOS) -> None:
    await say(memos, "We met Robert Chen in Oslo.", "Then Bob Miller bought a telescope.", "Alice Smith sings.")
    await memos.merge_entities("Robert Chen", "Bob Miller", user="team")
    await memos.merge_entities("Alice Smith", "Robert Chen", user="team")
    with pytest.raises(Conflict, match="unmerge"):
        await memos.remove_alias("Alice Smith", "Bob Miller", user="team")
    assert (await entity(memos, "Bob Miller")).name == "Alice Smith"
