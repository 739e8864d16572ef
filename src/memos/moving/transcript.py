"""Reads the transcripts that hosts write, one JSON object a line, into turns: what was said, what was called, what came of it.

No dataclasses here: a hook imports this, and they take longer to import than to read a turn.
"""

from __future__ import annotations

import json
import re  # which json loads anyway

TYPE_CHECKING = False  # as in typing, which takes longer to import than the rest of this
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TypeAlias

    Reader: TypeAlias = "_Claude | _Codex"

MOST_OUTPUT = 20_000  # characters of what a tool gave back; the rest of a file that was read says little
MOST_TEXT = 100_000  # characters of a message
_MOST_BODY = 8 << 20  # bytes of the steps of one report, half of what a server takes by default
_NAME, _OPENS, _TAGS = "memos-context>", "<memos-context>", re.compile("</?memos-context>")
_SHELLS = frozenset({"Bash", "exec_command", "shell", "shell_command", "local_shell"})
_ASIDE = frozenset({"description", "timeout", "run_in_background", "workdir", "yield_time_ms", "max_output_tokens"})
OWN_TOOLS = ("mcp__memos__", "memos__")  # what they give back comes from memory, and is not learned from again
SUBAGENTS = frozenset({"Agent", "Task"})


class Call:
    """A tool call. `done`: its result was read. `ok` None: nobody knows. `helper`: the id of the sub-agent that it ran."""

    __slots__ = ("done", "error", "helper", "id", "input", "ok", "output", "start", "tool")

    def __init__(self, id: str, tool: str, input: Any, start: int = 0) -> None:
        self.id, self.tool, self.input, self.start = id, tool, input, start
        self.output: Any = None
        self.error: str | None = None
        self.ok: bool | None = None
        self.done = False
        self.helper = ""

    def fields(self) -> dict[str, Any]:
        """As the verbs of agents take a step."""
        tool, given = plain_call(self.tool, self.input)
        out = {
            "tool": tool,
            "input": given,
            "output": self.output,
            "error": self.error,
            "ok": self.ok,
            "call_id": self.id,
        }
        return {name: value for name, value in out.items() if value is not None}


class Turn:
    """What happened from one message of the user to the next. `key`: the host's id of it. `text` None: the rest of a turn that
    began before what was read. `start` and `end`: where its lines begin, and end, in bytes. `said`: (id, text, start of the line)
    of each message of the assistant.
    """

    __slots__ = ("at", "calls", "end", "key", "said", "start", "text")

    def __init__(self, key: str, text: str | None, at: str | None, start: int) -> None:
        self.key, self.text, self.at, self.start, self.end = key, text, at, start, start
        self.said: list[tuple[str, str, int]] = []
        self.calls: list[Call] = []


def reader_of(host: str, offset: int = 0) -> Reader:
    """What reads the lines of a host's transcript: `read(record, start)` takes one, `turns` are those so far."""
    return _Codex(offset) if host == "codex" else _Claude(offset)


def turns(host: str, path: str, offset: int) -> tuple[list[Turn], int]:
    """The turns from `offset` (bytes) on, and where the last whole line ends. A file that became shorter is read anew."""
    reader = reader_of(host, offset)
    end = offset
    for start, end, record in _lines(path, offset):
        reader.read(record, start)
        reader.turns[-1].end = end
    found = [t for t in reader.turns if t.text is not None or t.said or t.calls]
    return found, end


def _lines(path: str, offset: int) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """(start, end, record) of each whole line; what is no object is an empty record."""
    with open(path, "rb") as file:
        if offset > file.seek(0, 2):
            offset = 0
        file.seek(offset)
        start = offset
        for line in file:
            if not line.endswith(b"\n"):
                return  # is being written
            end = start + len(line)
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                record = {}
            yield start, end, record if isinstance(record, dict) else {}
            start = end


