"""English sentences that leave the speaker out: "Lost my keys yesterday", "Searching for a flat has been hard"."""

from __future__ import annotations

import re
from collections.abc import Callable

from memos.memory.model import Kind
from memos.reading.finding import Finding
from memos.reading.patterns import words
from memos.reading.scene import Scene
from memos.reading.wording import in_third_person, sentence

_PAST = words(
    """
    lost had got met went took made bought started finished ran saw found spent joined visited moved signed won attended came
    flew drove watched wrote helped broke baked painted hiked volunteered cooked sold
    """
)
_MAY_OPEN = _PAST | words("been can't can’t cant looking excited pumped trying working")
_ELIDED = re.compile(
    r"(?:(?:just|also|only|recently|finally) )*(?:(?P<been>been)"
    r"|can['’]?t wait for|looking forward to|(?:so |super )?(?:excited|pumped) (?:for|about)"
    rf"|(?P<try>trying to get|working on)|(?:{'|'.join(sorted(_PAST))}))\b",
    re.IGNORECASE,
)
# After a comma: ", just learning to sail".
_LATER = re.compile(r",\s+(?P<v>(?:just|also|currently|now) (?:been )?(?=[a-z]+ing\b)|been (?=[a-z]+ing\b))")
_IS_SUBJECT = re.compile(r"\b(?:is|are|was|were|has|can|could|will|would|means?|makes?|helps?)\b|['’]s\b")
_BUSY = re.compile(r"(?P<v>[A-Z][a-z]+ing [a-z][\w' -]{2,60}?) (?:has|have) been\b")
_NOT_BUSY = re.compile(r"\b(?:must|may|might|could|should|is|are|would|you|your|for me)\b")
_AFTER_I = ("", " ", "'", "’")
_REACH = 50  # characters: fillers are no longer


def elided(text: str, start: int, end: int, lower: str, is_filler: Callable[[str], object]) -> list[tuple[int, bool]]:
    """Where verbs without their subject begin in a sentence (`lower` in lower case), and whether an auxiliary is missing too."""
    found = [(m.start("v"), True) for m in _LATER.finditer(text, start, end)] if "," in lower else []
    if text[start] == "I" and text[start + 1 : start + 2] in _AFTER_I:
        return found
    if _MAY_OPEN.isdisjoint(lower[:_REACH].split()):
        return found
    first = _ELIDED.search(text, start, end)
    if first is None or first.start() - start > _REACH:
        return found
    before = text[start : first.start()]
    if before and not is_filler(before):
        return found
    if first["try"] is None or not _IS_SUBJECT.search(text, first.end(), end):
        found.append((first.start(), first["been"] is not None or first["try"] is not None))
    return found


def busy(scene: Scene, start: int, end: int) -> Finding | None:
    """What the speaker is at, where the doing is the subject: "Searching for a flat has been hard"."""
    if "ing " not in scene.text[start : start + 16]:
        return None
    match = _BUSY.match(scene.text, start, end)
    if match is None or _NOT_BUSY.search(match[0]):
        return None
    said = in_third_person(match["v"])
    told = sentence(scene.who, f"has been {said[:1].lower()}{said[1:]}")
    return scene.finding(Kind.FACT, told, "doing", match.span("v"), match.span(), confidence=0.6)
