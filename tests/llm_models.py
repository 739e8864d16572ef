"""A chat model that says what a test tells it to: for unit tests of everything that asks a model. No server, no waiting.

model = ScriptedModel("Hello.", {"facts": []}, ModelTimeout("too late"), lambda request: request.messages[-1].content)
m = AsyncMemOS(home, llm=model)
... model.requests, model.prompts, model.left
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memos.models.llm.port import ChatReply, ChatRequest, Piece, TokenUsage, text_of

Said = str | ChatReply | BaseException | Mapping[str, Any] | Sequence[Any]
"""A text, a whole reply, an error to raise, or an object that is sent as JSON."""
Scripted = Said | Callable[[ChatRequest], Said]


class ScriptedModel:
    """Answers the scripted replies in order, then the last one again and again (an error is likewise raised again)."""

    holds_to_schema = True
    """So that prompts hold what the asker wrote, and no schema in words."""

    def __init__(
        self,
        *answers: Scripted,
        name: str = "scripted:model",
        piece: int = 5,
        seconds: float = 0.0,
        finish: Any = "stop",
        broken_after: tuple[int, BaseException] | None = None,
    ) -> None:
        """Prepare.

        Args:
            answers: one per call; a function is asked with the request, and as the last (or only) one it answers all calls.
            name: the `model_id`.
            piece: characters of each streamed piece.
            seconds: that a call takes, and each piece of a stream.
            finish: of replies given as text.
            broken_after: raise this error in every stream after so many pieces.
        """
        self.model_id = name
        self.answers: list[Scripted] = list(answers) or ["Hello."]
        self.requests: list[ChatRequest] = []
        self.piece, self.seconds, self.finish, self.broken_after = piece, seconds, finish, broken_after
        self.at_once = self.most_at_once = 0
        self.left = 0
        """Calls that were cancelled, and streams that were closed before their end."""
        self.closed = False

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self.requests)

    @property
    def prompts(self) -> list[str]:
        """All words of every request, in order."""
        return [text_of(request.messages) for request in self.requests]

    async def complete(self, request: ChatRequest) -> ChatReply:
        """See `ChatModel.complete`."""
        reply = self._next(request)
        with _Counting(self):
            await asyncio.sleep(self.seconds)
        return reply()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        """See `ChatModel.stream`."""
        reply = self._next(request)
        with _Counting(self):
            await asyncio.sleep(self.seconds)
            whole, sent = reply(), 0
            for text, reasoning in [(whole.reasoning, True), (whole.text, False)]:
                for start in range(0, len(text), self.piece):
                    if self.broken_after is not None and sent >= self.broken_after[0]:
                        raise self.broken_after[1]
                    part = text[start : start + self.piece]
                    yield Piece(reasoning=part) if reasoning else Piece(part)
                    sent += 1
                    await asyncio.sleep(self.seconds)
            if self.broken_after is not None:
                raise self.broken_after[1]
            yield Piece(reply=whole)

    async def aclose(self) -> None:
        """See `Llms.aclose`."""
        self.closed = True

    def _next(self, request: ChatRequest) -> Callable[[], ChatReply]:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

        def reply() -> ChatReply:
            said = answer(request) if callable(answer) else answer
            if isinstance(said, BaseException):
                raise said
            if isinstance(said, ChatReply):
                return replace(said, model=said.model or self.model_id)
            text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
            prompt = text_of(request.messages)
            used = TokenUsage(-(-len(prompt) // 4), -(-len(text) // 4))
            return ChatReply(text, finish=self.finish, usage=used, model=self.model_id)

        return reply


class _Counting:
    """How many calls are under way, and which of them were left before their end."""

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model

    def __enter__(self) -> None:
        self.model.at_once += 1
        self.model.most_at_once = max(self.model.most_at_once, self.model.at_once)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.model.at_once -= 1
        self.model.left += kind is not None and issubclass(kind, (asyncio.CancelledError, GeneratorExit))
