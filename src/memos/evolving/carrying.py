"""Telling other cubes what came of what is theirs and was tried in this one. Each cube is opened alone (law 4)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from memos.cubes.access import resolve
from memos.cubes.pool import CubePool
from memos.errors import AccessDenied, InvalidInput, NotFound
from memos.evolution.carry import carried_home
from memos.evolution.case import Case
from memos.evolution.learn import CaseBuilder
from memos.memory.episode import Step
from memos.storage.ports import Change, CubeInfo
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.lived import Uncarried
from memos.storage.sqlite.registry import SqliteRegistry

if TYPE_CHECKING:
    import apsw

_Told = tuple[Case | None, tuple[Step, ...]]
MOST_HOPS = 4  # from a copy to what it is a copy of


async def carry(cubes: CubePool, registry: SqliteRegistry, info: CubeInfo, store: SqliteCube, actor: str) -> int:
    """Tell what was not told yet; returns how many trials. A cube that is gone, or that its user has no right of her own to, is
    told nothing, which is an event here. Done again after a crash, it changes nothing.
    """
    count = 0
    while found := await store.lived(lived.uncarried):
        dropped = []
        for trial in found:
            case = await store.read_lived(partial(_case, trial=trial))
            if not await _carry_one(cubes, registry, info, trial, case, actor):
                dropped.append(trial)
        mark = partial(_mark, done=found, dropped=dropped)
        await store.write(mark, Change(actor=actor, cause="told where it belongs"))
        count += len(found)
    return count


async def _carry_one(
    cubes: CubePool, registry: SqliteRegistry, info: CubeInfo, trial: Uncarried, case: _Told, actor: str
) -> bool:
    """Count a trial where it belongs, and, of a copy, where that is from, and so on; False where nobody was told."""
    reader, told = trial.owner or info.owner, {info.location}
    for _ in range(MOST_HOPS):
        try:
            home = resolve(registry, reader, trial.home, "read")
        except (NotFound, AccessDenied, InvalidInput):
            break
        if home.location in told or (reader != home.owner and reader not in home.grants):
            break  # that everybody may read it is no reason to let everybody say what is reliable there
        async with cubes.use(home) as store:
            if store.read_only:
                break
            told.add(home.location)
            change = Change(actor=actor, cause="tried in another cube")
            copied = await store.write(
                partial(carried_home, trial=trial, cube=info.name, case=case[0], steps=case[1]), change
            )
        if copied is None:
            break
        reader, trial = copied.owner, replace(trial, home=copied.home, source=copied.source)
    return len(told) > 1


def _case(db: apsw.Connection, trial: Uncarried) -> _Told:
    """The episode of a trial, and what was done in it after the hand-out."""
    after = lived.handed_after(db, trial.memory, trial.episode)
    case = CaseBuilder(db).case(trial.episode)
    return case, () if case is None else tuple(s for s in case.steps if s.number > after)


def _mark(tx: Any, done: list[Uncarried], dropped: list[Uncarried]) -> None:
    for trial in done:
        lived.mark_carried(tx, trial)
    for trial in dropped:
        lived.tell(tx, "trial.dropped", episode=trial.episode, numbers={"outcome": trial.outcome})
