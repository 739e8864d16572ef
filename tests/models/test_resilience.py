from __future__ import annotations

import asyncio

import pytest

from memos.errors import ModelError, ModelTimeout, ModelUnavailable
from memos.models.resilience import CircuitBreaker, CircuitState, Failure, Guard, NotAsked, RetryPolicy

PATIENT = RetryPolicy(attempts=4, timeout=5, budget=100, base=1, longest=3)


class Clock:
    """Time that only passes while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.naps: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += seconds


def guarded(clock, outcomes, *, policy=PATIENT, threshold=99):
    """Run a call that meets `outcomes` one after the other (a Failure is raised, anything else returned)."""
    breaker = CircuitBreaker("srv", threshold=threshold, cool_down=10, clock=clock)
    guard = Guard("srv", breaker=breaker, sleep=clock.sleep, clock=clock)

    async def call():
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return guard, lambda: asyncio.run(guard.run(call, policy))


def dead():
    return Failure(ModelUnavailable("down"), retry=True, dead=True)


def test_tries_again_with_doubling_pauses_and_then_answers():
    clock = Clock()
    _, run = guarded(clock, [dead(), dead(), dead(), "answer"])
    assert run() == "answer"
    assert [low <= nap <= 2 * low for nap, low in zip(clock.naps, (0.5, 1.0, 1.5), strict=True)] == [True] * 3


def test_gives_up_after_the_last_attempt_with_the_last_error():
    outcomes = [dead(), dead(), dead(), Failure(ModelError("last"), retry=True), "never"]
    _, run = guarded(Clock(), outcomes)
    with pytest.raises(ModelError, match="last"):
        run()
    assert outcomes == ["never"]


def test_does_not_repeat_what_cannot_succeed():
    clock = Clock()
    _, run = guarded(clock, [Failure(ModelError("bad request")), "never"])
    with pytest.raises(ModelError, match="bad request"):
        run()
    assert clock.naps == []


def test_waits_as_long_as_the_server_asked():
    clock = Clock()
    _, run = guarded(clock, [Failure(ModelUnavailable("busy"), retry=True, retry_after=7.5), 1])
    assert run() == 1
    assert clock.naps == [7.5]


def test_does_not_wait_beyond_the_budget():
    clock = Clock()
    _, run = guarded(clock, [Failure(ModelUnavailable("busy"), retry=True, retry_after=200), "never"])
    with pytest.raises(ModelUnavailable, match="busy"):
        run()
    assert clock.naps == []


def test_a_slow_call_is_a_timeout():
    guard = Guard("srv")

    async def slow():
        await asyncio.sleep(5)

    with pytest.raises(ModelTimeout, match=r"within 0\.0"):
        asyncio.run(guard.run(slow, RetryPolicy(attempts=1, timeout=0.02)))


def test_the_circuit_opens_refuses_probes_and_closes():
    clock = Clock()
    outcomes = [dead(), dead(), dead(), "back", "fine"]
    guard, run = guarded(clock, outcomes, policy=RetryPolicy(attempts=1), threshold=2)
    for _ in range(2):
        with pytest.raises(ModelUnavailable, match="down"):
            run()
    assert guard.breaker.state is CircuitState.OPEN
    with pytest.raises(NotAsked, match=r"asked again in 10 s \(the last time: down\)") as refused:
        run()
    assert refused.value.retry_after == 10
    assert len(outcomes) == 3  # the server was not asked
    clock.now += 10
    with pytest.raises(ModelUnavailable, match="down"):
        run()
    assert guard.breaker.retry_in == 20  # a failed probe doubles the pause
    clock.now += 20
    assert run() == "back"
    assert guard.breaker.state is CircuitState.CLOSED
    assert run() == "fine"


def test_a_server_that_answers_no_is_not_dead():
    guard, run = guarded(Clock(), [Failure(ModelError("no"))] * 5, policy=RetryPolicy(attempts=1), threshold=2)
    for _ in range(5):
        with pytest.raises(ModelError, match="no"):
            run()
    assert guard.breaker.state is CircuitState.CLOSED


def test_retries_stop_when_the_circuit_opens():
    outcomes = [dead(), dead(), "never"]
    _, run = guarded(Clock(), outcomes, threshold=2)
    with pytest.raises(ModelUnavailable, match="down"):
        run()
    assert outcomes == ["never"]


def test_only_one_probe_at_a_time_and_a_cancelled_one_frees_the_place():
    clock = Clock()
    breaker = CircuitBreaker("srv", threshold=1, cool_down=10, clock=clock)
    breaker.enter()
    breaker.failed()
    clock.now = 10
    breaker.enter()
    assert breaker.state is CircuitState.HALF_OPEN
    with pytest.raises(ModelUnavailable):
        breaker.enter()
    breaker.abandoned()
    breaker.enter()
    breaker.succeeded()
    assert breaker.state is CircuitState.CLOSED


def test_cancelling_is_passed_on():
    guard = Guard("srv")

    async def main():
        task = asyncio.create_task(guard.run(lambda: asyncio.sleep(30), PATIENT))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert guard.breaker.state is CircuitState.CLOSED
