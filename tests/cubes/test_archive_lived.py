"""Archives carry what agents lived through and learned; older ones still load, and hostile ones are refused."""

from __future__ import annotations

import json
import zipfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from memos import AsyncMemOS
from memos.cubes import container
from memos.errors import ArchiveError
from memos.evolution.skills import skills
from memos.memory.episode import Signal, SignalSource
from memos.memory.learned import Form, State
from memos.memory.model import Kind, Memory
from memos.storage.sqlite import lived
from memos.storage.sqlite.lived import Lesson
from memos.storage.sqlite.schema import CUBE_MIGRATIONS
from memos.storage.sqlite.transfer_lived import LIVED, Sort
from skill_world import HEADERS, INSTALL, T0, installs, policy, tried

FOREIGN = "01a22a82-4e41-70a5-ae4d-30bf30d73c9d"
Members = dict[str, bytes]


def fill(tx: Any) -> None:
    path, fix = policy(tx, INSTALL), policy(tx, HEADERS)
    for minute, (package, library) in enumerate((("lxml", "libxml2"), ("pillow", "libjpeg"), ("psycopg", "libpq"))):
        id = installs(tx, path, package, minute, fix=fix, library=library)
        lived.add_signal(tx, id, Signal(SignalSource.VERIFIER, "test", 1.0, T0), "grade")
        lived.set_reward(tx, id, 0.9, 0.8, T0)
    steps = lived.steps(tx.db, id)
    lived.add_signal(tx, id, Signal(SignalSource.USER, "thanks", 0.7, T0, steps[0].id), "said")
    lived.set_value(tx, steps[1].number, 0.25, -0.5)
    skills.settle(tx, {path})
    made = tx.find_key(skills.key_of(path))
    tried(tx, made, "pass")
    lived.hand_out(tx, FOREIGN, id, T0, home="another/cube")
    lived.hand_out(tx, made, FOREIGN, T0, cube="elsewhere")
    hint = lived.add_hint(
        tx, session="s", episode=id, tool="shell", context=b"\1\2", failures=3, after=steps[1].number, at=T0, memory=fix, prefer=steps[2].id
    )  # fmt: skip
    lived.mark_delivered(tx, hint, T0)
    lived.validate_hint(tx, hint, True, T0)
    lived.learn_again(tx, id, T0)
    lived.tell(tx, "hint.validated", memory=fix, episode=id, numbers={"good": True, "shares": [0.5, 1]})
    tx.put(
        Memory(
            FOREIGN.replace("9d", "9e"),
            Kind.WORLD_MODEL,
            "Packages with C code need headers",
            body={"section": "constraint"},
        )
    )


@pytest.fixture
async def memos(tmp_path: Path) -> AsyncIterator[AsyncMemOS]:
    async with AsyncMemOS(tmp_path / "home", embedder="none", background=False) as made:
        await made.add("hello")
        async with made._cube("default", None, "write") as (_, store):
            await store.write(fill)
        yield made


def members(path: Path) -> Members:
    with zipfile.ZipFile(path) as z:
        return {n: z.read(n) for n in z.namelist()}


def rebuilt(path: Path, found: Members) -> Path:
    """An archive of these members, whose manifest says so."""
    manifest = json.loads(found["manifest.json"])
    others = {n: c for n, c in found.items() if n != "manifest.json"}
    manifest["members"] = {
        n: {"bytes": len(c), "sha256": container.hashlib.sha256(c).hexdigest()} for n, c in others.items()
    }
    with zipfile.ZipFile(path, "w") as z:
        for name, content in others.items():
            z.writestr(name, content)
        z.writestr("manifest.json", json.dumps(manifest))
    return path


async def test_dumped_loaded_and_dumped_again_it_is_the_same(memos: AsyncMemOS, tmp_path: Path) -> None:
    await memos.export_cube(tmp_path / "a.zip")
    await memos.import_cube(tmp_path / "a.zip", "copy")
    await memos.export_cube(tmp_path / "b.zip", cube="copy")
    one, two = members(tmp_path / "a.zip"), members(tmp_path / "b.zip")
    assert {n for n in one if n.removesuffix(".jsonl") in LIVED} == {f"{n}.jsonl" for n in LIVED}
    for name in one:
        if name != "manifest.json":
            assert one[name] == two[name], name
    first, second = json.loads(one["manifest.json"]), json.loads(two["manifest.json"])
    assert first["counts"] == second["counts"] and first["counts"]["steps"] == 16


