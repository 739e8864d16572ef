"""What else mem0's client asks of the cloud: profiles, which are always up to date here, and what belongs to its console."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter
from starlette.responses import Response

from memos.compat.mem0.core import Mem0
from memos.compat.mem0.shapes import moment
from memos.errors import NotFound
from memos.memory.time import utcnow
from memos.server.app import Core
from memos.server.caller import WRITE, CallerDep
from memos.server.mem0 import bodies
from memos.server.mem0.answers import answers
from memos.server.mem0.codes import PREFIX, NotSupported, ok
from memos.server.mem0.paths import EitherRoute
from memos.server.mem0.tenant import mem0_of
from memos.server.native.slashes import with_slashes

router = APIRouter(prefix=PREFIX, tags=["mem0 cloud"], route_class=EitherRoute)
_CONSOLE = "{} belong to the console of mem0's cloud; there are none here. {}"
_SETTINGS = {
    "enabled": True,
    "capabilities": {"max_sample": 0},
    "entities": {"user": {"schema": None, "custom_instructions": None}},
}


async def _profile(mem0: Mem0, name: str) -> dict[str, Any]:
    """What is known of a user. Raises NotFound when there is nothing of her at all."""
    if not any(place.home.get("user_id") == name for place in await mem0.places.all()):
        raise NotFound(f"user {name!r:.80} has no memories")
    found = (await mem0.get_all({"user_id": name}, most=bodies.Many)).results
    known = [memory for memory in found if memory["memory_type"] != "trace"]
    return {
        "profile": {"text": "\n".join(f"- {memory['memory']}" for memory in known), "memories": known}
        if known
        else None,
        "status": "succeeded" if known else "insufficient_data",
        "entity_type": "user",
        "entity_id": name,
        "updated_at": max((memory["updated_at"] for memory in known), default=None),
        "generation_count": 1 if known else 0,
    }


@router.get("/v2/entities/user/{name}/profile", **answers("What is known of a user."))
async def get_profile(memos: Core, caller: CallerDep, name: str) -> Response:
    """The facts that hold, as they are now."""
    return ok(await _profile(mem0_of(memos, caller), with_slashes(name)))


@router.post("/v2/profiles/jobs", **answers("Make a profile."))
async def make_profile(memos: Core, caller: CallerDep, body: bodies.ProfileJobBody) -> Response:
    """A profile is made when it is asked for, so there is nothing to wait for: the job has succeeded."""
    if body.operation != "trigger" or body.entity_type != "user" or body.entity_id is None:
        raise NotSupported("profiles are made of what is known when they are asked for; there is nothing to sample")
    name = str(body.entity_id)
    await _profile(mem0_of(memos, caller), name)
    job = quote(f"user:{name}", safe="")
    return ok(
        {
            "job_id": job,
            "status": "succeeded",
            "status_url": f"/v2/profiles/jobs/{job}/",
            "operation": "trigger",
            "entity_type": "user",
            "entity_count_reserved": 1,
            "event_id": None,
            "replayed": False,
        }
    )


@router.get("/v2/profiles/jobs/{job}", **answers("How a job is going."))
async def get_job(memos: Core, caller: CallerDep, job: str) -> Response:
    """It is done."""
    name = with_slashes(job).removeprefix("user:")
    await _profile(mem0_of(memos, caller), name)
    now = moment(utcnow())
    done = {"total": 1, "completed": 1, "succeeded": 1, "failed": 0, "skipped": 0, "enumeration_complete": True}
    return ok({"job": {"id": job, "status": "succeeded", "updated_at": now, **done}})


@router.get("/v2/profiles/settings", **answers("How profiles are made."))
async def get_profile_settings(caller: CallerDep) -> Response:
    """They need no settings."""
    caller.acting(None)
    return ok(_SETTINGS)


@router.post("/v2/profiles/settings", **answers("Set how profiles are made."))
async def set_profile_settings(caller: CallerDep) -> Response:
    """There is nothing to set."""
    caller.acting(None, WRITE)
    raise NotSupported(_CONSOLE.format("settings of profiles", "A profile is what is known, whole."))


@router.get("/api/v1/orgs/organizations/{org}/projects/{project}", **answers("The project."))
async def get_project(caller: CallerDep, org: str, project: str) -> Response:
    """The user of the key, as mem0's client knows a project."""
    user = _own(caller, project)
    return ok(
        {
            "id": user,
            "name": user,
            "org_id": with_slashes(org),
            "custom_instructions": None,
            "custom_categories": None,
            "agent_custom_instructions": None,
            "members": [],
        }
    )


def _own(caller: CallerDep, project: str) -> str:
    """The user whose project it is. Raises NotFound for another's."""
    user = caller.acting(None)
    if with_slashes(project) != user:
        raise NotFound(f"project {with_slashes(project)!r:.80} does not exist for this key")
    return user


@router.patch("/api/v1/orgs/organizations/{org}/projects/{project}", **answers("Set up a project."))
async def set_project(caller: CallerDep, org: str, project: str) -> Response:
    """Not from here."""
    caller.acting(None, WRITE)
    raise NotSupported(
        _CONSOLE.format("settings of projects", "How a cube is read is set by PATCH /v1/cubes/{name}/reading.")
    )


@router.delete("/api/v1/orgs/organizations/{org}/projects/{project}", **answers("Delete a project."))
@router.post("/api/v1/orgs/organizations/{org}/projects", **answers("Create a project."))
@router.get("/api/v1/orgs/organizations/{org}/projects/{project}/members", **answers("Members."))
@router.post("/api/v1/orgs/organizations/{org}/projects/{project}/members", **answers("Add a member."))
@router.put("/api/v1/orgs/organizations/{org}/projects/{project}/members", **answers("Change a member."))
@router.delete("/api/v1/orgs/organizations/{org}/projects/{project}/members", **answers("Remove a member."))
async def no_projects(caller: CallerDep, org: str, project: str = "") -> Response:
    """There is one project for each user of ours."""
    caller.acting(None)
    raise NotSupported(
        _CONSOLE.format("projects and members", "Make users and keys with `memos users` and `memos keys`.")
    )


@router.get("/api/v1/webhooks/projects/{id}", **answers("Webhooks."))
@router.post("/api/v1/webhooks/projects/{id}", **answers("Create a webhook."))
@router.put("/api/v1/webhooks/{id}", **answers("Change a webhook."))
@router.delete("/api/v1/webhooks/{id}", **answers("Delete a webhook."))
async def no_webhooks(caller: CallerDep, id: str) -> Response:
    """Nothing is called from here."""
    caller.acting(None)
    raise NotSupported(
        _CONSOLE.format("webhooks", "Ask GET /v1/event/{id} what became of an add, or follow /v1/tasks/events.")
    )
