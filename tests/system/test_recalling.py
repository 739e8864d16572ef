"""What an agent recalls, over real cubes: tiers by trigger, trials counted once, other cubes with a grant, hints handed over once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memos import MemOS
from memos.engine import Verb
from memos.errors import AccessDenied, InvalidInput, NotFound
from memos.memory.acting import Recalled, Tier, Trigger
from memos.memory.hit import SearchStatus
from memos.memory.ids import new_id
from memos.memory.learned import Action, Form, Hint, Parameter, PolicyBody, SkillBody, State, Trial, WorldBody
from memos.memory.model import Kind, Memory
from memos.recall.guidance import hint_line
from memos.recall.pack import CLOSE, OPEN, tokens
from memos.storage.sqlite import lived
from memos.system import AsyncMemOS

T0 = datetime(2026, 3, 1, tzinfo=UTC)
FIX = PolicyBody(
    form=Form.FIX,
    state=State.ACTIVE,
    trigger="`shell` fails because {lib}.h is missing",
    error="fatal error: {lib}.h: No such file or directory",
    goal="install {package}",
    tool="shell",
    procedure=(Action("shell", "apt install {lib}-dev"), Action("shell", "pip install {package}")),
    parameters=(Parameter("lib", "error", ("libxml",)), Parameter("package", "goal", ("lxml",))),
)
DIRECTIVE = PolicyBody(
    form=Form.DIRECTIVE, state=State.ACTIVE, prefer="use uv instead of pip", strength=0.9, author="user"
)
SKILL = SkillBody(
    name="restart-a-service",
    state=State.ACTIVE,
    description="Restart a service and see that it answers",
    procedure=(Action("shell", "systemctl restart {service}"), Action("shell", "curl localhost")),
    parameters=(Parameter("service", "goal", ("nginx",)),),
    pitfalls=("Do not restart the database by day",),
)
WORLD = WorldBody(section="constraint", environment="build-1", subject="apt", holds=3)
MISSING = "x.c:3:10: fatal error: libpq.h: No such file or directory"

Body = PolicyBody | SkillBody | WorldBody


def learn(memos: MemOS, *bodies: Body, text: str = "", user: str = "default", cube: str | None = None) -> list[str]:
    """Put what was learned straight into a cube."""
    kinds = {PolicyBody: Kind.POLICY, SkillBody: Kind.SKILL, WorldBody: Kind.WORLD_MODEL}
    made = [Memory(new_id(), kinds[type(b)], text or _text(b), body=b.to_body(), owner=user) for b in bodies]

    async def put(system: AsyncMemOS) -> None:
        async with system._cube(user, cube, "write") as (_, store):
            await store.write(lambda tx: [tx.put(m) for m in made])

    within(memos, put)
    return [m.id for m in made]


def within(memos: MemOS, fn: Any) -> Any:
    """Run something against the system underneath."""
    return Verb(fn)(memos)


def _text(body: Body) -> str:
    if isinstance(body, PolicyBody):
        return body.trigger or body.prefer or body.goal
    return body.description if isinstance(body, SkillBody) else "apt install needs apt update first"


def trials(memos: MemOS, *, user: str = "default", cube: str | None = None, **which: str) -> list[Trial]:
    async def read(system: AsyncMemOS) -> list[Trial]:
        async with system._cube(user, cube, "read") as (_, store):
            found: list[Trial] = await store.lived(lived.trials, **which)
            return found

    found: list[Trial] = within(memos, read)
    return found


def shown(recalled: Recalled, tier: Tier) -> list[str]:
    return [i.text for i in recalled.items if i.tier is tier]


def tiers(recalled: Recalled) -> list[Tier]:
    return list(dict.fromkeys(i.tier for i in recalled.items))


@pytest.fixture
def knowing(memos: MemOS) -> MemOS:
    """A system that has learned something of every kind, and was told something."""
    memos.add([{"role": "user", "content": "The registry of the team is called harbour-7."}])
    learn(memos, FIX, DIRECTIVE, SKILL, WORLD)
    return memos


def test_a_turn_gets_every_tier_that_has_something_to_say(knowing: MemOS) -> None:
    knowing.start_turn("install lxml", session="old")
    knowing.report_step(
        "shell", "pip install lxml", error="fatal error: libxml.h: No such file or directory", session="old"
    )
    knowing.report_step("shell", "apt install libxml-dev", ok=True, session="old")
    knowing.end_session("old")
    recalled = knowing.recall(
        "restart a service, then install lxml with apt from registry harbour-7", environment="build-1"
    )
    assert tiers(recalled) == [Tier.SKILL, Tier.GUIDANCE, Tier.EXPERIENCE, Tier.WORLD, Tier.FACT]
    assert recalled.status is SearchStatus.FOUND
    assert recalled.tokens == tokens(recalled.context)
    assert recalled.context.startswith(OPEN) and recalled.context.endswith(CLOSE)


def test_an_error_brings_up_its_fix_with_everything_filled_in(knowing: MemOS) -> None:
    recalled = knowing.recall("pip install psycopg2", trigger="repair", tool="shell", error=MISSING)
    [fix] = [t for t in shown(recalled, Tier.GUIDANCE) if "libpq" in t]
    assert "do `shell`: `apt install libpq-dev`; then `shell`: `pip install psycopg2`" in fix
    assert not shown(recalled, Tier.SKILL) and not shown(recalled, Tier.FACT)


def test_a_tool_gets_guidance_what_came_of_the_call_before_and_the_world(knowing: MemOS) -> None:
    knowing.start_turn("set up the host", session="old")
    knowing.report_step("shell", "apt install foo", error="E: Unable to locate package foo", session="old")
    knowing.end_session("old")
    recalled = knowing.recall("apt install foo", trigger="tool", tool="shell", environment="build-1")
    assert any(
        "`shell`: `apt install foo` failed: E: Unable to locate package foo" in t
        for t in shown(recalled, Tier.EXPERIENCE)
    )
    assert any("[constraint] apt install needs apt update first" in t for t in shown(recalled, Tier.WORLD))


def test_a_subagent_gets_skills_guidance_and_facts(knowing: MemOS) -> None:
    recalled = knowing.recall("restart a service of registry harbour-7", trigger=Trigger.SUBAGENT)
    assert set(tiers(recalled)) == {Tier.SKILL, Tier.GUIDANCE, Tier.FACT}


def test_a_skill_that_is_called_by_name_is_shown_whole(knowing: MemOS) -> None:
    [text] = shown(knowing.recall("restart-a-service", trigger="skill"), Tier.SKILL)
    assert "  1. `shell`: `systemctl restart {service}`\n  2. `shell`: `curl localhost`" in text
    assert "  - Do not restart the database by day" in text
    assert not shown(knowing.recall("no-such-skill", trigger="skill"), Tier.SKILL)


def test_tiers_can_be_chosen(knowing: MemOS) -> None:
    assert tiers(knowing.recall("install psycopg2", tiers=["guidance"])) == [Tier.GUIDANCE]
    assert tiers(knowing.recall("registry harbour-7", trigger="repair", tiers=["fact"])) == [Tier.FACT]
    assert tiers(knowing.recall("install psycopg2", trigger="skill", tiers=["guidance"])) == [Tier.GUIDANCE]


def test_a_novel_task_gets_no_skill_and_no_policy(knowing: MemOS) -> None:
    recalled = knowing.recall("write a poem about the sea")
    assert [i.memory for i in recalled.items if i.tier is Tier.SKILL] == []
    assert all("uv instead of pip" in t for t in shown(recalled, Tier.GUIDANCE))


def test_nothing_known_is_an_empty_block(memos: MemOS) -> None:
    recalled = memos.recall("install psycopg2")
    assert (recalled.context, recalled.items, recalled.tokens) == ("", (), 0)
    assert recalled.status is SearchStatus.NOTHING


@pytest.mark.parametrize("budget", [1, 60, 90, 150, 400])
def test_the_budget_is_hard(knowing: MemOS, budget: int) -> None:
    recalled = knowing.recall("restart a service, then install psycopg2", max_tokens=budget)
    assert tokens(recalled.context) <= budget
    assert bool(recalled.items) == bool(recalled.context)
    if budget == 1:
        assert "max_tokens=1" in " ".join(recalled.reasons)


def test_the_same_question_and_memory_give_the_same_bytes(knowing: MemOS, home: Path) -> None:
    asked = "restart a service, then install psycopg2"
    knowing.start_turn(asked, session="s")
    first = knowing.recall(asked, session="s").context
    assert knowing.recall(asked, session="s").context == first
    knowing.close()
    with MemOS(home, embedder="none", background=False) as again:
        assert again.recall(asked, session="s").context == first


def test_a_skill_that_is_shown_whole_stands_for_the_policies_it_is_made_of(memos: MemOS) -> None:
    [fix] = learn(memos, FIX)
    skill = SkillBody(
        name="native",
        state=State.ACTIVE,
        description="Install what needs a library",
        procedure=FIX.procedure,
        policies=(fix,),
    )
    [id] = learn(memos, skill)
    assert [i.memory for i in memos.recall("install psycopg2").items] == [id]
    assert [i.memory for i in memos.recall("install psycopg2", tiers=["guidance"]).items] == [fix]


def test_a_skill_that_does_not_fit_whole_leaves_its_policies_where_they_are(memos: MemOS) -> None:
    [fix] = learn(memos, FIX)
    long = SkillBody(
        name="native", state=State.ACTIVE, description="Install", policies=(fix,), pitfalls=("x" * 200,) * 4
    )
    learn(memos, long)
    assert fix in [i.memory for i in memos.recall("install psycopg2", max_tokens=220).items]
    assert fix not in [i.memory for i in memos.recall("install psycopg2", max_tokens=2_000).items]


def test_retired_advice_is_never_shown(memos: MemOS) -> None:
    import dataclasses

    learn(memos, dataclasses.replace(FIX, state=State.RETIRED))
    assert memos.recall("install psycopg2").items == ()


def test_what_changed_since_the_last_recall_is_shown_as_it_is_now(memos: MemOS) -> None:
    import dataclasses

    [id] = learn(memos, FIX)
    assert len(memos.recall("install psycopg2").items) == 1
    memos.delete([id], hard=True)
    assert memos.recall("install psycopg2").items == ()
    learn(memos, dataclasses.replace(FIX, procedure=(Action("shell", "conda install {package}"),)))
    assert "conda install psycopg2" in memos.recall("install psycopg2").context


def test_advice_on_trial_says_so(memos: MemOS) -> None:
    import dataclasses

    learn(memos, dataclasses.replace(FIX, state=State.CANDIDATE))
    assert "on trial" in memos.recall("install psycopg2").context


# -- trials ----------------------------------------------------------------------------------------------------------


def test_what_is_handed_out_in_an_open_episode_is_a_trial_once(memos: MemOS) -> None:
    fix, directive = learn(memos, FIX, DIRECTIVE)
    turn = memos.start_turn("install psycopg2", session="s")
    memos.recall("install psycopg2", session="s")
    found = trials(memos, episode=turn.episode)
    assert {t.memory for t in found} == {fix, directive}
    assert all(t.outcome == "pending" for t in found)


def test_without_an_open_episode_there_is_no_trial(memos: MemOS) -> None:
    [fix] = learn(memos, FIX)
    memos.recall("install psycopg2", session="s")
    turn = memos.start_turn("install psycopg2", session="s", recall=False)
    memos.end_session("s")
    memos.recall("install psycopg2", session="s")
    assert trials(memos, memory=fix) == [] and trials(memos, episode=turn.episode) == []


def test_what_did_not_fit_is_no_trial(memos: MemOS) -> None:
    [fix] = learn(memos, FIX)
    memos.start_turn("install psycopg2", session="s", max_tokens=60)
    assert trials(memos, memory=fix) == []


# -- other cubes -----------------------------------------------------------------------------------------------------


@pytest.fixture
def shared(memos: MemOS) -> MemOS:
    """A team's cube that knows the fix; bea may read it, eve may not."""
    memos.create_cube("team", user="ann")
    learn(memos, FIX, user="ann", cube="team")
    memos.share("team", "bea", "read", user="ann")
    return memos


