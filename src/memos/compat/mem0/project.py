"""`client.project` of mem0's clients: the project of the key, on servers that have projects."""

from __future__ import annotations

from typing import Any, Protocol

from memos.compat.mem0 import calls
from memos.compat.mem0.awaiting import awaited
from memos.compat.mem0.calls import Steps
from memos.errors import InvalidInput

_ROLES = ("READER", "OWNER")


class Asking(Protocol):
    """What a client lends to its project."""

    org_id: str | None
    project_id: str | None

    def _done(self, steps: Steps) -> Any: ...


class Project:
    """The verbs of a project."""

    def __init__(self, client: Asking) -> None:
        self._client = client

    def get(self, fields: list[str] | None = None) -> Any:
        """What is set."""
        return self._ask("GET", fields=fields)

    def create(self, name: str, description: str | None = None) -> Any:
        """A new project of the same organization."""
        body = calls.named({"name": name, "description": description})
        return self._client._done(calls.organization(self._client.org_id, "POST", body))

    def update(
        self,
        custom_instructions: str | None = None,
        custom_categories: list[Any] | None = None,
        multilingual: bool | None = None,
        decay: bool | None = None,
        agent_custom_instructions: str | None = None,
    ) -> Any:
        """Change what is set."""
        given = {"custom_instructions": custom_instructions, "custom_categories": custom_categories}
        given |= {"agent_custom_instructions": agent_custom_instructions}
        body = calls.named({**given, "multilingual": multilingual, "decay": decay})
        if not body:
            raise InvalidInput("give at least one thing to change")
        return self._ask("PATCH", body=body)

    def delete(self) -> Any:
        """Delete the project."""
        return self._ask("DELETE")

    def get_members(self) -> Any:
        """Who belongs to it."""
        return self._ask("GET", "members/")

    def add_member(self, email: str, role: str = "READER") -> Any:
        """Let somebody in, as READER or OWNER."""
        return self._ask("POST", "members/", body={"email": email, "role": _role(role)})

    def update_member(self, email: str, role: str) -> Any:
        """Change what somebody may do."""
        return self._ask("PUT", "members/", body={"email": email, "role": _role(role)})

    def remove_member(self, email: str) -> Any:
        """Let somebody in no more."""
        return self._ask("DELETE", "members/", email=email)

    def _ask(self, method: str, more: str = "", body: Any = None, **params: Any) -> Any:
        client = self._client
        return client._done(calls.project(client.org_id, client.project_id, method, more, body, **params))


class AsyncProject(Project):
    """The same, with answers to be awaited."""

    get = awaited(Project.get)
    create = awaited(Project.create)
    update = awaited(Project.update)
    delete = awaited(Project.delete)
    get_members = awaited(Project.get_members)
    add_member = awaited(Project.add_member)
    update_member = awaited(Project.update_member)
    remove_member = awaited(Project.remove_member)


def _role(given: str) -> str:
    if given not in _ROLES:
        raise InvalidInput(f"a role is {' or '.join(_ROLES)}, got {given!r:.40}")
    return given
