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
_WORDS = r"[^\s,.;:!?()]+(?: [^\s,;:!?()]+){0,4}?"  # one to five words
_X = rf"[\"'“‘]?(?P<old>{_WORDS})[\"'”’]?"
_Y = rf"[\"'“‘]?(?P<new>{_WORDS})[\"'”’]?"
_IS = r"(?:it|that|this|he|she|they|the \w+)(?:'s|’s| is| was|'re| are| should be)"
_END = r"\s*[.!]*$"
_NEGATED = r"(?:isn'?t|isn’t|is not|'s not|’s not|was not|wasn'?t|aren'?t|are not)"
_OLD_AND_NEW = tuple(
    re.compile(pattern + _END, re.IGNORECASE)
    for pattern in (
        rf"\b(?:it|that|this|he|she|they) ?{_NEGATED} {_X}\s*[,;.–—-]+\s*(?:but )?(?:{_IS} )?{_Y}",
        rf"\bnot {_X},? but (?:rather )?{_Y}",
        rf"(?:^|.*?\b){_Y}\s*,? (?:and )?not {_X}",
        rf"(?:^|.*?\b){_Y} (?:instead of|rather than) {_X}",
        rf"\b(?:replace|change|rename|correct) {_X} (?:with|to|into|by) {_Y}",
        rf"^{_X} (?:should (?:be|say|read)|->|→|=>) {_Y}",
    )
)
_REFUSED = re.compile(
    r"^(?:no|nope|nah|wrong|incorrect|actually|sorry|not quite|correction|(?:that'?s|that’s|that is|this is) "
    r"(?:wrong|incorrect|not (?:right|true|correct)))\b[\s,.:;!–—-]*",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"(?:i|you|he|she|we|they|it|there|please|do|don't|never|always)\b|(?:\S+ ){3}", re.IGNORECASE
)  # no name of a thing
_ONLY_NEW = re.compile(rf"^(?:(?:{_IS}|i (?:said|meant|mean)|should be|make it) )?{_Y}{_END}", re.IGNORECASE)
# what stands before the right word and is no part of it: "I live in Bergen, not Oslo"
_LEAD = re.compile(
    r"^.*\b(?:is|are|was|were|be|am|it'?s|it’s|that'?s|that’s|in|on|at|to|from|called|named|said|meant|mean|with|by|for|a|an|the|"
    r"my|like|love|prefer|lives?|works?)\s+(?=\S)",
    re.IGNORECASE,
)
_LITTLE = re.compile(r"^(?:in|on|at|to|from|a|an|the|is|was|called|named|it'?s|my|by|with|for)\s+", re.IGNORECASE)

_ZH = r"[^\s，,。！!？?；;、“”\"'「」]{1,20}?"
_ZH_OLD_AND_NEW = tuple(
    re.compile(pattern)
    for pattern in (
        rf"不(?:是|叫|在)[“「\"]?(?P<old>{_ZH})[”」\"]?[，,]?\s*(?:而?是|叫|在|应该是)[“「\"]?(?P<new>{_ZH})[”」\"]?[。！!]?$",
        rf"(?:应该是|应当是|是|叫|在)[“「\"]?(?P<new>{_ZH})[”」\"]?[，,]?\s*(?:而)?不(?:是|叫|在)[“「\"]?(?P<old>{_ZH})[”」\"]?[。！!]?$",
        rf"[把将][“「\"]?(?P<old>{_ZH})[”」\"]?(?:改成|改为|换成|更正为)[“「\"]?(?P<new>{_ZH})[”」\"]?[。！!]?$",
    )
)
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
    for pattern in (*_OLD_AND_NEW, *_ZH_OLD_AND_NEW):
        match = pattern.search(said)
        if match:
            old, new = _bare(match["old"]), _bare(_LEAD.sub("", match["new"]))
            if old and new and old.casefold() != new.casefold():
                return Correction(old, new)
    return None


def _only_new(piece: str, text: str) -> Correction | None:
    refused = _REFUSED.match(text) is not None
    said = _REFUSED.sub("", piece)
    match = _ZH_ONLY_NEW.match(piece) or (_ONLY_NEW.match(said) if refused or said.lower().startswith("it") else None)
    new = _bare(match["new"]) if match and said else ""
    return Correction(None, new) if new and not _CLAUSE.match(new) else None


def _bare(words: str) -> str:
    """Words without the quotes, articles and prepositions around them."""
    words = words.strip(" \"'“”‘’.,!「」")
    while (shorter := _LITTLE.sub("", words)) != words:
        words = shorter
    return words
