"""Background work through the task queue: what adds enqueue, what is found again, what fails and is tried again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memos import AsyncMemOS, background
from memos.errors import Busy, InvalidInput, ModelError, ModelUnavailable, NotFound, StorageBusy, StorageFull
from memos.memory.model import Memory
from memos.models.resilience import CircuitBreaker, Failure, Guard, RetryPolicy
from memos.organize.digest import Digested
from memos.reading.read import read_trace
from memos.scheduler import worker as workers
from memos.scheduler.job import Job
from memos.scheduler.kinds import DIGEST, EMBED, SWEEP
from memos.storage.tasks import Task, TaskQuery, TaskState
from stubs import Words


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "BACKOFF_BASE", 0.01)


@pytest.fixture
async def memos(tmp_path: Path) -> AsyncIterator[AsyncMemOS]:
    async with AsyncMemOS(tmp_path, embedder="none") as made:
        yield made


def of(caller_id: str) -> TaskQuery:
    return TaskQuery(caller_id=caller_id)


async def texts(memos: AsyncMemOS, user: str) -> list[str]:
    return [m.text for m in (await memos.list(user=user)).items if m.kind.value not in ("trace", "entity")]


async def waiting(memos: AsyncMemOS, user: str) -> int:
    return (await memos.stats(user=user)).waiting.get("digest", 0)


async def test_an_add_is_a_task_that_can_be_asked_for(memos: AsyncMemOS) -> None:
    added = await memos.add("I live in Oslo.", user="ann", task_id="turn-1")
    assert added.task is not None and added.pending
    assert await memos.tasks.wait(of("turn-1"), 10)
    task = await memos.tasks.get(added.task)
    assert (task.state, task.user, task.cube, task.kind) == (TaskState.COMPLETED, "ann", "ann", DIGEST)
    assert task.payload == {"ids": list(added.ids)}  # never the text
    assert await waiting(memos, "ann") == 0 and await texts(memos, "ann") == ["Ann lives in Oslo."]


async def test_a_repetition_makes_no_task(memos: AsyncMemOS) -> None:
    first = await memos.add("I live in Oslo.", user="ann", idempotency_key="k")
    again = await memos.add("I live in Oslo.", user="ann", idempotency_key="k")
    assert first.task is not None and again.task is None and again.ids == first.ids


async def test_whatever_is_added_under_a_name_of_the_callers_own_can_be_asked_for(memos: AsyncMemOS) -> None:
    await memos.add("I live in Oslo.", user="ann", idempotency_key="k", task_id="first")
    again = await memos.add("I live in Oslo.", user="ann", idempotency_key="k", task_id="again")
    raw = await memos.add("raw", user="ann", derive=False, task_id="raw")
    waited = await memos.add("My dog is Rex.", user="ann", wait=True, task_id="waited")
    for name, added in (("again", again), ("raw", raw), ("waited", waited)):
        assert await memos.tasks.wait(of(name), 10)
        (task,) = (await memos.tasks.find(of(name))).items
        assert (task.id, task.state, task.error) == (added.task, TaskState.COMPLETED, None)


class Guarded(Words):
    """Behind a circuit breaker, on a server that is down for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.up = asyncio.Event()
        self.guard = Guard("srv", breaker=CircuitBreaker("srv", cool_down=0.05))

    async def embed(self, texts: Any, *, purpose: Any) -> Any:
        async def call() -> Any:
            if not self.up.is_set():
                raise Failure(ModelUnavailable("no server at port 1"), retry=True, dead=True)
            return await super(Guarded, self).embed(texts, purpose=purpose)

        return await self.guard.run(call, RetryPolicy(base=0.001))


async def embedding(memos: AsyncMemOS) -> Sequence[Task]:
    return (await memos.tasks.find(TaskQuery(cube="ann", kinds=[EMBED]))).items


async def test_an_embedder_that_is_away_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PUT_OFF_LEAST", 0.01)
    embedder = Guarded()
    async with AsyncMemOS(tmp_path, embedder=embedder) as memos:
        await memos.add("I live in Oslo.", user="ann")
        async with asyncio.timeout(10):
            while not (told := [t.error for t in await embedding(memos) if "in a row" in (t.error or "")]):
                await asyncio.sleep(0.005)
        assert "no server at port 1" in (told[0] or "")  # why, and not only that it is left alone
        await asyncio.sleep(0.3)
        embedder.up.set()
        assert await memos.tasks.wait(TaskQuery(cube="ann"), 20)
        assert {(t.state, t.error) for t in await embedding(memos)} == {(TaskState.COMPLETED, None)}
        assert (await memos.stats(user="ann")).waiting["embed"] == 0


