"""The project as a whole: importing it is free of effects, and what is tracked is fit to be published."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import memos

ROOT = Path(__file__).parents[1]
HEAVY = (
    "numpy", "apsw", "httpx2", "rich", "typer", "structlog", "asyncio", "sqlite3", "fastapi", "uvicorn", "redis", "orjson",
    "pydantic", "pydantic_core", "openai", "transformers", "torch", "PIL",
)  # fmt: skip


def _tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if done.returncode or not done.stdout:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def test_importing_memos_loads_nothing_heavy_and_touches_no_disk(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    code = f"""
import sys
written = []
def watch(event, args):
    if event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        written.append(args[0])
    if event in ("os.mkdir", "os.rename", "os.remove", "sqlite3.connect", "socket.connect"):
        written.append((event, *args))
sys.addaudithook(watch)
import memos
print([m for m in {HEAVY!r} if m in sys.modules], written)
"""
    env = {**os.environ, "HOME": str(home), "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r})\n{code}"],
        env=env, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.strip() == "[] []"
    assert list(home.iterdir()) == []
    assert [p.name for p in tmp_path.iterdir()] == ["home"]


def test_making_a_memory_system_touches_no_disk_before_the_first_call(tmp_path: Path) -> None:
    system = memos.MemOS(tmp_path / "home", embedder="none")
    system.close()
    assert list(tmp_path.iterdir()) == []


def test_all_public_names_exist() -> None:
    for name in memos.__all__:
        assert getattr(memos, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        memos.nonsense  # noqa: B018


def test_version_and_changelog_agree() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    newest = re.search(r"^## (\d+\.\d+\.\d+)", changelog, re.MULTILINE)
    assert newest is not None
    assert newest[1] == memos.__version__


def test_installed_version_is_this_one() -> None:
    try:
        assert version("memos") == memos.__version__
    except PackageNotFoundError:
        pytest.skip("memos runs from its source tree here")


def test_constraints_pin_every_dependency_by_name_and_version_only() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+_-]+", line) for line in lines)
    pinned = {_normal(line.split("==")[0]) for line in lines}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = dict(project["optional-dependencies"])
    elsewhere = (
        "sentence-transformers",
        "transformers",
        "crewai",
        "llamaindex",
    )  # in no environment of ours, or their own
    for extra in elsewhere:
        del extras[extra]
    asked = [*project["dependencies"], *(one for extra in extras.values() for one in extra)]
    names = {_normal(re.split(r"[^A-Za-z0-9._-]", one)[0]) for one in asked if "== 'win32'" not in one}
    assert names - pinned == {"memos"}  # the extras that an extra names


def test_no_registry_host_or_machine_path_is_tracked() -> None:
    # Written in parts, so that this file does not hold what it looks for.
    hosts = (
        "py" + "pi.org",
        "python" + "hosted.org",
        "index" + "-url",
        "npm" + "js.org",
        "docker" + ".io",
        "gh" + "cr.io",
    )
    paths = ("/ho" + "me/", "/ro" + "ot/", "/wo" + "rk/", "/tm" + "p/w/")
    found = []
    for file in _tracked():
        try:
            text = file.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{file.relative_to(ROOT)}: {word}" for word in (*hosts, *paths) if word in text]
    assert found == []


def test_tracked_files_are_small() -> None:
    large = [str(f.relative_to(ROOT)) for f in _tracked() if f.stat().st_size > 500_000]
    assert large == []


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
