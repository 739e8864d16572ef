"""Several API processes behind one port: a parent that only watches, and children that serve.

The parent opens no data, so that a child is forked from a clean process, and forked again when it dies. Everything the children
share is on disk (law 2): an add that was acknowledged is there, whichever child answered it.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType

import structlog

from memos.errors import InvalidInput, Unavailable

log = structlog.get_logger(__name__)

LIVED_SECONDS = 10.0  # a child that lived shorter is started again after a pause only
PAUSE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Place:
    """What a child gets: its socket, `tell` to be called when it answers requests, and a descriptor that ends with the parent."""

    listener: socket.socket
    tell: Callable[[], None]
    parent: int


@dataclass(slots=True)
class _Child:
    pid: int
    pipe: int  # readable when the child is ready, at its end when it is dead
    since: float
    ready: bool = False


def check_processes() -> None:
    """Raise InvalidInput where there is no fork."""
    if not hasattr(os, "fork"):
        raise InvalidInput("processes must be 1 on this system, which cannot fork")


def listeners(first: socket.socket, count: int) -> list[socket.socket]:
    """One socket for each child, all at the address of `first`, which is closed where it is not used.

    Linux spreads connections over sockets of one port evenly. Elsewhere the children share one socket.
    """
    if sys.platform != "linux":
        return [first] * count
    address, family = first.getsockname(), first.family
    first.close()
    try:
        return [socket.create_server(address[:2], family=family, backlog=2048, reuse_port=True) for _ in range(count)]
    except OSError as error:
        raise Unavailable(f"cannot listen at {address[0]}:{address[1]}: {error.strerror or error}") from None


class Supervisor:
    """Runs `work` in one child per socket until SIGTERM or SIGINT. Used in the main thread of a process without others."""

    def __init__(self, sockets: list[socket.socket], work: Callable[[Place], None], ready: Callable[[], None]) -> None:
        """`ready` is called once, when all children are."""
        self._sockets, self._work, self._ready = sockets, work, ready
        self._children: dict[int, _Child] = {}  # by place
        self._due: dict[int, float] = {}  # when a place is filled again, by the clock of `time.monotonic`
        self._alive = os.pipe()
        self._wake = os.pipe()
        self._signals: list[int] = []
        self._told = self._stopping = False

    def run(self) -> None:
        """Returns in the parent when all children have ended, and in each child when its work is done.

        The first child is ready before the others start, so that one alone upgrades the data folder. When one fails before all
        are ready, all end, and SystemExit has its exit code (it has said itself what is wrong).
        """
        with self._handling():
            for place in range(len(self._sockets)):
                if not self._stopping and self._start(place):
                    return
                if place == 0:
                    self._until(lambda: self._stopping or self._children[0].ready)
            if not self._stopping:
                self._until(lambda: self._stopping or all(c.ready for c in self._children.values()))
            if not self._stopping:
                self._told = True
                self._ready()
            while self._children or (self._due and not self._stopping):
                if self._step():
                    return

    # -- parent --------------------------------------------------------------------------------------------------

    def _until(self, enough: Callable[[], bool]) -> None:
        while not enough():
            self._step()

    def _step(self) -> bool:
        """Wait for something to happen, and see to it; True in a child that was started."""
        now = time.monotonic()
        wait = None if self._stopping or not self._due else max(0.0, min(self._due.values()) - now)
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake[0], selectors.EVENT_READ)
            for place, child in self._children.items():
                selector.register(child.pipe, selectors.EVENT_READ, place)
            events = selector.select(wait)
        for key, _ in events:
            if key.data is None:
                os.read(self._wake[0], 4096)
                self._forward()
            elif os.read(key.fd, 1):
                self._children[key.data].ready = True
            else:
                self._ended(key.data)
        if self._stopping:
            return False
        late = [place for place, at in self._due.items() if at <= time.monotonic()]
        return any(self._start(place) for place in late)

    def _forward(self) -> None:
        """Hand signals on. The first one is an orderly end, whatever it is: a terminal has interrupted the children itself."""
        waiting, self._signals = self._signals, []
        for number in waiting:
            for child in self._children.values():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, number if self._stopping else signal.SIGTERM)
            self._stopping = True

    def _ended(self, place: int) -> None:
        child = self._children.pop(place)
        os.close(child.pipe)
        _, status = os.waitpid(child.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if self._stopping:
            return
        if not self._told:
            self._end_all()
            raise SystemExit(code if code > 0 else 1)
        lived = time.monotonic() - child.since
        log.warning("process_ended", pid=child.pid, exit_code=code, seconds=round(lived, 1))
        self._due[place] = time.monotonic() + (0.0 if lived >= LIVED_SECONDS else PAUSE_SECONDS)

    def _end_all(self) -> None:
        self._stopping = True
        for child in self._children.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGTERM)
        while self._children:
            self._step()

    def _start(self, place: int) -> bool:
        """Fork a child; True in the child, when its work is done."""
        self._due.pop(place, None)
        told = os.pipe()
        pid = os.fork()
        if pid:
            os.close(told[1])
            self._children[place] = _Child(pid, told[0], time.monotonic())
            return False
        for child in self._children.values():
            os.close(child.pipe)
        for descriptor in (*self._wake, self._alive[1], told[0]):
            os.close(descriptor)
        for other in self._sockets:
            if other is not self._sockets[place]:
                other.close()
        signal.set_wakeup_fd(-1)
        self._children.clear()
        self._work(Place(self._sockets[place], lambda: _write(told[1]), self._alive[0]))
        return True

    @contextlib.contextmanager
    def _handling(self) -> Iterator[None]:
        """Note signals and wake the loop."""
        me = os.getpid()

        def note(number: int, frame: FrameType | None) -> None:
            if os.getpid() != me:  # a child that has not begun yet, or is at its end
                raise SystemExit(0)
            self._signals.append(number)
            _write(self._wake[1])

        before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            if os.getpid() == me:
                for number, handler in before.items():
                    signal.signal(number, handler)
                for descriptor in (*self._wake, *self._alive):
                    os.close(descriptor)


def _write(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.write(descriptor, b".")
