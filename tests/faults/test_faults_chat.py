"""Faults of chats: readers who leave, bytes that come one by one, memories that breed, deleted ones that come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from llm_models import ScriptedModel
from llm_server import Answer, LlmServer, bytewise
from memos import MemOS

BYTES = '你好世界🦀 {"city":"杭州"}'
DERIVED = ["fact", "profile", "preference", "event", "commitment"]


@pytest.fixture
def llm() -> Iterator[LlmServer]:
    with LlmServer() as running:
        yield running


def chatting(home: Path, llm: LlmServer) -> MemOS:
    return MemOS(home, embedder="none", llm="openai-compatible:stub", llm_url=llm.url, reading="fast")


def test_r043_a_turn_whose_reader_left_is_kept(home: Path, llm: LlmServer, wait_for: Callable[..., None]) -> None:
    """The reader drops the stream early; the whole turn is absent from memory, and the server goes on for nobody."""
    llm.say(Answer("Your boat is called Wren. " * 100, pause=0.02))
    with chatting(home, llm) as memos:
        for event in memos.chat_stream("Remember my boat is Wren"):
            if event.type == "text":
                break
        assert "Wren" in memos.search("what is my boat called?").context
        assert [m.info.get("incomplete") for m in memos.list(kinds=["trace"], newest_first=False).items] == [
            None,
            "left",
        ]
        wait_for(lambda: llm.at_once == 0)
        errands = memos._system._started.errands
        assert errands._running == errands._expected == set()


def test_r081_characters_of_a_stream_are_never_cut(home: Path, llm: LlmServer) -> None:
    """Bytes of a model are decoded chunk by chunk; halves of characters become U+FFFD and are stored so for good."""
    with chatting(home, llm) as memos:
        for write in (1, 2, 3, 5, 7):
            llm.say(bytewise(BYTES, write, piece=1))
            text = "".join(e.text for e in memos.chat_stream(f"城市 {write}？") if e.type == "text")
            assert text == BYTES
        memos.flush()
        stored = [m.text for m in memos.list().items]
        assert BYTES in stored and not any("\ufffd" in one for one in stored)


@pytest.mark.parametrize("inject", ["{0}ok", "ok{0}", "ok {0} ok {0}", "{1}ok", "ok {0}{2}"])
def test_r103_memories_do_not_breed(home: Path, inject: str) -> None:
    """Recalled memories that stand in a prompt are captured again: a growth loop, also by tags that are cut or nested."""
    model = ScriptedModel(lambda request: "ok " + request.messages[0].content[-400:])  # repeats what it was shown
    with MemOS(home, embedder="none", llm=model, reading="fast") as memos:
        memos.add("I live in Bergen.", wait=True)
        facts = [m.text for m in memos.list(kinds=DERIVED).items]
        for _ in range(20):
            context = memos.search("where do I live?").context
            injected = inject.format(context, f"<memos-context>{context}", context[: len(context) // 2])
            memos.chat(injected, add_to=["default"])
        memos.flush()
        assert [m.text for m in memos.list(kinds=DERIVED).items] == facts
        longest = max(len(m.text) for m in memos.list(kinds=["trace"]).items)
        assert longest < 4_000


def test_r124_r130_a_chat_answers_from_nothing_that_was_deleted(home: Path) -> None:
    """After delete-all, chat still answers from it: a cache, a table of recent messages, a summary."""
    model = ScriptedModel("ok")
    with MemOS(home, embedder="none", llm=model, reading="fast") as memos:
        memos.chat("My code word is FENNEL-6 marmalade.", session="s")
        memos.delete(everything=True)
        memos.chat("What about marmalade? What is my code word?", session="s")
        assert "FENNEL" not in model.prompts[-1]
        assert not any("FENNEL" in str(m) for m in memos.list(include_inactive=True).items)
        assert "FENNEL" not in "".join(memos.suggest() + tuple(model.prompts[1:]))


def test_r151_there_is_chat_in_every_kind_of_cube(home: Path, tmp_path: Path) -> None:
    """Chat hands search a keyword that this kind of cube does not take."""
    model = ScriptedModel("ok")
    with MemOS(home, embedder="none", llm=model, reading="fast") as memos:
        memos.add("The lamp is green.", user="ada")
        memos.create_cube("team", user="ada", info={"kind": "knowledgebase"})
        memos.add("The lamp is green.", user="ada", cube="team")
        memos.share("team", "bob", "write", user="ada")
        memos.export_cube(tmp_path / "a.cube", user="ada")
        memos.import_cube(tmp_path / "a.cube", "copy", user="ada")
        places: list[dict[str, Any]] = [
            {"user": "ada"}, {"user": "ada", "cube": "team"}, {"user": "bob", "cube": "team"}, {"user": "ada", "cube": "copy"},
            {"user": "ada", "cubes": ["team", "copy"]},
        ]  # fmt: skip
        for place in places:
            assert memos.chat("Which colour is the lamp?", **place).references, place
            assert "The lamp is green." in model.prompts[-1]
        assert memos.chat("Which colour is the lamp?", user="nobody").references == ()
