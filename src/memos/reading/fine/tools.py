"""What was seen of tools: how each is called, and what using it taught ("when ..., then ..."). Also skills of documents.

A tool is what was really called under that name: its parameters are those of the calls, never a model's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence

from memos.memory.model import Kind
from memos.memory.statement import Statement
from memos.reading.finding import normal, normal_value
from memos.reading.fine.answer import Run, Skill
from memos.reading.fine.grounding import LONGEST_TEXT, Ground
from memos.reading.fine.lines import DOCUMENT, TOOL, Line
from memos.reading.fine.matching import numbers_in, place, support
from memos.reading.traces import source_of

_STEP = 0.4  # the share of a step's terms that the document must have
_MOST_STEPS, _LONGEST_STEP = 40, 400
_TYPES: Mapping[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def tool_statements(runs: Sequence[Run], ground: Ground) -> Iterator[tuple[Line, Statement]]:
    """The schema of each tool that was used, and the experience of each use, with the message that shows it first."""
    known = _parameters(ground.lines)
    described: set[str] = set()
    for run in runs:
        cited = [line for line in ground.lines if line.number in run.by and (line.role == TOOL or line.calls)]
        name = run.tool.strip()
        shown = [line for line in cited if _shows(line, name)]
        if not shown or name not in known:
            continue
        if name not in described:
            described.add(name)
            yield shown[0], _schema(name, known[name], run, shown[0], ground)
        experience = _experience(name, run, cited, ground)
        if experience is not None:
            yield cited[0], experience


def _parameters(lines: Sequence[Line]) -> dict[str, dict[str, str]]:
    """The tools that were called, each with the names and types of what it was given."""
    known: dict[str, dict[str, str]] = {}
    for line in lines:
        if line.role == TOOL and line.label != TOOL:
            known.setdefault(line.label, {})
        for name, arguments in line.calls:
            given = known.setdefault(name, {})
            try:
                values = json.loads(arguments or "{}")
            except (ValueError, RecursionError):
                continue
            if isinstance(values, dict):
                given |= {str(key)[:80]: _TYPES.get(type(value), "null") for key, value in values.items()}
    return known


def _shows(line: Line, name: str) -> bool:
    return any(called == name for called, _ in line.calls) or (
        line.role == TOOL
        and (line.label == name or not line.message.name or place(name, line.text, line.folded) is not None)
    )


def _schema(name: str, parameters: Mapping[str, str], run: Run, line: Line, ground: Ground) -> Statement:
    use = _told(run.use, ground)
    called = f"{name}({', '.join(parameters)})"
    return Statement(
        kind=Kind.TOOL_SCHEMA,
        text=f"{called}: {use}" if use else called,
        slot=f"tool:{name.casefold()}|schema",
        key=f"tool:{name.casefold()}|schema|{normal_value(', '.join(sorted(parameters)))}",
        value=called,
        single=True,
        confidence=0.9 if use else 0.8,
        source=source_of(line.trace),
        body={"subject": name, "attribute": "schema", "tool": name, "parameters": dict(parameters), "use": use},
        tags=("tool", name),
    )


def _experience(name: str, run: Run, cited: Sequence[Line], ground: Ground) -> Statement | None:
    lesson, tried, error = (_told(words, ground) for words in (run.lesson, run.tried, run.error))
    if not lesson and not tried:
        return None
    said = lesson or (f"{tried} ({error})" if error else tried)
    body = {"subject": name, "attribute": "experience", "tool": name, "ok": run.ok, "trajectory": tried, "error": error}
    return Statement(
        kind=Kind.TOOL_SCHEMA,
        text=said if name in said else f"{name}: {said}",
        slot=f"tool:{name.casefold()}|experience",
        key=f"tool:{name.casefold()}|experience|{'' if run.ok else 'not '}{normal_value(said)}",
        value=said,
        single=False,
        confidence=0.75,
        source=source_of(cited[0].trace),
        also=tuple(source_of(line.trace) for line in cited[1:]),
        body={**body, "lesson": lesson},
        tags=("tool", name),
    )


def _told(words: str, ground: Ground) -> str:
    """A model's words about a tool, where they name nothing that was not seen."""
    words = " ".join(words.split())
    called = "".join(f"{name} {arguments} " for line in ground.lines for name, arguments in line.calls)
    seen = [*(line.text for line in ground.lines), called]
    if not words or len(words) > LONGEST_TEXT or ground.new_names(words):
        return ""
    return words if numbers_in(words) <= set[str]().union({"0", "1"}, *map(numbers_in, seen)) else ""


def skill_statements(skills: Sequence[Skill], ground: Ground) -> Iterator[tuple[Line, Statement]]:
    """The skills that a document explains, as candidates: each with those steps that stand in it."""
    for skill in skills:
        cited = [line for line in ground.lines if line.number in skill.by and line.role == DOCUMENT]
        name = " ".join(skill.name.split())[:120]
        steps = [
            step for step in (" ".join(s.split()) for s in skill.steps[:_MOST_STEPS]) if _stands(step, cited, ground)
        ]
        if not cited or not name or not steps or ground.new_names(name) or support(name, [_terms(cited)]) < _STEP:
            continue
        when = " ".join(skill.when.split())
        when = when if _stands(when, cited, ground) else ""
        listed = "; ".join(f"{n}. {step}" for n, step in enumerate(steps, 1))
        digest = hashlib.blake2b(normal(listed).encode(), digest_size=8).hexdigest()
        made = Statement(
            kind=Kind.SKILL,
            text=f"{name}{f' ({when})' if when else ''}: {listed}",
            slot=f"skill:{normal(name)}|steps",
            key=f"skill:{normal(name)}|steps|{digest}",
            value=name,
            single=True,
            confidence=0.7,
            source=source_of(cited[0].trace),
            also=tuple(source_of(line.trace) for line in cited[1:]),
            body={
                "state": "candidate",
                "subject": name,
                "attribute": "steps",
                "name": name,
                "trigger": when,
                "steps": steps,
            },
            tags=("skill",),
        )
        yield cited[0], made


def _terms(lines: Sequence[Line]) -> frozenset[str]:
    return frozenset[str]().union(*(line.terms for line in lines))


def _stands(words: str, cited: Sequence[Line], ground: Ground) -> bool:
    if not words or not cited or len(words) > _LONGEST_STEP or ground.new_names(words):
        return False
    return support(words, [_terms(cited)]) >= _STEP and numbers_in(words) <= set[str]().union(
        {"0", "1"}, *(numbers_in(line.text) for line in cited)
    )
