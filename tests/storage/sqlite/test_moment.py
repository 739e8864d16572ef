"""Several questions about one moment ask once whether anything has changed, and never answer what was true before it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memos.storage.sqlite.control import Control, moment
from memos.storage.sqlite.registry import SqliteRegistry


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[SqliteRegistry]:
    made = SqliteRegistry(tmp_path)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[SqliteRegistry]:
    made = SqliteRegistry(tmp_path)
    try:
        yield made
    finally:
        made.close()


def test_what_another_has_changed_counts_in_the_next_moment(registry: SqliteRegistry, other: SqliteRegistry) -> None:
    registry.create("notes", "ada")
    for level in ("read", None, "write", None) * 5:
        other.grant("notes", "bob", level, "ada")
        with moment():
            found = registry.find("notes")
            assert found is not None and registry.level(found, "bob") == level
            assert registry.find("notes") == found


def test_what_this_thread_changes_counts_within_the_moment(registry: SqliteRegistry) -> None:
    with moment():
        assert registry.find("notes") is None
        registry.create("notes", "ada")
        assert registry.find("notes") is not None
        registry.grant("notes", "bob", "read", "ada")
        found = registry.find("notes")
        assert found is not None and registry.level(found, "bob") == "read"


def test_a_moment_asks_once(registry: SqliteRegistry) -> None:
    registry.create("notes", "ada")
    asked: list[str] = []
    with registry._control.use() as db:
        db.set_exec_trace(lambda cursor, sql, bindings: asked.append(sql) or True)
    with moment():
        assert registry.find("notes") is not None
        assert registry.accounts.is_active("ada")
        assert registry.find("notes") is not None
    assert sum("FROM changes" in sql for sql in asked) == 1


def test_files_do_not_share_a_moment(registry: SqliteRegistry, tmp_path: Path) -> None:
    elsewhere = Control(tmp_path / "elsewhere")
    try:
        registry.create("notes", "ada")
        with moment(), registry._control.use() as db, elsewhere.use() as another:
            assert Control.version(db) > 0
            assert Control.version(another) == 0
    finally:
        elsewhere.close()
