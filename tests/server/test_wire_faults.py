"""Recipes of the collection of faults whose surface is REST, over every wire; the name of a test carries the number.

(R047 and R057 (a, b) are in `test_every_route`, R060 in `test_guard`, R029 in `test_kill_nine`, R032 and R039 for health in
`test_ready`.)
"""

from __future__ import annotations

import asyncio
import json
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import httpx2
import pytest
from serving import Live, Starter

from memos import AsyncMemOS
from memos.storage.tasks import TaskQuery

JSON = {"Content-Type": "application/json"}


class Wire(ABC):
    """One way of speaking to the server, in the words of the recipes. Answers are (done, body)."""

    adding: str
    searching: str
    limit: str

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self.client = client

    async def call(self, method: str, path: str, **options: Any) -> tuple[bool, Any]:
        answer = await self.client.request(method, path, **options)
        assert answer.status_code < 500, f"{path}: {answer.status_code} {answer.text[:300]}"
        body = json.loads(answer.content, parse_constant=_no_json)
        return answer.status_code < 300 and body.get("code") in (None, 0, 200), body

    @abstractmethod
    async def add(self, user: str, messages: Any, **more: Any) -> tuple[bool, Any]: ...

    @abstractmethod
    async def listed(self, user: str) -> dict[str, str]:
        """Texts by id."""

    @abstractmethod
    async def search(self, user: str, query: str, **more: Any) -> tuple[bool, Any]: ...

    @abstractmethod
    async def get(self, user: str, id: str) -> tuple[bool, Any]: ...

    @abstractmethod
    async def delete(self, user: str, ids: list[str]) -> tuple[bool, Any]: ...

    async def found(self, user: str, query: str, **more: Any) -> str:
        """All that a search answers, as text."""
        done, body = await self.search(user, query, **more)
        assert done, body
        body.pop("query", None)
        return json.dumps(body, ensure_ascii=False)


class Native(Wire):
    adding, searching, limit = "/v1/memories", "/v1/memories/search", "limit"

    async def add(self, user: str, messages: Any, **more: Any) -> tuple[bool, Any]:
        return await self.call("POST", self.adding, json={"user": user, "messages": messages, **more})

    async def listed(self, user: str) -> dict[str, str]:
        _, body = await self.call("POST", "/v1/memories/list", json={"user": user, "limit": 1000})
        return {m["id"]: m["text"] for m in body["items"]}

    async def search(self, user: str, query: str, **more: Any) -> tuple[bool, Any]:
        return await self.call("POST", self.searching, json={"user": user, "query": query, **more})

    async def get(self, user: str, id: str) -> tuple[bool, Any]:
        return await self.call("GET", f"/v1/memories/{id}", params={"user": user})

    async def delete(self, user: str, ids: list[str]) -> tuple[bool, Any]:
        return await self.call("POST", "/v1/memories/delete", json={"user": user, "ids": ids})


class Product(Wire):
    adding, searching, limit = "/product/add", "/product/search", "top_k"

    async def add(self, user: str, messages: Any, **more: Any) -> tuple[bool, Any]:
        return await self.call("POST", self.adding, json={"user_id": user, "messages": messages, **more})

    async def listed(self, user: str) -> dict[str, str]:
        _, body = await self.call("POST", "/product/get_memory", json={"user_id": user, "mem_cube_id": user})
        buckets = (body["data"] or {}).values()
        return {m["id"]: m["memory"] for bucket in buckets for cube in bucket for m in cube["memories"]}

    async def search(self, user: str, query: str, **more: Any) -> tuple[bool, Any]:
        return await self.call(
            "POST", "/product/search", json={"user_id": user, "query": query, "relativity": 0, **more}
        )

    async def get(self, user: str, id: str) -> tuple[bool, Any]:
        done, body = await self.call("GET", f"/product/get_memory/{id}", params={"user_id": user})
        return done and body["data"] is not None, body

    async def delete(self, user: str, ids: list[str]) -> tuple[bool, Any]:
        body = {"user_id": user, "writable_cube_ids": [user], "memory_ids": ids}
        return await self.call("POST", "/product/delete_memory", json=body)


