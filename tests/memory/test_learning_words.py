"""How what was learned reads when it is printed, and whether a report says that it got better."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memos.memory.acting import LearningReport, Recalled, Stretch, Trigger, TurnStarted, WorldAnswer
from memos.memory.episode import Relation, RelationKind
from memos.memory.learned import Policy, PolicyBody, Record, Skill, SkillBody, State, WorldBody, WorldStatement
from memos.memory.model import Kind, Memory

A, B = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 8, tzinfo=UTC)


def third(rate: float | None, steps: float | None) -> Stretch:
    return Stretch(A, B, 3, rate, steps)


def report(**fields: object) -> LearningReport:
    return LearningReport(**({"cube": "team", "since": A, "until": B} | fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [
        (
            (0.5, 6.0),
            (1.0, 3.0),
            "it went better: its last 3 episodes succeeded in 100% (3.0 steps each), its first 3 succeeded in 50% (6.0",
        ),
        ((1.0, 3.0), (0.5, 3.0), "it went worse:"),
        ((1.0, 6.0), (1.0, 3.0), "it went better:"),
        ((1.0, 3.0), (1.0, 6.0), "it went worse:"),
        ((0.5, 3.0), (1.0, 6.0), "it went better, with more steps:"),
        ((1.0, 6.0), (0.5, 3.0), "it went worse, with fewer steps:"),
        ((1.0, 3.0), (0.98, 3.1), "it went as well as before:"),
        ((None, 3.0), (None, 3.0), "said nothing of their outcome (3.0 steps each)"),
    ],
)
def test_a_report_says_whether_it_got_better(
    first: tuple[float | None, float], last: tuple[float | None, float], said: str
) -> None:
    found = report(closed=9, thirds=(third(*first), third(None, None), third(*last)))
    assert f"{said}" in found.verdict and found.verdict.startswith("Within this span")


def test_a_report_compares_with_the_span_before() -> None:
    found = report(
        closed=2,
        success_rate=1.0,
        steps_per_episode=2.0,
        closed_before=1,
        success_rate_before=0.0,
        steps_per_episode_before=4.0,
    )
    assert found.verdict == (
        "Against the span before it went better: 2 episodes succeeded in 100% (2.0 steps each), 1 before succeeded in 0% (4.0 steps each)."
    )
    assert str(found).startswith("team: 2026-03-01 00:00 to 2026-03-08 00:00\nAgainst")


def test_a_report_does_not_say_more_than_it_knows() -> None:
    assert "nothing can be said" in report().verdict
    assert report(closed=1, success_rate=1.0).verdict == (
        "1 episode succeeded in 100%; too few, and none before, to say whether it gets better."
    )


def test_what_is_printed_is_short() -> None:
    def memory(kind: Kind, text: str, **fields: object) -> Memory:
        return Memory(id=f"0-{kind.value}", kind=kind, text=text, **fields)  # type: ignore[arg-type]

    policy = Policy(memory(Kind.POLICY, "When x\nfails: do y"), PolicyBody(state=State.ACTIVE), Record(support=2))
    assert str(policy) == "When x fails: do y (path, active, taught by 2 episodes) 0-policy"
    skill = Skill(memory(Kind.SKILL, "# long", title="boil", body={"description": "Boils."}), SkillBody(name="boil"))
    assert str(skill) == "boil: Boils. (probation, not tried) 0-skill"
    stated = WorldStatement(memory(Kind.WORLD_MODEL, "On a, b."), WorldBody(holds=3))
    assert str(stated) == str(WorldAnswer("q", (stated,))) == "On a, b. (3 for, 0 against) 0-world_model"
    assert str(WorldAnswer("q", reasons=("no statement holds",))) == "no statement holds"
    recalled = Recalled(Trigger.TURN, context="<memos-context>…")
    begun = TurnStarted("c", "e", 1, "m", Relation(RelationKind.NEW_TASK, 1.0, "first"), recalled)
    assert str(recalled) == "<memos-context>…" and str(begun) == "turn 1 of episode e (new task)\n<memos-context>…"
    assert len(str(Policy(memory(Kind.POLICY, "x" * 5_000), PolicyBody()))) < 300
