"""A real server, driven as the clients of MemOS drive it: plain requests, by the messages they check."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest
from serving import Live

CLIENTS = ["httpx2", "requests"]


@pytest.fixture(params=CLIENTS)
def call(request: pytest.FixtureRequest, live: Live) -> Callable[..., dict[str, Any]]:
    try:
        library = importlib.import_module(request.param)
    except ImportError:
        pytest.skip(f"{request.param} is not installed")

    def send(path: str, body: Any) -> dict[str, Any]:
        answer = library.post(
            f"{live.url}/product{path}", json=body, headers={"Content-Type": "application/json"}, timeout=30
        )
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    return send


def test_add_then_search_as_in_the_readme(call: Callable[..., dict[str, Any]], request: pytest.FixtureRequest) -> None:
    user = f"readme-{request.node.callspec.params['call']}"
    added = call(
        "/add",
        {
            "user_id": user,
            "mem_cube_id": user,
            "messages": [{"role": "user", "content": "I like strawberry"}],
            "async_mode": "sync",
        },
    )
    assert added["message"] == "Memory added successfully"
    res = call("/search", {"query": "What do I like", "user_id": user, "mem_cube_id": user})
    assert res["code"] == 200
    assert any("strawberry" in m["memory"] for b in res["data"]["text_mem"] for m in b["memories"])


def test_the_sequence_of_the_evaluation(call: Callable[..., dict[str, Any]], request: pytest.FixtureRequest) -> None:
    """Ingest in batches, search with everything set, join the memories, delete the user."""
    user = f"eval-{request.node.callspec.params['call']}"
    assert (
        call("/delete_memory", {"user_id": user, "writable_cube_ids": [user]})["message"]
        == "Memories deleted successfully"
    )
    for n in range(2):
        messages = [
            {
                "role": "user",
                "content": f"I went paddling to island {10 * n + i}.",
                "chat_time": f"2025-0{n + 1}-{i + 1:02} 10:00",
            }
            for i in range(10)
        ] + [{"role": "assistant", "content": f"How was trip {n}?", "chat_time": f"2025-0{n + 1}-11 10:00"}]
        added = call(
            "/add",
            {
                "user_id": user, "mem_cube_id": user, "writable_cube_ids": [user], "session_id": "conv-1", "conversation_id": "conv-1",
                "messages": messages, "async_mode": "sync", "mode": "fast", "chat_history": [], "custom_tags": [], "info": {},
            },
        )  # fmt: skip
        assert added["message"] == "Memory added successfully"
        assert len(added["data"]) == 11
    answer = call(
        "/search",
        {
            "query": "Where did I go paddling on January 3?", "user_id": user, "mem_cube_id": user, "readable_cube_ids": [user],
            "session_id": "conv-1", "mode": "fast", "top_k": 20, "relativity": 0, "context_format": "mixed", "dedup": "no", "rerank": True,
            "include_preference": True, "pref_top_k": 9, "search_tool_memory": False, "include_skill_memory": False,
        },
    )  # fmt: skip
    assert answer["message"] == "Search completed successfully"
    memories = answer["data"]["text_mem"][0]["memories"]
    assert len(memories) == 20
    assert "2025-01-03 10:00 user: I went paddling to island 2." in "\n".join(m["memory"] for m in memories)
    assert memories[0]["memory"].startswith("2025-01-03")
    assert answer["data"]["pref_string"] == ""
    gone = call("/delete_memory", {"user_id": user, "writable_cube_ids": [user]})
    assert gone["message"] == "Memories deleted successfully"
    assert (
        call("/search", {"query": "paddling", "user_id": user, "relativity": 0})["data"]["text_mem"][0]["memories"]
        == []
    )
