"""MCP at `/mcp` of `memos serve`: the keys, scopes and borders of REST."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

pytest.importorskip("mcp.server", reason="the extra 'mcp' is not installed")

from mcp.client.streamable_http import streamable_http_client
from serving import Live, Starter

from mcp import Client
from mcp_arguments import valid
from mcp_calls import Calls
from memos import MemOS
from memos.server.options import ServerOptions

SECRET = "the code is 4711"


@dataclass
class Served:
    """A server with keys, and what alpha keeps in it."""

    live: Live
    keys: dict[str, str]
    memory: str
    episode: str
    skill: str

    @contextlib.asynccontextmanager
    async def calls(
        self, key: str | None, path: str = "/mcp", wire: str = "auto", **headers: bytes
    ) -> AsyncIterator[Calls]:
        """A connection with a key (by its name), and further headers."""
        sent = {name.replace("_", "-").encode(): value for name, value in headers.items()}
        if key is not None:
            sent[b"Authorization"] = f"Bearer {self.keys[key]}".encode()
        async with (
            httpx2.AsyncClient(headers=sent, timeout=60) as http,
            Client(streamable_http_client(self.live.url + path, http_client=http), mode=wire) as client,
        ):
            yield Calls(client)


SKILL = b"---\nname: open-the-vault\ndescription: the code is 4711, use it for the vault.\n---\n1. the code is 4711\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("mcp")
    start = Starter(folder)
    with MemOS(folder / "home", embedder="none", background=False) as memos:
        keys = {}
        for name, scopes in (
            ("alpha", ("read", "write")),
            ("beta", ("read", "write")),
            ("reader", ("read",)),
            ("host", ("act",)),
        ):
            with contextlib.suppress(ValueError):
                memos.accounts.create_user(name)
            keys[name] = memos.accounts.create_key(name, scopes=scopes)[1]
        memory = memos.add(SECRET, user="alpha", wait=True).ids[0]
        skill = memos.import_skills(SKILL, user="alpha")[0].id
        episode = memos.start_turn(f"open the vault, {SECRET}", user="alpha").episode
        memos.add("beta keeps bees", user="beta", wait=True)
    try:
        yield Served(start(home=folder / "home"), keys, memory, episode, skill)
    finally:
        start.end()


@pytest.mark.parametrize("wire", ["legacy", "auto"])
async def test_the_tools_work_over_http(served: Served, wire: str) -> None:
    async with served.calls("alpha", wire=wire) as calls:
        assert (await calls("memos_get", id=served.memory))["text"] == SECRET
        added = await calls("memos_add", content=f"a kayak, over {wire}", wait=True)
        assert (await calls("memos_search", query="kayak"))["hits"]
        assert (await calls("memos_delete", ids=[added["records"][0]["id"]]))["deleted"] == 1
        begun = await calls("memos_turn_start", text="water the plants")
        assert (await calls("memos_step", tool="tap", output={"litres": 3}))["episode"] == begun["episode"]
        assert (await calls("memos_turn_end", text="done"))["turn"] == begun["turn"]
        assert (await calls("memos_outcome", score=0.5))["score"] == 0.5
        assert (await calls("memos_recall", query="the vault"))["context"]
        assert (await calls("memos_status"))["cube"] == "alpha"
        assert (await calls.refused("memos_search", query="x", maxResults="5")).code == "invalid_arguments"
        text = (await calls.client.read_resource(f"memory://{served.memory}")).contents[0].text
        assert text == SECRET


async def test_without_a_key_nothing_is_told(served: Served) -> None:
    with served.live.client() as http:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        accept = {"Accept": "application/json, text/event-stream"}
        assert http.post("/mcp", json=body, headers=accept).status_code == 401
        bad = {**accept, "Authorization": "Bearer mk_nonsense"}
        assert http.post("/mcp", json=body, headers=bad).status_code == 401


async def test_scopes_are_those_of_rest(served: Served) -> None:
    async with served.calls("reader") as calls:
        assert (await calls("memos_search", query="anything"))["status"] == "nothing"
        for tool, arguments in (
            ("memos_add", {"content": "a kayak"}),
            ("memos_turn_start", {"text": "hello"}),
            ("memos_delete", {"ids": [served.memory]}),
        ):
            assert (await calls.refused(tool, **arguments)).code in ("access_denied", "not_found"), tool
    async with served.calls("host", x_memory_user=b"alpha") as calls:
        assert (await calls("memos_get", id=served.memory))["text"] == SECRET
    async with served.calls("beta", x_memory_user=b"alpha") as calls:
        for tool, arguments in (
            ("memos_search", {"query": "code"}),
            ("memos_add", {"content": "mine"}),
            ("memos_status", {}),
        ):
            assert (await calls.refused(tool, **arguments)).code == "access_denied", tool


def _seeds(served: Served) -> dict[str, Any]:
    """Whatever of alpha's an argument can name."""
    return {
        "id": served.memory, "ids": [served.memory], "memory_id": served.memory, "targets": [served.memory],
        "episodeId": served.episode, "episode": served.episode, "cube": "alpha", "cube_id": "alpha", "cube_ids": ["alpha"],
        "user_id": "alpha", "owner_id": "alpha", "target_user_id": "beta", "query": "what is the code of the vault?",
        "phrase": "the code is 4711", "if_version": 1, "cursor": "", "dry_run": True, "filter": {"kind": "trace"},
        "agent": "agent", "session": "default", "name": "alpha", "cube_name": "alpha", "cube_name_or_path": "alpha",
    }  # fmt: skip


