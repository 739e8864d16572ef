"""What a skill says, made of the policies of one family and of their cases by rules alone, and whether the cases bear it out.

Extractive: every tool and every input stands in evidence. No count goes into a skill: what is counted stands in its record.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from memos.evolution.skills.cases import Case, Family, Learned
from memos.memory.episode import Step, ToolUse
from memos.memory.learned import Action, Form, Parameter, PolicyBody, SkillBody, skill_name
from memos.text.guide import action_text, code, one_line
from memos.text.signature import error_signature
from memos.text.template import match, wide

HELD = 0.5  # the share of the cases in which an action must have been taken
EXAMPLES, PITFALLS, PRECONDITIONS = 3, 8, 4
SEEN = 2  # episodes in which an error must have come up to be a pitfall
LONGEST = 300  # characters of a pitfall or an example
DESCRIPTION = 1_024  # characters, as the agent-skills format has it
_REMEMBERED = 1_000  # characters of an error whose signature is
PATTERNS, PATTERN = 16, 400  # goals or errors that a skill is found by, and characters of each
_NAME_WORDS = 40  # characters of a name that is made of words

_SAID = "please can could would you kindly the an me my us our we want need it this that and or of for with to in on"
_SMALL_TALK = frozenset(_SAID.split())
_BRACES = re.compile(r"\{(\w+)\}")


def draft(family: Family, cases: Sequence[Case]) -> SkillBody:
    """A skill on probation, without a name that is known to be free, and without `examples`. `cases`: those of all its policies
    in which something failed.
    """
    lead = family.lead.body
    renamed = [_apart(lead, fix) for fix in family.fixes]
    parameters = {p.name: p for body in (*reversed(renamed), lead) for p in body.parameters}
    procedure = lead.procedure
    actions = (*procedure, *(a for body in renamed for a in body.procedure))
    return SkillBody(
        name=_name(lead),
        description=_description(lead, procedure),
        parameters=tuple(parameters[name] for name in sorted(parameters)),
        preconditions=_preconditions(lead),
        procedure=procedure,
        pitfalls=_pitfalls(lead, renamed, [a.body for a in family.avoids], cases),
        verification=lead.verification,
        tools=tuple(dict.fromkeys(a.tool for a in actions if a.tool)),
        environment=lead.environment,
        goals=_patterns((lead.goal, *lead.goals)),
        errors=_patterns(e for body in (lead, *renamed) if body.form is Form.FIX for e in (body.error, *body.errors)),
        failing=tuple(dict.fromkeys(b.tool for b in (lead, *renamed) if b.form is Form.FIX and b.tool)),
        policies=tuple(p.id for p in family.members),
    )


def examples(family: Family, cases: Sequence[Case]) -> tuple[str, ...]:
    """Real cases of a skill, the best and of those the oldest: what was asked, and the actions with their values."""
    return _examples([c for c in cases if c.policy == family.lead.id], family.lead.body)


def refused(body: SkillBody, family: Family, cases: Sequence[Case]) -> str:
    """Why a draft is not borne out by its cases, in a word: `empty`, `tools` (one was used in none) or `actions` (one was taken
    in too few). Empty when it holds.
    """
    if not body.procedure or not any(a.tool for a in body.procedure):
        return "empty"
    used = {s.use.tool for c in cases for s in c.done if s.use is not None}
    if not set(body.tools) <= used:
        return "tools"
    for policy in (family.lead, *family.fixes):
        own = [c for c in cases if c.policy == policy.id]
        for action in policy.body.procedure:
            if action.tool and (not own or sum(_taken(action, c, policy.body) for c in own) < HELD * len(own)):
                return "actions"
    return ""


def _taken(action: Action, case: Case, policy: PolicyBody) -> bool:
    """Whether a step of a case is this action with some values for its parameters."""
    return any(_is(action, step, policy) for step in case.done)


def _is(action: Action, step: Step, policy: PolicyBody) -> bool:
    if step.use is None or step.use.tool != action.tool:
        return False
    template, given = action.input.strip(), step.use.input.strip()
    return template == given or match(template, given, wide=wide(policy.parameters)) is not None


def _patterns(said: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(s for s in said if s and len(s) <= PATTERN))[:PATTERNS]


# -- its parts -------------------------------------------------------------------------------------------------------


def _name(lead: PolicyBody) -> str:
    said = lead.error or lead.trigger if lead.form is Form.FIX else lead.goal or lead.trigger
    words = _telling(_BRACES.sub(" ", said)) or _telling(said)
    place = set(_telling(lead.environment))  # where it was learned is no part of what it is
    words = [w for w in words if w not in place] or words
    if not words:  # Chinese, say: the actions have names in letters
        words = [w for a in lead.procedure[:2] for w in _telling(f"{a.tool} {' '.join(a.input.split()[:2])}")]
    return skill_name(" ".join(["fix", *words] if lead.form is Form.FIX else words) or said, _NAME_WORDS)


def _telling(said: str) -> list[str]:
    """The words of a name: without politeness, articles and single letters."""
    return [w for w in re.findall("[a-z0-9]+", said.lower()) if len(w) > 1 and w not in _SMALL_TALK]


def _description(lead: PolicyBody, procedure: Sequence[Action]) -> str:
    tools = ", ".join(dict.fromkeys(one_line(a.tool) for a in procedure if a.tool))
    how = f"{len(procedure)} {'step' if len(procedure) == 1 else 'steps'}{f' with {tools}' if tools else ''}"
    said = one_line(lead.error if lead.form is Form.FIX else lead.goal) or one_line(lead.trigger)
    what = f"How to resolve “{said}”" if lead.form is Form.FIX else f"How to do “{said}”"
    when = one_line(lead.trigger)
    if not when or said in when:  # what it is for was said
        when = f"{lead.tool or 'a tool'} fails with that error" if lead.form is Form.FIX else ""
    return _cut(f"{what}: {how}.{f' Use it when {when}.' if when else ''}", DESCRIPTION)


def _preconditions(lead: PolicyBody) -> tuple[str, ...]:
    lines = (
        "" if lead.goal and lead.trigger == f"asked to: {lead.goal}" else one_line(lead.trigger),
        f"{code(one_line(lead.tool))} failed with {code(one_line(lead.error))}"
        if lead.form is Form.FIX and lead.error and lead.error not in lead.trigger
        else "",
        f"in the environment {code(lead.environment)}" if lead.environment else "",
        one_line(lead.boundary),
    )
    return tuple(dict.fromkeys(_cut(line, LONGEST) for line in lines if line))[:PRECONDITIONS]


def _pitfalls(
    lead: PolicyBody, fixes: Sequence[PolicyBody], avoids: Sequence[PolicyBody], cases: Sequence[Case]
) -> tuple[str, ...]:
    lines = [_avoided(lead.avoid, lead)]
    for fix in fixes:
        own = fix.procedure != lead.procedure  # else the steps say so
        done = "; then ".join(_inline(a) for a in fix.procedure) if own else ""
        lines += [
            f"If it fails with “{one_line(fix.error or fix.trigger)}”: do {done}" if done else "",
            _avoided(fix.avoid, fix),
        ]
    lines += [f"{_avoided(a.avoid or a.trigger, a)}{_rather(a)}" for a in avoids]
    known = [one_line(p) for b in (lead, *fixes) for p in (b.error, *b.errors) if p]
    lines += _errors(cases, known)
    return tuple(dict.fromkeys(_cut(one_line(line), LONGEST) for line in lines if line.strip()))[:PITFALLS]


def _avoided(said: str, policy: PolicyBody) -> str:
    """What is to be avoided; what is a call of a tool as such."""
    for tool in dict.fromkeys((policy.tool, *(a.tool for a in policy.procedure))):
        if tool and said.startswith(f"{tool}: "):
            return f"Avoid {_inline(Action(tool, said[len(tool) + 2 :]))}"
    return f"Avoid: {said}" if said else ""


def _rather(policy: PolicyBody) -> str:
    """What worked instead of what is to be avoided, where that is known."""
    tool, _, given = policy.prefer.partition(": ")
    return f"; rather {_inline(Action(tool, given))}" if given else ""


def _errors(cases: Sequence[Case], known: Sequence[str]) -> list[str]:
    """Errors that came up in several episodes on the way, with what differs from case to case left out."""
    seen: dict[tuple[str, str], set[str]] = {}
    for case in cases:
        for step in case.failed:
            if step.use is not None and (told := step.use.error or step.use.output):
                signature = _signature(told) if len(told) <= _REMEMBERED else error_signature(told)
                if signature and not any(match(k, told, whole=False) is not None for k in known):
                    seen.setdefault((step.use.tool, signature), set()).add(case.episode)
    often = sorted((k for k, episodes in seen.items() if len(episodes) >= SEEN), key=lambda k: (-len(seen[k]), k))
    return [f"{code(one_line(tool))} may fail with {code(signature)}" for tool, signature in often[:3]]


@lru_cache(1_024)
def _signature(told: str) -> str:
    return error_signature(told)


def _examples(cases: Sequence[Case], lead: PolicyBody) -> tuple[str, ...]:
    lines: list[str] = []
    for case in sorted((c for c in cases if c.value > 0), key=lambda c: (-round(c.value, 1), c.episode)):
        taken = [_inline(Action(use.tool, use.input)) for use in _uses(case, lead)]
        if taken and case.goal:
            lines.append(_cut(f"“{one_line(case.goal)}”: {'; then '.join(taken)}", LONGEST))
    return tuple(dict.fromkeys(lines))[:EXAMPLES]


def _uses(case: Case, lead: PolicyBody) -> Iterator[ToolUse]:
    """The steps of a case that are the actions, in their order."""
    left = list(case.done)
    for action in lead.procedure:
        step = next((s for s in left if _is(action, s, lead)), None)
        if step is not None and step.use is not None:
            left.remove(step)
            yield step.use


def _inline(action: Action) -> str:
    return action_text(Action(action.tool, one_line(action.input)))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _apart(lead: PolicyBody, fix: Learned) -> PolicyBody:
    """A fix with those parameters renamed that mean something else in the lead."""
    own = {p.name: p for p in lead.parameters}
    clash = {p.name: f"{p.name}_2" for p in fix.body.parameters if p.name in own and not _same(p, own[p.name])}
    if not clash:
        return fix.body

    def new(text: str) -> str:
        return _BRACES.sub(lambda m: f"{{{clash.get(m[1], m[1])}}}", text)

    return replace(
        fix.body,
        error=new(fix.body.error),
        errors=tuple(map(new, fix.body.errors)),
        trigger=new(fix.body.trigger),
        avoid=new(fix.body.avoid),
        procedure=tuple(Action(a.tool, new(a.input)) for a in fix.body.procedure),
        parameters=tuple(replace(p, name=clash.get(p.name, p.name)) for p in fix.body.parameters),
    )


def _same(one: Parameter, other: Parameter) -> bool:
    a, b = set(one.examples), set(other.examples)
    return bool(a & b) and (one.source == other.source or a <= b or b <= a)
