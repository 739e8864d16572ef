"""The tools of the MCP server of MemOS, switched on beside ours."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from llm_models import ScriptedModel
from mcp_calls import Calls, connected
from memos import AsyncMemOS

pytest.importorskip("mcp.server", reason="the extra 'mcp' is not installed")


@contextlib.asynccontextmanager
async def theirs(memos: AsyncMemOS, **how: Any) -> AsyncIterator[Calls]:
    async with connected(memos, extra=("memos-server",), **{"user": "ada", **how}) as calls:
        yield calls


async def test_memories_come_and_go_by_their_names(memos: AsyncMemOS) -> None:
    async with theirs(memos) as calls:
        added = await calls("add_memory", memory_content="My sister Nora lives in Bergen.")
        id = added["records"][0]["id"]
        found = await calls("search_memories", query="Nora")
        assert found["memories"][0]["memory"]["id"] == id and found["memories"][0]["cube_id"] == "ada"
        assert (await calls("search_memories", query="Nora", filter={"kind": "skill"}))["memories"] == []
        assert (await calls("get_memory", cube_id="ada", memory_id=id))["text"].startswith("My sister")
        changed = await calls("update_memory", cube_id="ada", memory_id=id, memory_content="Nora lives in Oslo.")
        assert changed["text"] == "Nora lives in Oslo."
        await calls("delete_memory", cube_id="ada", memory_id=id)
        assert (await calls.refused("get_memory", cube_id="ada", memory_id=id)).code == "not_found"
        await calls(
            "add_memory", messages=[{"role": "user", "content": "a kayak"}, {"role": "user", "content": "a canoe"}]
        )
        await calls("delete_all_memories", cube_id="ada")
        assert (await calls("memos_status"))["memories"] == 0
        assert (await calls("add_memory"))["status"] == "nothing_stored"


async def test_cubes_are_made_shared_and_dumped_where_they_may_be(memos: AsyncMemOS, tmp_path: Path) -> None:
    async with theirs(memos, dumps=tmp_path / "dumps") as calls:
        assert (await calls("create_cube", cube_name="boats", owner_id="ada", cube_path="/etc"))["cubes"] == ["boats"]
        assert "there was no cube" in (await calls("register_cube", cube_name_or_path="cars"))["message"]
        assert "is there" in (await calls("register_cube", cube_name_or_path="cars"))["message"]
        await calls("add_memory", memory_content="a kayak", cube_id="boats")
        await calls("share_cube", cube_id="boats", target_user_id="bob")
        assert len((await memos.search("kayak", user="bob", cube="boats")).hits) == 1
        await calls("dump_cube", dump_dir="today", cube_id="boats")
        assert (tmp_path / "dumps" / "today" / "boats.zip").is_file()
        for folder in ("../up", "/etc", "a/b", "..", "."):
            assert "dump_dir" in (await calls.refused("dump_cube", dump_dir=folder)).text
        told = await calls("get_user_info")
        assert told["user_id"] == "ada" and set(told["cubes"]) == {"boats", "cars"}
    async with theirs(memos) as calls:
        assert (await calls.refused("dump_cube", dump_dir="today", cube_id="boats")).code == "unavailable"


async def test_another_user_can_be_named_only_where_that_is_allowed(memos: AsyncMemOS) -> None:
    await memos.add("the code is 4711", user="bob")
    async with theirs(memos) as calls:
        for tool, arguments in (
            ("search_memories", {"query": "code"}),
            ("add_memory", {"memory_content": "mine"}),
            ("get_user_info", {}),
            ("delete_all_memories", {"cube_id": "bob"}),
            ("create_user", {}),
        ):
            refused = await calls.refused(tool, user_id="bob", **arguments)
            assert refused.code == "access_denied" and "4711" not in refused.text
    async with theirs(memos, any_user=True) as calls:
        assert len((await calls("search_memories", query="code", user_id="bob"))["memories"]) == 1
        await calls("create_user", user_id="eve", role="ADMIN")
        assert (await memos.accounts.get_user("eve")).info["role"] == "ADMIN"


async def test_chat_answers_with_the_model_and_says_when_there_is_none(tmp_path: Path, memos: AsyncMemOS) -> None:
    async with theirs(memos) as calls:
        refused = await calls.refused("chat", query="where does Nora live?")
        assert "model" in refused.text
    other = AsyncMemOS(tmp_path / "other", embedder="none", llm=ScriptedModel("In Bergen."))
    async with other as asked, theirs(asked) as calls:
        assert (await calls("chat", query="where does Nora live?"))["answer"] == "In Bergen."


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("clear_chat_history", {}), ("control_memory_scheduler", {"action": "stop"})],
)
async def test_what_has_no_meaning_here_says_so(memos: AsyncMemOS, tool: str, arguments: dict[str, Any]) -> None:
    async with theirs(memos) as calls:
        assert "no" in (await calls(tool, **arguments))["message"]
