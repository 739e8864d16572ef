"""mem0's two wires as raw HTTP: paths with and without a slash, words of errors, pages, filters, honest events, restart."""

from __future__ import annotations

import base64
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI
from mem0_wire import VEGAN, Wire
from serving import in_process

from memos import AsyncMemOS
from memos.server.app import create_app
from memos.server.options import ServerOptions


@pytest.fixture
async def wire(app_client: httpx2.AsyncClient) -> Wire:
    return Wire(app_client)


async def test_an_add_is_pending_until_what_was_read_can_be_listed(wire: Wire) -> None:
    answer = await wire("POST", "/v3/memories/add/", json={"messages": [VEGAN], "user_id": "alice"})
    assert answer["status"] == "PENDING"
    assert await wire.found("Oslo", {"user_id": "alice"}) != []  # what was said is found at once
    told = await wire.done(answer["event_id"])
    assert told["status"] == "SUCCEEDED"
    assert [(each["memory"], each["event"]) for each in told["results"]] == [
        ("Alice is vegetarian.", "ADD"),
        ("Alice lives in Oslo.", "ADD"),
    ]
    assert await wire.texts({"user_id": "alice"}) == ["Alice lives in Oslo.", "Alice is vegetarian."]
    assert [each["id"] for each in (await wire("GET", "/v1/events/"))["results"]] == [answer["event_id"]]


async def test_an_event_that_is_not_done_never_says_so(wire: Wire) -> None:
    await wire.add("tea", user_id="alice")
    answer = await wire("POST", "/v3/memories/add/", json={"messages": [VEGAN], "user_id": "alice"})
    seen = {(await wire("GET", f"/v1/event/{answer['event_id']}/"))["status"]}
    told = await wire.done(answer["event_id"])
    assert seen <= {"PENDING", "RUNNING", "SUCCEEDED"}
    assert told["completed_at"] is not None
    await wire("GET", "/v1/event/01a22d52-5fd0-7903-85b5-4b697aa90a8d/", 404)


async def test_what_replaces_something_says_so(wire: Wire) -> None:
    await wire.add("I live in Oslo.", True, user_id="alice")
    (moved, *_) = await wire.add("I live in Bergen now.", True, user_id="alice")
    assert (moved["event"], moved["memory"], moved["previous_memory"]) == (
        "UPDATE",
        "Alice lives in Bergen.",
        "Alice lives in Oslo.",
    )
    assert await wire.texts({"user_id": "alice"}) == ["Alice lives in Bergen."]
    assert "I live in Oslo." not in await wire.found("Where does she live?", {"user_id": "alice"})
    former = {"filters": {"user_id": "alice"}, "latest_only": False}
    assert "Alice lives in Oslo." in [m["memory"] for m in (await wire("POST", "/v3/memories", json=former))["results"]]


async def test_pages_go_beyond_a_thousand(wire: Wire) -> None:
    for start in (0, 603):
        messages = [{"role": "user", "content": f"note number {n}"} for n in range(start, min(start + 603, 1_205))]
        body = {"messages": messages, "user_id": "alice", "infer": False}
        assert len((await wire("POST", "/v3/memories/add/", json=body))["results"]) == len(messages)
    await wire.add("the only one", user_id="bob")
    seen, page = [], 1
    while True:
        options = {"json": {"filters": {"user_id": "alice"}}, "params": {"page": page, "page_size": 500}}
        listed = await wire("POST", "/v3/memories/", **options)
        seen += [memory["memory"] for memory in listed["results"]]
        assert listed["count"] == 1_205
        assert (listed["previous"] is None) == (page == 1)
        if listed["next"] is None:
            break
        page += 1
        assert f"page={page}" in listed["next"]
    assert seen == [f"note number {n}" for n in reversed(range(1_205))]
    both = {"json": {"filters": {"user_id": "*"}}, "params": {"page": 2, "page_size": 700}}
    assert len((await wire("POST", "/v3/memories/", **both))["results"]) == 506
    await wire("DELETE", "/v1/memories", params={"user_id": "alice"})
    assert await wire.texts({"user_id": "*"}) == ["the only one"]


