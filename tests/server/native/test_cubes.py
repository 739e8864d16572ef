"""The routes of cubes: any name works in a path, rights are kept, and archives go out and come back whole."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import tempfile
import time
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest
from serving import Starter, in_process

from memos import AsyncMemOS
from memos.server.app import create_app
from memos.server.options import ServerOptions

BINARY = {"Content-Type": "application/octet-stream"}
NAMES = ["notes", "team/notes", "a/b/c/", "/", "50% off?", "räume & 日記", "a%2Fb", "with space", "."]


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files of the server go."""
    there = tmp_path / "temporary"
    there.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(there))
    return there


def at(name: str) -> str:
    return f"/v1/cubes/{quote(name, safe='').replace('.', '%2E')}"


@pytest.mark.parametrize("name", NAMES)
async def test_a_cube_of_any_name_can_be_made_read_used_and_deleted(app_client: httpx2.AsyncClient, name: str) -> None:
    made = await app_client.post("/v1/cubes", json={"name": name, "user": "ada", "info": {"topic": "x"}})
    assert made.status_code == 201
    assert (made.json()["name"], made.json()["owner"], made.json()["info"]) == (name, "ada", {"topic": "x"})
    assert (await app_client.get(f"{at(name)}?user=ada")).json() == made.json()
    listed = (await app_client.get("/v1/cubes?user=ada")).json()["items"]
    assert listed == [made.json()]
    added = await app_client.post("/v1/memories", json={"messages": "hello", "user": "ada", "cube": name})
    assert added.json()["cube"] == name
    assert (await app_client.post(f"{at(name)}/flush?user=ada")).status_code == 204
    stats = (await app_client.get(f"{at(name)}/stats?user=ada")).json()
    assert (stats["cube"], stats["store"]["memories"]) == (name, 1)
    gone = await app_client.delete(f"{at(name)}?user=ada")
    assert gone.json()["bytes"] > 0
    assert (await app_client.get(f"{at(name)}?user=ada")).status_code == 404


async def test_a_name_that_is_taken_is_a_conflict(app_client: httpx2.AsyncClient) -> None:
    for status in (201, 409):
        made = await app_client.post("/v1/cubes", json={"name": "notes"})
        assert made.status_code == status
    assert made.json()["error"]["code"] == "conflict"


async def test_asking_for_a_cube_makes_none(app_client: httpx2.AsyncClient) -> None:
    for path in ("", "/stats", "/grants", "/archive"):
        assert (await app_client.get(f"/v1/cubes/ada{path}?user=ada")).status_code == 404
    assert (await app_client.post("/v1/cubes/ada/flush?user=ada")).status_code == 404
    assert (await app_client.get("/v1/cubes?user=ada")).json() == {"items": []}


async def test_rights_are_given_and_taken_away(app_client: httpx2.AsyncClient) -> None:
    await app_client.post("/v1/cubes", json={"name": "team/x", "user": "ada"})
    there = at("team/x")
    member = f"{there}/grants/{quote('bob/1', safe='')}"
    assert (await app_client.get(there, params={"user": "bob/1"})).status_code == 404
    given = await app_client.put(f"{member}?user=ada", json={"level": "read"})
    assert given.json()["grants"] == {"bob/1": "read"}
    seen = (await app_client.get(f"{there}/grants", params={"user": "bob/1"})).json()["items"]
    assert [(g["cube"], g["user"], g["level"], g["granted_by"]) for g in seen] == [("team/x", "bob/1", "read", "ada")]
    for refused in (
        await app_client.put(f"{there}/grants/eve", params={"user": "bob/1"}, json={"level": "read"}),
        await app_client.delete(there, params={"user": "bob/1"}),
    ):
        assert refused.status_code == 403
    assert (await app_client.delete(f"{member}?user=ada")).json()["grants"] == {}
    assert (await app_client.get(there, params={"user": "bob/1"})).status_code == 404


async def test_an_archive_goes_out_and_comes_back_as_a_new_cube(
    app_client: httpx2.AsyncClient, memos: AsyncMemOS, temporary: Path
) -> None:
    [id] = (await memos.add("I live in Oslo.", user="ada", wait=True)).ids
    out = await app_client.get("/v1/cubes/ada/archive?user=ada")
    assert out.status_code == 200
    assert out.headers["content-type"] == "application/octet-stream"
    digest = b64decode(out.headers["repr-digest"].removeprefix("sha-256=:").removesuffix(":"))
    assert digest == hashlib.sha256(out.content).digest()
    assert list(temporary.iterdir()) == []
    back = await app_client.put(
        f"{at('copies/ada')}/archive?user=ada",
        content=out.content,
        headers=BINARY,
    )
    assert back.status_code == 201
    assert back.json()["cube"] == "copies/ada"
    assert back.json()["sha256"] == digest.hex()
    assert (await memos.get(id, user="ada", cube="copies/ada")).text == "I live in Oslo."
    assert list(temporary.iterdir()) == []
    again = await app_client.put(f"{at('copies/ada')}/archive?user=ada", content=out.content, headers=BINARY)
    assert again.status_code == 409


async def test_a_damaged_archive_makes_no_cube_and_leaves_no_file(
    app_client: httpx2.AsyncClient, memos: AsyncMemOS, temporary: Path
) -> None:
    await memos.add("I live in Oslo.", user="ada", wait=True)
    whole = (await app_client.get("/v1/cubes/ada/archive?user=ada")).content
    for body in (b"", b"nonsense", whole[:-50], whole[:200] + b"\x00" + whole[201:]):
        answer = await app_client.put("/v1/cubes/new/archive?user=ada", content=body, headers=BINARY)
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] in ("archive", "invalid_input")
        assert str(temporary) not in answer.text
    assert (await app_client.get("/v1/cubes/new?user=ada")).status_code == 404
    assert list(temporary.iterdir()) == []


