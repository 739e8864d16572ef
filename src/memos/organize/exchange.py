"""Whether it is certain which words of a sentence a correction means, and the sentence with the right ones in their place.

Misses rather than invents: what occurs twice, what is a part of another word or name, and a number that is of another kind
than the one it is to replace, are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memos.memory.statement import Correction
from memos.text.lazy import LazyPattern

Span = tuple[int, int]

_CJK = r"\u3400-\u9fff"
_IN_WORD = rf"[^\W{_CJK}]"  # a character of a word that is written apart from others
_HAN = LazyPattern(f"[{_CJK}]")
_NUMERALS = "一二两三四五六七八九十百千"
_COUNTED = "只个個条張张本号號月日点點岁歲年辆輛位台块塊斤杯次天间間人元"
_NUMBER_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred dozen"
)
_NUMBER = LazyPattern(
    r"\d+(?:[.,:/]\d+)*(?:(?:st|nd|rd|th)(?![a-z]))?"
    rf"|(?<!{_IN_WORD})(?:{'|'.join(_NUMBER_WORDS.split())})(?!{_IN_WORD})"
    rf"|[{_NUMERALS}]+(?=[{_COUNTED}])",
    re.IGNORECASE,
)
_ONE = frozenset({"1", "one"})
_DATES = tuple(
    """
    january february march april may june july august september october november december jan feb mar apr jun jul aug sept
    sep oct nov dec monday tuesday wednesday thursday friday saturday sunday
    """.split()  # noqa: SIM905
)
_ROLES = (
    ("date", re.compile(rf"\b(?:{'|'.join(_DATES)})\b|#(?:st|nd|rd|th)\b|[年月日号號]|星期|周", re.IGNORECASE)),
    ("time", re.compile(r":\d|[ap]\.?m\b|o['’]clock|[点點]", re.IGNORECASE)),
    ("money", re.compile(r"[$€£¥元]|\b(?:dollars?|euros?|pounds?|kroner|kr|nok|usd|eur)\b", re.IGNORECASE)),
    ("percent", re.compile(r"%|\bper ?cent\b", re.IGNORECASE)),
)
_ARTICLES = frozenset("a an the my your his her our their its this that".split())  # noqa: SIM905
_OPENS_LOWER = frozenset(_DATES) | frozenset(
    "i the a an in on at to from my our mr mrs ms dr and or with by for of".split()  # noqa: SIM905
)
# names that are other words when written small
_ALSO_WORDS = frozenset(
    """
    may march will mark bill rose grace hope art turkey china polish nice reading jack rob sue pat drew grant faith joy
    us it august job bath cork
    """.split()  # noqa: SIM905
)
_LONGER_HAN = LazyPattern(r"大学|大學|路|街|大道|银行|銀行|公司|医院|醫院|机场|機場|站|烤鸭|烤鴨|话|話|菜|语|語")
_CLAUSE_GOES_ON = LazyPattern(r"\s*(?:$|[.,;!?)]|(?:on|in|from|with|and|tomorrow|today|tonight)\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Exchange:
    """Words that are to go and those that come in their place; `core`: the same, without what both have in common."""

    old: str
    new: str
    core: tuple[str, str]


def certain(sentence: str, correction: Correction, told: str = "") -> Exchange | None:
    """What is to be exchanged in a sentence; None where that is not certain. `told`: the same in other words, where the
    preposition of the correction may stand as well.
    """
    if not correction.old:
        return None
    for exchange in _ways(correction.old, correction.new):
        spans = found(sentence, exchange.old)
        if spans and (len(spans) > 1 or not _fits(sentence, spans[0], exchange, correction, told)):
            return None
        if spans:
            return exchange
    return None


def exchanged(text: str, exchange: Exchange) -> str | None:
    """The text with the right words; None where it does not have the wrong ones, or has them twice."""
    for old, new in ((exchange.old, exchange.new), exchange.core):
        spans = found(text, old)
        if len(spans) > 1:
            return None
        if spans:
            start, end = spans[0]
            put = new[0].upper() + new[1:] if start == 0 and text[0].isupper() else new
            return f"{text[:start]}{put}{text[end:]}"
    return None


def found(text: str, words: str) -> list[Span]:
    """Where these words stand in a text as whole words, in any case."""
    first, last = words[:1], words[-1:]
    before = "" if _HAN.match(first) else rf"(?<!{_IN_WORD})(?<![@#/_])(?<!{_IN_WORD}[-.])"
    after = "" if _HAN.match(last) else rf"(?!{_IN_WORD})(?![-@/.]{_IN_WORD})"
    if first.isdigit():
        before = r"(?<![\d-])(?<!\d[.,:/])" + before.replace("(?<![@#/_])", "(?<![@/_])")
    if first in _NUMERALS:
        before = rf"(?<![{_NUMERALS}\d])"
    if last.isdigit():
        after += r"(?![.,:/]\d)"
    return [m.span() for m in re.finditer(before + re.escape(words) + after, text, re.IGNORECASE)]


def like(value: str, new: str) -> bool:
    """Whether a value can be what a new one alone replaces: numbers numbers, names names, words as many words."""
    if bool(_HAN.search(value)) != bool(_HAN.search(new)):
        return False
    if _NUMBER.search(value) or _NUMBER.search(new):
        return bool(_NUMBER.search(value)) and bool(_NUMBER.search(new))
    return (_is_name(value) and _is_name(new)) or len(value.split()) == len(new.split())


def dated(words: str) -> bool:
    """Whether words tell of a day or a time."""
    return _NUMBER.search(words) is not None or any(found(words, name) for name in _DATES) or "周" in words


def _ways(old: str, new: str) -> Iterator[Exchange]:
    """How the words may stand in the sentence: with what both have in common first, then as they were said."""
    numbers, others = _NUMBER.findall(old), _NUMBER.findall(new)
    if bool(numbers) == bool(others):
        yield from _numbers(old, new, numbers, others) if numbers else _words(old, new)


def _numbers(old: str, new: str, numbers: list[str], others: list[str]) -> Iterator[Exchange]:
    was, now = _shape(old), _shape(new)
    if was == now:
        yield Exchange(old, new, (old, new))
    elif len(numbers) == len(others) == 1 and _part_of(was, now):
        sought = _NUMBER.sub(numbers[0], new)
        core = (numbers[0], others[0])
        yield Exchange(sought, new, core)
        if numbers[0].lower() in _ONE and sought.endswith("s"):
            yield Exchange(sought[:-1], new, core)
        if others[0].lower() in _ONE:
            yield Exchange(f"{sought}s", new, core)
    elif len(numbers) == len(others) == 1 and _part_of(now, was):
        yield Exchange(old, _NUMBER.sub(others[0], old), (numbers[0], others[0]))
    elif _role(old) == _role(new):
        yield Exchange(old, new, (old, new))


def _words(old: str, new: str) -> Iterator[Exchange]:
    """ "green kayak" for "teal" is sought as "teal kayak" first: the longest such phrase before the others."""
    pieces, space = ([*new], "") if _HAN.search(new) else (new.split(), " ")
    ends = [(i, j) for i in range(len(pieces)) for j in range(i + 1, len(pieces) + 1) if j - i < len(pieces)]
    for i, j in sorted(ends, key=lambda e: e[1] - e[0]):
        sought = space.join([*pieces[:i], old, *pieces[j:]])
        yield Exchange(sought, new, (old, space.join(pieces[i:j])))
    if _can_stand_for(old, new):
        yield Exchange(old, new, (old, new))


def _can_stand_for(old: str, new: str) -> bool:
    """Whether the new words are surely the name of a thing of the same sort, not a piece of a clause."""
    if _HAN.search(old):
        return len(old) > 1
    was, now = old.split(), new.split()
    if _is_name(new):
        return True
    if len(was) > 1 and len(now) == 1 and not _is_name(old):
        return False  # "red paint" -> "green": of which thing?
    return len(now) == 1 or (len(now) == 2 and not now[0].endswith(("s", "ed", "ing")))


def _fits(sentence: str, span: Span, exchange: Exchange, correction: Correction, told: str) -> bool:
    """Whether what was found is what is meant, and what comes out says nothing new beside it."""
    here = sentence[slice(*span)]
    if exchange.new.casefold() == here.casefold() or _other_word(exchange.old, here):
        return False
    rest = f"{sentence[: span[0]]} \u2022 {sentence[span[1] :]}"
    return (
        _said_after(sentence, span, correction, exchange, told)
        and _same_role(sentence, span, exchange, correction.before)
        and not _in_longer_name(sentence, span)
        and not _again(rest, exchange)
    )


def _said_after(sentence: str, span: Span, correction: Correction, exchange: Exchange, told: str) -> bool:
    before, new = correction.before, correction.new
    if not before or _counts(new) or _word_before(sentence, span[0]) == before:
        return True
    return any(
        _word_before(told, start) == before for start, _ in found(told, exchange.old) or found(told, exchange.core[0])
    )


def _word_before(text: str, at: int) -> str:
    words = text[:at].casefold().split()
    while words and words[-1] in _ARTICLES:
        words.pop()
    return words[-1] if words else ""


def _same_role(sentence: str, span: Span, exchange: Exchange, before: str) -> bool:
    """A time of day takes the place of a time of day, an ordinal that of an ordinal."""
    was, now = _NUMBER.findall(exchange.old), _NUMBER.findall(exchange.new)
    for old, new in zip(was, now, strict=False):
        if _sort(old) != _sort(new) and not (
            before == "at" and {_sort(old), _sort(new)} == {"", "clock"} and _CLAUSE_GOES_ON.match(sentence, span[1])
        ):
            return False
    return True


def _sort(number: str) -> str:
    return (
        "clock"
        if ":" in number
        else "slash"
        if "/" in number
        else "th"
        if number[-2:].isalpha() and number[0].isdigit()
        else ""
    )


def _in_longer_name(sentence: str, span: Span) -> bool:
    """Whether the words are a part of a name: "Oslo" of "Oslo University", 北京 of 北京大学."""
    here, after = sentence[slice(*span)], sentence[span[1] :]
    if _HAN.match(here[-1]):
        return _LONGER_HAN.match(after) is not None
    if not here[0].isupper():
        return False
    next_, last = re.match(r" ([^\W\d_]+)", after), re.search(r"([^\W\d_]+) $", sentence[: span[0]])
    return any(m is not None and _is_name(m[1]) and m[1].casefold() not in _OPENS_LOWER for m in (next_, last))


def _other_word(words: str, here: str) -> bool:
    """Whether what was found in small letters is another word: "will" of "Will"."""
    if words[0].isupper() == here[0].isupper() or _HAN.match(here[0]):
        return False
    return here.casefold() in _ALSO_WORDS or (len(here) > 1 and here.isupper() != words.isupper() and len(here) < 4)


def _again(rest: str, exchange: Exchange) -> bool:
    """Whether the sentence says what is new elsewhere already: then it is not known what is meant."""
    if _counts(exchange.old) and _shape(exchange.old) == _shape(exchange.new):
        return False
    new = exchange.core[1]
    if _HAN.search(new):
        return new in rest
    small = _ARTICLES | {"of", "and", "#"}
    return any(found(rest, word) for word in new.split() if word.casefold() not in small)


def _counts(words: str) -> bool:
    """Whether a number is named with what it counts: "10 chairs", "gate 12"."""
    return _NUMBER.search(words) is not None and _shape(words) != "#"


def _is_name(words: str) -> bool:
    return all(word[0].isupper() or word in ("of", "the", "and", "de", "von", "van") for word in words.split())


def _shape(words: str) -> str:
    return " ".join(_NUMBER.sub("#", words).casefold().split())


def _part_of(shape: str, longer: str) -> bool:
    return shape in longer if _HAN.search(longer) else f" {shape} " in f" {longer} "


def _role(words: str) -> str:
    return next((role for role, pattern in _ROLES if pattern.search(words)), "")
