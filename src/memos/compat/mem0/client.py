"""mem0's `MemoryClient` and `AsyncMemoryClient` for `/compat/mem0` of our server, or any other server that speaks that wire.

client = MemoryClient(api_key="…", host="http://127.0.0.1:8000/compat/mem0"); client.add("I live in Bergen.", user_id="alice")
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from typing import Any, NoReturn, Self
from urllib.parse import urlsplit

import httpx2

from memos.client.client import DEFAULT_URL
from memos.compat.mem0 import calls, exceptions
from memos.compat.mem0.awaiting import awaited
from memos.compat.mem0.calls import UNSET, Request, Steps, one, part
from memos.compat.mem0.exceptions import NetworkError, refused
from memos.compat.mem0.project import AsyncProject, Project
from memos.errors import InvalidInput

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_TIMEOUT = 300.0  # seconds, as in mem0
_LIMITS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")


class _Verbs:
    """The calls of both clients, whose answers are awaited or not."""

    def __init__(self, api_key: str | None, host: str | None) -> None:
        self.api_key = api_key or os.environ.get("MEM0_API_KEY") or os.environ.get("MEMOS_API_KEY")
        if not self.api_key:
            raise InvalidInput("Mem0 API Key not provided: give api_key, or set MEM0_API_KEY or MEMOS_API_KEY.")
        if not (self.api_key.isascii() and self.api_key.isprintable()):
            raise InvalidInput("the API key holds characters that no key has")
        self.host = (host or os.environ.get("MEM0_HOST") or _of_memos()).rstrip("/")
        self.org_id: str | None = None
        self.project_id: str | None = None
        self.user_id = hashlib.md5(self.api_key.encode(), usedforsecurity=False).hexdigest()
        self.headers = {"Authorization": f"Token {self.api_key}", "Mem0-User-ID": self.user_id}
        self.client: Any = None
        self.user_email: str | None = None

    def add(self, messages: Any, options: Any = None, **kwargs: Any) -> Any:
        """Store messages, and what is read from them."""
        return self._done(calls.add(messages, options, kwargs))

    def get(self, memory_id: str) -> Any:
        """A memory by id. Raises MemoryNotFoundError."""
        return self._done(one("GET", f"/v1/memories/{part(memory_id)}/"))

    def get_all(self, options: Any = None, **kwargs: Any) -> Any:
        """A page of the memories that `filters` mean: `{"count", "next", "previous", "results"}`."""
        return self._done(calls.get_all(options, kwargs))

    def search(self, query: str, options: Any = None, **kwargs: Any) -> Any:
        """What answers a question, among what `filters` mean."""
        return self._done(calls.search(query, options, kwargs))

    def update(self, memory_id: str, options: Any = None, **kwargs: Any) -> Any:
        """Change `text`, `metadata`, `timestamp` or `expiration_date` of a memory."""
        return self._done(calls.update(memory_id, options, kwargs))

    def delete(self, memory_id: str, delete_linked: bool = False) -> Any:
        """Delete a memory. `delete_linked`: and what it had superseded."""
        params = {"delete_linked": "true"} if delete_linked else {}
        return self._done(one("DELETE", f"/v1/memories/{part(memory_id)}/", params=params))

    def delete_all(self, options: Any = None, **kwargs: Any) -> Any:
        """Delete everything of some ids."""
        return self._done(calls.delete_all(options, kwargs))

    def history(self, memory_id: str) -> Any:
        """The changes of a memory, the oldest first."""
        return self._done(one("GET", f"/v1/memories/{part(memory_id)}/history/"))

    def users(self) -> Any:
        """The users, agents, apps and runs that have memories."""
        return self._done(one("GET", "/v1/entities/"))

    def delete_users(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
    ) -> Any:
        """Delete everything of one of these; without any, of all there are."""
        ids = {"user_id": user_id, "agent_id": agent_id, "app_id": app_id, "run_id": run_id}
        return self._done(calls.delete_users(ids))

    def reset(self) -> Any:
        """Delete everything of everybody."""
        return self._done(calls.reset())

    def batch_update(self, memories: list[dict[str, Any]]) -> Any:
        """Change several memories: `[{"memory_id", "text"?, "metadata"?}]`."""
        return self._done(one("PUT", "/v1/batch/", {"memories": memories}))

    def batch_delete(self, memories: list[dict[str, Any]]) -> Any:
        """Delete several memories: `[{"memory_id"}]`."""
        return self._done(one("DELETE", "/v1/batch/", {"memories": memories}))

    def create_memory_export(self, schema: str, **kwargs: Any) -> Any:
        """Have memories exported."""
        return self._done(one("POST", "/v1/exports/", {"schema": schema, **calls.named(kwargs)}))

    def get_memory_export(self, **kwargs: Any) -> Any:
        """What was exported."""
        return self._done(one("POST", "/v1/exports/get/", calls.named(kwargs)))

    def get_summary(self, filters: dict[str, Any] | None = None) -> Any:
        """What is known, in short."""
        return self._done(one("POST", "/v1/summary/", calls.named({"filters": filters})))

    def get_profile(self, entity_id: str) -> Any:
        """The profile of a user."""
        return self._done(one("GET", f"/v2/entities/user/{part(entity_id)}/profile/"))

    def generate_profile(self, entity_id: str, idempotency_key: str | None = None) -> Any:
        """Have the profile of a user made."""
        return self._done(calls.profile_job("trigger", idempotency_key, entity_id=entity_id))

    def get_profile_settings(self) -> Any:
        """How profiles are made."""
        return self._done(calls.profile_settings_now())

    def update_profile_settings(
        self, enabled: bool | None = None, schema: Any = UNSET, custom_instructions: Any = UNSET
    ) -> Any:
        """Set how profiles are made; None takes a setting away."""
        return self._done(calls.profile_settings(enabled, schema, custom_instructions))

    def sample_profiles(self, limit: int | None = None, idempotency_key: str | None = None) -> Any:
        """Have some profiles made, to look at."""
        return self._done(calls.profile_job("sample", idempotency_key, limit=limit))

    def get_profile_job(self, job_id_or_status_url: str) -> Any:
        """What became of a job of profiles."""
        return self._done(calls.profile_job_state(job_id_or_status_url))

    def get_project(self, fields: list[str] | None = None) -> Any:
        """The project of the key, where the server has projects."""
        return self._done(calls.project(self.org_id, self.project_id, "GET", fields=fields))

    def update_project(
        self,
        options: Any = None,
        custom_instructions: str | None = None,
        custom_categories: list[Any] | None = None,
        memory_depth: str | None = None,
        usecase_setting: str | None = None,
        multilingual: bool | None = None,
        agent_custom_instructions: str | None = None,
    ) -> Any:
        """Change the project of the key, where the server has projects."""
        given: dict[str, Any] = {"custom_instructions": custom_instructions, "custom_categories": custom_categories}
        given |= {"memory_depth": memory_depth, "usecase_setting": usecase_setting, "multilingual": multilingual}
        body = calls.chosen(options, calls.named({**given, "agent_custom_instructions": agent_custom_instructions}))
        if not body:
            raise InvalidInput("give at least one thing to change")
        return self._done(calls.project(self.org_id, self.project_id, "PATCH", body=body))

    def get_webhooks(self, project_id: str) -> Any:
        """The webhooks of a project."""
        return self._done(one("GET", f"/api/v1/webhooks/projects/{part(project_id)}/"))

    def create_webhook(self, url: str, name: str, project_id: str, event_types: list[str]) -> Any:
        """Have an address called when something happens."""
        body = {"url": url, "name": name, "event_types": event_types}
        return self._done(one("POST", f"/api/v1/webhooks/projects/{part(project_id)}/", body))

    def update_webhook(
        self, webhook_id: int, name: str | None = None, url: str | None = None, event_types: list[str] | None = None
    ) -> Any:
        """Change a webhook."""
        body = calls.named({"name": name, "url": url, "event_types": event_types})
        return self._done(one("PUT", f"/api/v1/webhooks/{part(webhook_id)}/", body))

    def delete_webhook(self, webhook_id: int) -> Any:
        """Delete a webhook."""
        return self._done(one("DELETE", f"/api/v1/webhooks/{part(webhook_id)}/"))

    def feedback(self, memory_id: str, feedback: str | None = None, feedback_reason: str | None = None) -> Any:
        """Say what somebody thinks of a memory: POSITIVE, NEGATIVE, VERY_NEGATIVE, or None to take it back."""
        return self._done(calls.feedback(memory_id, feedback, feedback_reason))

    @property
    def _usual(self) -> dict[str, Any]:
        """What a client is made with; a proxy is not asked for this machine."""
        return {"timeout": _TIMEOUT, "trust_env": urlsplit(self.host).hostname not in _LOOPBACK}

    def _ping(self, client: Any) -> str | None:
        """Ask the server whose key this is. Raises InvalidInput for a key it does not know."""
        try:
            told = _answer(self._sent(client, Request("GET", "/v1/ping/")))
        except NetworkError:
            raise
        except exceptions.MemoryError as e:
            raise InvalidInput(f"Error: {e}") from e
        if told.get("org_id") and told.get("project_id"):
            self.org_id, self.project_id = told["org_id"], told["project_id"]
        email = told.get("user_email")
        return email if isinstance(email, str) else None

    def _sent(self, client: Any, request: Request) -> Any:
        """The answer of a client, to be awaited where that is asynchronous."""
        headers = {**self.headers, **request.headers}
        body = {} if request.json is None else {"json": request.json}
        url = self.host + request.path
        return client.request(request.method, url, params=dict(request.params) or None, headers=headers, **body)

    def _done(self, steps: Steps) -> Any:
        raise NotImplementedError


class MemoryClient(_Verbs):
    """mem0's `MemoryClient`. `api_key` defaults to MEM0_API_KEY, then MEMOS_API_KEY; `host` to MEM0_HOST, then `/compat/mem0` of
    MEMOS_URL, then of a server on this machine: never to anybody's cloud. `client`: an `httpx2.Client` (or an `httpx.Client`).

    Raises ValueError for a key the server does not know, and NetworkError when it cannot be reached.
    """

    def __init__(self, api_key: str | None = None, host: str | None = None, client: Any = None) -> None:
        super().__init__(api_key, host)
        self.client = client if client is not None else httpx2.Client(**self._usual)
        with _reached():
            self.user_email = self._ping(self.client)
        self.project = Project(self)

    def chat(self) -> NoReturn:
        """mem0 has none."""
        raise NotImplementedError("mem0's client has no chat; memos.client.Client has")

    def _done(self, steps: Steps) -> Any:
        answer = None
        try:
            while True:
                with _reached():
                    answer = _answer(self._sent(self.client, steps.send(answer)))
        except StopIteration as end:
            return end.value

    def close(self) -> None:
        """Close the connections."""
        self.client.close()


class AsyncMemoryClient(_Verbs):
    """mem0's `AsyncMemoryClient`: `MemoryClient`, with answers to be awaited. `client`: an `httpx2.AsyncClient`."""

    def __init__(self, api_key: str | None = None, host: str | None = None, client: Any = None) -> None:
        super().__init__(api_key, host)
        self.client = client if client is not None else httpx2.AsyncClient(**self._usual)
        with httpx2.Client(**self._usual) as asking, _reached():
            self.user_email = self._ping(asking)
        self.project = AsyncProject(self)

    add = awaited(_Verbs.add)
    get = awaited(_Verbs.get)
    get_all = awaited(_Verbs.get_all)
    search = awaited(_Verbs.search)
    update = awaited(_Verbs.update)
    delete = awaited(_Verbs.delete)
    delete_all = awaited(_Verbs.delete_all)
    history = awaited(_Verbs.history)
    users = awaited(_Verbs.users)
    reset = awaited(_Verbs.reset)
    batch_update = awaited(_Verbs.batch_update)
    batch_delete = awaited(_Verbs.batch_delete)
    create_memory_export = awaited(_Verbs.create_memory_export)
    get_memory_export = awaited(_Verbs.get_memory_export)
    get_summary = awaited(_Verbs.get_summary)
    get_profile = awaited(_Verbs.get_profile)
    generate_profile = awaited(_Verbs.generate_profile)
    get_profile_settings = awaited(_Verbs.get_profile_settings)
    sample_profiles = awaited(_Verbs.sample_profiles)
    get_profile_job = awaited(_Verbs.get_profile_job)
    get_project = awaited(_Verbs.get_project)
    get_webhooks = awaited(_Verbs.get_webhooks)
    create_webhook = awaited(_Verbs.create_webhook)
    delete_webhook = awaited(_Verbs.delete_webhook)
    feedback = awaited(_Verbs.feedback)
    delete_users = awaited(_Verbs.delete_users)
    update_profile_settings = awaited(_Verbs.update_profile_settings)
    update_project = awaited(_Verbs.update_project)
    update_webhook = awaited(_Verbs.update_webhook)

    async def chat(self) -> NoReturn:
        """mem0 has none."""
        raise NotImplementedError("mem0's client has no chat; memos.client.AsyncClient has")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        await self.client.aclose()

    async def _done(self, steps: Steps) -> Any:
        answer = None
        try:
            while True:
                with _reached():
                    answer = _answer(await self._sent(self.client, steps.send(answer)))
        except StopIteration as end:
            return end.value


