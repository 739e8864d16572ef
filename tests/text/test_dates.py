"""Dates in text: what they mean at a reference time, and what is no date."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.errors import InvalidInput
from memos.text.dates import DateMention, find_dates

SUNDAY = datetime(2023, 10, 29, 14, tzinfo=UTC)
WEDNESDAY = datetime(2024, 5, 8, 12, tzinfo=UTC)


def one(text: str, now: datetime = SUNDAY, zone: str = "UTC") -> DateMention:
    found = find_dates(text, now=now, zone=zone)
    assert len(found) == 1, [text[m.start : m.end] for m in found]
    return found[0]


def span(mention: DateMention, zone: timezone = UTC) -> str:
    return " ".join(
        t.astimezone(zone).strftime("%Y-%m-%dT%H:%M").replace("T00:00", "") for t in (mention.from_, mention.to)
    )


ENGLISH = [
    ("8 May 2023", "2023-05-08 2023-05-09", "day"),
    ("the 8th of May 2023", "2023-05-08 2023-05-09", "day"),
    ("May 8th, 2023", "2023-05-08 2023-05-09", "day"),
    ("may 8, 2023", "2023-05-08 2023-05-09", "day"),
    ("8 May, 2023", "2023-05-08 2023-05-09", "day"),
    ("2023-05-08", "2023-05-08 2023-05-09", "day"),
    ("2023/5/8", "2023-05-08 2023-05-09", "day"),
    ("2023-05-08T10:15:00", "2023-05-08T10:15 2023-05-08T10:16", "minute"),
    ("05/08/2023", "2023-05-08 2023-05-09", "day"),
    ("13/08/2023", "2023-08-13 2023-08-14", "day"),
    ("8.5.2023", "2023-05-08 2023-05-09", "day"),
    ("Feb 29 2024", "2024-02-29 2024-03-01", "day"),
    ("May 2023", "2023-05-01 2023-06-01", "month"),
    ("2023-05", "2023-05-01 2023-06-01", "month"),
    ("early May 2023", "2023-05-01 2023-05-11", "range"),
    ("in 1999", "1999-01-01 2000-01-01", "year"),
    ("the 90s", "1990-01-01 2000-01-01", "decade"),
    ("the 1980s", "1980-01-01 1990-01-01", "decade"),
    ("the nineties", "1990-01-01 2000-01-01", "decade"),
    ("summer 2022", "2022-06-01 2022-09-01", "season"),
    ("the fall of 2021", "2021-09-01 2021-12-01", "season"),
    ("winter 2022", "2022-12-01 2023-03-01", "season"),
    ("Q3 2024", "2024-07-01 2024-10-01", "quarter"),
    ("the third quarter of 2024", "2024-07-01 2024-10-01", "quarter"),
    ("today", "2023-10-29 2023-10-30", "day"),
    ("tonight", "2023-10-29T18:00 2023-10-30", "part"),
    ("yesterday", "2023-10-28 2023-10-29", "day"),
    ("yesterday evening", "2023-10-28T18:00 2023-10-29", "part"),
    ("tomorrow", "2023-10-30 2023-10-31", "day"),
    ("last night", "2023-10-28T18:00 2023-10-29T06:00", "part"),
    ("this morning", "2023-10-29T05:00 2023-10-29T12:00", "part"),
    ("the day before yesterday", "2023-10-27 2023-10-28", "day"),
    ("the day after tomorrow", "2023-10-31 2023-11-01", "day"),
    ("last Saturday", "2023-10-28 2023-10-29", "day"),
    ("last Sunday", "2023-10-22 2023-10-23", "day"),
    ("last Sat", "2023-10-28 2023-10-29", "day"),
    ("next Thurs", "2023-11-02 2023-11-03", "day"),
    ("I went there on Fri", "2023-10-27 2023-10-28", "day"),
    ("this Saturday", "2023-10-28 2023-10-29", "day"),
    ("next Saturday", "2023-11-04 2023-11-05", "day"),
    ("Friday next week", "2023-11-03 2023-11-04", "day"),
    ("next week, Friday", "2023-11-03 2023-11-04", "day"),
    ("I went there on Friday", "2023-10-27 2023-10-28", "day"),
    ("We will meet on Friday", "2023-11-03 2023-11-04", "day"),
    ("last week", "2023-10-16 2023-10-23", "week"),
    ("this week", "2023-10-23 2023-10-30", "week"),
    ("next week", "2023-10-30 2023-11-06", "week"),
    ("last weekend", "2023-10-21 2023-10-23", "weekend"),
    ("this past weekend", "2023-10-21 2023-10-23", "weekend"),
    ("this weekend", "2023-10-28 2023-10-30", "weekend"),
    ("last month", "2023-09-01 2023-10-01", "month"),
    ("next month", "2023-11-01 2023-12-01", "month"),
    ("last year", "2022-01-01 2023-01-01", "year"),
    ("this year", "2023-01-01 2024-01-01", "year"),
    ("last summer", "2023-06-01 2023-09-01", "season"),
    ("next summer", "2024-06-01 2024-09-01", "season"),
    ("3 days ago", "2023-10-26 2023-10-27", "day"),
    ("two weeks ago", "2023-10-12 2023-10-19", "week"),
    ("a couple of months ago", "2023-08-01 2023-09-01", "month"),
    ("two years ago", "2021-01-01 2022-01-01", "year"),
    ("a few days ago", "2023-10-24 2023-10-28", "range"),
    ("3 hours ago", "2023-10-29T11:00 2023-10-29T11:01", "minute"),
    ("in two weeks", "2023-11-12 2023-11-13", "day"),
    ("in 3 days", "2023-11-01 2023-11-02", "day"),
    ("in 5 minutes", "2023-10-29T14:05 2023-10-29T14:06", "minute"),
    ("two weeks from now", "2023-11-12 2023-11-13", "day"),
    ("the week before 9 June 2023", "2023-05-29 2023-06-05", "week"),
    ("the weekend before 20 May 2023", "2023-05-13 2023-05-15", "weekend"),
    ("the Friday before 20 May 2023", "2023-05-19 2023-05-20", "day"),
    ("the Sunday after 20 May 2023", "2023-05-21 2023-05-22", "day"),
    ("two days after 9 June 2023", "2023-06-11 2023-06-12", "day"),
    ("the weekend of 5 June 2023", "2023-06-10 2023-06-12", "weekend"),
    ("the last week of June 2023", "2023-06-24 2023-07-01", "week"),
    ("since 2016", "2016-01-01 2023-10-29T14:00", "range"),
    ("I have lived here for 3 years", "2020-10-29T14:00 2023-10-29T14:00", "range"),
    ("over the last two weeks", "2023-10-15T14:00 2023-10-29T14:00", "range"),
    ("in the past year", "2022-10-29T14:00 2023-10-29T14:00", "range"),
    ("the next 3 days", "2023-10-29T14:00 2023-11-01T14:00", "range"),
    ("between 3 and 7 May 2023", "2023-05-03 2023-05-08", "range"),
    ("3-7 May 2023", "2023-05-03 2023-05-08", "range"),
    ("May 3-7, 2023", "2023-05-03 2023-05-08", "range"),
    ("from June to August 2022", "2022-06-01 2022-09-01", "range"),
    ("from May 3, 2023 to June 5, 2023", "2023-05-03 2023-06-06", "range"),
    ("between 2010 and 2014", "2010-01-01 2015-01-01", "range"),
    ("2010-2014", "2010-01-01 2015-01-01", "range"),
    ("from Monday to Friday", "2023-10-30 2023-11-04", "range"),
    ("What did I do in May?", "2023-05-01 2023-06-01", "month"),
    ("We will go in May", "2024-05-01 2024-06-01", "month"),
    ("last May", "2023-05-01 2023-06-01", "month"),
    ("I met her on 8 May", "2023-05-08 2023-05-09", "day"),
    ("We're going on 8 May", "2024-05-08 2024-05-09", "day"),
    ("at the end of this month", "2023-10-22 2023-11-01", "range"),
    ("tomorrow at 3pm", "2023-10-30T15:00 2023-10-30T16:00", "hour"),
    ("at 15:30 on Monday", "2023-10-30T15:30 2023-10-30T15:31", "minute"),
    ("May 8, 2023 at 10:15 a.m.", "2023-05-08T10:15 2023-05-08T10:16", "minute"),
    ("at 9am", "2023-10-30T09:00 2023-10-30T10:00", "hour"),
    ("Christmas 2022", "2022-12-25 2022-12-26", "day"),
    ("last Christmas", "2022-12-25 2022-12-26", "day"),
    ("due on the 5th.", "2023-11-05 2023-11-06", "day"),
    ("The exam was moved to 8 May", "2024-05-08 2024-05-09", "day"),
    ("I rescheduled the exam to 8 May", "2024-05-08 2024-05-09", "day"),
    ("We moved to 8 May Street", "2023-05-08 2023-05-09", "day"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected", "precision"), ENGLISH)
def test_english(text: str, expected: str, precision: str) -> None:
    mention = one(text)
    assert (span(mention), mention.precision) == (expected, precision)


CHINESE = [
    ("2023年5月8日", "2023-05-08 2023-05-09", "day"),
    ("二〇二三年五月八日", "2023-05-08 2023-05-09", "day"),
    ("我5月8号去了", "2023-05-08 2023-05-09", "day"),
    ("2023年5月", "2023-05-01 2023-06-01", "month"),
    ("1999年", "1999-01-01 2000-01-01", "year"),
    ("昨天", "2023-10-28 2023-10-29", "day"),
    ("前天", "2023-10-27 2023-10-28", "day"),
    ("大前天", "2023-10-26 2023-10-27", "day"),
    ("今天", "2023-10-29 2023-10-30", "day"),
    ("明天", "2023-10-30 2023-10-31", "day"),
    ("后天", "2023-10-31 2023-11-01", "day"),
    ("昨晚", "2023-10-28T18:00 2023-10-29T06:00", "part"),
    ("上周五", "2023-10-20 2023-10-21", "day"),
    ("下周一", "2023-10-30 2023-10-31", "day"),
    ("这周末", "2023-10-28 2023-10-30", "weekend"),
    ("上周", "2023-10-16 2023-10-23", "week"),
    ("上个月", "2023-09-01 2023-10-01", "month"),
    ("上个月8号", "2023-09-08 2023-09-09", "day"),
    ("去年夏天", "2022-06-01 2022-09-01", "season"),
    ("去年5月8日", "2022-05-08 2022-05-09", "day"),
    ("明年", "2024-01-01 2025-01-01", "year"),
    ("三天前", "2023-10-26 2023-10-27", "day"),
    ("两周后", "2023-11-12 2023-11-13", "day"),
    ("两年前", "2021-01-01 2022-01-01", "year"),
    ("几天前", "2023-10-24 2023-10-28", "range"),
    ("明天上午3点", "2023-10-30T03:00 2023-10-30T04:00", "hour"),
    ("明天下午3点", "2023-10-30T15:00 2023-10-30T16:00", "hour"),
    ("明晚八点半", "2023-10-30T20:30 2023-10-30T20:31", "minute"),
    ("下周一下午三点", "2023-10-30T15:00 2023-10-30T16:00", "hour"),
    ("我周五去了奥斯陆", "2023-10-27 2023-10-28", "day"),
    ("星期天要开会", "2023-10-29 2023-10-30", "day"),
    ("2024年第三季度", "2024-07-01 2024-10-01", "quarter"),
    ("上世纪八十年代", "1980-01-01 1990-01-01", "decade"),
    ("从3月到5月", "2023-03-01 2023-06-01", "range"),
    ("自2016年以来", "2016-01-01 2023-10-29T14:00", "range"),
    ("最近三天", "2023-10-26T14:00 2023-10-29T14:00", "range"),
    ("去年圣诞节", "2022-12-25 2022-12-26", "day"),
    ("明年五一假期", "2024-05-01 2024-05-02", "day"),
    ("我们下周五一起去", "2023-11-03 2023-11-04", "day"),
    ("考试改到5月8日了", "2024-05-08 2024-05-09", "day"),
]


@pytest.mark.parametrize(("text", "expected", "precision"), CHINESE)
def test_chinese(text: str, expected: str, precision: str) -> None:
    mention = one(text)
    assert (span(mention), mention.precision) == (expected, precision)


@pytest.mark.parametrize(
    "text",
    [
        "I may go there", "They march on", "wait a second", "the sun is out", "we wed and sat", "an august company",
        "when I was 10", "my code is 2207", "call 555-2019", "I ran 2019 steps", "2000 words", "version 3.2.1",
        "10.0.0.1", "1/2 cup", "on floor 9", "the 5th floor", "Room 12", "ZX-4417", "he is in his 30s",
        "every one of us",
        "in a minute", "in the way", "last of all", "next to me", "this is it", "a week of rain", "fall down",
        "spring water", "I like summer", "may 8 people come?", "a decade", "daily", "recently", "May 32",
        "2023-13-45", "0 May", "for 3 years", "I learned it in two weeks, it was fun", "mon ami", "May I?",
        "June is my aunt",
        "三点建议", "5号楼", "8号线", "我喜欢夏天", "前面", "一周五次", "生日快乐", "两个月亮", "年级", "",
    ],
)  # fmt: skip
def test_what_is_no_date(text: str) -> None:
    assert find_dates(text, now=SUNDAY) == []


def test_midweek_conventions() -> None:
    assert span(one("last Friday", WEDNESDAY)) == "2024-05-03 2024-05-04"
    assert span(one("this Friday", WEDNESDAY)) == "2024-05-10 2024-05-11"
    assert span(one("next Friday", WEDNESDAY)) == "2024-05-17 2024-05-18"
    assert span(one("this weekend", WEDNESDAY)) == "2024-05-11 2024-05-13"
    assert span(one("last weekend", WEDNESDAY)) == "2024-05-04 2024-05-06"
    assert span(one("last summer", WEDNESDAY)) == "2023-06-01 2023-09-01"
    assert span(one("this summer", WEDNESDAY)) == "2024-06-01 2024-09-01"


def test_the_day_is_the_speakers_day() -> None:
    late = datetime(2024, 5, 8, 23, 30, tzinfo=UTC)
    assert one("yesterday", late, "Asia/Tokyo").from_ == datetime(2024, 5, 7, 15, tzinfo=UTC)
    assert one("yesterday", late, "-05:00").from_ == datetime(2024, 5, 7, 5, tzinfo=UTC)


def test_days_of_23_and_25_hours() -> None:
    short = one("31 March 2024", zone="Europe/Berlin")
    long = one("27 October 2024", zone="Europe/Berlin")
    assert (short.to - short.from_, long.to - long.from_) == (timedelta(hours=23), timedelta(hours=25))


def test_hours_ago_are_counted_in_real_time() -> None:
    now = datetime(2024, 3, 31, 2, tzinfo=UTC)
    assert one("3 hours ago", now, "Europe/Berlin").from_ == now - timedelta(hours=3)


def test_ambiguous_readings_are_less_sure() -> None:
    assert one("05/08/2023").confidence < 0.7 < one("13/08/2023").confidence
    assert one("in May").confidence < one("May 2023").confidence


@pytest.mark.parametrize(
    "text", ["every Monday", "on Mondays", "every day", "every other week", "每周一", "每天", "每年"]
)
def test_what_repeats_is_marked(text: str) -> None:
    mention = one(text)
    assert mention.recurring
    assert mention.to > SUNDAY


def test_relative_and_absolute_are_told_apart() -> None:
    assert one("last week").relative
    assert not one("8 May 2023").relative
    assert one("昨天").relative
    assert not one("2023年5月8日").relative


def test_several_dates_come_in_order_without_overlap() -> None:
    text = "I moved on 3 May 2021, married last summer, and leave tomorrow."
    assert [text[m.start : m.end] for m in find_dates(text, now=SUNDAY)] == ["3 May 2021", "last summer", "tomorrow"]


def test_a_naive_now_and_an_unknown_zone_are_errors() -> None:
    with pytest.raises(InvalidInput):
        find_dates("today", now=datetime(2024, 1, 1))
    with pytest.raises(InvalidInput):
        find_dates("today", now=SUNDAY, zone="Mars/Base")


_WORDS = """
last next this 3 31 May June 2023 week weekend before after since from to and
between Friday ago days two in the of at 3pm 9999999 12:30 0 2024-02-30 Christmas every
Q3 90s 上 周 五 昨天 三 月 2023年 5月 8日 点 前 后 下午 İ
"""
WORDS = st.sampled_from(_WORDS.split())


@given(st.lists(WORDS | st.text(max_size=4), max_size=10).map(" ".join), st.datetimes(timezones=st.just(UTC)))
def test_any_text_is_safe_and_spans_are_ordered(text: str, now: datetime) -> None:
    at = 0
    for mention in find_dates(text, now=now, zone="America/New_York" if now.year > 1 else "UTC"):
        assert at <= mention.start < mention.end <= len(text)
        assert mention.from_ < mention.to
        assert mention.from_.tzinfo is UTC
        at = mention.end
