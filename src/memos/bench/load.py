"""The load: a process of its own that asks a server over HTTP, as cheaply as it can, and tells how long each answer took.

`python -m memos.bench.load` reads a plan as JSON from stdin and writes what it measured as JSON to stdout. The client is a bare
HTTP/1.1 connection that is kept open, so that on few cores the processor is left to the server.
"""

from __future__ import annotations

import asyncio
import gc
import json
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from memos.bench import corpus
from memos.bench.process import environment

TEXTS = 4_000  # different messages; each is sent with a number of its own
QUESTIONS = 400
GIVE_UP = 60.0  # seconds without an answer
_RESTING = 0.05  # seconds a client waits after a refusal


@dataclass(frozen=True, slots=True)
class Plan:
    """What to ask. `kind`: add or search. `pause`: seconds between the calls of a client, which keep to their times however
    slow the answers are; 0 means one call as soon as the last one is answered. `users`: over how many users' cubes the
    clients walk when they add, each over its own share; they are named `user` and a number. `user`: whose cube is searched.
    `calls`: of each client, in place of `seconds`. `warm`: seconds (or calls) before those that are counted.
    """

    kind: str
    host: str
    port: int
    run: str
    clients: int = 1
    seconds: float = 5.0
    warm: float = 1.0
    pause: float = 0.0
    messages: int = 1
    users: int = 1
    calls: int = 0
    user: str = "bench"


@dataclass(slots=True)
class Measured:
    """What came back: seconds of each successful call, calls that failed by status (0: no answer), messages acknowledged, the
    length of the measurement and the processor time of this process, in seconds.
    """

    latencies: list[float] = field(default_factory=list)
    failed: dict[str, int] = field(default_factory=dict)
    messages: int = 0
    seconds: float = 0.0
    cpu: float = 0.0

    @property
    def calls_per_second(self) -> float:
        """Successful calls."""
        return len(self.latencies) / max(self.seconds, 1e-9)

    @property
    def messages_per_second(self) -> float:
        """Messages acknowledged."""
        return self.messages / max(self.seconds, 1e-9)


class Connection(asyncio.Protocol):
    """One kept-open HTTP/1.1 connection, one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._head = self._length = -1
        self._status = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone; who waits is told."""
        self._transport = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        """More of the answer."""
        self._buffer += data
        if self._head < 0:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            self._head = end + 4
            head = bytes(self._buffer[:end]).lower()
            self._status = int(head[9:12])
            at = head.find(b"\r\ncontent-length:")
            self._length = int(head[at + 17 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        if len(self._buffer) >= self._head + self._length and self._answer is not None:
            body = bytes(self._buffer[self._head : self._head + self._length])
            self._buffer.clear()
            self._head = -1
            answer, self._answer = self._answer, None
            if not answer.done():
                answer.set_result((self._status, body))

    @property
    def open(self) -> bool:
        """Whether it can be written to."""
        return self._transport is not None

    def ask(self, request: bytes) -> asyncio.Future[tuple[int, bytes]]:
        """Send a request; the answer is its status and body."""
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answer

    def close(self) -> None:
        """End it."""
        if self._transport is not None:
            self._transport.close()


def request(plan: Plan, path: str, body: bytes) -> bytes:
    """A POST of JSON."""
    lines = (f"POST {path} HTTP/1.1", f"Host: {plan.host}:{plan.port}", "Content-Type: application/json")
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


def adds(plan: Plan) -> Callable[[int, int], bytes]:
    """Makes the request of a client's n-th add."""
    rng = random.Random(5)
    texts = [json.dumps(m["content"]).encode() for _, ms in corpus.messages(TEXTS, seed=7) for m in ms]
    rng.shuffle(texts)
    share = max(1, plan.users // plan.clients)
    run, name = plan.run.encode(), plan.user.encode()

    def make(client: int, n: int) -> bytes:
        user = (client * share + n % share) % plan.users
        parts = []
        for i in range(plan.messages):
            text = texts[(client * 997 + n * plan.messages + i) % len(texts)]
            parts.append(b'{"role":"user","content":%b,"message_id":"%b-%d-%d-%d"}' % (text, run, client, n, i))
        session = b"s%d-%d" % (client, n // 25)
        body = b'{"messages":[%b],"user":"%b%d","session":"%b"}' % (b",".join(parts), name, user, session)
        return request(plan, "/v1/memories", body)

    return make


def searches(plan: Plan) -> Callable[[int, int], bytes]:
    """Makes the request of a client's n-th search."""
    asked = [json.dumps(q).encode() for q in corpus.questions(QUESTIONS)]
    user = json.dumps(plan.user).encode()

    def make(client: int, n: int) -> bytes:
        question = asked[(client * 53 + n) % len(asked)]
        return request(plan, "/v1/memories/search", b'{"query":%b,"user":%b}' % (question, user))

    return make


class _Run:
    """A plan under way."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.make = adds(plan) if plan.kind == "add" else searches(plan)
        self.measured = Measured()
        self.failed: Counter[str] = Counter()
        self.begin = self.end = 0.0

    async def measure(self) -> Measured:
        """Run every client to its end."""
        plan = self.plan
        gc.freeze()
        now = time.perf_counter()
        self.begin = now + (0.0 if plan.calls else plan.warm)
        self.end = self.begin + plan.seconds if not plan.calls else float("inf")
        cpu = resource.getrusage(resource.RUSAGE_SELF)
        await asyncio.gather(*(self._client(i, now) for i in range(plan.clients)))
        used = resource.getrusage(resource.RUSAGE_SELF)
        done = self.measured
        done.seconds = plan.seconds if not plan.calls else time.perf_counter() - self.begin
        done.cpu = used.ru_utime + used.ru_stime - cpu.ru_utime - cpu.ru_stime
        done.failed = dict(self.failed)
        return done

    async def _client(self, number: int, start: float) -> None:
        plan, clock = self.plan, time.perf_counter
        connection: Connection | None = None
        due = start + random.Random(number).random() * plan.pause
        n = 0
        while (n < plan.calls + int(plan.warm)) if plan.calls else (clock() < self.end):
            if plan.pause:
                if (early := due - clock()) > 0:
                    await asyncio.sleep(early)
                begun, due = due, due + plan.pause
            else:
                begun = clock()
            try:
                if connection is None or not connection.open:
                    _, connection = await asyncio.get_running_loop().create_connection(Connection, plan.host, plan.port)
                async with asyncio.timeout(GIVE_UP):
                    status, _ = await connection.ask(self.make(number, n))
            except (OSError, TimeoutError):
                connection, status = None, 0
            n += 1
            ended = clock()
            counted = n > plan.warm if plan.calls else self.begin <= ended <= self.end
            if counted:
                self._count(status, ended - begun)
            if status >= 300 or status == 0:
                await asyncio.sleep(_RESTING)
        if connection is not None:
            connection.close()

    def _count(self, status: int, seconds: float) -> None:
        if 200 <= status < 300:
            self.measured.latencies.append(seconds)
            self.measured.messages += self.plan.messages if self.plan.kind == "add" else 0
        else:
            self.failed[str(status)] += 1


async def run(plan: Plan) -> Measured:
    """Run the load in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=environment()
    )
    out, _ = await process.communicate(json.dumps(asdict(plan)).encode())
    if process.returncode:
        raise RuntimeError(f"the load ended with code {process.returncode}")
    return Measured(**json.loads(out))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the plan on stdin."""
    given: dict[str, Any] = json.load(sys.stdin)
    measured = asyncio.run(_Run(Plan(**given)).measure())
    json.dump(asdict(measured), sys.stdout)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
