"""Searching over the wire: every field does what it says, over several cubes too."""

from __future__ import annotations

from typing import Any

import httpx2
from test_wire_add import found, post

Client = httpx2.AsyncClient


async def add(client: Client, user: str, text: Any, **more: Any) -> str:
    body = {"user_id": user, "async_mode": "sync", "messages": text, **more}
    return (await post(client, "/add", body))["data"][0]["memory_id"]


async def search(client: Client, user: str, query: str, status: int = 200, **more: Any) -> Any:
    return (await post(client, "/search", {"user_id": user, "query": query, **more}, status))["data"]


def ids(data: Any, bucket: str = "text_mem") -> list[str]:
    return [m["id"] for part in data[bucket] for m in part["memories"]]


def relativity(data: Any) -> list[float]:
    return [m["metadata"]["relativity"] for part in data["text_mem"] for m in part["memories"]]


async def test_top_k_counts_over_all_cubes_and_the_best_come_from_any(app_client: Client) -> None:
    for n in range(6):
        await add(app_client, "u", f"Kayak note number {n} about paddling.", writable_cube_ids=["a" if n % 2 else "b"])
    best = await add(app_client, "u", "The teal kayak is in shed 4.", writable_cube_ids=["b"])
    data = await search(
        app_client, "u", "in which shed is the teal kayak", readable_cube_ids=["a", "b"], top_k=3, relativity=0
    )
    assert [part["cube_id"] for part in data["text_mem"]] == ["a", "b"]
    assert len(ids(data)) == 3
    assert best in ids(data)
    assert sum(part["total_nodes"] for part in data["text_mem"]) == 3


async def test_top_k_20_returns_20(app_client: Client) -> None:
    for n in range(25):
        await add(app_client, "u", f"On day {n} I went paddling with my kayak to island {n}.", async_mode="async")
    for dedup in ("no", "sim", "mmr", None):
        assert len(ids(await search(app_client, "u", "kayak paddling", top_k=20, relativity=0, dedup=dedup))) == 20


async def test_relativity_0_keeps_everything_and_a_threshold_cuts(app_client: Client) -> None:
    await add(app_client, "u", "The teal kayak is in shed 4.")
    await add(app_client, "u", "A kayak was seen on the lake by many people of the village in summer.")
    everything = await search(app_client, "u", "teal kayak shed", relativity=0)
    assert len(ids(everything)) == 2
    high, low = relativity(everything)
    assert 0 < low < high <= 1
    between = await search(app_client, "u", "teal kayak shed", relativity=(high + low) / 2)
    assert relativity(between) == [high]


async def test_rerank_off_changes_no_score_to_nothing(app_client: Client) -> None:
    await add(app_client, "u", "The teal kayak is in shed 4.")
    assert ids(await search(app_client, "u", "teal kayak", rerank=False))


async def test_a_session_is_preferred_and_excludes_nothing(app_client: Client) -> None:
    here = await add(app_client, "u", "The kayak trip is planned for spring.", session_id="s1")
    there = await add(app_client, "u", "The kayak trip is planned for autumn.", session_id="s2")
    for session, first in (("s1", here), ("s2", there)):
        data = await search(app_client, "u", "When is the kayak trip planned?", session_id=session, relativity=0)
        assert ids(data)[0] == first
        assert set(ids(data)) == {here, there}
    best = await add(app_client, "u", "The boiler serial is HK-902-FENNEL.", session_id="s3")
    assert ids(await search(app_client, "u", "HK-902-FENNEL", session_id="s1", relativity=0))[0] == best


async def test_repetitions_are_one_hit_unless_asked_for_apart(app_client: Client) -> None:
    for session in ("s1", "s2", "s3"):
        await add(app_client, "u", "The teal kayak is in shed 4 behind the house.", session_id=session)
    assert len(ids(await search(app_client, "u", "teal kayak", relativity=0))) == 1
    assert len(ids(await search(app_client, "u", "teal kayak", relativity=0, dedup="no"))) == 3


async def test_nearly_the_same_words_are_one_hit_but_other_numbers_are_not(app_client: Client) -> None:
    long = "My running club meets at the old harbour gate near the red lighthouse every week and we run {} kilometres together {}."
    await add(app_client, "u", long.format(5, "always"))
    await add(app_client, "u", long.format(5, "always,") + " ")
    await add(app_client, "u", long.format(7, "always"))
    assert len(ids(await search(app_client, "u", "running club harbour", relativity=0, dedup="mmr"))) == 2