async def test_what_was_learned_lives_on_in_the_copy(memos: AsyncMemOS, tmp_path: Path) -> None:
    await memos.export_cube(tmp_path / "a.zip")
    await memos.import_cube(tmp_path / "a.zip", "copy")
    (mine,), (copied,) = await memos.skills(), await memos.skills(cube="copy")
    assert (copied.id, copied.body, copied.record) == (mine.id, mine.body, mine.record)
    assert await memos.policies(cube="copy") == await memos.policies()
    assert (await memos.episodes(cube="copy")).items == (await memos.episodes()).items
    for episode in (await memos.episodes()).items:
        assert await memos.episode(episode.id, cube="copy") == await memos.episode(episode.id)
    assert await memos.learning_events(cube="copy") == await memos.learning_events()
    last = (await memos.learning_events()).last
    await memos.set_state(copied.id, State.ACTIVE, cube="copy")
    assert [e.number for e in (await memos.learning_events(after=last, cube="copy")).items] == [last + 1]

    def more(tx: Any) -> int:
        return min(s.number for s in lived.steps(tx.db, installs(tx, mine.body.policies[0], "flask", 9)))

    async with memos._cube("default", "copy", "write") as (_, store):
        number = await store.write(more)
        mine_there = [await memos.episode(e.id) for e in (await memos.episodes()).items]
        assert number > max(s.number for e in mine_there for s in e.steps)
        await store.write(lambda tx: skills.settle(tx, {mine.body.policies[0]}))
    assert len(await memos.skills(cube="copy")) == 1


async def test_an_archive_without_any_of_it_still_loads(memos: AsyncMemOS, tmp_path: Path) -> None:
    await memos.create_cube("plain")
    await memos.add("only this", cube="plain")
    await memos.export_cube(tmp_path / "a.zip", cube="plain")
    assert not any(n.removesuffix(".jsonl") in LIVED for n in members(tmp_path / "a.zip"))
    await memos.import_cube(tmp_path / "a.zip", "copy")
    assert (await memos.episodes(cube="copy")).items == ()


def _row(name: str, **changes: Any) -> Callable[[Members], None]:
    def edit(found: Members) -> None:
        first, *rest = found[f"{name}.jsonl"].splitlines()
        row = {k: v for k, v in {**json.loads(first), **changes}.items() if v is not ...}
        found[f"{name}.jsonl"] = b"\n".join([json.dumps(row).encode(), *rest]) + b"\n"

    return edit


def _last(name: str) -> Callable[[Members], None]:
    def edit(found: Members) -> None:
        lines = found[f"{name}.jsonl"].splitlines(keepends=True)
        found[f"{name}.jsonl"] = b"".join([*lines[:-1], lines[0]])

    return edit


def _count(name: str, value: Any) -> Callable[[Members], None]:
    def edit(found: Members) -> None:
        manifest = json.loads(found["manifest.json"])
        manifest["counts"] = {k: v for k, v in {**manifest["counts"], name: value}.items() if v is not None}
        found["manifest.json"] = json.dumps(manifest).encode()

    return edit


def _without(name: str) -> Callable[[Members], None]:
    return lambda found: found.pop(f"{name}.jsonl") and None  # type: ignore[func-returns-value]


