"""The commands of agents: turns from a shell, and what was lived and learned, as text, as trees and as JSON."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import Answer, Memos

from agent_script import GOAL, SKILL, learn
from memos import MemOS

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of somebody whose agent has learned."""
    home = tmp_path_factory.mktemp("once") / "home"
    with MemOS(home, embedder="none", background=False, durability="normal") as memos:
        learn(memos)
    return home


@pytest.fixture
def learned(home: Path, once: Path) -> None:
    """A copy of it."""
    shutil.copytree(once, home)


@pytest.fixture
def skill(memos: Memos, tmp_path: Path) -> str:
    """The name of a skill that was imported."""
    (tmp_path / "boil-water").mkdir()
    (tmp_path / "boil-water" / "SKILL.md").write_text(SKILL)
    assert "boil-water" in memos("skills", "import", str(tmp_path / "boil-water")).stdout
    return "boil-water"


# -- turns -----------------------------------------------------------------------------------------------------------


def test_a_task_from_its_first_message_to_its_outcome(memos: Memos, answer: Answer, tmp_path: Path) -> None:
    begun = memos("turn", "start", "Install", "lxml", "here", "-s", "ci", "-e", "alpine")
    assert begun.stdout == "" and "turn 1 of episode" in begun.stderr and "new task" in begun.stderr
    failed = memos("turn", "step", "bash", "-i", "pip install lxml", "--error", "no libxml2", "--failed", "-s", "ci")
    assert failed.stdout == "" and "in turn 1 of episode" in failed.stderr
    memos("turn", "step", "bash", "-i", "apk add libxml2-dev", "-o", "-", "--ok", "-s", "ci", input="OK: 42 packages")
    steps = tmp_path / "steps.json"
    steps.write_text(json.dumps([{"tool": "bash", "input": "pip install lxml", "output": "done", "ok": True}]))
    assert "the reply and 1 step" in memos("turn", "end", "It is installed.", "-s", "ci", "--steps", str(steps)).stdout
    said = memos("turn", "outcome", "Great, thanks!", "--score", "1", "-s", "ci").stdout
    assert said.startswith("episode ") and "+1.00" in said
    assert "closed 1 episode of session ci" in memos("turn", "end-session", "ci").stdout
    (episode,) = answer("episodes", "list")["items"]
    assert (episode["turns"], episode["steps"], episode["failed_steps"]) == (1, 3, 1)
    shown = answer("episodes", "show", episode["id"])
    assert [s["use"]["output"] for s in shown["steps"] if s["use"]] == ["", "OK: 42 packages", "done"]


def test_the_block_alone_is_on_stdout(memos: Memos, answer: Answer, learned: None) -> None:
    begun = memos("turn", "start", "Install the python package shapely in this container.", "-e", "alpine")
    assert begun.stdout.startswith("<memos-context>") and begun.stdout.rstrip().endswith("</memos-context>")
    assert "apk add" in begun.stdout and "turn 1" not in begun.stdout
    assert memos("turn", "start", "And another.", "--no-recall").stdout == ""
    shown = memos("turn", "recall", *GOAL.format("shapely").split(), "--tier", "skill", "--max-tokens", "300").stdout
    assert "Skills" in shown and len(shown) <= 1_250
    asked = ("turn", "recall", "pip install x", "--trigger", "repair", "--tool", "bash")
    assert answer(*asked, "--error", "error: library 'libgeos' is missing")["trigger"] == "repair"
    assert answer("turn", "start", "One more.", "--key", "k")["repeated"] is False
    assert answer("turn", "start", "One more.", "--key", "k")["repeated"] is True


