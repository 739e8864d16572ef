"""Scripted episodes straight into a cube file, as an agent's reports would leave them: for tests of what is learned from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from memos.memory.episode import Signal, SignalSource, StepRole
from memos.memory.ids import new_id
from memos.memory.model import Kind, Memory, Origin
from memos.storage.sqlite import lived
from memos.storage.sqlite.tx import SqliteTx
from memos.text.document import term_row
from memos.text.signature import context_key, signature_key

T0 = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Did:
    """A call of the shell. `ok` None: nobody said."""

    input: str
    ok: bool | None = True
    said: str = ""
    tool: str = "shell"
    reflection: str | None = None


@dataclass(frozen=True)
class Script:
    """One episode: what was asked, what was done, what was replied, and what was said of it."""

    goal: str
    did: Sequence[Did] = ()
    reply: str | None = "Done."
    score: float | None = None
    source: SignalSource = SignalSource.USER
    environment: str = "web1"
    signals: Sequence[tuple[SignalSource, str, float]] = field(default_factory=tuple)


def moment(minutes: float) -> datetime:
    return T0 + timedelta(minutes=minutes)


def play(
    tx: SqliteTx,
    script: Script,
    n: int,
    *,
    feedback: bool = True,
    close: bool = True,
    session: str = "s",
    owner: str = "u",
) -> str:
    """Store an episode, the `n`th: an hour of its own. Returns its id."""
    id, minute = new_id(), n * 60.0
    lived.open_episode(
        *(tx, id), session=session, agent="a", owner=owner, environment=script.environment, at=moment(minute)
    )
    _step(tx, id, Memory(new_id(), Kind.TRACE, script.goal, role="user", owner=owner), StepRole.USER, moment(minute))
    for k, did in enumerate(script.did, 1):
        _call(tx, id, did, moment(minute + k), owner)
    if script.reply is not None:
        reply = Memory(new_id(), Kind.TRACE, script.reply, role="assistant", origin=Origin.ASSISTANT, owner=owner)
        _step(tx, id, reply, StepRole.ASSISTANT, moment(minute + len(script.did) + 1))
    if feedback:
        say(tx, id, script, n)
    if close:
        lived.close_episode(tx, id, "new_task", moment(minute + 50), moment(minute + 51))
    return id


def say(tx: SqliteTx, id: str, script: Script, n: int) -> None:
    """What is said of an episode."""
    if script.score is not None:
        signal = Signal(script.source, "score", script.score, moment(n * 60 + 40))
        lived.add_signal(tx, id, signal, "score")
    for k, (source, what, score) in enumerate(script.signals):
        lived.add_signal(tx, id, Signal(source, what, score, moment(n * 60 + 41 + k)), f"{what}{k}")


def _call(tx: SqliteTx, id: str, did: Did, at: datetime, owner: str) -> None:
    use: dict[str, Any] = {"tool": did.tool, "input": did.input, "ok": did.ok}
    use |= {"error": did.said} if did.ok is False else {"output": did.said}
    body: dict[str, Any] = {"use": use, **({"reflection": did.reflection} if did.reflection else {})}
    memory = Memory(
        new_id(), Kind.TOOL_CALL, f"{did.tool}: {did.input}\n{did.said}", origin=Origin.TOOL, owner=owner, body=body
    )
    _step(
        *(tx, id, memory, StepRole.TOOL, at),
        tool=did.tool,
        ok=did.ok,
        signature=signature_key(did.tool, did.said) if did.ok is False else None,
        context=context_key(did.tool, did.input),
    )


def _step(tx: SqliteTx, id: str, memory: Memory, role: StepRole, at: datetime, **more: Any) -> None:
    tx.put_new(memory, terms=term_row(memory))
    lived.add_step(tx, id, memory.id, role, 1, at, **more)
