"""One closed episode as learning sees it: what happened, what it was worth, and what each step was worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from memos.memory.episode import Episode, Reward, Signal, Step
from memos.memory.learned import Trial


@dataclass(frozen=True, slots=True)
class Credit:
    """What a step was worth: `alpha` in [0, 1], `value` in [-1, 1] (see `credit`)."""

    alpha: float
    value: float


@dataclass(frozen=True, slots=True)
class Case:
    """A closed episode, its steps in order, what was said of it, what was handed out in it, and its values by step number."""

    episode: Episode
    steps: tuple[Step, ...]
    signals: tuple[Signal, ...] = ()
    trials: tuple[Trial, ...] = ()
    reward: Reward = field(default_factory=Reward)
    credits: Mapping[int, Credit] = field(default_factory=dict)
