"""The resident index, kept up to date write by write, equals one built anew from the file: whatever was written, by
whom.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from numpy.typing import NDArray

from memos.errors import Conflict
from memos.memory.ids import new_id
from memos.memory.model import Kind, Memory, Status
from memos.memory.time import from_micros
from memos.storage.ports import ANY_STATUS, Probe, View
from memos.storage.resident.index import ResidentIndex
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.feed import Feed

WORDS = st.lists(st.sampled_from(["tea", "milk", "oslo", "rome", "red", "fox", "harbour"]), min_size=1, max_size=5).map(
    " ".join
)
TIMES = st.none() | st.integers(0, 6).map(lambda d: from_micros(1_900_000_000_000_000 + d * 86_400_000_000))
MODELS = {"two": 2, "three": 3}


def picture(index: ResidentIndex, live: set[int], terms: dict[str, int]) -> dict[str, Any]:
    """Everything an index says, in words that do not depend on how it numbers documents, sessions and speakers."""
    t = index.t.view.tolist()
    sessions, speakers = ({v: k for k, v in table.items()} for table in (index.sessions, index.speakers))

    def at(doc: int) -> int | None:
        return None if doc < 0 else t[doc]

    docs = {
        t[d]: (
            int(index.n.view[d]), bool(index.current.view[d]), int(index.kind.view[d]), int(index.status.view[d]),
            sessions.get(int(index.session.view[d])), speakers.get(int(index.speaker.view[d])), int(index.happened.view[d]),
            int(index.valid_to.view[d]), int(index.features.view[d]), int(index.length.view[d]), int(index.chars.view[d]),
            at(int(index.prev.view[d])), at(int(index.next.view[d])),
        )
        for d in range(len(index)) if t[d] in live
    }  # fmt: skip
    postings = {}
    for word, number in terms.items():
        held, tf = index.postings.get(number)
        assert (np.diff(held) > 0).all()
        assert len(held) <= index.postings.frequency(number)
        postings[word] = {t[d]: int(f) for d, f in zip(held, tf, strict=True) if t[d] in live}
    vectors: dict[str, dict[int, list[float]]] = {}
    for name, held_vectors in index.vectors.items():
        held_vectors.resize(len(index))
        every = held_vectors.vectors(np.arange(len(index)))
        vectors[name] = {t[d]: every[d].tolist() for d in range(len(index)) if t[d] in live and every[d].any()}
        assert held_vectors.filled == sum(bool(every[d].any()) for d in range(len(index)))
    shown = {name: v for name, v in vectors.items() if v}
    return {
        "docs": docs,
        "postings": postings,
        "vectors": shown,
        "chars": index.history_chars,
        "outline": index.outline(),
    }


def compare(cube: SqliteCube) -> None:
    """The index of this handle against one made from the file."""
    with cube.ranked.feed.lock:
        followed = cube.ranked.feed.refresh()
    rebuilt = Feed(cube.path, read_only=False)
    try:
        anew = rebuilt.refresh()
        terms = dict(cube.read_now(lambda db: db.execute("SELECT term, id FROM terms").fetchall()))
        live = set(anew.t.view.tolist())
        assert live <= set(followed.t.view.tolist())
        assert picture(followed, live, terms) == picture(anew, live, terms)
        gone = [d for d, t in enumerate(followed.t.view.tolist()) if t not in live]
        assert not followed.current.view[gone].any()
    finally:
        rebuilt.drop()


class Following(RuleBasedStateMachine):
    """Two handles on one file write at random; the first one's index is looked at now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        path = self.folder / "a.cube"
        self.cubes = [SqliteCube.open(path, durability="normal"), SqliteCube.open(path, durability="normal")]
        self.made: list[str] = []

    def do(self, who: int, fn: Any) -> Any:
        return self.cubes[who].write_soon(fn).result()

    @rule(
        who=st.integers(0, 1),
        text=WORDS,
        session=st.sampled_from(["a", "b", None]),
        when=TIMES,
        kind=st.sampled_from([Kind.TRACE, Kind.TRACE, Kind.FACT]),
        speaker=st.sampled_from([None, "Ann", "Bob"]),
    )
    def add(self, who: int, text: str, session: str | None, when: Any, kind: Kind, speaker: str | None) -> None:
        memory = Memory(new_id(), kind, text, session=session, valid_from=when, speaker=speaker)
        self.do(who, lambda tx: tx.put(memory))
        self.made.append(memory.id)

    @rule(who=st.integers(0, 1), pick=st.integers(0, 99), change=st.fixed_dictionaries({}, optional={
        "text": WORDS, "valid_from": TIMES, "valid_to": TIMES, "status": st.sampled_from(Status), "tags": st.just(("t",)),
        "session": st.sampled_from(["a", "c", None]), "speaker": st.sampled_from([None, "Ann"]), "kind": st.sampled_from([Kind.TRACE, Kind.EVENT]),
    }))  # fmt: skip
    def update(self, who: int, pick: int, change: dict[str, Any]) -> None:
        if self.made:
            id = self.made[pick % len(self.made)]
            self.do(who, lambda tx: tx.put(replace(tx.get(id), **change), "update"))

    @rule(who=st.integers(0, 1), pick=st.integers(0, 99))
    def undo(self, who: int, pick: int) -> None:
        if self.made:
            id = self.made[pick % len(self.made)]
            with contextlib.suppress(Conflict):
                self.do(who, lambda tx: tx.undo(id))

    @rule(who=st.integers(0, 1), picks=st.lists(st.integers(0, 99), min_size=1, max_size=3))
    def purge(self, who: int, picks: list[int]) -> None:
        ids = {self.made[p % len(self.made)] for p in picks} if self.made else set()
        self.do(who, lambda tx: tx.purge(ids))
        self.made = [i for i in self.made if i not in ids]

    @rule(
        who=st.integers(0, 1), model=st.sampled_from(sorted(MODELS)), count=st.integers(1, 4), seed=st.integers(0, 99)
    )
    def embed(self, who: int, model: str, count: int, seed: int) -> None:
        vectors = np.random.default_rng(seed).normal(size=(count, MODELS[model])).astype(np.float32)
        pending = asyncio.run(self.cubes[who].pending_vectors(model, count))
        items = [(p.text_id, v / np.linalg.norm(v)) for p, v in zip(pending, vectors, strict=False)]
        self.do(who, lambda tx: tx.put_vectors(model, items))

    @rule(who=st.integers(0, 1), model=st.sampled_from(sorted(MODELS)))
    def drop_model(self, who: int, model: str) -> None:
        asyncio.run(self.cubes[who].drop_vectors(model))

    @rule()
    def look(self) -> None:
        compare(self.cubes[0])

    @invariant()
    def both_handles_see_the_same(self) -> None:
        mine, other = (self._seen(c) for c in self.cubes)
        assert mine == other

    def _seen(self, cube: SqliteCube) -> Any:
        async def run() -> Any:
            listed = [(m.id, m.version) for m in (await cube.list(view=View(statuses=ANY_STATUS), limit=500)).items]
            pool = await cube.gather(Probe({"tea": 1.0, "fox": 1.0}, text_pool=500))
            lexical: NDArray[np.float32] = pool.columns["lexical"]
            return listed, pool.documents, sorted(zip(pool.rows.tolist(), lexical.round(4).tolist(), strict=True))

        return asyncio.run(run())

    def teardown(self) -> None:
        self.look()
        try:
            assert asyncio.run(self.cubes[0].check()) == []
        finally:
            for cube in self.cubes:
                cube.close_now()
            shutil.rmtree(self.folder)


def test_an_index_that_follows_equals_one_built_anew() -> None:
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Following,
        settings=settings(
            max_examples=60, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


@pytest.mark.parametrize("count", [10, 600, 5_000])
async def test_many_late_messages_at_once_find_their_places(tmp_path: Path, count: int) -> None:
    cube = SqliteCube.open(tmp_path / "a.cube", durability="normal")
    start = Memory(new_id(), Kind.TRACE, "tea", session="a", valid_from=from_micros(1_900_000_000_000_000))
    await cube.write(lambda tx: tx.put(start))
    compare(cube)
    backwards = [
        Memory(
            new_id(),
            Kind.TRACE,
            f"tea {i % 50}",
            session="ab"[i % 2],
            valid_from=from_micros(1_900_000_000_000_000 - i),
        )
        for i in range(count)
    ]
    await cube.write(lambda tx: [tx.put(m) for m in backwards])
    compare(cube)
    await cube.close()
