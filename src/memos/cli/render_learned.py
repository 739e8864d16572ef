"""How policies, the world model and skills look in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from memos.cli.lookup import short_id
from memos.cli.render import many, pairs, safe, table
from memos.memory.learned import Policy, Skill, State, WorldStatement

if TYPE_CHECKING:
    from memos.memory.acting import Published, WorldAnswer, WorldPath
    from memos.memory.learned import Action, Record
    from memos.memory.model import Memory

_SHORT = 100  # characters of a text in a table
_QUOTED = 44  # and of a memory on a path
_STYLE = {State.ACTIVE: "green", State.RETIRED: "red", State.PROBATION: "yellow"}


def summary(m: Memory, limit: int) -> str:
    """Something learned, or a step, in one line: a skill by what it is called and does, all else by its text."""
    if m.kind.value == "skill":
        return safe(f"{m.title}: {m.body.get('description') or ''}", limit)
    return safe(m.text, limit)


def left_out(retired: int) -> list[RenderableType]:
    """How many retired ones a list leaves out."""
    return [Text(f"{many(retired, 'retired one')} left out: --all shows them", style="dim")] if retired else []


def published(name: str, done: Published) -> str:
    """What was shared with which cube."""
    return f"{safe(name)} is {'now' if done.new else 'up to date'} in {safe(done.cube)}; its id there: {done.id}"


def taken_back(count: int, cube: str) -> str:
    """That copies in a cube are gone."""
    return f"took {many(count, 'copy')} back from {safe(cube)}"


def policies(found: Sequence[Policy]) -> RenderableType:
    """A table of policies."""
    if not found:
        return "no policies; they are learned from two or more episodes (`memos learning run`)"
    rows = [
        (
            short_id(p.id),
            p.body.form.value,
            _state(p.body.state),
            p.record.support,
            f"{p.record.gain:+.2f}",
            _trials(p.record),
            safe(p.memory.text, _SHORT),
        )
        for p in found
    ]
    return table(("id", "form", "state", "episodes", "gain", "tried", "what"), rows)


def policy(found: Policy) -> RenderableType:
    """One policy, whole."""
    body, record = found.body, found.record
    return pairs(
        (
            ("what", Text(safe(found.memory.text), style="bold")),
            ("id", found.id),
            ("form", body.form.value),
            ("state", Text(_why(body.state, body.why), style=_STYLE.get(body.state, ""))),
            ("when", body.trigger),
            ("error", body.error),
            ("goal", body.goal),
            ("what to do", _procedure(body.procedure)),
            ("parameters", ", ".join(f"{{{p.name}}} from the {p.source}" for p in body.parameters)),
            ("check", body.verification),
            ("not seen to hold", body.boundary),
            ("prefer", body.prefer),
            ("avoid", body.avoid),
            ("scope", f"{body.scope}, strength {body.strength:.2f}" if body.strength else None),
            ("environment", body.environment),
            ("taught by", many(record.support, "episode")),
            ("gain", f"{record.gain:+.2f}"),
            ("reliability", f"{record.reliability:.2f} ({_trials(record)})"),
            ("written by", body.author + (", edited" if body.edited else "")),
        )
    )


def world(found: WorldAnswer, *, most_paths: int = 3) -> list[RenderableType]:
    """Statements and paths, so many at most."""
    out: list[RenderableType] = []
    if found.statements:
        rows = [
            (
                short_id(s.id),
                s.body.section,
                s.body.environment,
                f"{s.body.holds}/{s.body.fails}",
                safe(s.memory.text),
            )
            for s in found.statements
        ]
        out.append(table(("id", "section", "environment", "for/against", "what"), rows))
    out += [_path(path) for path in found.paths[:most_paths]]
    if len(found.paths) > most_paths > 0:
        more = f"{many(len(found.paths) - most_paths, 'more path')}: --paths {len(found.paths)} shows them"
        out.append(Text(more, style="dim"))
    if not out:
        out.append("nothing is known of it" if found.query else "nothing is known of any environment yet")
    return [*out, *(Text(f"note: {safe(reason)}", style="yellow") for reason in found.reasons)]


def statement(found: WorldStatement) -> RenderableType:
    """One statement of the world model."""
    body = found.body
    return pairs(
        (
            ("what", Text(safe(found.memory.text), style="bold")),
            ("id", found.id),
            ("section", body.section),
            ("environment", body.environment or "any"),
            ("about", body.subject),
            ("status", found.memory.status.value),
            ("for", many(body.holds, "episode")),
            ("against", many(body.fails, "episode")),
            ("policies", ", ".join(map(short_id, body.policies))),
            ("written by", body.author + (", edited" if body.edited else "")),
            ("version", found.memory.version),
        )
    )


def skills(found: Sequence[Skill]) -> RenderableType:
    """A table of skills."""
    if not found:
        return "no skills; they are made of policies that proved good"
    rows = [
        (
            s.name,
            short_id(s.id),
            _state(s.body.state),
            f"{s.record.reliability:.2f}",
            _trials(s.record),
            safe(s.body.description, _SHORT),
        )
        for s in found
    ]
    return table(("name", "id", "state", "reliability", "tried", "what it does"), rows)


def skill(found: Skill) -> list[RenderableType]:
    """One skill: its guide, and what is counted of it."""
    from memos.text.guide import render

    body, record = found.body, found.record
    out: list[RenderableType] = [
        Text(safe(render(body))),
        "",
        pairs(
            (
                ("id", found.id),
                ("state", Text(_why(body.state, body.why), style=_STYLE.get(body.state, ""))),
                ("reliability", f"{record.reliability:.2f} ({_trials(record)})"),
                ("taught by", many(record.support, "episode")),
                ("environment", body.environment),
                ("made of", ", ".join(map(short_id, body.policies))),
                ("shared from", body.shared_from),
                ("written by", body.author + (", edited" if body.edited else "")),
                ("version", found.memory.version),
            )
        ),
    ]
    if body.proposal:
        out += [Text("learning proposes:", style="yellow"), Text(safe(body.proposal))]
    return out


def now(done: Policy | Skill | WorldStatement, to: State) -> str:
    """What something is after its state was set by hand."""
    if isinstance(done, Skill):
        name = safe(done.name)
    else:
        name = f"{'policy' if isinstance(done, Policy) else 'statement'} {short_id(done.id)} ({safe(done.memory.text, 60)})"
    return f"{name} is {'on probation' if to is State.PROBATION else to.value} now"


def _path(path: WorldPath) -> Text:
    """One path in one line, with short ids."""
    said = safe(path.text)
    for m in path.memories:
        text = safe(m.text)
        said = said.replace(m.id, short_id(m.id)).replace(text, safe(text, _QUOTED))
    return Text(f"{path.score:.2f}  ", style="dim").append(said)


def _procedure(procedure: Sequence[Action]) -> str:
    return "\n".join(f"{n}. {a.tool + ': ' if a.tool else ''}{a.input}" for n, a in enumerate(procedure, 1))


def _trials(record: Record) -> str:
    if not record.handed:
        return "not tried"
    return f"{record.passes} good, {record.fails} bad of {record.handed}"


def _state(state: State) -> Text:
    return Text(state.value, style=_STYLE.get(state, ""))


def _why(state: State, why: str) -> str:
    return f"{state.value}: {safe(why)}" if why else state.value
