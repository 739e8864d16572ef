"""A lineage as trees: down to the steps it rests on, and up to what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text
from rich.tree import Tree

from memos.cli.lookup import short_id
from memos.cli.render import many, safe
from memos.cli.render_learned import summary

if TYPE_CHECKING:
    from memos.memory.acting import Lineage
    from memos.memory.model import Memory

_SHORT = 100


def lineage(found: Lineage) -> list[RenderableType]:
    """The trees, and the episodes that the steps belong to."""
    nodes = {m.id: m for m in found.memories}
    below: dict[str, list[str]] = {}
    above: dict[str, list[str]] = {}
    for edge in found.edges:  # from what was made to what it was made of
        below.setdefault(edge.src, []).append(edge.dst)
        above.setdefault(edge.dst, []).append(edge.src)
    root = nodes[found.root]
    out: list[RenderableType] = [_tree(root, nodes, below, "rests on nothing else")]
    if above.get(root.id):
        out += [Text("what came of it:", style="bold"), _tree(root, nodes, above, "")]
    if found.episodes:
        out.append(Text(f"{many(len(found.episodes), 'episode')}:", style="bold"))
        out += [Text(f"  {short_id(e.id)}  {e.outcome}  {safe(e.goal, _SHORT)}") for e in found.episodes]
    return out


def _tree(root: Memory, nodes: dict[str, Memory], links: dict[str, list[str]], alone: str) -> Tree:
    """The memories that are reached from one, each with its branch once."""
    top = Tree(_label(root))
    met = {root.id}
    waiting = [(root.id, top)]
    while waiting:
        id, branch = waiting.pop(0)
        for other in dict.fromkeys(links.get(id, ())):
            if other not in nodes:
                continue
            label = _label(nodes[other])
            if other in met:
                branch.add(label.append("  (above)", style="dim"))
                continue
            met.add(other)
            waiting.append((other, branch.add(label)))
    if len(met) == 1 and alone:
        top.add(Text(alone, style="dim"))
    return top


def _label(m: Memory) -> Text:
    state = m.body.get("state") if m.kind.value in ("policy", "skill", "world_model") else None
    marks = " ".join(filter(None, (m.kind.value.replace("_", " "), str(state) if state else "", short_id(m.id))))
    return Text(summary(m, _SHORT)).append(f"  {marks}", style="dim")
