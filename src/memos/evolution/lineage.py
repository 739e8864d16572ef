"""Where something learned comes from and what came of it: the graph between steps, policies, statements and skills, walked down
along evidence and up against it. Guards law 7 (every answer can be explained).
"""

from __future__ import annotations

import apsw

from memos.errors import NotFound
from memos.memory.acting import Lineage
from memos.memory.model import Edge, EdgeType, Kind, Memory
from memos.storage.ports import ANY_STATUS, View
from memos.storage.sqlite import lived, reads

MOST = 500  # memories of one lineage; the nearest stay
_DOWN = (EdgeType.DERIVED_FROM, EdgeType.USES)
_ANY = View(statuses=ANY_STATUS)
_LEARNED = frozenset({"policy", "world_model", "skill"})


def lineage(db: apsw.Connection, id: str) -> Lineage:
    """The lineage of a memory of this cube, whatever its status. Raises NotFound."""
    root = reads.get(db, [id], _ANY)
    if not root:
        raise NotFound(f"memory {id} does not exist in this cube")
    met: dict[str, Memory] = {id: root[0]}
    depth = {id: 0}
    edges: dict[tuple[str, str, EdgeType], Edge] = {}
    for down in (True, False):
        frontier = [id]
        while frontier and len(met) < MOST:
            links = reads.neighbors(db, frontier, 1, _DOWN, "out" if down else "in", _ANY, MOST)
            ends = {e.dst if down else e.src: e.src if down else e.dst for e in (link.edge for link in links)}
            new = {m.id: m for m in reads.get(db, [i for i in ends if i not in met], _ANY) if _belongs(m, down)}
            within = (link.edge for link in links if {link.edge.src, link.edge.dst} <= {*met, *new})
            edges |= {(e.src, e.dst, e.type): e for e in within}
            for ident, memory in new.items():
                met[ident] = memory
                depth[ident] = depth[ends[ident]] + (-1 if down else 1)
            frontier = [*new]
    of = dict.fromkeys(e for m in met if (e := lived.episode_of_step(db, m)) is not None)
    for memory in met.values():  # edges lead to what the words are from; every episode that teaches it is counted
        if memory.kind is Kind.POLICY and depth[memory.id] <= 0:
            of.update(dict.fromkeys(it.episode for it in lived.lessons_for(db, memory.id) if it.value > 0))
    found = [episode for e in of if (episode := lived.episode(db, e)) is not None]
    ordered = sorted(met.values(), key=lambda m: (-depth[m.id], m.id))
    return Lineage(id, tuple(ordered), tuple(edges.values()), depth, tuple(found))


def _belongs(memory: Memory, down: bool) -> bool:
    """Below stands whatever is evidence; above, of what was derived, only what is learned from episodes."""
    return down or memory.kind.value in _LEARNED
