"""Reading with a model: after the rules, in runs, in the background or waited for; and what is made of it in the cube."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fine_stub import StubReader

from llm_models import ScriptedModel
from memos import AsyncMemOS, background, understanding
from memos.errors import InvalidInput, ModelBusy, ModelError, ModelTimeout, ModelUnavailable
from memos.memory.model import Kind, Memory
from memos.models.llm.port import ChatRequest
from memos.models.resilience import NotAsked
from memos.scheduler import worker as workers
from memos.scheduler.kinds import READ
from memos.storage.tasks import TaskQuery, TaskState


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch) -> StubReader:
    made = StubReader()
    monkeypatch.setattr(understanding, "FineReader", lambda: made)
    monkeypatch.setattr(background, "READ_LINGER_SECONDS", 0.05)
    monkeypatch.setattr(workers, "BACKOFF_BASE", 0.01)
    monkeypatch.setattr(workers, "PUT_OFF_LEAST", 0.01)
    monkeypatch.setattr(understanding, "SOON", 0.05)
    return made


def echo(request: ChatRequest) -> dict[str, Any]:
    """Every message "slot = value" is a fact."""
    lines = [line.split(": ", 1) for line in request.messages[-1].content.splitlines()]
    return {"facts": [[int(n), *text.split(" = ")] for n, text in lines if " = " in text]}


async def derived(memos: AsyncMemOS, user: str = "ann", *, every: bool = False) -> dict[str, Memory]:
    page = await memos.list(user=user, include_inactive=every, limit=1000)
    return {m.text: m for m in page.items if m.kind not in (Kind.TRACE, Kind.ENTITY)}


async def pending(memos: AsyncMemOS, user: str = "ann") -> int:
    return (await memos.stats(user=user)).store.pending.get(READ, 0)


@pytest.fixture
async def memos(tmp_path: Path) -> AsyncIterator[AsyncMemOS]:
    async with AsyncMemOS(tmp_path, embedder="none", llm=ScriptedModel(echo)) as made:
        yield made


@pytest.fixture
async def quiet(tmp_path: Path) -> AsyncIterator[tuple[AsyncMemOS, ScriptedModel]]:
    """Nothing in the background; and the model, whose answers a test sets."""
    model = ScriptedModel(echo)
    async with AsyncMemOS(tmp_path, embedder="none", llm=model, background=False) as made:
        yield made, model


async def test_what_is_added_is_read_by_rules_and_then_by_the_model(memos: AsyncMemOS) -> None:
    added = await memos.add(["I live in Oslo.", "cat = Tom"], user="ann", task_id="turn")
    assert added.pending and added.task is not None
    assert await memos.tasks.wait(TaskQuery(caller_id="turn"), 10)
    states = {t.kind: t.state for t in (await memos.tasks.find(TaskQuery(caller_id="turn"))).items}
    assert states == {"digest": TaskState.COMPLETED, READ: TaskState.COMPLETED}
    facts = await derived(memos)
    assert set(facts) == {"Ann lives in Oslo.", "cat: Tom"}
    assert facts["cat: Tom"].body["reader"] == "scripted:model" and "reader" not in facts["Ann lives in Oslo."].body
    (link,) = await memos.neighbors(facts["cat: Tom"].id, types=["DERIVED_FROM"], user="ann")
    assert link.edge.dst == added.ids[1] and link.edge.info == {"reader": "scripted:model"}
    assert (await memos.get(added.ids[1], user="ann")).version == 1  # the record is as it was
    assert await pending(memos) == 0


async def test_waiting_returns_when_the_model_has_read(memos: AsyncMemOS) -> None:
    added = await memos.add("cat = Tom", user="ann", wait=True, task_id="turn")
    assert not added.pending and "cat: Tom" in await derived(memos)
    assert await memos.tasks.wait(TaskQuery(caller_id="turn"), 1)


async def test_fast_leaves_it_to_the_rules(memos: AsyncMemOS) -> None:
    added = await memos.add("cat = Tom", user="ann", wait=True, reading="fast")
    assert not added.pending and not await derived(memos) and await pending(memos) == 0


async def test_a_mode_that_is_none_is_refused(memos: AsyncMemOS) -> None:
    with pytest.raises(InvalidInput, match="fast"):
        await memos.add("cat = Tom", user="ann", reading="slow")  # type: ignore[arg-type]


async def test_fine_without_a_model_is_said_and_done_by_rules(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        added = await memos.add("I live in Oslo.", user="ann", wait=True, reading="fine")
        assert added.notices == (understanding.NO_MODEL,) and set(await derived(memos)) == {"Ann lives in Oslo."}
        assert await pending(memos) == 0
        assert (await memos.add("I like tea.", user="ann")).notices == ()


async def test_messages_that_come_together_are_read_together(memos: AsyncMemOS, reader: StubReader) -> None:
    for n in range(5):
        await memos.add(f"slot{n} = {n}", user="ann", task_id=f"turn{n}")
    assert [await memos.tasks.wait(TaskQuery(caller_id=f"turn{n}"), 10) for n in range(5)] == [True] * 5
    assert len(reader.seen) <= 2 and {f"slot{n}: {n}" for n in range(5)} <= set(await derived(memos))


async def test_flush_reads_at_once(quiet: tuple[AsyncMemOS, ScriptedModel]) -> None:
    memos, _ = quiet
    await memos.add("cat = Tom", user="ann")
    assert not await derived(memos) and await pending(memos) == 1
    await memos.flush(user="ann")
    assert "cat: Tom" in await derived(memos)


async def test_the_model_is_told_what_rules_derived(
    quiet: tuple[AsyncMemOS, ScriptedModel], reader: StubReader
) -> None:
    memos, model = quiet
    model.answers = [{"wrong": [0]}]
    await memos.add("I live in Oslo.", user="ann", wait=True)
    assert reader.noted == [["Ann lives in Oslo."]] and not await derived(memos)
    (wrong,) = (await derived(memos, every=True)).values()
    assert wrong.status == "retracted"
    await memos.undo(wrong.id, user="ann")
    assert set(await derived(memos)) == {"Ann lives in Oslo."}


async def test_what_rests_on_other_records_too_is_not_called_wrong(
    quiet: tuple[AsyncMemOS, ScriptedModel], reader: StubReader
) -> None:
    memos, model = quiet
    await memos.add("I live in Oslo.", user="ann", reading="fast", wait=True)
    model.answers = [{"wrong": []}]
    await memos.add("You know that I live in Oslo.", user="ann", wait=True)
    assert reader.noted == [[]] and set(await derived(memos)) == {"Ann lives in Oslo."}


async def test_evidence_in_several_messages_is_kept(quiet: tuple[AsyncMemOS, ScriptedModel]) -> None:
    memos, model = quiet
    model.answers = [{"facts": [[0, "cat", "Tom"]], "also": {"cat": [1]}}]
    added = await memos.add(["We have a cat.", "His name is Tom."], user="ann", wait=True)
    fact = (await derived(memos))["cat: Tom"]
    assert [s.memory_id for s in fact.sources] == list(added.ids)
    links = await memos.neighbors(fact.id, types=["DERIVED_FROM"], user="ann")
    assert {link.edge.dst for link in links} == set(added.ids)


async def test_names_and_relations_become_a_graph_that_goes_with_its_records(
    quiet: tuple[AsyncMemOS, ScriptedModel],
) -> None:
    memos, model = quiet
    model.answers = [{"relations": [[0, "Ada", "works for", "Acme"], [1, "Ada", "works for", "Acme"]]}]
    first, second = (await memos.add(["Ada is at Acme.", "Ada, of Acme."], user="ann", wait=True)).ids

    async def relations() -> list[tuple[str | None, Any]]:
        ids = [m.id for m in (await memos.list(kinds=["entity"], user="ann")).items]
        links = [n for i in ids for n in await memos.neighbors(i, types=["RELATES_TO"], direction="out", user="ann")]
        return [(link.edge.predicate, link.edge.info["evidence"]) for link in links]

    assert await relations() == [("works for", [first, second])]
    await memos.delete(first, hard=False, user="ann")
    assert await relations() == [("works for", [second])]
    await memos.undo(first, user="ann")
    assert await relations() == [("works for", [first, second])]
    await memos.delete(first, user="ann")
    assert await relations() == [("works for", [second])]
    await memos.delete(second, user="ann")
    assert await relations() == []


async def test_one_reading_is_undone_as_one_change(quiet: tuple[AsyncMemOS, ScriptedModel]) -> None:
    memos, _ = quiet
    await memos.add(["cat = Tom", "dog = Rex"], user="ann", wait=True)
    facts = await derived(memos)
    await memos.undo(facts["cat: Tom"].id, user="ann")
    assert not await derived(memos)
    await memos.flush(user="ann")
    assert not await derived(memos)  # what was taken back does not come back by itself


# -- failures ----------------------------------------------------------------------------------------------------


async def test_a_model_that_fails_while_somebody_waits_is_told_and_tried_again(tmp_path: Path) -> None:
    model = ScriptedModel(ModelBusy("too much", 0.01), echo)
    async with AsyncMemOS(tmp_path, embedder="none", llm=model) as memos:
        added = await memos.add("cat = Tom", user="ann", wait=True, task_id="turn")
        assert added.pending and "not read by the model yet" in added.notices[0]
        assert await memos.tasks.wait(TaskQuery(caller_id="turn"), 10)
        assert "cat: Tom" in await derived(memos)


@pytest.mark.parametrize(
    "error", [ModelBusy("too much", 0.01), ModelTimeout("late"), ModelUnavailable("gone"), NotAsked("open", 0.01)]
)
async def test_a_model_that_is_away_puts_reading_off_and_counts_nothing(tmp_path: Path, error: ModelError) -> None:
    model = ScriptedModel(*[error] * 3, echo)
    async with AsyncMemOS(tmp_path, embedder="none", llm=model) as memos:
        await memos.add("cat = Tom", user="ann", task_id="turn")
        assert await memos.tasks.wait(TaskQuery(caller_id="turn"), 10)
        task = (await memos.tasks.find(TaskQuery(caller_id="turn", kinds=[READ]))).items[0]
        assert task.state is TaskState.COMPLETED and model.calls == 4 and "cat: Tom" in await derived(memos)


async def test_answers_that_cannot_be_used_let_the_records_rest_visibly(tmp_path: Path) -> None:
    model = ScriptedModel("no JSON at all")
    async with AsyncMemOS(tmp_path, embedder="none", llm=model) as memos:
        await memos.add("cat = Tom", user="ann", task_id="turn")
        assert await memos.tasks.wait(TaskQuery(caller_id="turn"), 10)
        task = (await memos.tasks.find(TaskQuery(caller_id="turn", kinds=[READ]))).items[0]
        assert task.state is TaskState.FAILED and "reread" in (task.error or "") and "Tom" not in (task.error or "")
        assert await pending(memos) == 1 and model.calls == 10
        model.answers = [echo]
        assert await memos.tasks.retry(TaskQuery(caller_id="turn")) == 1
        assert await memos.tasks.wait(TaskQuery(caller_id="turn"), 10)
        assert await pending(memos) == 0 and "cat: Tom" in await derived(memos)


async def test_one_message_that_no_answer_comes_for_does_not_hold_up_the_others(tmp_path: Path) -> None:
    def picky(request: ChatRequest) -> Any:
        return "no" if "poison" in request.messages[1].content else echo(request)

    async with AsyncMemOS(tmp_path, embedder="none", llm=ScriptedModel(picky)) as memos:
        await memos.add(["cat = Tom", "poison = x", "dog = Rex"], user="ann", task_id="turn")
        assert await memos.tasks.wait(TaskQuery(caller_id="turn"), 10)
        assert set(await derived(memos)) == {"cat: Tom", "dog: Rex"} and await pending(memos) == 1


async def test_a_record_edited_while_it_is_read_keeps_its_mark_and_nothing_of_the_old_text_is_kept(
    quiet: tuple[AsyncMemOS, ScriptedModel], monkeypatch: pytest.MonkeyPatch, reader: StubReader
) -> None:
    memos, _ = quiet
    added = await memos.add(["cat = Tom", "dog = Rex"], user="ann")
    read = reader.read

    async def meanwhile(*args: Any) -> Any:
        result = await read(*args)
        monkeypatch.setattr(reader, "read", read)
        await memos.update(added.ids[0], text="cat = Kit", user="ann")
        return result

    monkeypatch.setattr(reader, "read", meanwhile)
    await memos.flush(user="ann")
    assert set(await derived(memos)) == {"dog: Rex"} and await pending(memos) == 1
    await memos.flush(user="ann")
    assert set(await derived(memos)) == {"dog: Rex", "cat: Kit"}


async def test_marks_without_a_task_are_found_at_the_next_start(tmp_path: Path) -> None:
    model = ScriptedModel(echo)
    async with AsyncMemOS(tmp_path, embedder="none", llm=model, background=False) as memos:
        await memos.add("cat = Tom", user="ann")
    async with AsyncMemOS(tmp_path, embedder="none", llm=model) as memos:
        await memos.start()
        while await pending(memos):
            await memos.tasks.wait(TaskQuery(), 1)
        assert "cat: Tom" in await derived(memos)


async def test_nothing_of_what_was_said_is_in_the_task(memos: AsyncMemOS) -> None:
    added = await memos.add("cat = Tom", user="ann", task_id="turn")
    for task in (await memos.tasks.find(TaskQuery(caller_id="turn"))).items:
        assert dict(task.payload) == {"ids": list(added.ids)} and "Tom" not in json.dumps(dict(task.result))
