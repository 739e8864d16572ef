"""The verbs by which an agent reports what it does: turns, steps, sub-agents, outcomes, and the end of a session.

Each is one durable change before anything else happens (laws 1 and 2); what is learned from it comes later, in the background.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

import structlog

from memos.arguments import listed
from memos.errors import InvalidInput, MemosError, NotFound
from memos.evolution import boundary, ongoing
from memos.evolution.boundary import TaskChoice
from memos.evolution.capture import REFLECTION, SUBAGENT, Call, call_of, checked_call, checked_reflection, plain_use
from memos.evolution.directives import directives_of, tell_directives
from memos.evolution.ongoing import Begun, Kept, Prepared, Who, keep_step, prepare, remember, reported
from memos.evolution.opinion import read_opinion
from memos.memory.acting import (
    OutcomeReported,
    Recalled,
    SessionEnded,
    StepReported,
    Tier,
    Trigger,
    TurnEnded,
    TurnStarted,
)
from memos.memory.episode import Relation, RelationKind, Signal, SignalSource, StepReport, StepRole
from memos.memory.ids import is_id, new_id
from memos.memory.learned import Hint
from memos.memory.message import Message
from memos.memory.number import whole
from memos.memory.time import utcnow
from memos.reading.hygiene import strip_injected
from memos.reading.parts import is_blank, well_formed
from memos.reading.store import store_records
from memos.reading.traces import Record, to_records
from memos.storage.ports import Change, CubeInfo
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.registry import check_name
from memos.system.base import DEFAULT_SESSION, DEFAULT_USER, Base, When

log = structlog.get_logger(__name__)

DEFAULT_AGENT = "agent"
OutcomeSource = Literal["user", "verifier"]
Steps = Sequence[StepReport | Mapping[str, Any]]
MOST_STEPS = 10_000  # of one call
MOST_TOKENS = 1_000_000
MOST_HELPER = 200  # characters of a sub-agent's name
__all__ = ["DEFAULT_AGENT", "Acting", "OutcomeSource", "Steps", "TaskChoice"]


@dataclass(frozen=True, slots=True)
class _Stored:
    """What a change stored of a message: its place, and the ids that are to be digested."""

    episode: str
    turn: int
    message: str | None
    steps: tuple[str, ...] = ()
    digest: tuple[str, ...] = ()
    repeated: bool = False
    notices: tuple[str, ...] = ()
    hint: Hint | None = None


class Acting(Base):
    """See `AsyncMemOS`."""

    async def start_turn(
        self,
        text: str,
        *,
        session: str = DEFAULT_SESSION,
        agent: str = DEFAULT_AGENT,
        environment: str = "",
        task: TaskChoice = "auto",
        key: str | None = None,
        also: Sequence[str] = (),
        max_tokens: int = 1_500,
        recall: bool = True,
        at: When = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> TurnStarted:
        """A user message came in: store it, find out whether it goes on with the session's task, and recall what the agent
        should know.

        `environment`: a name of where the agent works (a host, a repository), to which what is learned of the world is tied.
        `task`: `new` or `same` where the caller knows; `auto` finds out. `key`: one for each message, given again when the call
        is repeated: nothing is done twice; another text under the same key raises Conflict. `also`: further cubes to recall
        from. `max_tokens`: hard budget of the block; `recall=False` leaves it out. `at`: when it was said, by default now.
        """
        said = self._message(text, "text", "user", at)
        who, at_ = self._who(session, agent, user), _when(said.time)
        place = check_name(environment, "environment") if environment != "" else ""
        choice, key = _choice(task), _key(key)
        whole(max_tokens, "max_tokens", least=0, most=MOST_TOKENS)
        also = [check_name(one, "also") for one in listed(also, "also")]
        words, parts = strip_injected(said.text)[0], self._parts()
        await parts.background.check_room(user)
        async with self._cube(user, cube, "write") as (info, store):
            judged = await self._judged(store, who, words, at_, user) if choice == "auto" else None
            fine, unread = parts.understanding.is_fine(None, info)
            records, directives = _records(said, who, "turn", key), directives_of(words, environment=place, agent=agent)

            def begin(tx: Any) -> tuple[Begun, _Stored]:
                known = reported(tx, "turn", who, key, said.text)
                if known is not None:
                    return _begun_before(tx, known)
                message, ids = _store(tx, records, fine)
                begun = ongoing.begin_turn(
                    tx, who, words, message, at_, choice=choice, environment=place, judged=judged
                )
                lived.add_step(tx, begun.place.episode, message, StepRole.USER, begun.place.turn, at_)
                remember(tx, "turn", who, key, said.text, message)
                tell_directives(tx, directives, memory=message, owner=user, episode=begun.place.episode)
                return begun, _Stored(begun.place.episode, begun.place.turn, message, digest=ids)

            with parts.vectors.attending():
                begun, stored = await store.write(begin, Change(actor=user, cause="turn"))
            notices = await self._handed_on(info, stored, user, fine, unread)
            if begun.wakes:
                await parts.evolving.soon(info, self.settings.reward_window)
        recalled = Recalled(Trigger.TURN)
        if recall and not is_blank(words):
            recalled = await self._recall_for_turn(words, session, agent, place, also, max_tokens, user, info.name)
        return TurnStarted(
            *(info.name, stored.episode, stored.turn, stored.message or "", begun.relation, recalled, begun.closed),
            repeated=stored.repeated,
            notices=(*begun.place.notices, *notices),
        )

    async def report_step(
        self,
        tool: str,
        input: Any = None,
        output: Any = None,
        *,
        error: str | None = None,
        ok: bool | None = None,
        duration: float | None = None,
        call_id: str | None = None,
        reflection: str | None = None,
        session: str = DEFAULT_SESSION,
        agent: str = DEFAULT_AGENT,
        also: Sequence[str] = (),
        max_tokens: int = 400,
        at: When = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> StepReported:
        """A tool was called: store what it was given and what came of it, as a step of the session's open episode.

        `input` and `output`: a text, or anything JSON can say. `ok`: whether it worked; where left out, an `error` says no, and
        without one nobody knows. `duration` in seconds. `call_id`: the provider's; a call reported twice under one id is stored
        once. After repeated failures of the same tool in the same context the answer holds a hint (`max_tokens` bounds it).
        """
        call = checked_call(
            *(tool, input, output),
            error=error,
            ok=ok,
            duration=duration,
            call_id=call_id,
            reflection=reflection,
        )
        who, at_ = self._who(session, agent, user), _when(self._moment(at))
        whole(max_tokens, "max_tokens", least=0, most=MOST_TOKENS)
        also = [check_name(one, "also") for one in listed(also, "also")]
        step = prepare(call, session=who.session, owner=user, agent=who.agent, at=at_)
        async with self._cube(user, cube, "write") as (info, store):
            kept = await store.write(lambda tx: keep_step(tx, who, step, at_), Change(actor=user, cause="step"))
        reported_ = _step_reported(info, kept)
        if kept.hint is None:
            return reported_
        recalled = await self._recall_for_repair(call, who, also, max_tokens, user, info.name)
        return replace(
            reported_, context=recalled.context, notices=tuple(dict.fromkeys((*kept.notices, *recalled.reasons)))
        )

    async def end_turn(
        self,
        text: str | None = None,
        *,
        steps: Steps = (),
        reflection: str | None = None,
        key: str | None = None,
        session: str = DEFAULT_SESSION,
        agent: str = DEFAULT_AGENT,
        at: When = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> TurnEnded:
        """The turn is over: store the reply, and steps that were not reported one by one, all in one change.

        `steps`: as `report_step` takes them; those reported before under the same `call_id` are stored once. `reflection`: what
        the agent thinks of how it went. The episode stays open for the next turn. `key`: as in `start_turn`.
        """
        who, moment = self._who(session, agent, user), self._moment(at)
        at_, key, thought = _when(moment), _key(key), checked_reflection(reflection, "reflection")
        said = None if text is None or text == "" else self._message(text, "text", "assistant", at)
        calls = self._calls(steps)
        steps_ = [prepare(call, session=who.session, owner=user, agent=who.agent, at=at_) for call in calls]
        content = _content(None if said is None else said.text, thought, calls)
        parts = self._parts()
        if said is not None:
            await parts.background.check_room(user)
        async with self._cube(user, cube, "write") as (info, store):
            fine, unread = parts.understanding.is_fine(None, info) if said is not None else (False, None)
            records = [] if said is None else _records(said, who, "end", key, thought)

            def end(tx: Any) -> _Stored:
                known = reported(tx, "end", who, key, content)
                if known is not None:
                    return _ended_before(tx, who, key or "", None if said is None else known, known)
                kept = _keep_all(tx, who, steps_, at_)
                place = _place_of(tx, who, at_, kept, said is not None or thought is not None)
                message, ids = _store(tx, records, fine) if records else (None, ())
                if message is not None:
                    lived.add_step(tx, place.episode, message, StepRole.ASSISTANT, place.turn, at_)
                elif thought is not None:
                    ongoing.reflect(tx, place, thought)
                first = message or (kept[0].id if kept else None)
                if first is not None:
                    remember(tx, "end", who, key, content, first)
                    ongoing.remember_steps(tx, "end", who, key, [one.id for one in kept])
                told = (*place.notices, *(n for one in kept for n in one.notices))
                notices = tuple(dict.fromkeys(told))
                hint = next((one.hint for one in reversed(kept) if one.hint is not None), None)
                steps_kept = tuple(one.id for one in kept)
                return _Stored(place.episode, place.turn, message, steps_kept, ids, notices=notices, hint=hint)

            with parts.vectors.attending():
                stored = await store.write(end, Change(actor=user, cause="turn ended"))
            notices = await self._handed_on(info, stored, user, fine, unread)
        return TurnEnded(
            *(info.name, stored.episode, stored.turn, stored.message, stored.steps, stored.repeated),
            hint=stored.hint,
            notices=(*stored.notices, *notices),
        )

    async def report_subagent(
        self,
        task: str,
        result: str | None = None,
        *,
        name: str,
        ok: bool | None = None,
        error: str | None = None,
        steps: Steps = (),
        key: str | None = None,
        session: str = DEFAULT_SESSION,
        agent: str = DEFAULT_AGENT,
        at: When = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> StepReported:
        """A sub-agent finished: a step of this episode, and, with its own `steps`, an episode of its own (agent `name`, child of
        this one) that is learned from like any other.
        """
        who, at_ = self._who(session, agent, user), _when(self._moment(at))
        key, helper = _key(key), check_name(name, "name")
        if len(helper) > MOST_HELPER:
            raise InvalidInput(
                f"name is {len(helper)} characters long, at most {MOST_HELPER} are allowed: {name[:40]!r}…"
            )
        asked = self._message(task, "task", "user", at)
        call = checked_call(SUBAGENT + helper, asked.text, result, error=error, ok=ok)
        calls = self._calls(steps)
        child = replace(who, session=ongoing.session_of_child(who.session, helper), agent=helper)
        steps_ = [prepare(one, session=child.session, owner=user, agent=helper, at=at_) for one in calls]
        step = prepare(call, session=who.session, owner=user, agent=who.agent, at=at_)
        told, answer = (
            ongoing.words_of_agents(*one, session=child.session, owner=user, at=at_)
            for one in ((asked.text, "user", who.agent), (call.said, "assistant", helper))
        )
        content = _content(f"{helper}\x1f{asked.text}\x1f{call.said}", None, calls)

        def keep(tx: Any) -> tuple[Kept, bool]:
            known = reported(tx, "subagent", who, key, content)
            if known is not None:
                there = _there(tx, known)
                return Kept(known, ongoing.Place(there.episode, there.turn), there.number, new=False), False
            kept = keep_step(tx, who, step, at_)
            remember(tx, "subagent", who, key, content, kept.id)
            if not steps_:
                return kept, False
            ongoing.child_episode(
                *(tx, child, kept.place.episode, told, steps_, answer if call.said else None, at_, call.ok)
            )
            notices = dict.fromkeys((*kept.notices, *(n for one in calls for n in one.notices)))
            return replace(kept, notices=tuple(notices)), True

        async with self._cube(user, cube, "write") as (info, store):
            kept, closed = await store.write(keep, Change(actor=user, cause="sub-agent"))
            if closed:
                await self._parts().evolving.soon(info, self.settings.reward_window)
        return _step_reported(info, kept)

    async def report_outcome(
        self,
        score: float | None = None,
        comment: str | None = None,
        *,
        source: OutcomeSource = "user",
        episode: str | None = None,
        session: str = DEFAULT_SESSION,
        agent: str | None = None,
        key: str | None = None,
        at: When = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> OutcomeReported:
        """Say how a task went: `score` in [-1, 1], or a comment from which it is read, or both. Of `episode`, or of the session's
        last one, which may be closed and learned from already: it is learned from again.

        `source`: `user` for a person's opinion, `verifier` for a test or grader. A comment of a user that holds beyond the task
        ("always run the tests", "use uv instead of pip") also becomes a directive. Raises InvalidInput, NotFound.
        """
        given = _score(score)
        if source not in ("user", "verifier"):
            raise InvalidInput(f"source is 'user' or 'verifier', got {source!r:.40}")
        if episode is not None and not is_id(episode):
            raise InvalidInput(
                f"episode is the id of an episode, got {episode!r:.60}; leave it out for the session's last"
            )
        who = self._who(session, DEFAULT_AGENT if agent is None else agent, user)
        key = _key(key)
        said = None
        if comment is not None and comment != "":
            said = self._message(comment, "comment", "user" if source == "user" else "tool", at)
        at_ = _when(self._moment(at))
        words = "" if said is None else strip_injected(said.text)[0]
        directives = directives_of(words, agent=agent or "") if source == "user" else ()
        read = read_opinion(words) if given is None else given
        if read is None and not directives:
            raise InvalidInput(
                _NO_SCORE.format("nothing was given" if said is None else "the comment does not say how it went")
            )
        parts = self._parts()
        if said is not None:
            await parts.background.check_room(user)
        async with self._cube(user, cube, "write") as (info, store):
            derive = source == "user" and said is not None
            fine, unread = parts.understanding.is_fine(None, info) if derive else (False, None)
            records = [] if said is None else _records(said, who, "outcome", key)

            def keep(tx: Any) -> tuple[OutcomeReported, tuple[str, ...]]:
                about = lived.episode_of(tx.db, episode, session, agent)
                if about is None:
                    raise NotFound(_NO_EPISODE.format(f"episode {episode}" if episode else f"session {session!r:.80}"))
                known, said_before = ongoing.told_before(tx, about, source, read, who, key, words)
                message, ids = said_before, _NONE
                if not known and records:
                    message, ids = _store(tx, records, fine, derive=derive)
                if not known and read is not None:
                    signal = Signal(SignalSource(source), _SAID_AS[source], read, at_, message)
                    lived.add_signal(tx, about, signal, ongoing.outcome_mark(key))
                    lived.learn_again(tx, about, tx.now)
                if not known and message is not None:
                    remember(tx, "outcome", who, key, f"{about}\x1f{words}", message)
                made: tuple[str, ...] = ()
                if message is not None:
                    made = tell_directives(tx, directives, memory=message, owner=user, episode=about)
                due = lived.due_of(tx.db, about)
                return OutcomeReported(info.name, about, read or 0.0, due, made, repeated=known), ids

            with parts.vectors.attending():
                outcome, ids = await store.write(keep, Change(actor=user, cause="outcome"))
            if not outcome.repeated:
                await self._handed_on(info, _Stored(outcome.episode, 0, None, digest=ids), user, fine, unread)
                if outcome.due_at is not None:
                    await parts.evolving.soon(info, 0)
        return outcome

    async def end_session(
        self,
        session: str = DEFAULT_SESSION,
        *,
        agent: str | None = None,
        at: When = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> SessionEnded:
        """The session is over: its open episodes are closed, and learned from in a while. A later turn may begin it again."""
        name = check_name(session, "session")
        if agent is not None:
            check_name(agent, "agent")
        at_, window = _when(self._moment(at)), timedelta(seconds=self.settings.reward_window)

        def end(tx: Any) -> tuple[str, ...]:
            found = lived.open_in(tx.db, name, agent)
            return tuple(id for id in found if ongoing.close(tx, id, "session_end", at_, window))

        async with self._cube(user, cube, "write") as (info, store):
            closed = await store.write(end, Change(actor=user, cause="session ended"))
            if closed:
                await self._parts().evolving.soon(info, self.settings.reward_window)
        return SessionEnded(info.name, name, closed)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _who(self, session: str, agent: str, user: str) -> Who:
        check_name(user, "user")
        gap, window = timedelta(minutes=self.settings.episode_gap), timedelta(seconds=self.settings.reward_window)
        return Who(check_name(session, "session"), check_name(agent, "agent"), user, gap, window)

    def _moment(self, at: When) -> datetime:
        try:
            return self._time(at) or utcnow()
        except (InvalidInput, TypeError) as e:
            raise InvalidInput(f"at: {e}") from e

    def _message(self, text: object, what: str, role: str, at: When) -> Message:
        if not isinstance(text, str) or is_blank(text):
            raise InvalidInput(f"{what} is blank or no text ({text!r:.40}); give the words that were said")
        zone = self.settings.timezone
        return Message(role, well_formed(text), self._moment(at), zone=zone, time_given=at is not None)

    def _calls(self, steps: object) -> list[Call]:
        if isinstance(steps, (str, bytes, Mapping)) or not isinstance(steps, Sequence):
            raise InvalidInput(f"steps is of type {type(steps).__name__}; give a list of StepReports or objects")
        if len(steps) > MOST_STEPS:
            raise InvalidInput(
                f"steps holds {len(steps):,} steps, at most {MOST_STEPS:,} are taken at once; use report_step"
            )
        return [call_of(step, f"steps[{n}]", self._time) for n, step in enumerate(steps)]

    async def _judged(
        self, store: SqliteCube, who: Who, words: str, at: datetime, user: str
    ) -> tuple[str, Relation] | None:
        """What a model says of a message of which the rules are not sure, and of which episode."""
        model = self._parts().llms.of("evolution", user)
        if model is None:
            return None
        known = await store.read_lived(lambda db: ongoing.before(db, who))
        if known is None:
            return None
        by_rule = boundary.relate(words, known[1], at, who.gap)
        if by_rule.confidence >= boundary.SURE:
            return None
        from memos.evolution.boundary_model import judge

        return known[0].id, await judge(model, words, known[1], by_rule)

    async def _handed_on(
        self, info: CubeInfo, stored: _Stored, user: str, fine: bool, unread: str | None
    ) -> tuple[str, ...]:
        """Have what was stored read for facts, and embedded; the notices to give."""
        if stored.repeated:
            return ()
        if not stored.digest:
            if stored.steps:
                self._parts().background.wake(info, user)
            return ()
        handed = await self._parts().background.added(info, list(stored.digest), user, None, fine=fine)
        return tuple(n for n in (unread, handed.notice) if n is not None)

    async def _recall_for_turn(
        self,
        words: str,
        session: str,
        agent: str,
        environment: str,
        also: Sequence[str],
        max_tokens: int,
        user: str,
        cube: str,
    ) -> Recalled:
        """What the agent should know at the beginning of a turn."""
        where = {"session": session, "agent": agent, "environment": environment, "user": user, "cube": cube}
        return await self._recalled(words, trigger=Trigger.TURN, also=also, max_tokens=max_tokens, **where)

    async def _recall_for_repair(
        self, call: Call, who: Who, also: Sequence[str], max_tokens: int, user: str, cube: str
    ) -> Recalled:
        """What the agent should know after a hint was made: it, and what else is known of such a failure."""
        if max_tokens < 1:
            return Recalled(Trigger.REPAIR)
        where = {"session": who.session, "agent": who.agent, "user": user, "cube": cube}
        about = {"tool": call.use.tool, "error": call.said, "tiers": [Tier.GUIDANCE]}
        asked = call.use.input if not is_blank(call.use.input) else call.use.tool
        return await self._recalled(asked, trigger=Trigger.REPAIR, also=also, max_tokens=max_tokens, **about, **where)

    async def _recalled(self, asked: str, *, trigger: Trigger, **how: Any) -> Recalled:
        """What is reported is on disk: what goes wrong here is told, and fails nothing."""
        recall: Callable[..., Any] = getattr(self, "recall")  # noqa: B009 - of the class this is a part of
        try:
            recalled: Recalled = await recall(asked, trigger=trigger, **how)
        except MemosError as e:
            return Recalled(trigger, reasons=(f"recall failed: {e}",))
        except Exception as e:  # noqa: BLE001 - a defect there must not look as if the report was lost
            log.warning("recall_failed", error=type(e).__name__)
            return Recalled(trigger, reasons=(f"recall failed ({type(e).__name__}); what was reported is stored",))
        return recalled


_NONE: tuple[str, ...] = ()
_SAID_AS = {"user": "feedback", "verifier": "check"}
_NO_SCORE = 'how did it go? {}; give `score` from -1 (failed) to 1 (done well), or a `comment` such as "works, thanks" or "still broken"'
_NO_EPISODE = "there is no episode to speak of: {} has none in this cube; start_turn begins one"


def _when(moment: datetime) -> datetime:
    """When something was reported, as far as the order of things goes: nothing happens later than now."""
    return min(moment, utcnow())


def _key(key: str | None) -> str | None:
    return None if key is None else check_name(key, "key")


def _choice(task: object) -> TaskChoice:
    if task not in ("auto", "new", "same"):
        raise InvalidInput(f"task is 'auto', 'new' or 'same', got {task!r:.40}")
    return task


def _score(score: object) -> float | None:
    if score is None:
        return None
    if isinstance(score, bool) or not isinstance(score, (int, float)) or not -1 <= score <= 1:
        raise InvalidInput(f"score is a number from -1 (failed) to 1 (done well), got {score!r:.40}")
    return float(score)


def _content(text: str | None, reflection: str | None, calls: Sequence[Call]) -> str:
    """What makes two reports under one key the same."""
    return json.dumps([text, reflection, *(plain_use(call.use) for call in calls)], sort_keys=True)


def _records(said: Message, who: Who, verb: str, key: str | None, reflection: str | None = None) -> list[Record]:
    """The records of a message. Each is stored, also when the same words were said before: it is a step of its own."""
    once = f"{verb}:{who.agent}:{new_id() if key is None else key}"
    records = to_records([said], session=who.session, owner=who.owner, idempotency_key=once)
    if reflection is not None:
        first = records[0]
        body = {**first.memory.body, REFLECTION: reflection}
        records[0] = replace(first, memory=replace(first.memory, body=body))
    return records


def _store(tx: Any, records: Sequence[Record], fine: bool, *, derive: bool = True) -> tuple[str, tuple[str, ...]]:
    """Store a message; the id of its first part, and what is to be digested."""
    added = store_records(tx, records, derive=derive, named=True, fine=fine)
    return added[0].id, tuple(one.id for one in added if one.new) if derive else ()


def _there(tx: Any, id: str) -> lived.Placed:
    found = lived.placed(tx.db, id)
    if found is None:
        raise NotFound(f"the step {id} that was reported under this key is gone")
    return found


def _begun_before(tx: Any, message: str) -> tuple[Begun, _Stored]:
    there = _there(tx, message)
    kind = RelationKind.NEW_TASK if there.turn == 1 else RelationKind.FOLLOW_UP
    begun = Begun(ongoing.Place(there.episode, there.turn), Relation(kind, 1.0, "it was reported before"))
    return begun, _Stored(there.episode, there.turn, message, repeated=True)


def _ended_before(tx: Any, who: Who, key: str, message: str | None, known: str) -> _Stored:
    there = _there(tx, known)
    steps = ongoing.steps_under(tx, "end", who, key)
    return _Stored(there.episode, there.turn, message, steps, repeated=True)


def _keep_all(tx: Any, who: Who, steps: Sequence[Prepared], at: datetime) -> list[Kept]:
    """Store steps that came together in one place."""
    out: list[Kept] = []
    place: ongoing.Place | None = None
    for step in steps:
        out.append(keep_step(tx, who, step, at, place))
        if out[-1].new and place is None:
            place = replace(out[-1].place, notices=())
    return out


def _place_of(tx: Any, who: Who, at: datetime, kept: Sequence[Kept], more: bool) -> ongoing.Place:
    """The place of the end of a turn: that of its new steps, or the current one where there is `more` to be kept."""
    new = [one.place for one in kept if one.new]
    if new:
        return replace(new[0], notices=())
    if more:
        return ongoing.current(tx, who, at)
    if kept:
        return kept[-1].place
    last = lived.standing(tx.db, who.session, who.agent)
    if last is None:
        raise InvalidInput("there is no turn to end in this session, and nothing to store; give text or steps")
    return ongoing.Place(last.id, max(last.turn, 1))


def _step_reported(info: CubeInfo, kept: Kept) -> StepReported:
    return StepReported(
        *(info.name, kept.place.episode, kept.place.turn, kept.id, kept.number),
        repeated=not kept.new,
        hint=kept.hint,
        notices=kept.notices,
    )
