"""Disks that are full, files that are damaged, replaced, forbidden or not ours: a typed error that says what to do,
and nothing acknowledged is lost (law 2).
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from memos.errors import (
    SchemaTooNew,
    StorageBusy,
    StorageDamaged,
    StorageError,
    StorageFull,
    StorageReadOnly,
)
from memos.memory.ids import new_id
from memos.memory.model import Kind, Memory
from memos.storage.ports import Probe, Purged
from memos.storage.sqlite import connect as connecting
from memos.storage.sqlite.cube import SCHEMA, SqliteCube
from memos.storage.sqlite.registry import SqliteRegistry
from memos.system import AsyncMemOS

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def said(text: str = "tea in oslo") -> Memory:
    return Memory(new_id(), Kind.TRACE, text, session="s")


async def cube_with(path: Path, count: int = 3) -> SqliteCube:
    cube = SqliteCube.open(path)
    await cube.write(lambda tx: [tx.put(said(f"tea number {i}")) for i in range(count)])
    return cube


def big(i: int) -> Memory:
    return said(f"{i} " + " ".join(f"{random.Random(i).getrandbits(64):x}" for _ in range(3_000)))


# -- a full disk -------------------------------------------------------------------------------------------------


async def fill(cube: SqliteCube) -> tuple[list[str], StorageError]:
    kept: list[str] = []
    for i in range(3_000):
        memory = big(i)
        try:
            await cube.write(lambda tx, m=memory: tx.put(m))
        except StorageError as e:
            return kept, e
        kept.append(memory.id)
    raise AssertionError("the disk never filled up")


async def test_pages_that_run_out_are_a_full_disk_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    cube = await cube_with(tmp_path / "a.cube")
    cube._writer.submit_bare(lambda db: db.execute("PRAGMA max_page_count=200").get).result()
    kept, error = await fill(cube)
    assert isinstance(error, StorageFull)
    assert len(await cube.get(kept)) == len(kept) > 0
    assert await cube.count() == len(kept) + 3
    assert await cube.check() == []
    cube._writer.submit_bare(lambda db: db.execute("PRAGMA max_page_count=100000").get).result()
    await cube.write(lambda tx: tx.put(said("after")))
    assert await cube.count() == len(kept) + 4
    await cube.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    if (
        not ROOT
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], check=False).returncode
    ):
        pytest.skip("no right to mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


async def test_a_full_disk_refuses_writes_and_works_again_when_there_is_room(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"\0" * (6 << 20))
    path = small_disk / "a.cube"
    cube = await cube_with(path)
    kept, error = await fill(cube)
    assert isinstance(error, StorageFull)
    assert "free disk space" in str(error)
    with pytest.raises(StorageFull):
        await cube.write(lambda tx: [tx.put(big(9_999)) for _ in range(3)])
    assert len(await cube.get(kept)) == len(kept) > 0
    assert len((await cube.gather(Probe({"tea": 1.0}))).rows) == 3 + len(kept)
    ballast.unlink()
    await cube.write(lambda tx: tx.put(said("after")))
    purged = await cube.purge(kept[: len(kept) // 2])
    assert purged.erased_from_disk
    await cube.close()
    again = SqliteCube.open(path)
    assert await again.check() == []
    assert await again.count() == len(kept) - len(kept) // 2 + 4
    await again.close()


async def test_a_disk_too_full_to_rewrite_the_file_puts_erasing_off_but_not_the_deletion(small_disk: Path) -> None:
    cube = await cube_with(small_disk / "a.cube")
    ids = [m.id for m in await cube.write(lambda tx: [tx.put(big(i)) for i in range(16)])]
    cube._writer.submit_bare(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()).result()
    used = (small_disk / "a.cube").stat().st_size
    (small_disk / "ballast").write_bytes(b"\0" * ((8 << 20) - used - (1 << 20)))
    report = await cube.purge(ids[:1])
    assert (report.memories, report.erased_from_disk) == (1, False)
    assert await cube.get(ids[:1]) == []
    (small_disk / "ballast").unlink()
    await cube.close()
    again = SqliteCube.open(small_disk / "a.cube")  # what was put off is done at the next start
    assert again.read_now(lambda db: db.execute("SELECT count(*) FROM meta WHERE key='unerased'").get) == 0
    assert await again.check() == []
    await again.close()


async def test_a_disk_too_full_to_create_a_cube_says_so(small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(b"\0" * ((8 << 20) - 8192))
    with pytest.raises(StorageError) as caught:
        await cube_with(small_disk / "a.cube", 50)
    assert isinstance(caught.value, StorageFull)
    with pytest.raises(StorageFull):
        SqliteRegistry(small_disk / "new")
    (small_disk / "ballast").unlink()
    cube = await cube_with(small_disk / "a.cube")
    assert await cube.check() == []
    await cube.close()


# -- files that may not be written -------------------------------------------------------------------------------

AS_NOBODY = """
import os, sys, asyncio
from pathlib import Path
from memos.errors import MemosError
from memos.memory.model import Kind, Memory
from memos.memory.ids import new_id
from memos.storage.ports import TextQuery, Probe
from memos.storage.sqlite.cube import SCHEMA, SqliteCube
async def main():
    cube = SqliteCube.open(Path(sys.argv[1]))
    found = await cube.search_text(TextQuery(("tea",)))
    pool = await cube.gather(Probe({"tea": 1.0}))
    print(cube.read_only, await cube.count(), len(found), len(pool.rows), (await cube.check()) == [])
    for attempt in (cube.write(lambda tx: tx.put(Memory(new_id(), Kind.TRACE, "x"))), cube.purge([new_id()])):
        try:
            await attempt
        except MemosError as e:
            print(type(e).__name__)
    await cube.close()
