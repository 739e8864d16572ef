"""What a policy says about the world, as a declarative sentence, and what in later episodes speaks against it. By rules, and pure
but for reading rows.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from memos.memory.episode import SUCCESS, Step, ToolUse
from memos.memory.learned import Action, Form, PolicyBody, State
from memos.memory.model import Memory, Status
from memos.storage.sqlite import lived, lived_world
from memos.text.calls import call, clipped, procedure
from memos.text.signature import action_head, context_key, telling_line
from memos.text.template import match, wide

if TYPE_CHECKING:
    import apsw

SEEN = 20  # lessons of a policy that are looked at, the newest
SHOWN = 160  # characters of an error
_CONSTRAINT = re.compile(
    r"\b(?:must|required?|requires|needs?|not allowed|not permitted|permission|denied|read-only|forbidden|refus\w+|locked|"
    r"held by|in use)\b"
    r"|必须|不允许|权限|只读|禁止|拒绝|被占用|需要",
    re.IGNORECASE,
)
_READ_ONLY = re.compile(r"read-only|只读", re.IGNORECASE)
_DENIED = re.compile(r"permission|denied|not permitted|forbidden|not allowed|权限|禁止|不允许", re.IGNORECASE)
_FOLDER = re.compile(r"(?<![\w{}/.])((?:/[\w.@+-]+)+)(?=[/\s'\"]|$)")


@dataclass(frozen=True, slots=True)
class Said:
    """A statement as it would be written now. `key`: what makes it the same one again, within its environment and section."""

    environment: str
    section: str
    subject: str
    text: str
    key: str

    @property
    def slot(self) -> str:
        """Where it stands: at most one statement stands there."""
        return slot_of(self.environment, self.section, self.key)


def slot_of(environment: str, section: str, key: str = "") -> str:
    """The slot of a statement; without a key, how the slots of a section begin."""
    return f"env:{environment.replace('|', '/')}|{section}|{key}"


@dataclass(frozen=True)
class Learnt:
    """A policy with the newest lessons that are its evidence, and their steps, read when they are asked for: within the change
    that made it.
    """

    memory: Memory
    body: PolicyBody
    lessons: tuple[lived.Lesson, ...]
    db: apsw.Connection

    @cached_property
    def first(self) -> int:
        """The number of the first step of its lessons that is there; 0 when none is."""
        numbers = sorted({n for it in self.lessons for of in it.steps.values() for n in of})
        return next((n for n in numbers if lived.steps_by_number(self.db, (n,))), 0)

    @property
    def since(self) -> datetime | None:
        """When the first of its steps was made, of those that are there."""
        numbers = {n for it in self.lessons for of in it.steps.values() for n in of}
        return min((s.at for s in lived.steps_by_number(self.db, numbers).values()), default=None)

    @cached_property
    def environments(self) -> Counter[str]:
        """How many of its episodes are of each environment."""
        return lived_world.environments_of(self.db, {it.episode for it in self.lessons})

    @property
    def stands(self) -> bool:
        """Whether it is a candidate or active."""
        return self.memory.status is Status.ACTIVE and self.body.state in (State.CANDIDATE, State.ACTIVE)

    @cached_property
    def environment(self) -> str:
        """Where it holds: its own, else the one environment all its episodes are of; empty for several or none."""
        if self.body.environment:
            return self.body.environment
        return next(iter(self.environments)) if len(self.environments) == 1 else ""

    @cached_property
    def failed(self) -> tuple[Step, ...]:
        """The steps that failed, oldest first."""
        return self._of("failed")

    @cached_property
    def helped(self) -> tuple[Step, ...]:
        """The steps that helped, oldest first."""
        return self._of("done", "resolved")

    @cached_property
    def failed_at(self) -> frozenset[tuple[str, bytes]]:
        """What was called, and with what, when it failed."""
        return frozenset(context_of(s.use) for s in self.failed if s.use is not None)

    @cached_property
    def helped_at(self) -> frozenset[tuple[str, bytes]]:
        """What was called, and with what, that helped."""
        return frozenset(context_of(s.use) for s in self.helped if s.use is not None) - self.failed_at

    @cached_property
    def fixes(self) -> tuple[Action, ...]:
        """What is done about the failure: the procedure without the failed call itself, tried again."""
        failed = [s.use for s in self.failed if s.use is not None]
        return tuple(a for a in self.body.procedure if not any(_is(a, use, self.body) for use in failed))

    @cached_property
    def failed_steps(self) -> dict[int, Step]:
        """The steps that failed, by number."""
        return {s.number: s for s in self.failed}

    @cached_property
    def is_retried(self) -> bool:
        """Whether what failed worked in the end, just as it was."""
        tried = {(s.use.tool, s.use.input) for s in self.failed if s.use is not None}
        for lesson in reversed(self.lessons):  # the newest shows it mostly, and the others need not be read
            for step in lived.steps_by_number(self.db, lesson.steps.get("resolved", ())).values():
                if step.use is not None and (step.use.tool, step.use.input) in tried:
                    return True
        return not self.helped or any((s.use.tool, s.use.input) in tried for s in self.helped if s.use is not None)

    def _of(self, *whats: str) -> tuple[Step, ...]:
        numbers = {n for lesson in self.lessons for what in whats for n in lesson.steps.get(what, ())}
        return tuple(lived.steps_by_number(self.db, numbers).values())


def learnt(db: apsw.Connection, policy: Memory) -> Learnt:
    """A policy with its evidence, read from rows."""
    return Learnt(policy, PolicyBody.of(policy), tuple(lived.lessons_for(db, policy.id, SEEN)), db)


def context_of(use: ToolUse) -> tuple[str, bytes]:
    """The tool and the very thing that was attempted with it."""
    return use.tool, context_key(use.tool, use.input)


def said_of(it: Learnt) -> Said | None:
    """What a fix or an avoid says about its environment; None for other policies, and where nothing shows what fails."""
    if not it.lessons:  # a copy: what it says was seen elsewhere
        return None
    if it.body.form is Form.FIX:
        return _of_fix(it)
    return _of_avoid(it) if it.body.form is Form.AVOID else None


def _of_fix(it: Learnt) -> Said | None:
    tool, wanted = it.body.tool or (it.failed[0].use.tool if it.failed and it.failed[0].use else ""), _failing(it)
    if not wanted:
        return None
    what, error = call(Action(tool, wanted)), _error(it)
    steps = tuple(a for a in it.body.procedure if not (a.tool == tool and a.input == wanted))
    if not steps:
        text = f"{what} sometimes fails with “{error}” and then works when it is tried again"
    elif it.is_retried:
        text = f"{what} fails with “{error}” unless {procedure(steps)} ran before it"
    else:
        text = f"{what} fails with “{error}”; {procedure(steps)} works there"
    folder = _read_only(wanted, error)
    text = f"{folder} is read-only: {text}" if folder else text
    section = "constraint" if _CONSTRAINT.search(error) else "inference"
    return _said(it, section, tool, folder or action_head(tool, wanted), text)


def _of_avoid(it: Learnt) -> Said | None:
    tool = it.body.tool or (it.failed[0].use.tool if it.failed and it.failed[0].use else "")
    actions = it.body.procedure
    if not actions and (wanted := _failing(it)):
        actions = (Action(tool, wanted),)
    if not actions:
        return None
    what, error = " and ".join(map(call, actions)), _error(it)
    folder = _read_only(actions[0].input, error)
    if folder:
        text = f"{folder} is read-only: {what} is refused with “{error}”"
    elif _DENIED.search(error):
        text = f"{what} is not permitted: it is refused with “{error}”"
    elif error:
        text = f"{what} does not work: it fails with “{error}”"
    else:
        text = f"{what} does harm: tasks in which it was done went badly"
    subject = folder or action_head(actions[0].tool, actions[0].input)
    return _said(it, "constraint", actions[0].tool, subject, text)


def _read_only(input: str, error: str) -> str:
    """The folder that a call is refused for, because it is read-only; empty where that is not what the error says."""
    folder = _FOLDER.search(input) if _READ_ONLY.search(error) else None
    return "" if folder is None else folder[1]


def _said(it: Learnt, section: str, tool: str, subject: str, text: str) -> Said:
    where = f"On {it.environment}, " if it.environment else ""
    digest = hashlib.sha256(" ".join(text.casefold().split()).encode()).hexdigest()[:16]
    return Said(it.environment, section, subject, f"{where}{text}.", f"{tool.replace('|', '/')}|{digest}")


def _failing(it: Learnt) -> str:
    """What fails, with the policy's parameters in it: as most lessons show it."""
    shown: Counter[str] = Counter()
    for lesson in it.lessons:
        failed = next(
            (s.use for n in lesson.steps.get("failed", ()) if (s := it.failed_steps.get(n)) is not None), None
        )
        if failed is None or not failed.input.strip():
            continue
        again = next((a.input for a in it.body.procedure if it.body.form is Form.FIX and _is(a, failed, it.body)), None)
        if again is not None:  # it is tried again in the end
            shown[again] += 1
        else:
            shown[_with_parameters(failed.input, _values(it, lesson, failed))] += 1
    return max(shown, key=lambda text: (shown[text], "{" in text, -len(text), text)) if shown else ""


