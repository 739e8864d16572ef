"""Tells memory what happened, in order, in a thread of its own: written down first, and told again until it is stored."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from memos.errors import Conflict, InvalidInput, MemosError, NotFound, Unavailable
from memos.hosts.hermes.link import Link
from memos.hosts.hermes.mirror import forget, remember
from memos.hosts.hermes.outbox import Op, Outbox, ops_of, set_aside, told
from memos.logs import get_logger
from memos.tools.door import Door

log = get_logger(__name__)
_PATIENCE = 30.0  # seconds of one report
_BREAKS = 5  # tries of what the server breaks over
_TRIES = 3  # of what breaks in a way nobody thought of
_PAUSES = (0.5, 1.0, 2.0, 5.0, 15.0, 60.0)


class Teller:
    """The reports of a session of Hermes. `problem`: why nothing can be told just now; empty while it can."""

    def __init__(self, link: Link, root: Path) -> None:
        self._link, self._outbox = link, Outbox(root)
        self._queue: deque[Path | list[Op]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._now = threading.Event()
        self.problem = ""

    def adopt(self) -> int:
        """Take over what processes that are gone could not tell. How much that is."""
        with self._changed:
            left = self._outbox.left()
            self._queue.extend(left)
            if left:
                self._wake()
        return len(left)

    def tell(self, *ops: Op) -> bool:
        """Have something told. True: it is on disk. Where that could not be, it is kept in memory, and the log says so."""
        with self._changed:
            item: Path | list[Op] = list(ops)
            try:
                item = self._outbox.put(list(ops))
            except OSError as e:
                log.warning("report_not_on_disk", why=type(e).__name__)
            self._queue.append(item)
            self._wake()
        return isinstance(item, Path)

    def drained(self, seconds: float) -> bool:
        """Wait until everything is told; whether it is."""
        until = time.monotonic() + seconds
        self._now.set()
        with self._changed:
            while self._queue:
                left = until - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
        return True

    @property
    def waiting(self) -> int:
        """How many reports are not told yet."""
        return len(self._queue)

    def close(self, seconds: float) -> bool:
        """Tell what is left, within a time; what is not told then, the next process tells. Whether all was told."""
        done = self.drained(seconds)
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._now.set()
        if self._thread is not None:
            self._thread.join(0.5)
        self._outbox.close()
        return done

    def _wake(self) -> None:
        self._closed = False
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="memos-teller", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _run(self) -> None:
        failures = 0
        while True:
            with self._changed:
                while not self._queue and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                item = self._queue[0]
            if self._told(item, failures):
                failures = 0
                with self._changed:
                    if isinstance(item, Path):
                        told(item)
                    self._queue.popleft()
                    self._changed.notify_all()
            else:
                self._now.clear()
                self._now.wait(_PAUSES[min(failures, len(_PAUSES) - 1)])
                failures += 1

    def _told(self, item: Path | list[Op], failures: int) -> bool:
        """Tell one report; False: it is to be told again."""
        ops = ops_of(item) if isinstance(item, Path) else item
        try:
            if ops is None:
                raise ValueError("it cannot be read")
            for op in ops:
                self._tell(op)
        except (MemosError, TimeoutError, OSError) as e:
            if failures >= _BREAKS and getattr(e, "code", "") == MemosError.code and isinstance(item, Path):
                log.error("report_set_aside", why="the server breaks over it; its log says why")
                set_aside(item)
                return True
            self._away(e.code if isinstance(e, MemosError) else type(e).__name__)
            return False
        except Exception as e:
            log.error("report_broke", error=type(e).__name__, exc_info=ops is not None)
            if failures < _TRIES and ops is not None:
                return False
            if isinstance(item, Path):
                set_aside(item)
        if self.problem:
            log.info("memory_back", waiting=len(self._queue) - 1)
        self.problem = ""
        return True

    def _away(self, why: str) -> None:
        if self.problem != why:
            log.warning("memory_away", why=why, waiting=len(self._queue))
        self.problem = why

    def _tell(self, op: Op) -> None:
        """Tell one thing; what is refused for what it is would be refused again, and is let go."""
        verb, fields = op
        try:
            self._link.call(lambda door: _said(door, verb, fields), _PATIENCE)
        except (InvalidInput, Conflict) as e:
            from memos.client.failures import Elsewhere

            if isinstance(e, Elsewhere):
                raise Unavailable(str(e)) from None
            log.warning("report_refused", verb=verb, why=e.code)
        except NotFound as e:
            if verb != "forget":
                raise
            log.debug("nothing_to_forget", why=e.code)


async def _said(door: Door, verb: str, fields: dict[str, Any]) -> None:
    if verb == "remember":
        await remember(door, **fields)
    elif verb == "forget":
        await forget(door, **fields)
    elif verb in ("start_turn", "end_turn", "report_subagent"):
        said: Awaitable[Any] = getattr(door.system, verb)(**fields, agent=door.agent, **door.where())
        await said
    elif verb == "end_session":
        with contextlib.suppress(NotFound):
            await door.system.end_session(**fields, agent=door.agent, **door.where())
