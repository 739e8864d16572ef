"""Prices of models: as they are said, for the model they are said of, and no others."""

from __future__ import annotations

import pytest

from memos.errors import InvalidInput
from memos.models.llm.port import TokenUsage
from memos.models.llm.prices import Prices
from memos.settings import Settings

USED = TokenUsage(1_000, 100)


def test_a_price_is_of_the_model_with_or_without_its_provider() -> None:
    prices = Prices.parse(" gpt-4o-mini = 0.15/0.6, ollama:qwen3:8b=0/0 , meta/llama-3=1 / 2,")
    assert prices.micros("openai:gpt-4o-mini", USED) == 210
    assert prices.micros("gpt-4o-mini", USED) == 210
    assert prices.micros("ollama:qwen3:8b", USED) == 0
    assert prices.micros("vllm:meta/llama-3", USED) == 1_200
    assert prices.micros("openai:gpt-4o", USED) is None
    assert prices.micros("vllm:qwen3:8b", USED) is None
    assert Prices.parse("").micros("openai:gpt-4o", USED) is None


def test_the_price_of_a_provider_stands_above_that_of_any() -> None:
    prices = Prices.parse("m=1/1,azure:m=3/3")
    assert (prices.micros("azure:m", USED), prices.micros("openai:m", USED)) == (3_300, 1_100)


@pytest.mark.parametrize(
    "wrong", ["m", "m=1", "m=1/2/3", "=1/2", "m=a/2", "m=-1/2", "m=nan/1", "m=1/inf", "m=1/2,m=3/4", "m=1/2;n=3/4"]
)
def test_what_is_no_price_is_refused_when_the_settings_are_loaded(wrong: str) -> None:
    with pytest.raises(InvalidInput, match="MEMOS_LLM_PRICES: llm_prices: "):
        Settings.load({"MEMOS_LLM_PRICES": wrong})
