"""Commands that find."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_helpers import Answer, Memos

CHAT = [
    {"role": "user", "name": "Mia", "content": "I moved from Oslo to Bergen.", "chat_time": "2025-03-01 10:00"},
    {"role": "assistant", "content": "How is Bergen in the rain?", "chat_time": "2025-03-01 10:01"},
    {"role": "user", "name": "Mia", "content": "Wet. Rex the cat hates rain.", "chat_time": "2025-03-02 09:00"},
]


@pytest.fixture
def chat(memos: Memos, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(CHAT))
    memos("add", "-f", str(file), "-s", "move")
    memos("add", "Something else entirely", "-s", "other")


@pytest.mark.usefixtures("chat")
def test_search_shows_score_date_speaker_and_text(memos: Memos) -> None:
    line = next(x for x in memos("search", "cat rain").stdout.splitlines() if "hates rain" in x)
    assert "2025-03-02 09:00" in line
    assert "Mia" in line
    assert 0 < float(line.split()[0]) <= 1


def test_search_tells_what_is_saved_only_when_something_is(memos: Memos, answer: Answer) -> None:
    answer("add", "The lake froze")
    shown = memos("search", "lake").stdout
    assert "the whole history" in shown and "saved" not in shown
    for n in range(40):
        answer("add", f"Nothing of interest happened in the town on day {n}, and nobody said otherwise", "--no-wait")
    assert "% saved)" in memos("search", "lake", "--limit", "1").stdout


def test_only_repetitions_count_as_told_again(memos: Memos, answer: Answer) -> None:
    answer("add", "My cat Rex loves tuna", "--session", "a")
    assert "told" not in memos("search", "what does Rex love?").stdout
    for session in ("b", "c"):
        answer("add", "My cat Rex loves tuna", "--session", session)
    assert "(told 2 more times)" in memos("search", "what does Rex love?").stdout


@pytest.mark.usefixtures("chat")
def test_search_explains_each_hit(memos: Memos) -> None:
    assert "lexical +" in memos("search", "cat rain", "--explain").stdout


@pytest.mark.usefixtures("chat")
def test_max_tokens_prints_the_context_within_the_budget(memos: Memos, answer: Answer) -> None:
    shown = memos("search", "cat rain", "--max-tokens", "60").stdout.strip()
    assert shown == answer("search", "cat rain", "--max-tokens", "60")["context"]
    assert shown.startswith("<memos-context>")
    assert len(shown) <= 60 * 4


@pytest.mark.usefixtures("chat")
def test_search_answers_in_strict_json(answer: Answer) -> None:
    found = answer("search", "cat rain", "--limit", "2", "--threshold", "0.01")
    assert found["status"] == "found"
    assert len(found["hits"]) <= 2
    assert found["hits"][0]["memory"]["speaker"] == "Mia"
    assert found["hits"][0]["memory"]["valid_from"] == "2025-03-02T09:00:00Z"


def test_nothing_found_is_said_and_is_no_error(memos: Memos) -> None:
    assert "nothing" in memos("search", "anything").stdout


def test_search_over_several_cubes_names_each(memos: Memos, answer: Answer) -> None:
    for name in ("a", "b"):
        memos("cubes", "create", name)
        memos("add", f"the {name} rocket", "--cube", name)
    assert {h["cube"] for h in answer("search", "rocket", "--in", "a", "--in", "b")["hits"]} == {"a", "b"}
    assert "cube" in memos("search", "rocket", "--in", "a", "--in", "b").stdout


@pytest.mark.parametrize(
    "args",
    [
        ("search", ""),
        ("search", "x", "--as-of", "soonish"),
        ("search", "x", "--kind", "rumour"),
        ("search", "x", "--filter", "{"),
        ("search", "x", "--filter", "[]"),
        ("timeline", "-s", "a", "-e", "b"),
    ],
)
def test_what_cannot_be_asked_is_an_input_error(memos: Memos, args: tuple[str, ...]) -> None:
    error = memos(*args, code=2).stderr
    assert error.startswith("memos: ")
    assert error.count("\n") == 1


@pytest.mark.usefixtures("chat")
def test_explain_tells_hits_and_misses(memos: Memos, answer: Answer) -> None:
    ids = {m["text"]: m["id"] for m in answer("list", "--kind", "trace")["items"]}
    hit = answer("explain", "cat rain", ids["Wet. Rex the cat hates rain."])
    assert hit["found"] is True
    miss = answer("explain", "cat rain", ids["Something else entirely"], "--limit", "1")
    assert miss["found"] is False
    shown = memos("explain", "cat rain", ids["Something else entirely"], "--limit", "1").stdout
    assert f"removed by {miss['removed_by']}" in shown
    assert "would help" in shown


@pytest.mark.usefixtures("chat")
def test_timeline_of_a_session_is_in_order_and_by_day(memos: Memos, answer: Answer) -> None:
    shown = memos("timeline", "--session", "move").stdout
    places = [shown.index(x) for x in ("Sat 2025-03-01", "I moved", "How is Bergen", "Sun 2025-03-02", "hates rain")]
    assert places == sorted(places)
    assert "entirely" not in shown
    assert {m["session"] for m in answer("timeline", "-s", "move")} == {"move"}
    assert "entirely" in memos("timeline").stdout
    assert "no memory of session" in memos("timeline", "-s", "none", code=1).stderr
    assert "did you mean 'move'?" in memos("timeline", "-s", "mvoe", code=1).stderr


def test_timeline_and_tree_follow_entities(memos: Memos, home: Path) -> None:
    ids = _with_entity(home)
    shown = memos("timeline", "--entity", "rex").stdout
    assert "Rex sleeps" in shown
    assert "unrelated" not in shown
    assert "Rex sleeps" in memos("timeline", "--entity", ids["Rex"]).stdout
    assert "Rex sleeps" in memos("timeline", "--entity", ids["Rex"][-8:]).stdout
    assert "no entity named" in memos("timeline", "--entity", "Nobody", code=1).stderr
    tree = memos("neighbors", ids["fact"], "--depth", "2").stdout
    assert tree.index("Rex likes sleep") < tree.index("─DERIVED_FROM→") < tree.index("─MENTIONS→")
    assert "DERIVED_FROM" in memos("neighbors", ids["Rex"], "-d", "2").stdout
    assert "no neighbours" in memos("neighbors", ids["fact"], "--type", "USES").stdout


def test_neighbors_refuses_unknown_types_and_directions(memos: Memos, home: Path) -> None:
    id = _with_entity(home)["fact"]
    assert "EATS" in memos("neighbors", id, "--type", "EATS", code=2).stderr
    assert "sideways" in memos("neighbors", id, "--direction", "sideways", code=2).stderr


def _with_entity(home: Path) -> dict[str, str]:
    """A trace that mentions an entity, and a fact derived from it, put in without the reader."""
    import asyncio

    from memos.memory.ids import new_id
    from memos.memory.model import Edge, EdgeType, Kind, Memory
    from memos.memory.time import parse_time
    from memos.storage.ports import WriteTx
    from memos.storage.sqlite.cube import SqliteCube
    from memos.storage.sqlite.registry import SqliteRegistry

    ids = {name: new_id() for name in ("trace", "Rex", "fact")}

    def fill(tx: WriteTx) -> None:
        day = parse_time("2025-05-05").instant
        tx.put(Memory(ids["trace"], Kind.TRACE, "Rex sleeps all day", session="s", valid_from=day))
        tx.put(Memory(new_id(), Kind.TRACE, "unrelated", session="s", valid_from=day))
        tx.put(Memory(ids["Rex"], Kind.ENTITY, "Rex"))
        tx.put(Memory(ids["fact"], Kind.FACT, "Rex likes sleep", valid_from=day))
        tx.link(Edge(ids["trace"], ids["Rex"], EdgeType.MENTIONS))
        tx.link(Edge(ids["fact"], ids["trace"], EdgeType.DERIVED_FROM))

    async def run() -> None:
        registry = SqliteRegistry(home)
        info, _ = registry.create("default", "default")
        cube = SqliteCube.open(registry.path(info))
        await cube.write(fill)
        await cube.close()
        registry.close()

    asyncio.run(run())
    return ids
