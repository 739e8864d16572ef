"""The log of a server: one JSON object a line, on stderr. What other libraries log (warnings and worse) takes the same form."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import MutableMapping
from typing import Any

import orjson
import structlog

_FRAMES, _KINDS = 20, 5
_LONGEST = 300  # characters
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def configure(level: str) -> None:
    """Send the log to stderr as JSON lines, from this level on."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _where,
            structlog.processors.JSONRenderer(serializer=_line),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.BytesLoggerFactory(sys.stderr.buffer),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(handlers=[_Forward(logging.WARNING)], level=logging.WARNING, force=True)


def told(error: BaseException) -> dict[str, Any]:
    """An exception as its kinds and places; what it says and the values around it may be contents of memories."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    kinds: list[str] = []
    following: BaseException | None = error
    while following is not None and len(kinds) < _KINDS:
        kinds.append(type(following).__name__)
        following = following.__cause__ or following.__context__
    return {"error": ", from ".join(kinds), "at": [f"{f.filename}:{f.lineno} {f.name}" for f in frames]}


def _where(logger: Any, name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    info = event.pop("exc_info", None)
    error = info[1] if isinstance(info, tuple) else sys.exc_info()[1] if info is True else info
    if isinstance(error, BaseException):
        event.update(told(error))
    return event


def _line(event: Any, **_: Any) -> bytes:
    return orjson.dumps(event, default=str)


class _Forward(logging.Handler):
    """Hands records of the standard library's logging on: the first line of each, for the next ones quote."""

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage().partition("\n")[0][:_LONGEST]
        structlog.get_logger(record.name).log(
            record.levelno, "library", logger=record.name, message=said, exc_info=record.exc_info or None
        )
