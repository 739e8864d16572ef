"""The SQLite homes pass the suites of their ports."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from conformance import CubeStoreConformance, RegistryConformance

from memos.memory.ids import new_id
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.registry import SqliteRegistry


class TestSqliteCube(CubeStoreConformance):
    @pytest.fixture
    async def fresh(self, tmp_path: Path) -> AsyncIterator[Callable[[], Awaitable[SqliteCube]]]:
        made: list[SqliteCube] = []

        async def make() -> SqliteCube:
            made.append(SqliteCube.open(tmp_path / f"{new_id()}.cube", durability="normal"))
            return made[-1]

        yield make
        for cube in made:
            if not cube._closed:
                assert await cube.check() == []
                await cube.close()

    @pytest.fixture
    async def store(self, fresh: Callable[[], Awaitable[SqliteCube]]) -> SqliteCube:
        return await fresh()


class TestSqliteRegistry(RegistryConformance):
    @pytest.fixture
    def again(self, tmp_path: Path) -> Iterator[Callable[[], SqliteRegistry]]:
        made: list[SqliteRegistry] = []

        def make() -> SqliteRegistry:
            made.append(SqliteRegistry(tmp_path, durability="normal"))
            return made[-1]

        yield make
        for registry in made:
            registry.close()

    @pytest.fixture
    def registry(self, again: Callable[[], SqliteRegistry]) -> SqliteRegistry:
        return again()
