"""Who sent a request: finds the caller of the API key, and refuses what came without one where keys are needed."""

from __future__ import annotations

import structlog

from memos.errors import InvalidInput, MemosError, Unauthorized
from memos.server.caller import ACT, ADMIN, NEEDED, OPEN, READ, WRITE, Caller, secret_of
from memos.server.errors import refusal
from memos.server.limits import RateLimit
from memos.server.options import ServerOptions
from memos.server.wire import CALLER, App, Receive, Scope, Send, answer, header
from memos.system import AsyncMemOS

log = structlog.get_logger(__name__)

PUBLIC = frozenset({"/health", "/ready", "/docs", "/openapi.json"})
MEM0 = "/compat/mem0/"  # clients of mem0's open-source server send their key as X-API-Key
UNCOUNTED = frozenset({"/health", "/ready", "/metrics"})  # monitors must not be turned away


class Authenticated:
    """ASGI middleware: sets the caller of a request, counts it against the caller's rate, refuses what has no good key (401)."""

    def __init__(self, app: App, memos: AsyncMemOS, options: ServerOptions, rate: RateLimit) -> None:
        self._app, self._memos, self._options, self._rate = app, memos, options, rate
        self._was_open = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        address = f"address {(scope.get('client') or ('?',))[0]}"
        counted = scope["path"] not in UNCOUNTED
        try:
            try:
                caller: Caller | None = await identified(self._memos, self._options, scope)
                self._notice(caller is OPEN)
            except (Unauthorized, InvalidInput):
                self._notice(False)
                if counted:
                    self._rate.take(scope, address)
                if scope["path"] not in PUBLIC:
                    raise
                caller = None  # and so sees what anybody may see
            if caller is not None:
                scope[CALLER] = caller
                if counted:
                    self._rate.take(scope, f"key {caller.key_id}" if caller.key_id else address)
        except MemosError as error:
            return await answer(scope, receive, send, refusal(error))
        return await self._app(scope, receive, send)

    def _notice(self, is_open: bool) -> None:
        """Say it in the log when the first key was made: from then on requests without one are refused."""
        if self._was_open and not is_open:
            log.warning("keys_needed", auth=self._options.auth, why="an API key was made")
        self._was_open = is_open


async def identified(memos: AsyncMemOS, options: ServerOptions, scope: Scope) -> Caller:
    """The caller of a request as of now, for long answers to ask again. Raises Unauthorized, InvalidInput for another scheme."""
    if not await needs_keys(memos, options):
        return OPEN
    sent = header(scope, b"authorization") or (header(scope, b"x-api-key") if scope["path"].startswith(MEM0) else None)
    if not sent:
        raise Unauthorized(NEEDED)
    key = await memos.accounts.check_key(secret_of(sent))
    return Caller(key.user, widened(key.scopes), key.id)


async def needs_keys(memos: AsyncMemOS, options: ServerOptions) -> bool:
    """Whether requests need a key: always, never, or (auto) off loopback and from the first that was ever made."""
    if options.auth == "auto":
        return not options.loopback or await memos.accounts.has_keys()
    return options.auth == "on"


def widened(scopes: frozenset[str]) -> frozenset[str]:
    """Scopes with those they imply: `act` implies read and write, `admin` everything."""
    if ADMIN in scopes:
        return scopes | {READ, WRITE, ACT}
    return scopes | {READ, WRITE} if ACT in scopes else scopes
