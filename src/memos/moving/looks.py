"""A first look at a file, for telling what kind it is: cheap, and quiet about what is wrong with it."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import Any

from memos.errors import InvalidInput
from memos.moving.files import head, is_zip, members
from memos.moving.json_stream import Element, elements

_ANY = re.compile(r".*")
_FEW = 200


def first_element(path: Path, wanted: re.Pattern[str]) -> Any:
    """The first element of the first such list of a JSON file, alone or in a zip or folder; None where there is none."""
    found = first_elements(path, wanted, 1)
    return found[0].value if found else None


def first_elements(path: Path, wanted: re.Pattern[str], most: int = 20) -> list[Element]:
    """The first elements of the first such file; none where it is not JSON."""
    out: list[Element] = []
    if not path.is_dir() and not is_zip(path) and head(path, 64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"[", b"{"):
        return out
    with contextlib.suppress(InvalidInput):
        for name, file in members(path, wanted):
            for element in elements(file, name):
                out.append(element)
                if len(out) >= most:
                    return out
            return out
    return out


def first_lines(path: Path) -> list[Any]:
    """The values of the first lines of a file of JSON lines; none where its first line is no JSON object by itself."""
    start = head(path, 1 << 20)
    if not start or start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{":
        return []
    out: list[Any] = []
    for line in start.split(b"\n")[:_FEW]:
        if not line.strip():
            continue
        try:
            out.append(json.loads(line))
        except (ValueError, RecursionError):
            if not out:
                return []
    return out


def names(path: Path) -> list[str]:
    """The names of the files in a folder or zip, at most so many; none of a plain file."""
    if not path.is_dir() and not is_zip(path):
        return []
    out: list[str] = []
    with contextlib.suppress(InvalidInput):
        for name, _ in members(path, _ANY):
            out.append(name)
            if len(out) >= _FEW:
                break
    return out
