"""Skills from policies: made when enough bears them out, drawn anew when policies change, moved through their states by trials;
never against what a person edited or decided.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memos.evolution.by_hand import set_state
from memos.evolution.skills import skills
from memos.memory.learned import Action, Form, Parameter, PolicyBody, SkillBody, State, is_skill_name, skill_name
from memos.memory.model import EdgeType, Kind, Memory, Status
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube
from skill_world import HEADERS, INSTALL, change, episode, installs, policy, teaches, tried


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteCube]:
    cube = SqliteCube.open(tmp_path / "skills.db")
    yield cube
    await cube.close()


async def all_skills(store: SqliteCube) -> list[Memory]:
    return await store.lived(lived.learned_memories, "skill")


async def the_skill(store: SqliteCube) -> tuple[Memory, SkillBody]:
    (memory,) = await all_skills(store)
    return memory, SkillBody.of(memory)


async def whats(store: SqliteCube) -> list[str]:
    return [e.what for e in await store.lived(lived.events, limit=1_000)]


async def learned(store: SqliteCube, packages: tuple[str, ...] = ("lxml", "numpy", "pillow")) -> str:
    def write(tx: Any) -> str:
        path = policy(tx, INSTALL)
        for minute, package in enumerate(packages):
            installs(tx, path, package, minute)
        skills.settle(tx, {path})
        return path

    return await store.write(write)


async def test_a_path_that_three_episodes_teach_becomes_a_skill_on_probation(store: SqliteCube) -> None:
    path = await learned(store)
    memory, body = await the_skill(store)
    assert body.state is State.PROBATION and body.policies == (path,) and body.author == "rules"
    assert body.name == "install-package" and is_skill_name(body.name) and memory.title == body.name
    assert body.procedure == INSTALL.procedure and body.tools == ("shell",)
    assert "Use it when" in body.description and body.verification == INSTALL.verification
    assert "“install the package lxml”: `shell`: `pip install lxml`; then" in body.examples[0]
    assert memory.kind is Kind.SKILL and memory.status is Status.ACTIVE and "`pip install {package}`" in memory.text
    edges = await store.neighbors([memory.id], types=[EdgeType.DERIVED_FROM], direction="out")
    assert [link.edge.dst for link in edges] == [path]


async def test_two_episodes_are_not_enough_before_the_policy_itself_passed_a_trial(store: SqliteCube) -> None:
    path = await learned(store, ("lxml", "numpy"))
    assert await all_skills(store) == []

    def write(tx: Any) -> None:
        tried(tx, path, "pass")
        skills.settle(tx, {path})

    await store.write(write)
    assert (await the_skill(store))[1].policies == (path,)


async def test_one_episode_makes_no_skill_whatever_its_trials(store: SqliteCube) -> None:
    path = await learned(store, ("lxml",))

    def write(tx: Any) -> None:
        for minute in range(3):
            tried(tx, path, "pass", minute)
        skills.settle(tx, {path})

    await store.write(write)
    assert await all_skills(store) == []


async def test_a_candidate_makes_no_skill(store: SqliteCube) -> None:
    def write(tx: Any) -> None:
        path = policy(tx, replace(INSTALL, state=State.CANDIDATE))
        for minute in range(5):
            installs(tx, path, f"package{minute}", minute)
        skills.settle(tx, {path})

    await store.write(write)
    assert await all_skills(store) == []


async def test_a_path_and_the_fix_seen_inside_it_make_one_skill(store: SqliteCube) -> None:
    def write(tx: Any) -> tuple[str, str]:
        path, fix = policy(tx, INSTALL), policy(tx, HEADERS)
        for minute, (package, library) in enumerate((("lxml", "libxml2"), ("pillow", "libjpeg"), ("psycopg", "libpq"))):
            installs(tx, path, package, minute, fix=fix, library=library)
        installs(tx, path, "numpy", 4)
        skills.settle(tx, {fix})
        skills.settle(tx, {path, fix})
        return path, fix

    path, fix = await store.write(write)
    memory, body = await the_skill(store)
    assert body.policies == (path, fix)
    assert [p.name for p in body.parameters] == ["header", "library", "package"]
    assert any("apt-get install -y {library}-dev" in line for line in body.pitfalls)
    assert any("pip install again" in line for line in body.pitfalls)
    assert "## Pitfalls" in memory.text


async def test_a_fix_seen_in_many_kinds_of_tasks_is_a_skill_of_its_own(store: SqliteCube) -> None:
    def write(tx: Any) -> str:
        path, fix = policy(tx, INSTALL), policy(tx, HEADERS)
        installs(tx, path, "lxml", fix=fix, library="libxml2")
        for minute, library in enumerate(("libpq", "libjpeg", "zlib"), 1):
            error = f"fatal error: {library}.h: No such file or directory"
            calls = [("make", error), (f"apt-get install -y {library}-dev", None), ("make", None)]
            id, numbers = episode(tx, f"build {library} things", calls, minute)
            teaches(tx, id, fix, Form.FIX, failed=numbers[1:2], done=numbers[2:3])
        skills.settle(tx, {path, fix})
        return fix

    fix = await store.write(write)
    _, body = await the_skill(store)
    assert body.policies == (fix,) and body.name.startswith("fix-fatal-error-no-such-file")
    assert any("failed with" in line for line in body.preconditions)


async def test_settling_again_changes_nothing(store: SqliteCube) -> None:
    path = await learned(store)
    before = await the_skill(store)
    for _ in range(3):
        await store.write(lambda tx: skills.settle(tx, {path, before[0].id}))
    assert await the_skill(store) == before
    assert (await whats(store)).count("skill.crystallised") == 1


async def test_an_action_that_the_cases_do_not_show_is_refused_and_told_once(store: SqliteCube) -> None:
    def write(tx: Any) -> str:
        path = policy(tx, replace(INSTALL, procedure=(*INSTALL.procedure, Action("shell", "reboot {package}"))))
        for minute, package in enumerate(("lxml", "numpy", "pillow")):
            installs(tx, path, package, minute)
        skills.settle(tx, {path})
        skills.settle(tx, {path})
        return path

    path = await store.write(write)
    assert await all_skills(store) == []
    refused = [e for e in await store.lived(lived.events) if e.what == "skill.refused"]
    assert [(e.memory, e.numbers["why"]) for e in refused] == [(path, "actions")]


async def test_a_tool_that_was_never_used_is_refused(store: SqliteCube) -> None:
    def write(tx: Any) -> None:
        path = policy(tx, replace(INSTALL, procedure=(*INSTALL.procedure, Action("deploy", "now"))))
        for minute, package in enumerate(("lxml", "numpy", "pillow")):
            installs(tx, path, package, minute)
        skills.settle(tx, {path})

    await store.write(write)
    assert await all_skills(store) == []
    assert [e.numbers["why"] for e in await store.lived(lived.events)] == ["tools"]


async def test_a_changed_policy_makes_a_new_version_that_keeps_name_state_and_trials(store: SqliteCube) -> None:
    path = await learned(store)
    memory, _ = await the_skill(store)

    def write(tx: Any) -> None:
        for minute in range(3):
            tried(tx, memory.id, "pass", minute)
        skills.settle(tx, {memory.id})
        change(tx, path, procedure=INSTALL.procedure[:1], goal="set up the package {package}")
        skills.settle(tx, {path})

    await store.write(write)
    later, body = await the_skill(store)
    assert (later.id, body.name, body.state) == (memory.id, "install-package", State.ACTIVE)
    assert body.procedure == INSTALL.procedure[:1] and later.version == 3
    assert [v.op for v in await store.history(later.id)] == ["crystallise", "state", "redraw"]
    assert (await store.lived(lived.counted, later.id)).passes == 3


async def test_an_edited_skill_is_never_overwritten_only_proposed_to(store: SqliteCube) -> None:
    path = await learned(store)
    memory, body = await the_skill(store)

    def write(tx: Any) -> None:
        edited = replace(body, guide="My own words.", edited=True)
        tx.put(replace(tx.get(memory.id), text="My own words.", body={**memory.body, **edited.to_body()}), "edit")
        change(tx, path, procedure=INSTALL.procedure[:1])
        skills.settle(tx, {path})
        skills.settle(tx, {path})

    await store.write(write)
    later, now = await the_skill(store)
    assert (later.text, now.guide, now.procedure) == ("My own words.", "My own words.", INSTALL.procedure)
    assert (
        "pip install {package}" in now.proposal
        and "import" not in now.proposal.split("## Examples")[0].split("## Steps")[1].split("## Check")[0]
    )
    assert (await whats(store)).count("skill.proposed") == 1


async def test_two_passed_trials_make_it_active_and_failures_retire_it(store: SqliteCube) -> None:
    await learned(store)
    memory, _ = await the_skill(store)

    async def trials(outcome: str, count: int, start: int) -> SkillBody:
        def write(tx: Any) -> None:
            for minute in range(start, start + count):
                tried(tx, memory.id, outcome, minute)
            skills.settle(tx, {memory.id})

        await store.write(write)
        return (await the_skill(store))[1]

    assert (await trials("pass", 1, 100)).state is State.PROBATION
    assert (await trials("pass", 1, 200)).state is State.ACTIVE
    assert (await trials("unknown", 4, 250)).state is State.ACTIVE
    retired = await trials("fail", 5, 300)
    assert retired.state is State.RETIRED and "failed" in retired.why
    assert (await the_skill(store))[0].status is Status.ARCHIVED
    assert {"skill.active", "skill.retired"} <= set(await whats(store))


async def test_a_skill_goes_and_comes_back_with_its_policies(store: SqliteCube) -> None:
    path = await learned(store)

    def state(to: State) -> Any:
        def write(tx: Any) -> None:
            change(tx, path, state=to)
            skills.settle(tx, {path})

        return write

    await store.write(state(State.RETIRED))
    memory, body = await the_skill(store)
    assert body.state is State.RETIRED and memory.status is Status.ARCHIVED
    await store.write(state(State.ACTIVE))
    memory, body = await the_skill(store)
    assert body.state is State.PROBATION and memory.status is Status.ACTIVE


async def test_what_was_decided_by_hand_stays(store: SqliteCube) -> None:
    path = await learned(store)
    memory, _ = await the_skill(store)

    def write(tx: Any) -> None:
        set_state(tx, memory.id, State.ACTIVE, "I know it")
        for minute in range(4):
            tried(tx, memory.id, "fail", minute)
        change(tx, path, state=State.RETIRED)
        skills.settle(tx, {memory.id, path})

    await store.write(write)
    assert (await the_skill(store))[1].state is State.ACTIVE


async def test_a_skill_taken_back_by_a_person_does_not_return(store: SqliteCube) -> None:
    path = await learned(store)
    memory, _ = await the_skill(store)

    def write(tx: Any) -> None:
        tx.put(replace(tx.get(memory.id), status=Status.RETRACTED), "retract")
        installs(tx, path, "scipy", 9)
        change(tx, path, procedure=INSTALL.procedure[:1])
        skills.settle(tx, {path, memory.id})

    await store.write(write)
    assert await all_skills(store) == []


async def test_a_name_that_is_taken_gets_a_number_and_replaces_nothing(store: SqliteCube) -> None:
    await learned(store)
    await learned(store, ("scipy", "pandas", "flask"))
    await learned(store, ("a1", "b2", "c3"))
    names = sorted(SkillBody.of(m).name for m in await all_skills(store))
    assert names == ["install-package", "install-package-2", "install-package-3"]


async def test_a_skill_of_a_document_is_on_probation_and_its_trials_count(store: SqliteCube) -> None:
    body = {
        "state": "candidate", "subject": "Reset the pump", "attribute": "steps", "name": "Reset the pump",
        "trigger": "the pump is stuck", "steps": ["Open the valve", "Press reset"],
    }  # fmt: skip

    def write(tx: Any) -> str:
        memory = tx.put(
            Memory("01a22a82-4e41-70a5-ae4d-30bf30d73c9d", Kind.SKILL, "Reset the pump: 1. Open", body=body)
        )
        tried(tx, memory.id, "pass", 1)
        skills.settle(tx, {memory.id})
        assert tx.get(memory.id).version == 1
        tried(tx, memory.id, "pass", 2)
        tried(tx, memory.id, "pass", 3)
        skills.settle(tx, {memory.id})
        return memory.id

    await store.write(write)
    memory, found = await the_skill(store)
    assert found.state is State.ACTIVE and found.name == "reset-the-pump"
    assert found.procedure == (Action("", "Open the valve"), Action("", "Press reset"))
    assert "Use it when the pump is stuck" in found.description
    assert memory.body["subject"] == "Reset the pump" and memory.body["steps"] == body["steps"]


async def test_parameters_of_one_name_that_mean_different_things_are_kept_apart(store: SqliteCube) -> None:
    fix = replace(
        HEADERS,
        error="fatal error: {package}.h: No such file or directory",
        procedure=(Action("shell", "apt-get install -y {package}-dev"),),
        parameters=(Parameter("package", "error", ("libxml2",)),),
    )

    def write(tx: Any) -> None:
        path, other = policy(tx, INSTALL), policy(tx, fix)
        for minute, (package, library) in enumerate((("lxml", "libxml2"), ("pillow", "libjpeg"), ("psycopg", "libpq"))):
            installs(tx, path, package, minute, fix=other, library=library)
        skills.settle(tx, {path})

    await store.write(write)
    _, body = await the_skill(store)
    assert [p.name for p in body.parameters] == ["package", "package_2"]
    assert any("apt-get install -y {package_2}-dev" in line for line in body.pitfalls)


async def test_chinese_goals_make_a_valid_name(store: SqliteCube) -> None:
    def write(tx: Any) -> None:
        path = policy(
            tx,
            replace(
                INSTALL, goal="安装软件包 {package_name}".replace("{package_name}", "{p}"), trigger="需要安装软件包"
            ),
        )
        for minute, package in enumerate(("lxml", "numpy", "pillow")):
            installs(tx, path, package, minute)
        skills.settle(tx, {path})

    await store.write(write)
    _, body = await the_skill(store)
    assert is_skill_name(body.name) and "安装软件包" in body.description


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("Install {x} NOW!", "install-x-now"),
        ("a" * 100, "a" * 64),
        ("one " * 40, "-".join(["one"] * 16)),
        ("修理水泵", "skill-" + skill_name("修理水泵")[6:]),
        ("", skill_name("")),
        ("404", skill_name("404")),
    ],
)
def test_any_words_make_a_name_that_the_format_allows(words: str, name: str) -> None:
    assert skill_name(words) == name and is_skill_name(name)


def test_the_body_of_a_policy_is_no_dict_that_crosses_a_room() -> None:
    body = SkillBody(name="x", procedure=(Action("t", "i"),), parameters=(Parameter("p"),))
    assert SkillBody.of(Memory("x", Kind.SKILL, "x", body=body.to_body())) == body
    assert PolicyBody.of(Memory("x", Kind.POLICY, "x", body={"state": 5, "procedure": "no"})) == PolicyBody()


async def test_episodes_that_went_wrong_are_no_support(store: SqliteCube) -> None:
    def write(tx: Any) -> None:
        path = policy(tx, INSTALL)
        for minute, (package, value) in enumerate((("lxml", 0.8), ("numpy", 0.8), ("pillow", -0.8), ("flask", 0.0))):
            id, numbers = episode(tx, f"install the package {package}", [(f"pip install {package}", None), (f'python -c "import {package}"', None)], minute)  # fmt: skip
            teaches(tx, id, path, Form.PATH, value, goal=numbers[:1], done=numbers[1:])
        skills.settle(tx, {path})

    await store.write(write)
    assert await all_skills(store) == []


async def test_a_fix_has_a_skill_of_its_own_when_the_path_around_it_is_given_up(store: SqliteCube) -> None:
    def write(tx: Any) -> tuple[str, str]:
        path, fix = policy(tx, INSTALL), policy(tx, HEADERS)
        for minute, (package, library) in enumerate((("lxml", "libxml2"), ("pillow", "libjpeg"), ("psycopg", "libpq"))):
            installs(tx, path, package, minute, fix=fix, library=library)
        skills.settle(tx, {path, fix})
        change(tx, path, state=State.RETIRED)
        skills.settle(tx, {path, fix})
        skills.settle(tx, {path, fix})
        return path, fix

    path, fix = await store.write(write)
    found = {SkillBody.of(m).policies: SkillBody.of(m).state for m in await all_skills(store)}
    assert found == {(path, fix): State.RETIRED, (fix,): State.PROBATION}


async def test_more_of_the_same_makes_no_new_version(store: SqliteCube) -> None:
    path = await learned(store)
    before = await the_skill(store)

    def write(tx: Any) -> None:
        for minute in range(10, 50):
            installs(tx, path, f"package{minute}", minute)
            skills.settle(tx, {path})

    await store.write(write)
    assert await the_skill(store) == before


def gone(tx: Any, path: str) -> None:
    """The policy was replaced by another."""
    memory = tx.get(path)
    tx.put(replace(memory, status=Status.ARCHIVED, body={**memory.body, "state": "retired"}), "state")


async def test_the_skill_of_what_took_a_policys_place_is_a_new_version_of_the_same(store: SqliteCube) -> None:
    path = await learned(store)
    memory, _ = await the_skill(store)
    await store.write(lambda tx: (gone(tx, path), skills.settle(tx, {path})))
    assert (await the_skill(store))[1].state is State.RETIRED
    shorter = replace(INSTALL, procedure=INSTALL.procedure[-1:])

    def again(tx: Any) -> None:
        path = policy(tx, shorter)
        for minute, package in enumerate(("scipy", "pandas", "flask")):
            installs(tx, path, package, 10 + minute)
        skills.settle(tx, {path})

    await store.write(again)
    later, body = await the_skill(store)
    assert (later.id, body.name, body.state) == (memory.id, "install-package", State.PROBATION)
    assert later.status is Status.ACTIVE and body.procedure == shorter.procedure


async def test_a_value_of_one_case_leaves_the_name_once_it_turns_out_to_be_one(store: SqliteCube) -> None:
    acme = replace(INSTALL, goal="install acme package")

    def made(tx: Any) -> str:
        path = policy(tx, acme)
        for minute, package in enumerate(("lxml", "numpy", "pillow")):
            installs(tx, path, package, minute)
        skills.settle(tx, {path})
        return path

    path = await store.write(made)
    assert (await the_skill(store))[1].name == "install-acme-package"
    customer = Parameter("customer", "goal", ("acme", "globex"))

    def wider(tx: Any, goal: str) -> None:
        change(tx, path, goal=goal, parameters=(*INSTALL.parameters, customer))
        skills.settle(tx, {path})

    await store.write(lambda tx: wider(tx, "set up acme package"))  # other words alone do not rename it
    assert (await the_skill(store))[1].name == "install-acme-package"
    await store.write(lambda tx: wider(tx, "install {customer} package"))
    memory, body = await the_skill(store)
    assert (body.name, memory.title) == ("install-package", "install-package")
