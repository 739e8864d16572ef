"""How answers about the installation look in a terminal: cubes, archives, counts, and what the doctor says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from memos.cli.render import pairs, safe, table, when

if TYPE_CHECKING:
    from memos.cli.doctor import Diagnosis
    from memos.cli.doctor_queue import QueueReport
    from memos.cubes.archive import Report
    from memos.results import Stats
    from memos.storage.ports import CubeInfo


def cubes(found: Sequence[CubeInfo]) -> Table | str:
    """A table of cubes."""
    if not found:
        return "no cubes yet"
    rows = [(c.name, c.owner, when(c.created_at), ", ".join(f"{u}: {g}" for u, g in c.grants.items())) for c in found]
    return table(("name", "owner", "created", "shared with"), rows)


def archived(what: str, report: Report, path: Path) -> Table:
    """The report of an export or import."""
    return pairs(
        (
            (what, str(path)),
            ("cube", report.cube),
            ("memories", f"{report.memories} ({report.versions} versions)"),
            ("edges", report.edges),
            ("vectors", report.vectors),
            ("size", size(report.bytes)),
            ("sha256", report.sha256),
        )
    )


def stats(found: Stats) -> Table:
    """Counts of a cube."""
    store = found.store
    return pairs(
        (
            ("cube", found.cube),
            ("memories", f"{store.memories} ({store.versions} versions)"),
            ("kinds", _counts(store.by_kind)),
            ("status", _counts(store.by_status)),
            ("edges", store.edges),
            ("vectors", _counts(store.vectors) or "none"),
            ("embedder", found.embedder or "none"),
            ("waiting", _counts({k: n for k, n in found.waiting.items() if n}) or "nothing"),
            ("disk", f"{size(store.disk_bytes)} ({found.bytes_per_memory:,.0f} bytes per memory)"),
        )
    )


def diagnosis(out: Console, found: Diagnosis) -> None:
    """What the doctor says."""
    lines = [
        ("home", found.home),
        ("embedder", found.embedder),
        ("language model", found.llm),
        ("versions", _counts(found.versions)),
    ]
    out.print(pairs((*lines, ("queue", _queue(found.queue)))) if found.queue is not None else pairs(lines))
    if found.cubes:
        rows = [
            (
                c.name,
                c.owner,
                c.memories,
                c.edges,
                sum(c.vectors.values()),
                _counts(c.waiting),
                size(c.disk_bytes),
                size(c.log_bytes),
                c.schema,
            )
            for c in found.cubes
        ]
        out.print(table(("cube", "owner", "memories", "edges", "vectors", "waiting", "disk", "log", "schema"), rows))
    for model in found.models:
        said = f"answered in {model.seconds:.1f} s" if model.seconds is not None else "did not answer"
        out.print(Text(f"{safe(model.model)} ({', '.join(model.purposes)}): {said}"))
    for note in found.notes:
        out.print(Text(f"note: {safe(note)}"))
    for problem in (*found.problems, *(f"cube {c.name}: {p}" for c in found.cubes for p in c.problems)):
        out.print(Text(f"problem: {safe(problem)}", style="red"))
    out.print("no problems" if found.healthy else Text("there are problems", style="bold red"))


def _queue(found: QueueReport) -> str:
    if not found.reachable:
        return f"{found.home}: cannot be used"
    oldest = f", the oldest for {found.oldest_seconds:.0f} s" if found.waiting else ""
    return (
        f"{found.home}: {found.waiting} waiting{oldest}, {found.in_progress} in progress, "
        f"{sum(found.failed.values())} failed"
    )


def size(count: int) -> str:
    """Bytes for people."""
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def _counts(found: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {count}" for name, count in found.items())
