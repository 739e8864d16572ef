"""LlamaIndex, CrewAI and mem0 as they are installed by themselves: their checks (`tests/compat/frameworks`) run in an environment
that has them, for they cannot stand beside each other and our tools.

MEMOS_TEST_FRAMEWORKS names it: a virtual environment into which `tests/compat/frameworks/requirements.txt` and `.[server]` of this
checkout were installed. Without it these tests are skipped, and say so.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

HERE = Path(__file__).parent / "frameworks"
ROOT = HERE.parents[2]
FOLDER = os.environ.get("MEMOS_TEST_FRAMEWORKS")
CHECKS = sorted(HERE.glob("*_checks.py"))
pytestmark = pytest.mark.slow
QUIET = {
    "ANONYMIZED_TELEMETRY": "False",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "MEM0_TELEMETRY": "False",
    "OTEL_SDK_DISABLED": "true",
    "OMP_NUM_THREADS": "1",
}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[ElementTree.Element]:
    """What came of all checks, run together."""
    if not FOLDER:
        pytest.skip(
            "NOT TESTED: LlamaIndex, CrewAI and mem0 need MEMOS_TEST_FRAMEWORKS=<virtual environment with them>"
        )
    tmp = tmp_path_factory.mktemp("frameworks")
    report = tmp / "report.xml"
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp), "TMPDIR": str(tmp), "PYTHONPATH": str(ROOT / "src")}
    env |= {"MEM0_DIR": str(tmp / "mem0"), "CREWAI_STORAGE_DIR": str(tmp / "crewai"), **QUIET}
    options = ["-q", "-W", "ignore", "-p", "no:cacheprovider", f"--junitxml={report}", f"--basetemp={tmp / 'tests'}"]
    done = subprocess.run(
        [str(Path(FOLDER) / "bin" / "python"), "-B", "-m", "pytest", *options, *map(str, CHECKS)],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )
    assert done.returncode in (0, 1) and report.exists(), done.stdout[-6000:] + done.stderr[-2000:]
    return list(ElementTree.parse(report).iter("testcase"))


@pytest.mark.parametrize("checks", CHECKS, ids=lambda path: path.stem)
def test_the_real_package_passes(checks: Path, cases: list[ElementTree.Element]) -> None:
    mine = [case for case in cases if f".{checks.stem}" in f".{case.get('classname')}"]
    failed = [f"{case.get('name')}: {part.text}" for case in mine for part in case if part.tag in ("failure", "error")]
    assert mine and not failed, "\n".join(failed)[-6000:]
    assert not [case.get("name") for case in mine if case.find("skipped") is not None]
