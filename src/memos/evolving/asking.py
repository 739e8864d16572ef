"""Asking the model of evolution with patience: one that is away, busy or over a budget is left alone for as long as it wished,
longer each time in a row, whatever else there would be to ask. Nothing waits for it (law 6).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeVar

from memos.errors import MemosError, ModelBusy, ModelTimeout, ModelUnavailable, OverBudget
from memos.logs import get_logger
from memos.models.llm.port import ChatModel
from memos.models.llm.purposes import Llms
from memos.scheduler.worker import backoff

log = get_logger(__name__)
T = TypeVar("T")

OVER_SECONDS = 900.0  # at most, until it is looked again whether a user may have more asked
SOONEST = 2  # failures that a first one counts as: a model that fails is not asked again in the same moment

FAILURES = (
    *(MemosError, ValueError, LookupError, TypeError, AttributeError, AssertionError, RuntimeError),
    ArithmeticError,
)
"""What an answer that cannot be used, or a defect of ours, may raise: it is logged, counted, and holds up nothing else."""


class Away(MemosError):
    """The model cannot be asked now; it may be after `seconds`. `everybody`: for whomever it would be asked."""

    code = "model_away"

    def __init__(self, seconds: float, *, everybody: bool) -> None:
        super().__init__(f"the model is away or busy; it is asked again after {seconds:.0f} s")
        self.seconds, self.everybody = seconds, everybody


class Asking:
    """Who is asked, and when. Used within one event loop."""

    def __init__(self, llms: Llms) -> None:
        self._llms = llms
        self._until: dict[str, float] = {}  # by model, or user who has used up hers: when it may be asked (monotonic)
        self._strikes: Counter[str] = Counter()  # failures in a row, by model

    @property
    def has_model(self) -> bool:
        """Whether a model is configured for evolution."""
        return self._llms.of("evolution") is not None

    async def ask(self, user: str, ask: Callable[[ChatModel], Awaitable[T]]) -> T | None:
        """What a model answers for a user; None without a model. Raises Away, and what else `ask` raises."""
        model = self._llms.of("evolution", user)
        if model is None:
            return None
        wait, own = self._wait(model.model_id), self._wait(f"{model.model_id}\0{user}")
        if max(wait, own) > 0:
            raise Away(max(wait, own), everybody=wait > 0)
        try:
            answer = await ask(model)
        except OverBudget as e:
            seconds = min(max(e.retry_after, 1.0), OVER_SECONDS)
            raise self._away(f"{model.model_id}\0{user}", seconds, e, everybody=False) from e
        except (ModelBusy, ModelTimeout, ModelUnavailable) as e:
            self._strikes[model.model_id] += 1
            wished = float(getattr(e, "retry_after", 0.0))
            seconds = max(wished, backoff(self._strikes[model.model_id] + SOONEST))
            raise self._away(model.model_id, seconds, e, everybody=True) from e
        self._strikes[model.model_id] = 0
        return answer

    def _away(self, key: str, seconds: float, error: MemosError, *, everybody: bool) -> Away:
        self._until[key] = time.monotonic() + seconds
        log.info("model_put_off", error=error.code, seconds=round(seconds, 1))
        return Away(seconds, everybody=everybody)

    def _wait(self, key: str) -> float:
        return max(0.0, self._until.get(key, 0.0) - time.monotonic())
