"""What web pages may do to a server on this machine: nothing (R060), unless their origin is listed."""

from __future__ import annotations

import httpx2
import pytest
from fastapi import FastAPI
from serving import in_process

from memos import AsyncMemOS
from memos.server.app import create_app
from memos.server.options import ServerOptions

EVIL = "https://evil.example"
ALL = ServerOptions(cors_origins=("https://app.example",), allowed_hosts=("memory.example",))


@pytest.fixture
def options() -> ServerOptions:
    return ALL


@pytest.fixture
async def app(app: FastAPI) -> FastAPI:
    async def probe() -> dict[str, bool]:
        return {"reached": True}

    app.add_api_route("/probe", probe, methods=["GET", "POST", "PUT", "DELETE"])
    return app


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8000", "localhost", "LOCALHOST:1", "[::1]:8000", "127.8.9.1", "memory.example:443", "app.localhost"],
)
async def test_own_names_are_answered(app_client: httpx2.AsyncClient, host: str) -> None:
    assert (await app_client.get("/probe", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example:8000", 421), ("127.0.0.1.evil.example", 421), ("10.0.0.7", 421), ("0.0.0.0:8000", 421),
        ("localhost.evil.example", 421), ("evil.example@127.0.0.1", 400), ("127.0.0.1:evil", 400), ("", 400),
        ("[::1", 400), ("[zz]", 400), ("127.0.0.1, evil.example", 400), ("a b", 400),
    ],
)  # fmt: skip
async def test_foreign_hosts_are_refused(app_client: httpx2.AsyncClient, host: str, status: int) -> None:
    for path in ("/probe", "/health", "/docs"):
        answer = await app_client.get(path, headers={"Host": host})
        assert answer.status_code == status
        assert "reached" not in answer.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
@pytest.mark.parametrize("origin", [EVIL, "null", "http://127.0.0.1:3000", "https://app.example.evil.example"])
async def test_a_foreign_page_changes_nothing(app_client: httpx2.AsyncClient, method: str, origin: str) -> None:
    answer = await app_client.request(method, "/probe", headers={"Origin": origin})
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "foreign_origin"
    assert "access-control-allow-origin" not in answer.headers


async def test_a_foreign_page_cannot_read_what_it_may_ask(app_client: httpx2.AsyncClient) -> None:
    answer = await app_client.get("/probe", headers={"Origin": EVIL})
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_browser_that_says_another_site_asks_is_refused(app_client: httpx2.AsyncClient, site: str) -> None:
    assert (await app_client.post("/probe", headers={"Sec-Fetch-Site": site})).status_code == 403
    assert (await app_client.get("/probe", headers={"Sec-Fetch-Site": site})).status_code == 200


@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "same-origin"}, {"Origin": "http://127.0.0.1:8000"}])
async def test_programs_and_own_pages_may_change(app_client: httpx2.AsyncClient, headers: dict[str, str]) -> None:
    assert (await app_client.post("/probe", headers=headers, json={"a": 1})).status_code == 200


async def test_a_preflight_of_a_foreign_page_is_refused(app_client: httpx2.AsyncClient) -> None:
    answer = await app_client.options("/probe", headers={"Origin": EVIL, "Access-Control-Request-Method": "POST"})
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control-")]


async def test_a_listed_page_may_call_and_read(app_client: httpx2.AsyncClient) -> None:
    origin = {"Origin": "https://app.example"}
    asked = await app_client.options("/probe", headers=origin | {"Access-Control-Request-Method": "POST"})
    assert asked.status_code == 204
    assert "Authorization" in asked.headers["access-control-allow-headers"]
    done = await app_client.post("/probe", headers=origin, json={})
    assert done.status_code == 200
    assert done.headers["access-control-allow-origin"] == "https://app.example"
    assert "access-control-allow-credentials" not in done.headers
    assert done.headers["vary"] == "Origin"


async def test_a_listed_page_can_read_refusals_too(app_client: httpx2.AsyncClient) -> None:
    answer = await app_client.get("/nowhere", headers={"Origin": "https://app.example"})
    assert answer.status_code == 404
    assert answer.headers["access-control-allow-origin"] == "https://app.example"


@pytest.mark.parametrize("kind", ["text/plain", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded", None])
async def test_bodies_that_pages_send_without_asking_are_refused(
    app_client: httpx2.AsyncClient, kind: str | None
) -> None:
    headers = {"Content-Type": kind} if kind else {}
    answer = await app_client.post("/probe", content=b'{"user_id": "x"}', headers=headers)
    assert answer.status_code == 415
    assert "application/json" in answer.json()["error"]["message"]


async def test_listening_everywhere_takes_any_name_unless_names_are_listed(memos: AsyncMemOS) -> None:
    for hosts, status in (((), 200), (("memory.example",), 421)):
        app = create_app(memos, ServerOptions(host="0.0.0.0", allowed_hosts=hosts))
        async with in_process(app) as client:
            assert (await client.get("/health", headers={"Host": "box.lan:8000"})).status_code == status


async def test_every_wire_answers_refusals_in_its_own_envelope(app_client: httpx2.AsyncClient) -> None:
    for path, key in (("/product/search", "code"), ("/api/openmem/v1/search/memory", "code"), ("/v1/search", "error")):
        answer = await app_client.post(path, json={}, headers={"Origin": EVIL})
        assert answer.status_code in (200, 403)
        assert key in answer.json()
        assert "evil" in answer.text


async def test_two_kinds_for_one_body_are_refused(app_client: httpx2.AsyncClient) -> None:
    headers = [("Content-Type", "application/json"), ("Content-Type", "text/plain")]
    assert (await app_client.post("/probe", content=b"{}", headers=headers)).status_code == 415
