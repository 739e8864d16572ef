"""Short answers that only make sense after their question: "What's your name?" – "Alice". A few safe questions only."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memos.memory.message import Message
from memos.memory.model import Kind
from memos.reading.english_life import OFTEN
from memos.reading.finding import Finding
from memos.reading.scene import Scene
from memos.reading.value import Place
from memos.reading.values import read
from memos.reading.wording import conjugated, sentence
from memos.text.lazy import LazyPattern


@dataclass(frozen=True, slots=True)
class _Question:
    asked: re.Pattern[str]
    lead: re.Pattern[str]
    take: str
    attribute: str
    say: str
    single: bool = True


def _ask(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_IT_IS = r"(?:it['’]?s |it is |i['’]?m |i am |that['’]?s |sure[,!] |hi[,!] |well, |oh, |yes[,:] |yeah, )*"
_QUESTIONS = (
    _Question(
        _ask(
            r"\bwhat(?:['’]?s| is) your (?:first |full )?name\b|\bwhat (?:should|can|may|do) i call you\b"
            r"|\bwho am i (?:speaking|talking) (?:to|with)\b|\bmay i (?:have|know) your name\b"
        ),
        _ask(_IT_IS + r"(?:my name(?: is|['’]s) |call me |just )?"),
        "name",
        "name",
        "be called {v}",
    ),
    _Question(
        _ask(
            r"\bwhere (?:do you live|are you (?:based|living|located))\b|\b(?:what|which) (?:city|town)"
            r" (?:do you live|are you)\b"
        ),
        _ask(_IT_IS + r"(?:i live )?(?:in )?(?:the )?"),
        "place",
        "home",
        "live in {v}",
    ),
    _Question(
        _ask(
            r"\bwhat do you do(?: for (?:a living|work))?\s*\?|\bwhat(?:['’]?s| is) your (?:job|occupation"
            r"|profession)\b"
        ),
        _ask(_IT_IS + r"(?:i work as )?(?:an? )?"),
        "job",
        "job",
        "be {a}{v}",
    ),
    _Question(
        _ask(
            r"\bare you allergic to anything\b|\bdo you have any (?:food )?allergies\b|\bwhat are you"
            r" allergic to\b|\bany allergies\b"
        ),
        _ask(_IT_IS + r"(?:i['’]?m allergic to |allergic to |to |just |only )?"),
        "list",
        "allergy",
        "be allergic to {v}",
        single=False,
    ),
)
_NO = LazyPattern(
    r"\s*(?:no\b|nope|none|nothing|not?\b|never|i don|why|what|who|yes\s*[.!]?$|yeah\s*[.!]?$|sure\s*[.!]?$)",
    re.IGNORECASE,
)
_CHINESE = (
    (
        re.compile(r"(?:你|您)(?:叫什么|的?名字|贵姓|怎么称呼)|怎么称呼(?:你|您)"),
        re.compile(r"(?:我叫|叫我|我是|叫)?(?P<v>[A-Za-z\u4e00-\u9fff]{2,10})[。!！]?$"),
        "name",
        "{s}叫{v}",
        "你好 您好 什么 不知道 不告诉你 秘密 为什么 保密 没有 随便",
    ),
    (
        re.compile(r"(?:你|您)(?:现在)?住(?:在)?(?:哪|什么地方|哪个城市)"),
        re.compile(r"(?:我?(?:现在)?住?在)?(?P<v>[\u4e00-\u9fff]{2,6})[。!！]?$"),
        "home_city",
        "{s}住在{v}",
        "不知道 不告诉你 秘密 为什么 保密 没有 随便 这里 家里",
    ),
)


def read_answer(scene: Scene, previous: Message) -> list[Finding]:
    """What a short message says as the answer to the question that ends `previous`."""
    text = scene.text.strip()
    asked = _MEDIA.sub("", previous.text)
    same = previous.role == scene.message.role and previous.name == scene.message.name
    if same or len(text) > 60 or not asked.endswith(("?", "？")) or "?" in text or "？" in text:
        return []
    last = re.split(r"(?<=[.!?。！？\n])\s*(?=\S)", asked)[-1]
    return _english(scene, last) or _how_often(scene, last) or _chinese(scene, last)


def _english(scene: Scene, asked: str) -> list[Finding]:
    begin = len(scene.text) - len(scene.text.lstrip())
    if _NO.match(scene.text, begin):
        return []
    for question in _QUESTIONS:
        if not question.asked.search(asked):
            continue
        lead = question.lead.match(scene.text, begin)
        at = lead.end() if lead else begin
        values = read(question.take, Place(scene.text, at, len(scene.text)))
        rest = scene.text[values[-1].end :].strip(" .!,:)😀🙂") if values else "none"
        if rest and not re.fullmatch(
            r"(?:and you|thanks|thank you|please|nice to meet you|allerg\w+)", rest, re.IGNORECASE
        ):
            return []
        article = re.search(r"\b(an? )$", scene.text[begin:at], re.IGNORECASE)
        return [
            scene.finding(
                Kind.PROFILE,
                sentence(
                    scene.who,
                    conjugated(
                        question.say.format(v=scene.text[v.start : v.end], a=article[1].lower() if article else "")
                    ),
                ),
                f"home_{v.attribute}" if question.attribute == "home" else question.attribute,
                (v.start, v.end),
                (begin, v.end),
                single=question.single,
                confidence=0.85 * v.confidence,
            )
            for v in values
        ]
    return []


_MEDIA = LazyPattern(r"\s*(?:\[[^\]\n]*\])?\s*$")  # "[image: a cat]" after the words
_HOW_OFTEN = _ask(
    r"\bhow (?:often|regularly|many times a \w+) (?:do|are) you(?: guys| all| both)? (?P<v>[a-z][^,.;:!?]{2,80}?)"
    r"(?: then| these days| now)?\?"
)
_OFTEN = _ask(
    r"(?:(?:thanks|thank you|oh|well|yeah|usually|about|around|i|we|go|try to|[A-Z][a-z]+)[,!.]? )*"
    rf"(?P<v>{OFTEN})"
)


def _how_often(scene: Scene, asked: str) -> list[Finding]:
    """What is done and how often: "How often do you swim?" – "Twice a week"."""
    question = _HOW_OFTEN.search(asked)
    answer = _OFTEN.match(scene.text.lstrip()) if question else None
    if question is None or answer is None or re.search(r"\b(?:it|that|this|them)\b", question["v"]):
        return []
    begin = len(scene.text) - len(scene.text.lstrip())
    span = (begin + answer.start("v"), begin + answer.end("v"))
    done = re.sub(r"\byour\b", "their", conjugated(question["v"].strip()))
    told = f"{done} {answer['v'].lower()}"
    return [scene.finding(Kind.FACT, sentence(scene.who, told), "habit", span, (begin, span[1]), confidence=0.75)]


def _chinese(scene: Scene, asked: str) -> list[Finding]:
    begin = len(scene.text) - len(scene.text.lstrip())
    end = len(scene.text.rstrip())
    for question, answer, attribute, say, never in _CHINESE:
        if not question.search(asked):
            continue
        match = answer.match(scene.text, begin, end)
        if match is None or match["v"] in never.split():
            return []
        return [
            scene.finding(
                Kind.PROFILE,
                say.format(s=scene.who, v=match["v"]) + "。",
                attribute,
                match.span("v"),
                (begin, match.end("v")),
                single=True,
                confidence=0.8,
            )
        ]
    return []
