"""From lessons that are alike to one policy: what they have in common, with what differs as parameters. Pure, extractive: every
word of a policy was said, printed as an error, or given to a call that worked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from memos.evolution.policies.common import heads_of
from memos.evolution.policies.discreet import discreet
from memos.evolution.policies.lessons import Told, kind_of
from memos.memory.episode import Step
from memos.memory.ids import unique_key
from memos.memory.learned import Action, Form, Parameter, PolicyBody
from memos.text.generalise import generalise
from memos.text.template import Template, escape, fill, match, match_any, names, wide
from memos.text.wordings import abstracted, wordings

ALIKE = 2  # lessons that another is held against
MEMBERS = 12  # lessons that the words of a policy are made of
TELLING = 2  # of them that are always the first
PLACES = 8  # environments that a policy names
ROLES = ("goal", "error", "input")


@dataclass(frozen=True, slots=True)
class Induced:
    """A policy's body and the lessons it was made of."""

    body: PolicyBody
    members: tuple[Told, ...]


def induce(form: Form, lessons: Sequence[Told]) -> list[Induced]:
    """The policies that these lessons teach, which have the same kinds of calls: those whose inputs are alike make one. None of
    lessons of one episode.
    """
    groups: list[list[Told]] = []
    for one in lessons:
        for group in groups:
            if _core(form, [*group[:ALIKE], one]) is not None:
                group.append(one)
                break
        else:
            groups.append([one])
    out = []
    for group in groups:
        if len({t.lesson.task for t in group}) > 1:
            members = chosen(group)
            body = body_of(form, members)
            if body is not None:
                out.append(Induced(body, members))
    return out