async def test_nested_filters(wire: Wire) -> None:
    for text, topic, n in (("tea", "drink", 1), ("cake", "food", 2), ("soup", "food", 3)):
        await wire.add(text, user_id="alice", metadata={"topic": topic, "n": n}, run_id=f"r{n}")
    await wire.add("bread", user_id="bob", metadata={"topic": "food", "n": 4})
    alice = {"user_id": "alice"}
    assert await wire.texts({"AND": [alice, {"metadata": {"topic": "food"}}]}) == ["soup", "cake"]
    assert await wire.texts({"AND": [alice, {"OR": [{"metadata": {"n": {"lt": 2}}}, {"run_id": "r3"}]}]}) == [
        "soup",
        "tea",
    ]
    assert await wire.texts({"AND": [alice, {"NOT": [{"metadata": {"topic": "food"}}]}]}) == ["tea"]
    assert await wire.texts({"OR": [{"AND": [alice, {"run_id": "r1"}]}, {"user_id": "bob"}]}) == ["bread", "tea"]
    assert await wire.texts({"user_id": "*", "metadata": {"topic": "food"}}) == ["bread", "soup", "cake"]
    told = await wire("POST", "/v3/memories/", 400, json={"filters": {"userid": "alice"}})
    assert told == {"detail": told["detail"], "code": "invalid_filter"}
    assert "user_id" in told["detail"]
    await wire("POST", "/v3/memories/search/", 400, json={"query": "tea"})
    await wire("POST", "/v3/memories/search/", 400, json={"query": " ", "filters": alice})
    await wire("POST", "/v3/memories/search/", 400, json={"query": "x", "filters": alice, "threshold": 2})


async def test_what_was_read_has_the_metadata_and_runs_of_what_was_said(wire: Wire) -> None:
    await wire.add(VEGAN["content"], True, user_id="alice", run_id="r1", metadata={"topic": "me"})
    await wire.add("I have a dog named Pixel.", True, user_id="alice", run_id="r2")
    assert await wire.texts({"AND": [{"user_id": "alice"}, {"run_id": "r1"}]}) == [
        "Alice lives in Oslo.",
        "Alice is vegetarian.",
    ]
    assert len(await wire.texts({"user_id": "alice", "metadata": {"topic": "me"}})) == 2
    await wire.add("I live in Oslo.", True, user_id="alice", run_id="r2")  # said once more
    assert "Alice lives in Oslo." in await wire.texts({"AND": [{"user_id": "alice"}, {"run_id": "r2"}]})
    await wire("DELETE", "/v1/memories/", params={"user_id": "alice", "run_id": "r1"})
    left = await wire.texts({"user_id": "alice"})
    assert "Alice lives in Oslo." in left
    assert "Alice is vegetarian." not in left
    assert await wire.texts({"AND": [{"user_id": "alice"}, {"run_id": "r1"}]}) == []


async def test_what_expired_is_hidden_unless_it_is_asked_for(wire: Wire) -> None:
    await wire.add("old offer", user_id="alice", expiration_date="2020-01-01")
    (kept,) = await wire.add("new offer", user_id="alice", expiration_date="2999-01-01")
    assert await wire.texts({"user_id": "alice"}) == ["new offer"]
    assert await wire.found("offer", {"user_id": "alice"}) == ["new offer"]
    assert await wire.texts({"user_id": "alice"}, show_expired=True) == ["new offer", "old offer"]
    path = f"/v1/memories/{kept['id']}/"
    assert (await wire("PUT", path, json={"expiration_date": "2020-01-01"}))["expiration_date"] == "2020-01-01"
    assert await wire.texts({"user_id": "alice"}) == []
    assert (await wire("PUT", path, json={"expiration_date": None}))["expiration_date"] is None
    assert await wire.texts({"user_id": "alice"}) == ["new offer"]
    await wire("POST", "/v3/memories/add/", 400, json={"messages": "x", "user_id": "a", "expiration_date": "soon"})


async def test_what_is_said_again_without_an_end_does_not_expire(wire: Wire) -> None:
    await wire.add("I live in Oslo.", True, user_id="alice", expiration_date="2020-01-01")
    assert await wire.texts({"user_id": "alice"}) == []
    await wire.add("Yes, I live in Oslo.", True, user_id="alice")
    assert await wire.texts({"user_id": "alice"}) == ["Alice lives in Oslo."]


