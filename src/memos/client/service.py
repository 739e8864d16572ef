"""The verbs of a server that the library has elsewhere: background tasks, users, API keys and the audit trail."""

from __future__ import annotations

import asyncio
import builtins
import time
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping
from typing import Any

from memos.client.connected import Connected
from memos.client.decoding import decode
from memos.client.encoding import body, segment
from memos.client.transport import Call
from memos.errors import MemosError, Unavailable
from memos.frames import Count, Keys, Me, NewKey, TaskStats, Users
from memos.storage.accounts import ApiKey, AuditEntry, AuditPage, User
from memos.storage.tasks import LIVE, Task, TaskPage, TaskState

_PAGE = 100
_RECONNECTS = 5
_LONGEST_WAIT = 300.0  # the server waits no longer at a time


class ServiceVerbs(Connected):
    """What goes on in a server, and who may use it."""

    # -- background work ---------------------------------------------------------------------------------------

    async def get_task(self, id: str, *, user: str | None = None) -> Task:
        """A task by its id, as `AddResult.task` names it. Raises NotFound; finished ones are kept for seven days."""
        return await self._get(f"/v1/tasks/{segment(id, 'id')}", Task, body(user=self._as(user)))

    async def list_tasks(
        self,
        *,
        user: str | None = None,
        cube: str | None = None,
        task_id: str | None = None,
        kinds: Collection[str] | None = None,
        states: Collection[TaskState | str] | None = None,
        limit: int = _PAGE,
        cursor: str | None = None,
    ) -> TaskPage:
        """Tasks, newest first, a page at a time. `task_id`: the name that `add` was given."""
        params = body(
            user=self._as(user), cube=cube, task_id=task_id, kind=kinds, state=states, limit=limit, cursor=cursor
        )
        return await self._get("/v1/tasks", TaskPage, params)

    async def iterate_tasks(
        self,
        *,
        user: str | None = None,
        cube: str | None = None,
        task_id: str | None = None,
        kinds: Collection[str] | None = None,
        states: Collection[TaskState | str] | None = None,
        limit: int = _PAGE,
    ) -> AsyncGenerator[Task, None]:
        """Every task of `list_tasks`, page after page. `limit`: of one page."""
        cursor = None
        while True:
            page = await self.list_tasks(
                user=user, cube=cube, task_id=task_id, kinds=kinds, states=states, limit=limit, cursor=cursor
            )
            for task in page.items:
                yield task
            cursor = page.cursor
            if cursor is None:
                return

    async def wait_task(self, id: str, timeout: float = 60.0, *, user: str | None = None) -> Task:  # noqa: ASYNC109
        """The task when it is finished, or as it is after `timeout` seconds: look at its `state`."""
        path, until = f"/v1/tasks/{segment(id, 'id')}/wait", time.monotonic() + timeout
        while True:
            left = max(0.0, min(_LONGEST_WAIT, until - time.monotonic()))
            task = await self._get(path, Task, body(timeout=left, user=self._as(user)), patient=True)
            if task.state not in LIVE or time.monotonic() >= until:
                return task

    async def follow_task(self, id: str, *, user: str | None = None) -> AsyncGenerator[Task, None]:
        """The task each time it changes, beginning with how it is, until it is finished. Broken streams are taken up again."""
        path, params = f"/v1/tasks/{segment(id, 'id')}/events", body(user=self._as(user))
        call = Call("GET", path, params=params, headers={"Accept": "text/event-stream"})
        known: Task | None = None
        breaks = 0
        while True:
            try:
                async for data in self._transport.events(call):
                    task = decode(Task, data)
                    breaks = 0
                    if task != known:
                        known = task
                        yield task
                    if task.state not in LIVE:
                        return
                broken: MemosError = Unavailable(f"the server ended the events of task {id} before it was finished")
            except Unavailable as e:
                broken = e
            breaks += 1
            if breaks > _RECONNECTS:
                raise broken
            await asyncio.sleep(0.1 * breaks)

    async def retry_task(self, id: str, *, user: str | None = None) -> Task:
        """Have a failed task tried again from the beginning. Raises Conflict when it has not failed."""
        return await self._change(id, "retry", user)

    async def cancel_task(self, id: str, *, user: str | None = None) -> Task:
        """Take a task out that waits or failed. What was stored stays stored. Raises Conflict for any other."""
        return await self._change(id, "cancel", user)

    async def task_stats(self, *, user: str | None = None) -> TaskStats:
        """How many tasks there are in each state; of everybody's, also depth, age, throughput and latency by kind."""
        return await self._get("/v1/tasks/stats", TaskStats, body(user=self._as(user)))

    async def _change(self, id: str, what: str, user: str | None) -> Task:
        path = f"/v1/tasks/{segment(id, 'id')}/{what}"
        return await self._transport.ask(Call("POST", path, params=body(user=self._as(user)), repeatable=False), Task)

    # -- who may use it ----------------------------------------------------------------------------------------

    async def me(self) -> Me:
        """Who the server takes this client for."""
        return await self._get("/v1/me", Me)

    async def create_user(self, name: str, *, info: Mapping[str, Any] | None = None) -> User:
        """A new user with a cube of their own. Needs the scope `admin`, as all verbs about users do."""
        return await self._post("/v1/users", User, body(name=name, info=info), repeatable=False)

    async def get_user(self, name: str) -> User:
        """A user. Raises NotFound."""
        return await self._get(f"/v1/users/{segment(name, 'name')}", User)

    async def list_users(self) -> builtins.list[User]:
        """Every user, by name."""
        found: builtins.list[User] = []
        cursor = None
        while True:
            page = await self._get("/v1/users", Users, body(cursor=cursor))
            found += page.items
            cursor = page.cursor
            if cursor is None:
                return found

    async def set_active(self, name: str, active: bool) -> User:
        """Let a user's keys work, or stop them at once. Raises NotFound."""
        call = Call("PATCH", f"/v1/users/{segment(name, 'name')}", body=body(active=active))
        return await self._transport.ask(call, User)

    async def delete_user(self, name: str, *, everything: bool = False) -> int:
        """Delete a user with all keys and rights; returns how many cubes went too. One who owns cubes needs `everything`."""
        path = f"/v1/users/{segment(name, 'name')}"
        call = Call("DELETE", path, params=body(everything=everything), repeatable=False)
        return (await self._transport.ask(call, Count)).count

    async def create_key(
        self,
        user: str,
        *,
        scopes: Iterable[str] = ("read", "write"),
        description: str = "",
        expires_in_days: float | None = None,
    ) -> NewKey:
        """A new API key, with its secret, which is told once. `scopes`: read, write, act, admin."""
        fields = body(user=user, scopes=[*scopes], description=description, expires_in_days=expires_in_days)
        return await self._post("/v1/keys", NewKey, fields, repeatable=False)

    async def list_keys(self, *, user: str | None = None, include_revoked: bool = False) -> builtins.list[ApiKey]:
        """Keys, of one user or of all, oldest first, without their secrets."""
        return [*(await self._get("/v1/keys", Keys, body(user=user, include_revoked=include_revoked))).items]

    async def revoke_key(self, id: str) -> ApiKey:
        """Have a key never work again. Raises NotFound."""
        return await self._transport.ask(Call("DELETE", f"/v1/keys/{segment(id, 'id')}"), ApiKey)

    async def audit(self, *, limit: int = _PAGE, cursor: str | None = None) -> AuditPage:
        """Who did what to users, keys and grants, newest first."""
        return await self._get("/v1/audit", AuditPage, body(limit=limit, cursor=cursor))

    async def iterate_audit(self, *, limit: int = _PAGE) -> AsyncGenerator[AuditEntry, None]:
        """Every entry of `audit`, page after page. `limit`: of one page."""
        cursor = None
        while True:
            page = await self.audit(limit=limit, cursor=cursor)
            for entry in page.items:
                yield entry
            cursor = page.cursor
            if cursor is None:
                return
