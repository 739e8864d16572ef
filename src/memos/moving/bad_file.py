"""A file with a line of JSON for each row that could not be taken over."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from memos.errors import InvalidInput
from memos.moving.items import Bad


class BadFile:
    """Opened at the beginning, so that a path that cannot be written is told before anything is stored. None: no file."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: TextIO | None = None

    def __enter__(self) -> BadFile:
        if self._path is not None:
            try:
                self._file = self._path.open("x", encoding="utf-8")
            except FileExistsError:
                raise InvalidInput(f"{self._path} exists already; name another file for the bad rows") from None
            except OSError as e:
                raise InvalidInput(f"{self._path} cannot be written: {e.strerror or e}") from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, rows: Iterable[Bad]) -> None:
        """Write the rows."""
        if self._file is not None:
            self._file.writelines(f"{json.dumps(asdict(row), ensure_ascii=False)}\n" for row in rows)
