"""What every protocol of model servers can say: a request as a payload, an answer and the events of a stream as `Said`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from memos.errors import ModelBusy, ModelError, ModelUnavailable
from memos.models.llm.port import ChatRequest, Finish, TokenUsage
from memos.models.resilience import Failure

WITHOUT_TOKENS = "tokens"
WITHOUT_SYSTEM = "system"
_BUSY = ("rate_limit", "overloaded", "too_many", "429", "529")
_BROKEN = ("server", "internal", "unavailable", "timeout", "500", "502", "503", "504")
_EXCERPT = 200


@dataclass(frozen=True, slots=True)
class Said:
    """What an answer or one event of a stream says. `done`: it was the last event. None: nothing was said about it."""

    text: str = ""
    reasoning: str = ""
    finish: Finish | None = None
    usage: TokenUsage | None = None
    model: str = ""
    done: bool = False


class Dialect(Protocol):
    """One protocol. Values only; nothing is sent."""

    @property
    def path(self) -> str:
        """Behind the base URL."""

    def payload(self, request: ChatRequest, *, stream: bool, without: Collection[str]) -> dict[str, Any]:
        """The body of a request, `without` what the server refused: names of its fields, `json_schema`, `json_object`,
        `tokens` (no limit of the answer's length), `system` (no message of that role).
        """

    def refusable(self, payload: Mapping[str, Any]) -> Mapping[str, str]:
        """What a server may refuse in a payload: the words that name it in a message, and what to leave out then."""

    def answer(self, body: object) -> Said:
        """What a whole answer says. Raises Failure when it is none."""

    def event(self, data: str) -> Said:
        """What an event says. Raises Failure for an error."""


def told_error(name: str, error: object) -> Failure:
    """An error that came as the body of an answer or as an event."""
    message, kind = error, ""
    if isinstance(error, dict):
        message = error.get("message") or error
        kind = f"{error.get('type') or ''} {error.get('code') or ''} {error.get('status') or ''}".lower()
    said = f"{name} answered an error: {' '.join(str(message).split())[:_EXCERPT]}"
    if any(sign in kind for sign in _BUSY):
        return Failure(ModelBusy(said), retry=True)
    if any(sign in kind for sign in _BROKEN):
        return Failure(ModelUnavailable(said), retry=True, dead=True)
    return Failure(ModelError(said))


def count(value: object) -> int:
    """A number of tokens, as far as it is one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
