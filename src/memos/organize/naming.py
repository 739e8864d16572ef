"""Names that were told: "call me Bob" makes Bob another name of whoever speaks, and what is said of Bob from then on is filed
under the one subject (what is known already stays where it is).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from memos.errors import Conflict
from memos.memory.entity import ALIASED, aliases_of
from memos.memory.model import EdgeType, Memory, Origin
from memos.memory.statement import Mention, Statement
from memos.organize.entities import add_alias, merge_entities, named
from memos.organize.reconcile import Outcome, mention
from memos.organize.subjects import SELF
from memos.storage.ports import WriteTx

NAMING = ("name", "nickname", "given_name")  # attributes whose values are names of their subject
# How a relation says that its two ends are one: told so, it is no relation.
SAME = frozenset(
    """also known as|aka|a.k.a.|alias|alias of|has alias|nickname|has nickname|nicknamed|known as|same as|same person as
    |short for|又名|又叫|也叫|别名|昵称|外号|绰号|小名""".replace("\n", "")
    .replace("    ", "")
    .split("|")
)


def learn_names(tx: WriteTx, trace: Memory, statements: Iterable[Statement]) -> None:
    """Make the names that were told of one subject names of one entity; once what the trace mentions is there."""
    if trace.origin is not Origin.USER:
        return
    for s in statements:
        subject, _, attribute = s.slot.rpartition("|")
        if attribute in NAMING and subject and not s.ended and s.valid_to is None:
            _learn(tx, trace, subject, str(s.body.get("subject", subject)))


def _learn(tx: WriteTx, trace: Memory, subject: str, spelled: str) -> None:
    told = [m for a in NAMING for m in tx.find_slot(f"{subject}|{a}") if m.body.get("value")]
    names = [str(m.body["value"]) for m in told]
    nameless = trace.speaker in (None, trace.role)
    me = subject in SELF or (nameless and subject == (trace.owner or "").casefold())
    own = names[0] if me and names else spelled
    if not me and not names:
        return
    primary = named(tx, own)
    id = primary.id if primary is not None else mention(tx, trace, Mention(own, "person"), Outcome())
    evidence = {source.memory_id for m in told for source in m.sources} | {trace.id}
    for name in names:
        also_named(tx, id, name, evidence)
    if me:
        _call_self(tx, id, subject)


def also_named(tx: WriteTx, id: str, name: str, evidence: Iterable[str | None]) -> bool:
    """Give an entity one more name that was told. An entity that has the name already is merged only where nothing but `evidence`
    (ids of records) speaks of it: somebody else may be called so too. Returns whether it has the name now.
    """
    held = named(tx, name)
    if held is not None and held.id == id:
        return True
    try:
        if held is None:
            add_alias(tx, id, name)
            return True
        known = set(evidence)
        if all(e.src in known for e in tx.edges(held.id, "in", (EdgeType.MENTIONS,))) and not aliases_of(held):
            merge_entities(tx, id, held.id)
            return True
    except Conflict:
        return False
    return False


def told_same(tx: WriteTx, trace: Memory, subject: str, other: Mention, predicate: str) -> bool:
    """Whether a relation says that two are one, and they are made so. Only users are believed."""
    if predicate.casefold() not in SAME or trace.origin is not Origin.USER:
        return False
    return also_named(tx, subject, other.name, (trace.id,))


def _call_self(tx: WriteTx, id: str, subject: str) -> None:
    """Note that an entity is who slots call the user. Of one cube only one is: others may tell their names there too."""
    entity = tx.get(id)
    if entity is None or entity.body.get("subject") or not aliases_of(entity):
        return
    if all(not m.body.get("subject") for m in tx.find_slot(ALIASED)):
        tx.put(replace(entity, body={**entity.body, "subject": subject}), "alias")
