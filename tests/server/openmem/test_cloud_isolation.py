"""Whose key reaches what: with keys on, nothing of another user is read, changed, deleted or even told to exist."""

from __future__ import annotations

from typing import Any

import pytest
from cloud_wire import Cloud

from memos import AsyncMemOS
from memos.server.options import ServerOptions


@pytest.fixture
def options() -> ServerOptions:
    return ServerOptions(auth="on")


@pytest.fixture
async def people(cloud: Cloud, memos: AsyncMemOS) -> dict[str, Cloud]:
    """Callers by name: alice and bob with keys of their own, a reader for alice, and a service that acts for everybody."""
    out = {}
    for name, user, scopes in (
        ("alice", "alice", ("read", "write")),
        ("bob", "bob", ("read", "write")),
        ("reader", "alice", ("read",)),
        ("service", "service", ("act",)),
    ):
        _, secret = await memos.accounts.create_key(user, scopes=scopes)
        out[name] = cloud.with_key(str(secret))
    return out


async def secret_of(people: dict[str, Cloud]) -> dict[str, Any]:
    """A memory, a task, a knowledge base and a file of alice."""
    alice = people["alice"]
    added = await alice.add("ALICE-77 is my secret.", user_id="alice", conversation_id="c")
    memory = (await alice.ok("search/memory", query="ALICE-77", user_id="alice"))["memory_detail_list"][0]["id"]
    base = (await alice.ok("create/knowledgebase", knowledgebase_name="Private"))["id"]
    content = {"name": "a.txt", "content": "QUxJQ0UtODggaXMgaW4gdGhlIGZpbGUu"}
    file = (await alice.ok("add/knowledgebase-file", knowledgebase_id=base, file=[content]))[0]["id"]
    return {"memory": memory, "task": added["task_id"], "base": base, "file": file}


async def test_without_a_key_nothing_is_answered(cloud: Cloud) -> None:
    assert await cloud.error("search/memory", query="x", user_id="alice") == (401, 40100)
    assert await cloud.with_key("mpg-wrong").error("search/memory", query="x", user_id="alice") == (401, 40132)
    assert (await cloud.get("get/memory/x")).status_code == 401


async def test_a_key_does_not_act_for_another_user(people: dict[str, Cloud]) -> None:
    await secret_of(people)
    bob = people["bob"]
    message = [{"role": "user", "content": "From bob."}]
    for path, body in (
        ("add/message", {"messages": message, "user_id": "alice"}),
        ("add/message", {"messages": message, "user_id": ["bob", "alice"]}),
        ("add/message", {"messages": message, "agent_id": "a"}),
        ("search/memory", {"query": "secret", "user_id": "alice"}),
        ("search/memory", {"query": "secret", "agent_id": "a"}),
        ("get/message", {"user_id": "alice"}),
        ("get/memory", {"user_id": "alice"}),
        ("add/feedback", {"user_id": "alice", "feedback_content": "no"}),
        ("delete/memory", {"user_id": "alice"}),
        ("delete/memory", {"agent_id": "a"}),
        ("delete/memory", {"filter": {"user_id": "alice"}}),
        ("chat", {"user_id": "alice", "query": "x"}),
    ):
        assert await bob.error(path, **body) == (403, 40306), path
    assert (await people["alice"].ok("get/memory", user_id="alice"))["total"] == 1
    assert (await bob.ok("get/memory", user_id="bob"))["total"] == 0


async def test_what_another_user_has_does_not_exist(people: dict[str, Cloud]) -> None:
    ids = await secret_of(people)
    bob = people["bob"]
    assert (await bob.get(f"get/memory/{ids['memory']}")).json()["code"] == 40001
    for path, body, code in (
        ("update/memory", {"memory_id": ids["memory"], "content": "x"}, 40001),
        ("delete/memory", {"memory_ids": [ids["memory"]]}, 40307),
        ("get/status", {"task_id": ids["task"]}, 50131),
        ("get/knowledgebase-file", {"knowledgebase_id": ids["base"]}, 50120),
        ("add/knowledgebase-file", {"knowledgebase_id": ids["base"], "file": [{"content": "eA=="}]}, 50120),
        ("delete/knowledgebase", {"knowledgebase_id": ids["base"]}, 50120),
        ("delete/knowledgebase-file", {"file_ids": [ids["file"]]}, 40307),
        ("search/memory", {"query": "x", "user_id": "bob", "knowledgebase_ids": [ids["base"]]}, 50120),
        ("add/message", {"messages": "hi there", "user_id": "bob", "allow_knowledgebase_ids": [ids["base"]]}, 50120),
    ):
        assert await bob.error(path, **body) == (200, code), path
    assert (await bob.ok("get/knowledgebase-file", file_ids=[ids["file"]]))["file_detail_list"] == []
    alice = people["alice"]
    assert (await alice.ok("get/status", task_id=ids["task"]))["status"] == "completed"
    assert len((await alice.ok("get/knowledgebase-file", file_ids=[ids["file"]]))["file_detail_list"]) == 1
    assert "ALICE-77" in (await alice.values("ALICE-77", user_id="alice"))[0]


