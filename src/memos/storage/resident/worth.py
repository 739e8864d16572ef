"""What a memory is worth beside what it says: how important it was called, and how often and how lately it was of use.

Only ranking looks at it, as a small weight between equals; nothing is deleted, hidden or shortened by it (`docs/organizing.md`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DECAY = 0.5  # the exponent of forgetting that ACT-R uses throughout
_DAY = 86_400_000_000.0  # µs
_LEAST_DAYS = 1 / 24


def worth(
    importance: NDArray[np.float32],
    uses: NDArray[np.uint32],
    last_used: NDArray[np.int64],
    happened: NDArray[np.int64],
    now: int,
) -> NDArray[np.float32]:
    """Half the importance, half the odds that it is needed now; each in [0, 1]. Times in µs, all arrays aligned.

    The odds are the base-level learning equation of ACT-R, odds = Σ t^-d over the ages t of every presentation in days (Anderson
    & Schooler, "Reflections of the environment in memory", 1991): its arrival, and each time a search showed it. Kept are only
    how many those were, the first and the last, the others taken as spread evenly between (Petrov, "Computationally efficient
    approximation of the base-level learning equation in ACT-R", 2006, with one presentation kept exactly).
    """
    age = np.maximum((now - happened) / _DAY, _LEAST_DAYS)
    recent = np.minimum(np.maximum((now - last_used) / _DAY, _LEAST_DAYS), age)
    between = np.maximum(age - recent, 1e-3)
    spread = np.where(
        age - recent > 1e-3,
        (age ** (1 - DECAY) - recent ** (1 - DECAY)) / ((1 - DECAY) * between),
        age**-DECAY,
    )
    odds = np.where(uses > 0, recent**-DECAY + uses * spread, age**-DECAY)
    return np.asarray(0.5 * importance + 0.5 * odds / (1 + odds), np.float32)
