"""A `memos` that runs in this process, on a data folder of its own, without an embedder unless asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli_helpers import Answer, Memos, strict
from typer.testing import CliRunner, Result

from memos.cli.main import app


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def memos(home: Path, monkeypatch: pytest.MonkeyPatch) -> Memos:
    """Run a command; fails when it ends with another exit code than `code`."""
    for variable in ("MEMOS_USER", "MEMOS_CUBE", "MEMOS_HOME", "MEMOS_EMBEDDER"):
        monkeypatch.delenv(variable, raising=False)

    def run(*args: str, code: int = 0, input: str | None = None) -> Result:
        result = CliRunner().invoke(app, ["--home", str(home), "--embedder", "none", *args], input=input)
        assert result.exit_code == code, (
            f"exit {result.exit_code}\n{result.stdout}\n{result.stderr}\n{result.exception!r}"
        )
        assert "Traceback" not in result.stderr
        return result

    return run


@pytest.fixture
def answer(memos: Memos) -> Answer:
    """Run a command with --json and read its answer, strictly."""

    def run(*args: str, **options: Any) -> Any:
        return strict(memos("--json", *args, **options).stdout)

    return run
