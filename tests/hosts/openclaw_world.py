"""OpenClaw without OpenClaw: sessions, runs and messages in the shapes that 2026.9.6 showed when it was recorded, handed to the
plugin's own modules in a plain Node.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from hosts_world import SRC, environment

from memos.client import Client

PLUGIN = SRC / "memos" / "hosts" / "openclaw" / "plugin"
DRIVER = Path(__file__).parent / "openclaw_driver.mjs"
_clock = itertools.count(1_700_000_000_000, 1_000)  # ms; each message is a second later than the one before


_GIVEN = os.environ.get("MEMOS_TEST_NODE")  # no test sees the variables of ours


def node() -> str | None:
    """A Node of version 20 or later."""
    for found in (_GIVEN, shutil.which("node")):
        if found:
            told = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
            if told[:1] == "v" and int(told[1:].split(".")[0]) >= 20:
                return found
    return None


class Gateway:
    """A process that the plugin runs in."""

    def __init__(self, home: Path, config: dict[str, Any] | None = None, **env: str) -> None:
        found = node()
        assert found is not None
        self.home = home
        self._process = subprocess.Popen(
            [found, str(DRIVER), str(PLUGIN / "index.js")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(home, **env),
            text=True,
            encoding="utf-8",
        )
        self.registered = self.ask("register", config={"home": str(home), **(config or {})})

    def ask(self, does: str, **rest: Any) -> Any:
        """Have the driver do something."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"does": does, **rest}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "ok" in answer, answer
        return answer["ok"]

    def hook(self, name: str, event: dict[str, Any], ctx: dict[str, Any], **more: Any) -> dict[str, Any]:
        """What a hook returned, under `result`, and the `ms` it took."""
        answer: dict[str, Any] = self.ask("hook", name=name, event=event, ctx=ctx, **more)
        return answer

    def room(self, bytes: int) -> None:
        """How long its files may get: beyond, they are like those of a full disk."""
        resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (bytes, resource.RLIM_INFINITY))

    @property
    def log(self) -> list[str]:
        """What the plugin said in the host's log."""
        lines: list[str] = self.ask("log")
        return lines

    @property
    def spool(self) -> list[Path]:
        """The files of the queue."""
        return sorted((self.home / "hosts" / "openclaw").glob("spool*/*.jsonl"))

    def kill(self) -> None:
        """End it in the middle of things."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(20)
            finally:
                self._process.kill()
                self._process.wait()


@dataclass
class Session:
    """A session of OpenClaw: its messages as they are stored, and the run that goes on."""

    gateway: Gateway
    id: str = field(default_factory=lambda: str(uuid4()))
    stored: list[dict[str, Any]] = field(default_factory=list)
    live: list[dict[str, Any]] = field(default_factory=list)
    run: str = ""
    more: dict[str, Any] = field(default_factory=dict)
    away: bool = False  # the plugin is off, and the host goes on without it

    @property
    def key(self) -> str:
        return f"agent:main:explicit:{self.id}"

    @property
    def ctx(self) -> dict[str, Any]:
        here = {"runId": self.run, "agentId": "main", "sessionKey": self.key, "sessionId": self.id, "trigger": "user"}
        return {**here, "activeProjectKeys": ["github.com/ada/shop"], **self.more}

    def prompt(self, text: str, **more: Any) -> str:
        """A user message comes in: the block that was put before it."""
        self.run = str(uuid4())
        message = {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": next(_clock)}
        self.live = [message]
        return self.build(text, **more)

    def build(self, text: str, late: bool = False, **more: Any) -> str:
        """The prompt of the run is built (again)."""
        event = {"prompt": text, "messages": self.stored, **more}
        answer = self._hook("before_prompt_build", event, late=late)["result"]
        return "" if answer is None else str(answer["prependContext"])

    def call(
        self,
        tool: str,
        args: dict[str, Any],
        text: str,
        *,
        error: bool = False,
        code: int | None = None,
        details: dict[str, Any] | None = None,
    ) -> str:
        """A tool is called; what of its result the agent got beside."""
        id = f"call_{uuid4().hex[:8]}"
        block = {"type": "toolCall", "id": id, "name": tool, "arguments": args}
        self.live.append({"role": "assistant", "content": [block], "timestamp": next(_clock)})
        told = {"details": details or ({} if code is None else {"exitCode": code, "durationMs": 250})}
        result: dict[str, Any] = {"content": [{"type": "text", "text": text}], **told}
        self._hook("before_tool_call", {"toolName": tool, "params": args, "runId": self.run, "toolCallId": id})
        event = {"toolCallId": id, "toolName": tool, "args": args, "isError": error, "result": result}
        changed = None if self.away else self.gateway.ask("middleware", event=event, ctx=self.ctx)
        result = changed["result"] if changed else result
        after = {
            "toolName": tool,
            "params": args,
            "runId": self.run,
            "toolCallId": id,
            "result": result,
            "durationMs": 300,
        }
        self._hook("after_tool_call", after | ({"error": text} if error else {}))
        message = {
            "role": "toolResult",
            "toolCallId": id,
            "toolName": tool,
            "isError": error,
            "timestamp": next(_clock),
        }
        self.live.append({**message, **result})
        return "\n".join(part["text"] for part in result["content"][1:])

    def bash(self, command: str, output: str, code: int = 0) -> str:
        """A command is run."""
        text = output if code == 0 else f"{output}\n\n(Command exited with code {code})"
        return self.call("exec", {"command": command, "timeout": 30}, text, code=code)

    def say(self, text: str) -> None:
        """The agent says something."""
        block = [{"type": "text", "text": text}]
        self.live.append({"role": "assistant", "content": block, "timestamp": next(_clock)})

    def end(self, *, success: bool = True, times: int = 1) -> None:
        """The run is over."""
        for _ in range(times):
            event = {"messages": [*self.stored, *self.live], "success": success, "runId": self.run, "durationMs": 5}
            self._hook("agent_end", event)
        self.keep()

    def keep(self) -> None:
        """The host stores the run's messages, in the shape in which it reads them again."""
        for message in self.live:
            old = {k: v for k, v in message.items() if k != "details"} | {"__openclaw": {"runId": self.run}}
            if message["role"] == "user":
                old |= {"timestamp": message["timestamp"] - 7, "idempotencyKey": f"{uuid4()}:user"}
                old |= {"content": message["content"][0]["text"], "__openclaw": {"senderIsOwner": True}}
            if "toolCallId" in old:
                old["toolCallId"] = old["toolCallId"].replace("_", "")
            if message["role"] == "assistant":
                old["content"] = [
                    {**b, "id": b["id"].replace("_", "")} if b["type"] == "toolCall" else b for b in message["content"]
                ]
            self.stored.append(old)
        self.live = []

    def close(self, reason: str = "new", **more: Any) -> None:
        """The session is over."""
        self._hook(
            "session_end", {"sessionId": self.id, "sessionKey": self.key, "messageCount": 1, "reason": reason, **more}
        )

    def _hook(self, name: str, event: dict[str, Any], late: bool = False) -> dict[str, Any]:
        return {"result": None} if self.away else self.gateway.hook(name, event, self.ctx, late=late)


Gateways = Callable[..., Gateway]


def client(home: Path, user: str | None = None) -> Client:
    """A client of the server that runs on a home."""
    return Client(json.loads((home / "server.json").read_text())["url"], user=user)


def told(home: Path, user: str | None = None) -> list[str]:
    """Everything that was stored, in its order."""
    with client(home, user) as m:
        out, cursor = [], None
        while True:
            page = m.list(kinds=["trace", "tool_call"], limit=500, cursor=cursor, newest_first=False)
            out += [one.text for one in page.items]
            cursor = page.cursor
            if cursor is None:
                return out


def a_turn(session: Session, number: int) -> None:
    session.prompt(f"Question {number}")
    session.bash(f"echo {number}", str(number))
    session.say(f"Answer {number}")
    session.end()


def of_turn(number: int) -> list[str]:
    return [f"Question {number}", f"Bash: echo {number}\nok\n{number}", f"Answer {number}"]
