"""Upkeep through the client: the same values as the library gives, and the same errors."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from memos import MemOS
from memos.client import Client
from memos.errors import AccessDenied, InvalidInput
from memos.memory.upkeep import RetentionRule

POTTERY = [
    "The pottery class started with a clay bowl on the wheel.",
    "My clay bowl cracked in the kiln during pottery class.",
    "The pottery teacher glazed a blue clay vase in the kiln.",
    "Next pottery class we fire the clay mugs in the kiln.",
]


@pytest.fixture
def user() -> str:
    return f"ada-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def client(live: Any, user: str) -> Iterator[Client]:
    with Client(live.url, user=user, timeout=30) as client:
        yield client


@pytest.fixture
def library(live: Any) -> Iterator[MemOS]:
    with MemOS(live.home, embedder="none", background=False) as memos:
        yield memos


def test_the_working_set_is_the_one_of_the_library(client: Client, library: MemOS, user: str) -> None:
    client.add(["I live in Oslo.", "I love kayaking."], session="home", wait=True)
    client.add("Where in Oslo is my kayak?", session="trip", wait=True)
    here, there = client.working("trip"), library.working("trip", user=user)
    assert here == there and len(here) >= 2
    assert client.working().session == "trip"


def test_topics_are_those_of_the_library(client: Client, library: MemOS, user: str) -> None:
    client.add(POTTERY, wait=True)
    assert client.reorganize().new == 1
    assert client.topics() == library.topics(user=user) == client.topics("pottery kiln", limit=1)
    with pytest.raises(InvalidInput):
        client.topics(" ")


def test_retention_is_that_of_the_library(client: Client, library: MemOS, user: str) -> None:
    client.add(POTTERY, wait=True)
    rules = client.set_retention(
        [RetentionRule(kinds=("trace",), keep_newest=3), {"max_age_days": 30.5, "tags": ["tmp"]}]
    )
    assert rules == client.retention() == library.retention(user=user)
    assert rules == [RetentionRule(kinds=("trace",), keep_newest=3), RetentionRule(tags=("tmp",), max_age_days=30.5)]
    assert client.preview_retention() == library.preview_retention(user=user)
    assert client.preview_retention([{"kinds": ["trace"], "keep_newest": 0}], limit=2).total == 4
    assert client.apply_retention().removed == {"0": 1}
    assert client.retention_log() == library.retention_log(user=user)
    assert client.set_retention([]) == []
    with pytest.raises(InvalidInput):
        client.apply_retention()
    with pytest.raises(InvalidInput):
        client.set_retention([{"keep_newest": -1}])


def test_who_may_only_write_sets_no_rules(client: Client, user: str) -> None:
    client.create_cube(f"team-{user}")
    client.share(f"team-{user}", "bob", "write")
    with pytest.raises(AccessDenied):
        client.set_retention([], user="bob", cube=f"team-{user}")
