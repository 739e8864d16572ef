"""An answer in its form: whatever a model wraps it in, with one more try, and never half an answer taken for a whole one."""

from __future__ import annotations

import asyncio
import copy
import json
import time
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from llm_json import FACT, PLAIN, SAID_WELL
from llm_models import ScriptedModel
from memos.errors import ModelError, ModelTimeout
from memos.models.llm.fitting import Misfit, fit
from memos.models.llm.port import ChatReply, ChatRequest, TokenUsage
from memos.models.llm.structured import Unusable, ask_for

ASK = ChatRequest.of("Note the facts.", "The locker is number 58.", max_tokens=100)


class Fact(BaseModel):
    subject: str
    text: str
    kind: Literal["fact", "event"] = "fact"
    evidence: list[int] = Field(default_factory=list)


class Facts(BaseModel):
    facts: list[Fact] = Field(default_factory=list)
    topic: str = ""


GOOD = {"subject": "user", "text": "a"}


@pytest.mark.parametrize("text", SAID_WELL.values(), ids=SAID_WELL.keys())
async def test_the_same_fact_from_every_way_to_say_it_in_one_call(text: str) -> None:
    model = ScriptedModel(text)
    got = await ask_for(model, ASK, Facts)
    assert got.value.model_dump(exclude_defaults=True) == FACT
    assert (got.calls, got.cut, got.dropped, model.calls) == (1, False, 0, 1)


async def test_the_schema_is_asked_for() -> None:
    model = ScriptedModel(PLAIN)
    await ask_for(model, ASK, Facts)
    assert model.requests[0].schema_name == "Facts"
    assert model.requests[0].schema is not None
    assert "facts" in model.requests[0].schema["properties"]
    assert model.requests[0].messages == ASK.messages


@pytest.mark.parametrize(
    "said",
    [
        {"answer": {"facts": [GOOD]}},
        {"facts": [GOOD]},
        [GOOD],
        GOOD,
        [{"facts": [GOOD]}],
        {"Facts": {"facts": [GOOD]}},
        {"facts": [GOOD], "note": "that is all"},
    ],
)
async def test_what_is_plainly_meant_is_taken(said: object) -> None:
    got = await ask_for(ScriptedModel(json.dumps(said)), ASK, Facts)
    assert [f.text for f in got.value.facts] == ["a"]
    assert got.calls == 1


async def test_items_that_do_not_fit_are_dropped_alone_and_counted() -> None:
    said = {"facts": [GOOD, {"subject": "user"}, {**GOOD, "kind": "rumour"}, {**GOOD, "evidence": [1, "x", 3]}, None]}
    got = await ask_for(ScriptedModel(said), ASK, Facts)
    assert [f.evidence for f in got.value.facts] == [[], [1, 3]]
    assert (got.dropped, got.calls) == (4, 1)


async def test_small_slips_are_mended_and_nothing_is_dropped_for_them() -> None:
    said = {
        "facts": [
            {"subject": "user", "text": 58, "kind": " Event", "evidence": 3},
            {"subject": 1.5, "text": "b", "kind": None, "evidence": None},
        ],
        "topic": None,
    }
    got = await ask_for(ScriptedModel(said), ASK, Facts)
    assert (got.calls, got.dropped, got.value.topic) == (1, 0, "")
    first, second = got.value.facts
    assert (first.text, first.kind, first.evidence) == ("58", "event", [3])
    assert (second.subject, second.kind, second.evidence) == ("1.5", "fact", [])


async def test_null_for_what_must_be_there_is_no_value() -> None:
    got = await ask_for(ScriptedModel({"facts": [GOOD, {"subject": None, "text": "x"}]}), ASK, Facts)
    assert (len(got.value.facts), got.dropped) == (1, 1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "user", "fact", "FACT", "3"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["facts", "topic", "subject", "text", "kind", "evidence", "x"]), inner, max_size=4
        )
    ),
    max_leaves=25,
)


@given(JSON)
def test_whatever_is_sent_fits_or_is_said_not_to(value: object) -> None:
    before = copy.deepcopy(value)
    try:
        fitted, dropped = fit(value, Facts)
    except Misfit:
        pass
    else:
        assert isinstance(fitted, Facts)
        assert dropped >= 0
    assert repr(value) == repr(before)


async def test_an_item_that_loses_all_it_rests_on_is_dropped_itself() -> None:
    said = {"facts": [{**GOOD, "evidence": ["x", "y"]}, GOOD]}
    got = await ask_for(ScriptedModel(said), ASK, Facts)
    assert [f.evidence for f in got.value.facts] == [[]]
    assert got.dropped == 1


