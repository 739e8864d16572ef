"""The memory provider of Hermes without Hermes: what it does when something is wrong, with servers, and what it says of itself."""

from __future__ import annotations

import json
import logging
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from hermes_world import PLANTED, Make, call, options, texts, turn
from hosts_world import Serve

from memos.client import Client
from memos.errors import InvalidInput
from memos.hosts.hermes import outbox
from memos.hosts.hermes.provider import Provider
from memos.hosts.hermes.words import clean, lived

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
    assert outbox.waiting(tmp_path / "home") >= 1
    options(tmp_path, url="", prefetch_seconds="")
    make("s2").shutdown()
    assert texts(tmp_path / "home") == ["The secret word is harbour", "I see."]
    assert not list((tmp_path / "home" / "hosts" / "hermes").rglob("*.json"))


def test_a_slow_memory_is_not_waited_for_and_what_is_at_hand_is_served(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio
    import threading
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

    real, served = AsyncMemOS.start_turn, threading.Event()

    async def slow(self: AsyncMemOS, *args: Any, **given: Any) -> Any:
        await asyncio.to_thread(served.wait, 20)
        return await real(self, *args, **given)

    monkeypatch.setattr(AsyncMemOS, "start_turn", slow)
    began = time.perf_counter()
    block = provider.prefetch("Run the image")
    assert time.perf_counter() - began < 2.0  # less than without the option, and nothing beside what memory takes
    served.set()
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


def test_a_variable_switches_it_off(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Provider().is_available()
    monkeypatch.setenv("MEMOS_HOOKS", "off")
    assert not Provider().is_available() and "MEMOS_HOOKS" in Provider().unavailable_reason()


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


class _Server(BaseHTTPRequestHandler):
    """One that is not ours, or breaks: `answer` (status, body) to whatever holds `word`, else what the real one says."""

    answer: tuple[int, bytes] = (405, b"<html>no</html>")
    word, real = b"", ""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status, told = self.answer
        if self.word not in body:
            kept = {k: v for k, v in self.headers.items() if k.lower() in ("content-type", "idempotency-key")}
            with urlopen(Request(self.real + self.path, body, kept)) as response:
                status, told = 200, response.read()
        self.send_response(status)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def door() -> Iterator[tuple[str, type[_Server]]]:
    kind = type("Door", (_Server,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", kind
        server.shutdown()


@pytest.mark.parametrize("status", [302, 404, 405, 422])
def test_what_somebody_elses_server_refuses_is_not_let_go(
    make: Make, tmp_path: Path, door: tuple[str, type[_Server]], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memos.hosts.hermes.provider.DRAIN_SECONDS", 0.2)
    url, kind = door
    kind.answer = (status, b"<html>no</html>")
    options(tmp_path, url=url, prefetch_seconds=0.5)
    provider = make()
    turn(provider, "The secret word is harbour", "I see.")
    provider.shutdown()
    assert outbox.waiting(tmp_path / "home") >= 1
    monkeypatch.setattr("memos.hosts.hermes.provider.DRAIN_SECONDS", 5.0)
    options(tmp_path, url="", prefetch_seconds="")
    make("s2").shutdown()
    assert texts(tmp_path / "home") == ["The secret word is harbour", "I see."]


def test_a_report_over_which_the_server_breaks_does_not_jam_those_behind_it(
    make: Make, tmp_path: Path, door: tuple[str, type[_Server]], serving: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memos.hosts.hermes.teller._PAUSES", (0.05,))
    url, kind = door
    serving(tmp_path / "home")
    kind.real = json.loads((tmp_path / "home" / "server.json").read_text())["url"]
    kind.answer, kind.word = (500, b'{"error": {"code": "internal", "message": "it broke"}}'), b"poison"
    options(tmp_path, url=url, prefetch_seconds=1.0)
    provider = make()
    turn(provider, "poison", "I see.")
    turn(provider, "Good morning", "Hello.")
    assert provider._teller is not None and provider._teller.drained(20)
    provider.shutdown()
    with Client(kind.real) as memory:
        found = [one.text for one in memory.list(kinds=["trace"], newest_first=False).items]
    assert found == ["Good morning", "Hello."]
    (kept,) = (tmp_path / "home" / "hosts" / "hermes").rglob("*.kept")
    assert "poison" in kept.read_text()
