"""From the pools of one or several cubes to one ranking: features on one scale, weighted sum, score in [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memos.recall.recipe import Recipe
from memos.recall.understand import Question
from memos.storage.ports import Pool

F32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates best first. `pool` and `row` say where each is from; `features` are aligned with the order."""

    pool: NDArray[np.intp]
    place: NDArray[np.intp]
    score: F32
    features: dict[str, F32]


def rank(pools: Sequence[Pool], question: Question, recipe: Recipe) -> Ranking:
    """Rank the candidates of all pools together, so that scores are comparable across cubes."""
    features = _features(pools, question, recipe)
    total = np.zeros(sum(len(p.rows) for p in pools), np.float32)
    for name, weight in recipe.weights.items():
        total += np.float32(weight) * features[name]
    total *= np.where(features["derived"] > 0, np.float32(recipe.derived_discount), np.float32(1))
    order = np.lexsort((np.arange(len(total)), -total))
    score = calibrate(total, features, order)
    pool = np.concatenate([np.full(len(p.rows), i, np.intp) for i, p in enumerate(pools)])
    place = np.concatenate([np.arange(len(p.rows)) for p in pools])
    return Ranking(pool[order], place[order], score[order], {k: v[order] for k, v in features.items()})


def _features(pools: Sequence[Pool], question: Question, recipe: Recipe) -> dict[str, F32]:
    def column(name: str) -> F32:
        return np.concatenate([p.columns[name] for p in pools]) if pools else np.empty(0, np.float32)

    raw = column("lexical")
    best = float(raw.max(initial=0.0))
    lexical = raw / np.float32(max(best, 1e-6))
    full = np.concatenate([np.full(len(p.rows), max(p.full_match, 1e-6), np.float32) for p in pools])
    features = {
        "lexical": lexical,
        "session": _best_in_session(pools, lexical),
        "dense": _above_mean(pools, "dense"),
        "dense_window": _above_mean(pools, "dense_window"),
        "coverage": np.minimum(raw / full, 1.0),
        "cosine": column("dense"),
        "derived": np.concatenate([p.derived for p in pools]).astype(np.float32),
    }
    for name in ("speaker", "date", "question", "time_word", "name", "length"):
        features[name] = column(name)
    features["name_asked"] = features["name"] * np.float32(question.asks_name)
    return features


def _above_mean(pools: Sequence[Pool], name: str) -> F32:
    """0 at the cube's mean cosine, 1 at the best of all pools: what is like everything counts nothing."""
    parts = []
    for p in pools:
        values = p.columns[name]
        parts.append(values - np.float32(p.dense_mean) if p.has_dense else np.zeros(len(values), np.float32))
    above = np.concatenate(parts)
    best = max((float(above.max(initial=0.0))), 1e-6)
    for p, part in zip(pools, parts, strict=True):
        part[p.columns["dense"] == 0] = 0.0  # not embedded yet
    return np.asarray(np.concatenate(parts) / np.float32(best), np.float32)


def _best_in_session(pools: Sequence[Pool], values: F32) -> F32:
    if not len(values):
        return values
    keys = np.concatenate([p.sessions.astype(np.int64) + (i << 32) for i, p in enumerate(pools)])
    _, group = np.unique(keys, return_inverse=True)
    best = np.zeros(int(group.max()) + 1, np.float32)
    np.maximum.at(best, group, values)
    return best[group]


def calibrate(total: F32, features: dict[str, F32], order: NDArray[np.intp]) -> F32:
    """The score in [0, 1], in the order of `total`. Relative evidence (best of a bad lot) is held down by absolute evidence of
    the whole answer: how much of the question its best candidates cover, or how near their meaning is."""
    top = order[:10]
    if not len(top):
        return total
    absolute = np.maximum(features["coverage"][top], np.clip(features["cosine"][top], 0, 1))
    return np.asarray(np.clip(total, 0, 1) * np.float32(np.sqrt(float(absolute.max()))), np.float32)
