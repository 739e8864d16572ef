"""Episodes of a few families with hidden rules, and the part of learning that makes policies of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from evolution_script import Did, Script, play

from memos.evolution.learn import CaseBuilder
from memos.evolution.policies import policies, settling
from memos.memory.learned import PolicyBody
from memos.memory.model import Memory
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.tx import SqliteTx

MISSING = "  native.c:{n}:10: fatal error: {library}-fe.h: No such file or directory\ncompilation terminated."


def header(
    package: str, library: str, *, score: float | None = 1.0, environment: str = "debian", n: int = 3, **more: Any
) -> Script:
    """A package needs the headers of a library."""
    did = [
        Did(f"pip install {package}", False, MISSING.format(n=n, library=library)),
        *more.get("noise", ()),
        Did(f"apt-get install {library}-dev"),
        Did(f"pip install {package}"),
    ]
    return Script(more.get("goal", f"Install the package {package}"), did, score=score, environment=environment)


def setting(service: str, key: str, value: int, *, score: float = 1.0, restart: bool = True) -> Script:
    """A service takes a new setting only when it is restarted."""
    did = [Did(f"svcconf set {service} {key}={value}")]
    if restart:
        did.append(Did(f"systemctl restart {service}"))
    return Script(f"Set {key} of {service} to {value}", did, score=score)


def denied(name: str, *, score: float = -1.0) -> Script:
    """What never works."""
    return Script(
        f"Frob {name}", [Did(f"frob {name}", False, f"frob: {name} is not supported on this host")], score=score
    )


def call_json(host: str, port: int) -> Script:
    """A tool with JSON inputs."""
    wrong = json.dumps({"host": host, "port": port})
    right = json.dumps({"host": host, "port": port, "tls": True})
    did = [
        Did(wrong, False, f"ConnectionError: {host}:{port} speaks TLS only", tool="connect"),
        Did(right, True, "connected", tool="connect"),
    ]
    return Script(f"Connect to {host} on port {port}", did, score=1.0)


def chinese(name: str) -> Script:
    """An error in Chinese."""
    did = [
        Did(f"启动 {name}", False, f"错误：服务 {name} 的许可证已过期"),
        Did(f"更新许可证 {name}"),
        Did(f"启动 {name}"),
    ]
    return Script(f"请启动服务 {name}", did, score=1.0)


def learn_in(tx: SqliteTx, id: str) -> set[str]:
    """Value an episode and make policies of it, as learning does."""
    case = CaseBuilder(tx.db).case(id)
    assert case is not None
    lived.set_values(tx, {n: (c.alpha, c.value) for n, c in case.credits.items()}, id)
    lived.set_reward(tx, id, case.reward.value, case.reward.confidence, tx.now)
    touched = policies.learn(tx, case)
    settling.settle(tx, touched)
    return touched


async def live(store: SqliteCube, scripts: Iterable[Script], start: int = 0) -> list[str]:
    """Episodes one after another, each learned from. Returns their ids."""
    out = []
    for n, script in enumerate(scripts, start):

        def one(tx: Any, script: Script = script, n: int = n) -> str:
            id = play(tx, script, n)
            learn_in(tx, id)
            return id

        out.append(await store.write(one))
    return out


async def again(store: SqliteCube, id: str) -> None:
    """Learn from an episode once more."""
    await store.write(lambda tx: learn_in(tx, id))


async def all_policies(store: SqliteCube, form: str | None = None) -> list[tuple[Memory, PolicyBody]]:
    """The policies of a cube, oldest first."""
    found = reversed(await store.lived(lived.learned_memories, "policy"))
    both = [(m, PolicyBody.of(m)) for m in found]
    return [(m, b) for m, b in both if form is None or b.form == form]


async def only(store: SqliteCube, form: str) -> tuple[Memory, PolicyBody]:
    """The one policy of a form."""
    (found,) = await all_policies(store, form)
    return found