async def test_a_key_that_reads_does_not_write(people: dict[str, Cloud]) -> None:
    ids = await secret_of(people)
    reader = people["reader"]
    assert "ALICE-77" in (await reader.values("ALICE-77", user_id="alice", knowledgebase_ids=[ids["base"]]))[0]
    for path, body in (
        ("add/message", {"messages": "hi there", "user_id": "alice"}),
        ("add/feedback", {"user_id": "alice", "feedback_content": "no"}),
        ("update/memory", {"memory_id": ids["memory"], "content": "x"}),
        ("delete/memory", {"user_id": "alice"}),
        ("delete/memory", {"memory_ids": [ids["memory"]]}),
        ("create/knowledgebase", {"knowledgebase_name": "x"}),
        ("delete/knowledgebase", {"knowledgebase_id": ids["base"]}),
        ("add/knowledgebase-file", {"knowledgebase_id": ids["base"], "file": [{"content": "eA=="}]}),
        ("delete/knowledgebase-file", {"file_ids": [ids["file"]]}),
    ):
        assert await reader.error(path, **body) == (403, 40306), path


async def test_a_shared_base_is_read_by_whom_it_is_shared_with_and_written_by_writers(
    people: dict[str, Cloud], memos: AsyncMemOS
) -> None:
    ids = await secret_of(people)
    bob = people["bob"]
    await memos.share(ids["base"], "bob", "read", user="alice")
    assert "ALICE-88" in (await bob.values("ALICE-88", user_id="bob", knowledgebase_ids=[ids["base"]]))[0]
    file = [{"name": "b.txt", "content": "Qm9iIHdyb3RlIHRoaXMu"}]
    assert await bob.error("add/knowledgebase-file", knowledgebase_id=ids["base"], file=file) == (403, 40306)
    assert await bob.error("delete/knowledgebase-file", file_ids=[ids["file"]]) == (403, 40306)
    await memos.share(ids["base"], "bob", "write", user="alice")
    await bob.ok("add/knowledgebase-file", knowledgebase_id=ids["base"], file=file)
    assert await bob.error("delete/knowledgebase", knowledgebase_id=ids["base"]) == (403, 40306)
    assert (await people["alice"].ok("get/knowledgebase-file", knowledgebase_id=ids["base"]))["total"] == 2


async def test_a_service_acts_for_its_users_and_its_bases_serve_them_all(people: dict[str, Cloud]) -> None:
    service = people["service"]
    base = (await service.ok("create/knowledgebase", knowledgebase_name="Policies"))["id"]
    file = [{"name": "p.txt", "content": "UmV0dXJucyB0YWtlIHNldmVuIGRheXMu"}]
    await service.ok("add/knowledgebase-file", knowledgebase_id=base, file=file)
    for user in ("alice", "carol"):
        await service.add(f"I am {user} and have a return.", user_id=user)
        values = await service.values("How long do returns take?", user_id=user, knowledgebase_ids=[base])
        assert any("seven days" in value for value in values)
        assert not any("I am" in value and user not in value for value in values)
    await service.add("Exchanges need a receipt.", agent_id="desk")
    assert await service.values("exchanges receipt", agent_id="desk")
    memory = (await service.ok("search/memory", query="return", user_id="carol"))["memory_detail_list"][0]["id"]
    assert (await service.get(f"get/memory/{memory}")).json()["code"] == 0
    assert (await service.ok("delete/memory", memory_ids=[memory]))["success"] is True


async def test_a_key_of_one_user_deletes_by_filter_in_her_own_memory(people: dict[str, Cloud]) -> None:
    for name in ("alice", "bob"):
        await people[name].add("The red jar.", user_id=name, tags=["red"])
    await people["alice"].ok("delete/memory", filter={"and": [{"tags": "red"}]})
    assert (await people["alice"].ok("get/memory", user_id="alice"))["total"] == 0
    assert (await people["bob"].ok("get/memory", user_id="bob"))["total"] == 1
