"""Fails unless every test file under a folder ran at least one test: a suite that is skipped whole is no suite.

    python .ci/ran.py report.xml tests
"""

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree


def main(report: str, folder: str) -> int:
    """Compare the JUnit report with the test files; 0 when all of them ran."""
    ran: Counter[str] = Counter()
    skipped = 0
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("skipped") is None:
            ran[case.get("file", "")] += 1
        else:
            skipped += 1
    silent = [str(f) for f in sorted(Path(folder).rglob("test_*.py")) if not ran[f.as_posix()]]
    print(f"{sum(ran.values())} tests ran in {len(ran)} files, {skipped} were skipped")
    for file in silent:
        print(f"no test of {file} ran", file=sys.stderr)
    return 1 if silent or not ran else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
