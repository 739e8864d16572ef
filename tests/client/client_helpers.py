"""A server that behaves as badly as a test says."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

ADDED = {
    "cube": "ada",
    "records": [{"id": "m1", "text": "x", "new": True, "seen": 1}],
    "notices": [],
    "pending": True,
    "task": None,
}


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Behaviour = Callable[[socket.socket, Request], None]


@dataclass
class BadServer:
    """Does with each request what the next behaviour says, the last one again and again; keeps what came."""

    behaviours: list[Behaviour] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    port: int = 0

    def __post_init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            while (request := _read(stream)) is not None:
                with self._lock:
                    number = len(self.requests)
                    self.requests.append(request)
                with contextlib.suppress(OSError):  # the client has gone
                    self.behaviours[min(number, len(self.behaviours) - 1)](connection, request)
                if connection.fileno() < 0:
                    return


def _read(stream: Any) -> Request | None:
    try:
        first = stream.readline()
        if not first:
            return None
        method, path, _ = first.decode().split(" ")
        headers = {}
        while (line := stream.readline().decode().strip()) != "":
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        return Request(method, path, headers, stream.read(int(headers.get("content-length", 0))))
    except (OSError, ValueError):
        return None


def answers(value: Any, status: int = 200, **headers: str) -> Behaviour:
    """Answer JSON (bytes: as they are)."""
    content = value if isinstance(value, bytes) else json.dumps(value).encode()
    lines = [f"HTTP/1.1 {status} X", "Content-Type: application/json", f"Content-Length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {text}" for name, text in headers.items()]

    def behave(connection: socket.socket, request: Request) -> None:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + content)

    return behave


def cuts(connection: socket.socket, request: Request) -> None:
    """Close the connection without a word: the request was read, the answer is lost."""
    connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def cuts_within(value: bytes, length: int) -> Behaviour:
    """Promise so many bytes, send fewer, and close."""

    def behave(connection: socket.socket, request: Request) -> None:
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n".encode() + value)
        cuts(connection, request)

    return behave


def streams(*events: Any) -> Behaviour:
    """Server-sent events, each a value as JSON, then the end of the connection."""

    def behave(connection: socket.socket, request: Request) -> None:
        connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n: hello\n\n"
        )
        for event in events:
            connection.sendall(f"event: task\ndata: {json.dumps(event)}\n\n".encode())
        cuts(connection, request)

    return behave
