"""Names in text by rules, English and Chinese: people, places, organisations, products, identifiers, addresses.

Conservative: a capital at the beginning of a sentence proves nothing, so there only known names count. The word
lists are in `name_lists`. Used on messages and on questions alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from memos.text.lazy import LazyPattern
from memos.text.name_lists import (
    CHINESE_NO_ORGANISATIONS,
    CHINESE_NO_PERSONS,
    CHINESE_PLACES,
    COMPANIES,
    GIVEN,
    GREETINGS,
    NOT_NAMES,
    ORGANISATION_TAILS,
    PLACE_TAILS,
    PLACES,
    PRODUCTS,
    SURNAMES,
    SURNAMES_2,
)
from memos.text.overlaps import without_overlaps


class NameType(StrEnum):
    """What a name is the name of."""

    PERSON = "person"
    PLACE = "place"
    ORGANISATION = "organisation"
    PRODUCT = "product"
    IDENTIFIER = "identifier"
    EMAIL = "email"
    URL = "url"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Name:
    """A name at `text[start:end]`, its type, and how sure that is, in (0, 1]."""

    text: str
    start: int
    end: int
    type: NameType
    confidence: float


def find_names(text: str) -> list[Name]:
    """The names in `text`, in order and without overlaps. Never raises."""
    found = list(_addresses(text)) if _MARKS.search(text) else []
    found += _capitalised(text)
    if not text.isascii():
        found += _chinese(text)
    return _of_one_type(without_overlaps(sorted(found, key=lambda n: (-n.confidence, n.start - n.end))))


def _of_one_type(found: list[Name]) -> list[Name]:
    """A product's name that the same text gives to a person or pet is that one's name: "my dog Pixel … Pixel is cute"."""
    persons = {n.text: n for n in found if n.type is NameType.PERSON}
    if not persons:
        return found
    guessed = (NameType.PRODUCT, NameType.OTHER)
    return [replace(n, type=NameType.PERSON) if n.type in guessed and n.text in persons else n for n in found]


# --- addresses, handles, identifiers -------------------------------------------------------------

_MARKS = LazyPattern(r"@|://|www\.|[0-9_]")
_ID_SIGN = LazyPattern(r"[0-9_]")
_EMAIL = LazyPattern(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+", re.ASCII)
_URL = LazyPattern(r"(?:https?://|www\.)[^\s<>\"'，。）)\]]{1,2000}")
_HANDLE = LazyPattern(r"(?<![\w@.])@[A-Za-z][\w.]{1,30}(?<!\.)")
_IDENTIFIER = LazyPattern(
    r"(?<![\w@/.-])(?:[A-Z]{1,8}[-_]\d[\w-]{0,30}|[A-Z0-9]{2,12}(?:-[A-Z0-9]{1,12}){1,5}|[a-z][a-z0-9]*(?:_[a-z0-9]+)+"
    r"|[A-Z]{2,6}\d{2,12}[A-Z0-9]*)(?![\w@-])",
    re.ASCII,
)


def _addresses(text: str) -> Iterator[Name]:
    for pattern, kind, confidence in (
        (_URL, NameType.URL, 0.99),
        (_EMAIL, NameType.EMAIL, 0.985),
        (_HANDLE, NameType.PERSON, 0.9),
        (_IDENTIFIER, NameType.IDENTIFIER, 0.95),
    ):
        for match in pattern.finditer(text):
            word = match[0].rstrip(".,;:!?") if kind is NameType.URL else match[0]
            if kind is NameType.IDENTIFIER and (word.replace("-", "").isdigit() or not _ID_SIGN.search(word)):
                continue
            yield Name(word, match.start(), match.start() + len(word), kind, confidence)


# --- capitalised runs ----------------------------------------------------------------------------

_WORD = r"[A-ZÀ-ÖØ-Þ][\w’'&+-]*\.?(?<![’'.])|St\."
_RUN = LazyPattern(
    rf"(?<![\w@/#’'.-])(?:{_WORD})(?:(?: (?:of the|of|de la|de|del|van der|van|von|da|di|der|the|and|&)"
    rf" (?=[A-Z])| )(?:{_WORD}))*"
)
_TITLE = LazyPattern(
    r"(?:^|\W)(?:Dr|Mr|Mrs|Ms|Miss|Prof|Professor|Doctor|Uncle|Aunt|Auntie|Saint|Sir|Lady|Captain|Judge)\.? $"
)
_KIN = (
    r"friend|best friend|brother|sister|wife|husband|son|daughter|mother|father|mom|mum|dad|boss|manager"
    r"|colleague|coworker"
    r"|neighbou?r|cousin|uncle|aunt|nephew|niece|girlfriend|boyfriend|partner|fianc[eé]e?|roommate|flatmate"
    r"|teacher|doctor"
    r"|dentist|therapist|coach|kid|child|baby|dog|cat|puppy|kitten|pet|horse|parrot|rabbit|hamster|grandson"
    r"|granddaughter"
    r"|grandma|grandpa|grandmother|grandfather|buddy|mentor|dogs|cats|pup"
)
_PERSON_BEFORE = LazyPattern(
    rf"(?:\b(?:{_KIN})(?:,| is| was)? |\b(?:called|named|nicknamed|name is|name's|name was|I'm|I am|this is"
    rf"|it's|hi|hey|hello|dear"
    r"|thanks|bye|met|meet|told|ask|asked|married|call|text|texted) |['’]s name is )$",
    re.IGNORECASE,
)
_SURE_PERSON = LazyPattern(
    rf"\b(?:(?:{_KIN})(?: is| was)? (?:called |named )?|called |named |name is |name's )$", re.IGNORECASE
)
_IS_KIN = LazyPattern(rf" is (?:my|our|his|her|their) (?:[a-z]+ )?(?:{_KIN})\b")
_PERSON_AFTER = LazyPattern(
    r"(?: (?:said|says|told|asked|thinks|wants|loves|likes|called|texted|wrote|and I(?!['’]))\b|['’]s (?:birthday"
    r"|mom|dad|wife|husband|house|wedding|place|room)\b)"
)
_PLACE_BEFORE = LazyPattern(
    r"\b(?:in|from|near|visit|visited|visiting|to|around|outside|across|leaving|left|reached) $", re.IGNORECASE
)
_MOVE_BEFORE = LazyPattern(
    r"\b(?:live|lives|lived|living|moved?|moving|born|based|grew up|raised|fly|flew|flying|travel\w*|trip"
    r"|went|going|go|been"
    r"|stay\w*|arrived|drove|vacation|holiday)(?: back| over| here| all the way)? (?:in|to|from|at) $",
    re.IGNORECASE,
)
_WORK_BEFORE = LazyPattern(
    r"\b(?:work|works|worked|working|job|intern\w*|position|offer|employed|hired|company|startup|engineer"
    r"|manager|developer|designer|analyst)"
    r"(?: (?:now|there|here))? (?:at|for|by|with|from|called|named) $|\bjoin(?:ed|ing)? $",
    re.IGNORECASE,
)
_PLACE_HEAD = frozenset({"Lake", "Mount", "Mt", "Mt.", "Cape", "Port", "Fort", "San", "Santa", "St.", "Los", "Las"})
_PRODUCT_RUN = LazyPattern(r"(?<![\w@/])(?:iPhone|iPad|iMac|macOS|eBay)(?: (?:Pro|Mini|Air|Max|Plus|\d{1,2}))*(?!\w)")
_START = LazyPattern(r"(?:^|[.!?…。！？:\n“\"(*•–—-]|\d\.)[\s\"“'(]*$")
_LOWER_WORD = LazyPattern(r"[a-z]")


def _capitalised(text: str) -> Iterator[Name]:
    for match in _PRODUCT_RUN.finditer(text):
        yield Name(match[0], match.start(), match.end(), NameType.PRODUCT, 0.9)
    shouting = not _LOWER_WORD.search(text)
    for match in _RUN.finditer(text):
        for start, end in _trimmed(text, match.start(), match.end()):
            name = _judge(text, start, end, shouting)
            if name is not None:
                yield name


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of a capitalised run that are left when words that are no names are cut out of it."""
    run = text[start:end]
    if " " not in run and run.isalpha() and run in NOT_NAMES and run not in PLACES:
        return  # the most frequent case by far: "I", "The"
    words = [(m.start(), m.end()) for m in re.finditer(r"\S+", run)]
    piece: list[tuple[int, int]] = []
    for i, (begin, stop) in enumerate([*words, (0, 0)]):
        word = text[start + begin : start + stop]
        bare = word.replace("’", "'").removesuffix("'s").rstrip(".,'")
        is_name = (
            stop > 0
            and (bare not in NOT_NAMES or _begins_place(text, start, words, i))
            and (word[0].isupper() or word == "&")
        )
        ends = word.replace("’", "'").endswith("'s")
        if is_name:
            piece.append((begin, stop - 2 if ends else stop))
        elif stop and piece and word[0].islower() and i + 1 < len(words) and _continues(text, start, words, i):
            piece.append((begin, stop))
            continue
        if piece and (not is_name or ends):
            yield start + piece[0][0], start + piece[-1][1]
            piece = []


