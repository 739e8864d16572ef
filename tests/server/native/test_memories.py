"""The routes of memories: what is kept can be read, changed, found and deleted, by whom it belongs to and nobody else."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from pydantic import TypeAdapter

from memos import AsyncMemOS
from memos.frames import Memories
from memos.memory.hit import SearchResult
from memos.memory.model import Kind, Memory
from memos.results import AddResult
from memos.server.native.answers import to_json
from memos.storage.ports import Page

DEEP = "[" * 70 + "]" * 70
NOBODY = "00000000-0000-7000-8000-000000000000"


async def keep(client: httpx2.AsyncClient, *texts: Any, **more: Any) -> list[str]:
    """Add texts; their ids."""
    answer = await client.post("/v1/memories", json={"messages": list(texts), "wait": True, **more})
    assert answer.status_code == 200, answer.text
    return [r["id"] for r in answer.json()["records"]]


async def test_an_answer_reads_back_as_the_value_that_the_library_returns(
    app_client: httpx2.AsyncClient, memos: AsyncMemOS
) -> None:
    text = "I live in Oslo, and my sister Ann lives in Rome."
    added = await app_client.post("/v1/memories", json={"messages": text, "info": {"n": 2**70}, "wait": True})
    told = TypeAdapter(AddResult).validate_json(added.content)
    again = await memos.add(text, info={"n": 2**70}, wait=True)
    assert (told.cube, told.ids, told.pending) == (again.cube, again.ids, again.pending)
    assert [(r.text, r.new, r.seen) for r in (*told, *again)] == [(text, True, 1), (text, False, 2)]
    memory = TypeAdapter(Memory).validate_json((await app_client.get(f"/v1/memories/{told.ids[0]}")).content)
    assert memory == await memos.get(told.ids[0])
    page = TypeAdapter(Page).validate_json((await app_client.get("/v1/memories")).content)
    assert page == await memos.list()
    found = await app_client.post("/v1/memories/search", json={"query": "Where do I live?"})
    assert TypeAdapter(SearchResult).validate_json(found.content) == await memos.search("Where do I live?")


async def test_a_user_and_a_cube_may_stand_in_the_body_or_in_the_query_string(app_client: httpx2.AsyncClient) -> None:
    await keep(app_client, "one", user="ada")
    answer = await app_client.post("/v1/memories", params={"user": "ada"}, json={"messages": "two"})
    assert answer.json()["cube"] == "ada"
    assert len((await app_client.get("/v1/memories?user=ada")).json()["items"]) == 2
    two = await app_client.post("/v1/memories/list?user=ada", json={"user": "bob"})
    assert two.status_code == 400
    assert "give it once" in two.json()["error"]["message"]


async def test_an_unknown_field_is_refused_with_its_name(app_client: httpx2.AsyncClient) -> None:
    answer = await app_client.post("/v1/memories", json={"messages": "x", "sesion": "a"})
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["code"] == "invalid_request"
    assert error["details"][0]["loc"] == ["body", "sesion"]


async def test_the_same_idempotency_key_answers_the_same_ids(app_client: httpx2.AsyncClient) -> None:
    first = await keep(app_client, "a", "b", idempotency_key="k1")
    assert await keep(app_client, "a", "b", idempotency_key="k1") == first
    by_header = await app_client.post("/v1/memories", json={"messages": ["a", "b"]}, headers={"Idempotency-Key": "k1"})
    assert [r["id"] for r in by_header.json()["records"]] == first
    assert [r["new"] for r in by_header.json()["records"]] == [False, False]
    assert len((await app_client.get("/v1/memories", params={"kinds": "trace"})).json()["items"]) == 2


async def test_what_is_added_again_under_a_task_id_can_be_asked_for(app_client: httpx2.AsyncClient) -> None:
    for name in ("one", "two"):
        body = {"messages": "I live in Oslo.", "idempotency_key": "k", "task_id": name, "wait": True}
        added = (await app_client.post("/v1/memories", json=body)).json()
        tasks = (await app_client.get("/v1/tasks", params={"task_id": name})).json()["items"]
        assert [task["id"] for task in tasks] == [added["task"]]


async def test_two_different_idempotency_keys_are_refused(app_client: httpx2.AsyncClient) -> None:
    answer = await app_client.post(
        "/v1/memories", json={"messages": "a", "idempotency_key": "k1"}, headers={"Idempotency-Key": "k2"}
    )
    assert answer.status_code == 400


async def test_listing_goes_on_page_by_page_in_both_directions(app_client: httpx2.AsyncClient) -> None:
    ids = await keep(app_client, *(f"note number {i}" for i in range(5)))
    for order in ("oldest", "newest"):
        seen: list[str] = []
        cursor: str | None = None
        while True:
            params = {"limit": 2, "order": order, "kinds": "trace"} | ({"cursor": cursor} if cursor else {})
            page = (await app_client.get("/v1/memories", params=params)).json()
            seen += [m["id"] for m in page["items"]]
            cursor = page["cursor"]
            if cursor is None:
                break
        assert seen == (ids if order == "oldest" else ids[::-1])


async def test_a_filter_narrows_lists_counts_and_searches(app_client: httpx2.AsyncClient) -> None:
    await keep(app_client, "about tea", tags=["drink"])
    await keep(app_client, "about bread", tags=["food"])
    where = {"filter": {"tags": "food"}, "kinds": ["trace"]}
    listed = (await app_client.post("/v1/memories/list", json=where)).json()["items"]
    assert [m["text"] for m in listed] == ["about bread"]
    assert (await app_client.post("/v1/memories/count", json=where)).json() == {"count": 1}
    found = await app_client.post("/v1/memories/search", json={"query": "bread", **where})
    assert [h["text"] for h in found.json()["hits"]] == ["about bread"]


async def test_a_wrong_filter_is_a_bad_request_that_names_the_field(app_client: httpx2.AsyncClient) -> None:
    answer = await app_client.post("/v1/memories/list", json={"filter": {"tag": "food"}})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid_filter"
    assert "did you mean 'tags'" in answer.json()["error"]["message"]


async def test_an_id_is_found_in_any_cube_that_the_user_may_read(
    app_client: httpx2.AsyncClient, memos: AsyncMemOS
) -> None:
    await memos.create_cube("team", user="ada")
    [there] = (await memos.add("the wiki moved", user="ada", cube="team")).ids
    assert (await app_client.get(f"/v1/memories/{there}?user=ada")).status_code == 200
    assert (await app_client.get(f"/v1/memories/{there}?user=bob")).status_code == 404
    await memos.share("team", "bob", "read", user="ada")
    assert (await app_client.get(f"/v1/memories/{there}?user=bob")).json()["text"] == "the wiki moved"
    assert (await app_client.patch(f"/v1/memories/{there}?user=bob", json={"text": "no"})).status_code == 403


async def test_what_is_another_users_answers_just_as_what_does_not_exist(
    app_client: httpx2.AsyncClient, memos: AsyncMemOS
) -> None:
    [hers] = (await memos.add("secret", user="ada")).ids
    for method, path, body in (
        ("GET", "", None),
        ("PATCH", "", {"text": "x"}),
        ("DELETE", "", None),
        ("GET", "/history", None),
        ("GET", "/neighbors", None),
        ("GET", "/edges", None),
        ("POST", "/undo", None),
    ):
        answers = [
            await app_client.request(method, f"/v1/memories/{id}{path}", params={"user": "bob"}, json=body)
            for id in (hers, NOBODY)
        ]
        assert [a.status_code for a in answers] == [404, 404], (method, path)
        told = [a.json()["error"]["message"].replace(id, "ID") for a, id in zip(answers, (hers, NOBODY), strict=True)]
        assert told[0] == told[1]
    deleted = await app_client.post("/v1/memories/delete", json={"ids": [hers], "user": "bob"})
    assert deleted.status_code == 404
    told = await app_client.post("/v1/memories/explain", json={"memory_id": hers, "query": "secret", "user": "bob"})
    assert told.status_code == 404


async def test_several_memories_are_read_in_the_order_asked_and_the_missing_named(
    app_client: httpx2.AsyncClient, memos: AsyncMemOS
) -> None:
    await memos.create_cube("team", user="ada")
    [a] = (await memos.add("a", user="ada")).ids
    [b] = (await memos.add("b", user="ada", cube="team")).ids
    [other] = (await memos.add("c", user="bob")).ids
    got = await app_client.post("/v1/memories/get", json={"ids": [b, NOBODY, a, other], "user": "ada"})
    assert [m["text"] for m in got.json()["items"]] == ["b", "a"]
    assert got.json()["missing"] == [NOBODY, other]


async def test_a_change_with_the_wrong_version_is_refused_and_changes_nothing(app_client: httpx2.AsyncClient) -> None:
    [id] = await keep(app_client, "I like tea.")
    first = await app_client.get(f"/v1/memories/{id}")
    assert first.headers["etag"] == f'"{first.json()["version"]}"'
    changed = await app_client.patch(
        f"/v1/memories/{id}", json={"text": "I like coffee."}, headers={"If-Match": first.headers["etag"]}
    )
    assert changed.status_code == 200
    assert changed.headers["etag"] == f'"{changed.json()["version"]}"'
    assert changed.json()["version"] > first.json()["version"]
    for method in ("PATCH", "DELETE"):
        late = await app_client.request(
            method,
            f"/v1/memories/{id}",
            json={"text": "I like milk."} if method == "PATCH" else None,
            headers={"If-Match": first.headers["etag"]},
        )
        assert late.status_code == 412
        assert late.json()["error"]["code"] == "conflict"
    assert (await app_client.get(f"/v1/memories/{id}")).json()["text"] == "I like coffee."
    assert (await app_client.delete(f"/v1/memories/{id}", headers={"If-Match": "*"})).json()["memories"] == 1


async def test_of_many_sources_answers_with_many_memories_show_the_first_and_the_last(
    app_client: httpx2.AsyncClient, memos: AsyncMemOS
) -> None:
    for day in range(1, 26):
        said = {"role": "user", "content": "I live in Oslo.", "chat_time": f"2026-01-{day:02}T12:00:00Z"}
        await keep(app_client, said, session=f"s{day}")
    (fact,) = (await memos.list(kinds=["profile"])).items
    ids = [s.memory_id for s in fact.sources]
    assert len(set(ids)) == 25

    def names(memory: Any) -> list[str]:
        return [s["memory_id"] for s in memory["sources"]]

    path = f"/v1/memories/{fact.id}"
    assert names((await app_client.get(path)).json()) == ids
    query = {"query": "Where does the user live?", "kinds": ["profile"]}
    (hit,) = (await app_client.post("/v1/memories/search", json=query)).json()["hits"]
    assert names(hit["memory"]) == ids[:10] + ids[-10:]
    versions = (await app_client.get(f"{path}/history")).json()["items"]
    assert [names(v["memory"]) for v in versions] == [
        ids[:n] if n <= 20 else ids[:10] + ids[n - 10 : n] for n in range(1, 26)
    ]
    then = {"known_at": versions[22]["at"]}
    assert names((await app_client.get(path, params=then)).json()) == ids[:23]


async def test_history_and_undo_tell_and_revert_a_change(app_client: httpx2.AsyncClient) -> None:
    [id] = await keep(app_client, "I like tea.")
    await app_client.patch(f"/v1/memories/{id}", json={"text": "I like coffee.", "cause": "she said so"})
    versions = (await app_client.get(f"/v1/memories/{id}/history")).json()["items"]
    assert [v["memory"]["text"] for v in versions] == ["I like tea.", "I like coffee."]
    assert versions[-1]["cause"] == "she said so"
    back = await app_client.post(f"/v1/memories/{id}/undo")
    assert "I like tea." in [m["text"] for m in back.json()["items"]]


async def test_what_was_known_at_a_time_can_be_read(app_client: httpx2.AsyncClient) -> None:
    [id] = await keep(app_client, "I like tea.")
    then = (await app_client.get(f"/v1/memories/{id}")).json()["recorded_at"]
    await app_client.patch(f"/v1/memories/{id}", json={"text": "I like coffee."})
    past = await app_client.get(f"/v1/memories/{id}", params={"known_at": then})
    assert past.json()["text"] == "I like tea."


async def test_a_soft_delete_can_be_undone_and_a_dry_run_does_nothing(app_client: httpx2.AsyncClient) -> None:
    [id] = await keep(app_client, "I like tea.")
    dry = await app_client.post("/v1/memories/delete", json={"ids": [id], "dry_run": True})
    assert dry.json()["dry_run"] is True
    assert dry.json()["memories"] == 1
    soft = await app_client.delete(f"/v1/memories/{id}", params={"hard": "false"})
    assert soft.json()["retracted"] >= 1
    assert (await app_client.get(f"/v1/memories/{id}")).json()["status"] == "retracted"
    await app_client.post(f"/v1/memories/{id}/undo")
    assert (await app_client.get(f"/v1/memories/{id}")).json()["status"] == "active"


@pytest.mark.parametrize("body", [{}, {"session": "a", "everything": True}])
async def test_a_delete_by_nothing_or_by_two_things_is_refused(
    app_client: httpx2.AsyncClient, body: dict[str, Any]
) -> None:
    assert (await app_client.post("/v1/memories/delete", json=body)).status_code == 400


async def test_ids_of_several_cubes_are_not_deleted_by_one_call(
    app_client: httpx2.AsyncClient, memos: AsyncMemOS
) -> None:
    await memos.create_cube("team", user="ada")
    [a] = (await memos.add("a", user="ada")).ids
    [b] = (await memos.add("b", user="ada", cube="team")).ids
    both = await app_client.post("/v1/memories/delete", json={"ids": [a, b], "user": "ada"})
    assert both.status_code == 400
    assert "one `cube` at a time" in both.json()["error"]["message"]
    assert (await memos.get(a, user="ada")).text == "a"


async def test_edges_lead_from_a_fact_to_its_evidence(app_client: httpx2.AsyncClient) -> None:
    [trace] = await keep(app_client, "I live in Oslo.")
    facts = (await app_client.get("/v1/memories", params={"kinds": ["fact", "profile"]})).json()["items"]
    assert facts
    edges = (await app_client.get(f"/v1/memories/{facts[0]['id']}/edges", params={"types": "DERIVED_FROM"})).json()[
        "items"
    ]
    assert [(e["edge"]["dst"], e["depth"]) for e in edges] == [(trace, 1)]
    around = (await app_client.get(f"/v1/memories/{trace}/neighbors", params={"depth": 2, "direction": "in"})).json()[
        "items"
    ]
    assert facts[0]["id"] in {e["edge"]["src"] for e in around}


async def test_explain_says_why_a_memory_is_a_hit(app_client: httpx2.AsyncClient) -> None:
    [id] = await keep(app_client, "I live in Oslo.")
    told = (await app_client.post("/v1/memories/explain", json={"query": "Oslo", "memory_id": id})).json()
    assert told["found"] is True
    assert told["memory_id"] == id


async def test_a_path_that_is_no_id_is_not_found(app_client: httpx2.AsyncClient) -> None:
    assert (await app_client.get("/v1/memories/latest")).status_code == 404


async def test_an_add_within_the_shape_but_beyond_the_limits_is_refused(app_client: httpx2.AsyncClient) -> None:
    many = await app_client.post("/v1/memories", json={"messages": ["x"] * 1_001})
    assert many.status_code in (400, 413)
    assert (await app_client.get("/v1/memories")).json()["items"] == []


async def test_a_method_that_a_path_does_not_know_names_those_that_it_does(app_client: httpx2.AsyncClient) -> None:
    answer = await app_client.put("/v1/memories", json={})
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, POST"
    assert (await app_client.put(f"/v1/memories/{NOBODY}", json={})).headers["allow"] == "DELETE, GET, PATCH"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("list", {"limit": "5"}),
        ("list", {"include_inactive": 0}),
        ("search", {"query": "x", "threshold": True}),
        ("search", {"query": "x", "as_of": True}),
        ("search", {"query": " "}),
        ("delete", {"everything": 1}),
        ("get", {"ids": ["x"]}),
    ],
)
async def test_a_value_of_another_type_is_refused_not_guessed(
    app_client: httpx2.AsyncClient, path: str, body: dict[str, Any]
) -> None:
    assert (await app_client.post(f"/v1/memories/{path}", json=body)).status_code == 422


async def test_what_could_not_be_read_back_is_refused_and_hides_nothing(app_client: httpx2.AsyncClient) -> None:
    json = {"Content-Type": "application/json"}
    refused = await app_client.post(
        "/v1/memories", content=f'{{"messages": "x", "info": {{"a": {DEEP}}}}}', headers=json
    )
    assert refused.status_code == 400
    assert "nested more than 64 deep" in refused.json()["error"]["message"]
    await keep(app_client, "y", info={"a": [[[2**80]]], "b": float("1e308")})
    assert (await app_client.get("/v1/memories")).json()["items"][0]["info"]["a"] == [[[2**80]]]


def test_a_value_that_is_nested_too_deep_for_the_quick_way_is_written_all_the_same() -> None:
    deep: Any = 1
    for _ in range(300):
        deep = [deep]
    written = to_json(Memories((Memory(NOBODY, Kind.TRACE, "x", info={"deep": deep}),)))
    assert written.count(b"[") >= 300


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[" * 5_000, b'{"messages": "\xff"}', b"null", b"[]", b'"x"', b"1" * 5_000]
)
async def test_a_body_that_is_no_json_object_is_an_error_of_the_sender(
    app_client: httpx2.AsyncClient, body: bytes
) -> None:
    answer = await app_client.post("/v1/memories", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert set(answer.json()) == {"error", "request_id"}


async def test_of_changes_to_one_version_at_the_same_time_one_is_made(app_client: httpx2.AsyncClient) -> None:
    [id] = await keep(app_client, "I like tea.")
    answers = await asyncio.gather(
        *(
            app_client.patch(f"/v1/memories/{id}", json={"text": f"I like tea {n}."}, headers={"If-Match": '"1"'})
            for n in range(8)
        )
    )
    assert sorted(a.status_code for a in answers) == [200] + [412] * 7
    assert (await app_client.get(f"/v1/memories/{id}")).json()["version"] == 2


async def test_a_change_and_a_deletion_of_one_version_at_the_same_time_never_both_succeed(
    app_client: httpx2.AsyncClient,
) -> None:
    for n in range(10):
        [id] = await keep(app_client, f"I like tea number {n}.")
        first = {"If-Match": '"1"'}
        change, deletion = await asyncio.gather(
            app_client.patch(f"/v1/memories/{id}", json={"text": "I like coffee."}, headers=first),
            app_client.delete(f"/v1/memories/{id}", headers=first),
        )
        assert (change.status_code, deletion.status_code) in ((200, 412), (404, 200))
