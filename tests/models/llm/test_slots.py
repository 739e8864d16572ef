"""Turns at a server: never more than allowed, chat first but not alone, nothing lost when callers give up."""

from __future__ import annotations

import asyncio
import random
import threading

import pytest

from memos.errors import ModelBusy
from memos.models.llm.port import PURPOSES, Purpose
from memos.models.llm.slots import Slots


async def order_of(slots: Slots, purposes: list[Purpose]) -> list[str]:
    """In which order calls are let in that all wait behind one that holds everything."""
    let_in: list[str] = []
    blocks = [slots.held("chat") for _ in range(slots.most)]
    for block in blocks:
        await block.__aenter__()

    async def call(purpose: Purpose) -> None:
        async with slots.held(purpose):
            let_in.append(purpose)
            await asyncio.sleep(0)

    calls = [asyncio.create_task(call(purpose)) for purpose in purposes]
    await asyncio.sleep(0)
    for block in blocks:
        await block.__aexit__(None, None, None)
    await asyncio.gather(*calls)
    return let_in


async def test_purposes_take_turns_and_chat_is_every_second() -> None:
    waiting: list[Purpose] = [*["reading"] * 4, "feedback", *["chat"] * 3]
    assert await order_of(Slots(1), waiting) == [
        *("reading", "chat", "feedback", "chat", "reading", "chat", "reading", "reading")
    ]


async def test_one_slot_is_kept_for_chat() -> None:
    slots = Slots(3)
    readings = [slots.held("reading"), slots.held("vision")]
    for reading in readings:
        await reading.__aenter__()
    third = asyncio.create_task(slots.held("evolution").__aenter__())
    await asyncio.sleep(0)
    assert (slots.taken, slots.waiting) == (2, 1)
    async with slots.held("chat"):
        assert slots.taken == 3
        with pytest.raises(ModelBusy):
            async with slots.held("chat", 0.01):
                pass
    third.cancel()
    for reading in readings:
        await reading.__aexit__(None, None, None)
    await asyncio.gather(third, return_exceptions=True)
    assert (slots.taken, slots.waiting) == (0, 0)


@pytest.mark.parametrize("seed", range(8))
async def test_nothing_is_lost_whoever_gives_up(seed: int) -> None:
    slots, luck = Slots(luck_most := 1 + seed % 4), random.Random(seed)
    at_once = most = done = 0

    async def call() -> None:
        nonlocal at_once, most, done
        async with slots.held(luck.choice(PURPOSES), luck.choice([None, 0.001])):
            at_once += 1
            most = max(most, at_once)
            try:
                await asyncio.sleep(luck.random() / 200)
            finally:
                at_once -= 1
        done += 1

    calls = [asyncio.create_task(call()) for _ in range(200)]
    while not all(task.done() for task in calls):
        luck.choice(calls).cancel()
        await asyncio.sleep(luck.random() / 500)
    await asyncio.gather(*calls, return_exceptions=True)
    assert (slots.taken, slots.waiting, at_once) == (0, 0, 0)
    assert most <= luck_most
    assert done > 0


def test_systems_on_several_threads_share_them() -> None:
    slots, lock = Slots(2), threading.Lock()
    at_once = most = done = 0

    async def call() -> None:
        nonlocal at_once, most, done
        async with slots.held("chat"):
            with lock:
                at_once += 1
                most = max(most, at_once)
            await asyncio.sleep(0.001)
            with lock:
                at_once -= 1
                done += 1

    async def many() -> None:
        await asyncio.gather(*(call() for _ in range(25)))

    threads = [threading.Thread(target=asyncio.run, args=(many(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert (done, most, slots.taken, slots.waiting) == (100, 2, 0, 0)


def test_a_loop_that_ended_does_not_keep_a_slot() -> None:
    slots = Slots(1)

    async def leave_one_waiting() -> None:
        slots_held = slots.held("chat")
        await slots_held.__aenter__()
        asyncio.get_running_loop().create_task(slots.held("reading").__aenter__())
        await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(leave_one_waiting())
    loop.close()
    slots._leave("chat")
    assert slots.taken == 0

    async def take() -> None:
        async with slots.held("chat", 1):
            pass

    asyncio.run(take())
