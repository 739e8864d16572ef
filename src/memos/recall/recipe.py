"""The ranking recipe as data: which features count how much. The engine is one small interpreter of it.

All weights are set by hand and rounded; `docs/evaluation.md` says how they were checked on held-out conversations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

ENOUGH = 0.5  # share of the question's rarity that a best match must hold to count as full


@dataclass(frozen=True, slots=True)
class Recipe:
    """Weights of features that are each in [0, 1] (dense ones may be slightly negative), and limits.

    `lexical` and `session` are measured against the best candidate (or half the question, where that is more),
    `dense` and `dense_window` from the cube's mean cosine to the best. A message without a vector is judged by its
    words instead. `text_pool` and `dense_pool`: candidates looked at with care. `attainable`: the sum that a very
    good answer reaches, by which scores become comparable; a wanted speaker or date adds its weight. `dense_floor`:
    how far towards the best cosine a memory without a shared word nearby must come to be shown at all. `weak`: scores
    below it mean that probably nothing answers.
    """

    weights: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType(
            {
                "lexical": 0.40,
                "session": 0.12,
                "dense": 0.15,
                "dense_window": 0.15,
                "speaker": 0.20,
                "date": 0.40,
                "exact": 0.40,
                "recent": 0.12,
                "question": -0.10,
                "length": 0.15,
                "time_word": 0.06,
                "name": 0.05,
                "name_asked": 0.07,
                "worth": 0.002,
            }
        )
    )
    text_pool: int = 300
    dense_pool: int = 200
    attainable: float = 1.02
    dense_floor: float = 0.35
    weak: float = 0.60

    def first_stage(self) -> dict[str, float]:
        """The weights of the first stage: all that words and vectors are worth goes to words."""
        text = sum(self.weights[n] for n in ("lexical", "session", "dense", "dense_window"))
        return {**self.weights, "text": text}


DEFAULT = Recipe()
