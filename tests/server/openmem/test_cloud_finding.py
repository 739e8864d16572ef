"""search/memory and get/message, by the reference (§1.12)."""

from __future__ import annotations

from typing import Any

import pytest
from cloud_wire import Cloud

LISTS = (
    *("memory_detail_list", "message_detail_list", "preference_detail_list", "tool_memory_detail_list"),
    *("skill_detail_list", "profile_detail_list", "event_detail_list"),
)


async def found(cloud: Cloud, query: str, **body: Any) -> dict[str, Any]:
    return await cloud.ok("search/memory", query=query, **body)


async def test_the_minimal_exchange_of_the_reference(cloud: Cloud) -> None:
    await cloud.ok(
        "add/message",
        user_id="alice",
        conversation_id="c1",
        messages=[{"role": "user", "content": "I like strawberry"}],
        async_mode=True,
        tags=["x"],
    )
    data = await found(cloud, "What do I like?", user_id="alice", memory_limit_number=6, relativity=0.45)
    assert set(LISTS) | {"preference_note"} <= set(data)
    item = data["memory_detail_list"][0]
    assert item["memory_value"].endswith("user: I like strawberry")
    assert item["memory_key"] == "I like strawberry"
    assert (item["memory_type"], item["status"], item["conversation_id"], item["tags"]) == (
        "LongTermMemory",
        "activated",
        "c1",
        ["x"],
    )
    assert 0.45 <= item["relativity"] <= 1
    assert item["create_time"] > 1_700_000_000_000
    assert item["update_time"] >= item["create_time"]
    preference = data["preference_detail_list"][0]
    assert preference["preference_type"] == "explicit_preference"
    assert "strawberry" in preference["preference"]
    assert preference["relativity"] > 0
    assert data["preference_note"]


async def test_a_value_says_when_and_by_whom(cloud: Cloud) -> None:
    await cloud.add("The meeting is in room four.", user_id="alice", chat_time="2024-05-06 07:08")
    assert await cloud.values("meeting room", user_id="alice") == [
        "2024-05-06 07:08 user: The meeting is in room four."
    ]


async def test_relativity_cuts_and_zero_does_not(cloud: Cloud) -> None:
    for text in ("The harbour opens at nine.", "My sister plays chess.", "Bread is baked on Mondays."):
        await cloud.add(text, user_id="alice")
    everything = await found(cloud, "When does the harbour open?", user_id="alice", relativity=0)
    scores = [item["relativity"] for item in everything["memory_detail_list"]]
    assert len(scores) > 1
    assert scores == sorted(scores, reverse=True)
    cut = await found(cloud, "When does the harbour open?", user_id="alice", relativity=scores[0] - 0.01)
    assert len(cut["memory_detail_list"]) == 1
    none = await found(cloud, "xylophone", user_id="alice", relativity=1)
    assert none["memory_detail_list"] == []


async def test_the_number_of_memories_is_limited(cloud: Cloud) -> None:
    for number in range(9):
        await cloud.add(f"The shelf number {number} holds a jar.", user_id="alice")
    assert len(await cloud.values("shelf jar", user_id="alice")) == 6
    assert len(await cloud.values("shelf jar", user_id="alice", memory_limit_number=8)) == 8
    assert await cloud.values("shelf jar", user_id="alice", memory_limit_number=0) == []


async def test_preferences_are_left_out_when_asked(cloud: Cloud) -> None:
    await cloud.add("I prefer tea. I like jazz.", user_id="alice")
    data = await found(cloud, "what do I like", user_id="alice", include_preference=False)
    assert (data["preference_detail_list"], data["preference_note"]) == ([], "")
    assert (
        len((await found(cloud, "tea jazz", user_id="alice", preference_limit_number=1))["preference_detail_list"]) == 1
    )


