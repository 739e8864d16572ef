"""Anthropic's memory tool over a cube, by the real package: the SDK's own tool over a folder says what each answer has to be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anthropic.lib.tools", reason="needs memos[anthropic]: Anthropic's SDK is not installed")

from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_server import Answer, LlmServer
from memos import MemOS
from memos.compat.anthropic_memory import AsyncMemosMemoryTool, MemosMemoryTool
from memos.memory.model import Status


def said(tool: Any, **command: Any) -> str:
    """What a command answers, or the error it is told in."""
    try:
        return str(tool.call(command))
    except ToolError as e:
        return f"error: {e}"


async def heard(tool: Any, **command: Any) -> str:
    try:
        return str(await tool.call(command))
    except ToolError as e:
        return f"error: {e}"


def create(path: str, text: str = "x\n") -> dict[str, str]:
    return {"command": "create", "path": path, "file_text": text}


def test_it_is_the_tool_that_models_know(memos: MemOS) -> None:
    tool = MemosMemoryTool(memos, cache_control={"type": "ephemeral"})
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}


async def test_every_command_answers_in_the_words_of_the_contract(memory: Any, ada: str) -> None:
    tool = AsyncMemosMemoryTool(memory, user=ada)

    async def say(**command: Any) -> str:
        return await heard(tool, **command)

    empty = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n0B\t/memories"
    assert await say(command="view", path="/memories") == empty
    notes = "Alice likes tea.\nShe lives in Oslo.\n"
    assert await say(**create("/memories/notes.md", notes)) == "File created successfully at: /memories/notes.md"
    assert await say(**create("/memories/notes.md")) == "error: File /memories/notes.md already exists"
    assert await say(command="view", path="/memories/notes.md") == (
        "Here's the content of /memories/notes.md with line numbers:\n"
        "     1\tAlice likes tea.\n     2\tShe lives in Oslo.\n     3\t"
    )
    assert await say(command="view", path="/memories/notes.md", view_range=[2, -1]) == (
        "Here's the content of /memories/notes.md with line numbers:\n     2\tShe lives in Oslo.\n     3\t"
    )
    assert await say(command="str_replace", path="/memories/notes.md", old_str="tea", new_str="coffee") == (
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        "     1\tAlice likes coffee.\n     2\tShe lives in Oslo.\n     3\t"
    )
    assert await say(command="str_replace", path="/memories/notes.md", old_str="milk", new_str="") == (
        "error: No replacement was performed, old_str `milk` did not appear verbatim in /memories/notes.md."
    )
    assert await say(command="str_replace", path="/memories/notes.md", old_str="li", new_str="") == (
        "error: No replacement was performed. Multiple occurrences of old_str `li` in lines: 1, 1, 2. Please ensure it is unique"
    )
    assert await say(command="insert", path="/memories/notes.md", insert_line=1, insert_text="No sugar.\n") == (
        "The file /memories/notes.md has been edited."
    )
    assert await say(command="insert", path="/memories/notes.md", insert_line=9, insert_text="x") == (
        "error: Invalid `insert_line` parameter: 9. It should be within the range [0, 3]."
    )
    kept = await tool.memory("/memories/notes.md")
    assert kept is not None and kept.text == "Alice likes coffee.\nNo sugar.\nShe lives in Oslo.\n"
    moved = await say(command="rename", old_path="/memories/notes.md", new_path="/memories/people/alice.md")
    assert moved == "Successfully renamed /memories/notes.md to /memories/people/alice.md"
    listed = await say(command="view", path="/memories")
    assert listed.split("\n")[1:] == ["49B\t/memories", "49B\t/memories/people/", "49B\t/memories/people/alice.md"]
    assert await say(command="delete", path="/memories/people") == "Successfully deleted /memories/people"
    assert await say(command="delete", path="/memories/people") == "error: The path /memories/people does not exist"
    assert await say(command="delete", path="/memories") == "error: Cannot delete the /memories directory itself"
    assert await say(command="view", path="/memories") == empty
    await say(**create("/memories/a.md"))
    assert await tool.clear_all_memory() == "All memory cleared"
    assert await say(command="view", path="/memories") == empty


async def test_files_are_memories_with_a_history_and_found_by_what_they_say(memory: Any, ada: str) -> None:
    tool = AsyncMemosMemoryTool(memory, user=ada, search=True)
    await heard(tool, **create("/memories/home.md", "The keys hang behind the door.\n"))
    await heard(tool, **create("/memories/food.md", "Bread is baked on Saturdays.\n"))
    await heard(tool, command="str_replace", path="/memories/home.md", old_str="door", new_str="mirror")
    await heard(tool, command="rename", old_path="/memories/home.md", new_path="/memories/house.md")

    async def ask(verb: str, *args: Any, **options: Any) -> Any:
        answer = getattr(memory, verb)(*args, user=ada, **options)
        return await answer if hasattr(answer, "__await__") else answer

    assert (await ask("search", "where do the keys hang?")).hits[0].text == "The keys hang behind the mirror.\n"
    kept = await tool.memory("/memories/house.md")
    versions = await ask("history", kept.id)
    assert [v.memory.text.split()[-1] for v in versions] == ["door.", "mirror.", "mirror."]
    assert [v.cause for v in versions][1:] == ["memory tool str_replace", "memory tool rename"]
    await ask("flush")
    assert await ask("count") == 2  # nothing is read from files, unless that is asked for
    listed = await heard(tool, command="view", path="/memories")
    assert "/memories/_search/README.md" in listed
    assert "read-only" in await heard(tool, **create("/memories/_search/x"))
    found = await heard(tool, command="view", path="/memories/_search/where do the keys hang")
    assert found.index("house.md") < found.index("mirror") and "_search/<words>" in await heard(
        tool, command="view", path="/memories/_search"
    )
    other = AsyncMemosMemoryTool(memory, user=f"{ada}-other")
    assert "house" not in await heard(other, command="view", path="/memories")


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "memories/x",
        "",
        "/memoriesx",
        "/memories/../etc/passwd",
        "/memories/a/../../etc",
        "/memories/..",
        "/memories/..%2fetc",
        "/memories/%2e%2e/etc",
        "/memories/%252e%252e%252fetc",
        "/memories/..\\etc",
        "/memories/a\x00b",
        "/memories/a\nb",
    ],
)
def test_no_path_leads_out(memos: MemOS, path: str) -> None:
    tool = MemosMemoryTool(memos)
    commands: list[dict[str, Any]] = [
        {"command": "view", "path": path},
        create(path),
        {"command": "str_replace", "path": path, "old_str": "a", "new_str": "b"},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "a"},
        {"command": "delete", "path": path},
        {"command": "rename", "old_path": path, "new_path": "/memories/x"},
        {"command": "rename", "old_path": "/memories/x", "new_path": path},
    ]
    for command in commands:
        answer = said(tool, **command)
        assert answer.startswith(("error: Path must start with /memories", f"error: Path {path} would escape")), answer
    assert memos.count() == 0


def test_a_file_and_a_folder_are_not_taken_for_each_other(memos: MemOS) -> None:
    tool = MemosMemoryTool(memos)
    said(tool, **create("/memories/a/b.md"))
    assert said(tool, **create("/memories/a")) == "error: File /memories/a already exists"
    assert said(tool, **create("/memories/a/b.md/c")) == "error: The path /memories/a/b.md is not a directory."
    assert said(tool, command="insert", path="/memories/a", insert_line=0, insert_text="") == (
        "error: The path /memories/a is not a file."
    )
    into = said(tool, command="rename", old_path="/memories/a", new_path="/memories/a/c")
    assert into == "error: Cannot move /memories/a into itself"
    assert said(tool, command="rename", old_path="/memories/a", new_path="/memories/a/b.md").endswith("already exists")


def test_empty_and_long_files_come_back_to_the_letter(memos: MemOS) -> None:
    tool = MemosMemoryTool(memos)  # 1,600 characters and more would be a message in parts
    for path, text in (
        ("/memories/none", ""),
        ("/memories/blank", " \n\n"),
        ("/memories/long", "One line of many.\n" * 120),
    ):
        said(tool, **create(path, text))
        shown = said(tool, command="view", path=path).split("\n")[1:]
        assert "\n".join(line.split("\t", 1)[1] for line in shown) == text
    assert memos.count() == 3
    said(tool, command="insert", path="/memories/none", insert_line=0, insert_text="now it says something")
    assert tool.memory("/memories/none").text == "now it says something\n"
    said(tool, command="str_replace", path="/memories/none", old_str="now it says something", new_str="")
    assert said(tool, command="view", path="/memories/none").endswith(":\n     1\t\n     2\t")


def test_a_memory_edited_elsewhere_is_the_file(memos: MemOS) -> None:
    tool = MemosMemoryTool(memos, hard=False)
    said(tool, **create("/memories/a.md", "first"))
    memos.update(tool.memory("/memories/a.md").id, text="edited in the console")
    assert "edited in the console" in said(tool, command="view", path="/memories/a.md")
    id = tool.memory("/memories/a.md").id
    said(tool, command="delete", path="/memories/a.md")
    assert tool.memory("/memories/a.md") is None and memos.get(id).status is Status.RETRACTED
    said(tool, **create("/memories/a.md", "first"))
    assert "first" in said(tool, command="view", path="/memories/a.md")


PATHS = st.sampled_from(
    [
        "/memories",
        "/memories/a",
        "/memories/b.md",
        "/memories/a/c.md",
        "/memories/a/d/e.md",
        "/memories/.hidden",
        "/etc/x",
    ]
)
TEXTS = st.text(st.sampled_from("ab\n\r é"), max_size=8)
PARTS = st.text(st.sampled_from("ab\n"), min_size=1, max_size=2)
LINES = st.integers(-1, 4)
COMMANDS = st.one_of(
    st.fixed_dictionaries(
        {"command": st.just("view"), "path": PATHS}, optional={"view_range": st.lists(LINES, min_size=2, max_size=2)}
    ),
    st.fixed_dictionaries({"command": st.just("create"), "path": PATHS, "file_text": TEXTS}),
    st.fixed_dictionaries({"command": st.just("create"), "path": PATHS, "file_text": TEXTS}),
    st.fixed_dictionaries({"command": st.just("str_replace"), "path": PATHS, "old_str": PARTS, "new_str": TEXTS}),
    st.fixed_dictionaries({"command": st.just("insert"), "path": PATHS, "insert_line": LINES, "insert_text": TEXTS}),
    st.fixed_dictionaries({"command": st.just("delete"), "path": PATHS}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": PATHS, "new_path": PATHS}),
)


@given(commands=st.lists(COMMANDS, min_size=1, max_size=14))
@settings(max_examples=40)
def test_answers_are_those_of_the_sdks_own_tool(
    commands: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    theirs = BetaLocalFilesystemMemoryTool(str(tmp_path_factory.mktemp("folder")))
    with MemOS(tmp_path_factory.mktemp("cube"), embedder="none", durability="normal") as memos:
        ours = MemosMemoryTool(memos)
        for command in commands:
            try:
                a = said(theirs, **command)
            except OSError:  # theirs lets what the file system says through: a file in the way of a folder and the like
                assert said(ours, **command).startswith("error: ")
                _tidy(theirs.memory_root)
                continue
            assert _sizeless(a) == _sizeless(said(ours, **command)), command
            _tidy(theirs.memory_root)


def _sizeless(answer: str) -> str:
    """Without the sizes of folders, which are those of the file system in theirs."""
    if not answer.startswith("Here're the files"):
        return answer
    header, _, *lines = answer.split("\n")
    return "\n".join([header, *(line.split("\t")[1] if line.endswith("/") else line for line in lines)])


def _tidy(root: Path) -> None:
    """Empty folders, which a cube has none of, are taken away."""
    for folder in sorted((p for p in root.rglob("*") if p.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


def _uses(command: dict[str, Any]) -> Answer:
    block = {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": command}
    return Answer(raw=json.dumps(_message([block], "tool_use")).encode())


def _message(content: list[dict[str, Any]], stop: str) -> dict[str, Any]:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": content,
        "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


async def test_a_model_uses_it_through_the_tool_runner(memos: MemOS, llm_server: LlmServer) -> None:
    done = Answer(raw=json.dumps(_message([{"type": "text", "text": "Noted."}], "end_turn")).encode())
    llm_server.say(
        _uses(create("/memories/tea.md", "Alice likes tea.")), _uses(create("/memories/tea.md", "again")), done
    )
    url = llm_server.url.removesuffix("/v1")
    runner = Anthropic(api_key="x", base_url=url).beta.messages.tool_runner(
        model="claude",
        max_tokens=100,
        messages=[{"role": "user", "content": "I like tea."}],
        tools=[MemosMemoryTool(memos, user="alice")],
    )
    assert runner.until_done().content[0].text == "Noted."
    results = [r.body["messages"][-1]["content"][0] for r in llm_server.requests[1:]]
    assert "File created successfully at: /memories/tea.md" in str(results[0]["content"])
    assert results[1]["is_error"] and "already exists" in str(results[1]["content"])
    assert memos.search("what does Alice like?", user="alice").hits[0].text == "Alice likes tea."
    llm_server.say(_uses({"command": "view", "path": "/memories/tea.md"}), done)
    again = AsyncAnthropic(api_key="x", base_url=url).beta.messages.tool_runner(
        model="claude",
        max_tokens=100,
        messages=[{"role": "user", "content": "What do I like?"}],
        tools=[AsyncMemosMemoryTool(memos, user="alice")],
    )
    await again.until_done()
    (result,) = llm_server.requests[-1].body["messages"][-1]["content"]
    assert result["content"].endswith(":\n     1\tAlice likes tea.")
