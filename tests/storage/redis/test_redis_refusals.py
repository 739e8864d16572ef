"""A server that cannot be used says why, in our words; one that is full refuses more and goes on with what it has."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable

import pytest
from queue_making import done, drain, ids, new, put, take
from redis_server import Server

from memos.errors import InvalidInput, StorageFull, StorageReadOnly, Unavailable
from memos.storage.redis.link import without_password
from memos.storage.redis.queue import RedisTaskQueue
from memos.storage.tasks import TaskQuery, TaskState


async def refused(url: str) -> str:
    queue = RedisTaskQueue(url)
    with pytest.raises(Unavailable) as error:
        await put(queue)
    await queue.close()
    return str(error.value)


async def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    said = await refused("redis://ann:hunter2@127.0.0.1:1/0")
    assert "127.0.0.1:1" in said
    assert "hunter2" not in said


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://h:1/0", "redis://h:1/0"),
        ("redis://:p@ss@h:1/0", "redis://***@h:1/0"),
        ("redis://:p/a?s#s@h:1/0", "redis://***"),
        ("redis://h:1?password=a@b", "redis://***"),
        ("rediss://u:p@h", "rediss://***@h"),
        ("redis://h:1/0?password=p", "redis://h:1/0"),
    ],
)
def test_passwords_are_not_shown(url: str, shown: str) -> None:
    assert without_password(url) == shown


@pytest.mark.parametrize("url", ["", "http://h", "no url"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        RedisTaskQueue(url)


@pytest.mark.parametrize("namespace", ["", "a{b", "}"])
def test_a_namespace_that_would_scatter_its_keys_is_refused(namespace: str) -> None:
    with pytest.raises(InvalidInput):
        RedisTaskQueue("redis://h", namespace=namespace)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)
    with pytest.raises(Unavailable, match=r"pip install '\.\[redis\]'"):
        RedisTaskQueue("redis://h")


def test_the_package_is_loaded_only_when_a_queue_is_made() -> None:
    code = "import sys, memos, memos.storage.redis.queue; assert not {'redis', 'redis.asyncio'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


async def test_a_wrong_password_is_told(own_server: Callable[..., Server]) -> None:
    server = own_server(requirepass="right")
    for user in ("", ":wrong@"):
        said = await refused(server.url.replace("//", f"//{user}"))
        assert "password" in said
        assert "wrong@" not in said
    queue = RedisTaskQueue(server.url.replace("//", "//:right@"))
    await put(queue)
    await queue.close()


async def test_a_server_that_throws_keys_away_is_refused(own_server: Callable[..., Server]) -> None:
    server = own_server(maxmemory="100mb", maxmemory_policy="allkeys-lru")
    assert "noeviction" in await refused(server.url)


async def test_a_full_server_takes_no_more_but_works_on_until_there_is_room(own_server: Callable[..., Server]) -> None:
    queue = RedisTaskQueue(own_server(maxmemory="4mb").url)
    kept: list[str] = []

    async def fill() -> None:
        for i in range(10_000):
            kept.extend(ids(await queue.enqueue([new(f"l{i % 3}", payload={"x": "y" * 10_000}) for _ in range(10)])))

    with pytest.raises(StorageFull):
        await fill()
    counts = await queue.counts(TaskQuery())
    assert counts[TaskState.WAITING] == len(kept)  # all or none
    assert sorted(ids(await drain(queue))) == sorted(kept)
    assert await queue.prune(older_than=0) == len(kept)
    await put(queue)
    await queue.close()


async def test_a_replica_is_read_only(own_server: Callable[..., Server]) -> None:
    first = own_server(repl_diskless_sync_delay="0")
    writing = RedisTaskQueue(first.url)
    made = await put(writing)
    second = own_server(replicaof=f"127.0.0.1 {first.port}")
    reading = RedisTaskQueue(second.url)
    for _ in range(200):
        if found := await reading.get([made.id]):
            break
        await asyncio.sleep(0.05)
    assert found == [made]
    with pytest.raises(StorageReadOnly):
        await put(reading)
    with pytest.raises(StorageReadOnly):
        await take(reading)
    await done(writing, await take(writing))
    for queue in (writing, reading):
        await queue.close()
