"""An asynchronous object used from ordinary threads: one event loop in a thread, and verbs that are run there.

What `MemOS` and the HTTP `Client` share, so that no verb is written twice.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import os
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from memos.errors import InvalidInput

S = TypeVar("S")
P = ParamSpec("P")
R = TypeVar("R")
_ELSEWHERE = {"user_id": "user=", "top_k": "limit=", "metadata": "info=", "run_id": "session=", "filters": "filter="}


class Closing(Protocol):
    """What an engine runs: something that is closed at the end."""

    async def close(self) -> None:
        """Let go of everything."""
        ...


class Part:
    """A synchronous class over an asynchronous one. Its verbs are `Verb`s and `Stream`s of that class's methods."""

    def __init__(self, system: Any, engine: Engine) -> None:
        self._system, self._engine = system, engine


class Face(Part):
    """The whole of it: has an engine of its own, and is closed."""

    def __init__(self, system: Closing) -> None:
        super().__init__(system, Engine(system, type(self).__name__))
        weakref.finalize(self, self._engine.abandon).atexit = False  # at exit `_close_all` waits for the end instead

    def close(self) -> None:
        """Finish what is under way, let go of everything and end the thread. A second call does nothing."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Verb(Generic[S, P, R]):
    """Runs an asynchronous method to its end in the caller's thread."""

    def __init__(self, method: Callable[Concatenate[S, P], Coroutine[Any, Any, R]]) -> None:
        self._method = method
        update_wrapper(self, method)

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: Part, owner: type) -> Callable[P, R]: ...
    def __get__(self, instance: Part | None, owner: type) -> Any:
        if instance is None:
            return self

        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            assert instance is not None
            return self(instance, *args, **kwargs)

        return update_wrapper(call, self._method)

    def __call__(self, instance: Part, *args: P.args, **kwargs: P.kwargs) -> R:
        """The verb of an instance, as `MemOS.add(m, ...)`; it also lets `help` and `inspect` see a function."""
        return instance._engine.run(_bound(self._method, instance, *args, **kwargs))


class Stream(Generic[S, P, R]):
    """Runs an asynchronous generator; the caller's thread waits for each item."""

    def __init__(self, method: Callable[Concatenate[S, P], AsyncGenerator[R, None]]) -> None:
        self._method = method
        update_wrapper(self, method)

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: Part, owner: type) -> Callable[P, Iterator[R]]: ...
    def __get__(self, instance: Part | None, owner: type) -> Any:
        if instance is None:
            return self

        def call(*args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
            assert instance is not None
            return self(instance, *args, **kwargs)

        return update_wrapper(call, self._method)

    def __call__(self, instance: Part, *args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
        """The items, one at a time; what the generator holds is let go of when the iteration ends."""
        return _items(instance, _bound(self._method, instance, *args, **kwargs))


def _items(instance: Part, generator: AsyncGenerator[R, None]) -> Iterator[R]:
    turn = asyncio.Lock()  # who is interrupted in the middle of an item leaves it running for a moment

    async def following() -> tuple[R] | None:
        async with turn:
            async for item in generator:
                return (item,)
            return None

    async def ended() -> None:
        async with turn:
            await generator.aclose()

    try:
        while (item := instance._engine.run(following())) is not None:
            yield item[0]
    finally:
        with contextlib.suppress(InvalidInput):  # closed meanwhile, and the generator with it
            instance._engine.run(ended())


def _bound(method: Callable[..., R], instance: Part, *args: Any, **kwargs: Any) -> R:
    """The coroutine or generator of a call; nothing of it runs yet. A wrong argument is told in the words of the face."""
    try:
        return method(instance._system, *args, **kwargs)
    except TypeError as e:
        hint = next((f"; did you mean {ours}?" for word, ours in _ELSEWHERE.items() if f"'{word}'" in str(e)), "")
        owner = method.__qualname__.rpartition(".")[0]
        told = str(e).replace(f"{owner}.", f"{type(instance).__name__}.") if owner else str(e)
        raise TypeError(told + hint) from None


class Engine:
    """A system, and the thread with the event loop it runs in. Knows no `Face`, so that a forgotten one can be freed."""

    def __init__(self, system: Closing, name: str) -> None:
        self._system = system
        self._closing = f"this {name} is closed; make a new one"
        self._forking = f"this {name} was made before fork; make a new {name} in this process"
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
            raise InvalidInput(self._closing) from None
        except KeyboardInterrupt:
            future.cancel()
            raise

    def close(self) -> None:
        """End the system, then the thread, and wait for both."""
        with self._lock:
            first, self._closed = self._closed is None, self._closed or self._closing
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
        """The same for a face that nobody holds any more: waits for nothing, for any thread may come to free it."""
        loop = self._loop
        if self._closed or loop is None:
            return
        self._closed = self._closing

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
            self._closed = self._closed or self._forking

    def _start(self) -> None:
        loop = self._loop = asyncio.new_event_loop()

        def run() -> None:
            asyncio.set_event_loop(loop)
            loop.run_forever()
            left = asyncio.all_tasks(loop)  # calls that other threads wait for; they are told that it is closed
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

        self._thread = threading.Thread(target=run, name="memos-loop", daemon=True)
        self._thread.start()


_engines: weakref.WeakSet[Engine] = weakref.WeakSet()
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