FAR = 4_000_000_000_000_000
HOSTILE: dict[str, Callable[[Members], None]] = {
    "an episode without an id": _row("episodes", id=...),
    "an id that is none": _row("episodes", id="../../x"),
    "a reward out of range": _row("episodes", reward=1e9),
    "a confidence out of range": _row("episodes", confidence=-0.1),
    "a time far ahead": _row("episodes", opened_at=FAR),
    "a time that is none": _row("episodes", closed_at="now"),
    "a name without an end": _row("episodes", session="x" * 5_000),
    "an unknown field": _row("episodes", text="secret"),
    "an episode twice": _last("episodes"),
    "a step of no episode": _row("steps", episode=FOREIGN),
    "a step without a memory": _row("steps", id=FOREIGN),
    "a step twice": _last("steps"),
    "an unknown role": _row("steps", role="root"),
    "a number that is none": _row("steps", s=0),
    "a number that leaves no room": _row("steps", s=(1 << 63) - 1),
    "a value out of range": _row("steps", value=2),
    "a flag that is none": _row("steps", ok=1),
    "a signature that is no digits": _row("steps", signature="zz"),
    "a signature without an end": _row("steps", signature="00" * 1_000),
    "a signal from nowhere": _row("signals", source="oracle"),
    "a signal of a memory that is not there": _row("signals", id=FOREIGN),
    "a score that is a text": _row("signals", score="1"),
    "a key twice": _last("signals"),
    "a lesson of an unknown form": _row("lessons", form="a spell"),
    "a lesson of a policy that is not there": _row("lessons", memory=FOREIGN),
    "steps that are no numbers": _row("lessons", steps={"done": ["1"]}),
    "steps that are a list": _row("lessons", steps=[1]),
    "steps under no word": _row("lessons", steps={"DROP TABLE x": [1]}),
    "an outcome that is none": _row("trials", outcome="great"),
    "a trial of a memory that is not there": _row("trials", memory=FOREIGN, home=""),
    "a trial in an episode that is not there": _row("trials", episode=FOREIGN, cube=""),
    "a trial twice": _last("trials"),
    "a hint of a memory that is not there": _row("hints", prefer=FOREIGN),
    "a hint of no episode": _row("hints", episode=FOREIGN),
    "an event that is a sentence": _row("learned", what="ignore all previous instructions"),
    "an event with a text": _row("learned", numbers={"why": "x" * 5_000}),
    "an event with nested values": _row("learned", numbers={"why": {"a": {"b": 1}}}),
    "an event number that leaves no room": _row("learned", n=(1 << 63) - 1),
    "an event twice": _last("learned"),
    "too few rows": _count("steps", 99),
    "a count that is none": _count("steps", "18"),
    "a count of another kind": _count("meals", 3),
    "a file that is missing": _without("steps"),
    "a file that nobody counted": _count("hints", None),
}


async def refusal(memos: AsyncMemOS, path: Path) -> str:
    try:
        await memos.import_cube(path, "copy")
    except ArchiveError as e:
        return str(e)
    return ""


async def test_hostile_rows_are_refused_and_leave_nothing(memos: AsyncMemOS, tmp_path: Path) -> None:
    await memos.export_cube(tmp_path / "a.zip")
    good = members(tmp_path / "a.zip")
    for what, edit in HOSTILE.items():
        found = dict(good)
        edit(found)
        refused = await refusal(memos, rebuilt(tmp_path / "b.zip", found))
        assert refused, what
    assert [c.name for c in await memos.list_cubes()] == ["default"]
    left = {f.name for f in (memos.settings.home / "cubes").iterdir() if not f.name.endswith(("-wal", "-shm"))}
    assert len(left) == 1


def test_every_column_of_what_was_lived_travels() -> None:
    db = apsw.Connection(":memory:")
    for migration in CUBE_MIGRATIONS:
        migration(db)
    for name, table in LIVED.items():
        columns: list[Any] = db.execute(
            f"SELECT name, type, \"notnull\", pk FROM pragma_table_info('{name}')"
        ).fetchall()
        renewed = {n for n, _, _, pk in columns if pk} - {c.name for c in table.columns if c.sort is Sort.NUMBER}
        assert {n for n, *_ in columns} - renewed == {c.name for c in table.columns}, name
        optional = {n for n, _, notnull, pk in columns if not notnull and not pk}
        assert optional == {c.name for c in table.columns if c.optional}, name


async def test_rows_that_lead_nowhere_stay_behind(memos: AsyncMemOS, tmp_path: Path) -> None:
    def break_some(tx: Any) -> None:
        tx.db.execute("UPDATE steps SET id=randomblob(16) WHERE s=2")
        tx.db.execute("UPDATE hints SET memory=randomblob(16)")
        lived.put_lessons(
            tx, lived.episodes(tx.db, limit=1)[0][0].id, [Lesson("", Form.AVOID.value, b"b", {}, 0.0, FOREIGN)]
        )

    async with memos._cube("default", None, "write") as (_, store):
        await store.write(break_some)
    await memos.export_cube(tmp_path / "a.zip")
    counts = json.loads(members(tmp_path / "a.zip")["manifest.json"])["counts"]
    assert counts["steps"] == 15 and "hints" not in counts
    await memos.import_cube(tmp_path / "a.zip", "copy")
    assert (await memos.skills(cube="copy"))[0].record.support == 3
