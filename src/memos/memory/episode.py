"""What an agent lived through: episodes of turns and steps, what was said of their outcome, and how they were valued. Pure data.

An episode is one task: a run of turns on one goal. A turn is a user message, the steps that follow it, and the reply. A step is a
message, a tool call or a sub-agent's run; each is a memory (layer L1) of the cube, of which this is the frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from memos.memory.learned import Trial
from memos.memory.model import EMPTY, Memory

SUCCESS, FAILURE = 0.5, -0.5  # rewards from, and up to, which an episode succeeded or failed


class RelationKind(StrEnum):
    """How a user message stands to the episode before it: it corrects what was done, goes on with it, or begins another task."""

    REVISION = "revision"
    FOLLOW_UP = "follow_up"
    NEW_TASK = "new_task"


@dataclass(frozen=True, slots=True)
class Relation:
    """What was decided about a message, how sure (0 to 1), by which rule or model, and why in a few words."""

    kind: RelationKind
    confidence: float
    reason: str


class StepRole(StrEnum):
    """Who acts in a step."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SUBAGENT = "subagent"


class SignalSource(StrEnum):
    """Who says something of an episode's outcome. What weighs how much stands in `memos.evolution.value.reward`."""

    USER = "user"  # explicit feedback
    VERIFIER = "verifier"  # a test, a check, a grader
    IMPLICIT = "implicit"  # thanks, corrections, repetitions, abandonment
    TOOL = "tool"  # how the tools fared
    MODEL = "model"  # a language model's rubric


@dataclass(frozen=True, slots=True)
class Signal:
    """One piece of evidence for an episode's reward: `score` in [-1, 1]; `what` names it in a word ("thanks", "rubric"); `memory`
    is the record that says so, where there is one.
    """

    source: SignalSource
    what: str
    score: float
    at: datetime
    memory: str | None = None


@dataclass(frozen=True, slots=True)
class ToolUse:
    """What a tool was called with and what came of it, verbatim. `ok` None: nobody said. `duration` in seconds."""

    tool: str
    input: str = ""
    output: str = ""
    error: str | None = None
    ok: bool | None = None
    duration: float | None = None
    call_id: str | None = None

    @property
    def failed(self) -> bool:
        """Whether it is known to have failed."""
        return self.ok is False or (self.ok is None and bool(self.error))


@dataclass(frozen=True, slots=True)
class Step:
    """One step (an L1 trace): its memory, where it stands, and, once its episode was valued, what it was worth.

    `number` orders all steps of a cube. `alpha` in [0, 1]: how far the step itself is credited with the outcome; `value` in
    [-1, 1]: see `memos.evolution.value.credit`. `reflection`: what the agent thought of it.
    """

    number: int
    memory: Memory
    role: StepRole
    turn: int
    at: datetime
    use: ToolUse | None = None
    reflection: str | None = None
    alpha: float | None = None
    value: float | None = None

    @property
    def id(self) -> str:
        """The id of its memory."""
        return self.memory.id

    @property
    def words(self) -> str:
        """The text of its memory, without recalled memories that came back inside a message."""
        return own_words_of(self.memory.text, self.memory.body.get("injected", ()))


@dataclass(frozen=True, slots=True)
class Reward:
    """What an episode was worth, in [-1, 1], with the signals it was made of. None yet: `value` None. `confidence` in [0, 1]."""

    value: float | None = None
    confidence: float = 0.0
    signals: tuple[Signal, ...] = ()


@dataclass(frozen=True, slots=True)
class Episode:
    """One task of an agent. `goal` is the text that asked for it, `parent` the episode whose sub-agent this is.

    `closed_at` None: it is going on. `reason`: why it ended (new_task, session_end, gap, abandoned, ended). `due_at`: when it is
    learned from; `learned_at`: when that was done last. `turns` counts user messages, `steps` tool calls and sub-agents'
    runs: a message is none, here and wherever steps are counted.
    """

    id: str
    session: str
    agent: str
    owner: str
    environment: str
    goal: str
    opened_at: datetime
    last_at: datetime
    closed_at: datetime | None = None
    reason: str | None = None
    parent: str | None = None
    due_at: datetime | None = None
    learned_at: datetime | None = None
    reward: float | None = None
    reward_confidence: float = 0.0
    turns: int = 0
    steps: int = 0
    failed_steps: int = 0

    @property
    def is_open(self) -> bool:
        """Whether it is still going on."""
        return self.closed_at is None

    @property
    def outcome(self) -> str:
        """`open`, `unknown`, `success` (reward at least `SUCCESS`), `failure` (at most `FAILURE`) or `mixed`."""
        if self.closed_at is None:
            return "open"
        if self.reward is None:
            return "unknown"
        return "success" if self.reward >= SUCCESS else "failure" if self.reward <= FAILURE else "mixed"


def own_words_of(text: str, injected: Sequence[Sequence[int]]) -> str:
    """A text without these spans of it (see `memos.reading.traces.with_injected`)."""
    for start, end, *_ in reversed(injected):
        text = text[:start] + text[end:]
    return text.strip() if injected else text


@dataclass(frozen=True, slots=True)
class EpisodeDetail:
    """An episode with its steps in order, the signals of its outcome, and what was handed out in it."""

    episode: Episode
    steps: tuple[Step, ...] = ()
    signals: tuple[Signal, ...] = ()
    trials: tuple[Trial, ...] = ()


@dataclass(frozen=True, slots=True)
class Episodes:
    """One page of episodes, newest first; `cursor` continues after the last, None when there is no more."""

    items: tuple[Episode, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class StepReport:
    """What an agent tells of one step it took, as it comes in over any wire: see `ToolUse`."""

    tool: str
    input: Any = None
    output: Any = None
    error: str | None = None
    ok: bool | None = None
    duration: float | None = None
    call_id: str | None = None
    reflection: str | None = None
    info: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
