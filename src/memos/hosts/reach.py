"""How a hook reaches the memory: a running `memos serve`, over a plain socket; where none runs, the library in this process."""

from __future__ import annotations

import json
import os
import time

TYPE_CHECKING = False  # as in typing, which takes longer to import than the rest of this
if TYPE_CHECKING:
    import socket
    from typing import Any
else:
    try:
        import _socket as socket  # what `socket` puts around it takes as long to import as all the rest of a hook
    except ImportError:
        import socket

STATE = "server.json"
IMPORTER = "transcripts"  # the agent in whose name `memos import` tells what it reads in transcripts
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_MOST_ANSWER = 16 << 20


class Away(Exception):
    """The memory cannot be reached, or has no time: the same is to be told again later."""


class Refused(Exception):
    """What was told is refused, and would be again."""


class Memory:
    """Where a hook tells things. `embedded`: in this process, which takes its time."""

    embedded = False

    def tell(self, verb: str, fields: dict[str, Any]) -> dict[str, Any]:
        """The answer to a verb of agents. Raises Away and Refused."""
        raise NotImplementedError

    def imported(self, who: dict[str, Any]) -> str | None:
        """When the last turn of a session was that an import of transcripts brought; None where none did. Raises Away."""
        raise NotImplementedError

    def close(self) -> None:
        """Close what was opened."""


