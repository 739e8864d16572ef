"""The memory provider of Hermes without Hermes: what it keeps of turns, sessions, sub-agents and its own memory files, and whose that is."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from hermes_world import PLANTED, Make, call, options, result, stored, texts, turn

from memos import MemOS
from memos.errors import Unavailable
from memos.hosts.hermes import outbox

# -- turns ---------------------------------------------------------------------------------------------------------------


def test_a_turn_is_stored_with_its_calls_and_what_came_of_them(make: Make, tmp_path: Path) -> None:
    provider = make()
    between = (
        call("a", "terminal", command="make harbour"),
        result("a", output="no rule", exit_code=2, error=None),
        call("b", "read_file", path="Makefile"),
        result("b", content="all:\n", total_lines=1),
        call("c", "web_search", query="harbour"),
        result("c", error="no key is set"),
        call("d", "memos_search", query="harbour"),
        result("d", hits=[]),
    )
    turn(provider, "Build the harbour", "It has no rule.", *between)
    provider.shutdown()
    assert texts(tmp_path / "home") == [
        "Build the harbour",
        "Bash: make harbour\nerror: Exit code 2\nno rule",
        'read_file: {"path":"Makefile"}\nok\n{"content": "all:\\n", "total_lines": 1}',
        'web_search: {"query":"harbour"}\nerror: no key is set',
        "It has no rule.",
    ]


def test_what_the_agent_says_beside_its_calls_belongs_to_its_reply(make: Make, tmp_path: Path) -> None:
    provider = make()
    said = {**call("a", "terminal", command="make"), "content": "Let me build it first."}
    turn(provider, "Is it well?", "It is.", said, result("a", output="ok", exit_code=0))
    provider.shutdown()
    assert texts(tmp_path / "home") == ["Is it well?", "Bash: make\nok\nok", "Let me build it first.\n\nIt is."]


def test_what_earlier_sessions_taught_comes_before_the_prompt_and_is_not_learned_again(
    make: Make, tmp_path: Path
) -> None:
    first = make()
    turn(first, PLANTED, "I will.")
    first.on_session_end([])
    first.shutdown()
    second = make("s2")
    block = second.prefetch("Run the docker image of the shop")
    assert "podman" in block and len(block) <= 6_000
    status = second.recall_status()
    assert status.provider_label == "MemOS" and status.count >= 1
    fenced = f"<memory-context>\n[System note: The following is recalled memory context]\n\n{block}\n</memory-context>"
    turn(second, f"Run it\n{fenced}", f"Done, as memory says: {block}")
    second.shutdown()
    told = texts(tmp_path / "home")
    assert told[2:] == ["Run the docker image of the shop", "Run it", "Done, as memory says:"]
    with MemOS(tmp_path / "home", embedder="none", background=False) as m:
        assert sum("podman" in one.text for one in m.list(kinds=["policy"], limit=100).items) == 1


def test_a_fast_next_turn_loses_nothing_of_the_one_before(make: Make, tmp_path: Path) -> None:
    provider = make()
    messages: list[dict[str, Any]] = []
    for n in range(5):
        provider.on_turn_start(n + 1, "continue")
        provider.prefetch("continue")
        messages += [{"role": "user", "content": "continue"}, call("call_0", "terminal", command=f"step {n}")]
        messages += [result("call_0", output=f"out {n}", exit_code=0), {"role": "assistant", "content": f"did {n}"}]
        provider.sync_turn(
            "continue", f"did {n}", session_id="s1", messages=messages
        )  # the host's own list, which goes on
    provider.shutdown()
    expected = [line for n in range(5) for line in ("continue", f"Bash: step {n}\nok\nout {n}", f"did {n}")]
    assert texts(tmp_path / "home") == expected


def test_a_turn_that_was_interrupted_keeps_its_message(make: Make, tmp_path: Path) -> None:
    provider = make()
    provider.on_turn_start(1, "Build it")
    provider.prefetch("Build it")  # and the user stops the agent
    turn(provider, "Build it with debug symbols", "Done.")
    provider.shutdown()
    assert texts(tmp_path / "home") == ["Build it", "Build it with debug symbols", "Done."]


def test_a_turn_of_which_no_word_came_before_is_stored(make: Make, tmp_path: Path) -> None:
    provider = make()
    provider.sync_turn("看一下这张图片", "图上是港口。", session_id="s1")
    provider.sync_turn("", "", session_id="s1", messages=None)
    provider.shutdown()
    assert texts(tmp_path / "home") == ["看一下这张图片", "图上是港口。"]


@pytest.mark.parametrize("context", ["subagent", "cron", "flush"])
def test_what_is_no_session_of_a_user_may_look_things_up_and_writes_nothing(
    make: Make, tmp_path: Path, context: str
) -> None:
    make().shutdown()
    with MemOS(tmp_path / "home", embedder="none") as m:
        m.add(PLANTED, wait=True)
    provider = make("job", agent_context=context)
    assert "podman" in provider.prefetch("docker or podman?")
    turn(provider, "You are a scheduled job", "Done.")
    provider.on_memory_write("add", "memory", "a note of the job")
    provider.on_delegation("look", "looked")
    provider.on_session_end([])
    assert json.loads(provider.handle_tool_call("memos_search", {"query": "podman"}))["hits"]
    provider.shutdown()
    assert texts(tmp_path / "home") == [PLANTED]
    assert not list((tmp_path / "home" / "hosts").rglob("*.json"))


def test_a_host_that_asks_before_each_call_of_its_model_tells_a_message_once(make: Make, tmp_path: Path) -> None:
    provider = make()
    provider.on_turn_start(1, "Build it")
    for _ in range(3):
        provider.prefetch("Build it")
    provider.sync_turn("Build it", "Built.")
    turn(provider, "Build it", "Built again.")
    provider.shutdown()
    assert texts(tmp_path / "home") == ["Build it", "Built.", "Build it", "Built again."]


# -- sessions ------------------------------------------------------------------------------------------------------------


def test_new_branched_and_resumed_sessions_are_kept_apart_and_a_compressed_one_goes_on(
    make: Make, tmp_path: Path
) -> None:
    provider = make()
    turn(provider, "one", "1", session="s1")
    provider.on_session_switch("s1c", parent_session_id="s1", reset=False, reason="compression")
    turn(provider, "two", "2", session="s1c")
    provider.on_session_end([])
    provider.on_session_switch("s2", parent_session_id="s1c", reset=True, reason="new_session")
    turn(provider, "three", "3", session="s2")
    provider.on_session_switch("s3", parent_session_id="s2", reset=False, reason="branch")
    turn(provider, "four", "4", session="s3")
    provider.on_session_switch("s3", rewound=True)
    turn(provider, "five", "5", session="s3")
    provider.shutdown()
    assert [(text, session) for _, text, session in stored(tmp_path / "home") if not text.isdigit()] == [
        ("one", "s1"), ("two", "s1"), ("three", "s2"), ("four", "s3"), ("five", "s3"),
    ]  # fmt: skip


def test_the_first_message_of_a_session_waits_for_word_of_the_session(make: Make, tmp_path: Path) -> None:
    provider = make()
    turn(provider, "one", "1", session="s1")
    Timer(0.2, provider.on_session_switch, ("s2",), {"reset": True}).start()  # Hermes says it in another thread
    provider.on_turn_start(1, "two")
    provider.prefetch("two")
    provider.sync_turn("two", "2", session_id="s2")
    provider.shutdown()
    assert [(text, session) for _, text, session in stored(tmp_path / "home")] == [
        ("one", "s1"), ("1", "s1"), ("two", "s2"), ("2", "s2"),
    ]  # fmt: skip


def test_before_a_compression_the_steps_of_the_turn_are_kept(make: Make, tmp_path: Path) -> None:
    provider = make()
    provider.on_turn_start(1, "Build it")
    provider.prefetch("Build it")
    before = [
        {"role": "user", "content": "Build it"},
        call("a", "terminal", command="make"),
        result("a", output="ok", exit_code=0),
    ]
    provider.on_pre_compress(before)
    after = [{"role": "user", "content": "[summary]"}, call("b", "terminal", command="make install")]
    after += [result("b", output="done", exit_code=0), {"role": "assistant", "content": "Built."}]
    provider.sync_turn("Build it", "Built.", messages=after)
    provider.shutdown()
    assert texts(tmp_path / "home") == ["Build it", "Bash: make\nok\nok", "Bash: make install\nok\ndone", "Built."]


def test_a_required_checkpoint_fails_where_nothing_can_be_written(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = make()
    provider.prefetch("Build it")
    messages = [
        {"role": "user", "content": "Build it"},
        call("a", "terminal", command="make"),
        result("a", output="ok"),
    ]

    def full(self: outbox.Outbox, ops: list[Any]) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(outbox.Outbox, "put", full)
    assert isinstance(provider.on_pre_compress(messages), str)
    with pytest.raises(Unavailable):
        provider.on_pre_compress(messages, require_checkpoint=True)


def test_a_sub_agent_is_reported_once(make: Make, tmp_path: Path) -> None:
    provider = make()
    provider.prefetch("Look into it")
    provider.on_delegation("Find the leak", "It is in the pump.", child_session_id="c1")
    provider.on_delegation("Find the leak", "It is in the pump.", child_session_id="c1")
    messages = [{"role": "user", "content": "Look into it"}, call("a", "delegate_task", goal="Find the leak")]
    messages += [result("a", results=[]), {"role": "assistant", "content": "Found."}]
    provider.sync_turn("Look into it", "Found.", messages=messages)
    provider.shutdown()
    assert sum("Find the leak" in text for text in texts(tmp_path / "home")) == 1
    assert not any("delegate_task" in text for text in texts(tmp_path / "home"))


# -- its own memory files ------------------------------------------------------------------------------------------------


def test_what_hermes_writes_into_its_own_memory_is_added_replaced_and_removed(make: Make, tmp_path: Path) -> None:
    provider = make()
    provider.on_memory_write("add", "user", "Lives in Oslo", {"session_id": "s1"})
    provider.on_memory_write("add", "memory", "The build needs cmake 3.20")
    provider.on_memory_write("replace", "user", "Lives in Bergen", {"old_text": "Oslo"})
    provider.on_memory_write("add", "memory", "Port 8080 is taken")
    provider.on_memory_write("remove", "memory", "", {"old_text": "cmake"})
    provider.on_memory_write("remove", "memory", "", {"old_text": "not there"})
    provider.shutdown()
    assert sorted(texts(tmp_path / "home")) == ["Lives in Bergen", "Port 8080 is taken"]
    again = make("s2")
    again.on_memory_write("add", "memory", "The build needs cmake 3.20")  # what was removed may come again
    again.shutdown()
    assert "The build needs cmake 3.20" in texts(tmp_path / "home")


# -- whose ---------------------------------------------------------------------------------------------------------------


def test_users_of_a_gateway_and_profiles_have_memories_of_their_own(make: Make, tmp_path: Path) -> None:
    for about in ({"agent_identity": "coder"}, {"platform": "telegram", "user_id": "42"}, {}):
        provider = make("s", **about)
        turn(provider, f"I am {about}", "Hello.")
        provider.shutdown()
    home = tmp_path / "home"
    assert [t for t in texts(home) if "I am" in t] == ["I am {}"]
    assert "coder" in texts(home, cube="default-hermes-coder")[0]
    assert "telegram" in texts(home, user="telegram-42")[0]
    options(tmp_path, user="ada", cube="ada")
    provider = make("s", platform="telegram", user_id="42", agent_identity="coder")
    turn(provider, "I am Ada everywhere", "Hello.")
    provider.shutdown()
    assert texts(home, user="ada")[0] == "I am Ada everywhere"


def test_sessions_of_one_profile_that_begin_at_once_share_its_cube(make: Make, tmp_path: Path) -> None:
    both = [make(name, agent_identity="coder") for name in ("a", "b")]
    for provider in both:
        turn(provider, "The port is 8080", "Noted.")
    for provider in both:
        provider.shutdown()
    assert sorted(texts(tmp_path / "home", cube="default-hermes-coder")) == ["Noted."] * 2 + ["The port is 8080"] * 2


# -- tools ---------------------------------------------------------------------------------------------------------------


def test_the_six_tools_answer_in_json_within_their_budget(make: Make) -> None:
    provider = make()
    turn(provider, "The harbour is in Oslo. " + "x" * 30_000, "Noted.")
    schemas = provider.get_tool_schemas()
    assert [s["name"] for s in schemas] == sorted(
        ["memos_search", "memos_get", "memos_timeline", "memos_environment", "memos_skill_list", "memos_skill_get"],
        key=[s["name"] for s in schemas].index,
    )
    assert all(s["parameters"]["type"] == "object" and s["description"] for s in schemas)
    teller = provider._teller
    assert teller is not None and teller.drained(10)
    found = json.loads(provider.handle_tool_call("memos_search", {"query": "harbour in Oslo"}))
    id = found["hits"][0]["refId"]
    whole = provider.handle_tool_call("memos_get", {"id": id})
    assert "Oslo" in whole and len(whole) <= 12_000
    for name, given in (
        ("memos_search", {"query": 3}),
        ("memos_get", {"id": "x"}),
        ("memos_nothing", {}),
        ("memos_search", []),
    ):
        assert json.loads(provider.handle_tool_call(name, given))["error"]  # type: ignore[arg-type]
