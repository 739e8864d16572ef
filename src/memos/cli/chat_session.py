"""The conversation behind `memos chat`: answers streamed to the screen, what they rest on, and the commands that begin with /."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.text import Text

from memos.answers import ChatAnswer, ChatError
from memos.cli.chat_json import told
from memos.cli.jsonable import jsonable
from memos.cli.lookup import could_be_id, short_id, whole_id
from memos.cli.render import many, safe, table, when
from memos.cli.state import State, console
from memos.cli.wording import in_cli_words
from memos.errors import InvalidInput, MemosError
from memos.memory.ids import new_id
from memos.memory.model import Kind, Memory
from memos.memory.time import utcnow

if TYPE_CHECKING:
    from memos.sync import MemOS

_HISTORY = 20  # messages that go along
_CHOICES = 5  # memories that /forget offers
HELP = """/why            the memories that the last answer rests on
/remember TEXT  keep something
/forget N       forget number N of the list above (memos undo brings it back); /forget WORDS lists what could be meant
/new            a new conversation; what was said stays remembered
/help           this list
/quit           leave (so do Ctrl-D and Ctrl-C)"""


class Failed(MemosError):
    """An answer ended in an error, which was told by an event."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Conversation:
    """One conversation. `options` go to every question. `full`: JSON with all that is known of references."""

    def __init__(
        self, system: MemOS, state: State, session: str | None, options: dict[str, Any], *, full: bool = False
    ) -> None:
        self._system, self._state, self._options, self._full = system, state, options, full
        self._out, self._err = console(), console(error=True)
        self._session = session or _fresh()
        self._history = self._stored() if session is not None else []
        self._listed: list[Memory] = []  # what numbers mean
        self._failure: MemosError | None = None
        self._commands: dict[str, Callable[[str], None]] = {
            "why": lambda _: self._why(),
            "remember": self._remember,
            "forget": self._forget,
            "new": lambda _: self._new(),
            "help": lambda _: self._say(HELP),
        }

    def welcome(self, model: str) -> None:
        """Say who answers and what can be asked for."""
        before = f", going on after {many(len(self._history), 'message')}" if self._history else ""
        self._note(f"{model}, conversation {self._session}{before}. /help lists commands; Ctrl-D leaves.")

    def loop(self, read: Callable[[], str | None], *, strict: bool = False) -> None:
        """Read and answer until the end. `strict`: end with the first error."""
        if sys.stdin.isatty():
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401 - gives `input` a history and editing
        while True:
            try:
                line = read()
            except KeyboardInterrupt:
                print()
                return
            if line is None or line.strip() in ("/quit", "/exit"):
                return
            if not line.strip():
                continue
            try:
                self._answer(line.strip())
                if strict:
                    self.raise_failure()
            except MemosError as error:
                if strict:
                    raise
                self._err.print(f"memos: {safe(in_cli_words(str(error)))}")

    def ask(self, question: str) -> None:
        """Answer a question on the screen, as the answer is made."""
        self._failure = None
        said, thinking, error = "", False, None
        stream = self._system.chat_stream(question, session=self._session, history=self._history, **self._options)
        try:
            for event in stream:
                if event.type == "references":
                    self._listed = [hit.memory for hit in event.references]
                elif event.type == "reasoning" and self._out.is_terminal:
                    thinking = True
                    self._write(event.text, style="dim")
                elif event.type == "text":
                    if thinking:
                        self._write("\n")
                        thinking = False
                    said += event.text
                    self._write(event.text)
                elif event.type == "error":
                    error = event
                elif event.type == "added" and event.notices:
                    self._state.tell("; ".join(safe(notice) for notice in event.notices))
        except KeyboardInterrupt:
            self._write("\n")
            self._note("stopped; what was said so far is remembered" if self._options["add"] else "stopped")
        else:
            self._write("\n" if said or thinking else "")
            if error is None and self._listed:
                self._note(f"({many(len(self._listed), 'memory')}; /why shows them)")
        self._remember_turn(question, said)
        self._failure = Failed(error.code, error.message) if isinstance(error, ChatError) else None
        if self._failure is not None and sys.stdin.isatty():
            self._err.print(f"memos: {safe(in_cli_words(str(self._failure)))}")

    def whole(self, question: str) -> ChatAnswer:
        """The whole answer to a question."""
        answer = self._system.chat(question, session=self._session, history=self._history, **self._options)
        self._listed = [hit.memory for hit in answer.references]
        self._remember_turn(question, answer.text)
        return answer

    def raise_failure(self) -> None:
        """Raise what the last answer ended in, if it was an error."""
        if self._failure is not None:
            raise self._failure

    def _answer(self, line: str) -> None:
        if not line.startswith("/"):
            if self._state.json:
                answer = told(self.whole(line), full=self._full)
                print(json.dumps(answer, ensure_ascii=False, allow_nan=False), flush=True)
            else:
                self.ask(line)
            return
        name, _, rest = line[1:].partition(" ")
        command = self._commands.get(name.lower())
        if command is None:
            raise InvalidInput(f"there is no /{name}; /help lists what there is")
        command(rest.strip())

    # -- commands --------------------------------------------------------------------------------------------------

    def _why(self) -> None:
        if not self._listed:
            self._say("the last answer rests on no memory" if self._history else "nothing was asked yet")
        else:
            self._list()

    def _list(self) -> None:
        if self._state.json:
            print(json.dumps([jsonable(memory) for memory in self._listed], ensure_ascii=False), flush=True)
            return
        rows = [
            (n, short_id(m.id), when(m.happened_at), m.speaker or m.kind.value, safe(m.text, 200))
            for n, m in enumerate(self._listed, 1)
        ]
        self._out.print(table(("#", "id", "when", "who", "memory"), rows))

    def _remember(self, text: str) -> None:
        if not text:
            raise InvalidInput("say what to remember: /remember TEXT")
        added = self._system.add(text, session=self._session, **self._state.where)
        self._say(f"remembered as {', '.join(short_id(id) for id in added.ids)}")

    def _forget(self, what: str) -> None:
        if not what:
            raise InvalidInput("say what to forget: a number of the list above, an id, or words to find it by")
        if what.isdecimal() and len(what) < 4:
            if not 1 <= int(what) <= len(self._listed):
                raise InvalidInput(f"there is no number {what}; /why and /forget WORDS show numbers")
            self._forget_one(self._listed[int(what) - 1].id)
        elif could_be_id(what):
            self._forget_one(whole_id(self._system, self._state, what))
        else:
            found = self._system.search(what, limit=_CHOICES, **self._state.where)
            self._listed = [hit.memory for hit in found]
            if not self._listed:
                self._say("nothing like that is remembered")
                return
            self._list()
            self._note("/forget N forgets one of these")

    def _forget_one(self, id: str) -> None:
        self._system.delete(id, hard=False, **self._state.where)
        self._say(f"forgotten; memos undo {short_id(id)} brings it back")

    def _new(self) -> None:
        self._session, self._history, self._listed = _fresh(), [], []
        self._say(f"a new conversation, {self._session}")

    # -- what was said ---------------------------------------------------------------------------------------------

    def _remember_turn(self, question: str, answer: str) -> None:
        self._history.append({"role": "user", "content": question})
        if answer.strip():
            self._history.append({"role": "assistant", "content": answer})
        del self._history[:-_HISTORY]

    def _stored(self) -> list[dict[str, str]]:
        """The end of a conversation that was stored."""
        page = self._system.list(
            filter={"session": self._session}, kinds=[Kind.TRACE], limit=_HISTORY, **self._state.where
        )
        said = [m for m in reversed(page.items) if m.role in ("user", "assistant")]
        return [{"role": str(m.role), "content": m.text} for m in said]

    # -- the screen ------------------------------------------------------------------------------------------------

    def _write(self, text: str, style: str = "") -> None:
        if style and self._out.is_terminal:
            self._out.print(Text(safe(text), style=style), end="", soft_wrap=True)
        else:
            self._out.file.write(safe(text))  # as it is: nothing is wrapped or trimmed between two pieces
        self._out.file.flush()

    def _say(self, text: str) -> None:
        self._state.tell(text) if self._state.json or not self._out.is_terminal else self._out.print(Text(safe(text)))

    def _note(self, text: str) -> None:
        if self._out.is_terminal:
            self._out.print(Text(safe(text), style="dim"))


def _fresh() -> str:
    """The name of a new conversation."""
    now: datetime = utcnow()
    return f"chat-{now:%Y%m%d}-{new_id()[-6:]}"
