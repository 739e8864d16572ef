"""The ledger of model calls: tokens and cost by user, purpose and model, a row a day in the control file.

Calls are summed up in memory and written every few seconds and at close: a crash loses at most what came since the last time.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from memos.errors import MemosError, OverBudget
from memos.logs import get_logger
from memos.memory.spending import LlmUse, total
from memos.memory.time import utcnow
from memos.models.llm.prices import Prices
from memos.models.llm.purposes import Call
from memos.scheduler.cube_tasks import SYSTEM
from memos.storage.sqlite.registry import SqliteRegistry

log = get_logger(__name__)

FLUSH_SECONDS = 3.0
MOST_LABELS = (
    200  # pairs of purpose and model that metrics tell apart; an object given as a model may call itself anything
)
OTHER = "other"
_MOST_TOKENS = 1_000_000_000  # of one call
_MOST_NAME = 200

_Key = tuple[date, str, str, str]


@dataclass(slots=True)
class _Sum:
    calls: int = 0
    failed: int = 0
    estimated: int = 0
    unpriced: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: int = 0
    seconds: float = 0.0

    def add(self, call: Call, cost: int | None) -> None:
        self.calls += 1
        self.failed += not call.answered
        self.estimated += call.usage.estimated
        self.unpriced += cost is None
        self.input_tokens += call.usage.input_tokens
        self.output_tokens += call.usage.output_tokens
        self.cost += cost or 0
        self.seconds += call.seconds

    def use(self, day: date | None, user: str | None, purpose: str, model: str) -> LlmUse:
        cost = None if self.unpriced == self.calls else self.cost
        return LlmUse(
            day, user, purpose, model, self.calls, self.failed, self.estimated, self.unpriced,
            self.input_tokens, self.output_tokens, cost, self.seconds,
        )  # fmt: skip


class Ledger:
    """Takes calls as they are made. Used within one event loop. `daily`: tokens a user has for a day, 0 for no limit."""

    def __init__(
        self, registry: SqliteRegistry, prices: Prices | None = None, daily: int = 0, *, seconds: float = FLUSH_SECONDS
    ) -> None:
        self._registry, self._prices, self._daily, self._seconds = registry, prices or Prices(), daily, seconds
        self._open: dict[_Key, _Sum] = {}
        self._written: list[LlmUse] = []  # being written, or waiting to be since it could not
        self._all: dict[tuple[str, str], _Sum] = {}
        self._known: set[str] = set()  # users seen to exist
        self._lock = asyncio.Lock()
        self._due: asyncio.TimerHandle | None = None
        self._closed = False
        self._writing: set[asyncio.Task[None]] = set()

    def record(self, call: Call) -> None:
        """Count one call. Never raises, never waits."""
        try:
            call = _bounded(call)
            cost = self._prices.micros(call.model, call.usage)
            key = (utcnow().date(), call.user, call.purpose, call.model)
            self._open.setdefault(key, _Sum()).add(call, cost)
            label = (call.purpose, call.model)
            if label not in self._all and len(self._all) >= MOST_LABELS:
                label = (call.purpose, OTHER)
            self._all.setdefault(label, _Sum()).add(call, cost)
            self._flush_in(self._seconds)
        except Exception as error:  # noqa: BLE001 - a call that was answered must not fail for being counted
            log.warning("llm_call_not_counted", error=type(error).__name__)

    @property
    def totals(self) -> tuple[LlmUse, ...]:
        """What this process used since it began, by purpose and model."""
        return tuple(sums.use(None, None, *label) for label, sums in self._all.items())

    # -- writing -----------------------------------------------------------------------------------------------

    async def flush(self) -> None:
        """Write what was counted. What cannot be written now is kept and tried again; nothing is raised."""
        if self._due is not None:
            self._due.cancel()
            self._due = None
        await asyncio.shield(self._begin())  # who leaves in the middle must not have it written twice

    async def close(self) -> None:
        """Write what is left. What comes later is lost."""
        self._closed = True
        await self.flush()

    async def _write(self) -> None:
        async with self._lock:
            self._written += [sums.use(*key) for key, sums in self._open.items()]
            self._open = {}
            if not self._written:
                return
            rows = self._summed(self._written)
            try:
                there = await asyncio.to_thread(self._registry.llm_usage.add, rows, frozenset(self._known))
            except MemosError as error:
                self._written = rows
                log.warning("llm_usage_not_written", error=error.code, rows=len(rows))
                self._flush_in(10 * self._seconds)
                return
            self._written = []
            self._known |= there

    @staticmethod
    def _summed(uses: list[LlmUse]) -> list[LlmUse]:
        """One row for each day, user, purpose and model: what waits for a full disk does not grow with the calls."""
        groups: dict[tuple[object, ...], list[LlmUse]] = {}
        for use in uses:
            groups.setdefault((use.day, use.user, use.purpose, use.model), []).append(use)
        return [_named(total(group), group[0]) if len(group) > 1 else group[0] for group in groups.values()]

    def _flush_soon(self) -> None:
        self._due = None
        self._begin()

    def _begin(self) -> asyncio.Task[None]:
        writing = asyncio.get_running_loop().create_task(self._write())
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)
        return writing

    def _flush_in(self, seconds: float) -> None:
        if self._due is None and not self._closed:
            self._due = asyncio.get_running_loop().call_later(seconds, self._flush_soon)

    # -- the budget --------------------------------------------------------------------------------------------

    def check(self, user: str) -> None:
        """Raise OverBudget when a user has used the tokens of today. Calls under way are not counted yet; what no user asked for
        has no limit.
        """
        if not self._daily or user == SYSTEM:
            return
        now = utcnow()
        used = self._used(user, now.date())
        if used < self._daily:
            return
        again = datetime.combine(now.date() + timedelta(days=1), time(), tzinfo=now.tzinfo)
        raise OverBudget(
            f"user {user!r} has used {used:,} of {self._daily:,} tokens of language models for today "
            f"(MEMOS_LLM_TOKENS_PER_USER_PER_DAY); models are asked again from {again:%Y-%m-%d %H:%M} UTC",
            max(1.0, (again - now).total_seconds()),
        )

    def _used(self, user: str, day: date) -> int:
        mine = [s.input_tokens + s.output_tokens for key, s in self._open.items() if key[:2] == (day, user)]
        mine += [use.tokens for use in self._written if (use.day, use.user) == (day, user)]
        try:
            return sum(mine) + self._registry.llm_usage.tokens(user, day)
        except MemosError as error:  # who cannot look does not refuse
            log.warning("llm_usage_not_read", error=error.code)
            return sum(mine)


def _bounded(call: Call) -> Call:
    """The call with a name and numbers that can be stored, whatever the server said."""
    usage = replace(
        call.usage,
        input_tokens=min(max(0, int(call.usage.input_tokens)), _MOST_TOKENS),
        output_tokens=min(max(0, int(call.usage.output_tokens)), _MOST_TOKENS),
    )
    name = call.model[:_MOST_NAME].encode("utf-8", "replace").decode()
    return replace(call, usage=usage, model=name)


def _named(summed: LlmUse, like: LlmUse) -> LlmUse:
    return replace(summed, day=like.day, user=like.user, purpose=like.purpose, model=like.model)
