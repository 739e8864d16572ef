"""Sentences of a message and what may be believed in them: not questions, not what-ifs, not the words of others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memos.text.lazy import LazyPattern

_SENTENCE = LazyPattern(
    r"[^.!?。！？\n]*(?:\.(?=\w)[^.!?。！？\n]*)*(?:(?:[.!?。！？…]+[\"”’')]*(?=\s|$|[\u4e00-\u9fff])|\n"
    r"|[。！？])|[.!?]|$)"
)
_ABBREVIATION = LazyPattern(r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|Inc|Corp|Ltd|vs|etc|e\.g|i\.e|No|approx|Jr|Sr)|\b[A-Z])\.$")
_QUOTED = LazyPattern(
    r"“[^”\n]{0,2000}(?:”|$)|\"[^\"\n]{0,2000}\"|«[^»\n]{0,2000}»|「[^」\n]{0,2000}」|```.*?(?:```|\Z)"
    r"|`[^`\n]{1,500}`|^>[^\n]*",
    re.DOTALL | re.MULTILINE,
)
_TASK = LazyPattern(
    r"^\s*(?:please |can you |could you |help me )*(?:translate|rewrite|rephrase|proofread|summari[sz]e"
    r"|paraphrase|correct|edit"
    r"|fix|improve|write|draft|compose|complete|continue|classify|analy[sz]e|extract|polish|shorten)\b[^\n:]{0,100}:"
    r"|^\s*(?:请|帮我|麻烦)*(?:翻译|改写|润色|总结|修改|校对|续写|写|概括)[^\n：:]{0,40}[：:]",
    re.IGNORECASE,
)
_QUESTION_WORD = LazyPattern(
    r"\s*(?:(?:so|and|but|hey|ok|well|now|also|oh|hi|hello|wait|please)[, ]+)*(?:what|where|who|whom|whose"
    r"|how|which|when|why|do|does|did|is"
    r"|are|am|was|were|can|could|will|would|should|shall|have|has|had|may|might)(?:n't)?\b",
    re.IGNORECASE,
)
_TAIL_QUESTION = LazyPattern(
    r"[,;:—–-]\s*(?:(?:so|and|but|or)\s+)?(?:what|where|who|how|which|when|why|do|does|did|is|are|can|could"
    r"|will|would|should|have"
    r"|any|right|you know|ok|okay)\b|\b(?:and|but|so) (?:what|where|who|how|which|do you|are you|is there"
    r"|can you|could you|will you)\b",
    re.IGNORECASE,
)
_CJK_QUESTION = LazyPattern(
    r"[?？]\s*$|吗[?？。！!\s]*$|什么|哪[里儿个些]|谁|怎么|怎样|为何|多少|几岁|几点|是不是|有没有|能不能"
    r"|会不会|呢[?？\s]*$"
)
UNREAL = LazyPattern(
    r"\b(?:if|wish|wished|unless|imagine|suppose|supposing|pretend|whether|hypothetically|as though|what if"
    r"|in case|wonder|wondering"
    r"|maybe|perhaps|possibly|dream|dreamt|dreamed|for example|for instance|e\.g|let's say|once upon|in"
    r" theory|kidding|joking"
    r"|almost|nearly|thought|would|might|(?-i:may)|could)\b|['’]d\b|\bnot sure\b|如果|要是|假如|假设|万一"
    r"|希望|也许|可能|或许|的话|以为|梦见|梦到|幻想|开玩笑|想象",
    re.IGNORECASE,
)
# What every match of UNREAL holds, in lower case: these are looked for first, as that is quick.
_MAYBE_UNREAL = (
    "if", "wish", "unless", "imagin", "suppos", "pretend", "whether", "hypothetic", "though", "in case", "wonder", "maybe",
    "perhaps", "possibly", "dream", "for example", "for instance", "e.g", "let's say", "once upon", "in theory", "kidding",
    "joking", "almost", "nearly", "would", "might", "may", "could", "'d", "’d", "not sure",
)  # fmt: skip
REPORTED = LazyPattern(
    r"\b(?:he|she|they|you|it|who|someone|everyone|people|[A-Z]\w+|\w+ (?:mom|dad|friend|boss|brother|sister"
    r"|teacher))(?:['’]s)? "
    r"(?:\w+ )?(?:said|says|say|told|tells|asked|asks|wrote|writes|claimed|claims|thinks|think|believes"
    r"|believe|assumes|insists|goes|like)\b"
    r"[^,:;]{0,30}[,:]?\s*(?:that\s+)?$|\b(?:quote|says|reads|lyrics?|song goes)\s*[,:]\s*$"
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence `text[start:end]`; `asks`: it is a question; `stated`: where what it states before asking ends."""

    start: int
    end: int
    asks: bool
    stated: int


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of `text`, in order, without surrounding white space."""
    begin = at = 0
    while at < len(text):
        match = _SENTENCE.match(text, at)
        stop = match.end() if match and match.end() > at else at + 1
        at = stop
        if _ABBREVIATION.search(text, max(begin, stop - 8), stop) and stop < len(text) and text[stop] != "\n":
            continue
        piece = text[begin:stop]
        start = begin + len(piece) - len(piece.lstrip())
        end = stop - (len(piece) - len(piece.rstrip()))
        begin = stop
        if start < end:
            yield _sentence(text, start, end)


def _sentence(text: str, start: int, end: int) -> Sentence:
    words = text[start:end]
    asks = words.rstrip("\"”’')").endswith(("?", "？")) or (not words.isascii() and bool(_CJK_QUESTION.search(words)))
    stated = start
    if asks and not _QUESTION_WORD.match(words) and (tail := _TAIL_QUESTION.search(words)):
        stated = start + tail.start()
    return Sentence(start, end, asks, stated)


def unreal_in(text: str, start: int, end: int, lower: str) -> list[re.Match[str]]:
    """Where text[start:end], `lower` in lower case, says that it is no plain statement: "if", "maybe", "would"."""
    if lower.isascii() or not _HAN.search(lower):
        for word in _MAYBE_UNREAL:
            if word in lower:
                break
        else:
            return []
    return [*UNREAL.finditer(text, start, end)]


def foreign_spans(text: str) -> list[tuple[int, int]]:
    """Where the words are not the speaker's own: quotations, code, and text handed over to be worked on."""
    spans: list[tuple[int, int]] = []
    if _MAYBE_QUOTED.search(text):
        spans = [match.span() for match in _QUOTED.finditer(text)]
    if ":" in text or "：" in text:
        task = _TASK.match(text)
        if task:
            spans.append((task.end(), len(text)))
    return spans


_HAN = LazyPattern("[\u4e00-\u9fff]")
_MAYBE_QUOTED = LazyPattern(r"[“\"«「`>]")


def inside(position: int, spans: list[tuple[int, int]]) -> bool:
    """Whether `position` lies in one of `spans`."""
    return any(start <= position < end for start, end in spans)
