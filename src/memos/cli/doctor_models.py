"""What the doctor finds about language models: what waits to be read by one and, when told to ask, whether each answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memos.cli.render import many
from memos.errors import MemosError
from memos.memory.time import utcnow
from memos.models.llm.port import ChatModel, ChatRequest
from memos.models.llm.purposes import Llms
from memos.scheduler.kinds import READ
from memos.storage.ports import Todo
from memos.storage.tasks import LIVE, MAX_ATTEMPTS, TaskQuery, TaskQueue

ASK_SECONDS = 30.0  # for one answer, tries and waits included
LONG = 300.0  # seconds that a message may wait while a task stands for it
_QUESTION = ("Answer with one word.", "Are you there?")
_TOKENS = 200  # of the answer; a model that thinks first may need some


@dataclass(frozen=True, slots=True)
class ModelReport:
    """A model that was asked: what for it is configured, seconds until it answered, or the error."""

    model: str
    purposes: tuple[str, ...]
    seconds: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Unread:
    """What of a cube waits to be read by a model: how many messages, since when, how many rest, and the last reason."""

    cube: str
    owner: str
    waiting: int
    resting: int
    oldest: datetime | None
    error: str | None

    @classmethod
    def of(cls, cube: str, owner: str, marks: Sequence[Todo]) -> Unread:
        """By the marks of a cube."""
        waits = [m for m in marks if m.attempts < MAX_ATTEMPTS]
        error = next((m.error for m in reversed(marks) if m.error), None)
        return cls(cube, owner, len(waits), len(marks) - len(waits), min((m.since for m in waits), default=None), error)


def ask_models(llms: Llms) -> tuple[ModelReport, ...]:
    """Ask each model one tiny question, all at once."""
    models: dict[int, tuple[ChatModel, list[str]]] = {}
    for purpose, model in llms.models.items():
        models.setdefault(id(model), (model, []))[1].append(purpose)

    async def asked() -> list[ModelReport]:
        try:
            return list(await asyncio.gather(*(_ask(model, tuple(of)) for model, of in models.values())))
        finally:
            await llms.aclose()

    return tuple(asyncio.run(asked()))


async def _ask(model: ChatModel, purposes: tuple[str, ...]) -> ModelReport:
    begun = time.monotonic()
    try:
        async with asyncio.timeout(ASK_SECONDS):
            await model.complete(ChatRequest.of(*_QUESTION, max_tokens=_TOKENS))
    except MemosError as error:
        return ModelReport(model.model_id, purposes, error=str(error))
    except TimeoutError:
        why = f"no answer within {ASK_SECONDS:.0f} s; see whether its server is at work on something else"
        return ModelReport(model.model_id, purposes, error=why)
    return ModelReport(model.model_id, purposes, time.monotonic() - begun)


async def waiting_for_models(queue: TaskQueue, cubes: Sequence[Unread], model: str) -> list[str]:
    """What waits to be read for a reason, or for long, or with no task that stands for it; in sentences."""
    problems = []
    for c in cubes:
        if c.resting:
            last = f", last reason: {c.error}" if c.error else ""
            again = f"`memos reread --all --user {c.owner} --cube {c.cube}` has them tried again"
            problems.append(
                f"cube {c.cube}: {many(c.resting, 'message')} could not be read by a model and rest{last}; {again}"
            )
        if not c.waiting or c.oldest is None:
            continue
        tasks = (await queue.find(TaskQuery(cube=c.cube, kinds=[READ], states=LIVE), limit=100)).items
        seconds = (utcnow() - c.oldest).total_seconds()
        why = next((t.error for t in tasks if t.error), None) or c.error
        if tasks and why is None and seconds < LONG:
            continue
        verb = "waits" if c.waiting == 1 else "wait"
        said = f"cube {c.cube}: {many(c.waiting, 'message')} {verb} for {_long(seconds)} to be read by a model"
        if not model:
            why = "none is configured here (MEMOS_LLM)"
        elif why is None:
            why = "a task stands for it, but none gets to it" if tasks else "it was not done, and no task stands for it"
        try_again = f"`memos flush --user {c.owner} --cube {c.cube}` tries again, `memos doctor --llm` asks the model"
        problems.append(f"{said}: {why.rstrip('. ')}; {try_again}")
    return problems


def _long(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
