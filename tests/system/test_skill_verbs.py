"""The verbs of skills: list, hand out, edit, export and import, share with other cubes; what is tried there counts back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memos import AsyncMemOS
from memos.errors import AccessDenied, Conflict, InvalidInput, NotFound
from memos.evolution.skills import folder as skill_folder
from memos.evolution.skills import skills
from memos.memory.acting import Recalled, Tier
from memos.memory.learned import Action, SkillBody, State
from memos.memory.model import Kind, Memory, Origin, Status
from memos.storage.ports import ANY_STATUS, View
from memos.storage.sqlite import lived
from skill_world import HEADERS, INSTALL, T0, change, episode, installs, policy, tried

NAME = "install-package"


@pytest.fixture
async def memos(tmp_path: Path) -> AsyncIterator[AsyncMemOS]:
    async with AsyncMemOS(tmp_path / "home", embedder="none", background=False) as made:
        yield made


async def within(memos: AsyncMemOS, fn: Callable[[Any], Any], cube: str = "default", user: str | None = None) -> Any:
    """Something written into a cube by hand."""
    async with memos._cube(user or cube, cube, "write") as (_, store):
        return await store.write(fn)


async def learn(
    memos: AsyncMemOS, cube: str = "default", packages: tuple[str, ...] = ("lxml", "numpy", "pillow")
) -> str:
    def write(tx: Any) -> str:
        path = policy(tx, INSTALL)
        for minute, package in enumerate(packages):
            installs(tx, path, package, minute)
        skills.settle(tx, {path})
        return path

    return str(await within(memos, write, cube))


def begin(tx: Any, session: str = "s", owner: str = "default") -> str:
    id = "01a22a82-4e41-70a5-ae4d-30bf30d73c9d"
    lived.open_episode(tx, id, session=session, agent="a", owner=owner, environment="web1", at=T0)
    return id


async def test_skills_are_listed_by_reliability_without_the_retired(memos: AsyncMemOS) -> None:
    await learn(memos)
    await learn(memos, packages=("a1", "b2", "c3"))
    one, two = await memos.skills()

    def write(tx: Any) -> None:
        for minute in range(3):
            tried(tx, two.id, "pass", minute)
        skills.settle(tx, {two.id})

    await within(memos, write)
    listed = await memos.skills()
    assert [s.id for s in listed] == [two.id, one.id]
    assert listed[0].body.state is State.ACTIVE and listed[0].record.passes == 3 and listed[0].record.support == 3
    assert listed[0].record.reliability > listed[1].record.reliability
    await memos.set_state(two.id, "retired")
    assert [s.id for s in await memos.skills()] == [one.id]
    assert [s.id for s in await memos.skills(states=["retired"])] == [two.id]
    assert len(await memos.skills(limit=1)) == 1


async def test_skills_are_found_by_what_they_are_for(memos: AsyncMemOS) -> None:
    await learn(memos)
    await memos.import_skills(
        "---\nname: water-plants\ndescription: Waters the tomatoes. Use it in summer.\n---\nUse a can."
    )
    assert [s.name for s in await memos.skills("the tomatoes need water")][:1] == ["water-plants"]
    assert [s.name for s in await memos.skills("install a python package")][:1] == [NAME]
    with pytest.raises(InvalidInput):
        await memos.skills("  ")
    with pytest.raises(InvalidInput):
        await memos.skills(states=["great"])


async def test_nobody_has_skills_before_there_is_a_cube(memos: AsyncMemOS) -> None:
    assert await memos.skills() == [] and await memos.skills(user="nobody") == []
    with pytest.raises(NotFound):
        await memos.skill("x", user="nobody")


async def test_a_skill_handed_out_in_an_open_episode_is_a_trial_once(memos: AsyncMemOS) -> None:
    await learn(memos)
    assert (await memos.skill(NAME, use=True)).record.handed == 0
    assert (await memos.skill(NAME, use=True, session="s")).record.handed == 0, "its episodes are over"
    await within(memos, begin)
    assert (await memos.skill(NAME, session="s")).record.handed == 0
    assert (await memos.skill(NAME, use=True, session="s")).record.handed == 1
    again = await memos.skill(NAME, use=True, session="s")
    assert again.record.handed == 1 and (await memos.skill(again.id)).id == again.id
    with pytest.raises(NotFound):
        await memos.skill("no-such-skill")


async def test_an_edited_skill_keeps_what_was_written_and_learning_proposes(memos: AsyncMemOS) -> None:
    path = await learn(memos)
    before = await memos.skill(NAME)
    changes = {
        "verification": "python -m pip check",
        "pitfalls": ["Never as root"],
        "procedure": [{"tool": "shell", "input": "uv add {package}"}],
    }
    edited = await memos.edit_skill(NAME, changes, if_version=before.memory.version)
    assert (
        edited.body.edited
        and edited.body.verification == "python -m pip check"
        and edited.body.pitfalls == ("Never as root",)
    )
    assert "uv add {package}" in edited.memory.text and edited.body.description == before.body.description

    def write(tx: Any) -> None:
        change(tx, path, procedure=INSTALL.procedure[:1])
        skills.settle(tx, {path})

    await within(memos, write)
    later = await memos.skill(NAME)
    assert later.body.procedure == edited.body.procedure and later.memory.text == edited.memory.text
    assert "pip install {package}" in later.body.proposal
    assert [v.op for v in await memos.history(later.id)] == ["crystallise", "edit", "propose"]
    back = await memos.edit_skill(NAME, {"edited": False})
    assert back.body.procedure == INSTALL.procedure[:1] and not back.body.edited and not back.body.proposal


async def test_an_edit_that_cannot_be_is_refused_and_changes_nothing(memos: AsyncMemOS) -> None:
    await learn(memos)
    await memos.import_skills("---\nname: taken\ndescription: x\n---\ny")
    before = await memos.skill(NAME)
    bad: list[tuple[Any, type[Exception]]] = [
        ({}, InvalidInput), ({"state": "active"}, InvalidInput), ({"policies": []}, InvalidInput), ({"name": "Not A Name"}, InvalidInput),
        ({"name": "taken"}, Conflict), ({"description": ""}, InvalidInput), ({"description": "x" * 1025}, InvalidInput),
        ({"procedure": [{"tool": 1}]}, InvalidInput), ({"procedure": "rm"}, InvalidInput), ({"procedure": []}, InvalidInput),
        ({"parameters": [{"description": "nameless"}]}, InvalidInput), ({"pitfalls": ["x" * 20_000]}, InvalidInput),
        ({"guide": "\ud800"}, InvalidInput), ({"edited": True}, InvalidInput), ({"verification": 5}, InvalidInput),
        ({"parameters": [{"name": "p", "required": "yes"}]}, InvalidInput), ([1], InvalidInput),
    ]  # fmt: skip
    for changes, error in bad:
        with pytest.raises(error):
            await memos.edit_skill(NAME, changes)
    with pytest.raises(Conflict):
        await memos.edit_skill(NAME, {"verification": "x"}, if_version=before.memory.version + 1)
    with pytest.raises(NotFound):
        await memos.edit_skill("nothing", {"verification": "x"})
    assert await memos.skill(NAME) == before


async def test_free_text_takes_the_place_of_the_fields_until_it_is_emptied(memos: AsyncMemOS) -> None:
    await learn(memos)
    before = (await memos.skill(NAME)).memory.text
    assert (await memos.edit_skill(NAME, {"guide": "Just ask Bo."})).memory.text == "Just ask Bo."
    assert (await memos.edit_skill(NAME, {"guide": ""})).memory.text == before


async def test_a_renamed_skill_keeps_its_name_when_it_is_drawn_anew(memos: AsyncMemOS) -> None:
    path = await learn(memos)
    renamed = await memos.edit_skill(NAME, {"name": "pip-it"})
    assert renamed.name == renamed.memory.title == "pip-it"
    await memos.edit_skill("pip-it", {"edited": False})

    def write(tx: Any) -> None:
        change(tx, path, procedure=INSTALL.procedure[:1])
        skills.settle(tx, {path})

    await within(memos, write)
    assert (await memos.skill("pip-it")).body.procedure == INSTALL.procedure[:1]


async def test_what_was_exported_is_the_same_when_it_is_imported_elsewhere(memos: AsyncMemOS, tmp_path: Path) -> None:
    await learn(memos)
    original = await memos.skill(NAME)
    folders = await memos.export_skills(tmp_path / "out")
    assert folders == [tmp_path / "out" / NAME]
    zipped = await memos.export_skills(zip=True)
    assert isinstance(zipped, bytes)
    (file,) = await memos.export_skills(tmp_path / "skills.zip", zip=True)  # type: ignore[misc]
    sources: list[Any] = [tmp_path / "out", str(tmp_path / "out" / NAME), zipped, file]
    for number, source in enumerate(sources):
        await memos.create_cube(f"c{number}")
        planned = await memos.import_skills(source, cube=f"c{number}", dry_run=True)
        assert [s.name for s in planned] == [NAME] and await memos.skills(cube=f"c{number}") == []
        (found,) = await memos.import_skills(source, cube=f"c{number}")
        assert found.memory.text == original.memory.text
        same = replace(found.body, policies=original.body.policies, author="rules", why="")
        assert same == original.body
        assert found.memory.origin is Origin.IMPORT and found.memory.trust == 0.6
        assert found.body.state is State.PROBATION and found.body.author == "import"


async def test_export_writes_nothing_over_what_is_there(memos: AsyncMemOS, tmp_path: Path) -> None:
    await learn(memos)
    await memos.export_skills(tmp_path)
    mine = tmp_path / NAME / "SKILL.md"
    mine.write_text("mine")
    with pytest.raises(InvalidInput, match="exists already"):
        await memos.export_skills(tmp_path)
    assert mine.read_text() == "mine"
    await memos.export_skills(tmp_path, overwrite=True)
    assert mine.read_text().startswith("---\nname: ")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidInput, match="link"):
        await memos.export_skills(tmp_path / "linked", overwrite=True)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    with pytest.raises(InvalidInput, match="data folder"):
        await memos.export_skills(memos.settings.home / "x")
    with pytest.raises(InvalidInput, match="zip"):
        await memos.export_skills()
    with pytest.raises(NotFound):
        await memos.export_skills(tmp_path / "no", names=["no-such"])


async def test_imported_again_it_is_a_new_version_and_edited_only_proposed_to(memos: AsyncMemOS) -> None:
    text = "---\nname: water-plants\ndescription: Waters plants.\n---\n\n# Water\n\nUse a {}.\n"
    (first,) = await memos.import_skills(text.format("can"))
    (same,) = await memos.import_skills(text.format("can"))
    assert same.memory.version == 1 and same.id == first.id
    (second,) = await memos.import_skills(text.format("hose"))
    assert second.id == first.id and second.memory.version == 2 and "hose" in second.memory.text
    assert len(await memos.history(first.id)) == 2
    await memos.edit_skill("water-plants", {"guide": "Use rain."})
    (third,) = await memos.import_skills(text.format("sprinkler"))
    assert third.memory.text == "Use rain." and "sprinkler" in third.body.proposal


async def test_an_import_never_takes_the_place_of_a_learned_skill_of_its_name(memos: AsyncMemOS) -> None:
    await learn(memos)
    original = await memos.skill(NAME)
    (found,) = await memos.import_skills(f"---\nname: {NAME}\ndescription: Mine.\n---\nMine.")
    assert found.name == f"{NAME}-2" and await memos.skill(NAME) == original
    (again,) = await memos.import_skills(f"---\nname: {NAME}\ndescription: Mine.\n---\nMine, better.")
    assert (again.id, again.name, again.memory.version) == (found.id, f"{NAME}-2", 2)


async def test_a_bad_skill_among_good_ones_leaves_nothing_behind(memos: AsyncMemOS, tmp_path: Path) -> None:
    for name, text in (
        ("good", "---\nname: good\ndescription: x\n---\ny"),
        ("bad", "---\nname: other\ndescription: x\n---\ny"),
    ):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "SKILL.md").write_text(text)
    with pytest.raises(InvalidInput, match="folder"):
        await memos.import_skills(tmp_path / "in")
    assert await memos.skills() == []


# -- sharing ---------------------------------------------------------------------------------------------------------


async def test_without_skills_nothing_is_written(memos: AsyncMemOS, tmp_path: Path) -> None:
    assert await memos.export_skills(tmp_path / "none") == []
    assert not (tmp_path / "none").exists()


@pytest.fixture
async def team(memos: AsyncMemOS) -> AsyncMemOS:
    """Ana has learned a skill; Bo may write to the cube of the team."""
    await learn(memos, "ana")
    await memos.create_cube("team", user="ana")
    await memos.share("team", "bo", "write", user="ana")
    return memos


async def test_a_published_skill_is_a_copy_on_probation_that_knows_its_origin(team: AsyncMemOS) -> None:
    source = await team.skill(NAME, user="ana")
    published = await team.publish(source.id, "team", user="ana")
    assert (
        published.new and published.cube == "team" and (published.source_cube, published.source) == ("ana", source.id)
    )
    copy = await team.skill(NAME, user="bo", cube="team")
    assert copy.id == published.id != source.id and copy.memory.text == source.memory.text
    assert copy.body.shared_from == f"ana/{source.id}" and copy.body.state is State.PROBATION
    assert copy.body.policies == () and copy.memory.origin is Origin.IMPORT and copy.memory.trust <= 0.6
    again = await team.publish(source.id, "team", user="ana")
    assert (
        not again.new
        and again.id == copy.id
        and (await team.skill(copy.id, user="bo", cube="team")).memory.version == 1
    )


async def test_published_again_the_copy_is_brought_up_to_date_unless_edited(team: AsyncMemOS) -> None:
    source = await team.skill(NAME, user="ana")
    copy = await team.publish(source.id, "team", user="ana")
    await team.edit_skill(NAME, {"verification": "pip check"}, user="ana")
    await team.publish(source.id, "team", user="ana")
    fresh = await team.skill(copy.id, user="bo", cube="team")
    assert fresh.body.verification == "pip check" and fresh.memory.version == 2 and not fresh.body.edited
    await team.edit_skill(NAME, {"guide": "Bo's way"}, user="bo", cube="team")
    await team.edit_skill(NAME, {"verification": "pip check -v"}, user="ana")
    await team.publish(source.id, "team", user="ana")
    kept = await team.skill(copy.id, user="bo", cube="team")
    assert kept.memory.text == "Bo's way" and "pip check -v" in kept.body.proposal


async def test_a_copy_whose_name_is_taken_gets_another(team: AsyncMemOS) -> None:
    await team.import_skills(f"---\nname: {NAME}\ndescription: x\n---\ny", user="bo", cube="team")
    source = await team.skill(NAME, user="ana")
    copy = await team.publish(source.id, "team", user="ana")
    assert (await team.skill(copy.id, user="bo", cube="team")).name == f"{NAME}-2"
    await team.publish(source.id, "team", user="ana")
    assert len(await team.skills(user="bo", cube="team")) == 2


async def test_who_may_not_write_there_or_read_here_publishes_nothing(team: AsyncMemOS) -> None:
    source = await team.skill(NAME, user="ana")
    with pytest.raises(NotFound):
        await team.publish(source.id, "team", user="bo", cube="ana")
    await team.share("team", "cy", "read", user="ana")
    await learn(team, "cy")
    theirs = await team.skill(NAME, user="cy")
    with pytest.raises(AccessDenied):
        await team.publish(theirs.id, "team", user="cy")
    with pytest.raises(InvalidInput):
        await team.publish(source.id, "ana", user="ana")
    with pytest.raises(NotFound):
        await team.publish("01a22a82-4e41-70a5-ae4d-30bf30d73c9d", "team", user="ana")
    assert await team.skills(user="bo", cube="team") == []


async def test_unpublishing_takes_the_copy_away_wholly(team: AsyncMemOS) -> None:
    source = await team.skill(NAME, user="ana")
    copy = await team.publish(source.id, "team", user="ana")
    assert await team.unpublish(source.id, "team", user="ana") == 1
    assert await team.unpublish(source.id, "team", user="ana") == 0
    async with team._cube("bo", "team", "read") as (_, store):
        assert await store.get([copy.id], View(statuses=ANY_STATUS)) == []
    assert (await team.skill(NAME, user="ana")).id == source.id
    assert (await team.publish(source.id, "team", user="ana")).new


async def test_any_memory_can_be_shared_and_carries_where_it_is_from(team: AsyncMemOS) -> None:
    await team.add("The gate code is 4711.", user="ana")
    record = next(m for m in (await team.list(user="ana", kinds=["trace"])).items if "gate" in m.text)
    copy = await team.publish(record.id, "team", user="ana")
    found = await team.get(copy.id, user="bo", cube="team")
    assert found.text == record.text and found.body["shared_from"] == f"ana/{record.id}" and found.slot is None
    assert [h.memory.id for h in (await team.search("gate code", user="bo", cube="team")).hits][:1] == [copy.id]


async def resolve(memos: AsyncMemOS, cube: str, memory: str, outcome: str) -> None:
    """End the open episode of a cube with an outcome, as learning does."""

    def write(tx: Any) -> None:
        (opened,) = [e for e in lived.episodes(tx.db, limit=100)[0] if e.is_open]
        lived.close_episode(tx, opened.id, "ended", T0, T0)
        lived.add_signal(tx, opened.id, signal(1.0 if outcome == "pass" else -1.0), "grade")

    await within(memos, write, cube)
    await memos.evolve(now=True, user=cube, cube=cube)


def signal(score: float) -> Any:
    from memos.memory.episode import Signal, SignalSource

    return Signal(SignalSource.VERIFIER, "test", score, T0)


def install_in_open_episode(owner: str) -> Callable[[Any], str]:
    def write(tx: Any) -> str:
        id, _ = episode(
            tx, "install the package flask", [("pip install flask", None), ('python -c "import flask"', None)]
        )
        lived.reopen_episode(tx, id, T0)
        tx.db.execute("UPDATE episodes SET owner=?", (owner,))
        return id

    return write


async def act(memos: AsyncMemOS, user: str, skill: str, cube: str | None, outcome: str) -> None:
    """An agent of a user is handed a skill, does what it says, and is graded."""

    def steps_after(tx: Any) -> None:
        tx.db.execute("UPDATE trials SET after=0")

    await within(memos, install_in_open_episode(user), user)
    await memos.skill(skill, use=True, session="s", user=user, cube=cube)
    await within(memos, steps_after, user)
    await resolve(memos, user, skill, outcome)


async def test_trials_of_a_skill_of_another_cube_count_there(team: AsyncMemOS) -> None:
    await team.share("ana", "bo", "read", user="ana")
    await team.add("hello", user="bo")
    await act(team, "bo", NAME, "ana", "pass")
    found = await team.skill(NAME, user="ana")
    assert (found.record.passes, found.record.fails, found.record.handed) == (1, 0, 1)
    await team.evolve(now=True, user="bo")
    assert (await team.skill(NAME, user="ana")).record.handed == 1, "told once"
    for _ in range(5):
        await act(team, "bo", NAME, "ana", "fail")
    later = await team.skill(NAME, user="ana")
    assert later.body.state is State.RETIRED and later.record.fails == 5


async def test_trials_of_a_copy_count_back_at_its_origin(team: AsyncMemOS) -> None:
    source = await team.skill(NAME, user="ana")
    await team.create_cube("bo", user="bo")
    await team.share("ana", "bo", "read", user="ana")
    await team.share("bo", "ana", "write", user="bo")
    copy = await team.publish(source.id, "bo", user="ana")
    for _ in range(2):
        await act(team, "bo", NAME, None, "pass")
    assert (await team.skill(copy.id, user="bo")).body.state is State.ACTIVE
    back = await team.skill(source.id, user="ana")
    assert back.record.passes == 2 and back.body.state is State.ACTIVE


async def test_a_revoked_grant_ends_reading_and_counting(team: AsyncMemOS) -> None:
    source = await team.skill(NAME, user="ana")
    await team.create_cube("bo", user="bo")
    await team.share("ana", "bo", "read", user="ana")
    await within(team, install_in_open_episode("bo"), "bo")
    await team.skill(NAME, use=True, session="s", user="bo", cube="ana")
    await team.share("ana", "bo", None, user="ana")
    with pytest.raises(NotFound):
        await team.skill(NAME, user="bo", cube="ana")
    await resolve(team, "bo", source.id, "pass")
    assert (await team.skill(source.id, user="ana")).record.handed == 0
    await team.share("ana", "bo", "read", user="ana")
    await team.evolve(now=True, user="bo")
    assert (await team.skill(source.id, user="ana")).record.handed == 0, "what was made meanwhile is not told later"
    events = (await team.learning_events(user="bo", limit=1_000)).items
    assert "trial.dropped" in [e.what for e in events]


async def test_a_trial_for_a_cube_that_is_gone_is_dropped(team: AsyncMemOS) -> None:
    await team.create_cube("bo", user="bo")
    await team.share("ana", "bo", "read", user="ana")
    await within(team, install_in_open_episode("bo"), "bo")
    await team.skill(NAME, use=True, session="s", user="bo", cube="ana")
    await team.delete_cube("ana", user="ana")
    await resolve(team, "bo", "", "pass")
    assert "trial.dropped" in [e.what for e in (await team.learning_events(user="bo", limit=1_000)).items]


async def test_many_edits_at_once_lose_none(memos: AsyncMemOS) -> None:
    await learn(memos)
    version = (await memos.skill(NAME)).memory.version
    tasks = [memos.edit_skill(NAME, {"pitfalls": [str(n)]}, if_version=version) for n in range(5)]
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert sum(isinstance(r, Conflict) for r in results) == 4
    assert (await memos.skill(NAME)).memory.version == version + 1


async def test_a_skill_of_a_document_can_be_used_and_shared(team: AsyncMemOS) -> None:
    body = {"state": "candidate", "name": "Reset the pump", "trigger": "the pump is stuck", "steps": ["Open the valve"]}
    await within(
        team,
        lambda tx: tx.put(Memory("01a22a82-4e41-70a5-ae4d-30bf30d73c9e", Kind.SKILL, "Reset: 1", body=body)),
        "ana",
    )
    found = await team.skill("reset-the-pump", user="ana")
    assert found.body.state is State.PROBATION and found in await team.skills(user="ana")
    copy = await team.publish(found.id, "team", user="ana")
    shared = await team.skill(copy.id, user="bo", cube="team")
    assert "Open the valve" in shared.memory.text and SkillBody.of(shared.memory).name == "reset-the-pump"
    assert shared.memory.status is Status.ACTIVE and skill_folder.skill_file(shared).startswith(
        "---\nname: reset-the-pump\n"
    )


async def test_a_copy_counts_back_by_the_right_of_who_published_it(team: AsyncMemOS) -> None:
    source = await team.skill(NAME, user="ana")
    await team.publish(source.id, "team", user="ana")
    with pytest.raises(NotFound):
        await team.skill(NAME, user="bo", cube="ana")
    await within(team, install_in_open_episode("bo"), "team", "bo")
    await team.skill(NAME, use=True, session="s", user="bo", cube="team")

    def close(tx: Any) -> None:
        tx.db.execute("UPDATE trials SET after=0")
        (opened,) = [e for e in lived.episodes(tx.db, limit=100)[0] if e.is_open]
        lived.close_episode(tx, opened.id, "ended", T0, T0)
        lived.add_signal(tx, opened.id, signal(1.0), "grade")

    await within(team, close, "team", "bo")
    await team.evolve(now=True, user="bo", cube="team")
    assert (await team.skill(source.id, user="ana")).record.passes == 1


async def test_a_policy_that_is_retired_by_hand_takes_its_skill_along_and_brings_it_back(memos: AsyncMemOS) -> None:
    path = await learn(memos)
    await memos.set_state(path, "retired", reason="wrong here")
    assert await memos.skills() == []
    await memos.set_state(path, "active")
    assert [s.name for s in await memos.skills()] == [NAME]


async def test_an_outcome_that_was_told_before_a_crash_is_not_counted_again(team: AsyncMemOS) -> None:
    await team.create_cube("bo", user="bo")
    await team.share("ana", "bo", "read", user="ana")
    await act(team, "bo", NAME, "ana", "pass")
    await within(team, lambda tx: tx.db.execute("UPDATE trials SET carried='pending'"), "bo")
    await team.evolve(now=True, user="bo")
    found = await team.skill(NAME, user="ana")
    assert (found.record.passes, found.record.handed) == (1, 1)
    told = [e for e in (await team.learning_events(user="ana", limit=1_000)).items if e.what == "skill.trial"]
    assert len(told) == 1


async def test_late_feedback_changes_what_was_told(team: AsyncMemOS) -> None:
    await team.create_cube("bo", user="bo")
    await team.share("ana", "bo", "read", user="ana")
    await act(team, "bo", NAME, "ana", "pass")
    (episode_,) = (await team.episodes(user="bo")).items
    await team.report_outcome(-1.0, "all of it is broken", episode=episode_.id, user="bo")
    await team.report_outcome(-1.0, source="verifier", episode=episode_.id, user="bo")
    await team.evolve(now=True, user="bo")
    record = (await team.skill(NAME, user="ana")).record
    assert record.passes == 0 and record.handed == 1


def _said(recalled: Recalled) -> tuple[str, ...]:
    """What a block says of skills, without what is counted of each and the marks that cite them."""
    return tuple(i.text.partition(" (")[0] for i in recalled.items if i.tier is Tier.SKILL)


@pytest.mark.parametrize(
    "goal", ["install the package scipy", "install the package scipy, please", "Install the package scipy."]
)
async def test_a_copy_is_handed_out_and_filled_in_like_the_original(team: AsyncMemOS, goal: str) -> None:
    source = await team.skill(NAME, user="ana")
    await team.publish(source.id, "team", user="ana")
    zipped = await team.export_skills(zip=True, user="ana")
    assert isinstance(zipped, bytes)
    await team.import_skills(zipped, user="cy")
    asked = {"environment": "web1", "tiers": ["skill"]}
    own = await team.recall(goal, user="ana", **asked)
    granted = await team.recall(goal, user="bo", also=("team",), **asked)
    imported = await team.recall(goal, user="cy", **asked)
    assert _said(own) and "`shell`: `pip install scipy`" in _said(own)[0]
    assert _said(own) == _said(granted) == _said(imported)
    assert own.items[0].calls == granted.items[0].calls == imported.items[0].calls
    assert own.items[0].calls[0] == Action("shell", "pip install scipy")


async def test_a_copy_is_found_by_the_error_that_its_original_resolves(team: AsyncMemOS) -> None:
    def write(tx: Any) -> str:
        path, fix = policy(tx, INSTALL), policy(tx, HEADERS)
        for minute, package in enumerate(("lxml", "numpy", "pillow")):
            installs(tx, path, package, minute, fix=fix, library="libxml")
        skills.settle(tx, {path, fix})
        return path

    await within(team, write, "bo")
    (skill,) = [s for s in await team.skills(user="bo") if s.body.errors]
    await team.publish(skill.id, "team", user="bo")
    await team.share("team", "dan", "read", user="ana")
    error = "fatal error: libpq-fe.h: No such file or directory"
    asked = {"trigger": "repair", "tool": "shell", "error": error}
    told = await team.recall("pip install psycopg2", user="dan", also=("team",), **asked)
    assert any(i.tier is Tier.SKILL and "If it fails with “fatal error" in i.text for i in told.items)
    other = await team.recall("pip install psycopg2", user="dan", also=("team",), **{**asked, "error": "disk is full"})
    assert not any(i.tier is Tier.SKILL for i in other.items)


async def test_a_pattern_of_a_stranger_that_fits_everything_is_not_taken(memos: AsyncMemOS, tmp_path: Path) -> None:
    await learn(memos)
    folder = (await memos.export_skills(tmp_path / "out"))[0]  # type: ignore[index]
    fields = json.loads((folder / "memos.json").read_text())
    fields["goals"] = ["{a}", "{a} {b}", "x" * 500, "water {plant}"]
    (folder / "memos.json").write_text(json.dumps(fields))
    (found,) = await memos.import_skills(folder, user="bo")
    assert found.body.goals == ("water {plant}",)


async def test_an_edited_guide_is_what_the_agent_is_told(memos: AsyncMemOS) -> None:
    await learn(memos)
    guide = f"# {NAME}\n\nIntroduction.\n\n## Steps\n\n1. `shell`: `uv add {{package}}`\n2. Tell the owner."
    await memos.edit_skill(NAME, {"guide": guide})
    told = await memos.recall("install the package scipy", tiers=["skill"])
    (item,) = told.items
    assert "1. `shell`: `uv add scipy` 2. Tell the owner." in item.text and "pip install" not in told.context


async def test_a_policy_in_the_words_of_a_person_is_shared_in_those_words(team: AsyncMemOS) -> None:
    (policy_,) = await team.policies(user="ana")
    await team.update(policy_.id, text="Ask Ana for {package}.", user="ana")
    copy = await team.publish(policy_.id, "team", user="ana")
    told = await team.recall("install the package scipy", user="bo", also=("team",), tiers=["guidance"])
    assert [i.text.partition(" (")[0] for i in told.items] == ["- Ask Ana for scipy."]
    await team.update(policy_.id, text="Ask Ben for {package}.", user="ana")
    await team.publish(policy_.id, "team", user="ana")
    assert (await team.policy(copy.id, cube="team", user="bo")).memory.text == "Ask Ben for {package}."
    await team.update(copy.id, text="Ask Bo.", user="bo", cube="team")
    await team.publish(policy_.id, "team", user="ana")
    assert (await team.policy(copy.id, cube="team", user="bo")).memory.text == "Ask Bo."
