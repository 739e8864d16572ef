"""The models of a system: one for each purpose, and every call told to whoever keeps the ledger."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass

from memos.models.llm.assembly import estimated
from memos.models.llm.openai_chat import OpenAIChat
from memos.models.llm.passage import CHAT_PATH, Passage
from memos.models.llm.port import PURPOSES, ChatModel, ChatReply, ChatRequest, Piece, Purpose, TokenUsage
from memos.models.llm.remote import RemoteChatModel


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a model: for whom and what, what it used, whether it was answered, and how many seconds it took."""

    user: str
    purpose: Purpose
    model: str
    usage: TokenUsage
    answered: bool
    seconds: float


class Llms:
    """The chat models of a system by purpose; None where none is configured.

    `record` is told of every call. `check` is asked before each with the user it is for, and raises OverBudget to stop it.
    """

    def __init__(
        self,
        models: Mapping[Purpose, ChatModel] | None = None,
        record: Callable[[Call], None] = lambda _: None,
        check: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._models = dict(models or {})
        self._record, self._check = record, check

    def of(self, purpose: Purpose, user: str = "system") -> ChatModel | None:
        """The model for a purpose, whose calls are counted for this user."""
        model = self._models.get(purpose)
        return None if model is None else self._counted(model, purpose, user)

    def called(self, name: str, purpose: Purpose, user: str = "system") -> ChatModel | None:
        """The configured model of this name (with or without `provider:`), used for a purpose; None where there is none."""
        for model in self._by_preference(purpose):
            if name in _called(model):
                return self._counted(model, purpose, user)
        return None

    def passage(
        self, name: str | None, purpose: Purpose, user: str, *, others: bool = False, spends: bool = True
    ) -> Passage | None:
        """The way to the server of a configured model that speaks OpenAI's protocol, for requests that are passed on as they
        are: of this name, or that of the purpose; None where there is none. `others`: a name that is not configured is asked of
        the server of the purpose. `spends`: it is asked for tokens, which the user may have used up.
        """
        chosen = next(
            (m for m in self._by_preference(purpose) if name is None or name in _called(m)),
            self._models.get(purpose) if others else None,
        )
        if not isinstance(chosen, RemoteChatModel) or not isinstance(chosen.dialect, OpenAIChat):
            return None
        own = name is None or name in _called(chosen)
        if not own and chosen.dialect.path != CHAT_PATH:  # the model stands in the address
            return None
        model = chosen.model if own else str(name)
        provider = chosen.model_id.partition(":")[0]
        model_id = chosen.model_id if own else f"{provider}:{name}"

        def tell(usage: TokenUsage, answered: bool, seconds: float) -> None:
            there = own or answered or usage.output_tokens > 0  # names that callers make up have no row of their own
            told = model_id if there else f"{provider}:other"
            self._record(Call(user, purpose, told, usage, answered, seconds))

        if spends:
            self._check(user)
        return Passage(chosen, model, model_id, chosen.dialect.path, tell)

    def names(self, purpose: Purpose) -> tuple[str, ...]:
        """The names of the configured models, that of the purpose first."""
        return tuple(dict.fromkeys(model.model_id for model in self._by_preference(purpose)))

    def _counted(self, model: ChatModel, purpose: Purpose, user: str) -> ChatModel:
        return _Counted(model, purpose, user, self._record, self._check)

    def _by_preference(self, purpose: Purpose) -> list[ChatModel]:
        return [self._models[p] for p in (purpose, *self._models) if p in self._models]

    @property
    def models(self) -> Mapping[Purpose, ChatModel]:
        """The model of each purpose that has one, as it was made."""
        return self._models

    @property
    def configured(self) -> Mapping[Purpose, str]:
        """The name of the model of each purpose that has one."""
        return {purpose: model.model_id for purpose, model in self._models.items()}

    @property
    def told(self) -> str:
        """The model of each purpose, in words; the name alone of one that does everything."""
        names = self.configured
        if len(set(names.values())) == 1 and len(names) == len(PURPOSES):
            return next(iter(names.values()))
        return ", ".join(f"{purpose}: {name}" for purpose, name in names.items())

    async def aclose(self) -> None:
        """Close the connections of every model."""
        for model in {id(m): m for m in self._models.values()}.values():
            close = getattr(model, "aclose", None)
            if close is not None:
                await close()


def _called(model: ChatModel) -> tuple[str, str]:
    """The names that a model goes by."""
    return model.model_id, model.model_id.partition(":")[2]


class _Counted:
    """A model whose calls are told to the ledger, also those that fail or are left in the middle."""

    def __init__(
        self,
        inner: ChatModel,
        purpose: Purpose,
        user: str,
        record: Callable[[Call], None],
        check: Callable[[str], None],
    ) -> None:
        of_purpose = getattr(inner, "for_purpose", None)  # a model whose calls wait takes the turns of the purpose
        self._inner: ChatModel = inner if of_purpose is None else of_purpose(purpose)
        self._purpose, self._user, self._record, self._check = purpose, user, record, check

    @property
    def model_id(self) -> str:
        """See `ChatModel.model_id`."""
        return self._inner.model_id

    async def complete(self, request: ChatRequest) -> ChatReply:
        """See `ChatModel.complete`."""
        self._check(self._user)
        begun, reply = time.monotonic(), None
        try:
            reply = await self._inner.complete(request)
            return reply
        finally:
            self._tell(reply, begun)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        """See `ChatModel.stream`."""
        self._check(self._user)
        begun, reply, said = time.monotonic(), None, []
        pieces = self._inner.stream(request)
        try:
            async for piece in pieces:
                reply = piece.reply or reply
                said.append(piece.reasoning + piece.text)
                yield piece
        finally:
            await pieces.aclose()  # what came of an answer that is left in the middle is paid for
            self._tell(reply, begun, estimated(request, "".join(said)) if said else TokenUsage())

    def _tell(self, reply: ChatReply | None, begun: float, partly: TokenUsage = TokenUsage()) -> None:
        usage = reply.usage if reply is not None else partly
        seconds = time.monotonic() - begun
        self._record(Call(self._user, self._purpose, self._inner.model_id, usage, reply is not None, seconds))
