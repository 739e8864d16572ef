from __future__ import annotations

from pathlib import Path
from typing import Any

from exports import chatgpt_conversation, chats, said, written, zipped

from memos.moving.chatgpt import SOURCE
from memos.moving.items import Bad, Item, Left, Said, Told
from memos.moving.sources import detect


def read(path: Path) -> list[Item]:
    assert detect(path).name == "chatgpt"
    return list(SOURCE.read(path))


def of(tmp_path: Path, *conversations: dict[str, Any]) -> list[Item]:
    return read(written(tmp_path / "conversations.json", list(conversations)))


def test_the_branch_that_is_shown_is_taken_and_the_others_are_counted(tmp_path: Path) -> None:
    nodes = (
        said("a", "root", "user", "Where is Bergen?"),
        said("b1", "a", "assistant", "In Sweden."),
        said("b2", "a", "assistant", "In Norway."),
        said("c", "b2", "user", "Thank you"),
    )
    items = of(tmp_path, chatgpt_conversation("x", *nodes, current="c"))
    assert [item.text for item in items if isinstance(item, Said)] == ["Where is Bergen?", "In Norway.", "Thank you"]
    assert [(item.what, item.count) for item in items if isinstance(item, Left)] == [
        ("messages of branches that were edited away", 1)
    ]


def test_a_conversation_without_a_current_node_ends_at_its_last_message(tmp_path: Path) -> None:
    nodes = (said("a", "root", "user", "old", at=10.0), said("b", "root", "user", "newer", at=20.0))
    conversation = {**chatgpt_conversation("x", *nodes), "current_node": None}
    assert [item.text for item in of(tmp_path, conversation) if isinstance(item, Said)] == ["newer"]


def test_times_ids_titles_and_models_are_kept(tmp_path: Path) -> None:
    node = said("a", "root", "assistant", "Hello", at=1_750_950_000.5, metadata={"model_slug": "gpt-4o"})
    (item,) = of(tmp_path, chatgpt_conversation("x", node, title="Über Möbel"))
    assert item == Said(
        "x",
        "assistant",
        "Hello",
        "2025-06-26T15:00:00.500000+00:00",
        "a",
        info={"title": "Über Möbel", "model": "gpt-4o"},
    )


def test_spoken_words_are_taken_and_pictures_are_counted(tmp_path: Path) -> None:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}
    spoken = {"content_type": "audio_transcription", "text": "I said this aloud"}
    items = of(tmp_path, chatgpt_conversation("x", said("a", "root", "user", picture, "What is this?", spoken)))
    assert isinstance(items[0], Said)
    assert items[0].text == "What is this?\n\nI said this aloud"
    assert isinstance(items[1], Left)
    assert items[1].count == 1


def test_tools_thoughts_and_system_messages_are_left_out(tmp_path: Path) -> None:
    nodes = (
        said("s", "root", "system", "You are ChatGPT"),
        said("a", "s", "user", "Draw a plot"),
        said("b", "a", "assistant", "import this", recipient="python"),
        said("c", "b", "tool", "output"),
        said("d", "c", "assistant", "", content={"content_type": "thoughts", "thoughts": []}),
        said("e", "d", "assistant", "", content={"content_type": "code", "language": "python", "text": "print(1)"}),
    )
    items = of(tmp_path, chatgpt_conversation("x", *nodes))
    assert [item.text for item in items if isinstance(item, Said)] == ["Draw a plot", "```python\nprint(1)\n```"]
    assert sum(item.count for item in items if isinstance(item, Left)) == 4


def test_instructions_that_every_conversation_repeats_are_told_once(tmp_path: Path) -> None:
    about = {"content_type": "user_editable_context", "user_profile": "I am a nurse.", "user_instructions": "Be brief."}
    nodes = [said("p", "root", "user", content=about), said("a", "p", "user", "Hi there")]
    items = of(tmp_path, chatgpt_conversation("x", *nodes), chatgpt_conversation("y", *nodes))
    assert [item.text for item in items if isinstance(item, Told)] == ["I am a nurse.\n\nBe brief."]


def test_a_zip_with_several_numbered_files_is_read_whole(tmp_path: Path) -> None:
    files = {
        "chat.html": "<html>",
        "conversations-000.json": chats(2),
        "conversations-001.json": chats(2, first=2),
        "user.json": {"id": "u"},
    }
    items = read(zipped(tmp_path / "export.zip", files))
    assert len({item.session for item in items if isinstance(item, Said)}) == 4
    folder = tmp_path / "unpacked"
    for name, value in files.items():
        written(folder / name, value)
    assert read(folder) == items


def test_what_is_no_conversation_is_a_bad_row_with_its_place(tmp_path: Path) -> None:
    items = of(
        tmp_path, chats(1)[0], {"title": "no mapping"}, [1], chatgpt_conversation("y", said("a", "root", "nobody", "x"))
    )  # type: ignore[arg-type]
    assert [(item.where, item.why) for item in items if isinstance(item, Bad)] == [
        ("conversations.json[1]", "it is no conversation: it has no mapping of messages"),
        ("conversations.json[2]", "it is no conversation: it has no mapping of messages"),
        ("conversations.json[3].mapping.a", "its author has no role that is known"),
    ]


def test_a_tree_that_runs_in_a_circle_ends(tmp_path: Path) -> None:
    nodes = {"a": said("a", "b", "user", "one"), "b": said("b", "a", "user", "two")}
    conversation = {"id": "x", "mapping": nodes, "current_node": "a"}
    assert {item.text for item in of(tmp_path, conversation) if isinstance(item, Said)} == {"one", "two"}
