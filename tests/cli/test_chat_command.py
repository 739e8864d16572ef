"""`memos chat`: one question, a pipe, and a conversation in a real terminal, with a model behind a real socket."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import Answer, Memos

from llm_server import Answer as Said
from llm_server import LlmServer, cut
from stubs import child_env

ENV = {"MEMOS_LLM": "openai-compatible:stub", "MEMOS_READING": "fast"}


@pytest.fixture
def llm(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    with LlmServer() as running:
        for name, value in {**ENV, "MEMOS_LLM_URL": running.url}.items():
            monkeypatch.setenv(name, value)
        yield running


def traces(answer: Answer) -> list[str]:
    return [memory["text"] for memory in answer("list", "--kind", "trace")["items"]][::-1]


def prompt(llm: LlmServer, number: int = -1) -> list[tuple[str, str]]:
    return [(m["role"], m["content"]) for m in llm.requests[number].body["messages"]]


def test_without_a_model_it_says_what_to_set(memos: Memos) -> None:
    for args, typed in ((("--once", "hi"), None), ((), "hi\n")):
        result = memos("chat", *args, code=1, input=typed)
        assert result.stderr.startswith("memos: no chat model is configured: set MEMOS_LLM") and result.stdout == ""


class TestOneQuestion:
    def test_is_answered_with_memories_and_kept(self, memos: Memos, answer: Answer, llm: LlmServer) -> None:
        memos("add", "I live in Bergen.")
        llm.say(Said("In Bergen.\n茶 🦀", write=1))
        assert memos("chat", "--once", "Where do I live?").stdout == "In Bergen.\n茶 🦀\n"
        assert "I live in Bergen." in prompt(llm)[0][1]
        assert traces(answer) == ["I live in Bergen.", "Where do I live?", "In Bergen.\n茶 🦀"]

    def test_needs_neither_an_option_nor_quotes(self, memos: Memos, answer: Answer, llm: LlmServer) -> None:
        assert memos("chat", "Where", "do", "I", "live?", "--no-keep").stdout == "Hello.\n"
        assert prompt(llm)[-1] == ("user", "Where do I live?")
        assert answer("chat", "hi", "--no-keep")["text"] == "Hello."
        assert memos("chat", "-", "--no-keep", input="hey\n").stdout == "Hello.\n" and prompt(llm)[-1][1] == "hey"

    @pytest.mark.parametrize("args", [("hi", "--once", "hi"), ("",), ("--once", " ")])
    def test_that_is_two_or_none_is_refused(self, memos: Memos, llm: LlmServer, args: tuple[str, ...]) -> None:
        assert "question" in memos("chat", *args, code=2).stderr and not llm.requests

    def test_can_come_from_standard_input(self, memos: Memos, llm: LlmServer) -> None:
        assert memos("chat", "--once", "-", input="Where\ndo I live?\n").stdout == "Hello.\n"
        assert prompt(llm)[-1] == ("user", "Where\ndo I live?")
        memos("chat", "--once", "-", input=" \n", code=2)

    def test_in_json_is_the_whole_answer(self, memos: Memos, answer: Answer, llm: LlmServer) -> None:
        memos("add", "I live in Bergen.")
        told = answer("chat", "--once", "Where do I live?", "--session", "s")
        (reference,) = told["references"]
        assert told["text"] == "Hello." and set(reference) == {"id", "text", "score", "when", "speaker"}
        assert (reference["text"], reference["speaker"]) == ("I live in Bergen.", "user") and reference["when"]
        full = answer("chat", "--once", "Where do I live?", "--full")["references"]
        assert full[0]["memory"]["text"] == "I live in Bergen." and full[0]["facts"]
        assert told["model"] == "openai-compatible:stub" and len(told["added"]) == 2

    def test_options_reach_the_model(self, memos: Memos, answer: Answer, llm: LlmServer) -> None:
        memos(
            "chat",
            "--once",
            "hi",
            "--temperature",
            "0.5",
            "--max-tokens",
            "9",
            "--system",
            "A pirate.",
            "--no-keep",
            "-n",
            "0",
        )
        body = llm.requests[0].body
        assert (body["temperature"], body["max_tokens"]) == (0.5, 9)
        assert prompt(llm)[0][1].startswith("A pirate.") and "memos-context" not in prompt(llm)[0][1]
        assert traces(answer) == []
        assert "there is openai-compatible:stub" in memos("chat", "--once", "hi", "--model", "gpt-9", code=2).stderr

    def test_that_fails_says_so_and_shows_what_there_is(self, memos: Memos, answer: Answer, llm: LlmServer) -> None:
        llm.say(cut(4, "an answer that is cut in the middle"))
        result = memos("chat", "--once", "Remember my boat is Wren", code=1)
        assert result.stdout.startswith("an a") and result.stderr.startswith("memos: ")
        assert traces(answer)[0] == "Remember my boat is Wren"

    def test_control_characters_of_a_model_do_not_reach_the_screen(self, memos: Memos, llm: LlmServer) -> None:
        llm.say("a\x1b[2Jb\x07")
        assert memos("chat", "--once", "hi").stdout == "a\ufffd[2Jb\ufffd\n"


class TestAPipe:
    def test_each_line_is_a_question_of_one_conversation(self, memos: Memos, llm: LlmServer) -> None:
        llm.say("One.", "Two.")
        assert memos("chat", input="first\n\nsecond\n").stdout == "One.\nTwo.\n"
        assert prompt(llm)[1:] == [("user", "first"), ("assistant", "One."), ("user", "second")]

    def test_in_json_each_answer_is_a_line(self, memos: Memos, llm: LlmServer) -> None:
        lines = memos("--json", "chat", input="first\nsecond\n").stdout.splitlines()
        assert [json.loads(line)["text"] for line in lines] == ["Hello.", "Hello."]

    def test_commands_work_too(self, memos: Memos, answer: Answer, llm: LlmServer) -> None:
        memos("add", "I live in Bergen.")
        typed = "/why\nWhere do I live?\n/why\n/remember My cat is Tom.\n/forget Bergen live\n/forget 1\n/new\nand now?\n/quit\nno\n"
        result = memos("chat", input=typed)
        assert (
            result.stdout.count("I live in Bergen.") >= 2
            and "memos undo" in result.stderr
            and "remembered as" in result.stderr
        )
        assert "nothing was asked yet" in result.stderr
        left = traces(answer)
        assert "My cat is Tom." in left and "and now?" in left and "no" not in left
        assert len(prompt(llm)) == 2  # after /new nothing of before goes along
        undone = re.search(r"memos undo (\w+)", result.stderr)
        assert undone is not None
        gone = answer("get", undone[1], code=0)
        assert gone["memory"]["status"] == "retracted" if "memory" in gone else gone["status"] == "retracted"

    def test_an_error_ends_it(self, memos: Memos, llm: LlmServer) -> None:
        assert "there is no /nonsense" in memos("chat", input="/nonsense\nhi\n", code=2).stderr
        assert "no number 3" in memos("chat", input="/forget 3\n", code=2).stderr
        assert not llm.requests

    def test_a_conversation_goes_on_by_its_name(self, memos: Memos, llm: LlmServer) -> None:
        memos("chat", "--session", "trip", input="My cat is Tom.\n")
        memos("chat", "--session", "trip", input="What is it called?\n")
        assert prompt(llm)[1:] == [("user", "My cat is Tom."), ("assistant", "Hello."), ("user", "What is it called?")]


class Terminal:
    """A `memos chat` in a pseudo-terminal."""

    def __init__(self, home: Path, url: str, *args: str) -> None:
        self.screen = ""
        self._main, child = pty.openpty()
        env = {**child_env(), **ENV, "MEMOS_LLM_URL": url, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
        command = [sys.executable, "-m", "memos.cli", "--home", str(home), "--embedder", "none", "chat", *args]
        self.process = subprocess.Popen(
            command, stdin=child, stdout=child, stderr=child, env=env, start_new_session=True, close_fds=True
        )
        os.close(child)

    def see(self, what: str, seconds: float = 30.0) -> str:
        """Wait until this is on the screen; returns what came up to it."""
        until = time.monotonic() + seconds
        while what not in self.screen:
            ready, _, _ = select.select([self._main], [], [], 0.1)
            if ready:
                try:
                    self.screen += os.read(self._main, 4096).decode("utf-8", "replace")
                except OSError:
                    break
            if time.monotonic() > until:
                self.process.kill()
                raise AssertionError(f"{what!r} never came: {self.screen[-500:]!r}")
        before, _, self.screen = self.screen.partition(what)
        return before + what

    def type(self, text: str) -> None:
        os.write(self._main, text.encode())

    def end(self) -> int:
        try:
            code = self.process.wait(20)
            while select.select([self._main], [], [], 0.1)[0]:
                try:
                    self.screen += os.read(self._main, 4096).decode("utf-8", "replace")
                except OSError:
                    break
            return code
        finally:
            if self.process.poll() is None:
                self.process.kill()
            os.close(self._main)


class TestATerminal:
    def test_a_conversation(self, home: Path, llm: LlmServer, answer: Answer) -> None:
        llm.say(Said("Noted, Ada.", pause=0.01), Said("Your boat is Wren.", reasoning="Hm."))
        terminal = Terminal(home, llm.url)
        greeting = terminal.see("you> ")
        assert "openai-compatible:stub" in greeting and "/help" in greeting
        terminal.type("My boat is Wren.\n")
        terminal.see("Noted, Ada.")
        terminal.see("you> ")
        terminal.type("What is my boat called?\n")
        terminal.see("Your boat is Wren.")
        terminal.see("/why shows them")
        terminal.see("you> ")
        terminal.type("/why\n")
        terminal.see("My boat is Wren.")
        terminal.see("you> ")
        terminal.type("/nonsense\n")
        terminal.see("there is no /nonsense")
        terminal.see("you> ")
        terminal.type("\x04")
        assert terminal.end() == 0
        assert traces(answer) == ["My boat is Wren.", "Noted, Ada.", "What is my boat called?", "Your boat is Wren."]

    def test_ctrl_c_stops_an_answer_and_keeps_it(self, home: Path, llm: LlmServer, answer: Answer) -> None:
        llm.say(Said("A very long story. " * 200, pause=0.05))
        terminal = Terminal(home, llm.url, "--session", "s")
        terminal.see("you> ")
        terminal.type("Remember my boat is Wren\n")
        terminal.see("A very")
        terminal.process.send_signal(2)
        terminal.see("stopped")
        terminal.see("you> ")
        terminal.type("/quit\n")
        assert terminal.end() == 0, terminal.screen
        kept: list[dict[str, Any]] = answer("list", "--kind", "trace")["items"][::-1]
        assert [m["text"][:6] for m in kept] == ["Rememb", "A very"] and kept[1]["info"]["incomplete"] == "left"