async def test_a_filter_on_messages_holds_for_the_preferences_read_from_them(cloud: Cloud) -> None:
    await cloud.add("I like jazz.", user_id="alice", tags=["music"], agent_id="a1")
    await cloud.add("I like cherries.", user_id="alice", tags=["fruit"], agent_id="a2")
    for condition, word in (({"agent_id": "a1"}, "jazz"), ({"tags": {"contains": "fruit"}}, "cherries")):
        data = await found(cloud, "What do I like?", user_id="alice", filter={"and": [condition]})
        assert [word in p["preference"] for p in data["preference_detail_list"]] == [True]
        assert [word in m["memory_value"] for m in data["memory_detail_list"]] == [True]


async def test_a_filter_knows_the_clouds_names_of_times(cloud: Cloud) -> None:
    await cloud.add("Something is written here.", user_id="alice")
    item = (await found(cloud, "written", user_id="alice"))["memory_detail_list"][0]
    at = item["create_time"]
    assert await cloud.values("written", user_id="alice", filter={"and": [{"create_time": {"gte": at - 5}}]})
    assert not await cloud.values("written", user_id="alice", filter={"and": [{"create_time": {"gt": at + 5000}}]})
    assert await cloud.values("written", user_id="alice", filter={"or": [{"not": {"update_time": {"lt": 5}}}]})


async def test_a_filter_knows_the_wires_statuses_and_types(cloud: Cloud) -> None:
    await cloud.add("I live in Oslo.", user_id="alice")
    for condition, count in (
        ({"status": "activated"}, 1),
        ({"status": "archived"}, 0),
        ({"memory_type": "AllSummaryMemory"}, 1),
        ({"memory_type": {"ne": "PreferenceMemory"}}, 1),
        ({"memory_type": "SkillMemory"}, 0),
    ):
        found = await cloud.values("Where do I live?", user_id="alice", filter={"and": [condition]})
        assert len(found) >= count and bool(found) is bool(count), condition


@pytest.mark.parametrize("bad", [{"and": "x"}, {"tags": {"near": "x"}}, {"and": [{"tags": {}}]}])
async def test_a_filter_that_says_nothing_clear_is_refused(cloud: Cloud, bad: dict[str, Any]) -> None:
    assert await cloud.error("search/memory", query="x", user_id="alice", filter=bad) == (200, 40000)


async def test_a_conversation_goes_first_among_equals_and_hides_nothing(cloud: Cloud) -> None:
    await cloud.add("The key hangs by the door, said one.", user_id="alice", conversation_id="one")
    await cloud.add("The key hangs by the door, said two.", user_id="alice", conversation_id="two")
    for session in ("one", "two"):
        values = await cloud.values("where hangs the key", user_id="alice", conversation_id=session)
        assert session in values[0]
        assert len(values) == 2


async def test_mixed_gives_the_messages_too(cloud: Cloud) -> None:
    await cloud.add("The password of the day is walrus.", user_id="alice", conversation_id="c")
    assert (await found(cloud, "password", user_id="alice"))["message_detail_list"] == []
    data = await found(cloud, "password", user_id="alice", context_format="mixed")
    row = data["message_detail_list"][0]
    assert (row["role"], row["content"], row["conversation_id"]) == ("user", "The password of the day is walrus.", "c")
    assert len(data["memory_detail_list"]) == 1


async def test_views_choose_the_lists(cloud: Cloud) -> None:
    await cloud.add("I live in Oslo. I prefer tea.", user_id="alice")
    only = await found(cloud, "Oslo tea", user_id="alice", include_memory_view=["preference"])
    assert [name for name in LISTS if only[name]] == ["preference_detail_list"]
    both = await found(cloud, "Oslo tea", user_id="alice", include_memory_view=["detail_factual", "profile"])
    assert [name for name in LISTS if both[name]] == ["memory_detail_list", "profile_detail_list"]
    assert both["profile_detail_list"][0]["memory_type"] == "UserMemory"


