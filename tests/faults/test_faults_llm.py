"""H. What language models answer, and the faults of other sections again with a model that reads (A, B) and judges (F)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from llm_server import Answer, LlmServer, busy, cut, empty, failing, garbage, hang
from memos import MemOS
from memos.memory.hit import SearchStatus
from memos.scheduler import worker
from memos.scheduler.kinds import READ
from memos.storage.tasks import TaskQuery, TaskState

SAID = "As for the locker, they gave me 58 in the end."  # nothing that rules read
LOCKER = "The locker is number 58."
FACT: dict[str, Any] = {
    "kind": "fact", "who": "user", "what": "locker", "value": "58", "text": LOCKER, "by": [1], "sure": 0.9,
}  # fmt: skip
GOOD = json.dumps({"facts": [FACT], "names": []})


@pytest.fixture
def llm(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    monkeypatch.setattr(worker, "BACKOFF_BASE", 0.02)
    monkeypatch.setattr(worker, "PUT_OFF_LEAST", 0.01)
    with LlmServer() as running:
        yield running


def reading(home: Path, llm: LlmServer, **options: Any) -> MemOS:
    return MemOS(home, embedder="none", llm="openai-compatible:stub", llm_url=llm.url, **options)


def by_model(memos: MemOS) -> list[str]:
    return [m.text for m in memos.list(kinds=["fact", "profile"]).items if "reader" in m.body]


def task_of(memos: MemOS, name: str) -> Any:
    (task,) = memos.tasks.find(TaskQuery(caller_id=name, kinds=[READ])).items
    return task


@pytest.mark.parametrize("failures", [(busy(0.01), hang()), (failing(500), cut(2, GOOD))], ids=["busy", "broken"])
def test_r010_a_reader_that_fails_and_comes_back_is_asked_again(home: Path, llm: LlmServer, failures: Any) -> None:
    """A passing error of a model is swallowed: the work counts as done with nothing in it."""
    llm.say(*failures, GOOD)
    with reading(home, llm, llm_timeout=0.3) as memos:
        memos.add(SAID, task_id="turn")
        assert memos.tasks.wait(TaskQuery(caller_id="turn"), 30)
        assert task_of(memos, "turn").state is TaskState.COMPLETED
        assert by_model(memos) == [LOCKER] and memos.stats().store.pending == {}


def test_r010_a_reader_that_never_answers_is_no_success(home: Path, llm: LlmServer) -> None:
    """The same, when the model never says anything that can be used."""
    llm.otherwise = "I cannot help with that."
    with reading(home, llm) as memos:
        memos.add(SAID, task_id="turn")
        assert memos.tasks.wait(TaskQuery(caller_id="turn"), 30)
        assert task_of(memos, "turn").state is TaskState.FAILED
        assert memos.search("locker").hits[0].memory.text == SAID
        llm.otherwise = GOOD
        assert memos.tasks.retry(TaskQuery(caller_id="turn")) == 1
        assert memos.tasks.wait(TaskQuery(caller_id="turn"), 30)
        assert task_of(memos, "turn").state is TaskState.COMPLETED and by_model(memos) == [LOCKER]


@pytest.mark.parametrize("answer", [failing(500), {"facts": []}, [], hang(), garbage(), empty()], ids=str)
def test_r025_whatever_the_model_says_the_record_is_there(home: Path, llm: LlmServer, answer: Any) -> None:
    """Refinement fails, or gives nothing, and the quick record is deleted all the same."""
    llm.otherwise = answer
    with reading(home, llm, llm_timeout=0.2, background=False) as memos:
        (id,) = memos.add("The boiler serial is HK-902-FENNEL").ids
        memos.add("and a second message", wait=True)  # asks the model
        assert llm.requests
        assert memos.search("HK-902-FENNEL").hits[0].id == id


def test_r039_a_busy_model_is_left_alone_for_as_long_as_it_says(
    home: Path, llm: LlmServer, wait_for: Callable[..., None]
) -> None:
    """429s of a model are answered with more calls, and looking at the state of things calls it, too."""
    llm.otherwise = busy(60)
    with reading(home, llm) as memos:
        for i in range(50):
            memos.add(f"dirty episode number {i} of fifty", session=f"s{i}")
        wait_for(lambda: llm.requests)
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            memos.health()
            memos.stats()
            memos.list(limit=1)
        assert 1 <= len(llm.requests) <= 8  # as many as were under way when the first was told to wait
        assert any("asked to be left alone" in check.detail for check in memos.health().checks)


THOUGHTS = Answer("<think>Which of them is about a ferry? The first one speaks of", finish="length")


@pytest.mark.parametrize("answer", [THOUGHTS, empty(), Answer('{"best": [', finish="length"), hang()], ids=str)
def test_r090_a_filter_that_is_cut_while_it_thinks_takes_nothing_away(home: Path, llm: LlmServer, answer: Any) -> None:
    """A model judges what is relevant, its reply is cut, and the outcome is "none"."""
    llm.otherwise = answer
    with reading(home, llm, reranker="llm", reading="fast", llm_timeout=0.3, background=False) as memos:
        (id, _) = memos.add(["My ferry leaves at 6:10", "The ferry was late"]).ids
        result = memos.search("when does my ferry leave")
        assert llm.requests and result.status == SearchStatus.FOUND and id in [hit.id for hit in result.hits]
        assert any("without the reranker" in reason for reason in result.reasons)


WRAPPED = {
    "fenced": f"```\n{GOOD}\n```",
    "fenced as json": f"```json\n{GOOD}\n```",
    "prose around": f"Here is what you asked for:\n{GOOD}\nIs anything missing?",
    "two fences": f"```json\n{GOOD}\n```\nor\n```json\n{GOOD}\n```",
    "thoughts": f"<think>{{bad}}</think>{GOOD}",
    "byte order mark": f"\ufeff{GOOD}",
    "trailing commas": GOOD.replace("}]", "},],"),
    "single quotes": GOOD.replace('"', "'"),
    "Python literals": str({"facts": [FACT | {"over": False, "start": None}], "names": []}),
    "smart quotes": GOOD.replace('": ', "”: ").replace(', "', ", “").replace('{"', "{“").replace('"', "”"),
    "braces in a string": GOOD.replace('"by"', '"note": "as in {this} or [that", "by"'),
    "no list around it": json.dumps({"facts": FACT}),
    "a list alone": json.dumps([FACT]),
}


@pytest.mark.parametrize("said", WRAPPED.values(), ids=WRAPPED.keys())
def test_r117_json_is_read_however_it_is_wrapped(home: Path, llm: LlmServer, said: str) -> None:
    """JSON in fences, in prose, or slightly broken is dropped."""
    llm.say(said)
    with reading(home, llm, background=False) as memos:
        memos.add(SAID, wait=True)
        assert by_model(memos) == [LOCKER] and len(llm.requests) == 1


def test_r117_what_cannot_be_saved_is_asked_for_again_and_then_told(home: Path, llm: LlmServer) -> None:
    """The same, for an answer that is cut before its first fact is complete."""
    llm.otherwise = Answer(GOOD[: len(GOOD) // 2], finish="length")
    with reading(home, llm, background=False) as memos:
        added = memos.add(SAID, wait=True)
        assert len(llm.requests) == 2 and "not read by the model yet" in added.notices[0]
        assert memos.get(added.ids[0]).text == SAID and memos.stats().store.pending == {READ: 1}


@pytest.mark.parametrize(
    "wrong", [{"by": [999]}, {"by": [-1]}, {"by": "1"}, {"by": None}, {"kind": 999}, "words", None, 7], ids=str
)
def test_r119_one_bad_item_costs_only_itself(home: Path, llm: LlmServer, wrong: Any) -> None:
    """A number that is no message, or an item of the wrong shape, throws the whole answer away."""
    boiler = FACT | {"what": "boiler", "value": "902", "text": "The boiler is number 902.", "by": [2]}
    bad = (
        FACT | {"what": "bench", "value": "7", "text": "The bench is number 7."} | wrong
        if isinstance(wrong, dict)
        else wrong
    )
    llm.say({"facts": [FACT, bad, boiler], "names": []})
    with reading(home, llm, background=False) as memos:
        memos.add([SAID, "And for the boiler, 902 it is."], wait=True)
        assert set(by_model(memos)) == {LOCKER, "The boiler is number 902."}
        assert len(llm.requests) == 1 and len(memos.list(kinds=["trace"]).items) == 2
