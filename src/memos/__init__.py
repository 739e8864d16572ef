"""MemOS: a memory operating system for AI agents, in one file by default, offline.

    from memos import MemOS
    m = MemOS(); m.add("I moved to Oslo last week", user="alice"); print(m.search("where do I live?", user="alice"))

Importing this package loads nothing heavy and touches no disk.
"""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["AsyncMemOS", "Kind", "Memory", "MemOS", "SearchResult", "Settings", "Status", "__version__"]

TYPE_CHECKING = False  # as in typing, which takes longer to import than this
if TYPE_CHECKING:
    from typing import Any

    from memos.memory.hit import SearchResult
    from memos.memory.model import Kind, Memory, Status
    from memos.settings import Settings
    from memos.sync import MemOS
    from memos.system import AsyncMemOS

_HOMES = {
    "MemOS": "memos.sync",
    "AsyncMemOS": "memos.system",
    "Settings": "memos.settings",
    "Memory": "memos.memory.model",
    "Kind": "memos.memory.model",
    "Status": "memos.memory.model",
    "SearchResult": "memos.memory.hit",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'memos' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
