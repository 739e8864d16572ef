"""Ties are decided by a model, in one call for all of a reading, and stay separate when it cannot be asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from llm_models import ScriptedModel
from memos.errors import ModelUnavailable
from memos.memory.ids import new_id
from memos.memory.model import Kind, Memory, Source
from memos.memory.statement import Reading, SegmentReading, Statement
from memos.organize.known import SAID_AS
from memos.organize.reconcile import Outcome, reconcile
from memos.organize.ties import MOST_PAIRS, ties_of, without_ties
from memos.storage.sqlite.cube import SqliteCube


def statement(attribute: str, text: str, value: str, trace: Memory) -> Statement:
    slot = f"user|{attribute}"
    return Statement(Kind.FACT, text, slot, f"{slot}|{value.casefold()}", value, False, 0.9, Source(trace.id))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteCube]:
    cube = SqliteCube.open(tmp_path / "a.cube", durability="normal")
    yield cube
    await cube.close()


async def known(store: SqliteCube, *told: tuple[str, str, str]) -> Memory:
    """Memories of these statements; returns the record they were read from."""
    trace = Memory(new_id(), Kind.TRACE, "said")

    def apply(tx: object) -> None:
        tx.put(trace)  # type: ignore[attr-defined]
        reconcile(tx, trace, [statement(*one, trace) for one in told], Outcome())  # type: ignore[arg-type]

    await store.write(apply)
    return trace


COOKS = ("hobby", "The user likes cooking Italian dishes at home.", "cooking Italian dishes at home")
MEALS = ("pastime", "The user likes cooking Italian meals at home.", "cooking Italian meals at home")
TEA = ("drink", "The user drinks tea.", "tea")


def reading(trace: Memory, *told: tuple[str, str, str]) -> SegmentReading:
    return SegmentReading("m", {trace.id: Reading(tuple(statement(*one, trace) for one in told))})


async def test_a_model_that_says_they_are_the_same_merges_them_in_one_call(store: SqliteCube) -> None:
    trace = await known(store, COOKS)
    model = ScriptedModel({"same": [1]})
    found = await without_ties(store, reading(trace, MEALS, TEA), model)
    meals, tea = found.readings[trace.id].statements
    assert (meals.slot, meals.key) == ("user|hobby", "user|hobby|cooking italian dishes at home")
    assert meals.body[SAID_AS]["text"] == MEALS[1]
    assert (tea.slot, model.calls) == ("user|drink", 1)


@pytest.mark.parametrize("answer", [{"same": []}, {"same": [7]}, "no idea", ModelUnavailable("away")])
async def test_no_answer_or_another_keeps_them_separate(store: SqliteCube, answer: object) -> None:
    trace = await known(store, COOKS)
    asked = reading(trace, MEALS)
    model = ScriptedModel(answer)  # type: ignore[arg-type]
    assert await without_ties(store, asked, model) == asked
    assert model.calls == 1


async def test_a_model_is_not_asked_where_nothing_is_open(store: SqliteCube) -> None:
    trace = await known(store, COOKS, TEA)
    model = ScriptedModel({"same": [1]})
    asked = reading(
        trace, COOKS, TEA, ("x", "The user likes cooking Italian dishes at home", "y"), ("z", "Lives.", "z")
    )
    assert await without_ties(store, asked, model) == asked
    assert model.calls == 0


async def test_so_many_are_asked_of_and_no_more(store: SqliteCube) -> None:
    trace = await known(
        store, *((f"a{c}", f"The user likes {c} songs of home and of war.", f"{c} songs") for c in WORDS)
    )
    new = [statement(f"b{c}", f"The user likes {c} songs of home and of wars and ships.", c, trace) for c in WORDS]
    assert len(await ties_of(store, new)) == MOST_PAIRS


WORDS = "old new sad merry quiet loud slow quick soft sweet lovely gentle cheerful solemn noble".split()  # noqa: SIM905


class Near:
    """An embedder for which everything is near."""

    model_id, dim = "near", 4

    async def embed(self, texts: Sequence[str], *, purpose: str) -> np.ndarray:
        return np.tile(np.array([1, 0, 0, 0], np.float32), (len(texts), 1))


async def test_what_only_vectors_find_alike_is_asked_of_too(store: SqliteCube) -> None:
    trace = await known(store, ("pet", "The user owns a puppy.", "puppy"))
    said = [statement("animal", "The user keeps a young dog.", "young dog", trace)]
    embedder = Near()
    for text in await store.pending_vectors("near"):
        await store.write(lambda tx, t=text: tx.put_vectors("near", [(t.text_id, np.eye(4, dtype=np.float32)[0])]))  # type: ignore[misc]
    assert await ties_of(store, said) == ()
    (tie,) = await ties_of(store, said, embedder)  # type: ignore[arg-type]
    assert tie.memory.text == "The user owns a puppy."
