"""The real MemOS client (package MemoryOS, unmodified) against a real server: every method it has."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import Live, Starter

from llm_server import LlmServer
from memos import MemOS

VERSION = "2.0.33"
CACHE = Path(tempfile.gettempdir()) / "memos-tests"
DRIVER = Path(__file__).with_name("real_client.py")


@pytest.fixture(scope="session")
def unpacked() -> Path:
    """The folder of the unpacked wheel, fetched once per machine."""
    folder = CACHE / f"MemoryOS-{VERSION}"
    if folder.exists():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as work:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", work, f"MemoryOS=={VERSION}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        wheel = next(Path(work).glob("*.whl"), None)
        if done.returncode or wheel is None:
            pytest.skip(f"pip cannot fetch MemoryOS {VERSION}: {done.stderr.strip()[-300:]}")
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(Path(work) / "x")
        try:
            (Path(work) / "x").rename(folder)
        except OSError:  # another test run was quicker
            assert folder.exists()
    return folder


class RealClient:
    """Calls methods of the real client in its own process."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process, self._log = process, log

    def raw(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The answer of a method: its value, or its error."""
        self._process.stdin.write(json.dumps([name, arguments]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, self._log.read_text()[-2000:]
        return json.loads(line)

    def __getattr__(self, name: str) -> Any:
        def call(**arguments: Any) -> Any:
            answer = self.raw(name, **arguments)
            assert "error" not in answer, answer
            return answer["value"]

        return call


@contextlib.contextmanager
def driving(url: str, unpacked: Path, folder: Path, key: str = "mpg-any") -> Iterator[RealClient]:
    """A process with the real client, calling a server."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MEMOS_", "MOS_"))} | {
        "MEMOS_BASE_PATH": str(folder)
    }
    command = [sys.executable, "-I", str(DRIVER), str(unpacked), f"{url}/api/openmem/v1", key]
    log, pipe = folder / "stderr.log", subprocess.PIPE
    with log.open("w") as stderr:
        process = subprocess.Popen(command, cwd=folder, env=env, stdin=pipe, stdout=pipe, stderr=stderr, text=True)
    try:
        yield RealClient(process, log)
    finally:
        process.stdin.close()
        process.wait(20)


@pytest.fixture(scope="module")
def client(live: Live, unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealClient]:
    with driving(live.url, unpacked, tmp_path_factory.mktemp("real_client")) as made:
        yield made


def finished(client: RealClient, task_id: str, seconds: float = 20) -> dict[str, Any]:
    """The status of a task once it does not run any more."""
    until = time.monotonic() + seconds
    while True:
        found = client.get_task_status(task_id=task_id)
        if found["data"]["status"] != "running" or time.monotonic() > until:
            return found
        time.sleep(0.05)


