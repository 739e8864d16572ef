"""What the server says when a request cannot be answered speaks of routes, fields and ids, not of Python."""

from __future__ import annotations

import re
from typing import Any

import httpx2
import pytest

from memos.server.wording import in_http_words

ID = "019a1f3c-77aa-7c31-8a2f-2b6d0f9f3f11"


async def error(client: httpx2.AsyncClient, method: str, path: str, **given: Any) -> tuple[int, str, str]:
    answer = await client.request(method, path, **given)
    body = answer.json()["error"]
    return answer.status_code, body["code"], body["message"]


async def test_an_unknown_route_is_named(app_client: httpx2.AsyncClient) -> None:
    assert await error(app_client, "GET", "/v2/x") == (404, "not_found", "no route GET /v2/x; see /docs")


async def test_a_method_that_is_not_possible_names_those_that_are(app_client: httpx2.AsyncClient) -> None:
    status, code, message = await error(app_client, "PUT", "/v1/memories", json={})
    assert (status, code) == (405, "method_not_allowed")
    assert message == "PUT is not possible here; allowed: GET, POST"


@pytest.mark.parametrize("path", ["/v1/memories/abc", "/v1/memories/abc/history", "/v1/tasks/abc", "/v1/keys/abc"])
@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_what_is_no_id_is_said_to_be_none(app_client: httpx2.AsyncClient, method: str, path: str) -> None:
    assert await error(app_client, method, path) == (404, "not_found", "'abc' is not an id")


async def test_broken_json_is_told_with_its_place(app_client: httpx2.AsyncClient) -> None:
    headers = {"Content-Type": "application/json"}
    content = b'{"messages": "I like tea." "}'
    status, code, message = await error(app_client, "POST", "/v1/memories", content=content, headers=headers)
    assert (status, code) == (422, "invalid_request")
    assert re.fullmatch(r"the body is not JSON: .+ at character 27", message), message


async def test_a_file_without_a_type_is_told_the_type_of_files(app_client: httpx2.AsyncClient) -> None:
    status, code, message = await error(app_client, "POST", "/v1/files?name=a.txt", content=b"text")
    assert (status, code) == (415, "wrong_type")
    assert "application/octet-stream" in message
    assert "json" not in message


async def test_a_memory_that_is_not_there_names_the_user_asked_for(app_client: httpx2.AsyncClient) -> None:
    for path in (f"/v1/memories/{ID}", f"/v1/memories/{ID}/history", f"/v1/memories/{ID}/edges"):
        status, code, message = await error(app_client, "GET", f"{path}?user=ada")
        assert (status, code, message) == (404, "not_found", f"memory {ID} does not exist for user 'ada'")


async def test_no_message_speaks_python(app_client: httpx2.AsyncClient) -> None:
    await app_client.post("/v1/memories", json={"messages": "I like tea.", "user": "ada"})
    await app_client.post("/v1/cubes", json={"name": "notes", "user": "ada"})
    asked = [
        ("POST", "/v1/memories/search", {"query": "x", "cube": "nope"}),
        ("POST", "/v1/memories/search", {"query": " "}),
        ("POST", "/v1/memories", {"messages": "x", "cube": "notes", "user": "bob"}),
        ("POST", "/v1/memories", {"messages": "x", "cube": "nope"}),
        ("POST", "/v1/memories/list", {"cursor": "x"}),
        ("POST", "/v1/memories/delete", {}),
        ("POST", "/v1/memories/reread", {}),
        ("POST", "/v1/cubes", {"name": "notes", "user": "ada"}),
        ("DELETE", "/v1/users/ada", None),
    ]
    for method, path, body in asked:
        answer = await app_client.request(method, path, json=body)
        assert answer.status_code >= 400, (path, body)
        said = answer.json()["error"]["message"]
        assert not re.search(r"\w\(\)|\w\('|=True|=False|\bTrue\b|\bNone\b", said), said


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (
            "cube 'x' does not exist for user 'u'; create it with create_cube('x', user='u'), or, if it is another's, its "
            "owner can share it with share()",
            "cube 'x' does not exist for user 'u'; POST /v1/cubes with the name x and the user u makes it, or, if it is "
            "another's, its owner can share it with PUT /v1/cubes/{name}/grants/{user}",
        ),
        ("the disk is full", "the disk is full"),
    ],
)
def test_hints_are_put_into_routes(said: str, meant: str) -> None:
    assert in_http_words(said) == meant


async def test_other_wires_keep_their_envelope_for_an_unknown_route(app_client: httpx2.AsyncClient) -> None:
    answer = await app_client.post("/product/none", json={})
    assert (answer.status_code, answer.json()["message"], answer.json()["error"]) == (404, "Not Found", "not_found")
    answer = await app_client.post("/api/openmem/v1/none", json={})
    assert answer.status_code == 404
    assert answer.json()["message"] == "no route POST /api/openmem/v1/none; see /docs"
