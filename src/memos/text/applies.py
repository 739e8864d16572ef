"""Whether something learned applies to what an agent is doing now, how well, and with which values of its parameters. Pure;
shared by recall, which hands policies out, and by evolution, which repairs with them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from memos.memory.learned import Action, Form, Parameter, PolicyBody
from memos.text.analysis import analyze, content_terms, is_stop
from memos.text.signature import error_signature, telling_line
from memos.text.template import fill, match, match_any, may_match, names, wide

MOST = 4_000  # characters of a goal or an input that are looked at
SAID, KIND_OF_ERROR, OF_TOOL = (
    1.0,
    0.85,
    0.35,
)  # how well: the pattern fits; the same kind of error; only the tool is the same
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
    """What an agent is doing: the goal, the tool it calls or has called, with what, and the error that came of it."""

    goal: str = ""
    tool: str = ""
    input: str = ""
    error: str = ""
    environment: str = ""
    agent: str = ""


@dataclass(frozen=True, slots=True)
class Applies:
    """How well something applies, in (0, 1], by what (`error`, `goal`, `alike`, `input`, `tool`, `scope`), and the values of
    parameters that the situation tells.
    """

    strength: float
    by: str
    values: Mapping[str, str] = field(default_factory=dict)


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
    if found is not None and now.input and found.by != "input":
        found = replace(found, values={**told_by_call(body, now), **found.values})
    places = body.environments or (body.environment,) * bool(body.environment)
    if found is None or not places or not now.environment or now.environment in places:
        return found
    return replace(found, strength=found.strength * ELSEWHERE)


def filled(text: str, found: Mapping[str, str]) -> str:
    """A text of a policy with the parameters that are known; the others stay as `{name}`."""
    return fill(text, found) if "{" in text else text


def filled_actions(actions: tuple[Action, ...], found: Mapping[str, str]) -> tuple[Action, ...]:
    """A procedure, with the parameters that are known."""
    return tuple(Action(a.tool, filled(a.input, found)) for a in actions)


def told_by_call(body: PolicyBody, now: Situation) -> Mapping[str, str]:
    """Values of parameters that a call tells: it is one of the steps of the procedure."""
    spaced = _wide(body.parameters)
    for action in body.procedure:
        if action.tool == now.tool and (found := match(action.input, now.input[:MOST], wide=spaced)) is not None:
            return found
    return {}


def open_parameters(parameters: tuple[Parameter, ...], texts: str) -> tuple[Parameter, ...]:
    """The parameters that still stand in these texts."""
    return tuple(p for p in parameters if f"{{{p.name}}}" in texts)


def _best(body: PolicyBody, now: Situation, asked: Words | None, said: Sequence[Words]) -> Applies | None:
    by_goal = _by_goal(body, now, said)
    by_error = _by_error(body, now, by_goal.values if by_goal is not None else {})
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


def _by_error(body: PolicyBody, now: Situation, known: Mapping[str, str]) -> Applies | None:
    if not body.error or not now.error or (body.tool and now.tool and body.tool != now.tool):
        return None
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
    if any(_kind(p, body.parameters) == signature for p in patterns):
        return Applies(KIND_OF_ERROR, "error", known)
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
    for text in dict.fromkeys((goal, goal.rstrip(_END))):
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
    spaced = _wide(body.parameters)
    for action in body.procedure if body.form is Form.AVOID else body.procedure[:1]:
        if action.tool in ("", now.tool) and (values := match(action.input, now.input[:MOST], wide=spaced)) is not None:
            return Applies(0.9, "input", values)
    return Applies(OF_TOOL, "tool") if body.form is Form.AVOID and body.tool == now.tool and not body.error else None


def _in_scope(scope: str, now: Situation) -> Applies | None:
    what, _, name = scope.partition(":")
    if what == "all" or not name:
        return Applies(1.0, "scope")
    here = {"agent": now.agent, "tool": now.tool, "environment": now.environment}.get(what)
    if here == name:
        return Applies(1.0, "scope")
    return Applies(0.8, "scope") if what == "tool" and not now.tool else None  # any tool may be called in a turn


# A turn asks about a thousand policies: what depends on only one side is kept.


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
