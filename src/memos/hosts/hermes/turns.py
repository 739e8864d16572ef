"""The turns of Hermes as they are reported: each message, step and reply once, under a key made when it is heard of."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from memos.hosts.hermes.outbox import Op
from memos.hosts.hermes.teller import Teller
from memos.hosts.hermes.words import Lived, clean, lived
from memos.hosts.session import digest
from memos.logs import get_logger

log = get_logger(__name__)
_ARRIVES = (
    0.3  # seconds that Hermes may take to hand over the turn before this one; one that was interrupted never comes
)
_STORED = 1.0  # seconds that it may take to be stored; beyond, this turn is told behind it
_MOST = 64  # turns of a session that may be open: of all but the last, Hermes was interrupted
_SESSIONS = 256  # that are remembered
_NAME = 128


@dataclass(slots=True)
class _Turn:
    """A turn that is not over. `stored`: its message is, or will be. `left`: Hermes seems to have been interrupted."""

    text: str
    key: str
    at: str
    stored: bool = False
    helpers: bool = False
    left: bool = False


@dataclass(slots=True)
class _Session:
    turns: list[_Turn] = field(default_factory=list)
    told: bool = False  # something was reported since it ended last
    ended: bool = False


class Turns:
    """What is told of turns. `environment`: where the agent works."""

    def __init__(self, teller: Teller, environment: str) -> None:
        self._teller, self._environment = teller, environment
        self._changed = threading.Condition()
        self._sessions: dict[str, _Session] = {}
        self._names: dict[str, str] = {}
        self._announced = True

    def session(self, id: str) -> str:
        """The session of memory that one of Hermes belongs to: after a compression, still the one before."""
        return self._names.get(id, id)[:_NAME]

    def announced(self) -> None:
        """Another turn begins; without this, the same message again is of the turn that goes on."""
        self._announced = True

    def begun(self, id: str, text: str, until: float) -> dict[str, Any] | None:
        """A message came in: what `start_turn` is to be told; None when it is told already, or
        behind what is not stored yet.
        """
        name = self.session(id)
        with self._changed:
            session = self._sessions.setdefault(name, _Session())
            known, self._announced = not self._announced and any(t.text == text for t in session.turns[-1:]), False
            if known:
                return None
            arrives = min(until, time.monotonic() + _ARRIVES)
            while session.turns and (left := arrives - time.monotonic()) > 0:
                self._changed.wait(left)
            for old in session.turns:
                old.left = True
            turn = _new(name, text)
            session.turns = [*session.turns[1 - _MOST :], turn]
            session.told = True
        if self._teller.drained(min(_STORED, max(0.0, until - time.monotonic()))):
            return self._said(name, turn)
        turn.stored = True
        self._teller.tell(("start_turn", {**self._said(name, turn), "recall": False}))
        return None

    def confirm(self, id: str, key: str) -> None:
        """The message of a turn is stored."""
        for turn in self._sessions.get(self.session(id), _Session()).turns:
            if turn.key == key:
                turn.stored = True

    def over(self, id: str, user: Any, reply: Any, messages: Any) -> None:
        """A turn is over: its message, unless it is stored, its steps and its reply."""
        text, answer, name = clean(user), clean(reply), self.session(id)
        with self._changed:
            name = self._where(name, text)
            session = self._sessions.setdefault(name, _Session())
            same = [n for n, t in enumerate(session.turns) if t.text == text]
            at = next((n for n in same if not session.turns[n].left), same[-1] if same else -1)
            turn = session.turns[at] if same else _new(name, text)
            ops = [
                op for one in session.turns[:at] if same for op in self._began(name, one)
            ]  # interrupted, never handed over
            del session.turns[: at + 1]
            done = lived(messages, turn.text, answer, delegated=turn.helpers)
            ops += self._began(name, turn) + self._steps(name, turn, done)
            whole = clean("\n\n".join(dict.fromkeys((*done.said, answer))))
            if whole:
                ops.append(("end_turn", {"text": whole, "key": f"{turn.key}:end", "session": name, "at": _now()}))
            self._teller.tell(*ops)
            session.told = True
            self._changed.notify_all()

    def checkpoint(self, id: str, messages: Any) -> bool:
        """Keep the steps of the turn that goes on; whether they are on disk."""
        name = self.session(id)
        with self._changed:
            turns = self._sessions.get(name, _Session()).turns
            if not turns:
                return True
            done = lived(messages, turns[-1].text, None, delegated=turns[-1].helpers)
            ops = self._began(name, turns[-1]) + self._steps(name, turns[-1], done)
            safe = not ops or self._teller.tell(*ops)
            turns[-1].stored = turns[-1].stored or bool(ops)
        return safe

    def delegated(self, id: str, task: str, result: str, child: str) -> None:
        """A sub-agent finished."""
        name, asked, answer = self.session(id), clean(task), clean(result)
        if not asked:
            return
        with self._changed:
            turns = self._sessions.get(name, _Session()).turns
            ops: list[Op] = []
            if turns:
                ops, turns[-1].stored, turns[-1].helpers = self._began(name, turns[-1]), True, True
            key = f"{child or time.time_ns()}:{digest(asked)}:{digest(answer)}"
            run = {
                "task": asked,
                "result": answer or None,
                "name": "subagent",
                "key": key,
                "session": name,
                "at": _now(),
            }
            self._teller.tell(*ops, ("report_subagent", run))

    def mirror(self, action: str, target: str, content: str, old: str, profile: str) -> None:
        """An entry of Hermes' own memory was added, replaced or removed."""
        text, ops = clean(content), []
        where = {"target": target, "profile": profile}
        if action in ("replace", "remove") and (old or (action == "remove" and text)):
            ops.append(("forget", {"old": clean(old or text), **where}))
        if action in ("add", "replace") and text:
            ops.append(("remember", {"text": text, "key": f"hermes:{time.time_ns()}:{digest(text)}", **where}))
        if ops:
            self._teller.tell(*ops)

    def switched(self, old: str, new: str, *, same: bool, rewound: bool) -> None:
        """Hermes goes on under another id: in the `same` session as before, or `rewound`, so that no turn is open."""
        with self._changed:
            if same and old and old != new:
                self._names[new] = self.session(old)
            if rewound:
                self._sessions.get(self.session(new), _Session()).turns.clear()
            for name in list(self._sessions)[:-_SESSIONS]:
                if not self._sessions[name].told:
                    del self._sessions[name]
            self._changed.notify_all()

    def end(self, id: str) -> None:
        """A session is over."""
        name = self.session(id)
        with self._changed:
            session = self._sessions.get(name)
            if session is not None and session.told:
                self._end(name, session)

    def last(self) -> None:
        """Nothing more comes: end again what was told of after its end."""
        with self._changed:
            for name, session in self._sessions.items():
                if session.ended and session.told:
                    self._end(name, session)
                elif any(not turn.stored for turn in session.turns):
                    self._teller.tell(*self._opened(name, session))

    def _end(self, name: str, session: _Session) -> None:
        session.told, session.ended = False, True
        self._teller.tell(*self._opened(name, session), ("end_session", {"session": name}))

    def _opened(self, name: str, session: _Session) -> list[Op]:
        """The messages that are not stored: memory was away, and Hermes interrupted. Their turns may still be handed over."""
        ops = [op for turn in session.turns for op in self._began(name, turn)]
        for turn in session.turns:
            turn.stored = True
        return ops

    def _where(self, name: str, text: str) -> str:
        """The session in which a message came in: mostly the one in which its turn is over."""
        own = self._sessions.get(name)
        if own is not None and any(t.text == text for t in own.turns):
            return name
        return next((n for n, s in self._sessions.items() if any(t.text == text and not t.left for t in s.turns)), name)

    def _said(self, name: str, turn: _Turn) -> dict[str, Any]:
        said = {"text": turn.text, "key": turn.key, "session": name, "at": turn.at}
        return {**said, "environment": self._environment} if self._environment else said

    def _began(self, name: str, turn: _Turn) -> list[Op]:
        return [] if turn.stored or not turn.text else [("start_turn", {**self._said(name, turn), "recall": False})]

    def _steps(self, name: str, turn: _Turn, done: Lived) -> list[Op]:
        """The steps, in ids of this turn: some models number their calls anew in each."""
        mark, ops = digest(turn.key), []
        for steps in done.batches():
            for step in steps:
                step["call_id"] = f"{mark}:{step['call_id']}"[:_NAME]
            key = f"{turn.key}:steps:{digest(steps[-1]['call_id'])}"
            ops.append(("end_turn", {"steps": steps, "key": key, "session": name, "at": _now()}))
        return ops


def _new(name: str, text: str) -> _Turn:
    return _Turn(text, f"{name[:64]}:{time.time_ns()}:{digest(text)}", _now())


def _now() -> str:
    return datetime.now(UTC).isoformat()