class _Claude:
    """Claude Code: messages of the Anthropic protocol, with what the host adds to them. `side`: a sub-agent's own transcript."""

    def __init__(self, offset: int, *, side: bool = False) -> None:
        self.turns = [Turn("", None, None, offset)]
        self._open: dict[str, Call] = {}
        self._side = side

    def read(self, record: dict[str, Any], start: int) -> None:
        """Take one line."""
        if record.get("isSidechain") and not self._side:
            return
        kind, message = record.get("type"), record.get("message")
        if kind == "attachment":
            queued = record.get("attachment")
            if isinstance(queued, dict) and queued.get("type") == "queued_command":
                self._prompt(record, queued.get("prompt"), start)
        elif isinstance(message, dict) and kind == "assistant":
            self._assistant(record, message.get("content"), start)
        elif (
            isinstance(message, dict)
            and kind == "user"
            and not record.get("isMeta")
            and not record.get("isCompactSummary")
        ):
            self._user(record, message.get("content"), start)

    def _assistant(self, record: dict[str, Any], content: Any, start: int) -> None:
        turn = self.turns[-1]
        if record.get("isApiErrorMessage"):
            return
        texts = [content] if isinstance(content, str) else []
        for block in _blocks(content):
            if block.get("type") == "text" and isinstance(block.get("text"), str):
                texts.append(block["text"])
            elif block.get("type") == "tool_use" and isinstance(block.get("id"), str):
                call = Call(block["id"], str(block.get("name") or "tool"), block.get("input"), start)
                turn.calls.append(call)
                self._open[call.id] = call
        turn.said += [(str(record.get("uuid", start)), text, start) for text in texts if text.strip()]

    def _user(self, record: dict[str, Any], content: Any, start: int) -> None:
        results = [b for b in _blocks(content) if b.get("type") == "tool_result"]
        for block in results:
            call = self._open.pop(str(block.get("tool_use_id")), None)
            if call is not None:
                told = record.get("toolUseResult")
                call.done = True
                call.helper = str(told.get("agentId") or "") if isinstance(told, dict) else ""
                words = fit(text_of(block.get("content")), MOST_OUTPUT)
                if not block.get("is_error"):
                    call.output, call.ok = words, True
                elif not interrupted(words):
                    call.error, call.ok = words, False
        if not results:
            self._prompt(record, content, start)

    def _prompt(self, record: dict[str, Any], content: Any, start: int) -> None:
        text = prompt_text(text_of(content))
        if text:
            self.turns.append(Turn(str(record.get("promptId") or ""), text, record.get("timestamp"), start))


class _Codex:
    """Codex: the items of the Responses protocol, and the events that say how commands ended."""

    def __init__(self, offset: int) -> None:
        self.turns = [Turn("", None, None, offset)]
        self._open: dict[str, Call] = {}

    def read(self, record: dict[str, Any], start: int) -> None:
        """Take one line."""
        payload = record.get("payload")
        if not isinstance(payload, dict):
            return
        kind = payload.get("type")
        if record.get("type") == "event_msg":
            item = payload.get("item")
            if kind == "item_completed" and isinstance(item, dict):
                self._item(record, payload, item, start)
        elif record.get("type") == "response_item":
            self._response(kind, payload, start)

    def _item(self, record: dict[str, Any], payload: dict[str, Any], item: dict[str, Any], start: int) -> None:
        if item.get("type") == "UserMessage":
            text = text_of(item.get("content"))
            if text.strip():
                self.turns.append(Turn(str(payload.get("turn_id") or ""), text, record.get("timestamp"), start))
        elif item.get("type") == "CommandExecution":
            call = self._open.get(str(item.get("id")))
            if call is not None and isinstance(item.get("exit_code"), int):
                ended(call, item["exit_code"], str(item.get("aggregated_output") or ""))

    def _response(self, kind: Any, payload: dict[str, Any], start: int) -> None:
        turn = self.turns[-1]
        if kind == "message" and payload.get("role") == "assistant":
            text = text_of(payload.get("content"))
            if text.strip():
                turn.said.append((str(payload.get("id") or start), text, start))
        elif kind in ("function_call", "custom_tool_call", "local_shell_call") and payload.get("call_id"):
            given = payload.get("arguments", payload.get("input", payload.get("action")))
            space, name = str(payload.get("namespace") or ""), str(payload.get("name") or "shell")
            name = f"{space}__{name}" if space.startswith("mcp__") else name  # the tools of a server
            call = Call(str(payload["call_id"]), name, parsed(given), start)
            turn.calls.append(call)
            self._open[call.id] = call
        elif kind in ("function_call_output", "custom_tool_call_output"):
            call = self._open.pop(str(payload.get("call_id")), Call("", "", None))
            call.done = True
            if call.ok is None:
                _from_words(call, text_of(payload.get("output")))


