"""A model on this machine that real hosts can talk to: it calls the tools of a script, one after the other, then says it is done.

Speaks the Anthropic messages protocol, OpenAI's responses, both streamed, and its chat completions, streamed if asked. What each request held is kept in `asked`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from uuid import uuid4

REPLY = "Everything is done."
Call = tuple[str, dict[str, Any]]


class AgentModel:
    """`commands`: what is to be done in each turn: a command of the shell, or a (tool, arguments). `shell`: its name, for hosts that
    speak chat completions. `helpers`: what a sub-agent says, by what it was asked.
    """

    def __init__(
        self, commands: Sequence[str | Call], shell: str = "terminal", helpers: Mapping[str, str] | None = None
    ) -> None:
        self.commands, self.shell, self.helpers = list(commands), shell, dict(helpers or {})
        self.asked: list[str] = []
        self.waited = 0
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
                model.asked.append(json.dumps(body, ensure_ascii=False))
                path = self.path.partition("?")[0]
                if path.endswith("/messages"):
                    self._say(model.anthropic(body))
                elif path.endswith("/responses"):
                    self._say(model.responses(body))
                elif path.endswith("/chat/completions"):
                    self._complete(model.chat(body), stream=bool(body.get("stream")))
                else:
                    self._say([], status=404)

            def do_GET(self) -> None:
                self._say([], status=404)

            def _say(self, events: list[dict[str, Any]], status: int = 200) -> None:
                body = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()
                self.send_response(status)
                self.send_header("content-type", "text/event-stream")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def _complete(self, message: dict[str, Any], *, stream: bool) -> None:
                reason = "tool_calls" if message.get("tool_calls") else "stop"
                head = {"id": "chatcmpl-1", "created": 1, "model": "scripted"}
                usage = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
                if stream:
                    calls = [{"index": n, **c} for n, c in enumerate(message.get("tool_calls") or ())]
                    delta = {**message, "tool_calls": calls} if calls else message
                    last = {"index": 0, "delta": {}, "finish_reason": reason}
                    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}]
                    chunks += [{"choices": [last]}, {"choices": [], "usage": usage}]
                    said = [json.dumps({**head, "object": "chat.completion.chunk", **c}) for c in chunks]
                    body = "".join(f"data: {one}\n\n" for one in (*said, "[DONE]"))
                else:
                    choice = {"index": 0, "message": message, "finish_reason": reason}
                    body = json.dumps({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
                self.send_response(200)
                self.send_header("content-type", "text/event-stream" if stream else "application/json")
                self.send_header("content-length", str(len(body.encode())))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def anthropic(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """The next thing the model says, as events of a message."""
        blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
        done = sum(b.get("type") == "tool_result" for b in blocks)
        usage = {"input_tokens": 9, "output_tokens": 1}
        message = {
            "id": f"msg_{uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": [],
            "usage": usage,
        }
        out: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
        reply = self._helped(body["messages"])
        if reply is None and body.get("tools") and done < len(self.commands):
            name, arguments = self._call(done, "Bash", command="command", description="as scripted")
            use = {"type": "tool_use", "id": f"toolu_{uuid4().hex}", "name": name, "input": {}}
            given = json.dumps(arguments)
            out += [
                {"type": "content_block_start", "index": 0, "content_block": use},
                {
                    "type": "content_block_delta",
                    "index": 0,
                    "delta": {"type": "input_json_delta", "partial_json": given},
                },
            ]
        else:
            out += [
                {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": reply or REPLY}},
            ]
        reason = "tool_use" if "tool_use" in json.dumps(out[1]) else "end_turn"
        out += [
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}},
            {"type": "message_stop"},
        ]
        return out

    def responses(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """The same as events of a response."""
        done = sum(str(item.get("type")).endswith("call_output") for item in body["input"]) - self.waited
        reply = self._helped(body["input"])
        if reply is None and done < len(self.commands):
            name, arguments = self._call(done, "exec_command", command="cmd")
            if name.rpartition("__")[2] not in json.dumps(body["tools"]):
                self.waited += 1  # an MCP server that has not started yet
                name, arguments = "exec_command", {"cmd": "sleep 1"}
            space, mark, plain = name.rpartition("__")
            item = {
                "type": "function_call",
                "id": f"fc_{uuid4().hex}",
                "call_id": f"call_{uuid4().hex}",
                "name": plain,
                "arguments": json.dumps(arguments),
                **({"namespace": space} if mark else {}),
            }
        else:
            item = {
                "type": "message",
                "id": f"msg_{uuid4().hex}",
                "role": "assistant",
                "content": [{"type": "output_text", "text": reply or REPLY}],
            }
        usage = {
            "input_tokens": 9,
            "input_tokens_details": None,
            "output_tokens": 1,
            "output_tokens_details": None,
            "total_tokens": 10,
        }
        return [
            {"type": "response.created", "response": {"id": "r"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": "r", "usage": usage}},
        ]

    def chat(self, body: dict[str, Any]) -> dict[str, Any]:
        """The same as a message of a chat completion: a call while the last turn has fewer than there are commands."""
        messages = body["messages"]
        last = max((n for n, m in enumerate(messages) if m["role"] == "user"), default=0)
        if self.shell == "bash":
            last = 0  # one turn a session, in which not every message of a user is the user's
        done = sum(m["role"] == "tool" for m in messages[last:])
        reply = self._helped(messages)
        if reply is not None or not body.get("tools") or done >= len(self.commands):
            return {"role": "assistant", "content": reply or REPLY}
        more = {"description": "as scripted"} if self.shell == "bash" else {}
        name, arguments = self._call(done, self.shell, command="command", **more)
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"call_{uuid4().hex}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    def _call(self, number: int, shell: str, *, command: str, **more: str) -> Call:
        """A step of the script as (tool, arguments)."""
        step = self.commands[number]
        return (shell, {command: step, **more}) if isinstance(step, str) else step

    def _helped(self, messages: list[dict[str, Any]]) -> str | None:
        """What a sub-agent says: one that was asked something of the script, and is not the one that asked it."""
        told = json.dumps([m for m in messages if m.get("role") == "user"], ensure_ascii=False)
        calls = json.dumps([m for m in messages if m.get("role") != "user"], ensure_ascii=False)
        return next((reply for task, reply in self.helpers.items() if task in told and task not in calls), None)
