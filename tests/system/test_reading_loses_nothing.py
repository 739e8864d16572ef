"""A thousand runs of messages, a model that fails three times in ten, a process that is killed: everything ends read."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fine_stub import StubReader

from llm_models import ScriptedModel
from memos import AsyncMemOS, understanding
from memos.errors import ModelBusy, ModelTimeout, ModelUnavailable
from memos.models.llm.port import ChatReply, ChatRequest
from memos.scheduler import worker as workers
from memos.scheduler.kinds import READ
from memos.storage.tasks import TaskQuery, TaskState
from stubs import child_env

RUNS = 1_000


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(understanding, "FineReader", lambda: StubReader(size=1))
    monkeypatch.setattr(workers, "BACKOFF_BASE", 0.005)
    monkeypatch.setattr(workers, "PUT_OFF_LEAST", 0.01)


def echo(request: ChatRequest) -> dict[str, Any]:
    lines = [line.split(": ", 1) for line in request.messages[1].content.splitlines()]
    return {"facts": [[int(n), *text.split(" = ")] for n, text in lines]}


def failing(share: float, rng: random.Random) -> Any:
    def answer(request: ChatRequest) -> Any:
        if rng.random() >= share:
            return echo(request)
        return rng.choice(
            [
                ModelBusy("429", 0.01),
                ModelUnavailable("500"),
                ModelTimeout("late"),
                "<html>garbage</html>",
                "",
                ChatReply('{"facts": [[0, "slot', finish="length"),
            ]
        )

    return answer


async def read_all(tmp_path: Path, model: ScriptedModel) -> tuple[AsyncMemOS, set[str]]:
    async with AsyncMemOS(tmp_path, embedder="none", llm=model) as memos:
        await memos.add([f"slot{n} = {n}" for n in range(RUNS)], user="ann", task_id="all")
        assert await memos.tasks.wait(TaskQuery(caller_id="all"), 100)
        (task,) = (await memos.tasks.find(TaskQuery(caller_id="all", kinds=[READ]))).items
        assert task.state is TaskState.COMPLETED, task.error
        assert (await memos.stats(user="ann")).store.pending == {}
        return memos, await read_by_model(memos)


async def read_by_model(memos: AsyncMemOS) -> set[str]:
    found, cursor = set(), None
    while True:
        page = await memos.list(user="ann", kinds=["fact"], limit=1000, cursor=cursor)
        found |= {m.text for m in page.items if "reader" in m.body}
        cursor = page.cursor
        if cursor is None:
            return found


async def test_nothing_is_lost_when_three_calls_in_ten_fail(tmp_path: Path) -> None:
    model = ScriptedModel(failing(0.3, random.Random(7)))
    _, facts = await read_all(tmp_path, model)
    assert facts == {f"slot{n}: {n}" for n in range(RUNS)}
    assert model.calls <= 2.0 * RUNS


async def test_a_run_that_succeeds_costs_one_call(tmp_path: Path) -> None:
    model = ScriptedModel(echo)
    _, facts = await read_all(tmp_path, model)
    assert len(facts) == RUNS and model.calls <= 1.2 * RUNS


async def test_a_killed_process_loses_nothing(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none", llm=ScriptedModel(echo), background=False) as memos:
        await memos.add([f"slot{n} = {n}" for n in range(60)], user="ann")
    here = str(Path(__file__).parent)
    env = child_env()
    env["PYTHONPATH"] = ":".join([env["PYTHONPATH"], here, str(Path(here).parent)])
    child = subprocess.Popen(
        [sys.executable, f"{here}/reading_child.py", str(tmp_path), "0.1"], env=env, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    seen = 0
    for line in child.stdout:
        seen += line == "call\n"
        if seen == 18:
            child.send_signal(signal.SIGKILL)
            break
    child.wait()
    child.stdout.close()
    async with AsyncMemOS(tmp_path, embedder="none", llm=ScriptedModel(echo), background=False) as memos:
        left = (await memos.stats(user="ann")).store.pending[READ]
        facts = await read_by_model(memos)
        assert 0 < left < 60 and len(facts) == 60 - left  # what was read is read whole, what was not is still marked
        await memos.flush(user="ann")
        assert await read_by_model(memos) == {f"slot{n}: {n}" for n in range(60)}
        assert (await memos.stats(user="ann")).store.pending == {}
