"""Nothing outside a test reaches it: no variable of the user's own MemOS. (This file also makes `stubs` importable.)"""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def no_settings_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [v for v in os.environ if v.startswith("MEMOS_")]:
        monkeypatch.delenv(variable)
