"""How reports of imports and exports look in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memos.cli.render import many, pairs, safe, table

if TYPE_CHECKING:
    from rich.table import Table

    from memos.moving.jsonl_out import Written
    from memos.moving.report import Report


def report(found: Report, into: str | None = None) -> list[Any]:
    """What an import found and did. `into`: whose memory it goes to."""
    held = [
        many(count, what)
        for count, what in (
            (found.messages, "message"),
            (found.notes, "note"),
            (found.turns, "turn"),
            (found.skills, "skill"),
        )
        if count
    ]
    new = f"{found.new:,}"
    if found.dry_run and found.new:
        new += f", stored in about {_lasting(found.seconds)}; to read them for facts and make vectors takes longer"
    rows = pairs(
        (
            ("from", f"{found.title}"),
            ("holds", ", ".join(held) or "nothing that can be taken"),
            ("steps", f"{found.steps:,}" if found.steps else None),
            ("sessions", f"{found.sessions:,}" if found.sessions else None),
            ("dates", f"{found.first[:10]} to {found.last[:10]}" if found.first and found.last else None),
            ("no date", f"{found.undated:,}, which get the time of the import" if found.undated else None),
            ("users there", ", ".join(found.users)),
            ("into", into),
            ("twice in it", f"{found.repeated:,}" if found.repeated else None),
            ("known already", f"{found.known:,}" if found.known else None),
            ("would be new" if found.dry_run else "new", new),
            ("bad rows", f"{found.bad:,}" if found.bad else None),
        )
    )
    bad = [f"  {safe(row.where)}: {safe(row.why)}" for row in found.bad_rows]
    if found.bad > len(found.bad_rows):
        bad.append(f"  and {found.bad - len(found.bad_rows):,} more; --bad FILE writes all")
    left = [f"left out: {one.count:,} {safe(one.what)}: {safe(one.why)}" for one in found.left]
    told = [f"what is of {len(found.users)} users there goes to one here; --of USER takes what is one's"]
    end = ["nothing was stored"] if found.dry_run else []
    return [rows, *bad, *left, *(told if len(found.users) > 1 else []), *end]


def _lasting(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5_400 else f"{seconds / 3_600:.1f} h"


def kinds(known: Sequence[Mapping[str, str]]) -> Table:
    """The kinds of files that can be taken in."""
    return table(("--from", "what"), [(one["name"], one["title"]) for one in known])


def written(done: Written) -> Table:
    """What an export wrote."""
    edges = f"{done.edges:,}" if done.edges else None
    files = f"{done.files:,}" if done.files > 1 else None
    return pairs((("wrote", done.path), ("memories", f"{done.memories:,}"), ("edges", edges), ("files", files)))
