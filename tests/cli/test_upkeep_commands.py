"""The commands of upkeep: working set, topics and retention, as text and as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_helpers import Answer, Memos

from memos import MemOS

POTTERY = [
    "The pottery class started with a clay bowl on the wheel.",
    "My clay bowl cracked in the kiln during pottery class.",
    "The pottery teacher glazed a blue clay vase in the kiln.",
    "Next pottery class we fire the clay mugs in the kiln.",
    "I sold two clay bowls from the pottery kiln at the market.",
]


@pytest.fixture
def filled(home: Path) -> None:
    with MemOS(home, embedder="none", background=False) as memos:
        memos.add(["I live in Oslo.", "I love kayaking."], session="home", wait=True)
        memos.add("Where in Oslo is my kayak?", session="trip", wait=True)


def test_the_working_set_of_a_session(memos: Memos, answer: Answer, filled: None) -> None:
    shown = memos("working", "trip").stdout
    assert "session trip" in shown and "The user lives in Oslo." in shown and "fact" in shown
    found = answer("working")
    assert found["session"] == "trip" and {i["memory"]["text"] for i in found["items"]} >= {"I live in Oslo."}
    assert "nothing is relevant" in memos("working", "nothing").stdout


def test_topics_are_found_shown_and_asked_for(memos: Memos, answer: Answer, home: Path) -> None:
    assert "memos reorganize" in memos("topics").stdout
    with MemOS(home, embedder="none", background=False) as system:
        system.add([*POTTERY, "The cellar holds nine crates of turnips."], wait=True)
    done = memos("reorganize").stdout
    assert done.startswith("1 topic of ") and "1 new" in done
    assert "kiln" in memos("topics").stdout
    (topic,) = answer("topics", "kiln")
    assert len(topic["evidence"]) >= 5 and topic["stale"] is False and topic["sentences"]
    memos("update", topic["evidence"][0], "--text", "The pottery class is closed and the kiln is cold.")
    assert "[outdated" in memos("topics").stdout
    assert answer("reorganize")["changed"] == 1


def test_retention_from_preview_to_log(memos: Memos, answer: Answer, filled: None) -> None:
    assert "nothing goes by itself" in memos("retention", "show").stdout
    memos("retention", "set", "--kind", "trace", "--max-age-days", "365")
    assert "0 memories went" in memos("retention", "apply").stdout  # nothing would go: nobody has to be asked
    options = ("--kind", "trace", "--keep-newest", "2")
    assert answer("retention", "set", *options) == answer("retention", "show")
    preview = memos("retention", "preview").stdout
    assert "not among the newest 2" in preview and "I live in Oslo." in preview and "rests on nothing else" in preview
    assert "1 memory would go by 1 rule" in preview
    assert answer("retention", "preview", "--keep-newest", "0")["total"] == 2  # other rules can be tried
    memos("retention", "apply", code=2)  # nobody can be asked here
    assert "2 memories went, 1 of them with others" in memos("retention", "apply", "--yes").stdout
    (run,) = answer("retention", "log")
    assert run["removed"] == {"0": 1} and run["refused"] is None
    assert "trace beyond the newest 2" in memos("retention", "log").stdout
    memos("retention", "clear")
    assert answer("retention", "show") == []


def test_several_rules_come_as_json(answer: Answer) -> None:
    rules = '[{"kinds": ["trace"], "max_age_days": 365, "hard": true}, {"keep_newest": 5}]'
    assert [r["hard"] for r in answer("retention", "set", "--rules", rules)] == [True, False]


@pytest.mark.parametrize(
    "options",
    [("set",), ("set", "--hard"), ("set", "--kind", "trace"), ("set", "--rules", "{"), ("set", "--rules", "{}"),
     ("set", "--rules", "[]", "--keep-newest", "1"), ("set", "--max-age-days", "0"), ("apply", "--yes"),
     ("set", "--kind", "nothing", "--keep-newest", "1")],
)  # fmt: skip
def test_what_says_no_rule_is_refused(memos: Memos, options: tuple[str, ...]) -> None:
    assert memos("retention", *options, code=2).stderr.startswith("memos: ")