def test_a_subagent_is_reported_with_its_steps(memos: Memos, answer: Answer, tmp_path: Path) -> None:
    memos("turn", "start", "Find out why the build fails.")
    steps = tmp_path / "steps.json"
    steps.write_text('[{"tool": "make", "error": "missing separator"}]')
    assert (
        "step" in memos("turn", "subagent", "runner", "Run the build.", "-r", "It fails.", "--steps", str(steps)).stdout
    )
    child = next(e for e in answer("episodes", "list")["items"] if e["parent"])
    assert child["agent"] == "runner" and child["failed_steps"] == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("turn", "start", "x", "--task", "old"), "--task"),
        (("turn", "start", " "), "text"),
        (("turn", "outcome", "x", "--source", "model"), "--source"),
        (("turn", "outcome", "--score", "2"), "score"),
        (("turn", "step", "bash", "-i", "-", "-o", "-"), "standard input"),
        (("turn", "recall", "x", "--trigger", "boredom"), "trigger"),
        (("policies", "list", "--state", "asleep"), "asleep"),
        (("policies", "show", "nonsense"), "nonsense"),
        (("episodes", "show", "nonsense"), "nonsense"),
        (("learning", "report", "--since", "2026-02-01", "--until", "2026-01-01"), "since"),
        (("skills", "import", "nowhere"), "nowhere"),
    ],
)
def test_what_cannot_be_used_is_one_line(memos: Memos, words: tuple[str, ...], told: str) -> None:
    error = memos(*words, code=2).stderr
    assert told in error


@pytest.mark.parametrize(
    "words", [("skills", "show", "nothing"), ("episodes", "show", "0123456789"), ("lineage", "0123456789")]
)
def test_what_is_not_there_is_said(memos: Memos, words: tuple[str, ...]) -> None:
    error = memos(*words, code=1).stderr
    assert error.startswith("memos: no ") and "memos " in error.partition(";")[2]


def test_without_anything_learned_every_list_says_so(memos: Memos, answer: Answer) -> None:
    for words, told in (("episodes list", "no episodes"), ("policies list", "no policies"), ("world list", "nothing is known"),
                        ("skills list", "no skills"), ("learning events", "nothing was learned"),
                        ("learning report", "nothing was learned")):  # fmt: skip
        assert told in memos(*words.split()).stdout, words
    assert answer("policies", "list") == answer("skills", "list") == []
    assert answer("learning", "run")["learned"] == 0


# -- what was learned ------------------------------------------------------------------------------------------------


def test_episodes_are_listed_and_shown(memos: Memos, answer: Answer, learned: None) -> None:
    shown = memos("episodes", "list", "--limit", "2").stdout
    assert "success" in shown and "(1 failed)" in shown and "more: memos episodes list --cursor" in shown
    page = answer("episodes", "list", "--session", "ci-lxml", "--closed")
    id = page["items"][0]["id"]
    text = memos("episodes", "show", id[-8:]).stdout
    assert "Install the python package lxml in this container." in text and "apk add libxml2-dev" in text
    assert "failed" in text and "session_end" in text and "+1.00" in text
    assert answer("episodes", "show", id)["episode"] == page["items"][0]
    assert answer("episodes", "list", "--open")["items"] == []


def test_policies_are_retired_and_restored(memos: Memos, answer: Answer, learned: None) -> None:
    assert "fix" in memos("policies", "list", "--form", "fix", "--state", "active").stdout
    policy = answer("policies", "list", "library", "is", "missing")[0]
    id = policy["memory"]["id"]
    shown = memos("policies", "show", id[-8:]).stdout
    assert "apk add {" in shown and "taught by" in shown and "5 episodes" in shown
    assert "retired now" in memos("policies", "retire", id, "--reason", "not here").stdout
    assert "not here" in memos("policies", "show", id).stdout
    assert answer("policies", "restore", id)["body"]["state"] == "active"


def test_the_world_is_asked(memos: Memos, answer: Answer, learned: None) -> None:
    found = answer("world", "list", "--environment", "alpine")["statements"]
    assert found and "alpine" in memos("world", "list").stdout
    id = found[0]["memory"]["id"]
    assert "for" in memos("world", "show", id[-8:]).stdout
    memos("world", "ask", "what", "does", "alpine", "need?", "--hops", "2")
    assert "retired now" in memos("world", "retire", id).stdout and "active now" in memos("world", "restore", id).stdout


