"""What a task is made of, whatever family it belongs to, and how a family makes one."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from memos.bench.agent_world.host import BROKEN, Host, Rule
from memos.bench.agent_world.members import Picker

TOOLS = ("cache", "dns", "clock", "proxy")  # commands that always work and rarely help
STRICT = (
    "db",
    "unlock",
    "quota",
    "vacuum",
    "reindex",
    "key",
    "module",
    "free-port",
    "fetch",
    "queue",
    "write",
)  # these know their objects
DEBIAN, FEDORA = ("debian-lab", "ubuntu-ci"), ("fedora-lab", "rhel-prod")
ENVIRONMENTS = (*DEBIAN, *FEDORA)


@dataclass(frozen=True, slots=True)
class Problem:
    """A goal in words, the command that anybody would try, the hidden rules, and the facts that must hold at the end.

    `check`: a command that fails while the goal is not reached, where the agent knows one. `complaint`: what the user says when
    it is not.
    """

    environment: str
    goal: str
    command: str
    rules: tuple[Rule, ...]
    facts: frozenset[str]
    done: frozenset[str]
    complaint: str
    check: str = ""

    def host(self, rng: random.Random, *, flaky: float = 0.0, injected: float = 0.0) -> Host:
        """The machine as it stands at the beginning."""
        always = {f"tool:{t}" for t in TOOLS} | {f"strict:{t}" for t in STRICT}
        return Host(self.rules, {*self.facts, *always}, rng, flaky, injected)

    def is_done(self, host: Host) -> bool:
        """The verifier: whether the goal is reached and nothing was broken on the way."""
        return self.done <= host.facts and BROKEN not in host.facts


Maker = Callable[[Picker, bool], Problem]  # whose members are picked, and whether held-out ones


@dataclass(frozen=True, slots=True)
class Family:
    """Tasks of one kind, with one hidden rule. `silent`: nothing fails but the goal."""

    name: str
    make: Maker
    silent: bool = False
