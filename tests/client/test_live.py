"""The client against a real server: every verb, with the same values as the library gives."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memos import MemOS, errors
from memos.client import AsyncClient, Client
from memos.memory.hit import SearchResult
from memos.memory.model import Kind
from memos.memory.reading import ReadingConfig
from memos.storage.ports import Link


@pytest.fixture
def user() -> str:
    return f"ada-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def client(live: Any, user: str) -> Iterator[Client]:
    with Client(live.url, user=user, timeout=30) as client:
        yield client


@pytest.fixture
def library(live: Any) -> Iterator[MemOS]:
    """The library on the server's own data folder."""
    with MemOS(live.home, embedder="none", background=False) as memos:
        yield memos


def test_what_is_added_is_found(client: Client, user: str) -> None:
    added = client.add("I moved to Oslo last week", wait=True)
    found = client.search("where do I live?")
    assert isinstance(found, SearchResult) and found.status == "found"
    assert found.hits[0].id == added.ids[0] and "Oslo" in str(found)
    assert found.hits[0].memory.owner == user
    assert client.explain("where do I live?", added.ids[0]).found


def test_every_value_is_the_one_that_the_library_gives(client: Client, library: MemOS, user: str) -> None:
    chat = [
        {"role": "user", "content": "I live in Oslo and work at Equinor.", "chat_time": "2026-01-05T09:00:00+01:00"},
        {"role": "assistant", "content": "Noted: Oslo, Equinor.", "chat_time": "2026-01-05T09:01:00+01:00"},
    ]
    ids = client.add(chat, session="s", tags=["home"], info={"app": {"n": [1, None, "é"]}}, wait=True).ids
    client.update(ids[0], importance=0.9, info={"more": True}, cause="test")
    for id in ids:
        assert client.get(id) == library.get(id, user=user)
        assert client.history(id) == library.history(id, user=user)
        here, there = client.neighbors(id), library.neighbors(id, user=user)
        assert sorted(here, key=str_of_ends) == sorted(there, key=str_of_ends) and here
    assert client.list(limit=3) == library.list(limit=3, user=user)
    assert client.list_cubes() == library.list_cubes(user=user)
    ours, theirs = client.stats(), library.stats(user=user)
    assert (ours.cube, ours.store.memories, ours.store.by_kind) == (user, theirs.store.memories, theirs.store.by_kind)
    question = {"as_of": "2026-02-01", "reference_time": "2026-02-02"}
    here, there = (
        client.search("who works at Equinor?", **question),
        library.search("who works at Equinor?", user=user, **question),
    )
    assert [h.memory for h in here.hits] == [h.memory for h in there.hits]
    assert here.context == there.context and here.status == there.status
    why = client.explain("who works at Equinor?", ids[0], **question)
    assert why.stages == library.explain("who works at Equinor?", ids[0], user=user, **question).stages


def str_of_ends(link: Link) -> str:
    return f"{link.edge.src} {link.edge.dst} {link.edge.type}"


def test_memories_are_changed_taken_back_and_deleted(client: Client) -> None:
    first, second = client.add(["I have a red bicycle at home", "My sister plays the violin well"]).ids
    assert client.update(first, text="I have a blue bicycle at home").version == 2
    assert "I have a red bicycle at home" in [m.text for m in client.undo(first)]
    assert [v.op for v in client.history(first)] == ["add", "update", "undo"]
    with pytest.raises(errors.Conflict):
        client.update(first, title="bicycle", if_version=1)
    assert client.update(first, title="bicycle", if_version=client.get(first).version).title == "bicycle"
    assert client.delete(first, hard=False).retracted >= 1  # and what was derived of it by then
    assert client.get_many([second, first, str(uuid.uuid4())]).items[0].id == second
    assert client.delete([second], dry_run=True).memories == 1
    assert client.delete([second]).memories == 1
    with pytest.raises(errors.NotFound):
        client.get(second)
    assert client.delete(everything=True).asked >= 0
    assert client.count(kinds=["trace"]) == 0


def test_errors_are_those_of_the_library(client: Client) -> None:
    with pytest.raises(errors.InvalidInput):
        client.add("")
    with pytest.raises(errors.InvalidFilter):
        client.list(filter={"nonsense": 1})
    with pytest.raises(errors.NotFound):
        client.get(str(uuid.uuid4()))
    with pytest.raises(errors.NotFound):
        client.get("not an id")
    with pytest.raises(errors.NotFound):
        client.search("x", cube="somebody-elses")
    with pytest.raises(errors.InvalidInput):
        client.search("x", limit=0)
    with pytest.raises(errors.InvalidInput):
        client.delete()


def test_many_memories_are_iterated_page_by_page(client: Client) -> None:
    client.add([f"Item {i} of the long shopping list is ready" for i in range(25)], derive=False)
    texts = [m.text for m in client.iterate(limit=10, newest_first=False, filter={"kind": "trace"})]
    assert texts == [f"Item {i} of the long shopping list is ready" for i in range(25)]
    assert client.count(kinds=[Kind.TRACE]) == 25


