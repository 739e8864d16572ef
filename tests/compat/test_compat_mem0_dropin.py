"""`from memos.compat.mem0 import Memory, MemoryClient` without the package `mem0ai`: configurations, homes, errors. That the answers
are those of the real classes is in `frameworks/mem0_checks.py`.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import httpx2
import pytest
from serving import Live

from memos import MemOS
from memos.compat.mem0 import AsyncMemory, AsyncMemoryClient, Memory, MemoryClient
from memos.compat.mem0.config import mapped
from memos.compat.mem0.exceptions import MemoryError as Mem0Error
from memos.compat.mem0.exceptions import MemoryNotFoundError, NetworkError, RateLimitError, ValidationError
from memos.errors import InvalidInput

ALICE = {"user_id": "alice"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the data where no configuration says another."""
    monkeypatch.setenv("MEMOS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def texts(answer: Any) -> list[str]:
    return [m["memory"] for m in answer["results"]]


def test_what_is_said_is_read_and_found(home: Path) -> None:
    with Memory() as memory:
        added = memory.add("I moved to Bergen and I am allergic to nuts.", user_id="alice", metadata={"topic": "home"})
        assert all(event["event"] == "ADD" for event in added["results"])
        assert any("Bergen" in text for text in texts(added))
        found = memory.search("What is she allergic to?", filters={**ALICE, "topic": "home"})
        assert "nuts" in texts(found)[0] and texts(memory.search("nuts", filters={"user_id": "bob"})) == []
        changed = memory.add("I moved to Oslo.", user_id="alice")
        assert "UPDATE" in {event["event"] for event in changed["results"]}
        assert not any("lives in Bergen" in text for text in texts(memory.get_all(filters=ALICE)))
        memory.add("我对花生过敏。", user_id="小明")
        assert "花生" in texts(memory.search("对什么过敏？", filters={"user_id": "小明"}))[0]
    assert home.is_dir()


def test_the_memory_underneath_is_ours(home: Path) -> None:
    with MemOS(home) as m:
        m.add("My keys hang behind the door.")
    with Memory() as memory:
        memory.add("I have a dog called Bruno.", user_id="alice")
        [cube] = [c.name for c in memory.memos.list_cubes() if c.info.get("user_id") == "alice"]
        assert "Bruno" in memory.memos.search("what is the dog called?", cubes=[cube]).hits[0].text
        memory.reset()
        assert memory.get_all(filters=ALICE) == {"results": []}
    with MemOS(home) as m:
        assert "behind the door" in m.search("where are the keys?").hits[0].text  # what others keep there stays


def test_a_configuration_is_taken_over_or_said_to_be_different(tmp_path: Path) -> None:
    found = mapped(
        {
            "llm": {"provider": "openai", "config": {"model": "gpt-4o-mini", "api_key": "k", "temperature": 0.1}},
            "embedder": {
                "provider": "ollama",
                "config": {"model": "nomic-embed-text", "ollama_base_url": "http://10.0.0.7:11434"},
            },
            "vector_store": {"provider": "qdrant", "config": {"path": str(tmp_path / "q"), "collection_name": "c"}},
            "history_db_path": str(tmp_path / "history.db"),
            "reranker": {"provider": "cohere", "config": {}},
            "custom_instructions": "only facts",
            "version": "v1.1",
        }
    )
    assert found.settings == {
        "llm": "openai:gpt-4o-mini", "llm_url": None, "llm_key": "k",
        "embedder": "ollama:nomic-embed-text", "embedder_url": "http://10.0.0.7:11434", "embedder_key": None,
        "home": tmp_path / "q" / "memos",
    }  # fmt: skip
    assert [n.split()[0] for n in found.notices] == ["llm:", "reranker", "memories", "custom_instructions"]
    assert "temperature" in found.notices[0] and "k" not in " ".join(found.notices).split()


@pytest.mark.parametrize(
    ("config", "settings", "notice"),
    [
        ({"llm": {"provider": "groq", "config": {"model": "m"}}}, {}, "llm: 'groq' is no provider that is known here"),
        ({"llm": {"provider": "openai"}}, {}, "llm: 'openai' names no model"),
        ({"llm": {"provider": "azure_openai", "config": {"model": "d", "azure_kwargs": {"azure_endpoint": "https://a.example"}}}},
         {"llm": "azure:d", "llm_url": "https://a.example", "llm_key": None}, "llm: azure_kwargs"),
        ({"llm": {"provider": "xai", "config": {"model": "m", "xai_base_url": "https://x.example/v1"}}},
         {"llm": "openai-compatible:m", "llm_url": "https://x.example/v1", "llm_key": None}, None),
        ({"embedder": {"provider": "huggingface", "config": {"model": "m", "embedding_dims": 9}}}, {"embedder": "st:m"}, None),
        ({"embedder": {"provider": "gemini", "config": {"model": "m"}}}, {}, "embedder: 'gemini' is no provider"),
        ({"vector_store": {"provider": "pgvector", "config": {"host": "db"}}}, {}, "vector_store: nothing is sent to 'pgvector'"),
        ({"history_db_path": "/data/history.db"}, {"home": Path("/data/memos")}, "memories and their history"),
        ({}, {}, None),
    ],
)  # fmt: skip
def test_what_each_part_becomes(config: dict[str, Any], settings: dict[str, Any], notice: str | None) -> None:
    found = mapped(config)
    assert found.settings == settings
    assert [n.startswith(notice) for n in found.notices] == [True] if notice else found.notices == []


def test_a_wrong_configuration_is_refused_and_a_strange_one_warned_of(home: Path) -> None:
    with pytest.raises(InvalidInput, match="vectorstore"):
        Memory.from_config({"vectorstore": {}})
    with pytest.raises(InvalidInput, match="dictionary"):
        Memory.from_config([])  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="pgvector"):
        memory = Memory.from_config({"vector_store": {"provider": "pgvector", "config": {"host": "db"}}})
    assert "pgvector" in memory.notices[0]
    with pytest.warns(UserWarning, match="prompt"):
        memory.add("Tea is in the kitchen.", user_id="alice", prompt="only drinks")
    with pytest.warns(UserWarning, match="'limit'"):
        memory.get_all(filters=ALICE, limit=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        memory.get_all(filters=ALICE)
    with pytest.raises(ValidationError) as told:
        memory.add("x")
    assert told.value.error_code == "VALIDATION_001" and isinstance(told.value, ValueError)
    memory.close()


def test_an_asynchronous_memory_serves_several_loops(home: Path) -> None:
    memory = AsyncMemory()

    async def both() -> list[str]:
        said = (f"Number {n} is a number." for n in range(4))
        await asyncio.gather(*(memory.add(text, user_id="alice", infer=False) for text in said))
        return texts(await memory.search("number", filters=ALICE))

    assert len(asyncio.run(both())) == 4 == len(asyncio.run(memory.get_all(filters=ALICE))["results"])
    memory.close()

    async def with_it() -> None:
        async with AsyncMemory() as again:
            assert len((await again.get_all(filters=ALICE))["results"]) == 4
        with pytest.raises(InvalidInput, match="closed"):
            await again.get_all(filters=ALICE)

    asyncio.run(with_it())


def test_a_client_asks_the_server_that_is_named(served: Live, ada: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="API Key"):
        MemoryClient()
    monkeypatch.setenv("MEMOS_API_KEY", "any")
    monkeypatch.setenv("MEMOS_URL", served.url)
    client = MemoryClient()
    assert client.host == f"{served.url}/compat/mem0"
    client.add("The keys hang behind the door.", user_id=ada, infer=False, async_mode=False)
    assert texts(client.search("keys", filters={"user_id": ada})) == ["The keys hang behind the door."]
    with pytest.raises(MemoryNotFoundError) as told:
        client.get("nothing/of this?name")
    assert told.value.debug_info["status_code"] == 404 and told.value.suggestion
    assert client.delete_all(filters={"user_id": ada})["message"]
    assert client.get_all(filters={"user_id": ada})["results"] == []
    client.close()


async def test_a_server_that_is_away_is_no_empty_memory() -> None:
    for kind in (MemoryClient, AsyncMemoryClient):
        with pytest.raises(NetworkError) as told:
            kind(api_key="k", host="http://127.0.0.1:9")
        assert told.value.error_code == "NET_CONNECT"


async def test_clients_of_the_callers_own_are_used() -> None:
    """What a server answers is told in mem0's errors; the answers are made here, for no server has them at will."""
    answers = [
        httpx2.Response(200, json={"status": "ok"}),
        httpx2.Response(429, json={"detail": "slowly"}, headers={"Retry-After": "7"}),
    ]
    asked: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return answers[len(asked) - 1]

    client = MemoryClient(
        "k", "http://server.example/compat/mem0/", httpx2.Client(transport=httpx2.MockTransport(answer))
    )
    with pytest.raises(RateLimitError, match="slowly") as told:
        client.delete("a/b", delete_linked=True)
    assert told.value.debug_info["retry_after"] == 7 and told.value.error_code == "HTTP_429"
    assert asked[1].headers["Authorization"] == "Token k"
    assert str(asked[1].url) == "http://server.example/compat/mem0/v1/memories/a%2Fb/?delete_linked=true"
    with pytest.raises(InvalidInput, match="no projects"):
        client.project.get()
    answers.append(httpx2.Response(200, text="<html>a web page</html>"))
    with pytest.raises(Mem0Error, match="no JSON"):
        client.users()
    with pytest.raises(InvalidInput, match="characters"):
        MemoryClient("schlüssel", "http://server.example")


def test_nothing_of_mem0_is_needed_and_the_rest_is_loaded_when_asked_for() -> None:
    code = "import sys; sys.modules['mem0'] = None; import memos.compat.mem0.core as c, memos.compat.mem0 as m; "
    code += "print(sorted({'memos.compat.mem0.memory', 'memos.compat.mem0.client'} & set(sys.modules))); "
    code += "print(m.Memory.__name__, m.AsyncMemory.__name__, m.MemoryClient.__name__, m.AsyncMemoryClient.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == ["[]", "Memory AsyncMemory MemoryClient AsyncMemoryClient"], done.stderr
