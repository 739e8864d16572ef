"""Decision repair: after a tool failed again and again in the same context, a hint says what to do instead and what not to
repeat.

All of it is rows (law 2): a hint is made in the change that stores the step, delivered in the answer to it or in the next recall
of its session, and validated by what happens then. What it says is read from memories when it is shown (law 1).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import apsw

from memos.evolution.case import Case
from memos.evolution.value.reliability import reliability_of
from memos.memory.episode import FAILURE, SUCCESS, Step, ToolUse
from memos.memory.ids import id_from_bytes
from memos.memory.learned import Action, Form, Hint, PolicyBody, State
from memos.memory.model import Memory, Status
from memos.storage.sqlite import lived
from memos.text.applies import Applies, Situation, applies, filled, filled_actions, is_passing, was_tried
from memos.text.calls import call, procedure
from memos.text.signature import context_key
from memos.text.template import match, may_match, names, wide

FAILURES = 3  # in a row, of one tool in one context, before there is a hint
WINDOW = 5  # steps of the tool in the context that are looked at
COOLDOWN = timedelta(seconds=60)  # between two hints on one context
_CALLS = 12  # of the task, from which values of parameters are taken
_LIKE = 3  # earlier failures of the same kind that are looked at
_GOAL_WEIGHT = 0.5  # a path, known by its goal, stands behind a fix that knows the error
_POLICIES = (
    "SELECT id, body->>'error', body->>'goal', coalesce(body->>'errors','[]'), coalesce(body->>'goals','[]') "
    "FROM memories WHERE kind='policy' AND kind IN ('policy','world_model','skill') AND known_to IS NULL "
    "AND status='active' AND body->>'form' IN ('fix','path') AND coalesce(body->>'state','candidate')<>'retired' "
    "AND (coalesce(body->>'tool','') IN ('', ?1) OR EXISTS(SELECT 1 FROM json_each(body->'procedure') p WHERE "
    "p.value->>'tool'=?1)) ORDER BY n DESC LIMIT 2000"
)
_WARNINGS = (
    "SELECT id FROM memories WHERE kind='policy' AND kind IN ('policy','world_model','skill') AND known_to IS NULL "
    "AND status='active' AND body->>'form'='avoid' AND body->>'state'='active' AND body->>'prefer'<>'' "
    "AND body->>'tool'=?1 ORDER BY n DESC LIMIT 200"
)


def after_step(tx: Any, number: int) -> Hint | None:
    """Judge the hints that a step bears out or not, and make one where its tool failed again and again. To be called in the
    change that stores the step.
    """
    step = lived.place(tx.db, number)
    if step is None or step.tool is None or step.context is None:
        return None
    _validate(tx, step)
    if step.ok is not False:
        return None
    failures = lived.failures_in_a_row(tx.db, step.session, step.tool, step.context, WINDOW)
    if len(failures) < FAILURES or lived.hint_made(tx.db, step.session, step.tool, step.context, tx.now - COOLDOWN):
        return None
    advice = _advice(tx.db, step)
    hint = lived.add_hint(
        tx,
        session=step.session,
        episode=step.episode,
        tool=step.tool,
        context=step.context,
        failures=len(failures),
        after=number,
        at=tx.now,
        memory=advice.policy,
        prefer=advice.prefer,
        avoid=step.id,
    )
    lived.tell(
        tx, "hint.made", memory=advice.policy, episode=step.episode, numbers={"hint": hint, "failures": len(failures)}
    )
    return find(tx.db, hint)


def made_of(db: apsw.Connection, number: int) -> Hint | None:
    """The hint that was made of the failure of a step; None when none was."""
    hint = lived.hint_after(db, number)
    return None if hint is None else find(db, hint)


def delivered(tx: Any, hint: int) -> bool:
    """Note that a hint was handed to its agent, once; what it draws from is tried with it. False when it was before."""
    stored = lived.hint(tx.db, hint)
    if stored is None or stored.delivered_at is not None:
        return False
    lived.mark_delivered(tx, hint, tx.now)
    lived.tell(tx, "hint.delivered", memory=stored.memory, episode=stored.episode, numbers={"hint": hint})
    if stored.memory is not None:
        lived.hand_out(tx, stored.memory, stored.episode, tx.now, after=stored.after)
    return True


def settle(tx: Any, case: Case) -> None:
    """Judge the hints of an episode that no later step told of by how it went. Doing it again gives the same."""
    value = case.reward.value
    good = None if value is None or FAILURE < value < SUCCESS else value >= SUCCESS
    for stored in lived.hints(tx.db, episode=case.episode.id, limit=1_000):
        if stored.delivered_at is not None and lived.settle_hint(tx, stored.id, good) and good is not None:
            _tell_validated(tx, stored, good)


def waiting(db: apsw.Connection, session: str, *, again: bool = False) -> list[Hint]:
    """The hints of a session that its agent has not been handed yet, oldest first; `again`: also those that nothing was told of
    since.
    """
    found = [h for h in lived.hints(db, session=session, open_only=True) if again or h.delivered_at is None]
    return [hint for stored in reversed(found) if (hint := _hint(db, stored)) is not None]


def find(db: apsw.Connection, hint: int) -> Hint | None:
    """A hint with what it says; None when there is none, or what it draws from is gone."""
    stored = lived.hint(db, hint)
    return None if stored is None else _hint(db, stored)


def done_of(steps: Iterable[Step]) -> tuple[Action, ...]:
    """What was done in these steps, in their order; not what failed in a way that may pass by itself."""
    used = (s.use for s in steps if s.use is not None)
    return tuple(Action(u.tool, u.input) for u in used if not (u.failed and is_passing(u.error or u.output)))


# -- what is said ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Advice:
    """What a hint draws from: a policy, or a step that worked."""

    policy: str | None = None
    prefer: str | None = None


def _hint(db: apsw.Connection, stored: lived.StoredHint) -> Hint | None:
    ids = [i for i in (stored.memory, stored.prefer, stored.avoid) if i is not None]
    there = {m.id: m for m in lived.memories(db, ids) if m.status is not Status.RETRACTED}
    failed = lived.tool_use(there[stored.avoid]) if stored.avoid in there else None
    return Hint(
        id=stored.id,
        session=stored.session,
        episode=stored.episode,
        tool=stored.tool,
        failures=stored.failures,
        prefer=_prefer(db, stored, there, failed),
        avoid=_call(failed),
        made_at=stored.made_at,
        delivered_at=stored.delivered_at,
        validated=stored.validated,
        policy=stored.memory if stored.memory in there else None,
    )


def _prefer(db: apsw.Connection, stored: lived.StoredHint, there: dict[str, Memory], failed: ToolUse | None) -> str:
    policy = there.get(stored.memory or "")
    if policy is not None and policy.status is Status.ACTIVE:
        body = PolicyBody.of(policy)
        if body.form is Form.AVOID:
            return procedure(_instead(body, failed))
        how = applies(body, _situation(db, stored.episode, failed)) or Applies(1.0, "error")
        return procedure(filled_actions(body.procedure, how.values)) or filled(body.prefer, how.values)
    worked = there.get(stored.prefer or "")
    return _call(lived.tool_use(worked)) if worked is not None else ""


def _call(use: ToolUse | None) -> str:
    return "" if use is None else call(Action(use.tool, use.input))


def _situation(db: apsw.Connection, episode: str, failed: ToolUse | None) -> Situation:
    going = lived.episode(db, episode)
    calls = lived.last_calls(db, episode, _CALLS)
    return Situation(
        goal=going.goal if going is not None else "",
        environment=going.environment if going is not None else "",
        tool=failed.tool if failed is not None else "",
        input=failed.input if failed is not None else "",
        error=(failed.error or failed.output) if failed is not None else "",
        earlier=done_of(calls),
    )


# -- where it comes from --------------------------------------------------------------------------------------------


def _advice(db: apsw.Connection, step: lived.Place) -> _Advice:
    """A policy that applies; else what worked for the very same call, or after a failure of the same kind; else nothing."""
    failed = lived.steps_by_number(db, [step.number]).get(step.number)
    if failed is None or failed.use is None:
        return _Advice()
    policy = _policy(db, step, failed.use)
    if policy is not None:
        return _Advice(policy=policy)
    assert step.tool is not None and step.context is not None
    worked = lived.steps_in_context(db, step.tool, step.context, ok=True, limit=1)
    if worked and not _same_call(worked[0][1].use, failed.use):
        return _Advice(prefer=worked[0][1].id)
    resolved = _resolved(db, step, failed.use)
    return _Advice(prefer=resolved) if resolved is not None else _Advice(policy=_warning(db, step, failed.use))


def _policy(db: apsw.Connection, step: lived.Place, failed: ToolUse) -> str | None:
    """The best policy that applies, was not disproved in this episode, and says something that was not tried in vain."""
    now = _situation(db, step.episode, failed)
    failures = (s for s in lived.last_calls(db, step.episode, _CALLS) if s.use is not None and s.use.failed)
    in_vain = {context_key(a.tool, a.input) for a in done_of(failures)}
    ids = _possible(db, now)
    fits = [
        (m, body, how) for m in lived.memories(db, ids) if (how := applies(body := PolicyBody.of(m), now)) is not None
    ]
    at_home = any(how.here for _, _, how in fits)
    best: tuple[float, str] | None = None
    for memory, body, how in fits:
        if how.by not in ("error", "goal") or not (body.procedure or body.prefer) or (at_home and how.here is False):
            continue
        steps = filled_actions(body.procedure, how.values)
        if steps and (context_key(steps[0].tool, steps[0].input) in in_vain or was_tried(body, how.values, now)):
            continue
        if lived.disproved(db, step.episode, memory.id):
            continue
        sure = reliability_of(db, memory.id, lived.counted(db, memory.id).support)
        worth = how.strength * sure * (1.0 if body.state is State.ACTIVE else 0.7)
        worth *= 1.0 if body.form is Form.FIX else _GOAL_WEIGHT
        if best is None or (worth, memory.id) > best:
            best = (worth, memory.id)
    return None if best is None else best[1]


def _possible(db: apsw.Connection, now: Situation) -> list[str]:
    """Policies of which an error or goal may fit, by words of their patterns: most of a thousand need not be read."""
    goal, error = now.goal.lower(), now.error.lower()
    return [
        id_from_bytes(id)
        for id, of_error, of_goal, errors, goals in db.execute(_POLICIES, (now.tool,))
        if any(p and may_match(p, error) for p in (of_error, *json.loads(errors)))
        or any(p and may_match(p, goal) for p in (of_goal, *json.loads(goals)))
    ]


def _resolved(db: apsw.Connection, step: lived.Place, failed: ToolUse) -> str | None:
    """What was done in another episode between the same kind of failure and the success that followed it, where that says the
    same here: nothing in it differs from case to case.
    """
    if step.signature is None or step.tool is None:
        return None
    for before in lived.failed_like(db, step.tool, step.signature, but=step.episode, limit=_LIKE):
        later = lived.calls_after(db, before.episode, before.number)
        end = next((i for i, c in enumerate(later) if c.ok and c.context == before.context), None)
        if end is None:
            continue
        helped = [c for c in later[:end] if c.ok and c.context != before.context]
        told = lived.steps_by_number(db, [before.number, *(c.number for c in helped)])
        was = told.get(before.number)
        theirs = _own_words(was, failed) if was is not None else set()
        for it in reversed(helped):
            use = told[it.number].use if it.number in told else None
            if use is not None and not theirs & set(use.input.split()):
                return it.id
    return None


def _warning(db: apsw.Connection, step: lived.Place, failed: ToolUse) -> str | None:
    """The newest policy that says to avoid this call and what to do instead."""
    found = db.execute(_WARNINGS, (failed.tool,))
    for memory in lived.memories(db, [id_from_bytes(id) for (id,) in found]):
        if _instead(PolicyBody.of(memory), failed) and not lived.disproved(db, step.episode, memory.id):
            return memory.id
    return None


def _instead(body: PolicyBody, failed: ToolUse | None) -> tuple[Action, ...]:
    """What a policy that says to avoid this call says to do instead; nothing where that cannot be filled in."""
    tool, _, given = body.prefer.partition(": ")
    warned = next((a for a in body.procedure if failed is not None and a.tool == failed.tool), None)
    if not given or failed is None or warned is None:
        return ()
    values = match(warned.input, failed.input, wide=wide(body.parameters))
    if values is None or {*names(given)} - {*values}:
        return ()
    return filled_actions((Action(tool, given),), values)


def _own_words(was: Step, failed: ToolUse) -> set[str]:
    """The words of an earlier failure that the present one has not."""
    use = was.use or ToolUse("")
    return set(f"{use.input} {use.error or use.output}".split()) - set(
        f"{failed.input} {failed.error or failed.output}".split()
    )


def _same_call(a: ToolUse | None, b: ToolUse) -> bool:
    return a is not None and a.tool == b.tool and " ".join(a.input.split()) == " ".join(b.input.split())


# -- what came of it ------------------------------------------------------------------------------------------------


def _validate(tx: Any, step: lived.Place) -> None:
    """A step of a hint's tool tells of it: it worked where it had failed, or did what the hint says; or it failed as before."""
    if step.ok is None:
        return
    for stored in lived.hints(tx.db, session=step.session, open_only=True):
        if stored.delivered_at is None or step.number <= stored.after:
            continue
        same = stored.tool == step.tool and stored.context == step.context
        followed = same or (step.ok and step.context in _preferred(tx.db, stored))
        if followed and lived.validate_hint(tx, stored.id, step.ok, tx.now):
            _tell_validated(tx, stored, step.ok)


def _preferred(db: apsw.Connection, stored: lived.StoredHint) -> Sequence[bytes]:
    """The context of the last thing that a hint says to do."""
    hint_steps: tuple[Action, ...] = ()
    there = {m.id: m for m in lived.memories(db, [i for i in (stored.memory, stored.prefer, stored.avoid) if i])}
    if stored.memory in there:
        body = PolicyBody.of(there[stored.memory])
        failed = lived.tool_use(there[stored.avoid]) if stored.avoid in there else None
        how = applies(body, _situation(db, stored.episode, failed)) or Applies(1.0, "error")
        hint_steps = _instead(body, failed) if body.form is Form.AVOID else filled_actions(body.procedure, how.values)
    elif stored.prefer in there and (use := lived.tool_use(there[stored.prefer])) is not None:
        hint_steps = (Action(use.tool, use.input),)
    return [context_key(a.tool, a.input) for a in hint_steps[-1:] if a.tool]


def _tell_validated(tx: Any, stored: lived.StoredHint, good: bool) -> None:
    numbers = {"hint": stored.id, "good": int(good)}
    lived.tell(tx, "hint.validated", memory=stored.memory, episode=stored.episode, numbers=numbers)