class Server(Memory):
    """A running server. `until`: by the monotonic clock, when whatever is not answered is Away."""

    def __init__(self, url: str, key: str | None, until: float) -> None:
        scheme, _, rest = url.partition("://")
        place, _, path = rest.partition("/")
        self._tls = scheme == "https"
        path = path.rstrip("/")
        self._path = "/" + path.removesuffix("v1").rstrip("/") if path else ""
        host, colon, port = place.rpartition(":") if not place.endswith("]") else (place, "", "")
        self._host = (host if colon else place).strip("[]")
        self._port = int(port) if colon and port.isdigit() else (443 if self._tls else 80)
        self._place, self._key, self._until = place, key, until

    def tell(self, verb: str, fields: dict[str, Any]) -> dict[str, Any]:
        """The answer to a verb of agents. Raises Away and Refused."""
        path = _PATHS[verb]
        if verb == "end_session":
            fields = dict(fields)
            path = path.format(_quoted(str(fields.pop("session"))))
        status, body = self._ask(self._path + path, json.dumps(fields).encode())
        if status >= 500 or status in (401, 403, 404, 408, 429):
            raise Away(f"the server answered {status}")
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            answer = None
        if status >= 400 and isinstance(answer, dict) and isinstance(answer.get("error"), dict):
            raise Refused(f"the server answered {status} to {verb}")
        if not isinstance(answer, dict) or ("cube" not in answer and "trigger" not in answer):
            raise Away("what answers there is no MemOS server")
        return answer

    def imported(self, who: dict[str, Any]) -> str | None:
        """When the last turn of a session was that an import of transcripts brought. Raises Away."""
        asked = {
            "session": who["session"],
            "agent": IMPORTER,
            "limit": "1",
            "user": who.get("user"),
            "cube": who.get("cube"),
        }
        query = "&".join(f"{name}={_quoted(str(value))}" for name, value in asked.items() if value is not None)
        status, body = self._ask(f"{self._path}/v1/episodes?{query}", b"", "GET")
        if status >= 500 or status in (408, 429):
            raise Away(f"the server answered {status}")
        try:
            return str(json.loads(body)["items"][0]["last_at"])
        except (ValueError, RecursionError, LookupError, TypeError):
            return None

    def _ask(self, path: str, body: bytes, method: str = "POST") -> tuple[int, bytes]:
        left = self._until - time.monotonic()
        if left <= 0.005:
            raise Away("no time is left")
        if self._tls:
            return self._ask_tls(path, body, method, left)
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._place}\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(body)}\r\nAccept: application/json\r\nConnection: close\r\n"
        if self._key:
            head += f"Authorization: Bearer {self._key}\r\n"
        try:
            connection = self._connect()
            try:
                connection.sendall(head.encode("latin-1") + b"\r\n" + body)
                return self._answer(connection)
            finally:
                connection.close()
        except (OSError, ValueError) as e:
            raise Away(f"the server cannot be reached ({type(e).__name__})") from None

    @property
    def gone(self) -> bool:
        """Whether nobody listens there: the state file is of a process that was killed, and another has its number now."""
        try:
            self._connect().close()
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
        return False

    def _connect(self) -> socket.socket:
        """A connection to the first of the server's addresses that takes one. Raises OSError."""
        failure = OSError("no address")
        for family, kind, protocol, _, address in socket.getaddrinfo(self._host, self._port, 0, socket.SOCK_STREAM):
            connection = socket.socket(family, kind, protocol)
            try:
                connection.settimeout(max(0.001, self._until - time.monotonic()))
                connection.connect(address)
                return connection
            except OSError as e:
                connection.close()
                failure = e
        raise failure

    def _answer(self, connection: socket.socket) -> tuple[int, bytes]:
        """Status and body of an answer; its end is where its length says, or where the connection ends."""
        got, cut, length = b"", -1, -1
        while cut < 0 or length < 0 or len(got) < cut + 4 + length:
            connection.settimeout(max(0.001, self._until - time.monotonic()))
            piece = connection.recv(1 << 16)
            if not piece:
                break
            got += piece
            if len(got) > _MOST_ANSWER:
                raise ValueError("too long an answer")
            if cut < 0 and (cut := got.find(b"\r\n\r\n")) >= 0:
                for line in got[:cut].split(b"\r\n")[1:]:
                    name, _, value = line.partition(b":")
                    if name.strip().lower() == b"content-length":
                        length = int(value)
        first = got.split(b"\r\n", 1)[0].split(b" ")
        if cut < 0 or len(first) < 2 or (length >= 0 and len(got) < cut + 4 + length):
            raise ValueError("half an answer")
        return int(first[1]), got[cut + 4 :]

    def _ask_tls(self, path: str, body: bytes, method: str, left: float) -> tuple[int, bytes]:
        import http.client

        connection = http.client.HTTPSConnection(self._host, self._port, timeout=left)
        headers = {"Content-Type": "application/json", "Connection": "close"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read(_MOST_ANSWER)
        except (OSError, http.client.HTTPException) as e:
            raise Away(f"the server cannot be reached ({type(e).__name__})") from None
        finally:
            connection.close()


class Nowhere(Memory):
    """No server runs, and the library is not to be loaded: everything is told later."""

    def __init__(self, home: str) -> None:
        self._home = home

    def tell(self, verb: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Raise Away."""
        raise Away(f"no server runs on {self._home}")

    def imported(self, who: dict[str, Any]) -> str | None:
        """Raise Away."""
        raise Away(f"no server runs on {self._home}")


class Embedded(Memory):
    """The library in this process. It takes its time to load, so that it is opened at the first thing to tell."""

    embedded = True

    def __init__(self, home: str | None) -> None:
        self._home = home
        self._system: Any = None

    def tell(self, verb: str, fields: dict[str, Any]) -> dict[str, Any]:
        """The answer to a verb of agents, as far as a hook needs it. Raises Away and Refused."""
        from memos.errors import Conflict, InvalidInput, MemosError

        given = {name: value for name, value in fields.items() if value is not None}
        try:
            answer = getattr(self._open(), verb)(**given)
        except (InvalidInput, Conflict) as e:
            raise Refused(e.code) from None
        except MemosError as e:
            raise Away(e.code) from None
        recalled = getattr(answer, "recalled", None)
        out: dict[str, Any] = {"context": getattr(answer, "context", "")}
        if recalled is not None:
            out["recalled"] = {"context": recalled.context}
        return out

    def imported(self, who: dict[str, Any]) -> str | None:
        """When the last turn of a session was that an import of transcripts brought. Raises Away."""
        from memos.errors import MemosError

        where = {name: who[name] for name in ("user", "cube") if who.get(name) is not None}
        try:
            found = self._open().episodes(session=who["session"], agent=IMPORTER, limit=1, **where).items
        except MemosError as e:
            raise Away(e.code) from None
        return found[0].last_at.isoformat() if found else None

    def _open(self) -> Any:
        if self._system is None:
            from memos.sync import MemOS

            self._system = MemOS(self._home, background=False)
        return self._system

    def close(self) -> None:
        """Close what was opened."""
        if self._system is not None:
            self._system.close()


def switched_off() -> bool:
    """Whether MEMOS_HOOKS says that hosts go on without memory."""
    return os.environ.get("MEMOS_HOOKS", "").lower() in ("off", "0", "false", "no")


def running(home: str) -> str | None:
    """The address of the server that says in its state file that it runs on a home; None when it does not, or is gone."""
    try:
        with open(os.path.join(home, STATE), encoding="utf-8") as file:
            told = json.load(file)
        url, pid = told["url"], told["pid"]
        if os.name != "nt":
            os.kill(int(pid), 0)
    except PermissionError:
        pass  # it runs, as somebody else
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None
    return url if isinstance(url, str) and url.startswith("http://") else None


def announce(home: str, url: str) -> None:
    """Say in the state file that this process serves a home at an address."""
    path = os.path.join(home, STATE)
    with open(f"{path}.{os.getpid()}", "w", encoding="utf-8", opener=_private) as file:
        json.dump(
            {"url": url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:"), "pid": os.getpid()}, file
        )
    os.replace(f"{path}.{os.getpid()}", path)


def withdraw(home: str) -> None:
    """Take the state file away, if it is this process's."""
    path = os.path.join(home, STATE)
    try:
        with open(path, encoding="utf-8") as file:
            mine = json.load(file).get("pid") == os.getpid()
        if mine:
            os.unlink(path)
    except (OSError, ValueError, AttributeError):
        return


def key_in(path: str | None) -> str | None:
    """The key in a file, or in MEMOS_API_KEY. Raises Away for a file that cannot be read."""
    if path is None:
        return os.environ.get("MEMOS_API_KEY") or None
    try:
        with open(os.path.expanduser(path), encoding="utf-8") as file:
            return file.read().strip() or None
    except (OSError, UnicodeDecodeError):
        raise Away("the key file cannot be read") from None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _quoted(text: str) -> str:
    safe = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~"
    return "".join(chr(b) if b in safe else f"%{b:02X}" for b in text.encode())


_PATHS = {
    "start_turn": "/v1/turns",
    "report_step": "/v1/steps",
    "end_turn": "/v1/turns/end",
    "report_subagent": "/v1/subagents",
    "end_session": "/v1/sessions/{}/end",
    "recall": "/v1/recall",
}
