"""The words of a short text that carry its meaning, in one form each: what two ways of saying one thing have in common.

Only what is sure is taken out or made equal; numbers, names and whatever turns the sense stay as they are.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memos.text.lazy import LazyPattern
from memos.text.name_lists import CHINESE_PLACES
from memos.text.scripts import normalize

_HAN = r"\u3400-\u9fff"
_TOKEN = LazyPattern(
    rf"\d+(?:[.,:/-]\d+)*|[{_HAN}\u3040-\u30ff]+|[^\W\d_{_HAN}\u3040-\u30ff]+(?:[.'&-][^\W\d_{_HAN}\u3040-\u30ff]+)*|[$€£¥%°#+&@<>=]"
)
_THOUSANDS = LazyPattern(r"(?<=\d),(?=\d{3}(?!\d))")
_NUMBERS = {
    w: str(n)
    for n, w in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
    )
}
_EMPTY = frozenset(
    """
    a an the some my our is am are be being been really very currently nowadays presently also just now actually indeed truly
    quite totally absolutely definitely as
    """.split()  # noqa: SIM905
)
# What must be in both or in neither: who denies, wishes, remembers or guesses says something else.
CHANGES_SENSE = frozenset(
    """
    not no never none without nobody nothing neither nor cannot avoid except unless stop stopped quit former formerly ex
    was were had used ago once want wish hope plan might may could would should will must if until before after from to
    since only almost nearly about over under least most more less than dislike hate refuse deny allergic instead but
    """.split()  # noqa: SIM905
) | frozenset("不 没 无 别 未 非 曾 想 要 可 如 只 前 后 从 到 更 最".split())  # noqa: SIM905
_LEADING = frozenset({"in", "at", "on", "of"})  # before a value they say what the slot says
_HAN_TURNS = LazyPattern("[不没无别未非曾想要可如只前后从到更最]")
_PLURAL_ONLY = frozenset(
    "glasses news customs goods arms clothes spectacles physics mathematics politics species series always".split()  # noqa: SIM905
) | frozenset(f"{day}days" for day in ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun"))
_SAME: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), by)
    for pattern, by in (
        (r"\bcan(?:not|'t)\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"n't\b", " not"),
        (r"\bdo(?:es)? not\b", "not"),
        (r"'(?:s|m|re)\b", " "),
        (r"\bat the moment\b|\bright now\b|\bthese days\b|\ba lot\b|\bvery much\b|\bso much\b", " "),
        (r"\b(?:works?|working|is employed|has a job) as\b", "is"),
        (r"\b(?:'s |s )?(?:job|occupation|profession) is\b", "is"),
        (r"\b(?:resides?|dwells?|is based|is living) (?=in\b|at\b)", "lives "),
        (r"\b(?:enjoys?|loves?|adores?|is (?:fond|a fan) of|is keen on|is into|is crazy about) ", "likes "),
        (r"\bnot like\b", "dislike"),
        (r"\blikes? to go (?=\w+ing\b)|\blikes? going (?=\w+ing\b)", "likes "),
        (r"\bis (?:called|named)\b|\bgoes by(?: the name(?: of)?)?\b", "named"),
        (r"\bnew york city\b", "nyc"),
        (r"\bunited kingdom\b|\bu\.k\.", "uk"),
        (r"\bunited states(?: of america)?\b|\bu\.s\.a?\.|\b(?-i:US|USA)\b", "usa"),
        (r"\btelevision\b", "tv"),
        (r"\bhas\b", "have"),
        (r"\bbicycles?\b", "bike"),
        (r"\bautomobiles?\b", "car"),
        (r"\bper ?cent\b", "%"),
        (r"(?:的)?(?:职业|工作)是|担任|(?<=用户)当", "是"),
        (r"是一?[名位个]", "是"),
        (r"居住在|定居在|家在", "住在"),
        (r"喜爱|热爱|爱好|(?<![可恋亲])爱(?=[吃喝看听玩打跑唱画读])", "喜欢"),
        (r"(?<![不没])(?:非常|特别|真的|十分|超级|目前|现在|如今|很|挺)", ""),
        (r"的(?!士|确)", ""),
    )
)
_TO_GERUND = LazyPattern(r"\b(likes?|dislikes?|prefers?) to (?!go\b)([a-z]+)\b", re.IGNORECASE)
_VOWELS = "aeiou"


@lru_cache(maxsize=16_384)
def pieces(text: str) -> tuple[str, ...]:
    """The words of a text that carry its meaning, in order and in small letters."""
    text = _THOUSANDS.sub("", normalize(text).strip())
    for pattern, by in _SAME:
        text = pattern.sub(by, text)
    text = _TO_GERUND.sub(lambda m: f"{m[1]} {_gerund(m[2].lower())}", text)
    out: list[str] = []
    for match in _TOKEN.finditer(text):
        out += _piece(match[0])
    while len(out) > 1 and out[0] in _LEADING:
        del out[0]
    return tuple(out)


@lru_cache(maxsize=4096)
def names(text: str) -> frozenset[str]:
    """The words of a text that are written as names are: with a capital letter, not only because the sentence begins."""
    found = _TOKEN.finditer(normalize(text).strip())
    return frozenset(
        m[0].casefold() for m in found if m.start() and not m[0].islower() and m[0][0].isalpha() and m[0] != "I"
    )


def is_number(piece: str) -> bool:
    """Whether a piece is a number or a sign that belongs to one."""
    return piece[0].isdigit() or piece in "$€£¥%°#+<>="


def _piece(token: str) -> list[str]:
    if "\u3040" <= token[0] <= "\u9fff":
        return _han(token)
    low = token.casefold()
    if low in _EMPTY:
        return []
    return [_NUMBERS.get(low) or (_singular(low) if token.islower() else low)]


def _han(run: str) -> list[str]:
    """Chinese is not written in words: a run stays whole, the characters that turn its sense beside it."""
    if run.endswith("市") and any(run[:-1].endswith(place) for place in CHINESE_PLACES):
        run = run[:-1]
    return [run, *_HAN_TURNS.findall(run)] if run else []


def _singular(word: str) -> str:
    if len(word) < 4 or word in _PLURAL_ONLY or word in CHANGES_SENSE or word.endswith(("ss", "us", "is", "'s")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("ches", "shes", "xes", "sses", "zes")):
        return word[:-2]
    return word.removesuffix("s")


def _gerund(verb: str) -> str:
    """ "likes to hike" says what "likes hiking" says."""
    if verb.endswith("e") and not verb.endswith(("ee", "ye", "oe")):
        return f"{verb[:-1]}ing"
    if len(verb) > 2 and verb[-1] not in f"{_VOWELS}wxy" and verb[-2] in _VOWELS and verb[-3] not in _VOWELS:
        return f"{verb}{verb[-1]}ing" if len(verb) < 5 else f"{verb}ing"
    return f"{verb}ing"
