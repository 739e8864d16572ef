"""The nine tools of the reference server do over a cube what they do over its file; and that file goes in and out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mcp_calls import Calls, connected
from memos import AsyncMemOS
from memos.cli.main import app

pytest.importorskip("mcp.server", reason="the extra 'mcp' is not installed")

NORA = {"name": "Nora", "entityType": "person", "observations": ["lives in Bergen", "likes tea"]}
WORKS = {"from": "Nora", "to": "Acme", "relationType": "works_at"}


@pytest.fixture
async def graph(memos: AsyncMemOS) -> AsyncIterator[Calls]:
    ready: asyncio.Future[Calls] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        async with connected(memos, mode="reference", user="ada") as made:
            ready.set_result(made)
            await over.wait()

    holding = asyncio.create_task(hold())
    yield await ready
    over.set()
    await holding


async def test_entities_relations_and_observations_come_and_go(graph: Calls) -> None:
    acme = {"name": "Acme", "entityType": "company", "observations": []}
    assert (await graph("create_entities", entities=[NORA, acme]))["entities"] == [NORA, acme]
    assert (await graph("create_relations", relations=[WORKS]))["relations"] == [WORKS]
    told = await graph("add_observations", observations=[{"entityName": "Nora", "contents": ["likes tea", "sails"]}])
    assert told["results"] == [{"entityName": "Nora", "addedObservations": ["sails"]}]
    whole = await graph("read_graph")
    assert whole["entities"] == [{**NORA, "observations": ["lives in Bergen", "likes tea", "sails"]}, acme]
    assert whole["relations"] == [WORKS]
    await graph("delete_observations", deletions=[{"entityName": "Nora", "observations": ["likes tea", "unknown"]}])
    await graph("delete_relations", relations=[WORKS])
    whole = await graph("read_graph")
    assert whole["entities"][0]["observations"] == ["lives in Bergen", "sails"] and whole["relations"] == []
    await graph("create_relations", relations=[WORKS])
    await graph("delete_entities", entityNames=["Nora", "nobody"])
    assert await graph("read_graph") == {"entities": [acme], "relations": []}
    assert (await graph("create_entities", entities=[NORA]))["entities"] == [NORA]  # and it can come again


async def test_what_is_there_is_not_made_again(graph: Calls) -> None:
    await graph("create_entities", entities=[NORA])
    other = {"name": "Nora", "entityType": "boat", "observations": ["is blue"]}
    assert (await graph("create_entities", entities=[other, other]))["entities"] == []
    await graph("create_relations", relations=[WORKS, WORKS])
    assert (await graph("create_relations", relations=[WORKS]))["relations"] == []
    whole = await graph("read_graph")
    assert whole == {"entities": [NORA], "relations": [WORKS]}


async def test_an_observation_of_nobody_is_refused_and_nothing_of_the_call_is_stored(graph: Calls) -> None:
    await graph("create_entities", entities=[NORA])
    refused = await graph.refused(
        "add_observations",
        observations=[{"entityName": "Nora", "contents": ["sails"]}, {"entityName": "Bob", "contents": ["x"]}],
    )
    assert refused.code == "not_found" and "Bob" in refused.text
    assert (await graph("read_graph"))["entities"] == [NORA]


async def test_nodes_are_found_by_words_and_by_what_a_question_means(graph: Calls) -> None:
    boat = {"name": "Saga", "entityType": "boat", "observations": ["is moored in Bergen harbour"]}
    await graph("create_entities", entities=[NORA, boat])
    await graph("create_relations", relations=[{"from": "Nora", "to": "Saga", "relationType": "owns"}])

    async def found(query: str) -> set[str]:
        return {entity["name"] for entity in (await graph("search_nodes", query=query))["entities"]}

    assert (
        await found("TEA") == {"Nora"} and await found("bergen") == {"Nora", "Saga"} and await found("boat") == {"Saga"}
    )
    meant = (await graph("search_nodes", query="where is the harbour?"))[
        "entities"
    ]  # words that stand nowhere like this
    assert meant[0]["name"] == "Saga"
    assert await found("zeppelin") == set()
    opened = await graph("open_nodes", names=["Saga", "nobody"])
    assert opened["entities"] == [boat] and opened["relations"][0]["from"] == "Nora"


async def test_the_graph_is_memory_like_any_other(memos: AsyncMemOS, graph: Calls) -> None:
    await graph("create_entities", entities=[NORA])
    [hit, *_] = (await memos.search("where does Nora live?", user="ada")).hits
    assert "Bergen" in hit.memory.text
    await memos.delete([hit.id], user="ada")
    assert (await graph("read_graph"))["entities"][0]["observations"] == ["likes tea"]


async def test_parallel_calls_lose_nothing(graph: Calls) -> None:
    await asyncio.gather(
        *(
            graph("create_entities", entities=[{"name": f"n{i}", "entityType": "x", "observations": [f"o{i}"]}])
            for i in range(50)
        )
    )
    whole = await graph("read_graph")
    assert {e["name"]: e["observations"] for e in whole["entities"]} == {f"n{i}": [f"o{i}"] for i in range(50)}


def test_the_file_of_the_reference_server_goes_in_and_out(tmp_path: Path) -> None:
    lines: list[Any] = [
        {"type": "entity", **NORA},
        {"type": "relation", **WORKS},
        {"type": "entity", "name": "Acme", "entityType": "company", "observations": ["makes 帆船"]},
    ]
    source, target = tmp_path / "memory.jsonl", tmp_path / "out.jsonl"
    source.write_text("\n".join(json.dumps(line) for line in lines), "utf-8")

    def run(*args: str) -> Any:
        result = CliRunner().invoke(
            app, ["--home", str(tmp_path / "home"), "--embedder", "none", "--json", "mcp", *args]
        )
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    planned = run("import", str(source), "--dry-run")
    assert (planned["entities"], planned["observations"], planned["relations"], planned["new"]) == (2, 3, 1, 0)
    assert run("import", str(source))["new"] == 6
    assert run("import", str(source))["new"] == 0  # a second time
    assert run("export", str(target))["entities"] == 2
    told = [json.loads(line) for line in target.read_text("utf-8").splitlines()]
    assert sorted(told, key=str) == sorted(lines, key=str)
    refused = CliRunner().invoke(app, ["--home", str(tmp_path / "home"), "mcp", "export", str(target)])
    assert refused.exit_code == 2 and "exists already" in refused.stderr


def test_bad_lines_are_reported_and_the_good_ones_taken(tmp_path: Path) -> None:
    source = tmp_path / "memory.jsonl"
    bad = [
        "{", "[]", "7", '{"type": "thing"}', '{"type": "entity"}', '{"type": "entity", "name": " "}', "[" * 100_000,
        '{"type": "entity", "name": "Bea", "entityType": "bee", "observations": ["hums", "", 7, null]}',
        '{"type": "relation", "from": "Bea", "to": null, "relationType": "x"}', "\x00", '{"type": "entity", "name": "\\ud800x"}',
    ]  # fmt: skip
    source.write_text("\n".join(bad) + "\n\n", "utf-8")
    args = ["--home", str(tmp_path / "home"), "--embedder", "none", "--json", "mcp", "import", str(source)]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0, result.stderr
    done = json.loads(result.stdout)
    assert done["entities"] == 2 and done["observations"] == 1 and done["bad"] == 12
    assert any("line 1:" in said for said in done["skipped"])
    missing = CliRunner().invoke(app, ["--home", str(tmp_path / "home"), "mcp", "import", str(tmp_path)])
    assert missing.exit_code == 2 and "is no file" in missing.stderr
