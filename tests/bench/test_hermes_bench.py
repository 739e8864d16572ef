"""The measurement of Hermes' prompts runs, and prints a row for each way to the memory."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from memos.bench import hermes


def test_what_a_prompt_waits_is_measured_both_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hermes, "_serving", lambda home: contextlib.nullcontext())
    monkeypatch.setenv("MEMOS_EMBEDDER", "none")
    monkeypatch.setattr(hermes, "fill", _filled)
    assert hermes.main(["--size", "20", "--turns", "3", "--work", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "in the process of Hermes" in told and "over `memos serve`" in told and "0 of 3" in told


async def _filled(home: Path, count: int, say: object) -> None:
    home.mkdir(parents=True)
