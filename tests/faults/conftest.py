"""A memory system and a command line per recipe, text only, nothing in the background unless the recipe asks for it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memos import MemOS
from memos.cli.main import app


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def memos(home: Path) -> Iterator[MemOS]:
    with MemOS(home, embedder="none", background=False) as made:
        yield made


@pytest.fixture
def command(home: Path) -> Callable[..., tuple[int, Any]]:
    """Run `memos … --json`; gives the exit code and the answer, read as strict JSON (of stdout, or of stderr on error)."""

    def run(*args: str) -> tuple[int, Any]:
        result = CliRunner().invoke(app, ["--home", str(home), "--embedder", "none", "--json", *args])
        assert "Traceback" not in result.stderr
        text = result.stdout if result.exit_code == 0 else result.stderr
        return result.exit_code, json.loads(text, parse_constant=_refuse) if text.strip().startswith(
            ("{", "[")
        ) else text

    return run


def _refuse(constant: str) -> Any:
    raise AssertionError(f"{constant} is not JSON")


@pytest.fixture
def wait_for() -> Callable[..., None]:
    def wait(condition: Callable[[], Any], seconds: float = 15.0) -> None:
        until = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < until, "it did not happen in time"
            time.sleep(0.01)

    return wait
