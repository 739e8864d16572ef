"""Other names that a message tells in so many words: "Robert, or Bob for short", 大家都叫我小王, "Robert Chen, aka Bob"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memos.text.lazy import LazyPattern

_NAME = r"[A-ZÀ-Þ][A-Za-zÀ-ɏ'’-]{1,20}(?: [A-ZÀ-Þ][A-Za-zÀ-ɏ'’-]{1,20}){0,2}"
_HAN = r"[\u4e00-\u9fff]{1,4}?"
_END = r"(?=\s*(?:[.,;!?)]|$|\band\b|\bbut\b|\bfrom now on\b|\bplease\b))"
_HAN_END = r"(?=(?:就好了?|就行了?|就可以了?|即可|吧|了|哦)?\s*(?:[。，,.!！?？；;）)]|$))"
# Of whoever speaks: the other name.
_MINE = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:I'm|I am|[Mm]y (?:full )?name is|[Mm]y name's) {_NAME},? or (?:just |simply )?(?P<v>{_NAME}) for short\b",
        rf"\b(?:[Yy]ou can|[Ff]eel free to|[Pp]lease|[Jj]ust) call me (?P<v>{_NAME}){_END}",
        rf"\b(?:[Ff]riends|[Ee]verybody|[Ee]veryone|[Pp]eople|[Tt]hey) (?:just )?calls? me (?P<v>{_NAME}){_END}",
        rf"(?:从现在起|从今以后|以后|今后|请|你可以|可以|大家都?|朋友们?都?|别人都?|就)(?:都|就|请|可以)*叫我(?P<v>{_HAN}|{_NAME}){_HAN_END}",
        rf"(?:^|[。，,！!？?；;])(?:就)?叫我(?P<v>{_HAN}|{_NAME}){_HAN_END}",
        rf"我的?(?:外号|绰号|小名|昵称|英文名)(?:是|叫)(?P<v>{_HAN}|{_NAME}){_HAN_END}",
    )
)
# Of somebody named: the name, and the other one.
_THEIRS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?P<n>{_NAME}),? \(?(?:also known as|a\.?k\.?a\.?|also called|nicknamed|better known as) [\"“']?(?P<v>{_NAME})",
        rf"(?<!I'm )(?<!I am )(?<!is )(?<!name's )\b(?P<n>{_NAME}),? or (?:just |simply )?(?P<v>{_NAME}) for short\b",
        rf"\b(?P<v>{_NAME}) is short for (?P<n>{_NAME}){_END}",
        r"(?P<n>[\u4e00-\u9fff]{2,3}?)[（(，,]?(?:又名|又叫|也叫|别名|外号叫?|绰号叫?|小名叫?|昵称是?)(?P<v>[\u4e00-\u9fff]{2,4}?)(?=[）)。，,！!；;]|$)",
    )
)
_NO_NAMES = frozenset(("My", "The", "It", "This", "That", "When", "If", "So", "And", "But", "Hi", "Hello"))
_NO_HAN = LazyPattern(r"[的是不了在来去起走做说问到再早晚快慢先等]|什么|一声|醒")


@dataclass(frozen=True, slots=True)
class OtherName:
    """Another name, [`start`, `end`) of the text. `of`: whose, where it is not the speaker's."""

    name: str
    start: int
    end: int
    of: str | None = None


def other_names(text: str) -> Iterator[OtherName]:
    """The other names that a text tells, each once."""
    if not _MAY_TELL.search(text):
        return
    seen: set[int] = set()
    for patterns in (_MINE, _THEIRS):
        for match in (m for pattern in patterns for m in pattern.finditer(text)):
            name, of = match["v"], match["n"] if patterns is _THEIRS else None
            if match.start("v") in seen or not _is_name(name) or (of is not None and not _is_name(of)):
                continue
            seen.add(match.start("v"))
            yield OtherName(name, *match.span("v"), of)


_MAY_TELL = LazyPattern(
    r"[sS]hort\b|calls? me|known as|a\.?k\.?a|also called|nicknamed|叫我|外号|绰号|小名|昵称|英文名|又名|又叫|也叫|别名"
)


def _is_name(name: str) -> bool:
    return name.split()[0] not in _NO_NAMES and not _NO_HAN.search(name)
