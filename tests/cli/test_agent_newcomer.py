"""What somebody who uses the commands of agents for the first time meets: hints that are said, lists that agree, words that fit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_helpers import Answer, Memos

from agent_script import learn
from memos import MemOS

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of somebody whose agent has learned."""
    home = tmp_path_factory.mktemp("once") / "home"
    with MemOS(home, embedder="none", background=False, durability="normal") as memos:
        learn(memos)
        memos.create_cube("team")
    return home


@pytest.fixture
def learned(home: Path, once: Path) -> None:
    """A copy of it."""
    shutil.copytree(once, home)


def test_what_could_not_be_recalled_is_said_beside_the_block(memos: Memos, home: Path) -> None:
    with MemOS(home, embedder="none", background=False) as system:
        system.create_cube("others", user="bob")
    begun = memos("turn", "start", "Install lxml", "--also", "others")
    assert begun.stdout == "" and "note: " in begun.stderr and "others" in begun.stderr


def test_a_session_is_ended_by_option_or_by_place(memos: Memos) -> None:
    memos("turn", "start", "Rotate the logs.", "-s", "ops")
    memos("turn", "end-session", "ops", "--session", "dev", code=2)
    assert "closed 1 episode of session ops" in memos("turn", "end-session", "--session", "ops").stdout
    assert "closed 0 episodes of session default" in memos("turn", "end-session").stdout


def test_lists_hide_what_is_retired_unless_asked(memos: Memos, answer: Answer, learned: None) -> None:
    policy = answer("policies", "list")[0]["memory"]["id"]
    skill = answer("skills", "list")[0]["body"]["name"]
    memos("skills", "retire", skill)
    memos("policies", "retire", policy)
    for group in ("policies", "skills"):
        assert answer(group, "list") == []
        assert "1 retired one left out: --all shows them" in memos(group, "list").stdout
        assert [one["body"]["state"] for one in answer(group, "list", "--all")] == ["retired"]
        assert answer(group, "list", "--state", "retired") == answer(group, "list", "--all")
        assert "left out" not in memos(group, "list", "--all").stdout
        assert "not both" in memos(group, "list", "--all", "--state", "active", code=2).stderr


def test_statements_are_whole_and_paths_are_short(memos: Memos, answer: Answer, learned: None) -> None:
    shown = memos("world", "list").stdout
    for stated in answer("world", "list")["statements"]:
        assert all(word in shown for word in stated["memory"]["text"].split()), stated["memory"]["text"]
    asked = ("world", "ask", "what", "does", "alpine", "need", "for", "lxml?")
    found = answer(*asked)
    assert [s["body"]["section"] for s in found["statements"]] == ["inference", "environment"]
    shown = memos(*asked).stdout
    assert "ran before it" in shown and found["paths"]
    assert not any(m["id"] in shown for path in found["paths"] for m in path["memories"])
    assert all(m["id"][-8:] in shown for m in found["paths"][0]["memories"])
    assert "is the source of" not in memos(*asked, "--paths", "0").stdout


def test_a_field_that_is_a_list_takes_a_text(memos: Memos, answer: Answer, learned: None) -> None:
    skill = answer("skills", "list")[0]["body"]["name"]
    done = memos("skills", "edit", skill, "--set", "pitfalls=Never as root", "--set", "verification=5")
    assert f"saved as version {answer('skills', 'show', skill)['memory']['version']}" in done.stdout
    body = answer("skills", "show", skill)["body"]
    assert (body["pitfalls"], body["verification"]) == (["Never as root"], "5")
    body = answer(
        "skills", "edit", skill, "--set", 'pitfalls=["a", "b"]', "--set", "pitfalls=c", "--set", "procedure=Think."
    )["body"]
    assert body["pitfalls"] == ["a", "b", "c"]
    assert [(a["tool"], a["input"]) for a in body["procedure"]] == [("", "Think.")]
    for field in ("description", "pitfalls", "guide", "procedure"):
        assert field in memos("skills", "edit", skill, code=2).stderr
    assert answer("skills", "edit", skill, "--set", "edited=false")["body"]["edited"] is False


def test_a_policy_is_shared_with_a_cube(memos: Memos, answer: Answer, learned: None) -> None:
    policy = answer("policies", "list")[0]["memory"]["id"]
    assert "is now in team" in memos("policies", "publish", policy[-8:], "team").stdout
    assert "is up to date in team" in memos("policies", "publish", policy, "team").stdout
    assert len(answer("policies", "list", "--cube", "team")) == 1
    assert "took 1 copy back from team" in memos("policies", "publish", policy, "team", "--take-back").stdout
    memos("policies", "publish", policy, "nowhere", code=1)


def test_what_is_not_there_ends_with_1_everywhere(memos: Memos) -> None:
    memos("add", "x", "--no-wait")
    for words in (
        ("search", "x"),
        ("turn", "start", "x"),
        ("skills", "list"),
        ("policies", "list"),
        ("world", "list"),
        ("episodes", "list"),
        ("learning", "report"),
    ):
        assert "cube 'nope' does not exist" in memos(*words, "--cube", "nope", code=1).stderr


def test_a_report_begins_with_whether_it_got_better(memos: Memos, home: Path) -> None:
    with MemOS(home, embedder="none", background=False, durability="normal") as system:
        for n in range(6):
            system.start_turn(f"Rotate the logs of host {n}.", session=f"s{n}", task="new")
            for call in range(4 if n < 3 else 1):
                system.report_step("bash", f"rotate {n} {call}", "done", ok=True, session=f"s{n}")
            system.report_outcome(-1.0 if n < 2 else 1.0, source="verifier", session=f"s{n}")
            system.end_session(f"s{n}")
        system.evolve(now=True)
        report = system.learning_report()
    assert [third.episodes for third in report.thirds] == [2, 2, 2]
    assert (report.thirds[0].success_rate, report.thirds[-1].success_rate) == (0.0, 1.0)
    said = "Within this span it went better: its last 2 episodes succeeded in 100% (1.0 steps each), its first 2 succeeded in 0% (4.0 steps each)."
    assert report.verdict == said and said in str(report)
    assert said in memos("learning", "report").stdout


def test_learning_says_timed_out(memos: Memos) -> None:
    assert "learned from 0 episodes, 0 timed out" in memos("learning", "run").stdout


def test_followed_events_say_what_they_are_about(home: Path, learned: None) -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith("MEMOS_")} | {
        "PYTHONPATH": str(SOURCE),
        "OMP_NUM_THREADS": "1",
    }
    command = [
        sys.executable,
        "-m",
        "memos.cli",
        "--home",
        str(home),
        "--embedder",
        "none",
        "learning",
        "events",
        "--follow",
    ]
    process = subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1
    )
    try:
        assert process.stdout is not None
        line = next(line for line in process.stdout if "policy.induced" in line)
        assert "(When bash fails with: error: library" in line
    finally:
        process.kill()
        process.wait()


def test_json_answers_stay_without_hints(answer: Answer, memos: Memos, learned: None) -> None:
    assert json.loads(memos("--json", "turn", "start", "x", "--also", "nope").stdout)["recalled"]["reasons"]
    assert isinstance(answer("policies", "list"), list)
