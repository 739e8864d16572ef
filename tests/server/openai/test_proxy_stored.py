"""What the models' server keeps, with the real `openai` client: everything it does with responses, stored chat completions and
conversations goes through, and nobody sees what is another's, though all lie in one account.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import httpx2
import openai
import pytest
from provider import Provider
from proxied import Front
from serving import Starter

from memos.server.openai import stored

SAID: Any = [{"role": "user", "content": "My boat is called Wren."}]


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as running:
        yield running


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory, provider: Provider) -> Iterator[Front]:
    start = Starter(tmp_path_factory.mktemp("stored"))
    try:
        live = start(
            MEMOS_LLM_CHAT="openai-compatible:stub",
            MEMOS_LLM_CHAT_URL=provider.url,
            MEMOS_LLM_CHAT_KEY="sk-upstream-secret",
            MEMOS_SERVER_AUTH="on",
        )
        yield Front(live, cast("Any", provider))
    finally:
        start.end()


@pytest.fixture
def front(started: Front, provider: Provider) -> Front:
    """The server, before a models' server that is used to keep things of others."""
    started.users += 1
    provider.heard.clear()
    provider.answer, provider.cut = "Hello.", False
    return started


@pytest.fixture
def client(front: Front) -> Iterator[openai.OpenAI]:
    with front.client(front.user) as made:
        yield made


def same(answer: Any, told: dict[str, Any]) -> bool:
    """Whether a client was told what the server has."""
    return bool(answer.to_dict(mode="json", exclude_unset=True, warnings=False) == told)


# -- what the client does ------------------------------------------------------------------------------------------------


def test_a_response_is_looked_at_and_deleted(client: openai.OpenAI, provider: Provider) -> None:
    made = client.responses.create(model="stub", input="Greet me.")
    assert same(
        client.responses.retrieve(made.id, include=["message.output_text.logprobs"]), provider.responses[made.id]
    )
    assert provider.last.query == "include%5B%5D=message.output_text.logprobs" and provider.last.body is None
    sent = {name.lower(): value for name, value in provider.last.headers.items()}
    assert sent["authorization"] == "Bearer sk-upstream-secret" and not any(n.startswith("x-memory") for n in sent)
    (item,) = client.responses.input_items.list(made.id, limit=5, order="asc")
    assert cast("Any", item).content[0].text == "Greet me." and provider.last.query == "limit=5&order=asc"
    client.responses.delete(made.id)
    assert made.id not in provider.responses
    with pytest.raises(openai.NotFoundError, match="not found"):
        client.responses.retrieve(made.id)


def test_a_conversation_is_counted_and_made_shorter(front: Front, client: openai.OpenAI, provider: Provider) -> None:
    made = client.responses.create(model="stub", input="My boat is called Wren.")
    counted = client.responses.input_tokens.count(model="stub", input="And now?", previous_response_id=made.id)
    assert counted.input_tokens == 11 and provider.last.body["previous_response_id"] == made.id
    short = client.responses.compact(model="openai-compatible:stub", input="And now?", previous_response_id=made.id)
    assert short.output[0].type == "compaction"
    assert provider.last.body == {"model": "stub", "input": "And now?", "previous_response_id": made.id}
    assert front.ask("GET", "/v1/usage", front.user).json()["total"]["input_tokens"] == 18
    assert front.stored(front.user) == [("user", "My boat is called Wren."), ("assistant", "Hello.")]

    said = [{"role": "user", "content": words} for words in ("My boat is called Wren.", "It is blue.")]
    more: Any = [*said, short.output[0].to_dict(), {"role": "user", "content": "And now?"}]
    client.responses.create(model="stub", input=more)
    assert [text for role, text in front.stored(front.user) if role == "user"] == [
        "My boat is called Wren.",
        "And now?",
    ]


async def test_stored_chat_completions_are_looked_at_changed_and_deleted(front: Front, provider: Provider) -> None:
    async with openai.AsyncOpenAI(
        base_url=f"{front.live.url}/v1", api_key=front.key(front.user), max_retries=0
    ) as client:
        chat = client.chat.completions
        made = await chat.create(model="stub", messages=SAID, store=True, metadata={"a": "b"})
        chunks = [c async for c in await chat.create(model="stub", messages=SAID, store=True, stream=True)]
        assert same(await chat.retrieve(made.id), provider.completions[made.id])
        assert (await chat.retrieve(chunks[0].id)).id == chunks[0].id
        assert [m.content async for m in chat.messages.list(made.id)][-1] == SAID[0]["content"]
        assert (await chat.update(made.id, metadata={"a": "c"})).metadata == {"a": "c"}
        assert {c.id async for c in chat.list()} >= {made.id, chunks[0].id}
        assert (await chat.delete(made.id)).deleted
        with pytest.raises(openai.NotFoundError):
            await chat.retrieve(made.id)


