"""Where reports of an agent go: the turn and episode that is going on, begun, gone on with and closed; steps stored once.

Functions over the transaction of one change: what is decided here is decided on the rows as they are, whoever else reports.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from memos.errors import Conflict
from memos.evolution import repair
from memos.evolution.episodes import capture
from memos.evolution.episodes.boundary import Before, TaskChoice, relate
from memos.evolution.episodes.capture import Call
from memos.evolution.value import signals
from memos.memory.episode import Relation, RelationKind, Signal, SignalSource, StepRole, own_words_of
from memos.memory.ids import new_id, unique_key
from memos.memory.learned import Hint
from memos.memory.model import TRUST_OF, Kind, Memory, Origin, Status
from memos.storage.sqlite import lived
from memos.text.document import TermRow, term_row
from memos.text.signature import context_key, signature_key

_NUMBERED = re.compile(r"[A-Za-z_.:#-]*\d{0,4}")
Worded = tuple[Memory, TermRow]
STEP_OPENED = "no task was going on in this session: the step opened one (call start_turn with what the user said)"
STEP_REOPENED = "the session's last task was closed: the step goes on with it"


@dataclass(frozen=True, slots=True)
class Who:
    """Whose reports these are, and by which rules: `gap` after which a message is another task, `window` that a closed episode
    waits for feedback.
    """

    session: str
    agent: str
    owner: str
    gap: timedelta
    window: timedelta


@dataclass(frozen=True, slots=True)
class Place:
    """The episode and turn that a report belongs to. `opened`: by this report."""

    episode: str
    turn: int
    opened: bool = False
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Begun:
    """A turn that has begun. `closed`: the episode it ended; `wakes`: whether something is to be learned from now."""

    place: Place
    relation: Relation
    closed: str | None = None
    wakes: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """A step ready to be stored: made before the change, so that the change is short."""

    call: Call
    memory: Memory
    terms: TermRow
    context: bytes
    signature: bytes | None


@dataclass(frozen=True, slots=True)
class Kept:
    """A step that is stored: `new`, or there already. `hint`: advice that was made of its failure."""

    id: str
    place: Place
    number: int
    new: bool = True
    notices: tuple[str, ...] = ()
    hint: Hint | None = None


def named(*parts: str) -> bytes:
    """The key of a record that is stored once."""
    return unique_key("acting", *parts)


def reported(tx: Any, verb: str, who: Who, key: str | None, content: str) -> str | None:
    """The memory that was stored when the same was reported under this key; None when nothing was. Raises Conflict when the key
    was used for something else.
    """
    if key is None:
        return None
    known: str | None = tx.find_key(named(verb, who.session, who.agent, key))
    if known is None:
        return None
    if tx.find_key(named(verb, who.session, who.agent, key, content)) is None:
        raise Conflict(
            f"the key {key!r:.80} was used for another report in this session; give each report a key of its own"
        )
    return known


def remember(tx: Any, verb: str, who: Who, key: str | None, content: str, memory: str) -> None:
    """Note under which key a memory was reported."""
    if key is not None:
        tx.point(named(verb, who.session, who.agent, key), memory)
        tx.point(named(verb, who.session, who.agent, key, content), memory)


# -- turns -----------------------------------------------------------------------------------------------------------


def before(db: Any, who: Who) -> tuple[lived.Standing, Before] | None:
    """The last episode of an agent in its session, and what was said in it; None before its first."""
    last = lived.standing(db, who.session, who.agent)
    if last is None:
        return None
    user, assistant = (lived.last_of(db, last.id, role) for role in (StepRole.USER, StepRole.ASSISTANT))
    goal = lived.last_of(db, last.id, StepRole.USER, first=True)
    return last, Before(said(goal), said(user), said(assistant), last.last_at, last.closed_at is None)


def said(memory: Memory | None) -> str:
    """The words of a message, without recalled memories that came back inside it."""
    return "" if memory is None else own_words_of(memory.text, memory.body.get("injected", ()))


def begin_turn(
    tx: Any,
    who: Who,
    text: str,
    message: str,
    at: datetime,
    *,
    choice: TaskChoice = "auto",
    environment: str = "",
    judged: tuple[str, Relation] | None = None,
) -> Begun:
    """Find the episode that a user message belongs to: go on with the last one or open another, closing that. What the message
    says of what was done before is kept as a signal of it. `judged`: what a model said of it, and of which episode.
    """
    known = before(tx.db, who)
    if known is None:
        relation = relate(text, None, at, who.gap, choice)
        return Begun(_opened(tx, who, environment, at), relation)
    last, was = known
    relation = relate(text, was, at, who.gap, choice)
    if choice == "auto" and judged is not None and judged[0] == last.id:
        relation = judged[1]
    heard = signals.heard(text, relation.kind, was.user)
    if at - last.last_at <= who.gap or relation.kind is not RelationKind.NEW_TASK:
        for one in heard:
            signal = Signal(SignalSource.IMPLICIT, one.what, one.score, at, message)
            lived.add_signal(tx, last.id, signal, f"{one.what}:{message}")
    else:
        heard = ()
    if relation.kind is not RelationKind.NEW_TASK:
        if environment:
            lived.place_in(tx, last.id, environment)
        return Begun(_gone_on(tx, last, at, last.turn + 1), relation)
    closed = None
    if last.closed_at is None:
        gave_up = any(one.what == signals.ABANDONED for one in heard)
        reason = "abandoned" if gave_up else "gap" if at - last.last_at > who.gap else "new_task"
        close(tx, last.id, reason, at, who.window)
        closed = last.id
    elif heard:
        lived.learn_again(tx, last.id, tx.now + who.window)
    return Begun(_opened(tx, who, environment, at), relation, closed, closed is not None or bool(heard))


def current(tx: Any, who: Who, at: datetime) -> Place:
    """The episode and turn that a step belongs to. Where no episode is open, the last one is gone on with when it is not long
    ago, or else one is opened, so that nothing is lost.
    """
    last = lived.standing(tx.db, who.session, who.agent)
    if last is None:
        return _opened(tx, who, "", at, (STEP_OPENED,))
    if last.closed_at is None:
        return Place(last.id, max(last.turn, 1))
    if at - last.last_at > who.gap:
        return _opened(tx, who, last.environment, at, (STEP_OPENED,))
    place = _gone_on(tx, last, at, max(last.turn, 1))
    # An episode that was closed for want of news while its agent worked is nothing to speak of.
    return place if last.reason == "gap" else replace(place, notices=(STEP_REOPENED,))


def close(tx: Any, episode: str, reason: str, at: datetime, window: timedelta) -> bool:
    """End an episode: it is learned from after the window, or at once when somebody said how it went. False: it had ended."""
    due_at = tx.now if lived.has_verdict(tx.db, episode) else tx.now + window
    if not lived.close_episode(tx, episode, reason, at, due_at):
        return False
    lived.tell(tx, "episode.closed", episode=episode, numbers={"reason": reason})
    return True


def _opened(tx: Any, who: Who, environment: str, at: datetime, notices: tuple[str, ...] = ()) -> Place:
    id = new_id()
    lived.open_episode(tx, id, session=who.session, agent=who.agent, owner=who.owner, environment=environment, at=at)
    return Place(id, 1, opened=True, notices=notices)


def _gone_on(tx: Any, last: lived.Standing, at: datetime, turn: int) -> Place:
    if last.closed_at is None:
        return Place(last.id, turn)
    lived.reopen_episode(tx, last.id, max(at, last.last_at))
    lived.tell(tx, "episode.reopened", episode=last.id)
    return Place(last.id, turn)


# -- steps -----------------------------------------------------------------------------------------------------------


def prepare(call: Call, *, session: str, owner: str, agent: str, at: datetime) -> Prepared:
    """A step ready to be stored."""
    memory = capture.memory_of(call, session=session, owner=owner, agent=agent, at=at)
    use = call.use
    signature = signature_key(use.tool, call.said) if use.failed else None
    return Prepared(call, memory, term_row(memory), context_key(use.tool, use.input), signature)


def keep_step(tx: Any, who: Who, step: Prepared, at: datetime, place: Place | None = None) -> Kept:
    """Store a step in the episode that is going on (or in `place`). A call that was reported before, under its call id, is not
    stored again; one whose outcome was not known then is completed. Raises Conflict when another call of this turn has its id.
    """
    call_id = step.call.use.call_id
    if call_id is not None:
        known = _known(tx, who, step, call_id)
        if known is not None:
            return known
    place = current(tx, who, at) if place is None else place
    number = _put_step(tx, step, at, place)
    if call_id is not None:
        tx.point(named("call", who.session, who.agent, call_id), step.memory.id)
    notices = (*place.notices, *step.call.notices)
    return Kept(step.memory.id, place, number, notices=notices, hint=repair.after_step(tx, number))


def _put_step(tx: Any, step: Prepared, at: datetime, place: Place) -> int:
    tx.put_new(step.memory, "step", terms=step.terms)
    return lived.add_step(
        *(
            tx,
            place.episode,
            step.memory.id,
            capture.role_of(step.call),
            place.turn,
            min(step.memory.valid_from or at, at),
        ),
        tool=step.call.use.tool,
        ok=step.call.ok,
        signature=step.signature,
        context=step.context,
    )


def _known(tx: Any, who: Who, step: Prepared, call_id: str) -> Kept | None:
    """The step that stands for a call reported before; None when this is another call. (Some hosts number the calls of each turn:
    an id that is only a number, or a word and a number, stands for one call within one turn.)
    """
    id = tx.find_key(named("call", who.session, who.agent, call_id))
    memory = None if id is None else tx.get(id)
    there = None if memory is None else lived.placed(tx.db, memory.id)
    use = None if memory is None else lived.tool_use(memory)
    if memory is None or there is None or use is None or memory.status is Status.RETRACTED:
        return None
    stands = lived.standing(tx.db, who.session, who.agent)
    here = stands is not None and (stands.id, max(stands.turn, 1)) == (there.episode, there.turn)
    given = step.call.use
    kept = Kept(memory.id, Place(there.episode, there.turn), there.number, new=False)
    if not capture.same_call(use, given):
        if here:
            raise Conflict(
                f"call_id {call_id!r:.80} stands for another call of this turn ({use.tool!r:.60}); give each call its own id"
            )
        return None
    if not here and _NUMBERED.fullmatch(call_id):
        return None
    if not capture.has_outcome(given) or capture.same_outcome(use, given):
        return replace(kept, hint=repair.made_of(tx.db, there.number))
    if not capture.has_outcome(use):
        tx.put(capture.completed(memory, step.call), "outcome")
        lived.amend_step(tx, memory.id, ok=step.call.ok, signature=step.signature)
        return replace(kept, notices=step.call.notices, hint=repair.after_step(tx, there.number))
    if not here:
        return None
    told = f"call_id {call_id!r:.80} was reported before with another outcome, which stands"
    return replace(kept, notices=(told,))


def reflect(tx: Any, place: Place, reflection: str) -> None:
    """Keep what an agent thinks of a turn without a reply with its last step, where that says nothing yet."""
    id = lived.last_step_id(tx.db, place.episode)
    memory = None if id is None else tx.get(id)
    if memory is not None and memory.role != "user" and capture.REFLECTION not in memory.body:
        tx.put(replace(memory, body={**memory.body, capture.REFLECTION: reflection}), "reflection")


def remember_steps(tx: Any, verb: str, who: Who, key: str | None, ids: Sequence[str]) -> None:
    """Note which steps came with a report under a key."""
    for n, id in enumerate(ids if key is not None else ()):
        tx.point(named(verb, who.session, who.agent, key or "", "step", str(n)), id)


def steps_under(tx: Any, verb: str, who: Who, key: str) -> tuple[str, ...]:
    """The steps that came with a report under a key, without those that are gone."""
    out: list[str] = []
    while (id := tx.find_key(named(verb, who.session, who.agent, key, "step", str(len(out))))) is not None:
        out.append(id)
    return tuple(out)


# -- sub-agents and outcomes -------------------------------------------------------------------------------------------


def session_of_child(session: str, name: str) -> str:
    """The session of a sub-agent: that of who called it, and its name."""
    made = f"{session}/{name}"
    if len(made) <= capture.MOST_NAME:
        return made
    return f"{hashlib.blake2b(made.encode(), digest_size=16).hexdigest()}/{name}"[: capture.MOST_NAME]


def words_of_agents(text: str, role: str, speaker: str, *, session: str, owner: str, at: datetime) -> Worded:
    """What one agent says to another, as a memory: found like any message, and no source of facts about the user."""
    memory = Memory(
        id=new_id(),
        kind=Kind.TRACE,
        text=capture.clamp(text, capture.MOST_CHARS),
        valid_from=at,
        origin=Origin.AGENT,
        trust=TRUST_OF[Origin.AGENT],
        owner=owner,
        session=session,
        role=role,
        speaker=speaker,
    )
    return memory, term_row(memory)


def child_episode(
    tx: Any,
    who: Who,
    parent: str,
    task: Worded,
    steps: Sequence[Prepared],
    result: Worded | None,
    at: datetime,
    worked: bool | None,
) -> str:
    """The episode of a sub-agent that finished: what it was asked, its steps and its result, closed at once."""
    id, of = new_id(), lived.episode(tx.db, parent)
    names = {"session": who.session, "agent": who.agent, "owner": who.owner}
    lived.open_episode(tx, id, **names, environment="" if of is None else of.environment, at=at, parent=parent)
    place = Place(id, 1)
    tx.put_new(task[0], "step", terms=task[1])
    lived.add_step(tx, id, task[0].id, StepRole.USER, 1, at)
    for step in steps:
        _put_step(tx, step, at, place)
    if result is not None:
        tx.put_new(result[0], "step", terms=result[1])
        lived.add_step(tx, id, result[0].id, StepRole.ASSISTANT, 1, at)
    if worked is not None:
        one = signals.SUBAGENT_WORKED if worked else signals.SUBAGENT_FAILED
        lived.add_signal(tx, id, Signal(SignalSource.TOOL, one.what, one.score, at), one.what)
    close(tx, id, "ended", at, who.window)
    return id


def told_before(
    tx: Any, episode: str, source: str, score: float | None, who: Who, key: str | None, words: str
) -> tuple[bool, str | None]:
    """Whether an outcome was reported before under its key, and the record of its comment. Raises Conflict when something else
    was reported under it.
    """
    if key is None:
        return False, None
    known = reported(tx, "outcome", who, key, f"{episode}\x1f{words}") if words else None
    there = lived.signal_under(tx.db, episode, outcome_mark(key))
    if there is None:
        return known is not None, known
    if (there.source.value, there.score, there.memory) != (source, score, known):
        raise Conflict(
            f"the key {key!r:.80} was used for another outcome of this episode; give each report a key of its own"
        )
    return True, known


def outcome_mark(key: str | None) -> str:
    """The key of the signal that an outcome is."""
    return f"outcome:{new_id() if key is None else key}"
