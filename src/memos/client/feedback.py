"""The verb `feedback`, with the parameters of `AsyncMemOS.feedback`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import uuid4

from memos.client.connected import Connected
from memos.client.encoding import body, messages_of
from memos.client.transport import Call
from memos.memory.feedback import FeedbackResult, Rating


class FeedbackVerbs(Connected):
    """Say what is wrong, missing, right or to be forgotten."""

    async def feedback(
        self,
        text: str = "",
        *,
        user: str | None = None,
        cube: str | None = None,
        session: str | None = None,
        history: object = None,
        targets: Sequence[str] | None = None,
        rating: Rating | None = None,
        hard: bool = False,
        dry_run: bool = False,
        wait: bool = True,
        answer: bool = False,
        time: datetime | str | float | None = None,
        tags: Sequence[str] = (),
        info: Mapping[str, Any] | None = None,
        task_id: str | None = None,
    ) -> FeedbackResult:
        """Correct, add, replace, forget, confirm or prefer, in plain words ("no, it's Bergen, not Oslo"), or rate an answer.

        Sent again after a lost answer, it is done once. See `AsyncMemOS.feedback` for the parameters. Raises InvalidInput for
        a text that says nothing, NotFound, Busy.
        """
        fields = body(
            text=text or None,
            user=self._as(user),
            cube=cube,
            session=session,
            history=messages_of(history),
            targets=None if targets is None else [*targets],
            rating=rating,
            hard=hard,
            dry_run=dry_run,
            wait=wait,
            answer=answer,
            time=time,
            tags=tags,
            info=info,
            task_id=task_id or uuid4().hex,
        )
        return await self._transport.ask(Call("POST", "/v1/feedback", body=fields, patient=wait), FeedbackResult)
