"""mem0 on a memory of ours: `core` has its verbs for the wires of the server and for the drop-in classes.

    from memos.compat.mem0 import Memory, MemoryClient      # in the place of: from mem0 import Memory, MemoryClient

Nothing of the package `mem0ai` is needed or loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memos.compat.mem0.client import AsyncMemoryClient, MemoryClient
    from memos.compat.mem0.memory import AsyncMemory, Memory

__all__ = ["AsyncMemory", "AsyncMemoryClient", "Memory", "MemoryClient"]


def __getattr__(name: str) -> Any:
    """The classes, which are loaded when they are asked for: the server needs none of them."""
    if name in ("Memory", "AsyncMemory"):
        from memos.compat.mem0 import memory

        return getattr(memory, name)
    if name in ("MemoryClient", "AsyncMemoryClient"):
        from memos.compat.mem0 import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
