"""The pool of candidates for one question, with every channel's raw value for each: what `recall` weighs and ranks.

Two stages, so that a million messages cost little more than a thousand. First every message gets a cheap score (BM25 spread
to its neighbours, nearest vectors, speaker, dates) and the best are kept; then only these are looked at with care.
BM25 uses a fixed length pivot instead of the average length, so a message's impact does not change as others arrive.
Formula: Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memos.storage.ports import Pool, Probe
from memos.storage.resident.index import ResidentIndex
from memos.storage.resident.vectors import EXACT_LIMIT, VectorIndex
from memos.text.document import MORE_NAMES, ONE_NAME, QUESTION, TIME_WORD

F32 = NDArray[np.float32]
Docs = NDArray[np.intp]

K1, B, PIVOT = 1.2, 0.5, 8.0  # PIVOT: content terms of a typical message
KERNEL = {1: 0.6, 2: 0.4}  # what a term is worth that stands one or two messages away
SPREAD = {1: 0.4, 2: 0.25}  # the first stage's cheaper, additive form of the same
LENGTH_FULL = 20  # content terms from which a message counts as long
MAX_WALK = 400_000  # postings the first stage walks at most: the rarest terms first
NEAREST = 1_000  # nearest vectors that enter the first stage when not all are scored


@dataclass(frozen=True, slots=True)
class Span:
    """A wanted time span in µs, end exclusive."""

    start: int
    end: int
    weight: float


@dataclass(frozen=True, slots=True)
class Resolved:
    """A `Probe` in this index's terms: idf-weighted term numbers, the weight of all terms (those that no text
    holds included), spans in µs, forced documents."""

    probe: Probe
    terms: Mapping[int, float]
    full: float
    spans: tuple[Span, ...] = ()
    force: tuple[int, ...] = ()


def rarity_of(documents: int, frequency: int) -> float:
    """How much a term says: the inverse document frequency of BM25, always above 0."""
    return math.log(1 + (max(documents, frequency) - frequency + 0.5) / (frequency + 0.5))


def gather(index: ResidentIndex, asked: Resolved, allowed: NDArray[np.bool_]) -> Pool:
    """The candidates of a question among the allowed documents of one cube."""
    probe, terms = asked.probe, asked.terms
    coarse = _coarse_lexical(index, terms, probe)
    vectors = index.vectors.get(probe.model) if probe.vector is not None and probe.model else None
    dense_mean = dense_best = 0.0
    if vectors is not None and vectors.filled and probe.vector is not None:
        vectors.resize(len(index))
        dense_mean, dense_best = _coarse_dense(index, vectors, probe, allowed, coarse)
    _coarse_priors(index, asked, coarse)
    docs, cut, ranks = _keep(index, coarse, allowed, asked)
    columns = {
        "lexical": _kernel_bm25(index, docs, terms),
        "coarse": coarse[docs],
        "speaker": _speaker(index, docs, probe.speakers),
        "date": _date(index.happened.view[docs], asked.spans),
    }
    columns |= _traits(index, docs)
    if vectors is not None and probe.vector is not None:
        columns["dense"], columns["dense_window"] = _dense(index, vectors, docs, probe.vector)
    else:
        columns["dense"] = columns["dense_window"] = np.zeros(len(docs), np.float32)
    return Pool(
        rows=index.n.view[docs].copy(),
        sessions=index.session.view[docs].copy(),
        happened=index.happened.view[docs].copy(),
        derived=index.is_derived(docs),
        columns=columns,
        first_rank=ranks,
        documents=int(np.count_nonzero(allowed)),
        history_chars=index.history_chars,
        full_match=asked.full * float(_impact(np.float32(1), np.float32(PIVOT))),
        dense_mean=dense_mean,
        dense_best=dense_best,
        has_dense=vectors is not None and vectors.filled > 0,
        dense_share=0.0 if vectors is None else vectors.filled / max(1, len(index)),
        cut=cut,
    )


# -- first stage: everything, cheaply --------------------------------------------------------------------------------


def _coarse_lexical(index: ResidentIndex, terms: Mapping[int, float], probe: Probe) -> F32:
    n = len(index)
    turn = np.zeros(n, np.float32)
    walked = 0
    for term in sorted(terms, key=index.postings.frequency):
        cost = index.postings.frequency(term)
        if walked and walked + cost > MAX_WALK:
            break
        walked += cost
        docs, tf = index.postings.get(term)
        turn[docs] += np.float32(terms[term]) * _impact(tf, index.length.view[docs])
    touched = np.flatnonzero(turn)
    smooth = turn.copy()
    for step, weight in SPREAD.items():
        for way in (index.prev.view, index.next.view):
            target = _hop(way, touched, step)
            ok = target >= 0
            smooth[target[ok]] += np.float32(weight) * turn[touched[ok]]  # a step is one to one: no target twice
    best = float(smooth.max()) if n else 0.0
    if best > 0:
        smooth *= np.float32(probe.weights.get("lexical", 0.5) / best)
    return smooth


def _coarse_dense(index: ResidentIndex, vectors: VectorIndex, probe: Probe, allowed: NDArray[np.bool_], coarse: F32) -> tuple[float, float]:
    assert probe.vector is not None
    n = len(index)
    if n <= EXACT_LIMIT:
        docs: Docs = np.arange(n)
        cosine = vectors.cosine(probe.vector, docs)
        sample = cosine[allowed]
    else:
        docs, cosine = vectors.best(probe.vector, NEAREST, allowed)
        few = np.linspace(0, n - 1, 2048).astype(np.intp)
        sample = vectors.cosine(probe.vector, few)
    sample = sample[sample != 0]
    mean = float(sample.mean()) if len(sample) else 0.0
    best = float(max(cosine.max(initial=0.0), mean + 1e-6))
    above = (cosine - np.float32(mean)) / np.float32(best - mean)
    above[cosine == 0] = 0
    if n > EXACT_LIMIT:
        np.maximum(above, 0, out=above)
    own = np.float32(probe.weights.get("dense", 0.15))
    coarse[docs] += own * above
    near = np.float32(probe.weights.get("dense_window", 0.15) / 3)
    coarse[docs] += near * above
    for way in (index.prev.view, index.next.view):
        target = way[docs]
        ok = target >= 0
        coarse[target[ok]] += near * above[ok]
    return mean, best


def _coarse_priors(index: ResidentIndex, asked: Resolved, coarse: F32) -> None:
    probe = asked.probe
    weight = probe.weights.get("speaker", 0.2)
    for name, wanted in probe.speakers.items():
        code = index.speakers.get(name)
        if code is not None:
            coarse[index.speaker.view == code] += np.float32(weight * wanted)
    if asked.spans:
        coarse += np.float32(probe.weights.get("date", 0.4)) * _date(index.happened.view, asked.spans)


def _keep(
    index: ResidentIndex, coarse: F32, allowed: NDArray[np.bool_], asked: Resolved
) -> tuple[Docs, float, NDArray[np.int64]]:
    probe = asked.probe
    candidates = np.flatnonzero(allowed & (coarse > 0)) if len(index) > probe.pool else np.flatnonzero(allowed)
    cut = 0.0
    if len(candidates) > probe.pool:
        values = coarse[candidates]
        top = np.argpartition(-values, probe.pool)[: probe.pool]
        cut = float(values[top].min())
        candidates = candidates[top]
    if asked.force:
        candidates = np.union1d(candidates, np.asarray(asked.force, np.intp))
    order = np.argsort(-coarse[candidates], kind="stable")
    ranks = np.empty(len(candidates), np.int64)
    ranks[order] = np.arange(1, len(candidates) + 1)
    return candidates, cut, ranks


# -- second stage: the pool, with care -------------------------------------------------------------------------------


def _kernel_bm25(index: ResidentIndex, docs: Docs, terms: Mapping[int, float]) -> F32:
    """Per term the best impact at the message itself or, discounted, within two messages of it; summed with idf weights."""
    places = [(docs, np.float32(1.0))]
    for step, weight in KERNEL.items():
        places += [(_hop(way, docs, step), np.float32(weight)) for way in (index.prev.view, index.next.view)]
    total = np.zeros(len(docs), np.float32)
    lengths = index.length.view
    for term, weight in terms.items():
        postings, tf = index.postings.get(term)
        if not len(postings):
            continue
        best = np.zeros(len(docs), np.float32)
        for at_docs, discount in places:
            at = np.minimum(np.searchsorted(postings, at_docs), len(postings) - 1)
            hit = postings[at] == at_docs
            value = np.where(hit, _impact(tf[at], lengths[at_docs]) * discount, np.float32(0))
            np.maximum(best, value, out=best)
        total += np.float32(weight) * best
    return total


def _dense(index: ResidentIndex, vectors: VectorIndex, docs: Docs, query: F32) -> tuple[F32, F32]:
    """Cosine of each message, and of the sum of it and its four neighbours."""
    own = vectors.vectors(docs)
    window = own.copy()
    for step in (1, 2):
        for way in (index.prev.view, index.next.view):
            other = _hop(way, docs, step)
            ok = other >= 0
            window[ok] += vectors.vectors(other[ok])
    norm = np.linalg.norm(window, axis=1)
    return np.asarray(own @ query, np.float32), np.asarray((window @ query) / np.maximum(norm, 1e-6), np.float32)


def _traits(index: ResidentIndex, docs: Docs) -> dict[str, F32]:
    bits = index.features.view[docs]
    names = ((bits & ONE_NAME) > 0) * 0.5 + ((bits & MORE_NAMES) > 0) * 1.0
    length = np.minimum(np.log1p(index.length.view[docs]) / np.log1p(LENGTH_FULL), 1.0)
    return {
        "question": ((bits & QUESTION) > 0).astype(np.float32),
        "time_word": ((bits & TIME_WORD) > 0).astype(np.float32),
        "name": names.astype(np.float32),
        "length": length.astype(np.float32),
    }


def _speaker(index: ResidentIndex, docs: Docs, speakers: Mapping[str, float]) -> F32:
    out = np.zeros(len(docs), np.float32)
    codes = index.speaker.view[docs]
    for name, wanted in speakers.items():
        if (code := index.speakers.get(name)) is not None:
            out[codes == code] = wanted
    return out


_DAY = 86_400_000_000


def _date(happened: NDArray[np.int64], spans: Sequence[Span]) -> F32:
    """1 within an asked span, less soon after it (things are told after they happen) and just before."""
    best = np.zeros(len(happened), np.float32)
    for span in spans:
        after = happened - span.end
        before = span.start - happened
        value = np.where(
            (after < 0) & (before <= 0),
            1.0,
            np.where(
                ((after >= 0) & (after < 10 * _DAY)) | ((before > 0) & (before < 2 * _DAY)),
                0.5,
                np.where(((after >= 0) & (after < 30 * _DAY)) | ((before > 0) & (before < 15 * _DAY)), 0.2, 0.0),
            ),
        )
        np.maximum(best, (value * span.weight).astype(np.float32), out=best)
    return best


def _impact(tf: object, length: object) -> F32:
    f = np.asarray(tf, np.float32)
    pivot = np.float32(K1) * (np.float32(1 - B) + np.float32(B / PIVOT) * np.asarray(length, np.float32))
    return np.asarray(f * np.float32(K1 + 1) / (f + pivot), np.float32)


def _hop(way: NDArray[np.int32], docs: Docs, steps: int) -> Docs:
    """The documents `steps` before or after in the same session, -1 where there is none."""
    out = docs
    for _ in range(steps):
        out = np.where(out >= 0, way[out], -1)
    return np.asarray(out, np.intp)
