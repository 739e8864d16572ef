"""A proxy before a server that can lose an answer: what was asked is done, and the connection breaks before it is told."""

from __future__ import annotations

import asyncio
import contextlib


class Proxy:
    """Listens on a free port of this machine. `lose` answers: the next so many are lost with their connections."""

    def __init__(self, port: int) -> None:
        self._to = port
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
        asking = asyncio.create_task(self._pass_on(reader, back, False))
        answering = asyncio.create_task(self._pass_on(there, writer, True))
        await asyncio.wait({asking, answering}, return_when=asyncio.FIRST_COMPLETED)
        for task in (asking, answering):
            task.cancel()
        for end in (writer, back):
            end.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answers: bool) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                # What says how things are (+OK, an error) is passed on: only the answers of scripts are lost.
                if answers and self.lose and not data.startswith((b"+", b"-")):
                    self.lose -= 1
                    self.lost += 1
                    return
                writer.write(data)
                await writer.drain()