SqliteCube.open(Path(sys.argv[2])).write_soon(lambda tx: tx.put(Memory(new_id(), Kind.TRACE, "x"))).result()
os.setgid(65534)
os.setuid(65534)
try:
    asyncio.run(main())
except MemosError as e:
    print(type(e).__name__)
"""


def as_nobody(path: Path, warm: Path) -> list[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(path), str(warm)], capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    if not ROOT:
        pytest.skip("needs root to become somebody else")
    folder = Path("/tmp") / f"memos-test-{new_id()}"  # pytest's own folders are closed to others
    folder.mkdir()
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o444, 0o555), (0o666, 0o555), (0o444, 0o777)])
async def test_what_cannot_be_written_is_read(
    tmp_path: Path, open_folder: Path, file_mode: int, folder_mode: int
) -> None:
    path = open_folder / "a.cube"
    await (await cube_with(path)).close()
    path.chmod(file_mode)
    open_folder.chmod(folder_mode)
    assert as_nobody(path, tmp_path / "warm.cube") == [
        "True",
        "3",
        "3",
        "3",
        "True",
        "StorageReadOnly",
        "StorageReadOnly",
    ]


async def test_what_may_not_even_be_read_or_made_is_a_typed_error(tmp_path: Path, open_folder: Path) -> None:
    path = open_folder / "a.cube"
    await (await cube_with(path)).close()
    path.chmod(0o600)
    assert as_nobody(path, tmp_path / "warm.cube")[-1].startswith("Storage")
    open_folder.chmod(0o555)
    assert as_nobody(open_folder / "new.cube", tmp_path / "warm.cube") == ["StorageReadOnly"]
    assert as_nobody(open_folder / "sub" / "new.cube", tmp_path / "warm.cube") == ["StorageReadOnly"]


async def test_an_old_file_that_cannot_be_written_is_not_upgraded_silently(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.cube"
    await (await cube_with(path)).close()
    monkeypatch.setattr("memos.storage.sqlite.cube.SCHEMA", SCHEMA + 1)
    monkeypatch.setattr(os, "access", lambda p, mode: mode != os.W_OK)
    with pytest.raises(StorageReadOnly, match="upgrade"):
        SqliteCube.open(path)


# -- files that are not what they should be ----------------------------------------------------------------------


async def test_other_files_are_never_taken_for_a_cube(tmp_path: Path) -> None:
    path = tmp_path / "a.cube"
    path.write_bytes(b"just some text, long enough to be read as a header" * 100)
    with pytest.raises(StorageDamaged):
        SqliteCube.open(path)
    other = tmp_path / "other.db"
    db = apsw.Connection(str(other))
    db.execute("CREATE TABLE mine(a); INSERT INTO mine VALUES(1)")
    for version in (0, 1, 99):
        db.execute(f"PRAGMA user_version={version}")
        with pytest.raises(StorageDamaged, match="not one of ours"):
            SqliteCube.open(other)
    assert db.execute("SELECT a FROM mine").get == 1
    db.close()
    SqliteRegistry(tmp_path / "home").close()
    with pytest.raises(StorageDamaged):
        SqliteCube.open(tmp_path / "home" / "control.db")


async def test_a_missing_file_is_not_made_anew_unless_asked(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="does not exist"):
        SqliteCube.open(tmp_path / "a.cube", create=False)
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError):
        SqliteCube.open(tmp_path / "file" / "a.cube")
    with pytest.raises(StorageError):
        SqliteCube.open(tmp_path)


async def test_the_lost_file_of_a_cube_is_an_error_and_not_an_empty_cube(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none", background=False) as memos:
        await memos.add("tea in oslo", user="ann")
        assert len((await memos.search("tea", user="ann")).hits) == 1
        await memos.create_cube("never used", user="ann")
    for file in (tmp_path / "cubes").iterdir():
        if file.stat().st_size:
            file.rename(tmp_path / "elsewhere")
    async with AsyncMemOS(tmp_path, embedder="none", background=False) as memos:
        for call in (memos.add("milk", user="ann"), memos.search("tea", user="ann"), memos.list(user="ann")):
            with pytest.raises(StorageError, match="does not exist"):
                await call
        assert (await memos.list(user="ann", cube="never used")).items == ()


async def test_damaged_pages_are_reported_and_do_not_end_the_process(tmp_path: Path) -> None:
    path = tmp_path / "a.cube"
    cube = await cube_with(path, 400)
    await cube.close()
    whole = path.read_bytes()
    size = 4096
    seen = 0
    for page in range(2, len(whole) // size, max(1, len(whole) // size // 12)):
        damaged = bytearray(whole)
        damaged[page * size : (page + 1) * size] = random.Random(page).randbytes(size)
        path.write_bytes(bytes(damaged))
        seen += await _meets_damage(path)
    assert seen >= 10
    path.write_bytes(whole)
    cube = SqliteCube.open(path)
    assert (await cube.check(), await cube.count()) == ([], 400)
    await cube.close()


async def _meets_damage(path: Path) -> bool:
    """Whether damage is told, by `check` or by the error; no other kind of error may come out."""
    try:
        cube = SqliteCube.open(path)
    except StorageError:
        return True
    try:
        problems = await cube.check()
    except StorageError:
        problems = ["error"]
    try:
        for call in (
            cube.count(),
            cube.list(limit=500),
            cube.gather(Probe({"tea": 1.0})),
            cube.write(lambda tx: tx.put(said())),
        ):
            try:
                await call
            except StorageError:
                problems.append("error")
    finally:
        await cube.close()
    return bool(problems)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
async def test_a_truncated_file_is_damaged(tmp_path: Path, share: float) -> None:
    path = tmp_path / "a.cube"
    await (await cube_with(path, 300)).close()
    os.truncate(path, int(path.stat().st_size * share))
    with pytest.raises(StorageDamaged):  # noqa: PT012 - any of the steps may find it
        cube = SqliteCube.open(path)
        try:
            assert await cube.check() != []
            await cube.list(limit=1_000)
            await cube.gather(Probe({"tea": 1.0}))
        finally:
            await cube.close()


async def test_a_file_cut_short_while_open_is_an_error_not_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "a.cube"
    await (await cube_with(path, 3_000)).close()
    cube = SqliteCube.open(path)
    await cube.count()
    os.truncate(path, 4096 * 3)
    with pytest.raises(StorageError):
        await cube.list(limit=5_000)
    await cube.close()


async def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.cube"
    await (await cube_with(path)).close()
    db = apsw.Connection(str(path))
    db.execute("PRAGMA user_version=99")
    db.close()
    before = path.read_bytes()
    with pytest.raises(SchemaTooNew, match="newer checkout"):
        SqliteCube.open(path)
    assert path.read_bytes() == before


# -- files that go away while they are open ----------------------------------------------------------------------


async def test_a_deleted_file_takes_no_more_writes(tmp_path: Path) -> None:
    path = tmp_path / "a.cube"
    cube = await cube_with(path)
    path.unlink()
    with pytest.raises(StorageError, match="deleted or moved"):
        await cube.write(lambda tx: tx.put(said()))
    with pytest.raises(StorageError, match="deleted or moved"):
        await cube.count()
    assert not path.exists()
    with pytest.raises(StorageError):
        await cube.purge([new_id()])
    await cube.close()


async def test_a_replaced_file_is_neither_written_nor_read_by_the_old_handle(tmp_path: Path) -> None:
    path, backup = tmp_path / "a.cube", tmp_path / "backup.cube"
    await (await cube_with(backup, 1)).close()
    cube = await cube_with(path, 3)
    backup.replace(path)
    with pytest.raises(StorageError, match="replaced"):
        await cube.write(lambda tx: tx.put(said()))
    with pytest.raises(StorageError, match="replaced"):
        await cube.list()
    with pytest.raises(StorageError, match="replaced"):
        await cube.gather(Probe({"tea": 1.0}))
    await cube.close()
    for left in tmp_path.glob("a.cube-*"):
        left.unlink()
    again = SqliteCube.open(path)
    assert (await again.count(), await again.check()) == (1, [])
    await again.close()


async def test_a_file_deleted_between_the_commit_and_the_answer_is_not_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "a.cube"
    cube = await cube_with(path)

    def run(tx: Any) -> None:
        tx.put(said())
        path.unlink()

    with pytest.raises(StorageError):
        await cube.write(run)
    await cube.close()


def test_a_replaced_registry_takes_no_more_changes(tmp_path: Path) -> None:
    registry = SqliteRegistry(tmp_path)
    registry.create("work", "ann")
    (tmp_path / "control.db").rename(tmp_path / "elsewhere.db")
    with pytest.raises(StorageError):
        registry.create("other", "ann")
    (tmp_path / "elsewhere.db").rename(tmp_path / "control.db")
    registry.create("other", "ann")
    registry.close()


# -- other processes ---------------------------------------------------------------------------------------------


async def test_a_lock_held_too_long_is_busy_and_the_next_write_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "BUSY_TIMEOUT_MS", 50)
    path = tmp_path / "a.cube"
    cube = await cube_with(path)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageBusy):
        await cube.write(lambda tx: tx.put(said()))
    assert await cube.count() == 3
    other.execute("ROLLBACK")
    await cube.write(lambda tx: tx.put(said()))
    registry = SqliteRegistry(tmp_path)
    control = apsw.Connection(str(tmp_path / "control.db"))
    control.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageBusy):
        registry.create("work", "ann")
    control.execute("ROLLBACK")
    assert registry.create("work", "ann")[1]
    await cube.close()
    registry.close()


async def test_a_reader_elsewhere_puts_erasing_off_but_not_the_deletion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "BUSY_TIMEOUT_MS", 50)
    path = tmp_path / "a.cube"
    cube = await cube_with(path)
    (newest,) = (await cube.list(limit=1)).items
    other = apsw.Connection(str(path))
    other.execute("BEGIN")
    assert other.execute("SELECT count(*) FROM memories").get == 3
    report = await cube.purge([newest.id])
    assert (report.memories, report.erased_from_disk) == (1, False)
    other.execute("COMMIT")
    assert (await cube.erase(Purged())).erased_from_disk
    other.close()
    await cube.close()


def test_many_processes_may_create_one_cube_at_once(tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from memos.storage.sqlite.cube import SqliteCube\n" \
        "for i in range(8): SqliteCube.open(Path(sys.argv[1]) / f'{i}.cube').close_now()"  # fmt: skip
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    children = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stderr=subprocess.PIPE, text=True, env=env)
        for _ in range(4)
    ]
    for child in children:
        _, errors = child.communicate(timeout=60)
        assert child.returncode == 0, errors