def _values(it: Learnt, lesson: lived.Lesson, failed: ToolUse) -> dict[str, str]:
    """The values that the policy's parameters have in a lesson, as far as its error and what helped tell them."""
    body, spaced = it.body, wide(it.body.parameters)
    found = {e: p.name for p in body.parameters for e in p.examples}
    line = telling_line(failed.error or failed.output)
    for error in (body.error, *body.errors):
        found |= {value: name for name, value in (match(error, line, wide=spaced) or {}).items()}
    done = lesson.steps.get("done", ())
    found_steps = lived.steps_by_number(it.db, done)
    helped = [s.use for n in done if (s := found_steps.get(n)) is not None and s.use is not None]
    for action in body.procedure:
        for use in helped:
            if use.tool == action.tool and (values := match(action.input, use.input, wide=spaced)) is not None:
                found |= {value: name for name, value in values.items()}
    return {value: name for value, name in found.items() if len(value) > 1}


def _with_parameters(text: str, values: Mapping[str, str]) -> str:
    """A text with the values (longest first) as the parameters that they are of."""
    for value in sorted(values, key=lambda v: (-len(v), v)):
        held = re.compile(rf"(?<![A-Za-z0-9{{]){re.escape(value)}(?![A-Za-z0-9}}])")
        text = f"{{{values[value]}}}".join(held.split(text))
    return text


