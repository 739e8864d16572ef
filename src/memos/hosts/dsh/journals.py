"""The journals that the plugin keeps: taken away when all of them is reported, and taken over when their session was cut off.

A hook imports this, so that it uses the standard library alone.
"""

from __future__ import annotations

import os
import shutil
import time

from memos.hosts import catchup
from memos.hosts.reach import Memory
from memos.hosts.session import Session

TYPE_CHECKING = False  # as in typing, which takes longer to import than the rest of this
if TYPE_CHECKING:
    from typing import Any

HOST = "dsh"
_ENDING = ".jsonl"
_IDLE = 24 * 3_600  # seconds after which a journal is of a session that nobody ended
_QUIET = 60  # seconds after which whoever writes a journal is not in the middle of telling
_MOST = 5  # journals of one sweep


def clear(session: Session) -> None:
    """Take the journal of a session away, if everything in it is reported. The session is held."""
    path = session.transcript
    if path.endswith(_ENDING) and os.path.isfile(path) and os.path.getsize(path) <= session.offset:
        os.unlink(path)
        shutil.rmtree(path.removesuffix(_ENDING), ignore_errors=True)
        session.offset = 0


def sweep(folder: str, home: str, memory: Memory, who: dict[str, Any], whose: str, until: float) -> None:
    """Take over what the journals of other sessions of the same memory hold, and take those away that nobody writes any more.
    `who`, `whose`: as of the session that asks. Raises Away and TimeoutError.
    """
    left = 0
    for name in sorted(os.listdir(folder)) if folder and os.path.isdir(folder) else ():
        path, id = os.path.join(folder, name), name.removesuffix(_ENDING)
        if not name.endswith(_ENDING) or id == who["session"] or left == _MOST:
            continue
        session = Session(home, HOST, id)
        session.load()
        if session.whose not in ("", whose):
            continue
        age = time.time() - os.path.getmtime(path)
        idle = age > _IDLE
        if age < _QUIET or (os.path.getsize(path) <= session.offset and not idle):
            continue
        left += 1
        with session.held(until):
            session.transcript = path
            catchup.take_over(memory, session, {**who, "session": id}, over=idle)
            session.behind = False
            if idle:
                clear(session)
