"""What was acknowledged survives `kill -9` and any number of processes (law 2)."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from making import EVERYTHING, found
from writing_child import word

from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.terms import fts_document

ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "OMP_NUM_THREADS": "1"}
CHILD = Path(__file__).with_name("writing_child.py")


def start(path: Path, tag: str, threads: int, amount: int, *options: str) -> subprocess.Popen[str]:
    """A writing process."""
    command = [sys.executable, str(CHILD), str(path), tag, str(threads), str(amount), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV)


def acknowledged(output: str) -> dict[str, str]:
    """id -> its own word, of every whole line that was said."""
    lines = [line.split() for line in output.splitlines(keepends=True) if line.endswith("\n")]
    return {line[0]: line[1] for line in lines if len(line) == 2}


async def assert_sound(path: Path, said: dict[str, str], tag: str) -> None:
    """Every acknowledged write is there and found by its word, and the file has no orphans."""
    cube = SqliteCube.open(path)
    try:
        assert await cube.check() == []
        there = {m.id: m for m in await cube.get(list(said), EVERYTHING)}
        assert [i for i in said if i not in there] == []
        marked = {t.id for t in await cube.todo("digest", 1_000_000)}
        assert set(said) <= marked
        for id in random.Random(tag).sample(sorted(said), min(25, len(said))):
            assert await found(cube, said[id]) == [there[id].text]
        text_index_agrees_with_rows(cube)
        assert {x.edge.dst for x in await cube.neighbors(list(said)[:50])} <= set(said)
    finally:
        await cube.close()


def text_index_agrees_with_rows(cube: SqliteCube) -> None:
    """The full-text index of the file equals one made from the term numbers that the rows hold."""

    def run(db: object) -> None:
        db.execute("CREATE TEMP TABLE IF NOT EXISTS made(t INTEGER, doc TEXT)")  # type: ignore[attr-defined]
        rows = db.execute("SELECT n, terms, beside FROM memories WHERE t=n").fetchall()  # type: ignore[attr-defined]
        expected: dict[str, set[int]] = {}
        for n, terms, beside in rows:
            for number in fts_document([*memoryview(terms).cast("I"), *memoryview(beside).cast("I")]).split():
                expected.setdefault(number, set()).add(n)
        known = {str(i) for (i,) in db.execute("SELECT id FROM terms")}  # type: ignore[attr-defined]
        assert known == set(expected)
        for number in sorted(expected)[:200]:
            hits = db.execute("SELECT rowid FROM fts WHERE fts MATCH ?", (f'"{number}"',))  # type: ignore[attr-defined]
            assert {n for (n,) in hits} == expected[number]

    cube.read_now(run)


async def kill_rounds(folder: Path, rounds: int, *options: str) -> None:
    path = folder / "a.cube"
    said: dict[str, str] = {}
    for n in range(rounds):
        child = start(path, f"r{n}", 4, 0, *options)
        assert child.stdout is not None
        first = child.stdout.readline()
        assert first == "ok\n", child.stderr.read() if child.stderr else ""
        time.sleep(random.Random(f"{n}{rounds}").uniform(0.01, 0.35))
        child.send_signal(signal.SIGKILL)
        said |= acknowledged(child.communicate(timeout=60)[0])
        await assert_sound(path, said, f"{n}")
    assert len(said) > rounds


async def test_acknowledged_writes_survive_kill_9(tmp_path: Path) -> None:
    await kill_rounds(tmp_path, 10)


@pytest.mark.slow
@pytest.mark.parametrize("durability", ["full", "normal"])
async def test_acknowledged_writes_survive_kill_9_many_times(tmp_path: Path, durability: str) -> None:
    await kill_rounds(tmp_path, 50, durability)


async def test_a_log_left_by_a_killed_process_moves_with_the_file(tmp_path: Path) -> None:
    child = start(tmp_path / "a.cube", "m", 1, 40)
    assert child.stdout is not None
    output = "".join(line for line in iter(child.stdout.readline, "done\n"))
    child.communicate(timeout=60)
    copy = start(tmp_path / "b.cube", "n", 2, 0)
    assert copy.stdout is not None
    lines = [copy.stdout.readline() for _ in range(30)]
    copy.send_signal(signal.SIGKILL)
    lines.append(copy.communicate(timeout=60)[0])
    (tmp_path / "moved").mkdir()
    for file in tmp_path.glob("b.cube*"):
        shutil.copy(file, tmp_path / "moved")
    await assert_sound(tmp_path / "moved" / "b.cube", acknowledged("".join(lines)), "n")
    await assert_sound(tmp_path / "a.cube", acknowledged(output), "m")


async def test_four_processes_write_into_one_cube_at_once(tmp_path: Path) -> None:
    path = tmp_path / "shared.cube"
    children = [start(path, f"p{i}", 3, 40, "normal") for i in range(4)]
    said: dict[str, str] = {}
    for child in children:
        output, errors = child.communicate(timeout=120)
        assert child.returncode == 0, errors
        said |= acknowledged(output)
    assert len(said) == 4 * 3 * 40
    await assert_sound(path, said, "four")
    cube = SqliteCube.open(path)
    numbers = cube.read_now(lambda db: db.execute("SELECT n, known_from FROM memories ORDER BY n").fetchall())
    assert [k for _, k in numbers] == sorted(k for _, k in numbers)
    await cube.close()


async def test_another_process_sees_writes_new_words_and_purges(tmp_path: Path) -> None:
    path = tmp_path / "a.cube"
    cube = SqliteCube.open(path, durability="normal")
    assert await found(cube, word("q", 0, 0)) == []
    await cube.write(lambda tx: None)
    child = start(path, "q", 1, 6, "normal")
    output, errors = child.communicate(timeout=60)
    assert child.returncode == 0, errors
    ids = list(acknowledged(output))
    total, _ = await cube.frequencies([])
    assert total == 6 + 6 - 2  # of the facts, numbers 0 and 5 were purged
    assert await found(cube, word("q", 0, 3)) == [f"{word('q', 0, 3)} said among many words"]
    await cube.purge(ids[:2])
    reader = "import sys, asyncio; sys.path.insert(0, sys.argv[2]); from pathlib import Path; from making import found;" \
        "from memos.storage.sqlite.cube import SqliteCube; c = SqliteCube.open(Path(sys.argv[1]));" \
        "print(len(asyncio.run(found(c, 'said')))); c.close_now()"  # fmt: skip
    shown = subprocess.run(
        [sys.executable, "-c", reader, str(path), str(CHILD.parent)],
        capture_output=True,
        text=True,
        check=True,
        env=ENV,
    )
    assert shown.stdout.strip() == "4"
    await cube.close()