def _error(it: Learnt) -> str:
    """The error as the policy has it, else as the last of its steps had it."""
    if it.body.error:
        return clipped(" ".join(it.body.error.split()), SHOWN)
    if it.body.form is Form.AVOID and not it.failed:
        return ""
    last = next((s.use for s in reversed(it.failed) if s.use is not None and s.use.failed), None)
    return "" if last is None else clipped(telling_line(last.error or last.output), SHOWN)


# -- against it ----------------------------------------------------------------------------------------------------


def against(it: Learnt, episode: str, environment: str, steps: Sequence[Step], reward: float | None) -> Step | None:
    """The first step of an episode that speaks against what a policy says: what fails by it, or needs something before it, worked
    without; None when none does, or when the episode is evidence for it.
    """
    if any(lesson.episode == episode for lesson in it.lessons) or (it.environment and environment != it.environment):
        return None
    before: list[Step] = []
    for step in steps:
        if step.use is None:
            continue
        if worked(step.use) and _meant(it, step.use) and step.number > it.first:
            return step if _speaks(it, before, reward) else None
        before.append(step)
    return None


def worked(use: ToolUse) -> bool:
    """Whether a call is not known to have failed."""
    return not use.failed and use.ok is not False


def _meant(it: Learnt, use: ToolUse) -> bool:
    """Whether it is the call of which a policy says that it fails: the very same; of an avoid, also one as its pattern says."""
    if it.body.form is Form.AVOID:
        return context_of(use) in it.failed_at or is_one_of(it.body, use)
    if context_of(use) not in it.failed_at:
        return False
    helped = {(s.use.tool, s.use.input) for s in it.helped if s.use is not None}
    failed = {(s.use.tool, s.use.input) for s in it.failed if s.use is not None}
    is_the_fix = any(_is(a, use, it.body) for a in it.fixes) or (use.tool, use.input) in helped - failed
    return not is_the_fix


def _speaks(it: Learnt, before: Collection[Step], reward: float | None) -> bool:
    if it.body.form is Form.AVOID:
        return bool(it.failed) or (reward is not None and reward >= SUCCESS)
    for step in before:
        if step.use is None:
            continue
        context = context_of(step.use)
        if context in it.helped_at | it.failed_at or any(_is(a, step.use, it.body) for a in it.fixes):
            return False
    return True


def is_one_of(body: PolicyBody, use: ToolUse) -> bool:
    """Whether a call is one of those that a policy names."""
    return any(_is(action, use, body) for action in body.procedure)


def _is(action: Action, use: ToolUse, body: PolicyBody) -> bool:
    if action.tool != use.tool or not action.input.strip():
        return False
    return match(action.input, use.input, wide=wide(body.parameters)) is not None
