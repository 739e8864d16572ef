"""What a hook remembers of a host's session: how far its transcript was taken over, and what was reported before that.

One small file for each session in `HOME/hosts/sessions`, without a word of what was said. It may be lost: the keys of what is
reported are made from the host's ids, so that what is told again is stored once.
"""

from __future__ import annotations

import json
import os
import time

TYPE_CHECKING = False  # as in typing, which takes longer to import than the rest of this
if TYPE_CHECKING:
    from hashlib import sha1
    from typing import Any, Self
else:
    try:
        from _sha1 import sha1  # hashlib loads a library for it
    except ImportError:
        from hashlib import sha1

try:
    import fcntl
except ImportError:  # Windows: hooks of one session may then overtake each other; keys keep what is stored single
    fcntl = None  # type: ignore[assignment]

_MOST = 2_000


def digest(text: str) -> str:
    """A short mark of a text."""
    return sha1(text.strip().encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:16]


class Session:
    """`offset`: bytes of the transcript that were taken over. `turn`: key of the turn that goes on. `unseen`: [key, mark] of
    messages that were reported and not read in the transcript yet. `calls`, `helpers`: ids of reported calls and sub-agents.
    `ahead`: marks of replies that were stored before the transcript had them; `reply`: of the last one that was stored.
    `behind`: something could not be reported. `whose`: a mark of the memory that it is reported to.
    """

    __slots__ = (
        "_file",
        "_lock",
        "_until",
        "ahead",
        "behind",
        "calls",
        "helpers",
        "host",
        "id",
        "offset",
        "reply",
        "transcript",
        "turn",
        "unseen",
        "whose",
    )

    def __init__(self, home: str, host: str, id: str) -> None:
        folder = os.path.join(home, "hosts", "sessions")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.host, self.id = host, id
        self._file = os.path.join(folder, f"{host}-{digest(id)}.json")
        self._lock, self._until = -1, 0.0
        self._take({})

    def held(self, until: float) -> Self:
        """The session, to be held against other hooks in a `with`, as it is then; it is written at the end. Raises TimeoutError
        when it is not to be had `until` (by the monotonic clock).
        """
        self._until = until
        return self

    def __enter__(self) -> Self:
        self._lock = os.open(self._file + ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        while fcntl is not None:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= self._until:
                    os.close(self._lock)
                    raise TimeoutError("another hook of this session holds its state") from None
                time.sleep(0.005)
            except OSError:  # a file system without locks: as on Windows
                break
        self.load()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.save()
        finally:
            os.close(self._lock)

    @property
    def is_behind(self) -> bool:
        """Whether something could not be reported, as the mark on disk says; without waiting for the lock."""
        return os.path.exists(self._file + ".behind")

    def load(self) -> None:
        """Read the file; one that is missing or broken is as none."""
        try:
            with open(self._file, encoding="utf-8") as file:
                value = json.load(file)
        except (OSError, ValueError):
            value = {}
        self._take(value if isinstance(value, dict) else {})

    def save(self) -> None:
        """Write the file, whole or not at all; and mark it while it is behind."""
        plain = ("host", "id", "whose", "transcript", "offset", "turn", "reply", "behind")
        value = {name: getattr(self, name) for name in plain}
        value |= {name: getattr(self, name)[-_MOST:] for name in ("unseen", "calls", "helpers", "ahead")}
        with open(f"{self._file}.{os.getpid()}", "w", encoding="utf-8", opener=_private) as file:
            json.dump(value, file)
        os.replace(f"{self._file}.{os.getpid()}", self._file)
        mark = self._file + ".behind"
        if self.behind:
            with open(mark, "w", encoding="utf-8", opener=_private):
                pass
        elif os.path.exists(mark):
            os.unlink(mark)

    def _take(self, value: dict[str, Any]) -> None:
        offset = value.get("offset")
        self.offset = offset if isinstance(offset, int) and offset >= 0 else 0
        self.transcript, self.turn = str(value.get("transcript") or ""), str(value.get("turn") or "")
        self.reply, self.behind = str(value.get("reply") or ""), bool(value.get("behind"))
        self.whose = str(value.get("whose") or "")
        self.unseen: list[list[str]] = _lists(value.get("unseen"))
        self.calls, self.helpers, self.ahead = (_texts(value.get(name)) for name in ("calls", "helpers", "ahead"))


def left_behind(home: str, host: str, but: str, whose: str) -> list[Session]:
    """Other sessions of a host of which something could not be reported to the same memory."""
    folder = os.path.join(home, "hosts", "sessions")
    out = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name.startswith(f"{host}-") and name.endswith(".json.behind"):
            try:
                with open(os.path.join(folder, name.removesuffix(".behind")), encoding="utf-8") as file:
                    value = json.load(file)
                id, other = str(value["id"]), str(value.get("whose") or "")
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                continue
            if id != but and other in ("", whose):
                out.append(Session(home, host, id))
    return out


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _texts(value: Any) -> list[str]:
    return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []


def _lists(value: Any) -> list[list[str]]:
    return [v for v in value if isinstance(v, list) and len(v) == 2] if isinstance(value, list) else []