async def test_an_answer_of_nothing_is_an_answer() -> None:
    for said in ({"facts": []}, []):
        got = await ask_for(ScriptedModel(said), ASK, Facts)
        assert (got.value.facts, got.calls, got.dropped) == ([], 1, 0)


async def test_a_caller_who_wants_all_or_nothing_gets_another_try_instead() -> None:
    model = ScriptedModel({"facts": [GOOD, {"subject": "user"}]}, {"facts": [GOOD]})
    got = await ask_for(model, ASK, Facts, whole=True)
    assert (len(got.value.facts), got.dropped, got.calls) == (1, 0, 2)


async def test_a_cut_answer_keeps_its_whole_items_and_says_so() -> None:
    model = ScriptedModel('{"facts": [' + json.dumps(GOOD) + ', {"subject": "user", "te', finish="length")
    got = await ask_for(model, ASK, Facts)
    assert (len(got.value.facts), got.cut, got.calls) == (1, True, 1)


async def test_an_answer_that_cannot_be_used_is_asked_for_once_more_with_the_reason() -> None:
    model = ScriptedModel('{"facts": "none", "topic": 3}', PLAIN)
    got = await ask_for(model, ASK, Facts)
    assert got.calls == 2
    assert model.requests[1].messages[:2] == ASK.messages
    assert [m.role for m in model.requests[1].messages] == ["system", "user", "assistant", "user"]
    assert "facts: " in model.requests[1].messages[-1].content
    assert "topic: " in model.requests[1].messages[-1].content
    assert got.usage.input_tokens > len(model.prompts[0]) / 4 + len(model.prompts[1]) / 4


async def test_nothing_is_said_for_the_model_when_it_said_nothing() -> None:
    model = ScriptedModel("", PLAIN)
    await ask_for(model, ASK, Facts)
    assert [m.role for m in model.requests[1].messages] == ["system", "user", "user"]


@pytest.mark.parametrize(
    "said",
    [
        "",
        "I cannot do that.",
        "<think>perhaps " + PLAIN,
        '{"error": "no"}',
        "{}{",
        "[1, 2]",
        "{}",
        '{"facts": [1, {}]}',
        '{"facts": 1}',
    ],
)
async def test_garbage_twice_is_unusable_and_never_an_empty_answer(said: str) -> None:
    model = ScriptedModel(said)
    with pytest.raises(Unusable) as caught:
        await ask_for(model, ASK, Facts)
    assert (caught.value.calls, caught.value.reply, model.calls) == (2, said, 2)
    assert caught.value.usage.input_tokens > 0
    assert "locker" not in str(caught.value)


async def test_a_thinker_who_used_up_the_tokens_gets_more_of_them() -> None:
    model = ScriptedModel(ChatReply("", "perhaps…", "length", TokenUsage(10, 100)), PLAIN)
    got = await ask_for(model, ASK, Facts)
    assert model.requests[1].max_tokens == 400
    assert model.requests[1].messages == ASK.messages
    assert (got.calls, got.usage.output_tokens > 100) == (2, True)


async def test_a_held_back_answer_is_not_asked_for_again() -> None:
    model = ScriptedModel(ChatReply("", finish="filtered"))
    with pytest.raises(Unusable, match="filter"):
        await ask_for(model, ASK, Facts)
    assert model.calls == 1


async def test_errors_of_the_model_are_not_hidden() -> None:
    with pytest.raises(ModelTimeout):
        await ask_for(ScriptedModel(ModelTimeout("late")), ASK, Facts)
    with pytest.raises(ModelError):
        await ask_for(ScriptedModel("no", ModelError("refused")), ASK, Facts)


async def test_no_more_tries_than_allowed() -> None:
    model = ScriptedModel("no")
    with pytest.raises(Unusable):
        await ask_for(model, ASK, Facts, retries=0)
    assert model.calls == 1


async def test_an_answer_without_end_is_unusable_and_holds_up_nobody() -> None:
    """10 MB of brackets once blocked the event loop, and every search with it, for half a minute."""
    slowest, done = 0.0, False

    async def beat() -> None:
        nonlocal slowest
        while not done:
            before = time.monotonic()
            await asyncio.sleep(0.005)
            slowest = max(slowest, time.monotonic() - before)

    other = asyncio.create_task(beat())
    for text in ('{"a' * 2_000_000, "{[" * 60_000):
        with pytest.raises(Unusable):
            await ask_for(ScriptedModel(text), ASK, Facts)
    done = True
    await other
    assert slowest < 1.0
