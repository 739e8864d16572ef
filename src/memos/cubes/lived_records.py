"""The lines of an archive that tell what agents lived through: rows to JSON and back, every value checked on the way in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from memos.cubes.records import bad, clock, ident, instant, json_line, text, whole
from memos.errors import ArchiveError
from memos.storage.sqlite.transfer_lived import EPISODES, LEARNED, TRIALS, Column, Sort, StoredRow, Table

MOST_NAME, MOST_HEX, MOST_VALUES, MOST_STEPS = 1_000, 64, 100, 10_000
MOST_NUMBER = 1 << 53
_WORD = re.compile(r"[a-z0-9][a-z0-9_.:-]{0,99}", re.IGNORECASE)
_HEX = re.compile(r"(?:[0-9a-f]{2})*")


def row_line(row: StoredRow) -> bytes:
    """The line of a row; what is not known is left out."""
    named = zip(row.table.columns, row.values, strict=True)
    return json_line({c.name: value for c, value in named if value is not None})


def reader(table: Table) -> Callable[[Any], StoredRow]:
    """What makes the row of a table of a line's object."""
    columns = {c.name: c for c in table.columns}

    def read(value: Any) -> StoredRow:
        if not isinstance(value, dict):
            raise bad("the line", value, "an object")
        for name in value:
            if name not in columns:
                raise ArchiveError(f"{table.name} has an unknown field {name!r:.60}")
        values: list[Any] = []
        for column in table.columns:
            if value.get(column.name) is None:
                if not column.optional:
                    raise ArchiveError(f"{table.name} has no {column.name}")
                values.append(None)
            else:
                values.append(_read(column, value[column.name], f"{table.name}.{column.name}"))
        return StoredRow(table, tuple(values))

    return read


class RowCheck:
    """That each row names only episodes and memories that are there. `known` raises where a memory is not."""

    def __init__(self, known: Callable[[str], None]) -> None:
        self._known = known
        self._episodes: set[str] = set()

    def row(self, row: StoredRow) -> None:
        """One row, after those of `episodes`. Raises ArchiveError."""
        if row.table is EPISODES:
            self._episodes.add(row["id"])
            return
        here = row.table is TRIALS and not row["cube"]
        foreign = row.table is LEARNED or (row.table is TRIALS and bool(row["home"]))  # or gone: events outlive it
        for column, value in zip(row.table.columns, row.values, strict=True):
            if column.sort is Sort.EPISODE or (here and column.name == "episode"):
                if value not in self._episodes:
                    raise ArchiveError(f"episode {value}, which something points to, is not in the archive")
            elif column.sort is Sort.ID and column.name != "episode" and value is not None and not foreign:
                self._known(value)


def _read(column: Column, value: Any, what: str) -> Any:
    found = _READ[column.sort](value, what)
    if column.words and found not in column.words:
        raise bad(what, value, f"one of {', '.join(column.words)}")
    return found


def _number(value: Any, what: str) -> int:
    """The number of a row; behind the highest there must be room for all that come."""
    if whole(value, what, 1) > MOST_NUMBER:
        raise bad(what, value, f"a number up to {MOST_NUMBER}")
    return int(value)


def _name(value: Any, what: str) -> str:
    if len(text(value, what)) > MOST_NAME:
        raise bad(what, value, f"a name of at most {MOST_NAME} characters")
    return str(value)


def _word(value: Any, what: str) -> str:
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise bad(what, value, "a word")
    return value


def _hex(value: Any, what: str) -> str:
    if not isinstance(value, str) or len(value) > 2 * MOST_HEX or not _HEX.fullmatch(value):
        raise bad(what, value, "hexadecimal")
    return value


def _flag(value: Any, what: str) -> bool:
    if not isinstance(value, bool):
        raise bad(what, value, "true or false")
    return value


def _between(low: float) -> Callable[[Any, str], float]:
    def read(value: Any, what: str) -> float:
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not low <= value <= 1:
            raise bad(what, value, f"a number from {low:g} to 1")
        return float(value)

    return read


def _steps(value: Any, what: str) -> Mapping[str, list[int]]:
    if not isinstance(value, dict) or len(value) > MOST_VALUES:
        raise bad(what, value, "step numbers by what they are")
    for name, numbers in value.items():
        _word(name, what)
        if not isinstance(numbers, list) or len(numbers) > MOST_STEPS:
            raise bad(what, numbers, "a list of step numbers")
        for number in numbers:
            whole(number, what, 1)
    return value


def _numbers(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict) or len(value) > MOST_VALUES:
        raise bad(what, value, "the numbers of an event")
    for name, one in value.items():
        _word(name, what)
        for item in one if isinstance(one, list) and len(one) <= MOST_VALUES else [one]:
            if isinstance(item, (list, dict)) or (isinstance(item, str) and len(item) > MOST_NAME):
                raise bad(what, item, "a number, an id or a word")
    return value


def _micros(read: Callable[[Any, str], Any]) -> Callable[[Any, str], int]:
    def check(value: Any, what: str) -> int:
        read(value, what)
        return int(value)

    return check


_READ: Mapping[Sort, Callable[[Any, str], Any]] = {
    Sort.NUMBER: _number,
    Sort.ID: ident,
    Sort.EPISODE: ident,
    Sort.HEX: _hex,
    Sort.TIME: _micros(clock),
    Sort.DUE: _micros(instant),
    Sort.NAME: _name,
    Sort.WORD: _word,
    Sort.WHOLE: whole,
    Sort.FLAG: _flag,
    Sort.SHARE: _between(0),
    Sort.SCORE: _between(-1),
    Sort.STEPS: _steps,
    Sort.NUMBERS: _numbers,
}
