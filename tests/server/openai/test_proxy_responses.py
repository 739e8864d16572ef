"""`/v1/responses` with the real `openai` client: memories in the instructions, conversations that the server keeps, streams."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import openai
import pytest
from proxied import Front, events, response, spoken, whole

from llm_server import Answer
from memos.memory.time import utcnow
from memos.server.openai import kept_responses
from memos.server.openai.kept_responses import Kept, KeptResponses

CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_r1", "name": "weather", "arguments": '{"city": "Oslo"}'}
OUTPUT = {"type": "function_call_output", "call_id": "call_r1", "output": "4 degrees"}


def test_memories_stand_behind_the_instructions(front: Front, client: openai.OpenAI) -> None:
    front.upstream.say(*(whole(response(f"resp_a{n}", spoken("Noted."))) for n in range(4)))
    raw = client.responses.with_raw_response.create(
        model="stub", input="My boat is called Wren.", instructions="Be brief."
    )
    assert raw.headers["x-memory-status"] == "ok" and raw.parse().output_text == "Noted."
    assert front.last.body == {"model": "stub", "input": "My boat is called Wren.", "instructions": "Be brief."}
    assert front.stored(front.user) == [("user", "My boat is called Wren."), ("assistant", "Noted.")]

    question: Any = {"role": "user", "content": [{"type": "input_text", "text": "What is my boat called?"}]}
    client.responses.create(
        model="stub", input=[question], instructions="Be brief.", reasoning={"effort": "low"}, store=True
    )
    heard = front.last.body
    assert heard["instructions"].startswith("Be brief.\n\n<memos-context>") and "Wren" in heard["instructions"]
    assert heard["input"] == [question] and heard["reasoning"] == {"effort": "low"} and heard["store"] is True

    client.responses.create(model="stub", input=[{"role": "developer", "content": "Be brief."}, question])
    rules, asked = front.last.body["input"]
    assert rules["content"].startswith("Be brief.\n\n<memos-context>") and asked == question
    assert "instructions" not in front.last.body
    client.responses.create(model="stub", input=[question])
    assert front.last.body["instructions"].startswith("<memos-context>") and front.last.body["input"] == [question]


def test_a_stream_of_events_comes_byte_for_byte_and_is_kept(front: Front, client: openai.OpenAI) -> None:
    said = events(response("resp_s1", spoken("Hello you.")), "Hello ", "you.")
    front.upstream.say(said, said)
    with client.responses.stream(model="stub", input="Greet me.") as stream:
        text = "".join(e.delta for e in stream if e.type == "response.output_text.delta")
        assert text == "Hello you." and stream.get_final_response().id == "resp_s1"
    with front.live.client(front.key(front.user)) as plain:
        answer = plain.post("/v1/responses", json={"model": "stub", "input": "Greet me.", "stream": True})
    assert answer.content == b"".join(said.events or ())
    assert front.stored(front.user) == [("user", "Greet me."), ("assistant", "Hello you.")]
    used = front.ask("GET", "/v1/usage", front.user).json()["total"]
    assert (used["calls"], used["input_tokens"], used["output_tokens"]) == (2, 18, 8)


def test_a_stream_that_breaks_ends_with_an_error_event(front: Front, client: openai.OpenAI) -> None:
    front.upstream.say(events(response("resp_b1", spoken("Hello you.")), "Hello ", "you.", cut=4))
    got: list[str] = []
    with pytest.raises(openai.APIError, match="cannot reach"):
        got.extend(e.type for e in client.responses.create(model="stub", input="Greet me.", stream=True))
    assert got[0] == "response.created" and got[-1] == "response.output_text.delta" and len(got) == 4
    last = front.records(front.user)[-1]
    assert (last["text"], last["info"]) == ("Hello", {"incomplete": "failed"})


def test_a_failed_response_is_passed_on(front: Front, client: openai.OpenAI) -> None:
    front.upstream.say(
        whole({**response("resp_f", status="failed"), "error": {"code": "server_error", "message": "no"}})
    )
    assert client.responses.create(model="stub", input="Greet me.").status == "failed"
    assert front.stored(front.user) == [("user", "Greet me.")]


@pytest.mark.parametrize("kept", [False, True], ids=["whole history", "previous_response_id"])
def test_a_tool_is_a_step_of_the_turn_and_everything_is_stored_once(
    front: Front, client: openai.OpenAI, kept: bool
) -> None:
    one, two, three = (f"resp_{front.user}_{n}" for n in range(3))
    front.upstream.say(
        whole(response(one, CALL)), whole(response(two, spoken("Cold."))), whole(response(three, spoken("Yes.")))
    )
    history: list[Any] = [{"role": "user", "content": "How is Oslo?"}]
    client.responses.create(model="stub", input=history)
    more: dict[str, Any] = {"previous_response_id": one} if kept else {}
    history = [OUTPUT] if kept else [*history, CALL, OUTPUT]
    client.responses.create(model="stub", input=history, **more)
    more = {"previous_response_id": two} if kept else {}
    last = {"role": "user", "content": "Really?"}
    history = [last] if kept else [*history, spoken("Cold."), last]
    for _ in range(2):
        client.responses.create(model="stub", input=history, **more)
        front.upstream.say(whole(response(three, spoken("Yes."))))
    assert front.last.body["input"] == history
    records = front.records(front.user)
    assert [(m["role"], m["text"]) for m in records if m["kind"] == "trace"] == [
        ("user", "How is Oslo?"), ("assistant", "Cold."), ("user", "Really?"), ("assistant", "Yes."),
    ]  # fmt: skip
    (step,) = [m["body"]["use"] for m in records if m["kind"] == "tool_call"]
    assert (step["tool"], step["input"], step["output"]) == ("weather", '{"city": "Oslo"}', "4 degrees")
    assert len({m["session"] for m in records}) == 1


def test_nobody_goes_on_with_the_response_of_another(front: Front) -> None:
    mine, other = f"resp_{front.user}", f"{front.user}-other"
    front.upstream.say(whole(response(mine, spoken("Noted."))))
    with front.client(front.user) as client:
        client.responses.create(model="stub", input="My boat is called Wren.", store=True)
        front.upstream.say(whole(response(f"{mine}_2", spoken("Wren."))))
        client.responses.create(model="stub", input="What is it called?", previous_response_id=mine)
    before = len(front.upstream.requests)
    item: Any = {"type": "item_reference", "id": "msg_1"}
    for user, scopes, more in (
        (other, "read,write", {"previous_response_id": mine}),
        (other, "read,write", {"previous_response_id": "resp_nobody"}),
        (other, "read,write", {"input": [item]}),
        (other, "read,write", {"input": [{"id": "msg_1"}]}),
        (other, "read,write", {"input": [{"id": "msg_1", "type": None}]}),
        (other, "read,write", {"input": [{"id": "ig_1", "type": "image_generation_call", "result": None}]}),
        (other, "act", {"previous_response_id": mine}),
        (other, "read,write", {"conversation": "conv_1"}),
        (other, "read,write", {"conversation": {"id": "conv_1"}}),
    ):
        with front.client(user, scopes, mode="off") as client, pytest.raises(openai.APIStatusError) as caught:
            client.responses.create(**{"model": "stub", "input": "Go on.", **more})
        assert caught.value.status_code == (400 if "input" in more else 404), more
    assert len(front.upstream.requests) == before
    with front.client(other, "act", user=front.user, mode="off") as client:
        front.upstream.say(whole(response("resp_x", spoken("Ok."))))
        client.responses.create(model="stub", input="Go on.", previous_response_id=mine)


def test_a_server_without_responses_says_so(front: Front, client: openai.OpenAI) -> None:
    front.upstream.say(Answer(status=404, message="no path /v1/responses"))
    with pytest.raises(openai.NotFoundError, match="no path"):
        client.responses.create(model="stub", input="Greet me.")


def test_whose_a_response_is_outlives_the_process_and_is_forgotten_in_a_month(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    KeptResponses(tmp_path).keep("resp_1", "ada", Kept("trip to\u2028oslo"))
    assert KeptResponses(tmp_path).find("resp_1", "ada") == (True, Kept("trip to\u2028oslo"))
    assert KeptResponses(tmp_path).find("resp_1", "bob") == (True, None)
    assert KeptResponses(tmp_path).find("resp_2", "ada") == (False, None)
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert b"resp_1" not in file.read_bytes() and b"ada" not in file.read_bytes()
    monkeypatch.setattr(kept_responses, "utcnow", lambda: datetime(2099, 1, 1, tzinfo=UTC))
    later = KeptResponses(tmp_path)
    later.keep("resp_3", "ada", Kept("s"))
    assert later.find("resp_1", "ada") == (False, None) and later.find("resp_3", "ada") == (True, Kept("s"))


def test_of_several_processes_one_is_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(8) as pool:
        for n in range(20):
            marks = [f"mark{i}" for i in range(8)]
            firsts = pool.map(lambda mark, n=n: KeptResponses(tmp_path).first(f"opening {n}", mark), marks)
            (first,) = set(firsts)
            assert first in marks and KeptResponses(tmp_path).first(f"opening {n}", "later") == first
    monkeypatch.setattr(kept_responses, "utcnow", lambda: datetime(2099, 1, 1, tzinfo=UTC))
    assert KeptResponses(tmp_path).first("opening 0", "later") == "later", "on another day it begins anew"


def test_what_is_said_later_of_a_thing_holds_and_whose_it_is_does_not_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = KeptResponses(tmp_path)
    waits = Kept("s", "a\n model", told=7, cube="notes", writes=True)
    kept.keep("resp_1", "ada", waits)
    assert kept.find("resp_1", "ada") == (True, waits)
    kept.keep("resp_1", "bob", Kept("t"))
    kept.keep("resp_1", "ada", Kept("s", last="resp_0"))
    assert kept.find("resp_1", "ada") == (True, Kept("s", last="resp_0")) and kept.find("resp_1", "bob") == (True, None)

    today = utcnow()
    for day in (20, 40, 60):  # what is used is not forgotten
        monkeypatch.setattr(kept_responses, "utcnow", lambda day=day: today + timedelta(days=day))
        assert kept.find("resp_1", "ada", renew=True) == (True, Kept("s", last="resp_0"))
    assert kept.find("resp_1", "bob") == (True, None)


def test_what_an_earlier_edition_or_a_full_disk_left_is_read(tmp_path: Path) -> None:
    mark, owner = (kept_responses._mark(text) for text in ("resp_1", "ada"))
    folder = tmp_path / "openai" / utcnow().date().isoformat()
    folder.mkdir(parents=True)
    for line in (
        f"{mark} {owner} a trip",
        f'{mark} {owner} a trip\t{{"model": "x", "to',
        f'{mark} {owner} a trip\t{{"new": 1}}',
    ):
        (folder / mark[:2]).write_text(f"{line}\n", encoding="utf-8")
        assert KeptResponses(tmp_path).find("resp_1", "ada") == (True, Kept("a trip"))
