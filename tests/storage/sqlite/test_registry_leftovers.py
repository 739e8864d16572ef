"""What a killed process leaves in a data folder: swept at the next start, but only what is known to be refuse."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from memos.errors import InvalidInput
from memos.storage.sqlite.registry import SqliteRegistry


def names(home: Path) -> set[str]:
    return {f.name for f in (home / "cubes").iterdir()} if (home / "cubes").exists() else set()


def killed(work: object) -> None:
    pid = os.fork()
    if not pid:
        work()  # type: ignore[operator]
        os._exit(1)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL


def test_a_half_built_cube_is_swept_once_its_process_is_gone(tmp_path: Path) -> None:
    def build() -> None:
        with SqliteRegistry(tmp_path).building() as target:
            for suffix in ("", "-wal", "-shm"):
                target.with_name(target.name + suffix).write_text("plain words")
            SqliteRegistry(tmp_path)  # another start meanwhile leaves it alone
            if len(names(tmp_path)) == 4:
                os.kill(os.getpid(), signal.SIGKILL)

    killed(build)
    assert len(names(tmp_path)) == 4
    SqliteRegistry(tmp_path).close()
    assert names(tmp_path) == set()


def test_a_deletion_that_was_cut_off_is_finished_at_the_next_start(tmp_path: Path) -> None:
    registry = SqliteRegistry(tmp_path)
    registry.create("gone", "ana")
    kept, _ = registry.create("kept", "ana")
    file = registry.delete("gone")
    file.with_name(file.name + "-wal").write_text("plain words")
    registry.close()
    again = SqliteRegistry(tmp_path)
    assert names(tmp_path) == {kept.location}
    again.close()


def test_files_the_control_file_does_not_know_are_left_alone(tmp_path: Path) -> None:
    registry = SqliteRegistry(tmp_path)
    cube, _ = registry.create("all there is", "ana")
    registry.close()
    for file in tmp_path.glob("control.db*"):
        file.unlink()
    SqliteRegistry(tmp_path).close()
    assert names(tmp_path) == {cube.location}


def test_a_build_that_fails_leaves_nothing_and_one_that_ends_leaves_its_cube(tmp_path: Path) -> None:
    registry = SqliteRegistry(tmp_path)
    with pytest.raises(IsADirectoryError), registry.building() as target:
        (target.write_text("plain words"), target.parent.read_bytes())
    assert names(tmp_path) == set()
    with registry.building() as target:
        target.touch()
        registry.create("built", "ana", file=target.name)
        assert names(tmp_path) == {target.name}  # a kill from here on leaves no sign of the building
    registry.close()
    again = SqliteRegistry(tmp_path)
    assert names(tmp_path) == {target.name}
    assert again.find("built") is not None
    again.close()


def test_no_name_stays_on_disk_after_a_deletion_or_a_right_taken_away(tmp_path: Path) -> None:
    registry, other = SqliteRegistry(tmp_path), SqliteRegistry(tmp_path)
    registry.create("Zqxcube", "Zqxowner", {"about": "Zqxinfo"})
    registry.create("kept", "ana")
    registry.grant("kept", "Zqxguest", "read", "ana")
    other.find("kept")
    registry.grant("kept", "Zqxguest", None, "ana")
    registry.delete("Zqxcube")
    assert b"Zqx" not in b"".join(f.read_bytes() for f in tmp_path.glob("control.db*"))
    registry.close()
    other.close()


@pytest.mark.parametrize("info", [{"a": object()}, {"a": float("nan")}, {1, 2}])
def test_metadata_that_is_no_json_is_refused(tmp_path: Path, info: object) -> None:
    registry = SqliteRegistry(tmp_path)
    with pytest.raises(InvalidInput, match="info"):
        registry.create("a", "ana", info)  # type: ignore[arg-type]
    assert registry.find("a") is None
    registry.close()
