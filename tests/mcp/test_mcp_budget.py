"""No result is longer than its budget, and what is not shown can be had."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import Field

from mcp_calls import connected
from memos import AsyncMemOS
from memos.tools.args import Listing
from memos.tools.budget import fitted, piece, preview

pytest.importorskip("mcp.server", reason="the extra 'mcp' is not installed")

LONG = "the story of the red kayak, told at length; " * 2_000


class Sample(Listing):
    """For fitting."""

    context: str = ""
    items: list[dict[str, Any]] = Field(default_factory=list)


@pytest.mark.parametrize("budget", [2_000, 5_000, 20_000])
async def test_no_tool_answers_with_more_than_its_budget(memos: AsyncMemOS, budget: int) -> None:
    async with connected(memos, user="ada", budget=budget) as calls:
        for n in range(30):
            await calls("memos_add", content=f"{n} {LONG[: 500 * (n + 1)]}", info={"n": n, "note": "x" * 3_000})
        begun = await calls("memos_turn_start", text=f"go on with the kayak {LONG}")
        for n in range(30):
            await calls("memos_step", tool="read", input=LONG, output=LONG, error=LONG if n % 2 else None)
        id = (await calls("memos_list", oldest_first=True, limit=1))["items"][0]["id"]
        await calls("memos_forget", phrase="red kayak", dry_run=True)
        for tool, arguments in (
            ("memos_search", {"query": "red kayak", "maxResults": 50}),
            ("memos_list", {"limit": 200}),
            ("memos_get", {"id": id}),
            ("memos_timeline", {"episodeId": begun["episode"], "limit": 100}),
            ("memos_get", {"id": begun["episode"], "kind": "episode"}),
            ("memos_recall", {"query": "red kayak", "max_tokens": 20_000}),
            ("memos_turn_start", {"text": "the kayak again", "max_tokens": 20_000}),
            ("memos_forget", {"phrase": "red kayak", "dry_run": True}),
            ("memos_status", {}),
        ):
            result = await calls.any(tool, arguments)
            assert not result.is_error, (tool, result.content[0].text)
            assert len(result.content[0].text) <= budget, tool


async def test_the_pieces_of_a_long_memory_make_the_whole(memos: AsyncMemOS) -> None:
    text = "\n".join(f'line {n} with "quotes", 中文 and \u0001 control' for n in range(900))
    async with connected(memos, user="ada", budget=4_000) as calls:
        id = (await calls("memos_add", content="soon to be long"))["records"][0]["id"]
        assert len(str(await calls("memos_update", id=id, text=text))) <= 4_000
        whole, offset, rounds = "", 0, 0
        while True:
            got = await calls("memos_get", id=id, offset=offset)
            whole, rounds = whole + got["text"], rounds + 1
            if "next_offset" not in got:
                break
            assert got["next_offset"] > offset
            offset = got["next_offset"]
        stored = (await memos.get(id, user="ada")).text
        assert whole == stored and got["length"] == len(stored) and rounds > 5
        assert (await calls("memos_get", id=id, offset=10_000_000))["text"] == ""


def test_previews_get_shorter_before_items_are_left_out() -> None:
    some = Sample(items=[{"id": str(n), "text": "words " * 100} for n in range(10)])
    text, value = fitted(some, 3_000)
    assert len(text) <= 3_000 and len(value["items"]) == 10 and "left_out" not in value
    text, value = fitted(Sample(items=[{"id": str(n), "text": "words " * 100} for n in range(500)]), 3_000)
    assert len(text) <= 3_000 and len(value["items"]) + value["left_out"] == 500
    assert json.loads(text) == value


def test_a_text_on_top_is_cut_only_when_nothing_else_helps() -> None:
    text, value = fitted(Sample(context="c" * 1_500, items=[{"text": "t" * 900}] * 3), 3_000)
    assert len(text) <= 3_000 and value["context"] == "c" * 1_500
    text, value = fitted(Sample(context="c" * 9_000), 3_000)
    assert len(text) <= 3_000 and value["context"].endswith("…")


def test_a_piece_counts_what_json_makes_of_it() -> None:
    assert piece("x" * 100, 0, 50) == 48
    assert piece("\u0001" * 100, 0, 50) <= 8
    assert piece("x", 0, 1) == 1
    assert preview("abc", 3) == "abc" and preview("abcd", 3) == "ab…"
