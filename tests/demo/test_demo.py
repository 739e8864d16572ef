"""The demo finds every answer it knows of, with the default embedder and by words alone, and shows what it says."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from memos import MemOS
from memos.cli.main import app
from memos.demo.conversation import Question, conversation
from memos.demo.run import BUDGET, Report, rank_of, run
from memos.memory.hit import SearchStatus
from memos.recall.recipe import DEFAULT

TALK = conversation()
ANSWERABLE = [q for q in TALK.questions if q.evidence]
WITHIN = {"default": 5, "none": 8}


@pytest.fixture(scope="module", params=WITHIN)
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MemOS, int]]:
    """The conversation in a cube, and within how many hits an answer must be."""
    home = tmp_path_factory.mktemp("home")
    with MemOS(home, embedder=request.param, background=False) as memos:
        for session in TALK.sessions:
            memos.add(list(session.messages), user=TALK.user, session=session.name)
        memos.flush(user=TALK.user)
        yield memos, WITHIN[request.param]


@pytest.mark.parametrize("question", ANSWERABLE, ids=lambda q: q.text + (f" as of {q.as_of}" if q.as_of else ""))
def test_every_message_that_answers_is_among_the_first_hits(filled: tuple[MemOS, int], question: Question) -> None:
    memos, within = filled
    result = memos.search(
        question.text, user=TALK.user, as_of=question.as_of, reference_time=TALK.asked_on, limit=within
    )
    ranks = {e: rank_of(result.hits, e) for e in question.evidence}
    assert None not in ranks.values(), ranks


def test_the_conversation_is_what_it_claims_to_be() -> None:
    messages = TALK.messages
    assert 55 <= len(messages) <= 70
    assert len({m["chat_time"][:10] for m in messages}) >= 7
    assert {m["chat_time"][:4] for m in messages} == {"2026"}
    assert len({m["message_id"] for m in messages}) == len(messages)
    assert sum(any("\u4e00" <= c <= "\u9fff" for c in m["content"] or "") for m in messages) >= 5
    assert max(len(m["content"] or "") for m in messages) > 1_600  # long enough to be split
    known = {m["message_id"] for m in messages}
    assert all(set(q.evidence) <= known for q in TALK.questions)
    assert sum(not q.evidence for q in TALK.questions) == 1
    assert any(q.as_of for q in TALK.questions)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, str]:
    """The demo as run by words alone, and what it printed in a pipe."""
    out = io.StringIO()
    console = Console(file=out, width=110, markup=False, highlight=False, emoji=False)
    report = run(console, tmp_path_factory.mktemp("demo"), embedder="none")
    return report, out.getvalue()


def test_the_context_of_each_answer_keeps_its_budget(told: tuple[Report, str]) -> None:
    for answer in told[0].answers:
        assert 0 < answer.result.tokens <= BUDGET
        assert answer.saved > 0.8


def test_a_move_is_seen_under_both_clocks(told: tuple[Report, str]) -> None:
    now, then = (a.result for a in told[0].answers if a.question.text == "Where does Ines live?")
    assert "Ines lives in Leipzig." in {f.text for f in now.facts}
    assert "Ines lives in Ghent." not in {f.text for f in now.facts}
    assert "Ines lives in Ghent." in {f.text for f in then.facts}
    assert "Leipzig" not in then.context
    ghent = next(h for h in now.hits if h.memory.message_id == "m01")
    assert ghent.stale
    assert not any(h.stale for h in then.hits)


def test_only_the_sentence_of_a_long_message_that_answers_is_shown(told: tuple[Report, str]) -> None:
    answer = next(a for a in told[0].answers if "spare key" in a.question.text)
    best = answer.result.hits[0]
    assert "Mrs. Okafor" in best.text
    assert len(best.text) < 300 < len(best.memory.text)


def test_what_nothing_answers_scores_low(told: tuple[Report, str]) -> None:
    scores = {bool(a.question.evidence): a.result.best_score for a in told[0].answers}
    assert scores[False] < DEFAULT.weak
    assert min(a.result.best_score for a in told[0].answers if a.question.evidence) > DEFAULT.weak


def test_the_miss_is_explained_the_change_undone_and_the_delete_complete(told: tuple[Report, str]) -> None:
    report = told[0]
    assert not report.missed.found
    assert report.missed.removed_by == "limit"
    assert [v.op for v in report.edited.versions] == ["add", "update", "undo"]
    assert "four years old" in report.edited.undone.text
    assert report.deleted.done.memories == 1
    assert report.deleted.done.cascaded >= 1
    assert [m.text for m in report.deleted.restored] == ["Ines lives in Ghent."]
    assert report.deleted.done.erased_from_disk
    assert not report.deleted.still_found


def test_in_a_pipe_it_is_plain_text_within_the_width(told: tuple[Report, str]) -> None:
    text = told[1]
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 110
    for part in ("Where does Ines live?  (as of 2026-03-01)", "[stale]", "why: lexical +", "% saved)", "true again"):
        assert part in text


def test_the_command_answers_in_json_and_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = CliRunner().invoke(app, ["--embedder", "none", "--json", "demo"])
    assert result.exit_code == 0, result.stderr
    assert SearchStatus.FOUND in result.stdout
    assert list(tmp_path.iterdir()) == []
