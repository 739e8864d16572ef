"""A host without a model: writes transcripts in the shapes that Claude Code 2.1 and Codex 0.171 wrote when they were recorded, and
runs the hook command for each event as they do. "dsh": the journal of our plugin, and its events.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

Serve = Callable[[Path], "subprocess.Popen[bytes]"]
SRC = Path(__file__).parents[2] / "src"
LONG = bool(os.environ.get("MEMOS_TEST_LONG"))  # read here: no test sees the variables of ours
DAY = (20 if LONG else 4, 25)  # sessions of a scripted day, and turns of each


def environment(home: Path, **more: str) -> dict[str, str]:
    """The variables of a hook."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("MEMOS_", "ANTHROPIC_", "CLAUDE", "CODEX"))}
    return {
        **inherited,
        "PYTHONPATH": str(SRC),
        "MEMOS_HOME": str(home),
        "MEMOS_EMBEDDER": "none",
        "OMP_NUM_THREADS": "1",
        **more,
    }


@dataclass
class Ran:
    """How a hook ended. `seconds`: its round trip."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def context(self) -> str:
        """What it gave the agent."""
        return json.loads(self.out)["hookSpecificOutput"]["additionalContext"] if self.out else ""


@dataclass
class Host:
    """One session. `away`: hooks are not run (the host runs without them)."""

    kind: str
    home: Path
    folder: Path
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    session: str = field(default_factory=lambda: str(uuid4()))
    away: bool = False
    ran: list[Ran] = field(default_factory=list)
    prompt_id: str = ""
    said: str = ""

    def __post_init__(self) -> None:
        self.transcript = self.folder / f"{self.session}.jsonl"
        self.cwd = self.folder / "shop"
        (self.cwd / ".git").mkdir(parents=True, exist_ok=True)

    # -- what happens ----------------------------------------------------------------------------------------------

    def start(self, source: str = "startup") -> Ran | None:
        return self.hook("SessionStart", source=source)

    def prompt(self, text: str, *, written_first: bool = True) -> Ran | None:
        self.prompt_id, self.said = str(uuid4()), ""
        if written_first:
            self._write_prompt(text)
        ran = self.hook("UserPromptSubmit", prompt=text)
        if not written_first:
            self._write_prompt(text)
        if ran is not None and ran.context and self.kind == "claude-code":
            added = {"type": "hook_additional_context", "content": [ran.context], "hookEvent": "UserPromptSubmit"}
            self.write({"type": "attachment", "attachment": added, "uuid": str(uuid4()), "isSidechain": False})
        elif ran is not None and ran.context and self.kind == "codex":
            self.item(
                {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": ran.context}]}
            )
        return ran

    def say(self, text: str) -> None:
        self.said = text
        if self.kind != "codex":
            self._assistant([{"type": "text", "text": text}])
        else:
            self.item(
                {
                    "type": "message",
                    "id": f"msg_{uuid4().hex}",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": text}],
                }
            )

    def bash(self, command: str, output: str, ok: bool = True, *, hook: bool = True) -> Ran | None:
        id = f"toolu_{uuid4().hex[:20]}"
        given = {"command": command, "description": "runs it"}
        hook = hook and not (self.kind == "dsh" and ok)  # the plugin tells of failures only
        self._call(id, "Bash", given)
        if self.kind == "codex":
            item = {
                "type": "CommandExecution",
                "id": id,
                "exit_code": 0 if ok else 1,
                "aggregated_output": output,
                "status": "x",
            }
            self.event({"type": "item_completed", "turn_id": self.prompt_id, "item": item})
            ran = (
                self.hook(
                    "PostToolUse",
                    tool_name="Bash",
                    tool_input={"command": command},
                    tool_response=output,
                    tool_use_id=id,
                )
                if hook
                else None
            )
            self.item(
                {
                    "type": "function_call_output",
                    "call_id": id,
                    "output": f"Wall time: 0.0\nProcess exited with code {0 if ok else 1}\nOutput:\n{output}",
                }
            )
            return ran
        if ok:
            told = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
            ran = (
                self.hook(
                    "PostToolUse",
                    tool_name="Bash",
                    tool_input=given,
                    tool_response=told,
                    tool_use_id=id,
                    duration_ms=12,
                )
                if hook
                else None
            )
        else:
            output = f"Exit code 1\n{output}"
            ran = (
                self.hook(
                    "PostToolUseFailure",
                    tool_name="Bash",
                    tool_input=given,
                    error=output,
                    is_interrupt=False,
                    tool_use_id=id,
                )
                if hook
                else None
            )
        self._result(id, output, is_error=not ok)
        return ran

    def helper(self, task: str, reply: str, commands: list[str]) -> Ran | None:
        """A sub-agent of Claude Code."""
        call, agent = f"toolu_{uuid4().hex[:20]}", uuid4().hex[:17]
        self._call(call, "Agent", {"description": "d", "prompt": task, "subagent_type": "Explore"})
        path = self.folder / self.session / "subagents" / f"agent-{agent}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        mine, self.transcript = self.transcript, path
        self.write(
            {
                "type": "user",
                "message": {"role": "user", "content": task},
                "isSidechain": True,
                "agentId": agent,
                "uuid": str(uuid4()),
            }
        )
        for command in commands:
            id = f"toolu_{uuid4().hex[:20]}"
            self._call(id, "Bash", {"command": command}, isSidechain=True)
            told = {"stdout": "fine", "stderr": ""}
            self.transcript = mine
            self.hook(
                "PostToolUse",
                tool_name="Bash",
                tool_input={"command": command},
                tool_response=told,
                tool_use_id=id,
                agent_id=agent,
                agent_type="Explore",
            )
            self.transcript = path
            self._result(id, "fine", isSidechain=True)
        self._assistant([{"type": "text", "text": reply}], isSidechain=True)
        self.transcript = mine
        ran = self.hook(
            "SubagentStop",
            agent_id=agent,
            agent_type="Explore",
            agent_transcript_path=str(path),
            last_assistant_message=reply,
            stop_hook_active=False,
        )
        result = {"status": "completed", "prompt": task, "agentId": agent, "content": [{"type": "text", "text": reply}]}
        self.hook("PostToolUse", tool_name="Agent", tool_input={"prompt": task}, tool_response=result, tool_use_id=call)
        self._result(call, reply, toolUseResult=result)
        return ran

    def stop(self, *, late: bool = False, twice: bool = False) -> Ran | None:
        """`late`: the transcript does not have the last message yet."""
        lines = self.transcript.read_bytes().splitlines(keepends=True)
        if late:
            self.transcript.write_bytes(b"".join(lines[:-1]))
        ran = self.hook("Stop", stop_hook_active=False, last_assistant_message=self.said)
        if twice:
            self.hook("Stop", stop_hook_active=True, last_assistant_message=self.said)
        if late:
            self.transcript.write_bytes(b"".join(lines))
        return ran

    def end(self) -> Ran | None:
        return self.hook("SessionEnd", reason="other")

    # -- how -------------------------------------------------------------------------------------------------------

    def hook(self, event: str, **fields: Any) -> Ran | None:
        """Run the hook command as the host does."""
        if self.away:
            return None
        known = {
            "session_id": self.session,
            "transcript_path": str(self.transcript),
            "cwd": str(self.cwd),
            "hook_event_name": event,
        }
        if event not in ("SessionStart", "SessionEnd"):
            known["turn_id" if self.kind == "codex" else "prompt_id"] = self.prompt_id
        ran = run_hook(self.kind, json.dumps({**known, **fields}), self.home, *self.args, **self.env)
        self.ran.append(ran)
        assert ran.code == 0, ran
        return ran

    def write(self, record: dict[str, Any]) -> None:
        as_node = "backslashreplace"  # half a character as an escape of JSON
        with self.transcript.open("a", encoding="utf-8", errors=as_node) as file:
            file.write(
                json.dumps({"timestamp": _now(), "sessionId": self.session, **record}, ensure_ascii=False) + "\n"
            )

    def item(self, payload: dict[str, Any]) -> None:
        self.write({"type": "response_item", "payload": payload})

    def event(self, payload: dict[str, Any]) -> None:
        self.write({"type": "event_msg", "payload": payload})

    def _write_prompt(self, text: str) -> None:
        if self.kind == "codex":
            self.item({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
            item = {"type": "UserMessage", "id": str(uuid4()), "content": [{"type": "text", "text": text}]}
            self.event({"type": "item_completed", "turn_id": self.prompt_id, "item": item})
        else:
            self.write(
                {
                    "type": "user",
                    "promptId": self.prompt_id,
                    "isSidechain": False,
                    "uuid": str(uuid4()),
                    "message": {"role": "user", "content": text},
                }
            )

    def _assistant(self, content: list[dict[str, Any]], *, isSidechain: bool = False) -> None:
        message = {"id": f"msg_{uuid4().hex}", "role": "assistant", "content": content}
        self.write({"type": "assistant", "isSidechain": isSidechain, "uuid": str(uuid4()), "message": message})

    def _call(self, id: str, tool: str, given: dict[str, Any], **more: bool) -> None:
        if self.kind == "codex":
            arguments = json.dumps({"cmd": given["command"]})
            self.item({"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": id})
        else:
            self._assistant([{"type": "tool_use", "id": id, "name": tool, "input": given}], **more)

    def _result(self, id: str, output: str, *, is_error: bool = False, **more: Any) -> None:
        block = {"type": "tool_result", "tool_use_id": id, "content": output, "is_error": is_error}
        self.write(
            {
                "type": "user",
                "promptId": self.prompt_id,
                "isSidechain": False,
                "uuid": str(uuid4()),
                "message": {"role": "user", "content": [block]},
                **more,
            }
        )


def begin(home: Path) -> subprocess.Popen[bytes]:
    """A server on a home, when it answers."""
    words = [sys.executable, "-m", "memos.cli", "--home", str(home), "serve", "--port", "0", "--log-level", "error"]
    process = subprocess.Popen(words, env=environment(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        if (home / "server.json").is_file() and json.loads((home / "server.json").read_text())["pid"] == process.pid:
            return process
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    raise AssertionError("the server did not start")


def run_hook(kind: str, event: str, home: Path, *args: str, **env: str) -> Ran:
    """The hook command, as a process. A busy machine cuts none off: those that are about deadlines give their own."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-P", "-m", "memos.hosts.hook", kind, "--deadline", "50", *args],
        input=event, capture_output=True, text=True, timeout=60, env=environment(home, **env), check=False,
    )  # fmt: skip
    return Ran(done.returncode, done.stdout, done.stderr, time.perf_counter() - start)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + ".000Z"
