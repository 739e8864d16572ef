"""What users' words say of how a task went: signals in passing, and the score of a comment. English and Chinese."""

from __future__ import annotations

import time

import pytest
from opinion_corpus import BAD, GOOD, NO_VERDICT

from memos.evolution.directives.opinion import read_opinion
from memos.evolution.value import signals
from memos.evolution.value.signals import CORRECTED, FAILED, GAVE_UP, PRAISE, REPEATED, REVISED, THANKS, Heard, heard
from memos.memory.episode import RelationKind

ALL = (THANKS, PRAISE, CORRECTED, FAILED, REVISED, REPEATED, GAVE_UP)


def names(message: str, relation: RelationKind = RelationKind.FOLLOW_UP, former: str = "") -> set[str]:
    return {one.what for one in heard(message, relation, former)}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Thanks!", {"thanks"}),
        ("ok thank you so much", {"thanks"}),
        ("Perfect, thanks a lot.", {"praise", "thanks"}),
        ("That works now.", {"praise"}),
        ("It works!", {"praise"}),
        ("great job", {"praise"}),
        ("lgtm", {"praise"}),
        ("That fixed it. Now add a test.", {"praise"}),
        ("No, use the other file.", {"correction"}),
        ("that's wrong", {"correction"}),
        ("I said the blue one", {"correction"}),
        ("You forgot the header.", {"correction"}),
        ("It still doesn't work", {"failed"}),
        ("same error", {"failed"}),
        ("The build still fails with exit code 2", {"failed"}),
        ("never mind", {"abandoned"}),
        ("Forget it, I'll do it myself", {"abandoned"}),
        ("谢谢！", {"thanks"}),
        ("辛苦了", {"thanks"}),
        ("太好了，谢谢", {"praise", "thanks"}),
        ("可以了", {"praise"}),
        ("搞定", {"praise"}),
        ("不对，是另一个文件", {"correction"}),
        ("我说的是蓝色的", {"correction"}),
        ("你漏了表头", {"correction"}),
        ("还是报错", {"failed"}),
        ("没用", {"failed"}),
        ("算了", {"abandoned"}),
        ("不用了，我自己来吧", {"abandoned"}),
    ],
)  # fmt: skip
def test_what_is_said_of_the_work_is_heard(message: str, expected: set[str]) -> None:
    assert names(message) == expected


@pytest.mark.parametrize(
    "message",
    [
        "Write a thank-you letter to Anna",
        "Thanks in advance for the quick fix",
        "no problem, go on",
        "No worries.",
        "No, that's fine.",
        "How does the cache work?",
        "Does it work with Python 3.13?",
        "Who works on the parser?",
        "Don't forget it is Friday",
        "Leave it running over night",
        "Fix the broken link on the page",
        "Explain why a wrong password gives a 403",
        "Add a test for failing requests",
        "What is a good name for it?",
        "写一封感谢信",
        "怎么样？可以了吗？",
        "没问题，继续",
        "我很好奇它怎么做",
        "算了一下总数是多少",
        "修一下坏掉的链接",
        "对不对称没有关系",
        "不用了解太多细节",
        "```\nerror: it does not work\n```",
    ],
)  # fmt: skip
def test_a_request_says_nothing_of_the_work_before(message: str) -> None:
    assert names(message) == set()


def test_a_revision_is_a_sign_even_in_kind_words() -> None:
    assert names("Could we have it in blue after all", RelationKind.REVISION) == {"revision"}
    assert names("That's wrong", RelationKind.REVISION) == {"correction"}


def test_asking_for_the_same_again_is_a_sign() -> None:
    former = "Install the numpy package into the billing project"
    assert names("please install the numpy package into the billing project", former=former) == {"repeated"}
    assert names("install the pandas package into the web project", former=former) == set()
    assert names("run the tests", former="run the tests") == set(), "a short command may be meant each time"
    assert names("请把财务项目里的依赖全部更新", former="把财务项目里的依赖全部更新") == {"repeated"}


