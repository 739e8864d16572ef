"""Every request leaves a trace: an id that is answered, a line in the log, a count and its seconds in the metrics. None of
them holds a query, a body, a header or a secret; the route stands for the path, since paths have ids in them.
"""

from __future__ import annotations

import re
import time
import uuid

import structlog

from memos import tracing
from memos.server.caller import Caller
from memos.server.errors import error_reply
from memos.server.logs import told
from memos.server.metrics import Metrics
from memos.server.wire import CALLER, HEADERS, REQUEST_ID, App, Message, Receive, Scope, Send, answer, header

access = structlog.get_logger("memos.access")
log = structlog.get_logger(__name__)

UNMATCHED = "(no route)"
_SANE = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_QUIET = frozenset({"/health", "/ready", "/metrics"})  # asked every few seconds by machines
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Observed:
    """ASGI middleware, the outermost: request id, access log, metrics, and the end of exceptions that nothing else caught."""

    def __init__(self, app: App, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        asked = header(scope, b"x-request-id")
        request_id = asked if asked is not None and _SANE.fullmatch(asked) else uuid.uuid4().hex
        scope[REQUEST_ID] = request_id
        scope.setdefault(HEADERS, []).append((b"x-request-id", request_id.encode()))
        begun, status = time.perf_counter(), 0

        async def marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = {name for name, _ in message.get("headers", ())}
                message["headers"] = [
                    *message.get("headers", ()),
                    *(pair for pair in scope[HEADERS] if pair[0] not in own),
                ]
            await send(message)

        self._metrics.begin()
        try:
            with tracing.span(_method(scope), {}, parent=_parent(scope) if tracing.active() else None) as span:
                await self._app(scope, receive, marked)
                if span is None:
                    return
                span.update_name(f"{_method(scope)} {route_of(scope)}")
                span.set_attributes(
                    {
                        "http.request.method": _method(scope),
                        "http.route": route_of(scope),
                        "http.response.status_code": status,
                    }
                )
        except Exception as error:  # the last one who can answer
            log.error("request_broke", request_id=request_id, **told(error))
            if status:
                raise  # half an answer is out: the server cuts the connection
            text = "an internal error; the log has it under the request id"
            await answer(scope, receive, marked, lambda request: error_reply(request, 500, "internal", text))
        finally:
            self._tell(scope, status, time.perf_counter() - begun)

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        method, route = _method(scope), route_of(scope)
        self._metrics.end(method, route, status, seconds)
        caller = scope.get(CALLER)
        level = access.debug if route in _QUIET else access.info
        level(
            "request",
            method=method,
            route=route,
            status=status,  # 0: the client left before there was an answer
            ms=round(seconds * 1e3, 2),
            request_id=scope[REQUEST_ID],
            user=caller.user if isinstance(caller, Caller) else None,
        )


def route_of(scope: Scope) -> str:
    """The template of the route that a request matched."""
    route = scope.get("route")
    return str(getattr(route, "path", None) or UNMATCHED)


def _method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in _METHODS else "OTHER"


def _parent(scope: Scope) -> dict[str, str]:
    """The context that the caller's trace goes on in."""
    return {
        name: value for name in ("traceparent", "tracestate") if (value := header(scope, name.encode())) is not None
    }
