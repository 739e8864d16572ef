"""What an episode was worth: one number in [-1, 1] out of everything that was said and seen of its outcome. Pure.

Weak evidence moves it little, contradictory evidence cancels out, and where nothing is known there is no reward: never a zero as
if it were known. How long a task was, or how many tools it took, is no reason to refuse one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from memos.memory.episode import Reward, Signal, SignalSource, Step, StepRole

WEIGHT: Mapping[SignalSource, float] = MappingProxyType(
    {
        SignalSource.USER: 5.0,  # what somebody says of the outcome, and
        SignalSource.VERIFIER: 5.0,  # what a check finds, outweigh all the rest together
        SignalSource.MODEL: 1.5,
        SignalSource.IMPLICIT: 0.8,
        SignalSource.TOOL: 0.5,
    }
)
EARLIER: Mapping[SignalSource, float] = MappingProxyType(
    {
        SignalSource.USER: 0.0,  # what counts of a word once another came later: a verdict replaces the one before it,
        SignalSource.VERIFIER: 0.0,  # as a test that passes does one that failed;
        SignalSource.MODEL: 0.25,  # of signs a part of each stays: half, a quarter ...
        SignalSource.IMPLICIT: 0.5,
        SignalSource.TOOL: 0.5,
    }
)
DOUBT = 1.0  # weight of knowing nothing, on the side of 0: a signal of weight w alone gives w/(w + 1) of its score
AGREED = 0.5  # of the doubt, that is left where what users let be seen and how the tools fared say the same
STEPS = "steps"  # the signal that is made of how the tools fared
ALPHA = "alpha"  # what a model's word on a single step is called: it says nothing of the outcome
UNJUDGED = "unjudged"  # that a model was asked and gave no answer that can be used
_ASIDE = frozenset({ALPHA, UNJUDGED})
_AT_THE_END, _ON_THE_WHOLE = 0.6, 0.4  # of the tools' score: how the last call ended, and how many tools ended well


def reward(steps: Sequence[Step], signals: Iterable[Signal]) -> Reward:
    """What an episode was worth, how sure that is, and the signals it is made of (in order, the tools' last).

    Of each source, the mean score, later signals counting more (`EARLIER`; those of one moment count alike). A user's verdict
    also takes the place of what she let be seen before it. Over the sources,

        value = sum(w*s) / (sum(w) + d)            confidence = sum(w) / (sum(w) + d) * |sum(w*s)| / sum(w*|s|)

    with `WEIGHT` times the share of what each source said as w, and as d `DOUBT`, or half of it where signs of the user and of
    tools agree. (After the MemOS local plugin, which divided by the weights alone, so that a single faint sign gave 1.) `value`
    None where nobody and nothing says anything.
    """
    told = _standing([s for s in signals if s.what not in _ASIDE])
    fared = how_tools_fared(steps)
    if fared is not None:
        told.append(fared)
    told.sort(key=lambda s: (s.source is SignalSource.TOOL, s.at, s.source.value, s.what, s.score))
    total = good = size = 0.0
    signs: dict[SignalSource, bool] = {}  # of each source that says something, whether it is good
    for source, weight in WEIGHT.items():
        share, score, strength = _mean([s for s in told if s.source is source], EARLIER[source])
        total += weight * share
        good += weight * share * score
        size += weight * share * strength
        if score:
            signs[source] = score > 0
    if not total:
        return Reward()
    agreed = abs(good) / size if size else 1.0
    agree = SignalSource.IMPLICIT in signs and SignalSource.TOOL in signs and len(set(signs.values())) == 1
    doubt = DOUBT * AGREED if agree else DOUBT
    return Reward(_within(good / (total + doubt)), total / (total + doubt) * min(1.0, agreed), tuple(told))


def how_tools_fared(steps: Sequence[Step]) -> Signal | None:
    """The tools' own signal: 0.6 of it is how the last call ended, 0.4 the share of tools whose last call ended well. None where
    nobody knows how any call ended.
    """
    calls = [s for s in steps if s.role in (StepRole.TOOL, StepRole.SUBAGENT) and ended(s) is not None]
    if not calls:
        return None
    last = {step.use.tool if step.use else "": ended(step) for step in calls}
    well = sum(bool(ok) for ok in last.values()) / len(last)
    score = _AT_THE_END * (1 if ended(calls[-1]) else -1) + _ON_THE_WHOLE * (2 * well - 1)
    return Signal(SignalSource.TOOL, STEPS, _within(score), calls[-1].at)


def _standing(signals: Sequence[Signal]) -> list[Signal]:
    """Signals without the signs of a user who has said more clearly since what she thinks."""
    verdict = max((s.at for s in signals if s.source is SignalSource.USER), default=None)
    return [s for s in signals if verdict is None or s.source is not SignalSource.IMPLICIT or s.at >= verdict]


def ended(step: Step) -> bool | None:
    """Whether a tool call or a sub-agent's run ended well; None where nobody knows."""
    if step.use is None:
        return None
    return False if step.use.failed else step.use.ok


def _mean(signals: Sequence[Signal], earlier: float) -> tuple[float, float, float]:
    """How much a source said (1 for one signal), its mean score, and the mean size of its scores."""
    moments = sorted({s.at for s in signals}, reverse=True)
    age = {at: n for n, at in enumerate(moments)}
    weights = [earlier ** age[s.at] for s in signals]
    total = sum(weights)
    if not total:
        return 0.0, 0.0, 0.0
    score = sum(w * _within(s.score) for w, s in zip(weights, signals, strict=True)) / total
    size = sum(w * abs(_within(s.score)) for w, s in zip(weights, signals, strict=True)) / total
    return min(total, 2.0), score, size


def _within(value: float) -> float:
    return max(-1.0, min(1.0, value))
