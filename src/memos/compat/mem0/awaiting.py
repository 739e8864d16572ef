"""One definition of a verb for classes whose answers are awaited and for those whose are not."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec

P = ParamSpec("P")
Work = Callable[[], Coroutine[Any, Any, Any]]


def awaited(verb: Callable[P, Any]) -> Callable[P, Coroutine[Any, Any, Any]]:
    """A verb that returns something to await, as a coroutine function with the same parameters."""

    @wraps(verb)
    async def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        return await verb(*args, **kwargs)

    return call
