"""The resident index of one cube: for every current text its terms, state, place in its session, and vectors.

Documents are numbered in the order they were stored. A home feeds it with `Row`s; `apply` brings it up to date.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from memos.memory.model import ASIDE, LAYER_OF, Kind, Layer, Status
from memos.storage.resident.arrays import Growable
from memos.storage.resident.postings import Postings
from memos.storage.resident.vectors import VectorIndex
from memos.text.document import MORE_NAMES, ONE_NAME, QUESTION, TIME_WORD

T = TypeVar("T")
LENGTH_FULL = 20  # content terms from which a text counts as long
NEVER = np.iinfo(np.int64).max
KINDS = tuple(Kind)
STATUSES = tuple(Status)
_KIND_CODE = {k.value: i for i, k in enumerate(KINDS)}
_STATUS_CODE = {s.value: i for i, s in enumerate(STATUSES)}
_CHAINED = np.asarray([LAYER_OF[k] is Layer.TRACE for k in KINDS])
_SPOKEN = np.asarray([s in (Status.ACTIVE, Status.SUPERSEDED) for s in STATUSES])
ACTIVE = _STATUS_CODE[Status.ACTIVE.value]
_ENTITY = _KIND_CODE[Kind.ENTITY.value]
_SUMMARY = _KIND_CODE[Kind.SUMMARY.value]
_ASIDE = np.asarray([k in ASIDE for k in KINDS])
_CHAIN_ONE_BY_ONE = 256  # rows at once beyond which all sessions are put in order anew


class Row(NamedTuple):
    """One version of a memory, as a home streams it in row order. Times in µs; `terms` are packed uint32."""

    n: int
    t: int
    replaces: int  # text id of the version before, 0 when there is none
    current: bool
    kind: str
    status: str
    session: str | None
    role: str | None
    speaker: str | None
    happened: int
    valid_to: int | None
    features: int
    chars: int
    importance: float
    terms: bytes | None


class ResidentIndex:
    """Arrays over documents (current texts) of one cube. Not thread-safe: the owner holds a lock around use."""

    def __init__(self) -> None:
        self.t = Growable(np.int64)
        self.n = Growable(np.int64)
        self.current = Growable(np.bool_)
        self.kind = Growable(np.uint8)
        self.status = Growable(np.uint8)
        self.session = Growable(np.int32)
        self.speaker = Growable(np.int32)
        self.happened = Growable(np.int64)
        self.valid_to = Growable(np.int64)
        self.features = Growable(np.uint32)
        self.length = Growable(np.int32)
        self.chars = Growable(np.int32)
        self.importance = Growable(np.float32)
        self.uses = Growable(np.uint32)
        self.last_used = Growable(np.int64)
        self.prev = Growable(np.int32)
        self.next = Growable(np.int32)
        self.postings = Postings()
        self.vectors: dict[str, VectorIndex] = {}
        self.sessions: dict[str, int] = {}
        self.speakers: dict[str, int] = {}
        self.window_means: dict[str, tuple[int, NDArray[np.float32]]] = {}
        self._last_in_session: dict[int, int] = {}
        self._prior: tuple[tuple[float, ...], Growable] | None = None
        self._kept: dict[str, tuple[tuple[int, int], Any]] = {}
        self.changes = 0

    def __len__(self) -> int:
        return self.t.size

    @property
    def nbytes(self) -> int:
        """Bytes held by the large parts."""
        fixed = (self.t, self.n, self.happened, self.valid_to, self.session, self.speaker, self.features, self.length,
                 self.importance, self.uses, self.last_used)  # fmt: skip
        return sum(a.nbytes for a in fixed) + self.postings.nbytes + sum(v.nbytes for v in self.vectors.values())

    def build(self, chunks: Iterable[Sequence[tuple[Any, ...]]]) -> None:
        """Fill an empty index from the newest version of every text, former texts too, ordered by t: rows as the fields of `Row`,
        a chunk at a time."""
        terms = [self._take(rows) for rows in chunks if rows]
        if not terms:
            return
        self.postings.build(self.length.view.astype(np.int64), terms)
        self._chain_all()

    def _take(self, rows: Sequence[tuple[Any, ...]]) -> NDArray[np.uint32]:
        """Put rows behind those that are there, in no session's order yet; returns their terms."""
        columns = list(zip(*rows, strict=True))
        n, t, _, current, kind, status, session, _role, speaker, happened, valid_to, features, chars, *rest = columns
        importance, terms = rest
        self.t.extend(np.asarray(t, np.int64))
        self.n.extend(np.asarray(n, np.int64))
        self.current.extend(np.asarray(current, np.bool_))
        self.kind.extend(np.asarray([_KIND_CODE.get(k, _ENTITY) for k in kind], np.uint8))
        self.status.extend(np.asarray([_STATUS_CODE[s] for s in status], np.uint8))
        self.session.extend(np.asarray([_code(self.sessions, s) for s in session], np.int32))
        self.speaker.extend(np.asarray([_code(self.speakers, s) for s in speaker], np.int32))
        self.happened.extend(np.asarray(happened, np.int64))
        self.valid_to.extend(np.asarray([NEVER if v is None else v for v in valid_to], np.int64))
        self.features.extend(np.asarray(features, np.uint32))
        self.chars.extend(np.asarray(chars, np.int32))
        self.importance.extend(np.asarray(importance, np.float32))
        self.uses.extend(np.zeros(len(t), np.uint32))
        self.last_used.extend(np.zeros(len(t), np.int64))
        self.length.extend(np.asarray([len(a or b"") // 4 for a in terms], np.int32))
        self.prev.extend(np.full(len(t), -1, np.int32))
        self.next.extend(np.full(len(t), -1, np.int32))
        return np.frombuffer(b"".join(part for part in terms if part), "<u4")

    def apply(self, rows: Iterable[Row]) -> None:
        """Take in versions stored since, in row order."""
        rows = list(rows)
        many = len(rows) > _CHAIN_ONE_BY_ONE
        self.changes += 1
        for row in rows:
            doc = self.document(row.t)
            if row.replaces and row.replaces != row.t and (old := self.document(row.replaces)) >= 0:
                self.current.view[old] = False
                self._unchain(old)
            if doc < 0:
                if row.t != row.n:
                    continue  # its text was purged meanwhile
                doc = self._append(row)
                if row.replaces and (old := self.document(row.replaces)) >= 0:  # another text of the same memory
                    self.uses.view[doc], self.last_used.view[doc] = self.uses.view[old], self.last_used.view[old]
            elif not many:
                self._unchain(doc)
            self.n.view[doc] = row.n
            self.current.view[doc] = row.current
            self.status.view[doc] = _STATUS_CODE[row.status]
            self.kind.view[doc] = _KIND_CODE.get(row.kind, _ENTITY)
            self.session.view[doc] = _code(self.sessions, row.session)
            self.happened.view[doc] = row.happened
            self.importance.view[doc] = row.importance
            if not many:
                self._chain(doc)
            self.valid_to.view[doc] = NEVER if row.valid_to is None else row.valid_to
        if many:
            self._chain_all()

    def purge(self, texts: Iterable[int]) -> None:
        """Forget hard-deleted texts."""
        self.changes += 1
        texts = list(texts)
        for doc in (d for t in texts if (d := self.document(t)) >= 0):
            self.current.view[doc] = False
            self._unchain(doc)
        self.drop_vectors(texts)

    def drop_vectors(self, texts: Iterable[int]) -> None:
        """Forget the vectors of these texts, of every model."""
        docs = np.asarray([d for t in texts if (d := self.document(t)) >= 0], np.intp)
        for index in self.vectors.values():
            index.drop(docs[docs < len(index)])

    def drop_model(self, model: str) -> None:
        """Forget every vector of a model."""
        self.vectors.pop(model, None)
        self.window_means.pop(model, None)

    def put_vectors(self, model: str, dim: int, texts: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Set vectors by text id; ids that are not in the index are skipped."""
        index = self.vectors.setdefault(model, VectorIndex(dim))
        index.resize(len(self))
        docs = np.searchsorted(self.t.view, texts)
        docs[docs == len(self)] = 0
        known = self.t.view[docs] == texts if len(self) else np.zeros(len(texts), bool)
        index.put(docs[known], vectors[known])

    def put_uses(self, rows: Iterable[tuple[int, int, int]]) -> None:
        """Set how often and when (µs) memories were shown, by text id; ids that are not in the index are skipped."""
        for t, uses, last in rows:
            if (doc := self.document(t)) >= 0:
                self.uses.view[doc], self.last_used.view[doc] = uses, last

    @property
    def history_chars(self) -> int:
        """Characters of all current raw records: what sending the whole history would take."""
        return self._until_changed("history", lambda: int(self.chars.view[self._raw()].sum()))

    def active(self) -> NDArray[np.bool_]:
        """Which documents are the current text of an active memory that says something by itself."""
        return self._until_changed(
            "active", lambda: self.current.view & (self.status.view == ACTIVE) & ~self.is_aside()
        )

    def is_aside(self) -> NDArray[np.bool_]:
        """Which documents are found when asked for by kind, never by the way."""
        return np.asarray(_ASIDE[self.kind.view])

    def retold(self) -> NDArray[np.bool_] | None:
        """Which documents are summaries, None where there are none: what they say is said elsewhere, and counted there."""

        def look() -> NDArray[np.bool_] | None:
            mask = np.asarray(self.kind.view == _SUMMARY)
            return mask if mask.any() else None

        return self._until_changed("retold", look)

    def frequency(self, term: int) -> int:
        """How many documents hold a term, summaries left out; an upper bound."""
        retold = self.retold()
        if retold is None:
            return self.postings.frequency(term)
        return int(np.count_nonzero(~retold[self.postings.get(term)[0]]))

    def documents(self) -> int:
        """How many documents there are, summaries left out."""
        retold = self.retold()
        return len(self) if retold is None else len(self) - int(np.count_nonzero(retold))

    def active_count(self) -> int:
        """How many documents are active."""
        return self._until_changed("active count", lambda: int(np.count_nonzero(self.active())))

    def prior(self, weights: Mapping[str, float]) -> NDArray[np.float32]:
        """Per document, what its traits alone are worth under these weights. Kept and only extended between calls."""
        key = tuple(weights.get(name, 0.0) for name in TRAITS)
        if self._prior is None or self._prior[0] != key:
            self._prior = (key, Growable(np.float32))
        kept = self._prior[1]
        if kept.size < len(self):
            values = traits(self.features.view[kept.size :], self.length.view[kept.size :])
            kept.extend(sum(np.float32(w) * values[n] for n, w in zip(TRAITS, key, strict=True)))  # type: ignore[arg-type]
        return kept.view

    def outline(self) -> tuple[dict[str, int], int, int]:
        """Who speaks and how many texts are theirs, and the first and last time (µs) of raw records; (…, 0, 0) when
        there is none.
        """

        def look() -> tuple[dict[str, int], int, int]:
            codes = self.speaker.view[self.current.view]
            counts = np.bincount(codes[codes >= 0], minlength=len(self.speakers))
            speakers = {name: int(counts[code]) for name, code in self.speakers.items() if counts[code]}
            times = self.happened.view[self._raw()]
            return (speakers, int(times.min()), int(times.max())) if len(times) else (speakers, 0, 0)

        return self._until_changed("outline", look)

    def _raw(self) -> NDArray[np.bool_]:
        return np.asarray(self.current.view & _CHAINED[self.kind.view])

    def _until_changed(self, what: str, look: Callable[[], T]) -> T:
        """What is worked out of all documents, kept until one of them changes or comes."""
        stamp, known = (self.changes, len(self)), self._kept.get(what)
        if known is None or known[0] != stamp:
            known = self._kept[what] = (stamp, look())
        value: T = known[1]
        return value

    def is_derived(self, docs: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which of these documents are derived rather than raw."""
        return np.asarray(~_CHAINED[self.kind.view[docs]])

    def document(self, t: int) -> int:
        """The document of a text id, or -1."""
        at = int(np.searchsorted(self.t.view, t))
        return at if at < len(self) and self.t.view[at] == t else -1

    # -- the order of turns within a session ---------------------------------------------------------------------

    def _append(self, row: Row) -> int:
        doc = len(self)
        self.postings.append(doc, self._take([row]))
        for index in self.vectors.values():
            index.resize(len(self))
        return doc

    def _chain(self, doc: int) -> None:
        """Put a raw record at its place in its session: by time, then by order of storage. What was taken back is no
        neighbour of anything: its words must not lead to the messages beside it.
        """
        if not (_CHAINED[self.kind.view[doc]] and self.current.view[doc] and _SPOKEN[self.status.view[doc]]):
            return
        session = int(self.session.view[doc])
        happened = self.happened.view
        before = self._last_in_session.get(session, -1)
        after = -1
        while before >= 0 and (happened[before], before) > (happened[doc], doc):
            before, after = int(self.prev.view[before]), before
        self.prev.view[doc], self.next.view[doc] = before, after
        if before >= 0:
            self.next.view[before] = doc
        if after >= 0:
            self.prev.view[after] = doc
        else:
            self._last_in_session[session] = doc

    def _unchain(self, doc: int) -> None:
        before, after = int(self.prev.view[doc]), int(self.next.view[doc])
        session = int(self.session.view[doc])
        if before >= 0:
            self.next.view[before] = after
        if after >= 0:
            self.prev.view[after] = before
        elif self._last_in_session.get(session) == doc:
            if before >= 0:
                self._last_in_session[session] = before
            else:
                del self._last_in_session[session]
        self.prev.view[doc] = self.next.view[doc] = -1

    def _chain_all(self) -> None:
        size = len(self)
        prev, following = np.full(size, -1, np.int32), np.full(size, -1, np.int32)
        turns = np.flatnonzero(_CHAINED[self.kind.view] & self.current.view & _SPOKEN[self.status.view])
        order = turns[np.lexsort((turns, self.happened.view[turns], self.session.view[turns]))]
        sessions = self.session.view[order]
        same = np.flatnonzero(sessions[1:] == sessions[:-1])
        prev[order[same + 1]] = order[same]
        following[order[same]] = order[same + 1]
        self.prev.view[:] = prev
        self.next.view[:] = following
        ends = np.flatnonzero(np.append(sessions[1:] != sessions[:-1], True)) if len(order) else np.empty(0, np.intp)
        self._last_in_session = {int(sessions[i]): int(order[i]) for i in ends}


TRAITS = ("question", "time_word", "name", "length")


def traits(features: NDArray[np.uint32], lengths: NDArray[np.int32]) -> dict[str, NDArray[np.float32]]:
    """What texts are, each in [0, 1]: they end as a question, speak of time, hold names (1 from two on), are long."""
    return {
        "question": ((features & QUESTION) > 0).astype(np.float32),
        "time_word": ((features & TIME_WORD) > 0).astype(np.float32),
        "name": np.where(features & MORE_NAMES, 1.0, np.where(features & ONE_NAME, 0.5, 0.0)).astype(np.float32),
        "length": np.minimum(np.log1p(lengths) / np.log1p(LENGTH_FULL), 1.0).astype(np.float32),
    }


def _code(table: dict[str, int], value: str | None) -> int:
    """A number for a name, new names added; -1 for none."""
    if value is None:
        return -1
    return table.setdefault(value, len(table))