def said(text: str, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": text, **more}


def values(found: dict[str, Any]) -> list[str]:
    return [item["memory_value"] for item in found["data"]["memory_detail_list"]]


def test_what_is_added_is_found_at_once_and_its_task_is_completed(client: RealClient) -> None:
    added = client.add_message(
        messages=[said("I like strawberries.", chat_time="2025-06-26 15:00"), said("Noted.", "assistant")],
        user_id="rc_alice",
        conversation_id="c1",
        tags=["fruit"],
        info={"scene": "kitchen"},
        agent_id="cook",
        app_id="web",
        source="test",
    )
    assert added["model"] == "MemOSAddResponse"
    assert (added["code"], added["message"], added["success"]) == (0, "ok", True)
    found = client.search_memory(query="What do I like?", user_id="rc_alice", conversation_id="c1", relativity=0.3)
    assert found["model"] == "MemOSSearchResponse"
    assert values(found)[0] == "2025-06-26 15:00 user: I like strawberries."
    status = finished(client, added["task_id"])
    assert (status["model"], status["data"]["task_id"], status["data"]["status"]) == (
        "MemOSGetTaskStatusResponse",
        added["task_id"],
        "completed",
    )
    preferences = client.search_memory(query="fruit I like", user_id="rc_alice")["data"]["preference_detail_list"]
    assert [(p["preference_type"], "strawberries" in p["preference"]) for p in preferences] == [
        ("explicit_preference", True)
    ]


def test_an_add_without_async_mode_is_completed_when_it_returns(client: RealClient) -> None:
    added = client.add_message(messages=[said("I live in Bergen now.")], user_id="rc_sync", async_mode=False)
    assert added["status"] == "completed"
    assert client.get_task_status(task_id=added["task_id"])["data"]["status"] == "completed"
    views = client.search_memory(query="Where do I live?", user_id="rc_sync", include_memory_view=["profile"])["data"]
    assert "Bergen" in views["profile_detail_list"][0]["memory_value"]
    assert views["memory_detail_list"] == []


def test_messages_come_back_as_they_were(client: RealClient) -> None:
    long = "\n\n".join(f"Paragraph {n} of a long story about the harbour." for n in range(120))
    client.add_message(
        messages=[said("First."), said(long), said("Last.", "assistant")], user_id="rc_msgs", conversation_id="m1"
    )
    client.add_message(messages=[said("Elsewhere.")], user_id="rc_msgs", conversation_id="m2")
    found = client.get_message(user_id="rc_msgs", conversation_id="m1", message_limit_number=10)
    assert found["model"] == "MemOSGetMessagesResponse"
    rows = [(row["role"], row["content"]) for row in found["data"]["message_detail_list"]]
    assert rows == [("user", "First."), ("user", long), ("assistant", "Last.")]
    newest = client.get_message(user_id="rc_msgs", conversation_id="m1", message_limit_number=1)
    assert [row["content"] for row in newest["data"]["message_detail_list"]] == ["Last."]


def test_memories_are_listed_by_page_and_read_by_id(client: RealClient) -> None:
    for number in range(5):
        client.add_message(
            messages=[said(f"The shelf number {number} holds jar {number}.")], user_id="rc_pages", async_mode=False
        )
    first = client.get_memory(user_id="rc_pages", page=1, size=2)
    assert first["model"] == "MemOSGetMemoryResponse"
    data = first["data"]
    assert (data["size"], data["current"]) == (2, 1)
    assert data["total"] >= 5
    assert data["pages"] == -(-data["total"] // 2)
    seen = []
    for page in range(1, data["pages"] + 1):
        seen += client.get_memory(user_id="rc_pages", page=page, size=2)["data"]["memory_detail_list"]
    assert len({item["id"] for item in seen}) == len(seen)
    one = client.get_memory_by_id(memid=seen[0]["id"])
    assert (one["code"], one["data"]["id"], one["data"]["memory_value"]) == (0, seen[0]["id"], seen[0]["memory_value"])
    assert client.get_memory_by_id(memid="00000000-0000-7000-8000-000000000000")["code"] == 40001
    assert client.get_memory_by_id(memid="no/such id")["code"] == 40001


def test_memories_are_updated_and_deleted(client: RealClient) -> None:
    client.add_message(messages=[said("The parcel locker code is 4711.")], user_id="rc_edit")
    memory_id = client.search_memory(query="locker code", user_id="rc_edit")["data"]["memory_detail_list"][0]["id"]
    updated = client.update_memory(memory_id=memory_id, content="The parcel locker code is 0815.", title="Locker")
    assert (updated["code"], updated["data"]["memory_key"]) == (0, "Locker")
    assert "0815" in values(client.search_memory(query="locker code", user_id="rc_edit"))[0]
    assert client.update_memory(memory_id=memory_id, status="deleted")["data"]["status"] == "deleted"
    assert values(client.search_memory(query="locker code", user_id="rc_edit")) == []
    assert client.update_memory(memory_id=memory_id, status="activated")["data"]["status"] == "activated"
    assert len(values(client.search_memory(query="locker code", user_id="rc_edit"))) == 1
    gone = client.delete_memory(memory_ids=[memory_id])
    assert (gone["model"], gone["success"]) == ("MemOSDeleteMemoryResponse", True)
    assert values(client.search_memory(query="locker code", user_id="rc_edit")) == []


def test_a_user_is_emptied_in_every_way_the_client_knows(client: RealClient) -> None:
    for user in ("rc_gone1", "rc_gone2", "rc_gone3"):
        client.add_message(messages=[said("The boat is called Freya.")], user_id=user, tags=["boat"], async_mode=False)
    client.add_message(messages=[said("The ferry is called Tide.")], agent_id="rc_pilot", async_mode=False)
    assert client.delete_memory(user_id="rc_gone1")["success"]
    assert client.delete_memory(user_ids=["rc_gone2"])["success"]
    assert client.delete_memory(filter={"and": [{"user_id": "rc_gone3"}, {"tags": {"contains": "boat"}}]})["success"]
    assert client.delete_memory(agent_id="rc_pilot")["success"]
    for who in ({"user_id": "rc_gone1"}, {"user_id": "rc_gone2"}, {"user_id": "rc_gone3"}, {"agent_id": "rc_pilot"}):
        assert client.get_memory(**who)["data"]["total"] == 0


def test_an_agents_memory_is_its_own(client: RealClient) -> None:
    client.add_message(messages=[said("Returns are accepted for 15 days.")], agent_id="rc_desk", async_mode=False)
    assert "15 days" in values(client.search_memory(query="returns accepted", agent_id="rc_desk"))[0]
    assert values(client.search_memory(query="returns accepted", user_id="rc_desk")) == []
    assert client.get_memory(agent_id="rc_desk")["data"]["total"] >= 1


def test_feedback_corrects_what_was_known(client: RealClient) -> None:
    client.add_message(messages=[said("I live in Oslo.")], user_id="rc_feed", conversation_id="f", async_mode=False)
    given = client.add_feedback(user_id="rc_feed", conversation_id="f", feedback_content="No, I live in Bergen.")
    assert (given["model"], given["success"]) == ("MemOSAddFeedBackResponse", True)
    assert finished(client, given["task_id"])["data"]["status"] == "completed"
    found = client.search_memory(query="Where do I live?", user_id="rc_feed", include_memory_view=["profile"])
    assert ["Bergen" in item["memory_value"] for item in found["data"]["profile_detail_list"]] == [True]


def test_knowledge_bases_and_their_files(client: RealClient, tmp_path: Path) -> None:
    created = client.create_knowledgebase(knowledgebase_name="Policies", knowledgebase_description="For the desk")
    assert created["model"] == "MemOSCreateKnowledgebaseResponse"
    base = created["knowledgebase_id"]
    text = "# Returns\n\nUnopened goods can be returned within seven days.\n\n# Warranty\n\nTwelve months on devices.\n"
    content = "data:text/markdown;base64," + base64.b64encode(text.encode()).decode()
    added = client.add_knowledgebase_file_json(knowledgebase_id=base, file=[{"name": "policy.md", "content": content}])
    assert (added["model"], added["data"][0]["status"]) == ("MemOSAddKnowledgebaseFileResponse", "completed")
    path = tmp_path / "hours.txt"
    path.write_text("The desk is open from nine to five.", encoding="utf-8")
    by_form = client.add_knowledgebase_file_form(knowledgebase_id=base, files=[str(path)])
    assert [(row["name"], row["status"]) for row in by_form["data"]] == [("hours.txt", "completed")]
    listed = client.get_knowledgebase_file(knowledgebase_id=base, page=1, page_size=10)
    assert listed["model"] == "MemOSGetKnowledgebaseFileResponse"
    assert {row["name"] for row in listed["data"]["file_detail_list"]} == {"policy.md", "hours.txt"}
    assert (listed["data"]["total"], listed["data"]["page"], listed["data"]["page_size"]) == (2, 1, 10)
    found = client.search_memory(query="How long is the warranty?", user_id="rc_kb", knowledgebase_ids=[base])
    assert "Twelve months" in values(found)[0]
    file_id = added["data"][0]["id"]
    by_id = client.get_knowledgebase_file(file_ids=[file_id])
    assert [row["id"] for row in by_id["data"]["file_detail_list"]] == [file_id]
    gone = client.delete_knowledgebase_file(file_ids=[file_id])
    assert (gone["model"], gone["success"]) == ("MemOSDeleteKnowledgebaseResponse", True)
    left = client.search_memory(query="How long is the warranty?", user_id="rc_kb", knowledgebase_ids=[base])
    assert not any("Twelve months" in value for value in values(left))
    assert client.delete_knowledgebase(knowledgebase_id=base)["success"]


def test_messages_can_be_written_into_a_knowledge_base_too(client: RealClient) -> None:
    base = client.create_knowledgebase(knowledgebase_name="Team")["knowledgebase_id"]
    client.add_message(
        messages=[said("The release train leaves on Thursday.")], user_id="rc_writer", allow_knowledgebase_ids=[base]
    )
    found = client.search_memory(
        query="When does the release train leave?", user_id="rc_reader", knowledgebase_ids=[base]
    )
    assert "Thursday" in values(found)[0]
    assert found["data"]["memory_detail_list"][0]["knowledgebase_id"] == base


def test_extraction_and_reranking(client: RealClient) -> None:
    read = client.extract_memory(
        messages=[said("I live in Paris and I prefer tea.")], extraction_types=["memory", "preference"]
    )
    assert read["code"] == 0
    assert any("Paris" in item["memory_value"] for item in read["data"]["memory_detail_list"])
    assert any("tea" in item["preference"] for item in read["data"]["preference_detail_list"])
    ranked = client.rerank(query="warranty of devices", documents=["opening hours", "device warranty terms"], top_n=1)
    assert [row["index"] for row in ranked["data"]["results"]] == [1]


def test_what_is_not_there_is_said_in_words(client: RealClient) -> None:
    for name, arguments in (
        ("bind_profile_template", {"bind_list": [{"user_id": "u"}]}),
        ("edit_profile", {"profile_template_id": "p", "user_id": "u", "metadata": {"a": 1}}),
        ("delete_profile", {"profile_template_id": "p", "user_id": "u"}),
    ):
        answer = getattr(client, name)(**arguments)
        assert answer["code"] == 50005
        assert "not supported" in answer["message"]


def test_chat_without_a_model_is_an_error_that_names_the_status(client: RealClient) -> None:
    answer = client.raw("chat", user_id="rc_chat", conversation_id="c", query="hello")
    assert answer["error"] == "HTTPError"
    assert "503" in answer["text"]


def test_app_errors_are_told_in_the_body(client: RealClient) -> None:
    answer = client.raw("get_task_status", task_id="no-such-task")
    assert answer["error"] == "ValidationError"  # the client has no model for an error: it says that data is null
    missing = client.raw("delete_knowledgebase", knowledgebase_id="kb-none")
    assert missing["error"] == "ValidationError"


def test_a_key_is_sent_as_the_cloud_has_it(serve: Starter, unpacked: Path, tmp_path: Path) -> None:
    with MemOS(tmp_path / "home", embedder="none") as memos:
        _, key = memos.accounts.create_key("backend", scopes=["act"])
    live = serve(home=tmp_path / "home")
    for name in ("good", "bad"):
        (tmp_path / name).mkdir()
    with driving(live.url, unpacked, tmp_path / "good", str(key)) as client:
        client.add_message(messages=[said("The bicycle is green.")], user_id="alice")
        assert len(values(client.search_memory(query="bicycle", user_id="alice"))) == 1
    with driving(live.url, unpacked, tmp_path / "bad", "mpg-wrong") as client:
        answer = client.raw("search_memory", query="bicycle", user_id="alice")
        assert (answer["error"], "401" in answer["text"]) == ("HTTPError", True)


def test_it_chats_whole_and_as_a_stream(unpacked: Path, tmp_path: Path) -> None:
    start = Starter(tmp_path)
    with LlmServer("Du magst Erdbeeren. 你喜欢草莓。🍓") as llm:
        try:
            live = start(MEMOS_LLM="openai-compatible:stub", MEMOS_LLM_URL=llm.url, MEMOS_READING="fast")
            with driving(live.url, unpacked, tmp_path) as client:
                client.add_message(
                    messages=[said("I like strawberries.")], user_id="u", conversation_id="c", async_mode=False
                )
                told = client.chat(user_id="u", conversation_id="c", query="What do I like?")
                assert (told["model"], told["response"]) == ("MemOSChatResponse", "Du magst Erdbeeren. 你喜欢草莓。🍓")
                assert "strawberries" in llm.requests[-1].prompt
                lines = client.chat(user_id="u", conversation_id="c", query="What do I like?", stream=True)
                assert "".join(json.loads(line)["data"] for line in lines) == "Du magst Erdbeeren. 你喜欢草莓。🍓"
                found = client.get_message(user_id="u", conversation_id="c", message_limit_number=20)
                assert len(found["data"]["message_detail_list"]) >= 3
        finally:
            start.end()
