"""What the library notes about its own work. A program that uses it as a library sees none of it unless it asks.

Where structlog was configured (the server, the worker), lines go there; else to the standard library's logging under the name
of the module (`memos.…`), which shows nothing until the program configures it.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

logging.getLogger("memos").addHandler(logging.NullHandler())  # without it, warnings would be printed to stderr


class Log:
    """Where a module notes events with values; neither holds contents of memories."""

    __slots__ = ("_bound", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._bound: Any = None

    def debug(self, event: str, **values: Any) -> None:
        """Note a detail."""
        self._note(logging.DEBUG, event, values)

    def info(self, event: str, **values: Any) -> None:
        """Note what happened."""
        self._note(logging.INFO, event, values)

    def warning(self, event: str, **values: Any) -> None:
        """Note what somebody should look at."""
        self._note(logging.WARNING, event, values)

    def error(self, event: str, **values: Any) -> None:
        """Note what went wrong."""
        self._note(logging.ERROR, event, values)

    def exception(self, event: str, **values: Any) -> None:
        """Note what went wrong, with the exception that is being handled."""
        self._note(logging.ERROR, event, {"exc_info": True, **values})

    def _note(self, level: int, event: str, values: dict[str, Any]) -> None:
        structlog = sys.modules.get("structlog")  # what nobody imported, nobody configured; importing it is dear
        if structlog is not None and structlog.is_configured():
            if self._bound is None:
                self._bound = structlog.get_logger(self._name)
            getattr(self._bound, logging.getLevelName(level).lower())(event, **values)
            return
        out = logging.getLogger(self._name)
        if out.isEnabledFor(level):
            info = values.pop("exc_info", None)
            said = " ".join((event, *(f"{name}={value!r}" for name, value in values.items())))
            out.log(level, "%s", said, exc_info=info)


def get_logger(name: str) -> Log:
    """The log of a module."""
    return Log(name)
