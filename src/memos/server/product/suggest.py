"""POST /product/suggestions: up to three questions one could ask next, from the conversation given or from recent memories."""

from __future__ import annotations

from starlette.responses import Response

from memos.server.caller import READ, Caller
from memos.server.product import access, wording
from memos.server.product.models import SuggestBody
from memos.server.product.replies import ok
from memos.system import AsyncMemOS


async def suggestions(core: AsyncMemOS, caller: Caller, body: SuggestBody) -> Response:
    """The questions: a chat model's where one is configured and answers, else by rules; none where there is nothing to ask."""
    user = await access.acting_on(core, caller, body.user_id, body.mem_cube_id, READ)
    asked = await core.suggest((body.message or [])[-2:], user=user, cube=body.mem_cube_id, language=body.language)
    return ok(wording.SUGGESTED, {"query": list(asked)})
