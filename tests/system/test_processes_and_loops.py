"""Forks, event loops, forgotten objects and processes that end at the wrong moment."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import memos.storage.sqlite.cube as cubes
from memos import AsyncMemOS, MemOS
from memos.errors import InvalidInput, MemosError, NotFound, StorageError

SHARED = re.compile(r"memos-(queue-)?(read|write|watch)_\d+")
KAYAK = "The teal kayak lies in shed four"
CHILD = """
import os, sys
from memos import MemOS
from memos.errors import InvalidInput
home = sys.argv[1]
old, idle = MemOS(home, embedder='none'), MemOS(home, embedder='none')
old.add('The teal kayak lies in shed four', wait=True)
assert len(old.search('kayak')) == 1
pid = os.fork()
if not pid:
    try:
        old.search('kayak')
    except InvalidInput as e:
        assert 'before fork' in str(e), e
    else:
        raise AssertionError('answered')
    old.close()
    with MemOS(home, embedder='none') as new:
        assert len(new.search('kayak')) == 1
        new.add('I moved to Oslo in the child', wait=True)
        assert len(new.search('Oslo')) >= 1
    assert len(idle.search('Oslo')) >= 1  # never used before the fork
    sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert len(old.search('Oslo')) >= 1
old.add('and back in the parent', wait=True)
"""


def run(code: str, home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code, str(home)],
        capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_is_told_and_works_with_a_new_one(home: Path) -> None:
    run(CHILD, home)


def test_forgotten_systems_leave_no_threads_and_files_behind(home: Path) -> None:
    def open_files() -> int:
        return len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0

    def threads() -> Counter[str]:
        # All systems share one pool of each name, whose threads start when they are first needed: a name twice is a second pool.
        return Counter(t.name if t.name.startswith("memos-") else "other" for t in threading.enumerate())

    def left_behind() -> Counter[str]:
        return threads() - before - Counter({name: 1 for name in threads() if SHARED.fullmatch(name)})

    MemOS(home, embedder="none").close()
    before, files = threads(), open_files()
    for i in range(6):
        forgotten = MemOS(home, embedder="none")
        forgotten.add(f"number {i} of the kayaks")
        del forgotten
    gc.collect()
    until = time.monotonic() + 15
    while time.monotonic() < until and (left_behind() or open_files() > files):
        time.sleep(0.05)
    assert not left_behind()
    assert open_files() <= files
    with MemOS(home, embedder="none") as memos:
        assert len(memos.list(kinds=["trace"]).items) == 6


def test_one_system_in_several_loops_is_refused_by_name_and_can_be_closed(home: Path) -> None:
    memos = AsyncMemOS(home, embedder="none")
    asyncio.run(memos.add(KAYAK))
    with pytest.raises(InvalidInput, match="another event loop"):
        asyncio.run(memos.search("kayak"))
    asyncio.run(memos.close())
    with MemOS(home, embedder="none") as again:
        assert len(again.search("kayak")) == 1


async def test_closing_from_another_loop_that_runs_is_refused(home: Path) -> None:
    memos = AsyncMemOS(home, embedder="none", background=False)
    await memos.add(KAYAK)
    with pytest.raises(InvalidInput, match="another event loop"):
        await asyncio.to_thread(lambda: asyncio.run(memos.close()))
    assert len(await memos.search("kayak")) == 1
    await memos.close()


def test_closing_while_adding_says_nothing_on_stderr_and_loses_nothing(home: Path) -> None:
    code = """
import sys, threading, time
from memos import MemOS
from memos.errors import InvalidInput
m, ids = MemOS(sys.argv[1], embedder='none'), []
def work(j):
    for i in range(100_000):
        try:
            ids.extend(m.add(f'thread {j} item {i} words here').ids)
        except InvalidInput:
            return
threads = [threading.Thread(target=work, args=(j,)) for j in range(6)]
[t.start() for t in threads]; time.sleep(.3); m.close(); [t.join(10) for t in threads]
with MemOS(sys.argv[1], embedder='none', background=False) as again:
    assert all(again.get(i) for i in ids)
