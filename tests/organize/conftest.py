from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from arriving import Arriving


@pytest.fixture
def ann(tmp_path: Path) -> Iterator[Arriving]:
    made = Arriving(tmp_path / "ann.cube")
    yield made
    made.close()