def test_only_the_own_ones_are_listed_page_by_page(front: Front, client: openai.OpenAI, provider: Provider) -> None:
    other, mine = f"{front.user}-other", []
    with front.client(other, mode="off") as another:
        for n in range(3):
            for _ in range(40):
                theirs = provider.id("chatcmpl")
                provider.completions[theirs] = {"id": theirs, "object": "chat.completion"}
            another.chat.completions.create(model="stub", messages=SAID, store=True)
            mine.append(
                client.chat.completions.create(model="stub", messages=SAID, store=True, metadata={"n": str(n)}).id
            )
        client.chat.completions.create(model="stub", messages=SAID)  # is kept by nobody
        first = client.chat.completions.list(limit=2, metadata={"x": "y"}, order="asc")
        assert [one.id for one in first.data] == mine[:2] and first.has_more
        assert "metadata%5Bx%5D=y" in provider.last.query and "order=asc" in provider.last.query
        assert [one.id for one in client.chat.completions.list(limit=2)] == mine
        assert len(list(another.chat.completions.list())) == 3
        with pytest.raises(openai.NotFoundError):
            another.chat.completions.list(after=mine[0])
    with front.client(f"{front.user}-nobody") as nobody:
        assert list(nobody.chat.completions.list()) == []
        with pytest.raises(openai.BadRequestError):
            nobody.chat.completions.list(limit=0)


def test_a_list_that_holds_too_much_of_others_is_no_empty_one(
    front: Front, client: openai.OpenAI, provider: Provider
) -> None:
    before = dict(provider.completions)
    for n in range(stored._PAGE * stored._PAGES + 1):
        provider.completions[f"chatcmpl_of_others_{n}"] = {"id": f"chatcmpl_of_others_{n}", "object": "chat.completion"}
    with pytest.raises(openai.InternalServerError, match="narrow"):
        client.chat.completions.list()
    provider.completions = before
    provider.odd = True
    with pytest.raises(openai.InternalServerError, match="no list"):
        client.chat.completions.list()
    provider.odd = False


def test_a_conversation_goes_on_there(front: Front, client: openai.OpenAI, provider: Provider) -> None:
    made = client.conversations.create(items=[{"role": "user", "content": "first"}], metadata={"a": "b"})
    assert same(client.conversations.retrieve(made.id), provider.conversations[made.id])
    assert client.conversations.update(made.id, metadata={"a": "c"}).metadata == {"a": "c"}
    client.conversations.items.create(made.id, items=[{"role": "user", "content": "second"}], include=[])
    assert [item.id for item in client.conversations.items.list(made.id)] == ["msg_first", "msg_second"]
    assert client.conversations.items.retrieve("msg_first", conversation_id=made.id).id == "msg_first"
    client.conversations.items.delete("msg_first", conversation_id=made.id)
    for words, where in (("Yes.", made.id), ("Yes.", {"id": made.id}), ("No.", made.id)):
        client.responses.create(model="stub", input=words, conversation=cast("Any", where))
        assert provider.last.body["conversation"] == where
    records = front.records(front.user)
    assert [m["text"] for m in records if m["role"] == "user"] == ["Yes.", "Yes.", "No."], "each is said once"
    assert len({m["session"] for m in records}) == 1
    assert client.conversations.delete(made.id).deleted


# -- in the background ---------------------------------------------------------------------------------------------------


def test_the_answer_of_a_response_in_the_background_is_kept_when_it_is_fetched(
    front: Front, client: openai.OpenAI, provider: Provider
) -> None:
    provider.answer = "Here is your long report."
    front.ask("POST", "/v1/cubes", front.user, json={"name": f"notes-{front.user}"})
    with front.client(front.user, cube=f"notes-{front.user}") as there:
        made = there.responses.create(model="stub", input="Write a report.", background=True)
    assert made.status == "queued" and provider.last.body["background"] is True
    for _ in range(2):
        assert client.responses.retrieve(made.id).status == "queued"
    where = {"cube": f"notes-{front.user}"}
    assert front.stored(front.user, **where) == [("user", "Write a report.")]
    provider.finish(made.id)
    for _ in range(3):
        assert client.responses.retrieve(made.id).output_text == provider.answer
    assert front.stored(front.user, **where) == [("user", "Write a report."), ("assistant", provider.answer)]
    assert front.stored(front.user) == [] and len({m["session"] for m in front.records(front.user, **where)}) == 1
    used = front.ask("GET", "/v1/usage", front.user).json()["total"]
    assert (used["input_tokens"], used["output_tokens"]) == (9, 4), "once, with what was guessed at first"


