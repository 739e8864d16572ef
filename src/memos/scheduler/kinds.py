"""The kinds of background work: how urgent each is, how long one attempt may take, and how many go together.

Data only. A kind without a handler is left in the queue for a worker that has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from memos.storage.ports import DESCRIBE, DIGEST, READ

__all__ = [
    "DESCRIBE", "DIGEST", "EMBED", "EVOLVE", "EXPORT", "FEEDBACK", "FORGET", "IMPORT", "ORGANIZE", "PLANS", "READ", "SWEEP",
    "KindPlan", "plan_of",
]  # fmt: skip

EMBED = "embed"  # make the vectors a cube lacks, of whatever model is configured: re-embedding is the same work
ORGANIZE = "organize"
EVOLVE = "evolve"
IMPORT = "import"
EXPORT = "export"
FEEDBACK = "feedback"
FORGET = "forget"
SWEEP = "sweep"  # find marked work that no task stands for


@dataclass(frozen=True, slots=True)
class KindPlan:
    """`priority`: higher goes first. `timeout`: seconds for one attempt. `batch`: tasks of one lane worked on together.

    `quick`: of a length that may hold the slot which is kept free for such work. `waits`: it mostly waits for a server, so it
    has slots of its own, and holds up nothing that needs the processor.
    """

    priority: int = 0
    timeout: float = 300.0
    batch: int = 1
    quick: bool = False
    waits: bool = False


PLANS: Mapping[str, KindPlan] = MappingProxyType(
    {
        DIGEST: KindPlan(priority=20, batch=64, quick=True),
        READ: KindPlan(priority=5, timeout=3600.0, batch=64, waits=True),
        DESCRIBE: KindPlan(priority=4, timeout=3600.0, batch=64, waits=True),
        FEEDBACK: KindPlan(priority=15, timeout=600.0, waits=True),
        SWEEP: KindPlan(priority=10, quick=True),
        FORGET: KindPlan(priority=10),
        EXPORT: KindPlan(priority=5, timeout=3600.0),
        IMPORT: KindPlan(priority=5, timeout=3600.0),
        EMBED: KindPlan(priority=0, batch=16),
        ORGANIZE: KindPlan(priority=-5, timeout=3600.0),
        EVOLVE: KindPlan(priority=-5, timeout=3600.0, batch=16, waits=True),
    }
)


def plan_of(kind: str) -> KindPlan:
    """The plan of a kind, also of one that is not known here."""
    return PLANS.get(kind, KindPlan())