def test_what_a_team_learned_is_used_by_who_may_read_it_and_tried_there(shared: MemOS) -> None:
    turn = shared.start_turn("install psycopg2", session="s", user="bea", also=["team"])
    [item] = [i for i in turn.recalled.items if i.tier is Tier.GUIDANCE]
    assert (item.cube, item.trial) == ("team", True)
    [trial] = trials(shared, user="bea", episode=turn.episode)
    assert trial.memory == item.memory

    async def carried(system: AsyncMemOS) -> str:
        async with system._cube("bea", None, "read") as (_, store):
            return str(await store.read_lived(lambda db: db.execute("SELECT home FROM trials").get))

    assert within(shared, carried) == f"team/{item.memory}"


def test_without_a_grant_another_cube_is_refused(shared: MemOS) -> None:
    with pytest.raises((NotFound, AccessDenied)):
        shared.recall("install psycopg2", user="eve", also=["team"])


def test_who_may_only_read_a_cube_tries_nothing_in_the_task_of_another(shared: MemOS) -> None:
    turn = shared.start_turn("install psycopg2", session="s", user="ann", cube="team", recall=False)
    fail(shared, 3, user="ann", cube="team", max_tokens=0)
    recalled = shared.recall("install psycopg2", session="s", user="bea", cube="team")
    assert "apt install" in recalled.context and all(i.hint is None for i in recalled.items)
    assert trials(shared, user="ann", cube="team", episode=turn.episode) == []


