"""A real HTTP server on this machine that speaks the OpenAI chat protocol (and Anthropic's), and misbehaves as scripted.

    with LlmServer() as server:
        server.say("Hello.", {"facts": []}, busy(0.1), failing(500), hang(), cut(2), garbage(), empty())
        m = AsyncMemOS(home, llm="openai-compatible:stub", settings llm_url=server.url)      # url ends in /v1
        ... server.requests[0].body["messages"], server.most_at_once

Each request takes the next scripted answer; when there are none left, `server.otherwise` answers (a text, an `Answer`, or a
function of the `Request`). Requests for a stream are streamed. `server.refuses.add("temperature")`: a request that holds this
field is answered 400 (`"response_format"`, `"max_tokens"`, ...).
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Answer:
    """One scripted answer.

    `delay`: seconds before the first byte; `pause`: between pieces of a stream. `piece`: characters of one piece; `write`: bytes
    of one write (0: an event at a time), which cuts characters and `data:` lines anywhere. `cut`: close the connection after so
    many pieces of a stream, or in the middle of a whole answer; `stall`: say nothing more after so many pieces. `raw`: these bytes instead of a proper body.
    `reasoning`: in `reasoning_field`. `usage`: whether tokens are counted.
    """

    text: str = "Hello."
    reasoning: str = ""
    reasoning_field: str = "reasoning_content"
    finish: str | None = "stop"
    status: int = 200
    message: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    pause: float = 0.0
    piece: int = 4
    write: int = 0
    cut: int | None = None
    stall: int | None = None
    raw: bytes | None = None
    events: tuple[bytes, ...] | None = None
    """The events of a stream, as they are."""
    usage: bool = True
    done: bool = True
    """Whether a stream ends with `[DONE]`."""


def busy(retry_after: float | str | None = 1) -> Answer:
    """429, with Retry-After."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Answer(status=429, message="rate limit reached", headers=headers)


def failing(status: int = 500, message: str = "the server broke") -> Answer:
    """An error status."""
    return Answer(status=status, message=message)


def hang(seconds: float = 3600.0) -> Answer:
    """Nothing for a long time (closing the server ends it)."""
    return Answer(delay=seconds)


def cut(after: int = 2, text: str = "an answer that is cut in the middle") -> Answer:
    """A connection that breaks after some pieces."""
    return Answer(text, cut=after)


def garbage(raw: bytes = b"<html>\x00\xff not what was asked for</html>") -> Answer:
    """200 and a body that is no answer."""
    return Answer(raw=raw)


def empty() -> Answer:
    """An answer without a word."""
    return Answer("")


def bytewise(text: str, write: int = 1, **more: Any) -> Answer:
    """An answer that comes `write` bytes at a time."""
    return Answer(text, write=write, **more)


Said = Answer | str | dict[str, Any] | list[Any]
Scripted = Said | Callable[["Request"], Said]


