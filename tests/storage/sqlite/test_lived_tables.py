"""Episodes, steps, signals, lessons, trials, hints and events in a cube file: what is written comes back, once, and goes with a
hard deletion.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memos.errors import NotFound
from memos.memory.episode import Signal, SignalSource, StepRole
from memos.memory.ids import new_id
from memos.memory.model import Kind, Memory
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.lived import Lesson
from memos.storage.sqlite.tx import SqliteTx
from memos.text.document import term_row

T0 = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return T0 + timedelta(minutes=minutes)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteCube]:
    cube = SqliteCube.open(tmp_path / "lived.db")
    yield cube
    await cube.close()


def put(tx: SqliteTx, text: str, kind: Kind = Kind.TRACE, **more: object) -> str:
    memory = Memory(new_id(), kind, text, **more)  # type: ignore[arg-type]
    tx.put_new(memory, terms=term_row(memory))
    return memory.id


def begin(tx: SqliteTx, session: str = "s", agent: str = "a", minutes: float = 0) -> str:
    id = new_id()
    lived.open_episode(tx, id, session=session, agent=agent, owner="u", environment="web1", at=at(minutes))
    return id


def asked(tx: SqliteTx, episode: str, text: str, minutes: float = 0) -> str:
    memory = put(tx, text)
    lived.add_step(tx, episode, memory, StepRole.USER, 1, at(minutes))
    return memory


def called(tx: SqliteTx, episode: str, ok: bool, minutes: float = 1, context: bytes = b"c") -> tuple[int, str]:
    memory = put(tx, "shell", Kind.TOOL_CALL, body={"use": {"tool": "shell", "input": "ls", "ok": ok, "duration": 2}})
    number = lived.add_step(
        tx, episode, memory, StepRole.TOOL, 1, at(minutes), tool="shell", ok=ok, signature=b"x", context=context
    )
    return number, memory


async def test_an_episode_is_told_by_its_first_message_and_its_counts(store: SqliteCube) -> None:
    def write(tx: SqliteTx) -> str:
        episode = begin(tx)
        asked(tx, episode, "install lxml")
        called(tx, episode, False)
        called(tx, episode, True, 2)
        return episode

    id = await store.write(write)
    found = await store.lived(lived.episode, id)
    assert found is not None
    assert (found.goal, found.turns, found.steps, found.failed_steps) == ("install lxml", 1, 2, 1)
    assert found.is_open and found.outcome == "open" and found.last_at == at(2) and found.environment == "web1"
    steps = await store.lived(lived.steps, id)
    assert [s.role for s in steps] == ["user", "tool", "tool"]
    assert steps[1].use is not None and steps[1].use.failed and steps[1].use.duration == 2.0


async def test_a_memory_is_one_step_however_often_it_is_noted(store: SqliteCube) -> None:
    def write(tx: SqliteTx) -> tuple[int, int]:
        episode = begin(tx)
        memory = asked(tx, episode, "x")
        return lived.last_step(tx.db, episode), lived.add_step(tx, episode, memory, StepRole.USER, 1, at(5))

    first, again = await store.write(write)
    assert first == again


async def test_a_step_of_no_episode_is_refused_and_changes_nothing(store: SqliteCube) -> None:
    with pytest.raises(NotFound):
        await store.write(lambda tx: asked(tx, new_id(), "x"))
    assert await store.count() == 0


async def test_closing_makes_an_episode_due_once_and_reopening_takes_that_back(store: SqliteCube) -> None:
    id = await store.write(begin)
    closed = [
        await store.write(lambda tx: lived.close_episode(tx, id, "ended", at(3), at(4))),
        await store.write(lambda tx: lived.close_episode(tx, id, "gap", at(9), at(9))),
    ]
    assert closed == [True, False]
    assert await store.lived(lived.due, at(3.5)) == []
    assert await store.lived(lived.due, at(4)) == await store.lived(lived.due, None) == [id]
    assert await store.lived(lived.next_due) == at(4)
    await store.write(lambda tx: lived.reopen_episode(tx, id, at(5)))
    assert await store.lived(lived.next_due) is None
    await store.write(lambda tx: lived.learn_again(tx, id, at(6)))
    assert await store.lived(lived.due, None) == []  # an open one waits to be closed


async def test_what_is_learned_again_is_due_at_the_earlier_time(store: SqliteCube) -> None:
    id = await store.write(begin)
    await store.write(lambda tx: lived.close_episode(tx, id, "ended", at(3), at(10)))
    await store.write(lambda tx: lived.learn_again(tx, id, at(5)))
    await store.write(lambda tx: lived.learn_again(tx, id, at(20)))
    assert await store.lived(lived.next_due) == at(5)
    await store.write(lambda tx: lived.set_reward(tx, id, 0.75, 0.5, at(6)))
    found = await store.lived(lived.episode, id)
    assert found is not None and found.outcome == "success" and found.due_at is None and found.learned_at == at(6)


async def test_pages_of_episodes_are_whole_and_newest_first(store: SqliteCube) -> None:
    ids = [await store.write(lambda tx, i=i: begin(tx, f"s{i % 2}", minutes=i)) for i in range(7)]
    seen: list[str] = []
    before: int | None = None
    while True:
        page, before = await store.lived(lived.episodes, limit=3, before=before)
        seen += [e.id for e in page]
        if before is None:
            break
    assert seen == ids[::-1]
    some, _ = await store.lived(lived.episodes, limit=10, session="s1")
    assert [e.id for e in some] == [ids[5], ids[3], ids[1]]
    assert await store.lived(lived.idle, at(3)) == ids[:3]


async def test_the_same_signal_again_takes_the_place_of_the_former(store: SqliteCube) -> None:
    id = await store.write(begin)
    said = Signal(SignalSource.USER, "score", 1.0, at(1))
    new = [
        await store.write(lambda tx: lived.add_signal(tx, id, said, "k")),
        await store.write(lambda tx: lived.add_signal(tx, id, Signal(SignalSource.USER, "score", -1.0, at(2)), "k")),
        await store.write(lambda tx: lived.add_signal(tx, id, said, "other")),
    ]
    assert new == [True, False, True]
    assert [s.score for s in await store.lived(lived.signals, id)] == [-1.0, 1.0]


async def test_support_counts_episodes_and_not_lessons(store: SqliteCube) -> None:
    def write(tx: SqliteTx) -> str:
        policy = put(tx, "policy", Kind.POLICY)
        for e in range(2):
            episode = begin(tx, minutes=e)
            lived.put_lessons(
                tx, episode, [Lesson(episode, "fix", b"b", {"failed": (1,)}, v, policy) for v in (0.1, 0.5, 0.3)]
            )
            lived.put_lessons(
                tx, episode, [Lesson(episode, "fix", b"b", {"failed": (1,)}, v, policy) for v in (0.1, 0.5 + e)]
            )
        return policy

    policy = await store.write(write)
    found = await store.lived(lived.counted, policy)
    assert (found.support, sorted(found.values)) == (2, [0.5, 1.5])
    assert len(await store.lived(lived.lessons_in, b"b", 32)) == 4
    assert await store.lived(lived.policies_of_buckets, [b"b", b"other"]) == [policy]


async def test_a_trial_is_begun_once_for_each_episode_and_resolved(store: SqliteCube) -> None:
    def write(tx: SqliteTx) -> tuple[str, str, list[bool]]:
        policy, episode = put(tx, "policy", Kind.POLICY), begin(tx)
        begun = [lived.hand_out(tx, policy, episode, at(1), after=3) for _ in range(2)]
        return policy, episode, [*begun, lived.hand_out(tx, policy, episode, at(1), cube="other")]

    policy, episode, begun = await store.write(write)
    assert begun == [True, False, True]
    done = [
        await store.write(lambda tx: lived.resolve_trial(tx, policy, episode, "pass", 0.9, True, at(2)))
        for _ in range(2)
    ]
    assert done == [True, False]
    found = await store.lived(lived.counted, policy)
    assert (found.passes, found.fails, found.handed) == (1, 0, 2)
    assert [t.outcome for t in await store.lived(lived.trials, episode=episode)] == ["pass"]
    assert await store.lived(lived.handed_after, policy, episode) == 3


async def test_failures_in_a_row_end_at_a_success(store: SqliteCube) -> None:
    def write(tx: SqliteTx) -> list[int]:
        episode = begin(tx)
        called(tx, episode, False)
        called(tx, episode, True)
        last = [called(tx, episode, False)[0] for _ in range(2)]
        called(tx, episode, False, context=b"another")
        return last

    last = await store.write(write)
    found = await store.lived(lived.failures_in_a_row, "s", "shell", b"c", 5)
    assert [n for n, _ in found] == last[::-1]


async def test_the_stream_of_events_goes_on_behind_a_number(store: SqliteCube) -> None:
    for what in ("policy.induced", "policy.active", "skill.trial"):
        await store.write(lambda tx, what=what: lived.tell(tx, what, numbers={"support": 2}))
    events = await store.lived(lived.events)
    assert [e.what for e in events] == ["policy.induced", "policy.active", "skill.trial"]
    assert [e.what for e in await store.lived(lived.events, after=events[1].number)] == ["skill.trial"]
    assert events[0].numbers == {"support": 2} and await store.lived(lived.last_event) == events[2].number


async def test_a_hard_deletion_takes_the_rows_along_and_the_rest_is_learned_from_again(store: SqliteCube) -> None:
    def write(tx: SqliteTx) -> tuple[str, str, str]:
        episode = begin(tx)
        goal = asked(tx, episode, "install lxml")
        _, step = called(tx, episode, True)
        lived.add_signal(tx, episode, Signal(SignalSource.USER, "score", 1.0, at(1), goal), "k")
        lived.close_episode(tx, episode, "ended", at(2), at(2))
        lived.set_reward(tx, episode, 1.0, 1.0, at(3))
        return episode, goal, step

    episode, goal, step = await store.write(write)
    await store.purge([goal])
    left = await store.lived(lived.episode, episode)
    assert left is not None and left.turns == 0 and left.due_at == at(2)
    assert await store.lived(lived.signals, episode) == []
    await store.purge([step])
    assert await store.lived(lived.episode, episode) is None
    counts = await store.read_lived(
        lambda db: [db.execute(f"SELECT count(*) FROM {t}").get for t in ("steps", "signals", "lessons", "trials")]
    )
    assert counts == [0, 0, 0, 0]


async def test_no_table_of_what_was_lived_has_room_for_a_text(store: SqliteCube) -> None:
    """Whoever adds a column for a text has to think of deletion: these are names that callers give, and closed words."""
    named = {"session", "agent", "owner", "environment", "reason", "role", "tool", "source", "what", "form", "steps"}
    named |= {"cube", "outcome", "numbers", "home", "carried"}

    def columns(db: object) -> set[str]:
        tables = ("episodes", "steps", "signals", "lessons", "trials", "hints", "learned")
        rows = [r for t in tables for r in db.execute(f"PRAGMA table_info({t})")]  # type: ignore[attr-defined]
        return {name for _, name, type, *_ in rows if type == "TEXT"}

    assert await store.read_lived(columns) <= named