def test_what_somebody_else_wants_is_not_told(shared: MemOS) -> None:
    learn(shared, DIRECTIVE, user="ann", cube="team")
    assert "uv" in shared.recall("install psycopg2", user="ann", cube="team").context
    assert "uv" not in shared.recall("install psycopg2", user="bea", also=["team"]).context


def test_a_cube_that_cannot_be_read_leaves_the_rest_and_a_reason(shared: MemOS, home: Path) -> None:
    learn(shared, FIX, user="bea")

    async def where(system: AsyncMemOS) -> Path:
        async with system._cube("ann", "team", "read") as (_, store):
            return store.path

    file = within(shared, where)
    shared.close()
    file.write_bytes(b"not a cube" * 1_000)
    for beside in home.rglob(f"{file.name}-*"):
        beside.unlink()
    with MemOS(home, embedder="none", background=False) as again:
        recalled = again.recall("install psycopg2", user="bea", also=["team"])
    assert recalled.status is SearchStatus.PARTIAL
    assert "team" in " ".join(recalled.reasons)
    assert "apt install" in recalled.context


# -- past tasks ------------------------------------------------------------------------------------------------------


def test_the_task_that_is_going_on_is_no_past_task(memos: MemOS) -> None:
    memos.start_turn("install psycopg2 on the build host", session="s", recall=False)
    memos.report_step("shell", "pip install psycopg2", ok=True, session="s")
    assert shown(memos.recall("install psycopg2 on the build host", session="s"), Tier.EXPERIENCE) == []
    memos.end_session("s")
    [past] = shown(memos.recall("install psycopg2 on the build host", session="s"), Tier.EXPERIENCE)
    assert (
        "“install psycopg2 on the build host”: outcome unknown, 1 step: `shell`: `pip install psycopg2` worked." in past
    )


