"""Whatever lies at a path, a reader gives items or raises InvalidInput; nothing else, and not for ever."""

from __future__ import annotations

import functools
import json
import math
import os
import random
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hermes_files import SCHEMA
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openclaw_files import DATABASE, Session, called
from plugin_files import BEGAN, FIRST, SECOND, Plugin, call, gcc_work

from memos.errors import InvalidInput
from memos.moving import hermes, local_plugin, memos_dump, openclaw, transcripts
from memos.moving.injected import said_only
from memos.moving.items import Bad, Left, Source
from memos.moving.sources import detect
from memos.moving.transcript import fit

SOURCES = (local_plugin.SOURCE, memos_dump.SOURCE, hermes.SOURCE, openclaw.SOURCE, transcripts.SOURCE)
FEW = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)

WORDS = (
    "",
    "user",
    "assistant",
    "toolResult",
    "session",
    "message",
    "<memories>",
    "§",
    "x",
    "名字",
    "\0",
    "\ud800",
    "a" * 300,
)


class Odd(random.Random):
    """Draws values that nobody expects; all of them come from one number, which Hypothesis gives."""

    def word(self) -> str:
        return self.choice(WORDS)

    def value(self, deep: int = 0) -> Any:
        """Anything that JSON can say."""
        kind = self.randrange(8 if deep < 3 else 6)
        if kind == 6:
            return [self.value(deep + 1) for _ in range(self.randrange(4))]
        if kind == 7:
            return {self.word(): self.value(deep + 1) for _ in range(self.randrange(4))}
        return (
            None,
            self.random() < 0.5,
            self.randint(-(2**70), 2**70),
            self.choice((0.5, 1e300, math.nan, -math.inf)),
            self.word(),
            1,
        )[kind]

    def cell(self) -> Any:
        """Anything that a column can hold."""
        return self.choice((
            None, self.randint(-(2**63), 2**63 - 1), self.random(), BEGAN, self.randbytes(6), self.word(), json.dumps(self.value()),
            json.dumps([self.value()]), json.dumps({self.word(): self.value()}),
        ))  # fmt: skip

    def mutated(self, value: Any) -> Any:
        """A JSON value of the right shape, of which some parts are something else."""
        if self.random() < 0.08:
            return self.value()
        if isinstance(value, dict):
            return {key: self.mutated(one) for key, one in value.items() if self.random() < 0.95}
        return [self.mutated(one) for one in value] if isinstance(value, list) else value


numbers = st.integers(0, 2**32).map(Odd)


def looked(source: Source, path: Path) -> None:
    """Read all of it, and look at each item."""
    source.fits(path)
    try:
        for item in source.read(path):
            if isinstance(item, Bad):
                assert item.where
                assert item.why
            elif isinstance(item, Left):
                assert item.count > 0
    except InvalidInput:
        pass


