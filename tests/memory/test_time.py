"""Times: every accepted way of writing one gives the same instant; nonsense is refused with what would be accepted."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.errors import InvalidInput
from memos.memory.time import from_micros, load_zone, parse_time, to_micros, utcnow

MAY_8 = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2023-05-08T13:56Z",
        "2023-05-08T13:56:00+00:00",
        "2023-05-08 13:56",
        "2023/05/08 13:56",
        "2023/5/8, 1:56 PM",
        "1:56 pm on 8 May, 2023",
        "May 8, 2023 1:56 PM",
        "May 8th, 2023 at 1:56 p.m.",
        "Monday, 8th of May 2023 at 1:56pm",
        "Mon, 08 May 2023 13:56:00 GMT",
        "Mon, 8 May 2023 15:56:00 +0200",
        "Mon, 8 May 2023 15:56:00 +0200 (CEST)",
        "Mon May  8 13:56:00 2023",
        "Mon May  8 09:56:00 EDT 2023",
        "08/May/2023:13:56:00 +0000",
        "20230508T135600Z",
        "20230508T1356",
        "2023-05-08T15:56+02:00[Europe/Paris]",
        "2023-05-08 15:56 Europe/Paris",
        "2023-05-08T06:56:00-0700",
        "8.5.2023 13:56",
        "2023年5月8日 下午1点56分",
        "2023年5月8日13:56",
        "2023年5月8日(月) 13時56分",
        "2023年5月8日 星期一 下午1:56",
        "２０２３年５月８日 １３：５６",
        "2023년 5월 8일 오후 1시 56분",
        "2023-W19-1T13:56",
        "1683554160",
        "1683554160000",
        "1683554160.0",
    ],
)
def test_every_way_of_writing_an_instant_gives_the_same_instant(text: str) -> None:
    assert parse_time(text).instant == MAY_8


@pytest.mark.parametrize(
    ("value", "instant"),
    [
        (1_683_554_160, MAY_8),
        (1_683_554_160_000, MAY_8),
        (1_683_554_160.25, MAY_8 + timedelta(milliseconds=250)),
        (1_683_554_160_000_000, MAY_8),
        (1_683_554_160_000_000_000, MAY_8),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (-86_400, datetime(1969, 12, 31, tzinfo=UTC)),
        (MAY_8, MAY_8),
        (MAY_8.replace(tzinfo=None), MAY_8),
        (MAY_8.astimezone(timezone(timedelta(hours=9))), MAY_8),
        (date(2023, 5, 8), datetime(2023, 5, 8, tzinfo=UTC)),
    ],
)
def test_numbers_dates_and_datetimes_are_read(value: object, instant: datetime) -> None:
    assert parse_time(value).instant == instant


@pytest.mark.parametrize(
    ("text", "precision"),
    [
        ("1999", "year"),
        ("1999年", "year"),
        ("2023-05", "month"),
        ("May 2023", "month"),
        ("2023年5月", "month"),
        ("2023-05-08", "day"),
        ("20230508", "day"),
        ("13/05/2023", "day"),
        ("2023年5月8日 下午3点", "hour"),
        ("8 May 2023 3pm", "hour"),
        ("2023-05-08T15", "hour"),
        ("2023年5月8日 下午3点半", "minute"),
        ("2023-05-08 15:00", "minute"),
        ("2023-05-08 15:00:00", "second"),
        ("2023-05-08 15:00:00.5", "second"),
        ("1683554160", "second"),
    ],
)
def test_the_precision_is_that_of_the_writing(text: str, precision: str) -> None:
    assert parse_time(text).precision == precision


@pytest.mark.parametrize(
    "value",
    [
        "",
        "  ",
        "foo",
        "soon",
        "May",
        "8 May",
        "10:30",
        "2023-13-01",
        "2023-02-30",
        "2023-05-08 25:00",
        "2023-05-08 10:61",
        "13 am 8 May 2023",
        "5/8/2023",
        "0000-01-01",
        "10000-01-01",
        "0001-01-01T00:00+05:00",
        "9999-12-31T23:59-01:00",
        "2023-05-08 and 2023-05-09",
        "2023-05-08T10:00+99:00",
        "2023-05-08 10:00 Mars/Olympus",
        "2023 10:00",
        "x" * 500,
        "1e400",
        "9" * 25,
        "\ud800",
        float("nan"),
        float("inf"),
        1e300,
        10**40,
        True,
        None,
        [],
        {},
        b"2023-05-08",
    ],
)
def test_nonsense_is_refused_with_what_is_accepted(value: object) -> None:
    with pytest.raises(InvalidInput, match="accepted are"):
        parse_time(value)


def test_a_naive_time_is_in_the_default_zone_which_is_declared() -> None:
    read = parse_time("2023-05-08 15:56", default_zone="Europe/Paris")
    assert (read.instant, read.zone, read.zone_given) == (MAY_8, "Europe/Paris", False)
    assert parse_time("2023-05-08 15:56 UTC", default_zone="Europe/Paris").zone == "UTC"
    assert parse_time(datetime(2023, 5, 8, 19, 26), default_zone="+05:30").instant == MAY_8


def test_the_written_zone_is_kept() -> None:
    assert parse_time("2023-05-08T15:56+02:00").zone == "+02:00"
    assert parse_time("2023-05-08T15:56+02:00[Europe/Paris]").zone == "Europe/Paris"
    assert parse_time("2023-05-08T09:26-04:30").zone == "-04:30"
    assert parse_time(datetime(2023, 5, 8, tzinfo=ZoneInfo("Asia/Tokyo"))).zone == "Asia/Tokyo"


def test_daylight_saving_is_that_of_the_day() -> None:
    assert parse_time("2023-01-15 12:00", default_zone="America/New_York").instant.hour == 17
    assert parse_time("2023-07-15 12:00", default_zone="America/New_York").instant.hour == 16
    # 2:30 did not exist on 12 March (read with the winter offset); 1:30 existed twice on 5 November (the first counts).
    assert parse_time("2023-03-12 02:30", default_zone="America/New_York").instant == datetime(
        2023, 3, 12, 7, 30, tzinfo=UTC
    )
    assert parse_time("2023-11-05 01:30", default_zone="America/New_York").instant == datetime(
        2023, 11, 5, 5, 30, tzinfo=UTC
    )


def test_halves_of_the_day_meet_at_noon_and_midnight() -> None:
    hours = {"12 am": 0, "12 pm": 12, "1 am": 1, "11 pm": 23}
    assert {text: parse_time(f"{text} 8 May 2023").instant.hour for text in hours} == hours
    assert parse_time("2023年5月8日 中午12点").instant.hour == 12
    assert parse_time("2023年5月8日 凌晨12点").instant.hour == 0
    assert parse_time("2023年5月8日 晚上8点").instant.hour == 20


def test_today_and_yesterday_are_days_of_the_zone() -> None:
    now = datetime(2023, 5, 8, 23, 30, tzinfo=UTC)  # already the 9th in Tokyo
    assert parse_time("today", default_zone="Asia/Tokyo", now=now).instant == datetime(2023, 5, 8, 15, tzinfo=UTC)
    assert parse_time("yesterday 3pm", now=now).instant == datetime(2023, 5, 7, 15, tzinfo=UTC)
    assert parse_time("now", now=now).instant == now


@pytest.mark.parametrize("name", ["Mars/Olympus", "../etc/passwd", "", "+25:00", "\x00"])
def test_an_unknown_zone_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"time zone|offset"):
        load_zone(name)


def test_a_naive_datetime_has_no_micros() -> None:
    with pytest.raises(InvalidInput, match="no time zone"):
        to_micros(datetime(2023, 5, 8))
    with pytest.raises(InvalidInput, match="years 1 to 9999"):
        from_micros(10**18)
    assert utcnow().tzinfo is UTC


INSTANTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))
ZONES = st.sampled_from(["UTC", "Asia/Kathmandu", "-03:30", "+14:00"])


@given(INSTANTS)
def test_micros_and_iso_text_round_trip_exactly(instant: datetime) -> None:
    assert from_micros(to_micros(instant)) == instant
    assert parse_time(instant.isoformat()).instant == instant
    assert parse_time(instant).instant == instant


@given(INSTANTS, ZONES)
def test_times_with_a_weekday_are_read_back(instant: datetime, zone: str) -> None:
    local = instant.astimezone(load_zone(zone)).replace(tzinfo=None)
    read = parse_time(f"{local:%a} {local.isoformat(' ', 'seconds')}", default_zone=zone)
    assert abs(read.instant - instant) < timedelta(minutes=1)


@given(st.text(max_size=40) | st.from_regex(r"[0-9年月日:/. TZapm+-]{1,24}", fullmatch=True))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read = parse_time(text)
    except InvalidInput:
        return
    assert read.instant.tzinfo is UTC