async def test_what_was_deleted_is_not_found_in_the_message_either(wire: Wire) -> None:
    first, second = await wire.add("I'm vegetarian and I live in Oslo.", True, user_id="alice")
    await wire("DELETE", f"/v1/memories/{second['id']}/")
    assert not [text for text in await wire.found("Oslo", {"user_id": "alice"}) if "Oslo" in text]
    assert await wire.texts({"user_id": "alice"}) == ["Alice is vegetarian."]
    await wire("PUT", f"/v1/memories/{first['id']}/", json={"text": "Alice eats everything."})
    assert await wire.found("vegetarian who eats", {"user_id": "alice"}) == ["Alice eats everything."]
    told = await wire("GET", f"/v1/memories/{first['id']}/history/")
    assert [(each["event"], each["old_memory"], each["new_memory"]) for each in told] == [
        ("ADD", None, "Alice is vegetarian."),
        ("UPDATE", "Alice is vegetarian.", "Alice eats everything."),
    ]


async def test_delete_linked_takes_what_it_had_replaced(wire: Wire) -> None:
    for city in ("Oslo", "Bergen", "Paris"):
        (last, *_) = await wire.add(f"I live in {city} now.", True, user_id="alice")
    await wire("DELETE", f"/v1/memories/{last['id']}/", params={"delete_linked": "true"})
    assert await wire.texts({"user_id": "alice"}, latest_only=False) == []


async def test_an_immutable_memory_is_not_changed(wire: Wire) -> None:
    (kept,) = await wire.add("The contract ends in May.", user_id="alice", immutable=True)
    assert "immutable" in (await wire("PUT", f"/v1/memories/{kept['id']}/", 400, json={"text": "June"}))["detail"]
    assert (await wire("GET", f"/v1/memories/{kept['id']}/"))["immutable"] is True
    await wire("DELETE", f"/v1/memories/{kept['id']}/")


async def test_a_batch_is_done_whole_or_not_at_all(wire: Wire) -> None:
    ids = [(await wire.add(text, user_id=name))[0]["id"] for text, name in (("tea", "alice"), ("cake", "bob"))]
    gone = "01a22d52-5fd0-7903-85b5-4b697aa90a8d"
    await wire(
        "PUT",
        "/v1/batch/",
        404,
        json={"memories": [{"memory_id": ids[0], "text": "x"}, {"memory_id": gone, "text": "x"}]},
    )
    await wire("DELETE", "/v1/batch/", 404, json={"memories": [{"memory_id": ids[0]}, {"memory_id": gone}]})
    assert sorted(await wire.texts({"user_id": "*"})) == ["cake", "tea"]
    told = await wire("PUT", "/v1/batch", json={"memories": [{"memory_id": ids[0], "text": "green tea"}]})
    assert told == {"message": "Successfully updated 1 memories"}
    assert sorted(await wire.texts({"user_id": "*"})) == ["cake", "green tea"]
    await wire("DELETE", "/v1/batch/", json={"memories": [{"memory_id": id} for id in ids]})
    assert await wire.texts({"user_id": "*"}) == []


async def test_a_message_that_is_sent_again_is_kept_once_and_takes_new_metadata(wire: Wire) -> None:
    (first,) = await wire.add("tea", user_id="alice", timestamp=1_700_000_000, metadata={"n": 1})
    (again,) = await wire.add("tea", user_id="alice", timestamp=1_700_000_000, metadata={"n": 2})
    assert (first["event"], again["event"], again["id"]) == ("ADD", "UPDATE", first["id"])
    assert (await wire("GET", f"/v1/memories/{first['id']}"))["metadata"] == {"n": 2}