def test_of_another_task_only_what_looks_back_counts() -> None:
    assert names("Thanks! Now write a poem.", RelationKind.NEW_TASK) == {"thanks"}
    assert names("No cats are allowed in the house; write a sign", RelationKind.NEW_TASK) == set()
    assert names("Forget it. Plan a trip.", RelationKind.NEW_TASK) == {"abandoned"}


def test_scores_stay_within_what_is_documented() -> None:
    assert all(isinstance(one, Heard) and -0.7 <= one.score <= 0.7 for one in ALL)
    assert {one.what for one in ALL if one.score > 0} == {"thanks", "praise"}


def test_thanks_for_what_failed_is_no_praise() -> None:
    assert names("Great, now it fails again") == {"failed"}


@pytest.mark.parametrize(
    "message",
    [
        "",
        "\x00",
        "no " * 100_000,
        "。" * 100_000,
        "太" * 50_000,
        "a" * 200_000,
        "the a b " * 30_000,
        "嗯啊哦" * 5_000,
        "哈" * 5_000 + "x",
        "干得好好吧 " * 2_000,
        "ok great thanks " * 5_000,
    ],
)
def test_anything_is_read_quickly(message: str) -> None:
    begun = time.perf_counter()
    heard(message, RelationKind.FOLLOW_UP, message)
    read_opinion(message)
    signals.is_only_about_before(message)
    assert time.perf_counter() - begun < 1


class TestOpinion:
    @pytest.mark.parametrize(
        "comment",
        [
            "perfect", "Works, thanks", "Great job!", "this solved it", "All tests pass and it looks good", "👍", "9/10", "5 stars", "not bad",
            "完美", "解决了，谢谢", "很好用", "不错", "五分满分，太棒了", "👍👍", "做得很好", "通过了",
        ],
    )  # fmt: skip
    def test_praise_is_a_success(self, comment: str) -> None:
        score = read_opinion(comment)
        assert score is not None
        assert score > 0

    @pytest.mark.parametrize(
        "comment",
        [
            "terrible", "still broken", "That is wrong", "doesn't work", "It did not fix the problem", "the build failed", "not good", "useless",
            "👎", "2/10", "1 star", "not working at all", "It was good but it deleted my files and the server crashed",
            "没用", "错了", "不行", "没有解决问题", "太差了", "还是报错", "不好", "跑起来就崩溃",
        ],
    )  # fmt: skip
    def test_complaint_is_a_failure(self, comment: str) -> None:
        score = read_opinion(comment)
        assert score is not None
        assert score < 0

    @pytest.mark.parametrize(
        "comment", ["", "I am in Vienna", "the blue one", "我在维也纳", "Always run the linter before you commit"]
    )
    def test_where_nothing_is_said_there_is_no_score(self, comment: str) -> None:
        assert read_opinion(comment) is None

    def test_stronger_words_say_more(self) -> None:
        best, good, fair = (read_opinion(t) or 0 for t in ("perfect", "good", "ok"))
        assert best > good > fair > 0
        worst, bad, poor = (read_opinion(t) or 0 for t in ("terrible", "wrong", "a bit slow"))
        assert worst < bad < poor < 0

    @pytest.mark.parametrize(
        ("comment", "score"),
        [("8/10", 0.6), ("0/10", -1.0), ("10 out of 10", 1.0), ("3 stars", 0.0), ("★★★★★", 1.0), ("50/100", 0.0)],
    )
    def test_marks_are_read_as_numbers(self, comment: str, score: float) -> None:
        assert read_opinion(comment) == pytest.approx(score)

    @pytest.mark.parametrize("comment", GOOD)
    def test_good_news_are_good(self, comment: str) -> None:
        assert (read_opinion(comment) or 0) > 0

    @pytest.mark.parametrize("comment", BAD)
    def test_bad_news_are_bad(self, comment: str) -> None:
        assert (read_opinion(comment) or 0) < 0

    @pytest.mark.parametrize("comment", NO_VERDICT)
    def test_an_order_for_the_next_time_is_no_verdict(self, comment: str) -> None:
        assert read_opinion(comment) is None

    def test_a_path_or_date_is_no_mark(self) -> None:
        assert read_opinion("see 12/31 and a/5") is None
