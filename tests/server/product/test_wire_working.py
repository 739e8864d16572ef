"""Working memory on the MemOS wire: the kept set of a session, in searches for its type and on the dashboard of a cube."""

from __future__ import annotations

import httpx2
from test_wire_add import post
from test_wire_search import add, ids, search

Client = httpx2.AsyncClient


async def fill(client: Client) -> None:
    await add(client, "u", "I live in Oslo and I love kayaking.", session_id="home")
    await add(client, "u", "The cellar holds nine crates of turnips.", session_id="other")
    await add(client, "u", "Where in Oslo is my kayak?", session_id="trip")


async def test_a_search_for_working_memory_finds_what_is_at_hand(app_client: Client) -> None:
    await fill(app_client)
    where = {"relativity": 0, "search_memory_type": "WorkingMemory", "session_id": "trip"}
    data = await search(app_client, "u", "kayak in Oslo, turnips in the cellar", **where)
    shown = [m for part in data["text_mem"] for m in part["memories"]]
    assert shown and not any("turnips" in m["memory"] for m in shown)
    assert {m["metadata"]["memory_type"] for m in shown} == {"WorkingMemory"}
    assert all(m["metadata"]["working_binding"] == m["id"] for m in shown)
    every = await search(app_client, "u", "kayak in Oslo, turnips in the cellar", relativity=0)
    assert any("turnips" in m["memory"] for part in every["text_mem"] for m in part["memories"])


async def test_a_session_that_nothing_is_relevant_to_has_none(app_client: Client) -> None:
    await fill(app_client)
    where = {"relativity": 0, "search_memory_type": "WorkingMemory", "session_id": "nothing"}
    assert ids(await search(app_client, "u", "kayak in Oslo", **where)) == []


async def test_the_dashboard_of_a_cube_has_it_as_a_bucket(app_client: Client) -> None:
    await fill(app_client)
    answer = await post(app_client, "/get_memory_dashboard", {"user_id": "u", "mem_cube_id": "u"})
    (bucket,) = answer["data"]["working_mem"]
    texts = [m["memory"] for m in bucket["memories"]]
    assert "The user lives in Oslo." in texts and not any("turnips" in text for text in texts)
    assert bucket["total_nodes"] == len(texts) == answer["data"]["statistics"]["total_working_nodes"]
    every = await post(app_client, "/get_memory_dashboard", {"user_id": "u"})
    assert every["data"]["working_mem"] == []