FILTERS: list[tuple[Any, set[str]]] = [
    ({"tags": "green"}, {"green"}),
    ({"tags": {"contains": "green"}}, {"green"}),
    ({"and": [{"tags": "green"}, {"mood": "calm"}]}, {"green"}),
    ({"or": [{"tags": "green"}, {"mood": "wild"}]}, {"green", "red"}),
    ({"and": [{"or": [{"tags": "green"}, {"tags": "red"}]}, {"not": {"tags": "red"}}]}, {"green"}),
    ({"info.mood": {"in": ["calm", "sad"]}}, {"green"}),
    ({"level": {"gt": 3, "lte": 9}}, {"red"}),
    ({"user_id": "u"}, {"green", "red"}),
    ({"session_id": "default_session"}, {"green", "red"}),
    ({"created_at": {"gte": "2000-01-01"}}, {"green", "red"}),
    ({"created_at": {"lt": "2000-01-01"}}, set()),
    ({"status": "activated"}, {"green", "red"}),
    ({"status": "deleted"}, set()),
    ({"memory_type": "LongTermMemory", "tags": "red"}, {"red"}),
    ({"memory_type": "AllSummaryMemory", "tags": "red"}, {"red"}),
    ({"memory_type": {"in": ["SkillMemory"]}}, set()),
    ({"memory": {"like": "GREEN"}}, {"green"}),
]


async def test_filters(app_client: Client) -> None:
    await add(app_client, "u", "The green boat floats.", custom_tags=["green"], info={"mood": "calm", "level": 2})
    await add(app_client, "u", "The red boat floats.", custom_tags=["red"], info={"mood": "wild", "level": 9})
    for given, want in FILTERS:
        texts = await found(app_client, "u", "boat floats", relativity=0, filter=given)
        assert {colour for colour in ("green", "red") if any(colour in text for text in texts)} == want, given
        listed = (await post(app_client, "/get_memory", {"mem_cube_id": "u", "filter": given}))["data"]["text_mem"][0]
        assert listed["total_nodes"] == len(want), given


WRONG: list[Any] = [
    {},
    {"and": []},
    {"and": {"tags": "x"}},
    {"tags": {"almost": "x"}},
    {"created_at": {"gt": "never"}},
    {"file_ids": ["f"]},
    {"sources.file_id": "f"},
    {"a": {"tags": "x"}, "tags": "x"},
]


async def test_filters_that_are_none_are_errors_and_never_everything(app_client: Client) -> None:
    await add(app_client, "u", "The green boat floats.", writable_cube_ids=["a"])
    for given in WRONG:
        body = {"user_id": "u", "query": "boat", "filter": given, "readable_cube_ids": ["a"]}
        assert (await post(app_client, "/search", body, 400))["error"] == "invalid_filter", given


async def test_each_cube_can_have_its_own_filter(app_client: Client) -> None:
    a = await add(app_client, "u", "The green boat floats.", writable_cube_ids=["a"], custom_tags=["x"])
    await add(app_client, "u", "The red boat floats.", writable_cube_ids=["a"], custom_tags=["y"])
    b = await add(app_client, "u", "The blue boat floats.", writable_cube_ids=["b"], custom_tags=["y"])
    cubes = {"readable_cube_ids": ["a", "b"], "relativity": 0}
    assert set(
        ids(await search(app_client, "u", "boat floats", filter={"a": {"tags": "x"}, "b": {"tags": "y"}}, **cubes))
    ) == {a, b}
    assert set(ids(await search(app_client, "u", "boat floats", filter={"a": {"tags": "x"}, "b": None}, **cubes))) == {
        a,
        b,
    }
    assert set(ids(await search(app_client, "u", "boat floats", filter={"a": {"tags": "x"}}, **cubes))) == {a, b}


TYPES: dict[str, set[str]] = {
    "All": {"text_mem", "pref_mem"},
    "PreferenceMemory": {"pref_mem"},
    "LongTermMemory": {"text_mem"},
    "AllSummaryMemory": {"text_mem"},
    "UserMemory": {"text_mem"},
    "SkillMemory": set(),
    "ToolSchemaMemory": set(),
    "ToolTrajectoryMemory": set(),
    "RawFileMemory": set(),
    "WorkingMemory": {"text_mem"},
    "OuterMemory": set(),
}


async def test_a_memory_type_asked_for_is_all_that_comes(app_client: Client) -> None:
    await add(app_client, "u", "I live in Oslo and I like strawberry ice cream.")
    query = "Where does the user live, and strawberry ice cream?"
    for kind, buckets in TYPES.items():
        data = await search(app_client, "u", query, search_memory_type=kind, relativity=0)
        assert {name for name in ("text_mem", "pref_mem", "tool_mem", "skill_mem") if ids(data, name)} == buckets, kind
        if kind not in ("All", "AllSummaryMemory"):
            shown = {m["metadata"]["memory_type"] for name in buckets for part in data[name] for m in part["memories"]}
            assert shown <= {kind}