def _begins_place(text: str, start: int, words: list[tuple[int, int]], i: int) -> bool:
    """Whether words such as "New" and "South" begin a known place: "New York", "South Africa"."""
    rest = [text[start + b : start + e].rstrip(".,").removesuffix("'s") for b, e in words[i : i + 3]]
    return any(" ".join(rest[:n]) in PLACES for n in (2, 3))


def _continues(text: str, start: int, words: list[tuple[int, int]], i: int) -> bool:
    """Whether a small word belongs to the name around it: "University of Oslo", but not "Anna and Bob"."""
    word = text[start + words[i][0] : start + words[i][1]]
    following = text[start + words[i + 1][0] : start + words[i + 1][1]]
    if word in ("and", "the", "&"):
        before = text[start + words[i - 1][0] : start + words[i - 1][1]]
        return word == "&" and before not in GIVEN
    return following.removesuffix("'s") not in NOT_NAMES


def _judge(text: str, start: int, end: int, shouting: bool) -> Name | None:
    """The name in text[start:end], if it is one."""
    phrase = text[start:end].rstrip(".") if text[start:end].rstrip(".").count(".") == 0 else text[start:end]
    end = start + len(phrase)
    if len(phrase) < 2 or phrase.isdigit():
        return None
    words = phrase.split()
    if len(words) > 1 and _VERB.fullmatch(words[0]) and (words[1] in GIVEN or words[1] in PLACES):
        start += len(words.pop(0)) + 1
        phrase = text[start:end]
    before, after = text[max(0, start - 40) : start], text[end : end + 40]
    kind, confidence = _kind(phrase, words, before, after)
    first = _START.search(before) is not None or start == 0
    known = confidence >= 0.8
    if not known and (shouting or (first and len(words) == 1)):
        return None
    if not known and first and words[0].lower() in GREETINGS:
        return None
    if not known and len(words) == 1 and phrase.isupper() and len(phrase) < 3:
        return None
    return Name(phrase, start, end, kind, confidence)


