"""Chat over the MemOS wire, against the description of it: envelopes, the frames of each stream in order, what is refused how."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from serving import in_process

from llm_models import ScriptedModel
from memos import AsyncMemOS
from memos.errors import ModelTimeout
from memos.models.llm.port import ChatReply
from memos.server.app import create_app
from memos.server.options import ServerOptions

STREAMS = ("/product/chat/stream", "/product/chat/stream/playground", "/product/chat/stream/business_user")
KEY = {"business_key": "bk-1", "need_search": True}


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(ChatReply("You live in Bergen.", reasoning="It is said there."), name="openai:gpt-4o-mini")


@pytest.fixture
async def client(tmp_path: Path, model: ScriptedModel) -> AsyncIterator[httpx2.AsyncClient]:
    memos = AsyncMemOS(tmp_path / "home", embedder="none", llm=model, reading="fast")
    app = create_app(memos, ServerOptions(business_keys=("bk-1",)))
    async with app.router.lifespan_context(app), in_process(app) as made:
        await post(made, "/product/add", user_id="ada", async_mode="sync", messages="I live in Bergen.")
        yield made


async def post(client: httpx2.AsyncClient, path: str, status: int = 200, **body: Any) -> Any:
    answer = await client.post(path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


async def frames(client: httpx2.AsyncClient, path: str, **body: Any) -> list[dict[str, Any]]:
    answer = await client.post(path, json=body | KEY)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-cache"
    lines = answer.text.split("\n\n")
    assert lines.pop() == "" and all(line.startswith("data: ") for line in lines)
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def kinds(found: list[dict[str, Any]]) -> list[str]:
    """The types of frames (of a status, what it says), neighbours of one type once."""
    out: list[str] = []
    for frame in found:
        name = f"status {frame['data']}" if frame["type"] == "status" else frame["type"]
        out += [name] if out[-1:] != [name] else []
    return out


def joined(found: list[dict[str, Any]], kind: str = "text") -> str:
    return "".join(frame["data"] for frame in found if frame["type"] == kind)


async def stored(client: httpx2.AsyncClient, cube: str = "ada") -> list[str]:
    got = await post(client, "/product/get_memory", mem_cube_id=cube, user_id="ada")
    memories = got["data"]["text_mem"][0]["memories"]
    return [m["memory"] for m in memories if m["metadata"]["is_fast"]][::-1]


async def test_complete_answers_in_the_envelope(client: httpx2.AsyncClient) -> None:
    got = await post(client, "/product/chat/complete", user_id="ada", query="Where do I live?")
    assert got["code"] == 200 and got["message"] == "Chat completed successfully"
    assert got["data"] == {"response": "You live in Bergen.", "reasoning": "It is said there."}
    (reference, *_) = got["references"]
    assert re.fullmatch(r"\[[0-9a-f]{8}\]", reference["ref_id"]) and reference["cube_id"] == "ada"
    assert "Bergen" in reference["memory"] and 0.45 <= reference["relativity"] <= 1
    assert len(got["memory_ids"]) == 2
    assert await stored(client) == ["I live in Bergen.", "Where do I live?", "You live in Bergen."]


async def test_the_stream_tells_reasoning_and_text_and_nothing_else(client: httpx2.AsyncClient) -> None:
    found = await frames(client, "/product/chat/stream", user_id="ada", query="Where do I live?")
    assert kinds(found) == ["reasoning", "text"] and all(set(f) == {"type", "data"} for f in found)
    assert joined(found) == "You live in Bergen." and joined(found, "reasoning") == "It is said there."
    assert (await stored(client))[1:] == ["Where do I live?", "You live in Bergen."]


async def test_the_playground_tells_everything_in_order(client: httpx2.AsyncClient, model: ScriptedModel) -> None:
    await post(client, "/product/add", user_id="ada", async_mode="sync", messages="I love strawberries.")

    def cites(request: Any) -> ChatReply:
        block = request.messages[0].content
        mark = re.findall(r"\[1:[0-9a-f]{8}\]", block[block.rindex("<memos-context>") :])[0]
        return ChatReply(f"You live in Bergen {mark}.", reasoning="Hm.")

    model.answers[:] = [cites, ChatReply('{"questions": ["What do I like?", "Where was I born?", "Who are you?"]}')]
    model.piece = 3
    found = await frames(
        client, "/product/chat/stream/playground", user_id="ada", query="Where do I live?", beginner_guide_step="first"
    )
    assert kinds(found) == [
        "status 0", "status 1", "reference", "pref_md_string", "reference", "status reasoning", "reasoning", "status 2", "text", "time",
        "suggestion", "end",
    ]  # fmt: skip
    first, second = (frame["data"] for frame in found if frame["type"] == "reference")
    assert {m["id"] for m in second} <= {m["id"] for m in first}
    assert second[0].keys() >= {"id", "memory", "metadata", "ref_id"} and "Bergen" in second[0]["memory"]
    mark = f"[1:{second[0]['id'][-8:]}]"
    assert any(mark in frame["data"] for frame in found if frame["type"] == "text")
    assert joined(found) == f"You live in Bergen {mark}."
    (time,) = [frame["data"] for frame in found if frame["type"] == "time"]
    assert time["total_time"] >= 0 and "speed_improvement" in time
    (suggestion,) = [frame["data"] for frame in found if frame["type"] == "suggestion"]
    assert suggestion == ["What do I like?", "Where was I born?", "Who are you?"]
    assert found[-1] == {"type": "end"}
    assert (await stored(client))[-1] == "You live in Bergen."


async def test_preferences_are_told_and_shown_to_the_model(client: httpx2.AsyncClient, model: ScriptedModel) -> None:
    await post(client, "/product/add", user_id="ada", async_mode="sync", messages="I love strawberries.")
    body = {"user_id": "ada", "query": "Which fruit do I love, strawberries?", "add_message_on_answer": False}
    found = await frames(client, "/product/chat/stream/playground", **body)
    (told,) = [frame["data"] for frame in found if frame["type"] == "pref_md_string"]
    assert told.startswith("Explicit Preference:\n1. ") and "strawberries" in told
    assert "strawberries" in model.prompts[0]
    found = await frames(client, "/product/chat/stream/playground", **body, include_preference=False)
    assert [frame["data"] for frame in found if frame["type"] == "pref_md_string"] == [""]


class TestAFailingModel:
    @pytest.mark.parametrize("path", STREAMS)
    async def test_is_a_frame_and_the_question_is_kept(
        self, client: httpx2.AsyncClient, model: ScriptedModel, path: str
    ) -> None:
        model.broken_after = (4, ModelTimeout("the model did not answer within 60 s"))
        found = await frames(client, path, user_id="ada", query="Remember my boat is Wren")
        (error,) = [frame for frame in found if frame["type"] == "error"]
        assert error == {
            "type": "error", "content": "the model did not answer within 60 s", "data": "the model did not answer within 60 s",
            "error": "model_timeout",
        }  # fmt: skip
        assert found[-1]["type"] == ("end" if "playground" in path else "error")
        assert not [frame for frame in found if frame["type"] == "suggestion"]
        assert (await stored(client))[1] == "Remember my boat is Wren"

    async def test_is_a_status_of_complete(self, client: httpx2.AsyncClient, model: ScriptedModel) -> None:
        model.answers[:] = [ModelTimeout("late")]
        got = await post(client, "/product/chat/complete", 503, user_id="ada", query="hi")
        assert got == {"code": 503, "message": "late", "data": None, "error": "model_timeout"}


class TestWhatIsAsked:
    async def test_sampling_history_and_prompt_reach_the_model(
        self, client: httpx2.AsyncClient, model: ScriptedModel
    ) -> None:
        history = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello Ada."}]
        body = {
            "history": history,
            "system_prompt": "You are a pirate.\n{memories}\nArr.",
            "temperature": 0.5,
            "top_p": 0.25,
        }
        for path in ("/product/chat/complete", *STREAMS):
            await client.post(
                path, json={"user_id": "ada", "query": "Where do I live?", **body, "max_tokens": 99, **KEY}
            )
            asked = model.requests.pop(0)
            assert (asked.temperature, asked.top_p, asked.max_tokens) == (0.5, 0.25, 99)
            system, *rest = asked.messages
            assert system.content.startswith("You are a pirate.\n") and system.content.endswith("\nArr.")
            assert "Bergen" in system.content
            assert [m.content for m in rest] == ["hi", "Hello Ada.", "Where do I live?"]
            model.requests.clear()

    async def test_a_strict_threshold_keeps_the_three_best(self, client: httpx2.AsyncClient) -> None:
        for n in range(6):
            await post(
                client, "/product/add", user_id="ada", messages=f"Lamp number {n} stands in the hall of the house."
            )
        asked = {
            "user_id": "ada",
            "query": "Which lamps stand in the hall of the house?",
            "add_message_on_answer": False,
        }
        strict = await post(client, "/product/chat/complete", **asked, threshold=1.0)
        usual = await post(client, "/product/chat/complete", **asked)
        few = await post(client, "/product/chat/complete", **asked, top_k=2)
        assert (len(strict["references"]), len(few["references"])) == (3, 2) and len(usual["references"]) >= 6

    async def test_nothing_is_kept_when_that_is_asked(self, client: httpx2.AsyncClient) -> None:
        await post(client, "/product/chat/complete", user_id="ada", query="hi", add_message_on_answer=False)
        assert await stored(client) == ["I live in Bergen."]

    async def test_the_cubes_named_are_read_and_written(self, client: httpx2.AsyncClient, model: ScriptedModel) -> None:
        await post(
            client, "/product/add", user_id="ada", writable_cube_ids=["work"], messages="The door code of work is 4711."
        )
        got = await post(
            client, "/product/chat/complete", user_id="ada", query="Which door code?", readable_cube_ids=["work"], writable_cube_ids=["log", "log2"],
        )  # fmt: skip
        assert {r["cube_id"] for r in got["references"]} == {"work"} and "4711" in model.prompts[0]
        assert len(got["memory_ids"]) == 4
        assert (
            await stored(client, "log") == await stored(client, "log2") == ["Which door code?", "You live in Bergen."]
        )
        got = await post(client, "/product/chat/complete", user_id="ada", query="Which door code?", mem_cube_id="work")
        assert len(await stored(client, "work")) == 3

    async def test_a_model_is_chosen_by_its_name(self, client: httpx2.AsyncClient) -> None:
        asked = {"user_id": "ada", "query": "hi"}
        await post(client, "/product/chat/complete", **asked, model_name_or_path="gpt-4o-mini")
        for path in ("/product/chat/complete", *STREAMS):
            got = await post(client, path, 400, **asked, **KEY, model_name_or_path="gpt-9")
            assert got["code"] == 400 and "openai:gpt-4o-mini" in got["message"]

    async def test_the_internet_is_not_searched_and_that_is_said(self, client: httpx2.AsyncClient) -> None:
        got = await post(client, "/product/chat/complete", user_id="ada", query="hi", internet_search=True)
        assert any("web" in notice for notice in got["notices"])


class TestBusinessUsers:
    async def test_need_a_key_of_the_server(self, client: httpx2.AsyncClient) -> None:
        got = await post(client, STREAMS[2], 403, user_id="ada", query="hi", business_key="bk-2")
        assert got["code"] == 403 and "business_key" in got["message"]

    async def test_have_no_memories_unless_they_ask(self, client: httpx2.AsyncClient, model: ScriptedModel) -> None:
        answer = await client.post(
            STREAMS[2], json={"user_id": "ada", "query": "Where do I live?", "business_key": "bk-1"}
        )
        assert (
            answer.status_code == 200 and "Bergen" not in model.prompts[0] and "memos-context" not in model.prompts[0]
        )
        await frames(client, STREAMS[2], user_id="ada", query="Where do I live?")
        assert "I live in Bergen." in model.prompts[1]

    @pytest.mark.parametrize(("text", "keys"), [('["a", "b"]', ("a", "b")), ('{"a": 1}', ("a",)), ("", ())])
    def test_their_keys_come_from_the_variable_of_memos(self, text: str, keys: tuple[str, ...]) -> None:
        assert ServerOptions.load({"BUSINESS_CHAT_KEYS": text}).business_keys == keys
        own = ServerOptions.load({"BUSINESS_CHAT_KEYS": text, "MEMOS_SERVER_BUSINESS_KEYS": "x"})
        assert own.business_keys == ("x",)

    @pytest.mark.parametrize("text", ["a,b", "[1]", '"a"', '[""]'])
    def test_a_variable_of_another_shape_is_refused(self, text: str) -> None:
        with pytest.raises(ValueError, match="BUSINESS_CHAT_KEYS"):
            ServerOptions.load({"BUSINESS_CHAT_KEYS": text})


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"query": "hi", "temperature": 3}, 400),
        ({"query": "  "}, 400),
        ({"query": "hi", "filter": {"tags": {"like": 7, "zzz": 1}}}, 400),
        ({"query": "hi", "history": [{"role": "pirate", "content": "arr"}]}, 400),
        ({"query": "hi", "mem_cube_id": "nowhere", "add_message_on_answer": False}, 404),
        ({"query": "hi", "top_p": 2}, 422),
        ({}, 422),
    ],
)
@pytest.mark.parametrize("path", ["/product/chat/complete", *STREAMS])
async def test_what_is_wrong_has_a_status_also_for_streams(
    client: httpx2.AsyncClient, model: ScriptedModel, path: str, body: dict[str, Any], status: int
) -> None:
    got = await post(client, path, status, user_id="ada", **KEY, **body)
    assert got["code"] == status and got["data"] is None and not model.requests


async def test_suggestions_are_the_models(client: httpx2.AsyncClient, model: ScriptedModel) -> None:
    model.answers[:] = [ChatReply('{"questions": ["A?", "B?", "C?"]}'), ModelTimeout("late")]
    asked = {"user_id": "ada", "mem_cube_id": "ada", "language": "en"}
    assert (await post(client, "/product/suggestions", **asked))["data"] == {"query": ["A?", "B?", "C?"]}
    ruled = (await post(client, "/product/suggestions", **asked, message=[{"role": "user", "content": "hi"}]))["data"][
        "query"
    ]
    assert len(ruled) == 3 and any("Bergen" in question for question in ruled)
