"""A short way into routes that are called all the time: what FastAPI works out anew for every request is worked out once.

A request that is as it should be (JSON, no query string) goes straight to the function of its route; every other one takes
FastAPI's own way, which also says what is wrong with it. Documentation and answers are the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from fastapi.params import Depends, Header
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from memos.errors import MemosError
from memos.server.errors import refusal
from memos.server.wire import App, Message, Receive, Scope, Send, answer, content_type

Part = Callable[[Request], Any]
_Plan = tuple[tuple[str, TypeAdapter[Any]], list[tuple[str, Part]], list[tuple[str, Part]]]


class QuickRoute(APIRoute):
    """A route that can be taken the short way where its function allows: a JSON body, the request, what depends on the request
    alone, and headers. Use it as the `route_class` of a router.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        plan = _plan(endpoint) if "{" not in path else None
        self.quick = _Quick(endpoint, *plan) if plan is not None else None


class Shortcut:
    """ASGI middleware, the innermost: takes the short way, or hands the request on to FastAPI."""

    def __init__(self, app: App, routes: Sequence[BaseRoute]) -> None:
        self._app = app
        self._quick = {
            (method, route.path): (route, route.quick)
            for route in routes
            if isinstance(route, QuickRoute) and route.quick is not None
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        found = self._quick.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if found is None or scope["query_string"]:
            return await self._app(scope, receive, send)
        route, quick = found
        scope.update(route=route, endpoint=route.endpoint, path_params={})
        try:
            again = await quick(scope, receive, send)
        except (MemosError, HTTPException) as error:
            return await answer(scope, receive, send, refusal(error))
        if again is None:
            return None
        for name in ("route", "endpoint", "path_params"):
            scope.pop(name, None)
        return await self._app(scope, again, send)


class _Quick:
    """How the function of a route is called for a request that is as it should be."""

    def __init__(
        self,
        endpoint: Callable[..., Awaitable[Response]],
        body: tuple[str, TypeAdapter[Any]],
        parts: list[tuple[str, Part]],
        asked: list[tuple[str, Part]],
    ) -> None:
        self._endpoint = endpoint
        self._body, self._adapter = body
        self._parts, self._asked = parts, asked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> Receive | None:
        """Answer the request; or the `receive` with which FastAPI can read it as if nobody had."""
        request = Request(scope, receive, send)
        if content_type(request.headers.get("content-type")) != "application/json":
            return receive
        try:
            raw = await request.body()
        except ClientDisconnect:  # nobody is there to read an answer
            return None
        try:
            given = {name: part(request) for name, part in self._parts}
            given[self._body] = self._adapter.validate_json(raw)
        except ValidationError:
            return _again(raw, receive)
        for name, dependency in self._asked:
            value = dependency(request)
            given[name] = await value if inspect.isawaitable(value) else value
        response = await self._endpoint(**given)
        await response(scope, receive, send)
        return None


def _plan(endpoint: Callable[..., Any]) -> _Plan | None:
    """How each argument is had: the body, what can be wrong, what is asked then; None when FastAPI has to do it."""
    hints = get_type_hints(endpoint, include_extras=True)
    if hints.pop("return", None) is not Response:
        return None
    body: tuple[str, TypeAdapter[Any]] | None = None
    parts: list[tuple[str, Part]] = []
    asked: list[tuple[str, Part]] = []
    for name, hint in hints.items():
        kind, marks = (get_args(hint)[0], get_args(hint)[1:]) if get_origin(hint) is Annotated else (hint, ())
        depends = next((m for m in marks if isinstance(m, Depends)), None)
        header = next((m for m in marks if isinstance(m, Header)), None)
        if kind is Request:
            parts.append((name, lambda request: request))
        elif depends is not None and depends.dependency is not None and _of_request_alone(depends.dependency):
            asked.append((name, depends.dependency))
        elif header is not None:
            parts.append((name, _from_header(header.alias or name.replace("_", "-"), TypeAdapter(hint))))
        elif body is None and isinstance(kind, type) and issubclass(kind, BaseModel):
            body = name, TypeAdapter(kind)
        else:
            return None
    return None if body is None else (body, parts, asked)


def _of_request_alone(dependency: Callable[..., Any]) -> bool:
    """Whether nothing but the request has to be given; what the query string may hold then has its default."""
    first, *rest = inspect.signature(dependency).parameters.values()
    return first.name == "request" and all(parameter.default is not parameter.empty for parameter in rest)


def _from_header(name: str, adapter: TypeAdapter[Any]) -> Part:
    def read(request: Request) -> Any:
        value = request.headers.get(name)
        return None if value is None else adapter.validate_python(value)

    return read


def _again(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives a body that was read already, then what comes after it."""
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
