"""Calls to servers that may be slow, busy or dead: time limits, retries with back-off, and a circuit breaker.

Knows nothing about embeddings or HTTP: a provider raises `Failure` and says what may be tried again. Guards law 6: a
search never waits long for a model, and a dead server is not asked at every search.
"""

from __future__ import annotations

import asyncio
import math
import random
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import TypeVar

from memos.errors import ModelError, ModelTimeout, ModelUnavailable

T = TypeVar("T")
_LONGEST_RETRY_AFTER = 3_600.0


class NotAsked(ModelUnavailable):
    """The server failed again and again, so it was not asked this time. It may be after `retry_after` seconds."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Failure(Exception):
    """What a provider raises inside a guarded call: the error for the caller, and what it says about the server."""

    def __init__(
        self, error: ModelError, *, retry: bool = False, dead: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry = retry
        """The same call may succeed a little later."""
        self.dead = dead
        """The server itself did not answer properly; enough of these open the circuit."""
        self.retry_after = retry_after
        """Seconds the server asked to be left alone."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long and how often to try. All times in seconds."""

    attempts: int = 5
    timeout: float = 60.0
    """Of one attempt."""
    budget: float = 120.0
    """Of all attempts and the waits between them."""
    base: float = 0.5
    longest: float = 20.0

    def wait(self, attempt: int, retry_after: float | None) -> float:
        """Return the pause after failed attempt `attempt`: the server's wish, or doubling with jitter in half of it."""
        if retry_after is not None:
            return retry_after
        pause = min(self.longest, self.base * float(2 ** (attempt - 1)))
        return pause * (0.5 + random.random() / 2)


def retry_after_seconds(value: str | None) -> float | None:
    """Read a Retry-After header: seconds or an HTTP date; None if absent or unreadable."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return min(max(0.0, seconds), _LONGEST_RETRY_AFTER) if math.isfinite(seconds) else None


DOCUMENTS = RetryPolicy()
"""For work in the background: patient."""
QUERIES = RetryPolicy(attempts=2, timeout=3.0, budget=4.0, base=0.1, longest=0.5)
"""For a search that somebody waits for: text search answers alone when the model does not."""


class CircuitState(StrEnum):
    """State of a circuit breaker."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class CircuitBreaker:
    """Refuses calls for a while after `threshold` failures in a row, then lets one probe through. Safe for threads."""

    def __init__(
        self,
        name: str,
        *,
        threshold: int = 3,
        cool_down: float = 15.0,
        longest: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start closed. The cool-down (seconds) doubles each time a probe fails, up to `longest`."""
        self._name = name
        self._threshold = threshold
        self._first = self._pause = cool_down
        self._longest = longest
        self._clock = clock
        self._failures = 0
        self._state = CircuitState.CLOSED
        self._until = 0.0
        self._cause = ""
        self._lock = threading.Lock()

    @property
    def state(self) -> CircuitState:
        """Closed: calls go through. Open: refused. Half open: a probe is under way."""
        return self._state

    @property
    def retry_in(self) -> float:
        """Seconds until an open circuit lets a probe through; 0 if it is not open."""
        return max(0.0, self._until - self._clock()) if self._state is CircuitState.OPEN else 0.0

    @property
    def failing(self) -> str:
        """Why the last call failed; empty when it did not."""
        return self._cause

    def enter(self) -> None:
        """Ask to make a call; answer it with `succeeded`, `failed` or `abandoned`.

        Raises:
            NotAsked: the circuit is open, or its probe is still under way.
        """
        with self._lock:
            if self._state is CircuitState.CLOSED:
                return
            if self._state is CircuitState.OPEN and self._clock() >= self._until:
                self._state = CircuitState.HALF_OPEN
                return
            wait = self.retry_in
            when = f"it will be asked again in {wait:.0f} s" if wait else "it is being asked again"
            cause = f" (the last time: {self._cause})" if self._cause else ""
            raise NotAsked(f"{self._name} failed {self._failures} times in a row; {when}{cause}", wait)

    def succeeded(self) -> None:
        """The server answered."""
        with self._lock:
            self._failures, self._pause, self._state, self._cause = 0, self._first, CircuitState.CLOSED, ""

    def failed(self, cause: str = "") -> None:
        """The server did not answer; `cause` is told to those who are refused."""
        with self._lock:
            self._failures += 1
            self._cause = cause
            if self._state is CircuitState.HALF_OPEN:
                self._pause = min(self._longest, self._pause * 2)
            elif self._failures < self._threshold:
                return
            self._state, self._until = CircuitState.OPEN, self._clock() + self._pause

    def abandoned(self) -> None:
        """The call was cancelled: nothing is known, so the next caller may probe."""
        with self._lock:
            if self._state is CircuitState.HALF_OPEN:
                self._state, self._until = CircuitState.OPEN, self._clock()


class Guard:
    """Runs calls to one server under a retry policy and its circuit breaker."""

    def __init__(
        self,
        name: str,
        *,
        breaker: CircuitBreaker | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`name` is how messages call the server."""
        self.name = name
        self.breaker = breaker or CircuitBreaker(name)
        self._sleep = sleep
        self._clock = clock
        self._busy_until = 0.0

    @property
    def busy_for(self) -> float:
        """Seconds that the server still wants to be left alone, as it said when it had too much to do; 0 if it does not."""
        return max(0.0, self._busy_until - self._clock())

    async def run(self, call: Callable[[], Awaitable[T]], policy: RetryPolicy) -> T:
        """Return what `call` returns, trying again as `policy` allows.

        Raises:
            ModelUnavailable, ModelTimeout, ModelError: the last attempt's error.
            NotAsked: the circuit is open.
        """
        deadline = self._clock() + policy.budget
        attempt = 1
        while True:
            failure = await self._attempt(call, min(policy.timeout, max(0.0, deadline - self._clock())))
            if not isinstance(failure, Failure):
                return failure
            pause = policy.wait(attempt, failure.retry_after)
            late = self._clock() + pause >= deadline
            if not failure.retry or attempt >= policy.attempts or late or self.breaker.state is CircuitState.OPEN:
                raise failure.error from failure.__cause__
            await self._sleep(pause)
            attempt += 1

    async def _attempt(self, call: Callable[[], Awaitable[T]], seconds: float) -> T | Failure:
        self.breaker.enter()
        try:
            async with asyncio.timeout(seconds):
                result = await call()
        except TimeoutError:
            failure = Failure(ModelTimeout(f"{self.name} did not answer within {seconds:.1f} s"), retry=True, dead=True)
        except Failure as raised:
            failure = raised
        except BaseException:
            self.breaker.abandoned()
            raise
        else:
            self.breaker.succeeded()
            self._busy_until = 0.0
            return result
        if failure.dead:
            self.breaker.failed(str(failure.error))
        else:
            self.breaker.succeeded()
        if failure.retry_after is not None:
            self._busy_until = self._clock() + failure.retry_after
        return failure
