"""A client that was given an address below or beside the root says so, and does not call a memory missing."""

from __future__ import annotations

import pytest
from serving import Live

from memos.client import Client
from memos.errors import InvalidInput, NotFound

ID = "019a1f3c-77aa-7c31-8a2f-2b6d0f9f3f11"


@pytest.mark.parametrize("path", ["/product", "/api/openmem/v1", "/elsewhere"])
def test_an_address_below_the_root_is_told(live: Live, path: str) -> None:
    with Client(live.url + path) as client:
        for call in (lambda: client.get(ID), lambda: client.add("I like tea"), lambda: client.list()):
            with pytest.raises(
                InvalidInput, match=f"is not the root of a MemOS server; leave out {path.removesuffix('/v1')}"
            ):
                call()


def test_at_the_root_a_missing_memory_is_missing(live: Live) -> None:
    with Client(live.url + "/v1/") as client, pytest.raises(NotFound, match="does not exist for user"):
        client.get(ID)
