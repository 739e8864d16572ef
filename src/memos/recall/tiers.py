"""What an agent is told, as data: for each trigger which tiers are asked, in which order they may take room in the block, how
much of the budget is theirs, and how many candidates are looked at. `agent_block` is the small interpreter of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from memos.memory.acting import Tier, Trigger


@dataclass(frozen=True, slots=True)
class Part:
    """One tier of a plan. `share` of the budget (0 to 1) that is kept for it; what it leaves goes to those after it, and at the
    end to whatever did not fit. `limit`: items at most. `untested`: of those, how many may be on trial (candidates, probation).
    """

    tier: Tier
    share: float
    limit: int
    untested: int = 2


@dataclass(frozen=True, slots=True)
class Plan:
    """The parts in the order in which they take their room. `pool`: hits of the search that experience and facts are drawn from.
    `failures`: past failures are worth showing too. `similar`: policies may be found by likeness of the goal, not only by a
    pattern that fits.
    """

    parts: tuple[Part, ...]
    pool: int = 30
    failures: bool = False
    similar: bool = True

    def part(self, tier: Tier) -> Part | None:
        """What the plan says of a tier; None when it is not asked."""
        return next((p for p in self.parts if p.tier is tier), None)

    def only(self, tiers: Collection[Tier]) -> Plan:
        """The plan of these tiers alone: their shares grow to the whole; one it does not know gets the room of an equal."""
        kept = [p for p in self.parts if p.tier in tiers]
        known = {p.tier for p in kept}
        kept += [Part(t, 1 / len(Tier), 5) for t in Tier if t in tiers and t not in known]
        total = sum(p.share for p in kept)
        shares = [p.share / total if total else 1 / len(kept) for p in kept]
        return replace(self, parts=tuple(replace(p, share=s) for p, s in zip(kept, shares, strict=True)))


S, G, E, W, F = Tier.SKILL, Tier.GUIDANCE, Tier.EXPERIENCE, Tier.WORLD, Tier.FACT

PLANS: Mapping[Trigger, Plan] = MappingProxyType(
    {
        Trigger.TURN: Plan(
            (Part(G, 0.30, 10, 3), Part(S, 0.25, 3, 1), Part(F, 0.20, 12), Part(W, 0.10, 5), Part(E, 0.15, 3))
        ),
        Trigger.TOOL: Plan(
            (Part(G, 0.45, 8, 2), Part(E, 0.30, 4), Part(W, 0.15, 5), Part(F, 0.10, 4)), pool=20, failures=True
        ),
        Trigger.SUBAGENT: Plan((Part(G, 0.40, 8, 2), Part(S, 0.35, 3, 1), Part(F, 0.25, 8))),
        Trigger.REPAIR: Plan(
            (Part(G, 0.50, 8, 3), Part(S, 0.15, 2, 1), Part(E, 0.20, 4), Part(W, 0.15, 4)),
            pool=20,
            failures=True,
            similar=False,
        ),
        Trigger.SKILL: Plan((Part(S, 1.0, 1, 1), Part(G, 0.0, 4, 0), Part(W, 0.0, 3)), similar=False),
    }
)
