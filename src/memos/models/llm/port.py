"""The chat-model port: what is asked, what is answered, whole or as a stream, and what it cost. Pure values and one protocol.

Providers live beside it (`openai_chat`, `anthropic`, ...). Guards law 6: nothing here is needed for memory to work.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

Purpose = Literal["reading", "feedback", "chat", "evolution", "vision"]
PURPOSES: tuple[Purpose, ...] = ("reading", "feedback", "chat", "evolution", "vision")
Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt. `images` are `data:` or `https:` URLs, for models that see."""

    role: Role
    content: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What is asked of a model. None means: as the provider does by default.

    `schema`: a JSON schema the answer should follow, and `schema_name` what it is called (a model that cannot be held to one is
    told it in words; who asks reads the answer with `structured`). `temperature` is 0 to 2, `top_p` 0 to 1. `max_tokens`: of the
    answer. `extra`: further fields of the provider's own protocol.
    """

    messages: tuple[ChatMessage, ...]
    schema: Mapping[str, Any] | None = None
    schema_name: str = "answer"
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, system: str, user: str, **options: Any) -> ChatRequest:
        """A request of one system and one user message."""
        return cls((ChatMessage("system", system), ChatMessage("user", user)), **options)


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one call, as the provider counted them, or (`estimated`) guessed: one for 4 ASCII characters or one other."""

    input_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False


Finish = Literal["stop", "length", "filtered", "other"]


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A whole answer. `text` is without the model's thinking, which is in `reasoning`. `finish`: `length` when it was cut off."""

    text: str
    reasoning: str = ""
    finish: Finish = "stop"
    usage: TokenUsage = TokenUsage()
    model: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a streamed answer: some `text` or some `reasoning`; the last piece carries the whole `reply`."""

    text: str = ""
    reasoning: str = ""
    reply: ChatReply | None = None


@runtime_checkable
class ChatModel(Protocol):
    """A language model that answers messages."""

    @property
    def model_id(self) -> str:
        """Stable name, `provider:model`."""

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The whole answer.

        Raises ModelUnavailable (cannot be reached, refused the key, circuit open), ModelTimeout, ModelBusy, ModelError (the
        request was refused, or the answer is none).
        """

    def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        """The answer as it is made. Raises like `complete`, also in the middle; characters are never cut in two."""


def text_of(messages: Sequence[ChatMessage]) -> str:
    """All words of a prompt, for counting."""
    return "\n".join(message.content for message in messages)
