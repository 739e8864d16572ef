"""A correction changes what it surely means and nothing else: what is not certain stays as it was told, and the message is
kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memos import MemOS
from memos.memory.model import Layer


@pytest.fixture
def memos(tmp_path: Path) -> Iterator[MemOS]:
    with MemOS(tmp_path / "home", embedder="none", background=False) as made:
        yield made


def facts(memos: MemOS, status: str = "active") -> list[str]:
    page = memos.list(include_inactive=True)
    return sorted(m.text for m in page.items if m.layer is Layer.DERIVED and m.status.value == status)


CHANGED = [
    # told, correction, what was wrong, what is right
    ("We ordered 10 chairs and 100 tables.", "no, it was 20 chairs, not 10", "We ordered 10 chairs and 100 tables.", "We ordered 20 chairs and 100 tables."),
    ("My flight to Rome leaves at 10 from gate 10.", "No, it leaves from gate 12, not 10", "My flight to Rome leaves at 10 from gate 10.", "My flight to Rome leaves at 10 from gate 12."),
    ("I have 2 cats and 2 dogs.", "no, it's 3 cats, not 2", "The user has 2 cats.", "The user has 3 cats."),
    ("I work for Equinor.", "No, it's Statoil, not Equinor", "The user works at Equinor.", "The user works at Statoil."),
    ("I live in Oslo.", "It isn't Oslo. I live in Bergen.", "The user lives in Oslo.", "The user lives in Bergen."),
    ("I am allergic to nuts.", "no, it's shellfish, not nuts", "The user is allergic to nuts.", "The user is allergic to shellfish."),
    ("The meeting is on 7 May.", "no, it's on 8 May, not 7", "The user's meeting is on 7 May.", "The user's meeting is on 8 May."),
    ("The meeting is on 7 May.", "no, it's 8 May, not 7 May", "The user's meeting is on 7 May.", "The user's meeting is on 8 May."),
    ("My appointment is on the 7th at 7.", "No, it's the 8th, not the 7th", "The user's appointment is on the 7th at 7.", "The user's appointment is on the 8th at 7."),
    ("My appointment is on the 7th at 7.", "No, it's at 8, not 7", "The user's appointment is on the 7th at 7.", "The user's appointment is on the 7th at 8."),
    ("Dinner is at 7 pm.", "no, it's 8 pm, not 7", "Dinner is at 7 pm.", "Dinner is at 8 pm."),
    ("Dinner is at 7.", "no, it's at 7:30, not 7", "Dinner is at 7.", "Dinner is at 7:30."),
    ("The rent is $700 a month.", "no, it's $750, not $700", "The rent is $700 a month.", "The rent is $750 a month."),
    ("I have 1 cat.", "no, it's 2 cats, not 1", "The user has 1 cat.", "The user has 2 cats."),
    ("We have two kids.", "no, it's three kids, not two", "The user has two kids.", "The user has three kids."),
    ("I have 3 dogs and 2 cats.", "no, it's 3 cats, not 2", "I have 3 dogs and 2 cats.", "I have 3 dogs and 3 cats."),
    ("I bought red paint and a red brush.", "no, it was green paint, not red", "The user bought red paint and a red brush.", "The user bought green paint and a red brush."),
    ("I bought a teal kayak.", "no, a green kayak, not teal", "The user bought a teal kayak.", "The user bought a green kayak."),
    ("My dog is called Rex.", "No, Rex Junior, not Rex", "The user has a dog named Rex.", "The user has a dog named Rex Junior."),
    ("My email is ann@oslo.no and I live in Oslo.", "No, it's Bergen, not Oslo", "The user lives in Oslo.", "The user lives in Bergen."),
    ("I like green tea.", "It's black tea, not green", "The user likes green tea.", "The user likes black tea."),
    ("The car is 7.5 metres long and shed 7 is near.", "no, it's 8, not 7", "The car is 7.5 metres long and shed 7 is near.", "The car is 7.5 metres long and shed 8 is near."),
    ("我7月7号去北京。", "不对，是8号，不是7号", "我7月7号去北京。", "我7月8号去北京。"),
    ("我15号出发，5号回来。", "不对，是6号，不是5号", "我15号出发，5号回来。", "我15号出发，6号回来。"),
    ("我有2只猫和2只狗。", "不对，是3只猫，不是2只", "我有2只猫和2只狗。", "我有3只猫和2只狗。"),
    ("我有三个孩子。", "不对，是两个孩子，不是三个", "用户有三个孩子。", "用户有两个孩子。"),
    ("我对花生过敏。", "不对，是海鲜，不是花生", "用户对花生过敏。", "用户对海鲜过敏。"),
    ("我的猫叫小白。", "把小白改成小黑", "用户的猫叫小白。", "用户的猫叫小黑。"),
]  # fmt: skip

KEPT = [
    ("The meeting is on 7 May at 7.", "no, it's at 8, not 7 May"),  # a day is no time of day
    ("On day 7 I bought 7 apples in Lyon.", "no, it was 8 apples on day 7, not 7"),
    ("I am allergic to nuts.", "no, it was shellfish I'm allergic to, not nuts"),
    ("The meeting is on 7 May.", "no, it's at 8, not 7"),  # of a time, and the day is known
    ("We bought 7 apples.", "no, at 8, not 7"),
    ("I have 3 dogs and 2 cats.", "no, it's 3, not 2"),  # three there are already
    ("I have 3 kids aged 3, 5 and 8.", "no, 4, not 3"),
    ("My dog weighs 7kg.", "No, it's 8, not 7"),  # 7 is no word of its own
    ("Room A-7 is on floor 3.", "No, it's 8, not 7"),
    ("I bought 7 apples.", "no, it was pears, not 7"),
    ("I bought red paint and a red brush.", "no, it was green, not red"),
    ("I bought red paint.", "No, green, not red paint"),
    ("I moved from Bergen to Oslo.", "no, it's Bergen, not Oslo"),
    ("I study at Oslo University.", "No, it's Bergen, not Oslo"),
    ("I live in New York.", "No, it's Boston, not York"),
    ("My dog is called Rex Junior.", "no, it's Rex Junior, not Rex"),
    ("Our will is long.", "No, it's Bill, not Will"),
    ("I may go to Paris.", "No, it's June, not May"),
    ("They told us to move.", "It's UK, not US"),
    ("I am allergic to nuts.", "it was shellfish from Norway, not nuts"),
    ("I am allergic to nuts.", "it was shellfish and the sauce, not nuts"),
    ("I live in Oslo.", "It's not Oslo"),
    ("I live in Oslo.", "It isn't Oslo. Thanks!"),
    ("I live in Oslo.", "It isn't Oslo, thanks"),
    ("I live in Oslo.", "What I said was I want to live in Bergen, not Oslo"),
    ("I live in Oslo.", "No, I live in a small town near Bergen, not Oslo"),
    ("My kayak is teal. My car is teal.", "No, it's green, not teal"),
    ("I bought 2 cans on 2 May.", "No, it's 3, not 2"),
    ("我17号去北京。", "不对，是8号，不是7号"),
    ("我在北京大学读书。", "不对，是上海，不是北京"),
    ("我住在北京。", "不是北京，是我住在上海"),
    ("我从上海搬到了北京。", "不对，是上海，不是北京"),
    ("我每天跑5公里，工作5天。", "不对，是6，不是5"),
    ("我喜欢红茶和绿茶。", "不对，是绿茶，不是红茶"),
]


@pytest.mark.parametrize(("told", "correction", "was", "now"), CHANGED)
def test_what_is_certain_is_changed_and_only_that(memos: MemOS, told: str, correction: str, was: str, now: str) -> None:
    memos.add(told, wait=True)
    others = set(facts(memos)) - {was}
    memos.add(correction, corrects=(), wait=True)
    assert set(facts(memos)) == others | {now}
    assert facts(memos, "superseded") == [was]


@pytest.mark.parametrize(("told", "correction"), KEPT)
def test_what_is_not_certain_is_kept_with_the_message(memos: MemOS, told: str, correction: str) -> None:
    memos.add(told, wait=True)
    before = facts(memos)
    (id,) = memos.add(correction, corrects=(), wait=True).ids
    assert facts(memos) == before
    assert facts(memos, "superseded") == []
    assert memos.get(id).text == correction


def test_the_time_of_a_day_is_no_day(memos: MemOS) -> None:
    memos.add("The meeting is on 7 May at 7.", wait=True)
    before = facts(memos)
    memos.add("no, it's at 8, not 7", corrects=(), wait=True)
    assert facts(memos) == before  # 7 stands there twice


@pytest.mark.parametrize(
    ("told", "correction", "also"),
    [
        ("I live in Oslo.", "My sister lives in Bergen, not Oslo", "The user's sister lives in Bergen."),
        ("My sister lives in Oslo.", "No, I live in Bergen, not Oslo", "The user lives in Bergen."),
        ("Tom likes coffee.", "my brother prefers tea, not coffee", "The user's brother prefers tea."),
        ("我妹妹住在北京。", "不对，我住在上海，不是北京", "用户住在上海。"),
        ("我住在北京。", "不对，我妹妹住在上海，不是北京", "用户的妹妹住在上海。"),
    ],
)
def test_what_is_said_of_one_changes_nothing_of_another(memos: MemOS, told: str, correction: str, also: str) -> None:
    memos.add(told, wait=True)
    before = facts(memos)
    memos.add(correction, corrects=(), wait=True)
    assert set(facts(memos)) == {*before, also}
    assert facts(memos, "superseded") == []


@pytest.mark.parametrize(
    ("told", "answer", "correction", "now"),
    [
        ("I have 2 cats.", "You have 2 cats.", "No, 3.", "The user has 3 cats."),
        ("I live in Oslo.", "You live in Oslo.", "No, in Bergen.", "The user lives in Bergen."),
        ("I live in New York.", "You live in New York.", "No, Boston.", "The user lives in Boston."),
        ("I live in Oslo.", "You live in Oslo.", "No, thanks.", "The user lives in Oslo."),
        ("I live in Oslo.", "You live in Oslo.", "No, that is wrong.", "The user lives in Oslo."),
        ("I live in Oslo.", "You live in Oslo.", "No, 8.", "The user lives in Oslo."),
        ("The meeting is on 7 May at 7.", "It is on 7 May at 7.", "No, 8.", "The user's meeting is on 7 May at 7."),
        ("I like green tea.", "You like green tea.", "No, cold.", "The user likes green tea."),
        ("我住在北京。", "您住在北京。", "不对，是我的家。", "用户住在北京。"),
    ],
)
def test_what_is_right_alone_takes_the_place_of_its_like(
    memos: MemOS, told: str, answer: str, correction: str, now: str
) -> None:
    memos.add(told, wait=True)
    memos.add(correction, context=[{"role": "assistant", "content": answer}], corrects=(), wait=True)
    assert facts(memos) == [now]


def test_of_two_things_in_the_same_words_neither_is_guessed_at(memos: MemOS) -> None:
    memos.add(["My brother lives in Oslo.", "My sister lives in Oslo."], wait=True)
    before = facts(memos)
    memos.add("No, it's Bergen, not Oslo", corrects=(), wait=True)
    assert facts(memos) == before


def test_a_second_correction_keeps_what_the_first_one_put_right(memos: MemOS) -> None:
    memos.add("My kayak is teal and lives in shed 4.", wait=True)
    memos.add("The kayak is green, not teal", corrects=(), wait=True)
    memos.add("No, it's in shed 5, not 4", corrects=(), wait=True)
    assert facts(memos) == ["My kayak is green and lives in shed 5."]


def test_a_correction_of_a_correction(memos: MemOS) -> None:
    memos.add("I live in Oslo.", wait=True)
    for correction in ("It's Bergen, not Oslo", "It's Tromsø, not Bergen", "It's Oslo, not Tromsø"):
        memos.add(correction, corrects=(), wait=True)
    assert facts(memos) == ["The user lives in Oslo."]


def test_a_day_that_words_told_is_not_left_behind(memos: MemOS) -> None:
    memos.add({"role": "user", "content": "I moved to Oslo in 2018.", "chat_time": "2025-01-01"}, wait=True)
    before = facts(memos)
    memos.add("It was in 2019, not 2018", corrects=(), wait=True)
    assert facts(memos) == before
