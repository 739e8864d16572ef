"""What all models at one server share in this process, whoever made them: its circuit, the calls at a time, what it refused."""

from __future__ import annotations

import hashlib
import threading
import weakref

from memos.models.http import JsonClient
from memos.models.llm.slots import Slots
from memos.models.resilience import Guard


class Server:
    """One server as one account sees it."""

    def __init__(self, name: str, concurrency: int) -> None:
        self.guard = Guard(name)
        self.slots = Slots(concurrency)
        self.clients: weakref.WeakSet[JsonClient] = weakref.WeakSet()  # that are open
        self._refused: dict[str, frozenset[str]] = {}

    def refused(self, model: str) -> frozenset[str]:
        """What it does not take for a model."""
        return self._refused.get(model, frozenset())

    def refuses(self, model: str, what: str) -> None:
        """Remember that."""
        self._refused[model] = self.refused(model) | {what}


_known: weakref.WeakValueDictionary[tuple[str, str, int], Server] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def server_at(url: str, key: str, name: str, concurrency: int, client: JsonClient) -> Server:
    """The server at an address, asked with this key; the same for all models that are there at the same time, which is until the
    last of their clients has left.
    """
    which = (url, hashlib.sha256(key.encode()).hexdigest(), concurrency)
    with _lock:
        server = _known.get(which)
        if server is None:
            server = _known[which] = Server(name, concurrency)
        server.clients.add(client)
        return server


def leave(server: Server, client: JsonClient) -> None:
    """A client is closed: what is known of the server goes with the last one. Doing it again does nothing."""
    with _lock:
        server.clients.discard(client)
        if not server.clients:
            for which in [which for which, known in _known.items() if known is server]:
                del _known[which]
