"""Changes that nobody waits for let all others go first, and what learning keeps of a file is never older than the file."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memos.memory.episode import StepRole
from memos.memory.ids import new_id
from memos.memory.learned import PolicyBody
from memos.memory.model import Kind, Memory, Status
from memos.storage.ports import Change
from memos.storage.sqlite import lived, memo
from memos.storage.sqlite.cube import SqliteCube
from memos.text.document import term_row

AT = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteCube]:
    cube = SqliteCube.open(tmp_path / "a.cube", durability="normal")
    yield cube
    await cube.close()


async def test_a_patient_change_lets_all_others_go_first_and_goes_alone(store: SqliteCube) -> None:
    begun, free, done = threading.Event(), threading.Event(), []

    def hold(tx: Any) -> None:
        begun.set()
        free.wait(10)
        done.append(("hold", tx.now_us))

    futures = [store.write_soon(hold)]
    begun.wait(10)
    futures += [
        store._writer.submit(lambda tx, n=n: done.append((f"patient{n}", tx.now_us)), Change(), patient=True)
        for n in (0, 1)
    ]
    futures += [store.write_soon(lambda tx, n=n: done.append((f"quick{n}", tx.now_us))) for n in (0, 1)]
    commits = store._writer.commits
    free.set()
    for future in futures:
        future.result(10)
    assert [what for what, _ in done] == ["hold", "quick0", "quick1", "patient0", "patient1"]
    assert store._writer.commits == commits + 4  # the two quick ones in one, each patient one alone


async def test_a_patient_change_goes_in_the_end_however_much_else_is_asked_for(
    store: SqliteCube, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memos.storage.sqlite.writer.PATIENCE", 0.0)
    begun, free, done = threading.Event(), threading.Event(), []
    futures = [store.write_soon(lambda tx: (begun.set(), free.wait(10)))]
    begun.wait(10)
    futures.append(store._writer.submit(lambda tx: done.append("patient"), Change(), patient=True))
    futures.append(store.write_soon(lambda tx: done.append("quick")))
    free.set()
    for future in futures:
        future.result(10)
    assert done == ["patient", "quick"]


async def test_a_patient_change_that_fails_says_so(store: SqliteCube) -> None:
    def fail(tx: Any) -> None:
        raise KeyError("no")

    with pytest.raises(KeyError):
        await store.write_patiently(fail)
    assert await store.write_patiently(lambda tx: 1) == 1


async def test_a_cube_is_quiet_since_the_last_change_that_waits_for_no_other(store: SqliteCube) -> None:
    await store.write(lambda tx: None)
    before = store.quiet_seconds
    await store.write_patiently(lambda tx: None)
    assert before < 5 and store.quiet_seconds > before


# -- what is kept --------------------------------------------------------------------------------------------------


def _lived(tx: Any, said: str) -> tuple[str, int]:
    """A step of an episode of its own: its memory and number."""
    episode = new_id()
    lived.open_episode(tx, episode, session="s", agent="a", owner="u", environment="e", at=AT)
    memory = Memory(new_id(), Kind.TOOL_CALL, said, body={"use": {"tool": "shell", "input": said, "ok": True}})
    tx.put_new(memory, terms=term_row(memory))
    return memory.id, lived.add_step(tx, episode, memory.id, StepRole.TOOL, 1, AT, tool="shell", ok=True)


def _read(tx: Any, number: int, id: str) -> tuple[Any, Any]:
    with memo.reading(tx.db, tx.memo):
        lived.steps_by_number(tx.db, [number])
        return lived.steps_by_number(tx.db, [number]).get(number), tx.get(id)


async def test_what_is_kept_is_the_same_object_while_nothing_changes(store: SqliteCube) -> None:
    id, number = await store.write(lambda tx: _lived(tx, "ls"))
    first = await store.write(lambda tx: _read(tx, number, id))
    again = await store.write(lambda tx: _read(tx, number, id))
    assert first[0] is again[0] and first[1] is again[1]


async def test_a_new_version_a_value_and_a_retraction_are_seen_at_once(store: SqliteCube) -> None:
    id, number = await store.write(lambda tx: _lived(tx, "ls"))

    def change(tx: Any, **new: Any) -> tuple[Any, Any]:
        _read(tx, number, id)
        tx.put(replace(tx.get(id), **new))
        return _read(tx, number, id)

    step, memory = await store.write(lambda tx: change(tx, body={"use": {"tool": "shell", "input": "df"}}))
    assert (step.use.input, memory.body["use"]["input"]) == ("df", "df")
    await store.write(lambda tx: lived.set_value(tx, number, 0.5, 0.25))
    assert (await store.write(lambda tx: _read(tx, number, id)))[0].value == 0.25
    step, memory = await store.write(lambda tx: change(tx, status=Status.RETRACTED))
    assert step is None and memory.status is Status.RETRACTED


async def test_a_deleted_memory_is_kept_nowhere(store: SqliteCube) -> None:
    id, number = await store.write(lambda tx: _lived(tx, "a secret"))
    await store.write(lambda tx: _read(tx, number, id))
    assert await store.write(lambda tx: len(tx.memo.memories)) == 1
    await store.purge([id])
    assert await store.write(lambda tx: (tx.memo.memories, tx.memo.steps, tx.memo.bodies)) == ({}, {}, {})
    assert await store.write(lambda tx: _read(tx, number, id)) == (None, None)


async def test_what_another_process_writes_is_seen(store: SqliteCube, tmp_path: Path) -> None:
    id, number = await store.write(lambda tx: _lived(tx, "ls"))
    await store.write(lambda tx: _read(tx, number, id))
    other = SqliteCube.open(tmp_path / "a.cube", durability="normal")
    await other.write(lambda tx: tx.put(replace(tx.get(id), text="df")))
    await other.close()
    step, memory = await store.write(lambda tx: _read(tx, number, id))
    assert (step.memory.text, memory.text) == ("df", "df")


async def test_what_a_change_that_fails_wrote_is_kept_nowhere(store: SqliteCube) -> None:
    id, number = await store.write(lambda tx: _lived(tx, "ls"))

    def fail(tx: Any) -> None:
        tx.put(replace(tx.get(id), text="df"))
        assert _read(tx, number, id)[1].text == "df"
        raise KeyError("no")

    with pytest.raises(KeyError):
        await store.write(fail)
    step, memory = await store.write(lambda tx: _read(tx, number, id))
    assert (step.memory.text, memory.text) == ("ls", "ls")


async def test_bodies_are_read_once_for_the_same_memory(store: SqliteCube) -> None:
    def read(tx: Any) -> tuple[PolicyBody, PolicyBody, PolicyBody]:
        one = Memory(new_id(), Kind.POLICY, "x", body={"form": "fix", "goal": "a"})
        with memo.reading(tx.db, tx.memo):
            return (
                PolicyBody.of(one),
                PolicyBody.of(one),
                PolicyBody.of(replace(one, body={"form": "fix", "goal": "b"})),
            )

    first, again, other = await store.write(read)
    assert first is again and (first.goal, other.goal) == ("a", "b")


async def test_only_a_few_connections_keep_anything(tmp_path: Path) -> None:
    cubes = [SqliteCube.open(tmp_path / f"{n}.cube", durability="normal") for n in range(memo.MEMOS + 1)]
    for cube in cubes:
        id, number = await cube.write(lambda tx: _lived(tx, "ls"))
        await cube.write(partial(_read, number=number, id=id))
    kept = [await cube.write(lambda tx: len(tx.memo.steps)) for cube in cubes]
    assert kept == [0, *[1] * memo.MEMOS]
    for cube in cubes:
        await cube.close()


async def test_no_more_is_kept_than_there_is_room_for(store: SqliteCube, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "MOST", 10)

    def many(tx: Any) -> tuple[int, int]:
        for n in range(50):
            id, number = _lived(tx, f"ls {n}")
            step, memory = _read(tx, number, id)
            assert step.use.input == memory.body["use"]["input"] == f"ls {n}"
        return len(tx.memo.steps), len(tx.memo.memories)

    assert max(await store.write(many)) <= 10
