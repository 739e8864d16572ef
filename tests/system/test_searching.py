"""`search`: statuses, budgets, long messages, relative dates, Chinese, folding, and what is said of a poor answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memos import MemOS
from memos.errors import InvalidInput, ModelTimeout
from memos.memory.hit import SearchStatus
from memos.recall.pack import tokens
from stubs import Broken, Words


def said(day: str, text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, "chat_time": day, **more}


def test_what_was_said_is_found_and_the_status_says_so(memos: MemOS) -> None:
    (id,) = memos.add("The teal kayak lies in shed four").ids
    result = memos.search("kayak")
    assert (result.status, result.query, bool(result), len(result)) == (SearchStatus.FOUND, "kayak", True, 1)
    (hit,) = result
    assert (hit.id, hit.rank, hit.cube, hit.text) == (id, 1, "default", "The teal kayak lies in shed four")
    assert 0 < hit.score <= 1 and hit.score == pytest.approx(result.best_score)
    assert "text" in result.served_by and "vector" not in result.served_by
    assert hit.text in result.context and result.tokens == tokens(result.context)
    assert str(result) == result.context


def test_nothing_to_find_is_said(memos: MemOS) -> None:
    for _ in range(2):
        result = memos.search("kayak")
        assert (result.status, len(result), result.context, result.tokens) == (SearchStatus.NOTHING, 0, "", 0)
        assert "nothing" in str(result)
        memos.add("Rome has many bridges indeed")


def test_below_the_threshold_names_the_best_score(memos: MemOS) -> None:
    memos.add(["The kayak is teal and long", "An oak stands on the hill over there"])
    best = memos.search("kayak oak hill bridge").best_score
    above = memos.search("kayak oak hill bridge", threshold=best - 0.01)
    assert above.status is SearchStatus.FOUND and all(h.score >= best - 0.01 for h in above)
    below = memos.search("kayak oak hill bridge", threshold=min(1.0, best + 0.01))
    assert (below.status, len(below), below.context) == (SearchStatus.BELOW_THRESHOLD, 0, "")
    assert below.best_score == pytest.approx(best) and f"{best:.2f}" in below.reasons[-1]


@pytest.mark.parametrize("options", [{"query": ""}, {"query": " \n"}, {"query": 5}, {"limit": 0}, {"limit": 10**9}, {"limit": "5"}, {"limit": 1.5},
                                     {"max_tokens": 0}, {"max_tokens": -5}, {"max_tokens": 1.5}, {"max_tokens": True}, {"threshold": -0.1},
                                     {"threshold": 2}, {"threshold": float("nan")}, {"threshold": "x"}, {"as_of": "soon"}, {"kinds": ["nope"]},
                                     {"reference_time": "soon"}, {"cubes": []}, {"cubes": "default"}, {"cubes": ["default"], "cube": "default"},
                                     {"filter": {"owner": {"regexish": "a"}}}])  # fmt: skip
def test_what_cannot_be_asked_is_an_input_error(memos: MemOS, options: dict[str, Any]) -> None:
    memos.add("The kayak is teal and long")
    with pytest.raises(InvalidInput):
        memos.search(**{"query": "kayak", **options})


def test_no_text_is_syntax(memos: MemOS) -> None:
    memos.add("The kayak is teal and long")
    for query in (
        '"',
        "kayak OR",
        "NEAR(kayak",
        "*",
        "%",
        "'; DROP TABLE memories; --",
        "kayak AND NOT",
        "(",
        "-",
        "\x00kayak",
        "\ud83d kayak",
    ):
        result = memos.search(query)
        assert result.status in (SearchStatus.FOUND, SearchStatus.NOTHING)
    assert len(memos.search("kayak")) == 1


def test_a_very_long_question_is_read_as_far_as_said(memos: MemOS) -> None:
    memos.add("The kayak is teal and long")
    result = memos.search("kayak " * 20_000)
    assert result.hits and any("20000 characters" in r for r in result.reasons)


def test_equal_words_are_one_hit_that_names_the_others(memos: MemOS) -> None:
    ids = [memos.add(said(f"2024-01-0{d}", "The kayak is teal and long"), session=f"s{d}").ids[0] for d in (1, 2, 3)]
    (hit,) = memos.search("kayak teal")
    assert {hit.id, *hit.also} == set(ids)


def test_a_fact_is_shown_by_the_record_that_says_it(memos: MemOS) -> None:
    (id,) = memos.add("I live in Rome near the river.", wait=True).ids
    hits = memos.search("Where do I live?").hits
    assert [h.id for h in hits] == [id]
    assert [f.text for f in hits[0].facts] == ["The user lives in Rome."]
    assert "The user lives in Rome." in memos.search("Where do I live?").context


def test_what_was_replaced_is_marked_and_stands_behind_what_holds(memos: MemOS) -> None:
    old, new = memos.add([said("2023-01-10", "I live in Rome."), said("2024-01-10", "I live in Oslo.")], wait=True).ids
    result = memos.search("Where do I live now?")
    by_id = {h.id: h for h in result}
    assert (by_id[old].stale, by_id[new].stale) == (True, False)
    assert by_id[new].rank < by_id[old].rank
    assert [line for line in result.context.splitlines() if "outdated" in line] == [
        line for line in result.context.splitlines() if "I live in Rome" in line
    ]
    then = memos.search("Where do I live?", as_of="2023-06-01")
    assert [(h.id, h.stale) for h in then] == [(old, False)]


# -- budget ------------------------------------------------------------------------------------------------------------

ANY_TEXT = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from("茶馆周五👩‍👩‍👧🇳🇴é̂\n<>&kayak ")), min_size=1, max_size=400
)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(ANY_TEXT, min_size=1, max_size=6), budget=st.integers(1, 300), n=st.integers(0, 10**9))
def test_the_budget_is_never_exceeded(memos: MemOS, texts: list[str], budget: int, n: int) -> None:
    user = f"user {n}"
    memos.add([{"role": "user", "content": f"kayak {t}"} for t in texts], user=user, wait=True)
    result = memos.search("kayak 茶馆", user=user, max_tokens=budget)
    assert tokens(result.context) == result.tokens <= budget
    assert result.hits
    if not result.context:
        assert any("max_tokens" in r for r in result.reasons)
    else:
        assert result.context.count("<memos-context>") == result.context.count("</memos-context>") == 1
        result.context.encode("utf-8")


def test_a_larger_budget_holds_more(memos: MemOS) -> None:
    memos.add([f"The kayak number {i} is teal and {i * 3} feet long" for i in range(60)])
    sizes = [len(memos.search("kayak", max_tokens=b).context) for b in (5, 50, 200, 1_000)]
    assert sizes == sorted(sizes) and sizes[0] == 0 and sizes[-1] > sizes[1] > 0


# -- long messages -----------------------------------------------------------------------------------------------------

THINGS = ("anvil", "bonnet", "cello", "dinghy", "easel", "funnel", "gramophone", "hammock", "inkwell", "jukebox", "kettle",
          "lantern", "mandolin", "nutcracker", "oboe", "parasol", "quilt", "rucksack", "saddle", "telescope", "umbrella",
          "violin", "wheelbarrow", "xylophone", "yoke", "zither")  # fmt: skip


def test_every_sentence_of_a_long_message_is_found_and_shown(memos: MemOS) -> None:
    sentences = [
        f"In room {i} of the old house by the river there stood a {t} that nobody had ever touched."
        for i, t in enumerate(THINGS)
    ]
    text = " ".join(sentences)
    assert len(text) > 2_000
    ids = memos.add(text).ids
    assert "".join(memos.get(i).text for i in ids).replace(" ", "") == text.replace(" ", "")
    for sentence, thing in zip(sentences, THINGS, strict=True):
        hit = memos.search(f"Where was the {thing}?").hits[0]
        assert hit.id in ids and sentence in hit.text and len(hit.text) < 400
        if len(hit.memory.text) > 400:
            assert hit.passage is not None
            assert sentence in hit.memory.text[hit.passage.start : hit.passage.end]


def test_a_long_message_again_is_counted_part_by_part(memos: MemOS) -> None:
    text = " ".join(
        f"Sentence number {i} is about the {t} in the attic of the house." for i, t in enumerate(THINGS * 2)
    )
    first, again = memos.add(text), memos.add(text)
    assert len(first) > 1 and again.ids == first.ids and all(r.seen == 2 for r in again)


# -- dates -------------------------------------------------------------------------------------------------------------


def test_relative_dates_of_a_question_are_counted_from_the_reference_time(memos: MemOS) -> None:
    days = {f"2024-05-{d:02d}T12:00:00Z": f"We talked about the garden and plan {w}" for d, w in
            ((1, "alpha"), (8, "beta"), (15, "gamma"), (22, "delta"))}  # fmt: skip
    memos.add([said(day, text) for day, text in days.items()])

    def first(query: str, now: str) -> str:
        return memos.search(query, reference_time=now).hits[0].memory.text.split()[-1]

    assert first("What did we say about the garden yesterday?", "2024-05-09T09:00:00Z") == "beta"
    assert first("What did we say about the garden yesterday?", "2024-05-16T09:00:00Z") == "gamma"
    assert first("What did we say about the garden last week?", "2024-05-29T09:00:00Z") == "delta"
    assert first("What did we say about the garden on 1 May?", "2026-01-01T00:00:00Z") == "alpha"
    assert first("昨天我们聊了什么 garden", "2024-05-23T09:00:00Z") == "delta"


def test_relative_dates_of_a_message_are_counted_from_its_own_time(memos: MemOS) -> None:
    memos.add(said("2024-05-08T12:00:00Z", "I moved to Oslo last month."), wait=True)
    (fact,) = memos.list(kinds=["profile"]).items
    assert fact.valid_from is not None and fact.valid_from.strftime("%Y-%m") == "2024-04"


# -- Chinese -----------------------------------------------------------------------------------------------------------


def test_chinese_from_end_to_end(memos: MemOS) -> None:
    old, new, tea = memos.add(
        [
            said("2023-01-10", "我住在杭州。"),
            said("2024-01-10", "我搬到北京了。"),
            said("2024-01-11", "我喜欢喝龙井茶,周五去紫藤茶馆。"),
        ],
        wait=True,
    ).ids
    current = [m.text for m in memos.list(kinds=["profile"]).items]
    assert len(current) == 1 and "北京" in current[0]
    then = [m.text for m in memos.list(kinds=["profile"], as_of="2023-06-01").items]
    assert len(then) == 1 and "杭州" in then[0]
    assert memos.search("我现在住在哪里?").hits[0].id == new
    assert memos.search("喜欢喝什么茶").hits[0].id == tea
    assert memos.search("茶馆").hits[0].id == tea
    context = memos.search("我住在哪里", max_tokens=200).context
    assert "北京" in context and old != new


# -- models ------------------------------------------------------------------------------------------------------------


def test_vectors_are_used_where_there_are_some(home: Any) -> None:
    with MemOS(home, embedder=Words(), background=False) as memos:
        memos.add(["The kayak is teal and long", "An oak stands on the hill over there"], wait=True)
        result = memos.search("teal kayak")
        assert "vector" in result.served_by and result.hits[0].memory.text.startswith("The kayak")
        assert memos.stats().store.vectors["words"] >= 2
        assert all(0 <= h.score <= 1 for h in result)


def test_without_the_model_the_words_answer_and_the_reason_is_given(home: Any) -> None:
    with MemOS(home, embedder=Broken(ModelTimeout("the model did not answer")), background=False) as memos:
        memos.add("The kayak is teal and long")
        result = memos.search("kayak")
        assert result.status is SearchStatus.FOUND and len(result) == 1
        assert any("the model did not answer" in r for r in result.reasons) and "vector" not in result.served_by


class Judge:
    """A reranker that answers what it was made with."""

    model_id = "judge"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def rerank(self, query: str, texts: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer(texts)


def test_a_reranker_has_its_say(home: Any) -> None:
    judge = Judge(lambda texts: np.array([1.0 if "oak" in t else 0.0 for t in texts], np.float32))
    with MemOS(home, embedder="none", reranker=judge, background=False) as memos:
        memos.add(["The kayak on the hill is teal", "An oak stands on the hill"])
        assert memos.search("hill").hits[0].memory.text.startswith("An oak")
        assert all(0 <= h.score <= 1 for h in memos.search("kayak hill"))


@pytest.mark.parametrize(
    "answer",
    [
        ModelTimeout("too slow"),
        lambda t: np.full(len(t), np.nan),
        lambda t: np.zeros(1 + len(t)),
        lambda t: np.full(len(t), 7.0),
    ],
)
def test_a_reranker_that_fails_changes_nothing_and_is_named(home: Any, answer: Any) -> None:
    with MemOS(home, embedder="none", background=False) as plain:
        plain.add(["The kayak on the hill is teal", "An oak stands on the hill"])
        expected = [(h.id, h.score) for h in plain.search("kayak hill")]
    with MemOS(home, embedder="none", reranker=Judge(answer), background=False) as memos:
        result = memos.search("kayak hill")
        assert [h.id for h in result] == [id for id, _ in expected]
        close = [pytest.approx(score, abs=0.01) for _, score in expected]  # they were shown once meanwhile
        assert [h.score for h in result] == close
        assert any("reranker" in r for r in result.reasons)
