from __future__ import annotations

from collections.abc import Iterator

import pytest
from llm_server import LlmServer


@pytest.fixture
def llm_server() -> Iterator[LlmServer]:
    with LlmServer() as running:
        yield running
