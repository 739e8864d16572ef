"""What a tool publishes is what it takes (R163): arguments are generated from each schema and called."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("mcp.server", reason="the extra 'mcp' is not installed")

import jsonschema

from mcp_arguments import invalid, valid
from mcp_calls import Calls, connected
from memos import AsyncMemOS
from memos.mcp.published import listed
from memos.mcp.server import TOOLSETS, tools_of

TOOLS = {tool.name: tool for tool in tools_of("memos", ("memos-server", "reference"))}
SKILL = b"---\nname: restart-a-service\ndescription: Restarts a service that hangs.\n---\n1. systemctl restart NAME\n"
MODELS = ("chat",)  # needs a model


async def seeded(memos: AsyncMemOS, calls: Calls, tool: str) -> dict[str, Any]:
    """Things that exist, for arguments that name something."""
    memory = (await calls("memos_add", content="the red kayak leaks"))["records"][0]["id"]
    begun = await calls("memos_turn_start", text="restart nginx", recall=False)
    await memos.import_skills(SKILL, user="ada")
    return {
        "id": "restart-a-service" if tool == "memos_skill_get" else memory,
        "ids": [memory],
        "memory_id": memory,
        "targets": [memory],
        "episodeId": begun["episode"],
        "episode": begun["episode"],
        "if_version": 1,
        "cube": "ada",
        "cube_id": "ada",
        "cube_ids": ["ada"],
        "user_id": "ada",
        "owner_id": "ada",
        "cursor": "",
        "agent": "agent",
        "session": "default",
        "dry_run": True,
        "info": {"of": "mine"},
        "filter": {"kind": "trace"},
        "source": "user",
        "call_id": None,
        "entityName": "Nora",
        "rating": "up",
        "kind": "trace",
    }


async def fresh(memos: AsyncMemOS, calls: Calls, tool: str, arguments: dict[str, Any], n: int) -> dict[str, Any]:
    """The same arguments with a thing of their own where the tool uses it up, or makes it."""
    changed = dict(arguments)
    if tool in ("memos_update", "update_memory", "memos_delete", "delete_memory", "get_memory", "memos_get"):
        id = (await calls("memos_add", content=f"note {tool} {n} to be used up"))["records"][0]["id"]
        changed.update({key: id for key in ("id", "memory_id") if key in changed})
        if "ids" in changed:
            changed["ids"] = [id]
    if tool == "create_user":
        changed["user_id"] = f"user{n}"
    if tool == "create_cube":
        changed["cube_name"] = f"cube{n}"
        if changed.get("cube_id"):
            changed["cube_id"] = f"cube{n}b"
    if tool == "register_cube" and changed.get("cube_id"):
        changed["cube_id"] = f"registered{n}"
    if tool == "share_cube":
        changed["target_user_id"] = "bob"
    if tool == "memos_turn_end":
        await calls("memos_turn_start", text=f"turn {n}", recall=False)
    if tool == "add_observations":
        await calls("create_entities", entities=[{"name": "Nora", "entityType": "person", "observations": []}])
        changed["observations"] = [{"entityName": "Nora", "contents": ["sails"]}]
    if tool in ("memos_step", "memos_turn_start", "memos_turn_end", "memos_outcome", "memos_add"):
        for key in ("key", "call_id"):
            if changed.get(key):
                changed[key] = f"{key}{n}"
    return changed


@pytest.mark.parametrize("name", [name for name in TOOLS if name not in MODELS])
async def test_every_call_its_schema_allows_succeeds(memos: AsyncMemOS, tmp_path: Any, name: str) -> None:
    schema = listed(TOOLS[name]).input_schema
    async with connected(
        memos, user="ada", extra=("memos-server", "reference"), any_user=True, dumps=tmp_path / "dumps"
    ) as calls:
        seeds = await seeded(memos, calls, name)
        for n, (what, arguments) in enumerate(valid(schema, seeds)):
            given = await fresh(memos, calls, name, arguments, n)
            jsonschema.validate(given, schema)
            result = await calls.any(name, given)
            assert not result.is_error, (what, given, result.content[0].text)


@pytest.mark.parametrize("name", TOOLS)
async def test_every_call_it_does_not_allow_is_an_error_that_names_the_field(memos: AsyncMemOS, name: str) -> None:
    schema = listed(TOOLS[name]).input_schema
    async with connected(memos, user="ada", extra=("memos-server", "reference"), any_user=True) as calls:
        seeds = await seeded(memos, calls, name)
        for field, arguments in invalid(schema, seeds):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(arguments, schema)
            refused = await calls.refused(name, **arguments)
            assert refused.code == "invalid_arguments" and field in refused.text, (arguments, refused.text)
        assert (await calls("memos_status"))["cube"] == "ada"  # it lives


def test_what_is_published_is_a_schema_a_host_can_read() -> None:
    for name, tool in TOOLS.items():
        one = listed(tool)
        jsonschema.Draft202012Validator.check_schema(one.input_schema)
        jsonschema.Draft202012Validator.check_schema(one.output_schema)
        assert one.input_schema["type"] == one.output_schema["type"] == "object", name
        assert one.input_schema["additionalProperties"] is False, name
        assert "$ref" not in str(one.input_schema), name  # some hosts resolve none
        assert not {"anyOf", "oneOf", "allOf"} & one.input_schema.keys(), name  # and refuse these on top
        assert one.description and one.title


def test_annotations_say_what_a_tool_may_do() -> None:
    hints = {name: listed(tool).annotations for name, tool in TOOLS.items()}
    assert {n for n, h in hints.items() if h.destructive_hint} == {
        "memos_update", "memos_delete", "memos_forget", "memos_feedback", "update_memory", "delete_memory",
        "delete_all_memories", "delete_entities", "delete_observations", "delete_relations",
    }  # fmt: skip
    assert {n for n, h in hints.items() if h.read_only_hint and n.startswith("memos_")} == {
        "memos_search", "memos_get", "memos_list", "memos_timeline", "memos_environment", "memos_skill_list",
        "memos_cubes", "memos_status",
    }  # fmt: skip
    assert not any(h.read_only_hint and h.destructive_hint for h in hints.values())


def test_the_six_tools_of_the_local_plugin_take_its_arguments() -> None:
    taken = {name: set(listed(TOOLS[name]).input_schema["properties"]) for name in TOOLS}
    assert taken["memos_search"] >= {"query", "maxResults", "tier1topK", "tier2topK", "tier3topK", "sessionScope"}
    assert taken["memos_get"] >= {"id", "kind"}
    assert taken["memos_timeline"] >= {"episodeId", "limit"}
    assert taken["memos_environment"] >= {"query", "limit"}
    assert taken["memos_skill_list"] >= {"status", "limit"}
    assert taken["memos_skill_get"] >= {"id"}


def test_the_names_of_other_servers_are_all_there() -> None:
    assert {tool.name for tool in TOOLSETS["memos-server"]} == {
        "chat", "create_user", "create_cube", "register_cube", "unregister_cube", "search_memories", "add_memory", "get_memory",
        "update_memory", "delete_memory", "delete_all_memories", "clear_chat_history", "dump_cube", "share_cube",
        "get_user_info", "control_memory_scheduler",
    }  # fmt: skip
    assert [tool.name for tool in TOOLSETS["reference"]] == [
        "create_entities", "create_relations", "add_observations", "delete_entities", "delete_observations",
        "delete_relations", "read_graph", "search_nodes", "open_nodes",
    ]  # fmt: skip


def test_the_published_tools_are_short_enough_for_a_prompt() -> None:
    sent = [listed(tool).model_dump_json(include={"name", "description", "input_schema"}) for tool in TOOLSETS["memos"]]
    assert sum(map(len, sent)) < 20_000  # about 5,000 tokens
