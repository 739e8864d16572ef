"""Storing what was read, through the verbs of a memory: messages and notes in batches, turns of agents one by one, each
under a key made of its id there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from memos.door import Door
from memos.errors import Busy, Conflict, InvalidInput
from memos.moving import shape
from memos.moving.items import Call, Said, Skill, Told, Worked
from memos.moving.report import Progress, Watch
from memos.moving.spool import Kept, Spool
from memos.reading.parts import is_blank

BATCH, BATCH_CHARACTERS = 200, 400_000  # of one add: messages, and characters in them
_BEFORE = 4  # messages said before a batch, by which it is understood
_LONGEST_WAIT = 600.0  # seconds; who is told to come back later than that is told so
_PATIENCE = 200  # waits for room, one after another
_LONGEST_KEY = 200


class Storing:
    """Stores items, and counts. `new`: those that were not there before; `refused`: those that the memory did not take. `live`:
    sessions that were reported as they happened; a turn that is known there is whole.
    """

    def __init__(
        self, door: Door, spool: Spool, source: str, *, tag: bool, facts: bool, live: frozenset[str] = frozenset()
    ) -> None:
        self._door, self._spool, self._source, self._facts = door, spool, source, facts
        self._tags = (source,) if tag else ()
        self.new = self.refused = 0
        self._begun: set[str] = set()  # sessions that have an episode of this source open
        self._ends: dict[str, str | None] = {}  # sessions that end with an episode that is over, and when
        self._whole = spool.closed_sessions()
        self._live = live
        self._before: tuple[str, list[dict[str, Any]]] = ("", [])
        self._skills: set[str] | None = None

    async def all(self, tell: Watch) -> None:
        """Store all items, in their order."""
        total, done = self._spool.count(), 0
        batches = _batches(self._spool.items())
        while True:
            batch = await self._aside(lambda: next(batches, None))
            if batch is None:
                break
            items = [item for item, known in batch if not known]
            match batch[0][0]:
                case Worked(session=session) if session in self._live and not items:
                    pass
                case Worked() as turn:
                    await self._one(turn, self._turn(turn))
                case Skill() as skill:
                    await self._one(skill, self._skill(skill))
                case _ if items:
                    await self._messages(items)
            self._remember([item for item, _ in batch])
            done += len(batch)
            tell(Progress("storing", done, total))
        for session, at in self._ends.items():
            await self._ask("end_session", session, agent=self._source, at=at)

    # -- messages and notes -------------------------------------------------------------------------------------------

    async def _messages(self, items: Sequence[Kept]) -> None:
        first = items[0]
        assert isinstance(first, (Said, Told))
        said = isinstance(first, Said)
        session, before = self._before
        how: dict[str, Any] = {
            "session": first.session,
            "tags": list(dict.fromkeys((*self._tags, *first.tags))),
            "derive": said and self._facts,
            "context": before if said and session == first.session and before else None,
        }
        try:
            added = await self._ask("add", [_message(item) for item in items], **how)
        except InvalidInput as e:
            if len(items) == 1:
                self._refuse(first, e)
                return
            middle = len(items) // 2  # which of them it is, or fewer at once
            await self._messages(items[:middle])
            await self._messages(items[middle:])
            return
        known = sum(not record.new for record in added.records)
        self.new += max(0, len(items) - known)

    def _remember(self, items: Sequence[Kept]) -> None:
        """Keep the last things said, for those that are said next in the same session."""
        said = [item for item in items[-_BEFORE:] if isinstance(item, Said)]
        if said:
            self._before = (
                said[-1].session,
                [{"role": s.role, "name": s.name, "content": s.text[:1_000]} for s in said],
            )

    # -- what agents did ----------------------------------------------------------------------------------------------

    async def _turn(self, turn: Worked) -> bool:
        """Report a turn; whether any of it is new. Reported again, nothing of it is stored twice."""
        where: dict[str, Any] = {"session": turn.session, "agent": self._source}
        new, episode = False, None
        if not is_blank(turn.text):
            same = turn.session in self._begun
            task = ("same" if turn.session in self._whole else "auto") if same else "new"
            key = f"{turn.id}/turn"
            began = await self._ask("start_turn", turn.text, task=task, key=key, recall=False, at=turn.at, **where)
            new, episode = not began.repeated, began.episode
        for number, call in enumerate(turn.calls):
            done = await self._ask(
                "report_step", call.tool or "tool", **_step(turn, call, number), max_tokens=1, **where
            )
            new, episode = new or not done.repeated, done.episode
        if not is_blank(turn.reply) or turn.reflection:
            reply = None if is_blank(turn.reply) else turn.reply
            key = f"{turn.id}/end"
            ended = await self._ask("end_turn", reply, reflection=turn.reflection or None, key=key, at=turn.at, **where)
            new, episode = new or not ended.repeated, ended.episode
        if turn.reward is not None and episode is not None:
            how = {"source": "verifier", "episode": episode, "key": f"{turn.id}/outcome", "at": turn.at}
            await self._ask("report_outcome", turn.reward, **how, **where)
        await self._over(turn, new=new)
        return new

    async def _over(self, turn: Worked, *, new: bool) -> None:
        """Close the episode that a turn ended. One that was reported before is closed at the end of all, if it is the last
        one: a later one may be open in its session.
        """
        self._begun.add(turn.session)
        self._ends.pop(turn.session, None)
        if not turn.over:
            return
        self._begun.discard(turn.session)
        if new:
            await self._ask("end_session", turn.session, agent=self._source, at=turn.at)
        else:
            self._ends[turn.session] = turn.at

    async def _skill(self, skill: Skill) -> bool:
        if self._skills is None:
            self._skills = {one.name for one in await self._ask("skills", limit=1_000)}
        if not skill.markdown.lstrip("\ufeff").startswith("---"):
            raise InvalidInput("it is no SKILL.md: it does not begin with front matter")
        made = await self._ask("import_skills", skill.markdown)
        new = [one for one in made if one.name not in self._skills]
        self._skills |= {one.name for one in made}
        return bool(new)

    # -- all of them --------------------------------------------------------------------------------------------------

    async def _one(self, item: Kept, work: Any) -> None:
        try:
            self.new += await work
        except (InvalidInput, Conflict) as e:
            self._refuse(item, e)

    def _refuse(self, item: Kept, error: Exception) -> None:
        self.refused += 1
        self._spool.refuse(item, str(error))

    async def _ask(self, verb: str, *args: Any, **options: Any) -> Any:
        """Call a verb; while the memory has too much to do, wait."""
        for tries in range(1, _PATIENCE + 1):
            try:
                return await self._door.ask(verb, *args, **options)
            except Busy as e:
                if tries == _PATIENCE or e.retry_after > _LONGEST_WAIT:
                    raise
                await self._door.pause(max(0.05, e.retry_after))
        raise AssertionError("the loop returns or raises")

    async def _aside(self, work: Any) -> Any:
        return await asyncio.to_thread(work) if self._door.is_async else work()


def _batches(items: Iterator[tuple[Kept, bool]]) -> Iterator[list[tuple[Kept, bool]]]:
    """Items that can be stored in one call: messages, or notes, of one session with the same tags."""
    batch: list[tuple[Kept, bool]] = []
    size = 0
    for item, known in items:
        length = len(item.text) if isinstance(item, (Said, Told)) else 0
        if batch and (not _together(batch[-1][0], item) or len(batch) >= BATCH or size + length > BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append((item, known))
        size += length
    if batch:
        yield batch


def _together(one: Kept, other: Kept) -> bool:
    if isinstance(one, (Said, Told)) and isinstance(other, (Said, Told)):
        return type(one) is type(other) and one.session == other.session and one.tags == other.tags
    return False


def _message(item: Kept) -> dict[str, Any]:
    assert isinstance(item, (Said, Told))
    message: dict[str, Any] = {"role": item.role, "content": item.text, "message_id": item.id, "info": dict(item.info)}
    if item.at is not None:
        message["chat_time"] = item.at
    if isinstance(item, Said) and item.name:
        message["name"] = item.name
    return message


def _step(turn: Worked, call: Call, number: int) -> dict[str, Any]:
    id = f"{turn.id}/{call.id or number}"
    return {
        "input": call.input,
        "output": call.output,
        "error": call.error,
        "ok": call.ok,
        "duration": call.duration,
        "call_id": id if len(id) <= _LONGEST_KEY else shape.mark(id),
        "at": call.at or turn.at,
    }