_VERB = LazyPattern(r"[A-Z][a-z]+(?:ing|ed)")


def _kind(phrase: str, words: list[str], before: str, after: str) -> tuple[NameType, float]:
    """The most likely type of a capitalised phrase, and how sure that is."""
    last, first = words[-1], words[0]
    if (len(words) > 1 and last in ORGANISATION_TAILS) or first in (
        "University",
        "Bank",
        "Museum",
        "Institute",
        "Church",
    ):
        return NameType.ORGANISATION, 0.9
    if len(words) > 1 and (last in PLACE_TAILS or first in _PLACE_HEAD) and phrase not in PLACES:
        return NameType.PLACE, 0.85
    if _TITLE.search(before) or _IS_KIN.match(after) or (_SURE_PERSON.search(before) and len(words) < 4):
        return NameType.PERSON, 0.9
    if phrase in PLACES and ((phrase not in GIVEN and phrase != "Nice") or _PLACE_BEFORE.search(before)):
        return NameType.PLACE, 0.95
    if _WORK_BEFORE.search(before):
        return NameType.ORGANISATION, 0.85
    if phrase in COMPANIES and not (phrase == "Apple" and after[:1].isalpha()):
        return NameType.ORGANISATION, 0.85
    if first in PRODUCTS:
        return NameType.PRODUCT, 0.85
    if first in GIVEN and len(words) < 4:
        return NameType.PERSON, 0.9
    if _MOVE_BEFORE.search(before) and len(words) < 4:
        return NameType.PLACE, 0.8
    if len(words) < 3 and not phrase.isupper() and (_PERSON_BEFORE.search(before) or _PERSON_AFTER.match(after)):
        return NameType.PERSON, 0.7
    if len(words) < 3 and re.search(r"\b(?:in|near) $", before):
        return NameType.PLACE, 0.6
    return NameType.OTHER, 0.5


