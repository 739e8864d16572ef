"""Learning by itself: episodes are closed and learned from in the background, also after a crash of the queue, whatever the model
does; and a model that is away is asked once in a while, not once for each episode.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from evolution_script import Did, Script, play

from llm_models import ScriptedModel
from memos import AsyncMemOS
from memos.errors import ModelBusy, ModelError
from memos.evolution import learn
from memos.evolution.value.reward import ALPHA, UNJUDGED
from memos.evolving import evolving
from memos.memory.episode import Episode, SignalSource
from memos.memory.ids import new_id
from memos.memory.learned import Action, SkillBody
from memos.memory.model import Kind, Memory
from memos.models.llm.port import ChatRequest
from memos.scheduler.kinds import EVOLVE
from memos.storage.sqlite import lived
from memos.storage.tasks import TaskQuery
from memos.text.document import term_row

WORKED = Script(
    "install psycopg2", [Did("pip install psycopg2", False, "pg_config not found"), Did("apt install libpq-dev")]
)
GOOD = {"goal": 1.0, "process": 0.5, "satisfaction": 0.0, "steps": [{"n": 3, "alpha": 0.9}, {"n": 77, "alpha": 1.0}]}


def judge(answer: Any) -> Callable[[ChatRequest], Any]:
    """A model that judges episodes so, and says nothing else."""
    return lambda request: answer if is_judging(request) else {}


def is_judging(request: ChatRequest) -> bool:
    return request.messages[0].content.startswith("You judge how an agent's task went")


def asked(model: ScriptedModel) -> int:
    return sum(map(is_judging, model.requests))


def system(home: Path, **more: Any) -> AsyncMemOS:
    return AsyncMemOS(home, **{"embedder": "none", "reading": "fast", "reward_window": 0, **more})


async def until(true: Callable[[], Awaitable[Any]], seconds: float = 15.0) -> Any:
    end = time.monotonic() + seconds
    while not (found := await true()):
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(0.05)
    return found


async def worked(memos: AsyncMemOS, at: datetime | None = None, session: str = "s") -> str:
    """An agent does a task; returns the episode."""
    begun = await memos.start_turn("install psycopg2", session=session, task="new", recall=False, at=at)
    await memos.report_step("shell", "pip install psycopg2", error="pg_config not found", session=session, at=at)
    await memos.report_step("shell", "apt install libpq-dev", ok=True, session=session, at=at)
    await memos.end_turn("Installed.", session=session, at=at)
    return begun.episode


async def valued(memos: AsyncMemOS, id: str, cube: str | None = None) -> Episode | None:
    found = (await memos.episode(id, cube=cube)).episode
    return found if found.learned_at is not None else None


async def test_an_episode_is_learned_from_by_itself_after_its_session_ended(tmp_path: Path) -> None:
    async with system(tmp_path, reward_window=1) as memos:
        id = await worked(memos)
        await memos.end_session("s")
        found = await until(lambda: valued(memos, id))
        assert found.reward == pytest.approx(0.6 * 0.5 / 1.5 + 0.4 * 0.5 / 1.5, abs=0.01)
        assert found.due_at is None


async def test_after_a_verdict_nothing_more_is_waited_for(tmp_path: Path) -> None:
    async with system(tmp_path, reward_window=3600) as memos:
        id = await worked(memos)
        await memos.report_outcome(1.0, session="s")
        other = await memos.start_turn("now the mail server", session="s", task="new", recall=False)
        assert other.closed == id
        assert (await until(lambda: valued(memos, id))).outcome == "success"


async def test_late_feedback_is_learned_from_at_once(tmp_path: Path) -> None:
    async with system(tmp_path) as memos:
        id = await worked(memos)
        await memos.end_session("s")
        before = await until(lambda: valued(memos, id))
        await memos.report_outcome(-1.0, episode=id)

        async def changed() -> bool:
            found = await valued(memos, id)
            return found is not None and found.reward is not None and found.reward < 0 < (before.reward or 0)

        await until(changed)


async def test_an_episode_that_nobody_goes_on_with_is_closed_and_learned_from_after_a_restart(tmp_path: Path) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=1)
    async with system(tmp_path, background=False) as memos:
        id = await worked(memos, at=long_ago)
        assert (await memos.episode(id)).episode.is_open
    async with system(tmp_path) as memos:
        await memos.start()
        await memos.search("psycopg2")  # opens the cube
        found = await until(lambda: valued(memos, id))
        assert found.reason in ("gap", "abandoned")


async def test_an_open_episode_has_a_task_that_waits_for_it_to_be_idle(tmp_path: Path) -> None:
    async with system(tmp_path, episode_gap=30) as memos:
        await worked(memos)
        parts = memos._parts()
        info = await memos._resolved("default", None, "read")
        await parts.evolving.look(info)
        (task,) = (await parts.queue.find(TaskQuery(kinds=[EVOLVE]), limit=10)).items
        assert timedelta(minutes=29) < task.available_at - datetime.now(UTC) <= timedelta(minutes=30)
        await parts.evolving.soon(info, 0)  # what is to be done at once does not wait behind it
        await until(lambda: done(parts.queue))


async def done(queue: Any) -> bool:
    found = (await queue.find(TaskQuery(kinds=[EVOLVE]), limit=10)).items
    return any(task.finished_at is not None for task in found)


async def test_a_lost_task_is_found_again(tmp_path: Path) -> None:
    async with system(tmp_path, background=False) as memos:
        id = await worked(memos)
        await memos.end_session("s")  # no background: no task
    async with system(tmp_path) as memos:
        await memos.start()
        await memos.search("psycopg2")
        assert await until(lambda: valued(memos, id))


async def test_nothing_is_learned_where_that_is_switched_off(tmp_path: Path) -> None:
    async with system(tmp_path, evolve=False) as memos:
        id = await worked(memos)
        await memos.end_session("s")
        await asyncio.sleep(0.5)
        assert await valued(memos, id) is None
        assert (await memos.evolve(now=True)).learned == 1  # asked for, it is done


async def test_a_model_judges_an_episode_once_and_its_word_is_kept(tmp_path: Path) -> None:
    model = ScriptedModel(judge(GOOD))
    async with system(tmp_path, llm=model, background=False) as memos:
        id = await worked(memos)
        await memos.end_session("s")
        await memos.evolve(now=True)
        first = await memos.episode(id)
        rubric = 0.45 * 1.0 + 0.30 * 0.5
        assert [s.score for s in first.signals if s.what == "rubric"] == [pytest.approx(rubric)]
        assert [s.score for s in first.signals if s.what == ALPHA] == [0.9]  # of the record that is there
        assert [s.alpha for s in first.steps][2] == 0.9
        await memos.report_outcome(1.0, episode=id)
        await memos.evolve(now=True)
        assert asked(model) == 1


async def test_what_a_model_says_that_cannot_be_used_leaves_the_rules_and_is_not_asked_for_again(
    tmp_path: Path,
) -> None:
    model = ScriptedModel(judge("I would rather not."))
    async with system(tmp_path, llm=model, background=False) as memos:
        id = await worked(memos)
        await memos.end_session("s")
        await memos.evolve(now=True)
        found = await memos.episode(id)
        assert found.episode.reward == pytest.approx(1 / 3, abs=0.01)
        assert {s.what for s in found.signals if s.source is SignalSource.MODEL} == {UNJUDGED}
        calls = asked(model)
        await memos.report_outcome(1.0, episode=id)
        await memos.evolve(now=True)
        assert asked(model) == calls == 2  # the second asks for the form


async def test_a_model_that_is_always_busy_is_asked_once_in_a_while_and_rules_value_meanwhile(tmp_path: Path) -> None:
    model = ScriptedModel(ModelBusy("too many requests", retry_after=600.0))
    async with system(tmp_path, llm=model, background=False) as memos:
        ids = await fifty(memos)
        answer = await memos.evolve(now=True)
        assert answer.learned == 50 and answer.waiting == 0 and answer.reasons
        assert asked(model) == 1
        assert (await memos.evolve(now=True)).learned == 0
        for _ in range(3):
            await memos.report_outcome(1.0, episode=ids[7])
            assert (await memos.evolve(now=True)).learned == 1
        assert asked(model) == 1
        assert all([(await memos.episode(id)).episode.reward is not None for id in ids])


async def fifty(memos: AsyncMemOS) -> list[str]:
    async with memos._cube("default", None, "write") as (_, store):
        ids: list[str] = await store.write(lambda tx: [play(tx, WORKED, n, owner="default") for n in range(50)])  # type: ignore[arg-type]
        recent = datetime.now(UTC)

        def closed_just_now(tx: Any) -> None:
            for n, id in enumerate(ids):
                lived.reopen_episode(tx, id, recent)
                lived.close_episode(tx, id, "new_task", recent + timedelta(milliseconds=n), recent)

        await store.write(closed_just_now)
    return ids


async def test_when_the_model_is_back_it_is_asked_about_all_that_were_valued_without_it(tmp_path: Path) -> None:
    model = ScriptedModel(ModelBusy("too many requests", retry_after=0.2))
    async with system(tmp_path, llm=model, background=False) as memos:
        ids = await fifty(memos)
        await memos.evolve(now=True)
        before = asked(model)
        model.answers = [judge(GOOD)]
        evolver = memos._parts().evolving._asking
        evolver._until.clear()
        async with memos._cube("default", None, "write") as (_, store):
            await store.write(lambda tx: tx.db.execute("UPDATE episodes SET judge_at=1 WHERE judge_at IS NOT NULL"))  # type: ignore[attr-defined]
        assert (await memos.evolve()).learned == 50
        assert asked(model) == before + 50
        assert (await memos.episode(ids[3])).episode.reward == pytest.approx((1.5 * 0.6 + 0.5) / 3.0, abs=0.01)


async def test_a_day_after_its_end_an_episode_is_not_asked_about_any_more(tmp_path: Path) -> None:
    model = ScriptedModel(ModelBusy("too many requests", retry_after=0.01))
    async with (
        system(tmp_path, llm=model, background=False) as memos,
        memos._cube("default", None, "write") as (_info, store),
    ):
        id = await store.write(lambda tx: play(tx, WORKED, 0, owner="default"))  # type: ignore[arg-type]
        await memos.evolve()
        assert await store.lived(lived.next_judge) is None
        assert (await valued(memos, id)) is not None


async def test_an_episode_that_cannot_be_learned_from_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with system(tmp_path, background=False) as memos:
        ids = await fifty(memos)
        whole = learn.learn_episode

        def breaks(tx: Any, id: str) -> Any:
            if id == ids[0]:
                raise ValueError("a defect")
            return whole(tx, id)

        monkeypatch.setattr(evolving, "learn_episode", breaks)
        answer = await memos.evolve(now=True)
        assert answer.learned == 49 and answer.waiting == 1
        assert any("in an hour" in reason for reason in answer.reasons)


async def test_a_backlog_is_worked_off_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evolving, "SLICE_SECONDS", 0.02)
    async with system(tmp_path) as memos:
        ids = await fifty(memos)
        await memos._parts().evolving.soon(await memos._resolved("default", None, "read"), 0)

        async def all_of_them() -> bool:
            return all([await valued(memos, id) for id in ids])

        await until(all_of_them, 30)
        found = await memos._parts().queue.find(TaskQuery(kinds=[EVOLVE]), limit=100)
        assert len(found.items) > 1


async def test_a_deleted_cube_and_one_of_its_name_are_left_alone(tmp_path: Path) -> None:
    async with system(tmp_path) as memos:
        await memos.create_cube("work")
        await memos.start_turn("do it", recall=False, cube="work")
        await memos.end_session(cube="work")
        await memos.delete_cube("work")
        await memos.create_cube("work")
        await asyncio.sleep(0.3)
        assert (await memos.episodes(cube="work")).items == ()


async def test_a_trial_in_one_cube_counts_in_the_one_that_was_asked_and_where_that_copy_is_from(tmp_path: Path) -> None:
    async with system(tmp_path, background=False) as memos:
        begun = await memos.start_turn("install psycopg2", session="s", recall=False)
        await memos.create_cube("origin")
        await memos.create_cube("team")
        does = SkillBody(name="install", procedure=(Action("shell", "apt install {library}"),))
        original = await skill(memos, "origin", does)
        copy = await skill(memos, "team", replace(does, shared_from=f"origin/{original}"))
        other = await skill(
            memos, "team", SkillBody(name="brew", procedure=(Action("shell", "brew install {library}"),))
        )
        id = begun.episode

        def hand_out(tx: Any) -> None:
            lived.hand_out(tx, copy, id, tx.now, home="team")
            lived.hand_out(tx, other, id, tx.now, home="team")

        async with memos._cube("default", None, "write") as (_, store):
            await store.write(hand_out)
        await memos.report_step("shell", "apt install libpq-dev", ok=True, session="s")
        await memos.report_outcome(1.0, episode=id)
        await memos.end_session("s")
        await memos.evolve(now=True)
        await memos.evolve(now=True)  # once, however often
        assert await counted(memos, "team", copy) == (1, 0)
        assert await counted(memos, "origin", original) == (1, 0)
        assert await counted(memos, "team", other) == (0, 0)  # nobody did what it says
        await memos.report_outcome(-1.0, episode=id)  # the user found out later
        await memos.report_outcome(-1.0, source="verifier", episode=id)
        await memos.evolve(now=True)
        assert await counted(memos, "team", copy) == (0, 1)
        assert await counted(memos, "origin", original) == (0, 1)


async def skill(memos: AsyncMemOS, cube: str, body: SkillBody) -> str:
    memory = Memory(new_id(), Kind.SKILL, body.name, owner="default", body=body.to_body())
    async with memos._cube("default", cube, "write") as (_, store):
        await store.write(lambda tx: tx.put_new(memory, terms=term_row(memory)))
    return memory.id


async def counted(memos: AsyncMemOS, cube: str, id: str) -> tuple[int, int]:
    async with memos._cube("default", cube, "read") as (_, store):
        found = await store.lived(lived.counted, id)
        return found.passes, found.fails


async def test_a_model_error_of_another_kind_leaves_the_rules(tmp_path: Path) -> None:
    model = ScriptedModel(ModelError("refused"))
    async with system(tmp_path, llm=model, background=False) as memos:
        id = await worked(memos)
        await memos.end_session("s")
        await memos.evolve(now=True)
        assert (await memos.episode(id)).episode.reward is not None
        assert asked(model) == 1
