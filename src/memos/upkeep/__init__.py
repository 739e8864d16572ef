"""Upkeep: the handlers of the tasks that keep a cube in order. ORGANIZE keeps working sets and topics, FORGET applies retention.

Nothing here holds up a write or a search: tasks are merged, put off a little, and the last in line. What a crash interrupts is
found undone by the next task (law 2).
"""

from __future__ import annotations

from memos.upkeep.upkeep import Search, Upkeep
from memos.upkeep.uses import COUNTED, Uses

__all__ = ["COUNTED", "Search", "Upkeep", "Uses"]