# -- hints -----------------------------------------------------------------------------------------------------------


def fail(memos: MemOS, times: int, **where: Any) -> Any:
    out = None
    for _ in range(times):
        out = memos.report_step("shell", "pip install psycopg2", error=MISSING, session="s", **where)
    return out


def events(memos: MemOS) -> Sequence[str]:
    return [e.what for e in memos.learning_events().items if e.what.startswith("hint.")]


def test_a_hint_comes_with_the_answer_to_the_third_failure(memos: MemOS) -> None:
    [fix] = learn(memos, FIX)
    memos.start_turn("install psycopg2", session="s", recall=False)
    assert fail(memos, 2).hint is None
    told = fail(memos, 1)
    assert told.hint.policy == fix
    assert told.hint.prefer == "`shell`: `apt install libpq-dev`; then `shell`: `pip install psycopg2`"
    assert told.hint.avoid == "`shell`: `pip install psycopg2`"
    assert "After 3 failures of shell in a row: do `shell`: `apt install libpq-dev`" in told.context
    assert events(memos) == ["hint.made", "hint.delivered"]
    assert [t.memory for t in trials(memos, memory=fix)] == [fix]


def test_a_hint_that_was_not_delivered_comes_with_the_next_recall_and_only_with_that(memos: MemOS) -> None:
    memos.start_turn("install psycopg2", session="s", recall=False)
    steps = [{"tool": "shell", "input": "pip install psycopg2", "error": MISSING}] * 3
    ended = memos.end_turn("I could not do it.", steps=steps, session="s")
    assert ended.hint is not None
    first = memos.start_turn("try again", session="s", task="same").recalled
    assert [i.hint for i in first.items] == [ended.hint.id]
    assert memos.recall("try again", session="s").items == ()
    assert memos.recall("try again", session="other").items == ()
    assert events(memos) == ["hint.made", "hint.delivered"]


