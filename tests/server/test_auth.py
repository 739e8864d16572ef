"""Keys: when they are needed, what is taken for one, and what goes without."""

from __future__ import annotations

import httpx2
import pytest
from fastapi import FastAPI
from serving import in_process

from memos import AsyncMemOS
from memos.server.app import create_app
from memos.server.caller import Caller, CallerDep
from memos.server.options import ServerOptions


def add_probe(app: FastAPI) -> FastAPI:
    async def probe(caller: CallerDep) -> dict[str, object]:
        return {"user": caller.user, "scopes": sorted(caller.scopes)}

    app.add_api_route("/probe", probe, methods=["GET", "POST"])
    return app


@pytest.fixture
async def app(app: FastAPI) -> FastAPI:
    return add_probe(app)


async def test_no_key_is_needed_before_there_is_one(app_client: httpx2.AsyncClient) -> None:
    assert (await app_client.get("/probe")).json()["user"] is None
    # Clients of other servers send whatever they were configured with.
    assert (await app_client.get("/probe", headers={"Authorization": "Token whatever"})).status_code == 200


async def test_with_the_first_key_one_is_needed(app_client: httpx2.AsyncClient, memos: AsyncMemOS) -> None:
    key, secret = await memos.accounts.create_key("alice")
    answer = await app_client.get("/probe")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["error"]["code"] == "unauthorized"
    for header in (secret, f"Bearer {secret}", f"bearer   {secret}", f"Token {secret}", f" Token {secret} "):
        answer = await app_client.get("/probe", headers={"Authorization": header})
        assert answer.json() == {"user": "alice", "scopes": ["read", "write"]}
    await memos.accounts.revoke_key(key.id)
    assert (await app_client.get("/probe")).status_code == 401  # the last key is gone, and the door stays locked


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Token",
        "Basic dXNlcjpwYXNz",
        "Bearer mk_" + "0" * 64,
        "mk_x",
        "Bearer a b",
        "é",
        "x" * 5000,
    ],
)
async def test_what_is_no_key_is_refused_alike(app_client: httpx2.AsyncClient, memos: AsyncMemOS, header: str) -> None:
    await memos.accounts.create_key("alice")
    answer = await app_client.get("/probe", headers=[(b"Authorization", header.encode())])
    assert answer.status_code in (400, 401)
    assert "alice" not in answer.text


async def test_two_keys_at_once_are_none(app_client: httpx2.AsyncClient, memos: AsyncMemOS) -> None:
    _, secret = await memos.accounts.create_key("alice")
    twice = [("Authorization", f"Bearer {secret}"), ("Authorization", f"Bearer {secret}")]
    assert (await app_client.get("/probe", headers=twice)).status_code == 401


async def test_a_key_in_the_query_is_not_looked_at(app_client: httpx2.AsyncClient, memos: AsyncMemOS) -> None:
    _, secret = await memos.accounts.create_key("alice")
    for name in ("key", "api_key", "token", "access_token"):
        assert (await app_client.get("/probe", params={name: secret})).status_code == 401


async def test_revoked_expired_and_stopped_keys_do_not_work(app_client: httpx2.AsyncClient, memos: AsyncMemOS) -> None:
    await memos.accounts.create_key("somebody")
    revoked, one = await memos.accounts.create_key("alice")
    await memos.accounts.revoke_key(revoked.id)
    _, two = await memos.accounts.create_key("bob")
    await memos.accounts.set_active("bob", False)
    for secret in (one, two):
        assert (await app_client.get("/probe", headers={"Authorization": secret})).status_code == 401


@pytest.mark.parametrize(
    ("scopes", "whole"),
    [
        (["read"], ["read"]),
        (["act"], ["act", "read", "write"]),
        (["admin"], ["act", "admin", "read", "write"]),
    ],
)
async def test_scopes_bring_what_they_imply(
    app_client: httpx2.AsyncClient, memos: AsyncMemOS, scopes: list[str], whole: list[str]
) -> None:
    _, secret = await memos.accounts.create_key("alice", scopes=scopes)
    answer = await app_client.get("/probe", headers={"Authorization": secret})
    assert answer.json()["scopes"] == whole


async def test_health_readiness_and_the_documentation_need_none(
    app_client: httpx2.AsyncClient, memos: AsyncMemOS
) -> None:
    _, secret = await memos.accounts.create_key("alice")
    for path in ("/health", "/ready", "/docs", "/openapi.json"):
        assert (await app_client.get(path)).status_code == 200
        assert (await app_client.get(path, headers={"Authorization": "Bearer wrong"})).status_code == 200
    assert "checks" not in (await app_client.get("/ready")).json()
    assert "checks" in (await app_client.get("/ready", headers={"Authorization": secret})).json()
    for path in ("/metrics", "/nowhere", "/health/", "//health", "/docs/../probe", "/HEALTH"):
        assert (await app_client.get(path)).status_code == 401


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (ServerOptions(auth="on"), 401),
        (ServerOptions(auth="auto"), 200),
        (ServerOptions(host="0.0.0.0"), 401),
        (ServerOptions(host="::"), 401),
        (ServerOptions(host="192.168.1.5"), 401),
        (ServerOptions(host="::1"), 200),
        (ServerOptions(host="localhost"), 200),
    ],
)
async def test_when_keys_are_needed_without_any(memos: AsyncMemOS, options: ServerOptions, status: int) -> None:
    app = add_probe(create_app(memos, options))
    async with app.router.lifespan_context(app), in_process(app) as client:
        assert (await client.get("/probe")).status_code == status


async def test_auth_off_needs_no_key_even_when_there_are_some(memos: AsyncMemOS) -> None:
    app = add_probe(create_app(memos, ServerOptions(auth="off")))
    async with app.router.lifespan_context(app), in_process(app) as client:
        await memos.accounts.create_key("alice")
        assert (await client.get("/probe")).json()["user"] is None


def test_a_caller_acts_for_itself_only_unless_it_may_for_everybody() -> None:
    from memos.errors import AccessDenied

    own = Caller("alice", frozenset({"read"}), "k")
    assert own.acting(None) == own.acting("alice") == "alice"
    for user, need in (("bob", "read"), ("alice", "write"), ("", "read")):
        with pytest.raises(AccessDenied):
            own.acting(user, need)
    assert Caller("bot", frozenset({"read", "write", "act"}), "k").acting("bob", "write") == "bob"
