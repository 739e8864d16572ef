"""`AsyncMemOS`: the verbs, wired to the rooms. The only package that knows them all; `memos.sync` is its synchronous face.

Every verb names a user and works on one cube (the user's own by default), which `cubes.access` opens or refuses.
"""

from __future__ import annotations

from memos.system.acting import Acting
from memos.system.base import DEFAULT_USER
from memos.system.chatting import Chatting
from memos.system.cubes import Cubes
from memos.system.entities import Entities
from memos.system.feedback import Feedback
from memos.system.finding import Finding
from memos.system.following import Following
from memos.system.images import Images
from memos.system.profile import Profiling
from memos.system.reading import Reading
from memos.system.recalling import Recalling
from memos.system.skills import Skills
from memos.system.spending import Spending
from memos.system.upkeep import Upkeeping
from memos.system.writing import Writing

__all__ = ["DEFAULT_USER", "AsyncMemOS"]


class AsyncMemOS(
    Acting,
    Recalling,
    Following,
    Skills,
    Chatting,
    Writing,
    Finding,
    Profiling,
    Cubes,
    Reading,
    Upkeeping,
    Feedback,
    Entities,
    Spending,
    Images,
):
    """The memory system, for asyncio. Nothing is opened before the first call; `close` (or `async with`) ends it
    cleanly.

    Parameters: `home`, the data folder (default `~/.memos`); `settings` or any field of `Settings` as a keyword;
    `embedder`, `reranker` and `llm`, a spec such as "default", "none", "openai:text-embedding-3-small", or an object.
    """
