"""Whose the things are that a server keeps (responses, stored chat completions, conversations): all of them lie in one account
there, so that here it is known who may see which. A line for each in `HOME/openai/DAY/`, made of hashes; after a month, when
servers forget them too, it is deleted.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from memos.memory.ids import unique_key
from memos.memory.time import utcnow

DAYS = 31


@dataclass(frozen=True, slots=True)
class Kept:
    """What is known of a thing: the `session` it was said in, the `model` that the request named (empty: none, or one that is not
    known here). `told`: of a response made in the background whose end nobody heard yet, the input tokens that are counted
    already; its answer goes to `cube`, if it `writes`. `last`: of a conversation, the last response in it.
    """

    session: str
    model: str = ""
    told: int | None = None
    cube: str | None = None
    writes: bool = False
    last: str = ""


class KeptResponses:
    """The things made through this data folder, by any process. Its methods wait for the disk: call them in a thread."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "openai"
        self._today: date | None = None

    def keep(self, id: str, user: str, kept: Kept) -> None:
        """Remember whose a thing is; what is said of it later holds, whose it is does not change. Raises OSError."""
        more = {
            name: value
            for name in ("model", "told", "cube", "writes", "last")
            if (value := getattr(kept, name)) not in (None, "", False)
        }
        told = f"\t{json.dumps(more)}" if more else ""  # a session has no tabs in it
        self._append(_mark(id), f"{_mark(user)} {kept.session}{told}")

    def find(self, id: str, user: str, *, renew: bool = False) -> tuple[bool, Kept | None]:
        """Whether a thing is known, and what of it if it is this user's. `renew`: its month begins anew."""
        for day, said in self._said(_mark(id)):
            owner = said[0].partition(" ")[0]
            if owner != _mark(user):
                return True, None
            kept = _read([one for one in said if one.startswith(f"{owner} ")][-1])
            if renew and day != utcnow().date().isoformat():
                with contextlib.suppress(OSError):
                    self.keep(id, user, kept)
            return True, kept
        return False, None

    def first(self, what: str, mark: str) -> str:
        """The mark that something was given first today, by any process: this one, where it had none. Raises OSError."""
        for _ in range(2):
            for _day, said in self._said(_mark(what), utcnow().date().isoformat()):
                return said[0]
            self._append(_mark(what), mark)
        return mark

    def _said(self, mark: str, days: str = "*-*-*") -> Iterator[tuple[str, list[str]]]:
        """What the lines of a mark say, by day, the newest day first."""
        for folder in sorted(self._folder.glob(days), reverse=True):
            try:
                lines = (folder / mark[:2]).read_text(encoding="utf-8").split("\n")
            except OSError:
                continue
            said = [line[len(mark) + 1 :] for line in lines if line.startswith(f"{mark} ")]
            if said:
                yield folder.name, said

    def _append(self, mark: str, said: str) -> None:
        today = utcnow().date()
        folder = self._folder / today.isoformat()
        if today != self._today:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._forget(today)
            self._today = today
        file = os.open(folder / mark[:2], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, f"{mark} {said}\n".encode())  # one write: lines of several processes do not mix
        finally:
            os.close(file)

    def _forget(self, today: date) -> None:
        oldest = (today - timedelta(days=DAYS)).isoformat()
        for folder in self._folder.glob("*-*-*"):
            if folder.name < oldest:
                shutil.rmtree(folder, ignore_errors=True)


def _read(line: str) -> Kept:
    session, _, told = line.partition(" ")[2].partition("\t")
    try:
        more: dict[str, Any] = json.loads(told) if told else {}
        return Kept(session, **more)
    except (ValueError, TypeError):  # it broke off, or a later edition wrote it
        return Kept(session)


def _mark(text: str) -> str:
    return unique_key("openai", text).hex()
