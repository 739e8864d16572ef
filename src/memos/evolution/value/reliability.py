"""How far something learned can be relied on: a Beta posterior over its real trials, and the state that follows from it. The
same rows give the same number and the same state, in whatever order they were learned from.

A trial is that it was handed out, and that the outcome of the episode is known (`memos.evolution.value.trials`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb

import apsw

from memos.memory.learned import State
from memos.storage.sqlite import lived

STRENGTH = 2.0  # of what is believed before the first trial, in trials
LEAST_PRIOR, MOST_PRIOR = 0.5, 0.75  # mean of that belief: without evidence, and from so many episodes on:
FULL_SUPPORT = 4
KEPT = 0.85  # of the weight of all former trials with each new one: what turned wrong does not live on its past

FEWEST_EPISODES = 2  # that teach a policy before it is active
LEAST_GAIN, WORST_GAIN = 0.02, -0.05  # from which a policy is active; below which it is retired
ACTIVE_FROM, ACTIVE_DOWN_TO = 0.6, 0.45  # reliability from which a skill is active, and until which it stays so
RETIRED_BELOW = 0.3
WORN = f"trials failed until its reliability was below {RETIRED_BELOW}"
FEWEST_PASSES = 2  # before a skill is active
FEWEST_FAILS = 3  # before anything is retired
LEAST_USUAL, MOST_USUAL = 0.35, 0.95  # bounds of the share of tasks that succeed anyway
BY_ACCIDENT = 0.2  # how likely so few passes are at least, where nothing is wrong with an order


@dataclass(frozen=True, slots=True)
class Belief:
    """A Beta distribution: `good` and `bad` are its two parameters, both above 0."""

    good: float
    bad: float

    @property
    def mean(self) -> float:
        """How likely the next trial passes."""
        return self.good / (self.good + self.bad)

    def after(self, passed: bool) -> Belief:
        """The belief after one more trial."""
        return Belief(KEPT * self.good + passed, KEPT * self.bad + (not passed))


def prior(support: int) -> Belief:
    """What is believed before any trial: the more episodes teach it the better, but worth no more than two trials, so that
    what is wrong is found out within five.
    """
    mean = LEAST_PRIOR + (MOST_PRIOR - LEAST_PRIOR) * min(1.0, max(0, support) / FULL_SUPPORT)
    return Belief(STRENGTH * mean, STRENGTH * (1 - mean))


def posterior(support: int, outcomes: Iterable[bool]) -> Belief:
    """The belief after trials, oldest first. Each counts 0.85 of the one after it."""
    belief = prior(support)
    for passed in outcomes:
        belief = belief.after(passed)
    return belief


def reliability(outcomes: Iterable[bool], *, support: int = 0) -> float:
    """The mean of the posterior, in (0, 1), after trials in order: did they pass?"""
    return posterior(support, outcomes).mean


def reliability_of(db: apsw.Connection, memory: str, support: int) -> float:
    """The reliability of a policy or skill, from its rows."""
    return reliability(lived.outcomes(db, memory), support=support)


def worse_than_usual(outcomes: Sequence[bool], usual: float) -> bool:
    """Whether so few passes are no accident where a share `usual` of tasks succeeds anyway (taken as .35 at least, and .95 at
    most): the binomial tail is below .2. So a harmless order is not blamed for tasks that are hard.
    """
    n, passes = len(outcomes), sum(outcomes)
    p = max(LEAST_USUAL, min(MOST_USUAL, usual))
    return sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(passes + 1)) < BY_ACCIDENT


def policy_state(support: int, gain: float, outcomes: Iterable[bool]) -> tuple[State, str]:
    """The state of a policy that no person decided on, and why, in a few words.

    Retired: its reliability fell below 0.3 after three failed trials or more, or episodes went worse with it than without.
    Active: two episodes teach it, and they went better than others. What was retired for its trials stays so, unless they turn
    out otherwise after all.
    """
    belief, fails = prior(support), 0
    for passed in outcomes:
        belief, fails = belief.after(passed), fails + (not passed)
        if fails >= FEWEST_FAILS and belief.mean < RETIRED_BELOW:
            return State.RETIRED, WORN
    if support < FEWEST_EPISODES:
        return State.CANDIDATE, f"taught by fewer than {FEWEST_EPISODES} episodes"
    if gain < WORST_GAIN:
        return State.RETIRED, "episodes go worse with it than without"
    if gain < LEAST_GAIN:
        return State.CANDIDATE, "episodes go no better with it than without"
    return State.ACTIVE, "several episodes teach it, and they go better with it"


def skill_state(support: int, outcomes: Iterable[bool]) -> tuple[State, str]:
    """The state of a skill that no person decided on, and why, in a few words.

    On probation until two trials passed and its reliability is 0.6; active until that falls below 0.45; retired, for good, below
    0.3 after three failed trials or more.
    """
    belief, state, passes, fails = prior(support), State.PROBATION, 0, 0
    for passed in outcomes:
        belief = belief.after(passed)
        passes, fails = passes + passed, fails + (not passed)
        if fails >= FEWEST_FAILS and belief.mean < RETIRED_BELOW:
            return State.RETIRED, WORN
        if state is State.ACTIVE and belief.mean < ACTIVE_DOWN_TO:
            state = State.PROBATION
        elif state is State.PROBATION and passes >= FEWEST_PASSES and belief.mean >= ACTIVE_FROM:
            state = State.ACTIVE
    if state is State.ACTIVE:
        return state, f"at least {FEWEST_PASSES} trials passed"
    return state, "too many trials failed of late" if passes >= FEWEST_PASSES else "on trial"
