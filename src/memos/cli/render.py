"""How answers look in a terminal. What is stored is shown, never obeyed: control characters of a memory do not reach
the screen.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from memos.cli.lookup import short_id
from memos.cli.wording import in_cli_words

if TYPE_CHECKING:
    from memos.cli.memories import Listing
    from memos.memory.hit import Explanation, Hit, SearchResult
    from memos.memory.model import Memory, Version
    from memos.memory.profile import Profile
    from memos.results import AddResult, DeleteResult
    from memos.storage.ports import Link

_SHORT = 100
_WHOLE = ("id", "score")  # columns whose cells are never broken
_GONE = {"superseded": "yellow", "retracted": "red", "quarantined": "red", "archived": "dim"}


def safe(text: object, limit: int | None = None) -> str:
    """A stored text without control, format and bidi characters; tabs and line ends stay. Cut to `limit` characters."""
    value = str(text)
    if limit is not None:
        value = " ".join(value.split())
        value = value if len(value) <= limit else value[: limit - 1] + "…"
    return "".join(
        c if c in "\n\t\u200d" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") else "\ufffd" for c in value
    )


def when(value: datetime | None) -> str:
    """A time to the minute, in UTC."""
    return "" if value is None else f"{value:%Y-%m-%d %H:%M}"


def many(count: int, noun: str) -> str:
    """A number of things: 1 memory, 2 memories."""
    if count != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun}"


def table(names: Iterable[str], rows: Iterable[Sequence[object]], title: str | None = None) -> Table:
    """A plain table."""
    out = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name in names:
        out.add_column(name, overflow="fold", no_wrap=name in _WHOLE)
    for row in rows:
        out.add_row(*(cell if isinstance(cell, Text) else Text(safe(cell)) for cell in row))
    return out


def pairs(rows: Iterable[tuple[str, object]]) -> Table:
    """Names and values, one pair a line; those without a value are left out."""
    out = Table(box=None, show_header=False, pad_edge=False)
    out.add_column(style="bold")
    out.add_column(overflow="fold")
    for name, value in rows:
        if value is not None and value != "" and value != ():
            out.add_row(name, value if isinstance(value, Text) else Text(safe(value)))
    return out


# -- memories --------------------------------------------------------------------------------------------------


def added(out: Console, result: AddResult, *, later: bool) -> None:
    """What an add stored. `later`: nobody asked for facts and vectors to be made at once."""
    new = sum(r.new for r in result.records)
    known = len(result) - new
    out.print(f"stored {new} in cube {safe(result.cube)}" + (f", {known} known already" if known else ""))
    for record in result.records[:20]:
        out.print(Text(f"  {record.id}  {safe(record.text, _SHORT)}"))
    if len(result) > 20:
        out.print(f"  … and {len(result) - 20} more")
    for notice in result.notices:
        out.print(Text(f"  note: {safe(notice)}", style="yellow"), soft_wrap=True)
    if later:
        out.print("facts and vectors are made later: `memos flush` does it now")


def memory(m: Memory) -> RenderableType:
    """Everything known of a memory."""
    told = "; ".join(f"{s.memory_id or s.message_id or s.uri or ''} {when(s.time)}".strip() for s in m.sources)
    return Group(
        Text(safe(m.text)),
        pairs(
            (
                ("id", m.id),
                ("kind", f"{m.kind} ({m.layer})"),
                ("title", m.title),
                ("status", Text(m.status, style=_GONE.get(m.status, ""))),
                ("happened", when(m.happened_at)),
                ("true", _span(m.valid_from, m.valid_to)),
                ("recorded", when(m.recorded_at)),
                ("retracted", when(m.retracted_at)),
                ("version", m.version),
                ("speaker", m.speaker),
                ("role", m.role),
                ("session", m.session),
                ("owner", m.owner),
                ("origin", f"{m.origin}, trust {m.trust:.2f}"),
                ("confidence", f"{m.confidence:.2f}"),
                ("importance", f"{m.importance:.2f}"),
                ("seen", m.seen),
                ("slot", m.slot),
                ("tags", ", ".join(m.tags)),
                ("info", dict(m.info) or None),
                ("body", dict(m.body) or None),
                ("evidence", told),
            )
        ),
    )


def memories(found: Iterable[Memory], title: str | None = None) -> Table:
    """A table of memories."""
    rows = [
        (short_id(m.id), when(m.happened_at), m.kind, m.speaker or "", _with_status(safe(m.text, _SHORT), m.status))
        for m in found
    ]
    return table(("id", "when", "kind", "speaker", "text"), rows, title)


def page(out: Console, found: Listing, *, most: int) -> None:
    """One page of a listing, and how many entities (counted up to `most`) it leaves out."""
    out.print(memories(found.items) if found.items else "no memories")
    if found.left_out:
        count = f"{many(found.left_out, 'entity')}{' or more' if found.left_out == most else ''}"
        out.print(Text(f"{count} left out: --kind entity shows them, --all everything", style="dim"))
    if found.cursor is not None:
        out.print(f"more: --cursor {found.cursor}")


def undone(out: Console, now: Sequence[Memory], versions: Sequence[Version]) -> None:
    """What an undo reverted: the memories as they are now, and which version of the asked one that is. `versions`: all of it."""
    last, before = versions[-1].memory, versions[:-1]
    if before:
        gone = before[-1]
        out.print(
            Text(
                f"undid: {gone.op} of {when(gone.at)}"
                + (f" ({safe(gone.cause)})" if gone.cause and gone.op not in (gone.cause, "undo") else "")
            )
        )
    same = next((v.memory.version for v in reversed(before[:-1]) if _same(v.memory, last)), None)
    out.print(memories(now, "as they are now" + (f" (as in version {same})" if same is not None else "")))
    out.print(Text(f"`memos undo {short_id(last.id)}` again brings the change back", style="dim"))


def _same(a: Memory, b: Memory) -> bool:
    """Whether two versions say the same."""
    return all(
        getattr(a, name) == getattr(b, name)
        for name in ("text", "status", "tags", "info", "importance", "valid_from", "valid_to")
    )


def history(versions: Sequence[Version]) -> Table:
    """The versions of a memory."""
    rows = [
        (
            v.memory.version,
            when(v.at),
            v.op,
            v.actor,
            v.cause or "",
            _with_status(safe(v.memory.text, _SHORT), v.memory.status),
        )
        for v in versions
    ]
    return table(("version", "when", "how", "who", "why", "text"), rows)


def deleted(out: Console, done: DeleteResult) -> None:
    """What a delete did."""
    if done.dry_run:
        out.print(f"{many(done.asked, 'memory')} would be deleted (with what is derived from nothing else)")
    elif not done.hard:
        out.print(f"{many(done.retracted, 'memory')} retracted; `memos undo ID` brings one back")
    else:
        out.print(
            f"deleted {many(done.memories, 'memory')} and {done.cascaded} derived from nothing else: "
            + ", ".join(many(getattr(done, f"{n}s"), n) for n in ("version", "edge", "vector", "term"))
        )
        if done.restored:
            out.print(f"true again: {', '.join(map(short_id, done.restored))}")
        if done.asked and not done.erased_from_disk:
            out.print(
                Text("free pages of the file may still hold it: `memos doctor --vacuum` clears them", style="yellow")
            )


# -- finding ---------------------------------------------------------------------------------------------------


def search(out: Console, result: SearchResult, *, why: bool) -> None:
    """Hits as a table, and what there is to say about them."""
    if result.hits:
        several = len({h.cube for h in result.hits}) > 1
        names = ("score", "id", "when", *(("cube",) if several else ()), "speaker", "text", *(("why",) if why else ()))
        rows = []
        for hit in result.hits:
            row: list[object] = [
                f"{hit.score:.2f}",
                short_id(hit.id),
                when(hit.memory.happened_at),
                hit.memory.speaker or hit.memory.kind,
            ]
            if several:
                row.insert(3, hit.cube)
            rows.append([*row, _told(hit), *([_why(hit)] if why else [])])
        out.print(table(names, rows))
    else:
        out.print(f"{result.status}: {safe(in_cli_words('; '.join(result.reasons))) or 'no memory matches'}")
    summary = f"{many(len(result), 'hit')} by {', '.join(result.served_by) or 'nothing'}"
    if result.history_tokens:
        saved = 1 - result.tokens / result.history_tokens
        summary += f"; context {result.tokens} tokens, the whole history {result.history_tokens}"
        summary += f" ({saved:.0%} saved)" if saved >= 0.005 else ""
    out.print(Text(summary, style="dim"))
    if result.hits:
        for reason in result.reasons:
            out.print(Text(f"note: {safe(in_cli_words(reason))}", style="yellow"))


def context(out: Console, result: SearchResult) -> None:
    """The context block alone, unwrapped, so that it can go into a prompt."""
    out.print(Text(safe(result.context)), soft_wrap=True)


def profile(out: Console, found: Profile) -> None:
    """The text of a profile, unwrapped, so that it can go into a prompt."""
    out.print(Text(safe(found.text) or "nothing is known"), soft_wrap=True)


def explanation(out: Console, e: Explanation) -> None:
    """Stages, features and the verdict."""
    if e.found:
        out.print(f"found: rank {e.rank}, score {e.score or 0:.3f}")
    else:
        out.print(
            f"not found: removed by {e.removed_by or 'nothing'}"
            + (f", score {e.score:.3f}" if e.score is not None else "")
        )
    rows = [
        (s.name, "" if s.value is None else f"{s.value:.4f}", s.rank or "", "yes" if s.passed else "no", s.note)
        for s in e.stages
    ]
    out.print(table(("stage", "value", "rank", "passed", "note"), rows))
    if e.features:
        adds = {name: f"{share:+.4f}" for name, share in e.shares.items()}
        out.print(
            table(("feature", "value", "adds"), [(k, f"{v:.4f}", adds.get(k, "")) for k, v in e.features.items()])
        )
    for hint in e.would_help:
        out.print(Text(f"would help: {safe(in_cli_words(hint))}"))


def tree(root: Memory, links: Sequence[Link], nodes: Mapping[str, Memory]) -> Tree:
    """Links as a tree: each edge once, under the end that is nearer to the root."""
    out = Tree(_node(root))
    branches = {root.id: out}
    for link in links:  # nearest first, so the nearer end has its branch already
        e = link.edge
        outward = e.src in branches
        here, other = (e.src, e.dst) if outward else (e.dst, e.src)
        name = f"{e.type}({safe(e.predicate)})" if e.predicate else str(e.type)
        label = Text(f"─{name}→ " if outward else f"←{name}─ ", style="cyan")
        far = nodes.get(other)
        label.append_text(_node(far) if far is not None else Text(short_id(other)))
        branch = branches[here].add(label)
        branches.setdefault(other, branch)
    if not links:
        out.add(Text("no neighbours", style="dim"))
    return out


def timeline(out: Console, found: Sequence[Memory]) -> None:
    """Memories by day, oldest first."""
    if not found:
        out.print("nothing happened yet")
    for day, of_day in groupby(found, key=lambda m: f"{m.happened_at:%a %Y-%m-%d}"):
        out.print(Text(day, style="bold"))
        for m in of_day:
            mark = "│" if m.layer == "trace" else "◆"
            who = f"{safe(m.speaker)}: " if m.speaker else ""
            line = Text("  ").append(short_id(m.id), style="dim").append(f"  {m.happened_at:%H:%M} {mark} ")
            line.append(who, style="cyan")
            line.append_text(_with_status(safe(m.text, 4 * _SHORT), m.status))
            out.print(line)


def _told(hit: Hit) -> Text:
    """A hit's text with its facts and marks."""
    out = Text(safe(hit.text, 4 * _SHORT))
    if hit.stale:
        out.append("  [stale]", style="yellow")
    elif hit.memory.status != "active":
        out.append(f"  [{hit.memory.status}]", style=_GONE.get(hit.memory.status, ""))
    for fact in hit.facts:
        out.append(f"\n→ {safe(fact.text, _SHORT)}", style="green")
    for against in hit.contradicts:
        out.append(f"\n≠ {safe(against.text, _SHORT)}", style="yellow")
    if hit.also:
        out.append(f"\n(told {'once more' if len(hit.also) == 1 else f'{len(hit.also)} more times'})", style="dim")
    return out


def _why(hit: Hit) -> str:
    shares = sorted(hit.why.items(), key=lambda kv: -abs(kv[1]))
    return "\n".join(f"{name} {share:+.3f}" for name, share in shares if abs(share) >= 0.0005)


def _node(m: Memory) -> Text:
    out = Text(safe(m.text, _SHORT))
    out.append(f"  {m.kind} {short_id(m.id)}", style="dim")
    return out


def _with_status(text: str, status: str) -> Text:
    out = Text(text)
    if status != "active":
        out.append(f"  [{status}]", style=_GONE.get(status, ""))
    return out


def _span(start: datetime | None, end: datetime | None) -> str:
    if start is None and end is None:
        return ""
    return f"{when(start) or '…'} – {when(end) or 'now'}"
