"""Trials: what came of what was handed out follows from the episode's reward, and from whether it was done at all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from evolution_script import Did, Script, moment, play

from memos.evolution.learn import CaseBuilder
from memos.evolution.value.trials import outcome_of, resolve, taken
from memos.memory.episode import Signal
from memos.memory.ids import new_id
from memos.memory.learned import Action, Form, PolicyBody, SkillBody, Trial
from memos.memory.model import Kind, Memory
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube
from memos.text.document import term_row

FIX = (Action("shell", "apt-get install -y {library}"), Action("shell", "pip install {package}"))
WARNING = PolicyBody(form=Form.AVOID, procedure=(Action("shell", "cp {file} /opt/vendor/{file}"),))
DID = [Did("pip install lxml", False, "no"), Did("apt-get install -y libxml2-dev"), Did("ls"), Did("pip install lxml")]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteCube]:
    cube = SqliteCube.open(tmp_path / "trials.db")
    yield cube
    await cube.close()


async def tried(
    store: SqliteCube,
    script: Script,
    body: PolicyBody | SkillBody,
    *,
    after: int = 0,
    again: float | None = None,
) -> Trial:
    """What became of a trial in an episode (`again`: of which the user says something else later)."""

    def act(tx: Any) -> str:
        kind = Kind.SKILL if isinstance(body, SkillBody) else Kind.POLICY
        memory = Memory(new_id(), kind, "learned", body=body.to_body())
        tx.put_new(memory, terms=term_row(memory))
        id = play(tx, script, 0)
        lived.hand_out(tx, memory.id, id, moment(0.5), after=after)
        builder = CaseBuilder(tx.db)
        assert resolve(tx, builder.case(id)) == {memory.id}  # type: ignore[arg-type]
        if again is not None:
            signal = lived.signals(tx.db, id)[0]
            lived.add_signal(tx, id, Signal(signal.source, signal.what, again, signal.at), "score")
            resolve(tx, builder.case(id))  # type: ignore[arg-type]
        return memory.id

    id = await store.write(act)
    (trial,) = await store.lived(lived.trials, memory=id)
    return trial


@pytest.mark.parametrize(
    "body",
    [
        PolicyBody(form=Form.PATH, procedure=FIX),
        PolicyBody(form=Form.FIX, procedure=FIX, avoid="shell: make"),  # another call instead
        SkillBody(procedure=FIX),
    ],
)
async def test_what_was_followed_passes_and_fails_with_its_episode(store: SqliteCube, body: PolicyBody) -> None:
    won = await tried(store, Script("install lxml", DID, score=1.0), body)
    assert (won.outcome, won.followed) == ("pass", True)
    assert won.reward is not None and won.reward > 0.5
    lost = await tried(store, Script("install lxml", DID, score=-1.0), body)
    assert (lost.outcome, lost.followed) == ("fail", True)


async def test_what_was_not_done_does_not_count(store: SqliteCube) -> None:
    other = Script("install lxml", [Did("conda install lxml")], score=1.0)
    trial = await tried(store, other, PolicyBody(form=Form.FIX, procedure=FIX))
    assert (trial.outcome, trial.followed) == ("unknown", False)


async def test_what_was_done_before_it_was_handed_out_does_not_count(store: SqliteCube) -> None:
    trial = await tried(store, Script("install lxml", DID, score=1.0), SkillBody(procedure=FIX), after=5)
    assert trial.followed is False


async def test_a_fix_after_which_the_call_works_passed_or_says_nothing_however_the_task_ended(
    store: SqliteCube,
) -> None:
    body = PolicyBody(form=Form.FIX, procedure=FIX)
    outcomes = [(await tried(store, Script("install lxml", DID, score=s), body)).outcome for s in (1.0, 0.1, -1.0)]
    assert outcomes == ["pass", "pass", "unknown"]


async def test_what_fails_when_it_is_followed_failed_however_the_task_ended(store: SqliteCube) -> None:
    did = [*DID[:2], Did("pip install lxml", False, "still no"), Did("conda install lxml")]
    trial = await tried(store, Script("install lxml", did, score=1.0), PolicyBody(form=Form.FIX, procedure=FIX))
    assert (trial.outcome, trial.followed) == ("fail", True)


PARTS = tuple(Action("shell", f"{verb} {{x}}") for verb in ("stop", "dump", "copy", "check", "start"))


@pytest.mark.parametrize(
    ("verbs", "followed"),
    [
        ("stop dump copy check start", True),
        ("stop dump copy start", False),  # without what comes before the last, which decides too
        ("stop copy check start", True),
        ("stop dump copy check", False),
        ("stop dump start", False),
        ("stop dump copy", False),
    ],
)
async def test_a_procedure_that_was_carried_out_in_part_says_nothing(
    store: SqliteCube, verbs: str, followed: bool
) -> None:
    did = [Did(f"{verb} db") for verb in verbs.split()]
    trial = await tried(store, Script("move db", did, score=1.0), PolicyBody(form=Form.PATH, procedure=PARTS))
    assert (trial.outcome, trial.followed) == ("pass" if followed else "unknown", followed)


async def test_of_two_actions_both_must_be_taken(store: SqliteCube) -> None:
    trial = await tried(store, Script("move", [Did("stop a")], score=1.0), SkillBody(procedure=PARTS[:2]))
    assert (trial.outcome, trial.followed) == ("unknown", False)


async def test_what_was_broken_off_because_a_call_of_it_failed_has_failed(store: SqliteCube) -> None:
    did = [Did("stop db"), Did("dump db"), Did("copy db", False, "disk is full"), Did("other db")]
    trial = await tried(store, Script("move db", did, score=1.0), PolicyBody(form=Form.PATH, procedure=PARTS))
    assert (trial.outcome, trial.followed) == ("fail", True)


async def test_an_outcome_that_is_not_clear_is_unknown(store: SqliteCube) -> None:
    body = PolicyBody(form=Form.PATH, procedure=FIX)
    assert (await tried(store, Script("install lxml", DID, score=0.1), body)).outcome == "unknown"
    assert (await tried(store, Script("hello", [], score=None), body)).outcome == "unknown"


async def test_what_names_no_actions_counts_by_the_outcome_alone(store: SqliteCube) -> None:
    trial = await tried(store, Script("do it", [Did("ls")], score=1.0), SkillBody(guide="Be careful."))
    assert (trial.outcome, trial.followed) == ("pass", None)


async def test_how_somebody_wants_things_is_not_judged_by_how_tasks_go(store: SqliteCube) -> None:
    body = PolicyBody(form=Form.DIRECTIVE, prefer="answer in Chinese")
    assert (await tried(store, Script("do it", [Did("ls")], score=-1.0), body)).outcome == "unknown"


@pytest.mark.parametrize(("ok", "outcome"), [(False, "pass"), (True, "fail")])
async def test_a_warning_is_judged_by_what_happens_when_it_is_disregarded(
    store: SqliteCube, ok: bool, outcome: str
) -> None:
    did = [Did("cp a.conf /opt/vendor/a.conf", ok, "Read-only file system"), Did("cp a.conf /srv/a.conf")]
    trial = await tried(store, Script("put it there", did, score=1.0), WARNING)
    assert (trial.outcome, trial.followed) == (outcome, False)


async def test_that_a_warning_was_heeded_says_nothing(store: SqliteCube) -> None:
    heeded = await tried(store, Script("put it there", [Did("cp a.conf /srv/a.conf")], score=1.0), WARNING)
    assert (heeded.outcome, heeded.followed) == ("unknown", None)


async def test_another_word_on_the_episode_turns_its_trials(store: SqliteCube) -> None:
    body = PolicyBody(form=Form.PATH, procedure=FIX)
    trial = await tried(store, Script("install lxml", DID, score=1.0), body, again=-1.0)
    assert trial.outcome == "fail"


def test_the_bounds_of_success_and_failure() -> None:
    assert [outcome_of(r, True) for r in (0.5, 0.49, -0.49, -0.5)] == ["pass", "unknown", "unknown", "fail"]
    assert outcome_of(1.0, False) == outcome_of(None, True) == "unknown"
    assert outcome_of(-1.0, None) == "fail"


async def test_actions_are_counted_in_order(store: SqliteCube) -> None:
    id = await store.write(lambda tx: play(tx, Script("install lxml", DID), 0))  # type: ignore[arg-type]
    steps = await store.lived(lived.steps, id)
    assert taken(FIX, steps) == 2
    assert taken(FIX[::-1], steps) == 2  # it was tried before and after
    assert taken(FIX[::-1], steps[2:]) == 1
    assert taken(FIX, []) == 0


@pytest.mark.parametrize(
    ("did", "outcome"),
    [
        ([Did("cache prune"), Did("image build web")], "fail"),
        ([Did("cache prune"), Did("backup run web")], "unknown"),  # not what it was said for
        ([Did("image build web")], "unknown"),
    ],
)
async def test_an_order_for_a_certain_call_is_judged_only_where_that_was_made(
    store: SqliteCube, did: list[Did], outcome: str
) -> None:
    body = PolicyBody(form=Form.DIRECTIVE, prefer="run `cache prune`", trigger="before `image build`")
    assert (await tried(store, Script("do it", did, score=-1.0), body)).outcome == outcome
