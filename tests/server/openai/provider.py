"""A models' server that keeps what it answers, all in one account, as OpenAI's does: responses (also in the background), stored chat
completions, conversations. Who asks it, it does not know: everybody comes with the same key.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from proxied import response, spoken


@dataclass(frozen=True)
class Heard:
    """What came in."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: Any


@dataclass
class Provider:
    """`answer`: what is answered to everything. Responses in the background are made as soon as `finish` is called; streams of
    them break off before, if they are `cut`. `odd`: a list comes as a stream.
    """

    answer: str = "Hello."
    cut: bool = False
    odd: bool = False
    heard: list[Heard] = field(default_factory=list)
    responses: dict[str, dict[str, Any]] = field(default_factory=dict)
    inputs: dict[str, list[Any]] = field(default_factory=dict)
    completions: dict[str, dict[str, Any]] = field(default_factory=dict)
    conversations: dict[str, dict[str, Any]] = field(default_factory=dict)
    items: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    made: int = 0

    def __enter__(self) -> Self:
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def last(self) -> Heard:
        return self.heard[-1]

    def id(self, kind: str) -> str:
        self.made += 1
        return f"{kind}_{self.made}"

    def finish(self, id: str) -> None:
        """Make what is made in the background."""
        self.responses[id] |= {**response(id, spoken(self.answer)), "background": True}


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._any()

        do_POST = do_DELETE = do_GET

        def _any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            sent = self.rfile.read(length)
            url = urlsplit(self.path)
            body = json.loads(sent) if sent else None
            provider.heard.append(Heard(self.command, url.path, url.query, dict(self.headers), body))
            parts = url.path.removeprefix("/v1/").split("/")
            query = {name: values[-1] for name, values in parse_qs(url.query).items()}
            if parts[0] == "chat":
                parts = ["completions", *parts[2:]]
            try:
                told = getattr(self, f"_{parts[0]}")(self.command, parts[1:], query, body)
            except (AttributeError, KeyError):
                self._whole({"error": {"message": f"{url.path} not found", "type": "invalid_request_error"}}, 404)
                return
            if isinstance(told, dict):
                self._whole(told)
            else:
                self._events(told)

        # -- responses -------------------------------------------------------------------------------------------------

        def _responses(self, method: str, rest: list[str], query: dict[str, str], body: Any) -> Any:
            match method, rest:
                case "POST", []:
                    return self._create(body)
                case "POST", ["compact"]:
                    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "zz"}
                    told = response(provider.id("resp"), item)
                    return {**told, "object": "response.compaction"}
                case "POST", ["input_tokens"]:
                    return {"object": "response.input_tokens", "input_tokens": 11}
                case "GET", [id]:
                    told = provider.responses[id]
                    return _events_of(told, query) if query.get("stream") == "true" else told
                case "DELETE", [id]:
                    del provider.responses[id]
                    return {"id": id, "object": "response", "deleted": True}
                case "POST", [id, "cancel"]:
                    provider.responses[id] |= {"status": "cancelled"}
                    return provider.responses[id]
                case "GET", [id, "input_items"]:
                    return _page(provider.inputs[id])
            raise KeyError

        def _create(self, body: Any) -> Any:
            if previous := body.get("previous_response_id"):
                provider.responses[previous]  # KeyError
            if conversation := body.get("conversation"):
                provider.items[conversation if isinstance(conversation, str) else conversation["id"]]
            id = provider.id("resp")
            words = [{"type": "input_text", "text": body["input"]}]
            given = body["input"] if isinstance(body["input"], list) else [{"role": "user", "content": words}]
            provider.inputs[id] = [{"type": "message", "id": f"msg_in_{id}", **one} for one in given]
            told = response(id, spoken(provider.answer))
            if body.get("background"):
                told |= {"status": "queued", "output": [], "usage": None, "background": True}
            provider.responses[id] = told
            if not body.get("stream"):
                return told
            return _events_of(told, {}, 2 if provider.cut else None)

        # -- chat completions ------------------------------------------------------------------------------------------

        def _completions(self, method: str, rest: list[str], query: dict[str, str], body: Any) -> Any:
            match method, rest:
                case "POST", []:
                    id = provider.id("chatcmpl")
                    choice = {"index": 0, "message": {"role": "assistant", "content": provider.answer}}
                    told = {
                        "id": id, "object": "chat.completion", "created": provider.made, "model": body["model"],
                        "choices": [{**choice, "finish_reason": "stop"}], "metadata": body.get("metadata") or {},
                    }  # fmt: skip
                    if body.get("store"):
                        provider.completions[id] = told
                        provider.inputs[id] = [{"id": f"{id}-{n}", **m} for n, m in enumerate(body["messages"])]
                    if body.get("stream"):
                        delta = {"index": 0, "delta": {"content": provider.answer}, "finish_reason": "stop"}
                        chunk = {**told, "object": "chat.completion.chunk", "choices": [delta]}
                        return iter([f"data: {json.dumps(chunk)}\n\n", "data: [DONE]\n\n"])
                    return told
                case "GET", []:
                    if provider.odd:
                        return iter([f"data: {json.dumps(list(provider.completions.values()))}\n\n"])
                    kept = list(provider.completions.values())
                    at = next((n + 1 for n, one in enumerate(kept) if one["id"] == query.get("after")), 0)
                    return _page(kept[at:], int(query.get("limit", 20)))
                case "GET", [id]:
                    return provider.completions[id]
                case "POST", [id]:
                    provider.completions[id]["metadata"] = body["metadata"]
                    return provider.completions[id]
                case "DELETE", [id]:
                    del provider.completions[id]
                    return {"id": id, "object": "chat.completion.deleted", "deleted": True}
                case "GET", [id, "messages"]:
                    return _page(provider.inputs[id])
            raise KeyError

        # -- conversations ---------------------------------------------------------------------------------------------

        def _conversations(self, method: str, rest: list[str], query: dict[str, str], body: Any) -> Any:
            match method, rest:
                case "POST", []:
                    id = provider.id("conv")
                    told = {"id": id, "object": "conversation", "created_at": 1, "metadata": body.get("metadata")}
                    provider.conversations[id] = told
                    provider.items[id] = [_item(one) for one in body.get("items") or ()]
                    return told
                case "GET", [id]:
                    return provider.conversations[id]
                case "POST", [id]:
                    provider.conversations[id]["metadata"] = body["metadata"]
                    return provider.conversations[id]
                case "DELETE", [id]:
                    del provider.conversations[id]
                    return {"id": id, "object": "conversation.deleted", "deleted": True}
                case "GET", [id, "items"]:
                    return _page(provider.items[id])
                case "POST", [id, "items"]:
                    added = [_item(one) for one in body["items"]]
                    provider.items[id] += added
                    return _page(added)
                case "GET", [id, "items", item]:
                    return next(one for one in provider.items[id] if one["id"] == item)
                case "DELETE", [id, "items", item]:
                    provider.items[id] = [one for one in provider.items[id] if one["id"] != item]
                    return provider.conversations[id]
            raise KeyError

        # -- the wire --------------------------------------------------------------------------------------------------

        def _whole(self, told: dict[str, Any], status: int = 200) -> None:
            sent = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def _events(self, told: Iterator[str]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for event in told:
                self.wfile.write(event.encode())
            self.close_connection = True

        def log_message(self, *args: object) -> None:
            pass

    return Handler


def _item(given: dict[str, Any]) -> dict[str, Any]:
    content = [{"type": "input_text", "text": given["content"]}]
    return {
        "type": "message",
        "id": f"msg_{given['content']}",
        "status": "completed",
        "role": "user",
        "content": content,
    }


def _page(data: list[Any], limit: int = 100) -> dict[str, Any]:
    told = data[:limit]
    ends = {"first_id": told[0]["id"] if told else None, "last_id": told[-1]["id"] if told else None}
    return {"object": "list", "data": told, **ends, "has_more": len(data) > limit}


def _events_of(told: dict[str, Any], query: dict[str, str], most: int | None = None) -> Iterator[str]:
    where: dict[str, Any] = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    text = "".join(part["text"] for item in told["output"] for part in item["content"])
    out: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**told, "status": "queued", "output": [], "usage": None}},
        {"type": "response.in_progress", "response": {**told, "status": "in_progress", "output": [], "usage": None}},
    ]
    if told["status"] == "completed":
        out += [
            {"type": "response.output_text.delta", "delta": text, "logprobs": [], **where},
            {"type": "response.completed", "response": told},
        ]
    for number, event in enumerate(out[:most]):
        if number > int(query.get("starting_after", -1)):
            yield f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n"
