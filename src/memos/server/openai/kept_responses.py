"""Whose a response is that a server keeps: all of them lie in one account there, so that here it is known who may go on with
which. A line for each in `HOME/openai/DAY/`, made of hashes; after a month, when servers forget them too, it is deleted.
"""

from __future__ import annotations

import os
import shutil
from datetime import date, timedelta
from pathlib import Path

from memos.memory.ids import unique_key
from memos.memory.time import utcnow

DAYS = 31


class KeptResponses:
    """The responses made through this data folder, by any process. Its methods wait for the disk: call them in a thread."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "openai"
        self._today: date | None = None

    def keep(self, response: str, user: str, session: str) -> None:
        """Remember whose a response is, and the session it was said in. Raises OSError."""
        today = utcnow().date()
        folder = self._folder / today.isoformat()
        if today != self._today:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._forget(today)
            self._today = today
        line = f"{_mark(response)} {_mark(user)} {session}\n".encode()
        file = os.open(folder / _mark(response)[:2], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, line)  # one write: lines of several processes do not mix
        finally:
            os.close(file)

    def session_of(self, response: str, user: str) -> tuple[bool, str | None]:
        """Whether a response is known, and the session of it if it is this user's."""
        mark = _mark(response)
        for folder in sorted(self._folder.glob("*-*-*"), reverse=True):
            try:
                lines = (folder / mark[:2]).read_text(encoding="utf-8").split("\n")
            except OSError:
                continue
            for line in lines:
                one, owner, session = [*line.split(" ", 2), "", ""][:3]
                if one == mark:
                    return True, session if owner == _mark(user) else None
        return False, None

    def _forget(self, today: date) -> None:
        oldest = (today - timedelta(days=DAYS)).isoformat()
        for folder in self._folder.glob("*-*-*"):
            if folder.name < oldest:
                shutil.rmtree(folder, ignore_errors=True)


def _mark(text: str) -> str:
    return unique_key("openai", text).hex()