@pytest.mark.parametrize("cut", [True, False])
def test_a_stream_in_the_background_goes_on_where_it_was_left(
    front: Front, client: openai.OpenAI, provider: Provider, cut: bool
) -> None:
    provider.answer, provider.cut = "A long report.", cut
    stream = client.responses.create(model="stub", input="Write a report.", background=True, stream=True)
    begun = list(stream)
    assert [event.type for event in begun] == ["response.created", "response.in_progress"]
    id, number = cast("Any", begun[0]).response.id, begun[-1].sequence_number
    provider.finish(id)
    for _ in range(2):
        rest = list(client.responses.retrieve(id, stream=True, starting_after=number))
        assert [event.type for event in rest] == ["response.output_text.delta", "response.completed"]
    assert provider.last.query == f"starting_after={number}&stream=true"
    (said, answered) = front.records(front.user)
    assert (said["text"], answered["text"], answered["info"]) == ("Write a report.", "A long report.", {})
    assert front.ask("GET", "/v1/usage", front.user).json()["total"]["output_tokens"] == 4


def test_the_same_answer_to_two_responses_in_the_background_is_kept_twice(front: Front, provider: Provider) -> None:
    with front.client(front.user, session="reports") as client:
        ids = [client.responses.create(model="stub", input=f"Write {n}.", background=True).id for n in range(2)]
        for id in ids:
            provider.finish(id)
            client.responses.retrieve(id)
    assert sorted(front.stored(front.user)) == [
        ("assistant", "Hello."), ("assistant", "Hello."), ("user", "Write 0."), ("user", "Write 1."),
    ]  # fmt: skip


def test_a_response_in_the_background_can_be_cancelled(front: Front, client: openai.OpenAI, provider: Provider) -> None:
    made = client.responses.create(model="stub", input="Write a report.", background=True)
    assert client.responses.cancel(made.id).status == "cancelled"
    assert (provider.last.path, provider.last.method) == (f"/v1/responses/{made.id}/cancel", "POST")
    assert front.stored(front.user) == [("user", "Write a report.")]


def test_what_is_fetched_is_kept_only_as_it_was_asked_for(front: Front, provider: Provider) -> None:
    for asked, fetched in (("off", "both"), ("read", "both"), ("both", "off")):
        with front.client(front.user, mode=asked) as client:
            made = client.responses.create(model="stub", input=f"Write {asked}.", background=True)
        provider.finish(made.id)
        with front.client(front.user, mode=fetched) as client:
            assert client.responses.retrieve(made.id).output_text == "Hello."
    assert front.stored(front.user) == [("user", "Write both.")]


# -- whose it is ---------------------------------------------------------------------------------------------------------

Call = Callable[[openai.OpenAI, str], Any]
OF_RESPONSES: list[Call] = [
    lambda c, it: c.responses.retrieve(it),
    lambda c, it: c.responses.retrieve(it, stream=True),
    lambda c, it: c.responses.delete(it),
    lambda c, it: c.responses.cancel(it),
    lambda c, it: c.responses.input_items.list(it),
    lambda c, it: c.responses.compact(model="stub", previous_response_id=it),
    lambda c, it: c.responses.input_tokens.count(model="stub", input="x", previous_response_id=it),
    lambda c, it: c.responses.create(model="stub", input="Go on.", previous_response_id=it),
    lambda c, it: c.responses.create(
        model="stub", input="Go on.", previous_response_id=it, background=True, stream=True
    ),
]
OF_COMPLETIONS: list[Call] = [
    lambda c, it: c.chat.completions.retrieve(it),
    lambda c, it: c.chat.completions.update(it, metadata={"a": "b"}),
    lambda c, it: c.chat.completions.delete(it),
    lambda c, it: c.chat.completions.messages.list(it),
]
OF_CONVERSATIONS: list[Call] = [
    lambda c, it: c.conversations.retrieve(it),
    lambda c, it: c.conversations.update(it, metadata={"a": "b"}),
    lambda c, it: c.conversations.delete(it),
    lambda c, it: c.conversations.items.list(it),
    lambda c, it: c.conversations.items.create(it, items=[{"role": "user", "content": "x"}]),
    lambda c, it: c.conversations.items.retrieve("msg_mine", conversation_id=it),
    lambda c, it: c.conversations.items.delete("msg_mine", conversation_id=it),
    lambda c, it: c.responses.create(model="stub", input="Go on.", conversation=it),
    lambda c, it: c.responses.create(model="stub", input="Go on.", conversation={"id": it}),
    lambda c, it: c.responses.input_tokens.count(model="stub", input="x", conversation=it),
]


