"""The routes of users and keys: an administrator's, but everybody may see and revoke her own keys."""

from __future__ import annotations

from urllib.parse import quote

import httpx2
import pytest
from fastapi import FastAPI
from serving import in_process

from memos import AsyncMemOS


async def keyed(memos: AsyncMemOS, app: FastAPI, user: str, *scopes: str) -> tuple[str, httpx2.AsyncClient]:
    """A new key's id, and a client that sends it."""
    key, secret = await memos.accounts.create_key(user, scopes=scopes or ("read", "write"))
    return key.id, in_process(app, headers={"Authorization": f"Bearer {secret}"})


async def test_without_keys_anybody_is_everybody(app_client: httpx2.AsyncClient) -> None:
    me = (await app_client.get("/v1/me")).json()
    assert me == {
        "user": None,
        "acting_as": "default",
        "scopes": ["act", "admin", "read", "write"],
        "key": None,
    }


async def test_users_are_made_listed_stopped_and_deleted(app_client: httpx2.AsyncClient) -> None:
    for name in ("ada", "bob/1", "eve"):
        made = await app_client.post("/v1/users", json={"name": name, "info": {"team": 1}})
        assert made.status_code == 201
    assert (await app_client.post("/v1/users", json={"name": "ada"})).status_code == 409
    first = (await app_client.get("/v1/users?limit=2")).json()
    assert [u["name"] for u in first["items"]] == ["ada", "bob/1"]
    rest = (await app_client.get("/v1/users", params={"cursor": first["cursor"]})).json()
    assert ([u["name"] for u in rest["items"]], rest["cursor"]) == (["eve"], None)
    bob = f"/v1/users/{quote('bob/1', safe='')}"
    assert (await app_client.get(bob)).json()["info"] == {"team": 1}
    assert (await app_client.patch(bob, json={"active": False})).json()["active"] is False
    assert (await app_client.delete(bob)).status_code == 409
    assert (await app_client.delete(bob, params={"everything": True})).json() == {"count": 1}
    assert (await app_client.get(bob)).status_code == 404


async def test_a_key_is_told_once_and_works_until_it_is_revoked(app: FastAPI, app_client: httpx2.AsyncClient) -> None:
    made = await app_client.post("/v1/keys", json={"user": "root", "scopes": ["admin"], "description": "mine"})
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    secret, key = made.json()["secret"], made.json()["key"]
    assert (await app_client.get("/v1/me")).status_code == 401
    async with in_process(app, headers={"Authorization": f"Bearer {secret}"}) as root:
        me = (await root.get("/v1/me")).json()
        assert (me["user"], me["acting_as"], me["key"]["id"]) == ("root", "root", key["id"])
        listed = await root.get("/v1/keys")
        assert [k["id"] for k in listed.json()["items"]] == [key["id"]]
        assert secret not in listed.text
        other = (await root.post("/v1/keys", json={"user": "ada", "expires_in_days": 7})).json()["key"]
        assert (await root.delete(f"/v1/keys/{other['id']}")).json()["revoked_at"] is not None
        assert [k["id"] for k in (await root.get("/v1/keys?include_revoked=true")).json()["items"]] == [
            key["id"],
            other["id"],
        ]
        actions = [(e["actor"], e["action"]) for e in (await root.get("/v1/audit")).json()["items"]]
        assert actions == [("root", "key.revoke"), ("root", "key.create"), ("local", "key.create")]


@pytest.mark.parametrize("scopes", [("read",), ("read", "write"), ("act",)])
async def test_only_an_administrator_manages_accounts(memos: AsyncMemOS, app: FastAPI, scopes: tuple[str, ...]) -> None:
    _, client = await keyed(memos, app, "ada", *scopes)
    async with client:
        for method, path, body in (
            ("GET", "/v1/users", None),
            ("POST", "/v1/users", {"name": "x"}),
            ("GET", "/v1/users/ada", None),
            ("PATCH", "/v1/users/ada", {"active": False}),
            ("DELETE", "/v1/users/ada", None),
            ("POST", "/v1/keys", {"user": "ada"}),
            ("GET", "/v1/keys?user=bob", None),
            ("GET", "/v1/audit", None),
            ("GET", "/v1/tasks?everyone=true", None),
            ("POST", "/v1/tasks/retry", {}),
            ("POST", "/v1/tasks/cancel", {}),
        ):
            answer = await client.request(method, path, json=body)
            assert answer.status_code == 403, (method, path)


async def test_a_user_sees_and_revokes_her_own_keys_only(memos: AsyncMemOS, app: FastAPI) -> None:
    bobs, bob = await keyed(memos, app, "bob")
    hers, ada = await keyed(memos, app, "ada")
    async with ada, bob:
        assert [k["id"] for k in (await ada.get("/v1/keys")).json()["items"]] == [hers]
        assert (await ada.delete(f"/v1/keys/{bobs}")).status_code == 404
        assert (await ada.delete(f"/v1/keys/{hers}")).status_code == 200
        assert (await ada.get("/v1/me")).status_code == 401
        assert (await bob.get("/v1/me")).status_code == 200


async def test_a_key_acts_for_its_own_user_only(memos: AsyncMemOS, app: FastAPI) -> None:
    _, ada = await keyed(memos, app, "ada")
    async with ada:
        assert (await ada.post("/v1/memories", json={"messages": "hi"})).json()["cube"] == "ada"
        for answer in (
            await ada.get("/v1/memories?user=bob"),
            await ada.post("/v1/memories/search", json={"query": "x", "user": "bob"}),
            await ada.post("/v1/cubes", json={"name": "x", "user": "bob"}),
        ):
            assert answer.status_code == 403


async def test_a_reading_key_changes_nothing(memos: AsyncMemOS, app: FastAPI) -> None:
    [id] = (await memos.add("I like tea.", user="ada")).ids
    _, reader = await keyed(memos, app, "ada", "read")
    async with reader:
        assert (await reader.get(f"/v1/memories/{id}")).status_code == 200
        for method, path, body in (
            ("POST", "/v1/memories", {"messages": "x"}),
            ("PATCH", f"/v1/memories/{id}", {"text": "x"}),
            ("DELETE", f"/v1/memories/{id}", None),
            ("POST", f"/v1/memories/{id}/undo", None),
            ("POST", "/v1/memories/delete", {"everything": True}),
            ("POST", "/v1/cubes", {"name": "x"}),
            ("DELETE", "/v1/cubes/ada", None),
            ("PUT", "/v1/cubes/x/archive", None),
            ("PUT", "/v1/cubes/ada/grants/bob", {"level": "read"}),
            ("DELETE", "/v1/cubes/ada/grants/bob", None),
        ):
            assert (await reader.request(method, path, json=body)).status_code == 403, (method, path)
