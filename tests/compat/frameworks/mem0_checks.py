"""Our drop-in classes next to the real package `mem0ai`: the same calls, the same answers. Run by
`tests/compat/test_compat_frameworks.py` in an environment that has it.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import mem0
import mem0.exceptions
import mem0.memory.main
import pytest
from serving import Live

from memos.compat import mem0 as ours
from memos.compat.mem0 import exceptions

CLASSES = ("Memory", "AsyncMemory", "MemoryClient", "AsyncMemoryClient")
SPECIAL = ("__init__", "__enter__", "__exit__", "__aenter__", "__aexit__")
INSIDE = {"entity_store"}  # a part of mem0's own machinery


def verbs(kind: type) -> dict[str, Any]:
    """What a class offers its callers."""
    return {n: m for n, m in inspect.getmembers(kind) if (n in SPECIAL or not n.startswith("_")) and n not in INSIDE}


@pytest.mark.parametrize("name", CLASSES)
def test_every_call_takes_what_it_takes_there(name: str) -> None:
    theirs, mine = verbs(getattr(mem0, name)), verbs(getattr(ours, name))
    assert set(theirs) <= set(mine)
    for verb, method in theirs.items():
        if not callable(method):
            continue
        there, here = inspect.signature(method).parameters, inspect.signature(mine[verb]).parameters
        assert list(here) == list(there), verb
        for parameter in there.values():
            same = here[parameter.name]
            assert same.kind is parameter.kind, (verb, parameter.name)
            if not (parameter.name == "config" or "object object" in repr(parameter.default)):
                assert same.default == parameter.default, (verb, parameter.name)
        assert inspect.iscoroutinefunction(mine[verb]) == inspect.iscoroutinefunction(method), verb


@pytest.mark.parametrize("pair", [("Project", "Project"), ("AsyncProject", "AsyncProject")])
def test_every_call_of_a_project_takes_what_it_takes_there(pair: tuple[str, str]) -> None:
    from mem0.client import project as there

    from memos.compat.mem0 import project as here

    for verb, method in verbs(getattr(there, pair[0])).items():
        if callable(method) and verb != "__init__":
            mine = getattr(getattr(here, pair[1]), verb)
            assert list(inspect.signature(mine).parameters) == list(inspect.signature(method).parameters), verb


def test_errors_have_the_names_and_parts_they_have_there() -> None:
    for status in (400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504):
        theirs = mem0.exceptions.create_exception_from_response(status, "no", details={"a": 1}, debug_info={"b": 2})
        mine = exceptions.refused(status, "no", {"a": 1}, {"b": 2})
        assert type(mine).__name__ == type(theirs).__name__
        for part in ("message", "error_code", "details", "debug_info"):
            assert getattr(mine, part) == getattr(theirs, part)
        assert str(mine) == str(theirs)


# --- the library -----------------------------------------------------------------------------------------------------


class Vectors(BaseHTTPRequestHandler):
    """A model of vectors as OpenAI's wire has it: a text's words, counted by their hashes."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        data = [{"object": "embedding", "index": i, "embedding": self.vector(str(t))} for i, t in enumerate(texts)]
        told = {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
        sent = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def vector(self, text: str) -> list[float]:
        out = [0.01] * 64
        for word in text.lower().replace(".", "").replace("?", "").split():
            out[hashlib.md5(word.encode()).digest()[0] % 64] += 1.0
        return out

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture(scope="module")
def vectors() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Vectors)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()


def config_of(vectors: str, folder: Path) -> dict[str, Any]:
    """As a program would have it for mem0."""
    return {
        "llm": {"provider": "openai", "config": {"model": "m", "api_key": "k", "openai_base_url": vectors}},
        "embedder": {
            "provider": "openai",
            "config": {"model": "m", "api_key": "k", "openai_base_url": vectors, "embedding_dims": 64},
        },
        "vector_store": {"provider": "qdrant", "config": {"path": str(folder / "qdrant"), "embedding_model_dims": 64}},
        "history_db_path": str(folder / "history.db"),
    }