class Cloud(Wire):
    adding, searching, limit = "/api/openmem/v1/add/message", "/api/openmem/v1/search/memory", "memory_limit_number"

    async def add(self, user: str, messages: Any, **more: Any) -> tuple[bool, Any]:
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        body = {"user_id": user, "conversation_id": "c", "messages": messages, **more}
        return await self.call("POST", self.adding, json=body)

    async def listed(self, user: str) -> dict[str, str]:
        _, body = await self.call("POST", "/api/openmem/v1/get/memory", json={"user_id": user, "size": 50})
        data = body["data"] or {}
        return {m["id"]: str(m) for name, rows in data.items() if name.endswith("_list") for m in rows}

    async def search(self, user: str, query: str, **more: Any) -> tuple[bool, Any]:
        return await self.call("POST", self.searching, json={"user_id": user, "query": query, **more})

    async def get(self, user: str, id: str) -> tuple[bool, Any]:
        return await self.call("GET", f"/api/openmem/v1/get/memory/{id}")

    async def delete(self, user: str, ids: list[str]) -> tuple[bool, Any]:
        return await self.call("POST", "/api/openmem/v1/delete/memory", json={"memory_ids": ids})


def _no_json(constant: str) -> Any:
    raise AssertionError(f"{constant} is not JSON")


@pytest.fixture(params=[Native, Product, Cloud], ids=lambda wire: wire.__name__.lower())
def wire(request: pytest.FixtureRequest, app_client: httpx2.AsyncClient) -> Any:
    return request.param(app_client)


