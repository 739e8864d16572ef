"""Times as people and programs write them -> one instant in UTC, with the zone and the precision they were written in.

Absolute times only ("8 May 2023, 3 pm", epoch, ISO 8601, RFC 2822) and today/yesterday/now; phrases such as "last
Saturday" are the reader's work. Guards law 5 (two clocks): both clocks are UTC instants counted in microseconds.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from enum import StrEnum
from functools import lru_cache
from zoneinfo import ZoneInfo

from memos.errors import InvalidInput

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
AHEAD = timedelta(days=1)  # how far a sender's clock may be ahead of ours
ACCEPTED = (
    "accepted are datetimes, dates, epoch seconds or milliseconds, ISO 8601 ('2025-06-26T15:00:00+02:00'), "
    "'2025-06-26 15:00', '1:56 pm on 8 May, 2023', RFC 2822 and '2023年5月8日 下午3点', in the years 1 to 9999"
)


class Precision(StrEnum):
    """How finely a time was written. A value of precision `DAY` means the whole day, and so on."""

    YEAR = "year"
    MONTH = "month"
    DAY = "day"
    HOUR = "hour"
    MINUTE = "minute"
    SECOND = "second"


@dataclass(frozen=True, slots=True)
class ParsedTime:
    """A time as read: the instant (aware UTC), the zone it was written in (IANA name or "±HH:MM") and its precision.

    For a precision coarser than `SECOND` the instant is the beginning of that year, month, day … in `zone`.
    `zone_given` is False when the text named no zone and the default one was taken.
    """

    instant: datetime
    zone: str
    precision: Precision
    zone_given: bool = False


def utcnow() -> datetime:
    """The present instant, aware UTC."""
    return datetime.now(UTC)


def plausible(said: datetime, arrived: datetime) -> datetime:
    """When something was said as far as order goes: not later than `AHEAD` after it arrived, or else when it arrived."""
    return said if said - arrived <= AHEAD else arrived


def to_micros(instant: datetime) -> int:
    """Microseconds since 1970-01-01T00:00Z, exact. Raises InvalidInput for a naive datetime."""
    if instant.tzinfo is None:
        raise InvalidInput(f"{instant!r} has no time zone; times inside MemOS are aware UTC datetimes (use parse_time)")
    delta = instant - EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def from_micros(micros: int) -> datetime:
    """The aware UTC datetime of `to_micros`. Raises InvalidInput outside the years 1 to 9999."""
    try:
        return EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise InvalidInput(f"{micros} microseconds since 1970 lie outside the years 1 to 9999") from None


@lru_cache(maxsize=1024)
def load_zone(name: str) -> tzinfo:
    """The zone of an IANA name ("Europe/Oslo"), "UTC", "Z" or an offset "±HH:MM". Raises InvalidInput otherwise."""
    text = name.strip()
    if text.upper() in ("UTC", "Z", "GMT"):
        return UTC
    if match := _OFFSET.fullmatch(text):
        return _offset_zone(match)
    try:
        return ZoneInfo(text)
    except (LookupError, ValueError, OSError):
        raise InvalidInput(
            f"{name!r} is not a time zone; write an IANA name like 'Europe/Oslo' or an offset like '+02:00'"
        ) from None


def parse_time(value: object, *, default_zone: str = "UTC", now: datetime | None = None) -> ParsedTime:
    """Read a time from a datetime, a date, epoch seconds/milliseconds (by size) or text.

    A value without a zone is in `default_zone`. A local time that does not exist (clocks go forward) is read with the
    offset before the change, one that exists twice is the first of the two (or as `fold` says). `now` anchors "today"
    and "yesterday". Numbers: below 1e11 seconds, below 1e14 milliseconds, below 1e17 microseconds, else nanoseconds.
    Day and month are never guessed: '5/8/2023' is refused. Raises InvalidInput saying what is accepted.
    """
    zone = load_zone(default_zone)
    try:
        if isinstance(value, datetime):
            return _from_datetime(value, default_zone)
        if isinstance(value, date):
            return _place(datetime(value.year, value.month, value.day), zone, Precision.DAY)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return _from_number(value)
        if isinstance(value, str) and value.strip():
            return _from_text(value, zone, now)
    except (OverflowError, ValueError) as error:
        detail = f" ({error})" if isinstance(error, InvalidInput) else ""
        raise InvalidInput(f"{_shown(value)} is not a time{detail}; {ACCEPTED}") from None
    raise InvalidInput(f"{_shown(value)} is not a time; {ACCEPTED}")


# --- values that are not text ---------------------------------------------------------------------------------


def _from_datetime(value: datetime, default_zone: str) -> ParsedTime:
    if value.tzinfo is None or value.utcoffset() is None:
        return _place(value.replace(tzinfo=None), load_zone(default_zone), Precision.SECOND)
    # A plain datetime: subclasses (pandas) carry more than microseconds.
    instant = EPOCH + timedelta(microseconds=to_micros(value))
    return ParsedTime(instant, _zone_name(value.tzinfo, value), Precision.SECOND, zone_given=True)


def _from_number(value: float) -> ParsedTime:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput("not a finite number")
    size = abs(value)
    scale = 1_000_000 if size < 1e11 else 1_000 if size < 1e14 else 1
    if size < 1e17:
        micros = value * scale if isinstance(value, int) else _exact_micros(value, scale)
    else:
        micros = int(value) // 1_000
    return ParsedTime(from_micros(micros), "UTC", Precision.SECOND, zone_given=True)


def _exact_micros(value: float, scale: int) -> int:
    whole = math.floor(value)
    return whole * scale + round((value - whole) * scale)


def _place(local: datetime, zone: tzinfo, precision: Precision, *, given: bool = False) -> ParsedTime:
    aware = local.replace(tzinfo=zone)
    return ParsedTime(aware.astimezone(UTC), _zone_name(zone, aware), precision, given)


def _zone_name(zone: tzinfo, at: datetime) -> str:
    if zone is UTC:
        return "UTC"
    if isinstance(zone, ZoneInfo) and zone.key:
        return zone.key
    minutes = round((at.utcoffset() or timedelta()).total_seconds() / 60)
    if not minutes:
        return "UTC"
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "…"


# --- text: take out the zone, the date and the clock; whatever is then left over must be noise -----------------

_MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTHS = {form: n for n, name in enumerate(_MONTH_NAMES, 1) for form in (name[:3], name)} | {"sept": 9}
_MONTH = "(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY = r"(?<!\d)(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<y>\d{4})(?!\d)"
_DATES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<!\d)(?P<y>\d{4})([-/.])(?P<m>\d{1,2})\2(?P<d>\d{1,2})(?!\d)",
        r"(?<!\d)(?P<y>\d{4})\s*[年년]\s*(?P<m>\d{1,2})\s*[月월]\s*(?P<d>\d{1,2})\s*[日号號일]?",
        r"(?<!\d)(?P<y>\d{4})\s*[年년]\s*(?P<m>\d{1,2})\s*[月월]",
        r"(?<!\d)(?P<y>\d{4})\s*[年년]",
        rf"{_DAY}[\s/-]*(?:of\s+)?{_MONTH}[\s,/:-]*{_YEAR}",
        rf"\b{_MONTH}[\s-]*{_DAY}\b[\s,/-]*{_YEAR}",
        rf"(?<!\d){_YEAR}[\s,/-]+{_MONTH}[\s-]*{_DAY}\b",
        rf"\b{_MONTH}[\s,-]*{_YEAR}",
        r"(?<!\d)(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})(?!\d)",
        r"(?<!\d)(?P<a>\d{1,2})([-/])(?P<b>\d{1,2})\2(?P<y>\d{4})(?!\d)",
        r"(?<!\d)(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})(?!\d)",
        r"(?<!\d)(?P<y>\d{4})[-/](?P<m>\d{2})(?!\d)",
        r"^(?P<y>\d{4})$",
    )
)
_HALF = r"(?P<half>[ap]\.?\s?m\b\.?|上午|下午|凌晨|清晨|早上|早晨|中午|傍晚|晚上|夜里|午前|午後|오전|오후)"
_CLOCKS = tuple(
    re.compile(pattern)
    for pattern in (
        r"t(?P<h>\d{2})(?:(?P<min>\d{2})(?:(?P<s>\d{2})(?P<f>[.,]\d+)?)?)?(?![\d:])",
        rf"(?:{_HALF}\s*)?(?<!\d)(?P<h>\d{{1,2}}):(?P<min>\d{{2}})(?::(?P<s>\d{{2}})(?P<f>[.,]\d+)?)?(?!\d)"
        rf"(?:\s*{_HALF.replace('half', 'half2')})?",
        rf"(?:{_HALF}\s*)?(?<!\d)(?P<h>\d{{1,2}})\s*[点點时時시](?:(?P<mid>[半반])|钟|\s*(?P<min>\d{{1,2}})\s*[分분]?)?"
        r"(?:\s*(?P<s>\d{1,2})\s*[秒초])?",
        rf"(?<![\d.:])(?P<h>\d{{1,2}})\s*{_HALF}",
        r"(?<!\d)(?P<h>\d{1,2})h(?P<min>\d{2})?(?!\w)",
    )
)
_PM_WORDS = ("p", "下午", "傍晚", "晚上", "夜里", "午後", "오후")
_OFFSET = re.compile(r"(?:utc|gmt)?(?P<sign>[+\-\u2212])(?P<oh>\d{1,2})(?::?(?P<om>\d{2}))?(?!\d)", re.IGNORECASE)
_ABBREVIATIONS = {
    "z": 0, "ut": 0, "utc": 0, "gmt": 0, "wet": 0, "bst": 60, "cet": 60, "cest": 120, "eet": 120, "eest": 180,
    "msk": 180, "jst": 540, "kst": 540, "est": -300, "edt": -240, "cst": -360, "cdt": -300, "mst": -420, "mdt": -360,
    "pst": -480, "pdt": -420,
}  # fmt: skip
_ZONE_WORD = re.compile(r"(?<![a-z])(?:" + "|".join(sorted(_ABBREVIATIONS, key=len, reverse=True)) + r")(?![a-z])")
_ZONE_NAME = re.compile(r"\[?\b([A-Za-z]+(?:/[A-Za-z0-9_+-]+)+)\]?")
_EPOCH_TEXT = re.compile(r"[+-]?\d{9,19}(?:\.\d+)?|[+-]?\d+\.\d+")
_NOISE = re.compile(
    r"\b(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?|at|on|of|the|t|um|uhr|le|à)\b\.?"
    r"|(?:星期|周|週|礼拜)[一二三四五六日天]|[月火水木金土日월화수목금토일](?:曜日|曜|요일)|[\s,.;:()\[\]-]+"
)
_COMMENT = re.compile(r"\((?:[月火水木金土日월화수목금토]|[a-z]{2,5})\)")
_ANCHORS = {
    "today": 0, "yesterday": -1, "tomorrow": 1, "今天": 0, "昨天": -1, "明天": 1, "今日": 0, "昨日": -1,
    "오늘": 0, "어제": -1, "내일": 1,
}  # fmt: skip
_ANCHOR = re.compile("|".join(_ANCHORS))
_NOW_WORDS = frozenset({"now", "现在", "現在", "지금"})


def _from_text(value: str, default: tzinfo, now: datetime | None) -> ParsedTime:
    if len(value) > 200:
        raise InvalidInput("the text is too long")
    text = unicodedata.normalize("NFKC", value).strip().replace("\u2212", "-")
    if _EPOCH_TEXT.fullmatch(text):
        return _from_number(float(text) if "." in text else int(text))
    text, named = _cut_zone_name(text)
    text = text.lower()
    if text in _NOW_WORDS:
        return _place(_in_zone(now, named or default), named or default, Precision.SECOND, given=True)

    day, precision, text = _cut_date(text, named or default, now)
    clock, text = _cut_clock(text)
    offset, text = _cut_offset(text) if clock else (None, text)
    if left := _NOISE.sub("", _COMMENT.sub(" ", text)):
        raise InvalidInput(f"{left!r} was not understood")
    if clock is None:
        return _place(day, named or default, precision, given=named is not None)
    if precision is not Precision.DAY:
        raise InvalidInput("a time of day needs a full date")
    local = day + clock[0]
    # An offset and a name together ("…+02:00[Europe/Paris]"): the offset fixes the instant, the name says where.
    placed = _place(local, offset or named or default, clock[1], given=bool(offset or named))
    return ParsedTime(placed.instant, _zone_name(named, local), clock[1], True) if offset and named else placed


def _cut_zone_name(text: str) -> tuple[str, tzinfo | None]:
    for match in _ZONE_NAME.finditer(text):
        if match[1].split("/")[0].lower()[:3] in _MONTHS:
            continue
        return text[: match.start()] + " " + text[match.end() :], load_zone(match[1])
    return text, None


def _cut_date(text: str, zone: tzinfo, now: datetime | None) -> tuple[datetime, Precision, str]:
    for pattern in _DATES:
        if match := pattern.search(text):
            day, precision = _date_of(match)
            return day, precision, text[: match.start()] + " " + text[match.end() :]
    if match := _ANCHOR.search(text):
        today = _in_zone(now, zone).replace(hour=0, minute=0, second=0, microsecond=0)
        rest = text[: match.start()] + " " + text[match.end() :]
        return today + timedelta(days=_ANCHORS[match[0]]), Precision.DAY, rest
    return _split_date(text)


def _split_date(text: str) -> tuple[datetime, Precision, str]:
    """The forms with the clock between day and year (ctime, `date`), and ISO week dates."""
    if match := re.search(rf"\b{_MONTH}\s+{_DAY}\b(?P<rest>.*:.*)\s{_YEAR}", text):
        day, precision = _date_of(match)
        return day, precision, text[: match.start()] + match["rest"]
    if match := re.match(r"(\d{4})-?w(\d{2})-?([1-7])", text):
        found = date.fromisocalendar(int(match[1]), int(match[2]), int(match[3]))
        return datetime(found.year, found.month, found.day), Precision.DAY, text[match.end() :]
    raise InvalidInput("it has no full date")


def _date_of(match: re.Match[str]) -> tuple[datetime, Precision]:
    part = match.groupdict()
    year = int(part["y"])
    if part.get("a"):
        first, second = int(part["a"]), int(part["b"])
        if first <= 12 and second <= 12 and first != second:
            raise InvalidInput(f"day and month of {match[0]!r} cannot be told apart, write {year:04d}-MM-DD")
        month, day = (first, second) if second > 12 else (second, first)
        return datetime(year, month, day), Precision.DAY
    month = _MONTHS[part["month"]] if part.get("month") else int(part.get("m") or 0)
    if not month and part.get("m") is None:
        return datetime(year, 1, 1), Precision.YEAR
    if part.get("d") is None:
        return datetime(year, month, 1), Precision.MONTH
    return datetime(year, month, int(part["d"])), Precision.DAY


def _cut_clock(text: str) -> tuple[tuple[timedelta, Precision] | None, str]:
    for pattern in _CLOCKS:
        if match := pattern.search(text):
            return _clock_of(match), text[: match.start()] + " " + text[match.end() :]
    return None, text


def _clock_of(match: re.Match[str]) -> tuple[timedelta, Precision]:
    part = match.groupdict()
    hour = int(part["h"])
    half = part.get("half") or part.get("half2")
    minute = 30 if part.get("mid") else int(part.get("min") or 0)
    second = int(part.get("s") or 0)
    if half:
        hour = _on_24_hours(hour, half)
    if hour > 24 or minute > 59 or second > 60 or (hour == 24 and (minute or second)):
        raise InvalidInput(f"{match[0].strip()!r} is not a time of day")
    micros = int((part.get("f") or "0")[1:7].ljust(6, "0"))
    if part.get("s") is not None:
        precision = Precision.SECOND
    else:
        precision = Precision.HOUR if part.get("min") is None and not part.get("mid") else Precision.MINUTE
    return timedelta(hours=hour, minutes=minute, seconds=second, microseconds=micros), precision


def _on_24_hours(hour: int, half: str) -> int:
    if hour > 12:
        if half.isascii() and not (half.startswith("p") and hour < 24):
            raise InvalidInput(f"there is no {hour} {half}")
        return hour
    if half == "中午":
        return hour + 12 if hour < 3 else hour
    if half.startswith(_PM_WORDS):
        # 晚上12点 is midnight at the end of that day; 12 pm and 下午12点 are noon.
        return 24 if hour == 12 and half in ("晚上", "夜里") else hour % 12 + 12
    return hour % 12


def _cut_offset(text: str) -> tuple[tzinfo | None, str]:
    if match := _OFFSET.search(text):
        return _offset_zone(match), text[: match.start()] + " " + text[match.end() :]
    if match := _ZONE_WORD.search(text):
        minutes = _ABBREVIATIONS[match[0]]
        zone = timezone(timedelta(minutes=minutes)) if minutes else UTC
        return zone, text[: match.start()] + " " + text[match.end() :]
    return None, text


def _offset_zone(match: re.Match[str]) -> tzinfo:
    hours, minutes = int(match["oh"]), int(match["om"] or 0)
    if hours > 23 or minutes > 59:
        raise InvalidInput(f"{match[0]!r} is not an offset from UTC")
    if not hours and not minutes:
        return UTC
    return timezone((-1 if match["sign"] != "+" else 1) * timedelta(hours=hours, minutes=minutes))


def _in_zone(now: datetime | None, zone: tzinfo) -> datetime:
    now = now or utcnow()
    return (now if now.tzinfo else now.replace(tzinfo=UTC)).astimezone(zone).replace(tzinfo=None)
