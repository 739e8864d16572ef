"""Every route of the application, as everybody who may come (R047, R057).

The routes are read from the application: one without an entry in `SAMPLES` fails, so that no new route goes unseen. Each entry
says what the caller must be to succeed, and how to ask for what is alice's. Everything of alice's holds `SECRET`.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from fastapi import FastAPI
from serving import in_process

from memos import AsyncMemOS
from memos.memory.ids import new_id
from memos.memory.learned import Action, PolicyBody, State, WorldBody
from memos.memory.model import Kind, Memory
from memos.server.app import create_app
from memos.server.options import ServerOptions
from memos.storage.ports import Change
from memos.storage.tasks import TaskQuery

SECRET = "xq7-private"
PICTURE = SECRET.encode()  # of no kind that is known: nobody looks into an image
KB_FILE = f"{SECRET} The recipe of the house sauce is seven parts vinegar."

# What a caller must be. `public`: anybody. `key`: anybody with a key, for what is everybody's. `own`: anybody with a key, for her
# own things. `read`, `write`, `manage`: so much of a right on alice's cube. `alice`: nobody else. `admin`: the scope.
LEVELS = ("public", "key", "own", "read", "write", "manage", "alice", "admin")
GRANTED = {"bob": 0, "rita": 1, "will": 2, "adam": 3}
STREAM = "/v1/learning/stream"  # has no end
SKILL = f"---\nname: boil-water\ndescription: {SECRET} boils water.\n---\n\nFill the kettle."
RECOVER = ("POST", "/product/recover_memory_by_record_id")
NEEDED = {"read": 1, "write": 2, "manage": 3, "alice": 4, "admin": 5}


@dataclass(frozen=True)
class Sample:
    """How a route is asked. The functions get the case: `me` is the user in whose name it is asked.

    `shows`: whoever may ask sees `SECRET`. `writes`: needs the scope `write`. `ok`: the statuses of success. `acts`: the scope `act`
    is enough to ask about others. `fails`: whoever may ask gets an error all the same, within the envelope.
    """

    need: str
    json: Callable[[Case], Any] | None = None
    params: Callable[[Case], dict[str, Any]] | None = None
    path: Callable[[Case], dict[str, str]] = lambda case: {}
    body: Callable[[Case], bytes] | None = None
    headers: Callable[[Case], dict[str, str]] | None = None
    acts: bool = True
    fails: bool = False
    shows: bool = False
    writes: bool = False
    ok: tuple[int, ...] = (200,)

    def __post_init__(self) -> None:
        assert self.need in LEVELS


@dataclass
class Case:
    """What there is of alice's at the moment, made anew after each call that may have changed it."""

    me: str = "alice"
    number: int = 0
    memory: str = ""
    task: str = ""
    cube: str = ""
    base: str = ""
    file: str = ""
    key: str = ""
    record: str = ""
    episode: str = ""
    policy: str = ""
    statement: str = ""
    archive: bytes = b""

    @property
    def user(self) -> dict[str, Any]:
        """The user as the native API names her."""
        return {"user": self.me}

    @property
    def there(self) -> dict[str, Any]:
        """Her name, and alice's cube."""
        return {"user": self.me, "cube": self.cube}


def native(need: str, **more: Any) -> Sample:
    """A route of `/v1` that takes the user in the query string."""
    return Sample(need, params=lambda c: c.user, **more)


def of_memory(need: str, **more: Any) -> Sample:
    return native(need, path=lambda c: {"id": c.memory}, **more)


def of_cube(need: str, **more: Any) -> Sample:
    return native(need, path=lambda c: {"name": c.cube}, **more)


def of_task(need: str, **more: Any) -> Sample:
    return native(need, path=lambda c: {"id": c.task}, **more)


def of_account(**more: Any) -> Sample:
    """A thing that a model's server keeps: nobody knows one here, and who may act for everybody asks a server that is not there."""
    path = {"id": "thing_1"} | ({"item": more.pop("item")} if "item" in more else {})
    return Sample("own", path=lambda c: path, ok=(404, 503), **more)


def asked(need: str, make: Callable[[Case], dict[str, Any]], **more: Any) -> Sample:
    """A route of which everything is in the body."""
    return Sample(need, json=make, **more)


def said(c: Case) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"I bought lamp number {c.number} today."}]


CHAT = asked("own", lambda c: {"user_id": c.me, "query": "q", "business_key": "k"}, writes=True, ok=(503,))

# The model's server that would be asked is not configured.
PROXY = {
    "headers": lambda c: {"X-Memory-User": c.me, "X-Memory-Cube": c.cube}, "writes": True, "ok": (503,),
}  # fmt: skip

