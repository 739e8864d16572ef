"""`MemOS`: the synchronous face of `AsyncMemOS`. One event loop in a thread; every verb is the asynchronous one, run
there.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import threading
import weakref
from collections.abc import Callable, Coroutine
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from memos.errors import InvalidInput
from memos.system import AsyncMemOS

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
        return instance._run(coroutine)


class MemOS:
    """The memory system. `MemOS()` keeps its data in `~/.memos`; see `AsyncMemOS` for the parameters and every verb.

    Safe to use from many threads. `close()` (or `with MemOS() as m:`) lets queued work reach the disk; what is not
    digested yet goes on at the next start.
    """

    def __init__(self, home: Any = None, **options: Any) -> None:
        self._system = AsyncMemOS(home, **options)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = False
        _open.add(self)

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
        with self._lock:
            loop, self._loop = self._loop, None
            self._closed = True
        _open.discard(self)
        if loop is None:
            return
        asyncio.run_coroutine_threadsafe(self._system.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        assert self._thread is not None
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        with self._lock:
            if self._closed:
                coroutine.close()
                raise InvalidInput(_CLOSED)
            if self._loop is None:
                self._loop = self._start()
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise InvalidInput(_CLOSED) from None
        except KeyboardInterrupt:
            future.cancel()
            raise

    def _start(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()

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
        return loop


_open: weakref.WeakSet[MemOS] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for system in list(_open):
        with contextlib.suppress(Exception):
            system.close()
