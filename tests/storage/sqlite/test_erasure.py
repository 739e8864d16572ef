"""After a hard delete no byte of it is left in any file of the cube, and the cube is as if it had never been there."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memos.memory.ids import id_to_bytes, new_id
from memos.memory.model import Edge, EdgeType, Kind, Memory, Source
from memos.memory.statement import Mention, Statement
from memos.memory.time import from_micros
from memos.organize.reconcile import Outcome, mention, reconcile
from memos.storage.ports import ANY_STATUS, Change, Probe, TextQuery, View
from memos.storage.sqlite import purge as purging
from memos.storage.sqlite.connect import connect
from memos.storage.sqlite.cube import SqliteCube
from memos.text.document import index_terms

EVERYTHING = View(statuses=ANY_STATUS)
SECRETS = (
    "xylophonists", "quetzalcoatl", "zanzibarian", "mellifluous", "kerfuffled", "widdershins", "bumfuzzled", "flibbertigibbet",
    "gobbledygook", "collywobbles", "snickersnee", "taradiddle", "茶馆紫藤",
)  # fmt: skip


def left_over(folder: Path, tokens: Iterable[str | bytes]) -> list[tuple[str, str | bytes]]:
    """Which tokens the files of a folder still hold, in any of the encodings they could be in."""
    found = []
    for file in folder.rglob("*"):
        data = file.read_bytes().lower() if file.is_file() else b""
        for token in tokens:
            forms = (
                [token]
                if isinstance(token, bytes)
                else [token.encode(), token.encode("utf-16-le"), repr(token)[1:-1].encode()]
            )
            found += [(file.name, token) for form in forms if form.lower() in data]
    return found


async def secret_cube(path: Path, others: int = 30) -> tuple[SqliteCube, Memory, list[str]]:
    """A cube with one memory whose words, and those of what was derived from it, are nowhere else but for `tea`."""
    cube = SqliteCube.open(path)
    rng = random.Random(5)
    rest = [
        Memory(
            new_id(),
            Kind.TRACE,
            f"tea {i} " + " ".join(rng.choices(["red", "blue", "green", "sun"], k=30)),
            session="s",
        )
        for i in range(others)
    ]
    await cube.write(lambda tx: [tx.put(m) for m in rest[: others // 2]])
    secret = Memory(
        new_id(), Kind.TRACE, f"tea with {SECRETS[0]} and {SECRETS[12]}", title=SECRETS[1], tags=(SECRETS[2],),
        sources=(Source(uri=SECRETS[3], message_id=SECRETS[4], speaker=SECRETS[5]),), session="s", speaker=SECRETS[6],
        info={SECRETS[7]: SECRETS[8]}, body={"k": SECRETS[9]},
    )  # fmt: skip
    fact = Memory(
        new_id(), Kind.FACT, f"likes {SECRETS[10]}", sources=(Source(memory_id=secret.id, speaker=SECRETS[6]),)
    )
    entity = Memory(new_id(), Kind.ENTITY, SECRETS[11])

    def derive(tx: Any) -> None:
        tx.put(secret, key=b"key-of-" + SECRETS[0].encode())
        tx.put(fact)
        tx.put(entity, key=b"key-of-" + SECRETS[11].encode())
        tx.link(Edge(fact.id, secret.id, EdgeType.DERIVED_FROM, info={"quote": SECRETS[0]}))
        tx.link(Edge(secret.id, entity.id, EdgeType.MENTIONS))
        tx.mark(secret.id, "digest")
        tx.fail(secret.id, "digest", f"could not read {SECRETS[0]}")

    await cube.write(derive, Change(actor="u", cause=f"because of {SECRETS[0]}"))
    await cube.write(lambda tx: [tx.put(m) for m in rest[others // 2 :]])
    edited = (await cube.get([secret.id]))[0]
    await cube.write(
        lambda tx: tx.put(Memory(**{f: getattr(edited, f) for f in edited.__slots__} | {"text": f"now {SECRETS[3]}"}))
    )
    vector = [0.25 + i / 1000 for i in range(32)]
    pending = [p for p in await cube.pending_vectors("m") if SECRETS[3] in p.text]
    stored = np.asarray(vector, np.float32)
    await cube.write(lambda tx: tx.put_vectors("m", [(p.text_id, stored) for p in pending]))
    tokens: list[str] = [*SECRETS, *(t for s in SECRETS for t in index_terms(s) if len(t) > 4)]
    return cube, secret, tokens


def stored_bytes(memory: Memory) -> list[bytes]:
    return [id_to_bytes(memory.id), np.asarray([0.25 + i / 1000 for i in range(32)], "<f2").tobytes()]


@pytest.mark.parametrize("checkpointed", [True, False])
async def test_no_byte_of_it_is_left_in_any_file(tmp_path: Path, checkpointed: bool) -> None:
    cube, secret, tokens = await secret_cube(tmp_path / "a.cube")
    (tmp_path / "a.cube.v1.20300101000000.bak").write_bytes((tmp_path / "a.cube").read_bytes() + SECRETS[0].encode())
    if checkpointed:
        cube._writer.submit_bare(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()).result()
    assert {t for _, t in left_over(tmp_path, tokens)} == set(tokens)
    assert {t for _, t in left_over(tmp_path, stored_bytes(secret))} == set(stored_bytes(secret))
    report = await cube.purge([secret.id])
    assert (report.memories, report.cascaded, report.versions, report.vectors) == (
        1,
        2,
        4,
        2,
    )  # also the next message's
    assert report.erased_from_disk
    assert left_over(tmp_path, [*tokens, *stored_bytes(secret)]) == []
    assert len(await cube.search_text(TextQuery(("tea",)), limit=100)) == 30
    assert len((await cube.gather(Probe({"tea": 1.0}))).rows) == 30
    assert await cube.check() == []
    await cube.close()
    assert left_over(tmp_path, [*tokens, *stored_bytes(secret)]) == []


async def test_without_rewriting_the_file_it_is_gone_from_tables_and_log(tmp_path: Path) -> None:
    cube, secret, tokens = await secret_cube(tmp_path / "a.cube")
    report = await cube.purge([secret.id], vacuum=False)
    assert not report.erased_from_disk
    dump = cube.read_now(
        lambda db: [
            str(row)
            for table in ("memories", "terms", "keys", "todo", "edges", "meta")
            for row in db.execute(f"SELECT * FROM {table}")
        ]
    )
    assert not [t for t in tokens for row in dump if t in row]
    await cube.close()
    again = SqliteCube.open(tmp_path / "a.cube")  # small enough to be rewritten now
    assert left_over(tmp_path, [*tokens, *stored_bytes(secret)]) == []
    await again.close()


async def test_a_crash_before_the_file_was_cleared_is_made_good_at_the_next_start(tmp_path: Path) -> None:
    cube, secret, tokens = await secret_cube(tmp_path / "a.cube")
    await cube.close()
    code = """
