"""Topics: what the memories of a cube are about, each a summary that keeps edges to all of its evidence.

A run keeps topics that are there and whose evidence stands as it did, lets new memories join the nearest, writes anew what
changed, and groups what is left. Summaries are derived: any of them can be thrown away and made again (law 1).
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo

import numpy as np

from memos.errors import ModelError
from memos.logs import get_logger
from memos.memory.filter import Compare, Field, Op
from memos.memory.forgotten import readable
from memos.memory.ids import new_id
from memos.memory.model import TRUST_OF, Edge, EdgeType, Kind, Memory, Origin, Source, Status
from memos.memory.upkeep import SENTENCES, VERSIONS, WRITER, Reorganized, Sentence, Topic, versions_of
from memos.organize import cluster, summary
from memos.organize.summary import Written
from memos.storage.ports import Change, WriteTx
from memos.storage.sqlite.cube import SqliteCube

log = get_logger(__name__)

MEMBERS = (Kind.TRACE, Kind.CHUNK, Kind.FACT, Kind.PROFILE, Kind.PREFERENCE, Kind.COMMITMENT, Kind.EVENT)
FEWEST_TERMS = 3  # content terms below which a text is about nothing
GROWTH = 0.15  # of its size, by which a topic must have grown to be written anew: a model is paid for each time
EMBEDDED = 0.8  # share of memories that must have a vector, or words stand in for all
SPLIT = 1.5  # times the most memories of a topic from which one is grouped anew
AT_ONCE = 8  # summaries written at a time
_ROUNDS = 8  # of joining and grouping what is left
_PAGE = 1_000

Writer = Callable[[Sequence[Memory]], Awaitable[Written | None]]


@dataclass(slots=True)
class _Group:
    """A topic to be: the memories it is about (places in the list of all), and the summary it had."""

    members: list[int]
    was: Memory | None = None


@dataclass(slots=True)
class _Found:
    """The memories of a cube that topics are made of, with their vectors and words."""

    memories: list[Memory]
    vectors: cluster.F32
    terms: list[list[str]]
    place: dict[str, int] = field(default_factory=dict)


async def reorganize(
    store: SqliteCube,
    cube: str,
    change: Change,
    *,
    model: str | None = None,
    writer: Writer | None = None,
    zone: tzinfo = UTC,
) -> Reorganized:
    """Bring the topics of a cube up to date. `model`: whose vectors there are; `writer`: what writes summaries in place of rules,
    which write whenever it fails or has nothing to say. Each topic is a change of its own: a crash in between loses none.
    """
    begun = time.monotonic()
    found = await _gather(store, model)
    standing = [m for m in await _summaries(store) if m.status is Status.ACTIVE]
    plan = await asyncio.to_thread(_grouped, found, standing)
    rare = await asyncio.to_thread(summary.rarity, found.terms)

    async def bring(group: _Group) -> tuple[str, bool]:
        """What became of a group, and whether a model wrote it."""
        members = [readable(found.memories[i]) for i in group.members]
        if group.was is not None and versions_of(group.was) == {m.id: m.version for m in members}:
            return "unchanged", False
        written = await _written(members, writer)
        if written is None:
            written = await asyncio.to_thread(summary.by_rules, members, rare, zone)
        if not written.sentences or not await _put(store, group.was, members, written, change):
            return "nothing", False
        return "new" if group.was is None else "changed", written.by != summary.RULES

    counts: Counter[str] = Counter()
    kept: set[str] = set()
    for at in range(0, len(plan), AT_ONCE):
        some = plan[at : at + AT_ONCE]
        for group, (what, by_model) in zip(some, await asyncio.gather(*map(bring, some)), strict=True):
            counts[what] += 1
            counts["by_model"] += by_model
            if group.was is not None and what != "nothing":
                kept.add(group.was.id)
    for gone in standing:
        if gone.id not in kept and await store.write(lambda tx, gone=gone: _retract(tx, gone), change):  # type: ignore[misc]
            counts["retracted"] += 1
    names = ("new", "changed", "unchanged", "retracted", "by_model")
    told = {name: counts[name] for name in names}
    return Reorganized(cube, len(found.memories), **told, seconds=round(time.monotonic() - begun, 3))


async def topics(store: SqliteCube) -> list[Topic]:
    """The topics of a cube, the largest first."""
    found = [await topic_of(store, m) for m in await _summaries(store) if m.status is Status.ACTIVE]
    return sorted(found, key=lambda t: (-len(t.evidence), t.memory.id))


async def topic_of(store: SqliteCube, memory: Memory) -> Topic:
    """A summary as a topic."""
    written = versions_of(memory)
    now = {m.id: m.version for m in await store.get([*written])}
    told = memory.body.get(SENTENCES)
    listed = told if isinstance(told, list) else []
    said = tuple(
        Sentence(str(s.get("text", "")), tuple(map(str, s.get("evidence", ()))))
        for s in listed
        if isinstance(s, Mapping)
    )
    return Topic(memory, said, tuple(written), stale=now != written)


# -- what there is ---------------------------------------------------------------------------------------------


async def _summaries(store: SqliteCube) -> list[Memory]:
    return await _all(store, (Kind.SUMMARY,))


async def _all(store: SqliteCube, kinds: Sequence[Kind]) -> list[Memory]:
    where = Compare(Field("kind"), Op.IN, tuple(k.value for k in kinds))
    out: list[Memory] = []
    cursor: str | None = None
    while True:
        page = await store.list(where, limit=_PAGE, cursor=cursor, newest_first=False)
        out += page.items
        cursor = page.cursor
        if cursor is None:
            return out


async def _gather(store: SqliteCube, model: str | None) -> _Found:
    """Every memory that says something, oldest first, and its vector."""
    everything = await _all(store, MEMBERS)
    terms = await asyncio.to_thread(lambda: [summary.terms_of(m) for m in everything])
    saying = [i for i, own in enumerate(terms) if len(own) >= FEWEST_TERMS]
    memories, terms = [everything[i] for i in saying], [terms[i] for i in saying]
    place = {m.id: i for i, m in enumerate(memories)}
    if model is not None:
        ids, made = await store.vectors(model)
        at = [(place[id], row) for row, id in enumerate(ids) if id in place]
        if len(at) >= EMBEDDED * len(memories) and at:
            vectors = np.zeros((len(memories), made.shape[1]), np.float32)
            to, of = zip(*at, strict=True)
            vectors[list(to)] = made[list(of)]
            centred: cluster.F32 = await asyncio.to_thread(cluster.centred, vectors)
            return _Found(memories, centred, terms, place)
    by_terms: cluster.F32 = await asyncio.to_thread(cluster.by_terms, terms)
    return _Found(memories, by_terms, terms, place)


# -- which belong together -------------------------------------------------------------------------------------


def _grouped(found: _Found, standing: Sequence[Memory]) -> list[_Group]:
    """The topics there are, less what is gone and with what is new, then those of what is in none."""
    out: list[_Group] = []
    taken: set[int] = set()
    for was in standing:
        members = sorted(found.place[id] for id in versions_of(was) if id in found.place)
        members = [i for i in members if i not in taken]
        if cluster.LEAST <= len(members) <= SPLIT * cluster.MOST:
            out.append(_Group(members, was))
            taken |= set(members)
    for _ in range(_ROUNDS):
        _join(found, out, taken)
        left = np.asarray([i for i in range(len(found.memories)) if i not in taken], np.intp)
        new = [[int(left[i]) for i in rows] for rows in cluster.groups(found.vectors[left])] if len(left) else []
        if not new:
            break
        out += map(_Group, new)
        taken.update(*new)
    return out


def _join(found: _Found, groups: Sequence[_Group], taken: set[int]) -> None:
    """Let memories that are in no topic join the nearest, where enough do."""
    if not groups:
        return
    middles = cluster.unit(np.stack([found.vectors[g.members].mean(axis=0) for g in groups]))
    free = [i for i in range(len(found.memories)) if i not in taken]
    best, cosine = cluster.nearest(found.vectors[free], middles)
    coming: dict[int, list[int]] = {}
    for row, i in enumerate(free):
        if cosine[row] >= cluster.JOINS:
            coming.setdefault(int(best[row]), []).append(i)
    for g, more in coming.items():
        if len(more) >= GROWTH * len(groups[g].members):
            groups[g].members = sorted([*groups[g].members, *more])
            taken |= set(more)


# -- what is written -------------------------------------------------------------------------------------------


async def _written(members: Sequence[Memory], writer: Writer | None) -> Written | None:
    if writer is None:
        return None
    try:
        return await writer(members)
    except ModelError as e:
        log.info("summary_by_rules", error=e.code)
        return None


async def _put(
    store: SqliteCube, was: Memory | None, members: Sequence[Memory], written: Written, change: Change
) -> bool:
    """Store a summary with its edges; False when any of its evidence, or the summary itself, changed meanwhile."""
    versions = {m.id: m.version for m in members}
    body = {
        VERSIONS: versions,
        SENTENCES: [{"text": s.text, "evidence": [*s.evidence]} for s in written.sentences],
        WRITER: written.by,
    }
    made = Memory(
        id=was.id if was is not None else new_id(),
        kind=Kind.SUMMARY,
        text=written.text,
        title=written.title,
        sources=tuple(Source(m.id, m.message_id, m.role, m.speaker, m.happened_at) for m in members),
        valid_from=min((m.happened_at for m in members if m.happened_at is not None), default=None),
        origin=Origin.AGENT,
        trust=min((TRUST_OF[Origin.AGENT], *(m.trust for m in members))),
        owner=members[0].owner if len({m.owner for m in members}) == 1 else None,
        version=was.version if was is not None else 1,
        importance=was.importance if was is not None else 0.5,
        tags=was.tags if was is not None else (),
        info=was.info if was is not None else {},
        body=body,
    )

    def apply(tx: WriteTx) -> bool:
        now = tx.get(made.id)
        if (now is None) != (was is None) or (now is not None and was is not None and now.version != was.version):
            return False
        if any((m := tx.get(id)) is None or m.version != v for id, v in versions.items()):
            return False
        if was is None and any(_is_retold(tx, id) for id in versions):  # another process was first
            return False
        tx.put(made, "summarize")
        for edge in tx.edges(made.id, "out", (EdgeType.DERIVED_FROM,)):
            if edge.dst not in versions:
                tx.unlink(made.id, edge.dst, EdgeType.DERIVED_FROM)
        for id in versions:
            tx.link(Edge(made.id, id, EdgeType.DERIVED_FROM))
        return True

    return await store.write(apply, change)


def _is_retold(tx: WriteTx, id: str) -> bool:
    """Whether a topic is about a memory already."""
    about = (tx.get(e.src) for e in tx.edges(id, "in", (EdgeType.DERIVED_FROM,)))
    return any(m is not None and m.kind is Kind.SUMMARY and m.status is Status.ACTIVE for m in about)


def _retract(tx: WriteTx, gone: Memory) -> bool:
    now = tx.get(gone.id)
    if now is None or now.version != gone.version or now.status is not Status.ACTIVE:
        return False
    tx.put(replace(now, status=Status.RETRACTED, retracted_at=tx.now), "retract")
    return True