@dataclass
class Request:
    """What came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def prompt(self) -> str:
        """All words of the messages."""
        return "\n".join(_words(message.get("content")) for message in self.body.get("messages", []))


def _words(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return str(content or "")


class LlmServer:
    """Answers on loopback, in threads of its own."""

    def __init__(self, otherwise: Scripted = "Hello.") -> None:
        self.otherwise = otherwise
        self.script: list[Scripted] = []
        self.requests: list[Request] = []
        self.refuses: set[str] = set()
        self.models = ["stub"]
        self.at_once = self.most_at_once = 0
        self.broken_pipes = 0
        """Clients that went away before their answer was sent."""
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = _Listener(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def origin(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def url(self) -> str:
        """The base URL of the OpenAI protocol."""
        return f"{self.origin}/v1"

    def say(self, *answers: Scripted) -> None:
        """Put answers at the end of the script."""
        with self._lock:
            self.script.extend(answers)

    def close(self) -> None:
        """Stop, also in the middle of an answer."""
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def wait(self, seconds: float) -> None:
        """Wait, but not longer than the server lives."""
        if seconds > 0:
            self._closing.wait(seconds)

    def answer_to(self, request: Request) -> Answer:
        """The next scripted answer."""
        with self._lock:
            self.requests.append(request)
            refused = next((name for name in sorted(self.refuses) if name in request.body), None)
            if refused is not None:
                return failing(400, f"Unsupported parameter: '{refused}' is not supported with this model.")
            said = self.script.pop(0) if self.script else self.otherwise
        if callable(said):
            said = said(request)
        if isinstance(said, (dict, list)):
            said = json.dumps(said, ensure_ascii=False)
        return Answer(said) if isinstance(said, str) else said

    @contextlib.contextmanager
    def counted(self) -> Iterator[Callable[[], None]]:
        """One request under way, until what this gives is called: before the last bytes, for a client that has them asks again."""
        counts = True
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)

        def over() -> None:
            nonlocal counts
            with self._lock:
                self.at_once -= counts
                counts = False

        try:
            yield over
        except (BrokenPipeError, ConnectionResetError):
            with self._lock:
                self.broken_pipes += 1
            raise
        finally:
            over()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256


def _handler(server: LlmServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            listed = {
                "object": "list",
                "data": [{"id": m, "object": "model", "created": 0, "owned_by": "x"} for m in server.models],
            }
            known = self.path.endswith("/models")
            answer = Answer() if known else failing(404, f"no path {self.path}")
            self._whole(answer, json.dumps(listed).encode() if known else _error(answer))

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            request = Request(self.path, dict(self.headers), json.loads(self.rfile.read(length)))
            with server.counted() as over:
                answer = server.answer_to(request)
                server.wait(answer.delay)
                path = self.path.partition("?")[0]
                wire: type[_OpenAI] | type[_Anthropic] = _Anthropic if path.endswith("/messages") else _OpenAI
                streams = answer.status == 200 and request.body.get("stream")
                if streams and answer.events is not None:
                    self._streamed(answer, answer.events, over)
                elif streams and answer.raw is None:
                    self._streamed(answer, tuple(wire(request.body, answer).events()), over)
                else:
                    over()
                    failed = answer.status != 200
                    self._whole(
                        answer, _error(answer) if failed else json.dumps(wire(request.body, answer).whole()).encode()
                    )

        def _whole(self, answer: Answer, body: bytes) -> None:
            sent = answer.raw if answer.raw is not None else body
            self.send_response(answer.status)
            self._headers({"Content-Type": "application/json", "Content-Length": str(len(sent)), **answer.headers})
            if answer.cut is not None:
                self.wfile.write(sent[: len(sent) // 2])
                self._break()
                return
            for part in _parts(sent, answer.write):
                self.wfile.write(part)
                self.wfile.flush()

        def _streamed(self, answer: Answer, events: tuple[bytes, ...], over: Callable[[], None]) -> None:
            self.send_response(200)
            self._headers({"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked", **answer.headers})
            for number, event in enumerate(events, 1):
                cut = answer.cut is not None and number > answer.cut
                if cut or number == len(events):
                    over()
                if cut:
                    self._break()
                    return
                for part in _parts(event, answer.write):
                    self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                    self.wfile.flush()
                server.wait(3600.0 if answer.stall == number - 1 else answer.pause)
            over()
            self.wfile.write(b"0\r\n\r\n")
            self.wfile.flush()

        def _headers(self, headers: dict[str, str]) -> None:
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.flush()

        def _break(self) -> None:
            self.wfile.flush()
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)

        def log_message(self, *args: object) -> None:
            pass

        def handle(self) -> None:
            with contextlib.suppress(OSError):  # the client gave up, as it should
                super().handle()

        def finish(self) -> None:
            with contextlib.suppress(OSError):
                super().finish()

    return Handler


def _parts(body: bytes, size: int) -> list[bytes]:
    return [body] if size <= 0 else [body[i : i + size] for i in range(0, len(body), size)]


def _pieces(text: str, size: int) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


def _error(answer: Answer) -> bytes:
    return json.dumps({"error": {"message": answer.message, "type": "error", "code": None}}).encode()


def _data(value: object, event: str = "") -> bytes:
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


class _OpenAI:
    """The answer in OpenAI's words."""

    def __init__(self, body: dict[str, Any], answer: Answer) -> None:
        self.body, self.answer = body, answer
        self.frame = {"id": "chatcmpl-1", "created": 1_700_000_000, "model": str(body.get("model", "stub"))}
        words = sum(len(_words(m.get("content"))) for m in body.get("messages", []))
        out = -(-len(answer.text) // 4)
        self.usage = {"prompt_tokens": -(-words // 4), "completion_tokens": out, "total_tokens": -(-words // 4) + out}

    def whole(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.answer.text}
        if self.answer.reasoning:
            message[self.answer.reasoning_field] = self.answer.reasoning
        choice = {"index": 0, "message": message, "finish_reason": self.answer.finish, "logprobs": None}
        usage = {"usage": self.usage} if self.answer.usage else {}
        return {**self.frame, "object": "chat.completion", "choices": [choice], **usage}

    def events(self) -> Iterator[bytes]:
        yield b": keep-alive\n\n" + self._event({"role": "assistant", "content": ""})
        for part in _pieces(self.answer.reasoning, self.answer.piece):
            yield self._event({self.answer.reasoning_field: part})
        for part in _pieces(self.answer.text, self.answer.piece):
            yield self._event({"content": part})
        yield self._event({}, self.answer.finish)
        if self.answer.usage and (self.body.get("stream_options") or {}).get("include_usage"):
            yield _data({**self.frame, "object": "chat.completion.chunk", "choices": [], "usage": self.usage})
        if self.answer.done:
            yield b"data: [DONE]\n\n"

    def _event(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _data({**self.frame, "object": "chat.completion.chunk", "choices": [choice]})


class _Anthropic:
    """The answer in Anthropic's words."""

    STOP = {"stop": "end_turn", "length": "max_tokens", None: None}

    def __init__(self, body: dict[str, Any], answer: Answer) -> None:
        self.body, self.answer = body, answer
        self.stop = self.STOP.get(answer.finish, answer.finish)
        words = sum(len(_words(m.get("content"))) for m in body.get("messages", [])) + len(_words(body.get("system")))
        self.input, self.output = -(-words // 4), -(-len(answer.text) // 4)

    def whole(self) -> dict[str, Any]:
        thought = (
            [{"type": "thinking", "thinking": self.answer.reasoning, "signature": "s"}] if self.answer.reasoning else []
        )
        return {
            **self._frame(),
            "content": [*thought, {"type": "text", "text": self.answer.text}],
            "stop_reason": self.stop,
            "usage": {"input_tokens": self.input, "output_tokens": self.output},
        }

    def events(self) -> Iterator[bytes]:
        usage = {"input_tokens": self.input, "output_tokens": 1}
        started = {**self._frame(), "content": [], "stop_reason": None, "usage": usage}
        yield self._event("message_start", message=started)
        yield self._event("ping")
        index = 0
        for kind, name, text in [("thinking", "thinking", self.answer.reasoning), ("text", "text", self.answer.text)]:
            if not text:
                continue
            yield self._event("content_block_start", index=index, content_block={"type": kind, name: ""})
            for part in _pieces(text, self.answer.piece):
                yield self._event("content_block_delta", index=index, delta={"type": f"{kind}_delta", name: part})
            yield self._event("content_block_stop", index=index)
            index += 1
        yield self._event("message_delta", delta={"stop_reason": self.stop}, usage={"output_tokens": self.output})
        if self.answer.done:
            yield self._event("message_stop")

    def _frame(self) -> dict[str, Any]:
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": self.body.get("model", "stub")}

    def _event(self, kind: str, **more: Any) -> bytes:
        return _data({"type": kind, **more}, kind)
