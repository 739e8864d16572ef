"""Feedback through the client against a real server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from memos.client import Client
from memos.errors import InvalidInput


@pytest.fixture
def client(live: Any) -> Iterator[Client]:
    with Client(live.url, user=f"fay-{uuid.uuid4().hex[:8]}", timeout=30) as client:
        yield client


def test_a_correction_is_done_and_taken_back(client: Client) -> None:
    client.add("I live in Oslo.", wait=True)
    done = client.feedback(
        "No, it's Bergen, not Oslo.", history=[{"role": "assistant", "content": "You live in Oslo."}]
    )
    assert [one.operation for one in done.operations] == ["correct"]
    assert "Bergen" in str(client.search("Where do I live?"))
    assert done.record is not None
    client.undo(done.record)
    assert [m.text.split()[-1] for m in client.list(kinds=["profile"]).items] == ["Oslo."]


def test_a_rehearsal_and_a_thumb(client: Client) -> None:
    (id,) = client.add("I like tea.", wait=True).ids
    assert client.feedback("Forget that I like tea.", dry_run=True).record is None
    assert client.feedback(rating="up", targets=[id]).understood


def test_what_says_nothing_is_refused(client: Client) -> None:
    with pytest.raises(InvalidInput):
        client.feedback("")