def test_a_lineage_is_a_tree_from_a_skill_to_steps_and_back(memos: Memos, answer: Answer, learned: None) -> None:
    name = answer("skills", "list")[0]["body"]["name"]
    down = memos("skills", "evidence", name).stdout
    assert down.index("skill") < down.index("policy") < down.index("tool call") and "└" in down
    line = answer("skills", "evidence", name)
    assert f"{len(line['episodes'])} episodes:" in down and "success" in down
    step = min(line["memories"], key=lambda m: line["depth"][m["id"]])
    up = memos("lineage", step["id"]).stdout
    assert "what came of it:" in up and up.index("policy") < up.index("skill")


def test_what_happened_is_told_as_events_and_as_a_report(memos: Memos, answer: Answer, learned: None) -> None:
    shown = memos("learning", "events").stdout
    assert "policy.induced" in shown and "support=2" in shown and "skill.crystallised" in shown
    events = answer("learning", "events", "--limit", "3")
    assert [e["number"] for e in events["items"]] == [1, 2, 3]
    assert "more: memos learning events --after 3" in memos("learning", "events", "--limit", "3").stdout
    assert answer("learning", "events", "--after", "3")["items"][0]["number"] == 4
    report = memos("learning", "report", "--days", "7").stdout
    assert "5 begun, 5 ended" in report and "100%" in report and "learned:" in report
    assert answer("learning", "report")["closed"] == 5


def test_learning_is_run_now(memos: Memos, answer: Answer) -> None:
    memos("turn", "start", "Rotate the logs.", "-s", "ops")
    memos("turn", "end", "Done.", "-s", "ops")
    memos("turn", "end-session", "ops")
    waits = memos("learning", "run").stdout
    assert "learned from 0 episodes" in waits and "1 episode wait" in waits
    assert answer("learning", "run", "--now")["learned"] == 1


def test_events_are_followed_until_one_leaves(home: Path, learned: None) -> None:
    process = _process(home, "--json", "learning", "events", "--follow", "--after", "2")
    try:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        assert first["number"] == 3
        for line in process.stdout:
            last = json.loads(line)["number"]
            if last >= 15:
                break
        process.send_signal(2)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()


# -- skills ----------------------------------------------------------------------------------------------------------


def test_skills_are_listed_and_shown(memos: Memos, answer: Answer, learned: None) -> None:
    (found,) = answer("skills", "list", "--state", "active")
    shown = memos("skills", "show", found["body"]["name"]).stdout
    assert "## Steps" in shown and "reliability" in shown and "good" in shown
    assert memos("skills", "show", found["memory"]["id"][-8:]).stdout == shown
    assert "crystall" in memos("skills", "history", found["body"]["name"]).stdout
    assert answer("skills", "history", found["memory"]["id"])


def test_a_skill_is_edited_by_fields_and_by_a_file(memos: Memos, answer: Answer, skill: str, tmp_path: Path) -> None:
    done = answer("skills", "edit", skill, "--set", 'pitfalls=["Steam is hot."]', "--set", "verification=It boils.")
    assert done["body"]["pitfalls"] == ["Steam is hot."] and done["body"]["edited"] is True
    guide, fields = tmp_path / "guide.md", tmp_path / "fields.json"
    guide.write_text("# Boil water\n\nUse the blue kettle.")
    fields.write_text('{"description": "Boils water for tea."}')
    assert "blue kettle" in memos("skills", "edit", skill, "--file", str(guide)).stdout
    assert answer("skills", "edit", skill, "--file", str(fields))["body"]["description"] == "Boils water for tea."
    assert [v["op"] for v in answer("skills", "history", skill)].count("edit") == 3
    memos("skills", "edit", skill, "--set", "guide=x", "--if-version", "1", code=1)
    for words, told in ((("--set", "guide"), "--set"), (("--set", "state=active"), "state"), ((), "--set FIELD=VALUE")):
        assert told in memos("skills", "edit", skill, *words, code=2).stderr


