"""A memory on a data folder of its own, without an embedder and without work in the background."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memos import MemOS

sys.path.append(str(Path(__file__).parents[1] / "server"))


@pytest.fixture
def memos(tmp_path: Path) -> Iterator[MemOS]:
    with MemOS(tmp_path / "home", embedder="none", background=False) as system:
        yield system
