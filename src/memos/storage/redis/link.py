"""The connection to a Redis server: scripts are run again after the server was away, and its errors become ours."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any, TypeVar

from memos.errors import InvalidInput, MemosError, StorageError, StorageFull, StorageReadOnly, Unavailable
from memos.logs import get_logger
from memos.memory.url import without_password

log = get_logger(__name__)
T = TypeVar("T")

PATIENCE = 1.0  # seconds that a call waits for a server that went away; the first connection is not waited for
LOOK_SECONDS = (
    3.0  # how often it is looked whether a server that is away is back; what is asked meanwhile fails at once
)
SCRIPT_SECONDS = 4.0  # a server that says nothing for so long is away; it is one that hangs, or a network that swallows
PAUSE, PAUSE_CAP = 0.02, 1.0
ANSWER_SECONDS = 30.0
CALLS_AT_ONCE = 32  # each has a connection; more would only queue up in the server
OLDEST = (6, 2)
CAN_WAIT_FOR_DISK = (7, 2)


class Link:
    """Runs scripts on one server, in one event loop. Connects at the first call."""

    def __init__(self, url: str, key: str, patience: float = PATIENCE) -> None:
        """`key`: given to every script as KEYS[1]. `patience`: seconds that a call waits for a server that went away.

        Raises Unavailable without the package, InvalidInput for no URL.
        """
        try:
            self._redis: Any = import_module("redis.asyncio")
            self._errors: Any = import_module("redis.exceptions")
        except ImportError as error:
            raise Unavailable(
                "the task queue on Redis needs a package that is not installed; "
                "install the extra 'redis': pip install '.[redis]' in a checkout of MemOS"
            ) from error
        errors = self._errors
        self._denied = (errors.AuthenticationError, errors.AuthorizationError)
        self._away = (
            errors.ConnectionError,
            errors.TimeoutError,
            errors.ClusterDownError,
            errors.RedisClusterException,
            OSError,
        )
        self.shown = without_password(url)
        self._key = key
        self._scripts: dict[str, Any] = {}
        self._ready = False
        self._connecting = asyncio.Lock()
        self._at_once = asyncio.Semaphore(CALLS_AT_ONCE)
        self._to_disk = self._on_disk = False
        self._patience = patience
        self._away_since: float | None = None
        self._look_at = 0.0
        self._closed = False
        self._url = url
        try:
            self._client = self._client_of(self._redis.Redis)
        except ValueError:
            raise InvalidInput(
                f"{self.shown!r} is not the URL of a Redis server; write redis://user:password@host:6379/0, the password with "
                "its special signs percent-encoded"
            ) from None

    def _client_of(self, kind: Any) -> Any:
        retry = import_module("redis.asyncio.retry").Retry(import_module("redis.backoff").NoBackoff(), 0)
        return kind.from_url(
            self._url,
            protocol=2,
            retry=retry,  # `_patiently` does it, which knows that it is a second time
            socket_timeout=ANSWER_SECONDS,
            socket_connect_timeout=1.0,
        )

    async def run(self, script: str, *arguments: Any, disk: bool = False, brief: bool = False) -> Any:
        """What a script answers. `disk`: its writes are on the server's disk then, where the server can tell. `brief`: somebody
        waits who can do without, so the whole call takes no longer than the patience.

        Raises Unavailable, StorageFull, StorageReadOnly, StorageError.
        """
        return await self.run_again(script, lambda _: arguments, disk=disk, brief=brief)

    async def run_again(
        self, script: str, arguments: Callable[[bool], Any], *, disk: bool = False, brief: bool = False
    ) -> Any:
        """The same; `arguments` is asked for them before each try, and told whether an earlier one may have happened."""

        async def once(again: bool) -> Any:
            await self._connect()
            if disk and self._to_disk:
                return await self._run_to_disk(script, arguments(again))
            return await self._script(script)(keys=[self._key], args=arguments(again))

        longest = ANSWER_SECONDS if disk else self._patience + (0.0 if brief else SCRIPT_SECONDS)
        return await self._patiently(once, longest)

    async def advice(self) -> str | None:
        """What whoever runs the server should change, in a sentence. Raises Unavailable."""
        await self._patiently(lambda _: self._connect(), self._patience + SCRIPT_SECONDS)
        if self._on_disk:
            return None
        return (
            f"Redis at {self.shown} keeps no append-only file: after a Redis crash tasks are lost until the next sweep; "
            "set appendonly yes"
        )

    async def next_entry(self, stream: str, after: bytes, seconds: float) -> None:
        """Return when a stream has an entry after this one, or when the time has passed; also when the server is away."""
        until = time.monotonic() + seconds
        pause = PAUSE
        while not self._closed and (left := until - time.monotonic()) > 0:
            try:
                async with asyncio.timeout(left + 1.0):
                    block = max(1, int(min(left, ANSWER_SECONDS / 2) * 1000))
                    if await self._client.xread({stream: after}, block=block):
                        return
            except self._away:
                await asyncio.sleep(min(pause, max(0.0, until - time.monotonic())))
                pause = min(pause * 2, PAUSE_CAP)
            except self._errors.RedisError as error:
                raise self._translated(error) from error

    async def close(self) -> None:
        """Let go of every connection; who waits stops waiting."""
        self._closed = True
        await self._client.aclose()

    # --- how ---------------------------------------------------------------------------------------------------

    def _script(self, text: str) -> Any:
        if text not in self._scripts:
            self._scripts[text] = self._client.register_script(text)
        return self._scripts[text]

    async def _run_to_disk(self, script: str, arguments: Any) -> Any:
        """WAITAOF speaks of what was written through its own connection, so both use one."""
        async with self._client.client() as one:
            answer = await self._script(script)(keys=[self._key], args=arguments, client=one)
            local, _ = await one.execute_command("WAITAOF", 1, 0, int(ANSWER_SECONDS * 500))
        if not local:
            raise StorageError(f"Redis at {self.shown} did not write to its disk in {ANSWER_SECONDS / 2:.0f} s")
        return answer

    async def _patiently(self, once: Callable[[bool], Awaitable[T]], longest: float) -> T:
        self._unless_away()
        begun = time.monotonic()
        until = begun + (self._patience if self._ready else 0.0)
        pause, again = PAUSE, False
        while True:
            try:
                async with asyncio.timeout(max(0.0, begun + longest - time.monotonic())), self._at_once:
                    answer = await once(again)
            except (self._errors.RedisError, *self._away) as error:
                if isinstance(error, self._errors.ReadOnlyError):
                    await self._drop_idle()
                if not self._may_pass(error) or time.monotonic() + pause > until:
                    if isinstance(error, self._away) and not isinstance(error, self._denied):
                        self._is_away(error)
                    raise self._translated(error) from error
            else:
                self._is_there()
                return answer
            again = True
            await asyncio.sleep(pause)
            pause = min(pause * 2, PAUSE_CAP)

    def _unless_away(self) -> None:
        """Raise Unavailable while the server is away, but for one call now and then, which looks whether it is back."""
        if self._away_since is None:
            return
        now = time.monotonic()
        if now < self._look_at:
            gone = now - self._away_since
            raise Unavailable(f"Redis at {self.shown} cannot be reached for {gone:.0f} s now; is it running?")
        self._look_at = now + LOOK_SECONDS

    def _is_away(self, error: Exception) -> None:
        now = time.monotonic()
        self._look_at = now + LOOK_SECONDS
        if self._away_since is None:  # told once, not at every try
            self._away_since = now
            advice = "what is added is stored meanwhile; background work waits"
            log.error("queue_unreachable", server=self.shown, error=type(error).__name__, advice=advice)

    def _is_there(self) -> None:
        if self._away_since is not None:
            log.info("queue_reachable", server=self.shown, away_seconds=round(time.monotonic() - self._away_since, 1))
            self._away_since = None

    def _may_pass(self, error: Exception) -> bool:
        if isinstance(error, self._denied):
            return False
        return isinstance(error, self._away) or _says(str(error), "BUSY", "TRYAGAIN")

    async def _drop_idle(self) -> None:
        """Another server may have become the one that is written to; the next call looks the address up anew."""
        if pool := getattr(self._client, "connection_pool", None):
            await pool.disconnect(inuse_connections=False)

    async def _connect(self) -> None:
        """Look once at what kind of server it is. Raises Unavailable for one that would lose tasks."""
        if self._ready:
            return
        async with self._connecting:
            if self._ready:
                return
            info = await self._client.info()
            version = tuple(int(part) for part in str(info["redis_version"]).split(".")[:2])
            if version < OLDEST:
                raise Unavailable(f"Redis at {self.shown} is {info['redis_version']}; 6.2 or newer is needed")
            policy = str(info.get("maxmemory_policy", "noeviction"))
            if policy.startswith("allkeys") and int(info.get("maxmemory", 0)):
                raise Unavailable(
                    f"Redis at {self.shown} throws keys away when it is full ({policy}), also tasks; "
                    "set maxmemory-policy noeviction"
                )
            self._on_disk = bool(int(info.get("aof_enabled", 0)))
            self._to_disk = self._on_disk and version >= CAN_WAIT_FOR_DISK
            if info.get("redis_mode") == "cluster":
                await self._client.aclose()
                self._client, self._to_disk = self._client_of(self._redis.RedisCluster), False
            self._ready = True

    def _translated(self, error: Exception) -> MemosError:
        said = str(error)
        if isinstance(error, self._denied) or _says(said, "NOPERM", "NOAUTH"):
            return Unavailable(f"Redis at {self.shown} lets us not in ({said}); check the user and password of the URL")
        if isinstance(error, self._away):
            return Unavailable(f"Redis at {self.shown} cannot be reached; is it running? ({type(error).__name__})")
        if isinstance(error, self._errors.OutOfMemoryError) or _says(said, "OOM"):
            return StorageFull(f"Redis at {self.shown} has no memory left; raise maxmemory. Nothing was changed")
        if isinstance(error, self._errors.ReadOnlyError) or _says(said, "READONLY", "MISCONF"):
            return StorageReadOnly(f"Redis at {self.shown} cannot be written: {said}")
        return StorageError(f"Redis at {self.shown} could not do it: {said}")


def _says(text: str, *codes: str) -> bool:
    return any(text.startswith(code) or f"-{code} " in text for code in codes)
