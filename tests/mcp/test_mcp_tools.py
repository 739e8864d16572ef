"""The tools do what they say, with handles instead of long texts."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_calls import Calls, connected
from memos import AsyncMemOS

pytest.importorskip("mcp.server", reason="the extra 'mcp' is not installed")

SKILL = b"""---
name: restart-a-service
description: Restarts a service that hangs. Use it when a service does not answer.
---
1. systemctl restart NAME
2. systemctl status NAME
"""


@pytest.mark.parametrize("wire", ["legacy", "auto"])
async def test_what_is_added_is_found_read_changed_and_deleted(memos: AsyncMemOS, wire: str) -> None:
    async with connected(memos, user="ada", wire=wire) as calls:
        added = await calls("memos_add", content="I moved to Oslo last week.", wait=True)
        [record] = added["records"]
        assert added["status"] == "stored" and record["new"]
        hit = (await calls("memos_search", query="where do I live?"))["hits"][0]
        assert (hit["refId"], hit["tier"], hit["refKind"]) == (record["id"], 2, "trace")
        got = await calls("memos_get", id=record["id"])
        assert got["text"] == "I moved to Oslo last week." and "next_offset" not in got
        changed = await calls("memos_update", id=record["id"], text="I moved to Bergen.", if_version=got["version"])
        assert changed["changed"] and changed["version"] == got["version"] + 1
        gone = await calls("memos_delete", ids=[record["id"]])
        assert gone["deleted"] == 1
        assert (await calls.refused("memos_get", id=record["id"])).code == "not_found"


async def test_a_second_call_with_the_same_key_stores_nothing_twice(calls: Calls) -> None:
    first = await calls("memos_add", content="a kayak", key="k1")
    again = await calls("memos_add", content="a kayak", key="k1")
    assert first["records"][0]["id"] == again["records"][0]["id"] and not again["records"][0]["new"]


async def test_the_pages_of_a_list_hold_everything_once(calls: Calls) -> None:
    await calls("memos_add", content=[{"role": "user", "content": f"note {n} about boats"} for n in range(57)])
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = await calls("memos_list", limit=25, cursor=cursor, kinds=["trace"], oldest_first=True)
        seen += [item["text"] for item in page["items"]]
        cursor = page.get("cursor")
        if cursor is None:
            break
    assert seen == [f"note {n} about boats" for n in range(57)]


async def test_search_can_be_kept_to_the_session(memos: AsyncMemOS) -> None:
    async with connected(memos, user="ada", session="monday") as calls:
        await calls("memos_add", content="the boat is blue")
        await calls("memos_add", content="the boat is red", session="tuesday")
        hits = (await calls("memos_search", query="boat", sessionScope=True))["hits"]
        assert [hit["snippet"] for hit in hits] == ["the boat is blue"]
        assert len((await calls("memos_search", query="boat"))["hits"]) == 2


async def test_feedback_corrects_in_the_users_words(calls: Calls) -> None:
    await calls("memos_add", content="My sister Nora lives in Bergen.", wait=True)
    done = await calls("memos_feedback", text="no, it's Trondheim, not Bergen")
    assert done["understood"] and "Trondheim" in done["operations"][0]["after"][0]


async def test_an_agents_turn_is_reported_and_shown(calls: Calls) -> None:
    begun = await calls("memos_turn_start", text="please deploy the site")
    step = await calls("memos_step", tool="bash", input={"command": "make deploy"}, output="done", ok=True)
    over = await calls("memos_turn_end", text="It is deployed.")
    assert begun["episode"] == step["episode"] == over["episode"] and begun["relation"] == "new_task"
    kept = await calls("memos_outcome", score=1, comment="well done")
    assert kept["episode"] == begun["episode"] and kept["score"] == 1
    shown = await calls("memos_timeline", episodeId=begun["episode"])
    assert [trace["role"] for trace in shown["traces"]] == ["user", "tool", "assistant"]
    assert shown["traces"][1]["tool"] == "bash" and shown["total"] == 3
    first = await calls("memos_timeline", episodeId=begun["episode"], limit=2)
    assert first["next_offset"] == 2
    rest = await calls("memos_timeline", episodeId=begun["episode"], offset=2)
    assert [trace["role"] for trace in rest["traces"]] == ["assistant"]
    whole = await calls("memos_get", id=begun["episode"], kind="episode")
    assert "make deploy" in whole["text"]


async def test_a_skill_is_listed_found_and_handed_out_as_a_trial(memos: AsyncMemOS, calls: Calls) -> None:
    await memos.import_skills(SKILL, user="ada")
    [line] = (await calls("memos_skill_list"))["skills"]
    assert line["name"] == "restart-a-service" and line["status"] == "candidate"
    assert (await calls("memos_skill_list", status="archived"))["skills"] == []
    begun = await calls("memos_turn_start", text="restart nginx, it hangs", recall=False)
    guide = await calls("memos_skill_get", id=line["id"])
    assert "systemctl restart" in guide["guide"]
    detail = await memos.episode(begun["episode"], user="ada")
    assert [trial.memory for trial in detail.trials] == [line["id"]]
    [hit, *_] = (await calls("memos_search", query="a service that hangs"))["hits"]
    assert (hit["tier"], hit["refKind"], hit["refId"]) == (1, "skill", line["id"])
    assert (await calls("memos_get", id=line["id"]))["meta"]["state"] == "probation"


async def test_recall_answers_with_one_block(calls: Calls) -> None:
    await calls("memos_add", content="My sister Nora lives in Bergen.", wait=True)
    found = await calls("memos_recall", query="where does Nora live?")
    assert "Bergen" in found["context"] and found["items"][0]["tier"] == "fact"


async def test_status_and_cubes_of_somebody_new_are_empty_and_no_error(calls: Calls) -> None:
    assert (await calls("memos_status"))["memories"] == 0
    assert (await calls("memos_cubes"))["cubes"] == []
    await calls("memos_add", content="a kayak")
    assert (await calls("memos_status"))["memories"] == 1
    assert [cube["name"] for cube in (await calls("memos_cubes"))["cubes"]] == ["ada"]


async def test_a_memory_of_another_cube_is_found_by_its_id_alone(memos: AsyncMemOS, calls: Calls) -> None:
    await memos.create_cube("boats", user="ada")
    id = (await memos.add("a kayak", user="ada", cube="boats")).ids[0]
    other = (await calls("memos_add", content="a canoe"))["records"][0]["id"]
    assert (await calls("memos_get", id=id))["text"] == "a kayak"
    missing = id[:-6] + "000000"
    gone = await calls("memos_delete", ids=[id, other, missing])
    assert (gone["deleted"], gone["missing"]) == (2, [missing])


async def test_cubes_of_others_are_not_there(memos: AsyncMemOS, calls: Calls) -> None:
    id = (await memos.add("the code is 4711", user="bob")).ids[0]
    for tool, arguments in (
        ("memos_get", {"id": id}),
        ("memos_get", {"id": id, "cube": "bob"}),
        ("memos_search", {"query": "code", "cube": "bob"}),
        ("memos_list", {"cube": "bob"}),
        ("memos_add", {"content": "mine now", "cube": "bob"}),
        ("memos_delete", {"ids": [id]}),
        ("memos_update", {"id": id, "text": "changed"}),
        ("memos_status", {"cube": "bob"}),
        ("memos_recall", {"query": "code", "cube": "bob"}),
    ):
        assert (await calls.refused(tool, **arguments)).code in ("not_found", "access_denied"), tool
    assert (await memos.get(id, user="bob")).text == "the code is 4711"


async def test_resources_are_listed_and_read(calls: Calls) -> None:
    id = (await calls("memos_add", content="My sister Nora lives in Bergen.", wait=True))["records"][0]["id"]
    listed = (await calls.client.list_resources()).resources
    assert {str(one.uri) for one in listed} == {"profile://ada", "cube://ada"}
    templates = (await calls.client.list_resource_templates()).resource_templates
    assert {one.uri_template for one in templates} == {"memory://{id}", "cube://{name}", "profile://{user}"}

    async def read(uri: str) -> str:
        return (await calls.client.read_resource(uri)).contents[0].text

    assert await read(f"memory://{id}") == "My sister Nora lives in Bergen."
    assert '"memories":' in await read("cube://ada")
    assert "Nora" in await read("profile://ada")
    for uri in ("memory://nonsense", f"memory://{id[:-4]}0000", "cube://bob", "file:///etc/passwd", "memory://a/b"):
        with pytest.raises(Exception, match="not_found"):
            await read(uri)


async def test_prompts_carry_what_is_remembered(calls: Calls) -> None:
    await calls("memos_add", content="My sister Nora lives in Bergen.", wait=True)
    names = [prompt.name for prompt in (await calls.client.list_prompts()).prompts]
    assert names == ["recall", "how_it_went"]
    filled = await calls.client.get_prompt("recall", {"task": "Where does Nora live?"})
    text = filled.messages[0].content.text
    assert "Bergen" in text and text.endswith("Where does Nora live?")
    asked = await calls.client.get_prompt("how_it_went", {"verdict": "good, but too slow"})
    assert "good, but too slow" in asked.messages[0].content.text and "memos_outcome" in asked.messages[0].content.text
    for name, arguments in (
        ("recall", {}),
        ("recall", {"task": " "}),
        ("recall", {"task": "x", "more": "y"}),
        ("no", {}),
    ):
        with pytest.raises(Exception, match=r"invalid_input|not_found"):
            await calls.client.get_prompt(name, arguments)


async def test_a_tool_that_breaks_is_an_error_and_the_connection_goes_on(
    memos: AsyncMemOS, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*args: Any, **kwargs: Any) -> None:
        raise KeyError("secret words")

    monkeypatch.setattr(type(memos), "search", broken)
    refused = await calls.refused("memos_search", query="boat")
    assert refused.code == "internal" and "secret words" not in refused.text
    assert (await calls("memos_status"))["memories"] == 0


async def test_there_is_no_tool_of_another_name(calls: Calls) -> None:
    with pytest.raises(Exception, match="there is no tool 'memos_nonsense'"):
        await calls.any("memos_nonsense", {})
