"""Reads of a cube file that rank: through the index in memory, or through the stored full text while a large one loads."""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from memos.errors import DimensionMismatch, MemosError
from memos.logs import get_logger
from memos.memory.filter import And, Compare, Field, Filter, Not, Op, asks_for
from memos.memory.model import ASIDE
from memos.memory.time import from_micros, to_micros
from memos.storage.ports import NOW, Outline, Pool, Probe, Scored, TextQuery, View
from memos.storage.resident.gather import Resolved, Span, gather, rarity_of, text_score
from memos.storage.resident.index import ResidentIndex, traits
from memos.storage.sqlite import reads, terms
from memos.storage.sqlite.feed import Feed
from memos.storage.sqlite.forks import gate
from memos.text.analysis import is_identifier

log = get_logger(__name__)

LOAD_AT_ONCE = 200_000  # rows up to which the first search waits for the index (about a second)
AHEAD_LIMIT = 300_000  # texts up to which words are scored while the question is embedded
MASKS_KEPT = 32
MAX_TERMS = 40  # of a question, the rarest: a page of text costs no more than a sentence
_Seen = tuple[NDArray[np.bool_], NDArray[np.int64]]


class RankedReads:
    """The resident index of one cube file and the questions it answers. Thread-safe."""

    def __init__(self, path: Path, *, read_only: bool) -> None:
        self.feed = Feed(path, read_only=read_only)
        self._path = path
        self._masks: dict[object, tuple[int, _Seen]] = {}
        self._prepared: tuple[int, Probe, NDArray[np.float32]] | None = None
        self._loader: threading.Thread | None = None
        self._guard = threading.Lock()

    def gather(self, db: apsw.Connection, probe: Probe, where: Filter | None, view: View) -> Pool:
        """The candidates of a question with every channel's value."""
        if not self._ready(db):
            return _cold_pool(db, probe, where, view)
        with self.feed.lock:
            index = self.feed.refresh()
            if probe.vector is not None and probe.model in index.vectors:
                _checked(probe.vector, probe.model, index)
            allowed, rows = self._seen(db, index, where, view)
            pool = gather(index, _resolve(db, index, probe), allowed, self._ahead(probe))
            if view.known_at is None:
                return pool
            then = {int(index.n.view[d]): int(rows[d]) for d in np.flatnonzero(rows != index.n.view)}
            return replace(pool, rows=np.asarray([then.get(n, n) for n in pool.rows.tolist()], np.int64))

    def prepare(self, db: apsw.Connection, probe: Probe) -> None:
        """Score the words of a question that is about to be gathered, while its vector is still being made. Only a head start: a
        large cube scores words beside vectors anyway, and what has changed meanwhile is scored again.
        """
        if not self._ready(db):
            return
        with self.feed.lock:
            index = self.feed.refresh()
            if len(index) <= AHEAD_LIMIT:
                score = text_score(index, _resolve(db, index, probe))
                self._prepared = (self.feed.stamp, _words_of(probe), score)

    def _ahead(self, probe: Probe) -> NDArray[np.float32] | None:
        prepared, self._prepared = self._prepared, None
        if prepared is None or prepared[0] != self.feed.stamp or prepared[1] != _words_of(probe):
            return None
        return prepared[2]

    def search_vector(
        self, db: apsw.Connection, vector: NDArray[np.float32], model: str, limit: int, where: Filter | None, view: View
    ) -> list[Scored]:
        """Nearest vectors of one model by cosine."""
        with self.feed.lock:
            index = self.feed.refresh()
            allowed, rows = self._seen(db, index, where, view)
            if model not in index.vectors:
                return []
            docs, scores = index.vectors[model].best(_checked(vector, model, index), limit, allowed)
            numbers = rows[docs].tolist()
        found = reads.by_rows(db, numbers)
        return [Scored(found[n].id, float(s)) for n, s in zip(numbers, scores, strict=True) if n in found]

    def frequencies(self, db: apsw.Connection, words: Collection[str]) -> tuple[int, dict[str, int]]:
        """How many texts there are, and how many hold each term; (0, {}) while a large index loads."""
        if not self._ready(db):
            return 0, {}
        with self.feed.lock:
            index = self.feed.refresh()
            numbers = terms.lookup(db, words)
            return index.documents(), {w: index.frequency(n) for w, n in numbers.items()}

    def outline(self, db: apsw.Connection) -> Outline:
        """Who speaks in the cube, and which time it covers; empty while a large index loads."""
        if not self._ready(db):
            return Outline({})
        with self.feed.lock:
            speakers, first, last = self.feed.refresh().outline()
            aliases = self.feed.aliases
        return Outline(speakers, from_micros(first), from_micros(last), aliases) if speakers else Outline({})

    def forget_masks(self) -> None:
        """Drop what filters left, after the file was rewritten."""
        with self._guard:
            self._masks.clear()

    @property
    def nbytes(self) -> int:
        """Memory held; 0 when nothing is loaded."""
        index = self.feed.index
        return 0 if index is None else index.nbytes

    def _ready(self, db: apsw.Connection) -> bool:
        """Whether the index is there, or small enough to be loaded now; otherwise its loading is started aside."""
        if self.feed.ready or reads.newest(db)[0] <= LOAD_AT_ONCE:
            return True
        with self._guard:
            if self._loader is None or not self._loader.is_alive():
                self._loader = threading.Thread(target=self._load, name=f"memos-load-{self._path.name}", daemon=True)
                self._loader.start()
        return False

    def _load(self) -> None:
        try:
            with gate, self.feed.lock:
                self.feed.refresh()
        except (MemosError, apsw.Error) as e:
            log.error("index_not_loaded", file=self._path.name, error=type(e).__name__)

    def _seen(self, db: apsw.Connection, index: ResidentIndex, where: Filter | None, view: View) -> _Seen:
        """Which documents of the index a view and filter leave, and the row of each in that view. Kept until the cube
        changes.
        """
        if where is None and view == NOW:
            return index.active(), index.n.view
        key = (where, view)
        cached = self._masks.get(key)
        if cached is not None and cached[0] == self.feed.stamp:
            return cached[1]
        mask, rows = np.zeros(len(index), bool), index.n.view.copy()
        pairs = np.asarray(reads.matching_texts(db, where, view), np.int64).reshape(-1, 2)
        docs = np.searchsorted(index.t.view, pairs[:, 0])
        docs[docs == len(index)] = 0
        known = index.t.view[docs] == pairs[:, 0] if len(index) else np.zeros(len(docs), bool)
        mask[docs[known]] = True
        if not asks_for(where, "kind"):
            mask &= ~index.is_aside()
        rows[docs[known]] = pairs[known, 1]
        with self._guard:
            if len(self._masks) >= MASKS_KEPT:
                self._masks.clear()
            self._masks[key] = (self.feed.stamp, (mask, rows))
        return mask, rows


