"""Commands that find: search, explain, neighbors (a tree) and timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memos.cli.options import AsOf, FilterText, KnownAt, MemoryId
from memos.cli.state import parse_filter_option, print_all, state_of
from memos.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from memos.cli.state import State
    from memos.memory.model import Memory
    from memos.sync import MemOS

Query = Annotated[list[str], typer.Argument(metavar="QUERY...", help="A question, or words; quotes are not needed.")]
ReferenceTime = Annotated[
    str | None, typer.Option("--reference-time", help="What 'last week' in the question is relative to (default: now).")
]
Threshold = Annotated[float, typer.Option(help="Lowest score of a hit, 0 to 1.")]
MaxTokens = Annotated[
    int | None, typer.Option("--max-tokens", min=1, help="Budget of the context block; prints that block.")
]
_PAGE = 500


def search(
    ctx: typer.Context,
    query: Query,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="Hits at most (default 10).")] = None,
    max_tokens: MaxTokens = None,
    context: Annotated[
        bool, typer.Option("--context", help="Print the context block for a prompt, not a table.")
    ] = False,
    why: Annotated[bool, typer.Option("--explain", help="Show each feature's share of the score.")] = False,
    kind: Annotated[list[str] | None, typer.Option("--kind", "-k", help="Only this kind; may be repeated.")] = None,
    cubes: Annotated[
        list[str] | None, typer.Option("--in", help="Cube to look in; may be repeated, ranked together.")
    ] = None,
    filter: FilterText = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    reference_time: ReferenceTime = None,
    threshold: Threshold = 0.0,
    superseded: Annotated[bool, typer.Option("--superseded", help="Show what is not true any more, too.")] = False,
) -> None:
    """Find what answers a question. With --max-tokens: print the context block, ready for a prompt."""
    from memos.cli import render
    from memos.memory.hit import SearchStatus

    state = state_of(ctx)
    with state.system() as system:
        result = system.search(
            " ".join(query),
            user=state.user,
            cube=None if cubes else state.cube,
            cubes=cubes or None,
            limit=limit,
            max_tokens=max_tokens,
            filter=parse_filter_option(filter),
            kinds=kind or None,
            as_of=as_of,
            known_at=known_at,
            reference_time=reference_time,
            threshold=threshold,
            include_superseded=superseded,
        )
    if max_tokens is not None or context:
        state.answer(result, lambda out: render.context(out, result))
    else:
        state.answer(result, lambda out: render.search(out, result, why=why))
    if result.status is SearchStatus.FAILED:
        raise typer.Exit(1)


def explain(
    ctx: typer.Context,
    words: Annotated[
        list[str], typer.Argument(metavar="QUERY... ID", help="The question, and the id of a memory (or part of it).")
    ],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Hits of the search.")] = 10,
    filter: FilterText = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    reference_time: ReferenceTime = None,
    threshold: Threshold = 0.0,
) -> None:
    """Why a memory is, or is not, among the hits of a question, and what would bring it in."""
    from memos.cli import render
    from memos.cli.lookup import whole_id

    state = state_of(ctx)
    if len(words) < 2:
        raise InvalidInput("explain takes a question and, last, the id of a memory: memos explain where is the key ID")
    with state.system() as system:
        found = system.explain(
            " ".join(words[:-1]),
            whole_id(system, state, words[-1]),
            limit=limit,
            filter=parse_filter_option(filter),
            as_of=as_of,
            known_at=known_at,
            reference_time=reference_time,
            threshold=threshold,
            **state.where,
        )
    state.answer(found, lambda out: render.explanation(out, found))


def neighbors(
    ctx: typer.Context,
    id: MemoryId,
    depth: Annotated[int, typer.Option("--depth", "-d", min=1, max=10, help="How many hops.")] = 1,
    type: Annotated[
        list[str] | None, typer.Option("--type", "-t", help="Only edges of this type; may be repeated.")
    ] = None,
    direction: Annotated[str, typer.Option(help="out, in or both.")] = "both",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Edges at most.")] = 200,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> None:
    """What a memory is linked to, as a tree."""
    from memos.cli import render
    from memos.cli.lookup import whole_id

    state = state_of(ctx)
    if direction not in ("out", "in", "both"):
        raise InvalidInput(f"--direction is out, in or both, got {direction!r}")
    with state.system() as system:
        id = whole_id(system, state, id)
        root = system.get(id, **state.where)
        links = system.neighbors(
            id,
            depth=depth,
            types=type or None,
            direction=direction,  # type: ignore[arg-type]
            limit=limit,
            as_of=as_of,
            known_at=known_at,
            **state.where,
        )
        others = dict.fromkeys(i for link in links for i in (link.edge.src, link.edge.dst) if i != id)
        nodes = {id: root, **_memories(system, state, list(others))}
    state.answer(links, print_all(render.tree(root, links, nodes)))


def _memories(system: MemOS, state: State, ids: list[str]) -> dict[str, Memory]:
    """The memories of these ids, whatever their status; without what another process deleted meanwhile."""
    out: dict[str, Memory] = {}
    for start in range(0, len(ids), _PAGE):
        some = {"id": {"in": ids[start : start + _PAGE]}}
        page = system.list(filter=some, limit=_PAGE, include_inactive=True, **state.where)
        out |= {memory.id: memory for memory in page.items}
    return {id: out[id] for id in ids if id in out}


def timeline(
    ctx: typer.Context,
    session: Annotated[str | None, typer.Option("--session", "-s", help="A conversation.")] = None,
    entity: Annotated[
        str | None, typer.Option("--entity", "-e", help="Name (or id) of a person, place, thing.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Entries at most; the newest are kept.")] = 200,
) -> None:
    """What happened when: of a conversation, of everything an entity is mentioned in, or of the whole cube."""
    from memos.cli import render

    state = state_of(ctx)
    if session is not None and entity is not None:
        raise InvalidInput("give --session or --entity, not both")
    with state.system() as system:
        found = _mentions(system, state, entity) if entity is not None else _of_session(system, state, session)
    dated = sorted((m for m in found if m.happened_at is not None), key=lambda m: (m.happened_at, m.id))[-limit:]
    state.answer(dated, lambda out: render.timeline(out, dated))


def _of_session(system: MemOS, state: State, session: str | None) -> list[Memory]:
    from memos.cli.lookup import no_session

    where = {"and": [{"layer": {"in": ["trace", "derived"]}}, *([{"session": session}] if session is not None else [])]}
    out: list[Memory] = []
    cursor: str | None = None
    while True:
        page = system.list(filter=where, limit=_PAGE, cursor=cursor, **state.where)
        out += page.items
        cursor = page.cursor
        if cursor is None:
            break
    if not out and session is not None:
        raise no_session(system, state, session)
    return out


def _mentions(system: MemOS, state: State, name: str) -> list[Memory]:
    from memos.cli.lookup import could_be_id
    from memos.memory.ids import is_id

    if is_id(name):
        nodes = [system.get(name, **state.where)]
    else:
        like = system.list(filter={"text": {"like": name}}, kinds=["entity"], limit=_PAGE, **state.where).items
        nodes = [m for m in like if m.text.casefold() == name.casefold()] or list(like)
        if not nodes and could_be_id(name):
            nodes = [system.get(id, **state.where) for id in system.find_ids(name, **state.where)]
    if not nodes:
        raise NotFound(f"no entity named {name!r} in this cube; `memos list --kind entity` shows them")
    mentioning = dict.fromkeys(
        link.edge.src
        for node in nodes
        for link in system.neighbors(node.id, types=["MENTIONS"], direction="in", limit=10_000, **state.where)
    )
    return list(_memories(system, state, list(mentioning)).values())
