"""Chinese date patterns as data: each with its trigger characters and what it means; conventions in `dates`."""

from __future__ import annotations

import re
from datetime import date

from memos.text.date_rules import Found, Rule, Scene, rule
from memos.text.intervals import (
    DAY,
    Interval,
    add_months,
    clock_of,
    day_of,
    decade_of,
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

_DIGITS = {char: i for i, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_WEEKDAYS = {char: i for i, char in enumerate("一二三四五六日")} | {"天": 6}
_YEARS = {"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2}
_DAYS = {
    "大前天": -3,
    "前天": -2,
    "昨天": -1,
    "昨日": -1,
    "今天": 0,
    "今日": 0,
    "明天": 1,
    "明日": 1,
    "大后天": 3,
    "后天": 2,
}
_STEPS = {"上上": -2, "上": -1, "这": 0, "这一": 0, "本": 0, "下": 1, "下下": 2}
_PARTS = {
    "早上": "morning",
    "早晨": "morning",
    "清晨": "morning",
    "上午": "morning",
    "早": "morning",
    "中午": "noon",
    "下午": "afternoon",
    "傍晚": "evening",
    "晚上": "evening",
    "晚": "evening",
    "夜里": "night",
    "夜": "night",
    "凌晨": "dawn",
}
_SEASON = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}
_UNITS = {
    "分钟": "minute",
    "小时": "hour",
    "钟头": "hour",
    "天": "day",
    "日": "day",
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "月": "month",
    "年": "year",
}
_HOLIDAYS = {
    "元旦": (1, 1),
    "情人节": (2, 14),
    "劳动节": (5, 1),
    "五一": (5, 1),
    "国庆节": (10, 1),
    "国庆": (10, 1),
    "万圣节": (10, 31),
    "平安夜": (12, 24),
    "圣诞节": (12, 25),
    "圣诞": (12, 25),
}

# 五一 is also part of 周五一起, 十五一个 and 五一路.
_HOLIDAY = "|".join(name for name in _HOLIDAYS if name != "五一") + (
    r"|(?<![周期拜第初星十百零〇一二三四五六七八九\d])五一(?![一二三四五六七八九十百千万零〇\d路街广号室楼起直定样般半边些])"
)

_N = r"(?:\d{1,4}|[一二两三四五六七八九十]{1,3}|几|半)"
_NUM = r"(?:\d{1,2}|[一二三四五六七八九十]{1,3})"
_PART = "(?P<part>" + "|".join(sorted(_PARTS, key=len, reverse=True)) + ")"
_UNIT = r"个?(?P<u>分钟|小时|钟头|天|周|星期|礼拜|月|年)"


def number(text: str) -> int:
    """The value of a number in digits or Chinese characters up to 99. Raises ValueError for anything else."""
    if text.isdigit():
        return int(text)
    if "十" in text:
        tens, _, ones = text.partition("十")
        return (_DIGITS[tens] if tens else 1) * 10 + (_DIGITS[ones] if ones else 0)
    if len(text) != 1 or text not in _DIGITS:
        raise ValueError(f"{text!r} is not a number")
    return _DIGITS[text]


def _year_number(text: str) -> int:
    return int(text) if text.isdigit() else int("".join(str(_DIGITS[char]) for char in text))


def _nearest(scene: Scene, match: re.Match[str], month: int, day: int) -> int:
    today = scene.ref.today
    tense = scene.tense(match.start(), match.end())
    years = (today.year - 1, today.year, today.year + 1)
    if tense == "past":
        return max((y for y in years if date(y, month, day) <= today), default=today.year)
    if tense == "future":
        return min((y for y in years if date(y, month, day) >= today.replace(day=1)), default=today.year)
    return min(years, key=lambda y: abs(date(y, month, day) - today))


def _dated(match: re.Match[str], scene: Scene) -> Interval | None:
    """A year in figures or relative, and what follows it: month, day, season or edge."""
    part = match.groupdict()
    relative = bool(part.get("rel"))
    year = scene.ref.today.year + _YEARS[part["rel"]] if part.get("rel") else _year_number(part["y"])
    if part["m"] and part["d"]:
        found = day_of(date(year, number(part["m"]), number(part["d"])))
    elif part["m"]:
        found = month_of(year, number(part["m"]))
    elif part["q"]:
        found = quarter_of(year, number(part["q"]))
    elif part["s"]:
        found = season_of(year, _SEASON[part["s"]])
    else:
        found = year_of(year)
    if part["edge"] and not part["d"]:
        found = third_of(found, {"初": "early", "中": "mid"}.get(part["edge"][0], "late"))
    return found.but(relative=relative)


def _month_day(match: re.Match[str], scene: Scene) -> Interval:
    month = number(match["m"])
    if match["d"]:
        day = number(match["d"])
        year = _nearest(scene, match, month, min(day, 28))
        return day_of(date(year, month, day)).but(confidence=0.75)
    year = _nearest(scene, match, month, 1)
    found = month_of(year, month).but(confidence=0.7, relative=True)
    return third_of(found, {"初": "early", "中": "mid"}.get(match["edge"][0], "late")) if match["edge"] else found


def _relative_month(match: re.Match[str], scene: Scene) -> Interval:
    day = add_months(scene.ref.today.replace(day=1), _STEPS[match["step"]])
    if match["d"]:
        return day_of(day.replace(day=number(match["d"]))).but(relative=True)
    found = month_of(day.year, day.month).but(relative=True)
    return third_of(found, {"初": "early", "中": "mid"}.get(match["edge"][0], "late")) if match["edge"] else found


def _months(match: re.Match[str], scene: Scene) -> Interval:
    first, last = number(match["m"]), number(match["m2"])
    year = _nearest(scene, match, last, 1)
    return Interval(month_of(year - (first > last), first).from_, month_of(year, last).to, "range", confidence=0.7)


def _week(match: re.Match[str], scene: Scene) -> Interval:
    today, word = scene.ref.today, match["wd"]
    day = today + DAY * 7 * _STEPS[match["step"]]
    if not word:
        return week_of(day).but(relative=True)
    if word == "末":
        return weekend_of(day).but(relative=True)
    day = day - DAY * day.weekday() + DAY * _WEEKDAYS[word]
    return _with_part(day, match["part"]).but(relative=True)


def _weekday(match: re.Match[str], scene: Scene) -> Interval:
    today, word = scene.ref.today, match["wd"]
    past = scene.tense(match.start(), match.end(), default="future") == "past"
    if word == "末":
        found = weekend_of(today - DAY * 7 if past and today.weekday() < 5 else today)
    else:
        ahead = (_WEEKDAYS[word] - today.weekday()) % 7
        day = today + DAY * (ahead - 7 if past else ahead)
        found = _with_part(day, match["part"])
    return found.but(relative=True, confidence=0.7)


def _day(match: re.Match[str], scene: Scene) -> Interval:
    word = match["word"]
    if word in _DAYS:
        return _with_part(scene.ref.today + DAY * _DAYS[word], match["part"]).but(relative=True)
    day = scene.ref.today + DAY * {"前": -2, "昨": -1, "今": 0, "明": 1, "后": 2}[word]
    return part_of(day, "night" if word == "昨" and match["part2"] == "晚" else _PARTS[match["part2"]]).but(
        relative=True
    )


def _with_part(day: date, part: str | None) -> Interval:
    return part_of(day, _PARTS[part]) if part else day_of(day)


def _shifted(match: re.Match[str], scene: Scene) -> Interval | None:
    unit, sign = _UNITS[match["u"]], -1 if match["way"] == "前" else 1
    if match["n"] == "几":
        begin, end = sorted((moved(scene.ref, sign * 2, unit), moved(scene.ref, sign * 5, unit)), key=lambda i: i.from_)
        return Interval(begin.from_, end.to, "range", relative=True, confidence=0.6)
    count = 0.5 if match["n"] == "半" else float(number(match["n"]))
    if count > 200:
        return None  # 1999年前 is "before 1999"
    return moved(scene.ref, sign * count, unit).but(confidence=0.9)


def _stretched(match: re.Match[str], scene: Scene) -> Interval:
    count = 5.0 if match["n"] == "几" else 0.5 if match["n"] == "半" else float(number(match["n"]))
    sign = 1 if match["way"] in ("未来", "接下来") else -1
    return stretch(scene.ref, sign * count, _UNITS[match["u"]]).but(confidence=0.85)


def _decade(match: re.Match[str], scene: Scene) -> Interval:
    tens = int(match["n"]) if match["n"].isdigit() else number(match["n"])
    century = int(match["c"]) * 100 if match["c"] else 1900 if match["last"] or tens > 20 else 2000
    return decade_of(century + tens).but(confidence=0.9)


def _every(match: re.Match[str], scene: Scene) -> Interval:
    today = scene.ref.today
    if match["wd"] == "末":
        found = weekend_of(today)
    elif match["wd"]:
        found = day_of(today + DAY * ((_WEEKDAYS[match["wd"]] - today.weekday()) % 7))
    elif match["part"]:
        found = part_of(today, _PARTS[match["part"]])
    else:
        unit = match["u"]
        found = day_of(today) if unit == "天" else week_of(today) if unit in ("周", "星期") else year_of(today.year)
        if unit == "月":
            found = month_of(today.year, today.month)
    return found.but(relative=True, recurring=True, confidence=0.8)


def _clock(match: re.Match[str], scene: Scene) -> Found | None:
    half, past_hour = match["half"], match["mid"]
    if not half and not past_hour and not match["min"] and not match["bell"]:
        before = scene.text[max(0, match.start() - 1) : match.start()]
        if before not in tuple("天日号一二三四五六晚早"):
            return None  # 三点建议 is three points
    hour = number(match["h"])
    minute = {"半": 30, "一刻": 15, "三刻": 45}.get(past_hour or "", number(match["min"]) if match["min"] else None)
    if (half in ("下午", "傍晚", "晚上", "夜里", "晚") and hour < 12) or (half == "中午" and hour < 3):
        hour += 12
    found = clock_of(scene.ref.today, hour, minute)
    if found.to <= scene.ref.local and scene.tense(match.start(), match.end(), default="future") != "past":
        found = clock_of(scene.ref.today + DAY, hour, minute)
    return Found(match.start(), match.end(), found.but(relative=True, confidence=0.7), (hour, minute))


def _holiday(match: re.Match[str], scene: Scene) -> Interval:
    month, day = _HOLIDAYS[match["name"]]
    if match["y"]:
        year = scene.ref.today.year + _YEARS[match["y"]] if match["y"] in _YEARS else int(match["y"][:4])
    else:
        year = _nearest(scene, match, month, day)
    return day_of(date(year, month, day)).but(relative=True, confidence=0.75)


def _since(match: re.Match[str], scene: Scene) -> Interval:
    begin = month_of(int(match["y"]), number(match["m"])) if match["m"] else year_of(int(match["y"]))
    return Interval(begin.from_, scene.ref.local, "range")


_TAIL = (
    rf"(?:(?P<m>{_NUM})月(?:份)?(?:(?P<d>{_NUM})[日号])?|第?(?P<q>[一二三四1-4])季度|(?:的)?(?P<s>[春夏秋冬])[天季]?)?"
    r"(?P<edge>年?初|年?底|中旬|年?末)?"
)
_WEEK = r"(?:周|星期|礼拜)"

RULES: tuple[Rule, ...] = (
    rule("年", rf"(?<!\d)(?P<y>[12]\d{{3}}|[一二][〇零一二三四五六七八九]{{3}})年(?!前|后|级){_TAIL}", _dated),
    rule("年", rf"(?P<rel>大前年|前年|去年|今年|本年|明年|后年){_TAIL}", _dated),
    rule("年", r"(?:自从?|从)(?P<y>[12]\d{3})年(?:(?P<m>\d{1,2})月)?(?:起|以来|开始|到现在|至今)", _since),
    rule(
        "月",
        rf"(?<![\d一二三四五六七八九十个])(?P<m>{_NUM})月(?:份)?(?:(?P<d>{_NUM})[日号])?(?P<edge>初|底|中旬|末)?",
        _month_day,
    ),
    rule("月", rf"(?:从)?(?P<m>{_NUM})月[到至](?P<m2>{_NUM})月", _months),
    rule(
        "月", rf"(?P<step>上上|上|这|本|下下|下)个?月(?:(?P<d>{_NUM})[日号])?(?P<edge>初|底|中旬|末)?", _relative_month
    ),
    rule(
        "周 星期 礼拜",
        rf"(?P<step>上上|上|这一|这|本|下下|下)个?{_WEEK}(?P<wd>[一二三四五六日天末])?(?!年)"
        rf"(?:的?{_PART}(?!{_NUM}[点點時]))?",
        _week,
    ),
    rule(
        "周 星期 礼拜",
        rf"(?<![一二两三四五六七八九十几每\d上下这本个]){_WEEK}(?P<wd>[一二三四五六日天末])(?![次个岁])"
        rf"(?:的?{_PART}(?!{_NUM}[点點時]))?",
        _weekday,
    ),
    rule(
        "天 日",
        rf"(?P<word>大前天|前天|昨天|昨日|今天|今日|明天|明日|大后天|后天)(?:的?{_PART}(?!{_NUM}[点點時]))?",
        _day,
    ),
    rule("晚 早 夜", r"(?P<word>[前昨今明])(?P<part2>晚|早|夜)(?:上|里)?(?P<part>)", _day),
    rule("前 后", rf"(?<![一-九])(?P<n>{_N}){_UNIT}(?:多)?(?:之|以)?(?P<way>前|后)(?!面|边|天)", _shifted),
    rule(
        "最近 过去 这 未来 接下来 近",
        rf"(?P<way>最近|过去|未来|接下来|这|近)(?:的)?(?P<n>{_N}){_UNIT}(?!前|后)",
        _stretched,
    ),
    rule(
        "年代",
        r"(?P<last>上世纪|上个世纪|二十世纪|20世纪)?(?P<c>19|20)?(?P<n>[0-9]0|[一二三四五六七八九]十)年代",
        _decade,
    ),
    rule(
        "每",
        rf"每(?:个)?(?:{_WEEK}(?P<wd>[一二三四五六日天末])|(?P<u>天|周|星期|月|年)(?P<part>早上|晚上|早晨|上午|下午)?)",
        _every,
    ),
    rule(
        "点 點 时",
        rf"(?:(?<![昨今明前]){_PART.replace('<part>', '<half>')})?"
        r"(?P<h>\d{1,2}|[一二两三四五六七八九十]{1,3})[点點時]"
        rf"(?:(?P<mid>半|一刻|三刻)|(?P<bell>钟|整)|(?P<min>{_NUM})分?)?",
        _clock,
    ),
    rule(
        "节 元旦 国庆 圣诞 平安夜 五一",
        rf"(?P<y>去年|今年|明年|\d{{4}}年)?(?:的)?(?P<name>{_HOLIDAY})(?:小?长假|假期)?",
        _holiday,
    ),
)
