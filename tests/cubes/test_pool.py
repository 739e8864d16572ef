"""The pool of open cubes: what it closes and drops never meets a caller, and its limits hold."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memos.cubes import pool as pools
from memos.cubes.pool import CubePool
from memos.errors import NotFound, StorageError
from memos.memory.ids import new_id
from memos.memory.model import Kind, Memory
from memos.settings import Settings
from memos.storage.ports import CubeInfo, Probe
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.registry import SqliteRegistry


class Home:
    def __init__(self, folder: Path, cubes: int, **options: int) -> None:
        self.registry = SqliteRegistry(folder, durability="normal")
        self.pool = CubePool(self.registry, Settings(home=folder, durability="normal", **options))
        self.cubes = [self.registry.create(f"c{i}", "ana")[0] for i in range(cubes)]

    async def read(self, cube: CubeInfo, text: str | None = None) -> int:
        async with self.pool.use(cube) as store:
            if text:
                await store.write(lambda tx: tx.put(Memory(new_id(), Kind.TRACE, text)))
            await store.gather(Probe({"gate": 1.0}))
            return await store.count()


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    made = Home(tmp_path, 12, open_cubes=3)
    yield made
    await made.pool.close()
    made.registry.close()


async def test_many_cubes_used_at_once_all_answer_and_the_limit_holds_again(home: Home) -> None:
    chance = random.Random(1)

    async def later(cube: CubeInfo) -> int:
        await asyncio.sleep(chance.random() * 0.02)
        return await home.read(cube)

    for _ in range(15):
        await asyncio.gather(*(later(chance.choice(home.cubes)) for _ in range(20)))
        assert len(home.pool._open) <= 3
    assert not home.pool._users


async def test_a_cube_in_use_is_never_closed(home: Home) -> None:
    async with home.pool.use(home.cubes[0]) as store:
        for cube in home.cubes[1:]:
            await home.read(cube)
        assert await store.count() == 0


async def test_a_cube_that_cannot_be_closed_spoils_no_answer(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: SqliteCube) -> None:
        raise StorageError("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr(SqliteCube, "close_now", fail)
        assert [await home.read(cube) for cube in home.cubes] == [0] * 12
        await home.pool._cleaned()


async def test_whoever_gives_up_while_a_cube_opens_takes_it_from_nobody(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []
    real = SqliteCube.open

    def slow(path: Path, **options: object) -> SqliteCube:
        opened.append(path)
        asyncio.run(asyncio.sleep(0.05))
        return real(path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(pools.SqliteCube, "open", slow)
    first, second = (asyncio.create_task(home.read(home.cubes[0])) for _ in range(2))
    await asyncio.sleep(0.01)
    first.cancel()
    assert await second == 0
    assert len(opened) == 1
    await asyncio.gather(first, return_exceptions=True)


async def test_a_cube_that_goes_waits_for_its_users_and_takes_no_new_ones(home: Home) -> None:
    cube = home.cubes[0]
    async with home.pool.use(cube) as store:
        going = asyncio.create_task(home.pool.remove(cube))
        await asyncio.sleep(0.01)
        with pytest.raises(NotFound):
            await home.read(cube)
        assert await store.count() == 0
    assert await going > 0
    assert not list((home.registry.folder / "cubes").glob(f"{cube.location}*"))


async def test_indexes_of_idle_cubes_stay_within_the_memory_limit(tmp_path: Path) -> None:
    home = Home(tmp_path, 4, resident_mb=1)
    for cube in home.cubes:
        async with home.pool.use(cube) as store:
            await store.write(
                lambda tx: [tx.put(Memory(new_id(), Kind.TRACE, f"gate {new_id()} " * 20)) for _ in range(400)]
            )
        await home.read(cube)
        await home.pool._cleaned()
        assert sum(c.resident_bytes for c in home.pool._open.values()) <= 1 << 20
    assert await home.read(home.cubes[0]) == 400
    await home.pool.close()
    home.registry.close()
