"""Who calls, and for whom: the one place where an API key and the user named in a request become the user that acts.

Which cube that user may use is decided below, by `cubes.access`; here only whether the caller may act for the user at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from memos.errors import AccessDenied, InvalidInput, Unauthorized
from memos.server.wire import CALLER
from memos.system import DEFAULT_USER

READ, WRITE, ACT, ADMIN = "read", "write", "act", "admin"
NEEDED = "an API key is needed: send the header 'Authorization: Bearer mk_…' ('Token mk_…' works too)"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request. `user` None: no keys are in use (loopback only), and whoever calls may act for every user.

    `scopes`: `read` and `write` for the own user, `act` for every user, `admin` for everything.
    """

    user: str | None = None
    scopes: frozenset[str] = frozenset({READ, WRITE, ACT, ADMIN})
    key_id: str | None = None

    @property
    def any_user(self) -> bool:
        """Whether the caller may act for every user."""
        return self.user is None or bool(self.scopes & {ACT, ADMIN})

    def acting(self, user: str | None, need: str = READ) -> str:
        """The user this request acts as: the one named, or the key's own. Raises AccessDenied."""
        self.must(need)
        if user is None:
            return self.user or DEFAULT_USER
        if user != self.user and not self.any_user:
            raise AccessDenied(
                f"this key acts for {self.user!r} only, not for {user!r}; a key with the scope 'act' can"
            )
        return user

    def must(self, scope: str) -> None:
        """Raise AccessDenied unless the caller has a scope."""
        if self.user is not None and not self.scopes & {scope, ADMIN}:
            raise AccessDenied(f"this key lacks the scope {scope!r}; it has {', '.join(sorted(self.scopes)) or 'none'}")


OPEN = Caller()


def caller_of(request: Request) -> Caller:
    """The caller of a request, as the middleware found it. Raises Unauthorized when it found none."""
    found = request.scope.get(CALLER)
    if not isinstance(found, Caller):
        raise Unauthorized(NEEDED)
    return found


def secret_of(header: str) -> str:
    """The key in an Authorization header: bare, or after Bearer or Token. Raises InvalidInput for another scheme."""
    word, _, rest = header.strip().partition(" ")
    if not rest:
        return word
    if word.lower() in ("bearer", "token"):
        return rest.strip()
    raise InvalidInput(f"the Authorization scheme {word!r:.20} is not known; use Bearer or Token")


async def _found(request: Request) -> Caller:
    return caller_of(request)  # FastAPI takes a function that is not async to a thread


CallerDep = Annotated[Caller, Depends(_found)]
