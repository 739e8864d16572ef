"""What a million tokens of a model cost, as the setting `llm_prices` says. A price that nobody said is not known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from memos.errors import InvalidInput
from memos.models.llm.port import TokenUsage

HOW = "write model=in/out for a million tokens, with commas between, such as gpt-4o-mini=0.15/0.60,ollama:qwen3=0/0"


@dataclass(frozen=True, slots=True)
class Price:
    """Of a million tokens, in any one currency."""

    input: float
    output: float


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by model, named with its provider (`openai:gpt-4o-mini`) or without."""

    of: Mapping[str, Price] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Prices:
        """The prices of a setting. Raises InvalidInput."""
        found: dict[str, Price] = {}
        for part in text.split(","):
            if not (entry := part.strip()):
                continue
            model, _, numbers = entry.partition("=")
            if not (model := model.strip()) or "=" in numbers or numbers.count("/") != 1:
                raise InvalidInput(f"llm_prices: {entry!r:.80} is no price; {HOW}")
            if model in found:
                raise InvalidInput(f"llm_prices: {model!r:.80} has two prices")
            found[model] = Price(*(_number(number, entry) for number in numbers.split("/")))
        return cls(found)

    def micros(self, model: str, usage: TokenUsage) -> int | None:
        """Millionths of the currency that a call cost; None where no price is known."""
        price = self.of.get(model) or self.of.get(model.partition(":")[2])
        if price is None:
            return None
        return round(usage.input_tokens * price.input + usage.output_tokens * price.output)


def _number(text: str, entry: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and 0 <= value <= 1e6):
        raise InvalidInput(f"llm_prices: {text.strip()!r:.40} in {entry!r:.80} is no price; {HOW}")
    return value
