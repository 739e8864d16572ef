"""A parsed value into the form of a pydantic model: unwrapped or wrapped where that is plainly meant, with small slips mended,
and without those items of its lists that do not fit."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any, TypeVar, get_origin

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

T = TypeVar("T", bound="BaseModel")
_ROUNDS = 20
_NAMED = 3  # errors that are named to the model
_ALLOWED = re.compile(r"'([^']*)'")


class Misfit(ValueError):
    """A value does not have the form asked for; the message names the places, and holds nothing of the value."""


def fit(value: Any, form: type[T]) -> tuple[T, int]:
    """The value in its form, and how many items of its lists were dropped. Raises Misfit."""
    from pydantic import ValidationError

    first: ValidationError | None = None
    best: tuple[T, int] | None = None
    for shaped in _shapes(value, form):
        if isinstance(shaped, dict) and form.model_fields and not _names(form) & set(shaped):
            continue  # a form whose fields all have defaults would take anything for an empty answer
        try:
            return form.model_validate(shaped), 0
        except ValidationError as error:
            first = first or error
            kept = _without_misfits(shaped, form, error)
        if kept is not None and (best is None or kept[1] < best[1]):
            best = kept
    if best is not None:
        return best
    raise Misfit(told(first) if first is not None else "it has none of the fields asked for")


def told(error: ValidationError) -> str:
    """What does not fit, in few words: places and rules, without values."""
    errors = error.errors(include_url=False, include_input=False, include_context=False)
    said = [f"{'.'.join(map(str, e['loc'])) or 'the answer'}: {e['msg'][0].lower()}{e['msg'][1:]}" for e in errors]
    more = len(said) - _NAMED
    return "; ".join(said[:_NAMED]) + (f"; and {more} more" if more > 0 else "")


def _shapes(value: Any, form: type[BaseModel]) -> list[Any]:
    """The value, and what it may have been meant as."""
    shapes = [value]
    lists = [f.alias or name for name, f in form.model_fields.items() if get_origin(f.annotation) in (list, tuple)]
    only = lists[0] if len(lists) == 1 else None
    names = _names(form)
    if isinstance(value, dict) and not names & set(value):
        if len(value) == 1:  # {"answer": {...}}
            (inner,) = value.values()
            shapes = _shapes(inner, form) if isinstance(inner, (dict, list)) else shapes
        elif only is not None:  # a bare item where a list of them was asked for
            shapes = [{only: [value]}, value]
    elif isinstance(value, list):
        if only is not None:
            shapes = [{only: value}]
        if len(value) == 1 and isinstance(value[0], dict):
            shapes = [value[0], *shapes] if names & set(value[0]) else [*shapes, value[0]]
    return shapes


def _names(form: type[BaseModel]) -> set[str]:
    return set(form.model_fields) | {f.alias for f in form.model_fields.values() if f.alias}


def _without_misfits(value: Any, form: type[T], error: ValidationError) -> tuple[T, int] | None:
    """The value without those items of its lists in which an error is. None if that does not help, or leaves a list empty
    that was not: such an answer says nothing, it is not an answer of nothing."""
    from pydantic import ValidationError

    value, dropped = copy.deepcopy(value), 0
    for _ in range(_ROUNDS):
        errors = error.errors(include_url=False, include_input=False)
        if not _mend(value, errors):
            doomed = _doomed([_lists_around(value, detail) for detail in errors])
            if doomed is None:
                return None
            for items, indexes in doomed:
                items[:] = [item for i, item in enumerate(items) if i not in indexes]
                dropped += len(indexes)
        try:
            return form.model_validate(value), dropped
        except ValidationError as again:
            error = again
    return None


def _mend(value: Any, errors: list[ErrorDetails]) -> bool:
    """Whether something could be put right without a loss: a number for a text, one thing for a list of them, null for what may
    be left out, a word in other case."""
    mended = False
    for error in errors:
        box, key = _place(value, error)
        if box is None:
            continue
        found, kind = box[key], error["type"]
        if found is None and isinstance(box, dict):
            del box[key]
        elif kind == "string_type" and isinstance(found, (int, float)) and not isinstance(found, bool):
            box[key] = str(found)
        elif kind == "list_type" and found is not None and not isinstance(found, list):
            box[key] = [found]
        elif kind in ("literal_error", "enum") and isinstance(found, str):
            allowed = _ALLOWED.findall(str(error.get("ctx", {}).get("expected", "")))
            meant = next((word for word in allowed if word.casefold() == found.strip().casefold()), None)
            if meant is None or meant == found:
                continue
            box[key] = meant
        else:
            continue
        mended = True
    return mended


def _place(value: Any, error: ErrorDetails) -> tuple[Any, Any]:
    """The object or list that an error is in, and the key or index there; None when it is about what is missing."""
    box: Any = None
    key: int | str | None = None
    for part in error["loc"]:
        if _holds(value, part):
            box, key, value = value, part, value[part]
    return (None, None) if error["type"] == "missing" else (box, key)


def _holds(value: Any, part: int | str) -> bool:
    if isinstance(value, list):
        return isinstance(part, int) and part < len(value)
    return isinstance(value, dict) and part in value


_Place = tuple[list[Any], int]


def _doomed(places: list[list[_Place]]) -> list[tuple[list[Any], set[int]]] | None:
    """The lists and which of their items go: those nearest to each error; where a list would lose all, the item that it is in."""
    while True:
        if not all(places):
            return None
        out: dict[int, tuple[list[Any], set[int]]] = {}
        for *_, (items, index) in places:
            out.setdefault(id(items), (items, set()))[1].add(index)
        lost = {key for key, (items, indexes) in out.items() if len(indexes) == len(items)}
        if not lost:
            return list(out.values())
        places = [place[:-1] if id(place[-1][0]) in lost else place for place in places]


def _lists_around(value: Any, error: ErrorDetails) -> list[_Place]:
    """The lists that an error is in, from the outermost, and the index of the item in each. (Paths also name alternatives.)"""
    found: list[_Place] = []
    for part in error["loc"]:
        if isinstance(value, list) and isinstance(part, int) and part < len(value):
            found.append((value, part))
            value = value[part]
        elif isinstance(value, dict) and part in value:
            value = value[part]
    return found