SAMPLES: dict[tuple[str, str], Sample] = {
    ("GET", "/health"): Sample("public"),
    ("GET", "/ready"): Sample("public"),
    ("GET", "/docs"): Sample("public"),
    ("GET", "/openapi.json"): Sample("public"),
    ("GET", "/metrics"): Sample("key"),
    # -- the native API --------------------------------------------------------------------------------------------
    ("POST", "/v1/memories"): asked("write", lambda c: c.user | {"cube": c.cube, "messages": said(c)}),
    ("POST", "/v1/files"): Sample(
        "write", params=lambda c: c.user | {"cube": c.cube, "name": "a.txt"}, body=lambda c: said(c)[0]["content"].encode(), writes=True,
    ),
    ("GET", "/v1/images/{sha256}"): Sample(
        "read", params=lambda c: c.user | {"cube": c.cube}, path=lambda c: {"sha256": hashlib.sha256(PICTURE).hexdigest()}, shows=True
    ),
    ("GET", "/v1/memories"): Sample("read", params=lambda c: c.user | {"cube": c.cube}, shows=True),
    ("POST", "/v1/feedback"): asked(
        "write", lambda c: c.user | {"cube": c.cube, "text": f"Also note that lamp {c.number} is broken."}
    ),
    ("POST", "/v1/memories/list"): asked("read", lambda c: c.user | {"cube": c.cube}, shows=True),
    ("POST", "/v1/memories/count"): asked("read", lambda c: c.user | {"cube": c.cube}),
    ("POST", "/v1/memories/get"): asked("read", lambda c: c.user | {"ids": [c.memory]}, shows=True),
    ("POST", "/v1/memories/delete"): asked("write", lambda c: c.user | {"ids": [c.memory]}),
    ("POST", "/v1/memories/search"): asked("read", lambda c: c.user | {"query": SECRET, "cubes": [c.cube]}, shows=True),
    ("POST", "/v1/memories/explain"): asked("read", lambda c: c.user | {"query": "dentist", "memory_id": c.memory}),
    ("GET", "/v1/memories/{id}"): of_memory("read", shows=True),
    ("PATCH", "/v1/memories/{id}"): of_memory("write", json=lambda c: {"tags": ["new"]}),
    ("DELETE", "/v1/memories/{id}"): of_memory("write"),
    ("GET", "/v1/memories/{id}/history"): of_memory("read", shows=True),
    ("POST", "/v1/memories/{id}/undo"): of_memory("write"),
    ("GET", "/v1/memories/{id}/neighbors"): of_memory("read"),
    ("GET", "/v1/memories/{id}/edges"): of_memory("read"),
    ("POST", "/v1/chat"): asked("write", lambda c: c.user | {"cube": c.cube, "query": "q"}, ok=(503,)),
    ("GET", "/v1/chat/models"): native("own"),
    ("POST", "/v1/chat/suggestions"): asked("read", lambda c: c.user | {"cube": c.cube}),
    ("GET", "/v1/entities"): Sample("read", params=lambda c: c.user | {"cube": c.cube}),
    ("POST", "/v1/entities/resolve"): asked("read", lambda c: c.user | {"cube": c.cube, "name": "Oslo"}),
    ("POST", "/v1/entities/merge"): asked(
        "write", lambda c: c.user | {"cube": c.cube, "keep": c.memory, "other": c.memory}, ok=(404,)
    ),
    ("POST", "/v1/entities/unmerge"): asked("write", lambda c: c.user | {"cube": c.cube, "entity": c.memory}, ok=(404,)),
    ("POST", "/v1/entities/aliases"): asked(
        "write", lambda c: c.user | {"cube": c.cube, "entity": c.memory, "name": "x"}, ok=(404,)
    ),
    ("POST", "/v1/entities/aliases/remove"): asked(
        "write", lambda c: c.user | {"cube": c.cube, "entity": c.memory, "name": "x"}, ok=(404,)
    ),
    # -- agents and what they learn
    ("POST", "/v1/turns"): asked("write", lambda c: c.there | {"session": "s", "text": f"Rotate log number {c.number}."}),
    ("POST", "/v1/turns/end"): asked("write", lambda c: c.there | {"session": SECRET, "text": f"It is done, {c.number}."}),
    ("POST", "/v1/steps"): asked("write", lambda c: c.there | {"session": SECRET, "tool": "bash", "input": f"ls {c.number}"}),
    ("POST", "/v1/subagents"): asked("write", lambda c: c.there | {"session": SECRET, "task": "Look.", "name": "looker"}),
    ("POST", "/v1/outcomes"): asked("write", lambda c: c.there | {"session": SECRET, "score": 1}),
    ("POST", "/v1/sessions/{session}/end"): Sample("write", path=lambda c: {"session": SECRET}, json=lambda c: c.there),
    ("POST", "/v1/recall"): asked("read", lambda c: c.there | {"query": f"{SECRET} dentist"}, shows=True),
    ("GET", "/v1/episodes"): Sample("read", params=lambda c: c.there, shows=True),
    ("GET", "/v1/episodes/{id}"): Sample("read", params=lambda c: c.there, path=lambda c: {"id": c.episode}, shows=True),
    ("GET", "/v1/policies"): Sample("read", params=lambda c: c.there, shows=True),
    ("GET", "/v1/policies/{id}"): native("read", path=lambda c: {"id": c.policy}, shows=True),
    ("GET", "/v1/world"): Sample("read", params=lambda c: c.there, shows=True),
    ("GET", "/v1/world/{id}"): native("read", path=lambda c: {"id": c.statement}, shows=True),
    ("GET", "/v1/lineage/{id}"): native("read", path=lambda c: {"id": c.policy}, shows=True),
    ("POST", "/v1/learned/{id}/state"): native("write", path=lambda c: {"id": c.policy}, json=lambda c: {"state": "retired"}),
    ("GET", "/v1/skills"): Sample("read", params=lambda c: c.there, shows=True),
    ("GET", "/v1/skills/{name}"): Sample("read", params=lambda c: c.there, path=lambda c: {"name": "boil-water"}, shows=True),
    ("POST", "/v1/skills/{name}/use"): Sample(
        "read", json=lambda c: c.there, path=lambda c: {"name": "boil-water"}, shows=True, writes=True
    ),
    ("PATCH", "/v1/skills/{name}"): Sample(
        "write", json=lambda c: c.there | {"pitfalls": ["Steam is hot."]}, path=lambda c: {"name": "boil-water"}
    ),
    ("GET", "/v1/skill-folders"): Sample("read", params=lambda c: c.there),
    ("POST", "/v1/skill-folders"): Sample("write", params=lambda c: c.there, body=lambda c: SKILL.encode(), writes=True),
    ("POST", "/v1/memories/{id}/publish"): of_memory("read", json=lambda c: {"to": c.me}, writes=True),
    ("POST", "/v1/memories/{id}/unpublish"): of_memory("read", json=lambda c: {"to": c.me}, writes=True),
    ("POST", "/v1/learning/evolve"): asked("write", lambda c: c.there),
    ("GET", "/v1/learning/events"): Sample("read", params=lambda c: c.there),
    ("GET", STREAM): Sample("read", params=lambda c: c.there),
    ("GET", "/v1/learning/report"): Sample("read", params=lambda c: c.there),
    ("GET", "/v1/cubes"): native("own"),
    ("POST", "/v1/cubes"): asked("own", lambda c: c.user | {"name": f"new-{c.number}-{c.me}"}, writes=True, ok=(201,)),
    ("GET", "/v1/cubes/{name}"): of_cube("read", shows=True),
    ("DELETE", "/v1/cubes/{name}"): of_cube("manage"),
    ("GET", "/v1/cubes/{name}/stats"): of_cube("read"),
    ("POST", "/v1/cubes/{name}/flush"): of_cube("read", ok=(204,)),
    ("GET", "/v1/cubes/{name}/grants"): of_cube("read"),
    ("PUT", "/v1/cubes/{name}/grants/{member}"): Sample(
        "manage", params=lambda c: c.user, path=lambda c: {"name": c.cube, "member": "zoe"}, json=lambda c: {"level": "read"}
    ),
    ("DELETE", "/v1/cubes/{name}/grants/{member}"): Sample(
        "manage", params=lambda c: c.user, path=lambda c: {"name": c.cube, "member": "rita"}
    ),
    ("GET", "/v1/cubes/{name}/archive"): of_cube("read"),
    ("PUT", "/v1/cubes/{name}/archive"): Sample(
        "own", params=lambda c: c.user, path=lambda c: {"name": f"import-{c.number}-{c.me}"}, body=lambda c: c.archive,
        writes=True, ok=(201,),
    ),
    ("POST", "/v1/memories/reread"): asked("write", lambda c: c.user | {"cube": c.cube, "session": "s"}),
    ("GET", "/v1/cubes/{name}/reading"): of_cube("read"),
    ("PATCH", "/v1/cubes/{name}/reading"): of_cube("manage", json=lambda c: {"mode": "fast"}),
    ("GET", "/v1/cubes/{name}/working"): of_cube("read"),
    ("GET", "/v1/cubes/{name}/topics"): of_cube("read"),
    ("POST", "/v1/cubes/{name}/reorganize"): of_cube("write"),
    ("GET", "/v1/cubes/{name}/retention"): of_cube("read"),
    ("PUT", "/v1/cubes/{name}/retention"): of_cube("manage", json=lambda c: {"rules": [{"keep_newest": 1000}]}),
    ("POST", "/v1/cubes/{name}/retention/preview"): of_cube(
        "write", json=lambda c: {"rules": [{"kinds": ["trace"], "keep_newest": 0}]}, shows=True
    ),
    ("POST", "/v1/cubes/{name}/retention/apply"): of_cube("manage", json=lambda c: {}, ok=(400,)),
    ("GET", "/v1/cubes/{name}/retention/runs"): of_cube("read"),
    ("GET", "/v1/tasks"): Sample("read", params=lambda c: c.user | {"cube": c.cube}, shows=True),
    ("GET", "/v1/tasks/stats"): native("own"),
    ("GET", "/v1/tasks/events"): Sample("read", params=lambda c: c.user | {"cube": c.cube}),
    ("POST", "/v1/tasks/retry"): asked("admin", lambda c: {"user": "alice"}, writes=True),
    ("POST", "/v1/tasks/cancel"): asked("admin", lambda c: {"user": "alice"}, writes=True),
    ("GET", "/v1/tasks/{id}"): of_task("read", shows=True),
    ("GET", "/v1/tasks/{id}/wait"): of_task("read", shows=True),
    ("GET", "/v1/tasks/{id}/events"): of_task("read", shows=True),
    ("POST", "/v1/tasks/{id}/retry"): of_task("write", ok=(409,)),
    ("POST", "/v1/tasks/{id}/cancel"): of_task("write", ok=(409,)),
    ("GET", "/v1/me"): Sample("key"),
    ("GET", "/v1/users"): Sample("admin"),
    ("POST", "/v1/users"): asked("admin", lambda c: {"name": f"user-{c.number}"}, ok=(201,)),
    ("GET", "/v1/users/{name}"): Sample("admin", path=lambda c: {"name": "alice"}, shows=True),
    ("PATCH", "/v1/users/{name}"): Sample("admin", path=lambda c: {"name": "alice"}, json=lambda c: {"active": True}),
    ("DELETE", "/v1/users/{name}"): Sample("admin", path=lambda c: {"name": "alice"}, ok=(409,)),
    ("GET", "/v1/usage"): native("own"),
    ("GET", "/v1/profile"): native("own"),
    ("GET", "/v1/keys"): native("own", acts=False),
    ("POST", "/v1/keys"): asked("admin", lambda c: {"user": "alice"}, ok=(201,)),
    ("DELETE", "/v1/keys/{id}"): Sample("alice", path=lambda c: {"id": c.key}),
    ("GET", "/v1/audit"): Sample("admin"),
    # -- OpenAI's API, before a model ----------------------------------------------------------------------------------
    ("POST", "/v1/chat/completions"): asked("write", lambda c: {"messages": said(c)}, **PROXY),
    ("POST", "/v1/responses"): asked("write", lambda c: {"input": said(c)}, **PROXY),
    ("GET", "/v1/models"): Sample("key"),
    ("GET", "/v1/models/{name}"): Sample("key", path=lambda c: {"name": "gpt-4o-mini"}, ok=(404,)),
    ("POST", "/v1/responses/input_tokens"): asked("own", lambda c: {"input": said(c)}, writes=True, ok=(503,)),
    ("POST", "/v1/responses/compact"): asked("own", lambda c: {"input": said(c)}, writes=True, ok=(503,)),
    ("GET", "/v1/responses/{id}"): of_account(),
    ("DELETE", "/v1/responses/{id}"): of_account(writes=True),
    ("POST", "/v1/responses/{id}/cancel"): of_account(),
    ("GET", "/v1/responses/{id}/input_items"): of_account(),
    ("GET", "/v1/chat/completions"): Sample("own", ok=(503,)),
    ("GET", "/v1/chat/completions/{id}"): of_account(),
    ("POST", "/v1/chat/completions/{id}"): of_account(json=lambda c: {"metadata": {}}, writes=True),
    ("DELETE", "/v1/chat/completions/{id}"): of_account(writes=True),
    ("GET", "/v1/chat/completions/{id}/messages"): of_account(),
    ("POST", "/v1/conversations"): asked("own", lambda c: {}, writes=True, ok=(503,)),
    ("GET", "/v1/conversations/{id}"): of_account(),
    ("POST", "/v1/conversations/{id}"): of_account(json=lambda c: {"metadata": {}}, writes=True),
    ("DELETE", "/v1/conversations/{id}"): of_account(writes=True),
    ("GET", "/v1/conversations/{id}/items"): of_account(),
    ("POST", "/v1/conversations/{id}/items"): of_account(json=lambda c: {"items": []}, writes=True),
    ("GET", "/v1/conversations/{id}/items/{item}"): of_account(item="msg_1"),
    ("DELETE", "/v1/conversations/{id}/items/{item}"): of_account(item="msg_1", writes=True),
    # -- the wire of self-hosted MemOS -----------------------------------------------------------------------------
    ("POST", "/product/add"): asked(
        "write", lambda c: {"user_id": c.me, "writable_cube_ids": [c.cube], "messages": said(c)}
    ),
    ("POST", "/product/search"): asked(
        "read", lambda c: {"user_id": c.me, "readable_cube_ids": [c.cube], "query": SECRET, "relativity": 0}, shows=True
    ),
    ("POST", "/product/get_memory"): asked("read", lambda c: {"user_id": c.me, "mem_cube_id": c.cube}, shows=True),
    ("GET", "/product/get_memory/{memory_id}"): Sample(
        "read", params=lambda c: {"user_id": c.me}, path=lambda c: {"memory_id": c.memory}, shows=True
    ),
    ("POST", "/product/get_memory_by_ids"): Sample(
        "read", params=lambda c: {"user_id": c.me}, json=lambda c: [c.memory], shows=True
    ),
    ("POST", "/product/get_memory_dashboard"): asked("read", lambda c: {"user_id": c.me, "mem_cube_id": c.cube}, shows=True),
    ("POST", "/product/get_all"): asked(
        "read", lambda c: {"user_id": c.me, "memory_type": "text_mem", "mem_cube_ids": [c.cube]}, shows=True
    ),
    ("POST", "/product/get_user_names_by_memory_ids"): asked("key", lambda c: {"memory_ids": [c.memory]}),
    ("POST", "/product/exist_mem_cube_id"): asked("own", lambda c: {"user_id": c.me, "mem_cube_id": c.cube}),
    ("POST", "/product/delete_memory"): asked(
        "write", lambda c: {"user_id": c.me, "writable_cube_ids": [c.cube], "memory_ids": [c.memory]}
    ),
    ("POST", "/product/delete_memory_by_record_id"): asked(
        "write", lambda c: {"user_id": c.me, "mem_cube_id": c.cube, "record_id": f"r{c.number}"}
    ),
    ("POST", "/product/recover_memory_by_record_id"): asked(
        "write", lambda c: {"user_id": c.me, "mem_cube_id": c.cube, "delete_record_id": c.record}
    ),
    ("POST", "/product/create_cube"): asked(
        "own", lambda c: {"owner_id": c.me, "cube_name": f"made-{c.number}-{c.me}"}, writes=True
    ),
    ("POST", "/product/register_cube"): asked(
        "read", lambda c: {"user_id": c.me, "mem_cube_id": c.cube, "mem_cube_name_or_path": c.cube}, writes=True
    ),
    ("GET", "/product/scheduler/allstatus"): Sample("key"),
    ("GET", "/product/scheduler/status"): Sample("own", params=lambda c: {"user_id": c.me}, ok=(200, 404)),
    ("GET", "/product/scheduler/task_queue_status"): Sample("own", params=lambda c: {"user_id": c.me}),
    ("POST", "/product/scheduler/wait"): Sample("own", params=lambda c: {"user_name": c.me, "timeout_seconds": 1}),
    ("GET", "/product/scheduler/wait/stream"): Sample("own", params=lambda c: {"user_name": c.me, "timeout_seconds": 1}),
    ("POST", "/product/chat/complete"): CHAT,
    ("POST", "/product/chat/stream"): CHAT,
    ("POST", "/product/chat/stream/playground"): CHAT,
    ("POST", "/product/chat/stream/business_user"): CHAT,
    ("POST", "/product/suggestions"): asked("read", lambda c: {"user_id": c.me, "mem_cube_id": c.cube, "language": "en"}),
    ("POST", "/product/feedback"): asked(
        "write",
        lambda c: {
            "user_id": c.me, "writable_cube_ids": [c.cube], "history": [], "feedback_content": f"The dentist is in room {c.number}.",
        },
    ),
    # -- the wire of its cloud -------------------------------------------------------------------------------------
    ("POST", "/api/openmem/v1/add/message"): asked(
        "write",
        lambda c: {"user_id": c.me, "conversation_id": "c", "messages": said(c), "allow_knowledgebase_ids": [c.base]},
    ),
    ("POST", "/api/openmem/v1/search/memory"): asked(
        "read",
        lambda c: {"user_id": c.me, "query": "recipe house sauce", "knowledgebase_ids": [c.base], "relativity": 0},
        shows=True,
    ),
    ("POST", "/api/openmem/v1/get/message"): asked("own", lambda c: {"user_id": c.me}, shows=True),
    ("POST", "/api/openmem/v1/get/memory"): asked("own", lambda c: {"user_id": c.me}, shows=True),
    ("GET", "/api/openmem/v1/get/memory/{memory_id}"): Sample("read", path=lambda c: {"memory_id": c.memory}, shows=True),
    ("POST", "/api/openmem/v1/update/memory"): asked("write", lambda c: {"memory_id": c.memory, "title": "new"}),
    ("POST", "/api/openmem/v1/delete/memory"): asked("write", lambda c: {"memory_ids": [c.memory]}),
    ("POST", "/api/openmem/v1/add/feedback"): asked(
        "own", lambda c: {"user_id": c.me, "feedback_content": f"Lamp {c.number} is broken."}, writes=True
    ),
    ("POST", "/api/openmem/v1/get/status"): asked("alice", lambda c: {"task_id": c.task}),
    ("POST", "/api/openmem/v1/chat"): CHAT,
    ("POST", "/api/openmem/v1/extract/memory"): asked("key", lambda c: {"messages": "I live in Oslo."}),
    ("POST", "/api/openmem/v1/rerank"): asked("key", lambda c: {"query": "tea", "documents": ["tea", "coffee"]}),
    ("POST", "/api/openmem/v1/bind/profile_template"): asked("key", lambda c: {"user_id": "alice"}, fails=True),
    ("POST", "/api/openmem/v1/edit/profile"): asked("key", lambda c: {"user_id": "alice"}, fails=True),
    ("POST", "/api/openmem/v1/delete/profile"): asked("key", lambda c: {"user_id": "alice"}, fails=True),
    ("POST", "/api/openmem/v1/create/knowledgebase"): asked(
        "own", lambda c: {"knowledgebase_name": f"base {c.number}"}, writes=True
    ),
    ("POST", "/api/openmem/v1/delete/knowledgebase"): asked("manage", lambda c: {"knowledgebase_id": c.base}),
    ("POST", "/api/openmem/v1/add/knowledgebase-file"): asked(
        "write",
        lambda c: {"knowledgebase_id": c.base, "file": [{"name": f"{c.number}.txt", "content": "VGVhIGlzIGhvdC4="}]},
    ),
    ("POST", "/api/openmem/v1/get/knowledgebase-file"): asked("read", lambda c: {"knowledgebase_id": c.base}, shows=True),
    ("POST", "/api/openmem/v1/delete/knowledgebase-file"): asked("write", lambda c: {"file_ids": [c.file]}),
    # -- mem0's wires: everything is the key's own; what is alice's otherwise is not there ----------------------------
    ("GET", "/compat/mem0/v1/ping"): Sample("key"),
    ("POST", "/compat/mem0/v3/memories/add"): asked("own", lambda c: {"user_id": "x", "messages": said(c)}, writes=True),
    ("POST", "/compat/mem0/v1/memories"): asked("own", lambda c: {"user_id": "x", "messages": said(c)}, writes=True),
    ("POST", "/compat/mem0/memories"): asked("own", lambda c: {"user_id": "x", "messages": said(c)}, writes=True),
    ("GET", "/compat/mem0/v1/event/{event_id}"): Sample("own", path=lambda c: {"event_id": c.me}, ok=(404,)),
    ("GET", "/compat/mem0/v1/events"): Sample("own"),
    ("POST", "/compat/mem0/v3/memories/search"): asked("own", lambda c: {"user_id": "x", "query": SECRET}),
    ("POST", "/compat/mem0/v2/memories/search"): asked("own", lambda c: {"user_id": "x", "query": SECRET}),
    ("POST", "/compat/mem0/v1/memories/search"): asked("own", lambda c: {"user_id": "x", "query": SECRET}),
    ("POST", "/compat/mem0/search"): asked("own", lambda c: {"user_id": "x", "query": SECRET}),
    ("POST", "/compat/mem0/v3/memories"): asked("own", lambda c: {"filters": {"user_id": "x"}}),
    ("POST", "/compat/mem0/v2/memories"): asked("own", lambda c: {"filters": {"user_id": "x"}}),
    ("GET", "/compat/mem0/v1/memories"): Sample("own", params=lambda c: {"user_id": "x"}),
    ("DELETE", "/compat/mem0/v1/memories"): Sample("own", params=lambda c: {"user_id": "x"}, writes=True),
    ("GET", "/compat/mem0/memories"): Sample("own", params=lambda c: {"user_id": "x"}),
    ("DELETE", "/compat/mem0/memories"): Sample("own", params=lambda c: {"user_id": "x"}, writes=True),
    ("GET", "/compat/mem0/v1/memories/{memory_id}"): Sample("own", path=lambda c: {"memory_id": c.memory}, ok=(404,)),
    ("GET", "/compat/mem0/v1/memories/{memory_id}/history"): Sample("own", path=lambda c: {"memory_id": c.memory}, ok=(404,)),
    ("PUT", "/compat/mem0/v1/memories/{memory_id}"): Sample("own", json=lambda c: {"text": "x"}, path=lambda c: {"memory_id": c.memory}, ok=(404,), writes=True),
    ("DELETE", "/compat/mem0/v1/memories/{memory_id}"): Sample("own", path=lambda c: {"memory_id": c.memory}, ok=(404,), writes=True),
    ("GET", "/compat/mem0/memories/{memory_id}"): Sample("own", path=lambda c: {"memory_id": c.memory}, ok=(404,)),
    ("GET", "/compat/mem0/memories/{memory_id}/history"): Sample("own", path=lambda c: {"memory_id": c.memory}, ok=(404,)),
    ("PUT", "/compat/mem0/memories/{memory_id}"): Sample("own", json=lambda c: {"text": "x"}, path=lambda c: {"memory_id": c.memory}, ok=(404,), writes=True),
    ("DELETE", "/compat/mem0/memories/{memory_id}"): Sample("own", path=lambda c: {"memory_id": c.memory}, ok=(404,), writes=True),
    ("PUT", "/compat/mem0/v1/batch"): asked("own", lambda c: {"memories": [{"memory_id": c.memory, "text": "x"}]}, writes=True, ok=(404,)),
    ("DELETE", "/compat/mem0/v1/batch"): asked("own", lambda c: {"memories": [{"memory_id": c.memory, "text": "x"}]}, writes=True, ok=(404,)),
    ("GET", "/compat/mem0/v1/entities"): Sample("own"),
    ("DELETE", "/compat/mem0/v2/entities/{kind}/{name}"): Sample("own", path=lambda c: {"kind": "user", "name": "alice"}, writes=True),
    ("POST", "/compat/mem0/v1/feedback"): asked("own", lambda c: {"memory_id": c.memory, "feedback": "POSITIVE"}, writes=True, ok=(404,)),
    ("POST", "/compat/mem0/v1/exports"): asked("own", lambda c: {"filters": {"user_id": "x"}}, ok=(201,)),
    ("POST", "/compat/mem0/v1/exports/get"): asked("own", lambda c: {"filters": {"user_id": "x"}}),
    ("POST", "/compat/mem0/v1/summary"): asked("own", lambda c: {"filters": {"user_id": "x"}}),
    ("POST", "/compat/mem0/reset"): Sample("own", writes=True),
    ("GET", "/compat/mem0/configure"): Sample("key"),
    ("POST", "/compat/mem0/configure"): asked("own", lambda c: {}, writes=True, ok=(400,)),
    ("GET", "/compat/mem0/v2/entities/user/{name}/profile"): Sample("own", path=lambda c: {"name": "alice"}, ok=(404,)),
    ("POST", "/compat/mem0/v2/profiles/jobs"): asked("own", lambda c: {"operation": "trigger", "entity_id": "alice"}, ok=(404,)),
    ("GET", "/compat/mem0/v2/profiles/jobs/{job}"): Sample("own", path=lambda c: {"job": "user:alice"}, ok=(404,)),
    ("GET", "/compat/mem0/v2/profiles/settings"): Sample("key"),
    ("POST", "/compat/mem0/v2/profiles/settings"): asked("own", lambda c: {}, writes=True, ok=(400,)),
    ("GET", "/compat/mem0/api/v1/orgs/organizations/{org}/projects/{project}"): Sample("own", path=lambda c: {"org": "memos", "project": "nobody"}, ok=(404,)),
    ("PATCH", "/compat/mem0/api/v1/orgs/organizations/{org}/projects/{project}"): Sample("own", path=lambda c: {"org": "memos", "project": "alice"}, writes=True, ok=(400,)),
    ("DELETE", "/compat/mem0/api/v1/orgs/organizations/{org}/projects/{project}"): Sample("key", path=lambda c: {"org": "memos", "project": "alice"}, ok=(400,)),
    ("POST", "/compat/mem0/api/v1/orgs/organizations/{org}/projects"): Sample("key", path=lambda c: {"org": "memos", "project": "alice"}, ok=(400,)),
    ("GET", "/compat/mem0/api/v1/orgs/organizations/{org}/projects/{project}/members"): Sample("key", path=lambda c: {"org": "memos", "project": "alice"}, ok=(400,)),
    ("POST", "/compat/mem0/api/v1/orgs/organizations/{org}/projects/{project}/members"): Sample("key", path=lambda c: {"org": "memos", "project": "alice"}, ok=(400,)),
    ("PUT", "/compat/mem0/api/v1/orgs/organizations/{org}/projects/{project}/members"): Sample("key", path=lambda c: {"org": "memos", "project": "alice"}, ok=(400,)),
    ("DELETE", "/compat/mem0/api/v1/orgs/organizations/{org}/projects/{project}/members"): Sample("key", path=lambda c: {"org": "memos", "project": "alice"}, ok=(400,)),
    ("GET", "/compat/mem0/api/v1/webhooks/projects/{id}"): Sample("key", path=lambda c: {"id": "1"}, ok=(400,)),
    ("POST", "/compat/mem0/api/v1/webhooks/projects/{id}"): Sample("key", path=lambda c: {"id": "1"}, ok=(400,)),
    ("PUT", "/compat/mem0/api/v1/webhooks/{id}"): Sample("key", path=lambda c: {"id": "1"}, ok=(400,)),
    ("DELETE", "/compat/mem0/api/v1/webhooks/{id}"): Sample("key", path=lambda c: {"id": "1"}, ok=(400,)),
}  # fmt: skip


