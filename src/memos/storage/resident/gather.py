"""The pool of candidates for one question, with every channel's raw value for each: what `recall` weighs and ranks.

Two stages, so that a million messages cost little more than a thousand. First every message gets a cheap score (BM25
spread to its neighbours, speaker, dates, what the message is); the best by it and the nearest vectors are looked at
with care. BM25 uses a fixed length pivot instead of the average length, so a message's impact does not change as
others arrive. Formula: Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memos.storage.ports import Pool, Probe
from memos.storage.resident.index import ResidentIndex, traits
from memos.storage.resident.vectors import VectorIndex
from memos.storage.resident.worth import worth
from memos.storage.threads import ThreadPool

F32 = NDArray[np.float32]
Docs = NDArray[np.intp]

K1, B, PIVOT = 0.9, 0.4, 8.0  # PIVOT: content terms of a typical message
TYPICAL_IMPACT = 1.2  # impact of one mention in a short message
LONGEST = 40  # content terms beyond which length no longer takes away: a log is not worse for its other lines
KERNEL = {1: 0.6, 2: 0.4}  # what a term is worth that stands one or two messages away
SPREAD = {1: 0.4, 2: 0.25}  # the first stage's cheaper, additive form of the same
MAX_WALK = 600_000  # postings the first stage walks at most: the rarest terms first
_BLOCK = 64
_aside = ThreadPool(4, "memos-near")
_HOUR, _DAY = 3_600_000_000, 86_400_000_000


@dataclass(frozen=True, slots=True)
class Span:
    """A wanted time span in µs, end exclusive."""

    start: int
    end: int
    weight: float


@dataclass(frozen=True, slots=True)
class Resolved:
    """A `Probe` in this index's terms: idf-weighted term numbers, the weight of all terms (those that no text holds
    included), numbers of the identifiers, spans in µs, forced documents."""

    probe: Probe
    terms: Mapping[int, float]
    full: float
    exact: tuple[int, ...] = ()
    spans: tuple[Span, ...] = ()
    force: tuple[int, ...] = ()


def rarity_of(documents: int, frequency: int) -> float:
    """How much a term says: the inverse document frequency of BM25, always above 0."""
    return math.log(1 + (max(documents, frequency) - frequency + 0.5) / (frequency + 0.5))


def gather(
    index: ResidentIndex, asked: Resolved, allowed: NDArray[np.bool_] | None, by_words: F32 | None = None
) -> Pool:
    """The candidates of a question among the allowed documents (None: the active ones) of one cube. `by_words`: what
    `text_score` answered for the same question, when it was asked ahead.
    """
    probe = asked.probe
    allowed = index.active() if allowed is None else allowed
    vectors = index.vectors.get(probe.model) if probe.vector is not None and probe.model else None
    near = None
    if vectors is not None and vectors.filled and probe.vector is not None:
        vectors.resize(len(index))
        near = _aside.submit(vectors.best, probe.vector, probe.dense_pool, allowed)  # beside the words, on another core
    coarse = text_score(index, asked) if by_words is None else by_words
    docs = _top(coarse, allowed, probe.text_pool)
    if near is not None:
        docs = np.union1d(docs, near.result()[0])
    if asked.force:
        docs = np.union1d(docs, np.asarray(asked.force, np.intp))
    order = np.argsort(-coarse[docs], kind="stable")
    ranks = np.empty(len(docs), np.int64)
    ranks[order] = np.arange(1, len(docs) + 1)
    columns = {
        "lexical": _kernel_bm25(index, docs, asked.terms),
        "coarse": coarse[docs],
        "exact": _exact(index, docs, asked.exact),
        "speaker": _speaker(index, docs, probe.speakers),
        "date": _date(index.happened.view[docs], asked.spans),
        "worth": _worth(index, docs),
        **_traits(index, docs),
    }
    means = (0.0, 0.0)
    if vectors is not None and vectors.filled and probe.vector is not None and probe.model is not None:
        columns["dense"], columns["dense_window"] = _dense(index, vectors, docs, probe.vector)
        means = (
            float(vectors.mean() @ probe.vector),
            float(_window_mean(index, probe.model, vectors) @ probe.vector),
        )
    else:
        columns["dense"] = columns["dense_window"] = np.zeros(len(docs), np.float32)
    return Pool(
        rows=index.n.view[docs].copy(),
        sessions=index.session.view[docs].copy(),
        happened=index.happened.view[docs].copy(),
        derived=index.is_derived(docs),
        columns=columns,
        first_rank=ranks,
        documents=index.active_count(),
        history_chars=index.history_chars,
        full_match=asked.full * TYPICAL_IMPACT,
        dense_mean=means[0],
        dense_window_mean=means[1],
        has_dense=vectors is not None and vectors.filled > 0,
    )


# -- first stage: everything, cheaply --------------------------------------------------------------------------------


def text_score(index: ResidentIndex, asked: Resolved) -> F32:
    """BM25 spread to the neighbours in the session, plus what is known of each message without looking at its words."""
    weights = asked.probe.weights
    score = np.zeros(len(index), np.float32)
    walked = 0
    for term in sorted(asked.terms, key=index.postings.frequency):
        cost = index.postings.frequency(term)
        if walked and walked + cost > MAX_WALK:
            break
        walked += cost
        docs, tf = index.postings.get(term)
        score[docs] += np.float32(asked.terms[term]) * _impact(tf, index.length.view[docs])
    touched = np.flatnonzero(score)
    own = score[touched]
    for step, weight in SPREAD.items():
        for way in (index.prev.view, index.next.view):
            target = _hop(way, touched, step)
            ok = target >= 0
            score[target[ok]] += np.float32(weight) * own[ok]  # a step is one to one: no target twice
    retold = index.retold()
    best = float((score if retold is None else score[~retold]).max(initial=0.0))
    score *= np.float32(weights.get("text", 0.82) / max(best, 0.5 * TYPICAL_IMPACT * asked.full, 1e-6))
    score += index.prior(weights)
    for name, wanted in asked.probe.speakers.items():
        if (code := index.speakers.get(name)) is not None:
            score += (index.speaker.view == code) * np.float32(weights.get("speaker", 0.2) * wanted)
    if asked.spans:
        score += np.float32(weights.get("date", 0.4)) * _date(index.happened.view, asked.spans)
    return score


def _top(score: F32, allowed: NDArray[np.bool_], wanted: int) -> Docs:
    """The best `wanted` allowed documents. The wanted-th best block maximum bounds the cut, so few rows are
    partitioned.
    """
    masked = np.where(allowed, score, np.float32(-np.inf))
    rows = np.flatnonzero(allowed) if len(score) <= _BLOCK * wanted else _above_block_cut(masked, wanted)
    if len(rows) > wanted:
        rows = rows[np.argpartition(-masked[rows], wanted - 1)[:wanted]]
    return np.asarray(np.sort(rows[masked[rows] > -np.inf]), np.intp)


def _above_block_cut(score: F32, wanted: int) -> Docs:
    blocks = np.maximum.reduceat(score, np.arange(0, len(score), _BLOCK))
    return np.flatnonzero(score >= np.partition(blocks, -wanted)[-wanted])


# -- second stage: the pool, with care -------------------------------------------------------------------------------


def _around(index: ResidentIndex, docs: Docs, steps: Mapping[int, float]) -> list[tuple[Docs, float]]:
    """The documents themselves, then their neighbours in the session by step (-1 where there is none), with weights."""
    places = [(docs, 1.0)]
    for step, weight in steps.items():
        places += [(_hop(way, docs, step), weight) for way in (index.prev.view, index.next.view)]
    return places


def _kernel_bm25(index: ResidentIndex, docs: Docs, terms: Mapping[int, float]) -> F32:
    """Per term the best impact at the message itself or, discounted, within two messages of it; summed with idf
    weights.
    """
    places = _around(index, docs, KERNEL)
    everywhere = np.concatenate([p for p, _ in places])
    discounts = np.repeat(np.asarray([w for _, w in places], np.float32), len(docs))
    lengths = index.length.view[everywhere]
    total = np.zeros(len(docs), np.float32)
    for term, weight in terms.items():
        postings, tf = index.postings.get(term)
        if not len(postings):
            continue
        at = np.minimum(np.searchsorted(postings, everywhere), len(postings) - 1)
        value = np.where(postings[at] == everywhere, _impact(tf[at], lengths) * discounts, np.float32(0))
        total += np.float32(weight) * value.reshape(len(places), len(docs)).max(axis=0)
    return total


def _dense(index: ResidentIndex, vectors: VectorIndex, docs: Docs, query: F32) -> tuple[F32, F32]:
    """Cosine of each message, and of the sum of it and its four neighbours; 0 where the message has no vector."""
    window = _window(index, vectors, docs)
    own = vectors.cosine(query, docs)
    norm = np.linalg.norm(window, axis=1)
    around = (window @ query) / np.maximum(norm, 1e-6)
    return own, np.asarray(np.where(vectors.has(docs), around, 0), np.float32)


def _window(index: ResidentIndex, vectors: VectorIndex, docs: Docs) -> F32:
    total = np.zeros((len(docs), vectors.dim), np.float32)
    for place, _ in _around(index, docs, {1: 1.0, 2: 1.0}):
        ok = place >= 0
        total[ok] += vectors.vectors(place[ok])
    return total


def _window_mean(index: ResidentIndex, model: str, vectors: VectorIndex) -> F32:
    """Mean unit window vector, estimated on 1,024 documents and kept until the index has grown by a tenth."""
    kept = index.window_means.get(model)
    if kept is None or vectors.filled > kept[0] * 1.1:
        docs = np.unique(np.linspace(0, len(index) - 1, 1024).astype(np.intp))
        docs = docs[vectors.has(docs)]
        windows = _window(index, vectors, docs)
        windows /= np.maximum(np.linalg.norm(windows, axis=1, keepdims=True), 1e-6)
        mean = windows.mean(axis=0) if len(docs) else np.zeros(vectors.dim, np.float32)
        index.window_means[model] = kept = (vectors.filled, np.asarray(mean, np.float32))
    return kept[1]


def _exact(index: ResidentIndex, docs: Docs, identifiers: Sequence[int]) -> F32:
    """Share of the question's identifiers ("E-7731") that stand in the message itself."""
    out = np.zeros(len(docs), np.float32)
    for term in identifiers:
        out += np.isin(docs, index.postings.get(term)[0])
    return out / np.float32(max(1, len(identifiers)))


