"""Whose memory it is on mem0's wires: subjects of one tenant, tenants, keys, cubes that others made."""

from __future__ import annotations

import asyncio

import httpx2
import pytest
from mem0_wire import Wire

from memos import AsyncMemOS


@pytest.fixture
async def wire(app_client: httpx2.AsyncClient) -> Wire:
    return Wire(app_client)


@pytest.fixture
async def two(memos: AsyncMemOS, app_client: httpx2.AsyncClient) -> tuple[Wire, Wire]:
    """Two tenants. The first sends its key as mem0's cloud client does, the second as clients of the open-source server do."""
    _, acme = await memos.accounts.create_key("acme")
    _, other = await memos.accounts.create_key("other")
    return Wire(app_client, {"Authorization": f"Token {acme}"}), Wire(app_client, {"X-API-Key": other})


async def test_nothing_of_one_subject_is_found_for_another(wire: Wire) -> None:
    for name, city in (("alice", "Oslo"), ("bob", "Paris")):
        await wire.add(f"I live in {city}.", True, user_id=name)
    await wire.add("The bot speaks Danish.", agent_id="bot")
    await wire.add("I live in Rome.", True, run_id="r1")
    await wire.add("I live in Kyiv.", True, run_id="r2")
    assert await wire.texts({"user_id": "alice"}) == ["Alice lives in Oslo."]
    assert await wire.texts({"user_id": "bob"}) == ["Bob lives in Paris."]
    assert await wire.texts({"agent_id": "bot"}) == ["The bot speaks Danish."]
    assert await wire.texts({"run_id": "r1"}) == ["User lives in Rome."]
    assert await wire.texts({"run_id": "r2"}) == ["User lives in Kyiv."]
    for asked, other in (("alice", "Paris"), ("bob", "Oslo")):
        for text in await wire.found("Where does she live? Oslo Paris Rome Kyiv Danish", {"user_id": asked}, top_k=50):
            assert other not in text
            assert not {"Rome", "Kyiv", "Danish"} & set(text.strip(".").split())
    everybody = await wire.found("Oslo Paris", {"OR": [{"user_id": "alice"}, {"user_id": "bob"}]})
    assert {"Alice lives in Oslo.", "Bob lives in Paris."} <= set(everybody)


async def test_nothing_of_one_tenant_is_found_by_another(two: tuple[Wire, Wire]) -> None:
    acme, other = two
    (mine,) = await acme.add("The vault opens with 4711.", user_id="alice")
    id = mine["id"]
    await other.add("something else", user_id="alice")
    assert await other.texts({"user_id": "alice"}) == ["something else"]
    assert "vault" not in str(await other.found("vault opens something", {"user_id": "*"}))
    for method, path, options in (
        ("GET", f"/v1/memories/{id}/", {}),
        ("GET", f"/v1/memories/{id}/history/", {}),
        ("PUT", f"/v1/memories/{id}/", {"json": {"text": "mine now"}}),
        ("DELETE", f"/v1/memories/{id}/", {}),
        ("DELETE", "/v1/batch/", {"json": {"memories": [{"memory_id": id}]}}),
        ("PUT", "/v1/batch/", {"json": {"memories": [{"memory_id": id, "text": "mine now"}]}}),
        ("POST", "/v1/feedback/", {"json": {"memory_id": id, "feedback": "NEGATIVE"}}),
        ("GET", f"/memories/{id}", {}),
        ("DELETE", f"/memories/{id}", {}),
    ):
        told = await other(method, path, 404, **options)
        assert "vault" not in str(told)
    await other("DELETE", "/v1/memories/", params={"user_id": "*"})
    await other("POST", "/reset")
    assert await other.texts({"user_id": "*"}) == []
    assert await acme.texts({"user_id": "alice"}) == ["The vault opens with 4711."]
    assert (await acme("GET", f"/v1/memories/{id}"))["memory"] == "The vault opens with 4711."


