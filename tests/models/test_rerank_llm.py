"""A language model as reranker: it moves texts to the front, and nothing it says, or fails to say, takes one away (R090)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from llm_models import ScriptedModel
from memos import AsyncMemOS
from memos.errors import InvalidInput, ModelError, ModelTimeout, ModelUnavailable
from memos.models.llm.port import ChatReply
from memos.models.rerank_llm import MOST_TEXTS, LlmReranker

TEXTS = ["The sky is blue.", "Ann has a cat.", "", "Tom is the cat."]


def order(scores: list[float]) -> list[int]:
    return sorted(range(len(scores)), key=lambda i: -scores[i])


async def test_what_the_model_names_comes_first_and_the_rest_keeps_its_order() -> None:
    model = ScriptedModel({"best": [3]})
    scores = await LlmReranker(model).rerank("Who is Tom?", TEXTS)
    assert order(scores) == [3, 0, 1, 2]
    assert scores[2] == 0 and all(0 < score <= 1 for i, score in enumerate(scores) if i != 2)
    assert "[1] The sky is blue.\n[2] Ann has a cat.\n[3] Tom is the cat." in model.prompts[0]


@pytest.mark.parametrize(
    "said",
    [
        {"best": [3, 99, -1, 0, 3]},
        ChatReply('<think>maybe [1, 2]</think>```json\n{"best": [3]}\n```'),
        ChatReply('{"best": [3, 2', finish="length"),
    ],
)
async def test_numbers_that_are_none_thoughts_and_a_missing_end_do_no_harm(said: Any) -> None:
    scores = await LlmReranker(ScriptedModel(said)).rerank("Who is Tom?", TEXTS)
    assert order(scores)[0] == 3 and sorted(order(scores)[:3]) == [0, 1, 3]


@pytest.mark.parametrize(
    "said",
    [
        {"best": []},
        {"best": [99]},
        "None of them is relevant.",
        "",
        ChatReply("", reasoning="I wonder", finish="length"),
        ChatReply('{"best": ', finish="length"),
        ModelUnavailable("gone"),
        {"best": "all"},
    ],
)
async def test_an_answer_that_says_nothing_never_means_that_nothing_is_relevant(said: Any, tmp_path: Path) -> None:
    model = ScriptedModel(said)
    with pytest.raises(ModelError):
        await LlmReranker(model).rerank("Who is Tom?", TEXTS)
    async with AsyncMemOS(
        tmp_path, embedder="none", llm=model, reranker="llm", reading="fast", background=False
    ) as memos:
        await memos.add(["Tom is the cat of Ann.", "The cat Tom sleeps."], wait=True)
        found, plain = await memos.search("Who is Tom?"), await memos.search("Who is Tom?", rerank=False)
        assert [hit.id for hit in found.hits] == [hit.id for hit in plain.hits] != []
        assert any("answered without the reranker" in reason for reason in found.reasons)


async def test_a_search_is_reranked_and_its_tokens_are_counted(tmp_path: Path) -> None:
    model = ScriptedModel({"best": [2]})
    async with AsyncMemOS(
        tmp_path, embedder="none", llm=model, reranker="llm", reading="fast", background=False
    ) as memos:
        await memos.add(["Tom is the cat of Ann.", "Tom sleeps all day."], user="ann", wait=True)
        found = await memos.search("Tom", user="ann")
        assert found.hits and not found.reasons
        assert [(u.user, u.purpose, u.calls) for u in await memos.llm_usage()] == [("ann", "chat", 1)]


async def test_a_search_beyond_the_budget_keeps_its_order_and_says_why(tmp_path: Path) -> None:
    model = ScriptedModel({"best": [2]})
    async with AsyncMemOS(
        tmp_path,
        embedder="none",
        llm=model,
        reranker="llm",
        reading="fast",
        background=False,
        llm_tokens_per_user_per_day=1,
    ) as memos:
        await memos.add(["Tom is the cat of Ann.", "Tom sleeps all day."], user="ann", wait=True)
        assert not (await memos.search("Tom", user="ann")).reasons
        found = await memos.search("Tom", user="ann")
        assert found.hits and "tokens of language models for today" in found.reasons[0]
        assert model.calls == 1


async def test_a_model_that_is_slow_is_not_waited_for() -> None:
    with pytest.raises(ModelTimeout):
        await LlmReranker(ScriptedModel({"best": [1]}, seconds=1), seconds=0.02).rerank("Who is Tom?", TEXTS)


async def test_only_the_first_texts_are_shown_and_long_ones_are_cut() -> None:
    model = ScriptedModel({"best": [MOST_TEXTS]})
    texts = [f"note {n} " + "word " * 1_000 for n in range(100)]
    scores = await LlmReranker(model).rerank("note", texts)
    assert order(scores)[:2] == [MOST_TEXTS - 1, 0] and order(scores)[-1] == 99
    assert "note 29" in model.prompts[0] and "note 30" not in model.prompts[0]
    assert len(model.prompts[0]) < 15_000


async def test_nothing_to_choose_from_asks_nobody() -> None:
    model = ScriptedModel({"best": [1]})
    made = LlmReranker(model)
    assert await made.rerank("q", []) == []
    assert await made.rerank("q", ["one", ""]) == [1, 0]
    assert await made.rerank(" ", TEXTS) == [0, 0, 0, 0]
    assert not model.calls


async def test_it_needs_a_model(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="MEMOS_LLM"):
        await AsyncMemOS(tmp_path, embedder="none", reranker="llm").start()
