"""How the use of language models looks in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from memos.cli.render import safe

if TYPE_CHECKING:
    from memos.memory.spending import By, LlmUse

_NUMBERS = ("calls", "failed", "in", "out", "seconds", "cost")


def usage(found: Sequence[LlmUse], sums: Sequence[LlmUse], by: Sequence[By]) -> list[RenderableType]:
    """A table with a line for the total, and what is not known."""
    if not sums:
        return ["no language model was asked"]
    out = Table(box=None, pad_edge=False, header_style="bold")
    for column in by:
        out.add_column(column, overflow="fold")
    for name in _NUMBERS:
        out.add_column(name, justify="right", no_wrap=True)
    for use in found:
        out.add_row(*(Text(safe(getattr(use, name))) for name in by), *_numbers(use))
    whole = sums[0]
    out.add_row(*("total" if n == 0 else "" for n in range(len(by))), *_numbers(whole), style="bold")
    notes: list[RenderableType] = []
    if whole.unpriced:
        notes.append(Text(f"no price is known for {whole.unpriced:,} calls; MEMOS_LLM_PRICES sets prices", style="dim"))
    if whole.estimated:
        notes.append(
            Text(f"the tokens of {whole.estimated:,} calls are estimated: their server told none", style="dim")
        )
    return [out, *notes]


def _numbers(use: LlmUse) -> list[str]:
    cost = "?" if use.cost is None else f"{use.cost:,.4f}{'+' if use.unpriced else ''}"
    return [
        f"{use.calls:,}",
        f"{use.failed:,}" if use.failed else "",
        f"{use.input_tokens:,}",
        f"{use.output_tokens:,}",
        f"{use.seconds:,.1f}",
        cost,
    ]
