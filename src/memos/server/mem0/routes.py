"""The routers of mem0's two wires, both under `/compat/mem0`. Their paths do not meet."""

from __future__ import annotations

from memos.server.mem0 import cloud, codes, platform, selfhosted

codes.install()
ROUTERS = (platform.router, cloud.router, selfhosted.router)
