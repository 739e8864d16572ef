"""Guidance: the policies, directives and hints that apply to what an agent is doing, each as one line that says when, what to do,
and how far it can be trusted. Parameters that the situation tells are filled in.

A line of a fix or a path reads ``- When <trigger>: do `<tool>`: `<input>`; then `<tool>`: `<input>`. (<what is known of it>)
[p:<id>]``; of an avoid ``- Avoid <what>: ...``; of a directive ``- The user said: “...”``. `text.calls.calls_in` reads the calls
back. What a person wrote in place of a policy is said in that person's words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from memos.memory.acting import RecalledItem, Tier
from memos.memory.learned import NOT_IN, TOLD_IN, Action, Form, Hint, Parameter, Policy, PolicyBody, State
from memos.recall.agent_block import Candidate, mark
from memos.recall.lore import Entry, Lore
from memos.recall.pack import escape
from memos.text import calls
from memos.text.applies import (
    Applies,
    Situation,
    Words,
    applies,
    filled,
    filled_actions,
    open_parameters,
    was_tried,
    words_of,
)
from memos.text.calls import INPUT, clipped, counted
from memos.text.lazy import LazyPattern

SAID = 300  # characters of a phrase that are shown
UNTESTED = 0.7  # share of its rank that a candidate keeps
SUCCEEDS = " succeeds"  # with which a check ends that is a call
FORBIDDEN = 0.9  # strength of what an agent is never to do, wherever it was told so
POOL = 20  # policies whose trials are looked up
_ORDER: Mapping[Form, int] = {Form.DIRECTIVE: 0, Form.FIX: 3, Form.PATH: 4, Form.AVOID: 5}
_ANSWERING = LazyPattern(
    r"\b(?:answer|repl(?:y|ies)|respond|respons\w+|explain|speak|talk|emojis?)\b|回答|回复|答复|说话|解释|表情",
    re.IGNORECASE,
)  # what holds of whatever is said, by whomever
_ANY_WORK = words_of("run use add make set get file new change do work start show project user task").terms
_HINTS = 2.0  # where hints stand


@dataclass(frozen=True, slots=True)
class Matched:
    """A policy that applies, and how."""

    entry: Entry[PolicyBody]
    how: Applies

    @property
    def id(self) -> str:
        """The id of the policy."""
        return self.entry.id


def matching(lore: Lore, now: Situation, asked: Words | None, user: str | None = None) -> list[Matched]:
    """The policies of a cube that apply, best first, at most `POOL`. `asked` None: not by likeness of the goal alone. `user`: who
    is told; a directive is its owner's, and nobody is told what somebody else wants.
    """

    @cache
    def here() -> frozenset[str]:
        return words_of(" ".join((now.goal, now.tool, now.input, now.error))).terms

    found = [
        Matched(entry, how)
        for entry in lore.policies.values()
        if _may_tell(entry, user, now, here)
        and (how := applies(entry.body, now, asked=asked, said=entry.words)) is not None
    ]
    found = [Matched(m.entry, replace(m.how, here=False)) if _told_elsewhere(m.entry, now) else m for m in found]
    found = _fit_for_here([m for m in found if not (now.error and _tried_in_vain(m, now))])
    found.sort(key=lambda m: (-_first(m), m.id))
    return found[:POOL]


def _tried_in_vain(found: Matched, now: Situation) -> bool:
    body = found.entry.body
    return body.form in (Form.FIX, Form.PATH) and was_tried(body, found.how.values, now)


def _may_tell(entry: Entry[PolicyBody], user: str | None, now: Situation, here: Callable[[], frozenset[str]]) -> bool:
    if entry.body.form is not Form.DIRECTIVE:
        return True
    return (user is None or entry.memory.owner in (None, user)) and _concerns(entry, now, here)


def _concerns(entry: Entry[PolicyBody], now: Situation, here: Callable[[], frozenset[str]]) -> bool:
    """Whether a directive that holds everywhere concerns an agent at work: it was told in this environment; elsewhere, where it
    says how to answer, is about what is asked or called, or forbids something to this agent. Not where something else was said
    of this environment. `here`: the words of the situation.
    """
    if now.environment and now.environment in (entry.memory.body.get(NOT_IN) or ()):
        return False
    if not _told_elsewhere(entry, now):
        return True
    told, body = entry.memory.body[TOLD_IN], entry.body
    if body.avoid and not body.prefer and body.strength >= FORBIDDEN and any(now.agent == agent for _, agent in told):
        return True
    if _ANSWERING.search(entry.memory.text):
        return True
    return bool((words_of(entry.memory.text).terms & here()) - _ANY_WORK)


def _told_elsewhere(entry: Entry[PolicyBody], now: Situation) -> bool:
    """Whether a directive without a scope was told an agent at work in other environments than this one."""
    told, body = entry.memory.body.get(TOLD_IN) or (), entry.body
    if body.form is not Form.DIRECTIVE or body.scope != "all" or not now.environment:
        return False
    return bool(told) and all(place not in ("", now.environment) for place, _ in told)


def _fit_for_here(found: list[Matched]) -> list[Matched]:
    """Of policies that answer the same error or goal, those that were seen to work in this environment, where there are some:
    what another one needs is not what this one does.
    """
    here = {(m.entry.body.form, m.how.by) for m in found if m.how.here and m.entry.body.state is State.ACTIVE}
    return [m for m in found if m.how.here is not False or (m.entry.body.form, m.how.by) not in here]


def policy_candidate(policy: Policy, how: Applies, cube: str) -> Candidate:
    """The line of a policy that applies."""
    body = policy.body
    if body.form is Form.DIRECTIVE:
        text, rank, place = _directive(policy, how), 2 + body.strength * how.strength, -body.strength
    elif body.edited and policy.memory.text.strip():
        text, rank = _written(policy, how), _rank(policy, how)
        place = _ORDER[body.form]
    else:
        text, rank = _policy_line(policy, how), _rank(policy, how)
        place = _ORDER[body.form] + 0.9 * (1 - round(policy.record.reliability, 1))  # the surest of a form first
    untested = body.state is not State.ACTIVE
    own = body.form in (Form.FIX, Form.PATH) and not body.edited
    steps = tuple(a for a in filled_actions(body.procedure, how.values) if a.tool) if own else ()
    item = RecalledItem(Tier.GUIDANCE, policy.id, cube, text, min(1.0, rank), trial=True, calls=steps)
    return Candidate(item, rank, (place, policy.id), untested=untested and body.form is not Form.DIRECTIVE)


def hint_candidate(hint: Hint, text: str, cube: str, memory: str) -> Candidate:
    """The line of a hint: what failed again and again, and what to do instead. `memory`: what it draws from."""
    item = RecalledItem(Tier.GUIDANCE, memory, cube, text, 1.0, trial=hint.policy is not None, hint=hint.id)
    return Candidate(item, 3.0, (_HINTS, f"{hint.id:012d}"))


def hint_line(hint: Hint) -> str:
    """A hint as a line of guidance."""
    instead = f": do {escape(hint.prefer)}" if hint.prefer else ": do something else"
    again = bool(hint.avoid) and hint.avoid in hint.prefer and hint.prefer != hint.avoid  # it is what comes last
    avoid = (
        f"; do not repeat {f'{escape(hint.avoid)} before that' if again else escape(hint.avoid)}" if hint.avoid else ""
    )
    return f"- After {hint.failures} failures of {escape(hint.tool)} in a row{instead}{avoid}. [p:hint-{hint.id}]"


def known_of(parts: Iterable[str]) -> str:
    """What is known of something, in brackets; nothing where nothing is."""
    said = ", ".join(p for p in parts if p)
    return f" ({said})" if said else ""


def trust(passes: int, fails: int, reliability: float, untested: bool) -> str:
    """How something fared so far. What only changes by being shown is not said: the same memory gives the same words."""
    tried = f"worked {passes} of {counted(passes + fails, 'time')}" if passes + fails else ""
    sure = f"reliability {reliability:.2f}" if passes + fails else ""
    return ", ".join(x for x in ("on trial" if untested else "", tried, sure) if x)


def repeats(verification: str, procedure: tuple[Action, ...]) -> bool:
    """Whether a check is nothing but that the last step works."""
    as_call = as_call_of(verification, tuple(a.tool for a in procedure[-1:]))
    return as_call is not None and as_call[0] == procedure[-1] and as_call[1] in ("", SUCCEEDS)


def phrase(text: str, tools: Iterable[str], values: Mapping[str, str], most: int = INPUT) -> str:
    """A phrase, filled in; what is a call of one of the tools ("shell: ls succeeds") reads like the other calls."""
    as_call = as_call_of(text, tools)
    if as_call is not None:
        action, after = as_call
        return escape(calls.call(Action(action.tool, filled(action.input, values))) + after)
    return escape(clipped(filled(text, values), most)).rstrip(".")


def as_call_of(text: str, tools: Iterable[str]) -> tuple[Action, str] | None:
    """The call that a phrase is, and what stands after it."""
    for tool in dict.fromkeys(tools):
        if tool and text.startswith(f"{tool}: "):
            input = text[len(tool) + 2 :]
            return Action(tool, input.removesuffix(SUCCEEDS)), SUCCEEDS if input.endswith(SUCCEEDS) else ""
    return None


def parameters(open_: Iterable[Parameter]) -> str:
    """What is to be filled in, with values seen."""
    said = []
    for p in open_:
        seen = ", ".join(escape(clipped(x, 60)) for x in p.examples[:3])
        about = f"{escape(clipped(p.description, 120))}" if p.description else ""
        said.append(f"{{{p.name}}}{f' is {about}' if about else ''}{f', for example {seen}' if seen else ''}")
    return "; ".join(said)


def _policy_line(policy: Policy, how: Applies) -> str:
    body, record = policy.body, policy.record
    steps = filled_actions(body.procedure, how.values)
    trigger = _quoted(escape(clipped(filled(body.trigger or body.error or body.goal, how.values), SAID)).rstrip(".:"))
    said = [_avoid(body, how, trigger, steps) if body.form is Form.AVOID else _do(body, how, trigger, steps)]
    if body.verification and not repeats(body.verification, body.procedure):
        said.append(f"Check: {_phrase(body.verification, body, how)}.")
    if body.avoid and body.form is not Form.AVOID:
        said.append(f"Avoid: {_phrase(body.avoid, body, how)}.")
    if body.boundary:
        said.append(f"Not seen to hold: {_phrase(body.boundary, body, how)}.")
    if asked := parameters(open_parameters(body.parameters, " ".join(said))):
        said.append(f"Fill in: {asked}.")
    known = known_of(
        (
            _since(policy),
            f"from {counted(record.support, 'task')}" if record.support else "",
            trust(record.passes, record.fails, record.reliability, body.state is not State.ACTIVE),
            _where(body, how),
        )
    )
    return f"- {' '.join(said)}{known} {mark(Tier.GUIDANCE, policy.id)}"


def _do(body: PolicyBody, how: Applies, trigger: str, steps: tuple[Action, ...]) -> str:
    what = escape(calls.procedure(steps)) or _phrase(body.prefer, body, how)
    return f"When {_lower(trigger)}: do {what}." if trigger else f"Do {what}."


def _avoid(body: PolicyBody, how: Applies, trigger: str, steps: tuple[Action, ...]) -> str:
    what = escape(", ".join(map(calls.call, steps))) or _phrase(body.avoid, body, how) or trigger
    why = f"{', since' if ' fails with ' in trigger else ':'} {trigger}" if trigger and trigger != what else ""
    more = f" {_phrase(body.avoid, body, how)}." if steps and body.avoid and not _as_call(body.avoid, body) else ""
    rather = f" Rather: {_phrase(body.prefer, body, how)}." if body.prefer else ""
    return f"Avoid {what}{why}.{more}{rather}"


def _written(policy: Policy, how: Applies) -> str:
    """The line of a policy that a person wrote anew: those words, and what is known of how it fares."""
    body, record = policy.body, policy.record
    said = escape(" ".join(clipped(filled(policy.memory.text, how.values), 2 * SAID).split()))
    sure = trust(record.passes, record.fails, record.reliability, body.state is not State.ACTIVE)
    return f"- {said}{known_of((_since(policy), 'written by a person', sure))} {mark(Tier.GUIDANCE, policy.id)}"


def _directive(policy: Policy, how: Applies) -> str:
    """What somebody wants, in the words in which it was said where they are known."""
    body, text = policy.body, " ".join(policy.memory.text.split())
    scope = "" if body.scope == "all" else f"for {escape(body.scope.replace(':', ' ', 1))}"
    if how.here is False:
        scope = f"told in {escape(', '.join(dict.fromkeys(place for place, _ in policy.memory.body.get(TOLD_IN, ()))))}"
    strength = f"strength {body.strength:.2f}"
    own = bool(text) and (body.edited or body.author == "user") and text not in _as_kept(body)
    if own or not (body.prefer or body.avoid):
        said = escape(clipped(text, 2 * SAID))
        said = (
            f"The user said: “{said}{'.' * said[-1:].isalnum()}”" if body.author == "user" else f"{said.rstrip('.')}."
        )
        known = known_of((_since(policy), scope, strength))
    else:
        known = known_of((_since(policy), scope, strength, "" if body.author != "user" else "said by the user"))
        said = f"{_wanted(body)}."
    return f"- {said}{known} {mark(Tier.GUIDANCE, policy.id)}"


def _wanted(body: PolicyBody) -> str:
    prefer, avoid, when = (escape(clipped(x, SAID)).rstrip(".") for x in (body.prefer, body.avoid, body.trigger))
    said = f"Always {prefer}" if prefer else f"Never {avoid}"
    if prefer and avoid:
        said = f"Prefer “{prefer}” over “{avoid}”"
    return f"{said}, {when}" if when else said


def _as_kept(body: PolicyBody) -> tuple[str, ...]:
    """The texts that a directive has for want of the words in which it was said."""
    parts = (body.prefer, f"not: {body.avoid}" if body.avoid else "", body.trigger)
    return ("; ".join(p for p in parts if p), body.prefer, body.avoid)


def _phrase(text: str, body: PolicyBody, how: Applies) -> str:
    return phrase(text, _tools(body), how.values)


def _as_call(text: str, body: PolicyBody) -> tuple[Action, str] | None:
    return as_call_of(text, _tools(body))


def _tools(body: PolicyBody) -> tuple[str, ...]:
    return (body.tool, *(a.tool for a in body.procedure))


def _quoted(trigger: str) -> str:
    """A trigger with the error or the goal that it tells of in quotation marks."""
    for says in ("fails with", "asked to"):
        what, told, words = trigger.partition(f"{says}: ")
        if told and words:
            return f"{what}{says} “{words}”"
    return trigger


def _lower(text: str) -> str:
    """A trigger after "When": without its own "when", and not as the beginning of a sentence."""
    text = re.sub(r"^(?:when|if)\s+", "", text, flags=re.IGNORECASE)
    if " fails with " in text:  # it begins with the name of a tool
        return text
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text


def _since(policy: Policy) -> str:
    when = policy.memory.happened_at
    return f"since {when:%Y-%m-%d}" if when is not None else ""


def _where(body: PolicyBody, how: Applies) -> str:
    """Where it was seen to work, if that is not everywhere."""
    places = body.environments or ((body.environment,) if body.environment else ())
    if how.here is False:
        return f"not tried here, only in {escape(', '.join(places[:3]))}"
    return f"seen in {escape(places[0])}" if len(places) == 1 else ""


def _rank(policy: Policy, how: Applies) -> float:
    rank = how.strength * (0.5 + 0.5 * policy.record.reliability)
    return rank if policy.body.state is State.ACTIVE else rank * UNTESTED


def _first(found: Matched) -> float:
    """The rank without trials: what decides whose trials are looked up."""
    body = found.entry.body
    if body.form is Form.DIRECTIVE:
        return 2 + body.strength * found.how.strength
    return found.how.strength * (1.0 if body.state is State.ACTIVE else UNTESTED)
