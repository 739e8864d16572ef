"""What language models used and cost: counted once whatever happens, summed up as asked, and nobody's name when she is gone."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from llm_models import ScriptedModel
from memos import AsyncMemOS
from memos.errors import InvalidInput, ModelTimeout, StorageFull
from memos.memory.spending import LlmUse, total
from memos.memory.time import utcnow
from memos.models.llm.port import ChatReply, ChatRequest, TokenUsage
from memos.models.llm.purposes import Call
from memos.storage.sqlite.usage import DELETED
from memos.system import ledger as ledgers

TODAY = utcnow().date()


def use(day: date = TODAY, user: str = "ann", purpose: str = "chat", model: str = "openai:big", **more: Any) -> LlmUse:
    return LlmUse(
        day, user, purpose, model, **{"calls": 1, "input_tokens": 100, "output_tokens": 10, "unpriced": 1, **more}
    )


def call(user: str = "ann", tokens: int = 10, **more: Any) -> Call:
    given = {"purpose": "chat", "model": "m", "answered": True, "seconds": 0.1, **more}
    return Call(user, usage=TokenUsage(tokens, 1), **given)


@pytest.fixture
async def memos(tmp_path: Path) -> AsyncIterator[AsyncMemOS]:
    async with AsyncMemOS(
        tmp_path, embedder="none", background=False, llm=ScriptedModel("Hello."), llm_prices="model=2/4"
    ) as made:
        yield made


def stored(memos: AsyncMemOS) -> Any:
    return memos._parts().registry.llm_usage


def ledger(memos: AsyncMemOS) -> ledgers.Ledger:
    return memos._parts().ledger


async def test_calls_are_told_apart_as_asked(memos: AsyncMemOS) -> None:
    stored(memos).add(
        [
            use(),
            use(user="bob", model="openai:small", input_tokens=900),
            use(TODAY - timedelta(days=1), purpose="reading", input_tokens=5_000, failed=1),
            use(TODAY - timedelta(days=9), estimated=1),
        ]
    )
    stored(memos).add([use()])
    every = await memos.llm_usage()
    assert [(u.day, u.user, u.calls) for u in every] == [
        (TODAY, "bob", 1),
        (TODAY, "ann", 2),
        (TODAY - timedelta(days=1), "ann", 1),
        (TODAY - timedelta(days=9), "ann", 1),
    ]
    assert total(every) == (await memos.llm_usage(by=()))[0]
    by_model = await memos.llm_usage(by=["model"])
    assert [(u.model, u.user, u.calls, u.input_tokens) for u in by_model] == [
        ("openai:big", None, 4, 5_300),
        ("openai:small", None, 1, 900),
    ]
    assert [u.calls for u in await memos.llm_usage(user="ann", by=())] == [4]
    assert [u.failed for u in await memos.llm_usage(purpose="reading", by=())] == [1]
    assert [u.calls for u in await memos.llm_usage(since=TODAY - timedelta(days=1), until="yesterday", by=())] == [1]
    assert [u.day for u in await memos.llm_usage(by=["day"], limit=1)] == [TODAY]
    assert await memos.llm_usage(user="nobody", by=()) == ()


@pytest.mark.parametrize(
    "wrong", [{"by": ["user", "colour"]}, {"purpose": "fun"}, {"since": "5/8/2023"}, {"limit": 0}, {"user": ""}]
)
async def test_what_cannot_be_asked_is_said(memos: AsyncMemOS, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        await memos.llm_usage(**wrong)


async def test_a_chat_is_counted_with_its_price(memos: AsyncMemOS) -> None:
    answer = await memos.chat("Hi.", user="ann")
    (found,) = await memos.llm_usage()
    assert (found.day, found.user, found.purpose, found.model) == (TODAY, "ann", "chat", "scripted:model")
    assert (found.calls, found.failed, found.estimated, found.unpriced) == (1, 0, 0, 0)
    assert (found.input_tokens, found.output_tokens) == (answer.usage.input_tokens, answer.usage.output_tokens)
    assert found.cost_micros == 2 * found.input_tokens + 4 * found.output_tokens


async def test_a_call_that_fails_is_counted_as_failed_and_costs_nothing(tmp_path: Path) -> None:
    async with AsyncMemOS(
        tmp_path, embedder="none", background=False, llm=ScriptedModel(ModelTimeout("late"))
    ) as memos:
        with pytest.raises(ModelTimeout):
            await memos.chat("Hi.", user="ann")
        (found,) = await memos.llm_usage()
        assert (found.calls, found.failed, found.tokens, found.cost_micros) == (1, 1, 0, None)


async def test_what_came_of_a_stream_that_is_left_is_estimated(memos: AsyncMemOS) -> None:
    model = memos._parts().llms.of("chat", "ann")
    assert model is not None
    stream = model.stream(ChatRequest.of("system", "word " * 100))
    await anext(stream)
    await stream.aclose()
    (found,) = await memos.llm_usage()
    assert (found.calls, found.failed, found.estimated) == (1, 1, 1)
    assert found.input_tokens > 100 and found.output_tokens > 0


async def test_tokens_that_a_server_does_not_tell_are_marked_as_estimated(tmp_path: Path) -> None:
    model = ScriptedModel(ChatReply("Hello.", usage=TokenUsage(7, 2, estimated=True)))
    async with AsyncMemOS(tmp_path, embedder="none", background=False, llm=model) as memos:
        await memos.chat("Hi.")
        assert [(u.estimated, u.tokens) for u in await memos.llm_usage()] == [(1, 9)]


async def test_a_price_that_nobody_said_is_not_made_up(memos: AsyncMemOS) -> None:
    ledger(memos).record(call(model="other", tokens=1_000))
    ledger(memos).record(call(model="scripted:model", tokens=10))
    by_model = {u.model: u for u in await memos.llm_usage(by=["model"])}
    assert (by_model["other"].cost, by_model["other"].unpriced) == (None, 1)
    assert by_model["scripted:model"].cost_micros == 24
    (both,) = await memos.llm_usage(by=())
    assert (both.cost_micros, both.unpriced, both.calls) == (24, 1, 2)


async def test_processes_add_to_the_same_rows(tmp_path: Path) -> None:
    one, two = (AsyncMemOS(tmp_path, embedder="none", background=False) for _ in range(2))
    for memos in (one, two, one):
        await memos.start()
        ledger(memos).record(call())
    await one.llm_usage()
    await two.close()
    assert [u.calls for u in await one.llm_usage()] == [3]
    await one.close()


async def test_what_was_counted_is_written_after_a_while_and_at_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledgers.Ledger.__init__, "__kwdefaults__", {"seconds": 0.05})
    async with AsyncMemOS(tmp_path, embedder="none", background=False) as memos, AsyncMemOS(tmp_path) as other:
        await memos.start()
        ledger(memos).record(call())
        until = time.monotonic() + 5
        while not (found := await other.llm_usage()) and time.monotonic() < until:
            await asyncio.sleep(0.02)
        assert [u.calls for u in found] == [1]
        ledger(memos).record(call())
        await memos.close()
        assert [u.calls for u in await other.llm_usage()] == [2]


async def test_a_full_disk_loses_no_count_and_fails_no_call(memos: AsyncMemOS, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise StorageFull("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(stored(memos), "add", full)
        for _ in range(3):
            await memos.chat("Hi.", user="ann", add=False)
            await memos.llm_usage()
        assert len(ledger(memos)._written) == 1
    assert [u.calls for u in await memos.llm_usage()] == [3]
    assert [u.calls for u in await memos.llm_usage()] == [3]


async def test_a_call_is_answered_also_when_it_cannot_be_counted(
    memos: AsyncMemOS, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(ledger(memos)._prices.__class__, "micros", broken)
    assert (await memos.chat("Hi.")).text == "Hello."


async def test_who_leaves_while_it_is_written_has_it_counted_once(
    memos: AsyncMemOS, monkeypatch: pytest.MonkeyPatch
) -> None:
    add, writing, left = stored(memos).add, threading.Event(), threading.Event()

    def slow(*given: Any) -> Any:
        writing.set()
        left.wait(20)
        return add(*given)

    monkeypatch.setattr(stored(memos), "add", slow)
    ledger(memos).record(call())
    asking = asyncio.create_task(memos.llm_usage())
    await asyncio.to_thread(writing.wait, 20)
    asking.cancel()
    await asyncio.wait([asking])
    left.set()
    assert asking.cancelled()
    assert [u.calls for u in await memos.llm_usage()] == [1]


async def test_a_deleted_user_is_named_no_more_but_what_she_used_stays(memos: AsyncMemOS, tmp_path: Path) -> None:
    await memos.chat("Hi.", user="zelda")
    await memos.chat("Hi.", user="bob")
    await memos.llm_usage()
    await memos.accounts.delete_user("zelda", everything=True)
    found = {u.user: u.calls for u in await memos.llm_usage(by=["user"])}
    assert "zelda" not in found and sum(found.values()) == 2
    ledger(memos).record(call("zelda"))  # a call that was under way
    assert {u.user: u.calls for u in await memos.llm_usage(by=["user"])}[DELETED] == 1
    await memos.close()
    assert b"zelda" not in (tmp_path / "control.db").read_bytes()


async def test_a_user_without_a_memory_is_counted_by_her_name(memos: AsyncMemOS) -> None:
    for _ in range(2):
        await memos.chat("Hi.", user="visitor", add=False)
        assert {u.user for u in await memos.llm_usage()} == {"visitor"}


async def test_models_that_call_themselves_anything_do_not_fill_the_metrics(memos: AsyncMemOS) -> None:
    for n in range(2 * ledgers.MOST_LABELS):
        ledger(memos).record(call(model=f"model-{n}"))
    found = (await memos.usage()).llm
    assert len(found) == ledgers.MOST_LABELS + 1
    assert {u.model: u.calls for u in found}[ledgers.OTHER] == ledgers.MOST_LABELS


async def test_what_no_server_should_say_is_stored_all_the_same(memos: AsyncMemOS) -> None:
    for tokens in (-5, 1 << 70):
        ledger(memos).record(call(model="m\udc80" + "x" * 1_000, tokens=tokens))
    (found,) = await memos.llm_usage()
    assert (found.calls, found.input_tokens, len(found.model or "")) == (2, 1_000_000_000, 200)
