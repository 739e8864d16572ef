"""What the verbs of mem0's client ask a server: one request each, or several that stand on one another's answers. Pure.

A verb is a generator: it yields requests, is sent what was answered, and returns what the caller gets.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from memos.errors import InvalidInput

ENTITIES = ("user_id", "agent_id", "app_id", "run_id")
FEEDBACK = ("POSITIVE", "NEGATIVE", "VERY_NEGATIVE")
UNSET: Any = object()  # what is not named in a call; None takes a value away
_JOBS, _SETTINGS = "/v2/profiles/jobs/", "/v2/profiles/settings/"


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `json` None: no body."""

    method: str
    path: str
    json: Any = None
    params: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


Steps = Generator[Request, Any, Any]


def one(
    method: str, path: str, json: Any = None, *, params: Mapping[str, Any] | None = None, key: str | None = None
) -> Steps:
    """A single request, whose answer is the caller's. `key`: by which a repetition is told from another one."""
    headers = {} if key is None else {"Idempotency-Key": key}
    return (yield Request(method, path, json, named(params or {}), headers))


def named(given: Mapping[str, Any]) -> dict[str, Any]:
    """What of this is not None."""
    return {name: value for name, value in given.items() if value is not None}


def chosen(options: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options as mem0 takes them (an object of its own, or a dictionary) with what is given beside them."""
    if options is None:
        return dict(given)
    told = options.model_dump(exclude_unset=True) if hasattr(options, "model_dump") else dict(options)
    return {**told, **given}


def part(value: object) -> str:
    """A name as a part of a path."""
    return quote(str(value), safe="")


def add(messages: object, options: Any, given: Mapping[str, Any]) -> Steps:
    """Store messages."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    elif isinstance(messages, Mapping):
        messages = [messages]
    elif not isinstance(messages, list):
        raise InvalidInput(f"messages must be str, dict or list[dict], got {type(messages).__name__}")
    return one("POST", "/v3/memories/add/", {"messages": messages, **named(chosen(options, given))})


def get_all(options: Any, given: Mapping[str, Any]) -> Steps:
    """A page of memories."""
    _filters_only(given, "get_all")
    body = named(chosen(options, given))
    page: dict[str, Any] = {name: body.pop(name) for name in ("page", "page_size") if name in body}
    return one("POST", "/v3/memories/", body, params=page)


def search(query: object, options: Any, given: Mapping[str, Any]) -> Steps:
    """What answers a question."""
    _filters_only(given, "search")
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput("Invalid query: it is a text that is not blank.")
    return one("POST", "/v3/memories/search/", {"query": query.strip(), **named(chosen(options, given))})


def update(memory_id: str, options: Any, given: Mapping[str, Any]) -> Steps:
    """Change a memory; an expiration date of None takes it away."""
    body = {k: v for k, v in chosen(options, given).items() if v is not None or k == "expiration_date"}
    if not body:
        raise InvalidInput("At least one of text, metadata, timestamp, or expiration_date must be provided for update.")
    return one("PUT", f"/v1/memories/{part(memory_id)}/", body)


def delete_all(options: Any, given: Mapping[str, Any]) -> Steps:
    """Delete everything of some ids; they may also stand in `filters`, as in every other verb."""
    params = chosen(options, given)
    return one("DELETE", "/v1/memories/", params={**(params.pop("filters", None) or {}), **params})


def delete_users(ids: Mapping[str, str | None]) -> Steps:
    """Delete everything of one entity, or of all of them."""
    wanted = next(((name, value) for name, value in ids.items() if value), None)
    if wanted is not None:
        entities = [{"type": wanted[0].removesuffix("_id"), "name": wanted[1]}]
    else:
        entities = (yield Request("GET", "/v1/entities/"))["results"]
    if not entities:
        raise InvalidInput("No entities to delete")
    for entity in entities:
        yield Request("DELETE", f"/v2/entities/{part(entity['type'])}/{part(entity['name'])}/")
    done = "Entity deleted successfully." if wanted else "All users, agents, apps and runs deleted."
    return {"message": done}


def reset() -> Steps:
    """Delete everything of everybody."""
    yield from delete_users({})
    return {"message": "Client reset successful. All users and memories deleted."}


def feedback(memory_id: str, given: str | None, reason: str | None) -> Steps:
    """What somebody thinks of a memory."""
    value = given.upper() if given else None
    if value is not None and value not in FEEDBACK:
        raise InvalidInput(f"feedback must be one of {', '.join(FEEDBACK)} or None")
    return one("POST", "/v1/feedback/", {"memory_id": memory_id, "feedback": value, "feedback_reason": reason})


def profile_job(operation: str, key: str | None, **more: Any) -> Steps:
    """Have profiles made."""
    body = {"operation": operation, "entity_type": "user", **named(more)}
    return one("POST", _JOBS, body, key=key or uuid4().hex)


def profile_job_state(job: str) -> Steps:
    """What became of that."""
    return one("GET", job if job.startswith("/") else f"{_JOBS}{part(job)}/")


def profile_settings(enabled: bool | None = None, schema: Any = UNSET, custom_instructions: Any = UNSET) -> Steps:
    """Set how profiles are made; those of users, but for whether there are any."""
    of_users = {
        name: value
        for name, value in (("schema", schema), ("custom_instructions", custom_instructions))
        if value is not UNSET
    }
    return one("POST", _SETTINGS, named({"enabled": enabled}) | ({"entities": {"user": of_users}} if of_users else {}))


def profile_settings_now() -> Steps:
    """How profiles are made."""
    return one("GET", _SETTINGS)


def project(
    org: str | None, project: str | None, method: str, more: str = "", body: Any = None, **params: Any
) -> Steps:
    """A request about the project of the key."""
    if not (org and project):
        raise InvalidInput("this server has no projects: it named none for this key")
    return one(method, f"/api/v1/orgs/organizations/{part(org)}/projects/{part(project)}/{more}", body, params=params)


def organization(org: str | None, method: str, body: Any) -> Steps:
    """A request about the projects of an organization."""
    if not org:
        raise InvalidInput("this server has no projects: it named no organization for this key")
    return one(method, f"/api/v1/orgs/organizations/{part(org)}/projects/", body)


def _filters_only(given: Mapping[str, Any], verb: str) -> None:
    beside: Sequence[str] = sorted(set(ENTITIES) & set(given))
    if beside:
        raise InvalidInput(
            f"since mem0 2, {', '.join(beside)} goes into filters: {verb}(filters={{{beside[0]!r}: '...'}})"
        )
