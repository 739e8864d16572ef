"""How the upkeep of a cube looks in a terminal: working sets, topics, retention rules, plans and runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from memos.cli.lookup import short_id
from memos.cli.render import many, safe, table, when

if TYPE_CHECKING:
    from memos.memory.upkeep import Reorganized, RetentionPlan, RetentionRule, RetentionRun, Topic, Working

_SHORT = 100  # characters of a text in a table


def working(found: Working) -> list[RenderableType]:
    """A working set."""
    if not found.items:
        return [f"nothing is relevant to session {safe(found.session)}"]
    rows = [
        (short_id(i.memory.id), i.memory.kind.value, f"{i.score:.2f}", i.reason, safe(i.memory.text, _SHORT))
        for i in found
    ]
    return [table(("id", "kind", "score", "by", "text"), rows, f"session {found.session}, {when(found.made_at)}")]


def reorganized(done: Reorganized) -> str:
    """What a reorganization did."""
    said = (
        f"{many(done.topics, 'topic')} of {many(done.memories, 'memory')}: {done.new} new, {done.changed} written anew, "
        f"{done.unchanged} unchanged, {done.retracted} taken back"
    )
    return f"{said} ({done.by_model} by a model)" if done.by_model else said


def topics(found: Sequence[Topic]) -> list[RenderableType]:
    """Topics with their summaries."""
    if not found:
        return ["no topics; `memos reorganize` finds them"]
    out: list[RenderableType] = []
    for topic in found:
        mark = " [outdated: `memos reorganize` writes it anew]" if topic.stale else ""
        head = f"{short_id(topic.memory.id)}  {safe(topic.title)} ({many(len(topic.evidence), 'memory')}){mark}"
        out.append(Text(head, style="dim" if topic.stale else "bold"))
        out += [Text(f"  {safe(sentence.text)}") for sentence in topic.sentences]
    return out


def rules(found: Sequence[RetentionRule]) -> RenderableType:
    """Retention rules."""
    if not found:
        return "no rules: nothing goes by itself"
    return table(("rule", "what goes"), [(place, str(rule)) for place, rule in enumerate(found)])


def plan(found: RetentionPlan) -> list[RenderableType]:
    """What a run would take."""
    rows = [
        (short_id(i.memory.id), i.memory.kind.value, i.rule, _why(i.why, i.rests_on), safe(i.memory.text, _SHORT))
        for i in found
    ]
    out: list[RenderableType] = [table(("id", "kind", "rule", "why", "text"), rows)] if rows else []
    kept = f", {found.kept} kept" if found.kept else ""
    out.append(f"{many(found.total, 'memory')} would go by {many(len(found.rules), 'rule')}{kept}")
    if found.refused is not None:
        out.append(Text(f"but not now: {safe(found.refused)}", style="yellow"))
    return out


def run(done: RetentionRun) -> RenderableType:
    """What a run did."""
    if done.refused is not None:
        return Text(f"nothing was done: {safe(done.refused)}", style="yellow")
    more = "; more is left for the next run" if done.more else ""
    along = f", {done.along} of them with others" if done.along else ""
    return f"{many(done.count, 'memory')} went{along}{more}"


def runs(found: Sequence[RetentionRun]) -> RenderableType:
    """Runs, newest first."""
    if not found:
        return "no runs took anything"
    rows = [(when(r.at), r.actor, r.count, r.along, _outcome(r)) for r in found]
    return table(("when", "who", "memories", "along", "by"), rows)


def _why(why: str, rests_on: str | None) -> str:
    return f"{why} ({short_id(rests_on)})" if rests_on is not None else why


def _outcome(done: RetentionRun) -> str:
    if done.refused is not None:
        return f"refused: {safe(done.refused)}"
    return "; ".join(
        f"{safe(rule)}: {done.removed.get(str(place), 0)}"
        for place, rule in enumerate(done.rules)
        if str(place) in done.removed
    )
