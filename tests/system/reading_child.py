"""A process that reads with a model until it is killed. `python reading_child.py HOME SECONDS_PER_CALL`; prints a line per call."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from fine_stub import StubReader

from llm_models import ScriptedModel
from memos import AsyncMemOS, understanding
from memos.models.llm.port import ChatRequest


def echo(request: ChatRequest) -> dict[str, Any]:
    print("call", flush=True)
    lines = [line.split(": ", 1) for line in request.messages[-1].content.splitlines()]
    return {"facts": [[int(n), *text.split(" = ")] for n, text in lines if " = " in text]}


async def main(home: Path, seconds: float) -> None:
    understanding.FineReader = lambda: StubReader(size=1)  # type: ignore[misc,assignment]
    model = ScriptedModel(echo, seconds=seconds)
    async with AsyncMemOS(home, embedder="none", llm=model, llm_concurrency=4) as memos:
        await memos.start()
        await asyncio.sleep(60)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), float(sys.argv[2])))