@dataclass
class World:
    """alice with all she has, and everybody else."""

    memos: AsyncMemOS
    client: httpx2.AsyncClient
    keys: dict[str, str] = field(default_factory=dict)
    case: Case = field(default_factory=Case)
    stale: bool = True

    async def fresh(self) -> Case:
        """The case, with everything there: made anew if it was touched."""
        if self.stale:
            self.case, self.stale = await self._make(self.case.number + 1), False
        return self.case

    async def _make(self, n: int) -> Case:
        case = Case(number=n, cube=f"notes-{n}")
        await self.memos.create_cube(case.cube, user="alice", info={"note": SECRET})
        for user, level in (("rita", "read"), ("will", "write"), ("adam", "admin")):
            await self.memos.share(case.cube, user, level, user="alice")
        where = {"user": "alice", "cube": case.cube}
        await self.memos.add(f"{SECRET} One more thing {n}.", **where, wait=True)
        picture = f"data:image/png;base64,{base64.b64encode(PICTURE).decode()}"
        await self.memos.add(
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": picture}}]}, **where
        )
        added = await self.memos.add(
            [f"{SECRET} My dentist is Dr. Weber, room {n}."],
            **where,
            session=SECRET,
            tags=[SECRET],
            task_id=f"{SECRET}-{n}",
        )
        case.memory, case.task = added.records[0].id, added.task or ""
        await self._learned(case)
        key, _ = await self.memos.accounts.create_key("alice", description=SECRET)
        case.key = key.id
        await self._base(case)
        await self.memos.add(f"{SECRET} I own lamp {n}.", user="alice", wait=True)
        await self.memos.update(case.memory, info={"n": n}, **where)  # something to undo
        await self.memos.tasks.wait(TaskQuery(), timeout=20)
        await self.memos.flush(**where)
        case.archive = self.case.archive or await self._archive()
        return case

    async def _learned(self, case: Case) -> None:
        """An open episode, a skill, a policy and a statement of the world model."""
        where = {"user": "alice", "cube": case.cube}
        begun = await self.memos.start_turn(f"{SECRET} Rotate the logs.", session=SECRET, recall=False, **where)
        await self.memos.import_skills(SKILL, **where)
        case.episode, case.policy, case.statement = begun.episode, new_id(), new_id()
        policy = PolicyBody(state=State.ACTIVE, trigger=SECRET, procedure=(Action("bash", SECRET),)).to_body()
        told = WorldBody(environment="alpine", subject=SECRET, holds=2).to_body()
        made = [
            Memory(case.policy, Kind.POLICY, f"{SECRET} when logs are full, rotate them", body=policy, owner="alice"),
            Memory(case.statement, Kind.WORLD_MODEL, f"{SECRET} logs are in /var/log", body=told, owner="alice"),
        ]
        async with self.memos._cube("alice", case.cube, "write") as (_, store):
            await store.write(lambda tx: [tx.put(m, "add") for m in made], Change(actor="alice"))

    async def _archive(self) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "archive.cube"
            await self.memos.export_cube(path, user="alice", cube="alice")
            return path.read_bytes()

    async def _base(self, case: Case) -> None:
        made = await self.as_alice("/api/openmem/v1/create/knowledgebase", {"knowledgebase_name": SECRET})
        case.base = made["id"]
        for user, level in (("rita", "read"), ("will", "write"), ("adam", "admin")):
            await self.memos.share(case.base, user, level, user="alice")
        file = {"name": f"{SECRET}.txt", "content": _base64(KB_FILE)}
        (added,) = await self.as_alice(
            "/api/openmem/v1/add/knowledgebase-file", {"knowledgebase_id": case.base, "file": [file]}
        )
        case.file = added["id"]

    async def delete_under_a_record(self) -> None:
        """What a recovery brings back."""
        if not self.case.record:
            self.case.record = f"gone-{self.case.number}"
            body = {"user_id": "alice", "mem_cube_id": self.case.cube, "record_id": self.case.record}
            answer = await self.client.post(
                "/product/delete_memory_by_record_id", json=body, headers=self.headers("alice")
            )
            assert answer.status_code == 200, answer.text

    async def as_alice(self, path: str, body: dict[str, Any]) -> Any:
        answer = await self.client.post(path, json=body, headers=self.headers("alice"))
        assert answer.json()["code"] == 0, answer.text
        return answer.json()["data"]

    def headers(self, who: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.keys[who]}"} if who in self.keys else {}

    async def ask(self, route: tuple[str, str], who: str, me: str) -> httpx2.Response:
        """Call a route with somebody's key, in somebody's name."""
        sample, case = SAMPLES[route], await self.fresh()
        case.me = me
        more = sample.headers(case) if sample.headers is not None else {}
        options: dict[str, Any] = {"headers": self.headers(who) | more}
        if sample.params is not None:
            options["params"] = sample.params(case)
        if sample.json is not None:
            options["json"] = sample.json(case)
        if sample.body is not None:
            options["content"] = sample.body(case)
            options["headers"]["Content-Type"] = "application/octet-stream"
        return await self.client.request(route[0], route[1].format(**sample.path(case)), **options)

    async def state(self) -> str:
        """All that is alice's, to see whether a call changed anything."""
        cubes = {cube.name: sorted(cube.grants.items()) for cube in await self.memos.list_cubes(user="alice")}
        out: list[Any] = [sorted(cubes.items())]
        for name in (self.case.cube, self.case.base, "alice"):
            if name in cubes:
                page = await self.memos.list(user="alice", cube=name, limit=10_000, include_inactive=True)
                out.append(sorted((m.id, m.version, m.status) for m in page.items))
        out.append(sorted(k.id for k in await self.memos.accounts.list_keys("alice")))
        out.append(sorted((u.name, u.active) for u in await self.memos.accounts.list_users()))
        return json.dumps(out)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    memos = AsyncMemOS(tmp_path_factory.mktemp("world") / "home", embedder="none", durability="normal", workers=2)
    app = create_app(memos, ServerOptions(business_keys=("k",)))
    async with app.router.lifespan_context(app), in_process(begun(app)) as client:
        world = World(memos, client)
        await memos.accounts.create_user("alice", info={"note": SECRET})
        for user in ("alice", *GRANTED):
            _, world.keys[user] = await memos.accounts.create_key(user)
        _, world.keys["alice, reading only"] = await memos.accounts.create_key("alice", scopes=["read"])
        _, world.keys["backend"] = await memos.accounts.create_key("backend", scopes=["act"])
        _, world.keys["root"] = await memos.accounts.create_key("root", scopes=["admin"])
        yield world


