"""A model on this machine that real hosts can talk to: it calls the tools of a script, one after the other, then says it is done.

Speaks the Anthropic messages protocol and OpenAI's responses, both streamed. What each request held is kept in `asked`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from uuid import uuid4

REPLY = "Everything is done."


class AgentModel:
    """`commands`: what the shell is to run in each turn."""

    def __init__(self, commands: Sequence[str]) -> None:
        self.commands = list(commands)
        self.asked: list[str] = []
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
        if body.get("tools") and done < len(self.commands):
            use = {"type": "tool_use", "id": f"toolu_{uuid4().hex}", "name": "Bash", "input": {}}
            given = json.dumps({"command": self.commands[done], "description": "as scripted"})
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
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": REPLY}},
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
        done = sum(str(item.get("type")).endswith("call_output") for item in body["input"])
        if done < len(self.commands):
            given = json.dumps({"cmd": self.commands[done]})
            item = {
                "type": "function_call",
                "id": f"fc_{uuid4().hex}",
                "call_id": f"call_{uuid4().hex}",
                "name": "exec_command",
                "arguments": given,
            }
        else:
            item = {
                "type": "message",
                "id": f"msg_{uuid4().hex}",
                "role": "assistant",
                "content": [{"type": "output_text", "text": REPLY}],
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