async def test_chinese_is_read_corrected_and_deleted(wire: Wire) -> None:
    await wire.add("我住在上海。", True, user_id="小林", metadata={"主题": "家"})
    (moved, *_) = await wire.add("我搬到北京了,现在住在北京。", True, user_id="小林")
    assert (moved["event"], "北京" in moved["memory"], "上海" in moved["previous_memory"]) == ("UPDATE", True, True)
    found = await wire.found("我住在哪里?", {"user_id": "小林"})
    assert "北京" in found[0]
    assert not [text for text in found if "上海" in text]
    assert await wire.texts({"user_id": "小林", "metadata": {"主题": "家"}}) == []
    await wire("DELETE", "/v2/entities/user/%E5%B0%8F%E6%9E%97/")
    assert await wire.texts({"user_id": "*"}) == []


async def test_times_fields_and_dates(wire: Wire) -> None:
    for day, text in ((1_700_000_000, "in 2023"), (1_760_000_000, "in 2025")):
        await wire.add(text, user_id="alice", timestamp=day)
    asked = {
        "filters": {"user_id": "alice"},
        "start_date": "2023-01-01",
        "end_date": "2023-11-14",
        "fields": ["memory"],
    }
    (found,) = (await wire("POST", "/v3/memories/", json=asked))["results"]
    assert set(found) == {"id", "memory"}
    assert found["memory"] == "in 2023"
    assert await wire.texts({"user_id": "alice", "created_at": {"gt": "2024-01-01"}}) == ["in 2025"]


async def test_scores_lie_between_nought_and_one_and_are_cut_by_the_threshold(wire: Wire) -> None:
    await wire.add("My dentist is Dr. Weber.", user_id="alice")
    await wire.add("The tram is late.", user_id="alice")
    body = {"query": "Who is my dentist?", "filters": {"user_id": "alice"}, "threshold": 0}
    found = (await wire("POST", "/v3/memories/search/", json=body))["results"]
    assert found[0]["memory"] == "My dentist is Dr. Weber."
    assert all(0 <= each["score"] <= 1 for each in found)
    assert sorted((each["score"] for each in found), reverse=True) == [each["score"] for each in found]
    assert set(found[0]["score_breakdown"]) == {"semantic", "bm25", "entity"}
    high = await wire("POST", "/v3/memories/search/", json={**body, "threshold": found[0]["score"]})
    assert [each["memory"] for each in high["results"]] == ["My dentist is Dr. Weber."]
    assert await wire.found("dentist", {"user_id": "alice"}, top_k=1) == ["My dentist is Dr. Weber."]


async def test_feedback_exports_summary_and_profile(wire: Wire) -> None:
    (fact, *_) = await wire.add("I live in Oslo.", True, user_id="alice")
    told = await wire(
        "POST", "/v1/feedback/", json={"memory_id": fact["id"], "feedback": "NEGATIVE", "feedback_reason": "no"}
    )
    assert told == {"id": fact["id"], "feedback": "NEGATIVE", "feedback_reason": "no"}
    assert await wire.texts({"user_id": "alice", "feedback": "NEGATIVE"}) == ["Alice lives in Oslo."]
    await wire("POST", "/v1/feedback/", 400, json={"memory_id": fact["id"], "feedback": "MEH"})
    export = await wire("POST", "/v1/exports/", 201, json={"schema": "{}", "filters": {"user_id": "alice"}})
    fetched = await wire("POST", "/v1/exports/get/", json={"memory_export_id": export["id"]})
    assert [memory["memory"] for memory in fetched["memories"]] == ["Alice lives in Oslo."]
    deep = base64.urlsafe_b64encode(b"[" * 50_000).decode()
    for id in ("export-???", f"export-{deep}"):
        await wire("POST", "/v1/exports/get/", 400, json={"memory_export_id": id})
    assert (await wire("POST", "/v1/summary/", json={"filters": {"user_id": "alice"}}))[
        "summary"
    ] == "- Alice lives in Oslo."
    profile = await wire("GET", "/v2/entities/user/alice/profile/")
    assert (profile["status"], profile["profile"]["text"]) == ("succeeded", "- Alice lives in Oslo.")
    await wire("GET", "/v2/entities/user/nobody/profile/", 404)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/webhooks/projects/default/"),
        ("PATCH", "/api/v1/orgs/organizations/memos/projects/default/"),
        ("POST", "/v2/profiles/settings/"),
        ("POST", "/configure"),
    ],
)
async def test_what_there_is_not_is_refused_and_named(wire: Wire, method: str, path: str) -> None:
    assert (await wire(method, path, 400))["code"] == "not_supported"


