"""add/message, add/feedback and get/status, by the reference (§1.12) and the promises of `docs/openmem-wire.md`."""

from __future__ import annotations

import pytest
from cloud_wire import Cloud

from memos import AsyncMemOS
from memos.server.options import ServerOptions


async def test_the_answer_to_an_add_has_the_fields_of_the_cloud(cloud: Cloud) -> None:
    data = await cloud.ok(
        "add/message",
        user_id="alice",
        conversation_id="c1",
        messages=[{"role": "user", "content": "I like strawberry"}],
    )
    assert data["success"] is True
    assert isinstance(data["task_id"], str)
    assert data["status"] == "running"


async def test_an_unset_field_may_be_null_as_the_client_sends_it(cloud: Cloud) -> None:
    await cloud.ok(
        "add/message",
        messages=[{"role": "user", "content": "Null is unset."}],
        user_id="alice",
        conversation_id=None,
        info=None,
        source=None,
        app_id=None,
        agent_id=None,
        allow_public=False,
        allow_knowledgebase_ids=None,
        allow_memory_view=None,
        tags=None,
        async_mode=None,
    )
    assert len(await cloud.values("Null is unset", user_id="alice")) == 1


async def test_a_task_is_running_then_completed(cloud: Cloud, memos: AsyncMemOS) -> None:
    data = await cloud.ok("add/message", user_id="alice", messages=[{"role": "user", "content": "I moved to Oslo."}])
    await memos.tasks.wait([(await memos.tasks.find()).items[0].id])
    status = await cloud.ok("get/status", task_id=data["task_id"])
    assert (status["task_id"], status["status"], status["progress"]) == (data["task_id"], "completed", 1.0)


async def test_each_of_several_users_gets_the_messages(cloud: Cloud) -> None:
    data = await cloud.add("The lift is out of order.", user_id=["alice", "bob", "alice"])
    assert (await cloud.ok("get/status", task_id=data["task_id"]))["status"] == "completed"
    for user in ("alice", "bob"):
        assert len(await cloud.values("lift out of order", user_id=user)) == 1


async def test_labels_can_be_filtered_by_their_bare_names(cloud: Cloud) -> None:
    await cloud.add(
        "Ship the crate.", user_id="alice", agent_id="a1", app_id="web", source="desk", info={"scene": "dock"}
    )
    await cloud.add(
        "Ship the barrel.", user_id="alice", agent_id="a2", app_id="ios", source="pier", info={"scene": "quay"}
    )
    for condition in (
        {"agent_id": "a1"},
        {"app_id": "web"},
        {"source": "desk"},
        {"scene": "dock"},
        {"info.scene": "dock"},
    ):
        found = await cloud.values("ship", user_id="alice", filter={"and": [condition]})
        assert ["crate" in value for value in found] == [True], condition


async def test_with_a_user_an_agent_is_a_label_and_alone_it_has_a_memory(cloud: Cloud) -> None:
    await cloud.add("Told to alice's assistant.", user_id="alice", agent_id="a1")
    await cloud.add("Told to the agent itself.", agent_id="a1")
    assert len(await cloud.values("told", agent_id="a1")) == 1
    assert "itself" in (await cloud.values("told", agent_id="a1"))[0]
    assert await cloud.values("told", user_id="a1") == []


async def test_a_conversation_kept_for_an_agents_skills_is_no_fact_for_those_who_ask_it(cloud: Cloud) -> None:
    await cloud.add("My order number is 20250117.", agent_id="desk", allow_memory_view=["skill"])
    await cloud.add("Exchanges take fifteen days.", agent_id="desk", allow_memory_view=["detail_factual", "skill"])
    assert not any("20250117" in value for value in await cloud.values("order number 20250117", agent_id="desk"))
    assert len(await cloud.values("exchanges days", agent_id="desk")) == 1


async def test_only_skills_asked_for_reads_no_facts(cloud: Cloud, memos: AsyncMemOS) -> None:
    await cloud.add("I live in Oslo.", user_id="alice", allow_memory_view=["skill"])
    assert (await memos.list(user="alice", kinds=["profile"])).items == ()
    await cloud.add("I live in Bergen.", user_id="alice", allow_memory_view=["detail_factual"])
    assert len((await memos.list(user="alice", kinds=["profile"])).items) == 1


async def test_public_memory_is_said_not_to_exist(cloud: Cloud) -> None:
    data = await cloud.add("Shared with everybody?", user_id="alice", allow_public=True)
    assert "allow_public" in data["notices"][0]


async def test_nobody_may_be_named_only_once(cloud: Cloud) -> None:
    message = [{"role": "user", "content": "Hello there, harbour."}]
    assert await cloud.error("add/message", messages=message) == (200, 40002)
    assert await cloud.error("add/message", messages=message, user_id=[]) == (200, 40002)
    assert await cloud.error("add/message", user_id="alice") == (200, 40002)
    assert await cloud.error("add/message", user_id="alice", messages=[]) == (200, 40000)
    assert await cloud.error("add/message", user_id="alice", messages=5) == (200, 40006)


async def test_feedback_is_kept_as_what_was_said_and_corrects(cloud: Cloud) -> None:
    await cloud.add("I live in Oslo.", user_id="alice", conversation_id="c", chat_time="2025-01-01 10:00")
    data = await cloud.ok(
        "add/feedback",
        user_id="alice",
        conversation_id="c",
        feedback_content="No, I live in Bergen.",
        feedback_time="2025-01-02 10:00",
        agent_id="a1",
    )
    assert data["success"] is True
    found = (await cloud.ok("search/memory", query="Where do I live?", user_id="alice"))["memory_detail_list"]
    assert found[0]["memory_value"] == "2025-01-02 10:00 user: No, I live in Bergen. [so: Alice lives in Bergen.]"
    assert found[0]["tags"] == ["feedback"]
    stale = next(item for item in found if "Oslo" in item["memory_value"])
    assert "[outdated]" in stale["memory_value"]


class TestLimits:
    @pytest.fixture
    def options(self) -> ServerOptions:
        return ServerOptions(messages_per_add=2, text_chars=50)

    async def test_an_add_may_not_be_larger_than_the_server_allows(self, cloud: Cloud) -> None:
        rows = [{"role": "user", "content": "one"}] * 3
        assert await cloud.error("add/message", user_id="alice", messages=rows) == (200, 40000)
        assert await cloud.error("add/message", user_id="alice", messages="x" * 51) == (200, 40000)
        assert await cloud.error("add/feedback", user_id="alice", feedback_content="x" * 51) == (200, 40000)


async def test_an_add_for_several_users_is_stored_for_all_or_for_none(cloud: Cloud, memos: AsyncMemOS) -> None:
    await memos.accounts.create_user("stopped")
    await memos.accounts.set_active("stopped", False)
    await memos.create_cube("taken", user="bob")
    for bad in ("\x01", "stopped", "taken"):
        await cloud.error("add/message", user_id=["ada", bad], messages="I like tea.")
    assert await memos.count(user="ada") == 0


async def test_what_is_added_again_can_be_asked_for_too(cloud: Cloud) -> None:
    message = {"role": "user", "content": "I live in Oslo.", "message_id": "m-1"}
    for mode in (True, True, False):
        data = await cloud.ok("add/message", user_id="bea", async_mode=mode, messages=[message])
        status = await cloud.ok("get/status", task_id=data["task_id"])
        assert status["task_id"] == data["task_id"]
        assert status["status"] in ("running", "completed")
