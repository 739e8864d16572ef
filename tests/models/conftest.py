"""A real HTTP server on this machine that speaks the OpenAI, Ollama and rerank protocols and misbehaves on request."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from memos.models.bundled import BundledEmbedder

DIM = 8


def vector_of(text: str) -> list[float]:
    """What the server's model answers for `text`: some numbers that depend on it."""
    return [byte / 255 + 0.01 for byte in hashlib.sha256(text.encode()).digest()[:DIM]]


@dataclass
class Reply:
    """One scripted answer: `body` as JSON, or bytes as they are, or made from the request by a function."""

    status: int = 200
    body: object = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: dict[str, object]


class ModelServer:
    """Answers properly, except for the scripted replies, which are used up first, one per request."""

    def __init__(self) -> None:
        self.script: list[Reply] = []
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def texts(self) -> list[str]:
        """Every text that came in, in order."""
        return [text for request in self.requests for text in request.body["input"]]  # type: ignore[attr-defined]

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                request = Request(self.path, dict(self.headers), json.loads(self.rfile.read(length)))
                with server._lock:
                    server.requests.append(request)
                    reply = server.script.pop(0) if server.script else Reply()
                time.sleep(reply.delay)
                body = reply.body
                if isinstance(body, Callable):  # type: ignore[arg-type]
                    body = body(request)  # type: ignore[operator]
                elif body is None and reply.status == 200:
                    body = proper_answer(request)
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(reply.status)
                for name, value in {"Content-Length": str(len(content)), **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args: object) -> None:
                pass

            def handle(self) -> None:
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the client gave up, as it should
                    super().handle()

        return Handler


def proper_answer(request: Request) -> object:
    body = request.body
    if request.path.endswith("/embeddings"):
        data = [{"index": i, "embedding": vector_of(text)} for i, text in enumerate(body["input"])]  # type: ignore[arg-type, var-annotated]
        return {"data": data[::-1], "model": body["model"]}
    if request.path == "/api/embed":
        return {"embeddings": [vector_of(text) for text in body["input"]]}  # type: ignore[attr-defined]
    scores = [
        sum(word in text for word in str(body["query"]).split()) / 10
        for text in body.get("documents", body.get("texts"))  # type: ignore[union-attr]
    ]
    if "texts" in body:
        return [{"index": i, "score": score} for i, score in enumerate(scores)]
    return {"results": [{"index": i, "relevance_score": score} for i, score in reversed(list(enumerate(scores)))]}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    running = ModelServer()
    yield running
    running.close()


@pytest.fixture
def reply() -> type[Reply]:
    return Reply


@pytest.fixture
def closed_port(server: ModelServer) -> str:
    """A URL where nothing listens any more."""
    gone = ModelServer()
    url = gone.url
    gone.close()
    return url


@pytest.fixture(scope="session")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> BundledEmbedder:
    return BundledEmbedder(cache=tmp_path_factory.mktemp("memos-cache"))
