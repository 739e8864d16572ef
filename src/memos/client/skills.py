"""The verbs of skills: list, show and hand out, edit, export and import, share."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from memos.client.connected import Connected
from memos.client.encoding import body, segment
from memos.client.skill_files import packed, unpacked, written
from memos.client.transport import Call, content_of
from memos.errors import InvalidInput
from memos.frames import Count, SkillList
from memos.memory.acting import Published
from memos.memory.learned import Action, Parameter, Skill, State

_FOLDERS = "/v1/skill-folders"


class SkillVerbs(Connected):
    """Skills of a cube."""

    async def skills(
        self,
        query: str | None = None,
        *,
        states: Collection[State | str] | None = None,
        limit: int = 100,
        user: str | None = None,
        cube: str | None = None,
    ) -> builtins.list[Skill]:
        """The skills that answer a question, best first, or all, the most reliable first; see `AsyncMemOS.skills`."""
        params = body(query=query, states=states, limit=limit) | self._of(user, cube)
        return [*(await self._get("/v1/skills", SkillList, params)).items]

    async def skill(
        self,
        name: str,
        *,
        use: bool = False,
        session: str = "default",
        user: str | None = None,
        cube: str | None = None,
    ) -> Skill:
        """A skill by name or id; with `use` it is handed to the agent of the session. Raises NotFound."""
        path = f"/v1/skills/{segment(name, 'name')}"
        if use:
            return await self._post(f"{path}/use", Skill, {"session": session, **self._of(user, cube)})
        return await self._get(path, Skill, self._of(user, cube))

    async def edit_skill(
        self,
        name: str,
        changes: Mapping[str, Any],
        *,
        if_version: int | None = None,
        user: str | None = None,
        cube: str | None = None,
    ) -> Skill:
        """Change fields of a skill; see `AsyncMemOS.edit_skill`. Raises NotFound, Conflict and InvalidInput."""
        if not isinstance(changes, Mapping):
            raise InvalidInput(f"changes is a mapping of fields to their new values, got {changes!r:.60}")
        if taken := sorted({"user", "cube"} & {*changes}):
            raise InvalidInput(f"a skill has no field {taken[0]!r}")
        call = Call(
            "PATCH",
            f"/v1/skills/{segment(name, 'name')}",
            body={**{name: _plain(value) for name, value in changes.items()}, **self._of(user, cube)},
            headers={} if if_version is None else {"If-Match": f'"{if_version}"'},
            repeatable=False,
        )
        return await self._transport.ask(call, Skill)

    async def export_skills(
        self,
        path: str | Path | None = None,
        *,
        names: Sequence[str] | None = None,
        zip: bool = False,
        overwrite: bool = False,
        user: str | None = None,
        cube: str | None = None,
    ) -> bytes | builtins.list[Path]:
        """Skills as folders below `path` here, or as one zip file (its bytes where no path is given); see
        `AsyncMemOS.export_skills`. Raises InvalidInput and NotFound.
        """
        if path is None and not zip:
            raise InvalidInput("give a folder for the skills as path, or zip=True for the bytes of a zip file")
        chosen = [names] if isinstance(names, str) else names
        if chosen is not None and not chosen:
            raise InvalidInput("names is empty; leave it out for all skills")
        params = body(names=chosen) | self._of(user, cube)
        data = await self._transport.run(Call("GET", _FOLDERS, params=params, patient=True), content_of)
        if path is None:
            return data
        write = written if zip else unpacked
        return await asyncio.to_thread(write, data, Path(path), overwrite=overwrite)

    async def import_skills(
        self,
        source: str | Path | bytes,
        *,
        dry_run: bool = False,
        user: str | None = None,
        cube: str | None = None,
    ) -> builtins.list[Skill]:
        """Skills from a folder, a zip or a `SKILL.md` here; see `AsyncMemOS.import_skills`. Raises InvalidInput."""
        data = await asyncio.to_thread(packed, source)
        params = body(dry_run=dry_run or None) | self._of(user, cube)
        call = Call("POST", _FOLDERS, params=params, content=data, repeatable=dry_run, patient=True)
        return [*(await self._transport.ask(call, SkillList)).items]

    async def publish(self, id: str, to: str, *, user: str | None = None, cube: str | None = None) -> Published:
        """Share one memory with another cube; see `AsyncMemOS.publish`."""
        path = f"/v1/memories/{segment(id, 'id')}/publish"
        return await self._post(path, Published, {"to": to, **self._of(user, cube)})

    async def unpublish(self, id: str, to: str, *, user: str | None = None, cube: str | None = None) -> int:
        """Take the copy of a memory in another cube back; returns how many were."""
        path = f"/v1/memories/{segment(id, 'id')}/unpublish"
        return (await self._post(path, Count, {"to": to, **self._of(user, cube)}, repeatable=False)).count


def _plain(value: Any) -> Any:
    """Steps and parameters of a skill as JSON."""
    if isinstance(value, (Action, Parameter)):
        return asdict(value)
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value