def said(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


async def test_r001_what_an_add_acknowledges_is_listed_and_found(wire: Wire) -> None:
    done, _ = await wire.add("u_alpha", said("My kayak is teal and lives in shed 4."))
    assert done
    assert any("teal" in text for text in (await wire.listed("u_alpha")).values())
    assert "teal" in await wire.found("u_alpha", "kayak colour")


async def test_r003_an_id_handed_out_stays_valid(wire: Wire, memos: AsyncMemOS) -> None:
    await wire.add("ada", said("Invoice day is the 9th. I moved to Oslo in 2021."))
    before = await wire.listed("ada")
    await memos.tasks.wait(TaskQuery(), timeout=20)
    for id in before:
        assert (await wire.get("ada", id))[0]
    assert (await wire.delete("ada", list(before)))[0]
    assert await wire.listed("ada") == {}, "what was derived from it stayed"
    for id in before:
        assert not (await wire.get("ada", id))[0]


@pytest.mark.parametrize(
    "path", ["/etc/hostname", "../../secret.txt", "file:///etc/hostname", "C:\\secret.txt", "link"]
)
async def test_r057_a_path_in_a_request_is_never_read(
    wire: Wire, memos: AsyncMemOS, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret.txt").write_text("the content of the file")
    (tmp_path / "link").symlink_to(tmp_path / "secret.txt")
    monkeypatch.chdir(tmp_path)
    hostname = Path("/etc/hostname").read_text().strip() if Path("/etc/hostname").exists() else "the content"
    parts = [
        {"type": "file", "file": {"path": path, "filename": "f"}}, {"type": "file", "file": {"file_data": path}},
        {"type": "image_url", "image_url": {"url": path}}, {"type": "text", "text": "see the file"},
    ]  # fmt: skip
    for messages in ([{"role": "user", "content": parts}], parts):
        await wire.add("ada", messages, doc_path=path)
    known = json.dumps([await wire.listed("ada"), await wire.found("ada", "content of the file")])
    assert "the content of the file" not in known
    assert hostname not in known.replace("/etc/hostname", "")


NAMES = [
    "../../x", "..\\x", "/abs", "a/b", ".", "..", "CON", "__proto__", "%2e%2e", "x" * 100, "x\u202ey", "ｘ", "né", "ne\u0301",
    "'; DROP TABLE cubes; --", "{{7*7}}", "<b>", "**", "?a=b", "#", " lead", "A", "a",
]  # fmt: skip


async def test_r062_names_are_opaque(wire: Wire, memos: AsyncMemOS) -> None:
    home = memos.settings.home
    outside = sorted(p.name for p in home.parent.iterdir())
    for i, name in enumerate(NAMES):
        done, body = await wire.add(name, said(f"My number is token{i:03}."))
        assert done, f"{name!r}: {body}"
    for i, name in enumerate(NAMES):
        texts = json.dumps(await wire.listed(name))
        assert f"token{i:03}" in texts, name
        assert texts.count("My number") == texts.count(f"My number is token{i:03}"), f"{name!r} holds another's"
    assert sorted(p.name for p in home.parent.iterdir()) == outside
    assert {p.suffix for p in (home / "cubes").iterdir()} <= {".cube", ".cube-wal", ".cube-shm", ".building"}


@pytest.mark.parametrize("name", ["", " ", "x\u0000y", "x" * 300, "a\nb", "\u0007", 7, None, ["a"], {"a": 1}])
async def test_r062_what_is_no_name_is_refused(app_client: httpx2.AsyncClient, name: Any) -> None:
    for path, body in (
        ("/v1/memories", {"user": name, "messages": "I am here."}),
        ("/product/search", {"user_id": name, "query": "q"}),
        ("/api/openmem/v1/get/memory", {"user_id": name}),
    ):
        if name is None and path == "/v1/memories":
            continue  # the default user
        answer = await app_client.post(path, json=body)
        assert 400 <= answer.status_code < 500 or answer.json()["code"] not in (0, 200), answer.text


async def test_r070_lone_surrogates_and_emoji_are_no_crash(wire: Wire) -> None:
    user = '"user": "ada"' if isinstance(wire, Native) else '"user_id": "ada", "conversation_id": "c"'
    text = "Broken \\ud83d half, whole \\ud83d\\ude00, and \\udfff end of token77."
    for path, body in (
        (wire.adding, f'{{{user}, "messages": [{{"role": "user", "content": "{text}"}}]}}'),
        (wire.searching, f'{{{user}, "query": "half \\ud83d"}}'),
    ):
        done, answer = await wire.call("POST", path, content=body, headers=JSON)
        assert done or path == wire.searching, answer  # a question may be refused, in words
    assert "😀" in await wire.found("ada", "token77 😀")


@pytest.mark.parametrize("content", ["", " ", "\u200b", "\u3000", "\n"])
async def test_r075_blank_content_leaves_nothing(wire: Wire, content: str) -> None:
    done, body = await wire.add("ada", said(content))
    assert not done, body
    done, body = await wire.add("ada", said("Good tea.", content))
    assert done
    assert "blank content, not stored" in json.dumps(body)
    assert len(await wire.listed("ada")) == 1
    assert not (await wire.add("ada", []))[0]


@pytest.mark.parametrize("limit", [0, -1, 1_000_000_000, 1.5, "many", True, [], 1e400])
async def test_r077_a_limit_that_is_none_is_refused_or_kept_small(wire: Wire, limit: Any) -> None:
    await wire.add("ada", said("I like tea."))
    body = json.dumps({"query": "tea", "user" if isinstance(wire, Native) else "user_id": "ada", wire.limit: limit})
    done, answer = await wire.call("POST", wire.searching, content=body.replace("Infinity", "1e400"), headers=JSON)
    assert not done or limit in (0, True), answer


async def test_r077_odd_vectors_make_no_odd_scores(tmp_path: Path) -> None:
    import numpy as np
    from serving import in_process

    from memos.server.app import create_app

    class Odd:
        model_id, dim = "odd", 4

        async def embed(self, texts: list[str], *, purpose: str) -> Any:
            rows = {"zero": [0, 0, 0, 0], "nan": [np.nan] * 4, "inf": [np.inf] * 4}
            return np.array([rows.get(t.split()[0], [1, 0, 0, 0]) for t in texts], np.float32)

    memos = AsyncMemOS(tmp_path / "home", embedder=Odd())  # type: ignore[arg-type]
    app = create_app(memos)
    async with app.router.lifespan_context(app), in_process(app) as client:
        for wire in (Native(client), Product(client), Cloud(client)):
            await wire.add("ada", said("zero tea", "nan tea", "inf tea", "plain tea", "plain tea with milk"))
            await asyncio.sleep(0.2)
            for query in ("plain tea", "zero", "nan", "inf tea"):
                assert "tea" in await wire.found("ada", query)


@pytest.mark.parametrize(
    "where",
    [
        {"and": [{"tags": {"contains": "w"}}, {"or": [{"kind": "trace"}, {"role": "user"}]}]},
        {"or": [{"importance": {"gte": 0.1}}, {"importance": {"lt": 0.0}}]},
        {"recorded_at": {"gte": "2020-01-01T00:00:00Z", "lt": "2100-01-01T00:00:00+05:00"}},
        {"info.n": {"in": [1, 2]}},
    ],
)
async def test_r092_documented_operators_work(app_client: httpx2.AsyncClient, where: dict[str, Any]) -> None:
    wire = Native(app_client)
    await wire.add("ada", said("I like tea."), tags=["w"], info={"n": 1})
    assert "I like tea" in await wire.found("ada", "tea", filter=where)


@pytest.mark.parametrize(
    "where", [{"tags": {"resembles": "w"}}, {"nonsense": 1}, {"and": "tags"}, {"and": [[1]]}, {"$where": "1"}]
)
async def test_r054_an_unknown_operator_matches_nothing(app_client: httpx2.AsyncClient, where: dict[str, Any]) -> None:
    wire = Native(app_client)
    await wire.add("ada", said("I like tea."))
    done, body = await wire.search("ada", "tea", filter=where)
    assert not done
    assert "tea" not in json.dumps(body).replace("search", "")


async def test_r124_after_deleting_everything_nothing_answers(wire: Wire, memos: AsyncMemOS) -> None:
    await wire.add("ada", said("My locker code is 7719-K.", "I moved to Oslo in May 2021."))
    await memos.tasks.wait(TaskQuery(), timeout=20)
    await memos.flush(user="ada")
    assert "7719-K" in await wire.found("ada", "locker code")
    bodies: dict[type[Wire], tuple[str, dict[str, Any]]] = {
        Native: ("/v1/memories/delete", {"user": "ada", "everything": True}),
        Product: ("/product/delete_memory", {"user_id": "ada", "writable_cube_ids": ["ada"]}),
        Cloud: ("/api/openmem/v1/delete/memory", {"user_id": "ada"}),
    }
    path, body = bodies[type(wire)]
    assert (await wire.call("POST", path, json=body))[0]
    assert "7719" not in await wire.found("ada", "locker code 7719-K")
    assert await wire.listed("ada") == {}
    for file in (memos.settings.home / "cubes").iterdir():
        assert b"7719-K" not in file.read_bytes(), f"{file.name} still holds it"


def held(live: Live) -> tuple[int, int]:
    """Threads and open files of a server."""
    proc = Path(f"/proc/{live.process.pid}")
    threads = next(
        int(line.split()[1]) for line in (proc / "status").read_text().splitlines() if line.startswith("Threads:")
    )
    return threads, len(list((proc / "fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts what /proc tells")
def test_r153_threads_and_files_stay_flat(serve: Starter) -> None:
    live = serve()
    with live.client() as client:

        def work(n: int) -> None:
            for i in range(n):
                added = client.post(
                    "/v1/memories", json={"messages": f"Thing {i} is in box {i * 7}.", "user": f"u{i % 5}"}
                )
                found = client.post("/v1/memories/search", json={"query": f"thing {i}", "user": f"u{i % 5}"})
                assert (added.status_code, found.status_code) == (200, 200)
                assert found.json()["hits"]

        work(240)  # until every cube has the reading connections it needs at once
        before = held(live)
        work(300)
        time.sleep(0.5)
        after = held(live)
    assert all(abs(b - a) <= 5 for b, a in zip(before, after, strict=True)), (before, after)