def _traits(index: ResidentIndex, docs: Docs) -> dict[str, F32]:
    return traits(index.features.view[docs], index.length.view[docs])


def _worth(index: ResidentIndex, docs: Docs) -> F32:
    now = time.time_ns() // 1000 // _HOUR * _HOUR  # the same question gets the same answer for a while
    shown = index.uses.view[docs], index.last_used.view[docs]
    return worth(index.importance.view[docs], *shown, index.happened.view[docs], now)


def _speaker(index: ResidentIndex, docs: Docs, speakers: Mapping[str, float]) -> F32:
    out = np.zeros(len(docs), np.float32)
    codes = index.speaker.view[docs]
    for name, wanted in speakers.items():
        if (code := index.speakers.get(name)) is not None:
            out[codes == code] = wanted
    return out


def _date(happened: NDArray[np.int64], spans: Sequence[Span]) -> F32:
    """1 within an asked span, .5 up to 10 days after it, .2 up to 30 (things are told after they happen); a day before counts
    as two after. Many spans are looked up by day, so that twenty years of Mays cost no more than one."""
    if not spans or not len(happened):
        return np.zeros(len(happened), np.float32)
    if len(spans) <= 2:
        return _near(happened, spans)
    days = happened // _DAY
    first = int(days.min())
    by_day = _near((np.arange(first, int(days.max()) + 1) * _DAY) + _DAY // 2, spans)
    return by_day[days - first]


def _near(times: NDArray[np.int64], spans: Sequence[Span]) -> F32:
    best = np.zeros(len(times), np.float32)
    for span in spans:
        away = np.maximum(span.start - times, 0) * 2 + np.maximum(times - span.end + 1, 0)
        value = np.select([away == 0, away <= 10 * _DAY, away <= 30 * _DAY], [1.0, 0.5, 0.2], 0.0)
        np.maximum(best, (value * span.weight).astype(np.float32), out=best)
    return best


def _impact(tf: NDArray[np.uint8], length: NDArray[np.int32]) -> F32:
    f = tf.astype(np.float32)
    length = np.minimum(length, LONGEST)
    pivot = np.float32(K1 * (1 - B)) + np.float32(K1 * B / PIVOT) * length.astype(np.float32)
    return np.asarray(f * np.float32(K1 + 1) / (f + pivot), np.float32)


def _hop(way: NDArray[np.int32], docs: Docs, steps: int) -> Docs:
    """The documents `steps` before or after in the same session, -1 where there is none."""
    out = docs
    for _ in range(steps):
        out = np.where(out >= 0, way[out], -1)
    return np.asarray(out, np.intp)
