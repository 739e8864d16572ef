"""The ways in which one thing is put: texts that say the same in different words, as few patterns. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from memos.memory.learned import Parameter
from memos.text.align import Slot, align
from memos.text.template import escape

MOST = 6  # patterns
_EACH = 8  # texts that one pattern is made of
_WORD = re.compile(r"[^\W\d_]{2,}|[一-鿿]")
_PARAMETER = re.compile(r"\{[a-z][a-z0-9_]{0,39}\}")
_ALNUM = r"[A-Za-z0-9]"


@dataclass(frozen=True, slots=True)
class Wordings:
    """Patterns, the most frequent first, and the parameters in them that nothing else has."""

    patterns: tuple[str, ...]
    parameters: tuple[Parameter, ...] = ()


def abstracted(text: str, values: Mapping[str, str]) -> str:
    """A text as a pattern: where a value stands, its parameter."""
    names = {v.lower(): n for n, v in sorted(values.items(), reverse=True) if v}
    pattern = escape(text)
    for bounded in (True, False):
        wanted = [v for v in names if bounded or (len(v) > 2 and f"{{{names[v]}}}" not in pattern)]
        if wanted:
            any_of = "|".join(re.escape(v) for v in sorted(wanted, key=lambda v: (-len(v), v)))
            around = rf"(?<!{_ALNUM})(?:{any_of})(?!{_ALNUM})" if bounded else f"(?:{any_of})"
            # What is a parameter already is passed over.
            found = re.compile(rf"(\{{=*[a-z][a-z0-9_]{{0,39}}\}})|{around}", re.IGNORECASE)
            pattern = found.sub(lambda m: m[0] if m[1] else f"{{{names[m[0].lower()]}}}", pattern)
    return pattern


def wordings(cases: Sequence[tuple[str, Mapping[str, str]]], source: str, used: Collection[str] = ()) -> Wordings:
    """The patterns of texts whose values are known; what else differs between two that are alike becomes a parameter of its own.
    `used`: names that these must not have.
    """
    counted: dict[str, int] = {}
    for text, values in cases:
        if text:
            pattern = abstracted(text, values)
            counted[pattern] = counted.get(pattern, 0) + 1
    groups: list[list[str]] = []
    for pattern in sorted(counted, key=lambda p: -counted[p]):
        for group in groups:
            if len(group) < _EACH and _alike([*group, pattern]) is not None:
                group.append(pattern)
                break
        else:
            groups.append([pattern])
    groups.sort(key=lambda g: -sum(counted[p] for p in g))
    taken, parameters, patterns = set(used), list[Parameter](), list[str]()
    for group in groups[:MOST]:
        if len(group) == 1:
            patterns.append(group[0])
            continue
        written = ""
        for piece in _alike(group) or ():
            if isinstance(piece, str):
                written += piece
                continue
            known = next((p for p in parameters if p.examples == piece.values), None)
            if known is None:
                known = Parameter(_name(piece, taken), source, tuple(dict.fromkeys(piece.values))[:_EACH])
                taken.add(known.name)
                parameters.append(known)
            written += f"{{{known.name}}}"
        patterns.append(written)
    return Wordings(tuple(dict.fromkeys(patterns)), tuple(parameters))


def _alike(patterns: Sequence[str]) -> list[str | Slot] | None:
    """What patterns share, where that is most of their words and no parameter differs."""
    pieces = align(patterns)
    if pieces is None or any(isinstance(p, Slot) and any(_PARAMETER.search(v) for v in p.values) for p in pieces):
        return None
    own = sum(len(w) for p in pieces if isinstance(p, str) for w in _WORD.findall(_PARAMETER.sub(" ", p)))
    most = max(sum(len(w) for w in _WORD.findall(_PARAMETER.sub(" ", p))) for p in patterns)
    return pieces if own >= 2 and own >= 0.6 * most else None


def _name(slot: Slot, taken: Collection[str]) -> str:
    wanted = slot.hint or ("number" if all(v.isdigit() for v in slot.values) else "value")
    name, n = (wanted, 1) if wanted != "value" else ("value1", 1)
    while name in taken:
        n += 1
        name = f"{wanted}{n}"
    return name