def claude_lines() -> list[Any]:
    use = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "x"}}
    base = {"uuid": "u", "sessionId": "S", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w"}
    return [
        {**base, "type": "user", "message": {"role": "user", "content": "do"}},
        {
            **base,
            "type": "assistant",
            "message": {"role": "assistant", "content": [{"type": "text", "text": "y"}, use]},
        },
        {**base, "type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "z"}]}},
        {**base, "type": "attachment", "attachment": {"type": "queued_command", "prompt": "more"}},
        {"type": "session_meta", "payload": {"id": "s", "cwd": "/w"}},
        {
            "type": "event_msg",
            "payload": {"type": "item_completed", "item": {"type": "UserMessage", "content": [{"text": "a"}]}},
        },
        {
            "type": "response_item",
            "payload": {"type": "function_call", "call_id": "c", "name": "shell", "arguments": "{}"},
        },
        {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c", "output": "x"}},
    ]


def openclaw_lines() -> list[Any]:
    session = Session("s")
    session.user("hi", provenance={"kind": "external_user"})
    session.assistant("yes", called("c", "exec", command="x"))
    session.result("c", "y")
    return session.entries


def dump() -> Any:
    source = {"role": "user", "content": "x", "chat_time": "2025-01-01", "message_id": "m"}
    about = {"sources": [source, json.dumps(source)], "status": "activated", "tags": ["a"], "memory_type": "UserMemory"}
    return {
        "nodes": [
            {"id": "1", "memory": "m", "metadata": about},
            {"id": "2", "payload": {"memory": "m", "metadata": about}},
        ]
    }


def bundle() -> Any:
    trace = {
        "id": "t",
        "episodeId": "e",
        "sessionId": "s",
        "ts": BEGAN,
        "turnId": BEGAN,
        "userText": "u",
        "agentText": "a",
    }
    return {
        "version": 1, "traces": [{**trace, "toolCalls": [call("x", {"a": 1})]}, trace], "policies": [{"id": "p", "title": "t"}],
        "worldModels": [{"id": "w", "title": "t", "structure": {"environment": [{"label": "a", "description": "b"}]}}],
        "skills": [{"id": "k", "name": "n", "invocationGuide": "# g"}],
    }  # fmt: skip


LINES = {
    "claude": claude_lines(),
    "openclaw": openclaw_lines(),
    "apoc": [{"type": "node", "properties": {"memory": "x"}}],
}
FILES = {
    "dump": dump(),
    "bundle": bundle(),
    "snapshot": {"session_id": "s", "messages": [{"role": "user", "content": "x"}]},
}


@pytest.mark.parametrize("kind", [*LINES, *FILES])
@FEW
@given(odd=numbers)
def test_files_of_nearly_the_right_shape(kind: str, odd: Odd) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / {"snapshot": "session_a.json", "dump": "textual_memory.json"}.get(kind, "a.jsonl")
        if kind in LINES:
            body = "\n".join(json.dumps(odd.mutated(line)) for line in LINES[kind] * 2)
        else:
            body = json.dumps(odd.mutated(FILES[kind]))
        raw = body.encode("utf-8", "surrogatepass")
        cut = odd.choice((odd.randint(0, len(raw)), len(raw)))
        path.write_bytes(raw[:cut] + odd.choice((b"", odd.randbytes(8))))
        for source in SOURCES:
            looked(source, path)
        looked(memos_dump.SOURCE, Path(folder))


def loosened(schema: str) -> str:
    """A schema without what keeps odd values out."""
    out = (
        schema.partition("CREATE VIRTUAL")[0]
        .replace(" STRICT", "")
        .replace(" NOT NULL", "")
        .replace(" INTEGER PRIMARY KEY", "")
    )
    while (start := out.find(" CHECK (")) >= 0:
        deep, at = 0, start + 7
        while True:
            deep += {"(": 1, ")": -1}.get(out[at], 0)
            at += 1
            if deep == 0:
                break
        out = out[:start] + out[at:]
    return out


TABLES = {
    "second": (
        SECOND,
        ("sessions", "episodes", "traces", "policies", "world_model", "skills", "feedback", "decision_repairs"),
    ),
    "first": (FIRST, ("chunks", "tasks", "skills", "skill_versions")),
    "hermes": (SCHEMA, ("sessions", "messages")),
    "openclaw": (DATABASE, ("transcript_events", "session_windows", "memory_index_chunks")),
}


@pytest.mark.parametrize("kind", TABLES)
@FEW
@given(odd=numbers)
def test_databases_with_any_value_in_any_column(kind: str, odd: Odd) -> None:
    schema, tables = TABLES[kind]
    with tempfile.TemporaryDirectory() as folder:
        made = Plugin(Path(folder) / "memos.db", schema=loosened(schema))
        made.db.execute("BEGIN")
        for table in tables:
            columns = [row[1] for row in made.db.execute(f"PRAGMA table_info({table})")]
            shared = odd.cell()
            for _ in range(odd.randrange(5)):
                row = {c: shared if c.endswith(("_id", "id")) and odd.random() < 0.5 else odd.cell() for c in columns}
                made.db.execute(
                    f"INSERT OR REPLACE INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                    [v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for v in row.values()],
                )
        made.db.execute("COMMIT")
        made.db.close()
        for source in SOURCES:
            looked(source, made.path)


@FEW
@given(odd=numbers)
def test_databases_with_any_bytes_changed(odd: Odd) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memos.db"
        raw = bytearray(_sound())
        for _ in range(odd.randint(1, 8)):
            at = odd.randrange(16, len(raw))
            piece = odd.randbytes(odd.randint(1, 16))
            raw[at : at + len(piece)] = piece
        path.write_bytes(raw[: odd.choice((len(raw), odd.randint(100, len(raw))))])
        looked(local_plugin.SOURCE, path)


@functools.cache
def _sound() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        made = Plugin(Path(folder) / "memos.db")
        for number in range(3):
            gcc_work(made, number, "numpy", BEGAN + number)
        made.db.close()
        return made.path.read_bytes()


@pytest.mark.parametrize("source", SOURCES, ids=lambda s: s.name)
def test_what_is_not_there_or_no_file_is_refused_or_empty(source: Source, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "deep.json").write_text('{"nodes": ' + "[" * 100_000)
    for name in ("missing", "pipe", "folder", "loop", "deep.json", "../../../dev/zero"):
        assert not source.fits(tmp_path / name)
        looked(source, tmp_path / name)


def test_calls_without_end_in_one_turn_are_cut_and_said(tmp_path: Path) -> None:
    session = Session("s")
    session.user("go")
    for number in range(2_100):
        session.assistant(called(str(number), "exec", command="x" * 50_000 if number < 3 else "x"))
    items = list(openclaw.SOURCE.read(session.write(tmp_path)))
    assert any(isinstance(i, Bad) and "100 calls more" in i.why for i in items)


@pytest.mark.parametrize(
    "text",
    [
        "<memories>",
        "<memos-context></memos-context>",
        "< ",
        "<memories x",
        "[Mon ",
        "\n```json\n",
        "<memories><memories></memories>",
    ],
)
def test_long_texts_of_marks_take_no_long_time(text: str) -> None:
    began = time.process_time()
    fit(said_only(text * 100_000), 1_000)
    fit(text * 100_000, 1_000)
    assert time.process_time() - began < 3


def test_blocks_are_taken_out_wherever_they_stand() -> None:
    assert said_only("a <Memories>x</memories>b<memories>c") == "a b<memories>c"
    assert said_only("a <memories>x <memories>y</memories> z</memories>b") == "a b"
    assert said_only("<memories>x <memories>y</memories>b") == "b"
    assert fit("a <memos-context>x</memos-context> <memos-context>y</memos-context>b", 100) == "ab"


def _plugin(folder: Path, count: int) -> Path:
    made = Plugin(folder / "memos.db")
    made.db.execute("BEGIN")
    for number in range(count):
        gcc_work(made, number, f"package{number}", BEGAN + number)
    made.db.execute("COMMIT")
    made.db.close()
    return made.path


def _transcript(folder: Path, count: int) -> Path:
    path = folder / "S.jsonl"
    line = {"sessionId": "S", "timestamp": "2026-01-01T00:00:00Z"}
    with path.open("w") as file:
        for number in range(count * 2):
            kind = "assistant" if number % 2 else "user"
            file.write(
                json.dumps({**line, "type": kind, "uuid": str(number), "message": {"content": f"words {number} " * 20}})
                + "\n"
            )
    return path


def _dump(folder: Path, count: int) -> Path:
    path = folder / "textual_memory.json"
    about = {"memory_type": "UserMemory", "sources": []}
    path.write_text(
        json.dumps({"nodes": [{"id": str(n), "memory": f"memory {n} " * 80, "metadata": about} for n in range(count)]})
    )
    return path


@pytest.mark.parametrize(("make", "count"), [(_plugin, 300), (_transcript, 3_000), (_dump, 4_000)])
def test_memory_does_not_grow_with_the_file(make: Callable[[Path, int], Path], count: int, tmp_path: Path) -> None:
    peaks = []
    for size in (2 * count, count):  # the large one first: what is made once is not counted for the small one
        (tmp_path / str(size)).mkdir()
        path = make(tmp_path / str(size), size)
        source = detect(path)
        tracemalloc.start()
        assert sum(1 for _ in source.read(path)) >= size
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] < 1.2 * peaks[1] + (1 << 18)
