"""`MemOS`: the synchronous face of `AsyncMemOS`. One event loop in a thread; every verb is the asynchronous one, run
there.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from memos.errors import InvalidInput
from memos.system import FORKED, AsyncMemOS

P = ParamSpec("P")
R = TypeVar("R")
_ELSEWHERE = {"user_id": "user=", "top_k": "limit=", "metadata": "info=", "run_id": "session=", "filters": "filter="}
_CLOSED = "this MemOS is closed; make a new one"


class _Verb(Generic[P, R]):
    """Runs an asynchronous method of `AsyncMemOS` to its end in the caller's thread."""

    def __init__(self, method: Callable[Concatenate[AsyncMemOS, P], Coroutine[Any, Any, R]]) -> None:
        self._method = method
        update_wrapper(self, method)

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: MemOS, owner: type) -> Callable[P, R]: ...
    def __get__(self, instance: MemOS | None, owner: type) -> Any:
        if instance is None:
            return self

        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            assert instance is not None
            return self(instance, *args, **kwargs)

        return update_wrapper(call, self._method)

    def __call__(self, instance: MemOS, *args: P.args, **kwargs: P.kwargs) -> R:
        """The verb of an instance, as `MemOS.add(m, ...)`; it also lets `help` and `inspect` see a function."""
        try:
            coroutine = self._method(instance._system, *args, **kwargs)  # nothing of it runs yet: arguments are bound
        except TypeError as e:
            hint = next((f"; did you mean {ours}?" for word, ours in _ELSEWHERE.items() if f"'{word}'" in str(e)), "")
            raise TypeError(str(e).replace("AsyncMemOS.", "MemOS.") + hint) from None
        return instance._engine.run(coroutine)


class MemOS:
    """The memory system. `MemOS()` keeps its data in `~/.memos`; see `AsyncMemOS` for the parameters and every verb.

    Safe to use from many threads. `close()` (or `with MemOS() as m:`) lets queued work reach the disk; what is not
    digested yet goes on at the next start.
    """

    def __init__(self, home: Any = None, **options: Any) -> None:
        self._system = AsyncMemOS(home, **options)
        self._engine = _Engine(self._system)
        weakref.finalize(self, self._engine.abandon).atexit = False  # at exit `_close_all` waits for the end instead

    add = _Verb(AsyncMemOS.add)
    update = _Verb(AsyncMemOS.update)
    delete = _Verb(AsyncMemOS.delete)
    undo = _Verb(AsyncMemOS.undo)
    search = _Verb(AsyncMemOS.search)
    explain = _Verb(AsyncMemOS.explain)
    get = _Verb(AsyncMemOS.get)
    find_ids = _Verb(AsyncMemOS.find_ids)
    list = _Verb(AsyncMemOS.list)
    history = _Verb(AsyncMemOS.history)
    neighbors = _Verb(AsyncMemOS.neighbors)
    stats = _Verb(AsyncMemOS.stats)
    create_cube = _Verb(AsyncMemOS.create_cube)
    open_cube = _Verb(AsyncMemOS.open_cube)
    list_cubes = _Verb(AsyncMemOS.list_cubes)
    delete_cube = _Verb(AsyncMemOS.delete_cube)
    share = _Verb(AsyncMemOS.share)
    export_cube = _Verb(AsyncMemOS.export_cube)
    import_cube = _Verb(AsyncMemOS.import_cube)
    flush = _Verb(AsyncMemOS.flush)

    @property
    def settings(self) -> Any:
        """The settings in force."""
        return self._system.settings

    def close(self) -> None:
        """Finish writes, close every file and end the thread. A second call does nothing."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Engine:
    """A system, and the thread with the event loop it runs in. Knows no `MemOS`, so that a forgotten one can be freed."""

    def __init__(self, system: AsyncMemOS) -> None:
        self._system = system
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed: str | None = None  # why nothing can be asked any more
        _engines.add(self)

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """The result of a verb, waited for."""
        with self._lock:
            if self._closed:
                coroutine.close()
                raise InvalidInput(self._closed)
            if self._loop is None:
                self._start()
                assert self._loop is not None
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise InvalidInput(_CLOSED) from None
        except KeyboardInterrupt:
            future.cancel()
            raise

    def close(self) -> None:
        """End the system, then the thread, and wait for both."""
        with self._lock:
            first, self._closed = self._closed is None, self._closed or _CLOSED
            loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        if first:
            ending = asyncio.run_coroutine_threadsafe(self._system.close(), loop)
            try:
                ending.result()
            finally:
                loop.call_soon_threadsafe(loop.stop)
        thread.join()

    def abandon(self) -> None:
        """The same for a `MemOS` that nobody holds any more: waits for nothing, for any thread may come to free it."""
        loop = self._loop
        if self._closed or loop is None:
            return
        self._closed = _CLOSED

        async def end() -> None:
            try:
                await self._system.close()
            finally:
                loop.stop()

        with contextlib.suppress(RuntimeError):  # the loop has ended already
            loop.call_soon_threadsafe(lambda: setattr(self, "_ending", loop.create_task(end())))

    def forked(self) -> None:
        """In the child of a fork: the thread is not here, and what the parent has open is not the child's."""
        self._lock = threading.Lock()
        if self._loop is not None:
            _inherited.append(self._loop)  # freeing it would take the parent's sockets out of the parent's selector
            self._loop = self._thread = None
            self._closed = self._closed or FORKED

    def _start(self) -> None:
        loop = self._loop = asyncio.new_event_loop()

        def run() -> None:
            asyncio.set_event_loop(loop)
            loop.run_forever()
            left = asyncio.all_tasks(loop)  # calls that other threads wait for; they are told that it is closed
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

        self._thread = threading.Thread(target=run, name="memos-loop", daemon=True)
        self._thread.start()


_engines: weakref.WeakSet[_Engine] = weakref.WeakSet()
_inherited: list[asyncio.AbstractEventLoop] = []


@atexit.register
def _close_all() -> None:
    for engine in list(_engines):
        with contextlib.suppress(Exception):
            engine.close()


def _in_child() -> None:
    for engine in list(_engines):
        engine.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
