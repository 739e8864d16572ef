"""Whoever reads meanwhile, in another process too, sees exactly one current value of a slot: closing the old one and opening the
new one are one transaction (law 2).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
from arriving import Arriving
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

READER = """
import asyncio, sys
from memos.memory.filter import Compare, Field, Op
from memos.storage.sqlite.cube import SqliteCube
from pathlib import Path

async def main():
    cube = SqliteCube.open(Path(sys.argv[1]))
    where = Compare(Field("slot"), Op.EQ, "ann|home")
    reads, values = 0, set()
    stop = asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    print("reading", flush=True)
    while not stop.done():
        page = await cube.list(where, limit=10)
        reads += 1
        values.update(m.body["value"] for m in page.items)
        if len(page.items) != 1:
            print("wrong", [m.body["value"] for m in page.items], flush=True)
    print("reads", reads, len(values), flush=True)
    await cube.close()

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Arriving, subprocess.Popen[str]]]:
    path = tmp_path_factory.mktemp("watched") / "ann.cube"
    ann = Arriving(path)
    ann.say("Rome", 0)
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert reader.stdout is not None and reader.stdout.readline() == "reading\n"
    yield ann, reader
    if reader.poll() is None:
        reader.kill()
    ann.close()


_days = iter(range(1, 1_000_000))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    said=st.lists(
        st.tuples(st.sampled_from(["Rome", "Oslo", "Bergen", "oslo "]), st.floats(-3, 3)), min_size=1, max_size=8
    )
)
def test_no_reader_sees_neither_or_both(
    watched: tuple[Arriving, subprocess.Popen[str]], said: list[tuple[str, float]]
) -> None:
    ann, _ = watched
    for value, late in said:
        ann.say(value, next(_days) + late)
        assert len(ann.current()) == 1


def test_the_reader_saw_one_value_each_time(watched: tuple[Arriving, subprocess.Popen[str]]) -> None:
    _, reader = watched
    out, _ = reader.communicate("stop\n", timeout=30)
    *wrong, last = out.splitlines()
    word, reads, values = last.split()
    assert (wrong, word) == ([], "reads")
    assert int(reads) > 50 and int(values) > 1, "it did not read while the value changed"
