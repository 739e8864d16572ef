"""What a proxy in front of the chat models needs of the system beside its verbs: the way to a configured server, leave to use a
cube before anything is asked, and errands that go on when their client has left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from memos.errors import InvalidInput, Unavailable
from memos.models.llm.passage import Passage
from memos.models.llm.port import ChatModel
from memos.storage.names import check_user
from memos.system import AsyncMemOS
from memos.system.chatting import NO_MODEL

R = TypeVar("R")


def way_to(memos: AsyncMemOS, name: str | None, user: str, *, others: bool, spends: bool = True) -> Passage | ChatModel:
    """Who answers a request that names a model: the server it is passed on to, or, where the configured model speaks another
    protocol than OpenAI's, the model itself. `others`: names that are not configured are asked of the chat model's server.
    `spends`: it is asked for tokens.

    Raises Unavailable when no chat model is configured, InvalidInput when there is none of this name, OverBudget.
    """
    llms = memos._parts().llms
    if not (names := llms.names("chat")):
        raise Unavailable(NO_MODEL)
    passage = llms.passage(name, "chat", user, others=others, spends=spends)
    model = passage or (llms.of("chat", user) if name is None else llms.called(name, "chat", user))
    if model is None:
        raise InvalidInput(f"no chat model is called {name!r:.120}; there is {', '.join(names)}")
    return model


async def check_leave(memos: AsyncMemOS, user: str, cube: str | None, *, read: bool, write: bool) -> None:
    """Raise AccessDenied or NotFound unless the user may read, write the cube (by default her own, which need not be there)."""
    for need in ("read",) * read + ("write",) * write:
        if need == "read" and cube in (None, user) and memos._parts().registry.find(check_user(user)) is None:
            continue  # a reader makes no files
        await memos._resolved(user, cube, need)


def errand(memos: AsyncMemOS, work: Coroutine[Any, Any, R]) -> asyncio.Task[R]:
    """Have something done whoever leaves; it is done before the system closes, and handles its own errors."""
    return memos._parts().errands.run(work)
