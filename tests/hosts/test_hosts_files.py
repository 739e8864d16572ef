"""The settings of five hosts, in the states in which people have them: nothing is lost, nothing half done, and it is said."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from memos.cli.main import app
from memos.hosts import edits

FILES = {
    "claude-code": ("cl/settings.json", '{"a": 1, // mine\n\t"hooks": {},\n}\n'),
    "codex": ("cx/config.toml", 'model = "x"\n[t]\na = 1\n'),
    "hermes": ("he/config.yaml", "model: x # mine\nmemory:\n  memory_enabled: true\n"),
    "openclaw": ("oc/openclaw.json", "{a: 1, // mine\n 'plugins': {},\n}\n"),
    "dsh": ("ds/cordis.patch.yml", "- id: x # mine\n  name: y\n"),
}
HOSTS = sorted(FILES)


class World:
    """A user with one host, and a data folder, in a place with an awkward name."""

    def __init__(self, host: str, base: Path) -> None:
        self.host, self.base, self.home = host, base, base / "mem"
        self.file, self.text = base / FILES[host][0], FILES[host][1]

    def run(self, does: str) -> Result:
        """`memos hosts DOES HOST`. It never breaks in a way nobody thought of."""
        done = CliRunner().invoke(app, ["--home", str(self.home), "hosts", does, self.host])
        assert "unexpected" not in done.output, done.output
        return done

    def write(self, content: bytes) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(content)


@pytest.fixture(params=HOSTS)
def world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    base = tmp_path / "a 'quoted' $HOME ü 漢"
    for name, folder in (("CLAUDE_CONFIG_DIR", "cl"), ("CODEX_HOME", "cx"), ("HERMES_HOME", "he"), ("DSH_HOME", "ds")):
        monkeypatch.setenv(name, str(base / folder))
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(base / "oc"))
    monkeypatch.setenv("HOME", str(base))
    for name in ("MEMOS_HOME", "OPENCLAW_HOME", "OPENCLAW_CONFIG_PATH"):
        monkeypatch.delenv(name, raising=False)
    return World(request.param, base)


@pytest.mark.parametrize("state", ["empty", "windows", "mark", "unended", "large", "unseen"])
def test_a_file_in_an_odd_state_is_put_back_to_the_byte(world: World, state: str) -> None:
    comment = "// " if world.host in ("claude-code", "openclaw") else "# "
    content = {
        "empty": "",
        "windows": world.text.replace("\n", "\r\n"),
        "mark": f"\ufeff{world.text}",
        "unended": world.text.rstrip("\n"),
        "large": f"{comment}{'x' * 90}\n" * 5_000 + world.text,
        "unseen": f"{world.text}{comment}\u200b\u202e漢\n",
    }[state].encode()
    world.write(content)
    world.file.chmod(0o640)
    first = world.run("install")
    if world.host in ("codex", "dsh") and state == "mark":  # no TOML, for Codex neither; no list of rows
        assert first.exit_code == 2 and str(world.file) in first.output and world.file.read_bytes() == content
        return
    assert first.exit_code == 0
    written = world.file.read_bytes()
    assert written != content and world.file.stat().st_mode & 0o777 == 0o640
    assert world.run("install").exit_code == 0 and world.file.read_bytes() == written
    assert world.run("uninstall").exit_code == 0
    assert world.file.read_bytes() == content
    assert not [p for p in world.home.rglob("*") if p.is_file()]


def test_a_file_that_is_no_text_is_refused_and_stays_as_it_is(world: World) -> None:
    content = world.text.encode() + b"\xff\xfe"
    world.write(content)
    assert world.run("install").exit_code == 2
    world.run("uninstall")
    assert world.file.read_bytes() == content and not world.home.exists()


def test_a_link_stays_a_link_also_to_what_was_not_there(world: World) -> None:
    target = world.base / "dotfiles" / "settings"
    world.write(b"")
    world.file.unlink()
    world.file.symlink_to(target)
    assert world.run("install").exit_code == 0
    assert world.file.is_symlink() and target.is_file()
    assert world.run("uninstall").exit_code == 0
    assert world.file.is_symlink() and not target.exists()


def test_without_the_copy_of_what_was_there_only_what_is_ours_goes(world: World) -> None:
    world.write(world.text.encode())
    assert world.run("install").exit_code == 0
    shutil.rmtree(world.home / "hosts" / "before")
    assert world.run("uninstall").exit_code == 0
    left = world.file.read_text()
    assert "mine" in left or "model" in left
    assert "memos" not in left.lower()


def test_when_the_data_folder_is_gone_it_is_taken_out_all_the_same(world: World) -> None:
    world.write(world.text.encode())
    assert world.run("install").exit_code == 0
    shutil.rmtree(world.home)
    assert world.run("uninstall").exit_code == 0
    assert "memos" not in world.file.read_text().lower()


def test_a_disk_that_takes_only_the_first_file_leaves_nothing_half_done(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write(world.text.encode())
    before = {p: p.read_bytes() for p in world.base.rglob("*") if p.is_file()}
    real, done = os.replace, []

    def full(source: str, target: Path) -> None:
        if world.home not in Path(target).parents:
            done.append(target)
            if len(done) == (1 if world.host == "openclaw" else 2):
                raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(edits.os, "replace", full)
    first = world.run("install")
    assert first.exit_code == 2 and "No space left on device" in first.output and "nothing was changed" in first.output
    assert {p: p.read_bytes() for p in world.base.rglob("*") if p.is_file() and world.home not in p.parents} == before
    assert world.run("install").exit_code == 0 and world.run("uninstall").exit_code == 0
    assert world.file.read_bytes() == world.text.encode()
