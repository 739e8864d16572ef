"""What goes wrong: the model's server, the memory, the client; and who may do what in whose name."""

from __future__ import annotations

import time
from typing import Any

import httpx2
import openai
import pytest
from proxied import Front, chunks

from llm_server import Answer, busy, cut, failing

ASKED: Any = [{"role": "user", "content": "My boat is called Wren."}]


def ask(client: openai.OpenAI, messages: Any = None, **more: Any) -> Any:
    return client.chat.completions.create(model="stub", messages=messages or ASKED, **more)


# -- the model's server ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, openai.BadRequestError), (401, openai.AuthenticationError), (404, openai.NotFoundError),
        (422, openai.UnprocessableEntityError), (500, openai.InternalServerError),
    ],
)  # fmt: skip
def test_an_error_of_the_server_is_passed_on(
    front: Front, client: openai.OpenAI, status: int, error: type[openai.APIStatusError], stream: bool
) -> None:
    front.upstream.say(failing(status, "the model says no to sk-upstream-secret"))
    with pytest.raises(error) as caught:
        ask(client, stream=stream)
    assert caught.value.status_code == status and len(front.upstream.requests) == 1
    assert caught.value.body == {"message": "the model says no to ***", "type": "error", "code": None}
    assert front.stored(front.user) == [("user", ASKED[0]["content"])], "what was said is kept all the same"
    ask(client)
    assert front.stored(front.user) == [("user", ASKED[0]["content"]), ("assistant", "Hello.")]


def test_a_busy_server_says_when_to_come_again(front: Front, client: openai.OpenAI) -> None:
    front.upstream.say(busy(7))
    with pytest.raises(openai.RateLimitError) as caught:
        ask(client)
    assert caught.value.response.headers["retry-after"] == "7"


def test_a_server_that_is_cut_off_ends_the_stream_with_an_error(front: Front, client: openai.OpenAI) -> None:
    front.upstream.say(cut(4, "an answer that is cut"), cut(2))
    got: list[str] = []
    with pytest.raises(openai.APIError, match="cannot reach"):
        got.extend(chunk.choices[0].delta.content or "" for chunk in ask(client, stream=True))
    assert "".join(got) == "an answer th"[: len("".join(got))] and "".join(got)
    last = front.records(front.user)[-1]
    assert last["text"] == "".join(got) and last["info"] == {"incomplete": "failed"}
    with pytest.raises(openai.APIError) as caught:  # and in the middle of a whole answer
        ask(client)
    assert caught.value.code == "model_unavailable"


def test_an_error_in_the_middle_of_a_stream_is_passed_on(front: Front, client: openai.OpenAI) -> None:
    events = (chunks({"content": "So "}).events or ())[:1]
    front.upstream.say(Answer(events=(*events, b'data: {"error": {"message": "overloaded", "code": "x"}}\n\n')))
    with pytest.raises(openai.APIError, match="overloaded"):
        list(ask(client, stream=True))
    assert front.records(front.user)[-1]["info"] == {"incomplete": "failed"}


@pytest.mark.slow
def test_a_server_that_says_nothing_more_is_not_waited_for_for_ever(front: Front, client: openai.OpenAI) -> None:
    front.upstream.say(Answer("one two three", stall=2), Answer("late", delay=30))
    with pytest.raises(openai.APIError, match="stopped in the middle"):
        list(ask(client, stream=True))
    with pytest.raises(openai.APIStatusError) as caught:
        ask(client)
    assert caught.value.status_code == 503 and caught.value.code == "model_timeout"


# -- the client ------------------------------------------------------------------------------------------------------


def test_a_client_that_leaves_a_stream_ends_it_upstream_and_what_was_said_is_kept(
    front: Front, client: openai.OpenAI
) -> None:
    idle = front.upstream.at_once
    front.upstream.say(Answer("x".join(["word "] * 400), piece=5, pause=0.02))
    stream, got = ask(client, stream=True), ""
    for chunk in stream:
        got += chunk.choices[0].delta.content or ""
        if len(got) > 30:
            break
    stream.close()
    wait_for(lambda: front.upstream.at_once == idle)
    wait_for(lambda: len(front.records(front.user)) == 2 and front.records(front.user)[-1]["info"])
    last = front.records(front.user)[-1]
    assert last["text"].startswith(got.strip()[:30]) and last["info"] == {"incomplete": "left"}
    assert len(last["text"]) < 1_000


