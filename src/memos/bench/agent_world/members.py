"""Names that the tasks are about, in pools, each split into those that are met while learning and those that are held out."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

_FILE = Path(__file__).with_name("members.txt")  # a line for each pool


@dataclass(frozen=True, slots=True)
class Pool:
    """Members of a kind: the learned and the held-out half."""

    learn: tuple[str, ...]
    held: tuple[str, ...]


def split(names: list[str], rng: random.Random, share: float = 0.6) -> Pool:
    """A pool of names, shuffled; the first `share` of them is for learning."""
    mixed = rng.sample(names, len(names))
    cut = round(len(mixed) * share)
    return Pool(tuple(mixed[:cut]), tuple(mixed[cut:]))


@dataclass(frozen=True, slots=True)
class Pools:
    """All pools of one run."""

    services: Pool
    packages: Pool
    headers: Pool
    names: Pool
    teams: Pool
    tools: Pool
    folders: Pool
    keys: Pool

    @classmethod
    def of(cls, seed: int) -> Pools:
        """The split of a seed."""
        rng = random.Random(f"pools {seed}")
        lines = _FILE.read_text(encoding="utf-8").splitlines()
        return cls(**{kind: split(names.split(), rng) for kind, _, names in (line.partition(": ") for line in lines)})


class Picker:
    """Picks members: while learning those for learning, and held-out ones afterwards, none twice until all were taken."""

    def __init__(self, pools: Pools, rng: random.Random) -> None:
        self._pools, self._rng = pools, rng
        self._left: dict[tuple[str, bool], list[str]] = {}

    def pick(self, kind: str, held: bool) -> str:
        """A member of a kind (a field of `Pools`)."""
        left = self._left.setdefault((kind, held), [])
        if not left:
            pool: Pool = getattr(self._pools, kind)
            members = pool.held if held else pool.learn
            left += self._rng.sample(members, len(members))
        return left.pop()

    @property
    def rng(self) -> random.Random:
        """What else is drawn."""
        return self._rng
