"""Calendar arithmetic for dates in text: the day, week, month … around a reference, as half-open local intervals.

Local wall-clock times are naive here; `Interval.utc` places them in a zone, so days of 23 and 25 hours come out right.
Conventions: weeks start on Monday; a weekend is Saturday and Sunday; seasons are the meteorological ones of the
northern hemisphere, winter named after the year it begins in; morning is 5–12, afternoon 12–18, evening 18–24 and
night 18–6.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo

DAY = timedelta(days=1)
PARTS = {
    "morning": (5, 12),
    "noon": (11, 14),
    "afternoon": (12, 18),
    "evening": (18, 24),
    "night": (18, 30),
    "dawn": (0, 6),
}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}


@dataclass(frozen=True, slots=True)
class Interval:
    """A half-open interval in local wall-clock time (naive) or UTC (aware), and how it was meant.

    `precision` is minute, hour, part, day, weekend, week, month, season, quarter, year, decade or range.
    """

    from_: datetime
    to: datetime
    precision: str
    relative: bool = False
    recurring: bool = False
    confidence: float = 0.95

    def utc(self, zone: tzinfo) -> tuple[datetime, datetime]:
        """Both ends in UTC, read in `zone` where they are naive."""
        return _utc(self.from_, zone), _utc(self.to, zone)

    def but(
        self, *, confidence: float | None = None, relative: bool | None = None, recurring: bool | None = None
    ) -> Interval:
        """The same interval, meant otherwise."""
        return replace(
            self,
            confidence=self.confidence if confidence is None else confidence,
            relative=self.relative if relative is None else relative,
            recurring=self.recurring if recurring is None else recurring,
        )


def _utc(value: datetime, zone: tzinfo) -> datetime:
    return (value if value.tzinfo else value.replace(tzinfo=zone)).astimezone(UTC)


@dataclass(frozen=True, slots=True)
class Reference:
    """When and where a text was written: `now` in UTC and as local wall-clock time, and the zone."""

    now: datetime
    local: datetime
    zone: tzinfo

    @property
    def today(self) -> date:
        """The local calendar day."""
        return self.local.date()


def midnight(day: date) -> datetime:
    """The local beginning of `day`."""
    return datetime(day.year, day.month, day.day)


def day_of(day: date) -> Interval:
    """The whole day."""
    return Interval(midnight(day), midnight(day) + DAY, "day")


def part_of(day: date, part: str) -> Interval:
    """A part of a day, named as in `PARTS`."""
    begin, end = PARTS[part]
    return Interval(midnight(day) + timedelta(hours=begin), midnight(day) + timedelta(hours=end), "part")


def clock_of(day: date, hour: int, minute: int | None) -> Interval:
    """An hour (`minute` None) or a minute of a day. Raises ValueError outside 0–24 h."""
    if not 0 <= hour <= 24 or not 0 <= (minute or 0) < 60:
        raise ValueError(f"{hour}:{minute} is not a time of day")
    begin = midnight(day) + timedelta(hours=hour, minutes=minute or 0)
    if minute is None:
        return Interval(begin, begin + timedelta(hours=1), "hour")
    return Interval(begin, begin + timedelta(minutes=1), "minute")


def week_of(day: date) -> Interval:
    """Monday to Sunday around `day`."""
    begin = midnight(day - DAY * day.weekday())
    return Interval(begin, begin + DAY * 7, "week")


def weekend_of(day: date) -> Interval:
    """Saturday and Sunday of the week of `day`."""
    begin = midnight(day - DAY * day.weekday() + DAY * 5)
    return Interval(begin, begin + DAY * 2, "weekend")


def month_of(year: int, month: int) -> Interval:
    """A calendar month."""
    return Interval(datetime(year, month, 1), midnight(add_months(date(year, month, 1), 1)), "month")


def quarter_of(year: int, quarter: int) -> Interval:
    """A quarter, 1 to 4."""
    begin = date(year, quarter * 3 - 2, 1)
    return Interval(midnight(begin), midnight(add_months(begin, 3)), "quarter")


def season_of(year: int, season: str) -> Interval:
    """A season that begins in `year`."""
    begin = date(year, SEASONS[season], 1)
    return Interval(midnight(begin), midnight(add_months(begin, 3)), "season")


def year_of(year: int) -> Interval:
    """A calendar year."""
    return Interval(datetime(year, 1, 1), datetime(year + 1, 1, 1), "year")


def decade_of(year: int) -> Interval:
    """The ten years from `year`."""
    return Interval(datetime(year, 1, 1), datetime(year + 10, 1, 1), "decade")


def third_of(whole: Interval, which: str) -> Interval:
    """The early, mid or late third of an interval, in whole days."""
    days = (whole.to - whole.from_).days
    cut = [whole.from_ + DAY * round(days * i / 3) for i in range(3)] + [whole.to]
    i = {"early": 0, "mid": 1, "late": 2}[which]
    return replace(whole, from_=cut[i], to=cut[i + 1], precision="range")


def add_months(day: date, months: int) -> date:
    """`day` moved by calendar months, to the last day of a shorter month."""
    index = day.year * 12 + day.month - 1 + months
    year, month = divmod(index, 12)
    last = (date(year + (month == 11), (month + 1) % 12 + 1, 1) - DAY).day
    return date(year, month + 1, min(day.day, last))


def moved(ref: Reference, count: float, unit: str) -> Interval:
    """What "`count` units from now" means (negative: ago).

    Minutes and hours are exact. A day is that day; "two weeks ago" is the seven days around that day, "two weeks from
    now" that day itself; months and years are the calendar month and year it falls in.
    """
    if unit in ("minute", "hour"):
        at = ref.now + timedelta(**{unit + "s": count})
        return Interval(at, at + timedelta(minutes=1), "minute", relative=True)
    today = ref.today
    if unit == "day":
        return day_of(today + DAY * round(count)).but(relative=True)
    if unit == "weekend":
        return weekend_of(today + DAY * round(7 * count)).but(relative=True)
    if unit == "week":
        day = midnight(today + DAY * round(7 * count))
        if count > 0:
            return Interval(day, day + DAY, "day", relative=True)
        return Interval(day - DAY * 3, day + DAY * 4, "week", relative=True)
    if unit == "month" or count % 1:
        day_then = add_months(today, round(count * (1 if unit == "month" else 12)))
        return month_of(day_then.year, day_then.month).but(relative=True)
    if unit == "decade":
        return decade_of((today.year + round(10 * count)) // 10 * 10).but(relative=True)
    return year_of(today.year + round(count)).but(relative=True)


def stretch(ref: Reference, count: float, unit: str) -> Interval:
    """The time from now to "`count` units from now" (negative: the last units until now)."""
    if unit in ("minute", "hour"):
        other = ref.local + timedelta(**{unit + "s": count})
    elif unit in ("month", "year", "decade"):
        months = round(count * {"month": 1, "year": 12, "decade": 120}[unit])
        other = datetime.combine(add_months(ref.today, months), ref.local.time())
    else:
        other = ref.local + DAY * (count if unit == "day" else 7 * count)
    begin, end = sorted((other, ref.local))
    return Interval(begin, end, "range", relative=True)
