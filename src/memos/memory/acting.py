"""What the verbs of an agent answer with: turns begun and ended, steps reported, and what was recalled for it. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from memos.memory.episode import Episode, Relation
from memos.memory.hit import SearchStatus
from memos.memory.learned import Action, Hint, LearningEvent, WorldStatement, told
from memos.memory.model import EMPTY, Edge, Memory

_Went = tuple[float | None, float | None]  # how often episodes succeed, and how many steps they take


class Trigger(StrEnum):
    """Why an agent recalls: which tiers are asked, and what leads, follows from it."""

    TURN = "turn"  # a user message came in
    TOOL = "tool"  # a tool is about to be called, or was
    SUBAGENT = "subagent"  # work is handed to another agent
    REPAIR = "repair"  # something failed
    SKILL = "skill"  # a skill is invoked by name


class Tier(StrEnum):
    """What a recalled item is, in the order in which the block shows them."""

    SKILL = "skill"
    GUIDANCE = "guidance"  # policies, directives, repair hints
    EXPERIENCE = "experience"  # episodes and traces
    WORLD = "world"
    FACT = "fact"


@dataclass(frozen=True, slots=True)
class RecalledItem:
    """One thing that was recalled, as the block shows it. `memory`: its id (of an episode: of the message that asked for it;
    empty for a hint that draws from none). `score` in [0, 1]. `trial`: that it was handed out counts as a trial of it. `calls`:
    what it says to do, as data: tools and what they are given, parameters filled in as far as they are known.
    """

    tier: Tier
    memory: str
    cube: str
    text: str
    score: float
    episode: str | None = None
    trial: bool = False
    hint: int | None = None
    calls: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class Recalled:
    """What an agent should know now. `context` is one block, ready for a prompt, fenced and escaped, of at most `max_tokens`
    tokens (4 characters each); empty where there is nothing to say. `reasons`: what was missing or went wrong.
    """

    trigger: Trigger
    context: str = ""
    items: tuple[RecalledItem, ...] = ()
    tokens: int = 0
    status: SearchStatus = SearchStatus.NOTHING
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.context


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn of an agent has begun. `message` is the id of the stored user message; `turn` counts from 1 within the episode;
    `closed` is the episode that this message ended, where it did. `repeated`: the same report came before; nothing was done
    twice.
    """

    cube: str
    episode: str
    turn: int
    message: str
    relation: Relation
    recalled: Recalled
    closed: str | None = None
    repeated: bool = False
    notices: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = f"turn {self.turn} of episode {self.episode} ({self.relation.kind.value.replace('_', ' ')})"
        return "\n".join(filter(None, (head, self.recalled.context)))


@dataclass(frozen=True, slots=True)
class StepReported:
    """A step is on disk. `hint`: advice where this tool failed again and again, with the `context` block to show the agent
    now.
    """

    cube: str
    episode: str
    turn: int
    step: str
    number: int
    repeated: bool = False
    hint: Hint | None = None
    context: str = ""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn is over: the reply and the steps that came with it are on disk. `message` None: there was no reply."""

    cube: str
    episode: str
    turn: int
    message: str | None
    steps: tuple[str, ...] = ()
    repeated: bool = False
    hint: Hint | None = None
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OutcomeReported:
    """What was said of an episode's outcome is on disk, and the episode will be learned from (again) by `due_at` (None: when it
    is over). `directives`: what was told in it that holds beyond it, by id of the policies made of it.
    """

    cube: str
    episode: str
    score: float
    due_at: datetime | None = None
    directives: tuple[str, ...] = ()
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """A session of an agent is over; `episodes` are those that were closed by it."""

    cube: str
    session: str
    episodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evolved:
    """What a run of learning did: episodes closed for want of news, episodes learned from, and how often what happened (the
    `what` of learning events); what the background did before it is not counted. `waiting`: episodes that are closed and not
    due yet.
    """

    cube: str
    closed: int = 0
    learned: int = 0
    events: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    waiting: int = 0
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where something learned comes from (down to the steps it rests on) and what came of it (up): memories and the edges between
    them. `episodes`: those the steps belong to, and all that teach it. `depth` of each memory: 0 the one asked for, negative
    below, positive above.
    """

    root: str
    memories: tuple[Memory, ...] = ()
    edges: tuple[Edge, ...] = ()
    depth: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    episodes: tuple[Episode, ...] = ()


@dataclass(frozen=True, slots=True)
class PathStep:
    """One hop of a path: from one memory to another along an edge, in words. `forward`: along the edge's own direction."""

    edge: Edge
    forward: bool
    text: str


