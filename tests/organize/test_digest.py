"""Digesting keeps up with what happens meanwhile: edits, retractions, and messages that can never be read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from memos.memory.ids import new_id
from memos.memory.model import Kind, Memory, Source, Status
from memos.memory.statement import Reading, Statement
from memos.organize import digest as digesting
from memos.organize.digest import digest
from memos.storage.ports import DIGEST
from memos.storage.sqlite.cube import SqliteCube


def read(trace: Memory, _: Sequence[Memory]) -> Reading:
    if "unreadable" in trace.text:
        raise ValueError("no")
    fact = Statement(
        Kind.FACT, f"fact of {trace.text}", trace.text, trace.text, trace.text, False, 0.9, Source(memory_id=trace.id)
    )
    return Reading((fact,))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteCube]:
    cube = SqliteCube.open(tmp_path / "a.cube", durability="normal")
    yield cube
    await cube.close()


async def say(store: SqliteCube, text: str) -> Memory:
    memory = Memory(new_id(), Kind.TRACE, text, session="s")
    return await store.write(lambda tx: (tx.put(memory), tx.mark(memory.id, DIGEST))[0])


async def facts(store: SqliteCube) -> list[str]:
    return sorted(m.text for m in (await store.list()).items if m.kind is Kind.FACT)


async def test_an_edit_while_a_message_is_read_is_read_next(store: SqliteCube) -> None:
    said = await say(store, "old")

    def edits(trace: Memory, before: Sequence[Memory]) -> Reading:
        if trace.text == "old":
            store.write_soon(lambda tx: tx.put(replace(said, text="new"))).result()
        return read(trace, before)

    await digest(store, edits)
    assert await facts(store) == []
    assert [t.id for t in await store.todo(DIGEST)] == [said.id]
    await digest(store, edits)
    assert (await facts(store), await store.todo(DIGEST)) == (["fact of new"], [])


async def test_nothing_is_derived_from_what_was_taken_back(store: SqliteCube) -> None:
    said = await say(store, "oops")
    await store.write(lambda tx: tx.put(replace(said, status=Status.RETRACTED)))
    await digest(store, read)
    assert (await facts(store), await store.todo(DIGEST)) == ([], [])


async def test_messages_that_can_never_be_read_do_not_hold_up_the_others(
    store: SqliteCube, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digesting, "MAX_ATTEMPTS", 2)
    for i in range(6):
        await say(store, f"unreadable {i}")
    await say(store, "good")
    for _ in range(8):
        await digest(store, read, limit=3)
    assert await facts(store) == ["fact of good"]
    left = await store.todo(DIGEST)
    assert [(t.attempts, t.error) for t in left] == [(2, "ValueError: no")] * 6
