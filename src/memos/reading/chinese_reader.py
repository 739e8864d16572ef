"""Reads Chinese clauses with the tables of `chinese`, as cautiously as English: stated, real, and of the speaker."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from memos.memory.model import Kind
from memos.reading import chinese, chinese_plans
from memos.reading.clauses import UNREAL, Sentence, foreign_spans, inside, sentences
from memos.reading.endings import HABITS, JOB, KIN_ATTRIBUTES, ends_of
from memos.reading.finding import End, Finding
from memos.reading.patterns import ClauseRule, words
from memos.reading.scene import Scene
from memos.reading.topics import preferred_as
from memos.text.dates import DateMention
from memos.text.lazy import LazyPattern
from memos.text.name_lists import CHINESE_COUNTRIES, CHINESE_PLACES, PLACES

_LONGEST = 1_500
# After a clause that brings in somebody or something, the next one may be about that.
_INTRODUCES = frozenset({*KIN_ATTRIBUTES, "owns", "is"})
_TAKEN_BACK = LazyPattern("的话|开玩笑|骗你|逗你|做梦|梦")
_CONFIRMS = LazyPattern("对[吗吧不]|是[吗吧不]|没错|不是吗|还是|真的[吗假]")
_ASKS = LazyPattern("什么|哪|谁|怎么|怎样|为何|多少|几岁|几点|是不是|有没有|能不能|会不会|吗|[?？]")
_OF_NAMED = tuple(rule for rule in chinese.RELATIVE if rule.attribute not in ("kin", "died"))
# Rules that need their 我: a name or a thing without one is too likely somebody else's.
_NEEDS_SUBJECT = ("name", "{x}", "birthplace", "always", "never")
_CLAUSE = LazyPattern(
    r"[^，。！？；!?;\n]+?(?=[，。！？；!?;\n]|而且|但是|可是|不过|并且|所以|因为|$)(?:而且|但是|可是|不过|并且|所以|因为)*"
)
_FILLER = LazyPattern(
    r"(?:其实|而且|但是|但|然后|嗯|哦|啊|对了|另外|还有|因为|所以|不过|是的|没错|你好|您好|大家好|嗨|哈喽"
    r"|那个|现在|目前|最近|总之|顺便说一下|顺便|说实话|老实说|更正一下|更正|不对|不是|后来|于是|并且|可是|同时|平时|我是说"
    r"|请记住|记住|记一下|谢谢|好的|好|嘿|哎|唉|小时候|[,， 、])*"
)
_REPORT = LazyPattern(
    r"(?:他|她|你|他们|她们|有人|[\u4e00-\u9fff]{1,3})(?:说|问|觉得|认为|告诉我|写道|以为)[：:，, ]?$"
)
_PLACE_TAIL = LazyPattern(r"(?:省|市|区|县|镇|国|州|岛|村|城|湾|山|港)$")
_NO_PLACE = LazyPattern(
    r"[路街]$|公司|学校|医院|宿舍|家|酒店|房子|公寓|楼|附近|一起|外面|里|上|下|这|那|农村|城里|国外|海边|乡下|市中心"
    r"|市区|郊区|学生"
)
_NO_THING = LazyPattern("[我你他她它这那]|(?:新的?)?(?:电话|手机)?(?:号码|号|地址)$")
_NO_ONE = LazyPattern("[我你他她它们谁人的]|手机|电脑|电池|机器|有人|笑|累|热|饿|气")
_NO_NAME = words("什么 怎么 做 他 她 你 我 不 了 车 停 外卖 一声 妈妈 爸爸 老师 大家 起床 人 出租车 医生 学生 中国人")
_SHE, _HE = LazyPattern("[妈母妻婆太姐妹女奶姥姑姨]"), LazyPattern("[爸父夫公哥弟儿爷舅叔男]")
_NAMELESS = LazyPattern("[的了吗呢是在我你他她]")
_NO_POSSESSED = LazyPattern(
    r"^(?:意思|想法|问题|观点|看法|建议|错|天|心|目标|梦想|爱|人|事|话|朋友|同事|老师|最爱|感觉|生活|世界"
    r"|理想|愿望|原则|态度|心情|经验|理解|答案|工作|职业|家|孩子|家人|父母|意见|回答|重点|东西|确|是|.*(?:妈"
    r"|爸|哥|姐|弟|妹|儿|友|婆|公|子|生))$"
)
_CITY = LazyPattern(
    r"(?:[\u4e00-\u9fff]{2,3}省)?(?P<c>[\u4e00-\u9fff]{2,3}?)(?:(?P<s>市)|(?=[\u4e00-\u9fff]{2,3}区))"
    r"(?!(?:[东南西北中一二三四])?(?:路|街|大道))"
)
_PLAIN = LazyPattern(r"\d|[A-Za-z]{2}|[红黄蓝绿黑白灰紫粉橙银金]色|《|楼|号|室|区|路|街|层|桌")


def read_chinese(scene: Scene, *, own: bool) -> list[Finding]:
    """What the Chinese clauses of a message say. With `own` False only what is stated of things."""
    foreign = foreign_spans(scene.text)
    found: list[Finding] = []
    for piece in sentences(scene.text):
        if (
            piece.end - piece.start > _LONGEST
            or inside(piece.start, foreign)
            or not re.search("[\u4e00-\u9fff]", scene.text[piece.start : piece.end])
        ):
            continue
        found += _sentence(scene, piece, foreign, own=own)
    return found


def _sentence(scene: Scene, piece: Sentence, foreign: list[tuple[int, int]], *, own: bool) -> Iterator[Finding]:
    """What the clauses of a sentence say. One without a subject has that of the clause before it."""
    carried, told, kin = False, None, None
    for clause in _CLAUSE.finditer(scene.text, piece.start, piece.end):
        if inside(clause.start(), foreign) or _REPORT.search(scene.text, piece.start, clause.start()):
            carried, kin = False, None
            continue
        reader = _Clause(scene, clause.start(), clause.end(), piece.end, told, kin)
        if own:
            yield from reader.requested(asks=piece.asks)
        if not _states(scene.text, piece, clause.end()):
            continue
        made = reader.read(carried=carried) if own else reader.stated()
        yield from made
        kin = reader.kin
        told = next(iter(scene.dates_in(*clause.span())), told) if any(f.of for f in made) else told
        carried = reader.tells_new_job() or any(
            f.subject == scene.subject and f.attribute not in _INTRODUCES for f in made
        )


def _states(text: str, piece: Sentence, end: int) -> bool:
    """Whether the sentence up to `end`, the end of a clause, states something: it is not asked, supposed or a joke."""
    if UNREAL.search(text, piece.start, end) or _TAKEN_BACK.search(text, end, piece.end):
        return False
    if not piece.asks:
        return True
    rest = text[end : piece.end].strip("，,。？?！! ")
    return bool(rest) and _CONFIRMS.match(rest) is None and _ASKS.search(text, piece.start, end) is None


class _Clause:
    """Reads one clause, up to its sentence's end where a pattern reaches that far."""

    def __init__(
        self,
        scene: Scene,
        start: int,
        end: int,
        stop: int,
        told: DateMention | None = None,
        kin: tuple[str, tuple[int, int]] | None = None,
    ) -> None:
        self.scene, self.text, self.start, self.end, self.stop = scene, scene.text, start, end, stop
        self.told = told  # the day of the plan that the clause before called off
        self.kin = kin  # the relative that a clause before was about, and where: whom 他 or 她 means

    def read(self, *, carried: bool = False) -> list[Finding]:
        """What it says. `carried`: where it has no subject, that is the speaker."""
        at = self._begin(self.start)
        if ahead := self._ahead(at):
            return ahead
        former = chinese.FORMER.match(self.text, at, self.end)
        if former:
            return [self._former(former)]
        kin = chinese.KIN_HEAD.match(self.text, at, self.stop)
        if kin and kin.end() < self.end:
            self.kin = (kin["kin"], kin.span("kin"))
            found = list(self._relative(kin.end(), at))
            self.kin = self.kin if found else None
            return found
        if self.kin and _may_mean(self.text[at : at + 1], self.kin[0]):
            return list(self._relative(at + 1, at))
        if self.text[at : at + 1] != "我":
            return self._without_subject(at, carried=carried)
        if self.text[at : at + 2] == "我们" and self.text[at + 2 : at + 3] != "家":
            body = self._skip_date(at + 2)
            homes = tuple(r for r in chinese.SELF if r.attribute in ("home", "home_address", "marital status"))
            found = list(self._match(homes, body, at, self.scene.who, self.scene.subject))
            return found or list(chinese_plans.planned(self.scene, self.start, at, body, self.end))
        body = self._skip_date(at + 1)
        found = list(self._match(chinese.SELF, body, at, self.scene.who, self.scene.subject))
        return found or list(chinese_plans.planned(self.scene, self.start, at, body, self.end))

    def tells_new_job(self) -> bool:
        """我升职了: what the speaker is now comes next."""
        return chinese.NEW_JOB.match(self.text, self._begin(self.start), self.end) is not None

    def _ahead(self, at: int) -> list[Finding]:
        """What it calls off or moves, and when something is."""
        before, end = self.text[self.start : at], self.end
        if "不是" in before:
            return []
        if changed := chinese_plans.changed(self.scene, self.start, at, end, self.told):
            return changed
        return chinese_plans.timed(self.scene, self.start, at, end)

    def _without_subject(self, at: int, *, carried: bool) -> list[Finding]:
        if named := self._named(at):
            return named
        if died := chinese.DIED.match(self.text, at, self.end):
            return list(self._died(died))
        if self.text[at : at + 1] == "新":
            rules = tuple(rule for rule in chinese.SELF if rule.attribute in ("home_address", "phone", "email"))
            if found := list(self._match(rules, at, at, self.scene.who, self.scene.subject)):
                return found
        if carried:
            rules = tuple(rule for rule in chinese.SELF if rule.attribute not in _NEEDS_SUBJECT)
            found = list(self._match(rules, self._skip_date(at), at, self.scene.who, self.scene.subject))
            if found:
                return [replace(f, confidence=round(f.confidence * 0.9, 3)) for f in found]
        if chinese_plans.INTENDS.match(self.text, at, self.end) and chinese_plans.is_own(self.text, self.start, at):
            return list(chinese_plans.planned(self.scene, self.start, at, at, self.end))
        return self.stated()

    def _former(self, match: re.Match[str]) -> Finding:
        """我前夫…: there is no such husband any more."""
        attribute = "spouse" if match["v"] in ("前夫", "前妻") else "partner"
        return self.scene.finding(
            Kind.PROFILE,
            f"{self.scene.who}有{match['v']}。",
            attribute,
            match.span("v"),
            match.span(),
            confidence=0.85,
            valid=(None, self.scene.now),
            ended=True,
            ends=(End(attribute),),
        )

    def _named(self, at: int) -> list[Finding]:
        """陈刚对芒果过敏: what is said of somebody by a name alone."""
        if not chinese.MAY_NAME.search(self.text, at, self.end):
            return []
        for pattern in chinese.NAMES:
            if name := pattern.match(self.text, at, self.end):
                who, subject = f"{self.scene.who}的{name[0]}", f"{self.scene.subject}的{name[0]}"
                if found := list(self._match(_OF_NAMED, name.end(), at, who, subject, kin=name[0])):
                    return [replace(f, person=name[0]) for f in found]
        return []

    def _died(self, match: re.Match[str]) -> Iterator[Finding]:
        """旺财去世了: whoever of those known bears the name."""
        name = match["v"]
        if _NO_ONE.search(name):
            return
        mention = self._date(match.end())
        yield self.scene.finding(
            Kind.PROFILE,
            f"{match[0]}。",
            "pet",
            match.span("v"),
            match.span(),
            confidence=0.85,
            valid=(None, mention.from_ if mention and mention.to <= self.scene.now else self.scene.now),
            ended=True,
            ends=tuple(End(attribute, name, now=True) for attribute in KIN_ATTRIBUTES),
        )

    def _begin(self, at: int) -> int:
        """Past fillers and a date in front: "对了，上周我…"."""
        for _ in range(3):
            filler = _FILLER.match(self.text, at, self.end)
            moved = self._skip_date(filler.end() if filler else at)
            if moved == at:
                break
            at = moved
        return at

    def _skip_date(self, at: int) -> int:
        for mention in self.scene.dates:
            if mention.start == at or (mention.start == at + 1 and self.text[at] in "在从自"):
                at = mention.end
                while self.text[at : at + 1] in tuple(" 的，就才刚也起"):
                    at += 1
        return at

    def _match(
        self, rules: tuple[ClauseRule, ...], at: int, start: int, who: str, subject: str, kin: str = ""
    ) -> Iterator[Finding]:
        for rule in rules:
            match = rule.pattern.match(self.text, at, self.stop)
            if match is None or (
                match.start("v") >= self.end and rule.attribute != "phone" and "reaches" not in rule.flags
            ):
                continue
            made = list(self._findings(rule, match, start, who, subject, kin))
            if made:
                yield from made
                return

    def _findings(
        self, rule: ClauseRule, match: re.Match[str], start: int, who: str, subject: str, kin: str
    ) -> Iterator[Finding]:
        x = match.groupdict().get("x") or ""
        if rule.attribute == "{x}" and "denied" in rule.flags and self.scene.dates_in(start, match.start()):
            return  # 今天不喝咖啡了 says nothing of tomorrow
        for n, (begin, end) in enumerate(self._values(rule.take, match)):
            value = self.text[begin:end]
            attribute = self._attribute(rule, x, value, kin)
            say = rule.say
            if rule.take == "address" and n:
                attribute, say = "home_city", "{s}住在{v}"
            ended = "ended" in rule.flags or ("denied" in rule.flags and bool(match["gone"] or "不再" in match[0]))
            negated = "negated" in rule.flags or ("denied" in rule.flags and not ended)
            say = say.replace("不再", "不", 1) if "denied" in rule.flags and negated else say
            if attribute == "died":
                attribute, ended, begin, end = (
                    chinese.KIN.get(kin, "relative"),
                    True,
                    *(self.kin[1] if self.kin and begin == end else (begin, end)),
                )
            mention = self._date(max(end, self.end))
            yield self.scene.finding(
                rule.kind,
                say.format(s=who, v=value, x=x) + "。",
                attribute,
                (begin, end),
                (start, max(end, min(match.end(), self.stop))),
                subject=subject,
                single=(rule.single or attribute.startswith("preferred ")) and not kin and not negated,
                confidence=rule.confidence * (0.95 if kin else 1.0),
                polarity=rule.polarity if not negated else "-",
                negated=negated,
                ended=ended,
                ends=self._ends(rule, attribute, value, kin, ended=ended, negated=negated),
                valid=self._valid(rule, mention, ended),
            )
            if "job" in rule.flags:
                yield self.scene.finding(
                    Kind.PROFILE,
                    f"{who}是{x}。",
                    "job",
                    match.span("x"),
                    (start, match.end("x")),
                    subject=subject,
                    single=True,
                    confidence=rule.confidence,
                )

    def _ends(
        self, rule: ClauseRule, attribute: str, value: str, kin: str, *, ended: bool, negated: bool
    ) -> tuple[End, ...]:
        """What is over with it: see `endings`."""
        if "jobless" in rule.flags:
            return JOB
        if "moved" in rule.flags or "parted" in rule.flags:
            return (End(attribute),)
        if "sold" in rule.flags:
            return (End("owns", value), End(value), *((End("owns", only="车"),) if value in ("车", "汽车") else ()))
        if "habit" in rule.flags:
            return tuple(End(habit, value) for habit in (*HABITS, "smokes", "always"))
        if rule.attribute == "died":
            if not value:
                return (End(attribute, only="" if attribute == "spouse" else kin, now=True),)
            return tuple(End(other, value, now=True) for other in KIN_ATTRIBUTES)
        if ended and "曾" in rule.say:
            return ()
        ends = ends_of(attribute, value, ended=ended, negated=negated, moved="starts" in rule.flags)
        return (*ends, End("always", value)) if ended and attribute in ("eats", "drinks", "smokes") else ends

    def _attribute(self, rule: ClauseRule, x: str, value: str, kin: str) -> str:
        if rule.attribute == "home":
            return "home_country" if value in CHINESE_COUNTRIES else "home_city"
        if rule.attribute == "prefers":
            return preferred_as(value)[0]
        if rule.attribute == "kin":
            return chinese.KIN.get(kin, "relative")
        if rule.attribute.startswith("kin:"):
            return chinese.KIN.get(x, "relative")
        return (
            {"吃": "eats", "喝": "drinks", "抽": "smokes"}.get(x, x)
            if rule.attribute == "{x}"
            else rule.attribute.format(x=x)
        )

    def _valid(
        self, rule: ClauseRule, mention: DateMention | None, ended: bool
    ) -> tuple[datetime | None, datetime | None]:
        if ended:
            return None, mention.from_ if mention and mention.to <= self.scene.now else self.scene.now
        starts = "starts" in rule.flags or (
            mention is not None and mention.precision == "range" and "since" in rule.flags
        )
        return (mention.from_, None) if starts and mention is not None else (None, None)

    def _date(self, end: int) -> DateMention | None:
        return next(iter(self.scene.dates_in(self.start, end)), None)

    def _values(self, take: str, match: re.Match[str]) -> list[tuple[int, int]]:
        """The value of a match as its spans: one, several for a list, none where it is not what it should be."""
        start, end = match.span("v")
        value = self.text[start:end]
        while value and value[-1] in "了啦呢哦啊呀吧 ":
            value, end = value[:-1], end - 1
        if not value and take != "optional":
            return []
        match take:
            case "place":
                known = (
                    value in CHINESE_PLACES
                    or value in PLACES
                    or _PLACE_TAIL.search(value)
                    or (value[:2] in CHINESE_PLACES and value[-1] not in "路街")
                )
                return [(start, end)] if known or (_NO_PLACE.search(value) is None and 1 < len(value) < 6) else []
            case "address":
                city = _CITY.match(self.text, start, end)
                if city is None or not (city["s"] or city["c"] in CHINESE_PLACES):
                    return [(start, end)]
                return [(start, end), city.span("c")]
            case "known_place":
                return [(start, end)] if value in CHINESE_PLACES or value in PLACES or _PLACE_TAIL.search(value) else []
            case "name":
                return [] if value in _NO_NAME or _NAMELESS.search(value) else [(start, end)]
            case "names":
                spans = self._items(start, end)
                return (
                    []
                    if any(self.text[s:e] in _NO_NAME or _NAMELESS.search(self.text, s, e) for s, e in spans)
                    else spans
                )
            case "organisation":
                return (
                    []
                    if value in CHINESE_PLACES
                    or value in PLACES
                    or re.search(
                        r"^(?:家|外面|努力|认真|拼命|好好|专心|安心|辛苦|忙|线|国外|海外|外地|本地|办公室"
                        r"|公司|那里|这里|学校|医院|银行|工厂|一家)",
                        value,
                    )
                    or "一家" in value
                    else [(start, end)]
                )
            case "list" | "liked_list":
                return self._items(start, end)
            case "liked":
                return [] if len(value) > 16 or value[0] in "你他她它这那" else [(start, end)]
            case "food":
                return (
                    []
                    if len(value) > 8 or value[0] in "了下到完得惯起饱" or value in ("饭", "苦", "醋", "亏", "消")
                    else [(start, end)]
                )
            case "habit":
                return (
                    []
                    if len(value) < 2 or re.search(r"觉得|知道|认为|想|说|记得|明白|会忘|忘", value)
                    else [(start, end)]
                )
            case "possessed":
                noun = match["x"]
                return [] if _NO_POSSESSED.match(noun) or not _PLAIN.search(value) else [(start, end)]
        return [(start, end)]

    def _items(self, start: int, end: int) -> list[tuple[int, int]]:
        items = [(m.start(), m.end()) for m in re.compile(r"[^、和与及跟]+").finditer(self.text, start, end)]
        if any(e - s > 10 for s, e in items) or (len(items) > 1 and any(e - s < 1 for s, e in items)):
            return [(start, end)] if end - start <= 16 else []
        return [(s, e) for s, e in items if self.text[s:e] not in ("什么", "所有", "你", "他", "她")]

    def _relative(self, at: int, start: int) -> Iterator[Finding]:
        assert self.kin is not None
        noun = self.kin[0]
        who = f"{self.scene.who}的{noun}"
        subject = f"{self.scene.subject}的{noun}"
        for finding in self._match(chinese.RELATIVE, at, start, who, subject, kin=noun):
            if finding.attribute in (chinese.KIN.get(noun, "relative"), "relative"):
                # The relation is a fact about the speaker: her wife is called …
                yield _about(finding, self.scene.subject)
            else:
                yield finding

    def requested(self, *, asks: bool) -> list[Finding]:
        """提醒我…, 以后请用中文回答."""
        if self.scene.message.role != "user" or not re.compile("我|请|以后|今后|麻烦|从现在").search(
            self.text, self.start, self.end
        ):
            return []
        at = self._begin(self.start)
        for rule in chinese.REQUESTS:
            match = rule.pattern.match(self.text, self.start, self.end) or rule.pattern.match(self.text, at, self.end)
            if match is None or (asks and "remind" not in rule.flags):
                continue
            value = self.text[slice(*match.span("v"))]
            if (
                "remind" in rule.flags
                and (match[0].startswith("叫") or "叫我" in match[0][: match.start("v") - match.start()])
                and "提醒" not in match[0]
            ):
                continue
            due = None
            if "due" in rule.flags:
                due = next(
                    ((m.from_, m.to) for m in self.scene.dates_in(self.start, self.end) if m.to > self.scene.now), None
                )
            return [
                self.scene.finding(
                    rule.kind,
                    rule.say.format(s=self.scene.who, v=value) + "。",
                    rule.attribute,
                    match.span("v"),
                    (self.start, self.end),
                    single=rule.single,
                    confidence=rule.confidence,
                    polarity=rule.polarity,
                    due=due,
                )
            ]
        return []

    def stated(self) -> list[Finding]:
        """储物柜14的密码是2207: a thing and its number or code."""
        match = chinese.STATED.match(self.text, self._begin(self.start), self.end)
        if match is None or not chinese.STATED_NOUNS.search(match["s"]) or _NO_THING.match(match["s"]):
            return []
        return [
            self.scene.finding(
                Kind.FACT,
                f"{match['s']}是{match['v']}。",
                "is",
                match.span("v"),
                match.span(),
                subject=match["s"].strip(),
                single=True,
                confidence=0.85,
            )
        ]


def _may_mean(pronoun: str, noun: str) -> bool:
    """Whether a pronoun may stand for a relative or pet."""
    if chinese.KIN.get(noun) == "pet":
        return pronoun in tuple("它他她")
    she, he = _SHE.search(noun), _HE.search(noun)
    return pronoun in (("她",) if she else ("他",) if he else ("他", "她"))


def _about(finding: Finding, subject: str) -> Finding:
    return replace(finding, subject=subject, single=finding.attribute == "spouse")
