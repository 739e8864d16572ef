"""What is learned from episodes: policies, statements about the world, skills; what they were tried at; what happened. Pure data.

Each is a memory (kinds `policy`, `world_model`, `skill`); the classes here are its `body` with types, beside what is counted.
A body is written by `to_body` and read by `of`, and by nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, Self, TypeVar

from memos.memory.model import EMPTY, Kind, Memory

B = TypeVar("B", bound="_Body")
_Kept = dict[
    tuple[type, int], tuple[Mapping[str, Any], Any]
]  # the body that was read, by its identity, and what it says
_MOST_KEPT = 1_000
BY_HAND = "by hand"  # how `why` of a state begins that a person chose
BEREFT = (
    "bereft"  # in a body: words of it went with what was deleted, and are to be told again by the evidence that is left
)
OWN = "own"  # in a body that is bereft: the fields that a person wrote, which stay
TOLD_IN = (
    "told_in"  # in the body of a directive: the environments and agents that it was told; empty where nobody knows
)
NOT_IN = "not_in"  # in the body of a directive: the environments of which something else was said
_reading = threading.local()


@contextlib.contextmanager
def reading_once(kept: _Kept) -> Iterator[None]:
    """Within this, in this thread, no body is read twice as long as its memory is the same object."""
    _reading.kept = kept
    try:
        yield
    finally:
        _reading.kept = None


class State(StrEnum):
    """Where in its life something learned is. A policy: candidate, active, retired. A skill: probation, active, retired."""

    CANDIDATE = "candidate"
    PROBATION = "probation"
    ACTIVE = "active"
    RETIRED = "retired"


class Form(StrEnum):
    """What a policy says: how an error is resolved, how a kind of task is done, what never works, or what somebody wants."""

    FIX = "fix"
    PATH = "path"
    AVOID = "avoid"
    DIRECTIVE = "directive"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A part that differs from case to case. `source`: where its value comes from (goal, error, input, unknown); `examples`:
    values seen. In texts it stands as `{name}`.
    """

    name: str
    source: str = "unknown"
    examples: tuple[str, ...] = ()
    description: str = ""
    required: bool = True


@dataclass(frozen=True, slots=True)
class Action:
    """One step of a procedure: the tool and what it is given, with parameters as `{name}`; or, without a tool, words."""

    tool: str
    input: str


@dataclass(frozen=True)
class _Body:
    """What the bodies have in common: they travel as JSON."""

    def to_body(self) -> dict[str, Any]:
        """As a `Memory.body`: plain JSON values."""
        return _fields(self)

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """Read from a memory's body; what is missing or of a wrong type has its default."""
        kept: _Kept | None = getattr(_reading, "kept", None)
        if kept is None:
            return _read(cls, memory.body)
        found = kept.get((cls, id(memory.body)))
        if found is not None and found[0] is memory.body:
            return found[1]  # type: ignore[no-any-return]
        made = _read(cls, memory.body)
        if len(kept) >= _MOST_KEPT:
            kept.clear()
        kept[cls, id(memory.body)] = (memory.body, made)
        return made