def chosen(lessons: Sequence[Told]) -> tuple[Told, ...]:
    """At most `MEMBERS` of some lessons, the first and the last of them, one of each episode first."""
    once = _one_of_each_episode(lessons)
    if len(once) <= MEMBERS:
        return tuple(once)
    return (*once[: MEMBERS // 2], *once[-MEMBERS // 2 :])


def _one_of_each_episode(lessons: Sequence[Told]) -> list[Told]:
    found: dict[str, Told] = {}
    for one in lessons:
        found.setdefault(one.lesson.task, one)
    return [*found.values()]


def telling(form: Form, lessons: Sequence[Told]) -> tuple[Told, ...]:
    """Those of a policy's lessons that its words are taken from: of the first episodes, and of later ones what says something
    new. The same lessons, in their order, always give the same.
    """
    first: dict[str, Told] = {}
    for one in lessons:
        first.setdefault(one.lesson.task, one)
    once = [*first.values()]
    told = once[:TELLING]
    body = body_of(form, told)
    for one in once[TELLING:]:
        values = fits(body, one) if body is not None else None
        if len(told) == MEMBERS:
            break
        if body is None or values is None or not covers(body, one, values):
            wider = body_of(form, [*told, one])
            if wider is not None:
                body, told = wider, [*told, one]
    return tuple(told)


def body_of(form: Form, members: Sequence[Told]) -> PolicyBody | None:
    """One policy out of these lessons; None where they have too little in common, or only one episode tells it."""
    if len({t.lesson.task for t in members}) < 2:
        return None
    core = _core(form, members)
    if core is None:
        return None
    values = [core.match(_texts(form, t)) or {} for t in members]
    used = {p.name for p in core.parameters}
    said = wordings([(t.error, v) for t, v in zip(members, values, strict=True)], "error", used)
    used |= {p.name for p in said.parameters}
    asked = wordings([(t.goal, v) for t, v in zip(members, values, strict=True)], "goal", used)
    parameters = tuple(_sourced(p, members, values) for p in core.parameters)
    unknown = [p for p in parameters if p.source == "unknown"]
    if form is Form.PATH and unknown:
        return None
    if form is Form.FIX and unknown and not _tells(core, unknown):
        return None
    shown = {n for pattern in (*core.patterns, *said.patterns, *asked.patterns) for n in names(pattern)}
    kept = tuple(p for p in (*parameters, *said.parameters, *asked.parameters) if p.name in shown)
    body = replace(
        _worded(form, members, core, kept),
        error=said.patterns[0] if said.patterns else "",
        errors=said.patterns[1:],
        goal=asked.patterns[0] if asked.patterns else "",
        goals=asked.patterns[1:],
        trigger=_trigger(form, members, said.patterns, asked.patterns),
    )
    return discreet(body)


def is_instead(told: Told) -> bool:
    """Whether another call was made instead of the one that failed, which was not made again."""
    resolved = told.lesson.steps.get("resolved", ())
    return bool(resolved) and resolved[0] in told.lesson.steps.get("done", ())


def fits(body: PolicyBody, told: Told) -> dict[str, str] | None:
    """The values under which a lesson is a case of a policy: it did what the policy says. None when it is none."""
    broad = wide(body.parameters)
    values: dict[str, str] = {}
    procedure = list(body.procedure)
    if body.form is Form.AVOID:
        failed = procedure[0] if procedure else Action("", "")
        found = match(failed.input, told.input, wide=broad) if failed.tool == told.tool else None
        return None if found is None or not _stand(body, found, told) else found
    if body.form is Form.FIX:
        if is_instead(told) != bool(body.avoid):
            return None
        if not body.avoid:
            again = procedure.pop() if procedure else Action("", "")
            given = match(again.input, told.input, wide=broad) if again.tool == told.tool else None
            if given is None:
                return None
            values = given
        else:
            tool, _, pattern = body.avoid.partition(": ")
            given = match(pattern, told.input, wide=broad) if tool == told.tool else None
            if given is None:
                return None
            values = given
        if not procedure and told.actions:
            return None
    found = _follow(procedure, told.actions, values, broad)
    return None if found is None or not _stand(body, found, told) else found


def covers(body: PolicyBody, told: Told, values: Mapping[str, str]) -> bool:
    """Whether a policy already knows how this lesson's error and goal are put, where it was, and what worked instead."""
    broad = wide(body.parameters)
    if told.instead is not None and not body.prefer:
        return False
    if told.error and match_any((body.error, *body.errors), told.error, wide=broad, values=values) is None:
        return False
    if told.goal and match_any((body.goal, *body.goals), told.goal, wide=broad, values=values) is None:
        return False
    return told.environment in ("", *body.environments) or len(body.environments) >= PLACES


def procedure_key(owner: str, body: PolicyBody) -> bytes:
    """What makes a policy the same again: what it does, whatever its parameters are called."""
    order: dict[str, str] = {}
    parts = [f"{a.tool}\1{a.input}" for a in body.procedure]
    number = re.compile(r"\{([a-z][a-z0-9_]{0,39})\}")
    plain = [number.sub(lambda m: "{" + order.setdefault(m[1], str(len(order))) + "}", part) for part in parts]
    parts += [body.error] if body.form is Form.AVOID else [body.avoid] if body.form is Form.FIX and body.avoid else []
    again = "instead" if body.form is Form.FIX and body.avoid else ""
    return unique_key("policy", owner, body.form.value, again, *plain)


def _core(form: Form, members: Sequence[Told]) -> Template | None:
    """What the calls of lessons have in common."""
    if len({_shape(form, t) for t in members}) > 1:
        return None
    texts = [_texts(form, t) for t in members]
    known = [t.known for t in members]
    roles = ("input", *("action" for _ in texts[0][1:])) if form is not Form.PATH else tuple("action" for _ in texts[0])
    if len(members) == 1:
        return Template(tuple(map(escape, texts[0])), (), roles)
    return generalise(texts, roles, beside=known)


def _texts(form: Form, told: Told) -> tuple[str, ...]:
    done = tuple(s.use.input for s in told.actions if s.use)
    if form is Form.PATH:
        return done
    return (told.input,) if form is Form.AVOID else (told.input, *done)


def _shape(form: Form, told: Told) -> tuple[object, ...]:
    tools = tuple(s.use.tool for s in told.actions if s.use)
    if form is Form.PATH:
        return tools
    kind = kind_of(told.tool, told.input)
    if form is Form.AVOID:
        return (kind,)
    instead = is_instead(told)
    return (kind if instead else told.tool, instead, *tools)  # what helps an error helps whatever call ran into it


def _sourced(parameter: Parameter, members: Sequence[Told], values: Sequence[Mapping[str, str]]) -> Parameter:
    name = parameter.name
    source = "unknown"
    for role in ROLES:
        texts = [{"goal": t.goal, "error": t.error, "input": t.input}[role] for t in members]
        if all(v.get(name, "") and v[name].lower() in text.lower() for v, text in zip(values, texts, strict=True)):
            source = role
            break
    else:
        if all(
            any(v.get(name, "\0").lower() in k.lower() for k in t.known) for t, v in zip(members, values, strict=True)
        ):
            source = "error"  # sometimes here, sometimes there
    examples = tuple(dict.fromkeys(v[name] for v in values if name in v))[:6]
    return replace(parameter, source=source, examples=examples)


def _tells(core: Template, unknown: Sequence[Parameter]) -> bool:
    """Whether a procedure with values that nobody can know beforehand says something all the same."""
    own = sum(len(p) for p in (fill(pattern, {}) for pattern in core.patterns))
    return bool(own) and len(unknown) <= 1


def _stand(body: PolicyBody, values: Mapping[str, str], told: Told) -> bool:
    """Whether the values stand where the policy says that they come from."""
    known = " \n".join(told.known).lower()
    return all(
        p.source == "unknown" or p.name not in values or values[p.name].lower() in known for p in body.parameters
    )


def _follow(
    procedure: Sequence[Action], steps: Sequence[Step], values: dict[str, str], broad: frozenset[str]
) -> dict[str, str] | None:
    if not procedure:
        return values
    first, *rest = procedure
    for n, step in enumerate(steps):
        if step.use is not None and step.use.tool == first.tool:
            found = match(first.input, step.use.input, wide=broad, values=values)
            if found is not None:
                after = _follow(rest, steps[n + 1 :], found, broad)
                if after is not None:
                    return after
    return None


# -- words ---------------------------------------------------------------------------------------------------------


def _worded(form: Form, members: Sequence[Told], core: Template, parameters: tuple[Parameter, ...]) -> PolicyBody:
    first = members[0]
    tools = [s.use.tool for s in first.actions if s.use]
    environments = sorted({t.environment for t in members if t.environment})
    body = PolicyBody(
        form=form,
        tool=first.tool or (tools[0] if tools else ""),
        parameters=parameters,
        environment=environments[0] if len(environments) == 1 else "",
        environments=tuple(environments[:PLACES]),
    )
    if form is Form.AVOID:
        failed = Action(first.tool, core.patterns[0])
        return replace(body, procedure=(failed,), avoid=f"{failed.tool}: {failed.input}", prefer=_rather(members, core))
    patterns = core.patterns if form is Form.PATH else core.patterns[1:]
    procedure = tuple(Action(tool, pattern) for tool, pattern in zip(tools, patterns, strict=True))
    if form is Form.PATH:
        return replace(body, procedure=procedure, verification=_check(members, core))
    failed = Action(first.tool, core.patterns[0])
    if is_instead(first):
        last = procedure[-1]
        return replace(
            body,
            procedure=procedure,
            avoid=f"{failed.tool}: {failed.input}",
            prefer=f"{last.tool}: {last.input}",
            verification=f"{last.tool}: {last.input} succeeds",
        )
    return replace(body, procedure=(*procedure, failed), verification=f"{failed.tool}: {failed.input} succeeds")


def _rather(members: Sequence[Told], core: Template) -> str:
    """What worked in two tasks or more instead of what is to be avoided."""
    tasks: dict[str, set[str]] = {}
    for told in members:
        values = core.match(_texts(Form.AVOID, told)) or {}
        if told.instead is not None and told.instead.use is not None:
            text = f"{told.instead.use.tool}: {abstracted(told.instead.use.input, values)}"
            tasks.setdefault(text, set()).add(told.lesson.task)
    often = [(len(of), text) for text, of in tasks.items() if len(of) > 1]
    return max(often)[1] if often else ""


def _check(members: Sequence[Told], core: Template) -> str:
    """The check that most paths end with, where one does."""
    found: Counter[str] = Counter()
    for told in members:
        values = core.match(_texts(Form.PATH, told)) or {}
        if told.check is not None and told.check.use is not None:
            found[f"{told.check.use.tool}: {abstracted(told.check.use.input, values)} succeeds"] += 1
    if not found:
        return ""
    text, count = max(found.items(), key=lambda item: (item[1], item[0]))
    return text if count > 1 else ""


def _trigger(form: Form, members: Sequence[Told], errors: Sequence[str], goals: Sequence[str]) -> str:
    if form is Form.PATH:
        return f"asked to: {goals[0]}" if goals else f"a task with {', '.join(heads_of(members[0]))}"
    kind = members[0].tool
    return f"{kind} fails with: {errors[0]}" if errors else f"{kind} fails"
