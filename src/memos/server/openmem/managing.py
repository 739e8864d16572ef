"""get/memory, update/memory and delete/memory: memories by page, by id, changed and deleted."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from memos.errors import InvalidInput, NotFound
from memos.memory.filter import Filter, parse_filter
from memos.memory.model import Kind, Memory, Status
from memos.memory.time import load_zone
from memos.server.caller import WRITE, Caller
from memos.server.openmem import details
from memos.server.openmem.bodies import DeleteBody, GetMemoriesBody, UpdateBody
from memos.server.openmem.codes import MemoryGone, MissingParameter, UserGone
from memos.server.openmem.details import Listed, MemoryDetail
from memos.server.openmem.filters import scoped, users_named
from memos.server.openmem.finding import both, wanted
from memos.server.openmem.subjects import AGENT, homes, subject
from memos.server.translate import FILES, PREFERENCES, SKILLS, TEXTS, TOOLS, kinds_of
from memos.system import AsyncMemOS

_LISTED = TEXTS - FILES  # what a user's list shows as memories
_SKIP = 10_000  # memories read at once on the way to a page far behind


async def list_memories(memos: AsyncMemOS, caller: Caller, body: GetMemoriesBody) -> Listed:
    """One page of a user's memories, newest first, sorted into the cloud's lists."""
    user = subject(caller, body.user_id, body.agent_id)
    where, kinds = scoped(body.filter).user, _kinds(body)
    total = await memos.count(filter=where, kinds=kinds, user=user)
    found = await _page(memos, user, where, kinds, (body.page - 1) * body.size, body.size) if total else []
    zone = load_zone(memos.settings.timezone)
    split = body.include_memory_view is not None and wanted(body.include_memory_view)("profile", "event")
    apart = PREFERENCES | SKILLS | TOOLS | ({Kind.PROFILE, Kind.EVENT} if split else frozenset())

    def of(*wanted_kinds: Kind) -> list[Memory]:
        return [memory for memory in found if memory.kind in wanted_kinds]

    return Listed(
        memory_detail_list=[details.memory_detail(m, zone) for m in found if m.kind not in apart],
        preference_detail_list=[details.preference_detail(m) for m in of(Kind.PREFERENCE)],
        tool_memory_detail_list=[details.tool_detail(m, zone) for m in of(*TOOLS)],
        skill_detail_list=[details.skill_detail(m) for m in of(Kind.SKILL)],
        profile_detail_list=[details.memory_detail(m, zone) for m in of(Kind.PROFILE)] if split else [],
        event_detail_list=[details.memory_detail(m, zone) for m in of(Kind.EVENT)] if split else [],
        total=total,
        size=body.size,
        current=body.page,
        pages=-(-total // body.size),
    )


def _kinds(body: GetMemoriesBody) -> frozenset[Kind]:
    """The kinds a request wants listed."""
    if body.include_memory_view is None:
        preferences = PREFERENCES if body.include_preference else frozenset()
        return _LISTED | SKILLS | preferences | (TOOLS if body.include_tool_memory else frozenset())
    asked = wanted(body.include_memory_view)
    kinds = frozenset(_LISTED if asked("factual", "memory") else ())
    for name, some in (
        ("preference", PREFERENCES),
        ("tool", TOOLS),
        ("skill", SKILLS),
        ("profile", {Kind.PROFILE}),
        ("event", {Kind.EVENT}),
    ):
        kinds |= some if asked(name) else frozenset()
    return kinds or _LISTED


async def _page(
    memos: AsyncMemOS, user: str, where: Filter | None, kinds: Collection[Kind], skip: int, size: int
) -> Sequence[Memory]:
    """`size` memories after the first `skip`."""
    cursor: str | None = None
    while skip:
        passed = await memos.list(filter=where, kinds=kinds, limit=min(skip, _SKIP), cursor=cursor, user=user)
        if passed.cursor is None:
            return ()
        skip, cursor = skip - len(passed.items), passed.cursor
    return (await memos.list(filter=where, kinds=kinds, limit=size, cursor=cursor, user=user)).items


async def one_memory(memos: AsyncMemOS, caller: Caller, id: str) -> MemoryDetail:
    """A memory by its id, whatever its status. Raises NotFound, also when it is not for this caller."""
    home = (await homes(memos, caller, [id])).get(id)
    if home is None:
        raise NotFound(f"memory {id} does not exist")
    return details.memory_detail(
        await memos.get(id, user=home.user, cube=home.cube), load_zone(memos.settings.timezone)
    )


async def update_memory(memos: AsyncMemOS, caller: Caller, body: UpdateBody) -> MemoryDetail:
    """Change text, title or status of a memory; the former version stays in its history."""
    if body.content is None and body.title is None and body.status is None:
        raise MissingParameter("content, title or status is required")
    id = body.memory_id
    home = (await homes(memos, caller, [id], WRITE)).get(id)
    if home is None:
        raise NotFound(f"memory {id} does not exist")
    if body.status is not None and body.status not in ("activated", "deleted"):
        raise InvalidInput(f"status is activated or deleted, got {body.status!r:.40}")
    user, cube = home.user, home.cube
    if body.status == "activated" and (await memos.get(id, user=user, cube=cube)).status is Status.RETRACTED:
        await memos.undo(id, user=user, cube=cube)  # before anything else is changed: it reverts the last change
    if body.content is not None or body.title is not None:
        await memos.update(id, text=body.content, title=body.title, user=user, cube=cube)
    if body.status == "deleted" and (await memos.get(id, user=user, cube=cube)).status is not Status.RETRACTED:
        await memos.delete(id, hard=False, user=user, cube=cube)
    return details.memory_detail(await memos.get(id, user=user, cube=cube), load_zone(memos.settings.timezone))


async def delete_memory(memos: AsyncMemOS, caller: Caller, body: DeleteBody) -> int:
    """Delete for good, by exactly one of ids, user, agent or filter; returns how many memories went."""
    users = list(dict.fromkeys([*([body.user_id] if body.user_id else []), *(body.user_ids or ())]))
    given = [bool(body.memory_ids), bool(users), body.agent_id is not None, body.filter is not None]
    if sum(given) != 1:
        raise InvalidInput("exactly one of memory_ids, user_id, agent_id and filter is required; nothing was deleted")
    only = _of_type(body.memory_type)
    if body.memory_ids:
        return await _delete_ids(memos, caller, list(dict.fromkeys(body.memory_ids)), only)
    if body.filter is not None:
        return await _delete_matching(memos, caller, body, only)
    chosen = [subject(caller, user, None, WRITE) for user in users]
    chosen = chosen or [subject(caller, None, body.agent_id, WRITE)]
    for user in chosen:
        await _must_exist(memos, user)
    return sum([await _delete(memos, user, only) for user in chosen])


async def _delete_ids(memos: AsyncMemOS, caller: Caller, ids: Sequence[str], only: Filter | None) -> int:
    """Delete memories by id: all of them, or none when one does not exist."""
    if only is not None:
        raise InvalidInput("memory_type goes with user_id, agent_id or filter; ids say what they mean themselves")
    found = await homes(memos, caller, ids, WRITE)
    missing = next((id for id in ids if id not in found), None)
    if missing is not None:
        raise MemoryGone(f"memory {missing} does not exist; nothing was deleted")
    deleted = 0
    for home in dict.fromkeys(found.values()):
        mine = [id for id in ids if found[id] == home]
        deleted += (await memos.delete(mine, user=home.user, cube=home.cube)).memories
    return deleted


async def _delete_matching(memos: AsyncMemOS, caller: Caller, body: DeleteBody, only: Filter | None) -> int:
    """Delete what a filter matches, in the memory of the users it names; a filter never reaches everybody's."""
    where = both(scoped(body.filter).user, only)
    if where is None:
        raise InvalidInput("the filter is empty; nothing was deleted. Give user_id to delete all that a user has")
    users, agents = users_named(body.filter or {})
    if users:
        chosen = [subject(caller, user, None, WRITE) for user in users]
    elif agents and caller.any_user:
        chosen = [subject(caller, None, agent, WRITE) for agent in agents]
    elif not caller.any_user:
        chosen = [caller.acting(None, WRITE)]
    else:
        raise MissingParameter('the filter must say whose memories it means: {"and": [{"user_id": "…"}, …]}')
    return sum([await _delete(memos, user, where) for user in chosen])


async def _delete(memos: AsyncMemOS, user: str, where: Filter | None) -> int:
    result = await memos.delete(filter=where, everything=where is None, user=user)
    return result.memories + result.cascaded


async def _must_exist(memos: AsyncMemOS, user: str) -> None:
    if not any(cube.name == user for cube in await memos.list_cubes(user=user)):
        name = f"agent {user.removeprefix(AGENT)!r}" if user.startswith(AGENT) else f"user {user!r}"
        raise UserGone(f"{name} has no memories")


def _of_type(name: str | None) -> Filter | None:
    """The filter of a memory type, by its name in MemOS or that of its list."""
    if name is None:
        return None
    try:
        kinds = kinds_of(_TYPES.get(name, name))
    except KeyError:
        raise InvalidInput(f"memory_type {name!r:.60} is not known; nothing was deleted") from None
    return parse_filter({"kind": {"in": [kind.value for kind in kinds]}})


_TYPES = {
    "memory": "AllSummaryMemory",
    "detail_factual": "AllSummaryMemory",
    "preference": "PreferenceMemory",
    "tool": "ToolTrajectoryMemory",
    "tool_memory": "ToolTrajectoryMemory",
    "skill": "SkillMemory",
}