async def test_what_tools_said_is_listed_when_asked(cloud: Cloud) -> None:
    call = {"id": "t1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    await cloud.ok(
        "add/message",
        user_id="alice",
        messages=[
            {"role": "assistant", "content": "Let me look.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "t1", "content": "Weather in Oslo: sleet, two degrees."},
        ],
    )
    assert (await found(cloud, "weather in Oslo", user_id="alice"))["tool_memory_detail_list"] == []
    rows = (await found(cloud, "weather in Oslo", user_id="alice", include_tool_memory=True))["tool_memory_detail_list"]
    assert "sleet" in rows[0]["tool_value"]
    assert rows[0]["tool_type"] == "ToolTrajectoryMemory"


async def test_nothing_found_says_so(cloud: Cloud) -> None:
    data = await found(cloud, "anything", user_id="nobody")
    assert (data["memory_detail_list"], data["search_status"]) == ([], "nothing")


async def test_exactly_a_subject_and_a_question_are_needed(cloud: Cloud) -> None:
    assert await cloud.error("search/memory", query="x") == (200, 40002)
    assert await cloud.error("search/memory", user_id="alice") == (200, 40002)
    assert await cloud.error("search/memory", user_id="alice", query=" ") == (200, 40000)
    assert await cloud.error("search/memory", user_id="alice", query="x", relativity=-1) == (200, 40000)
    assert await cloud.error("search/memory", user_id="alice", query="x", memory_limit_number="six") == (200, 40006)
    assert await cloud.error("search/memory", user_id="a" * 101, query="x") == (200, 40010)
    assert await cloud.error("search/memory", user_id="alice", query="x", conversation_id="c" * 101) == (200, 40011)
    assert await cloud.error("search/memory", user_id="", query="x") == (200, 40003)


class TestMessages:
    async def fill(self, cloud: Cloud) -> None:
        for conversation in ("c1", "c2", "c3"):
            for number in range(4):
                role = "assistant" if number % 2 else "user"
                await cloud.add(f"{conversation} says {number}", role, user_id="alice", conversation_id=conversation)

    async def rows(self, cloud: Cloud, **body: Any) -> list[str]:
        data = await cloud.ok("get/message", user_id="alice", **body)
        assert set(data) == {"message_detail_list"}
        return [row["content"] for row in data["message_detail_list"]]

    async def test_the_newest_come_in_the_order_they_were_said(self, cloud: Cloud) -> None:
        await self.fill(cloud)
        assert await self.rows(cloud) == [*(f"c2 says {n}" for n in (2, 3)), *(f"c3 says {n}" for n in range(4))]
        assert await self.rows(cloud, message_limit_number=3) == [f"c3 says {n}" for n in (1, 2, 3)]

    async def test_of_one_conversation(self, cloud: Cloud) -> None:
        await self.fill(cloud)
        assert await self.rows(cloud, conversation_id="c1") == [f"c1 says {n}" for n in range(4)]
        assert await self.rows(cloud, conversation_id="none") == []

    async def test_of_the_newest_conversations(self, cloud: Cloud) -> None:
        await self.fill(cloud)
        rows = await self.rows(cloud, conversation_limit_number=1, message_limit_number=50)
        assert rows == [f"c3 says {n}" for n in range(4)]
        assert len(await self.rows(cloud, conversation_limit_number=2, message_limit_number=50)) == 8

    async def test_a_long_message_is_whole_and_counts_once(self, cloud: Cloud) -> None:
        long = "\n".join(f"Line {n} of the protocol, with some more words in it." for n in range(300))
        await cloud.add(long, user_id="alice", conversation_id="c")
        await cloud.add("Short.", user_id="alice", conversation_id="c")
        assert await self.rows(cloud, message_limit_number=2) == [long, "Short."]
        assert await self.rows(cloud, message_limit_number=1) == ["Short."]

    async def test_limits_are_those_of_the_cloud(self, cloud: Cloud) -> None:
        assert await cloud.error("get/message", user_id="alice", message_limit_number=51) == (200, 40000)
        assert await cloud.error("get/message") == (200, 40002)
