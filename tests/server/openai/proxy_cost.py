"""What the proxy adds before the first byte of a stream: a script, no test.

    PYTHONPATH=src:tests:tests/server python tests/server/openai/proxy_cost.py 10000 200

One `memos serve` over so many memories, a model's server on this machine that answers at once, and so many questions, each asked
of the model's server directly and through the proxy in every mode in turn, with a quarter of a second between them, as what was
said is read in the background.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2
from serving import Starter

from llm_server import Answer, LlmServer
from memos import MemOS

NAMES = ["Ada", "Bo", "Cy", "Dan", "Eve", "Fay", "Gus", "Hal", "Ivy", "Jon"]
THINGS = [
    "boat",
    "cat",
    "lamp",
    "desk",
    "garden",
    "recipe",
    "server",
    "router",
    "invoice",
    "ticket",
    "bicycle",
    "piano",
]
PLACES = ["Oslo", "Bergen", "Rome", "Lyon", "Kyoto", "Quito", "Dakar", "Perth", "Lima", "Turin"]
PAUSE = 0.25
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}


def main(memories: int, rounds: int) -> None:
    """Make the memories, ask, print a line for each way."""
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as folder, LlmServer(lambda _: Answer("A short answer.", piece=5)) as model:
        home = Path(folder) / "home"
        with MemOS(home, durability="normal") as m:
            for begin in range(0, memories, 500):
                said = [f"{chance.choice(NAMES)} took {chance.choice(THINGS)} {n} to {chance.choice(PLACES)}."
                        for n in range(begin, min(begin + 500, memories))]  # fmt: skip
                m.add(said, user="ada", session=f"old-{begin}")
            m.flush(user="ada")
        start = Starter(Path(folder))
        try:
            live = start(
                home=home, embedder="default", MEMOS_LLM_CHAT="openai-compatible:stub", MEMOS_LLM_CHAT_URL=model.url
            )
            ways: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
                "model": (f"{model.url}/chat/completions", {}, {})
            }
            for mode in ("off", "read", "write", "both"):
                headers = {"X-Memory-Mode": mode, "X-Memory-User": "ada"}
                ways[mode] = (f"{live.url}/v1/chat/completions", headers, {})
            ways["both, tools"] = (*ways["both"][:2], {"tools": [TOOL]})
            tell(ask(ways, rounds, chance))
        finally:
            start.end()


def ask(ways: dict[str, Any], rounds: int, chance: random.Random) -> dict[str, list[float]]:
    """Milliseconds until the first byte, for each way."""
    took: dict[str, list[float]] = {way: [] for way in ways}
    with httpx2.Client(timeout=30) as client:
        for n in range(-10, rounds):
            for way, (url, headers, more) in ways.items():
                question = f"Where is the {chance.choice(THINGS)} of {chance.choice(NAMES)}, for the {n}th time?"
                body = {"model": "stub", "stream": True, "messages": [{"role": "user", "content": question}], **more}
                time.sleep(PAUSE)
                begun = time.perf_counter()
                with client.stream("POST", url, json=body, headers=headers) as answer:
                    chunks = answer.iter_bytes()
                    next(chunks)
                    if n >= 0:
                        took[way].append(1e3 * (time.perf_counter() - begun))
                    assert answer.status_code == 200 and answer.headers.get("x-memory-status") in (None, "ok", "off")
                    for _ in chunks:
                        pass
    return took


def tell(took: dict[str, list[float]]) -> None:
    """A line for each way; the ratio is to a proxy that does nothing with memory."""
    off = statistics.median(took["off"])
    for way, times in took.items():
        times.sort()
        median, p95 = statistics.median(times), times[int(len(times) * 0.95)]
        print(f"{way:12} median {median:6.1f} ms  p95 {p95:6.1f} ms  {median / off:5.2f} times off")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
