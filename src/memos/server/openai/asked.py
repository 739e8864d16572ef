"""Whose memory a request is about, and what is to be done with it: headers first, then what OpenAI's own fields say."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from fastapi import Request

from memos.errors import InvalidInput
from memos.server.caller import READ, WRITE, Caller
from memos.storage.names import check_name
from memos.system.acting import MOST_TOKENS

Mode = Literal["off", "read", "write", "both"]
TOKENS = 1_500  # of the block, where the request does not say
_PREFIX = "x-memory-"


@dataclass(frozen=True, slots=True)
class Asked:
    """`session` None: the request names none. `tokens`: the longest block of memories (a token: 4 characters)."""

    user: str
    cube: str | None
    session: str | None
    mode: Mode
    tokens: int

    @property
    def reads(self) -> bool:
        """Whether memories are recalled."""
        return self.mode in ("read", "both")

    @property
    def writes(self) -> bool:
        """Whether the conversation is kept."""
        return self.mode in ("write", "both")


def asked(request: Request, caller: Caller, body: Mapping[str, Any]) -> Asked:
    """What the headers of a request say, and its body where they say nothing. Raises InvalidInput, AccessDenied."""
    mode = (_header(request, "mode") or "both").lower()
    if mode not in get_args(Mode):
        raise InvalidInput(f"X-Memory-Mode is one of {', '.join(get_args(Mode))}, got {mode!r:.40}")
    found = Asked(
        user="",
        cube=_named(_header(request, "cube"), "X-Memory-Cube"),
        session=_named(_header(request, "session"), "X-Memory-Session"),
        mode=cast("Mode", mode),
        tokens=_tokens(_header(request, "tokens")),
    )
    user = _named(_header(request, "user"), "X-Memory-User") or _end_user(caller, body)
    for need in [READ] * (found.reads or not found.writes) + [WRITE] * found.writes:
        user = caller.acting(user, need)
    return Asked(cast("str", user), found.cube, found.session, found.mode, found.tokens)


def asking_user(request: Request, caller: Caller, need: str) -> str:
    """The user of a request without a body that could name one. Raises InvalidInput, AccessDenied."""
    return caller.acting(_named(_header(request, "user"), "X-Memory-User"), need)


def _end_user(caller: Caller, body: Mapping[str, Any]) -> str | None:
    """The end user that the body names, for callers who may act for everybody. For others these fields mean nothing here: they
    are sent along as they are, and the key says who it is.
    """
    if not caller.any_user:
        return None
    for name in ("user", "safety_identifier"):
        value = body.get(name)
        if isinstance(value, str) and value.strip():
            return check_name(value, name)
    return None


def _header(request: Request, name: str) -> str | None:
    """A header; other letters than English ones are UTF-8. Raises InvalidInput where it stands there twice: of what a client and
    a gateway before it say, nobody knows which was meant.
    """
    said = {value.strip() for value in request.headers.getlist(_PREFIX + name)}
    if len(said) > 1:
        raise InvalidInput(f"X-Memory-{name.title()} is there more than once; send it once")
    value = next(iter(said), "")
    with contextlib.suppress(UnicodeError):
        value = value.encode("latin-1").decode()
    return value or None


def _named(value: str | None, what: str) -> str | None:
    return None if value is None else check_name(value, what)


def _tokens(value: str | None) -> int:
    if value is None:
        return TOKENS
    if not (value.isascii() and value.isdigit()) or len(value) > 9 or not 1 <= int(value) <= MOST_TOKENS:
        raise InvalidInput(f"X-Memory-Tokens is a whole number from 1 to {MOST_TOKENS:,}, got {value!r:.40}")
    return int(value)
