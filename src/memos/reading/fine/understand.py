"""A model's answer -> what is kept of it: statements, names and relations by the trace that says them first; and wrong notes.

Everything is held against the messages before it counts; what has no evidence in them is dropped without a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from memos.memory.model import Kind, Memory, Source
from memos.memory.statement import Mention, Reading, Relation, SegmentReading, Statement
from memos.reading.finding import normal
from memos.reading.fine.answer import Named, Read
from memos.reading.fine.facts import statement
from memos.reading.fine.grounding import Ground
from memos.reading.fine.lines import TOOL, Line
from memos.reading.fine.matching import place
from memos.reading.fine.prompt import ReadingOptions
from memos.reading.fine.tools import skill_statements, tool_statements

_LONGEST_NAME = 80
_NAMED, _RESPELLED = 0.9, 0.7
_FEW = 2


@dataclass(slots=True)
class _Found:
    """What is gathered for one trace."""

    statements: list[Statement] = field(default_factory=list)
    mentions: dict[tuple[str, str], Mention] = field(default_factory=dict)
    relations: list[Relation] = field(default_factory=list)


def understood(
    read: Read, ground: Ground, noted: Sequence[Memory], options: ReadingOptions, reader: str
) -> SegmentReading:
    """What is kept of an answer. `noted`: the notes the model was shown, in the order of their numbers."""
    found: dict[str, _Found] = {}
    names = _names(read.names, ground)
    for name, (line, mention) in names.items():
        _of(found, line.trace).mentions[normal(name), mention.type] = mention
    made = [s for fact in read.facts if (s := statement(fact, ground, options)) is not None]
    made += [s for _, s in (*tool_statements(read.runs, ground), *skill_statements(read.skills, ground))]
    for one in _distinct(made):
        assert one.source.memory_id is not None
        here = found.setdefault(one.source.memory_id, _Found())
        here.statements.append(one)
        relation = _relation(one, names)
        if relation is not None:
            here.relations.append(relation)
    return SegmentReading(
        reader=reader,
        readings={
            id: Reading(tuple(f.statements), tuple(f.mentions.values()), relations=tuple(f.relations))
            for id, f in found.items()
        },
        wrong=_wrong(read.wrong, noted) if made else (),  # one of whose own facts none stands is not believed
    )


def _of(found: dict[str, _Found], trace: Memory) -> _Found:
    return found.setdefault(trace.id, _Found())


def _names(given: Iterable[Named], ground: Ground) -> dict[str, tuple[Line, Mention]]:
    """The names that stand in the messages, by the first one that has each, in the spelling found there."""
    out: dict[str, tuple[Line, Mention]] = {}
    lines = [line for line in ground.lines if line.role != TOOL]
    for named in given:
        name = " ".join(named.name.split())
        if not 1 < len(name) <= _LONGEST_NAME:
            continue
        for line in lines:
            span = place(name, line.text, line.folded)
            if span is not None:
                spelled = line.text[slice(*span)]
                sure = _NAMED if spelled == name else _RESPELLED
                out.setdefault(spelled, (line, Mention(spelled, named.type, sure)))
                break
    return out


def _distinct(made: Iterable[Statement]) -> list[Statement]:
    """The statements without repeats: the surest of those that say the same, with the evidence of all."""
    best: dict[tuple[Kind, str, bool], Statement] = {}
    for one in made:
        key = (one.kind, one.key, one.ended)
        known = best.get(key)
        if known is None:
            best[key] = one
            continue
        sure, other = (one, known) if one.confidence > known.confidence else (known, one)
        best[key] = replace(sure, also=tuple(_others(sure, (*sure.also, other.source, *other.also))))
    return list(best.values())


def _others(one: Statement, sources: Iterable[Source]) -> Iterable[Source]:
    seen = {one.source.memory_id}
    for source in sources:
        if source.memory_id not in seen:
            seen.add(source.memory_id)
            yield source


def _relation(one: Statement, names: dict[str, tuple[Line, Mention]]) -> Relation | None:
    """The relation that a statement tells of, where it stands between two names."""
    if one.kind in (Kind.TOOL_SCHEMA, Kind.SKILL, Kind.COMMITMENT) or one.key.rpartition("|")[2].startswith("not "):
        return None
    by_name = {normal(name): mention for name, (_, mention) in names.items()}
    about = str(one.body.get("subject", ""))
    predicate = str(one.body.get("what") or one.body.get("attribute", ""))
    object = by_name.get(normal(one.value))
    subject = by_name.get(normal(about))
    if subject is None and one.source.speaker == about and one.source.role != about:
        subject = Mention(about, "person", _NAMED)
    if subject is None or object is None or subject.name == object.name:
        return None
    return Relation(subject, predicate, object, one.confidence, one.valid_from, one.valid_to)


def _wrong(numbers: Sequence[int], noted: Sequence[Memory]) -> tuple[str, ...]:
    """The notes called wrong; a model that says so of most of them is not believed."""
    wrong = tuple(noted[n - 1].id for n in dict.fromkeys(numbers) if 1 <= n <= len(noted))
    return wrong if len(wrong) <= max(_FEW, len(noted) // 2) else ()
