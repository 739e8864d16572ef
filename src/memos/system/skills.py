"""The verbs of skills: list, show and hand out, edit, retire and bring back, export and import, share."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from memos.arguments import listed, member
from memos.cubes.archive import check_outside
from memos.cubes.folders import write_file, write_folders
from memos.errors import InvalidInput, NotFound
from memos.evolution.shown import skills_of
from memos.evolution.skills import edit as skill_edit
from memos.evolution.skills import folder as skill_folder
from memos.memory.acting import Published
from memos.memory.filter import Compare, Field, Op
from memos.memory.ids import is_id
from memos.memory.learned import Skill, SkillBody, State
from memos.memory.model import Kind, Memory, Status
from memos.memory.number import whole
from memos.reading.parts import is_blank
from memos.recall.ask import Ask
from memos.storage.ports import Change, CubeInfo, View
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.registry import LEVELS, check_name
from memos.system.base import DEFAULT_SESSION, DEFAULT_USER, Base

MOST = 1_000
_USUAL = frozenset((State.PROBATION, State.ACTIVE))


class Skills(Base):
    """See `AsyncMemOS`."""

    async def skills(
        self,
        query: str | None = None,
        *,
        states: Collection[State | str] | None = None,
        limit: int = 100,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> builtins.list[Skill]:
        """The skills of a cube: those that answer a question, best first, or all, the most reliable first. `states`: probation,
        active, retired; by default the first two.
        """
        whole(limit, "limit", most=MOST)
        if query is not None and (not isinstance(query, str) or is_blank(query)):
            raise InvalidInput("the query is empty; leave it out for all skills")
        wanted = _USUAL if states is None else frozenset(member(State, s, "state") for s in listed(states, "states"))
        async with self._cube(user, cube, "read") as (info, store):
            if query is None:
                found = await store.lived(lived.learned_memories, Kind.SKILL.value, limit=MOST)
            else:
                await self._parts().background.catch_up(store)
                statuses = frozenset((Status.ACTIVE, Status.ARCHIVED))
                ask = Ask(
                    query=query,
                    limit=MOST,
                    where=Compare(Field("kind"), Op.EQ, Kind.SKILL.value),
                    view=View(statuses=statuses),
                    merge_facts=False,
                    user=user,
                )
                found = [hit.memory for hit in (await self._parts().ask(info, store, ask)).hits]
            chosen = [m for m in found if SkillBody.of(m).state in wanted]
            shown = await store.read_lived(lambda db: skills_of(db, chosen if query is None else chosen[:limit]))
        if query is None:
            shown.sort(key=lambda s: (-s.record.reliability, -s.record.support, s.name))
        return shown[:limit]

    async def skill(
        self,
        name: str,
        *,
        use: bool = False,
        session: str = DEFAULT_SESSION,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> Skill:
        """A skill by name or id. `use`: it is handed to the agent of the session's open episode, which counts as a trial of it.
        Raises NotFound.
        """
        check_name(name, "name")
        check_name(session, "session")
        async with self._cube(user, cube, "read") as (info, store):
            found: Skill = await store.read_lived(lambda db: skills_of(db, [skill_edit.find(db, name)])[0])
            if use and await self._hand_out(user, info, store, found.id, session):
                found = await store.read_lived(lambda db: skills_of(db, [found.memory])[0])
            return found

    async def edit_skill(
        self,
        name: str,
        changes: Mapping[str, Any],
        *,
        if_version: int | None = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> Skill:
        """Change fields of a skill (those of `SkillBody` that tell what it does; `guide` for free text). From then on learning
        never overwrites it, only proposes. Raises NotFound, Conflict, InvalidInput.
        """
        check_name(name, "name")
        if not isinstance(changes, Mapping):
            raise InvalidInput(f"changes are fields of a skill with their new values, got {changes!r:.60}")
        async with self._cube(user, cube, "write") as (info, store):
            change = Change(actor=user, cause="edit skill")
            memory = await store.write(lambda tx: skill_edit.edit(tx, name, changes, if_version), change)
            self._parts().background.wake(info, user)
            return (await store.read_lived(lambda db: skills_of(db, [memory])))[0]

    async def export_skills(
        self,
        path: str | Path | None = None,
        *,
        names: Sequence[str] | None = None,
        zip: bool = False,
        overwrite: bool = False,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> bytes | builtins.list[Path]:
        """Skills in the agent-skills format: a folder for each with `SKILL.md`, below `path`; or, with `zip`, one zip file (its
        bytes where no path is given). By default all that are active or on probation. Raises InvalidInput, NotFound.
        """
        if path is None and not zip:
            raise InvalidInput("name a folder to write skills to, or ask for a zip")
        wanted = None if names is None else [check_name(n, "name") for n in listed(names, "names")]
        if path is not None and not isinstance(path, (str, Path)):
            raise InvalidInput(f"path is a folder or a file to write, got {path!r:.60}")
        target = None if path is None else Path(path)
        if target is not None:
            check_outside(self.settings.home, target)

        def chosen(db: apsw.Connection) -> builtins.list[Skill]:
            if wanted is not None:
                return skills_of(db, {m.id: m for m in (skill_edit.find(db, n) for n in wanted)}.values())
            found = lived.learned_memories(db, Kind.SKILL.value)
            return [s for s in skills_of(db, found) if s.body.state in _USUAL]

        async with self._cube(user, cube, "read") as (_, store):
            skills = skill_folder.named_apart(await store.read_lived(chosen))
        if not zip:
            assert target is not None
            files = {name: data for skill in skills for name, data in skill_folder.files_of(skill).items()}
            return await asyncio.to_thread(write_folders, target, files, overwrite=overwrite) if files else []
        data = await asyncio.to_thread(skill_folder.zip_of, skills)
        if target is None:
            return data
        await asyncio.to_thread(write_file, target, data, overwrite=overwrite)
        return [target]

    async def import_skills(
        self,
        source: str | Path | bytes,
        *,
        dry_run: bool = False,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> builtins.list[Skill]:
        """Skills from a folder with `SKILL.md` (or of such folders), a zip of them, or the text of one `SKILL.md`. They begin on
        probation; one of the same name that was imported before becomes a new version. Raises InvalidInput for hostile or
        unreadable ones, storing nothing.
        """
        found = await asyncio.to_thread(skill_folder.read_skills, source)
        async with self._cube(user, cube, "read" if dry_run else "write") as (info, store):
            if dry_run:
                return [Skill(Memory("", Kind.SKILL, "", title=f.body.name), f.body) for f in found]
            kept = await store.write(
                lambda tx: [skill_edit.take_in(tx, one, user) for one in found],
                Change(actor=user, cause="import skills"),
            )
            self._parts().background.wake(info, user)
            return await store.read_lived(lambda db: skills_of(db, kept))

    async def publish(self, id: str, to: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> Published:
        """Share one memory with another cube that the user may write: a copy there, with where it comes from. A copy of a skill
        or policy is tried there, and its trials count back here. Published again, the copy is brought up to date.
        """
        async with self._cube(user, cube, "read") as (source, store):
            found = await store.get([id]) if is_id(id) else []
            if not found:
                raise NotFound(f"memory {id} does not exist in this cube, or does not hold any more")
            name = source.name
        async with self._cube(user, check_name(to, "to"), "write") as (target, other):
            if target.location == source.location:
                raise InvalidInput(f"{id} is in cube {name!r} already; name another cube to share it with")
            change = Change(actor=user, cause=f"shared from {name}")
            made, new = await other.write(lambda tx: skill_edit.put_copy(tx, found[0], name, user), change)
            self._parts().background.wake(target, user)
            return Published(made, target.name, found[0].id, name, new)

    async def unpublish(self, id: str, to: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> int:
        """Take the copy of a memory in another cube back; returns how many were."""
        source = self._source_name(user, cube)
        async with self._cube(user, check_name(to, "to"), "write") as (_, other):
            if not is_id(id):
                raise NotFound(f"{id!r:.60} is no id of a memory")
            made = await other.write(lambda tx: skill_edit.copy_of(tx, source, id))
            if made is None:
                return 0
            await other.purge([made], Change(actor=user, cause=f"no longer shared from {source}"))
            return 1

    async def _hand_out(self, user: str, info: CubeInfo, store: SqliteCube, skill: str, session: str) -> bool:
        """Begin a trial where the session has an open episode: in the skill's cube, or in the user's own, from where it counts
        back. False where there is none.
        """
        registry, change = self._parts().registry, Change(actor=user, cause="skill used")
        level = registry.level(info, user)
        may_write = level is not None and LEVELS.index(level) >= LEVELS.index("write") and not store.read_only
        if may_write and await store.write(lambda tx: _handed(tx, skill, session), change):
            return True
        own = registry.find(user)
        if own is None or own.owner != user or own.location == info.location:
            return False
        async with self._cube(user, None, "write") as (_, other):
            return await other.write(lambda tx: _handed(tx, skill, session, info.name), change)

    def _source_name(self, user: str, cube: str | None) -> str:
        """The name of the cube that something was shared from, which may be gone by now."""
        return check_name(user if cube is None else cube, "cube")


def _handed(tx: Any, skill: str, session: str, home: str = "") -> bool:
    """Begin a trial of a skill in the session's open episode of this cube; False where there is none."""
    episode = lived.last_episode(tx.db, session)
    if episode is None or not episode.is_open:
        return False
    lived.hand_out(tx, skill, episode.id, tx.now, after=lived.last_step(tx.db, episode.id), home=home)
    return True
