"""Nothing outside a test reaches it: no variable of the user's own MemOS. (This file also makes `stubs` importable.)

Hypothesis measures no time: the machines that run these tests are shared.
"""

from __future__ import annotations

import os

import pytest
import structlog
from hypothesis import HealthCheck, settings

settings.register_profile(
    "shared", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
settings.load_profile("shared")


OF_THE_USER = ("MEMOS_", "MOS_", "OPENAI_", "OLLAMA_", "COHERE_", "JINA_")


@pytest.fixture(autouse=True)
def no_settings_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [v for v in os.environ if v.startswith(OF_THE_USER)]:
        monkeypatch.delenv(variable)


@pytest.fixture(autouse=True)
def log_of_its_own() -> None:
    """A command that ran before in this process has sent the log to a file of its own, which is closed."""
    structlog.reset_defaults()
