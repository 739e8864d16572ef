"""The local plugin's database and bundle, read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from plugin_files import BEGAN, DAY, FIRST, SECOND, Plugin, call, gcc_work

from memos.errors import InvalidInput
from memos.moving.items import Bad, Item, Left, Said, Skill, Told, Worked
from memos.moving.local_plugin import SOURCE
from memos.moving.sources import detect


def read(path: Path) -> list[Item]:
    return list(SOURCE.read(path))


def of(items: Sequence[Item], kind: type[Any]) -> list[Any]:
    return [item for item in items if isinstance(item, kind)]


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path / "memos.db")


def test_the_traces_of_a_turn_are_one_turn_with_its_calls(plugin: Plugin) -> None:
    gcc_work(plugin, 1, "numpy", BEGAN)
    (turn,) = of(read(plugin.path), Worked)
    assert turn.text == "Install numpy in the container"
    assert turn.reply == "numpy is installed; gcc was missing."
    assert [(c.tool, c.ok) for c in turn.calls] == [("Bash", False), ("Bash", True), ("Bash", True)]
    assert turn.calls[0].error == "1\nerror: command 'gcc' not found"
    assert turn.calls[0].duration == 1.5
    assert (turn.at, turn.over, turn.reward) == ("2026-01-01T00:00:00+00:00", True, 0.9)


def test_episodes_come_the_oldest_first_and_only_their_last_turn_ends_them(plugin: Plugin) -> None:
    plugin.episode("ep_new", at=BEGAN + DAY)
    plugin.episode("ep_old", at=BEGAN, reward=-0.5)
    plugin.turn("ep_new", "第三个问题", "好的", at=BEGAN + DAY)
    plugin.turn("ep_old", "第一个问题", "好的", at=BEGAN)
    plugin.turn("ep_old", "第二个问题", "好的", at=BEGAN + 1000)
    turns = of(read(plugin.path), Worked)
    assert [t.text for t in turns] == ["第一个问题", "第二个问题", "第三个问题"]
    assert [(t.over, t.reward) for t in turns] == [(False, None), (True, -0.5), (True, None)]
    assert len({t.id for t in turns}) == 3


def test_thinking_reflection_and_tags_are_kept_and_memory_tools_and_blocks_are_not(plugin: Plugin) -> None:
    plugin.episode("e")
    said = "<memos_context>\nyou like tea\n</memos_context>\nMake tea"
    calls = [call("memos_search", {"query": "tea"}, "tea"), call("kettle", {"on": True}, "boils")]
    plugin.turn("e", said, "Done.", calls, reflection="Water first.", agent_thinking="hm", tags_json=["tea", "kettle"])
    (turn,) = of(read(plugin.path), Worked)
    assert turn.text == "Make tea"
    assert [c.tool for c in turn.calls] == ["kettle"]
    assert turn.reflection == "Water first."
    assert turn.info["thinking"] == "hm"
    assert turn.info["tags"] == "tea, kettle"


def test_explicit_feedback_is_the_reward_where_the_plugin_gave_none_and_its_words_are_a_note(plugin: Plugin) -> None:
    plugin.episode("e")
    plugin.turn("e", "Deploy it", "Deployed.")
    more = {"episode_id": "e", "ts": BEGAN}
    plugin.put(
        "feedback", id="f1", channel="explicit", polarity="negative", magnitude=0.8, rationale="总是先跑测试", **more
    )
    plugin.put("feedback", id="f2", channel="implicit", polarity="positive", magnitude=1.0, **more)
    items = read(plugin.path)
    assert of(items, Worked)[0].reward == -0.8
    (note,) = of(items, Told)
    assert (note.text, note.tags, note.role, note.id) == ("总是先跑测试", ("feedback",), "user", "f1")
    assert Left("implicit feedback", 1, "how a task went is read again from what the user said next") in items


def policy(plugin: Plugin, id: str, **more: Any) -> None:
    row = {
        "title": f"Title {id}",
        "trigger": "pip fails",
        "procedure": "install gcc",
        "verification": "",
        "boundary": "linux",
    }
    plugin.put("policies", id=id, created_at=BEGAN, updated_at=BEGAN, **{**row, **more})


def test_policies_whose_turns_are_here_are_learned_again_and_those_of_people_are_notes(plugin: Plugin) -> None:
    gcc_work(plugin, 1, "numpy", BEGAN)
    policy(plugin, "again", status="active", source_episodes_json=["ep_1"])
    policy(plugin, "edited", status="active", source_episodes_json=["ep_1"], edited_at=BEGAN)
    policy(plugin, "lost", status="candidate", source_episodes_json=["ep_gone"])
    guidance = {"preference": ["use uv"], "antiPattern": ["pip as root"]}
    policy(
        plugin, "asked", experience_type="preference", source_episodes_json=["ep_1"], decision_guidance_json=guidance
    )
    policy(plugin, "old", status="archived")
    items = read(plugin.path)
    notes = {t.id: t for t in of(items, Told)}
    assert set(notes) == {"edited", "lost", "asked"}
    assert notes["asked"].tags == ("policy",)
    assert notes["asked"].text.splitlines() == [
        "Title asked", "When: pip fails", "Do: install gcc", "Limits: linux", "Prefer: use uv", "Avoid: pip as root",
    ]  # fmt: skip
    left = {item.what: item.count for item in of(items, Left)}
    assert left["policies"] == 1
    assert left["archived policies"] == 1


def test_world_models_and_repairs_are_notes_and_skills_are_skill_files(plugin: Plugin) -> None:
    structure = {"environment": [{"label": "src/", "description": "代码在这里"}], "inference": [], "constraints": []}
    plugin.put(
        "world_model", id="w", title="Repo", body="A Python repo.", structure_json=structure, domain_tags_json=["python"],
        created_at=BEGAN, updated_at=BEGAN,
    )  # fmt: skip
    plugin.put("decision_repairs", id="r", ts=BEGAN, context_hash="x", preference="read first", anti_pattern="guess")
    steps = {"summary": "Builds wheels", "steps": [{"title": "Build", "body": "run build"}]}
    times = {"created_at": BEGAN, "updated_at": BEGAN}
    plugin.put(
        "skills", id="k1", name="build_wheel", invocation_guide="", procedure_json=steps, status="active", **times
    )
    plugin.put(
        "skills", id="k2", name="build-wheel", owner_profile_id="b", invocation_guide="# Other\u200b\n\nguide", **times
    )
    plugin.put("skills", id="k3", name="gone", invocation_guide="x", status="archived", **times)
    items = read(plugin.path)
    world, repair = of(items, Told)
    assert world.text == "Repo\nA Python repo.\nsrc/: 代码在这里"
    assert world.tags == ("world-model", "python")
    assert repair.text == "Prefer: read first\nAvoid: guess"
    first, second = of(items, Skill)
    assert (first.name, second.name) == ("build-wheel", "build-wheel-2")
    assert "1. Build: run build" in first.markdown
    assert "description: Builds wheels" in first.markdown
    assert "\u200b" not in second.markdown
    assert not of(items, Bad)


def test_what_is_left_out_is_counted_and_reasons_are_given(plugin: Plugin) -> None:
    gcc_work(plugin, 1, "numpy", BEGAN)
    for number in range(3):
        plugin.put("api_logs", tool_name="memos_search", called_at=number)
    plugin.put("hub_shared_memories", id="h", content="x")
    left = {item.what: item.count for item in of(read(plugin.path), Left)}
    assert left == {"api_logs": 3, "hub_shared_memories": 1, "vectors of turns": 4}


def test_odd_rows_are_bad_and_the_others_are_read(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path / "memos.db", schema=loosened())
    plugin.episode("e")
    plugin.turn("e", "good", "fine")
    base = {"episode_id": "e", "session_id": "s", "ts": 1, "turn_id": 1, "user_text": "x", "agent_text": "y"}
    plugin.put("traces", id="no-text", **{**base, "user_text": None})
    plugin.put("traces", id="no-time", **{**base, "turn_id": "soon"})
    plugin.put("traces", id="bytes", **{**base, "user_text": b"\xff\xfe"})
    plugin.db.execute("UPDATE traces SET user_text = cast(x'ff41' as text) WHERE id = 'bytes'")
    plugin.put("traces", id="huge", **{**base, "user_text": "x" * (17 << 20)})
    plugin.put("traces", id="json", **{**base, "tool_calls_json": "[{", "turn_id": 7, "user_text": "still said"})
    items = read(plugin.path)
    assert {t.text for t in of(items, Worked)} == {"good", "still said"}
    assert {b.why for b in of(items, Bad)} == {
        "it has no text", "its time is no number", "its user_text is not UTF-8 text", "its user_text has more than 16 MB",
        "its tool calls are no JSON list; its words were taken",
    }  # fmt: skip
    assert all("xxx" not in b.where + b.why for b in of(items, Bad))


def loosened() -> str:
    """The schema as a hostile or very old writer would have it: without what keeps odd values out."""
    out = SECOND.replace(" STRICT", "").replace(" NOT NULL", "")
    while (start := out.find(" CHECK (json_valid(")) >= 0:
        end = out.index("))", start) + 2
        out = out[:start] + out[end:]
    return out


def test_a_log_beside_the_file_is_read_from_a_copy_and_nothing_beside_it_changes(tmp_path: Path) -> None:
    live = Plugin(tmp_path / "live" / "memos.db", wal=True)
    gcc_work(live, 1, "numpy", BEGAN)
    assert (tmp_path / "live" / "memos.db-wal").stat().st_size > 0
    taken = tmp_path / "taken"
    shutil.copytree(tmp_path / "live", taken)
    (taken / "memos.db-shm").unlink()
    before = {p.name: p.read_bytes() for p in taken.iterdir()}
    assert len(of(read(taken / "memos.db"), Worked)) == 1
    assert {p.name: p.read_bytes() for p in taken.iterdir()} == before
    assert len(of(read(live.path), Worked)) == 1  # the plugin may run meanwhile


def test_views_of_the_same_names_and_computed_columns_are_no_tables(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path / "memos.db")
    plugin.db.executescript("ALTER TABLE traces RENAME TO t; CREATE VIEW traces AS SELECT * FROM t")
    assert not SOURCE.fits(plugin.path)
    with pytest.raises(InvalidInput, match="no database of the local plugin"):
        read(plugin.path)
    other = Plugin(tmp_path / "b.db")
    other.db.executescript("ALTER TABLE traces ADD COLUMN more TEXT AS (hex(zeroblob(100000000)))")
    assert not SOURCE.fits(other.path)


def test_triggers_in_the_file_do_not_run(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path / "memos.db")
    gcc_work(plugin, 1, "numpy", BEGAN)
    plugin.db.executescript(
        "CREATE TRIGGER evil AFTER UPDATE ON traces BEGIN DELETE FROM traces; END; CREATE VIEW kv2 AS SELECT load_extension('x')"
    )
    before = plugin.path.read_bytes()
    assert len(of(read(plugin.path), Worked)) == 1
    assert plugin.path.read_bytes() == before


def test_a_damaged_file_says_so_and_gives_what_can_be_read(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path / "memos.db")
    for number in range(300):
        gcc_work(plugin, number, f"package{number}", BEGAN + number * DAY)
    plugin.db.close()
    data = bytearray(plugin.path.read_bytes())
    for page in range(40, len(data) // 4096, 7):
        data[page * 4096 : page * 4096 + 200] = b"\xff" * 200
    plugin.path.write_bytes(data)
    items = read(plugin.path)
    assert any("cannot be read any further" in b.why for b in of(items, Bad))


@pytest.mark.parametrize("data", [b"nothing of the kind", b"SQLite format 3\0" + b"nothing of the kind" * 500])
def test_what_is_no_database_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "memos.db").write_bytes(data)
    assert not SOURCE.fits(tmp_path / "memos.db")
    with pytest.raises(InvalidInput):
        read(tmp_path / "memos.db")


def test_a_log_that_is_a_link_is_refused(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path / "memos.db")
    (tmp_path / "memos.db-wal").symlink_to("/etc/passwd")
    with pytest.raises(InvalidInput, match="is a link"):
        read(plugin.path)


def test_the_first_version_gives_messages_tasks_and_the_newest_skill_files(tmp_path: Path) -> None:
    old = Plugin(tmp_path / "memos.db", schema=FIRST)
    old.put(
        "tasks",
        id="t1",
        session_key="s1",
        title="搬家",
        summary="用户搬到上海。",
        started_at=BEGAN,
        updated_at=BEGAN,
        status="completed",
    )
    old.put("tasks", id="t2", session_key="s1", started_at=BEGAN, updated_at=BEGAN)
    row = {"session_key": "s1", "turn_id": "1", "created_at": BEGAN, "updated_at": BEGAN, "seq": 0}
    old.put("chunks", id="c1", role="user", content="我上周搬到了上海", **row)
    old.put("chunks", id="c2", role="assistant", content="住得习惯吗？", **{**row, "seq": 1})
    old.put("chunks", id="c3", role="tool", content="{}", **{**row, "seq": 2})
    old.put("chunks", id="c4", role="user", content="我上周搬到上海了", dedup_status="duplicate", **row)
    old.put("skills", id="k", name="打包", description="打包搬家", status="active", created_at=1, updated_at=1)
    old.put("skill_versions", id="v1", skill_id="k", version=1, content="old", created_at=1)
    markdown = "---\nname: dabao\ndescription: x\n---\n\n# 打包\n\n先买箱子"
    old.put("skill_versions", id="v2", skill_id="k", version=2, content=markdown, created_at=1)
    items = read(old.path)
    said = of(items, Said)
    assert [(s.id, s.role, s.text, s.session) for s in said] == [
        ("c1", "user", "我上周搬到了上海", "s1"), ("c2", "assistant", "住得习惯吗？", "s1"),
    ]  # fmt: skip
    assert said[0].at == "2026-01-01T00:00:00+00:00"
    (task,) = of(items, Told)
    assert (task.text, task.tags) == ("搬家\n用户搬到上海。", ("task",))
    (skill,) = of(items, Skill)
    assert "先买箱子" in skill.markdown
    assert skill.name.startswith("skill-")
    left = {item.what: item.count for item in of(items, Left)}
    assert left == {"merged messages": 1, "outputs of tools and system messages": 1, "tasks without a summary": 1}


def test_a_bundle_is_read_like_the_database(tmp_path: Path) -> None:
    trace = {"episodeId": "e", "sessionId": "s", "turnId": BEGAN, "agentText": "", "toolCalls": []}
    bundle = {
        "version": 1,
        "exportedAt": BEGAN,
        "traces": [
            {**trace, "id": "b", "ts": BEGAN + 2, "userText": "", "agentText": "done"},
            {
                **trace,
                "id": "a",
                "ts": BEGAN + 1,
                "userText": "do it",
                "toolCalls": [call("shell", {"command": "ls"}, "x")],
            },
            {**trace, "id": "c", "ts": "?", "userText": "lost"},
        ],
        "policies": [
            {"id": "p", "title": "P", "trigger": "t", "procedure": "d", "sourceEpisodeIds": [], "preference": ["tea"]}
        ],
        "worldModels": [{"id": "w", "title": "W", "body": "B", "updatedAt": BEGAN}],
        "skills": [{"id": "k", "name": "make tea", "invocationGuide": "# Tea\n\nboil"}, 7],
    }
    path = tmp_path / "export.json"
    path.write_text(json.dumps(bundle))
    assert detect(path) is SOURCE
    items = read(path)
    (turn,) = of(items, Worked)
    assert (turn.text, turn.reply, [c.tool for c in turn.calls], turn.over) == ("do it", "done", ["Bash"], True)
    assert [t.id for t in of(items, Told)] == ["p", "w"]
    assert [s.name for s in of(items, Skill)] == ["make-tea"]
    assert {b.where for b in of(items, Bad)} == {"traces[2]", "skills[1]"}
    path.write_text(json.dumps({**bundle, "version": 2}))
    with pytest.raises(InvalidInput, match="version 2"):
        read(path)


def test_a_folder_that_holds_the_database_is_found(tmp_path: Path) -> None:
    gcc_work(Plugin(tmp_path / "home" / "data" / "memos.db"), 1, "numpy", BEGAN)
    assert detect(tmp_path / "home") is SOURCE
    assert len(of(read(tmp_path / "home"), Worked)) == 1
