"""A process that lives through a few tasks and says which of them are on disk: for tests that kill it, or run two at once."""

from __future__ import annotations

import asyncio
import sys

from memos import AsyncMemOS


def task(word: str) -> tuple[str, list[dict[str, object]]]:
    """A goal, and the calls that reach it: something is missing, is installed, and then it works."""
    error = f"  native.c:3:10: fatal error: lib{word}-fe.h: No such file or directory\ncompilation terminated."
    return f"Install the package pack{word}", [
        {"tool": "shell", "input": f"pip install pack{word}", "error": error},
        {"tool": "shell", "input": f"apt-get install lib{word}-dev", "output": "done", "ok": True},
        {"tool": "shell", "input": f"pip install pack{word}", "output": "installed", "ok": True},
    ]


async def live(memos: AsyncMemOS, word: str, **where: str) -> str:
    """One task from its beginning to its end; returns its episode."""
    goal, steps = task(word)
    began = await memos.start_turn(
        goal, session=f"s-{word}", environment="debian", task="new", recall=False, key="turn", **where
    )
    await memos.end_turn("Done.", steps=steps, session=f"s-{word}", key="end", **where)
    await memos.report_outcome(1.0, session=f"s-{word}", key="outcome", **where)
    await memos.end_session(f"s-{word}", **where)
    return began.episode


async def _run(home: str, name: str, count: int) -> None:
    async with AsyncMemOS(home, embedder="none", reward_window=0) as memos:
        for n in range(count):
            await live(memos, f"{name}{n}")
            print(f"s-{name}{n}", flush=True)
            if n % 4 == 3:
                await memos.evolve(now=True)


if __name__ == "__main__":
    asyncio.run(_run(sys.argv[1], sys.argv[2], int(sys.argv[3])))
