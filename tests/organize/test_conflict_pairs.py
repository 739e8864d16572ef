"""What replaces what, over whole messages read by rules. Over-invalidation is worse than a miss."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from conflict_pairs import BOTH_LIVE, SUPERSEDES

from memos.memory.model import Kind, Layer, Memory, Status
from memos.organize.digest import digest
from memos.reading.messages import parse_messages
from memos.reading.read import read_trace
from memos.reading.store import store_records
from memos.reading.traces import to_records
from memos.storage.ports import ANY_STATUS, View
from memos.storage.sqlite.cube import SqliteCube

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)


def pairs(lines: str) -> list[tuple[str, str]]:
    return [tuple(line.split(" :: ")) for line in lines.strip().splitlines()]  # type: ignore[misc]


def told(path: Path, *texts: str) -> list[list[Memory]]:
    """What was derived from each of some messages, a week apart, once all are digested."""

    async def run() -> list[list[Memory]]:
        cube = SqliteCube.open(path / "a.cube", durability="normal")
        try:
            ids = []
            for week, text in enumerate(texts):
                parsed = parse_messages([{"role": "user", "content": text}], now=NOW + timedelta(weeks=week))
                records = to_records(parsed.messages, session="s", owner="user", tags=(), info={})
                stored = await cube.write(lambda tx, r=records: store_records(tx, r, derive=True, named=False))  # type: ignore[misc]
                ids += [record.id for record in stored]
                await digest(cube, read_trace)
            page = await cube.list(view=View(statuses=ANY_STATUS), limit=100, newest_first=False)
            facts = [m for m in page.items if m.layer is Layer.DERIVED and m.kind is not Kind.EVENT]
            return [[m for m in facts if any(s.memory_id == id for s in m.sources)] for id in ids]
        finally:
            await cube.close()

    return asyncio.run(run())


@pytest.mark.parametrize(("first", "second"), pairs(BOTH_LIVE))
def test_both_hold(tmp_path: Path, first: str, second: str) -> None:
    before, _ = told(tmp_path, first, second)
    assert [m.text for m in before if m.status is not Status.ACTIVE] == []


@pytest.mark.parametrize(("first", "second"), pairs(SUPERSEDES))
def test_the_second_replaces_or_ends_the_first(tmp_path: Path, first: str, second: str) -> None:
    before, after = told(tmp_path, first, second)
    assert before, "the first message was not read"
    assert [m.text for m in before if m.status is Status.ACTIVE] == []
    assert all(m.status is Status.ACTIVE for m in after if m.id not in {b.id for b in before})


def test_there_are_forty_of_each() -> None:
    assert min(len(pairs(BOTH_LIVE)), len(pairs(SUPERSEDES))) >= 40
