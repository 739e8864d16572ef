"""The working set of a session: bounded, current, kept ready by the background for those who ask, and gone with what it names."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memos import AsyncMemOS, MemOS
from memos.errors import InvalidInput, StorageFull
from memos.memory.model import Status
from memos.organize.working import SIZE
from memos.scheduler.kinds import ORGANIZE
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.upkept import SESSIONS_KEPT
from memos.storage.tasks import TaskQuery
from memos.upkeep import upkeep
from stubs import child_env


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "SETTLE_SECONDS", 0.0)


@pytest.fixture
async def busy(home: Path) -> AsyncIterator[AsyncMemOS]:
    """A system that works in the background."""
    async with AsyncMemOS(home, embedder="none") as made:
        yield made


def trip(memos: MemOS) -> None:
    memos.add(["I live in Oslo.", "I love kayaking.", "My dog Rex is a beagle."], session="home", wait=True)
    memos.add("The cellar holds nine crates of turnips.", session="other", wait=True)
    memos.add("What should I pack for kayaking around Oslo with my dog?", session="trip", wait=True)


def test_facts_come_first_then_what_was_said_and_nothing_that_has_nothing_to_do_with_it(memos: MemOS) -> None:
    trip(memos)
    found = memos.working("trip")
    kinds = [item.memory.layer.value for item in found]
    assert kinds == sorted(kinds) and {"derived", "trace"} <= set(kinds)  # derived before trace
    texts = [item.memory.text for item in found]
    assert "The user likes kayaking." in texts and "I live in Oslo." in texts
    assert not any("turnips" in text for text in texts)
    assert all(item.reason == "fact" for item in found if item.memory.layer.value == "derived")
    assert all(0 < item.score <= 1 for item in found)


def test_the_messages_it_was_chosen_for_are_at_hand_already(memos: MemOS) -> None:
    trip(memos)
    assert all("pack for" not in item.memory.text for item in memos.working("trip"))


def test_without_a_name_it_is_of_the_session_spoken_in_last(memos: MemOS) -> None:
    trip(memos)
    assert memos.working().session == "trip"
    memos.add("Is the cellar full?", session="cellar", wait=True)
    assert memos.working().session == "cellar"


def test_it_is_bounded(memos: MemOS) -> None:
    memos.add([f"Kayak trip number {i} went to lake {i}." for i in range(60)], session="log", wait=True)
    memos.add("Which kayak trip was the best?", session="now", wait=True)
    assert len(memos.working("now")) == SIZE


def test_what_was_replaced_since_drops_out(memos: MemOS) -> None:
    trip(memos)
    assert "The user lives in Oslo." in [i.memory.text for i in memos.working("trip")]
    memos.add("I moved to Bergen.", session="home", wait=True)
    found = memos.working("trip")
    assert all(i.memory.status is Status.ACTIVE for i in found)
    assert not {"The user lives in Oslo.", "I live in Oslo."} & {i.memory.text for i in found}


@pytest.mark.parametrize("hard", [True, False])
def test_what_was_deleted_since_drops_out(memos: MemOS, hard: bool) -> None:
    trip(memos)
    gone = next(i.memory.id for i in memos.working("trip") if i.memory.text == "I love kayaking.")
    memos.delete(gone, hard=hard)
    assert not any("kayaking" in i.memory.text for i in memos.working("trip"))


def test_a_new_message_is_taken_in_by_the_next_call(memos: MemOS) -> None:
    trip(memos)
    before = memos.working("trip")
    assert memos.working("trip").made_at == before.made_at  # kept: nothing happened
    memos.add("And what about the turnips in the cellar?", session="trip", wait=True)
    after = memos.working("trip")
    assert any("turnips" in i.memory.text for i in after)
    assert before.made_at is not None and after.made_at is not None and after.made_at > before.made_at


def test_a_session_without_messages_has_an_empty_one(memos: MemOS) -> None:
    assert memos.working("nothing") == memos.working("nothing")
    assert (len(memos.working("nothing")), memos.working("nothing").made_at) == (0, None)
    with pytest.raises(InvalidInput):
        memos.working("")


def test_another_process_reads_what_was_kept(memos: MemOS, home: Path) -> None:
    trip(memos)
    kept = memos.working("trip")
    code = (
        "import sys; from memos import MemOS\n"
        "with MemOS(sys.argv[1], embedder='none', background=False) as m:\n"
        "    w = m.working('trip'); print(w.made_at.isoformat(), *w.ids)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(home)], capture_output=True, text=True, timeout=60, check=True, env=child_env()
    )
    assert kept.made_at is not None
    assert done.stdout.split() == [kept.made_at.isoformat(), *kept.ids]


def test_deleting_a_session_leaves_no_trace_of_it(memos: MemOS, home: Path) -> None:
    trip(memos)
    memos.working("trip")
    memos.delete(session="trip")
    memos.delete(filter={"text": {"like": "kayaking"}})
    (file,) = (home / "cubes").glob("*.cube")
    assert b"trip" not in file.read_bytes() and b"kayak" not in file.read_bytes()


def test_only_so_many_sessions_are_kept(memos: MemOS, home: Path) -> None:
    for i in range(SESSIONS_KEPT + 3):
        memos.add(f"Kayak {i}.", session=f"s{i}", derive=False)
        memos.working(f"s{i}")
    from memos.storage.sqlite.cube import SqliteCube

    (file,) = (home / "cubes").glob("*.cube")
    cube = SqliteCube.open(file)
    kept = cube.read_now(lambda db: [s for (s,) in db.execute("SELECT session FROM working")])
    cube.close_now()
    assert len(kept) == SESSIONS_KEPT and "s0" not in kept and f"s{SESSIONS_KEPT + 2}" in kept


async def test_the_background_keeps_it_ready_for_those_who_asked(busy: AsyncMemOS) -> None:
    await busy.add("I love kayaking.", session="a", wait=True)
    await busy.add("Where is my kayak?", session="b", wait=True)
    first = await busy.working("b")
    added = await busy.add("And the kayak paddle, did I love it?", session="b")
    assert added.task is not None
    await busy.tasks.wait(added.task)
    assert await busy.tasks.wait(TaskQuery(kinds=[ORGANIZE]), 20)
    info = await busy.open_cube("default")
    async with busy._parts().cubes.use(info) as store:
        kept = await store.working_set("b")
    assert kept is not None and kept.upto == added.ids[0]
    assert first.made_at is not None and kept.made_at > first.made_at


async def test_nothing_is_done_for_cubes_where_nobody_asked(busy: AsyncMemOS) -> None:
    added = await busy.add("I love kayaking.", session="a")
    assert added.task is not None
    await busy.tasks.wait(added.task)
    assert (await busy.tasks.find(TaskQuery(kinds=[ORGANIZE]))).items == ()


async def test_a_worker_that_died_over_it_leaves_the_old_one_and_the_task(home: Path) -> None:
    async with AsyncMemOS(home, embedder="none") as first:
        await first.add("I love kayaking.", session="a", wait=True)
        await first.add("Where is my kayak?", session="b", wait=True)
        await first.working("b")

        async def dies(*_: object) -> None:
            raise SystemExit

        first._parts().upkeep._search = dies  # type: ignore[assignment]
        added = await first.add("Kayak, again?", session="b")
        assert added.task is not None
        await first.tasks.wait(added.task)
        for _ in range(500):
            tasks = (await first.tasks.find(TaskQuery(kinds=[ORGANIZE]))).items
            if tasks and tasks[0].attempts:
                break
            await asyncio.sleep(0.02)
        assert tasks and tasks[0].attempts
    async with AsyncMemOS(home, embedder="none") as second:
        assert "I love kayaking." in [i.memory.text for i in await second.working("b")]


def test_a_full_disk_costs_only_the_keeping(memos: MemOS, monkeypatch: pytest.MonkeyPatch) -> None:
    trip(memos)

    async def full(*_: object, **__: object) -> None:
        raise StorageFull("no space left")

    monkeypatch.setattr(SqliteCube, "keep_working_set", full)
    assert "The user likes kayaking." in [item.memory.text for item in memos.working("trip")]
