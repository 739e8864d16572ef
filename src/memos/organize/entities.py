"""Entities under several names: aliases, and merging two into one so that it can be taken back exactly.

An alias is a key under which the entity is found, and counts as long as the entity lists it: a merge that is undone takes its
aliases along. What was moved is noted in the edges, what was there before beside it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from memos.errors import Conflict, InvalidInput, NotFound
from memos.memory.entity import ALIASED, ENTITY_TYPES, Entity, Merged, Unmerged, alias_key, aliases_of, entity_key
from memos.memory.model import Edge, EdgeType, Kind, Memory, Status
from memos.memory.time import from_micros, to_micros
from memos.storage.ports import RELATION_EVIDENCE, WriteTx

AS = "as"  # in the info of a mention: the name by which a record named an entity, where that is an alias; a list of several
MOVED = "merged"  # in the info of an edge: whose it was (by entity id) before entities were merged, and how it was


def aliased(tx: WriteTx, name: str) -> Memory | None:
    """The entity that lists this name as one of its own; None mostly, which costs one look-up."""
    id = tx.find_key(alias_key(name))
    entity = tx.get(id) if id is not None else None
    return entity if entity is not None and entity.status is Status.ACTIVE and _lists(entity, name) else None


def named(tx: WriteTx, name: str) -> Memory | None:
    """The current entity of this name, own or alias, whatever its type."""
    found = aliased(tx, name)
    if found is not None:
        return found
    for type in ENTITY_TYPES:
        id = tx.find_key(entity_key(type, name))
        entity = tx.get(id) if id is not None else None
        if entity is not None and entity.status is Status.ACTIVE and entity.text.casefold() == name.casefold():
            return entity
    return None


def link_by_name(tx: WriteTx, edge: Edge, entity: Memory, name: str) -> None:
    """Link a record with an entity that it names so; the edge carries the names where one is an alias, also several."""
    there = next((e for e in tx.edges(edge.src, "out", (EdgeType.MENTIONS,)) if e.dst == entity.id), None)
    names = [] if there is None else _said(there) or [entity.text]
    if there is not None and MOVED not in there.info and name.casefold() not in (n.casefold() for n in names):
        tx.unlink(there.src, there.dst, there.type, there.predicate)
        tx.link(replace(there, info=_as_said(there.info, [*names, name], entity)))
    tx.link(replace(edge, info=_as_said(edge.info, [name], entity)))


def _said(edge: Edge) -> list[str]:
    """The names by which a record names an entity; none where it is its own."""
    said = edge.info.get(AS, [])
    return [said] if isinstance(said, str) else [str(n) for n in said]


def _as_said(info: Mapping[str, Any], names: Collection[str], entity: Memory) -> dict[str, Any]:
    rest = {k: v for k, v in info.items() if k != AS}
    if {n.casefold() for n in names} == {entity.text.casefold()}:
        return rest
    return rest | {AS: next(iter(names)) if len(names) == 1 else list(names)}


def add_alias(tx: WriteTx, id: str, name: str) -> Entity:
    """Let an entity be found by one more name. Raises Conflict where the name is another's."""
    entity = _current(tx, id)
    held = named(tx, name)
    if held is not None and held.id == entity.id:
        return Entity.of(entity)
    if held is not None:
        raise Conflict(
            f"{name!r} is the name of another entity ({held.id}); merge the two if they are the same, keeping {entity.id}"
        )
    return Entity.of(_with_names(tx, entity, (name,), "alias"))


def remove_alias(tx: WriteTx, id: str, name: str) -> Entity:
    """Take an alias away. Raises NotFound when it is none, Conflict when it is the name of an entity merged into this one."""
    entity = _current(tx, id)
    left = tuple(a for a in aliases_of(entity) if a.casefold() != name.casefold())
    if len(left) == len(aliases_of(entity)):
        raise NotFound(f"{name!r} is no alias of entity {entity.id}")
    if name.casefold() in _names_of_parts(tx, entity):
        raise Conflict(f"{name!r} is an entity that was merged into {entity.id}; unmerge it instead")
    return Entity.of(tx.put(_listing(entity, left), "alias"))


def _names_of_parts(tx: WriteTx, entity: Memory) -> set[str]:
    """The names of all that was merged into an entity, and into that before."""
    names: set[str] = set()
    for id, name in entity.body.get("parts", {}).items():
        part = tx.get(str(id))
        names |= {str(name).casefold()} | (_names_of_parts(tx, part) if part is not None else set())
    return names


