"""The native API, `/v1`: typed and versioned, over the verbs of the core and nothing else."""

from __future__ import annotations

from memos.server.native import accounts, archives, cubes, files, finding, memories, tasks

ROUTERS = tuple(part.router for part in (finding, memories, files, cubes, archives, tasks, accounts))
