"""The Pydantic AI toolset over a cube, by the real package with a scripted model."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="needs memos[pydantic-ai]: Pydantic AI is not installed")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memos import MemOS
from memos.client import Client
from memos.compat.pydantic_ai import MemosToolset
from memos.errors import Unavailable


async def test_an_agent_adds_finds_changes_and_deletes(memory: Any, ada: str) -> None:
    told: list[Any] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert [t.name for t in info.function_tools] == [
            "memory_search",
            "memory_add",
            "memory_update",
            "memory_delete",
        ]
        part = messages[-1].parts[-1]
        if isinstance(part, (ToolReturnPart, RetryPromptPart)):
            told.append(part.content)
        step = len(told)
        if step == 0:
            return ModelResponse(parts=[ToolCallPart("memory_add", {"text": "The keys hang behind the door."})])
        if step == 1:
            return ModelResponse(parts=[ToolCallPart("memory_search", {"query": "where are the keys?", "limit": 99})])
        id = told[0]["ids"][0]
        if step == 2:
            return ModelResponse(parts=[ToolCallPart("memory_update", {"id": id, "text": "The keys lie in the bowl."})])
        if step in (3, 4):
            return ModelResponse(parts=[ToolCallPart("memory_delete", {"id": id})])
        return ModelResponse(parts=[TextPart("done")])

    agent = Agent(
        FunctionModel(model), toolsets=[MemosToolset(memory, user=ada, session="chat", id="memory")], retries=2
    )
    assert (await agent.run("Look after my keys")).output == "done"
    added, found, changed, deleted, refused = told
    assert found["status"] == "found" and found["memories"][0]["text"] == "The keys hang behind the door."
    assert changed == {"id": added["ids"][0], "version": 2} and deleted["deleted"] >= 1
    assert "does not exist" in refused  # told to the model, which went on


async def test_read_only_is_only_searching(memos: MemOS) -> None:
    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[TextPart(",".join(t.name for t in info.function_tools))])

    agent = Agent(FunctionModel(model), toolsets=[MemosToolset(memos, read_only=True)])
    assert (await agent.run("hi")).output == "memory_search"


async def test_a_memory_that_is_away_is_no_empty_memory() -> None:
    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[ToolCallPart("memory_search", {"query": "where are the keys?"})])

    with Client("http://127.0.0.1:9", attempts=1, timeout=5) as away:
        agent = Agent(FunctionModel(model), toolsets=[MemosToolset(away)])
        with pytest.raises(Unavailable):
            await agent.run("hi")