async def test_r047_no_tool_lets_one_key_see_anothers(served: Served) -> None:
    async with served.calls("beta", "/mcp?tools=memos-server,reference") as calls:
        tools = (await calls.client.list_tools()).tools
        assert len(tools) > 40
        for tool in tools:
            for what, arguments in valid(tool.input_schema, _seeds(served)):
                result = await calls.any(tool.name, arguments)
                told = "".join(content.text for content in result.content) + json.dumps(result.structured_content)
                for secret in (SECRET, served.skill):
                    said_it = json.dumps(arguments)  # what the caller said is no news
                    assert secret not in told or secret in said_it, (tool.name, what, told)
        for skill in (served.skill, "open-the-vault"):
            for cube in (None, "alpha"):
                assert (await calls.refused("memos_skill_get", id=skill, cube=cube)).code in (
                    "not_found",
                    "access_denied",
                )
        for uri in (f"memory://{served.memory}", "cube://alpha"):
            with pytest.raises(Exception, match=r"not_found|access_denied"):
                await calls.client.read_resource(uri)
        assert SECRET not in str(await calls.client.read_resource("profile://alpha"))
        assert SECRET not in str(await calls.client.list_resources())
        assert SECRET not in str(await calls.client.get_prompt("recall", {"task": "what is the code?"}))
    async with served.calls("alpha") as calls:
        assert (await calls("memos_get", id=served.memory))["text"] == SECRET


async def test_calls_of_two_keys_at_once_stay_apart(served: Served) -> None:
    async with served.calls("alpha") as alpha, served.calls("beta") as beta:

        async def search(calls: Calls, query: str) -> str:
            return str(await calls("memos_search", query=query))

        answers = await asyncio.gather(
            *(search(calls, query) for _ in range(12) for calls, query in ((alpha, "code bees"), (beta, "code bees")))
        )
    assert all("4711" in told and "keeps bees" not in told for told in answers[::2])
    assert all("keeps bees" in told and "4711" not in told for told in answers[1::2])


async def test_headers_name_user_cube_and_session(served: Served) -> None:
    async with served.calls("host", x_memory_user="Åsa".encode(), x_memory_session=b"monday") as calls:
        assert (await calls("memos_add", content="a canoe"))["cube"] == "Åsa"
        assert (await calls("memos_list"))["items"][0]["session"] == "monday"
    async with served.calls("host", x_memory_user=b"beta", x_memory_cube=b"alpha") as calls:
        assert (await calls.refused("memos_list")).code in ("not_found", "access_denied")


async def test_the_address_chooses_the_tools(served: Served) -> None:
    async with served.calls("beta", "/mcp?mode=reference") as calls:
        assert len((await calls.client.list_tools()).tools) == 9
        await calls("create_entities", entities=[{"name": "Bea", "entityType": "bee", "observations": ["hums"]}])
        assert (await calls("read_graph"))["entities"][0]["observations"] == ["hums"]
    async with served.calls("alpha", "/mcp?mode=reference") as calls:
        assert (await calls("read_graph"))["entities"] == []


async def test_what_is_no_call_is_refused_and_the_server_lives(served: Served) -> None:
    headers = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {served.keys['alpha']}"}
    with served.live.client() as http:
        assert http.get("/mcp", headers=headers).status_code == 405
        assert http.delete("/mcp", headers=headers).status_code == 405
        assert http.post("/mcp?mode=nonsense", json={}, headers=headers).status_code == 400
        assert http.post("/mcp?tools=nonsense", json={}, headers=headers).status_code == 400
        assert http.post("/mcp", json={"jsonrpc": "2.0"}, headers=headers).status_code == 400
        assert (
            http.post("/mcp", content=b"{", headers={**headers, "Content-Type": "application/json"}).status_code == 400
        )
        assert http.post("/mcp", content=b"{}", headers={**headers, "Content-Type": "text/plain"}).status_code == 415
        assert http.post("/mcp", json={}, headers={**headers, "Origin": "https://evil.example"}).status_code == 403
        ping = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
        assert http.post("/mcp", json=ping, headers=headers).json()["id"] == 7


async def test_stdio_over_a_server_speaks_for_its_key(served: Served, stdio: Any) -> None:
    async with Client(stdio("--url", served.live.url, MEMOS_API_KEY=served.keys["alpha"])) as client:
        calls = Calls(client)
        assert (await calls("memos_get", id=served.memory))["text"] == SECRET
        assert (await calls("memos_status"))["cube"] == "alpha"
    async with Client(stdio("--url", served.live.url, "--user", "alpha", MEMOS_API_KEY=served.keys["beta"])) as client:
        assert (await Calls(client).refused("memos_search", query="code")).code == "access_denied"


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    start = Starter(tmp_path)
    try:
        live = start(MEMOS_SERVER_MCP="off")
        with live.client() as http:
            answer = http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
            assert answer.status_code == 503 and "MEMOS_SERVER_MCP" in answer.text
        assert live.stop() == 0
    finally:
        start.end()
    assert ServerOptions().mcp