# --- Chinese -------------------------------------------------------------------------------------

_HAN = "\u4e00-\u9fff"
_AFTER = "今昨明每"
_STOP = "的是了在和与说也很都就还住有去来要会想吧吗呢啊，。！？、；：从到不"
_PERSON_NAME = rf"(?:(?:{'|'.join(SURNAMES_2)})|[{SURNAMES}])[^{_STOP}\W\d]{{1,2}}"
_CJK_CALLED = LazyPattern(
    rf"(?:我叫|名叫|叫做|名字叫|名字是|叫)(?P<n>[A-Za-z][A-Za-z]{{1,20}}|{_PERSON_NAME}|小[{_HAN}]"
    rf"|[^{_STOP}\W\d]{{2,3}})"
    rf"(?=[{_STOP}{_AFTER}\s]|$)"
)
_CJK_KIN = LazyPattern(
    r"(?:朋友|同事|同学|老板|经理|邻居|哥哥|姐姐|弟弟|妹妹|老婆|妻子|丈夫|老公|儿子|女儿|男友|女友|男朋友"
    r"|女朋友|室友|老师)"
    rf"(?P<n>{_PERSON_NAME}|小[{SURNAMES}])(?=[{_STOP}{_AFTER}]|$)"
)
_CJK_TITLES = "先生|女士|小姐|老师|教授|医生|经理|博士|阿姨|叔叔"
# A surname alone is called with its title: 张老师, 张阿姨.
_CJK_TITLE = LazyPattern(rf"(?P<n>[{SURNAMES}](?:{_CJK_TITLES})|[{SURNAMES}][{_HAN}]{{1,2}}?(?=(?:{_CJK_TITLES})))")
_CJK_ORG = LazyPattern(
    rf"(?P<n>[A-Z]?[{_HAN}A-Za-z]{{2,10}}?(?:公司|大学|医院|银行|集团|学院|中学|小学|研究所|博物馆|图书馆))"
)
_CJK_PLACE = LazyPattern(
    rf"(?:在|去|到|从|来自|住)(?!在)(?P<n>[{_HAN}]{{2,3}}?(?:省|市|区|县|路|街|镇|国))(?!家|际|内|外|民|庆|王|旗"
    rf"|语|产|画|企|有)"
)
_CJK_NO_PLACE = LazyPattern("[人语话菜]|[东南西北中]?(?:路|街|大道)")
_CJK_KNOWN = LazyPattern("|".join(sorted(CHINESE_PLACES, key=len, reverse=True)))
_CJK_TITLE_MARK = LazyPattern(r"《(?P<n>[^《》\n]{1,40})》")
_ORG_HEAD = LazyPattern(
    rf"^.*(?:在|去|到|从|进了|加入|考上|离开|毕业于|是|的|了|我们|一家|这家|那家|个|想|给)(?=[{_HAN}A-Za-z]{{2,}})"
)


def _chinese(text: str) -> Iterator[Name]:
    for match in _CJK_TITLE_MARK.finditer(text):
        yield Name(match["n"], match.start("n"), match.end("n"), NameType.OTHER, 0.9)
    for match in _CJK_KNOWN.finditer(text):
        if not _CJK_NO_PLACE.match(text, match.end()):
            yield Name(match[0], match.start(), match.end(), NameType.PLACE, 0.9)
    for match in _CJK_ORG.finditer(text):
        head = _ORG_HEAD.match(match["n"])
        start = match.start("n") + (head.end() if head else 0)
        word = text[start : match.end("n")]
        if word not in CHINESE_NO_ORGANISATIONS and len(word) > 2:
            yield Name(word, start, match.end("n"), NameType.ORGANISATION, 0.92)
    for pattern, kind, confidence in (
        (_CJK_CALLED, NameType.PERSON, 0.85),
        (_CJK_KIN, NameType.PERSON, 0.85),
        (_CJK_TITLE, NameType.PERSON, 0.85),
        (_CJK_PLACE, NameType.PLACE, 0.8),
    ):
        for match in pattern.finditer(text):
            if match["n"] not in CHINESE_NO_PERSONS and len(match["n"]) > 1:
                yield Name(match["n"], match.start("n"), match.end("n"), kind, confidence)
