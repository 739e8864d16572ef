"""Deleting: by ids, by file, or by filter, user and session; and a whole cube under a record, with its way back.

What is deleted is gone from every index, with what was derived from nothing else. A delete that names nothing is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from memos.errors import InvalidInput, NotFound
from memos.memory.filter import And, Compare, Field, Filter, Op, Or
from memos.memory.model import Kind
from memos.organize.retire import retired_by
from memos.results import DeleteResult
from memos.server.caller import WRITE, Caller
from memos.server.filters import read_filter
from memos.server.product import access, wording
from memos.server.product.models import DeleteBody, DeleteRecordBody, RecoverBody
from memos.server.product.replies import ok
from memos.server.product.translate import file_ids
from memos.system import AsyncMemOS

PAGE = 1_000


async def delete_memory(core: AsyncMemOS, caller: Caller, body: DeleteBody) -> Response:
    """Delete what is named, in the cubes that are named (ids find their cubes themselves). All access is checked first."""
    session = body.session_id if body.session_id is not None else body.conversation_id
    ways = [body.memory_ids is not None, body.file_ids is not None, body.filter is not None or session is not None]
    if sum(ways) > 1:
        raise InvalidInput(wording.ONE_WAY_TO_DELETE)
    if body.memory_ids == [] or body.file_ids == [] or not (any(ways) or body.user_id is not None):
        raise InvalidInput(wording.NOTHING_TO_DELETE)
    if body.memory_ids is not None:
        return await _by_ids(core, caller, body, body.memory_ids)
    if body.file_ids is not None:
        return await _by_files(core, caller, body, frozenset(body.file_ids))
    where = _selected(body, session)
    done = []
    for cube, user in await _cubes(core, caller, body):
        done.append(await core.delete(filter=where, user=user, cube=cube))
    return _reply(done)


async def delete_record(core: AsyncMemOS, caller: Caller, body: DeleteRecordBody) -> Response:
    """Take a whole cube back under a record id, or, hard, delete for good what was taken back under it."""
    user = await access.acting_on(core, caller, body.user_id, body.mem_cube_id, WRITE)
    await _there(core, user, body.mem_cube_id)
    if body.hard_delete:
        where = retired_by(body.record_id)
        count = (await core.delete(filter=where, user=user, cube=body.mem_cube_id)).memories
    else:
        count = await core.retire(body.record_id, user=user, cube=body.mem_cube_id)
    return ok(wording.CALLED, {"status": "success", "memories": count})


async def recover_record(core: AsyncMemOS, caller: Caller, body: RecoverBody) -> Response:
    """Bring back exactly what was taken back under a record id."""
    user = await access.acting_on(core, caller, body.user_id, body.mem_cube_id, WRITE)
    await _there(core, user, body.mem_cube_id)
    try:
        count = await core.recover(body.delete_record_id, user=user, cube=body.mem_cube_id)
    except NotFound as error:
        return ok(wording.CALLED, {"status": "failure", "memories": 0, "reason": str(error)})
    return ok(wording.CALLED, {"status": "success", "memories": count})


def _selected(body: DeleteBody, session: str | None) -> Filter:
    """Everything the filter, the session and the user name together."""
    named = [read_filter(body.filter)] if body.filter is not None else []
    if session is not None:
        if not session:
            raise InvalidInput("session_id is empty; nothing was deleted")
        named.append(Compare(Field("session"), Op.EQ, session))
    if body.user_id is not None:
        named.append(Compare(Field("owner"), Op.EQ, body.user_id))
    given = tuple(one for one in named if one is not None)
    return given[0] if len(given) == 1 else And(given)


async def _cubes(core: AsyncMemOS, caller: Caller, body: DeleteBody) -> list[tuple[str, str]]:
    """The cubes to delete in, each with the user to act as; those that do not exist yet hold nothing and are left out."""
    if not body.writable_cube_ids and body.user_id is None and caller.any_user:
        raise InvalidInput("say in which cube: writable_cube_ids, or user_id for the user's own; nothing was deleted")
    names = list(dict.fromkeys(body.writable_cube_ids or [caller.acting(body.user_id, WRITE)]))
    out = []
    for name in names:
        user = await access.acting_on(core, caller, body.user_id, name, WRITE)
        if await access.check_write(core, user, name):
            out.append((name, user))
        elif name != user:
            raise NotFound(f"cube {name!r} does not exist; nothing was deleted")
    return out


async def _there(core: AsyncMemOS, user: str, cube: str) -> None:
    if not await access.check_write(core, user, cube):
        raise NotFound(f"cube {cube!r} does not exist")


async def _by_ids(core: AsyncMemOS, caller: Caller, body: DeleteBody, ids: Sequence[str]) -> Response:
    caller.must(WRITE)
    homes = await access.locate(core, caller, body.user_id, ids)
    if body.writable_cube_ids:
        homes = {id: cube for id, cube in homes.items() if cube in body.writable_cube_ids}
    missing = [id for id in dict.fromkeys(ids) if id not in homes]
    users = {cube: await access.acting_on(core, caller, body.user_id, cube, WRITE) for cube in set(homes.values())}
    for cube, user in users.items():
        await access.check_write(core, user, cube)
    done = []
    for cube, user in users.items():
        mine = list(dict.fromkeys(id.lower() for id, home in homes.items() if home == cube))
        done.append(await core.delete(mine, user=user, cube=cube))
    return _reply(done, missing)


async def _by_files(core: AsyncMemOS, caller: Caller, body: DeleteBody, files: frozenset[str]) -> Response:
    """What came from any of these files: records that hold one, or whose `info` names it."""
    named = tuple(sorted(files))
    where = Or(
        (
            Compare(Field("body", ("media",)), Op.EXISTS, True),
            Compare(Field("kind"), Op.EQ, Kind.DOCUMENT.value),
            Compare(Field("info", ("file_id",)), Op.IN, named),
            Compare(Field("info", ("file_ids",)), Op.IN, named),
        )
    )
    done, seen = [], set[str]()
    for cube, user in await _cubes(core, caller, body):
        ids, cursor = list[str](), None
        while True:
            page = await core.list(filter=where, limit=PAGE, cursor=cursor, include_inactive=True, user=user, cube=cube)
            for memory in page.items:
                if there := files.intersection(file_ids(memory)):
                    seen |= there
                    ids.append(memory.id)
            cursor = page.cursor
            if cursor is None:
                break
        if ids:
            done.append(await core.delete(ids, user=user, cube=cube))
    return _reply(done, sorted(files - seen))


def _reply(done: Sequence[DeleteResult], missing: Sequence[str] = ()) -> Response:
    """Success with counts; a failure, as this wire tells one, when none of the things named is there."""
    if missing and not done:
        return ok(wording.NOT_DELETED, {"status": "failure", "deleted": 0, "missing": list(missing)})
    data: dict[str, Any] = {
        "status": "success",
        "deleted": sum(d.memories + d.cascaded for d in done),
        "restored": [id for d in done for id in d.restored],
    }
    return ok(wording.DELETED, data | ({"missing": list(missing)} if missing else {}))
