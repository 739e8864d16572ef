"""Thread pools of a module that survive a fork: the child's are made anew, since threads do not come along."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


class ThreadPool(ThreadPoolExecutor):
    """A `ThreadPoolExecutor` that is empty and usable in a forked child. What the parent had queued stays the parent's."""

    def __init__(self, threads: int, name: str) -> None:
        super().__init__(threads, thread_name_prefix=name)
        self._made_of = threads, name
        _pools.add(self)


async def aside(work: Callable[[], None]) -> None:
    """Do something blocking in a thread, or here when the interpreter is ending and no thread starts any more."""
    try:
        done = asyncio.get_running_loop().run_in_executor(None, work)
    except RuntimeError:
        work()
    else:
        await done


_pools: weakref.WeakSet[ThreadPool] = weakref.WeakSet()


def _in_child() -> None:
    for pool in list(_pools):
        threads, name = pool._made_of
        ThreadPoolExecutor.__init__(pool, threads, thread_name_prefix=name)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
