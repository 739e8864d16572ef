"""The changes that the verbs of an agent make, each a function over a transaction: a turn begun or ended, a sub-agent's run,
an outcome. What can be made before the change (records, searchable forms, signatures) is made before, so that it is short.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memos.errors import InvalidInput, NotFound
from memos.evolution.directives.directives import tell_directives
from memos.evolution.directives.heard import Directive
from memos.evolution.episodes import ongoing
from memos.evolution.episodes.boundary import TaskChoice
from memos.evolution.episodes.capture import REFLECTION, Call, plain_use
from memos.evolution.episodes.ongoing import Begun, Kept, Place, Prepared, Who, Worded, keep_step, remember, reported
from memos.memory.acting import OutcomeReported
from memos.memory.episode import Relation, RelationKind, Signal, SignalSource, StepRole
from memos.memory.ids import new_id
from memos.memory.image import Image
from memos.memory.learned import Hint
from memos.memory.message import Message
from memos.memory.model import EMPTY
from memos.reading.store import store_records
from memos.reading.traces import Record, to_records
from memos.storage.sqlite import lived

_SAID_AS = {"user": "feedback", "verifier": "check"}
_NO_EPISODE = "there is no episode to speak of: {} has none in this cube; start_turn begins one"
_NOTHING: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stored:
    """What a change stored of a turn: its place, and the ids that are to be digested."""

    episode: str
    turn: int
    message: str | None
    steps: tuple[str, ...] = ()
    digest: tuple[str, ...] = ()
    repeated: bool = False
    notices: tuple[str, ...] = ()
    hint: Hint | None = None


@dataclass(frozen=True, slots=True)
class Begin:
    """A turn begins: its message, and which episode it belongs to. `words`: of the message, without recalled memories."""

    who: Who
    said: Message
    words: str
    at: datetime
    key: str | None
    choice: TaskChoice
    environment: str
    judged: tuple[str, Relation] | None
    records: Sequence[Record]
    directives: Sequence[Directive]
    fine: bool
    images: Mapping[str, Image]
    see: bool

    def __call__(self, tx: Any) -> tuple[Begun, Stored]:
        """Make the change."""
        known = reported(tx, "turn", self.who, self.key, self.said.text)
        if known is not None:
            return self._again(tx, known)
        message, ids = _store(tx, self.records, fine=self.fine, images=self.images, see=self.see)
        begun = ongoing.begin_turn(
            tx,
            self.who,
            self.words,
            message,
            self.at,
            choice=self.choice,
            environment=self.environment,
            judged=self.judged,
        )
        place = begun.place
        lived.add_step(tx, place.episode, message, StepRole.USER, place.turn, self.at)
        remember(tx, "turn", self.who, self.key, self.said.text, message)
        tell_directives(tx, self.directives, memory=message, owner=self.who.owner, episode=place.episode)
        return begun, Stored(place.episode, place.turn, message, digest=ids)

    def _again(self, tx: Any, message: str) -> tuple[Begun, Stored]:
        there = _there(tx, message)
        kind = RelationKind.NEW_TASK if there.turn == 1 else RelationKind.FOLLOW_UP
        begun = Begun(Place(there.episode, there.turn), Relation(kind, 1.0, "it was reported before"))
        return begun, Stored(there.episode, there.turn, message, repeated=True)


@dataclass(frozen=True, slots=True)
class End:
    """A turn ends: its reply (none: no `records`), and the steps that came with it."""

    who: Who
    at: datetime
    key: str | None
    content: str
    records: Sequence[Record]
    steps: Sequence[Prepared]
    reflection: str | None
    fine: bool

    def __call__(self, tx: Any) -> Stored:
        """Make the change."""
        known = reported(tx, "end", self.who, self.key, self.content)
        if known is not None:
            there, steps = _there(tx, known), ongoing.steps_under(tx, "end", self.who, self.key or "")
            return Stored(there.episode, there.turn, known if self.records else None, steps, repeated=True)
        kept = self._keep_steps(tx)
        place = self._place(tx, kept)
        message, ids = _store(tx, self.records, fine=self.fine) if self.records else (None, _NOTHING)
        if message is not None:
            lived.add_step(tx, place.episode, message, StepRole.ASSISTANT, place.turn, self.at)
        elif self.reflection is not None:
            ongoing.reflect(tx, place, self.reflection)
        steps = tuple(one.id for one in kept)
        if message is not None or steps:
            remember(tx, "end", self.who, self.key, self.content, message or steps[0])
            ongoing.remember_steps(tx, "end", self.who, self.key, steps)
        notices = tuple(dict.fromkeys((*place.notices, *(n for one in kept for n in one.notices))))
        hint = next((one.hint for one in reversed(kept) if one.hint is not None), None)
        return Stored(place.episode, place.turn, message, steps, ids, notices=notices, hint=hint)

    def _keep_steps(self, tx: Any) -> list[Kept]:
        """Store the steps, all in one place."""
        out: list[Kept] = []
        place: Place | None = None
        for step in self.steps:
            out.append(keep_step(tx, self.who, step, self.at, place))
            if out[-1].new and place is None:
                place = replace(out[-1].place, notices=())
        return out

    def _place(self, tx: Any, kept: Sequence[Kept]) -> Place:
        """The place of the reply: that of the new steps, or the current one. A mere repetition opens nothing again."""
        new = [one.place for one in kept if one.new]
        if new:
            return replace(new[0], notices=())
        if self.records or self.reflection is not None:
            return ongoing.current(tx, self.who, self.at)
        if kept:
            return kept[-1].place
        last = lived.standing(tx.db, self.who.session, self.who.agent)
        if last is None:
            raise InvalidInput("there is no turn to end in this session, and nothing to store; give text or steps")
        return Place(last.id, max(last.turn, 1))


@dataclass(frozen=True, slots=True)
class SubAgentRun:
    """A sub-agent finished: a step of its parent, and (with `steps`) an episode of its own."""

    who: Who
    at: datetime
    key: str | None
    content: str
    step: Prepared
    child: Who
    task: Worded
    result: Worded | None
    steps: Sequence[Prepared]

    def __call__(self, tx: Any) -> tuple[Kept, bool]:
        """Make the change; whether an episode was closed by it."""
        known = reported(tx, "subagent", self.who, self.key, self.content)
        if known is not None:
            there = _there(tx, known)
            return Kept(known, Place(there.episode, there.turn), there.number, new=False), False
        kept = keep_step(tx, self.who, self.step, self.at)
        remember(tx, "subagent", self.who, self.key, self.content, kept.id)
        if not self.steps:
            return kept, False
        worked = self.step.call.ok
        ongoing.child_episode(tx, self.child, kept.place.episode, self.task, self.steps, self.result, self.at, worked)
        notices = dict.fromkeys((*kept.notices, *(n for one in self.steps for n in one.call.notices)))
        return replace(kept, notices=tuple(notices)), True


@dataclass(frozen=True, slots=True)
class Outcome:
    """Somebody says how an episode went: a signal of it, the record of what was said, and directives told by the way."""

    who: Who
    at: datetime
    key: str | None
    cube: str
    episode: str | None
    agent: str | None
    source: str
    score: float | None
    words: str
    records: Sequence[Record]
    directives: Sequence[Directive]
    derive: bool
    fine: bool

    def __call__(self, tx: Any) -> tuple[OutcomeReported, tuple[str, ...]]:
        """Make the change; also the ids that are to be digested."""
        about = lived.episode_of(tx.db, self.episode, self.who.session, self.agent)
        if about is None:
            where = f"episode {self.episode}" if self.episode else f"session {self.who.session!r:.80}"
            raise NotFound(_NO_EPISODE.format(where))
        known, message = ongoing.told_before(tx, about, self.source, self.score, self.who, self.key, self.words)
        ids = _NOTHING
        if not known:
            message, ids = self._keep(tx, about)
        made = _NOTHING
        if message is not None:
            made = tell_directives(tx, self.directives, memory=message, owner=self.who.owner, episode=about)
        due = lived.due_of(tx.db, about)
        return OutcomeReported(self.cube, about, self.score or 0.0, due, made, repeated=known), ids

    def _keep(self, tx: Any, about: str) -> tuple[str | None, tuple[str, ...]]:
        message, ids = (None, _NOTHING)
        if self.records:
            message, ids = _store(tx, self.records, fine=self.fine, derive=self.derive)
            remember(tx, "outcome", self.who, self.key, f"{about}\x1f{self.words}", message)
        if self.score is not None:
            signal = Signal(SignalSource(self.source), _SAID_AS[self.source], self.score, self.at, message)
            lived.add_signal(tx, about, signal, ongoing.outcome_mark(self.key))
            lived.learn_again(tx, about, tx.now)
        return message, ids


def content_of(text: str | None, reflection: str | None, calls: Sequence[Call]) -> str:
    """What makes two reports under one key the same."""
    return json.dumps([text, reflection, *(plain_use(call.use) for call in calls)], sort_keys=True)


def records_of(said: Message, who: Who, verb: str, key: str | None, reflection: str | None = None) -> list[Record]:
    """The records of a message. Each is stored, also when the same words were said before: it is a step of its own."""
    once = f"{verb}:{who.agent}:{new_id() if key is None else key}"
    records = to_records([said], session=who.session, owner=who.owner, idempotency_key=once)
    if reflection is not None:
        first = records[0]
        body = {**first.memory.body, REFLECTION: reflection}
        records[0] = replace(first, memory=replace(first.memory, body=body))
    return records


def _store(
    tx: Any,
    records: Sequence[Record],
    *,
    fine: bool,
    derive: bool = True,
    images: Mapping[str, Image] = EMPTY,
    see: bool = False,
) -> tuple[str, tuple[str, ...]]:
    """Store a message; the id of its first part, and what is to be digested."""
    added = store_records(tx, records, derive=derive, named=True, fine=fine, images=images, see=see)
    return added[0].id, tuple(one.id for one in added if one.new) if derive else ()


def _there(tx: Any, id: str) -> lived.Placed:
    found = lived.placed(tx.db, id)
    if found is None:
        raise NotFound(f"the step {id} that was reported under this key is gone")
    return found
