"""The ranking recipe as data: which features count how much. The engine is one small interpreter of it.

All weights are set by hand and rounded; `docs/evaluation.md` says how they were checked on held-out conversations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Recipe:
    """Weights of features that are each in [0, 1] (dense ones may be slightly negative), and limits.

    `lexical` and `session` are scaled by the best candidate of the question, `dense` and `dense_window` by the distance between
    the cube's mean and its best cosine. `pool`: candidates looked at with care. `dense_share_needed`: below this share of
    embedded texts the dense channel is left out, since it would favour whatever happens to be embedded. `dense_floor`: how far
    towards the best cosine a memory without a shared word must come to be shown at all.
    """

    weights: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType(
            {
                "lexical": 0.40,
                "session": 0.12,
                "dense": 0.10,
                "dense_window": 0.15,
                "speaker": 0.20,
                "date": 0.40,
                "question": -0.10,
                "length": 0.15,
                "time_word": 0.06,
                "name": 0.05,
                "name_asked": 0.07,
            }
        )
    )
    first_stage: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType(
            {"lexical": 0.52, "dense": 0.10, "dense_window": 0.15, "speaker": 0.20, "date": 0.40}
        )
    )
    pool: int = 400
    dense_share_needed: float = 0.9
    derived_discount: float = 0.95
    dense_floor: float = 0.35


DEFAULT = Recipe()
