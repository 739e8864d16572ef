"""Measurements as blocks of Markdown, each with the command that made it, printed or put into a page between its marks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from memos.bench.speed import cores

COMMAND = "python -m memos.bench"


def block(table: str, command: str) -> str:
    """A table and the command it comes from."""
    return f"{table}\n\n`{COMMAND} {command}` on {cores()} cores."


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table; numbers with a decimal where they are small."""
    names = [*head]
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    return "\n".join([*lines, *(f"| {' | '.join(map(_cell, row))} |" for row in rows)])


def write_into(page: Path, blocks: Mapping[str, str]) -> None:
    """Fill the `<!-- bench:NAME -->` blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for name, content in blocks.items():
        marked = re.compile(rf"(<!-- bench:{name} -->).*?(<!-- /bench -->)", re.DOTALL)
        text = marked.sub(lambda m, content=content: f"{m[1]}\n{content}\n{m[2]}", text)  # type: ignore[misc]
    page.write_text(text, encoding="utf-8")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