def merge_entities(tx: WriteTx, keep: str, other: str) -> Merged:
    """Make two entities one. The other keeps its node, superseded; its names and edges are the kept one's from here on.

    Raises NotFound, InvalidInput for one and the same, and Conflict for one that is merged already.
    """
    kept, gone = _current(tx, keep), _current(tx, other)
    if kept.id == gone.id:
        raise InvalidInput(f"entity {kept.id} cannot be merged with itself; give two")
    between: list[dict[str, Any]] = []
    edges = tx.edges(gone.id, "both")
    for edge in edges:
        tx.unlink(edge.src, edge.dst, edge.type, edge.predicate)
        moved = _with_end(edge, gone.id, kept.id)
        if moved.src == moved.dst:  # what related the two to one another
            between.append(
                {**_held(edge), "src": edge.src, "dst": edge.dst, "type": edge.type, "predicate": edge.predicate}
            )
        else:
            _give(tx, moved, kept.id, gone.id, edge)
    gives = bool(gone.body.get("subject")) and not kept.body.get("subject")
    note = {"merged_into": kept.id, "between": between, "gave_subject": gives}
    merged = tx.put(replace(gone, status=Status.SUPERSEDED, body={**gone.body, **note}), "merge")
    body = {**kept.body, "parts": {**kept.body.get("parts", {}), gone.id: gone.text}}
    body |= {"subject": gone.body["subject"]} if gives else {}
    kept = _with_names(tx, replace(kept, body=body), (gone.text, *aliases_of(gone)), "merge")
    return Merged(Entity.of(kept), Entity.of(merged), len(edges))


def unmerge(tx: WriteTx, id: str) -> Unmerged:
    """Take a merge back: the entity has again what it had, and the mentions made since that name it.

    Raises NotFound, InvalidInput when it is not merged, and Conflict when what it was merged into was merged itself.
    """
    gone = tx.get(id)
    if gone is None or gone.kind is not Kind.ENTITY:
        raise NotFound(f"entity {id} does not exist in this cube")
    into = gone.body.get("merged_into")
    if not into or gone.status is not Status.SUPERSEDED:
        raise InvalidInput(f"entity {id} ({gone.text}) is not merged into another")
    kept = tx.get(str(into))
    if kept is not None and kept.status is Status.SUPERSEDED and kept.body.get("merged_into"):
        raise Conflict(f"entity {kept.id}, which {id} was merged into, was merged itself since; unmerge that first")
    since = gone.known_from
    body = {k: v for k, v in gone.body.items() if k not in ("merged_into", "between", "gave_subject")}
    entity = tx.put(
        replace(gone, status=Status.ACTIVE, body=body), "unmerge", key=entity_key(str(body.get("type")), gone.text)
    )
    repoint(tx, entity)
    edges = followed = stayed = 0
    own_names = {n.casefold() for n in (gone.text, *aliases_of(gone))}
    for edge in tx.edges(kept.id, "both") if kept is not None else ():
        if gone.id in edge.info.get(MOVED, {}):
            _take_back(tx, edge, str(into), gone.id)
            edges += 1
        elif mine := [n for n in _said(edge) if n.casefold() in own_names]:
            tx.unlink(edge.src, edge.dst, edge.type, edge.predicate)
            rest = [n for n in _said(edge) if n not in mine]
            if rest and kept is not None:  # it names both
                tx.link(replace(edge, info=_as_said(edge.info, rest, kept)))
            tx.link(replace(edge, dst=gone.id, info=_as_said(edge.info, mine, gone)))
            followed += 1
        elif edge.type is EdgeType.MENTIONS and since is not None and edge.known_from is not None:
            stayed += edge.known_from > since
    for held in gone.body.get("between", ()):
        tx.link(_as_held(Edge(held["src"], held["dst"], EdgeType(held["type"]), held["predicate"]), held))
        edges += 1
    if kept is not None:
        kept = _without_part(tx, kept, gone, own_names)
    return Unmerged(Entity.of(entity), None if kept is None else Entity.of(kept), edges, followed, stayed)


def repoint(tx: WriteTx, entity: Memory) -> None:
    """Let an entity be found by its names, after it got some of them back."""
    if entity.kind is Kind.ENTITY and entity.status is Status.ACTIVE:
        for name in (entity.text, *aliases_of(entity)) if aliases_of(entity) else ():
            tx.point(alias_key(name), entity.id)


def _without_part(tx: WriteTx, kept: Memory, gone: Memory, names: Collection[str]) -> Memory:
    parts = {id: name for id, name in kept.body.get("parts", {}).items() if id != gone.id}
    body = {k: v for k, v in kept.body.items() if k != "parts"} | ({"parts": parts} if parts else {})
    if gone.body.get("gave_subject"):
        body.pop("subject", None)
    left = tuple(a for a in aliases_of(kept) if a.casefold() not in names)
    return tx.put(_listing(replace(kept, body=body), left), "unmerge")


