"""Whether something learned applies to what an agent is doing now, how well, and with which values of its parameters. Pure;
shared by recall, which hands policies out, and by evolution, which repairs with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from memos.memory.learned import Action, Form, Parameter, PolicyBody, SkillBody
from memos.text.analysis import analyze, content_terms, is_stop
from memos.text.courtesy import bare_request
from memos.text.signature import error_signature, telling_line
from memos.text.template import fill, match, match_any, may_match, names, wide

MOST = 4_000  # characters of a goal or an input that are looked at
SAID, KIND_OF_ERROR, OF_TOOL = (
    1.0,
    0.85,
    0.35,
)  # how well: the pattern fits; the same kind of error; only the tool is the same
WARNED, BEGUN = 0.9, 0.5  # the very call is warned of; the call is the first step of it
ALIKE, LEAST_ALIKE = 0.8, 0.5  # a goal that is merely alike counts at most so much; below the least, not at all
ELSEWHERE = 0.6  # share that is left of it in another environment than where it was learned
WITHIN = 0.7  # share that is left where a goal's pattern only stands within what is asked
LEAST_WITHIN = 2  # words of its own that such a pattern must have
_END = " \t\n.!?。！？…"
_HOLE = re.compile(r"\{[a-z][a-z0-9_]{0,39}\}")


@dataclass(frozen=True, slots=True)
class Words:
    """What a text is about: its terms without stop words and parameters."""

    terms: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Situation:
    """What an agent is doing: the goal, the tool it calls or has called, with what, and the error that came of it. `earlier`:
    calls of the same task before, the newest first.
    """

    goal: str = ""
    tool: str = ""
    input: str = ""
    error: str = ""
    environment: str = ""
    agent: str = ""
    earlier: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class Applies:
    """How well something applies, in (0, 1], by what (`error`, `goal`, `alike`, `input`, `tool`, `scope`), and the values of
    parameters that the situation tells. `here`: whether it was seen to work in this environment (None: cannot be told).
    """

    strength: float
    by: str
    values: Mapping[str, str] = field(default_factory=dict)
    here: bool | None = None


def words_of(text: str) -> Words:
    """The words of a text or a template."""
    return Words(frozenset(content_terms(analyze(_HOLE.sub(" ", text[:MOST])).terms)))


def alike(asked: Words, said: Words) -> float:
    """How alike two texts are by their words, in [0, 1]: the harmonic mean of the shares they have in common; a long question is
    measured by no more than twice the words of what it is compared with. One common word among several says nothing.
    """
    common = len(asked.terms & said.terms)
    if not common or (common == 1 and max(len(said.terms), len(asked.terms)) > 1):
        return 0.0
    of_said, of_asked = common / len(said.terms), common / min(len(asked.terms), 2 * len(said.terms))
    return 2 * of_said * of_asked / (of_said + of_asked)


def most_alike(asked: Words, said: Sequence[Words]) -> float:
    """The best likeness to any of several ways to put it."""
    return max((alike(asked, words) for words in said), default=0.0)


def applies(
    body: PolicyBody, now: Situation, *, asked: Words | None = None, said: Sequence[Words] = ()
) -> Applies | None:
    """Whether a policy applies; None when it does not. `asked` and `said`: the words of the goal and of the policy, with which it
    may also apply by likeness alone.
    """
    if body.form is Form.DIRECTIVE:
        return _in_scope(body.scope, now)
    found = _best(body, now, asked, said)
    if found is None:
        return None
    values = {**told_by_calls(body, now, found.values), **found.values}
    places = body.environments or (body.environment,) * bool(body.environment)
    if not places or not now.environment:
        return replace(found, values=values)
    here = now.environment in places
    return replace(found, values=values, here=here, strength=found.strength * (1.0 if here else ELSEWHERE))


def skill_applies(
    body: SkillBody, now: Situation, *, asked: Words | None = None, said: Sequence[Words] = ()
) -> Applies | None:
    """Whether a skill applies by what it was learned for, as the policies behind it would; None when it does not. `said`: the
    words of its goals.
    """
    if not (body.goals or body.errors) or not _may_apply(body, now, asked, said):
        return None
    found = [applies(p, now, asked=asked, said=said) for p in _behind(body) if not (now.error and _in_vain(p, now))]
    return max((f for f in found if f is not None), key=lambda f: f.strength, default=None)


def _may_apply(body: SkillBody, now: Situation, asked: Words | None, said: Sequence[Words]) -> bool:
    """Whether a skill is worth a closer look: of a thousand, hardly any is."""
    goal, error = _low(now.goal), _low(now.error)
    if any(may_match(p, goal) for p in body.goals) or (error and any(may_match(p, error) for p in body.errors)):
        return True
    if (
        now.tool
        and now.input
        and any(a.tool in ("", now.tool) and may_match(a.input, _low(now.input)) for a in body.procedure[:1])
    ):
        return True
    return asked is not None and most_alike(asked, said) >= LEAST_ALIKE


def _in_vain(body: PolicyBody, now: Situation) -> bool:
    found = _best(body, now, None, ())
    return found is not None and was_tried(body, found.values, now)


def _behind(body: SkillBody) -> Iterator[PolicyBody]:
    """What a skill says, as policies: what resolves its errors, and how its goals are reached."""
    goal, goals = body.goals[0] if body.goals else "", body.goals[1:]
    about = PolicyBody(
        goal=goal, goals=goals, procedure=body.procedure, parameters=body.parameters, environment=body.environment
    )
    if body.errors:
        tool = body.failing[0] if len(body.failing) == 1 else ""
        yield replace(about, form=Form.FIX, tool=tool, error=body.errors[0], errors=body.errors[1:])
    if body.goals:
        yield about


def filled(text: str, found: Mapping[str, str]) -> str:
    """A text of a policy with the parameters that are known; the others stay as `{name}`."""
    return fill(text, found) if "{" in text else text


def filled_actions(actions: tuple[Action, ...], found: Mapping[str, str]) -> tuple[Action, ...]:
    """A procedure, with the parameters that are known."""
    return tuple(Action(a.tool, filled(a.input, found)) for a in actions)


def told_by_calls(body: PolicyBody, now: Situation, known: Mapping[str, str]) -> Mapping[str, str]:
    """Values of parameters that calls tell, the present one first: it is one of the steps of the procedure."""
    asked = {p.name for p in body.parameters} - known.keys()
    if not asked:
        return {}
    spaced = _wide(body.parameters)
    out: dict[str, str] = {}
    for done in (*((Action(now.tool, now.input),) if now.input else ()), *now.earlier):
        for action in body.procedure:
            open_ = asked - out.keys()
            if action.tool != done.tool or not open_ & set(names(action.input)) or not says_something(action.input):
                continue
            found = match(action.input, done.input[:MOST], wide=spaced, values={**known, **out})
            out |= {k: v for k, v in (found or {}).items() if k in open_}
    return out


def was_tried(body: PolicyBody, found: Mapping[str, str], now: Situation) -> bool:
    """Whether all that a policy says was done in this task already, the present call included unless it may pass by itself."""
    present = () if is_passing(now.error) else (Action(now.tool, now.input),)
    done = {_same(a) for a in (*now.earlier, *present)}
    steps = filled_actions(body.procedure, found)
    return bool(steps) and all(_same(a) in done for a in steps)


def is_passing(error: str) -> bool:
    """Whether a failure may pass by itself, so that the same call is worth another try."""
    return _PASSING.search(error[:MOST]) is not None


def _same(action: Action) -> tuple[str, str]:
    return action.tool, " ".join(action.input.split()).casefold()


def open_parameters(parameters: tuple[Parameter, ...], texts: str) -> tuple[Parameter, ...]:
    """The parameters that still stand in these texts."""
    return tuple(p for p in parameters if f"{{{p.name}}}" in texts)


def says_something(pattern: str) -> bool:
    """Whether a pattern has words of its own: one that is all parameters fits everything."""
    return any(map(str.isalnum, _HOLE.sub("", pattern)))


def _best(body: PolicyBody, now: Situation, asked: Words | None, said: Sequence[Words]) -> Applies | None:
    if body.form is Form.AVOID and now.error and (done := _by_input(body, now)) is not None:
        return done if body.prefer else None  # it was done just now, and failed: only what to do instead is left to say
    by_goal = _by_goal(body, now, said)
    by_error = _by_error(body, now, by_goal)
    if by_error is not None:
        return by_error
    if now.error and body.error:  # what failed now is another kind of failure than the one it resolves
        return None
    if by_goal is not None:
        return by_goal
    if (by_input := _by_input(body, now)) is not None:
        return by_input
    likeness = most_alike(asked, said) if asked is not None else 0.0
    return Applies(ALIKE * likeness, "alike") if likeness >= LEAST_ALIKE else None


def _by_error(body: PolicyBody, now: Situation, by_goal: Applies | None) -> Applies | None:
    if not body.error or not now.error or (body.tool and now.tool and body.tool != now.tool):
        return None
    known: Mapping[str, str] = by_goal.values if by_goal is not None else {}
    patterns, low = (body.error, *body.errors), now.error[:MOST].lower()
    line = _line(now.error)
    possible = tuple(p for p in patterns if may_match(p, low) or may_match(p, line.lower()))
    spaced = _wide(body.parameters) if possible else frozenset[str]()
    for values in (known, {}) if known else (known,):
        for text, whole in ((line, True), (now.error[:MOST], False)):
            found = match_any(possible, text, wide=spaced, whole=whole, values=values)
            if found is not None:
                return Applies(SAID, "error", {**known, **found})
    signature = _signature(line)
    if by_goal is not None and any(_kind(p, body.parameters) == signature for p in patterns):
        return Applies(
            KIND_OF_ERROR, "error", known
        )  # what a pattern names is what it is about, unless the goal says so too
    return None


def _by_goal(body: PolicyBody, now: Situation, said: Sequence[Words]) -> Applies | None:
    if not body.goal or not now.goal:
        return None
    goal = now.goal[:MOST].strip()
    low = goal.lower()
    possible = tuple(p for p in (body.goal, *body.goals) if may_match(p, low))
    if not possible:
        return None
    spaced = _wide(body.parameters)
    bare = goal.rstrip(_END)  # the end of a sentence is no part of a name; that of a path ("in ..") may be
    plain = bare_request(goal).rstrip(_END)
    for text in dict.fromkeys((plain, bare, goal) if bare[-1:].isalnum() else (goal, bare, plain)):
        values = match_any(possible, text, wide=spaced)
        if values is not None:
            return Applies(SAID * 0.95, "goal", values)
    own = said[0].terms if said else words_of(body.goal).terms
    if len(own) < LEAST_WITHIN or not names(body.goal):
        return None
    values = match(body.goal, goal, wide=spaced, whole=False)
    if values is None or any(map(is_stop, map(str.casefold, values.values()))):
        return None
    return Applies(SAID * 0.95 * WITHIN, "goal", values)


def _by_input(body: PolicyBody, now: Situation) -> Applies | None:
    """What is about to be called is what the policy warns of, or where it begins."""
    if not now.tool or not now.input:
        return None
    is_avoid = body.form is Form.AVOID
    if not is_avoid and now.error:  # it failed: how a task that begins with it is done is no help
        return None
    spaced = _wide(body.parameters)
    for action in body.procedure if is_avoid else body.procedure[:1]:
        if action.tool not in ("", now.tool) or not says_something(action.input):
            continue
        if (values := match(action.input, now.input[:MOST], wide=spaced)) is not None:
            return Applies(WARNED if is_avoid else BEGUN, "input", values)
    return Applies(OF_TOOL, "tool") if is_avoid and body.tool == now.tool and not body.error else None


def _in_scope(scope: str, now: Situation) -> Applies | None:
    what, _, name = scope.partition(":")
    if what == "all" or not name:
        return Applies(1.0, "scope")
    here = {"agent": now.agent, "tool": now.tool, "environment": now.environment}.get(what)
    if here == name:
        return Applies(1.0, "scope")
    return Applies(0.8, "scope") if what == "tool" and not now.tool else None  # any tool may be called in a turn


_PASSING = re.compile(
    r"connection (?:was )?(?:reset|closed|aborted)|broken pipe|timed? ?out|temporar|try again|too many requests|rate limit"
    r"|\b(?:429|502|503|504)\b|超时|稍后|重试|连接被?重置|暂时",
    re.IGNORECASE,
)

# A turn asks about a thousand policies: what depends on only one side is kept.


@lru_cache(64)
def _low(text: str) -> str:
    return text[:MOST].lower()


@lru_cache(64)
def _line(error: str) -> str:
    return telling_line(error)


@lru_cache(256)
def _signature(line: str) -> str:
    return error_signature(line).casefold()


@lru_cache(8_192)
def _kind(error: str, parameters: tuple[Parameter, ...]) -> str:
    """The signature of an error that a pattern was made of."""
    examples = {p.name: p.examples[0] for p in parameters if p.examples}
    return error_signature(filled(error, examples)).casefold()


@lru_cache(8_192)
def _wide(parameters: tuple[Parameter, ...]) -> frozenset[str]:
    return wide(parameters)