@dataclass(frozen=True)
class PolicyBody(_Body):
    """L2. `trigger`: when it applies, in words; `error` (for a fix or an avoid) and `goal` are the patterns behind it, with
    parameters as `{name}`. `procedure`: what to do (of an avoid: what not to do). `verification`: how to see that it worked;
    `boundary`: where it was not seen to hold; `prefer`/`avoid`: one line each. `scope` and `strength` (0 to 1) are a
    directive's: `agent:NAME`, `tool:NAME`, `environment:NAME` or `all`. `author`: `rules`, `user` or a model's name. `edited`:
    by a person; never overwritten.
    """

    form: Form = Form.PATH
    state: State = State.CANDIDATE
    trigger: str = ""
    error: str = ""
    goal: str = ""
    tool: str = ""
    procedure: tuple[Action, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    verification: str = ""
    boundary: str = ""
    prefer: str = ""
    avoid: str = ""
    scope: str = "all"
    strength: float = 0.0
    environment: str = ""
    author: str = "rules"
    edited: bool = False
    why: str = ""  # of its state, in a few words
    forgiven: int = 0  # of a directive: trials that do not count any more, since it was told again after them
    errors: tuple[str, ...] = ()  # other ways in which the error is put: patterns like `error`
    goals: tuple[str, ...] = ()  # other ways in which the goal is put: patterns like `goal`
    environments: tuple[str, ...] = ()  # in which it was seen to work; `environment` is the only one, or empty


@dataclass(frozen=True)
class WorldBody(_Body):
    """L3: one statement about an environment. `section`: `environment` (what is there), `inference` (what follows from what) or
    `constraint` (what must or must not be). `policies`: ids of those that say so. `holds`/`fails`: episodes for and against.
    """

    section: str = "environment"
    environment: str = ""
    subject: str = ""
    policies: tuple[str, ...] = ()
    holds: int = 0
    fails: int = 0
    author: str = "rules"
    edited: bool = False


@dataclass(frozen=True)
class SkillBody(_Body):
    """A callable guide. `name`: lower case with dashes, unique in its cube. `description`: what it does and when to use it.
    `policies`: ids it was made of. `shared_from`: `cube/id` of the skill it is a copy of. `edited`: by a person; never
    overwritten. `proposal`: what learning would change of an edited one, as a rendered text. `goals` and `errors`: what it is
    handed out for, patterns like those of the policies it was made of, so that a copy without them is found alike; `failing`:
    the tools whose errors those are.
    """

    name: str = ""
    state: State = State.PROBATION
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    preconditions: tuple[str, ...] = ()
    procedure: tuple[Action, ...] = ()
    pitfalls: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    verification: str = ""
    tools: tuple[str, ...] = ()
    environment: str = ""
    policies: tuple[str, ...] = ()
    shared_from: str = ""
    author: str = "rules"
    edited: bool = False
    proposal: str = ""
    why: str = ""
    guide: str = ""  # free text of an imported or edited one, shown instead of what the fields render
    license: str = ""  # of an imported one
    goals: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """Read from a memory's body. A skill that a document explains (a candidate with steps in words) is on probation."""
        body, steps = super().of(memory), memory.body.get("steps")
        if body.state is State.CANDIDATE:
            body = replace(body, state=State.PROBATION)
        if not body.procedure and isinstance(steps, (list, tuple)):
            body = replace(body, procedure=tuple(Action("", str(step)) for step in steps))
        if not is_skill_name(body.name):
            when = memory.body.get("trigger")
            said = f"{body.name}. Use it when {when}." if when and isinstance(when, str) else body.name
            body = replace(body, name=skill_name(body.name or memory.text), description=body.description or said)
        return body


@dataclass(frozen=True, slots=True)
class Trial:
    """That something learned was handed out in an episode, and what came of it: `pending`, `pass`, `fail` or `unknown` (the
    outcome does not tell, or what it says was not done). `cube`: where the episode was, empty for the same cube. `followed`
    None: cannot be told.
    """

    memory: str
    episode: str
    handed_at: datetime
    outcome: str = "pending"
    reward: float | None = None
    resolved_at: datetime | None = None
    followed: bool | None = None
    cube: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """What is counted of a policy or skill. `support`: distinct episodes that teach it; `gain`: how much better episodes went
    with it than without (`memos.evolution.value.gain`); `passes`, `fails`, `handed`: trials. `reliability` in [0, 1]: the mean
    of the Beta posterior (`memos.evolution.value.reliability`).
    """

    support: int = 0
    gain: float = 0.0
    passes: int = 0
    fails: int = 0
    handed: int = 0
    reliability: float = 0.5


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy as it stands."""

    memory: Memory
    body: PolicyBody
    record: Record = field(default_factory=Record)

    def __str__(self) -> str:
        taught = f"taught by {self.record.support} episode{'' if self.record.support == 1 else 's'}"
        return f"{told(self.memory)} ({self.body.form.value}, {self.body.state.value}, {taught}) {self.id}"

    @property
    def id(self) -> str:
        """The id of its memory."""
        return self.memory.id


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill as it stands."""

    memory: Memory
    body: SkillBody
    record: Record = field(default_factory=Record)

    def __str__(self) -> str:
        tried = f"{self.record.passes} of {self.record.handed} trials passed" if self.record.handed else "not tried"
        return f"{told(self.memory)} ({self.body.state.value}, {tried}) {self.id}"

    @property
    def id(self) -> str:
        """The id of its memory."""
        return self.memory.id

    @property
    def name(self) -> str:
        """What it is called by."""
        return self.body.name


@dataclass(frozen=True, slots=True)
class WorldStatement:
    """A statement about an environment as it stands."""

    memory: Memory
    body: WorldBody

    def __str__(self) -> str:
        return f"{told(self.memory)} ({self.body.holds} for, {self.body.fails} against) {self.id}"

    @property
    def id(self) -> str:
        """The id of its memory."""
        return self.memory.id


@dataclass(frozen=True, slots=True)
class Hint:
    """Advice after repeated failures of one tool in one context: what to do instead, what not to do again. It goes into the next
    recall of its session; `validated` tells what happened then (None: nothing yet).
    """

    id: int
    session: str
    episode: str
    tool: str
    failures: int
    prefer: str
    avoid: str
    made_at: datetime
    delivered_at: datetime | None = None
    validated: bool | None = None
    policy: str | None = None


@dataclass(frozen=True, slots=True)
class LearningEvent:
    """Something that was learned, changed or tried, in the order it happened. `number` is the cursor of the stream; `what` is
    dotted (`policy.induced`, `policy.active`, `policy.retired`, `skill.crystallised`, `skill.trial`, `episode.closed`,
    `episode.valued`, `world.stated`, `hint.made`, `hint.validated` ...). `numbers` holds only numbers, ids and words of closed
    sets.
    """

    number: int
    at: datetime
    what: str
    memory: str | None = None
    episode: str | None = None
    numbers: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


def is_bereft(memory: Memory) -> bool:
    """Whether a deletion took words of something learned, and the evidence that is left did not tell it again yet."""
    return bool(memory.body.get(BEREFT))


def told(memory: Memory, most: int = 200) -> str:
    """Something learned in one line: a skill by what it is called and does, all else by its text, cut after `most` characters."""
    text = f"{memory.title}: {memory.body.get('description') or ''}" if memory.kind is Kind.SKILL else memory.text
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


NAME_LENGTH = 64
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def is_skill_name(name: str) -> bool:
    """Whether a skill may be called so: lower-case letters, digits and single dashes between them, 64 characters at most."""
    return len(name) <= NAME_LENGTH and _NAME.fullmatch(name) is not None


def skill_name(words: str, most: int = NAME_LENGTH) -> str:
    """A name for a skill made of words, cut after a whole one; of a digest where they hold no letters from a to z."""
    parts = re.findall(r"[a-z0-9]+", words.lower())
    name = ""
    for part in parts:
        longer = f"{name}-{part}" if name else part[:most]
        if len(longer) > most:
            break
        name = longer
    return name if re.search("[a-z]", name) else f"skill-{hashlib.sha256(words.encode()).hexdigest()[:8]}"


def _fields(of: Any) -> dict[str, Any]:
    return {f.name: _plain(getattr(of, f.name)) for f in fields(of)}


def _plain(value: Any) -> Any:
    if isinstance(value, (Parameter, Action)):
        return _fields(value)
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value.value if isinstance(value, StrEnum) else value


def _read(cls: type[B], body: Mapping[str, Any]) -> B:
    values: dict[str, Any] = {}
    for name, usual in _usual(cls):  # type: ignore[arg-type]
        there = body.get(name)
        if there is None:
            continue
        if isinstance(usual, StrEnum):
            if there in set(type(usual)):
                values[name] = type(usual)(there)
        elif isinstance(usual, tuple):
            if isinstance(there, (list, tuple)):
                values[name] = tuple(_item(name, item) for item in there)
        elif isinstance(usual, float):
            if isinstance(there, (int, float)) and not isinstance(there, bool):
                values[name] = float(there)
        elif type(there) is type(usual):
            values[name] = there
    return cls(**values)


@cache
def _usual(cls: type[_Body]) -> tuple[tuple[str, Any], ...]:
    """The fields of a body and their defaults."""
    default = cls()
    return tuple((f.name, getattr(default, f.name)) for f in fields(cls))


_OF_PARAMETER = frozenset(f.name for f in fields(Parameter))


def _item(name: str, item: Any) -> Any:
    if name == "parameters" and isinstance(item, Mapping):
        given: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in item.items() if k in _OF_PARAMETER
        }
        return Parameter(**{"name": "", **given})
    if name == "procedure" and isinstance(item, Mapping):
        return Action(str(item.get("tool", "")), str(item.get("input", "")))
    return str(item)
