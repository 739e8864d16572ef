"""Taking a foreign file in: it is read whole, what is known already is found, and the rest is stored, the oldest first.

The store itself is the journal: everything has a key made of the ids of the source (or of its content), so that an import
that was killed at any point is simply run again, and stores nothing twice.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from memos.door import Door
from memos.errors import InvalidInput
from memos.memory.model import Memory
from memos.moving import graph_file, ours, sources
from memos.moving.bad_file import BadFile
from memos.moving.items import Item, Source
from memos.moving.report import Progress, Report, Watch
from memos.moving.spool import MOST_MARKED, Spool
from memos.moving.store import Storing
from memos.storage.names import check_name

# What keeps the ids it has, because they are ours already.
_OURS = frozenset((ours.SOURCE.name, graph_file.SOURCE.name))
_PIECE = 2_000  # items read at once
_PAGE = 5_000
_EPISODES = 50  # of a session that are looked at
_SECONDS_PER_ITEM = 0.001  # measured, see docs/moving.md
_SECONDS_PER_STEP = 0.004


async def bring(
    memory: object,
    path: str | Path,
    *,
    source: str | Source | None = None,
    user: str | None = None,
    cube: str | None = None,
    session: str | None = None,
    dry_run: bool = False,
    progress: Watch | None = None,
    facts: bool = True,
    bad: Path | None = None,
) -> Report:
    """Take in what is at `path`, for one user, through a memory: a `MemOS`, an `AsyncMemOS`, or a client of a server.

    `source`: its kind (a name of `memos.moving.sources`), found out where left out. `session`: put all into this one,
    instead of those it has there. `dry_run`: only tell what there is; nothing is written. `facts=False`: keep what was said
    without reading it for facts. `bad`: a file that gets a line for each row that cannot be taken. Run again, it goes on
    where it stopped.

    Raises InvalidInput, storing nothing, for what is hostile or of no known kind; what else the memory raises ends the
    import, and what was stored until then stays.
    """
    door = Door(memory, user, cube)
    return await door.arun(
        lambda: _bring(door, Path(path), source, session, dry_run=dry_run, watch=progress, facts=facts, bad=bad)
    )


def bring_now(memory: object, path: str | Path, **how: Any) -> Report:
    """`bring`, for a caller without an event loop; the memory is a `MemOS` or a `Client`."""
    door = Door(memory, how.pop("user", None), how.pop("cube", None))
    names = {"watch": how.pop("progress", None), "dry_run": how.pop("dry_run", False), "facts": how.pop("facts", True)}
    source, session, bad = how.pop("source", None), how.pop("session", None), how.pop("bad", None)
    if how:
        raise TypeError(f"bring_now() got an unexpected argument {next(iter(how))!r}")
    return door.run(lambda: _bring(door, Path(path), source, session, bad=bad, **names))


async def _bring(
    door: Door,
    path: Path,
    given: str | Source | None,
    session: str | None,
    *,
    dry_run: bool,
    watch: Watch | None,
    facts: bool,
    bad: Path | None,
) -> Report:
    began, tell = time.monotonic(), watch or (lambda _: None)
    if session is not None:
        check_name(session, "session")
    kind = await _aside(door, lambda: _kind(path, given))
    spool = Spool("" if kind.name in _OURS else kind.name, session, loose_ids=kind.loose_ids)
    try:
        with BadFile(bad) as rows:
            await _read(door, spool, kind, path, tell)
            live = await _find_known(door, spool, kind.name)
            report = spool.report(kind.name, kind.title, str(path), dry_run=dry_run)
            if dry_run:
                new = report.items - report.known
                seconds = new * _SECONDS_PER_ITEM + report.steps * _SECONDS_PER_STEP
                rows.write(spool.bad_rows())
                return replace(report, new=new, seconds=round(seconds, 3))
            storing = Storing(door, spool, kind.name, tag=kind.name not in _OURS, facts=facts, live=live)
            await storing.all(tell)
            told = spool.report(kind.name, kind.title, str(path), dry_run=False)
            rows.write(spool.bad_rows())
            known = told.items - storing.new - storing.refused
            return replace(told, known=known, new=storing.new, seconds=round(time.monotonic() - began, 1))
    finally:
        spool.close()


def _kind(path: Path, given: str | Source | None) -> Source:
    if isinstance(given, Source):
        return given
    if not path.exists():
        raise InvalidInput(f"{path} does not exist")
    return sources.detect(path) if given is None else sources.named(given)


async def _aside(door: Door, work: Any) -> Any:
    """Do what takes long and waits for nobody; no event loop stands still meanwhile."""
    return await asyncio.to_thread(work) if door.is_async else work()


async def _read(door: Door, spool: Spool, kind: Source, path: Path, tell: Watch) -> None:
    """Read all of the source."""
    items, done = kind.read(path), 0

    def piece(items: Iterator[Item]) -> int:
        count = 0
        for item in islice(items, _PIECE):
            spool.take(item)
            count += 1
        return count

    while count := await _aside(door, lambda: piece(items)):
        done += count
        tell(Progress("reading", done))


async def _find_known(door: Door, spool: Spool, name: str) -> frozenset[str]:
    """Note what the cube has already, by the ids of its messages, and by what was said to an agent. Returns the sessions that
    were reported as they happened, by a hook or a plugin.
    """
    if not spool.count():
        return frozenset()
    where = None if name in _OURS else {"message_id": {"contains": f"{name}:"}}
    async for memory in _all(door, where):
        spool.know([id for id in (memory.message_id, f"{ours.OWN_ID}{memory.id}") if id is not None])
    live: set[str] = set()
    for session in spool.worked_sessions():
        said = [memory.text[:MOST_MARKED] async for memory in _all(door, {"session": session, "role": "user"})]
        spool.know_turns(session, said)
        if said and await _was_live(door, session, name):
            live.add(session)
    if names := spool.skill_names():
        there = {skill.name for skill in await door.ask("skills", limit=1_000)}
        spool.know([f"skill:{name}" for name in names if name in there])
    return frozenset(live)


async def _was_live(door: Door, session: str, source: str) -> bool:
    """Whether another agent than an import reported what was done in a session."""
    page = await door.ask("episodes", session=session, limit=_EPISODES)
    return any(episode.agent != source for episode in page.items)


async def _all(door: Door, where: Any) -> AsyncIterator[Memory]:
    """All records that match, also those that were taken back."""
    cursor: str | None = None
    while True:
        page = await door.ask(
            "list", filter=where, kinds=["trace"], limit=_PAGE, cursor=cursor, newest_first=False, include_inactive=True
        )
        for memory in page.items:
            assert isinstance(memory, Memory)
            yield memory
        cursor = page.cursor
        if cursor is None:
            return
