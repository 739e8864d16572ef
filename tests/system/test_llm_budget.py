"""A limit of tokens for a user and a day: models are not asked beyond it, nothing is lost, and tomorrow is another day."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fine_stub import StubReader

from llm_models import ScriptedModel
from memos import AsyncMemOS, background, understanding
from memos.errors import Busy, InvalidInput, ModelBusy, OverBudget
from memos.memory.time import utcnow
from memos.models.llm.port import TokenUsage
from memos.models.llm.purposes import Call
from memos.scheduler.kinds import READ
from memos.storage.tasks import Task, TaskQuery, TaskState
from memos.system import ledger as ledgers


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(understanding, "FineReader", StubReader)
    monkeypatch.setattr(background, "READ_LINGER_SECONDS", 0.05)


def system(home: Path, **options: Any) -> AsyncMemOS:
    given = {"background": False, "llm": ScriptedModel({"facts": []}), "llm_tokens_per_user_per_day": 100, **options}
    return AsyncMemOS(home, embedder="none", **given)


def spend(memos: AsyncMemOS, user: str, tokens: int = 100) -> None:
    memos._parts().ledger.record(Call(user, "chat", "m", TokenUsage(tokens, 0), True, 0.1))


async def test_a_chat_beyond_the_budget_is_busy_and_says_until_when(tmp_path: Path) -> None:
    async with system(tmp_path) as memos:
        spend(memos, "ann", 99)
        await memos.chat("Hi.", user="ann", add=False)
        with pytest.raises(
            OverBudget, match=r"'ann' has used \d+ of 100 tokens .* from \d{4}-\d\d-\d\d 00:00 UTC"
        ) as caught:
            await memos.chat("Hi.", user="ann")
        assert isinstance(caught.value, Busy) and isinstance(caught.value, ModelBusy)
        assert 0 < caught.value.retry_after <= 86_400
        assert not (await memos.list(user="ann")).items
        await memos.chat("Hi.", user="bob")


async def test_what_other_processes_counted_counts(tmp_path: Path) -> None:
    async with system(tmp_path) as memos, system(tmp_path) as other:
        spend(other, "ann")
        await other.llm_usage()
        with pytest.raises(OverBudget):
            await memos.chat("Hi.", user="ann")


async def test_tomorrow_is_another_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with system(tmp_path) as memos:
        spend(memos, "ann")
        with pytest.raises(OverBudget):
            await memos.chat("Hi.", user="ann")
        tomorrow = utcnow() + timedelta(days=1)

        def later() -> datetime:
            return tomorrow

        monkeypatch.setattr(ledgers, "utcnow", later)
        assert (await memos.chat("Hi.", user="ann", add=False)).text


async def test_reading_is_put_off_and_the_task_says_so(tmp_path: Path) -> None:
    model = ScriptedModel({"facts": [[1, "cat", "Tom"]]})
    async with system(tmp_path, llm=model, background=True) as memos:
        spend(memos, "ann")
        await memos.add("cat = Tom", user="ann", task_id="turn")
        await memos.add("cat = Tom", user="bob", wait=True)
        task = await told(memos, "turn")
        assert task.state is TaskState.WAITING and task.attempts == 0
        assert "user 'ann' has used 100 of 100 tokens" in (task.error or "")
        assert (await memos.stats(user="bob")).store.pending.get(READ, 0) == 0
        assert (await memos.stats(user="ann")).store.pending[READ] == 1
        assert model.calls == 1
    async with system(tmp_path, llm=model, llm_tokens_per_user_per_day=0) as memos:
        await memos.flush(user="ann")
        assert (await memos.stats(user="ann")).store.pending.get(READ, 0) == 0


async def told(memos: AsyncMemOS, name: str) -> Task:
    """The task that reads, once it says why it is not done."""
    for _ in range(500):
        for task in (await memos.tasks.find(TaskQuery(caller_id=name))).items:
            if task.kind == READ and task.error:
                return task
        await asyncio.sleep(0.02)
    raise AssertionError("no task says why")


async def test_other_users_of_a_cube_are_read_on(tmp_path: Path) -> None:
    async with system(tmp_path) as memos:
        await memos.create_cube("team", user="ann")
        await memos.share("team", "bob", "write", user="ann")
        spend(memos, "ann")
        await memos.add("one = 1", user="ann", cube="team", session="a")
        await memos.add("two = 2", user="bob", cube="team", session="b")
        with pytest.raises(Exception, match="has used 100 of 100"):
            await memos.flush(user="ann", cube="team")
        assert (await memos.stats(user="ann", cube="team")).store.pending[READ] == 1


async def test_feedback_goes_on_by_rules(tmp_path: Path) -> None:
    model = ScriptedModel("nothing usable")
    async with system(tmp_path, llm=model, reading="fast") as memos:
        await memos.add("I live in Oslo.", user="ann", wait=True)
        spend(memos, "ann")
        assert (await memos.feedback("No, it's Bergen, not Oslo.", user="ann")).understood
        assert not model.requests


async def test_what_no_user_asked_for_has_no_limit(tmp_path: Path) -> None:
    async with system(tmp_path) as memos:
        spend(memos, "system", 1_000)
        memos._parts().ledger.check("system")


@pytest.mark.parametrize("wrong", [-1, 1.5, "many"])
def test_a_limit_is_a_whole_number(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="llm_tokens_per_user_per_day"):
        AsyncMemOS(tmp_path, llm_tokens_per_user_per_day=wrong)