import os, sys
from pathlib import Path
from memos.storage.sqlite.cube import SqliteCube
cube = SqliteCube.open(Path(sys.argv[1]))
cube.write_soon(lambda tx: tx.purge([sys.argv[2]])).result()
os._exit(9)
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    path = str(tmp_path / "a.cube")
    assert subprocess.run([sys.executable, "-c", code, path, secret.id], check=False, env=env).returncode == 9
    again = SqliteCube.open(tmp_path / "a.cube")
    assert left_over(tmp_path, [*tokens, *stored_bytes(secret)]) == []
    assert await again.count() == 30
    await again.close()


async def test_other_handles_forget_it_too(tmp_path: Path) -> None:
    cube, secret, _ = await secret_cube(tmp_path / "a.cube")
    other = SqliteCube.open(tmp_path / "a.cube")
    probe = Probe(dict.fromkeys(index_terms(SECRETS[3]), 1.0), text_pool=1)
    assert secret.id in {m.id for m in (await other.fetch((await other.gather(probe)).rows.tolist())).values()}
    assert (await cube.purge([secret.id])).erased_from_disk
    assert secret.id not in {m.id for m in (await other.fetch((await other.gather(probe)).rows.tolist())).values()}
    assert await other.write(lambda tx: tx.find_key(b"key-of-" + SECRETS[0].encode())) is None
    term = await other.write(lambda tx: tx.put(Memory(new_id(), Kind.TRACE, f"new {SECRETS[0]}")))
    assert [h.id for h in await cube.search_text(TextQuery(index_terms(SECRETS[0])))] == [term.id]
    await other.close()
    await cube.close()


async def test_deleting_from_a_large_hub_is_quick(tmp_path: Path) -> None:
    cube = SqliteCube.open(tmp_path / "a.cube", durability="normal")
    hub = Memory(new_id(), Kind.ENTITY, "Ann")
    traces = [Memory(new_id(), Kind.TRACE, f"turn {i}", session="s") for i in range(3_000)]

    def fill(tx: Any) -> None:
        tx.put(hub)
        for m in traces:
            tx.put(m)
            tx.link(Edge(m.id, hub.id, EdgeType.MENTIONS))

    await cube.write(fill)
    started = time.process_time()
    await cube.write(lambda tx: tx.purge([m.id for m in traces[::2]]))
    assert time.process_time() - started < 4
    assert await cube.count() == 1_501
    await cube.close()


# -- as if it had never been there -------------------------------------------------------------------------------

PLACES, THINGS = ("oslo", "rome", "kyiv"), ("tea", "milk", "soup")


def statement(trace: Memory, said: tuple[str, str, str]) -> Statement:
    verb, subject, value = said
    slot = f"{subject}|{verb}"
    return Statement(
        kind=Kind.FACT, text=f"{subject} {verb} {value}", slot=slot, key=f"{slot}|{value}", value=value, single=verb == "lives",
        confidence=0.9, source=Source(memory_id=trace.id),
    )  # fmt: skip