def test_a_skill_is_edited_in_the_editor(
    memos: Memos, answer: Answer, skill: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\necho "Use the red kettle." >> "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setattr("memos.cli.memories.can_ask", lambda state: True)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(editor))
    assert "red kettle" in memos("skills", "edit", skill).stdout
    monkeypatch.setenv("EDITOR", "true")
    memos("skills", "edit", skill, code=1)  # nothing was changed
    monkeypatch.setenv("EDITOR", str(tmp_path / "none"))
    assert "EDITOR" in memos("skills", "edit", skill, code=2).stderr


def test_what_the_library_says_is_said_in_options(memos: Memos, skill: str, tmp_path: Path) -> None:
    memos("skills", "export", "--to", str(tmp_path / "out"))
    assert "or --overwrite" in memos("skills", "export", "--to", str(tmp_path / "out"), code=2).stderr
    assert "`memos turn start`" in memos("turn", "step", "bash", "-i", "ls", "-s", "nobody-spoke").stderr


def test_skills_go_out_and_in(memos: Memos, answer: Answer, skill: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert f"wrote {out / skill}" in memos("skills", "export", "--to", str(out)).stdout
    assert (out / skill / "SKILL.md").read_text().startswith("---\nname: boil-water\n")
    assert "exists already" in memos("skills", "export", skill, "--to", str(out), code=2).stderr
    memos("skills", "export", skill, "--to", str(out), "--overwrite")
    answer("skills", "export", "--to", str(tmp_path / "skills.zip"), "--zip")
    assert zipfile.is_zipfile(tmp_path / "skills.zip")
    bob = ("--user", "bob")
    assert [s["body"]["name"] for s in answer("skills", "import", str(out), "--dry-run", *bob)] == [skill]
    assert answer("skills", "list", *bob) == []
    assert answer("skills", "import", str(tmp_path / "skills.zip"), *bob)[0]["body"]["state"] == "probation"


def test_a_skill_is_retired_restored_and_shared(memos: Memos, answer: Answer, skill: str) -> None:
    assert "boil-water is retired now" in memos("skills", "retire", skill, "-r", "no kettle here").stdout
    assert answer("skills", "list") == [] and "no kettle here" in memos("skills", "show", skill).stdout
    assert "on probation now" in memos("skills", "restore", skill, "--probation").stdout
    memos("cubes", "create", "team")
    assert "is now in team" in memos("skills", "publish", skill, "team").stdout
    assert "is up to date in team" in memos("skills", "publish", skill, "team").stdout
    assert answer("skills", "show", skill, "--cube", "team")["body"]["shared_from"].startswith("default/")
    assert "took 1 copy back" in memos("skills", "publish", skill, "team", "--take-back").stdout


def test_two_users_see_nothing_of_each_other(answer: Answer, learned: None) -> None:
    beta = ("--user", "beta")
    assert (
        answer("episodes", "list", *beta)["items"]
        == answer("policies", "list", *beta)
        == answer("skills", "list", *beta)
        == []
    )
    assert answer("learning", "events", *beta)["items"] == []


def test_what_is_put_off_holds_no_worker_up(memos: Memos, home: Path) -> None:
    memos("turn", "start", "Rotate the logs.", "--session", "ops")  # the episode is closed in two hours
    done = _process(home, "worker", "--drain")
    assert done.wait(60) == 0


def _process(home: Path, *args: str) -> subprocess.Popen[Any]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("MEMOS_")} | {
        "PYTHONPATH": str(SOURCE),
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "memos.cli", "--home", str(home), "--embedder", "none", *args]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