async def test_a_cube_that_somebody_else_made_and_shared_takes_nothing_in(
    memos: AsyncMemOS, two: tuple[Wire, Wire]
) -> None:
    from memos.compat.mem0.scopes import Scope

    acme, other = two
    name = Scope(user_id="alice").cube("acme")
    await memos.create_cube(name, user="other", info={"kind": "mem0", "user_id": "alice"})
    await memos.share(name, "acme", "write", user="other")
    await acme.add("The vault opens with 4711.", user_id="alice")
    assert await other.texts({"user_id": "*"}) == []
    assert await acme.texts({"user_id": "alice"}) == ["The vault opens with 4711."]


async def test_a_key_that_only_reads_may_not_write(memos: AsyncMemOS, app_client: httpx2.AsyncClient) -> None:
    _, key = await memos.accounts.create_key("acme", scopes=["read"])
    wire = Wire(app_client, {"Authorization": f"Token {key}"})
    body = {"messages": "tea", "user_id": "alice"}
    for method, path, options in (
        ("POST", "/v3/memories/add/", {"json": body}),
        ("POST", "/memories", {"json": body}),
        ("DELETE", "/v1/memories/", {"params": {"user_id": "alice"}}),
        ("POST", "/reset", {}),
    ):
        assert "write" in (await wire(method, path, 403, **options))["detail"]
    assert await wire.texts({"user_id": "alice"}) == []


async def test_keys_come_in_three_ways_and_bad_ones_are_told(
    two: tuple[Wire, Wire], app_client: httpx2.AsyncClient
) -> None:
    acme, other = two
    assert (await acme("GET", "/v1/ping/"))["project_id"] == "acme"
    assert (await other("GET", "/v1/ping"))["project_id"] == "other"
    for headers in ({}, {"Authorization": "Token nope"}, {"X-API-Key": "nope"}):
        told = await Wire(app_client, headers)("GET", "/v1/ping/", 401)
        assert isinstance(told["detail"], str)
    key = other._headers["X-API-Key"]
    assert (await app_client.get("/v1/me", headers={"X-API-Key": key})).status_code == 401  # of this wire alone


async def test_entities_are_listed_and_deleted(wire: Wire) -> None:
    await wire.add("tea", user_id="a/b c")
    await wire.add("cake", agent_id="bot", app_id="shop")
    listed = (await wire("GET", "/v1/entities/"))["results"]
    assert {(each["type"], each["name"], each["total_memories"]) for each in listed} == {
        ("agent", "bot", 1),
        ("app", "shop", 1),
        ("user", "a/b c", 1),
    }
    await wire("DELETE", "/v2/entities/user/a%2Fb%20c/")
    assert await wire.texts({"OR": [{"user_id": "*"}, {"agent_id": "*"}]}) == ["cake"]
    assert (await wire("DELETE", "/v2/entities/user/nobody/"))["memories_deleted"] == 0
    await wire("DELETE", "/v2/entities/planet/mars/", 400)


async def test_what_stands_for_everybody_is_nobodys_name(wire: Wire) -> None:
    await wire.add("I live in Oslo.", True, user_id="alice")
    for name in ("user_id", "agent_id", "run_id"):
        told = await wire("POST", "/memories", 400, json={"messages": "I live in Rome.", name: " * "})
        assert "nobody's name" in told["detail"]
    await wire("DELETE", "/v2/entities/user/*/", 400)
    assert await wire.texts({"user_id": "*"}) == ["Alice lives in Oslo."]


async def test_true_is_not_the_user_of_that_number(wire: Wire) -> None:
    await wire("POST", "/memories", 422, json={"messages": "I live in Rome.", "user_id": True})
    assert await wire.texts({"user_id": "1"}) == []


async def test_many_first_adds_at_once_make_one_cube(memos: AsyncMemOS, wire: Wire) -> None:
    texts = [f"note {n}" for n in range(8)]
    await asyncio.gather(*(wire.add(text, user_id="alice") for text in texts))
    assert sorted(await wire.texts({"user_id": "alice"})) == texts
    assert len([cube for cube in await memos.list_cubes() if cube.info.get("user_id") == "alice"]) == 1