def _current(tx: WriteTx, id: str) -> Memory:
    entity = tx.get(id)
    if entity is None or entity.kind is not Kind.ENTITY:
        raise NotFound(f"entity {id} does not exist in this cube")
    if entity.body.get("merged_into") and entity.status is Status.SUPERSEDED:
        raise Conflict(
            f"entity {id} ({entity.text}) is merged into {entity.body['merged_into']}; name that, or unmerge it first"
        )
    if entity.status is not Status.ACTIVE:
        raise Conflict(f"entity {id} ({entity.text}) is {entity.status}; bring it back first")
    return entity


def _with_names(tx: WriteTx, entity: Memory, names: Iterable[str], op: str) -> Memory:
    known = {entity.text.casefold(): entity.text} | {a.casefold(): a for a in aliases_of(entity)}
    for name in names:
        known.setdefault(name.casefold(), name)
    listed = tx.put(_listing(entity, tuple(known.values())[1:]), op)
    for name in known.values():
        tx.point(alias_key(name), entity.id)
    return listed


def _listing(entity: Memory, aliases: tuple[str, ...]) -> Memory:
    body = {k: v for k, v in entity.body.items() if k != "aliases"} | ({"aliases": list(aliases)} if aliases else {})
    return replace(entity, body=body, slot=ALIASED if aliases else None)


def _lists(entity: Memory, name: str) -> bool:
    return name.casefold() in {entity.text.casefold(), *(a.casefold() for a in aliases_of(entity))}


# -- edges -------------------------------------------------------------------------------------------------------------


def _with_end(edge: Edge, was: str, now: str) -> Edge:
    return replace(edge, src=now if edge.src == was else edge.src, dst=now if edge.dst == was else edge.dst)


def _give(tx: WriteTx, moved: Edge, kept: str, gone: str, was: Edge) -> None:
    """Add an edge to the kept entity, which may have the same one already, and note whose it was."""
    own = _same_edge(tx, moved, kept)
    if own is None:
        tx.link(replace(moved, info={**moved.info, MOVED: {gone: _held(was)}}))
        return
    flags = own.info.get(MOVED) or {kept: _held(own)}
    tx.unlink(own.src, own.dst, own.type, own.predicate)
    starts = [t for t in (own.valid_from, moved.valid_from) if t is not None]
    info = {**own.info, MOVED: {**flags, gone: _held(was)}}
    if RELATION_EVIDENCE in own.info or RELATION_EVIDENCE in moved.info:
        info[RELATION_EVIDENCE] = list(dict.fromkeys((*_evidence(own.info), *_evidence(moved.info))))
    tx.link(replace(own, weight=max(own.weight, moved.weight), valid_from=min(starts, default=None), info=info))


def _take_back(tx: WriteTx, edge: Edge, kept: str, gone: str) -> None:
    """Give an edge back to the entity it was of, and leave to the kept one what is its own or another's, or came since."""
    flags = dict(edge.info[MOVED])
    held = flags.pop(gone)
    tx.unlink(edge.src, edge.dst, edge.type, edge.predicate)
    tx.link(_as_held(_with_end(edge, kept, gone), held))
    told = {id for h in (held, *flags.values()) for id in _evidence(h["info"])}
    since = [id for id in _evidence(edge.info) if id not in told]
    if [*flags] == [kept]:
        left = _as_held(edge, flags[kept])
        more = {RELATION_EVIDENCE: [*_evidence(left.info), *since]} if since else {}
        tx.link(replace(left, info={**left.info, **more}))
    elif flags:
        evidence = [
            id for id in _evidence(edge.info) if any(id in _evidence(h["info"]) for h in flags.values()) or id in since
        ]
        more = {RELATION_EVIDENCE: evidence} if evidence else {}
        tx.link(replace(edge, info={**edge.info, **more, MOVED: flags}))
    elif since:
        info = {k: v for k, v in edge.info.items() if k != MOVED} | {RELATION_EVIDENCE: since}
        tx.link(replace(edge, info=info))


def _same_edge(tx: WriteTx, edge: Edge, at: str) -> Edge | None:
    same = (edge.src, edge.dst, edge.type, edge.predicate)
    return next((e for e in tx.edges(at, "both", (edge.type,)) if (e.src, e.dst, e.type, e.predicate) == same), None)


def _held(edge: Edge) -> dict[str, Any]:
    times = (None if t is None else to_micros(t) for t in (edge.valid_from, edge.valid_to))
    return {"weight": edge.weight, "valid": list(times), "info": dict(edge.info)}


def _as_held(edge: Edge, held: Mapping[str, Any]) -> Edge:
    since, until = (None if t is None else from_micros(t) for t in held["valid"])
    return replace(edge, weight=held["weight"], valid_from=since, valid_to=until, info=held["info"])


def _evidence(info: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(info.get(RELATION_EVIDENCE, ()))
