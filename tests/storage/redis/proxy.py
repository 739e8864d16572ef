"""A proxy before a server that can lose an answer: what was asked is done, and the connection breaks before it is told.

It can also make the server appear as one that tells what is on its disk (7.2 and later; Debian's is older).
"""

from __future__ import annotations

import asyncio
import contextlib


class Proxy:
    """Listens on a free port of this machine. `lose` answers: the next so many are lost with their connections.

    `disk`: the server seems to be a 7.2, and answers WAITAOF with this many disks; `asked` is what came right before that.
    """

    def __init__(self, port: int, disk: int | None = None) -> None:
        self._to = port
        self._disk = disk
        self.asked: list[bytes] = []
        self.lose = 0
        self.lost = 0

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/0"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._to)
        asking = asyncio.create_task(self._ask(reader, back, writer))
        answering = asyncio.create_task(self._answer(there, writer))
        await asyncio.wait({asking, answering}, return_when=asyncio.FIRST_COMPLETED)
        for task in (asking, answering):
            task.cancel()
        for end in (writer, back):
            end.close()

    async def _ask(self, reader: asyncio.StreamReader, there: asyncio.StreamWriter, back: asyncio.StreamWriter) -> None:
        before = b""
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                if b"\r\nWAITAOF\r\n" in data and self._disk is not None:
                    self.asked.append(before)
                    back.write(b"*2\r\n:%d\r\n:0\r\n" % self._disk)
                else:
                    there.write(data)
                before = data

    async def _answer(self, reader: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                # What says how things are (+OK, an error) is passed on: only the answers of scripts are lost.
                if self.lose and not data.startswith((b"+", b"-")):
                    self.lose -= 1
                    self.lost += 1
                    return
                if self._disk is not None:
                    data = data.replace(b"redis_version:7.0.", b"redis_version:7.2.")
                back.write(data)
                await back.drain()
