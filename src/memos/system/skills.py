"""The verbs of skills: list, show and hand out, edit, retire and bring back, export and import, share."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from memos.memory.acting import Published
from memos.memory.learned import Skill, State
from memos.system.base import DEFAULT_SESSION, DEFAULT_USER, Base


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
        raise NotImplementedError

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
        raise NotImplementedError

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
        raise NotImplementedError

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
        raise NotImplementedError

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
        raise NotImplementedError

    async def publish(self, id: str, to: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> Published:
        """Share one memory with another cube that the user may write: a copy there, with where it comes from. A copy of a skill
        or policy is tried there, and its trials count back here. Published again, the copy is brought up to date.
        """
        raise NotImplementedError

    async def unpublish(self, id: str, to: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> int:
        """Take the copy of a memory in another cube back; returns how many were."""
        raise NotImplementedError
