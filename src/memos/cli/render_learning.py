"""How episodes, the stream of events and the report of learning look in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from memos.cli.lookup import short_id
from memos.cli.render import many, pairs, safe, table, when
from memos.cli.render_learned import summary

if TYPE_CHECKING:
    from memos.memory.acting import Evolved, LearningReport
    from memos.memory.episode import Episode, EpisodeDetail, Step
    from memos.memory.learned import LearningEvent
    from memos.memory.model import Memory

_SHORT = 80  # characters of a text in a table
_LONG = 400
_STYLE = {"success": "green", "failure": "red", "open": "cyan", "unknown": "dim"}


def episodes(found: Sequence[Episode]) -> RenderableType:
    """A table of episodes."""
    if not found:
        return "no episodes; an agent's turns make them (`memos turn start`)"
    rows = [
        (
            short_id(e.id),
            when(e.opened_at),
            _outcome(e),
            number(e.reward),
            e.turns,
            f"{e.steps} ({e.failed_steps} failed)" if e.failed_steps else e.steps,
            e.session,
            e.agent,
            safe(e.goal, _SHORT),
        )
        for e in found
    ]
    return table(("id", "begun", "outcome", "reward", "turns", "steps", "session", "agent", "goal"), rows)


def episode(found: EpisodeDetail) -> list[RenderableType]:
    """One episode, whole."""
    e = found.episode
    out: list[RenderableType] = [
        Text(safe(e.goal, _LONG), style="bold"),
        pairs(
            (
                ("id", e.id),
                ("session", f"{e.session}, agent {e.agent}"),
                ("environment", e.environment),
                ("of episode", e.parent),
                ("begun", when(e.opened_at)),
                ("ended", f"{when(e.closed_at)} ({e.reason})" if e.closed_at else "not yet"),
                ("outcome", _outcome(e)),
                (
                    "reward",
                    f"{number(e.reward)}, confidence {e.reward_confidence:.2f}" if e.reward is not None else None,
                ),
                ("learned from", when(e.learned_at) or (f"at {when(e.due_at)}" if e.due_at else "when it is over")),
            )
        ),
    ]
    if found.steps:
        rows = [(short_id(s.id), s.turn, s.role.value, _ok(s), number(s.value), _said(s)) for s in found.steps]
        out.append(table(("id", "turn", "who", "ok", "value", "what"), rows))
    if found.signals:
        said = [(s.source.value, s.what, f"{s.score:+.2f}", when(s.at)) for s in found.signals]
        out.append(table(("said by", "what", "score", "when"), said))
    if found.trials:
        tried = [(short_id(t.memory), t.outcome, _followed(t.followed), when(t.handed_at)) for t in found.trials]
        out.append(table(("handed out", "outcome", "followed", "when"), tried))
    return out


def events(found: Sequence[LearningEvent]) -> RenderableType:
    """A table of events."""
    if not found:
        return "nothing was learned yet"
    rows = [
        (e.number, when(e.at), e.what, short_id(e.memory) if e.memory else "", _of(e), _numbers(e.numbers))
        for e in found
    ]
    return table(("number", "when", "what", "memory", "episode", ""), rows)


def event_line(event: LearningEvent, title: str = "") -> Text:
    """An event as a line of a stream. `title`: of its memory."""
    line = Text(f"{event.number}", style="dim").append(f"  {when(event.at)}  ").append(event.what, style="bold")
    memory = f"  {short_id(event.memory)}" if event.memory else ""
    memory += f" ({title})" if memory and title else ""
    of = f"  episode {_of(event)}" if event.episode else ""
    return line.append(f"{memory}{of}  {_numbers(event.numbers)}".rstrip())


def evolved(done: Evolved) -> list[RenderableType]:
    """What a run of learning did."""
    waiting = f"; {many(done.waiting, 'episode')} wait for feedback (--now does not)" if done.waiting else ""
    out: list[RenderableType] = [f"learned from {many(done.learned, 'episode')}, {done.closed} timed out{waiting}"]
    out += [f"  {what}: {count}" for what, count in sorted(done.events.items())]
    out += [Text(f"  note: {safe(reason)}", style="yellow") for reason in done.reasons]
    return out


def report(found: LearningReport) -> list[RenderableType]:
    """What changed."""
    out: list[RenderableType] = [
        Text(f"{safe(found.cube)}: {when(found.since)} to {when(found.until)}", style="bold"),
        Text(found.verdict),
        pairs(
            (
                ("episodes", f"{found.episodes} begun, {found.closed} ended"),
                ("success", _change(found.success_rate, found.success_rate_before, lambda v: f"{v:.0%}")),
                ("steps", _change(found.steps_per_episode, found.steps_per_episode_before, lambda v: f"{v:.1f}")),
                ("trials", ", ".join(f"{count} {name}" for name, count in found.trials.items())),
                ("events", ", ".join(f"{what} {count}" for what, count in found.counts.items())),
            )
        ),
    ]
    for title, memories in (("learned", found.learned), ("promoted", found.promoted), ("retired", found.retired)):
        if memories:
            out += [Text(f"{title}:", style="bold"), *(_line(m) for m in memories)]
    if len(out) == 3 and not found.counts:
        out.append("nothing was learned in this time")
    return out


def number(value: float | None) -> str:
    """A reward or value with its sign; nothing where there is none."""
    return "" if value is None else f"{value:+.2f}"


def _line(m: Memory) -> Text:
    kind = f"{m.kind.value.replace('_', ' ')}: "
    return Text(f"  {short_id(m.id)}  ").append(kind, style="dim").append(summary(m, 110))


def _change(now: float | None, before: float | None, show: Callable[[float], str]) -> str | None:
    if now is None:
        return None
    return show(now) if before is None else f"{show(now)} (the span before: {show(before)})"


def _outcome(e: Episode) -> Text:
    return Text(e.outcome, style=_STYLE.get(e.outcome, ""))


def _ok(step: Step) -> str:
    if step.use is None:
        return ""
    return "failed" if step.use.failed else "yes" if step.use.ok else ""


def _said(step: Step) -> str:
    use = step.use
    if use is None:
        return safe(step.memory.text, 2 * _SHORT)
    came = use.error if use.failed and use.error else use.output
    return safe(f"{use.tool}: {use.input}", _SHORT) + (f"\n→ {safe(came, _SHORT)}" if came else "")


def _followed(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "no"


def _of(event: LearningEvent) -> str:
    return short_id(event.episode) if event.episode else ""


def _numbers(numbers: Mapping[str, object]) -> str:
    return " ".join(f"{name}={round(v, 3) if isinstance(v, float) else safe(v, 40)}" for name, v in numbers.items())
