"""Telling other cubes what came of what is theirs and was tried in this one. Each cube is opened alone (law 4)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from memos.cubes.access import resolve
from memos.cubes.pool import CubePool
from memos.errors import AccessDenied, InvalidInput, NotFound
from memos.evolution.carry import carried_home
from memos.storage.ports import Change, CubeInfo
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.lived import Uncarried
from memos.storage.sqlite.registry import SqliteRegistry

MOST_HOPS = 4  # from a copy to what it is a copy of


async def carry(cubes: CubePool, registry: SqliteRegistry, info: CubeInfo, store: SqliteCube, actor: str) -> int:
    """Tell what was not told yet; returns how many trials. A cube that is gone, or that the episode's owner may no longer read,
    is told nothing. Done again after a crash, it changes nothing.
    """
    count = 0
    while found := await store.lived(lived.uncarried):
        for trial in found:
            await _carry_one(cubes, registry, info, trial, actor)
        await store.write(partial(_mark, done=found), Change(actor=actor, cause="told where it belongs"))
        count += len(found)
    return count


async def _carry_one(cubes: CubePool, registry: SqliteRegistry, info: CubeInfo, trial: Uncarried, actor: str) -> None:
    """Count a trial where it belongs, and, of a copy, where that is from, and so on."""
    reader, told = trial.owner or info.owner, {info.location}
    for _ in range(MOST_HOPS):
        try:
            home = resolve(registry, reader, trial.home, "read")
        except (NotFound, AccessDenied, InvalidInput):
            return
        if home.location in told:
            return
        told.add(home.location)
        async with cubes.use(home) as store:
            if store.read_only:
                return
            change = Change(actor=actor, cause="tried in another cube")
            copied = await store.write(partial(carried_home, trial=trial, cube=info.name), change)
        if copied is None:
            return
        reader, trial = copied.owner, replace(trial, home=copied.home, source=copied.source)


def _mark(tx: Any, done: list[Uncarried]) -> None:
    for trial in done:
        lived.mark_carried(tx, trial)