def helper_turn(host: str, path: str) -> Turn | None:
    """What a sub-agent was asked and did, from the transcript of its own; None when there is none."""
    reader: _Codex | _Claude = _Codex(0) if host == "codex" else _Claude(0, side=True)
    try:
        for start, _, record in _lines(path, 0):
            reader.read(record, start)
    except OSError:
        return None
    first = next((t for t in reader.turns if t.text), None)
    if first is not None:
        for turn in reader.turns[reader.turns.index(first) + 1 :]:
            first.said += turn.said
            first.calls += turn.calls
    return first


def ended(call: Call, exit_code: int, output: str) -> None:
    """Say of a command how it ended."""
    call.ok = exit_code == 0
    words = fit(output, MOST_OUTPUT)
    if call.ok:
        call.output = words
    else:
        call.error = f"Exit code {exit_code}\n{words}" if words else f"Exit code {exit_code}"


def exit_of(path: str, call_id: str) -> int | None:
    """The exit code that the end of a Codex transcript tells of a command; None when it does not."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - (1 << 18)))
            tail = file.read().splitlines()
    except OSError:
        return None
    mark = call_id.encode()
    for line in reversed(tail):
        if mark in line and b'"exit_code"' in line:
            try:
                item = json.loads(line)["payload"]["item"]
                return int(item["exit_code"]) if item.get("id") == call_id else None
            except (ValueError, KeyError, TypeError):
                return None
    return None


def plain_call(tool: str, given: Any) -> tuple[str, Any]:
    """A call as policies can compare it: a shell's command as it was typed, under one name."""
    if tool in _SHELLS and isinstance(given, dict):
        command = given.get("command", given.get("cmd"))
        if isinstance(command, list):
            command = command[-1] if len(command) == 3 and command[1] in ("-lc", "-c") else " ".join(map(str, command))
        if isinstance(command, str) and not given.keys() - _ASIDE - {"command", "cmd"}:
            return "Bash", fit(command, MOST_TEXT)
    if isinstance(given, dict) and given.keys() == {"command"} and isinstance(given["command"], str):
        return tool, fit(given["command"], MOST_TEXT)  # apply_patch, as the hook is told of it
    return tool, fitted(given)


def plain_output(told: Any) -> str:
    """What a tool gave back, as text: the output of a shell as it was printed, anything else as JSON without pictures."""
    if isinstance(told, dict) and isinstance(told.get("stdout"), str):
        parts = (told["stdout"], told["stderr"] if isinstance(told.get("stderr"), str) else "")
        return fit("\n".join(p for p in parts if p), MOST_OUTPUT)
    return fit(told if isinstance(told, str) else json.dumps(fitted(told), ensure_ascii=False), MOST_OUTPUT)


