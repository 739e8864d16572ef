"""Reranking by a local cross-encoder (extra `sentence-transformers`; brings torch).

The model must be on this machine already: nothing is downloaded. Loaded at the first question; one at a time, on a thread.
"""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

from memos.errors import ModelError, ModelTimeout, ModelUnavailable
from memos.models.embed import is_blank
from memos.models.sentence_transformers import installed
from memos.models.windows import windows_of

SECONDS = 10.0  # that a search waits, after the model is loaded
_TOKENS = 400  # of a window; with the question, what these models were trained on
_BATCH = 16


class CrossEncoderReranker:
    """A cross-encoder by its name in the local cache, or by its folder. A long text gets the score of its best window."""

    def __init__(self, model: str, *, device: str | None = None, seconds: float = SECONDS) -> None:
        """Load nothing yet. `device` is torch's name for where to run."""
        self._name, self._device, self._seconds = model, device, seconds
        self._thread = ThreadPoolExecutor(1, "memos-rerank")

    @property
    def model_id(self) -> str:
        """`ce:MODEL`."""
        return f"ce:{self._name}"

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """See `Reranker.rerank`."""
        loop = asyncio.get_running_loop()
        if "_model" not in self.__dict__:
            await loop.run_in_executor(self._thread, lambda: self._model)
        try:
            async with asyncio.timeout(self._seconds):
                return await loop.run_in_executor(self._thread, self._scores, query, list(texts))
        except TimeoutError:
            raise ModelTimeout(f"{self.model_id} did not answer within {self._seconds:g} s") from None

    def _scores(self, query: str, texts: Sequence[str]) -> list[float]:
        readable = [i for i, text in enumerate(texts) if not is_blank(text)]
        windows = windows_of([texts[i] for i in readable], readable, _TOKENS)
        scores = [0.0] * len(texts)
        if not windows or is_blank(query):
            return scores
        rows = self._predicted([(query, window.text) for window in windows])
        for window, row in zip(windows, rows, strict=True):
            scores[window.owner] = max(scores[window.owner], _share(row))
        return scores

    def _predicted(self, pairs: list[tuple[str, str]]) -> list[float]:
        model, identity = self._model
        # The name of the argument differs between versions of the package.
        known = inspect.signature(model.predict).parameters
        activation = "activation_fn" if "activation_fn" in known else "activation_fct"
        try:
            rows = model.predict(pairs, batch_size=_BATCH, show_progress_bar=False, **{activation: identity})
            out = [float(row) for row in rows]
        except (RuntimeError, TypeError, ValueError) as error:
            raise ModelError(f"{self.model_id} raised {type(error).__name__}: {error}") from error
        if len(out) != len(pairs) or not all(map(math.isfinite, out)):
            raise ModelError(f"{self.model_id} answered no score for each of {len(pairs)} texts")
        return out

    @cached_property
    def _model(self) -> tuple[Any, Any]:
        """The model, and torch's function that leaves numbers as they are."""
        package, torch = installed("sentence_transformers", "torch")
        try:
            model = package.CrossEncoder(self._name, device=self._device, local_files_only=True)
        except (OSError, ValueError) as error:
            raise ModelUnavailable(
                f"the model {self._name!r} is not on this machine; get it with `hf download {self._name}`, "
                "or give the folder it is in"
            ) from error
        return model, torch.nn.Identity()


def _share(logit: float) -> float:
    """A logit as a probability."""
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, logit))))
