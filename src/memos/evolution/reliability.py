"""How far something learned can be relied on (placeholder of the lead: helper B writes it)."""

from __future__ import annotations


def reliability(passes: int, fails: int, *, support: int = 0) -> float:
    """The mean of the Beta posterior."""
    return (1 + passes) / (2 + passes + fails)
