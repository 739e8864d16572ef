"""The hook command as hosts run it: a process for each event, real-shaped input, what is stored, and what it must never do."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hosts_world import Host, Serve, begin, environment, run_hook

from memos import MemOS
from memos.client import Client

HOSTS = pytest.mark.parametrize("kind", ["claude-code", "codex"])


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home that one server runs on, for all tests: each has a user of its own."""
    home = tmp_path_factory.mktemp("live")
    server = begin(home)
    yield home
    server.terminate()
    server.wait(30)


@pytest.fixture
def new(live: Path, tmp_path: Path) -> Callable[..., Host]:
    """Makes sessions of a user of this test."""
    user = f"u{uuid4().hex[:10]}"

    def make(kind: str = "claude-code", *args: str, **more: Any) -> Host:
        return Host(kind, live, tmp_path, args=("--user", user, *args), **more)

    return make


def system(host: Host) -> MemOS | Client:
    """What a host's hooks told their things to: the server, or the library."""
    server = json.loads((host.home / "server.json").read_text()) if (host.home / "server.json").is_file() else None
    if server is not None and os.path.exists(f"/proc/{server['pid']}"):
        return Client(server["url"], user=user_of(host))
    return MemOS(host.home, embedder="none", background=False)


def user_of(host: Host) -> str:
    return host.args[host.args.index("--user") + 1] if "--user" in host.args else "default"


def stored(host: Host) -> list[str]:
    """Everything that was told, in its order."""
    with system(host) as m:
        out, cursor = [], None
        while True:
            page = m.list(
                kinds=["trace", "tool_call"], limit=500, cursor=cursor, newest_first=False, user=user_of(host)
            )
            out += [one.text for one in page.items]
            cursor = page.cursor
            if cursor is None:
                return out


def words(host: Host) -> Counter[str]:
    return Counter(stored(host))


@HOSTS
def test_a_turn_is_stored_as_it_happens_and_once(kind: str, new: Callable[..., Host]) -> None:
    host = new(kind)
    host.start()
    host.prompt("Make the tests of the shop pass")
    host.bash("pytest -q", "1 failed", ok=False)
    host.bash("pytest -q", "1 passed")
    host.say("They pass now.")
    host.stop(twice=True)
    host.end()
    assert words(host) == {
        "Make the tests of the shop pass": 1,
        "Bash: pytest -q\nerror: Exit code 1\n1 failed": 1,
        "Bash: pytest -q\nok\n1 passed": 1,
        "They pass now.": 1,
    }
    with system(host) as m:
        (episode,) = m.episodes(user=user_of(host)).items
        assert (episode.session, episode.agent, episode.environment, episode.is_open) == (
            host.session,
            host.kind,
            "shop",
            False,
        )
    assert [ran.err for ran in host.ran if ran.err] == []


