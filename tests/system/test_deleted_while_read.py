"""What a model read with other messages keeps no word of one that is deleted or edited, before it is stored or after."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest

from llm_models import ScriptedModel
from memos import AsyncMemOS
from memos.memory.model import Layer
from memos.models.llm.port import ChatReply, ChatRequest, Piece

SAID = ["Every Monday I go to the hospital.", "The zyxomycosis is bad."]
FACT = {
    "kind": "fact",
    "who": "ann",
    "what": "hospital",
    "value": "hospital",
    "text": "Ann goes to the hospital because of zyxomycosis.",
    "by": [1],
}
Between = Callable[[AsyncMemOS, str], Awaitable[object]]


async def hard(memos: AsyncMemOS, id: str) -> None:
    await memos.delete(id, user="ann", hard=True)


async def soft(memos: AsyncMemOS, id: str) -> None:
    await memos.delete(id, user="ann", hard=False)


async def edit(memos: AsyncMemOS, id: str) -> None:
    await memos.update(id, text="The weather is bad.", user="ann")


class Waits:
    """A model whose first answer is held back until `go` is set; then it finds nothing."""

    model_id, holds_to_schema = "waits:1", True

    def __init__(self) -> None:
        self.asked, self.go, self.calls = asyncio.Event(), asyncio.Event(), 0

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.calls += 1
        self.asked.set()
        await self.go.wait()
        return ChatReply(json.dumps({"facts": [FACT] if self.calls == 1 else []}))

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        yield Piece(reply=await self.complete(request))


async def shown(memos: AsyncMemOS) -> str:
    page = await memos.list(user="ann", limit=500)
    profile = await memos.profile(user="ann")
    return " ".join([*(m.text for m in page.items if m.layer is not Layer.TRACE), profile.text])


def on_disk(home: Path, word: str) -> bool:
    return any(word.encode() in path.read_bytes() for path in home.rglob("*") if path.is_file())


@pytest.mark.parametrize("between", [hard, soft, edit])
async def test_a_message_gone_before_the_answer_came_is_in_no_fact_of_its_neighbours(
    tmp_path: Path, between: Between
) -> None:
    model = Waits()
    async with AsyncMemOS(tmp_path, embedder="none", llm=model, background=False) as memos:
        added = await memos.add(SAID, user="ann")
        reading = asyncio.create_task(memos.flush(user="ann"))
        await model.asked.wait()
        await between(memos, added.ids[1])
        model.go.set()
        await reading
        assert "zyxomycosis" not in await shown(memos)
        await memos.flush(user="ann")
        assert model.calls == 2 and not (await memos.stats(user="ann")).store.pending
    assert between is not hard or not on_disk(tmp_path, "zyxomycosis")


@pytest.mark.parametrize("between", [hard, soft, edit])
async def test_a_message_gone_later_takes_along_what_was_told_in_its_words(tmp_path: Path, between: Between) -> None:
    again = {**FACT, "text": "Ann goes to the hospital."}
    model = ScriptedModel({"facts": [FACT]}, {"facts": [again]})
    async with AsyncMemOS(tmp_path, embedder="none", llm=model, background=False) as memos:
        added = await memos.add(SAID, user="ann", wait=True)
        assert FACT["text"] in await shown(memos)
        await between(memos, added.ids[1])
        assert "zyxomycosis" not in await shown(memos)
        await memos.flush(user="ann")  # what is left of its evidence is read anew
        assert "Ann goes to the hospital." in await shown(memos)
        if between is soft:
            await memos.undo(added.ids[1], user="ann")
    assert between is not hard or not on_disk(tmp_path, "zyxomycosis")


async def test_the_first_of_two_messages_that_a_fact_has_words_of_takes_it_along(tmp_path: Path) -> None:
    async with AsyncMemOS(
        tmp_path, embedder="none", llm=ScriptedModel({"facts": [FACT]}, {"facts": []}), background=False
    ) as memos:
        added = await memos.add(SAID, user="ann", wait=True)
        await memos.delete(added.ids[0], user="ann", hard=True)
        assert FACT["text"] not in await shown(memos)
    assert not on_disk(tmp_path, "hospital")
