"""The memory provider of Hermes without Hermes: every hook, on the data folder and over a server, with what goes wrong."""

from __future__ import annotations

import json
import logging
import tomllib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hosts_world import Serve

from memos import MemOS
from memos.errors import InvalidInput, Unavailable
from memos.hosts.hermes import outbox
from memos.hosts.hermes.provider import Provider
from memos.hosts.hermes.words import clean, lived

Make = Callable[..., Provider]
PLANTED = "Always use podman instead of docker."


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes providers that have begun a session, and ends them with the test."""
    monkeypatch.setenv("MEMOS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMOS_EMBEDDER", "none")
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "hermes"))
    made: list[Provider] = []

    def start(session: str = "s1", **about: Any) -> Provider:
        made.append(Provider())
        given = {"platform": "cli", "agent_context": "primary", "agent_identity": "default", **about}
        made[-1].initialize(session, hermes_home=str(tmp_path / "hermes"), **given)
        return made[-1]

    yield start
    for provider in made:
        provider.shutdown()


def options(tmp_path: Path, **values: Any) -> None:
    Provider().save_config(values, str(tmp_path / "hermes"))


def stored(home: Path, **where: Any) -> list[tuple[str, str, str | None]]:
    """(kind, text, session) of what was said and done, oldest first."""
    with MemOS(home, embedder="none", background=False) as m:
        items = m.list(kinds=["trace", "tool_call"], limit=500, newest_first=False, **where).items
        return [(str(i.kind), i.text, i.session) for i in items]


def texts(home: Path, **where: Any) -> list[str]:
    return [text for _, text, _ in stored(home, **where)]


def call(id: str, tool: str, **given: Any) -> dict[str, Any]:
    function = {"name": tool, "arguments": json.dumps(given)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": function}]}


def result(id: str, **told: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": json.dumps(told)}


def turn(provider: Provider, said: str, reply: str, *between: dict[str, Any], session: str = "") -> str:
    provider.on_turn_start(2, said)
    block = provider.prefetch(said)
    messages = [{"role": "user", "content": said}, *between, {"role": "assistant", "content": reply}]
    provider.sync_turn(said, reply, session_id=session, messages=messages)
    return block


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
    from threading import Timer

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


# -- what goes wrong -----------------------------------------------------------------------------------------------------


def test_a_server_that_is_away_is_said_and_what_was_told_comes_with_the_next_start(
    make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options(tmp_path, url="http://127.0.0.1:9", prefetch_seconds=0.5)
    provider = make()
    with caplog.at_level(logging.WARNING, "memos"):
        assert turn(provider, "The secret word is harbour", "I see.") == ""
        assert "nothing recalled" in provider.recall_status().provider_label
        assert "error" in json.loads(provider.handle_tool_call("memos_search", {"query": "harbour"}))
        provider.shutdown()
    assert "unavailable" in provider.unavailable_reason() and not provider.is_available()
    assert "memory_away" in caplog.text and "harbour" not in caplog.text
    assert outbox.waiting(tmp_path / "home" / "hosts" / "hermes") >= 1
    options(tmp_path, url="", prefetch_seconds="")
    make("s2").shutdown()
    assert texts(tmp_path / "home") == ["The secret word is harbour", "I see."]
    assert not list((tmp_path / "home" / "hosts" / "hermes").rglob("*.json"))


def test_a_slow_memory_is_not_waited_for_and_what_is_at_hand_is_served(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio
    import time

    from memos.system import AsyncMemOS

    options(tmp_path, prefetch_seconds=0.4)
    provider = make()
    turn(provider, PLANTED, "I will.")
    assert provider._teller is not None and provider._teller.drained(10)
    provider.queue_prefetch("docker or podman?")
    for _ in range(100):
        if provider._recalls is not None and provider._recalls._ready:
            break
        time.sleep(0.05)

    real = AsyncMemOS.start_turn

    async def slow(self: AsyncMemOS, *args: Any, **given: Any) -> Any:
        await asyncio.sleep(1.0)
        return await real(self, *args, **given)

    monkeypatch.setattr(AsyncMemOS, "start_turn", slow)
    began = time.perf_counter()
    block = provider.prefetch("Run the image")
    assert time.perf_counter() - began < 0.9
    assert "podman" in block and "late" in provider.recall_status().provider_label
    provider.sync_turn("Run the image", "It runs.")
    provider.shutdown()
    assert texts(tmp_path / "home")[2:] == ["Run the image", "It runs."]


def test_options_that_cannot_be_used_are_named(make: Make, tmp_path: Path) -> None:
    options(tmp_path, max_tokens=900, mine="kept")
    file = tmp_path / "hermes" / "memos" / "config.json"
    options(tmp_path, user="ada", max_tokens="")
    assert json.loads(file.read_text()) == {"mine": "kept", "user": "ada"}
    with pytest.raises(InvalidInput, match="prefetch_seconds"):
        options(tmp_path, prefetch_seconds=20)
    file.write_text("{broken")
    provider = Provider()
    assert not provider.is_available() and str(file) in provider.unavailable_reason()
    with pytest.raises(InvalidInput):
        options(tmp_path, user="ada")
    assert file.read_text() == "{broken"
    with pytest.raises(InvalidInput):
        make()
    file.write_text('{"url": "http://127.0.0.1:1", "key_file": "/nowhere/key"}')
    assert "/nowhere/key" in Provider().unavailable_reason()


def test_packages_that_are_missing_are_named(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from memos.hosts.hermes import engine
    from memos.hosts.hermes import options as settings

    monkeypatch.setattr(settings, "missing", lambda: ["apsw"])
    monkeypatch.setattr(engine, "missing", lambda: ["apsw"])
    assert "apsw" in Provider().unavailable_reason()
    warned: list[str] = []
    provider = make(warning_callback=warned.append)
    assert provider.prefetch("hello there") == "" and "unavailable" in provider.recall_status().provider_label
    provider.shutdown()
    assert warned and "apsw" in warned[0]


def test_hooks_after_the_end_and_before_the_beginning_do_nothing(make: Make) -> None:
    provider = Provider()
    assert (
        provider.prefetch("hello") == "" and provider.system_prompt_block() == "" and provider.recall_status() is None
    )
    provider.sync_turn("a", "b")
    provider.on_session_end([])
    provider.shutdown()
    assert "error" in json.loads(provider.handle_tool_call("memos_search", {"query": "x"}))


# -- the rest ------------------------------------------------------------------------------------------------------------


def test_a_running_server_is_used_and_when_it_goes_the_folder_itself(
    make: Make, tmp_path: Path, serving: Serve
) -> None:
    process = serving(tmp_path / "home")
    provider = make()
    turn(provider, "one", "1")
    assert provider._teller is not None and provider._teller.drained(20)
    process.terminate()
    process.wait(30)
    turn(provider, "two", "2")
    provider.shutdown()
    assert texts(tmp_path / "home") == ["one", "1", "two", "2"]


def test_several_sessions_of_a_process_share_what_is_open(make: Make, tmp_path: Path) -> None:
    from memos.hosts.hermes import engine

    a, b = make("a"), make("b", platform="telegram", user_id="7")
    turn(a, "one", "1")
    turn(b, "two", "2")
    assert len(engine._engines) == 1
    a.shutdown()
    turn(b, "three", "3")
    b.shutdown()
    assert not engine._engines
    assert texts(tmp_path / "home") == ["one", "1"]
    assert texts(tmp_path / "home", user="telegram-7") == ["two", "2", "three", "3"]


def test_what_the_backup_of_hermes_is_to_take(make: Make, tmp_path: Path) -> None:
    assert Provider().backup_paths() == [str(tmp_path / "home")]
    options(tmp_path, home=str(tmp_path / "hermes" / "memory"))
    assert Provider().backup_paths() == []
    options(tmp_path, url="http://memory.example:8000")
    assert Provider().backup_paths() == []


def test_looking_into_it_leaves_nothing_behind(make: Make, tmp_path: Path) -> None:
    provider = Provider()
    provider.initialize_for_inspection("look", hermes_home=str(tmp_path / "hermes"))
    assert provider.system_prompt_block().startswith("# MemOS") and len(provider.system_prompt_block()) < 600
    assert "hits" in json.loads(provider.handle_tool_call("memos_search", {"query": "x"}))
    provider.shutdown()
    assert not (tmp_path / "home" / "hosts").exists()


def test_the_entry_point_gives_hermes_a_provider() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    module = import_module(project["project"]["entry-points"]["hermes_agent.memory_providers"]["memos"])

    class Context:
        given: Any = None

        def register_memory_provider(self, provider: Any) -> None:
            self.given = provider

    context = Context()
    module.register(context)
    assert context.given.name == "memos"


@pytest.mark.parametrize(
    "text", ["<memory-context>\nx\n</memory-context>", "<memory-context>\ncut off", "<memos-context>y</memos-context>"]
)
def test_what_memory_put_before_a_prompt_is_taken_out(text: str) -> None:
    assert clean(f"before {text}").strip() == "before"
    assert clean([{"type": "text", "text": f"请看 {text}"}, {"type": "image_url", "image_url": {}}]) == "请看"


def test_a_turn_is_found_in_a_list_that_went_on() -> None:
    messages = [
        {"role": "user", "content": "go"},
        call("x", "terminal", command="one"),
        {"role": "assistant", "content": "ok"},
    ]
    messages += [{"role": "user", "content": "go"}, call("x", "terminal", command="two")]
    assert [s["input"] for s in lived(messages, "go", "ok").steps] == ["one"]
    assert [s["input"] for s in lived(messages, "go", None).steps] == ["two"]
    assert lived("nonsense", "go", "ok").steps == () and lived([None, 3], "go", "ok").steps == ()