"""
    run(code, home)


def test_a_cube_that_another_deletes_while_it_is_opened_takes_nothing_in(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        MemOS(home, embedder="none", background=False) as one,
        MemOS(home, embedder="none", background=False) as two,
    ):
        one.add(KAYAK, user="a")
        real, done = cubes.connect, []

        def meanwhile(path: Path, **options: Any) -> Any:
            if not done:
                done.append(one.delete_cube("a", user="a"))
            return real(path, **options)

        monkeypatch.setattr(cubes, "connect", meanwhile)
        with pytest.raises(StorageError):
            two.add("secret words", user="a")
        monkeypatch.undo()
        assert done
        assert list((home / "cubes").iterdir()) == []
        two.add("new words", user="a")
        assert [m.text for m in one.list(user="a").items] == ["new words"]


def test_two_instances_add_while_one_deletes_and_every_error_is_ours(home: Path) -> None:
    wrong: list[BaseException] = []
    with MemOS(home, embedder="none") as one, MemOS(home, embedder="none") as two:
        until = time.monotonic() + 1.5

        def work(call: Any) -> None:
            n = 0
            while time.monotonic() < until:
                n += 1
                try:
                    call(n)
                except (NotFound, StorageError):
                    pass
                except BaseException as e:
                    wrong.append(e)
                    return

        calls = [
            lambda n: one.add(f"one says {n} words", user="a"),
            lambda n: two.add(f"two says {n} words", user="a"),
            lambda n: (time.sleep(0.02), one.delete_cube("a", user="a")),
            lambda n: two.stats(user="a"),
        ]
        threads = [threading.Thread(target=work, args=(c,)) for c in calls]
        for t in threads:
            t.start()
        for t in threads:
            t.join(30)
        assert not wrong
        known = {c.location for c in one.list_cubes(user="a")}
    assert {f.name for f in (home / "cubes").glob("*.cube")} <= known


def deep(levels: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for _ in range(levels):
        out = {"a": out}
    return out


@pytest.mark.parametrize("info", [{"a": object()}, ["a"], {"a": float("nan")}, deep(3_000), {1: 2}])
def test_metadata_of_cubes_and_memories_is_checked_alike(memos: MemOS, info: Any) -> None:
    for call in (lambda: memos.create_cube("c", info=info), lambda: memos.add(KAYAK, info=info)):
        with pytest.raises(InvalidInput, match="info"):
            call()
    assert memos.list_cubes() == []


@pytest.mark.parametrize("names", [[["A"]], [1], [None], 5, [], [""], {}])
def test_cubes_to_search_are_checked(memos: MemOS, names: Any) -> None:
    with pytest.raises(InvalidInput):
        memos.search("kayak", cubes=names)


@pytest.mark.parametrize("target", ["cubes/x.memos", "control.db", "x.memos", "../link/cubes/y", "../link"])
@pytest.mark.parametrize("overwrite", [True, False])
def test_nothing_is_exported_into_the_data_folder(memos: MemOS, home: Path, target: str, overwrite: bool) -> None:
    memos.add(KAYAK)
    (home.parent / "link").symlink_to(home)
    before = {f: f.read_bytes() for f in home.rglob("*") if f.is_file() and f.suffix in (".db", ".cube")}
    with pytest.raises(InvalidInput):
        memos.export_cube(home / target, overwrite=overwrite)
    assert {f: f.read_bytes() for f in before} == before


def test_nothing_but_plain_files_is_overwritten_by_an_export(memos: MemOS, tmp_path: Path) -> None:
    memos.add(KAYAK)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "to_folder").symlink_to(tmp_path / "folder")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("pipe", "folder", "null", "to_folder", "loop/x", "a\0b", "none/x"):
        with pytest.raises(InvalidInput):
            memos.export_cube(tmp_path / name, overwrite=True)
    with pytest.raises(InvalidInput):
        memos.import_cube("a\0b", "c")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(MemosError, match="exists"):
        memos.export_cube(tmp_path / "dangling")


def test_what_a_killed_export_left_is_gone_after_the_next_to_that_name(memos: MemOS, tmp_path: Path) -> None:
    memos.add(KAYAK)
    left = tmp_path / ".x.memos.0123456789ab.part"
    left.write_text("plain words")
    other = tmp_path / ".y.memos.0123456789ab.part"
    other.write_text("of another export")
    memos.export_cube(tmp_path / "x.memos")
    assert (left.exists(), other.exists()) == (False, True)
