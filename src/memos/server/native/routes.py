"""The native API, `/v1`: typed and versioned, over the verbs of the core and nothing else."""

from __future__ import annotations

from memos.server.native import (
    accounts,
    archives,
    chat,
    cubes,
    entities,
    feedback,
    files,
    finding,
    images,
    memories,
    profile,
    reading,
    tasks,
    upkeep,
    usage,
)

ROUTERS = tuple(
    part.router
    for part in (
        finding,
        profile,
        chat,
        memories,
        feedback,
        entities,
        files,
        images,
        cubes,
        archives,
        reading,
        upkeep,
        tasks,
        accounts,
        usage,
    )
)
