"""Many readers while others write, delete, erase and drop the index: every answer is right or a typed error, none hangs."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memos.errors import StorageError
from memos.memory.filter import parse_filter
from memos.memory.ids import new_id
from memos.memory.model import Kind, Memory
from memos.storage.ports import Probe, TextQuery
from memos.storage.sqlite import ranked
from memos.storage.sqlite.cube import SqliteCube


def said(i: int) -> Memory:
    return Memory(new_id(), Kind.TRACE, f"tea number {i}", session=f"s{i % 3}", tags=("odd",) if i % 2 else ())


async def test_reads_go_on_while_others_write_delete_and_erase(tmp_path: Path) -> None:
    cube, other = (SqliteCube.open(tmp_path / "a.cube", durability="normal") for _ in range(2))
    kept = await cube.write(lambda tx: [tx.put(said(i)) for i in range(40)])
    ids = {m.id for m in kept}
    stop = threading.Event()
    odd = parse_filter({"tags": "odd"})
    vector = np.ones(4, np.float32) / 2

    async def write(store: SqliteCube) -> int:
        rounds = 0
        while not (rounds and stop.is_set()):
            some = await store.write(lambda tx: [tx.put(said(i)) for i in range(5)])
            pending = await store.pending_vectors("m", 20)
            await store.write(lambda tx, p=pending: tx.put_vectors("m", [(x.text_id, vector) for x in p]))
            await (
                store.purge([m.id for m in some])
                if rounds % 3 == 0
                else store.write(lambda tx, s=some: tx.purge([m.id for m in s]))
            )
            rounds += 1
        return rounds

    async def read(store: SqliteCube) -> int:
        rounds = 0
        while not (rounds and stop.is_set()):
            probe = Probe({"tea": 1.0}, vector=vector, model="m", text_pool=1_000)
            pools = await asyncio.gather(store.gather(probe), store.gather(probe, where=odd))
            for pool, wanted in zip(pools, (ids, {m.id for m in kept if m.tags}), strict=True):
                found = {m.id for m in (await store.fetch(pool.rows.tolist())).values()}
                assert wanted <= found
            assert ids <= {h.id for h in await store.search_text(TextQuery(("tea",)), limit=1_000)}
            assert len(await store.search_vector(vector, "m", limit=1_000)) >= 20
            assert ids <= {m.id for m in (await store.list(limit=1_000)).items}
            if rounds % 7 == 0:
                store.ranked.feed.drop()
            rounds += 1
        return rounds

    pending = await cube.pending_vectors("m", 100)
    await cube.write(lambda tx: tx.put_vectors("m", [(x.text_id, vector) for x in pending]))
    tasks = [asyncio.create_task(work(store)) for work in (write, read, read) for store in (cube, other)]
    await asyncio.sleep(1.5)
    stop.set()
    done = await asyncio.wait_for(asyncio.gather(*tasks), 60)
    assert min(done) > 0
    assert await cube.count() == 40
    assert await cube.check() == []
    await cube.close()
    await other.close()


async def test_a_check_sees_the_full_text_index_as_others_left_it(tmp_path: Path) -> None:
    cube, other = (SqliteCube.open(tmp_path / "a.cube", durability="normal") for _ in range(2))
    assert await cube.check() == []
    for n in range(200):  # segments of the index are merged again and again
        await other.write(lambda tx, n=n: tx.put(said(n)))
        if n % 7 == 0:
            assert await cube.check() == []
    await cube.close()
    await other.close()


async def test_closing_while_others_read_and_write_is_a_typed_error_for_them(tmp_path: Path) -> None:
    for _ in range(10):
        cube = SqliteCube.open(tmp_path / f"{new_id()}.cube", durability="normal")
        await cube.write(lambda tx: tx.put(said(1)))

        async def use(call: Any) -> int:
            for n in range(10_000):
                try:
                    await call()
                except StorageError:
                    return n
            return -1

        probe = Probe({"tea": 1.0})
        calls = (cube.count, lambda: cube.gather(probe), lambda: cube.write(lambda tx: tx.put(said(2))))  # noqa: B023
        tasks = [asyncio.create_task(use(call)) for call in calls]
        await asyncio.sleep(0.02)
        await cube.close()
        assert -1 not in await asyncio.wait_for(asyncio.gather(*tasks), 20)


async def test_while_a_large_index_loads_the_stored_full_text_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranked, "LOAD_AT_ONCE", 0)
    cube = SqliteCube.open(tmp_path / "a.cube", durability="normal")
    await cube.write(lambda tx: [tx.put(said(i)) for i in range(30)])
    with cube.ranked.feed.lock:  # the loader waits for this
        pool = await asyncio.wait_for(cube.gather(Probe({"number": 1.0}), where=parse_filter({"tags": "odd"})), 5)
        assert (pool.loading, len(pool.rows)) == (True, 15)
        assert {len(c) for c in pool.columns.values()} == {15}
    async with asyncio.timeout(20):
        while (pool := await cube.gather(Probe({"number": 1.0}))).loading:
            await asyncio.sleep(0.01)
    assert (pool.loading, len(pool.rows)) == (False, 30)
    await cube.close()


async def test_a_cube_may_be_closed_while_its_index_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranked, "LOAD_AT_ONCE", 0)
    for _ in range(5):
        cube = SqliteCube.open(tmp_path / "a.cube", durability="normal")
        await cube.write(lambda tx: [tx.put(said(i)) for i in range(200)])
        await cube.gather(Probe({"tea": 1.0}))
        await cube.close()
        if (loader := cube.ranked._loader) is not None:
            await asyncio.to_thread(loader.join, 20)
        assert not list(tmp_path.glob("*-wal")), "a connection was opened again after closing"
