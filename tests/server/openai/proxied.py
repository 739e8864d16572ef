"""A server with the proxy, and the answers of a model's server that `llm_server` has no words for: tool calls, responses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import httpx2
import openai
from serving import SRC, Live

from llm_server import Answer, LlmServer, Request

TOOL: Any = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}


@dataclass
class Front:
    """The server of a test file. Each test has a `user` of its own."""

    live: Live
    upstream: LlmServer
    users: int = 0
    root: str = ""
    keys: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def user(self) -> str:
        return f"user-{self.users}"

    def key(self, user: str, scopes: str = "read,write") -> str:
        """A key of a user."""
        if not self.root:  # made by the command line over the same data folder
            made = self.run("--json", "keys", "create", "root", "--scopes", "admin")
            self.root = json.loads(made)["secret"]
        if (user, scopes) not in self.keys:
            with self.live.client(self.root) as client:
                answer = client.post("/v1/keys", json={"user": user, "scopes": scopes.split(",")})
            assert answer.status_code == 201, answer.text
            self.keys[user, scopes] = answer.json()["secret"]
        return self.keys[user, scopes]

    def run(self, *args: str) -> str:
        """A command of another process over the same data folder, and what it prints."""
        home = ["--home", str(self.live.home), "--embedder", "none"]
        env = {"PYTHONPATH": str(SRC), "PATH": os.environ["PATH"]}
        done = subprocess.run(
            [sys.executable, "-m", "memos.cli", *home, *args], capture_output=True, check=True, env=env, text=True
        )
        return done.stdout

    def client(self, user: str, scopes: str = "read,write", /, **headers: str) -> openai.OpenAI:
        """OpenAI's client, with the key of a user."""
        return openai.OpenAI(
            base_url=f"{self.live.url}/v1", api_key=self.key(user, scopes), max_retries=0, timeout=20,
            default_headers={f"X-Memory-{name.title()}": value for name, value in headers.items()},
        )  # fmt: skip

    def ask(self, method: str, path: str, user: str, **options: Any) -> httpx2.Response:
        """A request of our own API."""
        with self.live.client(self.key(user)) as client:
            return client.request(method, path, **options)

    def stored(self, user: str, **params: Any) -> list[tuple[str, str]]:
        """(role, text) of what was said and done, oldest first."""
        return [(m["role"], m["text"]) for m in self.records(user, **params)]

    def records(self, user: str, **params: Any) -> list[dict[str, Any]]:
        """The records of a user, oldest first."""
        asked = {"order": "oldest", "limit": 500, "kinds": ["trace", "tool_call"], **params}
        answer = self.ask("GET", "/v1/memories", user, params=asked)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["items"])

    @property
    def last(self) -> Request:
        return self.upstream.requests[-1]


def chunks(*deltas: dict[str, Any], finish: str | None = "stop", usage: bool = False) -> Answer:
    """A stream of chat completions."""
    frame = {"id": "chatcmpl-9", "created": 1, "model": "stub", "object": "chat.completion.chunk"}
    told = [
        {**frame, "choices": [{"index": d.pop("index", 0), "delta": d, "finish_reason": None}]}
        for d in map(dict, deltas)
    ]
    told += [{**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}] if finish else []
    counted = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, "vendor_field": {"a": [1.50]}}
    told += [{**frame, "choices": [], "usage": counted}] if usage else []
    return Answer(events=(*(b"data: " + json.dumps(t).encode() + b"\n\n" for t in told), b"data: [DONE]\n\n"))


def called(id: str, name: str, arguments: str, text: str | None = None) -> Answer:
    """A whole completion that asks for a tool."""
    call = {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return completion({"role": "assistant", "content": text, "tool_calls": [call]}, finish="tool_calls")


def completion(*messages: dict[str, Any], finish: str = "stop") -> Answer:
    """A whole completion with these choices."""
    choices = [{"index": n, "message": m, "finish_reason": finish} for n, m in enumerate(messages)]
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    told = {
        "id": "chatcmpl-8",
        "object": "chat.completion",
        "created": 1,
        "model": "stub",
        "choices": choices,
        "usage": usage,
    }
    return Answer(raw=json.dumps(told).encode())


def response(id: str, *output: dict[str, Any], status: str = "completed") -> dict[str, Any]:
    """A response of the Responses API."""
    return {
        "id": id, "object": "response", "created_at": 1, "model": "stub", "status": status, "output": list(output),
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None, "instructions": None, "metadata": {},
        "usage": {
            "input_tokens": 9, "output_tokens": 4, "total_tokens": 13,
            "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0},
        },
    }  # fmt: skip


def spoken(text: str) -> dict[str, Any]:
    """An output item that is a message."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}


def whole(told: dict[str, Any]) -> Answer:
    """A response that is no stream."""
    return Answer(raw=json.dumps(told).encode())


def events(told: dict[str, Any], *pieces: str, **more: Any) -> Answer:
    """A response as a stream: begun, its pieces, and its end."""
    where: dict[str, Any] = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": []}
    out: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**told, "status": "in_progress", "output": [], "usage": None}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**spoken(""), "content": []}},
        {"type": "response.content_part.added", "part": part, **where},
        *({"type": "response.output_text.delta", "delta": piece, "logprobs": [], **where} for piece in pieces),
        {"type": "response.completed", "response": told},
    ]
    told_ = [{**e, "sequence_number": n} for n, e in enumerate(out)]
    return Answer(events=tuple(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in told_), **more)
