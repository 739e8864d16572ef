"""Run by the Python of Hermes: a scripted day through the real MemoryManager, as its agent loop drives it. Prints what it told."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections import Counter
from typing import Any

from agent.memory_manager import MemoryManager, build_memory_context_block
from plugins.memory import load_memory_provider

MISHAPS = ("fast", "interrupted", "pasted", "same ids", "compressed", "retried")


class Day:
    """Sessions of a seeded script. `expected`: how often each text is to be stored. `seconds`: of each prefetch."""

    def __init__(self, seed: int, name: str) -> None:
        self.random = random.Random(seed)
        self.name = name
        self.expected: Counter[str] = Counter()
        self.seconds: list[float] = []
        self.longest = self.blocks = 0
        self.manager = MemoryManager()
        provider = load_memory_provider("memos")
        assert provider is not None and provider.is_available(), "Hermes does not find the provider"
        self.manager.add_provider(provider)
        self.provider = provider
        self.messages: list[dict[str, Any]] = []
        self.session = ""

    def begin(self, session: str) -> None:
        if self.session:
            self.manager.commit_session_boundary_async(
                self.messages, new_session_id=session, parent_session_id=self.session
            )
        else:
            self.manager.initialize_all(
                session, platform="cli", agent_context="primary", agent_identity="default", agent_workspace="hermes"
            )
        self.session, self.messages = session, []

    def turn(self, number: int, block: str) -> str:
        mishap = self.random.choice(MISHAPS) if self.random.random() < 0.4 else ""
        name = f"{self.name}-{self.session}-{number}"
        asked = f"Push image {name} to the staging registry"
        if mishap == "retried":  # the user stops the agent, and says the same again
            self.ask(number, asked)
            self.expected[asked] += 1
        said = f"{asked}\n{build_memory_context_block(block)}" if mishap == "pasted" and block else asked
        found = self.ask(number, said)
        self.expected[asked] += 1
        if mishap == "interrupted":
            self.messages.pop()
            return found
        for call in range(self.random.randrange(3)):
            self.call(
                f"push {name}-{call}", f"out {name}-{call}", "call_0" if mishap == "same ids" else f"{name}{call}"
            )
            self.expected[f"Bash: push {name}-{call}"] += 1
        if mishap == "compressed":
            self.manager.on_pre_compress(self.messages)
            self.messages = [
                {"role": "user", "content": "[CONTEXT COMPACTION] earlier work"},
                {"role": "user", "content": said},
            ]
            new = f"{self.session}-c{number}"
            self.manager.on_session_switch(new, parent_session_id=self.session, reset=False, reason="compression")
            self.session = new
        reply = f"Image {name} is pushed."
        self.expected[reply] += 1
        echo = f"\n{found}" if mishap == "pasted" else ""
        self.messages.append({"role": "assistant", "content": reply + echo})
        self.manager.sync_all(said, reply + echo, session_id=self.session, messages=self.messages)
        self.manager.queue_prefetch_all(said, session_id=self.session)
        if mishap != "fast" and self.random.random() < 0.5:
            self.manager.flush_pending(10)
        return found

    def ask(self, number: int, said: str) -> str:
        self.messages.append({"role": "user", "content": said})
        self.manager.on_turn_start(number, said)
        start = time.perf_counter()
        found = self.manager.prefetch_all(said)
        self.seconds.append(time.perf_counter() - start)
        self.longest = max(self.longest, len(found))
        self.blocks += bool(found)
        return found

    def call(self, command: str, output: str, id: str) -> None:
        function = {"name": "terminal", "arguments": json.dumps({"command": command})}
        self.messages.append(
            {"role": "assistant", "content": "", "tool_calls": [{"id": id, "type": "function", "function": function}]}
        )
        told = json.dumps({"output": output, "exit_code": 0, "error": None})
        self.messages.append({"role": "tool", "tool_call_id": id, "content": told})

    def end(self) -> None:
        self.manager.flush_pending(30)
        self.manager.on_session_end(self.messages)
        self.manager.shutdown_all()


def main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Hermes prints is no answer
    seed, sessions, turns = map(int, sys.argv[1:4])
    day = Day(seed, f"day{seed}")
    for session in range(sessions):
        day.begin(f"s{session}")
        block = ""
        for number in range(1, turns + 1):
            block = day.turn(number, block) or block
            if len(sys.argv) > 4 and session == sessions - 1 and number == turns:
                day.manager.flush_pending(10)
                json.dump({"expected": day.expected}, out)
                out.flush()
                os.kill(os.getpid(), 9)
    day.end()
    told = {"expected": day.expected, "seconds": day.seconds, "longest": day.longest, "blocks": day.blocks}
    json.dump({**told, "drain": day.manager.shutdown_drain_state["status"]}, out)
    out.flush()


if __name__ == "__main__":
    main()