def test_a_client_that_leaves_before_the_answer_ends_it_upstream(front: Front) -> None:
    front.upstream.say(Answer("late", delay=4))
    with front.client(front.user) as client, pytest.raises(openai.APITimeoutError):
        ask(client, timeout=1)  # long enough that the request has come to the model
    wait_for(lambda: front.ask("GET", "/v1/usage", front.user).json()["total"]["calls"] == 1)
    used = front.ask("GET", "/v1/usage", front.user).json()["total"]
    assert used["input_tokens"] >= len(ASKED[0]["content"]) // 4, f"what was put in is paid all the same: {used}"
    began = time.monotonic()
    with front.client(front.user) as client:
        assert ask(client, [{"role": "user", "content": "Still there?"}]).choices[0].message.content == "Hello."
    assert time.monotonic() - began < 2
    assert ("user", ASKED[0]["content"]) in front.stored(front.user)


def wait_for(true: Any, seconds: float = 5) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.02)


# -- the memory ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
def test_a_broken_cube_costs_only_its_memories(front: Front, stream: bool) -> None:
    user = f"{front.user}-broken"
    made = front.run("add", "My boat is called Wren.", "--user", user)
    cube = max((front.live.home / "cubes").glob("*.cube"), key=lambda path: path.stat().st_ctime_ns)
    assert made and cube.exists()
    cube.write_bytes(b"no database at all" * 1000)
    with front.client(user) as client:
        raw = client.chat.completions.with_raw_response.create(model="stub", messages=ASKED * 2, stream=stream)
        assert raw.headers["x-memory-status"] == "degraded"
        assert raw.headers["x-memory-reason"].startswith("not_stored: ")
        answer = raw.parse()
        text = (
            "".join(c.choices[0].delta.content or "" for c in answer) if stream else answer.choices[0].message.content
        )
        assert text == "Hello."
    assert front.last.body["messages"] == ASKED * 2

    def told() -> list[str]:
        asked = raw.headers["x-request-id"]
        return [line for line in front.live.log if "proxy_without_memory" in line and asked in line]

    wait_for(told)  # a line is read a moment after it was written
    assert len(told()) == 1 and not any("Wren" in line for line in front.live.log)


def test_a_message_that_is_too_long_to_keep_is_answered(front: Front, client: openai.OpenAI) -> None:
    raw = client.chat.completions.with_raw_response.create(
        model="stub", messages=[{"role": "user", "content": "long " * 12_000}]
    )
    assert raw.headers["x-memory-reason"] == "message_too_long" and raw.parse().choices[0].message.content == "Hello."
    assert front.stored(front.user) == [("assistant", "Hello.")]


# -- who may ---------------------------------------------------------------------------------------------------------


def refused(front: Front, who: str, scopes: str = "read,write", /, **headers: str) -> tuple[int, str]:
    """How a request ends that must not come to the model's server."""
    before = len(front.upstream.requests)
    with front.client(who, scopes, **headers) as client, pytest.raises(openai.APIStatusError) as caught:
        ask(client)
    error = caught.value
    assert len(front.upstream.requests) == before and error.response.headers["x-request-id"]
    assert isinstance(error.body, dict) and error.body["message"] and error.type, error.body
    return error.status_code, str(error.code)


def test_nobody_is_answered_in_the_name_of_another(front: Front) -> None:
    other = f"{front.user}-other"
    with front.client(other) as client:
        ask(client)
    assert refused(front, front.user, user=other) == (403, "access_denied")
    assert refused(front, front.user, cube=other) == (404, "not_found")
    assert refused(front, front.user, cube="none-such") == (404, "not_found")
    assert refused(front, front.user, "read") == (403, "access_denied")
    assert refused(front, front.user, "write") == (403, "access_denied")
    assert refused(front, front.user, mode="maybe") == (400, "invalid_input")
    for tokens in ("0", "-1", "many", "1" * 30):
        assert refused(front, front.user, tokens=tokens) == (400, "invalid_input")
    with front.client(front.user, mode="read") as client:  # what OpenAI's own fields say of a user is not who asks
        ask(client, [{"role": "user", "content": "What is my boat called?"}], user=other, safety_identifier=other)
    assert "Wren" not in front.last.prompt and front.last.body["user"] == other
    with front.client(front.user, "read", mode="read") as client:
        ask(client)


