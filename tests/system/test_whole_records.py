"""Records that stay in one piece, and records that are never read for facts: not even after an edit."""

from __future__ import annotations

from pathlib import Path

from memos import AsyncMemOS

LONG = "\n\n".join(f"Paragraph {n} is about the house of number {n}, its garden and its trees." for n in range(60))


async def test_a_long_message_stays_whole_where_that_is_asked(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        assert len(await memos.add(LONG, user="ann", derive=False)) > 1
        (kept,) = await memos.add(LONG, user="bob", whole=True, derive=False)
        memory = await memos.get(kept.id, user="bob")
        assert memory.text == LONG and "parts" not in memory.body
        assert (await memos.search("the trees of number 59", user="bob")).hits[0].id == kept.id


async def test_what_is_not_to_be_read_is_not_read_after_an_edit(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        (raw,) = await memos.add("I live in Oslo.", derive=False)
        assert not (await memos.get(raw.id)).is_read
        await memos.update(raw.id, text="I live in Bergen.")
        await memos.flush()
        await memos.undo(raw.id)
        await memos.flush()
        assert await memos.count() == 1 and (await memos.get(raw.id)).text == "I live in Oslo."
        (read,) = await memos.add("I live in Tromso.", wait=True)
        await memos.update(read.id, text="I live in Bodo.")
        await memos.flush()
        assert any("Bodo" in m.text and m.id != read.id for m in (await memos.list()).items)


async def test_a_session_is_listed_in_order_whatever_else_there_is(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        for n in range(20):
            await memos.add(f"word number {n} of the one", session="one" if n % 2 else "two", derive=False)
        where = {"and": [{"session": "one"}, {"role": "user"}]}
        first = await memos.list(filter=where, limit=4)
        second = await memos.list(filter=where, limit=4, cursor=first.cursor)
        third = await memos.list(filter=where, limit=4, cursor=second.cursor)
        told = [int(m.text.split()[2]) for page in (first, second, third) for m in page.items]
        assert told == list(range(19, 0, -2)) and third.cursor is None
        oldest = await memos.list(filter={"session": {"in": ["one", "two"]}}, limit=3, newest_first=False)
        assert [m.text.split()[2] for m in oldest.items] == ["0", "1", "2"]