def _words_of(probe: Probe) -> Probe:
    return replace(probe, vector=None, model=None)


def _resolve(db: apsw.Connection, index: ResidentIndex, probe: Probe) -> Resolved:
    """The question in this index's term numbers, weighted by rarity."""
    numbers = terms.lookup(db, probe.terms)
    rarity = probe.idf or {
        w: rarity_of(index.documents(), index.frequency(numbers[w]) if w in numbers else 0) for w in probe.terms
    }
    weights = {w: weight * rarity[w] for w, weight in probe.terms.items()}
    if len(weights) > MAX_TERMS:
        weights = dict(sorted(weights.items(), key=lambda item: -item[1])[:MAX_TERMS])
    # a CJK pair that no text holds is mostly no word of the question, so it does not count as missing
    full = sum(weight for w, weight in weights.items() if w in numbers or w.isascii())
    return Resolved(
        probe=probe,
        terms={numbers[w]: weight for w, weight in weights.items() if w in numbers},
        full=full,
        exact=tuple(numbers[w] for w in weights if is_identifier(w) and w in numbers),
        spans=tuple(Span(to_micros(w.start), to_micros(w.end), w.weight) for w in probe.spans),
        force=tuple(d for t in reads.text_ids(db, probe.force) if (d := index.document(t)) >= 0),
    )


def _cold_pool(db: apsw.Connection, probe: Probe, where: Filter | None, view: View) -> Pool:
    """Candidates by the stored full text alone."""
    if not asks_for(where, "kind"):
        shown = Not(Compare(Field("kind"), Op.IN, tuple(sorted(kind.value for kind in ASIDE))))
        where = shown if where is None else And((where, shown))
    found = reads.text_rows(db, TextQuery(tuple(probe.terms)), probe.text_pool, where, view)
    columns: dict[str, NDArray[Any]] = {
        name: np.zeros(len(found), np.float32)
        for name in ("dense", "dense_window", "speaker", "date", "exact", "worth")
    }
    columns["lexical"] = columns["coarse"] = np.asarray([r.score for r in found], np.float32)
    columns |= traits(
        np.asarray([r.features for r in found], np.uint32), np.asarray([r.length for r in found], np.int32)
    )
    sessions = {name: i for i, name in enumerate(dict.fromkeys(r.session for r in found))}
    return Pool(
        rows=np.asarray([r.n for r in found], np.int64),
        sessions=np.asarray([sessions[r.session] for r in found], np.int32),
        happened=np.asarray([r.happened for r in found], np.int64),
        derived=np.asarray([r.layer != "trace" for r in found], np.bool_),
        columns=columns,
        first_rank=np.arange(1, len(found) + 1),
        documents=len(found),
        history_chars=0,
        full_match=float(columns["lexical"].max(initial=1.0)),
        loading=True,
    )


def _checked(vector: NDArray[np.float32], model: str, index: ResidentIndex) -> NDArray[np.float32]:
    dim = index.vectors[model].dim
    if len(vector) != dim:
        raise DimensionMismatch(
            f"model {model!r} has {dim} dimensions in this cube, the question's vector has {len(vector)}"
        )
    return np.asarray(vector, np.float32)