async def test_preferences_as_text_say_what_the_list_says_over_all_cubes(app_client: Client) -> None:
    await add(app_client, "u", "I like strawberry ice cream.", writable_cube_ids=["a"])
    await add(app_client, "u", "I hate cilantro ice cream.", writable_cube_ids=["b"])
    data = await search(app_client, "u", "ice cream", readable_cube_ids=["a", "b"], relativity=0)
    listed = [m["metadata"]["preference"] for part in data["pref_mem"] for m in part["memories"]]
    assert len(listed) == 2
    assert all(preference in data["pref_string"] for preference in listed)
    assert data["pref_string"].endswith(data["pref_note"])
    one = await search(app_client, "u", "ice cream", readable_cube_ids=["a", "b"], relativity=0, pref_top_k=1)
    assert one["pref_string"].count("\n2. ") == 0
    none = await search(app_client, "u", "ice cream", readable_cube_ids=["a", "b"], relativity=1.01)
    assert (none["pref_string"], none["pref_note"], ids(none, "pref_mem")) == ("", "", [])
    chinese = await search(app_client, "u", "冰淇淋 ice cream", readable_cube_ids=["a"], relativity=0)
    assert "# 注意" in chinese["pref_string"]


async def test_reference_time_is_what_last_week_is_relative_to(app_client: Client) -> None:
    for day, place in (("2025-03-03", "Lisbon"), ("2025-06-10", "Madrid")):
        message = {"role": "user", "content": f"We had dinner in {place}.", "chat_time": f"{day} 19:00"}
        await add(app_client, "u", [message])  # type: ignore[arg-type]
    for now, place in (("2025-03-11 10:00", "Lisbon"), ("2025-06-18", "Madrid")):
        first = (await found(app_client, "u", "Where did we have dinner last week?", reference_time=now, relativity=0))[
            0
        ]
        assert place in first


async def test_what_is_replaced_is_marked_and_comes_behind(app_client: Client) -> None:
    await add(app_client, "u", [{"role": "user", "content": "I live in Oslo.", "chat_time": "2025-01-01"}])  # type: ignore[arg-type]
    await add(app_client, "u", [{"role": "user", "content": "I live in Bergen now.", "chat_time": "2025-03-01"}])  # type: ignore[arg-type]
    first, second = await found(app_client, "u", "Where do I live?", relativity=0)
    assert first == "2025-03-01 00:00 user: I live in Bergen now."
    assert second == "2025-01-01 00:00 [outdated] user: I live in Oslo."


async def test_the_name_of_who_spoke_is_in_the_text_once(app_client: Client) -> None:
    message = {"role": "user", "name": "Alice", "content": "Alice: I own a lute.", "chat_time": "2025-01-01 08:00"}
    await add(app_client, "u", [message])  # type: ignore[arg-type]
    assert await found(app_client, "u", "lute") == ["2025-01-01 08:00 Alice: I own a lute."]


async def test_a_failing_cube_makes_the_answer_partial_never_empty(app_client: Client, memos: Any) -> None:
    await add(app_client, "u", "The teal kayak is in shed 4.", writable_cube_ids=["good"])
    await post(app_client, "/create_cube", {"cube_name": "bad", "owner_id": "u"})
    info = await memos.open_cube("bad", user="u")
    (memos.settings.home / "cubes" / info.location).write_bytes(b"this is no cube" * 1000)
    data = await search(app_client, "u", "teal kayak", readable_cube_ids=["good", "bad"])
    assert data["status"] == "partial"
    assert any("'bad'" in reason for reason in data["reasons"])
    assert ids(data)
    answer = await app_client.post("/product/search", json={"user_id": "u", "query": "x", "readable_cube_ids": ["bad"]})
    assert answer.status_code >= 500


async def test_of_many_sources_the_first_and_the_last_are_shown(app_client: Client) -> None:
    for day in range(1, 26):
        said = [{"role": "user", "content": "I live in Oslo.", "chat_time": f"2026-01-{day:02}T12:00:00Z"}]
        await add(app_client, "u", said, session_id=f"s{day}")
    data = await search(app_client, "u", "Where does the user live?", search_memory_type="UserMemory", relativity=0)
    (sources,) = {
        tuple(s["chat_time"][:10] for s in m["metadata"]["sources"])
        for part in data["text_mem"]
        for m in part["memories"]
        if len(m["metadata"]["sources"]) > 1
    }
    assert sources == tuple(f"2026-01-{day:02}" for day in (*range(1, 11), *range(16, 26)))