def test_a_hint_is_borne_out_by_what_happens_next(memos: MemOS) -> None:
    learn(memos, FIX)
    memos.start_turn("install psycopg2", session="s", recall=False)
    fail(memos, 3)
    memos.report_step("shell", "apt install libpq-dev", ok=True, session="s")
    assert "hint.validated" not in events(memos)
    memos.report_step("shell", "pip install psycopg2", ok=True, session="s")
    assert events(memos)[-1] == "hint.validated"
    assert memos.learning_events().items[-1].numbers["good"] == 1


def test_a_hint_that_did_not_help_is_disproved(memos: MemOS) -> None:
    learn(memos, FIX)
    memos.start_turn("install psycopg2", session="s", recall=False)
    fail(memos, 4)
    assert memos.learning_events().items[-1].numbers["good"] == 0
    assert events(memos).count("hint.made") == 1  # another one has to wait


def test_a_step_that_is_reported_again_gets_its_hint_again(memos: MemOS) -> None:
    memos.start_turn("install psycopg2", session="s", recall=False)
    told = [
        memos.report_step("shell", "pip install psycopg2", error=MISSING, session="s", call_id=str(min(n, 2)))
        for n in range(4)
    ]
    assert told[2].hint is not None and told[3].repeated
    assert told[3].hint.id == told[2].hint.id and told[3].context == told[2].context
    assert events(memos).count("hint.made") == 1


