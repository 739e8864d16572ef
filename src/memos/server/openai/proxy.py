"""What the routes of the proxy share: what is known of requests before, and whose a thing is that a request names."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, cast

from fastapi import Depends, Request

from memos.errors import InvalidInput, NotFound, Unavailable
from memos.memory.ids import unique_key
from memos.models.llm.passage import Passage
from memos.models.llm.port import ChatModel
from memos.server.app import Core
from memos.server.caller import Caller, CallerDep
from memos.server.frame import Frame, FrameDep
from memos.server.openai.kept_responses import Kept, KeptResponses
from memos.server.openai.memory import Known
from memos.system import AsyncMemOS
from memos.system.passing import way_to

_OFF = "the OpenAI proxy is switched off on this server (MEMOS_SERVER_PROXY)"
_NONE = "there is no {} {!r:.80} of this user"
_ACCOUNT = (
    "item_reference names something of the whole account at the model's server, which a key of one user may not; send the "
    "items whole"
)
_LONGEST_MODEL, _LONGEST_ID = 200, 2_000
_ID = re.compile(rf"[A-Za-z0-9_=+~-][A-Za-z0-9_=+~.:-]{{0,{_LONGEST_ID - 1}}}")


class Proxy:
    """What one application knows of requests before."""

    def __init__(self, memos: AsyncMemOS) -> None:
        self.known = Known()
        self.kept = KeptResponses(memos.settings.home)


@dataclass(frozen=True, slots=True)
class Here:
    """A request, and what it came to."""

    request: Request
    memos: AsyncMemOS
    frame: Frame
    caller: Caller
    proxy: Proxy

    async def body(self) -> dict[str, Any]:
        """The body, a JSON object. Raises InvalidInput."""
        try:
            body = json.loads(await self.request.body())
        except (ValueError, RecursionError):
            raise InvalidInput("the body is not JSON") from None
        if not isinstance(body, dict):
            raise InvalidInput("the body is a JSON object")
        return body

    def way(self, name: object, user: str, *, spends: bool = True) -> Passage | ChatModel:
        """Who answers a request that names this model, if it is a name. Raises as `way_to` does."""
        named = name if isinstance(name, str) and name else None
        return way_to(self.memos, named, user, others=self.frame.options.proxy_any_model, spends=spends)

    async def owned(self, what: str, id: object, user: str) -> Kept | None:
        """What is known of a thing that a request names. None: nobody knows it, and the caller may act for everybody.

        Raises NotFound for one of somebody else, like for one that is not there.
        """
        if not isinstance(id, str) or len(id) > _LONGEST_ID:
            raise NotFound(_NONE.format(what, id))
        known, kept = await asyncio.to_thread(self.proxy.kept.find, id, user, renew=what == "conversation")
        if kept is None and (known or not self.caller.any_user):
            raise NotFound(_NONE.format(what, id))
        return kept

    def check_items(self, items: object) -> None:
        """Raise InvalidInput where items only name some of the account, and the caller may not act for everybody."""
        if not self.caller.any_user and any(map(_refers, items if isinstance(items, list) else ())):
            raise InvalidInput(_ACCOUNT)


async def _here(request: Request, memos: Core, frame: FrameDep, caller: CallerDep) -> Here:
    if not frame.options.proxy:
        raise Unavailable(_OFF)
    state = request.app.state
    if not hasattr(state, "openai_proxy"):
        state.openai_proxy = Proxy(memos)
    return Here(request, memos, frame, caller, cast("Proxy", state.openai_proxy))


HereDep = Annotated[Here, Depends(_here)]


def in_path(what: str, id: str) -> str:
    """An id that goes into a path. Raises NotFound for what is none."""
    if not _ID.fullmatch(id):
        raise NotFound(_NONE.format(what, id))
    return id


def model_in(body: Mapping[str, Any]) -> str:
    """The model that a request names, as far as it is worth remembering."""
    name = body.get("model")
    return name if isinstance(name, str) and len(name) <= _LONGEST_MODEL else ""


def conversation_in(body: Mapping[str, Any]) -> object:
    """The id of the conversation that a request names, however it does."""
    named = body.get("conversation")
    return named.get("id", named) if isinstance(named, Mapping) else named


def session_of(kept: object) -> str:
    """The session of what a server keeps under a name."""
    return f"openai-{unique_key('openai', json.dumps(kept, sort_keys=True)).hex()[:12]}"


def _refers(item: Any) -> bool:
    """Whether an item of the input is none, but names one: so does an image that was made, without its data, and all that has an
    id and neither type nor role.
    """
    kind = item.get("type") if isinstance(item, Mapping) else "message"
    if kind == "image_generation_call":
        return not item.get("result")
    return kind == "item_reference" or (not kind and bool(item.get("id")) and not item.get("role"))