async def test_the_wire_of_the_open_source_server(wire: Wire) -> None:
    answer = await wire(
        "POST", "/memories", json={"messages": [VEGAN], "user_id": "alice", "metadata": {"topic": "me"}}
    )
    assert [each["event"] for each in answer["results"]] == ["ADD", "ADD"]
    id = answer["results"][0]["id"]
    listed = await wire("GET", "/memories/", params={"user_id": "alice"})
    assert [memory["memory"] for memory in listed["results"]] == ["Alice lives in Oslo.", "Alice is vegetarian."]
    assert len((await wire("GET", "/memories", params={"user_id": "alice", "top_k": 1}))["results"]) == 1
    asked = {"query": "Where does she live?", "filters": {"user_id": "alice", "topic": "me"}, "explain": True}
    found = (await wire("POST", "/search", json=asked))["results"]
    assert found[0]["memory"] == "Alice lives in Oslo."
    assert "score_breakdown" in found[0]
    assert (await wire("POST", "/search", json={"query": "Oslo", "user_id": "bob"}))["results"] == []
    assert await wire("PUT", f"/memories/{id}", json={"text": "Alice is vegan."}) == {
        "message": "Memory updated successfully!"
    }
    assert (await wire("GET", f"/memories/{id}/"))["memory"] == "Alice is vegan."
    assert [each["event"] for each in await wire("GET", f"/memories/{id}/history")] == ["ADD", "UPDATE"]
    await wire("DELETE", f"/memories/{id}")
    await wire("GET", f"/memories/{id}", 404)
    for method in ("GET", "DELETE"):
        assert "identifier" in (await wire(method, "/memories", 400))["detail"]
    await wire("POST", "/memories", 400, json={"messages": [VEGAN]})
    faults = await wire("POST", "/memories", 422, json={"user_id": "alice"})
    assert faults["detail"][0]["loc"] == ["body", "messages"]
    await wire("POST", "/v3/memories/add/", 400, json={"user_id": "alice"})
    await wire("DELETE", "/memories", params={"user_id": "alice"})
    assert (await wire("GET", "/memories", params={"user_id": "alice"}))["results"] == []
    assert (await wire("GET", "/configure"))["version"] == "v1.1"


async def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    event, home = "", tmp_path / "again"
    for turn in (1, 2):
        async with _Served(home) as client:
            wire = Wire(client)
            if turn == 1:
                answer = await wire(
                    "POST", "/v3/memories/add/", json={"messages": [VEGAN], "user_id": "alice", "run_id": "r1"}
                )
                event = answer["event_id"]
            else:
                told = await wire.done(event)
                assert [each["memory"] for each in told["results"]] == ["Alice is vegetarian.", "Alice lives in Oslo."]
                in_run = {"AND": [{"user_id": "alice"}, {"run_id": "r1"}]}
                assert await wire.texts(in_run) == ["Alice lives in Oslo.", "Alice is vegetarian."]


class _Served:
    """An application over a folder, opened and closed."""

    def __init__(self, home: Path) -> None:
        self._app: FastAPI = create_app(AsyncMemOS(home, embedder="none"), ServerOptions())

    async def __aenter__(self) -> httpx2.AsyncClient:
        self._life = self._app.router.lifespan_context(self._app)
        await self._life.__aenter__()
        self._client = in_process(self._app)
        return await self._client.__aenter__()

    async def __aexit__(self, *error: object) -> None:
        await self._client.__aexit__(*error)
        await self._life.__aexit__(*error)


async def test_the_first_clients_are_answered_a_bare_list(wire: Wire) -> None:
    await wire.add("tea", user_id="alice")
    asked = {"query": "tea", "user_id": "alice"}
    (found,) = await wire("POST", "/v1/memories/search/", json=asked)
    assert found["memory"] == "tea"
    told = await wire("POST", "/v1/memories/search/", json={**asked, "output_format": "v1.1"})
    assert [each["id"] for each in told["results"]] == [found["id"]]
    assert await wire("POST", "/v1/memories/search/", json={**asked, "user_id": "bob"}) == []
