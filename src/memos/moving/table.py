"""A table as CSV: its first row names the columns; which of them holds the text, the time and so on is told by their names,
or by the caller.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from memos.errors import InvalidInput
from memos.moving import shape
from memos.moving.files import head, is_zip, opened
from memos.moving.items import Bad, Item, Said, Source, Told

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "text": ("text", "content", "message", "body", "memory", "note", "value", "fact", "内容", "正文", "消息"),
    "at": ("at", "chat_time", "timestamp", "created_at", "datetime", "date", "time", "created", "时间", "日期"),
    "id": ("id", "message_id", "uuid", "key"),
    "role": ("role", "sender", "from", "author", "speaker", "角色"),
    "session": ("session", "session_id", "conversation_id", "thread_id", "conversation", "thread", "chat", "会话"),
    "name": ("name", "user_name", "nickname", "姓名"),
    "tags": ("tags", "labels", "categories", "标签"),
}
_DELIMITERS = ",;\t|"
_NAMES = re.compile(r".*\.(?:csv|tsv)", re.IGNORECASE)
_LONGEST_ROW = 8 << 20  # characters


def reading(columns: Mapping[str, str]) -> Source:
    """The source with columns named by the caller: `{"text": "body"}`. Raises InvalidInput for what no column can be."""
    wrong = sorted(set(columns) - set(COLUMNS))
    if wrong:
        raise InvalidInput(f"{wrong[0]!r:.60} is nothing that a column can be; it can be {', '.join(COLUMNS)}")
    return replace(SOURCE, read=partial(_read, columns=dict(columns)))


def _fits(path: Path) -> bool:
    start = b"" if path.is_dir() or is_zip(path) else head(path)
    if not start or b"\0" in start or start.lstrip()[:1] in (b"{", b"["):
        return False
    try:
        first = start.decode("utf-8-sig", "ignore").splitlines()[0]
    except IndexError:
        return False
    cells = _cells(first, _delimiter(first))
    return len(cells) > 1 and (_NAMES.fullmatch(path.name) is not None or "text" in _places(cells, {}))


def _read(path: Path, *, columns: Mapping[str, str] | None = None) -> Iterator[Item]:
    with opened(path) as raw:
        file = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="strict", newline="")
        try:
            yield from _rows(_Lines(file, path.name), path.name, columns or {})
        except UnicodeDecodeError as e:
            raise InvalidInput(f"{path.name} is not UTF-8 text ({e.reason}); save it as UTF-8") from None
        finally:
            file.detach()


def _rows(found: _Lines, name: str, columns: Mapping[str, str]) -> Iterator[Item]:
    first = next(found, "")
    delimiter = _delimiter(first)
    titles = _cells(first, delimiter)
    places = _places(titles, columns)
    if "text" not in places:
        raise InvalidInput(
            f"{name} has no column that is known to hold the text; its columns are {', '.join(titles)!r:.300}: name it "
            "(--column text=NAME)"
        )
    rows = csv.reader(found, delimiter=delimiter)
    while True:
        try:
            row = next(rows, None)
        except csv.Error as e:
            yield Bad(f"{name}, line {found.number}", f"it is no row of a table: {e}")
            continue
        if row is None:
            return
        if any(cell.strip() for cell in row):
            yield _row(row, titles, places, f"{name}, line {found.number}", re.sub(r"\.\w+$", "", name))


def _row(row: list[str], titles: list[str], places: Mapping[str, int], where: str, session: str) -> Item:
    def cell(what: str) -> str | None:
        at = places.get(what)
        return shape.text(row[at]) if at is not None and at < len(row) else None

    if len(row) > len(titles):
        return Bad(where, f"it has {len(row)} cells, the table {len(titles)} columns")
    text = cell("text")
    if text is None:
        return Bad(where, "it has no text")
    known = set(places.values())
    info: dict[str, Any] = {
        titles[n]: value for n, value in enumerate(row) if n not in known and value.strip() and titles[n].strip()
    }
    said, name = cell("role"), cell("name")
    at, id, tags = shape.time(_number(cell("at"))), cell("id"), shape.tags(cell("tags") or ())
    if said is None:
        return Told(text, at, id, cell("session") or session, info, tags, role="user")
    role = shape.role(said)
    if role is None:
        role, name = "user", name or said
    return Said(cell("session") or session, role, text, at, id, name, info, tags)


def _number(value: str | None) -> str | float | None:
    return float(value) if value is not None and re.fullmatch(r"\d{9,16}(?:\.\d+)?", value) else value


def _places(titles: list[str], columns: Mapping[str, str]) -> dict[str, int]:
    """Where each thing stands: where the caller says, else in the first column of a name that is known."""
    lower = [title.strip().lower() for title in titles]
    out: dict[str, int] = {}
    for what, title in columns.items():
        if title.strip().lower() not in lower:
            raise InvalidInput(f"there is no column {title!r:.60}; there are {', '.join(titles)!r:.300}")
        out[what] = lower.index(title.strip().lower())
    for what, known in COLUMNS.items():
        for title in known:
            if what not in out and title in lower and lower.index(title) not in out.values():
                out[what] = lower.index(title)
    return out


def _delimiter(line: str) -> str:
    """What stands between the cells: what cuts the first row into the most."""
    return max(_DELIMITERS, key=lambda mark: len(_cells(line, mark)))


def _cells(line: str, delimiter: str) -> list[str]:
    """The cells of a row; none where it is no row of a table."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


class _Lines:
    """The lines of a table, with the number of the last; one without end is refused."""

    def __init__(self, file: io.TextIOWrapper, name: str) -> None:
        self._file, self._name, self.number = file, name, 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self._file.readline(_LONGEST_ROW)
        if not line:
            raise StopIteration
        self.number += 1
        if len(line) >= _LONGEST_ROW:
            raise InvalidInput(
                f"{self._name}, line {self.number} has more than {_LONGEST_ROW >> 20} MB; this is no table"
            )
        return line.replace("\0", "")


SOURCE = Source(
    "table", "A table as CSV or TSV (--column text=NAME says which column is what)", _fits, _read, loose_ids=True
)
