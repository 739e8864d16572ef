"""The verbs about reading with a language model."""

from __future__ import annotations

from collections.abc import Sequence

from memos.client.cubes import CubeVerbs
from memos.client.encoding import body
from memos.client.transport import Call
from memos.memory.reading import Mode, ReadingConfig, Reread


class ReadingVerbs(CubeVerbs):
    """Read records anew, and say how a cube wants to be read."""

    async def reread(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        session: str | None = None,
        everything: bool = False,
        wait: bool = False,
        user: str | None = None,
        cube: str | None = None,
    ) -> Reread:
        """Have the language model read records anew: exactly one of `ids`, `session` and `everything=True`; see
        `AsyncMemOS.reread`.
        """
        fields = body(
            ids=[ids] if isinstance(ids, str) else ids, session=session, everything=everything or None, wait=wait,
            user=self._as(user), cube=cube,
        )  # fmt: skip
        return await self._transport.ask(Call("POST", "/v1/memories/reread", body=fields, patient=wait), Reread)

    async def reading(self, *, user: str | None = None, cube: str | None = None) -> ReadingConfig:
        """How a cube wants what is added to be read."""
        return await self._get(await self._of_cube(user, cube, "reading"), ReadingConfig, body(user=self._as(user)))

    async def configure_reading(
        self,
        *,
        mode: Mode | None = None,
        instructions: str | None = None,
        tags: Sequence[str] | None = None,
        user: str | None = None,
        cube: str | None = None,
    ) -> ReadingConfig:
        """Say how a cube wants to be read; what is left out stays. See `AsyncMemOS.configure_reading`."""
        fields = body(mode=mode, instructions=instructions, tags=tags)
        call = Call("PATCH", await self._of_cube(user, cube, "reading"), params=body(user=self._as(user)), body=fields)
        return await self._transport.ask(call, ReadingConfig)