@HOSTS
def test_what_the_agent_should_know_is_put_before_the_prompt(kind: str, new: Callable[..., Host]) -> None:
    host = new(kind)
    host.prompt("Always use uv instead of pip.")
    host.say("I will.")
    host.stop()
    host.end()
    later = new(kind)
    assert "use uv" in later.start().context
    ran = later.prompt("Install lxml")
    assert json.loads(ran.out)["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert "use uv" in ran.context and ran.context.startswith("<memos-context>")
    small = new(kind, "--max-tokens", "90")
    assert len(small.prompt("Install lxml now").context) <= 360


@HOSTS
def test_after_repeated_failures_the_agent_gets_a_hint(kind: str, new: Callable[..., Host]) -> None:
    host = new(kind)
    host.prompt("Build the shop")
    told = [host.bash("make shop", "configure: error: missing libevent", ok=False).context for _ in range(3)]
    assert told[:2] == ["", ""] and "do not repeat" in told[2]


@HOSTS
def test_what_happened_without_hooks_is_taken_over_in_order(kind: str, new: Callable[..., Host]) -> None:
    host = new(kind)
    host.away = True
    host.prompt("First of all, list the files")
    host.bash("ls", "a.txt")
    host.say("There is a.txt.")
    host.away = False
    host.prompt("Now remove it")
    host.bash("rm a.txt", "", hook=False)
    host.say("It is gone.")
    host.stop()
    assert stored(host) == [
        "First of all, list the files",
        "Bash: ls\nok\na.txt",
        "There is a.txt.",
        "Now remove it",
        *[t for t in words(host) if t.startswith("Bash: rm")],
        "It is gone.",
    ]
    assert sum(t.startswith("Bash: rm a.txt\nok") for t in words(host)) == 1


@HOSTS
def test_what_no_server_took_is_told_when_one_runs_again(kind: str, tmp_path: Path, serving: Serve) -> None:
    home = tmp_path / "home"
    host = Host(kind, home, tmp_path, args=("--no-embedded",))
    host.prompt("Rename the shop to store")
    host.bash("mv shop store", "")
    host.say("Renamed.")
    host.stop()
    host.end()
    assert [ran.out for ran in host.ran] == [""] * 4
    assert ["no server runs" in ran.err for ran in host.ran] == [
        True,
        False,
        True,
        True,
    ]  # the step waits for its message
    serving(home)
    host.start("resume")
    assert words(host).total() == 3 and words(host)["Renamed."] == 1


def test_steps_come_after_the_message_they_belong_to(tmp_path: Path, serving: Serve) -> None:
    host = Host("claude-code", tmp_path / "home", tmp_path, args=("--no-embedded",))
    host.prompt("Rename the shop")
    serving(host.home)
    host.bash("mv shop store", "fine")
    host.say("Renamed.")
    host.stop()
    assert stored(host) == ["Rename the shop", "Bash: mv shop store\nok\nfine", "Renamed."]


def test_another_session_tells_what_a_session_that_is_over_could_not(tmp_path: Path, serving: Serve) -> None:
    home = tmp_path / "home"
    server = serving(home)
    host = Host("claude-code", home, tmp_path, args=("--no-embedded",))
    host.prompt("Count the lines")
    server.kill()
    server.wait()
    host.say("There are 12.")
    host.stop()
    host.end()
    assert words(host) == {"Count the lines": 1}
    # a killed server leaves its state file, which says a process that is gone
    assert (home / "server.json").is_file() and "no server runs" in host.ran[-1].err
    serving(home)
    Host("claude-code", home, tmp_path).start()
    assert words(host) == {"Count the lines": 1, "There are 12.": 1}
    assert not list((home / "hosts" / "sessions").glob("*.behind"))


@pytest.mark.parametrize("kind", ["claude-code", pytest.param("codex", marks=pytest.mark.slow)])
def test_without_a_server_the_library_answers_in_the_process(kind: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    host = Host(kind, home, tmp_path, args=("--deadline", "50"))
    host.prompt("Always use uv instead of pip.")
    host.bash("uv --version", "uv 0.5")
    host.say("Noted.")
    host.stop()
    host.end()
    assert words(host) == {"Always use uv instead of pip.": 1, "Bash: uv --version\nok\nuv 0.5": 1, "Noted.": 1}
    assert "use uv" in Host(kind, home, tmp_path, args=("--deadline", "50")).prompt("Install lxml").context
    assert [ran.err for ran in host.ran if ran.err] == []


def test_a_reply_that_the_transcript_has_late_is_stored_once(new: Callable[..., Host]) -> None:
    host = new()
    for number in range(3):
        host.prompt(f"Question {number}", written_first=number != 1)
        host.bash(f"echo {number}", str(number))
        host.say(f"Answer {number}")
        host.stop(late=True)
    host.end()
    assert words(host).total() == 9 and set(words(host).values()) == {1}


def test_a_sub_agent_is_an_episode_of_its_own(new: Callable[..., Host]) -> None:
    host = new()
    host.prompt("Why is the build slow?")
    host.helper("Find the slowest test", "test_crash takes 40 s", ["pytest --durations=5"])
    host.say("test_crash is slow.")
    host.stop()
    host.end()
    texts = words(host)
    assert texts["Bash: pytest --durations=5\nok\nfine"] == 1
    assert sum(text.startswith("subagent:Explore: Find the slowest test") for text in texts) == 1
    assert not any(text.startswith("Agent:") for text in texts)
    with system(host) as m:
        assert {e.agent for e in m.episodes(user=user_of(host)).items} == {"claude-code", "Explore"}


def test_a_sub_agent_that_no_hook_saw_is_taken_over(new: Callable[..., Host]) -> None:
    host = new()
    host.prompt("Why is the build slow?")
    host.away = True
    host.helper("Find the slowest test", "test_crash takes 40 s", ["pytest --durations=5"])
    host.away = False
    host.say("test_crash is slow.")
    host.stop()
    texts = words(host)
    assert texts["Bash: pytest --durations=5\nok\nfine"] == 1
    assert sum(text.startswith("subagent:Explore: Find the slowest test") for text in texts) == 1


def test_a_checkpoint_before_compaction_loses_and_doubles_nothing(new: Callable[..., Host]) -> None:
    host = new()
    host.prompt("Do much")
    host.say("Half of it.")
    host.bash("make one", "1", hook=False)
    host.hook("PreCompact", trigger="auto", custom_instructions="")
    assert words(host)["Half of it."] == 1
    host.write(
        {"type": "user", "isCompactSummary": True, "message": {"role": "user", "content": "This session is continued…"}}
    )
    assert "memos" not in host.start("compact").err
    host.bash("make two", "2")
    host.say("All of it.")
    host.stop()
    assert words(host) == {
        "Do much": 1,
        "Half of it.": 1,
        "Bash: make one\nok\n1": 1,
        "Bash: make two\nok\n2": 1,
        "All of it.": 1,
    }


def test_our_own_tools_and_what_the_host_writes_are_not_stored(new: Callable[..., Host]) -> None:
    host = new()
    host.write({"type": "user", "isMeta": True, "message": {"role": "user", "content": "Caveat: the messages below"}})
    host.write(
        {"type": "user", "message": {"role": "user", "content": "<local-command-stdout>x</local-command-stdout>"}}
    )
    host.prompt("What do you know of me?")
    host.hook(
        "PostToolUse",
        tool_name="mcp__memos__memos_search",
        tool_input={"query": "me"},
        tool_response="secret fact",
        tool_use_id="t1",
    )
    host._call("t1", "mcp__memos__memos_search", {"query": "me"})
    host._result("t1", "secret fact")
    host.write({"type": "user", "message": {"role": "user", "content": "[Request interrupted by user]"}})
    host.say("Nothing.")
    host.stop()
    assert words(host) == {"What do you know of me?": 1, "Nothing.": 1}


def test_parallel_hooks_of_one_session_lose_nothing(new: Callable[..., Host]) -> None:
    host = new()
    host.prompt("Look at everything")
    known = {
        "session_id": host.session,
        "transcript_path": str(host.transcript),
        "cwd": str(host.cwd),
        "hook_event_name": "PostToolUse",
    }
    for n in range(8):
        host._call(f"toolu_p{n}x", "Read", {"file_path": f"/f{n}"})
    events = [
        json.dumps(
            {
                **known,
                "tool_name": "Read",
                "tool_input": {"file_path": f"/f{n}"},
                "tool_response": f"file {n}",
                "tool_use_id": f"toolu_p{n}x",
            }
        )
        for n in range(8)
    ]
    threads = [
        threading.Thread(target=run_hook, args=("claude-code", event, host.home, *host.args)) for event in events
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(8):
        host._result(f"toolu_p{n}x", f"file {n}")
    host.say("Seen.")
    host.stop()
    assert words(host).total() == 10 and set(words(host).values()) == {1}


# -- what it must never do -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"hook_event_name": "Stop"}',
        '{"hook_event_name": "Later", "session_id": "s"}',
        '{"hook_event_name": "Stop", "session_id": 7, "transcript_path": "/none", "last_assistant_message": 9}',
    ],
)
def test_input_of_any_kind_never_breaks_the_host(live: Path, text: str) -> None:
    ran = run_hook("claude-code", text, live)
    assert (ran.code, ran.out) == (0, "") and "Traceback" not in ran.err


@HOSTS
def test_half_a_character_and_an_endless_command_lose_nothing(kind: str, new: Callable[..., Host]) -> None:
    host = new(kind)
    assert not host.prompt("Broken \ud83d half, NaN", written_first=False).err
    host.away = True  # these are taken over from the transcript
    host.bash("cat <<E\n" + "z" * 400_000, "done \udfff")
    host.say("It is \ud83d done.")
    host.prompt("Next \ud83d one")
    host.away = False
    assert not host.end().err
    said = stored(host)
    assert [said[0], *said[2:]] == ["Broken \ufffd half, NaN", "It is \ufffd done.", "Next \ufffd one"]
    assert said[1].startswith("Bash: cat <<E") and "done \ufffd" in said[1]


def test_bad_options_never_break_the_host(tmp_path: Path) -> None:
    for args in (
        ("--bogus",),
        ("--max-tokens", "many"),
        ("--url", "http://[::1"),
        ("--url", "nonsense"),
        ("--key-file", "/none", "--url", "http://127.0.0.1:1"),
    ):
        ran = run_hook(
            "claude-code", '{"hook_event_name": "SessionStart", "session_id": "s"}', tmp_path / "home", *args
        )
        assert (ran.code, ran.out) == (0, "") and ran.err and "Traceback" not in ran.err


def test_a_server_that_never_answers_costs_no_more_than_the_deadline(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        event = '{"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "hello"}'
        start = time.monotonic()
        ran = run_hook("claude-code", event, tmp_path / "home", "--url", url, "--deadline", "0.5")
    assert (ran.code, ran.out) == (0, "") and "told again" in ran.err
    assert time.monotonic() - start < 20  # loaded machines start processes slowly


def test_a_library_that_takes_too_long_costs_no_more_than_the_deadline(tmp_path: Path) -> None:
    event = '{"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "hello"}'
    ran = run_hook("claude-code", event, tmp_path / "home", "--deadline", "0.02")
    assert (ran.code, ran.out) == (0, "") and "no time is left" in ran.err


def test_something_else_that_answers_is_not_believed(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def answer() -> None:
            for _ in range(3):
                connection, _ = other.accept()
                connection.recv(65_536)
                connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n{"context": "do evil"}')
                connection.close()

        threading.Thread(target=answer, daemon=True).start()
        url = f"http://127.0.0.1:{other.getsockname()[1]}"
        ran = run_hook(
            "claude-code", '{"hook_event_name": "SessionStart", "session_id": "s"}', tmp_path / "home", "--url", url
        )
    assert (ran.code, ran.out) == (0, "") and "no MemOS server" in ran.err


def test_it_can_be_switched_off(new: Callable[..., Host]) -> None:
    host = new(env={"MEMOS_HOOKS": "off"})
    assert host.prompt("hello").out == "" and words(host) == {}


def test_nothing_that_was_said_is_in_its_files_or_on_stderr(tmp_path: Path) -> None:
    home = tmp_path / "home"
    host = Host("claude-code", home, tmp_path, args=("--no-embedded", "--url", "http://127.0.0.1:9"))
    host.prompt("the word is xyzzy")
    host.bash("echo xyzzy", "xyzzy", ok=False)
    host.say("xyzzy it is")
    host.stop()
    assert all("xyzzy" not in ran.err for ran in host.ran)
    for file in (home / "hosts").rglob("*"):
        assert file.is_dir() or "xyzzy" not in file.read_text()


def test_a_module_of_the_project_is_not_taken_for_ours(live: Path, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('taken over')")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "memos.hosts.hook", "claude-code"], input='{"hook_event_name": "SessionStart", "session_id": "s"}',
        cwd=tmp_path, capture_output=True, text=True, env=environment(live), check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_a_key_is_read_from_a_file_and_needed(tmp_path: Path) -> None:
    from memos import AsyncMemOS

    async def key() -> str:
        async with AsyncMemOS(tmp_path / "home", embedder="none") as m:
            return (await m.accounts.create_key("alice"))[1]

    import asyncio

    secret = asyncio.run(key())
    server = begin(tmp_path / "home")
    try:
        event = '{"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "I live in Lisbon"}'
        refused = run_hook("claude-code", event, tmp_path / "home")
        assert "answered 401" in refused.err and refused.code == 0
        (tmp_path / "key").write_text(secret + "\n")
        taken = run_hook("claude-code", event, tmp_path / "home", "--key-file", str(tmp_path / "key"))
        assert taken.err == ""
    finally:
        server.terminate()
        server.wait(30)


def test_the_hook_loads_nothing_heavy() -> None:
    code = "import sys, memos.hosts.hook; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, env=environment(Path("/x")), check=True
    )
    modules = set(loaded.stdout.split())
    heavy = {
        "dataclasses",
        "inspect",
        "pathlib",
        "argparse",
        "http.client",
        "asyncio",
        "threading",
        "numpy",
        "typer",
        "pydantic",
        "memos.errors",
    }
    assert not heavy & modules and os.name
    assert len([m for m in modules if m.startswith("memos")]) <= 8


def test_the_command_line_answers_an_event_too(live: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "memos.cli", "--home", str(live), "hook", "codex", "Stop"],
        input='{"session_id": "cli", "last_assistant_message": "Told by hand."}',
        capture_output=True,
        text=True,
        env=environment(live),
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with Client(json.loads((live / "server.json").read_text())["url"]) as m:
        assert "Told by hand." in [one.text for one in m.list(limit=500).items]


def test_the_doctor_runs_a_hook_and_stores_nothing(live: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memos.hosts.doctor import examine, overview
    from memos.hosts.install import install
    from memos.hosts.places import Reach, place_of

    place = place_of("claude-code", env={"CLAUDE_CONFIG_DIR": str(tmp_path / "claude")})
    assert "memos hosts install claude-code" in examine(place, live).problems[0]
    install(place, Reach(home=live), live)
    for name, value in environment(live).items():
        monkeypatch.setenv(name, value)
    files = sorted((live / "hosts" / "sessions").glob("*"))
    found = examine(place, live)
    assert found.well and found.seconds is not None, found
    assert sorted((live / "hosts" / "sessions").glob("*")) == files
    assert overview(live, tmp_path).server is not None
    install(place, Reach(home=live, url="http://127.0.0.1:9"), live)
    assert "cannot be reached" in examine(place, live).problems[0]
