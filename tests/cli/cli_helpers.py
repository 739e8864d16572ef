"""What the tests of the command share beside fixtures."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from typer.testing import Result

Memos = Callable[..., Result]
Answer = Callable[..., Any]


def strict(text: str) -> Any:
    """The value of a JSON text; NaN and Infinity are not JSON."""

    def refuse(constant: str) -> Any:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)
