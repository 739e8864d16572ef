"""From several texts side by side to patterns: what they share stays, what differs becomes as few parameters as tell it. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from memos.memory.learned import Parameter
from memos.text.align import Slot, align
from memos.text.template import LONGEST, Template, escape, fill, names

ROLES = ("goal", "error", "input")  # where a parameter's value can be read off; from anywhere else it is `unknown`
EXAMPLES = 6  # of a parameter
_WORD = re.compile(r"[^\W\d_]{2,}|[一-鿿]")
_CLOSING = ".,;:!?)]}'\"。，；：！？）】」"


def generalise(
    cases: Sequence[Sequence[str]],
    roles: Sequence[str] = (),
    *,
    optional: Collection[int] = (),
    beside: Sequence[Sequence[str]] = (),
) -> Template | None:
    """What two or more cases have in common, each a tuple of texts in the same order. `roles`: what each text is (goal, error,
    input, or anything else); `optional`: texts (by place) that may have nothing in common, their pattern is then empty; `beside`:
    of each case, texts that become no patterns but where values may come from. None when the cases are of different shapes, or
    when nothing would be left that says something.
    """
    width = len(cases[0]) if cases else 0
    if not width or any(len(c) != width for c in cases) or any(len(t) > LONGEST for c in cases for t in c):
        return None
    roles = tuple(roles) or ("unknown",) * width
    parts: list[list[str | Slot]] = []
    for place in range(width):
        texts = [case[place] for case in cases]
        aligned = align(texts)
        if aligned is None or (place in optional and not _says(aligned, texts)):
            if place not in optional:
                return None
            aligned = []
        parts.append(aligned)
    patterns, parameters = _named(parts, roles, beside)
    template = Template(patterns, parameters, tuple(roles))
    return template if _solid(parts, patterns) and _returns(template, cases) else None


def _says(aligned: Sequence[str | Slot], texts: Sequence[str]) -> bool:
    """Whether what stays is at least two fifths of the words."""
    own = sum(len(w) for piece in aligned if isinstance(piece, str) for w in _WORD.findall(piece))
    shortest = min(sum(len(w) for w in _WORD.findall(text)) for text in texts)
    return own >= 2 and own >= 0.4 * shortest


def _solid(parts: Sequence[Sequence[str | Slot]], patterns: Sequence[str]) -> bool:
    """Whether something is said: a pattern without a word of its own is one only where its parameters stand in another that has
    some.
    """
    worded = [any(isinstance(p, str) and _WORD.search(p) for p in part) for part in parts]
    known = {n for pattern, has in zip(patterns, worded, strict=True) if has for n in names(pattern)}
    bare = [pattern for pattern, has in zip(patterns, worded, strict=True) if not has and pattern]
    return any(worded) and all(set(names(pattern)) <= known for pattern in bare)


def _returns(template: Template, cases: Sequence[Sequence[str]]) -> bool:
    """Whether each case is matched, and is what its values fill."""
    for case in cases:
        values = template.match(case)
        if values is None or any(
            p and fill(p, values).lower() != t.lower() for p, t in zip(template.patterns, case, strict=True)
        ):
            return False
    return True


def _named(
    parts: Sequence[Sequence[str | Slot]], roles: Sequence[str], beside: Sequence[Sequence[str]]
) -> tuple[tuple[str, ...], tuple[Parameter, ...]]:
    slots = [(place, piece) for place, part in enumerate(parts) for piece in part if isinstance(piece, Slot)]
    told = _told([slot.values for _, slot in slots], [_pieces_of(texts) for texts in beside])
    source: dict[Values, str] = {}
    hints: dict[Values, list[str]] = {}
    order: list[Values] = []
    for place, slot in slots:
        for base in (piece for piece in told[slot.values] if not isinstance(piece, str)):
            if base not in source:
                order.append(base)
                source[base] = "unknown"
            role = roles[place]
            if role in ROLES and (source[base] not in ROLES or ROLES.index(role) < ROLES.index(source[base])):
                source[base] = role
            hints.setdefault(base, []).append(slot.hint)
    called = _called(order, hints)
    patterns = tuple("".join(_written(piece, told, called) for piece in part) for part in parts)
    parameters = tuple(Parameter(called[b], source[b], tuple(dict.fromkeys(b))[:EXAMPLES]) for b in order)
    return patterns, parameters


Values = tuple[str, ...]  # what stands at one place, in each case
Told = tuple[str | Values, ...]  # values as text that is the same in all cases, and the values of parameters


def _told(values: Sequence[Values], beside: Sequence[Collection[str]]) -> dict[Values, Told]:
    """How the fewest parameters tell all values: one that holds another with the same around it in every case needs none of its
    own, and of one that holds another behind or before a sign only the rest does.
    """
    out: dict[Values, Told] = {}
    bases: list[Values] = []
    for value in sorted(dict.fromkeys(values), key=lambda v: (sum(map(len, v)), v)):
        out[value] = _known(value, bases, beside) or _parted(value, bases, beside) or (value,)
        bases += [piece for piece in out[value] if not isinstance(piece, str) and piece not in bases]
    return out


def _known(value: Values, bases: Sequence[Values], beside: Sequence[Collection[str]]) -> Told | None:
    """A value told by parameters that there are, or by what stands beside."""
    for base in reversed(bases):
        if (found := _within(base, value)) is not None:
            return found
    for base in reversed(bases):
        if (found := _beside(base, value)) is not None:
            return found
    return _out_of(value, beside) if beside else None


def _parted(value: Values, bases: Sequence[Values], beside: Sequence[Collection[str]]) -> Told | None:
    """A value whose parts between signs are told, at least one of them."""
    for sign in "/-_.":
        parts = [whole.split(sign) for whole in value]
        if len({len(p) for p in parts}) > 1 or not 1 < len(parts[0]) < 9 or not all(all(p) for p in parts):
            continue
        columns = [*zip(*parts, strict=True)]
        told = [_known(column, bases, beside) for column in columns]
        if any(t is not None for t in told):
            out: list[str | Values] = []
            for n, (column, known) in enumerate(zip(columns, told, strict=True)):
                out += [sign] * bool(n)
                out += known or ((column[0],) if len(set(column)) == 1 else (column,))
            return tuple(out)
    return None


def _within(base: Values, value: Values) -> Told | None:
    """Another value with the same before and after it in every case."""
    found = None
    for inner, whole in zip(base, value, strict=True):
        before, there, after = whole.partition(inner)
        if not there or (found is not None and found != (before, after)):
            return None
        found = (before, after)
    assert found is not None
    before, after = found
    joined = (before and before[-1].isalpha() and base[0][0].isalpha()) or (
        after and after[0].isalpha() and base[0][-1].isalpha()
    )
    return None if joined and min(map(len, base)) < 3 else (before, base, after)


_SEPARATORS = "/-_.:=@ "


def _beside(base: Values, value: Values) -> Told | None:
    """Another value at the end or the beginning, behind the same separator in every case, and something that differs."""
    if min(map(len, base)) < 3:
        return None
    for sign in _SEPARATORS:
        if all(
            whole.endswith(sign + inner) and len(whole) > len(inner) + 1
            for inner, whole in zip(base, value, strict=True)
        ):
            return (tuple(whole[: -len(inner) - 1] for inner, whole in zip(base, value, strict=True)), sign, base)
        if all(
            whole.startswith(inner + sign) and len(whole) > len(inner) + 1
            for inner, whole in zip(base, value, strict=True)
        ):
            return (base, sign, tuple(whole[len(inner) + 1 :] for inner, whole in zip(base, value, strict=True)))
    return None


_TAGGED = re.compile(r"v\d+(?:\.\d+)+")
_IN_NUMBER = re.compile(r"\d\.$")
_PIECE = re.compile(r"(?:(?![一-鿿])[^\s\"'`(){}\[\],;，。；：！？（）「」“”])+")


def _pieces_of(texts: Sequence[str]) -> frozenset[str]:
    """Everything in some texts that may be a value: words, and what they are put together of."""
    out: set[str] = set()
    for text in texts:
        for run in _PIECE.findall(text):
            bare = run.strip(_CLOSING)
            out.update((bare, bare[1:]) if _TAGGED.fullmatch(bare) else (bare,))
            parts = re.split(r"([-_./:=@])", bare)
            out.update(
                "".join(parts[i:j])
                for i in range(0, len(parts), 2)
                for j in range(i + 1, min(i + 8, len(parts) + 1), 2)
            )
    out.discard("")
    return frozenset(out)


def _out_of(value: Values, beside: Sequence[Collection[str]]) -> Told | None:
    """A value as what stands beside it in every case, with the same around it; the longest such."""
    for piece in sorted((p for p in beside[0] if p in value[0]), key=lambda p: (-len(p), p)):
        if len(piece) < 3 and piece != value[0] and not piece.isdigit():
            break
        at = value[0].find(piece)
        before, after = value[0][:at], value[0][at + len(piece) :]
        if _IN_NUMBER.search(before) and piece[0].isdigit():
            continue  # a part of a version is no value
        inner = tuple(v[len(before) : len(v) - len(after)] for v in value)
        same = all(v.startswith(before) and v.endswith(after) for v in value)
        if same and all(i and i in known for i, known in zip(inner, beside, strict=True)):
            return (before, inner, after)
    return None


_NOT_NAMES = frozenset(("value", "true", "false", "null", "none", "string", "text", "input", "data", "the", "error"))


def _called(
    order: Sequence[tuple[str, ...]], hints: Mapping[tuple[str, ...], Sequence[str]]
) -> dict[tuple[str, ...], str]:
    out: dict[tuple[str, ...], str] = {}
    used: set[str] = set()
    for base in order:
        wanted = next((h for h in hints[base] if h and h not in _NOT_NAMES), None) or _shape(base)
        name, n = (wanted, 1) if wanted != "value" else ("value1", 1)
        while name in used:
            n += 1
            name = f"{wanted}{n}"
        used.add(name)
        out[base] = name
    return out


def _shape(values: tuple[str, ...]) -> str:
    if all(v.isdigit() for v in values):
        return "number"
    if all(re.fullmatch(r"v?\d+(?:\.\d+)+", v) for v in values):
        return "version"
    return "path" if all("/" in v and " " not in v for v in values) else "value"


def _written(piece: str | Slot, told: Mapping[Values, Told], called: Mapping[Values, str]) -> str:
    if isinstance(piece, str):
        return escape(piece)
    return "".join(escape(t) if isinstance(t, str) else f"{{{called[t]}}}" for t in told[piece.values])
