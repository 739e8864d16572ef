"""How much better episodes go with a policy than without (placeholder of the lead: helper B writes it, with `gain_of`)."""

from __future__ import annotations

import apsw


def gain_of(db: apsw.Connection, memory: str) -> float:
    """The gain of a policy, from its rows: see `gain`."""
    return 0.0
