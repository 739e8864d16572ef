"""The real clients of mem0's cloud, unmodified, against our server: every public method they have. Run by
`test_compat_frameworks.py` in an environment with `mem0ai`.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import mem0
import pytest
from mem0 import exceptions
from mem0.client import types

sys.path.insert(0, str(Path(__file__).parents[2] / "server"))
from serving import Starter

from memos import MemOS

ALICE = {"user_id": "alice"}
VEGAN = [{"role": "user", "content": "I'm vegetarian and I live in Oslo."}]
USED: set[str] = set()
# What belongs to the console of mem0's cloud: refused, and said so.
REFUSED: dict[str, tuple[Any, ...]] = {
    "get_webhooks": ("default",),
    "create_webhook": ("http://x", "n", "default", ["memory:add"]),
    "update_webhook": (1, "n"),
    "delete_webhook": (1,),
    "sample_profiles": (3,),
    "update_profile_settings": (True,),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, str]]:
    """A server's mem0 wire, and keys of two tenants."""
    folder = tmp_path_factory.mktemp("mem0-wire")
    with MemOS(folder / "home", embedder="none") as memos:
        keys = [memos.accounts.create_key(name)[1] for name in ("acme", "other")]
    start = Starter(folder)
    try:
        yield f"{start(home=folder / 'home').url}/compat/mem0", keys[0], keys[1]
    finally:
        start.end()


class Noted:
    """A client that notes which of its methods were called. With `aio` it is the asynchronous one, waited for."""

    def __init__(self, host: str, key: str, *, aio: bool) -> None:
        self.aio = aio
        self.loop = asyncio.new_event_loop()
        kind = mem0.AsyncMemoryClient if aio else mem0.MemoryClient
        self.real: Any = kind(api_key=key, host=host)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.real, name)

        def call(*args: Any, **options: Any) -> Any:
            USED.add(name)
            answer = method(*args, **options)
            return self.loop.run_until_complete(answer) if inspect.isawaitable(answer) else answer

        return call

    def texts(self, filters: Any, **options: Any) -> list[str]:
        return [memory["memory"] for memory in self.get_all(filters=filters, **options)["results"]]

    def event(self, id: str) -> dict[str, Any]:
        """An event once it has ended, asked for with the client's own connection and key."""
        headers = {"Authorization": f"Token {self.real.api_key}"}
        for _ in range(200):
            told: dict[str, Any] = httpx.get(f"{self.real.host}/v1/event/{id}/", headers=headers).json()
            if told["status"] in ("SUCCEEDED", "FAILED"):
                return told
            time.sleep(0.05)
        raise AssertionError(told)


@pytest.fixture(params=["sync", "async"])
def client(server: tuple[str, str, str], request: pytest.FixtureRequest) -> Iterator[Noted]:
    found = Noted(server[0], server[1], aio=request.param == "async")
    yield found
    if found.real is not None and found.users()["results"]:
        found.reset()
    found.loop.close()


def test_add_search_list_get(client: Noted) -> None:
    answer = client.add(VEGAN, user_id="alice", metadata={"topic": "me"})
    assert answer["status"] == "PENDING"
    told = client.event(answer["event_id"])
    assert (told["status"], [each["event"] for each in told["results"]]) == ("SUCCEEDED", ["ADD", "ADD"])
    assert client.texts(ALICE) == ["Alice lives in Oslo.", "Alice is vegetarian."]
    found = client.search("Where does she live?", filters=ALICE, top_k=3)["results"]
    assert found[0]["memory"] == "Alice lives in Oslo."
    assert found[0]["metadata"] == {"topic": "me"}
    assert client.get(found[0]["id"])["memory"] == "Alice lives in Oslo."
    assert client.search("Oslo", filters={"user_id": "bob"})["results"] == []
    page = client.get_all(filters=ALICE, page=2, page_size=1)
    assert (page["count"], len(page["results"]), page["next"]) == (2, 1, None)
    assert "page=1" in page["previous"]


def test_typed_options(client: Noted) -> None:
    client.add(
        "tea", types.AddMemoryOptions(filters=ALICE, infer=False, metadata={"n": 1}, expiration_date="2999-01-01")
    )
    options = types.SearchMemoryOptions(
        filters={"AND": [ALICE, {"metadata": {"n": {"gte": 1}}}]}, threshold=0.0, rerank=True
    )
    assert [m["memory"] for m in client.search("tea", options)["results"]] == ["tea"]
    listing = types.GetAllMemoryOptions(filters=ALICE, page=1, page_size=5, start_date="2020-01-01", show_expired=True)
    (kept,) = client.get_all(listing)["results"]
    client.update(kept["id"], types.UpdateMemoryOptions(text="green tea"))
    client.update(kept["id"], expiration_date=None)
    assert client.get(kept["id"])["expiration_date"] is None
    client.delete_all(types.DeleteAllMemoryOptions(filters=ALICE))
    assert client.texts(ALICE) == []


