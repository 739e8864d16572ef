"""What the library notes of its work: nothing is seen of it in a program that does not ask, and all of it in one that does."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
import structlog
from structlog.testing import capture_logs

from memos.logs import get_logger

SOURCE = Path(__file__).parents[1] / "src"
USE = """
import sys
from memos import MemOS
with MemOS(sys.argv[1], embedder="none", durability="normal") as m:
    m.create_cube("team")
    m.share("team", "bob")
    m.start_turn("Rotate the logs.", session="a")
    m.report_step("bash", "logrotate -f", "done", ok=True, session="a")
    m.end_turn("Done.", session="a")
    m.end_session("a")
    m.evolve(now=True)
"""


def test_a_program_that_uses_the_library_prints_nothing(tmp_path: Path) -> None:
    done = _run(USE, tmp_path)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_program_that_configures_logging_sees_it(tmp_path: Path) -> None:
    done = _run("import logging; logging.basicConfig(level=logging.INFO)\n" + USE, tmp_path)
    assert done.stdout == ""
    assert "INFO:memos.storage.sqlite.audit:account_changed" in done.stderr


def test_the_library_does_not_load_structlog(tmp_path: Path) -> None:
    done = _run(USE + "\nprint('structlog' in sys.modules)", tmp_path)
    assert done.stdout.strip() == "False"


def test_events_go_to_logging_with_their_values(caplog: pytest.LogCaptureFixture) -> None:
    structlog.reset_defaults()
    with caplog.at_level(logging.INFO, "memos.some.room"):
        log = get_logger("memos.some.room")
        log.debug("unseen")
        log.info("cube_opened", cube="team", count=2)
        try:
            raise KeyError("x")
        except KeyError:
            log.exception("broke")
    assert [r.getMessage() for r in caplog.records] == ["cube_opened cube='team' count=2", "broke"]
    assert caplog.records[0].name == "memos.some.room" and caplog.records[1].exc_info is not None


def test_events_go_to_structlog_where_that_is_configured() -> None:
    log = get_logger("memos.some.room")
    with capture_logs() as seen:
        log.warning("away", model="m")
    assert seen == [{"event": "away", "model": "m", "log_level": "warning"}]
    structlog.reset_defaults()


def _run(code: str, home: Path) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("MEMOS_")} | {
        "PYTHONPATH": str(SOURCE),
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run(
        [sys.executable, "-c", code, str(home / "home")],
        env=env,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
