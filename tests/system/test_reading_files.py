"""Files that a model reads: the pieces of a document teach facts, names and skills, with evidence in the piece."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from llm_models import ScriptedModel
from memos import AsyncMemOS, background
from memos.errors import ModelError, ModelUnavailable
from memos.memory.model import Kind, Memory, Status
from memos.models.llm.port import ChatRequest
from memos.scheduler import worker as workers
from memos.scheduler.kinds import READ
from memos.storage.tasks import TaskQuery, TaskState

VALVE = re.compile(r"^(\d+) [^:]*: .*?The (\w+) valve is (\w+)\.", re.MULTILINE | re.DOTALL)


def reads(request: ChatRequest) -> dict[str, Any]:
    """A model that notes every "The north valve is red." of the pieces, and how a filter is changed."""
    text = request.messages[-1].content
    facts, skills = [], []
    for line in re.split(r"\n(?=\d+ )", text):
        number = re.match(r"(\d+) ", line.removeprefix("<messages>\n"))
        for name, colour in re.findall(r"The (\w+) valve is (\w+)\.", line):
            assert number is not None
            facts.append(
                {
                    "kind": "fact",
                    "who": f"{name} valve",
                    "what": "colour",
                    "value": colour,
                    "text": f"The {name} valve is {colour}.",
                    "by": [int(number[1])],
                }
            )
        if "Change the filter" in line and number is not None:
            skills.append(
                {
                    "name": "Change the filter",
                    "when": "the pump whistles",
                    "steps": ["close the valve", "unscrew the filter", "put in the new filter"],
                    "by": [int(number[1])],
                }
            )
    return {"facts": facts, "names": [{"name": "Halvorsen Pumps", "type": "organisation"}], "skills": skills}


def page(name: str, colour: str) -> str:
    """About one piece of a document."""
    return f"## {name}\n\nThe {name} valve is {colour}.\n" + f"The pages on the {name} hall go on here.\n" * 30 + "\n"


MANUAL = page("north", "red") + page("south", "blue") + page("east", "green")


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "READ_LINGER_SECONDS", 0.05)
    monkeypatch.setattr(workers, "BACKOFF_BASE", 0.01)
    monkeypatch.setattr(workers, "PUT_OFF_LEAST", 0.01)


@pytest.fixture
async def quiet(tmp_path: Path) -> AsyncIterator[tuple[AsyncMemOS, ScriptedModel]]:
    model = ScriptedModel(reads)
    async with AsyncMemOS(tmp_path, embedder="none", llm=model, background=False) as made:
        yield made, model


async def facts(m: AsyncMemOS, **more: Any) -> dict[str, Memory]:
    return {f.text: f for f in (await m.list(kinds=["fact"], limit=100, **more)).items}


async def test_a_file_is_read_in_the_background_and_facts_point_at_their_piece(tmp_path: Path) -> None:
    model = ScriptedModel(reads)
    async with AsyncMemOS(tmp_path, embedder="none", llm=model) as m:
        done = await m.add_file(MANUAL.encode(), name="manual.md", task_id="mine")
        assert (done.pending, done.notices) == (True, ())
        assert done.task is not None
        assert await m.tasks.wait([done.task], timeout=10)
        named = (await m.tasks.find(TaskQuery(caller_id="mine"))).items
        assert {(t.kind, t.state) for t in named} >= {(READ, TaskState.COMPLETED)}
        found = await facts(m)
        assert set(found) >= {"The north valve is red.", "The south valve is blue.", "The east valve is green."}
        for text, fact in found.items():
            piece = await m.get(fact.sources[0].memory_id or "")
            assert piece.kind is Kind.CHUNK
            assert piece.body["document"] == done.id
            assert text in piece.text
        assert (await m.search("which colour is the south valve")).hits[0].memory.kind in (Kind.FACT, Kind.CHUNK)


async def test_a_skill_that_a_document_explains_is_a_candidate(quiet: tuple[AsyncMemOS, ScriptedModel]) -> None:
    m, _ = quiet
    text = (
        "# Care\n\nHalvorsen Pumps advises: Change the filter when the pump whistles. Close the valve, unscrew the filter, "
        "put in the new filter.\n"
    )
    await m.add_file(text.encode(), name="care.md", wait=True)
    (skill,) = (await m.list(kinds=["skill"])).items
    assert skill.body["state"] == "candidate"
    assert skill.body["steps"][0] == "close the valve"
    assert (await m.get(skill.sources[0].memory_id or "")).kind is Kind.CHUNK
    assert "Halvorsen Pumps" in [e.text for e in (await m.list(kinds=["entity"])).items]


async def test_fast_leaves_a_file_to_be_found_only(quiet: tuple[AsyncMemOS, ScriptedModel]) -> None:
    m, model = quiet
    done = await m.add_file(MANUAL.encode(), name="manual.md", reading="fast", wait=True)
    await m.flush()
    assert (model.calls, done.pending, await facts(m)) == (0, False, {})
    await m.reread(done.id, wait=True)
    assert len(await facts(m)) == 3


async def test_fine_without_a_model_says_so(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as m:
        done = await m.add_file(MANUAL.encode(), name="manual.md", reading="fine")
        assert done.notices
        assert not done.pending
        assert not (await m.stats()).store.pending.get(READ)


async def test_a_new_edition_has_only_what_changed_read(quiet: tuple[AsyncMemOS, ScriptedModel]) -> None:
    m, model = quiet
    await m.add_file(MANUAL.encode(), name="manual.md", document_id="d", wait=True)
    before = await facts(m)
    prompts = len(model.prompts)
    changed = MANUAL.replace("south valve is blue", "south valve is black")
    assert (await m.add_file(changed.encode(), name="manual.md", document_id="d", wait=True)).replaced
    asked = "\n".join(model.prompts[prompts:]).split("<messages>")[-1]
    assert "south" in asked
    assert "north valve" not in asked
    after = await facts(m)
    assert set(after) == {"The north valve is red.", "The south valve is black.", "The east valve is green."}
    assert after["The north valve is red."].id == before["The north valve is red."].id
    pieces = (await m.list(kinds=["chunk"], limit=100)).items
    assert "".join(p.text for p in sorted(pieces, key=lambda p: p.body["part"])) == changed


async def test_other_labels_alone_have_nothing_read(quiet: tuple[AsyncMemOS, ScriptedModel]) -> None:
    m, model = quiet
    await m.add_file(MANUAL.encode(), name="manual.md", document_id="d", wait=True)
    calls = model.calls
    done = await m.add_file(MANUAL.encode(), name="manual.md", document_id="d", tags=["x"], wait=True)
    assert (done.replaced, model.calls) == (True, calls)
    assert all(p.tags == ("x",) for p in (await m.list(kinds=["chunk"])).items)
    assert len(await facts(m)) == 3


async def test_undo_brings_the_former_edition_back_with_what_was_read(
    quiet: tuple[AsyncMemOS, ScriptedModel],
) -> None:
    m, _ = quiet
    done = await m.add_file(MANUAL.encode(), name="manual.md", document_id="d", wait=True)
    former = set(await facts(m))
    await m.add_file(page("north", "red").encode(), name="manual.md", document_id="d", wait=True)
    assert set(await facts(m)) == {"The north valve is red."}
    await m.undo(done.id)
    assert set(await facts(m)) == former


async def test_a_piece_left_out_before_it_was_read_is_not_read_and_is_after_undo(
    quiet: tuple[AsyncMemOS, ScriptedModel],
) -> None:
    m, model = quiet
    done = await m.add_file(MANUAL.encode(), name="manual.md", document_id="d")
    await m.add_file(page("west", "white").encode(), name="manual.md", document_id="d")
    await m.flush()
    assert set(await facts(m)) == {"The west valve is white."}
    assert not any("north valve" in p for p in model.prompts)
    await m.undo(done.id)
    await m.flush()
    assert "The north valve is red." in await facts(m)


async def test_deleting_a_document_takes_what_was_read_from_it(quiet: tuple[AsyncMemOS, ScriptedModel]) -> None:
    m, _ = quiet
    done = await m.add_file(MANUAL.encode(), name="manual.md", wait=True)
    deleted = await m.delete(done.id)
    assert deleted.erased_from_disk
    assert await m.count(include_inactive=True) == 0


async def test_a_model_that_is_away_loses_no_piece(tmp_path: Path) -> None:
    model = ScriptedModel(ModelUnavailable("away"), ModelUnavailable("away"), reads)
    async with AsyncMemOS(tmp_path, embedder="none", llm=model, background=False) as m:
        done = await m.add_file(MANUAL.encode(), name="manual.md", wait=True)
        assert done.pending
        assert any("stored" in n for n in done.notices)
        assert [p.status for p in (await m.list(kinds=["chunk"])).items] == [Status.ACTIVE] * done.pieces
        for _ in range(3):
            with contextlib.suppress(ModelError):
                await m.flush()
        assert len(await facts(m)) == 3