async def test_what_waits_is_taken_up_by_the_next_process(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none", workers=0) as memos:
        await memos.add("I live in Oslo.", user="ann", task_id="t")
        assert (await memos.tasks.counts(of("t")))[TaskState.WAITING] == 1
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        await memos.start()
        assert await memos.tasks.wait(of("t"), 10)
        assert await waiting(memos, "ann") == 0


async def test_what_is_being_added_is_not_taken_for_what_an_earlier_process_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, look = asyncio.Event(), background.Background._look
    stored = asyncio.Event()

    async def late(self: background.Background, *args: Any, **named: Any) -> None:
        """Look into the cube when the record is stored and its task is not there yet."""
        await stored.wait()
        await look(self, *args, **named)
        looked.set()

    added = background.Background.added

    async def held(self: background.Background, *args: Any, **named: Any) -> Any:
        stored.set()
        await looked.wait()
        return await added(self, *args, **named)

    monkeypatch.setattr(background.Background, "_look", late)
    monkeypatch.setattr(background.Background, "added", held)
    async with AsyncMemOS(tmp_path, embedder="none", workers=0) as memos:
        await memos.add("I live in Oslo.", user="ann")
        assert [t.user for t in (await memos.tasks.find(TaskQuery(kinds=[DIGEST]))).items] == ["ann"]


async def test_the_sweep_finds_marks_that_no_task_stands_for(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none", workers=0) as memos:
        for user in ("ann", "bob"):
            await memos.add("I live in Oslo.", user=user)
        for user in ("ann", "bob"):
            await memos._parts().queue.forget(user)  # as if the process had died between the two writes
        assert (await memos.tasks.counts())[TaskState.WAITING] == 0
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        await memos.start()
        assert await memos.tasks.wait(TaskQuery(), 20)  # the sweep that is enqueued, and what it finds
        assert (await memos.tasks.counts(TaskQuery(kinds=[DIGEST])))[TaskState.COMPLETED] == 2
        assert (await memos.tasks.counts(TaskQuery(kinds=[SWEEP])))[TaskState.COMPLETED] == 1
        assert [await waiting(memos, user) for user in ("ann", "bob")] == [0, 0]


async def test_a_flood_is_refused_before_anything_is_stored(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none", workers=0, tasks_per_user=3) as memos:
        for n in range(3):
            await memos.add(f"Note {n} is about the boat.", user="ann")
        await asyncio.sleep(0.3)  # the count may be a moment behind
        with pytest.raises(Busy) as refused:
            await memos.add("One too many.", user="ann")
        assert refused.value.retry_after > 0
        assert await memos.count(user="ann", kinds=["trace"]) == 3
        await memos.add("I am somebody else.", user="bob")
        await memos.add("It is done at once.", user="ann2", wait=True)


async def test_a_message_that_cannot_be_read_is_tried_again_and_kept(
    memos: AsyncMemOS, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = True

    def reader(trace: Memory, before: Any) -> Any:
        if broken and "boiler" in trace.text:
            raise ValueError("no")
        return read_trace(trace, before)

    monkeypatch.setattr(background, "read_trace", reader)
    bad = await memos.add("The boiler serial is HK-902-FENNEL. I live in Oslo.", user="ann", task_id="bad")
    good = await memos.add("I work at Acme.", user="ann", task_id="good")
    assert await memos.tasks.wait(TaskQuery(user="ann"), 20)
    task = await memos.tasks.get(bad.task or "")
    assert (task.state, task.attempts) == (TaskState.FAILED, 5) and "ValueError" in (task.error or "")
    assert (await memos.tasks.get(good.task or "")).state is TaskState.COMPLETED
    assert (await memos.get(bad.ids[0], user="ann")).text.startswith("The boiler")
    assert [h.id for h in await memos.search("boiler serial", user="ann", limit=1)] == [bad.ids[0]]
    broken = False
    assert await memos.tasks.retry(of("bad")) == 1
    assert await memos.tasks.wait(of("bad"), 10)
    assert (await memos.tasks.get(bad.task or "")).state is TaskState.COMPLETED
    assert "Ann lives in Oslo." in await texts(memos, "ann")


class Moody(Words):
    """Fails until told otherwise."""

    down = True

    def embed_sync(self, texts: Any, *, purpose: Any) -> Any:
        if self.down and purpose == "document":
            raise ModelError("the embedder answered 500")
        return super().embed_sync(texts, purpose=purpose)


async def test_an_embedder_that_fails_holds_up_no_reading_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "BACKOFF_BASE", 0.3)  # five attempts must outlast two adds on a slow machine
    embedder = Moody()
    async with AsyncMemOS(tmp_path, embedder=embedder) as memos:
        await memos.add("I live in Oslo.", user="ann", task_id="t")
        assert await memos.tasks.wait(of("t"), 10)
        await memos.add("I work at Acme.", user="ann", task_id="u")
        assert await memos.tasks.wait(of("u"), 10)
        embedder.down = False
        assert await memos.tasks.wait(TaskQuery(cube="ann"), 10)
        assert (await memos.stats(user="ann")).waiting["embed"] == 0
        assert (await memos.tasks.counts(TaskQuery(kinds=[EMBED])))[TaskState.FAILED] == 0


async def test_nothing_of_a_deleted_cube_stays_in_the_queue(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none", workers=0) as memos:
        await memos.create_cube("team", user="ann")
        await memos.add("We meet on Fridays.", user="ann", cube="team", task_id="t")
        await memos.delete_cube("team", user="ann")
        assert sum((await memos.tasks.counts()).values()) == 0


async def test_without_background_work_nothing_is_enqueued(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none", background=False) as memos:
        added = await memos.add("I live in Oslo.", user="ann")
        assert added.task is None and sum((await memos.tasks.counts()).values()) == 0
        assert await texts(memos, "ann") == ["Ann lives in Oslo."]  # reads digest what is marked


async def test_ids_are_located_among_the_cubes_a_user_may_read(memos: AsyncMemOS) -> None:
    ann = (await memos.add("I live in Oslo.", user="ann")).ids[0]
    bob = (await memos.add("I live in Bergen.", user="bob")).ids[0]
    await memos.create_cube("team", user="bob")
    team = (await memos.add("We meet on Fridays.", user="bob", cube="team")).ids[0]
    assert await memos.locate([ann, bob, team, "nonsense"]) == {ann: "ann", bob: "bob", team: "team"}
    assert await memos.locate([ann, bob, team], user="ann") == {ann: "ann"}
    await memos.share("team", "ann", user="bob")
    assert await memos.locate([ann, bob, team], user="ann") == {ann: "ann", team: "team"}


async def test_what_is_stored_is_never_refused_afterwards(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none", workers=0, tasks_per_user=3) as memos:
        await memos.add("The first one.", user="ann")
        adds = [memos.add(f"Note {n} is about the boat.", user="ann") for n in range(10)]  # within one count
        done = await asyncio.gather(*adds, return_exceptions=True)
        refused = sum(isinstance(one, Busy) for one in done)
        assert await memos.count(user="ann", kinds=["trace"]) == 11 - refused
        assert all(one.task is not None for one in done if not isinstance(one, BaseException))


async def test_what_a_full_queue_holds_is_still_done(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder=Words(), workers=0, tasks_per_user=3) as memos:
        for n in range(3):
            await memos.add(f"Note {n} is about the boat.", user="ann", task_id="t")
    async with AsyncMemOS(tmp_path, embedder=Words(), tasks_per_user=3) as memos:
        await memos.start()
        assert await memos.tasks.wait(TaskQuery(), 10)
        assert (await memos.tasks.counts(of("t")))[TaskState.COMPLETED] == 3
        assert {t.attempts for t in (await memos.tasks.find(of("t"))).items} == {1}


async def test_an_update_is_read_although_an_add_waits(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none", workers=0) as memos:
        first = await memos.add("I live in Oslo.", user="ann", wait=True)
        await memos.add("I work at Acme.", user="ann")
        await memos.update(first.ids[0], text="I live in Bergen.", user="ann")
        async with asyncio.timeout(20):
            while len(waits := (await memos.tasks.find(TaskQuery(cube="ann"))).items) < 2:
                await asyncio.sleep(0.02)
        assert sorted(len(t.payload) for t in waits) == [
            0,
            1,
        ]  # everything that is marked, and the message that was added


async def test_of_a_cube_that_is_written_while_it_is_deleted_nothing_stays_in_the_queue(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder=Words()) as memos:

        async def write() -> None:
            with contextlib.suppress(NotFound):
                for n in range(20):
                    await memos.add(f"We meet on day {n} again.", user="ann", cube="team")

        for _ in range(5):
            await memos.create_cube("team", user="ann")
            await memos.add("We meet on Fridays.", user="ann", cube="team")
            await asyncio.gather(memos.delete_cube("team", user="ann"), write())
        assert await memos.tasks.wait(TaskQuery(), 10)
        assert not (await memos.tasks.find(TaskQuery(cube="team"))).items


async def test_the_sweep_comes_back_to_what_it_could_not_look_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncMemOS(tmp_path, embedder="none", workers=0) as memos:
        await memos.add("I live in Oslo.", user="ann")
        await memos._parts().queue.forget("ann")
    monkeypatch.setattr(background, "SWEEP_OVERLAP", -3600.0)  # as if the cube had been written long ago
    seen = background.marked
    monkeypatch.setattr(background, "marked", locked)
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        await memos.start()
        assert await memos.tasks.wait(TaskQuery(), 10)
    monkeypatch.setattr(background, "marked", seen)
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        await memos.start()
        assert await memos.tasks.wait(TaskQuery(), 10)
        assert (await memos.tasks.counts(TaskQuery(kinds=[DIGEST])))[TaskState.COMPLETED] == 1


def locked(*_: Any) -> bool:
    raise StorageBusy("locked")


async def test_what_failed_for_want_of_a_disk_is_tried_again_by_the_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = background.digest
    full = True

    async def digest(*args: Any, **options: Any) -> Any:
        if full:
            raise StorageFull("no space left")
        return await read(*args, **options)

    monkeypatch.setattr(background, "digest", digest)
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        await memos.add("I live in Oslo.", user="ann", task_id="t")
        assert await memos.tasks.wait(of("t"), 10)
        assert (await memos.tasks.counts(of("t")))[TaskState.FAILED] == 1
    full = False
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        await memos.start()
        assert await memos.tasks.wait(TaskQuery(), 10)
        assert (await memos.tasks.counts(of("t")))[TaskState.COMPLETED] == 1


async def test_one_id_can_be_waited_for_as_it_is(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none", workers=0) as memos:
        added = await memos.add("I live in Oslo.", user="ann")
        assert added.task is not None
        assert not await memos.tasks.wait(added.task, 0.1)
        assert await memos.tasks.busy()
        with pytest.raises(InvalidInput):
            await memos.tasks.wait(added.task, float("nan"))


async def test_a_cube_that_cannot_be_written_is_searched_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: Any, **__: Any) -> Any:
        raise StorageFull("no space left")

    async with AsyncMemOS(tmp_path, embedder="none", workers=0) as memos:
        added = await memos.add("The boiler serial is HK-902-FENNEL.", user="ann")
        monkeypatch.setattr(background, "digest", full)
        found = await memos.search("boiler serial", user="ann")
        assert [hit.id for hit in found] == list(added.ids)
        assert "1 messages are not digested yet" in found.reasons


async def test_what_could_not_be_enqueued_is_looked_for_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "OWING_SECONDS", 0.1)
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        await memos.start()
        queue = memos._parts().queue
        enqueue = queue.enqueue

        async def full(_: Any) -> Any:
            raise StorageFull("no space left")

        monkeypatch.setattr(queue, "enqueue", full)
        added = await memos.add("I live in Oslo.", user="ann")
        assert added.task is None
        monkeypatch.setattr(queue, "enqueue", enqueue)
        for _ in range(100):
            if (await memos.tasks.counts(TaskQuery(kinds=[DIGEST])))[TaskState.COMPLETED]:
                return
            await asyncio.sleep(0.05)
        raise AssertionError("nobody looked")


async def test_reading_everything_gives_way_to_those_who_stand_in_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def endless(*_: Any, **__: Any) -> Digested:  # a flood: there is always more
        await asyncio.sleep(0.01)
        return Digested(1, 0, True)

    async def some(_: Any) -> int:
        return 1

    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        added = await memos.add("I live in Oslo.", user="ann", wait=True)
        monkeypatch.setattr(background, "digest", endless)
        monkeypatch.setattr(background, "_marks", some)
        monkeypatch.setattr(background, "DIGEST_SECONDS", 0.2)
        await memos.update(added.ids[0], tags=["home"], user="ann")
        task = (await memos.add("I work at Acme.", user="ann")).task
        assert task is not None and await memos.tasks.wait(task, 30)
        async with asyncio.timeout(5):
            await memos.flush(user="ann")


async def test_a_message_that_ends_its_worker_is_left_alone_in_the_end(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none", workers=0) as memos:
        added = await memos.add("The boiler serial is HK-902-FENNEL.", user="ann")
        queue = memos._parts().queue
        job = Job(tuple(await queue.get([added.task or ""])), no_progress)
        killed = replace(job.tasks[0], attempts=2, error="its worker stopped or hung in attempt 1 of 5")
        parts = memos._parts()
        marks: list[int] = []

        def dies(trace: Memory, before: Any) -> Any:
            raise Died

        for task in (killed, replace(killed, payload={})):  # one that names the message, and one that names none
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(background, "read_trace", dies)
                with pytest.raises(Died):
                    await parts.background._digest_task(replace(job, tasks=(task,)))
            async with parts.cubes.use(parts.registry.list()[0]) as store:
                marks.append((await store.todo(DIGEST, 1))[0].attempts)
        assert marks == [2, 4]  # counted before it was read, on disk
        await parts.background._digest_task(replace(job, tasks=(killed,)))  # it can be read after all
        assert await waiting(memos, "ann") == 0


class Died(BaseException):
    """Stands for the end of the process."""


async def no_progress(_: str, __: float) -> None:
    return