def test_cubes_are_made_shared_taken_out_and_brought_back(client: Client, live: Any, user: str, tmp_path: Path) -> None:
    name = f"team/{user} é"
    made = client.create_cube(name, info={"purpose": "notes"})
    assert (made.name, made.owner, made.info) == (name, user, {"purpose": "notes"})
    with pytest.raises((errors.Conflict, errors.InvalidInput)):
        client.create_cube(name)
    client.add("The standup is at nine on Tuesdays", cube=name)
    assert client.share(name, f"bob-{user}").grants == {f"bob-{user}": "read"}
    with Client(live.url, user=f"bob-{user}") as bob:
        assert bob.search("when is the standup?", cubes=[name]).hits[0].cube == name
        with pytest.raises(errors.AccessDenied):
            bob.add("I was here", cube=name)
    assert client.share(name, f"bob-{user}", None).grants == {}
    client.flush(cube=name)
    report = client.export_cube(tmp_path / "a.memos", cube=name)
    assert (report.cube, report.memories) == (name, client.stats(cube=name).store.memories)
    assert report.bytes == (tmp_path / "a.memos").stat().st_size
    with pytest.raises(errors.InvalidInput, match="exists already"):
        client.export_cube(tmp_path / "a.memos", cube=name)
    copied = client.import_cube(tmp_path / "a.memos", f"{name} 2")
    assert (copied.memories, copied.sha256) == (report.memories, report.sha256)
    (tmp_path / "b.memos").write_bytes(b"no archive")
    with pytest.raises(errors.ArchiveError):
        client.import_cube(tmp_path / "b.memos", f"{name} 3")
    assert {c.name for c in client.list_cubes()} >= {name, f"{name} 2"}
    assert client.delete_cube(name) > 0
    with pytest.raises(errors.NotFound):
        client.open_cube(name)


def test_the_work_behind_an_add_can_be_followed(client: Client, user: str) -> None:
    added = client.add("I moved to Bergen in March", task_id="turn-1")
    assert added.task is not None
    states = [task.state for task in client.follow_task(added.task)]
    assert states[-1] == "completed"
    assert client.wait_task(added.task, 10).state == "completed"
    assert client.get_task(added.task).id == added.task
    assert [t.id for t in client.list_tasks(task_id="turn-1").items] == [added.task]
    assert added.task in [t.id for t in client.iterate_tasks(states=["completed"], limit=1)]
    assert client.task_stats().counts["completed"] >= 1
    with pytest.raises(errors.Conflict):
        client.retry_task(added.task)
    with pytest.raises(errors.NotFound):
        client.get_task(str(uuid.uuid4()))


def test_an_add_that_is_sent_twice_with_one_key_is_stored_once(client: Client) -> None:
    one, two = (client.add("ok", idempotency_key="k1") for _ in range(2))
    assert one.ids == two.ids and not two.records[0].new
    assert client.count() == 1


def test_everybody_may_ask_who_they_are(client: Client) -> None:
    assert client.me().user is None and client.me().acting_as == "default"


def test_many_threads_add_through_one_client(client: Client) -> None:
    def work(n: int) -> None:
        for i in range(5):
            client.add(f"Thread {n} says its sentence number {i} now", derive=False)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert client.count() == 40


async def test_many_calls_of_one_loop_run_together(live: Any, user: str) -> None:
    async with AsyncClient(live.url, user=user) as client:
        await asyncio.gather(*(client.add(f"Sentence number {i} of many sentences", derive=False) for i in range(30)))
        assert len([m async for m in client.iterate(limit=7)]) == 30


def test_users_and_keys(serve: Any) -> None:
    server = serve(MEMOS_SERVER_AUTH="auto")
    with Client(server.url) as open_client:
        root = open_client.create_key("root", scopes=["admin"], description="first")
    assert root.secret not in repr(root)
    with Client(server.url) as nobody, pytest.raises(errors.Unauthorized):
        nobody.me()
    with Client(server.url, root.secret) as admin:
        assert admin.me().user == "root" and "admin" in admin.me().scopes
        assert admin.create_user("ada", info={"team": "x"}).info == {"team": "x"}
        key = admin.create_key("ada", expires_in_days=1)
        assert {u.name for u in admin.list_users()} >= {"ada", "root"}
        with Client(server.url, key.secret) as ada:
            ada.add("I live in Oslo these days")
            assert ada.stats().cube == "ada"
            with pytest.raises(errors.AccessDenied):
                ada.search("x", user="root")
            with pytest.raises(errors.AccessDenied):
                ada.list_users()
            assert admin.set_active("ada", False).active is False
            with pytest.raises(errors.Unauthorized):
                ada.me()
        assert admin.set_active("ada", True).active
        assert [k.id for k in admin.list_keys(user="ada")] == [key.key.id]
        assert admin.revoke_key(key.key.id).revoked_at is not None
        assert admin.list_keys(user="ada") == []
        assert admin.get_user("ada").name == "ada"
        assert admin.delete_user("ada", everything=True) == 1
        actions = [e.action for e in admin.iterate_audit(limit=2)]
        assert actions[0] == "user.delete" and "key.create" in actions


def test_the_same_words_twice_are_one_record_as_in_the_library(live: Any) -> None:
    with Client(live.url) as client:
        first, again = (client.add("The kayak is teal and lives in shed 4.", user="folded") for _ in range(2))
        assert again.ids == first.ids and again.records[0].seen == 2
        assert client.count(user="folded", kinds=["trace"]) == 1
        short, other = (client.add("ok", user="folded") for _ in range(2))
        assert short.ids != other.ids


def test_how_a_cube_is_read_is_asked_and_set(client: Client, user: str) -> None:
    added = client.add("I live in Oslo.", wait=True, reading="fine")
    assert any("MEMOS_LLM" in notice for notice in added.notices)
    assert client.reading() == ReadingConfig()
    config = client.configure_reading(mode="fast", instructions="Only cats.", tags=["pet"])
    assert config == ReadingConfig("fast", "Only cats.", ("pet",)) == client.reading(cube=user)
    again = client.reread(added.ids[0], wait=True)
    assert (again.records, again.pending) == (1, False) and "MEMOS_LLM" in again.notices[0]
