"""How background tasks look in a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from rich.table import Table

from memos.cli.lookup import short_id
from memos.cli.render import pairs, safe, table, when
from memos.scheduler.cube_tasks import SYSTEM
from memos.storage.tasks import KindStats, Task, TaskState


def tasks(found: Sequence[Task]) -> Table | str:
    """A table of tasks."""
    if not found:
        return "no tasks"
    rows = [
        (
            short_id(t.id),
            t.kind,
            t.state.value,
            _user(t),
            t.cube or "",
            f"{t.attempts}/{t.max_attempts}",
            when(t.enqueued_at),
            t.error or "",
        )
        for t in found
    ]
    return table(("id", "kind", "state", "user", "cube", "attempts", "since", "reason"), rows)


def task(found: Task) -> Table:
    """One task, whole."""
    return pairs(
        (
            ("id", found.id),
            ("kind", found.kind),
            ("state", f"{found.state.value} ({found.progress:.0%})"),
            ("user", _user(found)),
            ("cube", found.cube or "none"),
            ("task id of the caller", found.caller_id or "none"),
            ("attempts", f"{found.attempts} of {found.max_attempts}"),
            ("enqueued", when(found.enqueued_at)),
            ("next attempt", when(found.available_at) if found.state is TaskState.WAITING else "none"),
            ("finished", when(found.finished_at) if found.finished_at else "not yet"),
            ("worker", found.worker or "none"),
            ("reason", safe(found.error or "none")),
            ("payload", json.dumps(dict(found.payload))),
            ("result", json.dumps(dict(found.result))),
        )
    )


def stats(found: Mapping[str, KindStats]) -> Table | str:
    """A line for each kind of work."""
    if not found:
        return "nothing was ever queued"
    rows = [
        (k, s.waiting, s.in_progress, s.failed, _oldest(s), s.per_minute, _latency(s)) for k, s in sorted(found.items())
    ]
    return table(("kind", "waiting", "in progress", "failed", "oldest", "done / minute", "latency p50 / p95"), rows)


def _latency(of: KindStats) -> str:
    return f"{of.latency_p50:.2f} / {of.latency_p95:.2f} s" if of.latency_p95 else "-"  # none was done of late


def _oldest(of: KindStats) -> str:
    return f"{of.oldest_seconds:.0f} s" if of.waiting else "-"


def _user(of: Task) -> str:
    return f"({SYSTEM})" if of.user == SYSTEM else of.user
