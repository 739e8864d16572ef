"""Corrections that name both words in ways of their own: "my boss isn't Sarah, it's Maria", 我对花生不过敏，是对虾过敏. What
`correction` reads of any message, it reads here too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memos.memory.statement import Correction
from memos.reading.correction import corrections_of
from memos.reading.feedback_heard import bare

_W = r"[^\s,;:!?()]+(?: [^\s,;:!?()]+){0,3}?"
_NOT = r"(?:isn'?t|isn’t|is not|'s not|’s not|wasn'?t|was not|aren'?t|are not|is no longer)"
_THEN = r"\s*[,;.–—-]+\s*(?:but |rather |actually )?(?:(?:it|that|he|she|they)(?:'s|’s| is| was| are|'re) |rather )?"
_IS_NOT = re.compile(
    rf"^(?P<about>(?:my|the|our) [\w' ’-]{{1,40}}?) {_NOT} (?:called |named |in |at |"
    rf"on )?(?P<old>{_W}){_THEN}(?:called |named )?(?P<new>{_W})\s*[.!]*$",
    re.IGNORECASE,
)
_DOES_NOT = re.compile(
    rf"^(?P<about>i|(?:my|the|our) [\w' ’-]{{1,40}}?|[A-Z]\w+) (?:do|does|did)(?:n'?t|n’t| not) (?P<verb>\w+) "
    rf"(?P<prep>in |at |for |with |on )?(?P<old>{_W})\s*[,.;–—-]+\s*(?:but |and )?(?:i|he|she|they|it) (?P=verb)(?:e?s)? "
    rf"(?P=prep)?(?P<new>{_W})\s*[.!]*$",
    re.IGNORECASE,
)
# "I don't live in Oslo any more, I live in Bergen" is news: what is over was not wrong.
_WAS_TRUE = re.compile(r"\b(?:any ?more|any longer)$", re.IGNORECASE)
_ZH_END = re.compile(r"的(?=\s*(?:[，,。！!]|$))")
_ZH_ALLERGY = re.compile(
    r"对(?P<old>[^，,。]{1,12}?)(?:并不|不|没有?)过敏[，,]\s*(?:而)?是?对(?P<new>[^，,。]{1,12}?)过敏"
)
_ZH_HAS = re.compile(r"有(?P<new>[^，,。]{1,12})[，,]\s*而?不是(?P<old>[^，,。]{1,12}?)[。.!！]*$")
_ZH_PUT = re.compile(r"[把将將].+(?:改成|改为|改為|换成|換成|更正为).+")


def wrong_and_right(words: str) -> Iterator[Correction]:
    """The corrections in some words that name what is wrong and what is right."""
    found = [c for c in corrections_of(words) if c.old is not None]
    if not found and (shorter := _ZH_END.sub("", words)) != words:
        found = [c for c in corrections_of(shorter) if c.old is not None]
    if not found:
        clauses = [match[0] for clause in re.split("[，,]", words) if (match := _ZH_PUT.search(clause)) is not None]
        found = [c for clause in clauses for c in corrections_of(clause) if c.old is not None]
    yield from found
    if found:
        return
    match = (
        _IS_NOT.match(words.strip())
        or _DOES_NOT.match(words.strip())
        or _ZH_ALLERGY.search(words)
        or _ZH_HAS.search(words)
    )
    if match and _WAS_TRUE.search(match["old"]) is None:
        old, new = bare(match["old"]), bare(match["new"])
        if old and new and old.casefold() != new.casefold():
            about = match.groupdict().get("about") or ""
            about = "I" if about in ("i", "I") else re.sub(r"^(?:my|the|our) ", "", about, flags=re.IGNORECASE)
            yield Correction(old, new, about=about)