def test_change_history_delete(client: Noted) -> None:
    (kept,) = client.add("tea", user_id="alice", infer=False)["results"]
    client.update(kept["id"], text="green tea", metadata={"n": 1})
    assert [(h["event"], h["new_memory"]) for h in client.history(kept["id"])] == [
        ("ADD", "tea"),
        ("UPDATE", "green tea"),
    ]
    assert client.feedback(kept["id"], "positive", "good")["feedback"] == "POSITIVE"
    client.batch_update([{"memory_id": kept["id"], "text": "black tea"}])
    assert client.texts(ALICE) == ["black tea"]
    (more,) = client.add("cake", user_id="alice", infer=False)["results"]
    client.batch_delete([{"memory_id": more["id"]}])
    client.delete(kept["id"], delete_linked=True)
    assert client.texts(ALICE) == []
    with pytest.raises(exceptions.MemoryNotFoundError, match="does not exist"):
        client.get(kept["id"])


def test_entities(client: Noted) -> None:
    for ids in ({"user_id": "alice"}, {"agent_id": "a/b"}, {"run_id": "r1"}, {"app_id": "shop"}):
        client.add("tea", infer=False, **ids)
    found = {(each["type"], each["name"]) for each in client.users()["results"]}
    assert found == {("user", "alice"), ("agent", "a/b"), ("run", "r1"), ("app", "shop")}
    client.delete_users(agent_id="a/b")
    client.delete_all(run_id="r1")
    assert {each["type"] for each in client.users()["results"]} == {"user", "app"}
    client.add("cake", user_id="alice", agent_id="bot", infer=False)  # one cube of two entities
    client.reset()
    assert client.users()["results"] == []


def test_exports_summary_profiles_project(client: Noted) -> None:
    client.event(client.add(VEGAN, user_id="alice")["event_id"])
    export = client.create_memory_export(schema="{}", filters=ALICE)
    assert len(client.get_memory_export(memory_export_id=export["id"])["memories"]) == 2
    assert len(client.get_memory_export(user_id="alice")["memories"]) == 2
    assert "vegetarian" in client.get_summary(ALICE)["summary"]
    assert client.get_profile("alice")["status"] == "succeeded"
    job = client.generate_profile("alice")
    assert client.get_profile_job(job["status_url"])["job"]["status"] == "succeeded"
    assert client.get_profile_job(job["job_id"])["job"]["status"] == "succeeded"
    assert client.get_profile_settings()["enabled"] is True
    assert client.get_project()["id"] == "acme"
    with pytest.raises(exceptions.ValidationError, match="projects"):
        client.update_project(custom_instructions="x")
    with pytest.raises(NotImplementedError):
        client.chat()


@pytest.mark.parametrize("name", REFUSED)
def test_what_belongs_to_the_console_is_refused(client: Noted, name: str) -> None:
    with pytest.raises(exceptions.ValidationError, match="here"):
        getattr(client, name)(*REFUSED[name])


def test_mistakes_are_the_clients_own_errors(client: Noted) -> None:
    for filters in ({"userid": "alice"}, {"AND": []}, {"user_id": {"like": "a"}}):
        with pytest.raises(exceptions.ValidationError):
            client.get_all(filters=filters)
    with pytest.raises(exceptions.ValidationError):
        client.add("tea")
    with pytest.raises(exceptions.MemoryNotFoundError):
        client.update("01a22d52-5fd0-7903-85b5-4b697aa90a8d", text="x")


def test_tenants_do_not_see_each_other(server: tuple[str, str, str], client: Noted) -> None:
    host, _, key = server
    (mine,) = client.add("The vault opens with 4711.", user_id="alice", infer=False)["results"]
    other = Noted(host, key, aio=client.aio)
    assert other.texts({"user_id": "*"}) == []
    assert other.search("vault", filters=ALICE)["results"] == []
    for refused in (lambda: other.get(mine["id"]), lambda: other.delete(mine["id"]), lambda: other.history(mine["id"])):
        with pytest.raises(exceptions.MemoryNotFoundError):
            refused()
    other.delete_all(user_id="*")
    assert client.texts(ALICE) == ["The vault opens with 4711."]
    other.loop.close()


def test_a_bad_key_is_refused(server: tuple[str, str, str]) -> None:
    with pytest.raises(ValueError, match="Error"):
        mem0.MemoryClient(api_key="m0-nope", host=server[0])


def test_every_public_method_was_called() -> None:
    public = {n for n, _ in inspect.getmembers(mem0.MemoryClient, inspect.isfunction) if not n.startswith("_")}
    assert public - USED == set()
