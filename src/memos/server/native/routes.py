"""The native API, `/v1`: typed and versioned, over the verbs of the core and nothing else."""

from __future__ import annotations

from fastapi import APIRouter, Security
from fastapi.security import HTTPBearer

from memos.server.native import accounts, archives, cubes, finding, memories, tasks

_key = HTTPBearer(
    auto_error=False,
    scheme_name="ApiKey",
    bearerFormat="mk_…",
    description="An API key (`memos keys create`), where the server asks for one: `Authorization: Bearer mk_…`.",
)

router = APIRouter(dependencies=[Security(_key)])
for part in (finding, memories, cubes, archives, tasks, accounts):
    router.include_router(part.router)
