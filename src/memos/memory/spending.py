"""What calls of language models used and cost, by day, user, purpose and model. Pure data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Literal

By = Literal["day", "user", "purpose", "model"]
BY: tuple[By, ...] = ("day", "user", "purpose", "model")


@dataclass(frozen=True, slots=True)
class LlmUse:
    """Calls of language models, summed up. What it is not told apart by is None; days are those of UTC.

    `calls` is all of them, `failed` those without a whole answer (of which only what came of it counts), `estimated` those whose
    tokens were guessed because the server did not say. `cost_micros`: millionths of the unit that prices are given in, of the
    calls with a known price; None when there is none. `unpriced`: calls without one. `seconds`: from question to answer.
    """

    day: date | None = None
    user: str | None = None
    purpose: str | None = None
    model: str | None = None
    calls: int = 0
    failed: int = 0
    estimated: int = 0
    unpriced: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micros: int | None = None
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """In and out."""
        return self.input_tokens + self.output_tokens

    @property
    def cost(self) -> float | None:
        """In the unit that prices are given in; None when no price is known."""
        return None if self.cost_micros is None else self.cost_micros / 1_000_000


def total(uses: Iterable[LlmUse]) -> LlmUse:
    """The sum of all."""
    found = list(uses)
    costs = [use.cost_micros for use in found if use.cost_micros is not None]
    return LlmUse(
        calls=sum(use.calls for use in found),
        failed=sum(use.failed for use in found),
        estimated=sum(use.estimated for use in found),
        unpriced=sum(use.unpriced for use in found),
        input_tokens=sum(use.input_tokens for use in found),
        output_tokens=sum(use.output_tokens for use in found),
        cost_micros=sum(costs) if costs else None,
        seconds=sum(use.seconds for use in found),
    )
