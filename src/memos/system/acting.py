"""The verbs by which an agent reports what it does: turns, steps, sub-agents, outcomes, and the end of a session.

Each is one durable change before anything else happens (laws 1 and 2); what is learned from it comes later, in the background.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal

from memos.arguments import listed
from memos.errors import InvalidInput, MemosError
from memos.evolution.directives.directives import directives_of
from memos.evolution.directives.opinion import read_opinion
from memos.evolution.episodes import boundary, ongoing
from memos.evolution.episodes.boundary import TaskChoice
from memos.evolution.episodes.capture import SUBAGENT, Call, call_of, checked_call, checked_reflection
from memos.evolution.episodes.ongoing import Kept, Who, keep_step, prepare
from memos.logs import get_logger
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
from memos.memory.episode import Relation, StepReport
from memos.memory.ids import is_id
from memos.memory.image import Image
from memos.memory.message import Message, Part
from memos.memory.number import whole
from memos.memory.time import utcnow
from memos.reading.hygiene import strip_injected
from memos.reading.messages import checked_message
from memos.reading.parts import is_blank, well_formed
from memos.reading.store import images_of
from memos.storage.ports import Change, CubeInfo
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.registry import check_name
from memos.system.base import DEFAULT_SESSION, DEFAULT_USER, Base, When
from memos.system.reports import Begin, End, Outcome, Stored, SubAgentRun, content_of, records_of

log = get_logger(__name__)

DEFAULT_AGENT = "agent"
OutcomeSource = Literal["user", "verifier"]
Steps = Sequence[StepReport | Mapping[str, Any]]
MOST_STEPS = 10_000  # of one call
MOST_TOKENS = 1_000_000
MOST_HELPER = 200  # characters of a sub-agent's name
__all__ = ["DEFAULT_AGENT", "Acting", "OutcomeSource", "Steps", "TaskChoice"]


class Acting(Base):
    """See `AsyncMemOS`."""

    async def start_turn(
        self,
        text: str | Message,
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
        should know. `text`: the words, or a Message, whose images are kept as `add` keeps them.

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
        images, too_large = self._images(said)
        await parts.background.check_room(user)
        async with self._cube(user, cube, "write") as (info, store):
            judged = await self._judged(store, who, words, at_, user) if choice == "auto" else None
            fine, unread = parts.understanding.is_fine(None, info)
            see = bool(images) and parts.seeing.is_wanted(None, info)
            records, told = records_of(said, who, "turn", key), directives_of(words, environment=place, agent=agent)
            begin = Begin(who, said, words, at_, key, choice, place, judged, records, told, fine, images, see)
            with parts.vectors.attending():
                begun, stored = await store.write(begin, Change(actor=user, cause="turn"))
            notices = await self._handed_on(info, stored, user, fine, unread, see=see)
            if begun.wakes:
                await parts.evolving.soon(info, self.settings.reward_window)
        recalled = Recalled(Trigger.TURN)
        if recall and not is_blank(words):
            recalled = await self._recall_for_turn(words, session, agent, place, also, max_tokens, user, info.name)
        return TurnStarted(
            *(info.name, stored.episode, stored.turn, stored.message or "", begun.relation, recalled, begun.closed),
            repeated=stored.repeated,
            notices=(*begun.place.notices, *too_large, *notices),
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
        content = content_of(None if said is None else said.text, thought, calls)
        parts = self._parts()
        if said is not None:
            await parts.background.check_room(user)
        async with self._cube(user, cube, "write") as (info, store):
            fine, unread = parts.understanding.is_fine(None, info) if said is not None else (False, None)
            records = [] if said is None else records_of(said, who, "end", key, thought)
            end = End(who, at_, key, content, records, steps_, thought, fine)
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
        content = content_of(f"{helper}\x1f{asked.text}\x1f{call.said}", None, calls)
        run = SubAgentRun(who, at_, key, content, step, child, told, answer if call.said else None, steps_)
        async with self._cube(user, cube, "write") as (info, store):
            kept, closed = await store.write(run, Change(actor=user, cause="sub-agent"))
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
            records = [] if said is None else records_of(said, who, "outcome", key)
            where = (info.name, episode, agent, source, read, words, records, directives, derive, fine)
            with parts.vectors.attending():
                outcome, ids = await store.write(Outcome(who, at_, key, *where), Change(actor=user, cause="outcome"))
            if not outcome.repeated:
                await self._handed_on(info, Stored(outcome.episode, 0, None, digest=ids), user, fine, unread)
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
        parts: tuple[Part, ...] = ()
        if isinstance(text, Message):
            given = checked_message(text, what)
            text, parts = given.text, given.parts
        if not isinstance(text, str) or is_blank(text):
            raise InvalidInput(f"{what} is blank or no text ({text!r:.40}); give the words that were said")
        zone = self.settings.timezone
        return Message(role, well_formed(text), self._moment(at), zone=zone, time_given=at is not None, parts=parts)

    def _images(self, said: Message) -> tuple[Mapping[str, Image], tuple[str, ...]]:
        """The images of a message that are kept, and a notice for each that is too large."""
        return images_of([said], self.settings.image_mb << 20) if self.settings.keep_images else ({}, ())

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
        from memos.evolution.episodes.boundary_model import judge

        return known[0].id, await judge(model, words, known[1], by_rule)

    async def _handed_on(
        self, info: CubeInfo, stored: Stored, user: str, fine: bool, unread: str | None, *, see: bool = False
    ) -> tuple[str, ...]:
        """Have what was stored read for facts, and embedded, and (`see`) its images described; the notices to give."""
        if stored.repeated:
            return ()
        if not stored.digest:
            if stored.steps:
                self._parts().background.wake(info, user)
            return ()
        shown = list(stored.digest[:1]) if see else []  # of a message in parts, the first has the marks
        handed = await self._parts().background.added(info, list(stored.digest), user, None, fine=fine, see=shown)
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


_NO_SCORE = (
    "how did it go? {}; give `score` from -1 (failed) to 1 (done well), or a `comment` that says it, such as "
    '"works, thanks" or "still broken"'
)


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


def _step_reported(info: CubeInfo, kept: Kept) -> StepReported:
    return StepReported(
        *(info.name, kept.place.episode, kept.place.turn, kept.id, kept.number),
        repeated=not kept.new,
        hint=kept.hint,
        notices=kept.notices,
    )