def test_of_two_users_in_the_headers_neither_is_believed(front: Front) -> None:
    before = len(front.upstream.requests)
    headers = [
        ("Authorization", f"Bearer {front.key(front.user, 'act')}"),
        ("X-Memory-User", "a"),
        ("X-Memory-User", "b"),
    ]
    answer = httpx2.post(
        f"{front.live.url}/v1/chat/completions", json={"model": "stub", "messages": ASKED}, headers=headers
    )
    assert answer.status_code == 400 and "more than once" in answer.json()["error"]["message"]
    assert len(front.upstream.requests) == before


def test_a_cube_that_may_only_be_read_is_not_written(front: Front) -> None:
    owner = f"{front.user}-owner"
    front.ask("POST", "/v1/memories", owner, json={"messages": "My boat is called Wren."})
    front.ask("PUT", f"/v1/cubes/{owner}/grants/{front.user}", owner, json={"level": "read"})
    assert refused(front, front.user, cube=owner) == (403, "access_denied")
    with front.client(front.user, cube=owner, mode="read") as client:
        ask(client, [{"role": "user", "content": "What is the boat called?"}])
    assert "Wren" in front.last.prompt and len(front.stored(owner)) == 1


def test_who_begins_alike_in_one_cube_is_not_in_one_conversation(front: Front) -> None:
    owner, users = f"{front.user}-owner", [f"{front.user}-{n}" for n in "ab"]
    front.ask("POST", "/v1/memories", owner, json={"messages": "My boat is called Wren."})
    for user in users:
        front.ask("PUT", f"/v1/cubes/{owner}/grants/{user}", owner, json={"level": "write"})
        with front.client(user, cube=owner) as client:
            ask(client, [{"role": "user", "content": "Hi."}])
    said = [one for one in front.records(owner) if one["text"] in ("Hi.", "Hello.")]
    assert [(one["role"], one["text"]) for one in said] == [("user", "Hi."), ("assistant", "Hello.")] * 2
    assert len({one["session"] for one in said}) == 2


def test_a_backend_acts_for_the_users_it_names(front: Front) -> None:
    one, two = f"{front.user}-one", f"{front.user}-two"
    with front.client(front.user, "act", user=one) as client:
        ask(client, user="somebody else")
    with front.client(front.user, "act") as client:
        ask(client, [{"role": "user", "content": "I like tea."}], safety_identifier=two)
        ask(client, [{"role": "user", "content": "What do I like?"}], user=two)
        assert "I like tea." in front.last.prompt and "Wren" not in front.last.prompt
    assert next(text for _, text in front.stored(one)) == "My boat is called Wren."
    assert next(text for _, text in front.stored(two)) == "I like tea."
    assert front.stored(front.user) == []


def test_the_key_of_the_caller_stays_here(front: Front, client: openai.OpenAI) -> None:
    ask(client, extra_headers={"OpenAI-Beta": "assistants=v2", "X-Private": "mine"})
    sent = {name.lower(): value for name, value in front.last.headers.items()}
    assert sent["authorization"] == "Bearer sk-upstream-secret" and sent["openai-beta"] == "assistants=v2"
    assert not any("mk_" in value for value in sent.values())
    assert not any(name.startswith(("x-memory", "x-private", "x-stainless")) for name in sent)


def test_what_is_no_request_is_refused_as_openai_does(front: Front) -> None:
    url, key = f"{front.live.url}/v1/chat/completions", {"Authorization": f"Bearer {front.key(front.user)}"}
    kind = {"Content-Type": "application/json"}
    for content, headers, status in (
        (b"{}", kind, 401), (b"{}", key, 415), (b"{", key | kind, 400), (b"[]", key | kind, 400),
        (b'{"n": NaN}', key | kind, 400), (b'{"x": "' + b"x" * (1 << 20) + b'"}', key | kind, 413),
    ):  # fmt: skip
        answer = httpx2.post(url, content=content, headers=headers)
        assert answer.status_code == status, answer.text
        assert {"message", "type", "param", "code"} == set(answer.json()["error"]), answer.text
    assert httpx2.put(url, json={}, headers=key).status_code == 405
