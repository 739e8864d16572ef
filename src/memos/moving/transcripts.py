"""The transcripts of Claude Code (`~/.claude/projects`) and Codex (`~/.codex/sessions`): a folder of them, or one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from memos.errors import InvalidInput
from memos.moving import shape
from memos.moving.agent_turns import MOST_CALLS, ended, plain
from memos.moving.files import head, is_file, lines, opened, walked
from memos.moving.guard import guarded
from memos.moving.injected import said_only
from memos.moving.items import Bad, Call, Item, Left, Worked
from memos.moving.looks import first_lines
from memos.moving.transcript import MOST_TEXT, OWN_TOOLS, Turn, fit, reader_of

_TRANSCRIPT = re.compile(r"[^/]+(?:/[^/]+){0,6}\.jsonl")
_HELPER = re.compile(r"(?:.*/)?(?:subagents/.*|agent-[^/]*)\.jsonl")
_MOST_LOOKS = 300
_HELD = 2  # turns that results may still come for
_CLAUDE = frozenset({"user", "assistant", "system", "summary", "attachment", "file-history-snapshot"})


def _fits(path: Path) -> bool:
    if path.is_dir():
        looked = 0
        for name, found in walked(path):
            if name.endswith(".jsonl"):
                looked += 1
                if host_of(found):
                    return True
            if looked >= _MOST_LOOKS:
                break
        return False
    return is_file(path) and path.suffix == ".jsonl" and host_of(path) is not None


def _read(path: Path) -> Iterator[Item]:
    if not path.is_dir():
        yield from _session(path, path.name)
        return
    helpers = others = 0
    for name, found in walked(path):
        if not _TRANSCRIPT.fullmatch(name):
            continue
        if _HELPER.fullmatch(name):
            helpers += 1
        elif host_of(found) is None:
            others += 1
        else:
            try:
                yield from _session(found, name)
            except InvalidInput as e:
                yield Bad(name[:300], str(e))
    if helpers:
        yield Left("transcripts of sub-agents", helpers, "what came of them is a step of the session that asked")
    if others:
        yield Left("other files of lines", others, "they are no transcripts of Claude Code or Codex")


def host_of(path: Path) -> str | None:
    """Which host wrote a transcript; None where none of the two did."""
    for record in first_lines(path)[:30] or _cut_line(path):
        if not isinstance(record, dict):
            continue
        if record.get("type") in ("session_meta", "response_item", "event_msg") and isinstance(
            record.get("payload"), dict
        ):
            return "codex"
        if str(record.get("type")) in _CLAUDE and isinstance(record.get("sessionId"), str):
            return "claude-code"
    return None


def _cut_line(path: Path) -> list[Any]:
    """What the beginning of a first line that is very long says: Codex puts its instructions there."""
    start = head(path, 4_096)
    return [{"type": "session_meta", "payload": {}}] if b'"type":"session_meta"' in start.replace(b" ", b"") else []


def _session(path: Path, name: str) -> Iterator[Item]:
    host = host_of(path)
    if host is None:
        raise InvalidInput(f"{name[:300]} is no transcript of Claude Code or Codex")
    with opened(path) as file:
        yield from _Session(host, name, path.stem).items(file)


class _Session:
    """A session as it is read: the turns that are whole are given away, so that only a few are held."""

    def __init__(self, host: str, name: str, stem: str) -> None:
        self._host, self._name = host, name[:300]
        self._id = stem
        self._info: dict[str, Any] = {"source": host}
        self._reader = reader_of(host)
        self._ids: dict[int, str] = {}
        self._last: Worked | None = None

    def items(self, file: IO[bytes]) -> Iterator[Item]:
        """The turns of the session, and the lines that are none of a transcript."""
        turns = self._reader.turns
        for number, line in lines(file, self._name):
            try:
                record = json.loads(line) if line is not None else None
            except (ValueError, RecursionError):
                record = None
            if not isinstance(record, dict):
                yield Bad(f"{self._name}, line {number}", "it is no JSON object on one line")
                continue
            self._about(record)
            before = len(turns)
            self._reader.read(record, number)
            if len(turns) > before:
                self._ids[id(turns[-1])] = shape.name(record.get("uuid")) or ""
            while len(turns) > _HELD:
                yield from self._given(turns.pop(0))
        while turns:
            yield from self._given(turns.pop(0))
        if self._last is not None:
            yield Worked(
                *(
                    self._last.session,
                    self._last.id,
                    self._last.text,
                    self._last.reply,
                    self._last.calls,
                    self._last.at,
                ),
                over=True,
                info=self._last.info,
            )

    def _about(self, record: dict[str, Any]) -> None:
        """What a record says of the session itself."""
        told = record.get("payload") if record.get("type") == "session_meta" else record
        if not isinstance(told, dict):
            return
        session = shape.name(told.get("id") if told is not record else told.get("sessionId"))
        if session and not self._ids:
            self._id = session
        if isinstance(told.get("cwd"), str) and "folder" not in self._info:
            self._info["folder"] = told["cwd"][:500]

    def _given(self, turn: Turn) -> Iterator[Item]:
        """A turn, held back by one: the last of the session says that it is."""
        own = self._ids.pop(id(turn), "")
        text = said_only(turn.text or "")
        calls = tuple(_call(call) for call in turn.calls[:MOST_CALLS] if not call.tool.startswith(OWN_TOOLS))
        if len(turn.calls) > MOST_CALLS:
            yield Bad(
                f"{self._name}, line {turn.start}", f"{len(turn.calls) - MOST_CALLS} calls more than {MOST_CALLS:,}"
            )
        said = [words for _, words, _ in turn.said]
        reply = fit("\n\n".join(dict.fromkeys(said)), MOST_TEXT)
        if not text and not calls:
            return
        if self._last is not None:
            yield self._last
        key = own or (f"{turn.key}:{shape.mark(text)}" if turn.key else f"{self._id}:{turn.start}:{shape.mark(text)}")
        at = turn.at if isinstance(turn.at, str) else None
        self._last = Worked(self._id, key, fit(text, MOST_TEXT), reply, calls, at, info=dict(self._info))


def _call(call: Any) -> Call:
    """A call in our words."""
    fields = call.fields()
    made = Call(fields["tool"], fields.get("input"), id=call.id or None)
    words = call.error if call.ok is False else call.output
    return ended(made, plain(words), call.ok)


SOURCE = guarded("transcripts", "Transcripts of Claude Code or Codex: a folder of them, or one", _fits, _read)
