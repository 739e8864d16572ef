"""Reading over the wire without a question: pages, single memories, and graphs of cubes that are not small."""

from __future__ import annotations

from typing import Any

import httpx2
from test_wire_add import post

from memos import AsyncMemOS

Client = httpx2.AsyncClient


async def fill(memos: AsyncMemOS, cube: str, count: int, user: str = "u") -> list[str]:
    texts = [f"Note number {n} tells of island {n} and of nothing else." for n in range(count)]
    return list((await memos.add(texts, user=user, cube=cube, wait=True)).ids)


async def test_pages_hold_everything_once_newest_first(app_client: Client, memos: AsyncMemOS) -> None:
    ids = await fill(memos, "u", 25)

    async def page(number: int, size: int) -> list[str]:
        body = {
            "mem_cube_id": "u",
            "page": number,
            "page_size": size,
            "filter": {"memory_type": "LongTermMemory", "memory": {"like": "note number"}},
        }
        (bucket,) = (await post(app_client, "/get_memory", body))["data"]["text_mem"]
        assert bucket["total_nodes"] == 25
        return [m["id"] for m in bucket["memories"]]

    pages = [await page(number, 10) for number in (1, 2, 3, 4)]
    assert [len(p) for p in pages] == [10, 10, 5, 0]
    assert [id for p in pages for id in p] == ids[::-1]
    assert await page(2, 10) == pages[1]
    everything = await post(
        app_client, "/get_memory", {"mem_cube_id": "u", "filter": {"memory": {"like": "note number"}}}
    )
    assert len(everything["data"]["text_mem"][0]["memories"]) == 25


async def test_a_dashboard_without_a_cube_is_of_all_the_user_may_read(app_client: Client, memos: AsyncMemOS) -> None:
    for cube in ("b", "a"):
        await memos.create_cube(cube, user="u")
        await fill(memos, cube, 2)
    await memos.create_cube("theirs", user="v")
    await fill(memos, "theirs", 1, user="v")
    data = (await post(app_client, "/get_memory_dashboard", {"user_id": "u"}))["data"]
    assert [bucket["cube_id"] for bucket in data["text_mem"]] == ["a", "b"]
    assert data["statistics"]["total_text_nodes"] == sum(bucket["total_nodes"] for bucket in data["text_mem"]) >= 4
    await memos.share("theirs", "u", "read", user="v")
    data = (await post(app_client, "/get_memory_dashboard", {"user_id": "u"}))["data"]
    assert [bucket["cube_id"] for bucket in data["text_mem"]] == ["a", "b", "theirs"]


async def test_ids_are_found_in_whatever_cube_and_case(app_client: Client, memos: AsyncMemOS) -> None:
    for cube in ("a", "b"):
        await memos.create_cube(cube, user="u")
    (one,), (other,) = await fill(memos, "a", 1), await fill(memos, "b", 1)
    data = (await post(app_client, "/get_memory_by_ids", [other.upper(), "?", one, other]))["data"]
    assert [m["id"] for m in data["memories"]] == [other, one]
    assert [m["metadata"]["mem_cube_id"] for m in data["memories"]] == ["b", "a"]
    assert data["missing"] == ["?"]
    assert (await app_client.get(f"/product/get_memory/{one.upper()}")).json()["data"]["id"] == one
    assert (await post(app_client, "/get_memory_by_ids", []))["data"] == {"memories": [], "missing": []}


async def test_a_derived_memory_shows_what_it_was_read_from(app_client: Client) -> None:
    body: dict[str, Any] = {
        "user_id": "u",
        "async_mode": "sync",
        "messages": [{"role": "user", "content": "I live in Oslo.", "message_id": "m1"}],
    }
    rows = (await post(app_client, "/add", body))["data"]
    derived = next(row["memory_id"] for row in rows if row["memory_type"] == "UserMemory")
    (source,) = (await app_client.get(f"/product/get_memory/{derived}")).json()["data"]["metadata"]["sources"]
    assert (source["message_id"], source["content"], source["memory_id"]) == (
        "m1",
        "I live in Oslo.",
        rows[0]["memory_id"],
    )


async def test_the_graph_of_a_large_cube_is_a_sample_with_whole_edges(app_client: Client, memos: AsyncMemOS) -> None:
    await fill(memos, "u", 260)
    await memos.add("I live in Oslo.", user="u", cube="u", wait=True)
    (part,) = (await post(app_client, "/get_all", {"user_id": "u", "memory_type": "text_mem"}))["data"]
    (graph,) = part["memories"]
    nodes = {n["id"] for n in graph["nodes"]}
    assert len(nodes) == len(graph["nodes"]) == 200
    assert graph["edges"]
    assert all(e["source"] in nodes and e["target"] in nodes for e in graph["edges"])
    leaves = [leaf["id"] for branch in graph["tree_structure"]["children"] for leaf in branch["children"]]
    assert sorted(leaves) == sorted(nodes)
    assert part["memory_statistics"]["UserMemory"] >= 1
    assert part["memory_statistics"]["LongTermMemory"] > 260
    (sought,) = (
        await post(
            app_client, "/get_all", {"user_id": "u", "memory_type": "text_mem", "search_query": "Where do I live?"}
        )
    )["data"]
    told = {n["memory"] for n in sought["memories"][0]["nodes"]}
    assert {"I live in Oslo.", "The user lives in Oslo."} <= told