def shape(value: Any) -> Any:
    """What kind of thing an answer is, whatever it holds."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items() if key != "expiration_date" or item is not None}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return type(value).__name__


def library(memory: Any) -> list[Any]:
    """A program that was written for mem0's `Memory`, and what it was answered."""
    said: list[Any] = []

    def note(answer: Any) -> Any:
        said.append(answer)
        return answer

    def refused(call: Callable[[], Any]) -> None:
        try:
            call()
        except Exception as e:
            said.append((type(e).__name__ if "Validation" in type(e).__name__ else isinstance(e, ValueError),))
        else:
            said.append("not refused")

    alice = {"user_id": "alice"}
    talk = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "The keys hang behind the door."},
        {"role": "assistant", "content": "I will remember the door.", "name": "helper"},
    ]
    added = note(memory.add(talk, **alice, metadata={"topic": "home", "n": 1}, infer=False))
    first = added["results"][0]["id"]
    note(memory.add("Tea is in the kitchen.", **alice, run_id="r1", infer=False, expiration_date="2999-01-31"))
    note(memory.add("Old news.", **alice, infer=False, expiration_date="2001-01-31"))
    note(memory.add({"role": "user", "content": "Bob has a dog."}, user_id="bob", agent_id="vet", infer=False))
    note(memory.get(first))
    note(memory.get("00000000-0000-0000-0000-000000000000"))
    note(sorted(m["memory"] for m in memory.get_all(filters=alice)["results"]))
    note(sorted(m["memory"] for m in memory.get_all(filters=alice, show_expired=True)["results"]))
    note(memory.get_all(filters={"user_id": "alice", "run_id": "r1"}))
    note(len(memory.get_all(filters=alice, top_k=1)["results"]))
    note(memory.get_all(filters={"user_id": "nobody"}))
    found = note(memory.search("keys behind the door", filters=alice, top_k=1))
    assert found["results"][0]["id"] == first and 0 < found["results"][0]["score"] <= 1
    note(memory.search("keys behind the door", filters={**alice, "topic": "home", "n": {"gte": 1}}, top_k=1))
    note(memory.search("keys behind the door", filters={**alice, "topic": "work"}))
    note(memory.search("dog", filters={"AND": [{"user_id": "bob"}], "user_id": "bob"}, top_k=1))
    note(memory.update(first, "The keys lie in the bowl."))
    note(memory.update(memory_id=first, metadata={"topic": "keys"}))
    note(memory.update(first, expiration_date="2999-12-31"))
    note(memory.update(first, expiration_date=None))
    note(memory.get(first))
    note(
        [
            (c["old_memory"], c["new_memory"], c["event"])
            for c in memory.history(first)
            if c["old_memory"] != c["new_memory"]
        ]
    )
    note(memory.history(first)[0])
    for wrong in (
        lambda: memory.add("no id"),
        lambda: memory.add(3, **alice),
        lambda: memory.add("x", **alice, memory_type="other"),
        lambda: memory.add("x", **alice, expiration_date="soon"),
        lambda: memory.search("x", user_id="alice"),
        lambda: memory.search("x"),
        lambda: memory.search("  ", filters=alice),
        lambda: memory.search("x", filters=alice, threshold=2),
        lambda: memory.search("x", filters=alice, top_k=-1),
        lambda: memory.get_all(filters={"topic": "home"}),
        lambda: memory.get_all(user_id="alice"),
        lambda: memory.update(first),
        lambda: memory.update("00000000-0000-0000-0000-000000000000", "x"),
        lambda: memory.delete("00000000-0000-0000-0000-000000000000"),
        lambda: memory.delete_all(),
        lambda: memory.project.update(decay=True),
    ):
        refused(wrong)
    note(memory.delete(first))
    note(memory.get(first))
    note(memory.delete_all(user_id="alice"))
    note(memory.get_all(filters=alice, show_expired=True))
    note(len(memory.get_all(filters={"user_id": "bob"})["results"]))
    note(memory.reset())
    note(memory.get_all(filters={"user_id": "bob"}))
    try:
        memory.chat("hi")
    except NotImplementedError:
        note("no chat")
    memory.close()
    return said


def values(answer: Any) -> Any:
    """An answer without what is another one each time, and without dates that were taken away, of which mem0 shows the name."""
    if isinstance(answer, dict):
        changing = {"id", "memory_id", "score", "created_at", "updated_at"}
        changing |= {"expiration_date"} if answer.get("expiration_date") is None else set()
        return {key: values(item) for key, item in answer.items() if key not in changing}
    return [values(item) for item in answer] if isinstance(answer, list) else answer


