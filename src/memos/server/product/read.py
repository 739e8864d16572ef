"""Reading without a question: listings in buckets, single memories, whose they are, and the graph for a viewer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from starlette.responses import Response

from memos.errors import NotFound
from memos.memory.filter import Filter
from memos.memory.ids import is_id
from memos.memory.model import Kind, Memory
from memos.results import Graph
from memos.server.caller import READ, Caller
from memos.server.product import access, wording, working
from memos.server.product.evidence import evidence_of, read_ids
from memos.server.product.models import CubeBody, DashboardBody, GetAllBody, IdsBody, ListBody
from memos.server.product.replies import ok
from memos.server.product.translate import asks_for_status, filters_by_cube, node
from memos.server.translate import PREFERENCES, SKILLS, TEXTS, TOOLS, memory_type
from memos.system import AsyncMemOS

PAGE = 1_000
GRAPH_NODES = 200  # of one cube, in the graph for a viewer
SEED_HITS = 20
SEED_DEPTH = 2
SHARES = {"WorkingMemory": 0.2, "LongTermMemory": 0.4, "UserMemory": 0.4}  # of the sample of a large cube


async def get_memory(core: AsyncMemOS, caller: Caller, body: ListBody) -> Response:
    """The memories of a cube by bucket, newest first, each bucket paged alone."""
    user = await access.acting_on(core, caller, body.user_id, body.mem_cube_id)
    return ok(wording.LISTED, await _buckets(core, user, [body.mem_cube_id], body))


async def dashboard(core: AsyncMemOS, caller: Caller, body: DashboardBody) -> Response:
    """The same of one cube or of all that the user may read, with how many there are of each bucket; of one cube, also the
    working set of the session spoken in last.
    """
    if body.mem_cube_id is not None:
        user, cubes = await access.acting_on(core, caller, body.user_id, body.mem_cube_id), [body.mem_cube_id]
    else:
        user = caller.acting(body.user_id, READ)
        cubes = [cube.name for cube in await core.list_cubes(user=user)]
    data = await _buckets(core, user, cubes, body)
    totals = {name: sum(bucket["total_nodes"] for bucket in buckets) for name, buckets in data.items()}
    data["working_mem"] = [await working.bucket(core, user, cube) for cube in cubes] if body.mem_cube_id else []
    totals["working_mem"] = sum(bucket["total_nodes"] for bucket in data["working_mem"])
    return ok(
        wording.LISTED,
        data | {"statistics": {f"total_{name.removesuffix('_mem')}_nodes": total for name, total in totals.items()}},
    )


async def get_one(core: AsyncMemOS, caller: Caller, id: str, user: str | None) -> Response:
    """One memory, whatever its status; null, and a message that says so, where there is none that the caller may read."""
    found = await _read(core, caller, user, [id])
    if not found:
        return ok(wording.NO_MEMORY.format(id=id), None)
    return ok(wording.GOT, found[0])


async def get_by_ids(core: AsyncMemOS, caller: Caller, ids: Sequence[str], user: str | None) -> Response:
    """The memories of these ids that the caller may read, in the order asked; `missing` names the others."""
    found = await _read(core, caller, user, list(dict.fromkeys(ids)))
    there = {memory["id"] for memory in found}
    return ok(
        wording.LISTED, {"memories": found, "missing": [id for id in dict.fromkeys(ids) if id.lower() not in there]}
    )


async def cubes_of(core: AsyncMemOS, caller: Caller, body: IdsBody) -> Response:
    """The cube of each memory, null where there is none that the caller may read."""
    homes = await access.locate(core, caller, None, body.memory_ids)
    return ok(wording.LOOKED_UP, {id: homes.get(id) for id in body.memory_ids})


async def cube_exists(core: AsyncMemOS, caller: Caller, body: CubeBody) -> Response:
    """Whether there is such a cube, as far as the caller may know."""
    anybody = caller.any_user and body.user_id is None
    user = caller.acting(body.user_id, READ)
    exists = await core.owner_of(body.mem_cube_id) is not None
    if exists and not anybody:
        try:
            await core.open_cube(body.mem_cube_id, user=user)
        except NotFound:
            exists = False
    return ok(wording.LOOKED_UP, {body.mem_cube_id: exists})


async def get_all(core: AsyncMemOS, caller: Caller, body: GetAllBody) -> Response:
    """A piece of the graph of each cube, for a viewer: what a question leads to, or a sample of everything."""
    user = caller.acting(body.user_id, READ)
    cubes = list(dict.fromkeys(body.mem_cube_ids or [user]))
    if body.memory_type != "text_mem":  # activations and parameters of models are not kept here
        for cube in cubes:
            await core.count(user=user, cube=cube)  # the caller learns nothing of a cube that is not hers
        return ok(wording.LISTED, [])
    data = []
    for cube in cubes:
        graph = await _sought(core, body, user, cube) if body.search_query else await _sampled(core, user, cube)
        data.append(
            {"cube_id": cube, "memories": [_tree(graph, cube)], "memory_statistics": await _counts(core, user, cube)}
        )
    return ok(wording.LISTED, data)


async def _read(core: AsyncMemOS, caller: Caller, user: str | None, ids: Sequence[str]) -> list[dict[str, Any]]:
    homes = await access.locate(core, caller, user, [id for id in ids if is_id(id)])
    found: dict[str, dict[str, Any]] = {}
    for cube in dict.fromkeys(homes.values()):
        who = await access.acting_on(core, caller, user, cube)
        memories = await read_ids(core, who, cube, [id.lower() for id, home in homes.items() if home == cube])
        evidence = await evidence_of(core, who, [(cube, memory) for memory in memories])
        found |= {memory.id: node(memory, cube, evidence=evidence) for memory in memories}
    return [found[id] for id in dict.fromkeys(id.lower() for id in ids) if id in found]


async def _buckets(
    core: AsyncMemOS, user: str, cubes: Sequence[str], body: ListBody
) -> dict[str, list[dict[str, Any]]]:
    filters = filters_by_cube(body.filter, cubes)
    asked = {
        "text_mem": TEXTS,
        **({"pref_mem": PREFERENCES} if body.include_preference else {}),
        **({"tool_mem": TOOLS} if body.include_tool_memory else {}),
        **({"skill_mem": SKILLS} if body.include_skill_memory else {}),
    }
    return {
        name: [await _bucket(core, user, cube, filters[cube], kinds, body) for cube in cubes]
        for name, kinds in asked.items()
    }


async def _bucket(
    core: AsyncMemOS, user: str, cube: str, where: Filter | None, kinds: Collection[Kind], body: ListBody
) -> dict[str, Any]:
    inactive = asks_for_status(body.filter)
    total = await core.count(filter=where, kinds=kinds, include_inactive=inactive, user=user, cube=cube)
    memories = await _page(core, user, cube, where, kinds, body, inactive) if total else []
    evidence = await evidence_of(core, user, [(cube, memory) for memory in memories])
    return {"cube_id": cube, "memories": [node(m, cube, evidence=evidence) for m in memories], "total_nodes": total}


async def _page(
    core: AsyncMemOS,
    user: str,
    cube: str,
    where: Filter | None,
    kinds: Collection[Kind],
    body: ListBody,
    inactive: bool,
) -> list[Memory]:
    """One page by number, or everything where no page size is given. (Our pages go on by cursor; the wire counts.)"""
    first = (body.page - 1) * body.page_size if body.page_size is not None and body.page is not None else 0
    last = first + body.page_size if body.page_size is not None else None
    at, out = 0, list[Memory]()
    cursor: str | None = None
    while last is None or at < last:
        size = PAGE if last is None else min(PAGE, last - at)
        page = await core.list(
            filter=where, kinds=kinds, limit=size, cursor=cursor, include_inactive=inactive, user=user, cube=cube
        )
        out += page.items[max(0, first - at) :]
        at += size
        cursor = page.cursor
        if cursor is None:
            break
    return out


async def _sought(core: AsyncMemOS, body: GetAllBody, user: str, cube: str) -> Graph:
    """What the question leads to, and what lies around that."""
    result = await core.search(body.search_query or "", limit=SEED_HITS, user=user, cubes=[cube])
    graph = (
        await core.graph([hit.id for hit in result.hits], depth=SEED_DEPTH, user=user, cube=cube)
        if result.hits
        else None
    )
    return _cut(graph.memories, graph) if graph is not None else Graph((), ())


async def _sampled(core: AsyncMemOS, user: str, cube: str) -> Graph:
    """Up to 200 memories, the newest of each type in fixed shares, and the edges between them."""
    page = await core.list(kinds=frozenset(Kind), limit=10 * GRAPH_NODES, user=user, cube=cube)
    chosen = list(page.items) if len(page.items) <= GRAPH_NODES else _by_shares(page.items)
    if not chosen:
        return Graph((), ())
    return _cut(chosen, await core.graph([m.id for m in chosen], user=user, cube=cube))


def _by_shares(memories: Sequence[Memory]) -> list[Memory]:
    """The first of each type up to its share; what a type does not use goes to the others, in their order."""
    room = {name: int(GRAPH_NODES * share) for name, share in SHARES.items()}
    taken: Counter[str] = Counter()
    chosen: list[Memory] = []
    for memory in memories:
        name = memory_type(memory.kind)
        if taken[name] < room.get(name, 0):
            taken[name] += 1
            chosen.append(memory)
    there = {m.id for m in chosen}
    rest = [m for m in memories if m.id not in there]
    return [*chosen, *rest[: GRAPH_NODES - len(chosen)]]


def _cut(memories: Iterable[Memory], graph: Graph) -> Graph:
    """At most 200 nodes, and the edges whose both ends are among them."""
    kept = tuple(memories)[:GRAPH_NODES]
    there = {m.id for m in kept}
    return Graph(kept, tuple(e for e in graph.edges if e.src in there and e.dst in there))


def _tree(graph: Graph, cube: str) -> dict[str, Any]:
    """The graph as nodes and edges, and as a tree of types for viewers that draw one."""
    by_type: dict[str, list[Memory]] = {}
    for memory in graph.memories:
        by_type.setdefault(memory_type(memory.kind), []).append(memory)
    return {
        "nodes": [node(memory, cube) for memory in graph.memories],
        "edges": [
            {"source": e.src, "target": e.dst, "type": e.type.value, "predicate": e.predicate, "weight": e.weight}
            for e in graph.edges
        ],
        "tree_structure": _branch(
            "root",
            "root",
            "Root",
            [_branch(name, name, name, list(map(_leaf, some))) for name, some in by_type.items()],
        ),
    }


def _branch(id: str, name: str, type: str, children: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": id, "node_name": name, "value": name, "memory_type": type, "children": children}


def _leaf(memory: Memory) -> dict[str, Any]:
    return {
        "id": memory.id,
        "node_name": memory.title or memory.text[:60],
        "value": memory.text,
        "memory_type": memory_type(memory.kind),
    }


async def _counts(core: AsyncMemOS, user: str, cube: str) -> Mapping[str, int]:
    """How many active memories there are of each type."""
    counts: Counter[str] = Counter()
    for kind in Kind:
        counts[memory_type(kind)] += await core.count(kinds=[kind], user=user, cube=cube)
    return dict(counts)
