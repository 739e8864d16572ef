"""The verbs that show what was lived and learned: pages, details, lineage down to the steps and up again, events, the report, and
decisions of people that learning does not undo.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memos import AsyncMemOS
from memos.errors import InvalidInput, NotFound
from memos.memory.ids import new_id
from memos.memory.learned import Policy, Skill, State
from memos.memory.model import Kind, Status

PACKAGES = [("lxml", "libxml2"), ("psycopg2", "libpq"), ("pillow", "libjpeg"), ("cffi", "libffi")]


@pytest.fixture
async def m(tmp_path: Path) -> AsyncIterator[AsyncMemOS]:
    async with AsyncMemOS(tmp_path, embedder="none", reward_window=0, background=False) as memos:
        yield memos


async def install(m: AsyncMemOS, package: str, header: str, *, score: float = 1.0, user: str = "default") -> str:
    """A task in which a package is missing a header, and installing the library resolves it."""
    there = {"session": package, "user": user}
    turn = await m.start_turn(f"install package {package}", **there)  # type: ignore[arg-type]
    missing = f"fatal error: {header}.h: No such file or directory"
    await m.report_step("shell", f"pip install {package}", error=missing, ok=False, **there)  # type: ignore[arg-type]
    await m.report_step("shell", f"apt install {header}-dev", "ok", ok=True, **there)  # type: ignore[arg-type]
    await m.report_step("shell", f"pip install {package}", "Successfully installed", ok=True, **there)  # type: ignore[arg-type]
    await m.end_turn("It is installed.", **there)  # type: ignore[arg-type]
    await m.report_outcome(score, source="verifier", **there)  # type: ignore[arg-type]
    await m.end_session(package, user=user)
    await m.evolve(now=True, user=user)
    return turn.episode


async def fix(m: AsyncMemOS) -> Policy:
    (found,) = await m.policies(forms=["fix"], states=["active"])
    return found


async def test_one_episode_teaches_no_policy_and_two_do(m: AsyncMemOS) -> None:
    await install(m, *PACKAGES[0])
    assert await m.policies() == []
    await install(m, *PACKAGES[1])
    policy = await fix(m)
    assert policy.record.support == 2
    assert (await m.policy(policy.id)).memory.text == policy.memory.text
    assert [p.id for p in await m.policies("header file missing when installing")] in ([policy.id], [])


async def test_lineage_leads_from_a_skill_to_its_steps_and_from_a_step_to_the_skill(m: AsyncMemOS) -> None:
    episodes = [await install(m, *p) for p in PACKAGES[:3]]
    (skill,) = await m.skills()
    down = await m.lineage(skill.id)
    kinds = {mem.kind for mem in down.memories}
    assert {Kind.SKILL, Kind.POLICY, Kind.TOOL_CALL} <= kinds
    assert {e.id for e in down.episodes} == set(episodes)
    assert len(down.episodes) == skill.record.support
    assert down.depth[skill.id] == 0 and min(down.depth.values()) <= -2
    step = next(mem for mem in down.memories if mem.kind is Kind.TOOL_CALL)
    up = await m.lineage(step.id)
    assert skill.id in {mem.id for mem in up.memories} and up.depth[skill.id] > 0
    ends = {mem.id for mem in up.memories}
    assert all(e.src in ends and e.dst in ends for e in (*up.edges,))


async def test_an_unknown_or_foreign_id_is_not_found_by_any_of_them(m: AsyncMemOS) -> None:
    episode = await install(m, *PACKAGES[0])
    await m.add("hello", user="bob")
    mine = (await m.add("a note")).ids[0]
    for id in (new_id(), "no id", episode):
        for verb in (m.policy, m.world_statement, m.lineage):
            with pytest.raises(NotFound):
                await verb(id)
    for verb in (m.policy, m.world_statement):
        with pytest.raises(NotFound):
            await verb(mine)  # a memory of another kind
    with pytest.raises(NotFound):
        await m.episode(episode, user="bob")
    with pytest.raises(NotFound):
        await m.lineage(mine, user="bob")
    assert (await m.episodes(user="bob")).items == ()
    assert (await m.learning_events(user="bob")).items == ()


async def test_what_a_person_retired_stays_retired_and_comes_back_by_hand(m: AsyncMemOS) -> None:
    for p in PACKAGES[:2]:
        await install(m, *p)
    policy = await fix(m)
    retired = await m.set_state(policy.id, "retired", reason="we use wheels")
    assert isinstance(retired, Policy) and retired.body.state is State.RETIRED
    assert retired.memory.status is Status.ARCHIVED
    await install(m, *PACKAGES[2])
    assert (await m.policy(policy.id)).body.state is State.RETIRED
    assert policy.id not in (await m.start_turn("install package lxml", session="x")).recalled.context
    back = await m.set_state(policy.id, State.ACTIVE)
    assert isinstance(back, Policy) and back.memory.status is Status.ACTIVE
    history = [v.op for v in await m.history(policy.id)]
    assert history.count("state") >= 2


async def test_a_state_that_a_kind_does_not_have_is_refused_with_those_it_has(m: AsyncMemOS) -> None:
    for p in PACKAGES[:3]:
        await install(m, *p)
    policy, (skill,) = await fix(m), await m.skills()
    with pytest.raises(InvalidInput, match="candidate, active, retired"):
        await m.set_state(policy.id, "probation")
    with pytest.raises(InvalidInput, match="probation, active, retired"):
        await m.set_state(skill.id, "candidate")
    with pytest.raises(InvalidInput, match="unknown state"):
        await m.set_state(skill.id, "gone")
    approved = await m.set_state(skill.id, "active", reason="read it")
    assert isinstance(approved, Skill) and approved.body.why == "by hand: read it"


async def test_the_stream_of_events_can_be_resumed_and_names_what_happened(m: AsyncMemOS) -> None:
    for p in PACKAGES[:2]:
        await install(m, *p)
    first = await m.learning_events(limit=2)
    rest = await m.learning_events(after=first.last)
    every = await m.learning_events()
    assert (*first.items, *rest.items) == every.items
    whats = {e.what for e in every.items}
    assert {"episode.valued", "policy.induced", "policy.active"} <= whats
    assert (await m.learning_events(after=every.last)).last == every.last


async def test_the_report_counts_a_span_and_compares_it_with_the_one_before(m: AsyncMemOS) -> None:
    for p in PACKAGES[:2]:
        await install(m, *p)
    await install(m, *PACKAGES[2], score=-1.0)
    report = await m.learning_report()
    assert (report.episodes, report.closed) == (3, 3)
    assert report.success_rate == pytest.approx(2 / 3)
    assert report.steps_per_episode == 3.0 and report.success_rate_before is None
    assert report.counts["policy.induced"] >= 1 and any(mem.kind is Kind.POLICY for mem in report.learned)
    later = datetime.now(UTC) + timedelta(minutes=5)
    nothing = await m.learning_report(since=later, until=later + timedelta(days=1))
    assert nothing.episodes == 0 and nothing.success_rate is None
    assert nothing.success_rate_before == pytest.approx(2 / 3)
    with pytest.raises(InvalidInput, match="not before"):
        await m.learning_report(since="2026-02-01", until="2026-01-01")


async def test_pages_of_episodes_and_bad_cursors(m: AsyncMemOS) -> None:
    ids = [await install(m, *p) for p in PACKAGES]
    first = await m.episodes(limit=3)
    second = await m.episodes(limit=3, cursor=first.cursor)
    assert [e.id for e in (*first.items, *second.items)] == ids[::-1] and second.cursor is None
    for cursor in ("x", "-1", "9" * 40, ""):
        with pytest.raises(InvalidInput, match="cursor"):
            await m.episodes(cursor=cursor)
    detail = await m.episode(ids[0])
    assert [s.role for s in detail.steps] == ["user", "tool", "tool", "tool", "assistant"]
    assert detail.episode.outcome == "success" and detail.signals[0].source == "verifier"
    assert all(s.value is not None and -1 <= s.value <= 1 for s in detail.steps)


async def test_learning_twice_tells_nothing_new(m: AsyncMemOS) -> None:
    for p in PACKAGES[:2]:
        await install(m, *p)
    before = (await m.learning_events()).last
    again = await m.evolve(now=True)
    assert (again.learned, again.events, (await m.learning_events()).last) == (0, {}, before)