# -- what is not accepted --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"query": " "},
        {"query": 3},
        {"trigger": "sometimes"},
        {"tiers": ["everything"]},
        {"tiers": []},
        {"max_tokens": 0},
        {"session": ""},
        {"tool": 3},
    ],
)
def test_what_cannot_be_asked_is_refused(memos: MemOS, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        memos.recall(**{"query": "install psycopg2", **wrong})


def test_many_recalls_at_once_agree(home: Path) -> None:
    async def run() -> set[str]:
        async with AsyncMemOS(home, embedder="none", background=False) as system:
            async with system._cube("default", None, "write") as (_, store):
                made = Memory(new_id(), Kind.POLICY, "x", body=FIX.to_body())
                await store.write(lambda tx: tx.put(made))
            asked = (system.recall("install psycopg2", session=f"s{n}") for n in range(20))
            return {r.context for r in await asyncio.gather(*asked)}

    assert len(asyncio.run(run())) == 1


def test_what_a_person_wrote_in_place_of_a_policy_is_what_the_agent_is_told(memos: MemOS) -> None:
    fix, statement = learn(memos, FIX, text="x")[0], learn(memos, WORLD, text="apt install needs apt update first")[0]
    memos.update(fix, text="When a header is missing, ask the platform team; do not install anything.")
    memos.update(statement, text="apt is locked here")
    told = memos.recall("install psycopg2", environment="build-1")
    assert "- When a header is missing, ask the platform team; do not install anything. (" in told.context
    assert "apt install" not in told.context
    told = memos.recall("how does apt behave", environment="build-1")
    assert "apt is locked here (in build-1, written by a person)" in told.context
    assert memos.policy(fix).body.edited and memos.world_statement(statement).body.edited


def test_a_directive_is_told_in_the_words_of_the_user_and_not_twice(memos: MemOS) -> None:
    memos.start_turn("Always use uv instead of pip for log files. Never delete log files.", session="s")
    memos.end_session("s")
    directives = memos.policies(forms=["directive"])
    assert len(directives) == 2 and memos.search("use uv instead of pip").hits[0].facts
    told = memos.recall("clean up the log files")
    assert "- The user said: “Always use uv instead of pip for log files.” (" in told.context
    assert "- The user said: “Never delete log files" in told.context
    assert told.context.count("instead of pip") == told.context.count("delete") == 1
    for directive in directives:
        memos.set_state(directive.id, "retired")
    assert "instead of pip" not in memos.recall("clean up the log files: uv or pip?").context


def test_what_was_said_of_another_task_is_no_fact_but_why_that_failed(memos: MemOS) -> None:
    memos.start_turn("rotate the logs of web1", session="s")
    memos.report_step("shell", "logrotate web1", ok=True, session="s")
    memos.end_turn("Done.", session="s")
    memos.report_outcome(-1.0, "That broke the logs of production <b>.", session="s")
    memos.end_session("s")
    memos.evolve(now=True)
    told = memos.recall("rotate the logs of web2")
    assert not any("production" in t for t in shown(told, Tier.FACT))
    past = shown(told, Tier.EXPERIENCE)
    assert any("The comment on it: “That broke the logs of production <b>”." in t for t in past)


def test_advice_is_said_once(memos: MemOS) -> None:
    (fix,) = learn(memos, FIX)
    told = replace(WORLD, environment="", policies=(fix,))
    learn(memos, told, text="pip install needs the headers of the library")
    about = "install psycopg2: pip install needs the headers"
    assert [i.tier for i in memos.recall("install psycopg2", error=MISSING, tool="shell").items] == [Tier.GUIDANCE]
    assert shown(memos.recall(about, tiers=["world"]), Tier.WORLD)


def test_calls_are_data_too(memos: MemOS) -> None:
    learn(memos, FIX)
    told = memos.recall("pip install psycopg2", trigger="repair", tool="shell", error=MISSING)
    assert told.items[0].calls[0] == Action("shell", "apt install libpq-dev")


def test_a_hint_whose_last_step_is_the_call_that_failed_does_not_forbid_it() -> None:
    hint = Hint(1, "s", "e", "shell", 3, "`shell`: `df`; then `shell`: `pg_dump`", "`shell`: `pg_dump`", T0)
    assert "; do not repeat `shell`: `pg_dump` before that." in hint_line(hint)


def test_questions_that_were_asked_before_do_not_hide_the_fact_that_answers_them(memos: MemOS) -> None:
    for n, said in enumerate(("My boat is called Wren.", "What is my boat called?", "What was my boat's name again?")):
        turn = memos.start_turn(said, session=f"s{n}")
        assert n == 0 or any("Wren" in t for t in shown(turn.recalled, Tier.FACT)), said
        memos.end_turn("All right.", session=f"s{n}")
        memos.flush()


def test_thanks_bring_up_no_past_tasks_and_neither_does_a_task_that_only_shares_a_step(memos: MemOS) -> None:
    for n, goal in enumerate(("Fix the rounding of the invoice total", "Add a due date to the invoice model")):
        memos.start_turn(goal, session=f"s{n}", environment="billing")
        memos.report_step("shell", "uv run pytest -q", "41 passed", ok=True, session=f"s{n}")
        memos.end_turn("Done.", session=f"s{n}")
        memos.end_session(f"s{n}")
    memos.start_turn("Round the tax of the invoice too", session="now", environment="billing", recall=False)
    for said in ("thanks, that works", "run the unit tests"):
        assert shown(memos.recall(said, session="new"), Tier.EXPERIENCE) == []
    assert shown(memos.recall("round the invoice total up", session="new"), Tier.EXPERIENCE)


def test_a_directive_of_another_project_says_where_it_was_told(memos: MemOS) -> None:
    memos.start_turn("Never push to main.", session="a", environment="web", agent="coder")
    there = memos.start_turn("Fix the build", session="b", environment="web", agent="coder").recalled.context
    elsewhere = memos.start_turn("Fix the build", session="c", environment="billing", agent="coder").recalled.context
    assert "told in" not in there and "push to main" in there
    assert "push to main" in elsewhere and "told in web" in elsewhere