def fitted(value: Any, depth: int = 0) -> Any:
    """A JSON value with its long texts cut and its pictures left out."""
    if isinstance(value, str):
        return fit(value, MOST_OUTPUT)
    if depth > 20:
        return "…"
    if isinstance(value, dict):
        if value.get("type") == "base64" and isinstance(value.get("data"), str):
            return {**value, "data": f"({len(value['data'])} characters of data)"}
        return {str(k): fitted(v, depth + 1) for k, v in value.items()}
    return [fitted(v, depth + 1) for v in value[:1_000]] if isinstance(value, list) else value


def portions(steps: Iterable[dict[str, Any]], most: int = 200) -> Iterator[list[dict[str, Any]]]:
    """Steps as reports take them: so many, and so many bytes, as one body may have for a server."""
    out: list[dict[str, Any]] = []
    size = 0
    for step in steps:
        weight = len(json.dumps(step))
        if out and (len(out) == most or size + weight > _MOST_BODY):
            yield out
            out, size = [], 0
        out.append(step)
        size += weight
    if out:
        yield out


def fit(text: str, most: int) -> str:
    """A text without what memory had put before a prompt, of at most `most` characters: its beginning and its end."""
    text = without_blocks(text)
    if len(text) <= most:
        return text
    half = most // 2 - 20
    return f"{text[:half]}\n… {len(text) - 2 * half} characters …\n{text[-half:]}"


def without_blocks(text: str) -> str:
    """A text without blocks of ours, also those within one another, and those whose beginning or end was cut off: then one tag is
    left, alone at the end of its line.
    """
    said: list[str] = []
    at = start = depth = end = 0  # `end`: behind the last tag that closed something in the block that is open
    for found in _TAGS.finditer(text) if _NAME in text else ():
        index, after = found.span()
        if found[0] == _OPENS:
            start, end = (index, 0) if depth == 0 else (start, end)
            depth += 1
        elif depth:
            depth, end = depth - 1, after
            if depth == 0:
                said.append(text[at:start].rstrip())
                at = end
        elif not said and not at and text[index - 1 : index] in ("", "\n") and text[after : after + 1] in ("", "\n"):
            at = after
    cut = depth and not end and text[start + len(_OPENS) :][:1] in ("", "\n")
    if depth and (end or cut):
        said.append(text[at:start].rstrip())
        at = end or len(text)
    return "".join((*said, text[at:]))


def text_of(content: Any) -> str:
    """The words of a message's content, whatever protocol it is of."""
    if isinstance(content, str):
        return content
    return "\n".join(b["text"] for b in _blocks(content) if isinstance(b.get("text"), str))


def prompt_text(text: str) -> str:
    """What the user typed; empty for what the host wrote in the user's name."""
    head = text.lstrip()
    if "<command-name>" in head[:2_000] and head.startswith("<command-"):
        name, given = _between(head, "command-name"), _between(head, "command-args")
        return f"{name} {given}" if name and given else ""
    if head.startswith(
        ("<local-command-", "<task-notification", "<bash-", "<system-reminder>", "[Request interrupted by")
    ):
        return ""
    return text.strip()


def interrupted(words: str) -> bool:
    """Whether a result only says that the user stopped or refused the call: that is no failure of the tool."""
    return words.startswith(("[Request interrupted", "The user doesn't want to", "Interrupted by user"))


def _from_words(call: Call, words: str) -> None:
    """Read from the words of a result how the call ended, as far as they tell."""
    head, mark, rest = words.partition("\nOutput:\n")
    told = head if mark else ""
    code = told.partition("Process exited with code ")[2].split("\n", 1)[0].strip()
    if code.lstrip("-").isdigit():
        ended(call, int(code), rest)
    else:
        call.output = fit(rest if mark else words, MOST_OUTPUT)


def _between(text: str, tag: str) -> str:
    return text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip()


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def parsed(given: Any) -> Any:
    """What JSON in a text says; anything else as it is."""
    if isinstance(given, str) and given[:1] in "{[":
        try:
            return json.loads(given)
        except (ValueError, RecursionError):
            return given
    return given
