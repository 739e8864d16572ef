"""From episodes to statements through what is really induced: no policy is written by hand here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evolution_script import Did, Script, play

from memos.evolution.learn import learn_episode
from memos.memory.learned import WorldBody
from memos.memory.model import Memory, Status
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube


def install(package: str, header: str) -> Script:
    error = f"building '{package}'\n  src/native.c:12:10: fatal error: {header}.h: No such file or directory\nerror: command 'gcc' failed"
    did = [
        Did(f"pip install {package}", False, error),
        Did(f"apt-get install lib{header}-dev"),
        Did(f"pip install {package}"),
    ]
    return Script(f"Install the Python package {package}", did, score=1.0)


def start(service: str, at: int) -> Script:
    error = f"RuntimeError: schema of '{service}' is at revision {at}, the code expects {at + 3}"
    did = [Did(f"app start {service}", False, error), Did(f"db migrate {service}"), Did(f"app start {service}")]
    return Script(f"Start the app {service}", did, score=1.0)


def starts(service: str) -> Script:
    return Script(f"Start the app {service}", [Did(f"app start {service}")], score=1.0)


class Life:
    """A cube that lives through scripts."""

    def __init__(self, store: SqliteCube) -> None:
        self.store, self.n = store, 0

    async def through(self, scripts: Sequence[Script]) -> list[str]:
        out = []
        for script in scripts:
            self.n += 1
            out.append(await self.store.write(lambda tx, s=script: self._one(tx, s)))  # type: ignore[misc]
        return out

    def _one(self, tx: Any, script: Script) -> str:
        id = play(tx, script, self.n)
        learn_episode(tx, id)
        return id

    async def world(self) -> list[Memory]:
        return await self.store.lived(lived.learned_memories, "world_model")

    async def rules(self) -> list[Memory]:
        """The statements that rest on policies."""
        return [m for m in await self.world() if WorldBody.of(m).policies]


async def test_a_statement_comes_with_the_second_episode_and_holds_for_unseen_packages(tmp_path: Path) -> None:
    store = SqliteCube.open(tmp_path / "i.cube")
    life = Life(store)
    await life.through([install("lxml", "xml2")])
    assert await life.rules() == []
    await life.through([install("pillow", "jpeg"), install("numpy", "blas")])
    (one,) = await life.rules()
    text = one.text
    assert text.startswith("On web1, `shell`: `pip install {") and "unless `shell`: `apt-get install lib{" in text
    assert WorldBody.of(one).holds == 3 and not any(name in text for name in ("lxml", "pillow", "numpy", "jpeg"))
    await store.close()


async def test_a_world_that_changed_is_believed_and_changes_back(tmp_path: Path) -> None:
    store = SqliteCube.open(tmp_path / "c.cube")
    life = Life(store)
    await life.through([start(s, n) for n, s in enumerate(("shop", "crm", "mail", "shop", "crm"))])
    (one,) = await life.rules()
    assert one.status is Status.ACTIVE
    await life.through([starts(s) for s in ("shop", "crm", "mail", "shop", "crm", "mail")])
    (fallen,) = [m for m in await life.rules() if m.id == one.id]
    assert fallen.status is Status.ARCHIVED and WorldBody.of(fallen).fails >= 4
    await life.through([start(s, n) for n, s in enumerate(("shop", "crm", "mail", "shop"))])
    (back,) = [m for m in await life.rules() if m.id == one.id]
    assert back.status is Status.ACTIVE
    await store.close()


async def test_learning_again_in_any_order_ends_in_the_same_statements(tmp_path: Path) -> None:
    store = SqliteCube.open(tmp_path / "r.cube")
    life = Life(store)
    ids = await life.through(
        [install("lxml", "xml2"), start("shop", 3), install("pillow", "jpeg"), start("crm", 9), starts("shop")]
    )
    before = [(m.text, m.status, m.confidence, dict(m.body)) for m in await life.world()]
    for id in reversed(ids):
        await store.write(lambda tx, i=id: learn_episode(tx, i))  # type: ignore[misc]
    assert [(m.text, m.status, m.confidence, dict(m.body)) for m in await life.world()] == before
    await store.close()
