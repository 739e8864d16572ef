"""What each English date pattern means: the resolvers of the table in `dates_english`; conventions in `dates`."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from memos.text.date_rules import Found, Scene
from memos.text.intervals import (
    DAY,
    SEASONS,
    Interval,
    add_months,
    clock_of,
    day_of,
    decade_of,
    midnight,
    month_of,
    moved,
    part_of,
    quarter_of,
    season_of,
    stretch,
    third_of,
    week_of,
    weekend_of,
    year_of,
)


def _words(text: str) -> list[str]:
    return text.split()


MONTHS = _words("january february march april may june july august september october november december")
WEEKDAYS = _words("monday tuesday wednesday thursday friday saturday sunday")
_WEEKDAY_NUMBER = {name[:3]: i for i, name in enumerate(WEEKDAYS)}
_MONTH_NUMBER = {name[:3]: i for i, name in enumerate(MONTHS, 1)}
NUMBERS = {
    word: i
    for i, word in enumerate(
        _words(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen twenty"
        )
    )
} | {"a": 1, "an": 1, "thirty": 30, "forty": 40, "fifty": 50}
_VAGUE = {"couple": (2, 2), "few": (2, 5), "several": (3, 7)}
DECADES = {
    "twenties": 1920,
    "thirties": 1930,
    "forties": 1940,
    "fifties": 1950,
    "sixties": 1960,
    "seventies": 1970,
    "eighties": 1980,
    "nineties": 1990,
}
_HOLIDAYS = {
    "christmas eve": (12, 24),
    "christmas": (12, 25),
    "xmas": (12, 25),
    "new year's eve": (12, 31),
    "new year's day": (1, 1),
    "new year's": (1, 1),
    "halloween": (10, 31),
    "valentine's day": (2, 14),
}


_ALSO_WORDS = ("may", "march", "mar", "sep", "dec", "jan", "oct", "nov")
_SURE_HEADS = ("in", "last", "next", "this", "since", "early in", "late in", "early", "late")


def day_month(match: re.Match[str], scene: Scene) -> Interval | None:
    """A day and a month, with or without a year."""
    part = match.groupdict()
    month = _MONTH_NUMBER[part["mon"][:3]]
    first, last = int(part["d"]), int(part.get("d2") or part["d"])
    if part["y"]:
        return _days(int(part["y"]), month, first, last)
    year = _year_by_tense(scene, match, lambda year: date(year, month, first))
    return _days(year, month, first, last).but(confidence=0.75)


def _days(year: int, month: int, first: int, last: int) -> Interval:
    begin = day_of(date(year, month, first))
    if last == first:
        return begin
    if last < first:
        raise ValueError("the last day is before the first")
    return Interval(begin.from_, day_of(date(year, month, last)).to, "range")


def _year_by_tense(scene: Scene, match: re.Match[str], day_in: Callable[[int], date]) -> int:
    """The year that makes a month or day past or future as its sentence says, or else the nearest."""
    today = scene.ref.today
    options: list[tuple[date, int]] = []
    for year in (today.year - 1, today.year, today.year + 1):
        try:
            options.append((day_in(year), year))
        except ValueError:  # 29 February
            continue
    if not options:
        raise ValueError("no such day in these years")
    match scene.tense(match.start(), match.end()):
        case "past":
            return max((o for o in options if o[0] <= today), default=options[0])[1]
        case "future":
            return min((o for o in options if o[0] >= today.replace(day=1)), default=options[-1])[1]
    return min(options, key=lambda o: abs(o[0] - today))[1]


def month_year(match: re.Match[str], scene: Scene) -> Interval:
    """Read "May 2023", "early May 2023"."""
    month = month_of(int(match["y"]), _MONTH_NUMBER[match["mon"][:3]])
    return third_of(month, match["third"]) if match["third"] else month


def bare_month(match: re.Match[str], scene: Scene) -> Interval | None:
    """Read "in May", "last May": the year by its word or by tense."""
    number, head = _MONTH_NUMBER[match["mon"][:3]], match["head"]
    written = scene.text[match.start("mon") : match.end("mon")]
    if written.islower() and match["mon"] in _ALSO_WORDS and head not in _SURE_HEADS:
        return None
    today = scene.ref.today
    if head == "last":
        year = today.year if number < today.month else today.year - 1
    elif head == "next":
        year = today.year if number > today.month else today.year + 1
    elif head == "this":
        year = today.year
    else:
        year = _year_by_tense(scene, match, lambda y: date(y, number, 1))
    month = month_of(year, number).but(confidence=0.85 if head in ("last", "next", "this") else 0.7, relative=True)
    return third_of(month, match["third"]) if match["third"] else month


def month_range(match: re.Match[str], scene: Scene) -> Interval:
    """Read "from June to August"."""
    first, last = _MONTH_NUMBER[match["mon"][:3]], _MONTH_NUMBER[match["mon2"][:3]]
    given = match["y2"] or match["y"]
    last_year = int(given) if given else _year_by_tense(scene, match, lambda y: date(y, last, 1))
    first_year = int(match["y"]) if match["y"] else last_year - (first > last)
    begin, end = month_of(first_year, first), month_of(last_year, last)
    return Interval(begin.from_, end.to, "range", confidence=0.9 if given else 0.7)


def iso_day(match: re.Match[str], scene: Scene) -> Interval:
    """Read "2023-05-08", with or without a time."""
    day = date(int(match["y"]), int(match["m"]), int(match["d"]))
    if match["hh"] is None:
        return day_of(day)
    return clock_of(day, int(match["hh"]), int(match["mm"]))


def slashed_day(match: re.Match[str], scene: Scene) -> Interval:
    """Read "05/08/2023" (month first unless above 12) and "8.5.2023" (day first)."""
    first, second, year = int(match["a"]), int(match["b"]), int(match["y"])
    year += 0 if year > 99 else 2000 if year < 70 else 1900
    if match["sep"] == "." or first > 12:
        first, second = second, first
        return day_of(date(year, first, second)).but(confidence=0.9)
    return day_of(date(year, first, second)).but(confidence=0.9 if second > 12 or first == second else 0.6)


def year_after(match: re.Match[str], scene: Scene) -> Interval:
    """Read "in 1999", "early 2020"."""
    year = year_of(int(match["y"]))
    if match["head"] in ("to", "by", "around", "circa", "before", "after", "through"):
        year = year.but(confidence=0.8)
    return third_of(year, match["third"]) if match["third"] else year


def year_range(match: re.Match[str], scene: Scene) -> Interval:
    """Read "2010–2014"."""
    begin, end = year_of(int(match["a"])), year_of(int(match["b"]))
    return Interval(begin.from_, end.to, "range", confidence=0.85)


def season(match: re.Match[str], scene: Scene) -> Interval | None:
    """Read "summer 2022", "last summer", "in the summer"."""
    name, head, today = match["s"], match["head"] or "", scene.ref.today
    if match["y"]:
        found = season_of(int(match["y"]), name)
    elif head == "last":
        found = max(
            (s for y in range(-2, 1) if (s := season_of(today.year + y, name)).to <= scene.ref.local),
            key=lambda i: i.from_,
        )
    elif head == "next":
        found = min(
            (s for y in range(3) if (s := season_of(today.year + y, name)).from_ > scene.ref.local),
            key=lambda i: i.from_,
        )
    elif head == "this":
        found = season_of(today.year - (name == "winter" and today.month < 3), name)
    elif match["year"]:
        found = season_of(today.year + {"last": -1, "this": 0, "next": 1}[match["year"]], name)
    elif head == "in the" and name != "fall":
        year = _year_by_tense(scene, match, lambda y: date(y, SEASONS[name], 1))
        return season_of(year, name).but(relative=True, confidence=0.5)
    else:
        return None
    found = found if match["y"] else found.but(relative=True, confidence=0.85)
    return third_of(found, match["third"]) if match["third"] else found


def quarter(match: re.Match[str], scene: Scene) -> Interval:
    """Read "Q3 2024", "the third quarter"."""
    word = match["q"] or match["word"]
    number = (
        int(word) if word.isdigit() else {"fir": 1, "1st": 1, "sec": 2, "2nd": 2, "thi": 3, "3rd": 3}.get(word[:3], 4)
    )
    if match["y"]:
        return quarter_of(int(match["y"]), number)
    year = _year_by_tense(scene, match, lambda y: date(y, number * 3 - 2, 1))
    return quarter_of(year, number).but(relative=True, confidence=0.7)


def decade(match: re.Match[str], scene: Scene) -> Interval:
    """Read "the 90s", "the early nineties"."""
    if match["word"]:
        year = DECADES[match["word"]]
    else:
        tens = int(match["n"]) * 10
        year = int(match["c"]) * 100 + tens if match["c"] else (2000 if tens < 30 else 1900) + tens
    found = decade_of(year).but(confidence=0.95 if match["c"] else 0.8)
    return third_of(found, match["third"]) if match["third"] else found


def simple_day(match: re.Match[str], scene: Scene) -> Interval | None:
    """Read "yesterday", "tomorrow morning", "last night", "the other day"."""
    word, today = match["word"], scene.ref.today
    part = match["part"]
    if word == "tonight":
        found = part_of(today, "evening")
    elif word == "last night":
        found = part_of(today - DAY, "night")
    elif word == "the other day":
        return Interval(midnight(today - DAY * 7), midnight(today), "range", relative=True, confidence=0.5)
    else:
        days = {"yesterday": -1, "tomorrow": 1, "the day before yesterday": -2, "the day after tomorrow": 2}.get(
            word, 0
        )
        if word == "this" and part is None:
            return None
        found = part_of(today + DAY * days, part) if part else day_of(today + DAY * days)
    return found.but(relative=True)


def weekday(match: re.Match[str], scene: Scene) -> Interval:
    """Read "last Saturday", "on Mondays", "Friday next week"."""
    number, today = _WEEKDAY_NUMBER[match["wd"][:3]], scene.ref.today
    monday, head = today - DAY * today.weekday(), (match["head"] or "").replace("this past", "past")
    since = (today.weekday() - number) % 7
    ahead = (number - today.weekday()) % 7
    confidence, recurring = 0.9, False
    if week := match["week"] or match["week0"]:
        day = monday + DAY * (number + {"last": -7, "this": 0, "next": 7}[week])
    elif match["plural"] or head in ("every", "each"):
        day, recurring = today + DAY * ahead, True
    elif head in ("last", "past"):
        day = today - DAY * (since or 7)
    elif head == "this":
        day = monday + DAY * number
    elif head == "next":
        day, confidence = monday + DAY * (number + 7), 0.75
    elif head in ("coming", "this coming"):
        day = today + DAY * (ahead or 7)
    elif scene.tense(match.start(), match.end(), default="future") == "past":
        day, confidence = today - DAY * (since or 7), 0.7
    else:
        day, confidence = today + DAY * ahead, 0.7
    found = part_of(day, match["part"]) if match["part"] else day_of(day)
    return found.but(relative=True, recurring=recurring, confidence=confidence)


def unit_near(match: re.Match[str], scene: Scene) -> Interval | None:
    """Read "last week", "this weekend", "late next year"."""
    head, unit, ref = match["head"], match["u"], scene.ref
    today = ref.today
    step = {"this": 0, "next": 1, "coming": 1, "this coming": 1, "following": 1}.get(head, -1)
    if unit == "weekend":
        if head in ("this", "coming", "this coming"):
            found = weekend_of(today + DAY * 7 * (head != "this" and today.weekday() > 4))
        else:
            found = weekend_of(today + DAY * 7 * step)
    elif unit == "week":
        found = week_of(today + DAY * 7 * step)
    elif unit == "month":
        day = add_months(today, step)
        found = month_of(day.year, day.month)
    elif unit == "quarter":
        day = add_months(today, 3 * step)
        found = quarter_of(day.year, (day.month + 2) // 3)
    elif unit == "decade":
        found = decade_of(today.year // 10 * 10 + 10 * step)
    else:
        found = year_of(today.year + step)
    found = found.but(relative=True, confidence=0.9)
    return third_of(found, match["third"]) if match["third"] else found


def edge_of(match: re.Match[str], scene: Scene) -> Interval:
    """Read "the end of this month"."""
    step = {"this": 0, "the": 0, "next": 1, "last": -1}[match["head"]]
    today = scene.ref.today
    day = add_months(today, step)
    found = {
        "week": lambda: week_of(today + DAY * 7 * step),
        "month": lambda: month_of(day.year, day.month),
        "year": lambda: year_of(today.year + step),
    }[match["u"]]()
    which = {"end": "late", "beginning": "early", "start": "early", "middle": "mid"}[match["edge"]]
    return third_of(found, which).but(relative=True, confidence=0.75)


def _counted(match: re.Match[str]) -> tuple[float, float]:
    """The least and the most that a count can mean."""
    words = match["n"].split()
    if words[0] == "half":
        return 0.5, 0.5
    for word in words:
        if word in _VAGUE:
            return _VAGUE[word]
    value = float(words[0]) if words[0][0].isdigit() else float(NUMBERS[words[0]])
    value += 0.5 if match["half"] else 0
    return value, value


def ago(match: re.Match[str], scene: Scene) -> Interval:
    """Read "3 days ago", "a few weeks ago"."""
    least, most = _counted(match)
    unit = match["u"].replace("night", "day")
    if least == most:
        vague = "about" in match[0][:8] or "couple" in match["n"] or "around" in match[0][:8]
        return moved(scene.ref, -least, unit).but(confidence=0.8 if vague else 0.9)
    begin, end = moved(scene.ref, -most, unit), moved(scene.ref, -least, unit)
    return Interval(begin.from_, end.to, "range", relative=True, confidence=0.6)


def ahead(match: re.Match[str], scene: Scene) -> Interval | None:
    """Read "in two weeks", "two weeks from now"."""
    least, most = _counted(match)
    unit = match["u"].replace("night", "day")
    if scene.tense(match.start(), match.end(), default="future") == "past":
        return None  # "I learned it in two weeks" is how long it took
    if least != most:
        begin, end = moved(scene.ref, least, unit), moved(scene.ref, most, unit)
        return Interval(begin.from_, end.to, "range", relative=True, confidence=0.6)
    return moved(scene.ref, least, unit).but(confidence=0.85)


def last_units(match: re.Match[str], scene: Scene) -> Interval:
    """Read "over the last two weeks", "the next 3 days"."""
    most = _counted(match)[1] if match["n"] else 1
    sign = 1 if match["head"] in ("next", "coming", "following") else -1
    return stretch(scene.ref, sign * most, match["u"].replace("night", "day").replace("weekend", "week")).but(
        confidence=0.85
    )


def for_units(match: re.Match[str], scene: Scene) -> Interval:
    """Read "have … for 3 years": from then until now."""
    return stretch(scene.ref, -_counted(match)[1], match["u"].replace("night", "day")).but(confidence=0.75)


def every(match: re.Match[str], scene: Scene) -> Interval | None:
    """Read "every day", "every other week": the present one, recurring."""
    today, unit = scene.ref.today, match["u"]
    if unit in ("morning", "afternoon", "evening", "night"):
        found = part_of(today, unit)
    elif unit in SEASONS:
        found = min(
            (s for y in range(2) if (s := season_of(today.year + y, unit)).to > scene.ref.local), key=lambda i: i.from_
        )
    else:
        whole = {"day": day_of, "weekday": day_of, "week": week_of, "weekend": weekend_of}
        found = whole[unit](today) if unit in whole else _whole(today, unit)
    return found.but(relative=True, recurring=True, confidence=0.8)


def _whole(day: date, unit: str) -> Interval:
    return month_of(day.year, day.month) if unit == "month" else year_of(day.year)


def clock(match: re.Match[str], scene: Scene) -> Found | None:
    """Read "3 pm", "at 15:30", "at noon": today, or tomorrow where that is over."""
    part = match.groupdict()
    minute: int | None
    word = part.get("word")
    if word:
        hour, minute = (12, 0) if word == "noon" else (24, 0)
    else:
        hour, minute = int(part["h"]), int(part["min"]) if part.get("min") else None
        half = part.get("half")
        if half:
            if not 1 <= hour <= 12:
                return None
            hour = hour % 12 + (12 if half.startswith("p") else 0)
    today = scene.ref.today
    found = clock_of(today, hour, minute)
    if found.to <= scene.ref.local and scene.tense(match.start(), match.end(), default="future") != "past":
        found = clock_of(today + DAY, hour, minute)
    return Found(match.start("at"), match.end("at"), found.but(relative=True, confidence=0.7), (hour, minute))


def holiday(match: re.Match[str], scene: Scene) -> Interval:
    """Read "last Christmas", "New Year's Eve 2022"."""
    month, day = _HOLIDAYS[match["name"].replace("’", "'")]
    today = scene.ref.today
    if match["y"]:
        return day_of(date(int(match["y"]), month, day))
    if match["year"]:
        at = date(today.year + {"last": -1, "this": 0, "next": 1}[match["year"]], month, day)
    elif match["head"] in ("last", "next"):
        days = [date(today.year + y, month, day) for y in (-1, 0, 1)]
        at = max(d for d in days if d < today) if match["head"] == "last" else min(d for d in days if d > today)
    else:
        at = date(_year_by_tense(scene, match, lambda y: date(y, month, day)), month, day)
    return day_of(at).but(relative=True, confidence=0.75)


def nth_day(match: re.Match[str], scene: Scene) -> Interval:
    """Read "on the 5th"."""
    today, number = scene.ref.today, int(match["d"])
    tense = scene.tense(match.start(), match.end(), default="future")
    for step in (0, -1, -2) if tense == "past" else (0, 1, 2):
        month = add_months(today.replace(day=1), step)
        try:
            day = month.replace(day=number)
        except ValueError:
            continue
        if (day <= today) if tense == "past" else (day >= today):
            return day_of(day).but(relative=True, confidence=0.6)
    raise ValueError("no such day near")


COUNT = (
    r"(?P<n>\d{1,4}(?:\.5)?|(?:a )?couple(?: of)?|(?:a )?few|several|half an?|"
    + "|".join(sorted(NUMBERS, key=len, reverse=True))
    + r")(?P<half> and a half)?"
)
_SHIFT = re.compile(
    rf"\b(?:the )?(?:(?:(?P<nth>first|last) )?(?P<unit>day|week|weekend|month|year|{'|'.join(WEEKDAYS)}|summer|night"
    r"|evening|morning)"
    rf"|{COUNT} (?P<u>day|week|month|year)s?) (?P<way>before|after|of|following|from|prior to) (?:the )?$"
)


def shifted(head: str, hit: Found, scene: Scene) -> Found | None:
    """`hit` moved by the words that end right before it: "the week before", "two days after", "the weekend of"."""
    match = _SHIFT.search(head)
    if match is None or hit.clock or hit.interval.from_.tzinfo or hit.interval.recurring:
        return None
    way = {"following": "after", "from": "after", "prior to": "before"}.get(match["way"], match["way"])
    start = hit.start - (len(head) - match.start())
    first, last = hit.interval.from_.date(), (hit.interval.to - timedelta(seconds=1)).date()
    if match["nth"]:
        if way != "of" or match["unit"] not in ("day", "week"):
            return None
        days = 7 if match["unit"] == "week" else 1
        begin, end = hit.interval.from_, hit.interval.to
        begin, end = (begin, begin + DAY * days) if match["nth"] == "first" else (end - DAY * days, end)
        found: Interval | None = Interval(begin, end, match["unit"])
    elif match["unit"]:
        if match["unit"] == "day" and way == "of":
            return None
        found = _beside(match["unit"], way, first, last)
    else:
        least, most = _counted(match)
        if way == "of" or least != most:
            return None
        found = _counted_from(
            first if way == "before" else last, round(least) * (-1 if way == "before" else 1), match["u"]
        )
    if found is None:
        return None
    return Found(start, hit.end, found.but(relative=hit.interval.relative, confidence=hit.interval.confidence * 0.9))


def _beside(unit: str, way: str, first: date, last: date) -> Interval | None:
    step = {"before": -1, "after": 1, "of": 0}[way]
    edge = last if way == "after" else first
    if unit in WEEKDAYS:
        if way == "of":
            return day_of(first - DAY * first.weekday() + DAY * WEEKDAYS.index(unit))
        gap = (edge.weekday() - WEEKDAYS.index(unit)) * -step % 7 or 7
        return day_of(edge + DAY * step * gap)
    match unit:
        case "day":
            return day_of(edge + DAY * step)
        case "night" | "evening" | "morning":
            return part_of(edge + DAY * step, unit)
        case "week":
            return week_of(edge + DAY * 7 * step)
        case "weekend":
            if way == "of":
                return weekend_of(edge)
            return weekend_of(edge + DAY * (7 * step if edge.weekday() > 4 or way == "before" else 0))
        case "month":
            day = add_months(edge, step)
            return month_of(day.year, day.month)
        case "year":
            return year_of(edge.year + step)
    return season_of(edge.year + step, unit)


def _counted_from(day: date, count: int, unit: str) -> Interval:
    if unit in ("day", "week"):
        return day_of(day + DAY * count * (7 if unit == "week" else 1))
    at = add_months(day, count * (12 if unit == "year" else 1))
    return day_of(at)
