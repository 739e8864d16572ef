"""What every group of verbs stands on: a transport, and the user a call is for when it names none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from memos.client.encoding import body
from memos.client.transport import Call, Transport

T = TypeVar("T")


class Connected:
    """A connection to one server."""

    _transport: Transport
    _user: str | None

    async def _post(
        self, path: str, kind: type[T], fields: Mapping[str, Any], *, repeatable: bool = True, patient: bool = False
    ) -> T:
        call = Call("POST", path, body=body(**fields), repeatable=repeatable, patient=patient)
        return await self._transport.ask(call, kind)

    async def _get(
        self, path: str, kind: type[T], params: Mapping[str, Any] | None = None, *, patient: bool = False
    ) -> T:
        return await self._transport.ask(Call("GET", path, params=params or {}, patient=patient), kind)

    def _as(self, user: str | None) -> str | None:
        return user if user is not None else self._user

    def _of(self, user: str | None, cube: str | None) -> dict[str, Any]:
        """User and cube of a call, as far as they are named."""
        return body(user=self._as(user), cube=cube)
