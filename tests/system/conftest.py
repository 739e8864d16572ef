"""A memory system of its own per test: text only, nothing in the background unless asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memos import MemOS


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def memos(home: Path) -> Iterator[MemOS]:
    with MemOS(home, embedder="none", background=False) as made:
        yield made