async def test_only_who_may_read_a_cube_may_download_it(app_client: httpx2.AsyncClient, memos: AsyncMemOS) -> None:
    await memos.add("secret", user="ada")
    assert (await app_client.get("/v1/cubes/ada/archive?user=bob")).status_code == 404


async def test_an_upload_that_cannot_be_kept_says_so_and_makes_nothing(
    app_client: httpx2.AsyncClient, memos: AsyncMemOS, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    await memos.add("I live in Oslo.", user="ada", wait=True)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    for answer in (
        await app_client.put("/v1/cubes/new/archive?user=ada", content=b"x", headers=BINARY),
        await app_client.get("/v1/cubes/ada/archive?user=ada"),
    ):
        assert answer.status_code == 503
        assert "TMPDIR" in answer.json()["error"]["message"]
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **_: (_ for _ in ()).throw(full))
    answer = await app_client.put("/v1/cubes/new/archive?user=ada", content=b"x", headers=BINARY)
    assert (answer.status_code, answer.json()["error"]["code"]) == (507, "storage_full")


async def test_an_archive_may_be_larger_than_other_bodies_but_not_without_bound(
    memos: AsyncMemOS, temporary: Path
) -> None:
    app = create_app(memos, ServerOptions(body_mb=1, archive_mb=2))
    async with app.router.lifespan_context(app), in_process(app) as client:
        for size, status in ((1 << 20) + 1, 400), ((2 << 20) + 1, 413):
            answer = await client.put("/v1/cubes/new/archive", content=b"x" * size, headers=BINARY)
            assert answer.status_code == status
        answer = await client.post("/v1/memories", json={"messages": "x" * (1 << 20)})
        assert answer.status_code == 413
    assert list(temporary.iterdir()) == []


def test_a_download_or_upload_that_breaks_off_leaves_no_file(serve: Starter, tmp_path: Path) -> None:
    there = tmp_path / "of the server"
    there.mkdir()
    live = serve(TMPDIR=str(there))
    with live.client() as client:
        for number in range(3):  # in `info`, which nobody analyses
            body = {
                "messages": f"note {number}",
                "user": "ada",
                "derive": False,
                "info": {"x": os.urandom(900_000).hex()},
            }
            client.post("/v1/memories", json=body).raise_for_status()
        for _ in range(3):
            with client.stream("GET", "/v1/cubes/ada/archive?user=ada") as answer:
                next(answer.iter_raw(1_000))
                assert int(answer.headers["content-length"]) > 1 << 20

        def half() -> Iterator[bytes]:
            yield b"x" * 100_000
            raise ConnectionError

        with contextlib.suppress(ConnectionError):
            client.put("/v1/cubes/new/archive?user=ada", content=half(), headers=BINARY)
        until = time.monotonic() + 10
        while list(there.iterdir()) and time.monotonic() < until:
            time.sleep(0.05)
        assert list(there.iterdir()) == []
        assert client.get("/v1/cubes/new?user=ada").status_code == 404
    assert not [line for line in live.log if "request_broke" in line]


async def test_a_cube_of_others_is_refused_in_the_words_for_one_that_does_not_exist(
    app_client: httpx2.AsyncClient, memos: AsyncMemOS
) -> None:
    await memos.create_cube("hers", user="ada")
    for method, path, body in (
        ("GET", "/v1/cubes/{}", None),
        ("POST", "/v1/memories/list", {"user": "bob"}),
        ("POST", "/v1/memories", {"user": "bob", "messages": "I like tea."}),
    ):
        told = []
        for name in ("hers", "none"):
            more = None if body is None else {**body, "cube": name}
            answer = await app_client.request(method, path.format(name), json=more, params={"user": "bob"})
            told.append((answer.status_code, answer.json()["error"]["message"].replace(name, "NAME")))
        assert told[0] == told[1]
        assert told[0][0] == 404


async def test_an_imported_copy_does_not_stand_before_the_memories_it_is_one_of(
    app_client: httpx2.AsyncClient, memos: AsyncMemOS
) -> None:
    [id] = (await memos.add("I like tea.", user="zoe")).ids
    archive = (await app_client.get("/v1/cubes/zoe/archive?user=zoe")).content
    copied = await app_client.put("/v1/cubes/a-copy/archive?user=bob", content=archive, headers=BINARY)
    assert copied.status_code == 201
    await memos.update(id, text="I like poison.", user="bob", cube="a-copy")
    assert await memos.locate([id]) == {id: "zoe"}
    assert (await app_client.get(f"/product/get_memory/{id}")).json()["data"]["memory"] == "I like tea."
    assert (await app_client.post("/product/delete_memory", json={"memory_ids": [id]})).status_code == 200
    assert await memos.locate([id]) == {id: "a-copy"}


async def test_a_nul_in_a_path_is_no_slash(app_client: httpx2.AsyncClient) -> None:
    await app_client.post("/v1/cubes", json={"name": "a/b", "user": "ada"})
    for path in ("a%00b", "a%00b%2Fc"):
        assert (await app_client.get(f"/v1/cubes/{path}?user=ada")).status_code == 404
    granted = await app_client.put("/v1/cubes/a%2Fb/grants/x%00y?user=ada", json={"level": "read"})
    assert granted.status_code == 404
    assert (await app_client.get("/v1/cubes/a%2Fb?user=ada")).json()["grants"] == {}
