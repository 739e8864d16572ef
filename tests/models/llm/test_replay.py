"""What a model answered once is answered again from the file, in the same order, and nothing else is."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from llm_models import ScriptedModel
from llm_server import Answer, LlmServer
from memos.errors import InvalidInput, ModelBusy, ModelError, ModelUnavailable
from memos.models.llm.factory import make_chat_model
from memos.models.llm.port import ChatReply, ChatRequest, TokenUsage
from memos.models.llm.replay import RecordingModel, ReplayModel, key_of

ASK = ChatRequest.of("Be short.", "Where is the crab? 🦀", schema={"type": "object"}, temperature=0.0)


async def test_replies_streams_and_errors_come_again_in_their_order(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    whole = ChatReply("In the sea.\n你", "Hm.", "length", TokenUsage(3, 4), "m")
    inner = ScriptedModel(whole, "Second.", ModelBusy("later", 7.0), name="openai:m")
    recording = RecordingModel(inner, file)
    assert await recording.complete(ASK) == whole
    assert "".join([p.text async for p in recording.stream(ASK)]) == "Second."
    with pytest.raises(ModelBusy):
        await recording.complete(ASK)
    model = ReplayModel(file)
    assert model.model_id == "openai:m"
    assert await model.complete(ASK) == whole
    pieces = [p async for p in model.stream(ASK)]
    assert "".join(p.text for p in pieces) == "Second."
    for _ in range(2):
        with pytest.raises(ModelBusy, match="later") as caught:
            await model.complete(ASK)
        assert caught.value.retry_after == 7.0


async def test_a_request_that_was_not_recorded_is_said_to_be_so(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    await RecordingModel(ScriptedModel("x"), file).complete(ASK)
    with pytest.raises(ModelUnavailable, match=r"calls\.jsonl.*record it again"):
        await ReplayModel(file).complete(replace(ASK, temperature=0.5))


async def test_neither_key_nor_prompt_is_in_the_file_and_nobody_else_reads_it(
    llm_server: LlmServer, tmp_path: Path
) -> None:
    file = tmp_path / "calls.jsonl"
    llm_server.say(Answer("In."))
    inner = make_chat_model("openai-compatible:m", base_url=llm_server.url, api_key="sk-secret")
    assert inner is not None
    await RecordingModel(inner, file).complete(ASK)
    text = file.read_text("utf-8")
    assert "sk-secret" not in text
    assert "crab" not in text
    assert json.loads(text)["reply"]["text"] == "In."
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_a_stream_left_in_the_middle_is_not_an_answer(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    stream = RecordingModel(ScriptedModel("a long answer"), file).stream(ASK)
    await anext(stream)
    await stream.aclose()
    assert not file.exists()


def test_every_part_of_a_request_counts() -> None:
    others = [
        replace(ASK, schema=None),
        replace(ASK, schema_name="b"),
        replace(ASK, temperature=None),
        replace(ASK, top_p=0.1),
        replace(ASK, max_tokens=1),
        replace(ASK, stop=("x",)),
        replace(ASK, extra={"a": 1}),
        replace(ASK, messages=ASK.messages[:1]),
    ]
    assert len({key_of(request) for request in (ASK, *others)}) == 9
    assert key_of(replace(ASK)) == key_of(ASK)


async def test_it_is_configured_like_any_model(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    await RecordingModel(ScriptedModel("x"), file).complete(ASK)
    model = make_chat_model(f"replay:{file}")
    assert isinstance(model, ReplayModel)
    assert (await model.complete(ASK)).text == "x"


@pytest.mark.parametrize(
    "text", ["not json", "[]", "{}", '{"key": "a", "model": "m", "reply": {"text": "x"}}', '{"key":"a","model":"m"}']
)
def test_a_file_that_is_no_recording_is_refused_with_the_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "calls.jsonl"
    file.write_text("\n" + text)
    with pytest.raises(InvalidInput, match="line 2"):
        ReplayModel(file)
    with pytest.raises(InvalidInput, match="cannot be read"):
        ReplayModel(tmp_path / "none")


async def test_an_unknown_error_is_still_an_error(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    await RecordingModel(ScriptedModel("x"), file).complete(ASK)
    row = json.loads(file.read_text())
    row = {"key": row["key"], "model": "m", "error": "future", "message": "new"}
    file.write_text(json.dumps(row))
    with pytest.raises(ModelError, match="new"):
        await ReplayModel(file).complete(ASK)
