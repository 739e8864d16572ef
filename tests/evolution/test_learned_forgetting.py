"""A hard deletion takes every word of what was deleted out of what was learned from it, and nothing else: what other tasks bear out
keeps its id, its trials, what a person decided of it and what she wrote.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from memos import MemOS
from memos.errors import NotFound
from memos.memory.learned import Skill

WORD = "quetzal"
SECRET = f"{WORD}pack"
MISSING = "native.c:3:10: fatal error: {0}.h: No such file or directory"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def memos(home: Path) -> Iterator[MemOS]:
    with MemOS(home, embedder="none", background=False, reward_window=0) as made:
        yield made


def install(m: MemOS, package: str, *, use: str | None = None, fails: bool = False, score: float = 1.0) -> str:
    """A package is installed, with the headers of its library where that fails first; returns the session."""
    s = f"s-{package}"
    m.start_turn(
        f"Please install the Python package {package}", session=s, environment="web1", task="new", recall=False
    )
    if use is not None:
        m.skill(use, use=True, session=s)
    if fails:
        m.report_step("shell", f"pip install {package}", ok=False, error=MISSING.format(package), session=s)
        m.report_step("shell", f"apt-get install lib{package}-dev", "", ok=True, session=s)
    m.report_step("shell", f"pip install {package}", f"Successfully installed {package}", ok=True, session=s)
    m.report_step("shell", f'python -c "import {package}"', "", ok=True, session=s)
    m.end_turn("Done.", session=s)
    m.report_outcome(score, source="verifier", session=s)
    m.end_session(s)
    m.evolve(now=True)
    return s


def the_skill(m: MemOS, *packages: str, **how: Any) -> Skill:
    for package in packages:
        install(m, package, **how)
    (found,) = m.skills(states=["probation", "active", "retired"])
    return found


def files_with(home: Path, word: str = WORD) -> list[str]:
    return [str(f) for f in home.rglob("*") if f.is_file() and word.encode() in f.read_bytes()]


def everything(m: MemOS) -> str:
    """What is told of all that was learned, in every version."""
    said: list[object] = [m.learning_events(limit=1000), m.world().statements, m.recall("install a package").context]
    for one in (
        *m.policies(states=["candidate", "active", "retired"]),
        *m.skills(states=["probation", "active", "retired"]),
    ):
        said += [one, m.lineage(one.id), m.history(one.id)]
    return repr(said)


def deleted(m: MemOS, home: Path, session: str = f"s-{SECRET}", word: str = WORD) -> None:
    """Delete a session for good, and check at once and after learning that no word of it is left."""
    m.delete(session=session)
    assert files_with(home, word) == [] and word not in everything(m)
    m.evolve(now=True)
    assert files_with(home, word) == [] and word not in everything(m)
    assert m.evolve(now=True).learned == 0


# -- skills ----------------------------------------------------------------------------------------------------------


def test_a_skill_is_drawn_again_from_the_rest_with_its_id_name_and_trials(memos: MemOS, home: Path) -> None:
    skill = the_skill(memos, "lxml", SECRET, "numpy", "pillow")
    assert SECRET in skill.memory.text
    for package in ("flask", "django"):
        install(memos, package, use=skill.name)
    before = memos.skill(skill.id)
    assert (before.record.passes, before.body.state) == (2, "active")
    deleted(memos, home)
    after = memos.skill(skill.name)
    assert after.id == skill.id and after.memory.version > before.memory.version
    assert (after.record.passes, after.record.handed, after.record.support) == (2, 2, 5)
    assert after.body.state == "active" and after.body.procedure == before.body.procedure
    assert all(v.memory.version > before.memory.version for v in memos.history(skill.id))


def test_a_trial_of_the_deleted_episode_does_not_count_any_more(memos: MemOS, home: Path) -> None:
    skill = the_skill(memos, "lxml", "numpy", "pillow")
    for package in (SECRET, "django"):
        install(memos, package, use=skill.name)
    assert memos.skill(skill.id).record.passes == 2
    deleted(memos, home)
    assert memos.skill(skill.id).record.passes == 1


def test_a_single_step_is_enough(memos: MemOS, home: Path) -> None:
    skill = the_skill(memos, "lxml", SECRET, "numpy", "pillow")
    raw = [x for x in memos.list(limit=100).items if x.kind in ("trace", "tool_call")]
    goal, call, *_ = [x.id for x in raw if SECRET in x.text or SECRET in json.dumps(dict(x.body), default=str)]
    for id in (goal, call):
        memos.delete(id)
        hidden = [s.id for s in memos.skills()]
        memos.evolve(now=True)
        assert hidden in ([], [skill.id]) and memos.skill(skill.id).record.support >= 3


def test_what_all_tasks_lose_alike_leaves_what_they_still_teach(memos: MemOS, home: Path) -> None:
    for package in ("lxml", SECRET, "numpy", "pillow"):
        install(memos, package, fails=True)
    (fix,) = memos.policies(forms=["fix"])
    goals = [x.id for x in memos.list(limit=100).items if x.kind == "trace" and x.role == "user"]
    memos.delete(goals)
    assert files_with(home, "install the Python package") == []
    memos.evolve(now=True)
    after = memos.policy(fix.id)
    assert after.body.goal == "" and after.body.procedure == fix.body.procedure and after.record.support == 4


def test_while_it_is_not_drawn_again_nobody_is_shown_an_empty_one(memos: MemOS, home: Path, tmp_path: Path) -> None:
    skill = the_skill(memos, "lxml", SECRET, "numpy", "pillow")
    memos.delete(session=f"s-{SECRET}")
    assert memos.skills() == [] and memos.policies() == []
    with pytest.raises(NotFound):
        memos.skill(skill.id)
    archive = tmp_path / "between.zip"
    memos.export_cube(archive)
    with MemOS(tmp_path / "other", embedder="none", background=False, reward_window=0) as other:
        other.import_cube(archive, "default2")
        other.evolve(now=True, cube="default2")
        assert other.skill(skill.id, cube="default2").record.support == 3


def test_what_a_person_wrote_stays_at_once_and_what_evidence_said_comes_back(memos: MemOS, home: Path) -> None:
    skill = the_skill(memos, "lxml", SECRET, "numpy", "pillow")
    memos.edit_skill(
        skill.name, {"pitfalls": ["Never as root", f"{SECRET} is slow"], "verification": "python -m pip check"}
    )
    memos.edit_skill(skill.name, {"description": "How we install packages. Ask Ana first."})
    memos.delete(session=f"s-{SECRET}")
    between = memos.skill(skill.name)
    assert between.body.pitfalls == ("Never as root",) and between.body.verification == "python -m pip check"
    assert between.body.description == "How we install packages. Ask Ana first." and "was deleted" in between.body.why
    assert files_with(home) == [] and "Never as root" in between.memory.text and not between.body.examples
    memos.evolve(now=True)
    after = memos.skill(skill.name)
    assert after.id == skill.id and after.body.edited and after.body.why == ""
    assert after.body.procedure == skill.body.procedure and after.body.pitfalls == ("Never as root",)
    assert after.body.description == "How we install packages. Ask Ana first." and "lxml" in str(after.body.examples)
    install(memos, "scipy", fails=True)
    again = memos.skill(skill.name)
    assert again.body.pitfalls == ("Never as root",) and again.memory.text == after.memory.text  # only proposed to
    deleted(memos, home, "s-lxml", "lxml")
    assert memos.skill(skill.name).body.pitfalls == ("Never as root",)


def test_a_guide_that_a_person_wrote_loses_the_lines_that_it_took_over(memos: MemOS, home: Path) -> None:
    skill = the_skill(memos, "lxml", SECRET, "numpy", "pillow")
    memos.update(skill.id, text=f"{skill.memory.text}\n\nAsk Ana first.")
    deleted(memos, home)
    text = memos.skill(skill.id).memory.text
    assert "Ask Ana first." in text and "pip install lxml" in text


def test_with_too_little_left_a_skill_goes_and_an_edited_one_stays_as_edited(memos: MemOS, home: Path) -> None:
    plain = the_skill(memos, "lxml", SECRET, "numpy")
    memos.edit_skill(plain.name, {"pitfalls": ["Never as root"]})
    deleted(memos, home)
    assert memos.skill(plain.id).record.support == 2
    deleted(memos, home, "s-numpy", "numpy")
    left = memos.skill(plain.id)
    assert left.body.edited and left.body.pitfalls == ("Never as root",) and left.body.procedure == ()
    assert "was deleted" in left.body.why and left.record.support < 2 and memos.policies(forms=["path"]) == []


def test_an_unedited_one_with_too_little_left_goes(memos: MemOS, home: Path) -> None:
    skill = the_skill(memos, "lxml", SECRET, "numpy")
    deleted(memos, home)
    assert memos.skill(skill.id).record.support == 2
    deleted(memos, home, "s-numpy", "numpy")
    with pytest.raises(NotFound):
        memos.skill(skill.id)
    assert memos.policies(states=["candidate", "active", "retired"]) == []


def test_what_was_decided_by_hand_stays_decided(memos: MemOS, home: Path) -> None:
    skill = the_skill(memos, "lxml", SECRET, "numpy", "pillow")
    memos.set_state(skill.id, "retired", reason="not here")
    (path,) = memos.policies(forms=["path"])
    memos.set_state(path.id, "active", reason="I know it works")
    deleted(memos, home)
    assert memos.skill(skill.id).body.why == "by hand: not here" and memos.skill(skill.id).body.state == "retired"
    assert memos.policy(path.id).body.why == "by hand: I know it works"


def test_a_name_that_says_what_was_deleted_goes(memos: MemOS, home: Path) -> None:
    skill = the_skill(memos, "lxml", SECRET, "numpy", "pillow")
    memos.edit_skill(skill.name, {"name": f"install-{SECRET}"})
    deleted(memos, home)
    assert memos.skill(skill.id).body.edited and WORD not in memos.skill(skill.id).name


def test_an_example_of_an_episode_that_no_other_word_is_from(memos: MemOS, home: Path) -> None:
    skill = the_skill(memos, *(f"pack{n:02}x" for n in range(30)))
    shown = next(n for n in range(30) if f"pack{n:02}x" in str(memos.skill(skill.id).body.examples))
    while shown < 6:  # only the newest are looked at, so that others come to be shown
        deleted(memos, home, f"s-pack{shown:02}x", f"pack{shown:02}x")
        shown = next(n for n in range(30) if f"pack{n:02}x" in str(memos.skill(skill.id).body.examples))
    deleted(memos, home, f"s-pack{shown:02}x", f"pack{shown:02}x")
    assert memos.skill(skill.id).id == skill.id


# -- policies and statements -----------------------------------------------------------------------------------------


def test_a_policy_and_what_it_says_of_the_world_keep_their_ids_and_trials(memos: MemOS, home: Path) -> None:
    for package in ("lxml", SECRET, "numpy", "pillow"):
        install(memos, package, fails=True)
    (fix,) = memos.policies(forms=["fix"])
    (said,) = [s for s in memos.world().statements if s.body.policies == (fix.id,)]
    s = "s-tried"
    memos.start_turn("Please install the Python package scipy", session=s, environment="web1", task="new", recall=False)
    memos.report_step("shell", "pip install scipy", ok=False, error=MISSING.format("scipy"), session=s)
    memos.recall("pip install fails", session=s, tool="shell", error=MISSING.format("scipy"))
    memos.report_step("shell", "apt-get install libscipy-dev", "", ok=True, session=s)
    memos.report_step("shell", "pip install scipy", "", ok=True, session=s)
    memos.report_outcome(1.0, source="verifier", session=s)
    memos.end_session(s)
    memos.evolve(now=True)
    before = memos.policy(fix.id)
    deleted(memos, home)
    after = memos.policy(fix.id)
    assert after.body.procedure == before.body.procedure and after.record.support == before.record.support - 1
    assert (after.record.handed, after.record.passes) == (before.record.handed, before.record.passes)
    statement = memos.world_statement(said.id)
    assert statement.memory.text == said.memory.text and statement.body.holds >= 3


def test_a_statement_that_a_person_edited_keeps_her_words_and_gets_no_double(memos: MemOS, home: Path) -> None:
    for package in ("lxml", SECRET, "numpy", "pillow"):
        install(memos, package, fails=True)
    (fix,) = memos.policies(forms=["fix"])
    (said,) = [s for s in memos.world().statements if s.body.policies == (fix.id,)]
    memos.update(said.id, text="Headers are missing on web1.")
    memos.update(fix.id, text="Install the headers of the library first.")
    deleted(memos, home)
    assert memos.world_statement(said.id).memory.text == "Headers are missing on web1."
    assert [s.id for s in memos.world().statements if fix.id in s.body.policies] == [said.id]
    after = memos.policy(fix.id)
    assert (
        after.memory.text == "Install the headers of the library first." and after.body.procedure == fix.body.procedure
    )


def test_what_a_policy_was_retired_for_goes_with_the_words_that_forbade_it(memos: MemOS, home: Path) -> None:
    for n in range(3):
        s = f"s{n}"
        memos.start_turn(f"Rotate the logs of svc{n}", session=s, environment="web1", task="new", recall=False)
        memos.report_step("shell", f"rm /var/log/svc{n}.log", "", ok=True, session=s)
        memos.report_step("shell", f"systemctl restart svc{n}", "", ok=True, session=s)
        memos.end_turn("Done.", session=s)
        memos.report_outcome(1.0, source="verifier", session=s)
        memos.end_session(s)
        memos.evolve(now=True)
    memos.start_turn("Never delete log files.", session="told", environment="web1")
    memos.end_session("told")
    (path,) = memos.policies(forms=["path"], states=["retired"])
    assert path.body.why == "the user said: Never delete log files"
    memos.evolve(now=True)
    deleted(memos, home, "told", "Never delete")
    assert memos.policy(path.id).body.state == "active"


def test_a_case_that_a_skill_showed_goes_also_when_its_episode_teaches_something_else_by_now(
    memos: MemOS, home: Path
) -> None:
    skill = the_skill(memos, "lxml", "numpy", SECRET, "pillow")
    assert SECRET in str(memos.skill(skill.id).body.examples)
    (path,) = memos.policies(forms=["path"])
    assert SECRET not in repr(path)
    moved = "UPDATE lessons SET memory=NULL WHERE episode=(SELECT e FROM episodes WHERE session=?)"
    with apsw.Connection(str(next(home.rglob("*.cube")))) as db:
        db.execute(moved, (f"s-{SECRET}",))
    deleted(memos, home)
    assert memos.skill(skill.id).record.support == 3
