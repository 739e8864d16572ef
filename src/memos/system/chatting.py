"""The verbs of conversation: chat, whole or as a stream, and what could be asked next. What a turn does is in `chat_turn`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from typing import Any

from memos.answers import CONTEXT_TOKENS, LIMIT, ChatAnswer, ChatEvent
from memos.arguments import checked_tags, listed
from memos.chat import suggestions
from memos.chat.prompt import Language, language_of
from memos.errors import InvalidInput, ModelError, Unavailable
from memos.memory.filter import Filter, parse_filter
from memos.memory.hit import SearchResult
from memos.memory.model import Kind
from memos.memory.number import share, whole
from memos.memory.time import utcnow
from memos.models.llm.port import ChatModel
from memos.reading.messages import checked_info, parse_context
from memos.reading.parts import is_blank, well_formed
from memos.recall.pack import escape
from memos.storage.sqlite.registry import check_name
from memos.system.base import DEFAULT_USER, When
from memos.system.chat_turn import ChatAsk, Turn
from memos.system.finding import Finding
from memos.system.writing import Writing

NO_MODEL = (
    "no chat model is configured: set MEMOS_LLM (or MEMOS_LLM_CHAT), for example to openai:gpt-4o-mini with OPENAI_API_KEY, or "
    "to ollama:qwen3 for a model of this machine. Everything but chat works without one"
)
_MOST_TOKENS = 1 << 31


class Chatting(Writing, Finding):
    """See `AsyncMemOS`."""

    async def chat(
        self,
        query: str,
        *,
        user: str = DEFAULT_USER,
        cube: str | None = None,
        cubes: Sequence[str] | None = None,
        session: str | None = None,
        history: object = None,
        system_prompt: str | None = None,
        model: str | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int | None = None,
        limit: int = LIMIT,
        context_tokens: int = CONTEXT_TOKENS,
        filter: Filter | Mapping[str, Any] | None = None,
        kinds: Collection[Kind | str] | None = None,
        threshold: float = 0.0,
        keep_best: int = 0,
        reference_time: When = None,
        found: SearchResult | None = None,
        cite: bool = False,
        add: bool = True,
        add_to: Sequence[str | tuple[str, str | None]] | None = None,
        tags: Sequence[str] = (),
        info: Mapping[str, Any] | None = None,
    ) -> ChatAnswer:
        """Answer a question with what is remembered, and remember the question and the answer.

        `cube` or `cubes`: what is searched. `history`: the conversation so far, as chat messages; what fits of its end goes to
        the model. `system_prompt`: yours instead of ours; the memories stand where it says `{memories}`, else at its end.
        `model`: one of `chat_models`. `temperature` (0 to 2), `top_p` (0 to 1), `max_tokens` of the answer: None leaves them to
        the provider. `limit`: memories looked at, 0 to answer without; `context_tokens`: budget of those shown. `threshold`:
        lowest score of a memory, though the `keep_best` best are always kept. `reference_time`: what is now. `found`: memories
        that you searched for, instead of the search. `cite`: have the answer cite memories as `[1:9f2c01ab]`, number and end
        of the id. `add`: store the turn, with `tags` and `info`, in the cubes `add_to` (or pairs of a user and a cube), by
        default in `cube` or the user's own.

        Raises Unavailable when no model is configured, OverBudget when the user's tokens of today are used up, ModelError when
        the model fails (the question is stored all the same), and as `search` and `add` do.
        """
        turn = await self._turn(
            query=query,
            user=user,
            cube=cube,
            cubes=cubes,
            session=session,
            history=history,
            system_prompt=system_prompt,
            model=model,
            temperature=temperature,
            top_p=top_p,
            max_tokens=max_tokens,
            limit=limit,
            context_tokens=context_tokens,
            filter=filter,
            kinds=kinds,
            threshold=threshold,
            keep_best=keep_best,
            reference_time=reference_time,
            found=found,
            cite=cite,
            suggest=False,
            add=add,
            add_to=add_to,
            tags=tags,
            info=info,
        )
        return await turn.answer()

    async def chat_stream(
        self,
        query: str,
        *,
        user: str = DEFAULT_USER,
        cube: str | None = None,
        cubes: Sequence[str] | None = None,
        session: str | None = None,
        history: object = None,
        system_prompt: str | None = None,
        model: str | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int | None = None,
        limit: int = LIMIT,
        context_tokens: int = CONTEXT_TOKENS,
        filter: Filter | Mapping[str, Any] | None = None,
        kinds: Collection[Kind | str] | None = None,
        threshold: float = 0.0,
        keep_best: int = 0,
        reference_time: When = None,
        found: SearchResult | None = None,
        cite: bool = False,
        suggest: bool = False,
        add: bool = True,
        add_to: Sequence[str | tuple[str, str | None]] | None = None,
        tags: Sequence[str] = (),
        info: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[ChatEvent, None]:
        """The same as `chat`, as it is made: events of `memos.answers`, the last one always `ChatEnd`.

        What is wrong with the call is raised before the first event; what fails later is an event. Question and answer are
        stored when the answer ends, also when it failed or you stopped listening: then as far as it came, marked
        `info.incomplete`. `suggest`: also tell what could be asked next.
        """
        turn = await self._turn(
            query=query,
            user=user,
            cube=cube,
            cubes=cubes,
            session=session,
            history=history,
            system_prompt=system_prompt,
            model=model,
            temperature=temperature,
            top_p=top_p,
            max_tokens=max_tokens,
            limit=limit,
            context_tokens=context_tokens,
            filter=filter,
            kinds=kinds,
            threshold=threshold,
            keep_best=keep_best,
            reference_time=reference_time,
            found=found,
            cite=cite,
            suggest=suggest,
            add=add,
            add_to=add_to,
            tags=tags,
            info=info,
        )
        async with contextlib.aclosing(turn.events()) as events:
            async for event in events:
                yield event

    async def chat_models(self) -> tuple[str, ...]:
        """The names that `model` may have in a chat, the usual one first; `provider:` may be left out. None configured: none."""
        return self._parts().llms.names("chat")

    async def chat_model(self, name: str | None = None) -> str:
        """The model that answers when `model` is `name`. Raises Unavailable when none is configured, InvalidInput when there is
        none of this name.
        """
        return self._chat_model(name, DEFAULT_USER).model_id

    async def suggest(
        self,
        messages: object = None,
        *,
        user: str = DEFAULT_USER,
        cube: str | None = None,
        language: Language | None = None,
    ) -> tuple[str, ...]:
        """Up to three questions to ask next, about the end of a conversation or what was remembered last: by the chat model where
        one is configured and answers, else by rules. None where there is nothing to ask about. `language`: `en` or `zh`; by
        default that of the conversation.
        """
        if language not in (None, "en", "zh"):
            raise InvalidInput(f"language is 'en' or 'zh', got {language!r:.40}")
        before = parse_context(messages, now=utcnow(), zone=self.settings.timezone, called="messages")
        said = "\n".join(message.text for message in before[-2:])
        where: dict[str, Any] = {"user": user, "cube": cube}
        entities = await self.list(kinds=[Kind.ENTITY], limit=suggestions.RECENT, **where)
        derived = await self.list(kinds=suggestions.DERIVED, limit=suggestions.RECENT, **where)
        if not (said or entities.items or derived.items or await self.count(**where)):
            return ()
        words = language or language_of(said or " ".join(m.text for m in derived.items[: suggestions.SHOWN]))
        model = self._parts().llms.of("chat", user)
        asked: tuple[str, ...] = ()
        if model is not None:
            with contextlib.suppress(ModelError):  # the rules need no model
                recent = derived.items or (await self.list(limit=suggestions.SHOWN, **where)).items
                shown = "\n".join(
                    f"- {escape(m.text[: suggestions.SHOWN_LENGTH])}" for m in recent[: suggestions.SHOWN]
                )
                told = "\n".join(f"{message.role}: {escape(message.text)}" for message in before[-2:])
                asked = await suggestions.by_model(model, words, told, shown)
        ruled = suggestions.by_rules(entities.items, derived.items, said, words)
        return tuple(dict.fromkeys((*asked, *ruled)))[: suggestions.COUNT]

    async def _turn(
        self,
        *,
        query: str,
        user: str,
        cube: str | None,
        cubes: Sequence[str] | None,
        session: str | None,
        history: object,
        system_prompt: str | None,
        model: str | None,
        temperature: float | None,
        top_p: float | None,
        max_tokens: int | None,
        limit: int,
        context_tokens: int,
        filter: Filter | Mapping[str, Any] | None,
        kinds: Collection[Kind | str] | None,
        threshold: float,
        keep_best: int,
        reference_time: When,
        found: SearchResult | None,
        cite: bool,
        suggest: bool,
        add: bool,
        add_to: Sequence[str | tuple[str, str | None]] | None,
        tags: Sequence[str],
        info: Mapping[str, Any] | None,
    ) -> Turn:
        """A turn, with everything checked that can be before a model is asked."""
        if not isinstance(query, str) or is_blank(query):
            raise InvalidInput("the question is empty; say what is to be answered")
        if system_prompt is not None and not isinstance(system_prompt, str):
            raise InvalidInput(f"system_prompt is a text, got {type(system_prompt).__name__}")
        if cube is not None and cubes is not None:
            raise InvalidInput("give cube or cubes, not both")
        if session is not None:
            check_name(session, "session")
        now = utcnow()
        asked = ChatAsk(
            query=well_formed(query),
            user=user,
            cube=cube,
            cubes=None if cubes is None else listed(cubes, "cubes"),
            session=session,
            history=parse_context(history, now=now, zone=self.settings.timezone, called="history"),
            system_prompt=None if system_prompt is None else well_formed(system_prompt),
            temperature=_within(temperature, "temperature", 2),
            top_p=_within(top_p, "top_p", 1),
            max_tokens=None if max_tokens is None else whole(max_tokens, "max_tokens", most=_MOST_TOKENS),
            limit=whole(limit, "limit", least=0),
            context_tokens=whole(context_tokens, "context_tokens", most=_MOST_TOKENS),
            filter=parse_filter(filter),
            kinds=kinds,
            threshold=share(threshold, "threshold"),
            keep_best=whole(keep_best, "keep_best", least=0),
            now=self._time(reference_time) or now,
            found=found,
            cite=cite,
            suggest=suggest,
            stores=() if not add else tuple(_places(user, (cube,) if add_to is None else listed(add_to, "add_to"))),
            tags=checked_tags(tags),
            info=checked_info(info, "info"),
        )
        parts = self._parts()
        for name in dict.fromkeys(cubes) if cubes is not None else (cube,):
            async with self._cube(user, name, "read"):
                pass
        for owner, name in asked.stores:
            if (
                name not in (None, owner) or parts.registry.find(owner) is not None
            ):  # one's own cube is made when it is needed
                await self._resolved(owner, name, "write")
        chosen = self._chat_model(model, user)
        parts.ledger.check(user)
        for owner, _ in asked.stores:
            await parts.background.check_room(owner)
        return Turn(self, parts.errands, asked, chosen)

    def _chat_model(self, name: str | None, user: str) -> ChatModel:
        llms = self._parts().llms
        model = llms.of("chat", user) if name is None else llms.called(name, "chat", user)
        if model is not None:
            return model
        names = llms.names("chat")
        if not names:
            raise Unavailable(NO_MODEL)
        raise InvalidInput(f"no chat model is called {name!r:.120}; there is {', '.join(names)}")


def _places(user: str, names: Sequence[Any]) -> Iterator[tuple[str, str | None]]:
    """Users and cubes that keep a turn."""
    for name in names:
        owner, cube = name if isinstance(name, tuple) and len(name) == 2 else (user, name)
        yield check_name(owner, "user"), None if cube is None else check_name(cube, "cube")


def _within(value: object, what: str, most: float) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
        raise InvalidInput(f"{what} is a number from 0 to {most:g}, got {value!r:.60}")
    return float(value)
