from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

from memos.models import embed
from memos.models.embed import Purpose, ThreadedEmbedder, Vectors


async def test_a_model_that_hangs_takes_no_threads_of_others() -> None:
    go_on = threading.Event()

    class Hangs(ThreadedEmbedder):
        model_id, dim = "hangs", 4

        def embed_sync(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
            go_on.wait(30)
            raise RuntimeError

    calls = [asyncio.create_task(Hangs().embed(["a"], purpose="document")) for _ in range(40)]
    try:
        async with asyncio.timeout(5):
            assert await asyncio.to_thread(lambda: 1) == 1
        assert sum(thread.name.startswith("memos-embed") for thread in threading.enumerate()) <= embed.THREADS
    finally:
        go_on.set()
        await asyncio.gather(*calls, return_exceptions=True)
