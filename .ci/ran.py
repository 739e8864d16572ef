"""Fails unless every test file under a folder ran at least one test: a suite that is skipped whole is no suite.

python .ci/ran.py report.xml tests [folders that may be silent]
"""

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree


def main(report: str, folder: str, *left_out: str) -> int:
    """Compare the JUnit report with the test files; 0 when all of them ran that are not left out."""
    ran: Counter[str] = Counter()
    skipped = 0
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("skipped") is None:
            ran[case.get("classname", "")] += 1
        else:
            skipped += 1
    # By class name, which starts with the module: tests of a conformance class run in the file that inherits it.
    files = {file: ".".join(file.with_suffix("").parts) for file in sorted(Path(folder).rglob("test_*.py"))}
    files = {file: name for file, name in files.items() if not any(file.is_relative_to(other) for other in left_out)}
    silent = [f for f, module in files.items() if not any(f"{name}.".startswith(f"{module}.") for name in ran)]
    print(f"{sum(ran.values())} tests ran from {len(files)} files, {skipped} were skipped")
    for file in silent:
        print(f"no test of {file} ran", file=sys.stderr)
    return 1 if silent or not ran else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
