"""Chat models over a real server on this machine that fails in every way: nothing hangs, nothing half is taken for whole."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from dataclasses import replace

import pytest

from llm_server import Answer, LlmServer, busy, bytewise, cut, empty, failing, garbage, hang
from memos.errors import ModelBusy, ModelError, ModelTimeout, ModelUnavailable
from memos.models.llm.factory import make_chat_model
from memos.models.llm.port import ChatMessage, ChatReply, ChatRequest, Piece
from memos.models.llm.remote import RemoteChatModel
from memos.models.resilience import CircuitState, NotAsked, RetryPolicy

ASK = ChatRequest.of("Be short.", "Where is the crab?")
CRAB = '你好世界🦀 {"city":"杭州"}'
SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "title": "City"}}, "title": "Place"}
FAST = RetryPolicy(attempts=3, timeout=2.0, budget=5.0, base=0.01, longest=0.05)
BRIEF = replace(FAST, timeout=0.15, attempts=2)
DIALECTS = ["openai-compatible:m", "anthropic:m"]


def made(
    server: LlmServer, spec: str = "openai-compatible:m", policy: RetryPolicy = FAST, concurrency: int = 4
) -> RemoteChatModel:
    url = server.origin if spec.startswith(("anthropic", "azure")) else server.url
    model = make_chat_model(spec, base_url=url, api_key="sk-secret", concurrency=concurrency)
    assert isinstance(model, RemoteChatModel)
    return replace(model, policy=policy)


async def pieces_of(model: RemoteChatModel, request: ChatRequest = ASK) -> list[Piece]:
    return [piece async for piece in model.stream(request)]


async def collected(model: RemoteChatModel, into: list[Piece]) -> None:
    async for piece in model.stream(ASK):
        into.append(piece)


def joined(pieces: list[Piece]) -> tuple[str, str]:
    return "".join(p.text for p in pieces), "".join(p.reasoning for p in pieces)


@pytest.mark.parametrize("spec", DIALECTS)
class TestEveryDialect:
    async def test_a_whole_answer(self, llm_server: LlmServer, spec: str) -> None:
        llm_server.say(Answer("In the sea.", reasoning="Hm."))
        reply = await made(llm_server, spec).complete(ASK)
        assert (reply.text, reply.reasoning, reply.finish, reply.model) == ("In the sea.", "Hm.", "stop", "m")
        assert reply.usage.input_tokens > 0
        assert (reply.usage.output_tokens, reply.usage.estimated) == (3, False)

    async def test_a_streamed_answer(self, llm_server: LlmServer, spec: str) -> None:
        llm_server.say(Answer("In the sea.", reasoning="Let me see.", piece=3))
        pieces = await pieces_of(made(llm_server, spec))
        assert joined(pieces) == ("In the sea.", "Let me see.")
        assert len(pieces) > 5
        reply = pieces[-1].reply
        assert reply is not None
        assert (reply.text, reply.reasoning, reply.finish, reply.usage.estimated) == (
            "In the sea.",
            "Let me see.",
            "stop",
            False,
        )
        assert reply.usage.output_tokens == 3
        assert reply.usage.input_tokens > 0
        assert all(p.reply is None for p in pieces[:-1])

    @pytest.mark.parametrize("write", [1, 2, 3, 7, 64])
    async def test_characters_and_lines_may_be_cut_anywhere(self, llm_server: LlmServer, spec: str, write: int) -> None:
        llm_server.say(bytewise(CRAB, write, piece=100), bytewise(CRAB, write))
        assert joined(await pieces_of(made(llm_server, spec)))[0] == CRAB
        assert (await made(llm_server, spec).complete(ASK)).text == CRAB

    async def test_its_longest_answer_was_too_short(self, llm_server: LlmServer, spec: str) -> None:
        llm_server.otherwise = Answer("In the s", finish="length")
        model = made(llm_server, spec)
        assert (await model.complete(replace(ASK, max_tokens=5))).finish == "length"
        assert llm_server.requests[0].body["max_tokens"] == 5
        assert (await pieces_of(model))[-1].reply.finish == "length"  # type: ignore[union-attr]

    async def test_sampling_is_as_asked(self, llm_server: LlmServer, spec: str) -> None:
        await made(llm_server, spec).complete(
            replace(ASK, temperature=0.0, top_p=0.5, stop=("END",), extra={"seed": 7})
        )
        body = llm_server.requests[0].body
        assert (body["temperature"], body["top_p"], body["seed"]) == (0.0, 0.5, 7)
        assert (body.get("stop") or body.get("stop_sequences")) == ["END"]

    async def test_it_waits_as_long_as_it_is_told_and_then_asks_again(self, llm_server: LlmServer, spec: str) -> None:
        llm_server.say(busy(0.3), "Again.")
        begun = time.monotonic()
        assert (await made(llm_server, spec).complete(ASK)).text == "Again."
        assert time.monotonic() - begun > 0.3

    async def test_too_busy_at_last_is_said_with_the_time(self, llm_server: LlmServer, spec: str) -> None:
        llm_server.otherwise = busy(30)
        with pytest.raises(ModelBusy, match="429") as caught:
            await made(llm_server, spec).complete(ASK)
        assert caught.value.retry_after == 30
        with pytest.raises(ModelBusy):
            await pieces_of(made(llm_server, spec))

    @pytest.mark.parametrize("status", [500, 502, 503, 529])
    async def test_a_server_that_breaks_is_asked_again(self, llm_server: LlmServer, spec: str, status: int) -> None:
        llm_server.say(failing(status), "Whole.", failing(status), "Streamed.")
        model = made(llm_server, spec)
        assert (await model.complete(ASK)).text == "Whole."
        assert joined(await pieces_of(model))[0] == "Streamed."

    async def test_a_server_that_is_silent_is_not_waited_for(self, llm_server: LlmServer, spec: str) -> None:
        llm_server.otherwise = hang()
        begun = time.monotonic()
        with pytest.raises(ModelTimeout):
            await made(llm_server, spec, BRIEF).complete(ASK)
        with pytest.raises((ModelTimeout, NotAsked)):
            await pieces_of(made(llm_server, spec, BRIEF))
        assert time.monotonic() - begun < 2

    async def test_a_silence_in_the_middle_of_a_stream_ends_it(self, llm_server: LlmServer, spec: str) -> None:
        llm_server.say(Answer("one two three", stall=4))
        got: list[Piece] = []
        with pytest.raises(ModelTimeout, match="middle"):
            await collected(made(llm_server, spec, BRIEF), got)
        assert joined(got)[0].startswith("one")

    @pytest.mark.parametrize("after", [0, 1])
    async def test_a_stream_cut_before_its_first_piece_is_asked_for_again(
        self, llm_server: LlmServer, spec: str, after: int
    ) -> None:
        llm_server.say(cut(after), "Whole.")
        assert joined(await pieces_of(made(llm_server, spec)))[0] == "Whole."

    async def test_a_stream_cut_in_the_middle_is_an_error_after_what_came(
        self, llm_server: LlmServer, spec: str
    ) -> None:
        llm_server.say(cut(5), "Never asked.")
        got: list[Piece] = []
        with pytest.raises(ModelError):
            await collected(made(llm_server, spec), got)
        assert joined(got)[0].startswith("an a")
        assert all(piece.reply is None for piece in got)
        assert len(llm_server.requests) == 1

    async def test_a_stream_that_just_stops_is_no_whole_answer(self, llm_server: LlmServer, spec: str) -> None:
        llm_server.say(Answer("In the", finish=None, done=False))
        with pytest.raises(ModelError, match="middle"):
            await pieces_of(made(llm_server, spec))

    async def test_a_whole_answer_cut_in_the_middle_is_asked_for_again(self, llm_server: LlmServer, spec: str) -> None:
        llm_server.say(cut(1), "Whole.")
        assert (await made(llm_server, spec).complete(ASK)).text == "Whole."

    @pytest.mark.parametrize(
        "raw", [b"<html>oops</html>", b"[]", b"{}", b'{"choices": []}', b"\xff\xfe", b"", b"null", b"[" * 100_000]
    )
    async def test_garbage_is_an_error_and_said_so(self, llm_server: LlmServer, spec: str, raw: bytes) -> None:
        llm_server.otherwise = garbage(raw)
        for call in (made(llm_server, spec).complete(ASK), pieces_of(made(llm_server, spec))):
            with pytest.raises(ModelError) as caught:
                await call
            assert "sk-secret" not in str(caught.value)

    @pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
    async def test_a_key_that_the_server_repeats_is_not_repeated(
        self, llm_server: LlmServer, spec: str, status: int
    ) -> None:
        error = {"message": "Incorrect API key provided: sk-secret", "type": "x"}
        said = json.dumps({"type": "error", "error": error}).encode()
        event = b"event: error\ndata: " + said + b"\n\n"
        model = made(llm_server, spec, replace(FAST, attempts=1))
        for raw in (said, event if status == 200 else said):
            llm_server.say(Answer(status=status, message="Incorrect API key provided: sk-secret", raw=raw))
            with pytest.raises(ModelError, match=r"provided|JSON|no content") as caught:
                await (model.complete(ASK) if raw is said else pieces_of(model))
            assert "sk-secret" not in f"{caught.value!r} {caught.value.__cause__!r}"

    async def test_a_model_that_does_not_come_to_an_end_is_not_listened_to(
        self, llm_server: LlmServer, spec: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("memos.models.llm.remote._MOST_CHARACTERS", 100)
        llm_server.otherwise = Answer("again and " * 11)
        model, got = made(llm_server, spec), list[Piece]()
        with pytest.raises(ModelError, match="more than 100 characters"):
            await model.complete(ASK)
        with pytest.raises(ModelError, match="more than 100 characters"):
            await collected(model, got)
        assert 90 < len(joined(got)[0]) <= 100
        monkeypatch.setattr("memos.models.llm.remote._MOST_BYTES", 60)
        with pytest.raises(ModelError, match="answered more than"):
            await model.complete(ASK)
        assert (len(llm_server.requests), model.circuit) == (3, CircuitState.CLOSED)

    async def test_an_empty_answer_is_an_answer(self, llm_server: LlmServer, spec: str) -> None:
        llm_server.otherwise = empty()
        assert (await made(llm_server, spec).complete(ASK)).text == ""
        pieces = await pieces_of(made(llm_server, spec))
        assert [p.reply.text for p in pieces if p.reply] == [""]

    @pytest.mark.parametrize("status", [401, 403, 404])
    async def test_a_refused_key_or_name_is_said_once_with_what_to_do(
        self, llm_server: LlmServer, spec: str, status: int
    ) -> None:
        llm_server.otherwise = failing(status, "go away")
        with pytest.raises(ModelUnavailable, match="check"):
            await made(llm_server, spec).complete(ASK)
        assert len(llm_server.requests) == 1

    async def test_an_account_without_quota_is_not_asked_again(self, llm_server: LlmServer, spec: str) -> None:
        llm_server.otherwise = Answer(status=429, message="You exceeded your current quota, please check your plan")
        with pytest.raises(ModelUnavailable, match="quota") as caught:
            await made(llm_server, spec).complete(ASK)
        assert not isinstance(caught.value, ModelBusy)
        assert len(llm_server.requests) == 1

    async def test_a_server_that_does_not_stream_gives_its_answer_in_one_piece(
        self, llm_server: LlmServer, spec: str
    ) -> None:
        llm_server.say("Whole.")
        await made(llm_server, spec).complete(ASK)
        whole = {
            "openai": b'{"choices":[{"message":{"content":"At once."}}]}',
            "anthropic": b'{"content":[{"type":"text","text":"At once."}]}',
        }
        llm_server.say(garbage(whole[spec.partition(":")[0].partition("-")[0]]))
        pieces = await pieces_of(made(llm_server, spec))
        assert (pieces[-1].text, pieces[-1].reply.text) == ("At once.", "At once.")  # type: ignore[union-attr]
        assert pieces[-1].reply.usage.estimated  # type: ignore[union-attr]

    async def test_an_error_within_a_stream_is_the_servers(self, llm_server: LlmServer, spec: str) -> None:
        event = b'data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
        llm_server.say(garbage(event), "Whole.")
        assert joined(await pieces_of(made(llm_server, spec)))[0] == "Whole."
        llm_server.say(garbage(event.replace(b"overloaded_error", b"invalid_request")))
        with pytest.raises(ModelError, match="Overloaded"):
            await pieces_of(made(llm_server, spec))

    async def test_a_refused_option_is_left_out_then_and_later(self, llm_server: LlmServer, spec: str) -> None:
        llm_server.refuses = {"temperature", "top_p"}
        model = made(llm_server, spec)
        ask = replace(ASK, temperature=0.2, top_p=0.9)
        assert (await model.complete(ask)).text == "Hello."
        assert len(llm_server.requests) == 3
        assert joined(await pieces_of(model, ask))[0] == "Hello."
        assert (await made(llm_server, spec).complete(ask)).text == "Hello."
        assert len(llm_server.requests) == 5

    async def test_a_request_that_is_wrong_in_itself_is_an_error(self, llm_server: LlmServer, spec: str) -> None:
        llm_server.otherwise = failing(400, "This model's maximum context length is 10 tokens")
        with pytest.raises(ModelError, match="context length"):
            await made(llm_server, spec).complete(replace(ASK, schema=SCHEMA, temperature=0.1))
        assert len(llm_server.requests) == 1

    async def test_a_server_that_refuses_everything_is_not_asked_forever(
        self, llm_server: LlmServer, spec: str
    ) -> None:
        llm_server.otherwise = failing(400, "temperature top_p stop max_tokens schema json_object role system: no")
        with pytest.raises(ModelError):
            await made(llm_server, spec).complete(
                replace(ASK, schema=SCHEMA, temperature=0.1, top_p=0.1, max_tokens=9, stop=("x",))
            )
        assert len(llm_server.requests) < 12

    async def test_images_are_sent_as_the_protocol_has_them(self, llm_server: LlmServer, spec: str) -> None:
        image = "data:image/png;base64,AAAA"
        await made(llm_server, spec).complete(
            ChatRequest((ChatMessage("user", "What?", (image, "https://x.test/a.png")),))
        )
        content = llm_server.requests[0].body["messages"][0]["content"]
        assert {part["type"] for part in content} in ({"text", "image_url"}, {"text", "image"})
        assert "AAAA" in str(content)
        assert "https://x.test/a.png" in str(content)


async def test_a_closed_port_is_unreachable_and_opens_the_circuit() -> None:
    server = LlmServer()
    model = made(server, "ollama:m")
    server.close()
    with pytest.raises(ModelUnavailable, match="ollama serve"):
        await model.complete(ASK)
    with pytest.raises(NotAsked) as caught:
        await pieces_of(model)
    assert caught.value.retry_after > 0
    assert (model.circuit, model.retry_in > 0) == (CircuitState.OPEN, True)


async def test_models_at_one_server_share_its_circuit_as_long_as_one_of_them_lives(llm_server: LlmServer) -> None:
    llm_server.otherwise = failing(500)
    model, other = made(llm_server, "openai-compatible:a"), made(llm_server, "openai-compatible:b")
    with pytest.raises(ModelUnavailable):
        await model.complete(ASK)
    with pytest.raises(NotAsked):
        await other.complete(ASK)
    del model, other
    gc.collect()
    llm_server.otherwise = "Hello."
    assert (await made(llm_server, "openai-compatible:a").complete(ASK)).text == "Hello."


async def test_what_is_known_of_a_server_goes_with_the_last_model_that_is_closed(llm_server: LlmServer) -> None:
    llm_server.otherwise = failing(500)
    model, other = made(llm_server, "openai-compatible:a"), made(llm_server, "openai-compatible:b")
    with pytest.raises(ModelUnavailable):
        await model.complete(ASK)
    llm_server.otherwise = "Hello."
    await model.aclose()
    await model.aclose()
    with pytest.raises(NotAsked):
        await made(llm_server, "openai-compatible:c").complete(ASK)
    gc.collect()
    await other.aclose()
    assert (await made(llm_server, "openai-compatible:d").complete(ASK)).text == "Hello."


class TestForms:
    """How a model is held to a schema."""

    async def test_the_schema_is_sent_in_the_strict_form(self, llm_server: LlmServer) -> None:
        await made(llm_server).complete(replace(ASK, schema=SCHEMA, schema_name="a place"))
        form = llm_server.requests[0].body["response_format"]
        assert (form["type"], form["json_schema"]["name"], form["json_schema"]["strict"]) == (
            "json_schema",
            "a_place",
            True,
        )
        assert form["json_schema"]["schema"]["additionalProperties"] is False
        assert form["json_schema"]["schema"]["required"] == ["city"]
        assert llm_server.requests[0].body["messages"][0]["content"] == "Be short."

    async def test_a_server_that_refuses_schemas_is_told_in_words(self, llm_server: LlmServer) -> None:
        llm_server.refuses = {"response_format"}
        model = made(llm_server)
        for _ in range(2):
            await model.complete(replace(ASK, schema=SCHEMA))
        kinds = [(r.body.get("response_format") or {}).get("type") for r in llm_server.requests]
        assert kinds == ["json_schema", "json_object", None, None]
        assert '{"city"?: string}' in llm_server.requests[-1].body["messages"][0]["content"]

    @pytest.mark.parametrize(
        "message",
        [
            "This response_format type is unavailable now",
            "failed to parse grammar",
            "Invalid schema for response_format 'answer': whatever",
            "bad request",
        ],
    )
    async def test_however_it_says_so(self, llm_server: LlmServer, message: str) -> None:
        llm_server.say(failing(400, message), '{"city": "Bergen"}')
        assert (await made(llm_server).complete(replace(ASK, schema=SCHEMA))).text == '{"city": "Bergen"}'
        assert llm_server.requests[1].body["response_format"] == {"type": "json_object"}

    @pytest.mark.parametrize("spec", ["deepseek:m", "qwen:m", "minimax:m"])
    async def test_providers_that_only_know_json_are_told_the_form(self, llm_server: LlmServer, spec: str) -> None:
        await made(llm_server, spec).complete(replace(ASK, schema=SCHEMA))
        body = llm_server.requests[0].body
        assert body["response_format"] == {"type": "json_object"}
        assert "JSON" in body["messages"][0]["content"]

    async def test_anthropic_takes_the_schema_its_own_way_and_words_when_not(self, llm_server: LlmServer) -> None:
        model = made(llm_server, "anthropic:m")
        await model.complete(replace(ASK, schema=SCHEMA))
        assert llm_server.requests[0].body["output_config"]["format"]["schema"]["additionalProperties"] is False
        llm_server.refuses = {"output_config"}
        await model.complete(replace(ASK, schema=SCHEMA))
        assert "JSON" in llm_server.requests[-1].body["system"]
        assert "output_config" not in llm_server.requests[-1].body

    async def test_a_model_without_a_system_role_gets_it_from_the_user(self, llm_server: LlmServer) -> None:
        llm_server.say(failing(400, "System role not supported"))
        await made(llm_server).complete(ASK)
        assert llm_server.requests[1].body["messages"] == [
            {"role": "user", "content": "Be short.\n\nWhere is the crab?"}
        ]

    async def test_a_newer_name_of_a_field_is_learnt(self, llm_server: LlmServer) -> None:
        llm_server.say(
            failing(
                400,
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            )
        )
        model = made(llm_server)
        for _ in range(2):
            await model.complete(replace(ASK, max_tokens=7))
        assert [r.body.get("max_completion_tokens") for r in llm_server.requests] == [None, 7, 7]
        assert "max_tokens" not in llm_server.requests[-1].body

    async def test_too_long_an_answer_is_left_to_the_server_once(self, llm_server: LlmServer) -> None:
        llm_server.say(
            failing(400, "max_tokens is too large: 99999. This model supports at most 4096 completion tokens")
        )
        model = made(llm_server)
        await model.complete(replace(ASK, max_tokens=99_999))
        await model.complete(replace(ASK, max_tokens=100))
        assert [r.body.get("max_tokens") for r in llm_server.requests] == [99_999, None, 100]


class TestThinking:
    @pytest.mark.parametrize("piece", [1, 3, 200])
    @pytest.mark.parametrize(
        ("said", "text", "reasoning"),
        [
            ("<think>Hm, <b>well</b>.</think>\n\nIn the sea.", "In the sea.", "Hm, <b>well</b>."),
            ("\n<thinking>a</thinking><think>b</think> In", "In", "ab"),
            ("<think>no end", "", "no end"),
            ("<think></think>x", "x", ""),
            ("It uses <think> tags</think>.", "It uses <think> tags</think>.", ""),
            ("<thin", "<thin", ""),
            (" <3 you", " <3 you", ""),
        ],
    )
    async def test_it_is_told_from_the_answer(
        self, llm_server: LlmServer, said: str, text: str, reasoning: str, piece: int
    ) -> None:
        llm_server.say(Answer(said, piece=piece), said)
        pieces = await pieces_of(made(llm_server))
        assert joined(pieces) == (text, reasoning)
        assert isinstance(pieces[-1].reply, ChatReply)
        assert (pieces[-1].reply.text, pieces[-1].reply.reasoning) == (text, reasoning)
        whole = await made(llm_server).complete(ASK)
        assert (whole.text, whole.reasoning) == (text, reasoning)

    async def test_thinking_whose_opening_was_in_the_prompt(self, llm_server: LlmServer) -> None:
        llm_server.otherwise = "Hm.</think>\nIn the sea."
        reply = await made(llm_server).complete(ASK)
        assert (reply.text, reply.reasoning) == ("In the sea.", "Hm.")
        assert (await pieces_of(made(llm_server)))[-1].reply.text == "In the sea."  # type: ignore[union-attr]

    @pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
    async def test_thinking_in_a_field_of_its_own(self, llm_server: LlmServer, name: str) -> None:
        llm_server.otherwise = Answer("In.", reasoning="Hm.", reasoning_field=name)
        assert joined(await pieces_of(made(llm_server))) == ("In.", "Hm.")


class TestUsage:
    async def test_it_is_guessed_when_the_server_does_not_count(self, llm_server: LlmServer) -> None:
        llm_server.otherwise = Answer("x" * 40, usage=False)
        for reply in ((await made(llm_server).complete(ASK)), (await pieces_of(made(llm_server)))[-1].reply):
            assert reply is not None
            assert (reply.usage.output_tokens, reply.usage.estimated) == (10, True)
            assert reply.usage.input_tokens >= 6


class TestTurns:
    """How many calls are under way, and who waits."""

    async def test_no_more_calls_at_a_time_than_allowed_over_all_models_at_a_server(
        self, llm_server: LlmServer
    ) -> None:
        llm_server.otherwise = Answer(delay=0.03)
        models = [made(llm_server, f"openai-compatible:{name}", concurrency=3) for name in "ab"]
        await asyncio.gather(*(models[i % 2].complete(ASK) for i in range(12)))
        assert llm_server.most_at_once == 2  # one of three is kept for chat

    async def test_a_chat_does_not_wait_behind_the_reading_of_an_archive(self, llm_server: LlmServer) -> None:
        llm_server.say(hang(20))
        model = made(llm_server, concurrency=2)
        readings = [asyncio.create_task(model.complete(ASK)) for _ in range(30)]
        async with asyncio.timeout(10):
            while not llm_server.requests:
                await asyncio.sleep(0.01)
            await model.for_purpose("chat").complete(ASK)
        assert not any(reading.done() for reading in readings)
        for reading in readings:
            reading.cancel()
        await asyncio.gather(*readings, return_exceptions=True)

    async def test_a_cancelled_call_frees_its_slot_and_its_connection(self, llm_server: LlmServer) -> None:
        llm_server.otherwise = hang(20)
        model = made(llm_server, concurrency=1)
        calls = [asyncio.create_task(model.complete(ASK)) for _ in range(3)] + [asyncio.create_task(pieces_of(model))]  # type: ignore[list-item]
        await asyncio.sleep(0.1)
        assert (model.server.slots.taken, model.server.slots.waiting) == (1, 3)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert (model.server.slots.taken, model.server.slots.waiting) == (0, 0)
        assert model.circuit is CircuitState.CLOSED
        llm_server.otherwise = "Hello."
        assert (await model.complete(ASK)).text == "Hello."

    async def test_a_stream_that_is_left_in_the_middle_frees_its_slot(self, llm_server: LlmServer) -> None:
        llm_server.otherwise = Answer("one two three four five", pause=0.05)
        model = made(llm_server, concurrency=1)
        stream = model.stream(ASK)
        assert (await anext(stream)).text
        assert model.server.slots.taken == 1
        await stream.aclose()
        assert model.server.slots.taken == 0
        async with asyncio.timeout(5):
            while not llm_server.broken_pipes:  # the server sees that nobody listens
                await asyncio.sleep(0.02)

    async def test_a_chat_that_finds_no_slot_is_told_that_it_is_busy(self, llm_server: LlmServer) -> None:
        llm_server.otherwise = hang(20)
        model = made(llm_server, concurrency=1).for_purpose("chat")
        slow = asyncio.create_task(model.complete(ASK))
        await asyncio.sleep(0.05)
        with pytest.raises(ModelBusy, match="under way"):
            await replace(model, policy=BRIEF).complete(ASK)
        slow.cancel()
        await asyncio.gather(slow, return_exceptions=True)
