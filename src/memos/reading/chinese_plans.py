"""What a Chinese clause says of the time ahead: what is planned, when it is, and that it was called off or moved.

"五一不去成都了", "会议取消了" and "改去重庆了" say nothing of their own where no such plan is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from memos.memory.model import Kind
from memos.memory.statement import Reference
from memos.reading.chinese import KIN_WORDS
from memos.reading.finding import End, Finding
from memos.reading.scene import Scene
from memos.text.dates import DateMention
from memos.text.lazy import LazyPattern
from memos.text.name_lists import CHINESE_PLACES, PLACES, SURNAMES

_THINGS = (
    r"航班|飞机|火车|高铁|动车|大巴|会议|例会|考试|面试|比赛|演出|演唱会|音乐会|讲座|培训|预约|体检|手术|复查|复诊|答辩|面谈"
    r"|婚礼|聚会|聚餐|约会|活动"
)
_TRIPS = r"行程|计划|旅行|旅程|之行|之旅|旅游|出行|出差|安排"
_MOVED = r"改[为在]|改成了?|(?:改|改期|推迟|延期|延后|延|延误|延迟|推|提前|挪|调|换)到了?"
_END = r"(?=\s*(?:[，。！；,!;、~～…（(\n]|而且|但是|可是|不过|并且|所以|因为|然后|$))"
_WHERE = r"(?P<v>[^，。！？；,!?;、\s的了吗呢吧不我你他她它]{2,8}?)"
_DONE = r"(?:玩|旅游|旅行|出差|度假|过年|过节|看[\u4e00-\u9fff]{1,4})?"
_DECIDED = r"(?:已经|最后|最终|临时|都|就|也|又|还是|决定|暂时|现在)*"

TIMES = re.compile(
    rf"(?:我们?的?|这趟|那趟|这次|新的?)?(?P<x>{_THINGS})(?:的?时间)?(?:已经|又|被|临时|也)*"
    rf"(?P<how>是|在|约在|约了|定在|安排在|{_MOVED})?(?P<v>[^，。！？；,!?;\n]{{0,18}}?)"
    rf"(?P<tail>起飞|出发|开车|开始|发车|举行|到)?了?(?=(?:啦|呢|的|哦|啊|呀)*\s*(?:[，。！；,!;、~～…（(\n]|而且|但是|可是|不过|$))"
)
PLAN_WORDS = re.compile(
    r"^(?:得|要|需要|必须|打算|计划|准备|会(?!议)|将|约了|预约了|有(?=[\u4e00-\u9fff]{0,8}(?:会|约|考试|面试"
    r"|航班|课|比赛|会议|婚礼|手术)))"
)
INTENDS = LazyPattern("(?:打算|计划|准备)(?=[^，。]{0,10}(?:去|回|飞|参加|搬|买|看|学))")
_CLOCK = LazyPattern(r"[\d一二两三四五六七八九十][点:：]")
_DAY = LazyPattern("[周天日号月期拜]|五一|国庆|元旦")
_HOUR = LazyPattern(
    r"[早中下上傍晚午上]{0,2}(?:[\d一二两三四五六七八九十]{1,3}[点:：](?:[\d一二三四五六七八九十]{1,3}分?|半|整|钟)?)?的?"
)
_IS_MOVED = LazyPattern("[改推延提挪调换]")
_NO_DAY = LazyPattern(r"[我你他她]")
_MAY_CHANGE = LazyPattern("不|取消|改")
_NOT_GOING = LazyPattern(
    rf"{_DECIDED}(?:不(?:再|打算|准备|计划|想|能)?(?:去|到|回|飞|往)|不(?:再|打算|准备|计划|想)?(?=参加|看|爬|买|搬|考|办|订|租|换|见))"
    rf"{_WHERE}{_DONE}了{_END}"
)
_NOT_AT_ALL = LazyPattern(
    rf"(?:(?P<v>[\u4e00-\u9fffA-Za-z]{{2,6}}?)(?:我们|我|咱们)?)?{_DECIDED}(?:不去|去不了|去不成|不能去)了{_END}"
)
_WHAT = rf"(?:去|到|飞)?(?P<v>[^，。！？；,!?;、\s了吗呢吧不你他她它]{{0,10}}?)(?:的?(?P<n>{_TRIPS}|{_THINGS}))"
_CALLED_OFF = LazyPattern(
    rf"(?:把)?(?:(?:原来|原定|之前|原本)的?)?{_WHAT}?(?:都|已经|也|全|全部|被|临时)*取消(?:掉)?了{_END}"
)
_CALLING_OFF = LazyPattern(rf"{_DECIDED}取消了?{_WHAT}了?{_END}")
_INSTEAD = LazyPattern(
    rf"{_DECIDED}改(?:成|为)?(?P<verb>去|飞|到(?=[^，。]{{2,4}}(?:玩|旅游|旅行|出差|度假))){_WHERE}{_DONE}(?:了|啦)?{_END}"
)
_OTHERS = LazyPattern(
    rf"[他她你您]|[小老阿][{SURNAMES}](?![\u4e00-\u9fff]?(?:时候|家|区|学|说))|{KIN_WORDS}|(?:有人|别人|人家|大家|公司|学校)"
)
_OWN = LazyPattern(rf"我们|咱们?|我(?!的?{KIN_WORDS}|们)")
_WEEK = timedelta(days=7)
_IN_YEAR = LazyPattern("月|节|五一|国庆|元旦|圣诞")
_YEAR = LazyPattern(r"\d{4}年|[去前昨上今]")
_MY = LazyPattern("^(?:我们?的?|这次|那次|这个|那个|原来的?|的)+|的$")
_VAGUE = ("", "计划", "安排")  # of what, only a place or a day tells
TRIP = "旅行"  # what `Reference` calls any journey


def changed(scene: Scene, start: int, at: int, end: int, told: DateMention | None) -> list[Finding]:
    """What a clause calls off or puts in the place of something: text[start:end], whose subject or verb begins at `at`. `told`:
    the day that the clause before it was about.
    """
    text = scene.text
    if not _MAY_CHANGE.search(text, start, end) or not is_own(text, start, at):
        return []
    day, body = _day_and_body(scene, start, at, end)
    within = _coming(scene, day)
    if day is not None and within is None:
        return []
    if match := _NOT_GOING.match(text, body, end) or _NOT_AT_ALL.match(text, body, end):
        of = Reference(name=match["v"] or "", noun="" if match["v"] else TRIP, within=within, known=True)
        return [_over(scene, match.span(), (start, end), of)] if of.name or day else []
    if match := _CALLED_OFF.match(text, body, end) or _CALLING_OFF.match(text, body, end):
        name, noun = _MY.sub("", match["v"]), match["n"] or ""
        if name or day or noun not in _VAGUE:
            noun = noun if re.fullmatch(_THINGS, noun) else "" if name else TRIP
            of = Reference(name=name, noun=noun, within=within, known=True)
            return [_over(scene, match.span(), (start, end), of)]
    if match := _INSTEAD.match(text, body, end):
        day = day or told
        if day is not None or match["v"] in CHINESE_PLACES or match["v"] in PLACES:
            return _instead(scene, match, (start, end), day)
    return []


def timed(scene: Scene, start: int, at: int, end: int) -> list[Finding]:
    """航班周五8点起飞, 体检改到27号了: when something is, whatever was said before."""
    match = TIMES.match(scene.text, at, end)
    if match is None or _NO_DAY.search(match["v"]):
        return []
    span = match.span("v")
    moved = _IS_MOVED.match(match["how"] or "") is not None
    days = (m for m in scene.dates_in(*span) if not m.recurring and _DAY.search(scene.text, m.start, m.end))
    date = next((m for m in days if moved or m.to > scene.now), None)
    due = _coming(scene, date)
    bare = (
        date is not None
        and bool(match["how"])
        and date.start == span[0]
        and _HOUR.fullmatch(scene.text[date.end : span[1]])
    )
    if not (_CLOCK.search(match["v"]) or (due and bare)):
        return []
    before = next((m for m in scene.dates_in(start, match.start("x"))), None)
    was = _coming(scene, before)
    said = scene.text[match.start("x") : match.end()].strip()
    made = scene.finding(
        Kind.COMMITMENT if due else Kind.FACT,
        f"{scene.who}的{said}。",
        f"{match['x']}时间",
        span,
        (min(at, start), match.end()),
        single=True,
        confidence=0.85,
        due=due,
        ends=(End(match["x"]),),
        of=Reference(noun=match["x"], within=was) if moved and (was or before is None) else None,
    )
    return [made]


def is_own(text: str, start: int, at: int) -> bool:
    """Whether a clause is about the speaker: it says so, or nobody else was spoken of since she was."""
    if text[at : at + 1] in ("我", "咱"):
        return True
    before = text[max(0, start - 80) : start]
    other = max((m.start() for m in _OTHERS.finditer(before)), default=-1)
    own = max((m.start() for m in _OWN.finditer(before)), default=-1)
    return other < 0 or own > other


def _day_and_body(scene: Scene, start: int, at: int, end: int) -> tuple[DateMention | None, int]:
    """The day that a clause names, and where it goes on after its subject and that day."""
    text, body = scene.text, at
    for subject in ("我们", "咱们", "我"):
        if text.startswith(subject, body):
            body += len(subject)
            break
    days = scene.dates_in(start, end)
    for day in days:
        if day.start <= body <= day.end or text[body : day.start] in ("把", "的", "这个", "原定"):
            body = day.end
            while text[body : body + 1] in tuple(" 的，就"):
                body += 1
    return next(iter(days), None), body


def _coming(scene: Scene, day: DateMention | None) -> tuple[datetime, datetime] | None:
    """When a day is that is to come; None for one that is past. Who calls off "5月1号" or "周五" means the one ahead."""
    if day is None or day.recurring:
        return None
    if day.to > scene.now:
        return day.from_, day.to
    if _YEAR.search(scene.text, day.start, day.end):
        return None
    if scene.text[day.start] in "周星礼":
        return day.from_ + _WEEK, day.to + _WEEK
    if not _IN_YEAR.search(scene.text, day.start, day.end):
        return None
    from_, to = (t.replace(year=t.year + 1, day=min(t.day, 28) if t.month == 2 else t.day) for t in (day.from_, day.to))
    return (from_, to) if to > scene.now else None


def _over(scene: Scene, value: tuple[int, int], evidence: tuple[int, int], of: Reference) -> Finding:
    return scene.finding(
        Kind.COMMITMENT,
        f"{scene.who}：{scene.text[slice(*evidence)].strip(' ，。')}。",
        "called off",
        value,
        evidence,
        confidence=0.85,
        valid=(None, scene.now),
        ended=True,
        of=of,
    )


def _instead(scene: Scene, match: re.Match[str], evidence: tuple[int, int], day: DateMention | None) -> list[Finding]:
    """改去厦门: a plan that takes the place of the journey of that day."""
    date, what = (
        scene.text[day.start : day.end] if day is not None else "",
        match[0][match.start("verb") - match.start() :],
    )
    what = what.rstrip("了啦")
    value, due = (match.start("verb"), match.start("verb") + len(what)), _coming(scene, day)
    plan = scene.finding(
        Kind.COMMITMENT,
        f"{scene.who}{date}{what}。",
        "plan",
        value,
        evidence,
        confidence=0.85,
        due=due,
        of=Reference(noun=TRIP, within=due, known=due is None),
    )
    return [plan, _over(scene, value, evidence, Reference(noun=TRIP, within=due, known=True))]


def planned(scene: Scene, start: int, at: int, body: int, end: int) -> Iterator[Finding]:
    """下周一我要去北京: a clause with a date to come and a word of intention, which stands at `body` or after the date."""
    text = scene.text
    for mention in scene.dates_in(start, end):
        if mention.to <= scene.now or mention.recurring:
            continue
        begin = body
        lead = PLAN_WORDS.match(text[begin:end])
        if lead is None and text[mention.end : mention.end + 1] in ("要", "得", "会", "有"):
            begin = mention.end
            lead = PLAN_WORDS.match(text[begin:end])
        if lead is None:
            continue
        begin += len(lead[0]) if lead[0] != "有" else 0
        stop = end
        while stop > begin and text[stop - 1] in "了。！ ":
            stop -= 1
        if stop - begin < 2:
            continue
        date, what = text[mention.start : mention.end], text[begin:stop]
        yield scene.finding(
            Kind.COMMITMENT,
            f"{scene.who}{'' if date in what else date}{lead[0] if lead[0] != '有' else ''}{what}。",
            "plan",
            (begin, stop),
            (min(at, mention.start), max(stop, mention.end)),
            confidence=0.85,
            due=(mention.from_, mention.to),
        )
        return
