"""The faults that people met in MCP servers, over the wire of MCP. (R163 on every tool: `tests/mcp/test_mcp_schemas.py`; R047 over
HTTP keys: `tests/mcp/test_mcp_http.py`.)
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

pytest.importorskip("mcp.server", reason="the extra 'mcp' is not installed")

from mcp import Client, StdioServerParameters
from mcp_calls import Calls, connected
from memos import AsyncMemOS, MemOS

SRC = Path(__file__).parents[2] / "src"


def process(home: Path) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "memos.cli", "--home", str(home), "--embedder", "none", "mcp", "--user", "ada"],
        env={"PYTHONPATH": os.pathsep.join((str(SRC), os.environ.get("PYTHONPATH", ""))), "OMP_NUM_THREADS": "1"},
    )


async def fill(client: Client, who: str, count: int = 50) -> set[str]:
    calls = Calls(client)
    added = await asyncio.gather(*(calls("memos_add", content=f"{who} note {n} about boats") for n in range(count)))
    return {one["records"][0]["id"] for one in added}


async def test_r017_fifty_adds_at_once_over_one_connection_are_fifty(home: Path) -> None:
    """Parallel tool calls drop each other's writes."""
    async with Client(process(home)) as client:
        ids = await fill(client, "one")
        assert len(ids) == 50
        assert (await Calls(client)("memos_status"))["by_kind"]["trace"] == 50
    with MemOS(home, embedder="none", background=False) as memos:
        assert {m.id for m in memos.list(user="ada", kinds=["trace"]).items} == ids


async def test_r017_two_server_processes_on_one_store_keep_a_hundred(home: Path) -> None:
    """Two server processes on one store corrupt it."""
    async with Client(process(home)) as first, Client(process(home)) as second:
        one, two = await asyncio.gather(fill(first, "one"), fill(second, "two"))
        assert len(one | two) == 100
        assert (await Calls(second)("memos_status"))["by_kind"]["trace"] == 100
    with MemOS(home, embedder="none", background=False) as memos:
        assert {m.id for m in memos.list(user="ada", kinds=["trace"], limit=1_000).items} == one | two


async def test_r017_a_garbage_row_breaks_no_tool(home: Path) -> None:
    """One bad row makes every tool fail."""
    with MemOS(home, embedder="none", background=False) as memos:
        bad, good = memos.add(["the red kayak", "the blue kayak"], user="ada", wait=True).ids
        file = home / "cubes" / memos.open_cube("ada", user="ada").location
    db = apsw.Connection(str(file))
    db.execute("UPDATE memories SET info='{garbage' WHERE id=?", (bytes.fromhex(bad.replace("-", "")),))
    db.close()
    async with AsyncMemOS(home, embedder="none", background=False) as system, connected(system, user="ada") as calls:
        assert [item["id"] for item in (await calls("memos_list", kinds=["trace"]))["items"]] == [good]
        assert [hit["refId"] for hit in (await calls("memos_search", query="kayak"))["hits"]] == [good]
        assert (await calls("memos_add", content="a green kayak"))["status"] == "stored"
        assert (await calls("memos_get", id=good))["text"] == "the blue kayak"
        for tool, arguments in (("memos_status", {}), ("memos_recall", {"query": "kayak"}), ("memos_cubes", {})):
            await calls(tool, **arguments)


@pytest.mark.parametrize("content", ["", " ", "\u200b", "\u3000", "\n", [], [{"role": "user", "content": "\u200b"}]])
async def test_r075_blank_content_leaves_no_row(home: Path, content: Any) -> None:
    """Empty or blank content is accepted and leaves ghost rows; or success with id null."""
    async with AsyncMemOS(home, embedder="none", background=False) as memos, connected(memos, user="ada") as calls:
        result = await calls.any("memos_add", {"content": content})
        if result.is_error:
            assert "content" in result.content[0].text
        else:
            assert result.structured_content["status"] == "nothing_stored" and not result.structured_content["records"]
        assert (await calls("memos_status"))["memories"] == 0


async def test_r075_of_a_batch_the_good_one_is_kept_and_the_blank_one_told(home: Path) -> None:
    """A blank message takes the batch with it, or is stored."""
    async with AsyncMemOS(home, embedder="none", background=False) as memos, connected(memos, user="ada") as calls:
        added = await calls("memos_add", content=[{"content": "a red kayak"}, {"content": " "}])
        assert [record["text"] for record in added["records"]] == ["a red kayak"] and added["notices"]


@pytest.mark.parametrize("limit", [0, -1, 10**9, 1.5, "5", None, True, 10**30, float(2)])
async def test_r077_no_limit_is_unbounded_and_every_answer_is_strict_json(home: Path, limit: Any) -> None:
    """An unbounded limit takes all memory; an infinite score breaks the answer."""
    async with AsyncMemOS(home, embedder="none", background=False) as memos, connected(memos, user="ada") as calls:
        await memos.add([f"note {n} about boats" for n in range(5)], user="ada")
        for tool, name in (("memos_list", "limit"), ("memos_search", "maxResults"), ("memos_environment", "limit")):
            arguments = {name: limit, **({"query": "boats"} if tool == "memos_search" else {})}
            result = await calls.any(tool, arguments)
            json.loads(result.content[0].text, parse_constant=pytest.fail) if not result.is_error else None
            assert result.is_error == (limit not in (None, 2.0) or limit is True), (tool, limit)
            assert not result.is_error or name in result.content[0].text


@pytest.mark.parametrize("offset", [-1, 10**9, 1.5, "5"])
async def test_r077_an_offset_outside_is_refused_or_empty(home: Path, offset: Any) -> None:
    """A negative offset wraps around, a large one breaks the server."""
    async with AsyncMemOS(home, embedder="none", background=False) as memos, connected(memos, user="ada") as calls:
        id = (await calls("memos_add", content="a red kayak"))["records"][0]["id"]
        assert "offset" in (await calls.refused("memos_get", id=id, offset=offset)).text


async def test_r126_forgetting_by_words_takes_what_holds_all_of_them(home: Path) -> None:
    """Forget by pattern matches ANY of the words, deleting far too much."""
    async with AsyncMemOS(home, embedder="none", background=False) as memos, connected(memos, user="ada") as calls:
        for text in ("blue canoe", "blue hat", "red canoe", "100 % sure"):
            await calls("memos_add", content=text)
        for phrase in ("", "*", "%", "_", " ", "%%", "\u200b", "__"):
            assert "phrase" in (await calls.refused("memos_forget", phrase=phrase)).text
        for phrase in ("blue%", "blue*canoe", "b_ue", "lue cano", "canoe blue"):
            assert (await calls("memos_forget", phrase=phrase))["deleted"] == 0, phrase
        planned = await calls("memos_forget", phrase="Blue Canoe", dry_run=True)
        assert planned["deleted"] == 1 and planned["memories"][0]["text"] == "blue canoe"
        assert len((await calls("memos_list"))["items"]) == 4
        assert (await calls("memos_forget", phrase="blue canoe"))["deleted"] == 1
        left = {item["text"] for item in (await calls("memos_list"))["items"]}
        assert left == {"blue hat", "red canoe", "100 % sure"}
