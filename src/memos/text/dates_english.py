"""English date patterns as data: each with its trigger words and what it means. Conventions: see `memos.text.dates`."""

from __future__ import annotations

from memos.text.date_meanings import (
    COUNT,
    DECADES,
    MONTHS,
    WEEKDAYS,
    ago,
    ahead,
    bare_month,
    clock,
    day_month,
    decade,
    edge_of,
    every,
    for_units,
    holiday,
    iso_day,
    last_units,
    month_range,
    month_year,
    nth_day,
    quarter,
    season,
    simple_day,
    slashed_day,
    unit_near,
    weekday,
    year_after,
    year_range,
)
from memos.text.date_rules import Rule, rule
from memos.text.intervals import month_of

_MON = (
    r"(?P<mon>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_MON2 = _MON.replace("<mon>", "<mon2>")
_D = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_Y = r"(?P<y>[12]\d{3})(?!\d)"
_TODAY_YEAR = r"(?P<y>(?:18|19|20)\d\d)(?![\d%]|[.,:/-]\d)"
_NOT_A_DATE = (
    r"(?! ?(?:%|(?:times|people|miles|km|kilometers|hours?|min|minutes|percent|kids|guests|steps|words|dollars|euros?"
    r"|pages|tokens|points|lines|items|rows|files|users|meters|metres|feet|degrees|calories|years)\b))"
)
_WD = "(?P<wd>" + "|".join(WEEKDAYS) + ")"
_UNIT = r"(?P<u>minute|hour|day|night|week|weekend|month|year|decade)"
_PART = r"(?P<part>morning|afternoon|evening|night)"
_THIRD = r"(?:(?P<third>early|mid|late)[- ](?:in )?)?"
_MON_GATES = " ".join([*MONTHS, *(name[:3] for name in MONTHS), "sept"])
_UNITS = "minute hour day night week weekend month year decade"

RULES: tuple[Rule, ...] = (
    rule(
        "0",
        r"(?<![\w./-])(?P<y>[12]\d{3})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?![\d/-])"
        r"(?:(?:t| )(?P<hh>\d{2}):(?P<mm>\d{2})(?::\d{2}(?:\.\d+)?)?(?!\d))?",
        iso_day,
    ),
    rule(
        "0",
        r"(?<![\w./-])(?P<a>\d{1,2})(?P<sep>[/.])(?P<b>\d{1,2})(?P=sep)(?P<y>[12]\d{3}|(?<=/)\d{2})(?![\w/-])",
        slashed_day,
    ),
    rule(
        "0",
        r"(?<![\w./-])(?P<y>(?:19|20)\d\d)-(?P<mm>0[1-9]|1[0-2])(?![\w/-])",
        lambda m, s: month_of(int(m["y"]), int(m["mm"])),
    ),
    rule(_MON_GATES, rf"(?<![\w.,/-]){_D}(?: of)?[ -]{_MON}(?:,?[ -](?:of |in )?{_Y})?", day_month),
    rule(_MON_GATES, rf"\b{_MON} (?:the )?{_D}(?![\w:/]|[.,]\d)(?:,? {_Y}|(?! ?[ap]m){_NOT_A_DATE})", day_month),
    rule(
        _MON_GATES,
        rf"(?<![\w.,/-])(?:(?:between|from) )?(?:the )?{_D} ?(?:-|–|to|and|until|till|through) ?(?:the )?"
        rf"(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MON}(?:,? {_Y})?",
        day_month,
    ),
    rule(
        _MON_GATES,
        rf"\b(?:between |from )?{_MON} {_D} ?(?:-|–|to|and|until|till|through) ?(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?"
        rf"(?![\w:])(?:,? {_Y})?",
        day_month,
    ),
    rule(_MON_GATES, rf"\b(?P<at>{_THIRD}{_MON},? (?:of )?{_Y})", month_year),
    rule(
        _MON_GATES,
        rf"\b(?:(?:between|from) )(?P<at>{_MON}(?: {_Y})? (?:and|to|until|till|through|-|–) {_MON2}"
        rf"(?: (?P<y2>[12]\d{{3}}))?)",
        month_range,
    ),
    rule(
        _MON_GATES,
        rf"\b(?P<head>in|during|since|until|till|by|of|before|after|every|early in|late in|mid|around)"
        rf" (?:the month of )?(?P<at>{_THIRD}{_MON})(?! \d| [12]\d{{3}})",
        bare_month,
    ),
    rule(  # "the trip is postponed to August"
        _MON_GATES,
        rf"\b(?:moved|postponed|rescheduled|pushed|put off|brought forward)(?: [\w'’-]+){{0,6}}? (?P<head>to)"
        rf" (?P<at>{_THIRD}{_MON})(?! \d| [12]\d{{3}})",
        bare_month,
    ),
    rule(_MON_GATES, rf"\b(?P<at>(?P<head>last|next|this) {_THIRD}{_MON})(?! \d)", bare_month),
    rule(_MON_GATES, rf"\b(?P<at>(?P<head>(?P<third>early|mid|late))[- ]{_MON})(?! \d)", bare_month),
    rule(
        "0",
        rf"\b(?P<head>in|since|from|until|till|by|during|before|after|around|circa|year|to|through|of|back in|for)"
        rf" (?:the year |about |around |the )?(?P<at>{_THIRD}{_TODAY_YEAR}){_NOT_A_DATE}",
        year_after,
    ),
    rule("0", rf"\b(?P<head>(?P<third>early|mid|late))[- ]{_TODAY_YEAR}{_NOT_A_DATE}", year_after),
    rule(
        "0",
        r"(?<![\w./-])(?:(?:from|between) )?(?P<a>(?:19|20)\d\d) ?(?:-|–|to|and|until|till|through) ?"
        rf"(?P<b>(?:19|20)\d\d)(?![\w/-]|\.\d){_NOT_A_DATE}",
        year_range,
    ),
    rule(
        "summer winter spring autumn fall",
        r"\b(?P<at>(?:(?P<head>last|this|next|in the) )?"
        rf"{_THIRD}(?P<s>spring|summer|autumn|fall|winter)"
        rf"(?:(?: of| in)?,? {_Y}| (?:of )?(?P<year>last|this|next) year)?)\b",
        season,
    ),
    rule(
        "quarter q1 q2 q3 q4",
        rf"\b(?:q(?P<q>[1-4])|(?:the )?(?P<word>first|second|third|fourth|last|1st|2nd|3rd|4th) quarter)"
        rf"(?:(?: of| in)?,? {_Y})?\b",
        quarter,
    ),
    rule(
        ["0", *DECADES],
        rf"(?:\bthe ['’]?|(?<=['’])|\b(?=(?:18|19|20)\d0['’]?s)){_THIRD}(?:(?P<c>18|19|20)?(?P<n>\d)0['’]?s"
        rf"|(?P<word>{'|'.join(DECADES)}))\b",
        decade,
    ),
    rule(
        "yesterday today day",
        r"\b(?P<word>the day before yesterday|the day after tomorrow|yesterday|today|the other day)"
        r"(?: (?P<part>morning|afternoon|evening|night)| at (?P<p2>night))?\b",
        simple_day,
    ),
    rule("tomorrow tonight night", rf"\b(?P<word>tomorrow|tonight|last night)(?: {_PART})?\b", simple_day),
    rule("morning afternoon evening", r"\b(?P<word>this) (?P<part>morning|afternoon|evening)\b", simple_day),
    rule(
        WEEKDAYS,
        rf"\b(?P<at>(?:(?P<week0>last|this|next) week,? (?:on )?)?(?:(?P<head>last|this|next|this past|this coming|past"
        rf"|coming|every|each)(?: week's)? )?{_WD}"
        rf"(?P<plural>s)?(?: {_PART})?(?: (?P<week>last|this|next) week)?)\b(?!['’]s? )",
        weekday,
    ),
    rule(  # "last Fri", "on Tues": never the bare word, which may be the sun or somebody who sat
        "mon tue tues wed weds thu thur thurs fri sat sun",
        r"\b(?P<at>(?:(?P<head>last|this|next|this past|past|every) |(?<=\bon ))"
        r"(?P<wd>mon|tues?|weds?|thu(?:rs?)?|fri|sat|(?<!\bon )(?<!this )sun)(?P<plural>(?!))?"
        rf"(?: {_PART})?(?: (?P<week>last|this|next) week)?(?P<week0>(?!))?)\b(?!['’]s? )",
        weekday,
    ),
    rule(
        "week weekend month year quarter decade",
        rf"\b{_THIRD}(?:of )?(?P<head>(?<!the )last|this past|this coming|this|(?<!the )next|"
        r"(?<!the )past|coming|the previous|previous) (?P<u>weekend|week|month|year|quarter|decade)\b(?! of\b|-|s)",
        unit_near,
    ),
    rule(
        "week month year",
        r"\b(?:the )?(?P<edge>end|beginning|start|middle) of (?P<head>the|this|next|last) "
        r"(?P<u>week|month|year)\b",
        edge_of,
    ),
    rule("ago back", rf"\b(?:(?:about|around|almost|over|nearly|just) )?{COUNT} {_UNIT}s? (?:ago\b|back\b)", ago),
    rule(
        _UNITS,
        rf"\b(?:in|within) {COUNT} (?:more )?{_UNIT}s?(?: time)?\b"
        r"(?<!in a minute)(?<!in an hour)(?!['’]| of\b| ago| or)",
        ahead,
    ),
    rule("now", rf"\b{COUNT} {_UNIT}s? from (?:now|today)\b", ahead),
    rule(
        _UNITS,
        r"\b(?:(?:over|in|for|during|within) )?(?:the |these )?(?P<head>last|past|next|"
        rf"coming|following) {COUNT} {_UNIT}s?\b",
        last_units,
    ),
    rule(
        "week month year decade day",
        r"\b(?:over|in|for|during|within) the (?P<head>last|past|next|coming)(?P<n>)(?P<half>)"
        r" (?P<u>day|week|month|year|decade)\b(?! of)",
        last_units,
    ),
    rule(
        "days weeks months years decades week month year",
        rf"\b(?:have|has|had|['’]ve|been|['’]s)\b[^.!?;\n]{{0,60}}?(?P<at>\bfor (?:the (?:past|last) |about |over "
        rf"|almost |nearly |more than )?{COUNT} (?P<u>day|week|month|year|decade)s?)\b(?! ago)",
        for_units,
    ),
    rule(
        "every each",
        r"\b(?:every|each)(?: other| single)? (?P<u>day|weekday|week|weekend|month|year|morning|afternoon|evening"
        r"|night|summer|winter|spring|autumn)\b(?! of)",
        every,
    ),
    rule("0", r"(?<![\w:./-])(?P<at>(?P<h>\d{1,2})(?::(?P<min>\d{2}))? ?(?P<half>[ap]m\b|[ap]\.m\.))", clock),
    rule(
        "0",
        r"\b(?:at|by|until|till|from|around|before|after) (?P<at>(?P<h>[01]?\d|2[0-3]):(?P<min>[0-5]\d))(?![\d:])",
        clock,
    ),
    rule("0", r"(?<![\w:./-])(?P<at>(?P<h>[01]\d|2[0-3]):(?P<min>[0-5]\d))(?![\d:]|\.\d)", clock),
    rule("noon midnight", r"\b(?:at|by|until|till|around|before|after) (?P<at>(?P<word>noon|midnight))\b", clock),
    rule(
        "christmas xmas new halloween valentine",
        r"\b(?P<at>(?:(?P<head>last|next|this) )?(?P<name>christmas eve"
        r"|christmas|xmas"
        rf"|new year['’]s(?: eve| day)?|halloween|valentine['’]s day)"
        rf"(?: (?:of )?{_Y}| (?P<year>last|this|next) year)?)(?![\w’'])"
        r"(?! tree| gift| present| "
        r"card| party| carol| movie| song| cookie| decoration| lights| resolution| costume)",
        holiday,
    ),
    rule(
        "0",
        r"\b(?:on|by|before|after|until|since) (?P<at>the (?P<d>\d{1,2})(?:st|nd|rd|th))"
        r"(?=\s*(?:$|[.,!?;]|at\b|for\b|because\b))",
        nth_day,
    ),
)

GATES: frozenset[str] = frozenset().union(*(item.gates for item in RULES))
