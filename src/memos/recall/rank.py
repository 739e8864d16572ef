"""From the pools of one or several cubes to one ranking: features on one scale, weighted sum, score in [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memos.recall.recipe import ENOUGH, Recipe
from memos.recall.understand import Question
from memos.storage.ports import Pool
from memos.text.analysis import is_identifier

F32 = NDArray[np.float32]
_LEAST_SPREAD = 0.05  # of cosines above the mean: less than this is noise, however it is stretched


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates best first. `pool` and `row` say where each is from; `features` are aligned with the order."""

    pool: NDArray[np.intp]
    place: NDArray[np.intp]
    score: F32
    features: dict[str, F32]


def rank(pools: Sequence[Pool], question: Question, recipe: Recipe) -> Ranking:
    """Rank the candidates of all pools together, so that scores are comparable across cubes."""
    features = _features(pools, question)
    total = np.zeros(sum(len(p.rows) for p in pools), np.float32)
    for name, weight in recipe.weights.items():
        total += np.float32(weight) * features[name]
    order = np.argsort(-total, kind="stable")
    pool = np.concatenate([np.full(len(p.rows), i, np.intp) for i, p in enumerate(pools)])
    place = np.concatenate([np.arange(len(p.rows)) for p in pools])
    score = np.clip(total / np.float32(attainable(question, recipe)), 0, 1)
    return Ranking(pool[order], place[order], score[order], {k: v[order] for k, v in features.items()})


def attainable(question: Question, recipe: Recipe) -> float:
    """The sum a very good answer to this question reaches: what scores are measured against."""
    speaker = recipe.weights["speaker"] * max(question.speakers.values(), default=0.0)
    date = recipe.weights["date"] if question.spans else 0.0
    exact = recipe.weights["exact"] if any(map(is_identifier, question.terms)) else 0.0
    recent = recipe.weights["recent"] if question.asks_now else 0.0
    return recipe.attainable + speaker + date + exact + recent


def _features(pools: Sequence[Pool], question: Question) -> dict[str, F32]:
    def column(name: str) -> F32:
        return np.concatenate([p.columns[name] for p in pools])

    raw = column("lexical")
    enough = max((ENOUGH * p.full_match for p in pools), default=0.0)
    lexical = raw / np.float32(max(float(raw.max(initial=0.0)), enough, 1e-6))
    features = {
        "lexical": lexical,
        "session": _best_in_session(pools, lexical),
        "dense": _above_mean(pools, "dense", lexical),
        "dense_window": _above_mean(pools, "dense_window", lexical),
    }
    features["embedded"] = (column("dense") != 0).astype(np.float32)
    for name in ("speaker", "date", "exact", "worth", "question", "time_word", "name", "length"):
        features[name] = column(name)
    features["name_asked"] = features["name"] * np.float32(question.asks_name)
    features["recent"] = _recency(pools, lexical) * np.float32(question.asks_now)
    return features


def _above_mean(pools: Sequence[Pool], name: str, stand_in: F32) -> F32:
    """0 at the cube's mean cosine, 1 at the best of all pools: what is like everything counts nothing. A message
    without a vector gets what its words say.
    """
    means = [np.float32(p.dense_mean if name == "dense" else p.dense_window_mean) for p in pools]
    above = np.concatenate([p.columns[name] - mean for p, mean in zip(pools, means, strict=True)])
    missing = np.concatenate([p.columns["dense"] == 0 for p in pools])
    best = float(np.where(missing, 0, above).max(initial=0.0))
    nearness = np.clip(above / np.float32(max(best, _LEAST_SPREAD)), -1, 1)
    return np.asarray(np.where(missing, stand_in, nearness), np.float32)


def _recency(pools: Sequence[Pool], lexical: F32) -> F32:
    """From 0 for the oldest to 1 for the newest of the candidates that share words with the question; others get nothing."""
    happened = np.concatenate([p.happened for p in pools])
    about = lexical > 0
    if not about.any():
        return np.zeros(len(lexical), np.float32)
    first, last = happened[about].min(), happened[about].max()
    age = (happened - first) / max(1, int(last - first))
    return np.asarray(np.where(about, np.clip(age, 0, 1) * np.minimum(1, 2 * lexical), 0), np.float32)


def _best_in_session(pools: Sequence[Pool], values: F32) -> F32:
    if not len(values):
        return values
    keys = np.concatenate([p.sessions.astype(np.int64) + (i << 32) for i, p in enumerate(pools)])
    _, group = np.unique(keys, return_inverse=True)
    best = np.zeros(int(group.max()) + 1, np.float32)
    np.maximum.at(best, group, values)
    return best[group]
