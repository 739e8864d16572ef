"""Chinese conversations in which a plan, a habit, a job or a home ends or changes, and those in which nothing does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from test_ends import Talk

from memos.memory.model import Memory


class TalkOfOthers(Talk):
    def of(self, slot: str) -> list[Memory]:
        return self.cube.write_soon(lambda tx: tx.find_slot(slot)).result()


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[TalkOfOthers]:
    made = TalkOfOthers(tmp_path / "talk.cube")
    yield made
    made.cube.close_now()


TRIP = "我们打算国庆去成都玩"  # said on Monday, 6 May 2024; what follows is said on the day after
AFTERWARDS: list[tuple[list[str], list[str]]] = [
    # journeys that are called off
    ([TRIP, "国庆不去成都了"], []),
    ([TRIP, "我们国庆不去成都玩了。"], []),
    ([TRIP, "最近太忙，国庆不去成都了"], []),
    ([TRIP, "不去成都了"], []),
    ([TRIP, "成都我们不去了"], []),
    ([TRIP, "国庆去不成了"], []),
    ([TRIP, "国庆取消了"], []),
    ([TRIP, "去成都的计划取消了"], []),
    ([TRIP, "我取消了去成都的行程"], []),
    ([TRIP, "我把国庆去成都的行程取消了"], []),
    ([TRIP, "成都之行取消了"], []),
    ([TRIP, "国庆的计划取消了"], []),
    ([TRIP, "旅行取消了"], []),
    (["计划国庆去成都", "国庆不去成都了"], []),
    (["我下周一要去北京出差", "北京出差取消了"], []),
    (["我打算周末去爬山", "周末不去爬山了"], []),
    ([TRIP, "我计划10月1号给妈妈买花", "国庆不去了"], ["plan:10月1号给妈妈买花"]),
    # that go elsewhere
    ([TRIP, "国庆改去重庆了"], ["plan:去重庆"]),
    ([TRIP, "改去重庆了"], ["plan:去重庆"]),
    ([TRIP, "国庆不去成都了，改去厦门，机票已经买好了。"], ["plan:去厦门"]),
    ([TRIP, "我下个月要去北京出差", "改去重庆了"], ["plan:国庆去成都玩", "plan:去北京出差"]),
    # what is on another day, or off
    (["航班是6月3号", "航班改到6月4号了"], ["航班时间:6月4号"]),
    (["我6月3号有航班", "航班改到6月4号了"], ["航班时间:6月4号"]),
    (["我的航班6月20号8:15起飞", "航班延误到6月21号了"], ["航班时间:6月21号"]),
    (["会议在周四", "会议推迟到周五"], ["会议时间:周五"]),
    (["我周四有个会议", "会议推迟到周五"], ["会议时间:周五"]),
    (["我周四有个会议", "周四的会议推迟到周五"], ["会议时间:周五"]),
    (["体检约在5月20号上午九点。", "体检改到5月27号了，下午两点。"], ["体检时间:5月27号"]),
    (["会议在周四", "会议取消了"], []),
    (["我周五有个面试", "周五的面试取消了"], []),
    # habits, work, home
    (["我总是喝咖啡", "我不喝咖啡了"], []),
    (["我喜欢喝咖啡", "从今天起我不喝咖啡了"], []),
    (["我抽烟", "我戒烟了"], []),
    (["我抽烟", "我不抽烟了"], []),
    (["我在华为工作，是程序员", "我从华为辞职了"], []),
    (["我在杭州的一家电商公司做产品经理", "我从公司辞职了"], []),
    (["我在华为做程序员", "我跳槽到腾讯了"], ["employer:腾讯", "job:程序员"]),
    (["我在华为做产品经理", "我升职了，现在是产品总监。"], ["employer:华为", "job:产品总监"]),
    (["我住在西湖区文三路88号", "我搬到上海了"], ["home_city:上海"]),
    (["我养了一只狗，叫豆包", "豆包去世了"], []),
]


@pytest.mark.parametrize(("said", "current"), AFTERWARDS)
def test_what_is_current_after_a_chinese_conversation(talk: Talk, said: list[str], current: list[str]) -> None:
    talk.say(*said)
    assert sorted(talk.current()) == sorted(current)


def test_what_is_said_of_a_relative_by_name_alone_is_about_that_relative(talk: TalkOfOthers) -> None:
    talk.say("我老公叫陈刚", "陈刚对海鲜过敏", "陈刚是消防员")
    told = [m.text for attribute in ("allergy", "job") for m in talk.of(f"user的老公|{attribute}")]
    assert told == ["用户的老公对海鲜过敏。", "用户的老公是消防员。"]


@pytest.mark.parametrize(
    "said",
    [
        "王刚对海鲜过敏",
        "小孩对花生过敏",
        "老师对芒果过敏",
        "有人对芒果过敏",
        "陈刚对海鲜过敏吗？",
        "如果陈刚对海鲜过敏",
    ],
)
def test_what_is_said_of_somebody_unknown_is_not_kept(talk: Talk, said: str) -> None:
    talk.say("我老公叫陈刚", said)
    assert talk.current() == ["spouse:陈刚"]


MEETING, INTERVIEW = "会议在周四", "我周五有个面试"
NO_CHANGE = [
    # asked, supposed, wished, doubted
    (TRIP, "国庆还去成都吗？"),
    (TRIP, "国庆不去成都了吗？"),
    (TRIP, "国庆是不是不去成都了？"),
    (TRIP, "谁说国庆不去成都了"),
    (TRIP, "国庆要不要改去重庆？"),
    (TRIP, "如果下雨，国庆不去成都了"),
    (TRIP, "要是下雨我们就不去成都了"),
    (TRIP, "下雨的话，国庆就不去成都了"),
    (TRIP, "国庆可能不去成都了"),
    (TRIP, "国庆说不定不去成都了"),
    (TRIP, "我想改去重庆"),
    (TRIP, "我不知道国庆去不去成都"),
    (TRIP, "国庆不去成都了，开玩笑的"),
    # denied, or only nearly
    (TRIP, "国庆不是不去成都了，是晚一天去"),
    (TRIP, "我不是不去成都，是还没买票"),
    (TRIP, "我不得不去成都"),
    (TRIP, "我没取消去成都的行程"),
    (TRIP, "我差点取消了去成都的行程"),
    (TRIP, "不要取消去成都的行程"),
    # of others
    (TRIP, "小王国庆不去成都了"),
    (TRIP, "我同事国庆不去成都了"),
    (TRIP, "我妹妹太忙，国庆不去成都了"),
    (TRIP, "小王说他很忙，不去成都了"),
    (TRIP, "他国庆不去成都了"),
    (TRIP, "老板以为我不去成都了"),
    (TRIP, "“国庆不去成都了”，他说"),
    (TRIP, "翻译：国庆不去成都了"),
    # of something else
    (TRIP, "圣诞不去成都了"),
    (TRIP, "国庆不去重庆了"),
    (TRIP, "去年国庆取消了"),
    (TRIP, "成都的酒店取消了"),
    (TRIP, "外卖取消了"),
    (TRIP, "取消了"),
    (TRIP, "活动取消了"),
    (TRIP, "国庆的活动取消了"),
    (TRIP, "计划取消了"),
    (MEETING, "会议推迟到周五了吗？"),
    (MEETING, "如果会议推迟到周五就好了"),
    (MEETING, "希望会议推迟到周五"),
    (MEETING, "会议没有推迟到周五"),
    (MEETING, "我同事的会议推迟到周五"),
    (MEETING, "昨天的会议取消了"),
    (INTERVIEW, "面试取消了吗"),
    (INTERVIEW, "小王的面试取消了"),
    (INTERVIEW, "下周五的面试取消了"),
    ("我喜欢喝咖啡", "我今天不喝咖啡了"),
    ("我喜欢喝咖啡", "我不是不喝咖啡了"),
    ("我喜欢喝咖啡", "我老公不喝咖啡了"),
    ("我抽烟", "我想戒烟"),
    ("我抽烟", "我老公戒烟了"),
    ("我在华为工作", "我没从华为辞职"),
    ("我在华为工作", "小王从华为辞职了"),
    ("我在华为工作", "我从华为辞职了吗？"),
    ("我住在杭州", "小王搬到上海了"),
    ("我住在杭州", "我差点搬到上海"),
]


@pytest.mark.parametrize(("known", "said"), NO_CHANGE)
def test_what_changes_nothing(talk: Talk, known: str, said: str) -> None:
    talk.say(known)
    before = talk.current()
    talk.say(said)
    assert before and talk.current() == before
