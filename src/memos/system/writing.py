"""The verbs that write: add, change, delete, take back and bring back. Each is one durable change (law 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memos.arguments import checked_tags, listed
from memos.errors import Conflict, InvalidInput, ModelError, NotFound
from memos.evolution.skills.edit import EDITED_THERE
from memos.memory.filter import Filter, parse_filter
from memos.memory.image import images_in
from memos.memory.model import Kind, Layer, Memory
from memos.memory.number import share
from memos.memory.reading import ReadingMode, checked_mode
from memos.memory.time import utcnow
from memos.organize.forget import Selection, retract, retract_derived, select, undo
from memos.organize.retire import recover, retire
from memos.reading.hygiene import strip_injected
from memos.reading.messages import checked_info, parse_context, parse_messages
from memos.reading.parts import is_blank, well_formed
from memos.reading.store import images_of, store_records
from memos.reading.traces import to_records, with_injected
from memos.results import AddResult, DeleteResult, FileResult
from memos.storage.ports import ANY_STATUS, DIGEST, READ, Change, View, WriteTx
from memos.storage.sqlite.registry import check_name
from memos.system.base import DEFAULT_SESSION, DEFAULT_USER, Base, When
from memos.system.parts import left_undone

_LEARNED = frozenset((Kind.POLICY, Kind.WORLD_MODEL, Kind.SKILL))
MANY = 1_000  # pieces of a document that a task names; of more, it is for whatever is marked


class Writing(Base):
    """See `AsyncMemOS`."""

    async def add(
        self,
        messages: object,
        *,
        user: str = DEFAULT_USER,
        cube: str | None = None,
        session: str | None = None,
        role: str = "user",
        tags: Sequence[str] = (),
        info: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        retry_key: str | None = None,
        derive: bool = True,
        wait: bool = False,
        task_id: str | None = None,
        context: object = None,
        corrects: Sequence[str] | None = None,
        reading: ReadingMode | None = None,
        whole: bool = False,
    ) -> AddResult:
        """Store what happened: a text, a chat message, or a list of them. Returns once it is durable and searchable.

        Facts, entities and vectors are derived in the background; `wait=True` returns when that is done too. The same
        message (by `message_id`, `idempotency_key`, or same words) is stored once. `retry_key`: one for each call, given
        again when the call is repeated; it matters only where nothing else tells a repetition. `derive=False` keeps the raw
        record only and never reads it for facts. `task_id`: a name of your own to ask `tasks` for what became of it.
        `context`: messages said before, by which these are understood, but which are not stored. `corrects`: that these
        correct something ("no, it's Bergen, not Oslo"): ids of what they are about, or an empty list to have it found.
        `reading`: `fine` has the language model read it too, after the rules, `fast` leaves it to them; by default as the cube
        or the settings say. `whole`: each message stays one memory, however long it is; else a long one is kept in parts.

        Raises InvalidInput when nothing can be stored, and Busy, storing nothing, when too much of the user's waits.
        """
        checked_mode(reading)
        keep = self.settings.keep_images
        parsed = parse_messages(messages, now=utcnow(), zone=self.settings.timezone, default_role=role, images=keep)
        images, too_large = images_of(parsed.messages, self.settings.image_mb << 20) if keep else ({}, ())
        name = check_name(session, "session") if session is not None else DEFAULT_SESSION
        for value, what in (
            (idempotency_key, "idempotency_key"),
            (retry_key, "retry_key"),
            (task_id, "task_id"),
        ):
            if value is not None:
                check_name(value, what)
        records = to_records(
            parsed.messages,
            session=name,
            owner=user,
            tags=checked_tags(tags),
            info=checked_info(info, "info"),
            idempotency_key=idempotency_key,
            retry_key=retry_key,
            context=parse_context(context, now=utcnow(), zone=self.settings.timezone),
            corrects=None if corrects is None else [str(id) for id in listed(corrects, "corrects")],
            derive=derive,
            whole=whole,
        )
        parts = self._parts()
        await parts.background.check_room(user)
        async with self._cube(user, cube, "write") as (cube_info, store):
            named = idempotency_key is not None
            fine, unread = parts.understanding.is_fine(reading, cube_info) if derive else (False, None)
            see = derive and bool(images) and parts.seeing.is_wanted(reading, cube_info)
            with parts.vectors.attending():
                added = await store.write(
                    lambda tx: store_records(
                        tx, records, derive=derive, named=named, fine=fine, images=images, see=see
                    ),
                    Change(actor=user, cause="add"),
                )
            notices = (*parsed.notices, *too_large, *(() if unread is None else (unread,)))
            pending = not wait
            try:
                if wait:
                    await (parts.finish(cube_info, store) if fine or see else parts.background.finish(store))
            except ModelError as e:  # the records are stored all the same
                notices, pending = (*notices, f"stored, but {left_undone(e)}"), True
            task = None
            if task_id is not None or (derive and pending):  # who gave a name may ask for it, whatever there is to do
                ids = [record.id for record in added if record.new or task_id is not None]
                shown = [r.memory.id for r in records if images_in(r.memory.body)] if see and pending else []
                handed = await parts.background.added(
                    cube_info, ids, user, task_id, fine=fine and pending, see=[id for id in shown if id in ids]
                )
                task = handed.task
                if handed.notice is not None:
                    notices = (*notices, handed.notice)
        parts.counts.adds += 1
        parts.counts.messages += len(records)
        return AddResult(cube_info.name, tuple(added), notices, pending=pending, task=task)

    async def add_file(
        self,
        data: bytes,
        *,
        name: str,
        media_type: str | None = None,
        document_id: str | None = None,
        tags: Sequence[str] = (),
        info: Mapping[str, Any] | None = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
        reading: ReadingMode | None = None,
        wait: bool = False,
        task_id: str | None = None,
    ) -> FileResult:
        """Store what a file says (text, Markdown, HTML, JSON, CSV; PDF and Word with the extra `files`) as one document whose
        pieces are found. Under the same `document_id` a new edition takes the place of the former one; pieces that are in both
        stay, with what was read from them.

        `reading`: `fine` has the language model read the pieces for facts, names and skills, `fast` only makes them findable;
        by default as the cube or the settings say. `wait=True` returns when the model has read them, and vectors are made.
        `task_id`: a name of your own to ask `tasks` for how far reading is.

        Raises UnknownFileType, UnreadableFile and FileTooLarge, and Unavailable when the package for the type is missing.
        """
        from memos.reading.documents import Kept, read_aside, store_edition

        checked_mode(reading)
        check_name(name, "name")
        for value, what in ((document_id, "document_id"), (task_id, "task_id")):
            if value is not None:
                check_name(value, what)
        labels, more = checked_tags(tags), checked_info(info, "info")
        parts = self._parts()
        await parts.background.check_room(user)
        async with self._cube(user, cube, "write") as (cube_info, store):
            edition = await read_aside(
                data, name, media_type, document_id=document_id, owner=user, tags=labels, info=more
            )
            fine, unread = parts.understanding.is_fine(reading, cube_info)

            def keep(tx: WriteTx) -> Kept:
                kept = store_edition(tx, edition, fine=fine)
                for piece in kept.left:
                    retract_derived(tx, piece)
                return kept

            kept = await store.write(keep, Change(actor=user, cause="add document"))
            notices, pending, task = () if unread is None else (unread,), fine and bool(kept.pieces), None
            if wait:
                try:
                    await (parts.finish(cube_info, store) if pending else parts.background.finish(store))
                    pending = False
                except ModelError as e:
                    notices, pending = (*notices, f"stored, but {left_undone(e)}"), True
            if pending and kept.pieces:
                handed = await (
                    parts.background.added(cube_info, kept.pieces, user, task_id, fine=fine)
                    if len(kept.pieces) <= MANY
                    else parts.background.begin(READ, cube_info, user, task_id)
                )
                task = handed.task
                notices = notices if handed.notice is None else (*notices, handed.notice)
            else:
                parts.background.wake(cube_info, user)
        return FileResult(cube_info.name, kept.memory, kept.new, kept.replaced, notices, pending, task)

    async def update(
        self,
        id: str,
        *,
        text: str | None = None,
        title: str | None = None,
        tags: Sequence[str] | None = None,
        info: Mapping[str, Any] | None = None,
        importance: float | None = None,
        valid_from: When = None,
        valid_to: When = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
        cause: str | None = None,
        if_version: int | None = None,
    ) -> Memory:
        """Change a memory; the former version stays in its history. `info` is merged, None values remove keys. A policy, a
        statement about an environment or a skill whose text is changed is `edited`: agents are told that text, and learning
        does not overwrite it.

        `if_version`: only while the memory has this version. Raises NotFound, Conflict for another version, and
        InvalidInput for a blank text or when nothing is to be changed.
        """
        if text is not None and (not isinstance(text, str) or is_blank(text)):
            raise InvalidInput(f"text is blank or no text ({text!r:.40}); delete the memory instead")
        text = well_formed(text) if text is not None else None
        if title is not None and (not isinstance(title, str) or is_blank(title)):
            raise InvalidInput(f"title is blank or no text ({title!r:.40})")
        more = checked_info(info, "info")
        if importance is not None:
            share(importance, "importance")
        changes: dict[str, Any] = {}
        changes |= {"text": text} if text is not None else {}
        changes |= {"title": well_formed(title)} if title is not None else {}
        changes |= {"tags": checked_tags(tags)} if tags is not None else {}
        changes |= {"importance": importance} if importance is not None else {}
        changes |= {"valid_from": self._time(valid_from)} if valid_from is not None else {}
        changes |= {"valid_to": self._time(valid_to)} if valid_to is not None else {}
        if not changes and info is None:
            raise InvalidInput("nothing to change; give text, title, tags, info, importance, valid_from or valid_to")

        def apply(tx: WriteTx, fine: bool) -> Memory:
            memory = _existing(tx, id, if_version)
            if text is not None and text != memory.text and memory.layer is Layer.TRACE:
                retract_derived(tx, memory)
                if memory.is_read:
                    tx.mark(id, DIGEST)
                if fine and memory.is_read:
                    tx.mark(id, READ)
                memory = with_injected(memory, strip_injected(text)[1])
            merged = {k: v for k, v in {**memory.info, **more}.items() if v is not None}
            changed = replace(memory, info=merged, **changes)
            if text is not None and text != memory.text and memory.kind in _LEARNED:
                guide = {"guide": text, "proposal": ""} if memory.kind is Kind.SKILL else {}
                changed = replace(changed, body={**memory.body, "edited": True, EDITED_THERE: False, **guide})
            if (
                changed.valid_from is not None
                and changed.valid_to is not None
                and changed.valid_to < changed.valid_from
            ):
                raise InvalidInput(f"valid_to ({changed.valid_to}) lies before valid_from ({changed.valid_from})")
            return tx.put(changed, "update")

        async with self._cube(user, cube, "write") as (cube_info, store):
            fine = self._parts().understanding.is_fine(None, cube_info)[0]
            updated = await store.write(lambda tx: apply(tx, fine), Change(actor=user, cause=cause or "update"))
            self._parts().background.wake(cube_info, user, fine=fine)
            return updated

    async def delete(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        filter: Filter | Mapping[str, Any] | None = None,
        session: str | None = None,
        everything: bool = False,
        hard: bool = True,
        dry_run: bool = False,
        vacuum: bool | None = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
        if_version: int | None = None,
    ) -> DeleteResult:
        """Delete by exactly one of `ids`, `filter`, `session` or `everything=True`.

        Hard (the default): the memories, all their versions and what is derived from nothing else are gone from every
        index, and from the pages of the file. `hard=False` retracts: hidden from reads, kept in history, undoable.
        `dry_run` only counts. `if_version`: one id, and only while it has this version. Raises NotFound when an id does
        not exist, Conflict for another version, and InvalidInput for no or several selectors.
        """
        selection = Selection.of(ids, parse_filter(filter), session, everything)
        if if_version is not None and len(selection.ids) != 1:
            raise InvalidInput("if_version is the version of one memory; give one id (nothing was deleted)")

        def check(tx: WriteTx) -> None:
            if if_version is not None:
                _existing(tx, selection.ids[0], if_version)

        def take_back(tx: WriteTx) -> int:
            check(tx)
            return retract(tx, chosen)

        async with self._cube(user, cube, "write") as (cube_info, store):
            chosen = await select(store, selection)
            change = Change(actor=user, cause=f"delete by {selection.how}")
            if dry_run and if_version is not None:
                _expected((await store.get(chosen, View(statuses=ANY_STATUS)))[0], if_version)
            if not chosen or (dry_run and not hard):
                return DeleteResult(cube_info.name, hard, asked=len(chosen), dry_run=dry_run)
            if dry_run:
                return DeleteResult.purged(cube_info.name, len(chosen), await store.plan_purge(chosen), dry_run=True)
            if not hard:
                count = await store.write(take_back, change)
                await self._parts().evolving.again(cube_info, store)
                return DeleteResult(cube_info.name, hard, asked=len(chosen), retracted=count)
            purged = await store.purge(chosen, change, vacuum=vacuum, check=check)
            await self._parts().evolving.again(cube_info, store)
            return DeleteResult.purged(cube_info.name, len(chosen), purged)

    async def undo(self, id: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> list[Memory]:
        """Revert the last change of a memory, and whatever else that change did. Returns the memories as they are
        now.
        """
        async with self._cube(user, cube, "write") as (cube_info, store):
            restored = await store.write(lambda tx: undo(tx, id), Change(actor=user, cause=f"undo {id}"))
            fine = self._parts().understanding.has_model
            self._parts().background.wake(cube_info, user, fine=fine)  # a text that came back may have to be read again
            await self._parts().evolving.again(cube_info, store)
            return restored

    async def retire(self, record: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> int:
        """Take back everything in a cube under the name of a record: hidden from reads, to be had again by `recover`.
        Returns how many memories that were.
        """
        check_name(record, "record")
        async with self._cube(user, cube, "write") as (_, store):
            return await retire(store, record, Change(actor=user, cause=f"retire under {record}"))

    async def recover(self, record: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> int:
        """Bring back exactly what `retire` took back under this record; returns how many memories. Raises NotFound."""
        check_name(record, "record")
        async with self._cube(user, cube, "write") as (cube_info, store):
            count = await recover(store, record, Change(actor=user, cause=f"recover {record}"))
            fine = self._parts().understanding.has_model
            self._parts().background.wake(cube_info, user, fine=fine)  # what was not digested then is digested now
            return count


def _existing(tx: WriteTx, id: str, version: int | None = None) -> Memory:
    memory = tx.get(id)
    if memory is None:
        raise NotFound(f"memory {id} does not exist in this cube")
    return _expected(memory, version)


def _expected(memory: Memory, version: int | None) -> Memory:
    if version is not None and memory.version != version:
        raise Conflict(f"memory {memory.id} is at version {memory.version}, not {version}; read it again and retry")
    return memory
