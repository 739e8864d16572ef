"""Very many episodes of very many kinds, made without a machine: what a memory holds after years of work."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

_STARTS = (
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "ha",
    "je",
    "ki",
    "lo",
    "mu",
    "na",
    "pe",
    "ri",
    "so",
    "tu",
    "va",
    "we",
    "xi",
    "yo",
    "zu",
)
_ENDS = ("bran", "dell", "fisk", "gorm", "hale", "jent", "kort", "lund", "merk", "nost")
_THINGS = (
    "ledger",
    "mirror",
    "socket",
    "bucket",
    "index",
    "schema",
    "token",
    "cluster",
    "volume",
    "router",
    "cache",
    "bundle",
    "feed",
    "shard",
    "lease",
)
_STATES = (
    "stale",
    "frozen",
    "detached",
    "corrupt",
    "expired",
    "missing",
    "read-only",
    "oversized",
    "unsigned",
    "orphaned",
)
_VERBS = ("refresh", "thaw", "attach", "rebuild", "renew", "fetch", "remount", "trim", "sign", "adopt")
_LOOKS = ("ls", "df -h", "uptime", "git status", "env", "ps aux", "date", "whoami", "free -m", "id")


@dataclass(frozen=True, slots=True)
class Call:
    """One command and what came of it."""

    command: str
    output: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Story:
    """One task, told from its end: the kind it is of, its goal, the calls, and whether it succeeded."""

    kind: int
    goal: str
    calls: tuple[Call, ...]
    success: bool


class Kinds:
    """As many kinds of tasks as wanted, each with a command, an error and a fix of its own."""

    def __init__(self, count: int) -> None:
        words = [a + b for a, b in product(_STARTS, _ENDS)]
        rng = random.Random(7)
        self._kinds = []
        for k in range(count):
            program = words[k % len(words)] + (f"-{_THINGS[k // len(words) % len(_THINGS)]}" if k >= len(words) else "")
            thing, n = rng.choice(_THINGS), rng.randrange(len(_STATES))
            self._kinds.append((program, thing, _STATES[n], _VERBS[n]))

    def story(self, kind: int, rng: random.Random, steps: int) -> Story:
        """One task of a kind, of so many calls."""
        program, thing, state, verb = self._kinds[kind]
        name = f"{rng.choice(_STARTS)}{rng.choice(_STARTS)}{rng.choice(_ENDS)}"
        main, success = f"{program} run {name}", rng.random() < 0.8
        looks = [Call(rng.choice(_LOOKS), f"line {rng.randrange(1000)}") for _ in range(steps - 3)]
        cut = rng.randrange(len(looks) + 1)
        error = f"{program}: the {thing} of '{name}' is {state} since {rng.randrange(2, 90)} minutes"
        fix = [Call(f"{program} {verb} {name}", "ok"), Call(main, "done")] if success else [Call(main, error=error)] * 2
        calls = (*looks[:cut], Call(main, error=error), *looks[cut:], *fix)
        return Story(kind, f"Run {program} for {name}", calls, success)


def stories(kinds: int, steps: int = 10, seed: int = 0) -> Iterator[Story]:
    """An endless stream of tasks, all kinds equally often."""
    made, rng = Kinds(kinds), random.Random(seed)
    while True:
        for kind in rng.sample(range(kinds), kinds):
            yield made.story(kind, rng, steps)


def first(count: int, kinds: int, steps: int = 10, seed: int = 0) -> list[Story]:
    """The first so many of `stories`."""
    return [*islice(stories(kinds, steps, seed), count)]
