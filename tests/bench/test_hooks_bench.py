"""The measurement of hooks runs them as a host does, and prints a row for each event beside the interpreter alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from memos.bench import hooks
from memos.system import AsyncMemOS


def test_every_event_is_measured_beside_the_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMOS_EMBEDDER", "none")
    monkeypatch.setattr(hooks, "fill", _filled)
    monkeypatch.setattr(hooks.corpus, "questions", lambda count: [f"What about harbour {n}?" for n in range(count)])
    page = tmp_path / "page.md"
    page.write_text("<!-- bench:hooks -->\n<!-- /bench -->\n")
    assert hooks.main(["--size", "1", "--turns", "5", "--work", str(tmp_path), "--docs", str(page)]) == 0
    told = capsys.readouterr().out
    assert all(f"| {name} |" in told for name in (hooks.BARE, *hooks.EVENTS)) and "--size 1 --turns 5" in told
    assert "UserPromptSubmit" in page.read_text()


async def _filled(home: Path, count: int, say: object) -> None:
    async with AsyncMemOS(home, embedder="none", background=False) as memos:
        await memos.start_turn("Always use podman instead of docker", session="before", user=hooks.USER)
        await memos.end_session("before", user=hooks.USER)
