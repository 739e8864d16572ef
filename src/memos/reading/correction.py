"""What a correction says by rules: "it's Bergen, not Oslo" names what was wrong and what is right, "no, Bergen" only what is
right. Whether that fits anything remembered is not decided here.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from memos.memory.statement import Correction
from memos.text.spans import sentences

MAX_CHARS, MAX_SENTENCE = 2_000, 200  # what is longer is no correction, and would take long to look through
_WORD = r"(?:[^\s,;:!?()]|(?<=\d)[:,](?=\d))+"
_WORDS = rf"(?!\.){_WORD}(?: {_WORD}){{0,4}}?"  # one to five words
_X = rf"[\"'“‘]?(?P<old>{_WORDS})[\"'”’]?"
_Y = rf"[\"'“‘]?(?P<new>{_WORDS})[\"'”’]?"
_IS = r"(?:it|that|this|he|she|they|the \w+)(?:'s|’s| is| was|'re| are| should be)"
_END = r"\s*[.!]*$"
_NEGATED = r"(?:isn'?t|isn’t|is not|'s not|’s not|was not|wasn'?t|aren'?t|are not)"
_BEGIN = r"(?:\b|(?=[$€£¥#]))"
_BOTH = (
    rf"\b(?:it|that|this|he|she|they) ?{_NEGATED} {_X}\s*[,;.–—-]+\s*(?:but )?(?:{_IS} )?{_Y}",
    rf"\bnot {_X},? but (?:rather )?{_Y}",
    rf"(?:^|.*?{_BEGIN}){_Y}\s*,? (?:and )?not {_X}",
    rf"(?:^|.*?{_BEGIN}){_Y} (?:instead of|rather than) {_X}",
    rf"(?<!n't )(?<!n’t )(?<!not )(?<!never )(?<!dont )\b(?:replace|change|rename|correct) {_X} (?:with|to|into|by) {_Y}",
    rf"^{_X} (?:should (?:be|say|read)|->|→|=>) {_Y}",
)
_OLD_AND_NEW = tuple(re.compile(pattern + _END, re.IGNORECASE) for pattern in _BOTH)
_REFUSED = re.compile(
    r"^(?:no|nope|nah|wrong|incorrect|actually|sorry|not quite|correction|(?:that'?s|that’s|that is|this is) "
    r"(?:wrong|incorrect|not (?:right|true|correct)))\b[\s,.:;!–—-]*",
    re.IGNORECASE,
)
_PAUSE = re.compile(r"[,.:;!–—-]\s*$")
_CLAUSE = re.compile(
    r"(?:i|you|he|she|we|they|it|there|please|do|don't|never|always)\b|(?:\S+ ){3}", re.IGNORECASE
)  # no name of a thing
_ONLY_NEW = re.compile(rf"^(?:(?:{_IS}|i (?:said|meant|mean)|should be|make it) )?{_Y}{_END}", re.IGNORECASE)
_VERBS = (
    "is|are|was|were|be|am|it'?s|it’s|that'?s|that’s|name['’]s|called|named|said|meant|mean|like|likes|love|loves|prefer|prefers|"
    "live|lives|work|works"
)
_PREPOSITIONS = "in|on|at|to|from|with|by|for|until|since|after|before"
_ARTICLES = "a|an|the|my|your|his|her|our|their"
# what stands before the right word and is no part of it: "I live in Bergen, not Oslo"
_LEAD = re.compile(rf"^.*\b(?:{_VERBS}|{_PREPOSITIONS}|{_ARTICLES})\s+(?=\S)", re.IGNORECASE)
# how it may end, beside articles, so that nothing between the verb and the right word is lost
_LEAD_END = re.compile(
    rf"(?:^|[,;:.!?\"'“‘(–—-]|\b(?:{_VERBS}|instead|rather)|\b(?P<before>{_PREPOSITIONS}))(?:\s*(?<![\w'’])(?:{_ARTICLES})\b)*[\s\"'“‘]*$",
    re.IGNORECASE,
)
_OPENS = re.compile(rf"\s*(?:$|(?:i|it|he|she|we|they|that|this|its|{_ARTICLES}|{_PREPOSITIONS})\b)", re.IGNORECASE)
_LITTLE = re.compile(rf"^(?:{_PREPOSITIONS}|a|an|the|is|was|called|named|it'?s|my)\s+", re.IGNORECASE)
# small words that make a clause or a phrase of what should be the name of a thing
_CLAUSE_WORDS = frozenset(
    """
    i me he him she it we us they them this that these those who whom whose which what where when why how because if so but
    and or is are was were am be been being do does did have has had will would shall should can could must might not never
    no always please there here in on at to from with by for into onto about until since during under over near without
    like likes love loves prefer prefers live lives lived work works leave leaves left go goes went come comes came say says
    said mean means meant think know want wants need needs bought buy buys bring take takes took get gets got make made
    called named see start starts end ends has drink drinks eat eats drive drives own owns allergic instead rather than
    """.split()  # noqa: SIM905
)
_ENDS_OF_VERBS = re.compile(
    r"(?:n['’]t|['’](?:m|re|ve|ll|d))$|^(?:it|he|she|that|what|there|who|here|where|let|how)['’]s$", re.IGNORECASE
)
_SAY_NOTHING = frozenset(
    """
    thanks thank sorry ok okay yes no hi hello again wrong incorrect correct true false sure fine good great perfect bad
    nonsense anymore now either too though it me that this else different else everything nothing something
    """.split()  # noqa: SIM905
)
_OPENS_WITH_PRONOUN = re.compile(r"(?:it|that|this|he|she|they|we|you|there)\b", re.IGNORECASE)
_LITTLE_WORD = re.compile(rf"{_VERBS}|{_PREPOSITIONS}|{_ARTICLES}", re.IGNORECASE)
_ANY_THING = frozenset(
    """
    right correct true real actual proper year month day date time hour number name city place town country word value answer
    thing colour color price code address spelling not but rather
    """.split()  # noqa: SIM905
)
_NUMBERED = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|fifty|hundred)\b",
    re.IGNORECASE,
)

_ZH = r"[^\s，,。！!？?；;、“”\"'「」]{1,20}?"
_ZH_OLD_AND_NEW = tuple(
    re.compile(pattern)
    for pattern in (
        rf"不(?:是|叫|在)[“「\"]?(?P<old>{_ZH})[”」\"]?[，,]?\s*(?:而?是|叫|在|应该是)[“「\"]?(?P<new>{_ZH})[”」\"]?[。！!]?$",
        rf"(?:应该是|应当是|是|叫|在)[“「\"]?(?P<new>{_ZH})[”」\"]?[，,]?\s*(?:而)?不(?:是|叫|在)[“「\"]?(?P<old>{_ZH})[”」\"]?[。！!]?$",
        rf"[把将][“「\"]?(?P<old>{_ZH})[”」\"]?(?:改成|改为|换成|更正为)[“「\"]?(?P<new>{_ZH})[”」\"]?[。！!]?$",
    )
)
_ZH_CLAUSE = re.compile(r"[我你您他她它是在住叫去吃喝不没沒了的从從]|喜欢|喜歡|因为|因為|所以|但")
_ZH_ONLY_NEW = re.compile(
    rf"^(?:不对|不是|不|错了|说错了)[，,。！!]\s*(?:我?(?:说的)?(?:应该)?(?:是|在|叫))?[“「\"]?(?P<new>{_ZH})[”」\"]?[。！!]?$"
)


def corrections_of(text: str) -> tuple[Correction, ...]:
    """The corrections a text makes, each once, in order. `old` is None where only the right word is named."""
    found: dict[tuple[str | None, str], Correction] = {}
    for correction in _read(" ".join(text[:MAX_CHARS].split())):
        found.setdefault((correction.old, correction.new), correction)
    return tuple(found.values())


def _read(text: str) -> Iterator[Correction]:
    pieces = [piece for a, b in sentences(text) if len(piece := text[a:b].strip()) <= MAX_SENTENCE]
    both = [*pieces, *(f"{one} {other}" for one, other in itertools.pairwise(pieces))]
    named = [c for piece in both if (c := _old_and_new(piece)) is not None]
    yield from named
    if not named:
        yield from (c for c in (_only_new(piece, text) for piece in pieces) if c is not None)


def _old_and_new(piece: str) -> Correction | None:
    said = _REFUSED.sub("", piece)
    for pattern in _OLD_AND_NEW:
        match = pattern.search(said)
        if match and (correction := _surely(said, match)) is not None:
            return correction
    for pattern in _ZH_OLD_AND_NEW:
        match = pattern.search(said)
        if match and match["old"] != match["new"] and not _ZH_CLAUSE.search(f"{match['old']} {match['new']}"):
            return Correction(match["old"], match["new"], about=_zh_about(said[: match.start()]))
    return None


def _surely(said: str, match: re.Match[str]) -> Correction | None:
    """The correction that a match names; None where what it took for the right or the wrong words may be less or more."""
    old, new = _bare(match["old"]), _bare(_LEAD.sub("", match["new"]))
    if not old or not new or old.casefold() == new.casefold() or not (_names_a_thing(old) and _names_a_thing(new)):
        return None
    after_old = match.start("old") < match.start("new")
    lead = said[match.start("new") if after_old else 0 : said.rindex(new, 0, match.end("new"))]
    end = _LEAD_END.search(lead)
    if end is None or (_NUMBERED.search(new) and _NUMBERED.search(lead)):
        return None
    if after_old and not (_OPENS.match(lead) and _follows(said[match.end("old") : match.start("new")], lead, old, new)):
        return None
    of_old = _LEAD_END.search(match["old"][: match["old"].rindex(old)])
    before, of_wrong = ((m["before"] or "").casefold() if m else "" for m in (end, of_old))
    if before and before != (of_wrong or before):
        return None
    return Correction(old, new, before or of_wrong, _about(lead))


def _about(lead: str) -> str:
    """Whom or what the words before the right ones speak of: "my sister", "I"; "" for "it", "I said" and "the right year"."""
    clause = re.split(r"[,;:.!?]", lead)[-1].strip()
    if re.match(r"i\b", clause, re.IGNORECASE):
        return "" if re.search(r"\b(?:said|meant|mean)\b", clause, re.IGNORECASE) else "I"
    if _OPENS_WITH_PRONOUN.match(clause):
        return ""
    words = [w for w in clause.split() if not _LITTLE_WORD.fullmatch(w)]
    return " ".join(words) if any(w.casefold() not in _ANY_THING for w in words) else ""


def _zh_about(lead: str) -> str:
    clause = re.split(r"[，,。！!；;：:]", lead)[-1].strip()
    about = re.sub(r"^我的?|(?:现在|住|出生|工作|的|说|名字|应该)+$", "", clause)
    return about or ("我" if clause.startswith("我") and not clause.endswith("说") else "")


def _follows(between: str, lead: str, old: str, new: str) -> bool:
    """Whether what is said after the wrong words surely is what is right: "it isn't Oslo, thanks" names nothing."""
    if lead.strip() or re.search(r"\w|[→>]", between):
        return True
    return "." not in between and new.casefold() not in _SAY_NOTHING and old[0].isupper() == new[0].isupper()


def _names_a_thing(words: str) -> bool:
    """Whether words are no clause and hold none: "shellfish I'm allergic to" does, "Doctors Without Borders" does not."""
    parts = words.split()
    if any(_ENDS_OF_VERBS.search(part) or part == "I" for part in parts):
        return False
    first = parts[0].casefold() if len(parts) > 1 else parts[0]
    return not _CLAUSE_WORDS.intersection((first, *parts[1:]))


def _only_new(piece: str, text: str) -> Correction | None:
    refusal = _REFUSED.match(text)
    refused = refusal is not None and _PAUSE.search(refusal.group()) is not None  # not "no idea"
    said = _REFUSED.sub("", piece)
    match = _ZH_ONLY_NEW.match(piece) or (_ONLY_NEW.match(said) if refused or said.lower().startswith("it") else None)
    new = _bare(match["new"]) if match and said else ""
    if (
        match is None
        or not new
        or _ZH_CLAUSE.search(new)
        or _CLAUSE.match(new)
        or not _names_a_thing(new)
        or new.casefold() in _SAY_NOTHING
    ):
        return None
    end = _LEAD_END.search(match["new"][: match["new"].rindex(new)])
    return Correction(None, new, (end["before"] or "").casefold() if end else "")


def _bare(words: str) -> str:
    """Words without the quotes, articles and prepositions around them."""
    words = words.strip(" \"'“”‘’.,!「」")
    while (shorter := _LITTLE.sub("", words)) != words:
        words = shorter
    return words
