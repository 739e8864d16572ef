"""Memory does not grow with the file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from exports import chats

CODE = """
import resource, sys
from pathlib import Path
from memos.moving import sources
from memos.moving.spool import Spool
path = Path(sys.argv[1])
source = sources.detect(path)
spool = Spool(source.name)
for item in source.read(path):
    spool.take(item)
report = spool.report("x", "x", "x", dry_run=True)
assert sum(1 for _ in spool.items()) == report.items > 0 == report.bad
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak(path: Path) -> int:
    """Kilobytes that reading a file takes at most."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(path)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def of_chatgpt(path: Path, count: int) -> Path:
    with path.open("w") as file:
        file.write("[")
        for n in range(count):
            file.write(
                ("," if n else "") + json.dumps(chats(1, 20, first=n, text="{} " + "words and more words " * 12)[0])
            )
        file.write("]")
    return path


def of_lines(path: Path, count: int) -> Path:
    with path.open("w") as file:
        for n in range(count * 20):
            file.write(json.dumps({"role": "user", "content": f"{n} " + "words and more words " * 12, "id": n}) + "\n")
    return path


@pytest.mark.parametrize("make", [of_chatgpt, of_lines])
def test_a_file_ten_times_as_large_takes_no_more_memory(tmp_path: Path, make: object) -> None:
    assert callable(make)
    small, large = make(tmp_path / "small.json", 80), make(tmp_path / "large.json", 800)
    assert large.stat().st_size > 9 * small.stat().st_size > 3 << 20
    assert peak(large) < peak(small) + (24 << 10)
