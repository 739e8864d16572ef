"""Reading anew: what an earlier reading derived is replaced, in one change; what others say, and what was edited, stays."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import fine_stub
import pytest
from fine_stub import StubReader, fact

from llm_models import ScriptedModel
from memos import AsyncMemOS, understanding
from memos.errors import AccessDenied, InvalidInput, NotFound
from memos.memory.model import Kind, Memory
from memos.memory.reading import ReadingConfig
from memos.scheduler.kinds import READ
from memos.storage.tasks import TaskState

NOTHING = {"facts": []}


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch) -> StubReader:
    made = StubReader()
    monkeypatch.setattr(understanding, "FineReader", lambda: made)
    return made


@pytest.fixture
async def memos(tmp_path: Path) -> AsyncIterator[tuple[AsyncMemOS, ScriptedModel]]:
    model = ScriptedModel(NOTHING)
    async with AsyncMemOS(tmp_path, embedder="none", llm=model, background=False) as made:
        yield made, model


Place = tuple[AsyncMemOS, ScriptedModel]


async def derived(memos: AsyncMemOS) -> dict[str, Memory]:
    page = await memos.list(user="ann", limit=1000)
    return {m.text: m for m in page.items if m.kind not in (Kind.TRACE, Kind.ENTITY)}


async def test_another_model_replaces_what_the_former_one_derived(memos: Place) -> None:
    core, model = memos
    model.answers = [{"facts": [[0, "cat", "Tom"], [1, "dog", "Rex"]], "names": [[0, "Tom"], [1, "Rex"]]}]
    added = await core.add(["Our cat is Tom.", "Rex is a dog."], user="ann", wait=True)
    before = await derived(core)
    model.model_id, model.answers = "better:model", [{"facts": [[0, "cat", "Tommy"], [1, "dog", "Rex"]]}]
    done = await core.reread(session="default", wait=True, user="ann")
    assert (done.records, done.pending, done.task) == (2, False, None)
    now = await derived(core)
    assert now["dog: Rex"].id == before["dog: Rex"].id and "cat: Tom" not in now
    assert {m.body["reader"] for t, m in now.items() if t in ("cat: Tommy", "dog: Rex")} == {"better:model"}
    links = [link for id in added.ids for link in await core.neighbors(id, types=["MENTIONS"], user="ann")]
    assert not [link for link in links if "reader" in link.edge.info]
    await core.undo(now["cat: Tommy"].id, user="ann")
    back = await derived(core)
    assert back["cat: Tom"].id == before["cat: Tom"].id and back["dog: Rex"].body["reader"] == "scripted:model"


async def test_what_rules_derived_stays(memos: Place) -> None:
    core, model = memos
    await core.add("I live in Oslo.", user="ann", wait=True)
    model.answers = [{"facts": [[0, "home", "Oslo"]]}]
    await core.reread(everything=True, wait=True, user="ann")
    assert set(await derived(core)) == {"Ann lives in Oslo.", "home: Oslo"}
    model.answers = [NOTHING]
    await core.reread(everything=True, wait=True, user="ann")
    assert set(await derived(core)) == {"Ann lives in Oslo."}


async def test_what_other_records_say_too_loses_only_this_evidence(memos: Place) -> None:
    core, model = memos
    model.answers = [{"facts": [[0, "cat", "Tom"]]}]
    first = await core.add("Tom is our cat.", user="ann", wait=True)
    second = await core.add("Tom, our cat, is ill.", user="ann", wait=True)
    fact = (await derived(core))["cat: Tom"]
    assert {s.memory_id for s in fact.sources} == {*first.ids, *second.ids}
    model.answers = [NOTHING]
    await core.reread(first.ids[0], wait=True, user="ann")
    fact = (await derived(core))["cat: Tom"]
    assert {s.memory_id for s in fact.sources} == set(second.ids)
    await core.reread(second.ids[0], wait=True, user="ann")
    assert "cat: Tom" not in await derived(core)


async def test_what_somebody_edited_stays(memos: Place) -> None:
    core, model = memos
    model.answers = [{"facts": [[0, "cat", "Tom"]]}]
    await core.add("Our cat is Tom.", user="ann", wait=True)
    fact = (await derived(core))["cat: Tom"]
    await core.update(fact.id, text="Our cat is Thomas.", user="ann")
    model.answers = [{"wrong": [0], "facts": [[0, "cat", "Kit"]]}, NOTHING]
    await core.reread(fact.id, wait=True, user="ann")
    assert "Our cat is Thomas." in {m.text for m in (await core.list(user="ann", include_inactive=True)).items}
    await core.reread(everything=True, wait=True, user="ann")
    kept = await core.get(fact.id, user="ann")
    assert kept.text == "Our cat is Thomas." and kept.status != "retracted"


async def test_a_misreading_of_the_rules_is_not_kept_beside_what_the_model_read(memos: Place) -> None:
    core, model = memos
    await core.add("I live in Oslo.", user="ann", reading="fast", wait=True)
    rules = (await derived(core))["Ann lives in Oslo."]
    assert rules.slot is not None
    model.answers = [{"facts": [[0, rules.slot, "Oslo, the one in Minnesota"]]}]
    await core.reread(everything=True, wait=True, user="ann")
    assert set(await derived(core)) == {f"{rules.slot}: Oslo, the one in Minnesota"}
    assert (await core.get(rules.id, user="ann")).status == "retracted"


async def test_rereading_is_a_task_with_progress(tmp_path: Path) -> None:
    model = ScriptedModel(NOTHING)
    async with AsyncMemOS(tmp_path, embedder="none", llm=model) as core:
        await core.add([f"message number {n}" for n in range(40)], user="ann", reading="fast", wait=True)
        done = await core.reread(everything=True, user="ann")
        assert done.records == 40 and done.task is not None and done.pending
        seen = [task async for task in core.tasks.follow(done.task, 0.01)]
        assert seen[-1].state is TaskState.COMPLETED and seen[-1].kind == READ and model.calls == 5


async def test_records_that_rest_are_read_again_when_asked(memos: Place) -> None:
    core, model = memos
    model.answers = ["not at all"]
    await core.add("Our cat is Tom.", user="ann")
    for _ in range(6):
        try:
            await core.flush(user="ann")
        except understanding.NotRead:
            continue
    assert model.calls == 10
    model.answers = [{"facts": [[0, "cat", "Tom"]]}]
    await core.reread(everything=True, wait=True, user="ann")
    assert "cat: Tom" in await derived(core)


async def test_what_cannot_be_meant_is_refused(memos: Place, tmp_path: Path) -> None:
    core, _ = memos
    await core.add("Our cat is Tom.", user="ann")
    with pytest.raises(InvalidInput):
        await core.reread(user="ann")
    with pytest.raises(InvalidInput):
        await core.reread(session="s", everything=True, user="ann")
    with pytest.raises(NotFound):
        await core.reread("01a22bd7-434c-7185-a89c-1e287d018f16", user="ann")
    assert (await core.reread(session="another", user="ann")).records == 0
    async with AsyncMemOS(tmp_path / "none", embedder="none") as without:
        await without.add("I live in Oslo.", user="ann", derive=False)
        done = await without.reread(everything=True, wait=True, user="ann")
        assert done.notices == (understanding.NO_MODEL,) and not done.pending
        assert set(await derived(without)) == {"Ann lives in Oslo."}
        again = await without.reread(everything=True, user="ann")
        assert again.task is not None and await without.tasks.wait(again.task, 10)


async def test_a_cube_says_how_it_wants_to_be_read(memos: Place, reader: StubReader) -> None:
    core, model = memos
    assert await core.reading(user="ann") == ReadingConfig()
    await core.configure_reading(instructions="Only what is about cats.", tags=["pets", "home"], user="ann")
    config = await core.configure_reading(mode="fine", user="ann")
    assert config == ReadingConfig("fine", "Only what is about cats.", ("pets", "home"))
    await core.add("Our cat is Tom.", user="ann", tags=["vet"], wait=True)
    assert reader.seen == [("Only what is about cats.", ("pets", "home", "vet"))]
    await core.configure_reading(mode="fast", user="ann")
    await core.add("Our dog is Rex.", user="ann", wait=True)
    assert model.calls == 1
    await core.add("Our fish is Wanda.", user="ann", wait=True, reading="fine")
    assert model.calls == 2


async def test_only_an_admin_configures(memos: Place) -> None:
    core, _ = memos
    await core.create_cube("team", user="ann")
    await core.share("team", "bob", "write", user="ann")
    with pytest.raises(AccessDenied):
        await core.configure_reading(mode="fast", user="bob", cube="team")
    with pytest.raises(InvalidInput):
        await core.configure_reading(mode="quick", user="ann", cube="team")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        await core.configure_reading(instructions="x" * 2_001, user="ann", cube="team")
    with pytest.raises(InvalidInput):
        await core.configure_reading(tags=["x" * 65], user="ann", cube="team")
    assert await core.reading(user="bob", cube="team") == ReadingConfig()


SMITH = {"facts": [[0, "user|job", "blacksmith"]]}


async def rows(memos: AsyncMemOS) -> tuple[int, int, int]:
    """How much a cube holds, with all versions there ever were."""
    stats = (await memos.stats(user="ann")).store
    return stats.memories, stats.versions, stats.edges


@pytest.mark.parametrize("again", [SMITH, {"facts": [[0, "user|job", "blacksmith"], [0, "user|cat", "Tom"]]}])
async def test_what_feedback_corrected_is_not_derived_anew(memos: Place, again: dict[str, object]) -> None:
    core, model = memos
    model.answers = [again]
    (record,) = (await core.add("I work as a blacksmith.", user="ann", wait=True)).ids
    model.answers = [{"intents": []}]
    done = await core.feedback("That's wrong, I am a farrier, not a blacksmith.", user="ann")
    wrong = done.operations[0].targets[0].id
    before = await rows(core)
    model.answers = [again]
    for _ in range(3):
        await core.reread(record, wait=True, user="ann")
        assert await rows(core) == before
    assert (await core.get(wrong, user="ann")).status == "superseded"
    jobs = [m.text for m in (await derived(core)).values() if m.slot == "user|job"]
    assert jobs == ["user|job: farrier"]


async def test_what_adds_up_and_was_corrected_is_not_current_again(
    memos: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    core, model = memos
    several = lambda trace, slot, value, also=(), tags=(): fact(trace, slot, value, also, tags, single=False)  # noqa: E731
    monkeypatch.setattr(fine_stub, "fact", several)
    model.answers = [{"facts": [[0, "user|pet", "a dog"]]}]
    (record,) = (await core.add("We got a dog.", user="ann", wait=True)).ids
    model.answers = [{"intents": []}]
    await core.feedback("No, it is a fox, not a dog.", user="ann")
    before, known = await rows(core), set(await derived(core))
    assert "user|pet: a dog" not in known
    model.answers = [{"facts": [[0, "user|pet", "a dog"]]}]
    await core.reread(record, wait=True, user="ann")
    assert (await rows(core), set(await derived(core))) == (before, known)


async def test_what_somebody_took_back_is_not_derived_anew_from_the_same_record(memos: Place) -> None:
    core, model = memos
    model.answers = [SMITH]
    (record,) = (await core.add("I make horseshoes.", user="ann", wait=True)).ids
    await core.delete((await derived(core))["user|job: blacksmith"].id, hard=False, user="ann")
    before = await rows(core)
    for _ in range(2):
        await core.reread(record, wait=True, user="ann")
        assert (await rows(core), await derived(core)) == (before, {})
    await core.add("I am a smith, did I say that?", user="ann", wait=True)
    assert set(await derived(core)) == {"user|job: blacksmith"}  # said once more


async def test_what_a_reading_took_back_another_may_bring_again(memos: Place) -> None:
    core, model = memos
    model.answers = [SMITH]
    await core.add("I make horseshoes.", user="ann", wait=True)
    model.answers = [NOTHING, SMITH]
    await core.reread(everything=True, wait=True, user="ann")
    assert await derived(core) == {}
    await core.reread(everything=True, wait=True, user="ann")
    assert set(await derived(core)) == {"user|job: blacksmith"}