def test_a_program_for_the_library_is_answered_the_same(
    vectors: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMOS_HOME", str(tmp_path / "unused"))
    theirs = library(mem0.Memory.from_config(config_of(vectors, tmp_path / "theirs")))
    mine = ours.Memory.from_config({**config_of(vectors, tmp_path / "mine"), "llm": None, "embedder": None})
    answers = library(mine)
    for number, (there, here) in enumerate(zip(theirs, answers, strict=True)):
        assert values(here) == values(there), (number, there, here)
        if not isinstance(there, list):
            assert shape(here) == shape(there), (number, there, here)
    assert (tmp_path / "mine" / "qdrant" / "memos").is_dir() and not (tmp_path / "unused").exists()


async def test_the_asynchronous_library_is_answered_the_same(vectors: str, tmp_path: Path) -> None:
    said = []
    for name, kind in (("theirs", mem0.AsyncMemory), ("mine", ours.AsyncMemory)):
        memory = kind.from_config(
            config_of(vectors, tmp_path / name) | ({} if name == "theirs" else {"llm": None, "embedder": None})
        )
        added = await memory.add("The keys hang behind the door.", user_id="alice", infer=False)
        id = added["results"][0]["id"]
        answers = [added, await memory.get(id), await memory.search("keys", filters={"user_id": "alice"})]
        answers += [await memory.get_all(filters={"user_id": "alice"}), await memory.update(id, "In the bowl.")]
        answers += [await memory.history(id), await memory.delete(id), await memory.delete_all(user_id="alice")]
        answers += [await memory.reset()]
        said.append([shape(answer) for answer in answers])
        memory.close()
    assert said[0] == said[1]


# --- the clients -----------------------------------------------------------------------------------------------------


def settled(client: Any, filters: dict[str, Any], least: int) -> list[str]:
    """The memories there are, once so many of them are read."""
    for _ in range(200):
        found = client.get_all(filters=filters)["results"]
        if len(found) >= least:
            break
        time.sleep(0.05)
    return sorted(m["memory"] for m in found)


def service(client: Any, who: str) -> list[Any]:
    """A program that was written for mem0's `MemoryClient`, and what it was answered."""
    said: list[Any] = []

    def note(answer: Any) -> Any:
        said.append(answer)
        return answer

    def refused(call: Callable[[], Any]) -> None:
        try:
            call()
        except Exception as e:
            said.append(
                (
                    type(e).__name__ if hasattr(e, "error_code") else isinstance(e, ValueError),
                    getattr(e, "error_code", None),
                )
            )
        else:
            said.append("not refused")

    whose = {"user_id": who}
    talk = [
        {"role": "user", "content": "I moved to Bergen and I am allergic to nuts."},
        {"role": "assistant", "content": "I will remember that."},
    ]
    said.append(sorted(client.add(talk, user_id=who, metadata={"topic": "home"})))
    note(settled(client, whose, 2))
    note(client.add("The keys hang behind the door.", user_id=who, infer=False, async_mode=False).get("status"))
    note(settled(client, whose, 3))
    found = client.search("What is she allergic to?", filters=whose, top_k=3)["results"]
    note(found[0]["memory"])
    assert "nuts" in found[0]["memory"] and 0 < found[0]["score"] <= 1
    id = found[0]["id"]
    note(values(client.get(id)))
    note(client.get_all(filters=whose, page=1, page_size=1)["count"])
    note(client.search("nuts", filters={"AND": [whose, {"metadata": {"topic": "work"}}]})["results"])
    note(values(client.update(id, text="Alice is allergic to peanuts.", metadata={"topic": "health"})))
    note([(c["event"], c["old_memory"], c["new_memory"]) for c in client.history(id)])
    note(client.feedback(id, feedback="positive")["feedback"])
    note(client.batch_update([{"memory_id": id, "text": "No nuts."}]))
    note([u["name"] for u in client.users()["results"] if u["name"] == who])
    refused(lambda: client.get("00000000-0000-0000-0000-000000000000"))
    refused(lambda: client.search("x", user_id=who))
    refused(lambda: client.search(" ", filters=whose))
    refused(lambda: client.search("x", filters={"nonsense": 1}))
    refused(lambda: client.update(id))
    refused(lambda: client.add(3))
    refused(lambda: client.add("no id"))
    refused(lambda: client.feedback(id, "LOVELY"))
    refused(lambda: client.chat())
    note(client.batch_delete([{"memory_id": id}]))
    refused(lambda: client.get(id))
    note(client.delete(client.get_all(filters=whose)["results"][0]["id"]))
    note(client.delete_all(user_id=who))
    note(client.get_all(filters=whose)["results"])
    client.add("Bob has a dog.", user_id=f"{who}-2", infer=False, async_mode=False)
    note(client.delete_users(user_id=f"{who}-2"))
    return said


def test_a_program_for_the_service_is_answered_the_same(served: Live, ada: str) -> None:
    host = f"{served.url}/compat/mem0"
    theirs = service(mem0.MemoryClient(api_key="any", host=host), f"{ada}-there")
    mine = service(ours.MemoryClient(api_key="any", host=host), f"{ada}-here")
    told = json.dumps(theirs).replace(f"{ada}-there", "WHO").replace(f"{ada}-There", "WHO")
    assert json.dumps(mine).replace(f"{ada}-here", "WHO").replace(f"{ada}-Here", "WHO") == told


async def test_the_asynchronous_clients_are_answered_the_same(served: Live, ada: str) -> None:
    said = []
    for kind in (mem0.AsyncMemoryClient, ours.AsyncMemoryClient):
        async with kind(api_key="any", host=f"{served.url}/compat/mem0") as client:
            added = await client.add("The keys hang behind the door.", user_id=ada, infer=False, async_mode=False)
            found = await client.search("where are the keys?", filters={"user_id": ada})
            told = [sorted(added), [m["memory"] for m in found["results"]], await client.delete_users(user_id=ada)]
            for wrong in (client.get("00000000-0000-0000-0000-000000000000"), client.delete_users(user_id=ada)):
                try:
                    await wrong
                except Exception as e:
                    told.append(type(e).__name__)
            said.append(told)
    assert said[0] == said[1]
