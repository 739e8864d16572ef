"""The verbs of reading: have records read anew by the model, and say how a cube wants to be read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence

from memos.arguments import checked_tags
from memos.errors import InvalidInput, ModelError, NotFound
from memos.memory.filter import And, Compare, Field, Filter, Op
from memos.memory.image import images_in
from memos.memory.model import EdgeType, Kind, Layer, Memory
from memos.memory.reading import KEY, Mode, ReadingConfig, Reread
from memos.reading.parts import well_formed
from memos.storage.ports import DESCRIBE, DIGEST, FEEDBACK, READ, WAS_TRUE, Change, View, WriteTx
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.registry import check_name
from memos.system.base import DEFAULT_USER, Base
from memos.system.parts import left_undone
from memos.understanding import NO_MODEL

PAGE = 1_000
_READABLE = (Kind.TRACE, Kind.TOOL_CALL, Kind.IMAGE, Kind.CHUNK)


class Reading(Base):
    """See `AsyncMemOS`."""

    async def reread(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        session: str | None = None,
        everything: bool = False,
        wait: bool = False,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> Reread:
        """Have the language model read records anew, say after another was configured: all of a cube, of a session, or those of
        `ids` (of a derived memory: the records it rests on; of a document: its pieces).

        What an earlier reading by a model derived from them, and the new one does not say again, is taken back in the same change
        that brings the new in; what rules derived, what other records say, and what somebody edited stays. `wait=True` returns
        when that is done. Without a model, the rules read anew, and a notice says so.

        Raises InvalidInput for none or several of ids, session and everything, and NotFound for ids that do not exist.
        """
        if (ids is not None) + (session is not None) + bool(everything) != 1:
            raise InvalidInput("read anew by exactly one of ids, session, everything=True")
        if session is not None:
            check_name(session, "session")
        parts = self._parts()
        async with self._cube(user, cube, "write") as (info, store):
            fine = parts.understanding.has_model
            task, notices = (READ, ()) if fine else (DIGEST, (NO_MODEL,))
            seen = False
            if ids is not None:
                chosen = await _records(store, [ids] if isinstance(ids, str) else list(ids))
            else:
                chosen = await _listed(store, session)
            for at in range(0, len(chosen), PAGE):
                marking = _marking(chosen[at : at + PAGE], task, see=parts.seeing.has_model)
                seen = await store.write(marking, Change(actor=user, cause="reread")) or seen
            if not chosen:
                return Reread(info.name, 0, notices=notices)
            if wait:
                try:
                    await (parts.finish(info, store) if fine or seen else parts.background.finish(store))
                    return Reread(info.name, len(chosen), notices=notices)
                except ModelError as e:
                    notices = (*notices, f"marked, but {left_undone(e)}")
            if seen:
                await parts.background.begin(DESCRIBE, info, user)
            handed = await parts.background.begin(task, info, user)
            told = notices if handed.notice is None else (*notices, handed.notice)
        return Reread(info.name, len(chosen), handed.task, pending=True, notices=told)

    async def reading(self, *, user: str = DEFAULT_USER, cube: str | None = None) -> ReadingConfig:
        """How a cube wants what is added to be read."""
        async with self._cube(user, cube, "read") as (info, _):
            return ReadingConfig.of(info.info)

    async def configure_reading(
        self,
        *,
        mode: Mode | None = None,
        instructions: str | None = None,
        tags: Sequence[str] | None = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> ReadingConfig:
        """Say how a cube wants to be read; what is left out stays as it is. Only an admin of the cube may. It holds for what is
        read from now on; `reread` applies it to what was read before.

        `mode`: `fine` (by the language model, where one is configured), `fast` (by rules), or `auto` (as the settings say).
        `instructions`: what to look for or leave out, in your words. `tags`: the vocabulary for what is found. Raises
        InvalidInput.
        """
        async with self._cube(user, cube, "admin") as (info, _):
            known = ReadingConfig.of(info.info)
            config = ReadingConfig(
                known.mode if mode is None else mode,
                known.instructions if instructions is None else _plain(instructions),
                known.tags if tags is None else checked_tags(tags),
            )
            kept = config.kept() if config != ReadingConfig() else None
            await asyncio.to_thread(self._parts().registry.set_info, info.name, KEY, kept, user)
            return config


def _plain(instructions: object) -> str:
    if not isinstance(instructions, str):
        raise InvalidInput(f"instructions are a text, got {instructions!r:.60}")
    return well_formed(instructions).strip()


def _marking(ids: Sequence[str], task: str, *, see: bool) -> Callable[[WriteTx], bool]:
    """Mark records to be read, and (`see`) those with images to have these described; whether there were any of them."""

    def apply(tx: WriteTx) -> bool:
        shown = False
        for id in ids:
            if (memory := tx.get(id)) is not None:
                shows = see and bool(images_in(memory.body)) and not memory.body.get("part")
                for kind in (task, DESCRIBE) if shows else (task,):
                    tx.unmark(id, kind)  # with its attempts
                    tx.mark(id, kind)
                shown = shown or shows
        return shown

    return apply


async def _listed(store: SqliteCube, session: str | None) -> list[str]:
    """The records of a session, or all, oldest first."""
    where: Filter = Compare(Field("kind"), Op.IN, tuple(kind.value for kind in _READABLE))
    if session is not None:
        where = And((where, Compare(Field("session"), Op.EQ, session)))
    out: list[str] = []
    cursor: str | None = None
    while True:
        page = await store.list(where, limit=PAGE, cursor=cursor, newest_first=False)
        out += [m.id for m in page.items if FEEDBACK not in m.body]  # what it said was done, and is not said again
        cursor = page.cursor
        if cursor is None:
            return out


async def _records(store: SqliteCube, ids: Collection[str]) -> list[str]:
    """The records among these memories, and those that the others rest on. Raises NotFound."""
    view = View(statuses=WAS_TRUE)
    found = {m.id: m for m in await store.get(list(ids), view)}
    if documents := [m.id for m in found.values() if m.kind is Kind.DOCUMENT]:
        parts = await store.neighbors(documents, types=(EdgeType.PART_OF,), direction="in")
        found |= {m.id: m for m in await store.get(list(dict.fromkeys(link.edge.src for link in parts)))}
    for id in ids:
        if id not in found:
            raise NotFound(f"memory {id} does not exist in this cube, or was taken back; nothing was marked")
    derived = [m.id for m in found.values() if m.layer is not Layer.TRACE]
    links = (
        await store.neighbors(derived, types=(EdgeType.DERIVED_FROM,), direction="out", view=view) if derived else []
    )
    evidence: list[Memory] = await store.get(list(dict.fromkeys(link.edge.dst for link in links)), view)
    both = (*found.values(), *evidence)
    return list(dict.fromkeys(m.id for m in both if m.kind in _READABLE and FEEDBACK not in m.body))
