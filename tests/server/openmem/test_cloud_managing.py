"""get/memory, update/memory and delete/memory, by the reference (§1.12)."""

from __future__ import annotations

from typing import Any

import pytest
from cloud_wire import Cloud

from memos import AsyncMemOS

NONE = "00000000-0000-7000-8000-000000000000"


async def one(cloud: Cloud, query: str, user: str = "alice") -> dict[str, Any]:
    return (await cloud.ok("search/memory", query=query, user_id=user))["memory_detail_list"][0]


async def test_pages_hold_everything_once(cloud: Cloud) -> None:
    for number in range(4):
        await cloud.add(f"I like fruit number {number}. The jar {number} is full.", user_id="alice")
    first = await cloud.ok("get/memory", user_id="alice", size=3)
    assert {"total", "size", "current", "pages"} <= set(first)
    assert (first["size"], first["current"], first["pages"]) == (3, 1, -(-first["total"] // 3))
    ids = []
    for page in range(1, first["pages"] + 1):
        data = await cloud.ok("get/memory", user_id="alice", size=3, page=page)
        ids += [item["id"] for name in data if name.endswith("_list") for item in data[name]]
    assert len(ids) == len(set(ids)) == first["total"]
    beyond = await cloud.ok("get/memory", user_id="alice", size=3, page=first["pages"] + 1)
    assert beyond["memory_detail_list"] == []
    assert await cloud.error("get/memory", user_id="alice", size=51) == (200, 40000)


async def test_what_is_not_included_is_not_counted(cloud: Cloud) -> None:
    await cloud.add("I like jazz.", user_id="alice")
    everything = await cloud.ok("get/memory", user_id="alice")
    assert len(everything["preference_detail_list"]) == 1
    without = await cloud.ok("get/memory", user_id="alice", include_preference=False)
    assert without["preference_detail_list"] == []
    assert without["total"] == everything["total"] - 1


async def test_a_list_is_filtered(cloud: Cloud) -> None:
    await cloud.add("The blue jar.", user_id="alice", tags=["blue"])
    await cloud.add("The red jar.", user_id="alice", tags=["red"])
    data = await cloud.ok("get/memory", user_id="alice", filter={"and": [{"tags": "red"}]})
    assert (data["total"], ["red" in m["memory_value"] for m in data["memory_detail_list"]]) == (1, [True])


async def test_one_memory_by_its_id(cloud: Cloud) -> None:
    await cloud.add("The blue jar.", user_id="alice")
    item = await one(cloud, "jar")
    told = (await cloud.get(f"get/memory/{item['id']}")).json()
    assert told["data"] | {"relativity": None} == item | {"relativity": None}
    for id in (NONE, "nonsense", "a/b", "%00"):
        answer = await cloud.get(f"get/memory/{id}")
        assert (answer.status_code, answer.json()["code"]) == (200, 40001)


async def test_a_new_text_keeps_the_former_one_in_the_history(cloud: Cloud, memos: AsyncMemOS) -> None:
    await cloud.add("I live in Oslo.", user_id="alice")
    id = (await one(cloud, "live"))["id"]
    data = await cloud.ok("update/memory", memory_id=id, content="I live in Bergen.")
    assert data["memory_value"].endswith("I live in Bergen.")
    assert [v.memory.text for v in await memos.history(id, user="alice")] == ["I live in Oslo.", "I live in Bergen."]
    assert await cloud.error("update/memory", memory_id=NONE, content="x") == (200, 40001)
    assert await cloud.error("update/memory", memory_id=id) == (200, 40002)
    assert await cloud.error("update/memory", memory_id=id, status="frozen") == (200, 40000)
    assert await cloud.error("update/memory", memory_id=id, content=" ") == (200, 40000)


async def test_a_title_can_be_searched_for(cloud: Cloud) -> None:
    await cloud.add("The code is 4711.", user_id="alice")
    id = (await one(cloud, "code"))["id"]
    await cloud.ok("update/memory", memory_id=id, title="Garage")
    assert (await one(cloud, "garage"))["memory_key"] == "Garage"


async def test_status_takes_back_and_brings_back(cloud: Cloud) -> None:
    await cloud.add("The code is 4711.", user_id="alice")
    id = (await one(cloud, "code"))["id"]
    for status, there in (("deleted", 0), ("deleted", 0), ("activated", 1), ("activated", 1)):
        assert (await cloud.ok("update/memory", memory_id=id, status=status))["status"] == status
        assert len(await cloud.values("code", user_id="alice")) == there


async def test_what_is_brought_back_may_be_changed_at_once(cloud: Cloud) -> None:
    await cloud.add("The code is 4711.", user_id="alice")
    id = (await one(cloud, "code"))["id"]
    await cloud.ok("update/memory", memory_id=id, status="deleted")
    data = await cloud.ok("update/memory", memory_id=id, status="activated", content="The code is 0815.")
    assert (data["status"], "0815" in data["memory_value"]) == ("activated", True)
    data = await cloud.ok("update/memory", memory_id=id, status="deleted", title="Old code")
    assert (data["status"], data["memory_key"]) == ("deleted", "Old code")


async def test_delete_takes_exactly_one_selector(cloud: Cloud) -> None:
    await cloud.add("Stays.", user_id="alice")
    for body in (
        {},
        {"user_id": "alice", "agent_id": "a"},
        {"memory_ids": [NONE], "user_id": "alice"},
        {"user_id": "alice", "filter": {"tags": "x"}},
        {"memory_ids": []},
    ):
        assert await cloud.error("delete/memory", **body) == (200, 40000), body
    assert (await cloud.ok("get/memory", user_id="alice"))["total"] == 1


async def test_delete_by_ids_is_all_or_nothing(cloud: Cloud) -> None:
    await cloud.add("The blue jar.", user_id="alice")
    await cloud.add("The red jar.", user_id="bob")
    ids = [(await one(cloud, "jar", user))["id"] for user in ("alice", "bob")]
    assert await cloud.error("delete/memory", memory_ids=[ids[0], NONE]) == (200, 40307)
    assert len(await cloud.values("jar", user_id="alice")) == 1
    assert (await cloud.ok("delete/memory", memory_ids=ids))["success"] is True
    for user in ("alice", "bob"):
        assert await cloud.values("jar", user_id=user) == []


async def test_delete_of_a_user_empties_her_memory_and_nobody_elses(cloud: Cloud) -> None:
    await cloud.add("I like jazz.", user_id="alice")
    await cloud.add("I like opera.", user_id="bob")
    assert (await cloud.ok("delete/memory", user_id="alice"))["success"] is True
    assert (await cloud.ok("get/memory", user_id="alice"))["total"] == 0
    assert (await cloud.ok("get/memory", user_id="bob"))["total"] > 0
    assert (await cloud.ok("delete/memory", user_id="alice"))["deleted"] == 0
    assert await cloud.error("delete/memory", user_id="never") == (200, 40308)


async def test_delete_by_type(cloud: Cloud) -> None:
    await cloud.add("I like jazz and live in Oslo.", user_id="alice")
    await cloud.ok("delete/memory", user_id="alice", memory_type="PreferenceMemory")
    data = await cloud.ok("get/memory", user_id="alice")
    assert data["preference_detail_list"] == []
    assert data["total"] > 0
    assert await cloud.error("delete/memory", user_id="alice", memory_type="Nonsense") == (200, 40000)


async def test_a_filter_to_delete_by_names_its_user(cloud: Cloud) -> None:
    for user in ("alice", "bob"):
        await cloud.add("The blue jar.", user_id=user, tags=["blue"])
        await cloud.add("The red jar.", user_id=user, tags=["red"])
    assert await cloud.error("delete/memory", filter={"and": [{"tags": "red"}]}) == (200, 40002)
    assert await cloud.error("delete/memory", filter={}) == (200, 40000)
    await cloud.ok("delete/memory", filter={"and": [{"user_id": "alice"}, {"tags": "red"}]})
    assert (await cloud.ok("get/memory", user_id="alice"))["total"] == 1
    assert (await cloud.ok("get/memory", user_id="bob"))["total"] == 2


@pytest.mark.parametrize("user", ["alice", "bob/../alice", "名前", "a b"])
async def test_user_names_are_only_names(cloud: Cloud, user: str) -> None:
    await cloud.add("The jar is mine.", user_id=user)
    assert len(await cloud.values("jar", user_id=user)) == 1
    assert await cloud.values("jar", user_id="somebody") == []
