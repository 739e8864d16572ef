"""What a user's words say of how a task went, where nobody gives a score. English and Chinese. (How its tools fared says
`memos.evolution.value.reward`.)

Words are read clause by clause, and only where people speak of what was done: at the beginning of a message and at its end. A
task that is *about* thanks or failures ("write a thank-you letter") says nothing of the one before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from memos.evolution.value import signal_words as w
from memos.memory.episode import RelationKind
from memos.text.analysis import analyze

ABANDONED: Final = "abandoned"


@dataclass(frozen=True, slots=True)
class Heard:
    """A signal found in words: `what` in a word, `score` in [-1, 1]. Implicit signals stay within [-0.7, 0.7]."""

    what: str
    score: float


THANKS = Heard("thanks", 0.6)
PRAISE = Heard("praise", 0.7)
CORRECTED = Heard("correction", -0.5)
FAILED = Heard("failed", -0.7)
REVISED = Heard("revision", -0.4)  # the message goes over what was done, in words that are no correction by themselves
REPEATED = Heard("repeated", -0.4)
GAVE_UP = Heard(ABANDONED, -0.6)
SUBAGENT_WORKED, SUBAGENT_FAILED = Heard("subagent_ok", 0.6), Heard("subagent_failed", -0.6)

REPEAT_TERMS, REPEAT_SHARE = 4, 0.8  # content terms a request must have, and share, to count as said again

_CLAUSE = re.compile(r"[.!?。！？;；\n]+(?=\s|$|[^\x00-\x7f])|[。！？；\n]+|(?:,|，)\s*")
_FENCED = re.compile(r"```.*?(?:```|$)|`[^`\n]*`", re.DOTALL)
_BARE_NO = re.compile(r"\W*(?:nope|no|不)\W*", re.IGNORECASE)
_CJK = re.compile(r"[㐀-鿿]")
LONGEST = 160  # characters of a clause that is looked at


# -- words -----------------------------------------------------------------------------------------------------------


def heard(text: str, relation: RelationKind, former: str = "") -> tuple[Heard, ...]:
    """What a user message says of what was done before it, each kind once. `former`: the user's message before, to tell whether
    this one asks the same again. Of a message that begins another task, only what looks back counts.
    """
    found: dict[str, Heard] = {}
    for clause in _clauses(text):
        one = _of(clause)
        if one is not None:
            found.setdefault(one.what, one)
    if relation is RelationKind.NEW_TASK:
        return tuple(one for one in found.values() if one in (THANKS, PRAISE, GAVE_UP))
    if FAILED.what in found or CORRECTED.what in found:
        found.pop(PRAISE.what, None)
    if said_again(text, former):
        found.setdefault(REPEATED.what, REPEATED)
    if relation is RelationKind.REVISION and not any(one.score < 0 for one in found.values()):
        found[REVISED.what] = REVISED
    return tuple(found.values())


def said_again(text: str, former: str) -> bool:
    """Whether a message asks again for what the one before asked for, in nearly the same words."""
    one, other = (set(analyze(t[:4_000]).content_terms()) for t in (text, former))
    if len(one) < REPEAT_TERMS or len(other) < REPEAT_TERMS:
        return False
    return len(one & other) >= REPEAT_SHARE * len(one | other)


def corrects(text: str) -> bool:
    """Whether a message begins by saying that what was done is wrong, or failed."""
    return any(_of(clause) in (CORRECTED, FAILED) for clause in _clauses(text)[:2])


def gives_up(text: str) -> bool:
    """Whether a message calls off what was asked for."""
    return any(_of(clause) is GAVE_UP for clause in _clauses(text)[:2])


def is_only_about_before(text: str) -> bool:
    """Whether a message does nothing but thank, praise or give up: it asks for nothing."""
    clauses = _clauses(text, every=True)
    return bool(clauses) and all(
        _of(c) in (THANKS, PRAISE, GAVE_UP) or len(c) <= (1 if _CJK.search(c) else 3) or w.FILLER.fullmatch(c)
        for c in clauses
    )


def _clauses(text: str, *, every: bool = False) -> list[str]:
    """The clauses in which people speak of what was done: the first three and the last two."""
    bare = _FENCED.sub(" ", text[:20_000])
    found = [c.strip() for c in _CLAUSE.split(bare) if c and c.strip()]
    if len(found) > 1 and _BARE_NO.fullmatch(found[0]):  # what follows says whether it is one
        found[:2] = [f"{found[0]}, {found[1]}"]
    if not every and len(found) > 5:
        found = [*found[:3], *found[-2:]]
    return [c[:LONGEST] for c in found]


def _of(clause: str) -> Heard | None:
    if w.GAVE_UP.match(clause):
        return GAVE_UP
    if w.FAILED.match(clause) and not _asks(clause):
        return FAILED
    if w.THANKS.match(clause):
        return THANKS
    if w.PRAISE.match(clause) and not _asks(clause):
        return PRAISE
    if w.CORRECTED.match(clause):
        return CORRECTED
    return None


def _asks(clause: str) -> bool:
    return w.QUESTION.search(clause) is not None
