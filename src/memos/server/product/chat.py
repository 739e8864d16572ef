"""The chat routes. A request is checked as far as it can be without a model; then the answer is that there is none."""

from __future__ import annotations

from memos.errors import Unavailable
from memos.server.caller import READ, Caller
from memos.server.product import access, wording
from memos.server.product.models import ChatBody
from memos.server.product.translate import filters_by_cube
from memos.system import AsyncMemOS


async def refuse(core: AsyncMemOS, caller: Caller, body: ChatBody) -> None:
    """Raise what is wrong with a request (filter, cubes, rights), else Unavailable: no chat model is configured."""
    user = caller.acting(body.user_id, READ)
    cubes = list(dict.fromkeys(body.readable_cube_ids or [user]))
    filters_by_cube(body.filter, cubes)
    for cube in cubes:
        await core.count(user=user, cube=cube)
    if body.add_message_on_answer:
        await access.writable(core, caller, body.user_id, body.writable_cube_ids)
    raise Unavailable(wording.NO_CHAT)