SAID = st.tuples(st.just("lives"), st.sampled_from(["ann", "bob"]), st.sampled_from(PLACES)) | st.tuples(
    st.just("likes"), st.sampled_from(["ann", "bob"]), st.sampled_from(THINGS)
)


def fill(cube: SqliteCube, told: list[tuple[int, str, tuple[str, str, str]]], traces: dict[int, Memory]) -> None:
    for number, session, what in told:
        trace = Memory(
            new_id(),
            Kind.TRACE,
            f"m{number} {' '.join(what)}",
            session=session,
            valid_from=from_micros(1_900_000_000_000_000) + timedelta(days=number),
        )
        traces[number] = trace

        def run(tx: Any, trace: Memory = trace, what: tuple[str, str, str] = what) -> None:
            stored = tx.put(trace)
            outcome = Outcome()
            reconcile(tx, stored, [statement(stored, what)], outcome)
            mention(tx, stored, Mention(what[1], "person"), outcome)

        cube.write_soon(run).result()


def searchable(cube: SqliteCube) -> Any:
    """What can be found: current texts and mentions, and what searches give for each word."""

    async def run() -> Any:
        memories = {m.id: m for m in (await cube.list(limit=1_000)).items}
        every = {m.id: m.text for m in (await cube.list(view=EVERYTHING, limit=1_000)).items}
        shown = sorted((m.text, m.kind, m.valid_to) for m in memories.values())
        assert all(s.memory_id in every for m in memories.values() for s in m.sources)
        links = await cube.neighbors(list(memories), types=[EdgeType.MENTIONS])
        edges = {(every[x.edge.src], every[x.edge.dst]) for x in links}
        found = {}
        for word in ("ann", "bob", *PLACES, *THINGS):
            hits = await cube.search_text(TextQuery((word,)), limit=1_000)
            pool = await cube.gather(Probe({word: 1.0}, text_pool=1_000))
            names = await cube.fetch(pool.rows.tolist())
            values = zip(pool.rows.tolist(), pool.columns["lexical"].tolist(), strict=True)
            found[word] = (
                sorted(every[h.id] for h in hits),
                sorted((names[n].text, v > 0) for n, v in values if names[n].kind is Kind.TRACE),
            )
        terms = cube.read_now(lambda db: {t for (t,) in db.execute("SELECT term FROM terms")})
        return shown, sorted(edges), found, terms

    return asyncio.run(run())


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    told=st.lists(st.tuples(st.sampled_from(["a", "b"]), SAID), min_size=1, max_size=9),
    gone=st.sets(st.integers(0, 8)), rounds=st.integers(1, 2),
)  # fmt: skip
def test_purging_any_of_it_leaves_what_would_be_there_without_it(
    tmp_path_factory: pytest.TempPathFactory, told: list[Any], gone: set[int], rounds: int
) -> None:
    folder = tmp_path_factory.mktemp("p")
    numbered = [(i, session, what) for i, (session, what) in enumerate(told)]
    gone = {n for n in gone if n < len(told)}
    purged, never = (
        SqliteCube.open(folder / "p.cube", durability="normal"),
        SqliteCube.open(folder / "n.cube", durability="normal"),
    )
    try:
        traces: dict[int, Memory] = {}
        fill(purged, numbered, traces)
        searchable(purged)
        order = sorted(gone, key=lambda n: (n * 7) % 5)
        for part in range(rounds):
            ids = [traces[n].id for n in order[part::rounds]]
            purged.write_soon(lambda tx, ids=ids: tx.purge(ids)).result()
        fill(never, [t for t in numbered if t[0] not in gone], {})
        assert searchable(purged) == searchable(never)
        assert asyncio.run(purged.check()) == []
    finally:
        purged.close_now()
        never.close_now()


def test_erasing_is_done_on_one_connection_alone(tmp_path: Path) -> None:
    db = connect(tmp_path / "x.db")
    db.execute(
        "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT); CREATE VIRTUAL TABLE fts USING fts5(terms, content='')"
    )
    purging.erase_left_over(db)
    assert purging.erase(db, vacuum=True)
    assert not purging.erase(db, vacuum=False)
    db.close()


@pytest.mark.parametrize("durability", ["full", "normal"])
def test_every_connection_overwrites_what_it_deletes(tmp_path: Path, durability: Any) -> None:
    db = connect(tmp_path / "x.db", durability=durability)
    pragmas = {
        p: db.execute(f"PRAGMA {p}").get
        for p in ("secure_delete", "journal_mode", "synchronous", "temp_store", "mmap_size")
    }
    wanted = {
        "secure_delete": 1,
        "journal_mode": "wal",
        "synchronous": 2 if durability == "full" else 1,
        "temp_store": 2,
        "mmap_size": 0,
    }
    assert pragmas == wanted
    db.close()
