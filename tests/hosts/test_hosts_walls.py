"""What one user's session could not tell is never told as somebody else's: neither by another session, nor by another gateway."""

from __future__ import annotations

from pathlib import Path

import pytest
from hermes_world import Make, options, texts, turn
from hosts_world import Host, Serve

from memos.hosts.doctor import overview

SECRET = "My safe opens with 4417"


def test_hermes_what_a_speaker_of_a_gateway_left_behind_waits_for_that_speaker(make: Make, tmp_path: Path) -> None:
    options(tmp_path, url="http://127.0.0.1:9", prefetch_seconds=0.5)
    ada = make(platform="telegram", user_id="1")
    turn(ada, SECRET, "I see.")
    ada.shutdown()
    assert overview(tmp_path / "home", tmp_path).waiting >= 1
    options(tmp_path, url="", prefetch_seconds="")
    bob = make("s2", platform="telegram", user_id="2")
    turn(bob, "Good morning", "Hello.")
    bob.shutdown()
    assert texts(tmp_path / "home", user="telegram-2") == ["Good morning", "Hello."]
    make("s3", platform="telegram", user_id="1").shutdown()
    assert texts(tmp_path / "home", user="telegram-1") == [SECRET, "I see."]


def test_hermes_what_a_profile_left_behind_waits_for_that_profile(make: Make, tmp_path: Path) -> None:
    options(tmp_path, url="http://127.0.0.1:9", prefetch_seconds=0.5)
    work = make(agent_identity="work")
    turn(work, SECRET, "I see.")
    work.shutdown()
    options(tmp_path, url="", prefetch_seconds="")
    make("s2").shutdown()
    assert texts(tmp_path / "home") == []
    make("s3", agent_identity="work").shutdown()
    assert texts(tmp_path / "home", cube="default-hermes-work") == [SECRET, "I see."]


@pytest.mark.parametrize("kind", ["group", "channel", "thread"])
def test_hermes_what_somebody_said_in_private_is_not_recalled_in_a_group(kind: str, make: Make, tmp_path: Path) -> None:
    ada = {"platform": "telegram", "user_id": "1", "user_name": "Ada"}
    private = make("s1", **ada, chat_type="dm", chat_id="1")
    turn(private, SECRET, "I see.")
    private.on_session_end()
    private.shutdown()
    group = make("s2", **ada, chat_type=kind, chat_id="-7")
    assert "4417" not in turn(group, "What does my safe open with?", "I do not know.")
    assert "4417" not in group.handle_tool_call("memos_search", {"query": "safe"})
    group.shutdown()
    assert "4417" in turn(make("s3", **ada, chat_type="dm", chat_id="1"), "What does my safe open with?", "4417.")
    assert texts(tmp_path / "home", user=f"telegram-{kind}--7") == ["What does my safe open with?", "I do not know."]


@pytest.mark.parametrize("kind", ["claude-code", "codex", "dsh"])
def test_hooks_what_a_project_of_one_user_left_behind_waits_for_that_user(
    kind: str, tmp_path: Path, serving: Serve
) -> None:
    home = tmp_path / "home"
    ada = Host(kind, home, tmp_path / "ada", ("--user", "ada", "--no-embedded"))
    ada.prompt(SECRET)  # no server runs
    serving(home)
    bob = Host(kind, home, tmp_path / "bob", ("--user", "bob", "--no-embedded"))
    bob.start()
    bob.prompt("Good morning")
    assert texts(home, user="bob") == ["Good morning"]
    Host(kind, home, tmp_path / "ada2", ("--user", "ada", "--no-embedded")).start()
    assert texts(home, user="ada") == [SECRET]