def begun(app: Any) -> Any:
    """The application, whose stream without an end is left as soon as it has begun."""

    async def cut(scope: Any, receive: Any, send: Any) -> None:
        if scope.get("path") != STREAM:
            await app(scope, receive, send)
            return
        started = asyncio.Event()

        async def sent(message: Any) -> None:
            await send(message)
            started.set()

        answering = asyncio.ensure_future(app(scope, receive, sent))
        await asyncio.wait({answering, asyncio.ensure_future(started.wait())}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({answering}, timeout=0.2)
        if not answering.done():
            answering.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await answering
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            answering.result()

    return cut


def routes_of(app: FastAPI) -> list[tuple[str, str]]:
    """(method, template) of every route, whether it is in the documentation or not."""
    return sorted({(method, path) for path, methods in _walk(app.routes) for method in methods - {"HEAD"}})


def _walk(routes: Any) -> Iterator[tuple[str, set[str]]]:
    for route in routes:
        contexts = getattr(route, "effective_route_contexts", None)
        if contexts is not None:
            yield from _walk(contexts())
        else:
            assert getattr(route, "methods", None), f"{route!r} is no route that this test knows how to ask"
            yield _plain(route.path), set(route.methods)


def _plain(path: str) -> str:
    """A template without the converters of its parameters."""
    return "/".join(
        f"{part.partition(':')[0]}}}" if part.startswith("{") and ":" in part else part for part in path.split("/")
    )


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


ROUTES = routes_of(create_app(AsyncMemOS("unused", embedder="none")))


def test_every_route_has_a_sample_and_every_sample_a_route() -> None:
    assert [route for route in ROUTES if route not in SAMPLES] == []
    assert [route for route in SAMPLES if route not in ROUTES] == []
    assert len(ROUTES) > 80


@pytest.mark.parametrize("route", [r for r in ROUTES if r in SAMPLES], ids=lambda r: f"{r[0]} {r[1]}")
@pytest.mark.asyncio(loop_scope="module")
async def test_a_route_answers_everybody_as_it_should(world: World, route: tuple[str, str]) -> None:
    sample, visit = SAMPLES[route], Visit(world, route)
    if sample.need == "public":
        for who in ("nobody", "bob"):
            await visit.granted(who, who, shows=False, hides=True)
        return
    await visit.refused("nobody", "alice", (401,))
    for who, has in GRANTED.items():
        if sample.need in ("key", "own"):  # what she gets is her own; the cubes she was granted may be among it
            await visit.granted(who, who, shows=False, hides=not has or route != ("GET", "/v1/cubes"))
        elif has >= NEEDED[sample.need]:
            await visit.granted(who, who, sample.shows)
        else:
            await visit.refused(who, who)
        if in_a_name(sample):
            await visit.refused(who, "alice")
    if sample.need == "admin":
        for who in ("alice", "backend"):
            await visit.refused(who, "alice")
        await visit.granted("root", "alice", sample.shows)
    elif sample.need != "key":
        await visit.as_alice()


class Visit:
    """A route, asked by several callers in turn."""

    def __init__(self, world: World, route: tuple[str, str]) -> None:
        self.world, self.route, self.sample = world, route, SAMPLES[route]

    async def refused(self, who: str, me: str, statuses: tuple[int, ...] = (403, 404)) -> None:
        """Asked in vain: nothing of alice's is told, and nothing of hers changes."""
        before, answer, told = await self._ask(who, me)
        assert is_refusal(answer, statuses), told
        assert SECRET not in answer.text, told
        assert await self.world.state() == before, f"{told}: something of alice's changed"

    async def granted(self, who: str, me: str, shows: bool, hides: bool = False) -> None:
        """Asked with success; `shows`: what is alice's is told, `hides`: nothing of it is."""
        before, answer, told = await self._ask(who, me)
        assert answer.status_code in self.sample.ok, told
        assert self.sample.fails or is_success(answer), told
        assert not shows or SECRET in answer.text, f"{told}: nothing was shown"
        assert not hides or SECRET not in answer.text, told
        changed = await self.world.state() != before
        assert not (hides and changed), f"{told}: something of alice's changed"
        self.world.stale = self.world.stale or changed

    async def as_alice(self) -> None:
        """Asked by alice herself, and by those who may act for her or may everything."""
        sample = self.sample
        await self.granted("alice", "alice", sample.shows)
        if sample.writes or sample.need in ("write", "manage"):
            await self.refused("alice, reading only", "alice")
        elif sample.need != "alice":
            await self.granted("alice, reading only", "alice", sample.shows)
        if in_a_name(sample):
            await (self.granted("backend", "alice", sample.shows) if sample.acts else self.refused("backend", "alice"))
        if in_a_name(sample) or sample.need == "alice":
            await self.granted("root", "alice", sample.shows)

    async def _ask(self, who: str, me: str) -> tuple[str, httpx2.Response, str]:
        await self.world.fresh()
        if self.route == RECOVER:
            await self.world.delete_under_a_record()
        before = await self.world.state()
        answer = await self.world.ask(self.route, who, me)
        return before, answer, f"{who} as {me}: {answer.status_code} {answer.text[:300]}"


def in_a_name(sample: Sample) -> bool:
    """Whether the request says in whose name it is asked."""
    one, two = Case(me="one"), Case(me="two")
    return any(make is not None and make(one) != make(two) for make in (sample.json, sample.params, sample.headers))


def is_refusal(answer: httpx2.Response, statuses: tuple[int, ...]) -> bool:
    """Whether nothing was given: by the status, or within the envelope of a wire that answers 200 to everything."""
    if answer.status_code in statuses:
        return True
    if answer.status_code != 200 or 401 in statuses or answer.headers["content-type"] != "application/json":
        return False
    body = answer.json()
    return body.get("code") not in (None, 0, 200) or ("data" in body and empty(body["data"])) or empty(body)


def empty(value: Any) -> bool:
    """Whether there is nothing in an answer but names, zeros and nulls."""
    if isinstance(value, dict):
        return all(
            empty(v)
            for k, v in value.items()
            if k not in ("missing", "cube_id", "pref_note", "total", "page", "page_size")
        )
    if isinstance(value, list):
        return all(map(empty, value))
    return not value or value == "failure"


def is_success(answer: httpx2.Response) -> bool:
    """Whether the envelope says so, too."""
    if answer.headers.get("content-type") != "application/json" or answer.status_code >= 400:
        return True
    body = answer.json()
    return not isinstance(body, dict) or body.get("code") in (None, 0, 200)
