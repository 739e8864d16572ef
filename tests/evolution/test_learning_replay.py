"""The replay test: a history is learned from in one go, with the process killed again and again between and inside changes, twice,
and with feedback that comes late. The end is the same: policies, statements and skills, their texts, states, evidence and counts,
and the values of every step.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from evolution_script import Did, Script, moment, play, say
from learning_child import learn_all

from memos.evolution.value.gain import gain_of
from memos.memory.episode import SignalSource
from memos.memory.ids import id_from_bytes
from memos.memory.learned import State
from memos.memory.model import EdgeType, Memory
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.tx import SqliteTx

CHILD = Path(__file__).with_name("learning_child.py")
KILLS = 14
LATE = (3, 9, 14, 21)  # episodes whose feedback comes late
Made = Callable[[Path], Awaitable[Path]]
MADE = ("policy", "world_model", "skill")

PACKAGES = [("psycopg2", "libpq-dev"), ("lxml", "libxml2-dev"), ("pillow", "libjpeg-dev"), ("cffi", "libffi-dev")]
SERVICES = ["billing", "orders", "search", "mail"]


def install(package: str, library: str, score: float | None = 1.0) -> Script:
    failed = f"error: command 'gcc' failed: {package}.h: No such file or directory"
    did = [
        Did(f"pip install {package}", False, failed),
        Did(f"apt-get install -y {library}"),
        Did(f"pip install {package}"),
    ]
    return Script(f"install the python package {package}", did, score=score)


def deploy(service: str, score: float | None = 1.0) -> Script:
    did = [
        Did(f"git -C /srv/{service} pull"),
        Did(f"systemctl restart {service}"),
        Did(f"systemctl status {service}", said="active"),
    ]
    return Script(f"deploy the service {service}", did, score=score)


def write(name: str) -> Script:
    did = [
        Did(f"cp {name} /opt/vendor/{name}", False, f"cp: cannot create '/opt/vendor/{name}': Read-only file system")
    ]
    return Script(
        f"put {name} into the vendor folder", did, "I could not do it.", score=-1.0, source=SignalSource.VERIFIER
    )


def history() -> list[Script]:
    """About thirty episodes: three families, contradictory words, and some that nobody says anything of."""
    out: list[Script] = []
    for n in range(4):
        out += [install(*PACKAGES[n]), deploy(SERVICES[n]), write(f"file{n}.conf")]
    out += [
        Script("what is the weather", (), "It rains.", score=None),
        deploy("cache", None),
        install("numpy", "gcc", -1.0),
    ]
    for n in range(3):
        mixed = [(SignalSource.IMPLICIT, "correction", -0.5), (SignalSource.VERIFIER, "tests", 1.0 if n else -1.0)]
        script = deploy(f"worker{n}", None)
        out += [
            Script(script.goal, script.did, signals=mixed),
            install(f"pkg{n}", f"lib{n}-dev"),
            write(f"more{n}.txt"),
        ]
        out += [
            Script(f"tell me a story {n}", (), "Once upon a time.", signals=[(SignalSource.IMPLICIT, "thanks", 0.6)])
        ]
    return out


# -- the end state, without ids and times ------------------------------------------------------------------------------


def state(db: Any) -> dict[str, Any]:
    """Everything that was learned, in words that are the same wherever it was learned the same."""
    names = {
        id_from_bytes(i): f"{kind}:{text}"
        for i, kind, text in db.execute("SELECT id, kind, text FROM memories WHERE known_to IS NULL")
    }
    of_step = {id_from_bytes(i): f"step {s}" for i, s in db.execute("SELECT id, s FROM steps")}
    names |= of_step
    episodes = {e: n for n, (e,) in enumerate(db.execute("SELECT e FROM episodes ORDER BY opened_at").fetchall())}
    out: dict[str, Any] = {"made": [], "lessons": [], "steps": [], "episodes": []}
    for kind in MADE:
        for memory in lived.learned_memories(db, kind):
            found = lived.counted(db, memory.id)
            edges = db.execute(
                "SELECT dst FROM edges WHERE src=? AND type=? AND known_to IS NULL",
                (_raw(memory.id), EdgeType.DERIVED_FROM.value),
            )
            out["made"].append(
                {
                    "kind": kind,
                    "text": memory.text,
                    "title": memory.title,
                    "status": memory.status.value,
                    "tags": sorted(memory.tags),
                    "body": json.loads(_renamed(json.dumps(_body(memory), sort_keys=True, default=str), names)),
                    "counted": (
                        found.support,
                        sorted(round(v, 9) for v in found.values),
                        found.passes,
                        found.fails,
                        found.handed,
                    ),
                    "gain": round(gain_of(db, memory.id), 9),
                    "rests on": sorted(names[id_from_bytes(dst)] for (dst,) in edges),
                }
            )
    out["made"].sort(key=lambda m: json.dumps(m, sort_keys=True, default=str))
    for e, form, bucket, steps, value, memory in db.execute(
        "SELECT episode, form, bucket, steps, value, memory FROM lessons"
    ):
        policy = None if memory is None else names[id_from_bytes(memory)]
        out["lessons"].append((episodes[e], form, bucket.hex(), steps, round(value, 9), policy or ""))
    out["lessons"].sort()
    out["steps"] = [(s, _r(a), _r(v)) for s, a, v in db.execute("SELECT s, alpha, value FROM steps ORDER BY s")]
    out["episodes"] = [
        (_r(r), _r(c), d)
        for r, c, d in db.execute("SELECT reward, confidence, due_at FROM episodes ORDER BY opened_at")
    ]
    out["trials"] = sorted(
        (names.get(id_from_bytes(m), "?"), str(o), str(f), _r(r) or 0.0)
        for m, o, f, r in db.execute("SELECT memory, outcome, followed, reward FROM trials")
    )
    return out


def _body(memory: Memory) -> dict[str, Any]:
    """A body without the digest of the ids it was drawn from."""
    return {k: v for k, v in memory.body.items() if k != "drawn"}


def _raw(id: str) -> bytes:
    return bytes.fromhex(id.replace("-", ""))


def _renamed(text: str, names: dict[str, str]) -> str:
    for id, name in names.items():
        if id in text:
            text = text.replace(id, json.dumps(name)[1:-1])
    return text


def _r(value: float | None) -> float | None:
    return None if value is None else round(value, 9)


async def state_of(path: Path) -> dict[str, Any]:
    store = SqliteCube.open(path)
    try:
        return await store.read_lived(state)
    finally:
        await store.close()


# -- how it is learned -------------------------------------------------------------------------------------------------


def run_child(path: Path, *args: str) -> subprocess.Popen[bytes]:
    here = Path(__file__).parent
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), *sys.path]), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, str(CHILD), str(path), *args], env=env)


async def write_to(path: Path, fn: Callable[[SqliteTx], Any]) -> Any:
    store = SqliteCube.open(path)
    try:
        return await store.write(fn)  # type: ignore[arg-type]
    finally:
        await store.close()


async def told(path: Path, first: int = 0, last: int = 99, *, feedback: bool = True) -> None:
    """Store the episodes of the history that are not there yet."""

    def fill(tx: SqliteTx) -> None:
        for n, script in enumerate(history()):
            if first <= n < last:
                play(tx, script, n, feedback=feedback or n not in LATE)

    await write_to(path, fill)


async def told_once(tmp_path: Path) -> Path:
    """A cube with the whole history, nothing learned."""
    path = tmp_path / "told.db"
    await told(path)
    return path


async def with_trials(tmp_path: Path) -> Path:
    """A cube that has learned from the first half, and hands out in the second what it learned; nothing learned from that yet."""
    path = tmp_path / "trials.db"
    await told(path, last=12)
    await learn_all(path)
    await told(path, first=12)

    def hand_out(tx: SqliteTx) -> None:
        learned = sorted(lived.learned_memories(tx.db, "policy"), key=lambda m: m.text)
        ids = [id_from_bytes(i) for (i,) in tx.db.execute("SELECT id FROM episodes ORDER BY opened_at").fetchall()]
        for n, episode in enumerate(ids[12:], 12):
            for policy in learned[n % 2 :: 2]:
                lived.hand_out(tx, policy.id, episode, moment(n * 60 + 0.5), after=0)

    await write_to(path, hand_out)
    return path


def copy(path: Path, name: str) -> Path:
    return Path(shutil.copy(path, path.with_name(f"{name}.db")))


async def learned_in_one_go(path: Path) -> dict[str, Any]:
    here = copy(path, "one_go")
    await learn_all(here)
    return await state_of(here)


async def test_the_history_teaches_something(tmp_path: Path) -> None:
    found = await learned_in_one_go(await told_once(tmp_path))
    states = {m["body"].get("state") for m in found["made"] if m["kind"] == "policy"}
    assert State.ACTIVE.value in states
    assert {lesson[1] for lesson in found["lessons"]} >= {"fix", "path", "avoid"}
    assert all(m["counted"][0] >= 2 for m in found["made"] if m["kind"] == "policy")
    assert any(m["kind"] == "skill" for m in found["made"])
    assert sum(reward is None for reward, _, _ in found["episodes"]) >= 1


@pytest.mark.parametrize("made", [told_once, with_trials])
async def test_a_crash_anywhere_changes_nothing(made: Made, tmp_path: Path) -> None:
    path = await made(tmp_path)
    expected = await learned_in_one_go(path)
    here, chance = copy(path, "killed"), random.Random(3)
    for _ in range(KILLS):
        child = run_child(here, str(chance.randrange(1, 120)))
        assert child.wait(60) in (0, -signal.SIGKILL)
    assert run_child(here).wait(120) == 0
    same(await state_of(here), expected)


async def test_a_kill_from_outside_changes_nothing(tmp_path: Path) -> None:
    path = await told_once(tmp_path)
    expected = await learned_in_one_go(path)
    here, chance = copy(path, "killed"), random.Random(7)
    for _ in range(6):
        child = run_child(here)
        try:
            child.wait(chance.uniform(0.3, 0.8))
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait(10)
    assert run_child(here).wait(120) == 0
    same(await state_of(here), expected)


@pytest.mark.parametrize("made", [told_once, with_trials])
async def test_learning_twice_is_learning_once(made: Made, tmp_path: Path) -> None:
    path = await made(tmp_path)
    expected = await learned_in_one_go(path)
    here = copy(path, "twice")
    await learn_all(here)

    def again(tx: SqliteTx) -> None:
        tx.db.execute("UPDATE episodes SET due_at=1")

    await write_to(here, again)
    before = await last_event(here)
    await learn_all(here)
    same(await state_of(here), expected)
    assert await last_event(here) == before  # nothing new happened, so nothing is told


async def test_feedback_that_comes_late_ends_where_it_would_have_if_known_before(tmp_path: Path) -> None:
    expected = await learned_in_one_go(await told_once(tmp_path))
    here = tmp_path / "late.db"
    await told(here, feedback=False)
    await learn_all(here)
    assert await state_of(here) != expected

    def late(tx: SqliteTx) -> None:
        ids = [id_from_bytes(i) for (i,) in tx.db.execute("SELECT id FROM episodes ORDER BY opened_at").fetchall()]
        for n in LATE:
            say(tx, ids[n], history()[n], n)
            lived.learn_again(tx, ids[n], tx.now)

    await write_to(here, late)
    await learn_all(here)
    same(await state_of(here), expected)


def same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """The same state; the first thing that differs is shown."""
    for part in expected:
        extra = [x for x in found[part] if x not in expected[part]]
        missing = [x for x in expected[part] if x not in found[part]]
        if part == "made" and extra and missing:
            assert len(extra) == len(missing)
            assert {k: v for k, v in extra[0].items() if missing[0][k] != v} == {}, missing[0]
        assert (extra[:1], missing[:1]) == ([], []), part
    assert found == expected


async def last_event(path: Path) -> int:
    store = SqliteCube.open(path)
    try:
        return await store.lived(lived.last_event)
    finally:
        await store.close()
