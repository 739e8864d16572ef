"""The verb `feedback`: what a user says of what is remembered, in plain words, is kept, understood and acted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memos.arguments import listed
from memos.errors import InvalidInput, MemosError
from memos.feedback import Wanted, rehearse, settle, task_of
from memos.memory.feedback import RATINGS, FeedbackResult, Rating
from memos.memory.model import Memory
from memos.memory.time import utcnow
from memos.organize.digest import BATCH
from memos.reading.messages import checked_info, parse_context, parse_messages
from memos.reading.parts import is_blank
from memos.reading.store import store_records
from memos.reading.traces import Record, to_records
from memos.storage.ports import ANY_STATUS, DIGEST, FEEDBACK, Change, CubeInfo, View, WriteTx
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.registry import check_name
from memos.system.base import DEFAULT_SESSION, DEFAULT_USER, Base, When

_THUMBS = {"up": "👍", "down": "👎", "succeeded": "✓", "failed": "✗"}


class Feedback(Base):
    """See `AsyncMemOS`."""

    async def feedback(
        self,
        text: str = "",
        *,
        user: str = DEFAULT_USER,
        cube: str | None = None,
        session: str | None = None,
        history: object = None,
        targets: Sequence[str] | None = None,
        rating: Rating | None = None,
        hard: bool = False,
        dry_run: bool = False,
        wait: bool = True,
        answer: bool = False,
        time: When = None,
        tags: Sequence[str] = (),
        info: Mapping[str, Any] | None = None,
        task_id: str | None = None,
    ) -> FeedbackResult:
        """Say what is wrong, missing, right or to be forgotten ("no, it's Bergen, not Oslo", "forget what I said about my ex",
        "replace Acme with Apex everywhere", "from now on answer in French"), or rate an answer (`rating`: up, down, succeeded,
        failed). The words are kept as a raw record, whose `undo` takes back everything that was done.

        `history`: the messages before it, the answer it is about last. `targets`: ids of the memories it is about, such as
        those retrieved for that answer. `hard`: what is to be forgotten is deleted for good, not only hidden. `dry_run`
        changes and stores nothing. `wait=False` returns once the words are on disk, and waits for no model: a task does the
        rest. `answer`: put the last answer right, too. `task_id`: a name of your own; the same again does nothing twice.

        What is unclear changes nothing and says so (`understood`, `message`, `candidates`). Raises InvalidInput, NotFound, Busy.
        """
        wanted = Wanted(tuple(str(id) for id in listed(targets or (), "targets")), hard, _checked(rating))
        if rating is None and (not isinstance(text, str) or is_blank(text)):
            raise InvalidInput("the feedback is empty; say what is right, wrong or missing, or give a rating")
        if rating is not None and is_blank(text) and not wanted.targets:
            raise InvalidInput("a rating needs targets: the ids of the memories that the answer was made of")
        if task_id is not None:
            check_name(task_id, "task_id")
        records = self._records(text, user, session, history, wanted, time, tags, info, task_id)
        parts = self._parts()
        await parts.background.check_room(user)
        llm = None if self.settings.reading == "fast" else parts.llms.of("feedback", user)
        async with self._cube(user, cube, "write") as (cube_info, store):
            if dry_run:
                return await rehearse(store, cube_info.name, records[0].memory, llm)
            trace, known = await self._stored(store, records, user, named=task_id is not None)
            again = known and task_id is None and time is None
            parts.counts.messages += 1
            if not wait and "done" not in trace.body.get(FEEDBACK, {}):
                result = await self._later(cube_info, trace, user, task_id)
                if llm is None and len(await store.todo(DIGEST, BATCH)) < BATCH:  # by rules it is done in a moment
                    await settle(store, cube_info.name, trace, None)
                    parts.background.wake(cube_info, user)
                return result
            result = await settle(store, cube_info.name, trace, llm, again=again)
            if answer:
                result = replace(result, answer=await self._answer(trace, result, llm))
            parts.background.wake(cube_info, user)
            return result

    def _records(
        self,
        text: str,
        user: str,
        session: str | None,
        history: object,
        wanted: Wanted,
        time: When,
        tags: Sequence[str],
        info: Mapping[str, Any] | None,
        task_id: str | None,
    ) -> list[Record]:
        """The raw record of the feedback, and what did not go into it of a long text. The same `task_id` names the same one."""
        words = text if not is_blank(text) else _THUMBS[wanted.rating or "up"]
        when = {"chat_time": time} if time is not None else {}
        message = {"role": "user", "content": words, **when}
        parsed = parse_messages([message], now=utcnow(), zone=self.settings.timezone)
        (first, *rest) = to_records(
            parsed.messages,
            session=check_name(session, "session") if session is not None else DEFAULT_SESSION,
            owner=user,
            tags=tags,
            info=checked_info(info, "info"),
            idempotency_key=task_id,
            context=parse_context(history, now=utcnow(), zone=self.settings.timezone),
            corrects=wanted.targets,
        )
        body = {**first.memory.body, FEEDBACK: wanted.noted()}
        return [replace(first, memory=replace(first.memory, body=body)), *rest]

    async def _stored(
        self, store: SqliteCube, records: Sequence[Record], user: str, *, named: bool
    ) -> tuple[Memory, bool]:
        """The record as it is in the cube, marked to be applied where it is new, and whether it was there."""

        def apply(tx: WriteTx) -> tuple[str, bool]:
            (added, *_) = store_records(tx, records, derive=False, named=named)
            memory = tx.get(added.id)
            if added.new or (memory is not None and "done" not in memory.body.get(FEEDBACK, {})):
                tx.mark(added.id, FEEDBACK)
            return added.id, not added.new

        id, known = await store.write(apply, Change(actor=user, cause="feedback"))
        return (await store.get([id], View(statuses=ANY_STATUS)))[0], known

    async def _later(self, info: CubeInfo, trace: Memory, user: str, task_id: str | None) -> FeedbackResult:
        """Hand the record to a task."""
        task = task_of(info, user, [trace.id], task_id)
        told, name = "stored; it is read in the background", task.id
        try:
            await self._parts().queue.enqueue([task])
        except MemosError as e:  # its mark is on disk: the next sweep finds it
            told, name = f"stored; the task queue took no task ({e.code}), the next sweep takes it up", ""
        return FeedbackResult(info.name, message=told, record=trace.id, pending=True, task=name or None)

    async def _answer(self, trace: Memory, result: FeedbackResult, llm: Any) -> str | None:
        """The last answer with what was put right: by the model, else the former words with the new ones in them."""
        from memos.reading.feedback_answer import answer_anew

        return await answer_anew(llm, trace, result)


def _checked(rating: Rating | None) -> Rating | None:
    if rating is not None and rating not in RATINGS:
        raise InvalidInput(f"rating is one of {', '.join(RATINGS)}, got {rating!r:.40}")
    return rating
