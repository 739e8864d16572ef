"""A reply put together from what a server says, at once or event by event; thinking apart from the answer, tokens counted."""

from __future__ import annotations

from collections.abc import Iterator

from memos.models.llm.dialect import Said
from memos.models.llm.port import ChatReply, ChatRequest, Finish, Piece, TokenUsage, text_of
from memos.models.llm.thoughts import Thoughts, split
from memos.models.windows import guessed_tokens

_ASCII_PER_TOKEN = 4


class Assembly:
    """Takes what the events of one stream say."""

    def __init__(self) -> None:
        self._thoughts = Thoughts()
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._finish: Finish | None = None
        self._usage: TokenUsage | None = None
        self._model = ""
        self._done = False

    @property
    def complete(self) -> bool:
        """Whether the server said that this was all."""
        return self._done or self._finish is not None

    def add(self, said: Said) -> Iterator[Piece]:
        """The pieces that are known with this event."""
        self._finish = said.finish or self._finish
        self._usage = _later(self._usage, said.usage)
        self._model = said.model or self._model
        self._done = self._done or said.done
        text, thinking = self._thoughts.feed(said.text) if said.text else ("", "")
        yield from self._pieces(text, said.reasoning + thinking)

    def rest(self) -> Iterator[Piece]:
        """The pieces that were held back until it was clear what they are."""
        yield from self._pieces(*self._thoughts.end())

    def reply(self, request: ChatRequest, model: str) -> ChatReply:
        """The whole."""
        said = Said("".join(self._text), "".join(self._reasoning), self._finish, self._usage, self._model)
        return reply_of(said, request, model)

    def _pieces(self, text: str, reasoning: str) -> Iterator[Piece]:
        if reasoning:
            self._reasoning.append(reasoning)
            yield Piece(reasoning=reasoning)
        if text:
            self._text.append(text)
            yield Piece(text)


def reply_of(said: Said, request: ChatRequest, model: str) -> ChatReply:
    """The reply that a whole answer says."""
    text, thinking = split(said.text)
    reasoning = said.reasoning + thinking
    usage = said.usage or estimated(request, text + reasoning)
    return ChatReply(text, reasoning, said.finish or "stop", usage, said.model or model)


def estimated(request: ChatRequest, answer: str) -> TokenUsage:
    """A guess of what a call used, from its words."""
    asked, said = (guessed_tokens(text, _ASCII_PER_TOKEN) for text in (text_of(request.messages), answer))
    return TokenUsage(asked, said, estimated=True)


def _later(one: TokenUsage | None, other: TokenUsage | None) -> TokenUsage | None:
    """Counts grow from event to event; some events have only one of them."""
    if one is None or other is None:
        return other or one
    return TokenUsage(max(one.input_tokens, other.input_tokens), max(one.output_tokens, other.output_tokens))
