"""What one application holds beside its memory system: options, metrics, open streams, the last look at its health."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Request

from memos.server.looks import Looks
from memos.server.metrics import Metrics
from memos.server.options import ServerOptions
from memos.server.sse import Streams


class Frame:
    """One per application, at `app.state.frame`."""

    def __init__(self, options: ServerOptions) -> None:
        self.options = options
        self.metrics = Metrics()
        self.streams = Streams(options.streams, self.metrics.streams)
        self.looks = Looks()


def frame_of(request: Request) -> Frame:
    """The frame of the application that a request came to."""
    return cast("Frame", request.app.state.frame)


async def _frame(request: Request) -> Frame:  # not a plain function: FastAPI would run that in a thread
    return frame_of(request)


FrameDep = Annotated[Frame, Depends(_frame)]
