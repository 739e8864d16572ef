"""Hints after repeated failures: when one is made, what it draws from, and what is made of what happens next. On a real cube file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from evolution_script import Did, Script, moment, play

from memos.evolution import repair
from memos.evolution.learn import CaseBuilder, learn_episode
from memos.memory.ids import new_id
from memos.memory.learned import Action, Form, Hint, Parameter, PolicyBody, State
from memos.memory.model import Kind, Memory
from memos.storage.ports import Change
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube

ERROR = "Error: pg_config executable not found."
GOAL = "install psycopg2"
PIP, APT = "pip install psycopg2", "apt install libpq-dev"
FIX = PolicyBody(
    form=Form.FIX,
    state=State.ACTIVE,
    error="Error: {tool} executable not found.",
    tool="shell",
    procedure=(Action("shell", "apt install libpq-dev"), Action("shell", "pip install {package}")),
    parameters=(Parameter("tool", "error", ("pg_config",)), Parameter("package", "input", ("x",))),
)


class Cube:
    """A cube file in which an agent works, one change after another."""

    def __init__(self, path: Path) -> None:
        self.store = SqliteCube.open(path)

    def change(self, fn: Any) -> Any:
        return self.store.write_soon(fn, Change()).result()

    def read(self, fn: Any) -> Any:
        return self.store.read_now(fn)

    def begin(self, goal: str = GOAL, session: str = "s", n: int = 0) -> str:
        return str(
            self.change(lambda tx: play(tx, Script(goal, reply=None), n, close=False, feedback=False, session=session))
        )

    def step(self, episode: str, input: str = PIP, *, ok: bool | None = False, said: str = ERROR) -> Hint | None:
        """One call, as it is reported; returns the hint that is made of it."""
        from evolution_script import _call

        def store(tx: Any) -> Hint | None:
            _call(tx, episode, Did(input, ok, said if ok is False else ""), tx.now, "u")
            return repair.after_step(tx, lived.last_step(tx.db, episode))

        hint: Hint | None = self.change(store)
        return hint

    def fail(self, episode: str, times: int = 3) -> Hint | None:
        return [self.step(episode) for _ in range(times)][-1]

    def learn(self, body: PolicyBody) -> str:
        made = Memory(new_id(), Kind.POLICY, "x", body=body.to_body())
        self.change(lambda tx: tx.put(made))
        return made.id

    def deliver(self, hint: Hint) -> bool:
        return bool(self.change(lambda tx: repair.delivered(tx, hint.id)))

    def now(self, hint: Hint) -> Hint:
        found = self.read(lambda db: repair.find(db, hint.id))
        assert isinstance(found, Hint)
        return found

    def events(self) -> list[str]:
        return [e.what for e in self.read(lived.events) if e.what.startswith("hint.")]


@pytest.fixture
def cube(tmp_path: Path) -> Iterator[Cube]:
    made = Cube(tmp_path / "c.cube")
    yield made
    made.store.close_now()


# -- when ------------------------------------------------------------------------------------------------------------


def test_three_failures_in_a_row_make_one_hint(cube: Cube) -> None:
    episode = cube.begin()
    assert [cube.step(episode) is not None for _ in range(5)] == [False, False, True, False, False]
    assert cube.events() == ["hint.made"]


def test_a_success_between_makes_none(cube: Cube) -> None:
    episode = cube.begin()
    cube.fail(episode, 2)
    cube.step(episode, ok=True)
    assert cube.fail(episode, 2) is None


def test_other_calls_between_do_not_matter_and_other_contexts_do_not_count(cube: Cube) -> None:
    episode = cube.begin()
    for n in range(2):
        cube.step(episode)
        cube.step(episode, f"ls dir{n}", ok=True)
        assert cube.step(episode, f"pip install other{n}") is None
    assert cube.step(episode) is not None


def test_failures_of_another_session_do_not_count(cube: Cube) -> None:
    cube.fail(cube.begin(session="a"), 2)
    assert cube.step(cube.begin(session="b", n=1)) is None


def test_after_a_while_there_may_be_another(cube: Cube) -> None:
    episode = cube.begin()
    hint = cube.fail(episode)
    assert hint is not None
    early = (hint.made_at - repair.COOLDOWN - timedelta(seconds=1)).timestamp() * 1e6
    cube.change(lambda tx: tx.db.execute("UPDATE hints SET made_at=?", (int(early),)))
    assert cube.step(episode) is not None


# -- what it draws from ----------------------------------------------------------------------------------------------


def test_a_policy_that_knows_the_error_is_preferred_and_filled_in(cube: Cube) -> None:
    policy = cube.learn(FIX)
    hint = cube.fail(cube.begin())
    assert hint is not None and hint.policy == policy
    assert hint.prefer == f"`shell`: `{APT}`; then `shell`: `{PIP}`"
    assert hint.avoid == f"`shell`: `{PIP}`"


def test_a_policy_that_says_what_failed_is_no_advice(cube: Cube) -> None:
    import dataclasses

    cube.learn(dataclasses.replace(FIX, procedure=(Action("shell", "pip install {package}"),)))
    hint = cube.fail(cube.begin())
    assert hint is not None and hint.policy is None and hint.prefer == ""


def test_what_was_done_in_vain_is_not_advised_but_what_may_pass_is(cube: Cube) -> None:
    policy = cube.learn(FIX)
    vain, passing = cube.begin(session="a"), cube.begin(session="b", n=1)
    cube.step(vain, APT, said="E: Unable to locate package libpq-dev")
    cube.step(passing, APT, said="connection reset by peer")
    first, second = cube.fail(vain), cube.fail(passing)
    assert first is not None and first.policy is None
    assert second is not None and second.policy == policy


def test_a_retired_policy_is_no_advice(cube: Cube) -> None:
    import dataclasses

    cube.learn(dataclasses.replace(FIX, state=State.RETIRED))
    hint = cube.fail(cube.begin())
    assert hint is not None and hint.policy is None


def test_what_worked_before_for_the_same_thing_is_preferred(cube: Cube) -> None:
    cube.change(lambda tx: play(tx, Script(GOAL, [Did(f"{PIP} --no-binary", True)]), 0, session="old"))
    hint = cube.fail(cube.begin(n=1))
    assert hint is not None and hint.prefer == f"`shell`: `{PIP} --no-binary`"


def test_what_resolved_the_same_failure_elsewhere_is_preferred_where_it_names_nothing_of_that(cube: Cube) -> None:
    did = [Did("pip install psycopg3", False, ERROR), Did("apt update", True), Did("pip install psycopg3", True)]
    cube.change(lambda tx: play(tx, Script("install psycopg3", did), 0, session="old"))
    hint = cube.fail(cube.begin(n=1))
    assert hint is not None and hint.prefer == "`shell`: `apt update`"


def test_what_resolved_it_elsewhere_for_something_else_is_not_advised(cube: Cube) -> None:
    did = [Did("pip install lxml", False, ERROR), Did("brew link lxml", True), Did("pip install lxml", True)]
    cube.change(lambda tx: play(tx, Script("install lxml", did), 0, session="old"))
    hint = cube.fail(cube.begin(n=1))
    assert hint is not None and hint.prefer == ""


AVOID = PolicyBody(
    form=Form.AVOID,
    state=State.ACTIVE,
    tool="shell",
    procedure=(Action("shell", "docker build {app}"),),
    parameters=(Parameter("app", "goal", ("shop", "blog")),),
    avoid="shell: docker build {app}",
    prefer="shell: podman build {app}",
)


def test_what_is_to_be_avoided_says_what_worked_instead(cube: Cube) -> None:
    policy = cube.learn(AVOID)
    episode = cube.begin("build till")
    hint = [cube.step(episode, "docker build till", said="daemon not allowed") for _ in range(3)][-1]
    assert hint is not None and hint.policy == policy
    assert hint.prefer == "`shell`: `podman build till`" and hint.avoid == "`shell`: `docker build till`"
    cube.deliver(hint)
    cube.step(episode, "podman build till", ok=True)
    assert cube.now(hint).validated is True


def test_what_is_to_be_avoided_says_nothing_more_where_nothing_worked_or_it_cannot_be_filled_in(cube: Cube) -> None:
    import dataclasses

    cube.learn(dataclasses.replace(AVOID, prefer=""))
    cube.learn(dataclasses.replace(AVOID, prefer="shell: podman build {app} --tag {tag}"))
    cube.learn(dataclasses.replace(AVOID, state=State.CANDIDATE))
    episode = cube.begin("build till")
    hint = [cube.step(episode, "docker build till", said="daemon not allowed") for _ in range(3)][-1]
    assert hint is not None and (hint.policy, hint.prefer) == (None, "")


def test_a_hint_keeps_no_words(cube: Cube) -> None:
    cube.learn(FIX)
    cube.fail(cube.begin())
    [row] = cube.read(lambda db: db.execute("SELECT * FROM hints").fetchall())
    assert [v for v in row if isinstance(v, str)] == ["s", "shell"]


def test_a_deletion_takes_the_hints_along(cube: Cube) -> None:
    hint = cube.fail(cube.begin())
    assert hint is not None
    failed = cube.read(lambda db: lived.hint(db, hint.id)).avoid
    cube.change(lambda tx: tx.purge([failed]))
    assert cube.read(lambda db: repair.find(db, hint.id)) is None


# -- what comes of it ------------------------------------------------------------------------------------------------


def delivered_hint(cube: Cube, *, policy: bool = True) -> tuple[str, Hint]:
    if policy:
        cube.learn(FIX)
    episode = cube.begin()
    hint = cube.fail(episode)
    assert hint is not None and cube.deliver(hint)
    return episode, hint


def test_it_is_delivered_once_and_what_it_draws_from_is_tried(cube: Cube) -> None:
    episode, hint = delivered_hint(cube)
    assert not cube.deliver(hint)
    assert cube.events() == ["hint.made", "hint.delivered"]
    assert [t.memory for t in cube.read(lambda db: lived.trials(db, episode=episode))] == [hint.policy]


def test_the_call_that_failed_works_then_it_was_good(cube: Cube) -> None:
    episode, hint = delivered_hint(cube)
    cube.step(episode, APT, ok=True)
    assert cube.now(hint).validated is None
    cube.step(episode, PIP, ok=True)
    assert cube.now(hint).validated is True
    assert cube.events()[-1] == "hint.validated"


def test_the_call_fails_again_then_it_was_not(cube: Cube) -> None:
    episode, hint = delivered_hint(cube)
    cube.step(episode)
    assert cube.now(hint).validated is False


def test_what_nobody_was_told_of_is_not_judged(cube: Cube) -> None:
    episode = cube.begin()
    hint = cube.fail(episode)
    assert hint is not None
    cube.step(episode)
    assert cube.now(hint).validated is None


@pytest.mark.parametrize(("score", "good"), [(0.9, True), (-0.9, False), (0.0, None)])
def test_without_a_later_step_the_outcome_tells_and_tells_again_when_it_changes(
    cube: Cube, score: float, good: bool | None
) -> None:
    episode, hint = delivered_hint(cube)
    _end(cube, episode, 0.9 if good is None else -score)
    _end(cube, episode, score)
    first = cube.now(hint).validated
    _end(cube, episode, score)
    assert cube.now(hint).validated is first is good


def test_a_step_that_told_stands_against_the_outcome(cube: Cube) -> None:
    episode, hint = delivered_hint(cube)
    cube.step(episode)
    _end(cube, episode, 0.9)
    assert cube.now(hint).validated is False


def test_a_policy_whose_hint_failed_again_fails_its_trial_though_the_task_went_well(cube: Cube) -> None:
    episode, hint = delivered_hint(cube)
    cube.step(episode, APT, ok=True)
    cube.step(episode, PIP)
    _end(cube, episode, 1.0)
    [trial] = cube.read(lambda db: lived.trials(db, episode=episode))
    assert (trial.memory, trial.outcome) == (hint.policy, "fail")


def test_a_policy_whose_hint_was_borne_out_passes(cube: Cube) -> None:
    episode, hint = delivered_hint(cube)
    cube.step(episode, APT, ok=True)
    cube.step(episode, PIP, ok=True)
    _end(cube, episode, 1.0)
    [trial] = cube.read(lambda db: lived.trials(db, episode=episode))
    assert (trial.memory, trial.outcome) == (hint.policy, "pass")


def _end(cube: Cube, episode: str, score: float) -> None:
    """Close an episode, say how it went, and learn from it."""
    from memos.memory.episode import Signal, SignalSource

    def end(tx: Any) -> None:
        lived.close_episode(tx, episode, "ended", tx.now, tx.now)
        lived.add_signal(tx, episode, Signal(SignalSource.USER, "score", score, moment(0)), "score")
        learn_episode(tx, episode)

    cube.change(end)
    assert cube.read(lambda db: CaseBuilder(db).case(episode)) is not None