def test_nothing_of_another_is_shown_changed_or_gone_on_with(
    front: Front, client: openai.OpenAI, provider: Provider
) -> None:
    response = client.responses.create(model="stub", input="My boat is called Wren.").id
    completion = client.chat.completions.create(model="stub", messages=SAID, store=True).id
    conversation = client.conversations.create(items=[{"role": "user", "content": "mine"}]).id
    calls = [(c, response) for c in OF_RESPONSES]
    calls += [(c, completion) for c in OF_COMPLETIONS] + [(c, conversation) for c in OF_CONVERSATIONS]
    there = [dict(kept) for kept in (provider.responses, provider.completions, provider.conversations)]
    provider.heard.clear()
    for user, scopes in ((f"{front.user}-other", "read,write"), (f"{front.user}-backend", "act")):
        with front.client(user, scopes) as another:
            for number, (call, id) in enumerate(calls):
                with pytest.raises(openai.NotFoundError) as caught:
                    call(another, id)
                body = caught.value.body
                assert (
                    isinstance(body, dict) and body["type"] == "not_found_error" and "of this user" in body["message"]
                )
                assert provider.heard == [], number
    with front.client(f"{front.user}-other") as another:
        for call, _ in calls:
            for id in ("none_such", "a/b", "a%2Fb", "x" * 300, "é"):
                with pytest.raises(openai.NotFoundError):
                    call(another, id)
    assert provider.heard == []
    assert there == [provider.responses, provider.completions, provider.conversations]
    with front.client(f"{front.user}-backend", "act", user=front.user) as backend:
        for call, id in [*calls[:1], (OF_COMPLETIONS[0], completion), (OF_CONVERSATIONS[0], conversation)]:
            call(backend, id)


def test_an_id_of_another_is_nothing_though_it_is_told_in_a_body(front: Front, client: openai.OpenAI) -> None:
    item: Any = {"type": "item_reference", "id": "msg_1"}
    made = client.conversations.create()
    for call in (
        lambda: client.conversations.create(items=[item]),
        lambda: client.conversations.items.create(made.id, items=[item]),
        lambda: client.responses.compact(model="stub", input=[item]),
        lambda: client.responses.input_tokens.count(model="stub", input=[item]),
    ):
        with pytest.raises(openai.BadRequestError, match="item_reference"):
            cast("Any", call)()


def test_what_nobody_is_known_to_own_is_for_those_who_act_for_everybody(front: Front, provider: Provider) -> None:
    provider.responses["resp_elsewhere"] = {"id": "resp_elsewhere", "object": "response", "output": []}
    with front.client(front.user, "act") as backend:
        assert backend.responses.retrieve("resp_elsewhere").id == "resp_elsewhere"
    with front.client(f"{front.user}-other") as other, pytest.raises(openai.NotFoundError):
        other.responses.retrieve("resp_elsewhere")


def test_a_key_that_only_reads_changes_nothing(front: Front, client: openai.OpenAI, provider: Provider) -> None:
    made = client.responses.create(model="stub", input="Greet me.")
    with front.client(front.user, "read", mode="read") as reader:
        assert reader.responses.retrieve(made.id).id == made.id
        with pytest.raises(openai.PermissionDeniedError):
            reader.responses.delete(made.id)
        kept = reader.conversations.create()  # as for a response: nothing of the memory is written
        with pytest.raises(openai.PermissionDeniedError):
            reader.conversations.update(kept.id, metadata={"a": "b"})
    assert made.id in provider.responses


def test_what_is_no_id_comes_nowhere(front: Front, provider: Provider) -> None:
    with httpx2.Client(headers={"Authorization": f"Bearer {front.key(front.user, 'act')}"}) as plain:
        for path in (
            "responses/..%2Fmodels",
            "responses/%2e%2e",
            "responses/a%3Fb",
            "conversations/c_1/items/..%2f..",
            "responses/a%0d",
        ):
            assert plain.get(f"{front.live.url}/v1/{path}").status_code == 404, path
    assert provider.heard == []
