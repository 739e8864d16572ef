"""The ledger of model calls: tokens and cost by user, purpose and model, a row a day in the control file."""

from __future__ import annotations

from memos.models.llm.purposes import Call
from memos.storage.sqlite.registry import SqliteRegistry


class Ledger:
    """Takes calls as they are made."""

    def __init__(self, registry: SqliteRegistry) -> None:
        self._registry = registry

    def record(self, call: Call) -> None:
        """Count one call. Never raises, never waits."""
