"""How much better episodes go with a policy than without it (as in the MemOS local plugin, of episodes instead of steps).

With a policy are the episodes that teach it, and those it was handed out in; without it the comparable ones: those of the same
buckets (the same kind of error, the same kind of task) that do neither.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import apsw

from memos.storage.sqlite import lived

TAU = 0.5  # of the softmax mean: how much the better episodes count more
SOFTMAX_FROM = 3  # episodes
EVIDENCE = 5.0  # episodes' worth of the usual in each mean, so that few episodes say little
USUAL_LEAST, USUAL_MOST = 0.2, 0.4  # bounds of what is taken for usual: less than a success
MOST_EPISODES = 50  # of each side, the newest
FEWEST_EPISODES = 2  # one episode alone shows no gain, however well it went


def gain(with_it: Sequence[float], without: Sequence[float]) -> float:
    """By how much the mean value of episodes with something exceeds that of those without, in [-1.5, 1.5].

        usual = mean of all, within [0.2, 0.4]          W, Wo = (n*mean + 5*usual) / (n + 5)          gain = W - Wo

    The mean of three or more with it is a softmax mean (weights exp(V/0.5)). Both means are shrunk, not the baseline alone: with
    that, one success of .7 gained .2 against nothing at all and passed every gate; here it gains nothing, for fewer than two
    episodes show none.
    """
    good, base = [*with_it][-MOST_EPISODES:], [*without][-MOST_EPISODES:]
    everything = [*good, *base]
    if not everything:
        return 0.0
    usual = max(USUAL_LEAST, min(USUAL_MOST, sum(everything) / len(everything)))
    gained = _shrunk(len(good), mean_value(good), usual) - _shrunk(len(base), _mean(base), usual)
    return min(gained, 0.0) if len(good) < FEWEST_EPISODES else gained


def mean_value(values: Sequence[float]) -> float:
    """The mean of values; of three or more, weighted by exp(V/0.5)."""
    if len(values) < SOFTMAX_FROM:
        return _mean(values)
    weights = [math.exp(v / TAU) for v in values]
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


def gain_of(db: apsw.Connection, memory: str) -> float:
    """The gain of a policy, from its rows: see `gain`."""
    compared = lived.compared(db, memory, MOST_EPISODES)
    return gain(compared.with_it, compared.without)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _shrunk(count: int, mean: float, usual: float) -> float:
    return (count * mean + EVIDENCE * usual) / (count + EVIDENCE)