def _of_memos() -> str:
    return f"{os.environ.get('MEMOS_URL') or DEFAULT_URL}".rstrip("/") + "/compat/mem0"


@contextlib.contextmanager
def _reached() -> Iterator[None]:
    """Tell of a server that was not reached in mem0's words."""
    try:
        yield
    except httpx2.TimeoutException as e:
        raise NetworkError(f"Request timed out: {e}", "NET_TIMEOUT", None, "try again later") from e
    except httpx2.TransportError as e:
        raise NetworkError(f"Connection failed: {e}", "NET_CONNECT", None, "is the server running there?") from e


def _answer(response: Any) -> Any:
    """What a server answered. Raises the error that its status means."""
    told: Any = None
    with contextlib.suppress(ValueError):
        told = response.json()
    if response.is_success and told is not None:
        return told
    if response.is_success:
        raise exceptions.MemoryError(f"{response.request.url} answered no JSON; is this the address of a mem0 server?")
    details = told if isinstance(told, dict) else {}
    debug: dict[str, Any] = {"status_code": response.status_code, "url": str(response.request.url)}
    debug |= {name.lower().replace("-", "_"): response.headers[name] for name in _LIMITS if name in response.headers}
    wait = response.headers.get("Retry-After", "")
    debug |= {"retry_after": int(wait)} if wait.isdecimal() else {}
    message = details.get("detail") or response.text
    raise refused(response.status_code, message if isinstance(message, str) else str(message), details, debug)