@dataclass(frozen=True, slots=True)
class WorldPath:
    """How two things are connected: the memories on the way, the hops between them, and the whole as one sentence."""

    memories: tuple[Memory, ...]
    hops: tuple[PathStep, ...]
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class WorldAnswer:
    """What the world model says to a question: statements that hold, and paths in the graph, best first."""

    query: str
    statements: tuple[WorldStatement, ...] = ()
    paths: tuple[WorldPath, ...] = ()
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = [*map(str, self.statements), *(path.text for path in self.paths)]
        return "\n".join(said or self.reasons) or "nothing is known of it"


@dataclass(frozen=True, slots=True)
class LearningEvents:
    """Events of the stream, in order; go on with `after=last`."""

    items: tuple[LearningEvent, ...] = ()
    last: int = 0


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a report's span, and how the episodes that ended in it went."""

    since: datetime
    until: datetime
    episodes: int = 0
    success_rate: float | None = None
    steps_per_episode: float | None = None


@dataclass(frozen=True, slots=True)
class LearningReport:
    """What changed in a span of time, for people: counts, what was learned, promoted and retired, and how episodes went.

    `success_rate` (of episodes with a reward; None without one) and `steps_per_episode` are of the span, the `_before` ones of
    the span of the same length before it. `thirds`: the first, the middle and the last third of the episodes that ended in the
    span, where there are six or more. `verdict` says in a sentence whether it got better; `print` shows the whole.
    """

    cube: str
    since: datetime
    until: datetime
    episodes: int = 0
    closed: int = 0
    success_rate: float | None = None
    success_rate_before: float | None = None
    steps_per_episode: float | None = None
    steps_per_episode_before: float | None = None
    counts: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    learned: tuple[Memory, ...] = ()
    promoted: tuple[Memory, ...] = ()
    retired: tuple[Memory, ...] = ()
    trials: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    closed_before: int = 0
    thirds: tuple[Stretch, ...] = ()

    @property
    def verdict(self) -> str:
        """Whether agents got better, in one sentence or two: within the span, and against the span before it."""
        if not self.closed:
            return "No episode ended in this span, so nothing can be said of how it goes."
        now = (self.success_rate, self.steps_per_episode)
        said: list[str] = []
        if self.thirds:
            first, last = self.thirds[0], self.thirds[-1]
            was, came = (first.success_rate, first.steps_per_episode), (last.success_rate, last.steps_per_episode)
            said.append(
                f"Within this span it {_judged(came, was)}: its last {last.episodes} episodes {_went(came)}, "
                f"its first {first.episodes} {_went(was)}."
            )
        if self.closed_before:
            was = (self.success_rate_before, self.steps_per_episode_before)
            said.append(
                f"Against the span before it {_judged(now, was)}: {_episodes(self.closed)} {_went(now)}, "
                f"{self.closed_before} before {_went(was)}."
            )
        if said:
            return " ".join(said)
        return f"{_episodes(self.closed)} {_went(now)}; too few, and none before, to say whether it gets better.".capitalize()

    def __str__(self) -> str:
        lines = [
            f"{self.cube}: {self.since:%Y-%m-%d %H:%M} to {self.until:%Y-%m-%d %H:%M}",
            self.verdict,
            f"{self.episodes} begun, {self.closed} ended",
        ]
        if self.trials:
            lines.append("trials: " + ", ".join(f"{count} {outcome}" for outcome, count in self.trials.items()))
        for title, memories in (("learned", self.learned), ("promoted", self.promoted), ("retired", self.retired)):
            if memories:
                lines += [f"{title}:", *(f"- {told(m)}" for m in memories)]
        return "\n".join(lines)


def _judged(now: _Went, was: _Went) -> str:
    """How it goes now beside how it went: what succeeds counts first, then the steps it takes."""
    by_success, by_steps = _more(now[0], was[0], 0.05), 0
    if now[1] is not None and was[1] is not None and was[1] > 0:
        by_steps = -_more(now[1] / was[1], 1.0, 0.1)  # fewer steps are better
    if by_success and by_steps == -by_success:
        return "went better, with more steps" if by_success > 0 else "went worse, with fewer steps"
    return {1: "went better", -1: "went worse", 0: "went as well as before"}[by_success or by_steps]


def _more(now: float | None, was: float | None, least: float) -> int:
    if now is None or was is None or abs(now - was) < least:
        return 0
    return 1 if now > was else -1


def _went(of: _Went) -> str:
    rate, steps = of
    said = "said nothing of their outcome" if rate is None else f"succeeded in {rate:.0%}"
    return said if steps is None else f"{said} ({steps:.1f} steps each)"


def _episodes(count: int) -> str:
    return f"{count} episode{'' if count == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Published:
    """A memory that was shared with another cube: the copy there."""

    id: str
    cube: str
    source: str
    source_cube: str
    new: bool = True
