"""Entities by the client, against a real server: the same values as the library gives."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from memos import MemOS, errors
from memos.client import Client


def test_the_verbs_of_entities_answer_what_the_library_answers(live: Any) -> None:
    user = f"eva-{uuid.uuid4().hex[:8]}"
    with Client(live.url, user=user, timeout=30) as client, MemOS(live.home, embedder="none", background=False) as lib:
        client.add("We met Robert Chen in Oslo.", wait=True)
        client.add("Then Bob Miller called us.", wait=True)
        page = client.entities()
        assert page == lib.entities(user=user) and {e.name for e in page} == {"Robert Chen", "Oslo", "Bob Miller"}
        assert [e.name for e in client.entities(name="chen", type="person")] == ["Robert Chen"]
        (bob,) = client.resolve_entity("bob miller")
        done = client.merge_entities("Robert Chen", "Bob Miller")
        assert (done.other.merged_into, done.edges) == (done.kept.id, 1)
        assert client.resolve_entity("Bob Miller") == [done.kept]
        assert client.entities(merged=True) == lib.entities(merged=True, user=user)
        assert client.unmerge(bob.id).entity == bob
        assert client.add_alias("Robert Chen", "Bobby").aliases == ("Bobby",)
        assert client.remove_alias("Robert Chen", "Bobby").aliases == ()
        with pytest.raises(errors.NotFound):
            client.remove_alias("Robert Chen", "Bobby")
        with pytest.raises(errors.Conflict):
            client.add_alias("Robert Chen", "Bob Miller")
        with pytest.raises(errors.InvalidInput):
            client.merge_entities("Oslo", "Oslo")


def test_contradictions_reach_the_caller(live: Any) -> None:
    user = f"eva-{uuid.uuid4().hex[:8]}"
    with Client(live.url, user=user, timeout=30) as client:
        client.add([{"role": "user", "name": "Ann", "content": "The gate is B12."}], wait=True)
        client.add([{"role": "user", "name": "Bob", "content": "The gate is C30."}], wait=True)
        found = client.search("Which gate is it?")
    assert {c.text for c in found.contradicts} == {"The gate is B12.", "The gate is C30."}
    assert {c.by for h in found for c in h.contradicts} == {c.by for c in found.contradicts}
    assert "[contradicted by: The gate is C30.]" in found.context
