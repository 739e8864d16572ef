"""Dates are shown where they were written: "in March" is never shown as the last of February, on no wire."""

from __future__ import annotations

from datetime import UTC, datetime

import httpx2
import pytest

from memos import AsyncMemOS
from memos.memory.clock import shown_since, shown_time
from memos.memory.ids import new_id
from memos.memory.model import Kind, Memory
from memos.memory.time import load_zone

ZONES = ["+01:00", "+13:00", "-08:00", "+00:00"]
SAID = "I moved to Oslo in March."
QUESTION = "Where does Ada live?"


def message(zone: str, text: str = SAID, when: str = "2026-03-01T09:00:00") -> dict[str, str]:
    return {"role": "user", "name": "Ada", "content": text, "chat_time": when + zone}


@pytest.mark.parametrize("zone", ZONES)
async def test_in_the_context_of_the_library_and_of_v1(
    memos: AsyncMemOS, app_client: httpx2.AsyncClient, zone: str
) -> None:
    await memos.add(message(zone), wait=True)
    answer = await app_client.post("/v1/memories/search", json={"query": QUESTION})
    for context in (answer.json()["context"], (await memos.search(QUESTION)).context):
        assert "Ada lives in Oslo. (since 2026-03-01)" in context
        assert f"2026-03-01 09:00 Ada: {SAID}" in context


@pytest.mark.parametrize("zone", ZONES)
async def test_in_the_memory_texts_of_the_other_wires(app_client: httpx2.AsyncClient, zone: str) -> None:
    asked = {"user_id": "ada", "query": QUESTION, "relativity": 0}
    added = await app_client.post(
        "/product/add", json={"user_id": "ada", "async_mode": "sync", "messages": [message(zone)]}
    )
    assert added.status_code == 200, added.text
    buckets = (await app_client.post("/product/search", json=asked)).json()["data"]["text_mem"]
    product = [m["memory"] for bucket in buckets for m in bucket["memories"]]
    assert f"2026-03-01 09:00 Ada: {SAID}" in product
    found = (await app_client.post("/api/openmem/v1/search/memory", json=asked)).json()["data"]
    values = [item["memory_value"] for item in found["memory_detail_list"]]
    assert f"2026-03-01 09:00 Ada: {SAID}" in values
    listed = await app_client.post("/api/openmem/v1/get/memory", json={"user_id": "ada"})
    assert "Ada lives in Oslo. (since 2026-03-01)" in [
        item["memory_value"] for item in listed.json()["data"]["memory_detail_list"]
    ]
    assert not [text for text in product + values if "02-28" in text]


async def test_a_day_told_without_a_month_is_that_of_the_writer(memos: AsyncMemOS, app: object) -> None:
    await memos.add(message("+13:00", "I live in Oslo.", "2026-03-01T09:00:00"), wait=True)  # 28 February in UTC
    assert "(since 2026-03-01)" in (await memos.search(QUESTION)).context
    await memos.add(message("-08:00", "I moved to Bergen.", "2026-04-30T20:00:00"), wait=True)  # 1 May in UTC
    assert "Ada lives in Bergen. (since 2026-04-30)" in (await memos.search(QUESTION)).context


async def test_a_correction_keeps_the_day_that_it_corrects(memos: AsyncMemOS, app: object) -> None:
    await memos.add(message("+13:00", "I live in Oslo."), wait=True)
    await memos.add(message("-08:00", "No, it's Bergen, not Oslo", "2026-03-05T09:00:00"), corrects=(), wait=True)
    assert "Ada lives in Bergen. (since 2026-03-01)" in (await memos.search(QUESTION)).context


async def test_an_earlier_beginning_told_elsewhere_is_the_day_there(memos: AsyncMemOS, app: object) -> None:
    await memos.add(message("+13:00", "I live in Oslo."), wait=True)
    await memos.add(message("-08:00", "I moved to Oslo on 3 February 2026.", "2026-03-05T09:00:00"), wait=True)
    assert "Ada lives in Oslo. (since 2026-02-03)" in (await memos.search(QUESTION)).context


@pytest.mark.parametrize(
    ("since", "written", "asked", "day"),
    [
        (datetime(2026, 2, 28, 23, tzinfo=UTC), "+01:00", "UTC", "2026-03-01"),
        (datetime(2026, 2, 28, 23, tzinfo=UTC), "+01:00", "-08:00", "2026-03-01"),
        (datetime(2026, 2, 28, 23, tzinfo=UTC), "Europe/Oslo", "UTC", "2026-03-01"),
        (datetime(2026, 3, 1, tzinfo=UTC), "-08:00", "UTC", "2026-02-28"),
        (datetime(2026, 3, 1, tzinfo=UTC), None, "-08:00", "2026-03-01"),
        (datetime(2026, 3, 1, 1, tzinfo=UTC), None, "-08:00", "2026-02-28"),
        (datetime(2026, 3, 1, 1, tzinfo=UTC), "Nowhere/Land", "-08:00", "2026-02-28"),
        (datetime(1, 1, 1, tzinfo=UTC), "-08:00", "UTC", "1-01-01"),
        (None, "+01:00", "UTC", ""),
    ],
)
def test_the_day_since_which_a_fact_holds(since: datetime | None, written: str | None, asked: str, day: str) -> None:
    body = {"zone": written} if written else {}
    fact = Memory(new_id(), Kind.FACT, "x", valid_from=since, body=body)
    assert shown_since(fact, load_zone(asked)).lstrip("0") == day


def test_the_time_of_what_names_no_zone_is_that_of_the_reader() -> None:
    said = Memory(new_id(), Kind.TRACE, "x", valid_from=datetime(2026, 3, 1, tzinfo=UTC))
    assert shown_time(said, load_zone("+13:00")) == "2026-03-01 13:00"
    assert shown_time(Memory(new_id(), Kind.TRACE, "x"), UTC) == ""
