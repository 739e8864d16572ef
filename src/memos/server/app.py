"""The FastAPI application: one memory system, the wires over it, and what every request passes through.

`create_app` is a factory; nothing happens when this module is imported. The wires are thin translations over `AsyncMemOS`.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, FastAPI, Request

from memos import __version__
from memos.server import errors, openapi
from memos.server.auth import Authenticated
from memos.server.bodies import Bodies
from memos.server.frame import Frame
from memos.server.guard import Guarded
from memos.server.limits import RateLimit
from memos.server.mcp import Mounted
from memos.server.observe import Observed
from memos.server.options import ServerOptions
from memos.server.quick import Shortcut
from memos.system import AsyncMemOS


async def core(request: Request) -> AsyncMemOS:
    """The memory system of the application."""
    system = request.app.state.memos
    assert isinstance(system, AsyncMemOS)
    return system


Core = Annotated[AsyncMemOS, Depends(core)]


def create_app(memos: AsyncMemOS | None = None, options: ServerOptions | None = None) -> FastAPI:
    """The server around a memory system (default: a new one from the environment), which it closes at the end."""
    from memos.server import health
    from memos.server.mem0 import routes as mem0
    from memos.server.native import routes as native
    from memos.server.openai import routes as openai
    from memos.server.openai import stored as openai_stored
    from memos.server.openmem import routes as openmem
    from memos.server.product import routes as product

    system, options = memos or AsyncMemOS(), options or ServerOptions.load()
    frame = Frame(options)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with system:
            await system.start("server")
            try:
                yield
            finally:
                frame.streams.stop()

    app = FastAPI(
        title="MemOS",
        version=__version__,
        summary="Memory for AI agents: keep, find, correct and explain what an agent lived through.",
        lifespan=lifespan,
        docs_url=None,  # ours loads nothing from elsewhere
        redoc_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # ours tells more, and asks for less
    )
    app.state.memos = system
    app.state.options = options
    app.state.frame = frame
    errors.install(app)
    openapi.install(app)
    # Not by `include_router`, which would build every route once more, and match each request twice.
    proxy = (openai.router, openai_stored.router)
    for router in (health.router, *product.ROUTERS, *native.ROUTERS, *proxy, *openmem.ROUTERS, *mem0.ROUTERS):
        app.router.routes.extend(router.routes)
    # The last one added is the first one a request passes.
    app.add_middleware(Shortcut, app.router.routes)
    app.add_middleware(Bodies, options)
    app.add_middleware(Mounted, options)
    app.add_middleware(Authenticated, system, options, RateLimit(options))
    app.add_middleware(Guarded, options)
    app.add_middleware(Observed, frame.metrics)
    return app
