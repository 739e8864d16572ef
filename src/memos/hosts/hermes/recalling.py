"""What comes before a prompt: recalled within a time, and what is there by then is served, with word of how it went."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memos.errors import MemosError
from memos.hosts.hermes.link import Link
from memos.hosts.hermes.options import Options
from memos.hosts.hermes.words import clean
from memos.logs import get_logger

if TYPE_CHECKING:
    from memos.hosts.hermes.turns import Turns
    from memos.memory.acting import Recalled
    from memos.tools.door import Door

log = get_logger(__name__)
LABEL, GLYPH, LATE = "MemOS", "◈", "◇"
_AHEAD = "hermes-ahead"  # a session in which nothing is done, so that what is only held ready is not taken for shown
_MOST = 256  # sessions whose last recall is kept
_SHOWN = 8_000  # characters that go into a summary
_QUERY = 10_000


@dataclass(frozen=True, slots=True)
class Status:
    """How a recall went, for a Hermes that has no type for it."""

    provider_label: str
    count: int
    glyph: str


class Recalls:
    """The recalls of a session of Hermes. `status`: (label, how many memories, a sign), of the last one."""

    def __init__(self, link: Link, options: Options, environment: str) -> None:
        self._link, self._options, self._environment = link, options, environment
        self._lock = threading.Lock()
        self._ready: dict[str, tuple[str, int]] = {}
        self._last: dict[str, str] = {}
        self.status: tuple[str, int, str] | None = None
        self._closed = False

    def close(self) -> None:
        """The session is over: what is still being recalled concerns nobody."""
        self._closed = True

    def warm(self, opened: Callable[[str], None]) -> None:
        """Open the memory behind; what went wrong is told to `opened`, empty when nothing did."""

        def done(future: Future[Any]) -> None:
            if self._closed:
                return
            error = None if future.cancelled() else future.exception()
            code = getattr(error, "code", "")
            opened("" if error is None or code == "not_found" else f"{code or type(error).__name__}: {error}")

        async def look(door: Door) -> None:
            await door.system.recall("hello", session=_AHEAD, agent=door.agent, max_tokens=50, **door.where())

        self._link.begin(look).add_done_callback(done)

    def for_message(self, query: str, session: str, turns: Turns | None) -> str:
        """The block for a message; empty when there is nothing to say."""
        until = time.monotonic() + self._options.prefetch_seconds
        text = clean(query)
        if not text:
            return ""
        told = turns.begun(session, text, until) if turns is not None else None
        if told is not None:
            fields = {**told, "max_tokens": self._options.max_tokens}

            async def ask(door: Door) -> Recalled:
                started = await door.system.start_turn(**fields, agent=door.agent, **door.where())
                return started.recalled

            future = self._link.begin(ask)
        else:
            future = self._link.begin(self._asking(text, turns.session(session) if turns is not None else session))
        try:
            found = future.result(max(0.05, until - time.monotonic()))
        except (MemosError, TimeoutError, OSError) as e:
            return self._late(session, e)
        if told is not None and turns is not None:
            turns.confirm(session, told["key"])
        return self._served(session, found)

    def ahead(self, query: str, session: str) -> None:
        """Recall for what was just spoken of, to have something at hand."""
        text = clean(query)
        if not text:
            return

        def done(future: Future[Recalled]) -> None:
            with contextlib.suppress(Exception):  # a prompt asks again, and says what is wrong
                found = future.result()
                with self._lock:
                    self._keep(self._ready, session, (found.context, len(found.items)))

        self._link.begin(self._asking(text, _AHEAD)).add_done_callback(done)

    def shown(self, session: str) -> str:
        """What the model was given last in a session."""
        block = self._last.get(session, "")
        return block if len(block) <= _SHOWN else ""

    def forget_status(self) -> None:
        """The turn that it was about is over."""
        self.status = None

    def forget(self, session: str) -> None:
        """Nothing of a session is to be served any more."""
        with self._lock:
            self._ready.pop(session, None)
            self._last.pop(session, None)
        self.status = None

    def _asking(self, text: str, session: str) -> Callable[[Door], Any]:
        async def ask(door: Door) -> Recalled:
            return await door.system.recall(
                text[:_QUERY], session=session, agent=door.agent, environment=self._environment,
                max_tokens=self._options.max_tokens, **door.where(),
            )  # fmt: skip

        return ask

    def _served(self, session: str, found: Recalled) -> str:
        block, count = found.context, len(found.items)
        if len(block) > self._options.max_tokens * 4:
            log.warning("block_over_budget", characters=len(block))
            block, count = "", 0
        whole = found.status.value not in ("partial", "failed")
        with self._lock:
            self.status = (LABEL if whole else f"{LABEL} (not all could be asked)", count, GLYPH if whole else LATE)
            self._keep(self._last, session, block)
        return block

    def _late(self, session: str, error: Exception) -> str:
        """Serve what was held ready, and say what went wrong."""
        late = isinstance(error, TimeoutError) and not isinstance(error, MemosError)
        why = "late" if late else str(getattr(error, "code", type(error).__name__))
        with self._lock:
            block, count = self._ready.pop(session, ("", 0))
            said = "what fitted the last turn" if block else "nothing recalled"
            self.status = (f"{LABEL} ({why}: {said})", count, LATE)
            self._keep(self._last, session, block)
        log.warning("recall_failed", why=why, held_ready=count)
        return block

    def _keep(self, where: dict[str, Any], session: str, value: Any) -> None:
        where.pop(session, None)
        where[session] = value
        while len(where) > _MOST:
            del where[next(iter(where))]
