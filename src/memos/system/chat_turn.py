"""One turn of a chat: search, ask the model, keep what was said. The verbs are in `system.chatting`.

Question and answer are stored once the answer has ended, however it ended: whole, cut off, failed, or left by its reader.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memos.answers import (
    ChatAdded,
    ChatAnswer,
    ChatEnd,
    ChatError,
    ChatEvent,
    ChatReferences,
    ChatStatus,
    ChatSuggestions,
    ChatTime,
)
from memos.chat.citations import Citations, without_citations
from memos.chat.history import fitting
from memos.chat.own_turns import CHAT, asked, without_own
from memos.chat.prompt import prompt, without_context
from memos.chat.speaking import Said, speaking
from memos.errors import MemosError, Unavailable
from memos.logs import get_logger
from memos.memory.filter import Filter
from memos.memory.hit import SearchResult, SearchStatus
from memos.memory.message import Message
from memos.memory.model import Kind
from memos.memory.time import load_zone
from memos.models.llm.port import ChatModel, ChatRequest
from memos.recall.pack import Packed, mark, pack_shown
from memos.system.errands import Errands

if TYPE_CHECKING:
    from memos.system.chatting import Chatting

log = get_logger(__name__)
TALK = 4  # messages before the question by which suggestions are made
UNANSWERED = "chat unanswered"  # by which a question is known that was asked again since no answer came
OWN = 200  # of its own turns a chat passes over, at most, in search of what else is remembered
KEPT = 200_000  # characters of an answer that are kept: as many as a server takes of a message
LEFT, FAILED, CUT_OFF = (
    "left",
    "failed",
    "length",
)  # why an answer is incomplete, as `info.incomplete` of its record says


@dataclass(frozen=True, slots=True)
class ChatAsk:
    """A question and how it is to be answered, checked. See `AsyncMemOS.chat`. `stores`: users and cubes that keep the turn."""

    query: str
    user: str
    cube: str | None
    cubes: Sequence[str] | None
    session: str | None
    history: tuple[Message, ...]
    system_prompt: str | None
    temperature: float | None
    top_p: float | None
    max_tokens: int | None
    limit: int
    context_tokens: int
    filter: Filter | Mapping[str, Any] | None
    kinds: Collection[Kind | str] | None
    threshold: float
    keep_best: int
    now: datetime
    found: SearchResult | None
    cite: bool
    suggest: bool
    stores: tuple[tuple[str, str | None], ...]
    tags: Sequence[str]
    info: Mapping[str, Any] | None


class Turn:
    """The turn of one question. Use `answer` or `events`, once."""

    def __init__(self, core: Chatting, errands: Errands, ask: ChatAsk, model: ChatModel) -> None:
        self._core, self._errands, self._ask, self._model = core, errands, ask, model
        self._shown = Packed("")
        self._said: Said | None = None
        self._error: MemosError | None = None
        self._storing: asyncio.Task[ChatAdded] | None = None
        self._begun, self._search = time.monotonic(), 0.0
        self._first: float | None = None

    async def answer(self) -> ChatAnswer:
        """The whole answer. Raises what the model raises; the question is kept all the same."""
        self._errands.expect(self._store)
        try:
            result = await self._find()
            said = self._said = Said(self._request())
            reply = said.reply = await self._model.complete(said.request)
            cited, marks = Citations(self._marks), self._marks
            said.texts.append(cited.feed(reply.text) + cited.end() if marks else reply.text)
            said.reasonings.append(reply.reasoning)
            added = await self._stored()
        except MemosError as error:
            self._error = error
            raise
        finally:
            await self._kept()
        return ChatAnswer(
            text=said.text,
            reasoning=said.reasoning,
            references=self._shown.hits,
            recall=result.status,
            usage=said.usage,
            model=self._model.model_id,
            finish=reply.finish,
            added=added.ids,
            notices=(*result.reasons, *added.notices),
        )

    async def events(self) -> AsyncGenerator[ChatEvent, None]:
        """The answer as it is made. An error is an event; the last one is always `ChatEnd`."""
        self._errands.expect(self._store)
        try:
            if self._ask.found is None:
                yield ChatStatus("searching")
            try:
                async for event in self._telling():
                    yield event
            except MemosError as error:
                self._error = error
                yield ChatError(error.code, str(error))
            except Exception as error:  # noqa: BLE001 - a defect, or of a model given as an object: told, no broken stream
                self._error = Unavailable(f"an internal error ({type(error).__name__})")
                log.error("chat_failed", error=type(error).__name__)
                yield ChatError("internal", "an internal error; the log says more")
            now = time.monotonic()
            first = None if self._first is None else self._first - self._begun
            yield ChatTime(now - self._begun, self._search, first)
            if self._ask.stores:
                yield await self._stored()
            if self._ask.suggest and self._error is None:
                yield ChatSuggestions(await self._suggested())
            said = self._said or Said(ChatRequest(()))
            yield ChatEnd(self._model.model_id, said.usage, None if self._error is not None else said.finish or "stop")
        finally:
            await self._kept()

    async def _telling(self) -> AsyncGenerator[ChatEvent, None]:
        result = await self._find()
        if self._ask.found is None:
            yield ChatStatus("found")
        yield ChatReferences(self._shown.hits, result.status, result.reasons)
        self._said = Said(self._request())
        async for event in speaking(self._model, self._said, self._marks):
            if self._first is None and event.type == "text":
                self._first = time.monotonic()
            yield event

    async def _find(self) -> SearchResult:
        """Search, and choose what the model is shown. Raises Unavailable when the search failed."""
        ask, begun = self._ask, time.monotonic()
        if not ask.limit:
            return SearchResult(ask.query, (), SearchStatus.NOTHING)
        result = await self._searched() if ask.found is None else ask.found
        if result.status is SearchStatus.FAILED:
            raise Unavailable(f"the search failed: {'; '.join(result.reasons)}")
        good = [hit for n, hit in enumerate(result.hits) if hit.score >= ask.threshold or n < ask.keep_best]
        zone = load_zone(self._core.settings.timezone)
        self._shown = pack_shown(good, ask.context_tokens, zone, marked=ask.cite, now=ask.now)
        self._search = time.monotonic() - begun
        return result

    async def _searched(self) -> SearchResult:
        """What is remembered, without what this chat itself once said to the same question; searched further for as many."""
        ask, limit = self._ask, self._ask.limit
        while True:
            result = await self._core.search(
                ask.query,
                user=ask.user,
                cube=ask.cube,
                cubes=ask.cubes,
                limit=limit,
                filter=ask.filter,
                kinds=ask.kinds,
                reference_time=ask.now,
            )
            kept = without_own(result.hits, ask.query)
            own = len(result.hits) - len(kept)
            if not own:
                return result
            if len(kept) >= ask.limit or len(result.hits) < limit or limit >= ask.limit + OWN:
                status = result.status if kept else SearchStatus.NOTHING
                return replace(result, hits=tuple(kept[: ask.limit]), status=status)
            limit = min(limit + 2 * own, ask.limit + OWN)

    @property
    def _marks(self) -> list[str]:
        if not self._ask.cite:
            return []
        return [mark(number, hit) for number, hit in enumerate(self._shown.hits, 1)]

    def _request(self) -> ChatRequest:
        ask = self._ask
        messages = prompt(
            ask.query,
            self._shown.text if ask.limit else None,
            ask.now.astimezone(load_zone(self._core.settings.timezone)),
            system_prompt=ask.system_prompt,
            history=fitting(ask.history),
            cite=ask.cite and bool(self._shown.hits),
        )
        return ChatRequest(messages, temperature=ask.temperature, top_p=ask.top_p, max_tokens=ask.max_tokens)

    async def _suggested(self) -> tuple[str, ...]:
        said = [*self._ask.history[-TALK:], _spoken("user", self._ask.query, self._ask.now)]
        if self._said is not None and self._said.text.strip():
            said.append(_spoken("assistant", self._said.text, self._ask.now))
        return await self._core.suggest(said, user=self._ask.user, cube=self._ask.cube)

    # -- keeping ---------------------------------------------------------------------------------------------------

    async def _stored(self) -> ChatAdded:
        """What the turn was stored as. Goes on when whoever waits for it leaves."""
        storing = self._store()
        return ChatAdded(()) if storing is None else await asyncio.shield(storing)

    def _store(self) -> asyncio.Task[ChatAdded] | None:
        """Have the turn stored, once."""
        errands = self._errands
        errands.settled(self._store)
        if self._storing is None and self._ask.stores:
            self._storing = errands.run(self._keep())
        return self._storing

    async def _kept(self) -> None:
        """Wait until the turn is stored, also for who leaves: what is asked next must find it."""
        storing = self._store()
        if storing is not None:
            await asyncio.wait([storing])

    async def _keep(self) -> ChatAdded:
        ids: list[str] = []
        notices: list[str] = []
        messages = self._messages()
        for user, cube in self._ask.stores:
            try:
                added = await self._core.add(
                    messages,
                    user=user,
                    cube=cube,
                    session=self._ask.session,
                    tags=self._ask.tags,
                    info=self._ask.info,
                    retry_key=UNANSWERED if len(messages) == 1 else None,
                )
            except MemosError as error:
                log.warning("chat_not_stored", code=error.code)
                notices.append(f"not stored: {error}")
            else:
                ids += added.ids
                notices += added.notices
        return ChatAdded(tuple(ids), tuple(dict.fromkeys(notices)))

    def _messages(self) -> list[dict[str, Any]]:
        """The question as it was asked and the answer as far as it came. What was recalled is in neither, also when the model
        repeats it: or memories would breed.
        """
        mark = {CHAT: asked(self._ask.query)}
        out: list[dict[str, Any]] = [{"role": "user", "content": self._ask.query, "info": mark}]
        said = self._said.text if self._said is not None else ""
        answer = without_context(without_citations(said) if self._ask.cite else said)
        if answer.strip():
            why = self._incomplete() or (CUT_OFF if len(answer) > KEPT else None)
            info = mark | ({"incomplete": why} if why else {})
            out.append({"role": "assistant", "content": answer[:KEPT], "info": info})
        return out

    def _incomplete(self) -> str | None:
        """Why the answer is not whole; None when it is."""
        finish = self._said.finish if self._said is not None else None
        if self._error is not None:
            return FAILED
        if finish is None:
            return LEFT
        return CUT_OFF if finish == "length" else None


def _spoken(role: str, text: str, now: datetime) -> Message:
    return Message(role, text, now)
