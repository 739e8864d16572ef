"""A model speaking: its pieces as events, citations and characters whole, and what was said so far, whatever ends it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass, field

from memos.answers import ChatReasoning, ChatStatus, ChatText
from memos.chat.citations import Citations
from memos.models.llm.port import ChatModel, ChatReply, ChatRequest, Finish, TokenUsage, text_of


@dataclass(slots=True)
class Said:
    """What a model said so far. `reply` is there once it came to its end."""

    request: ChatRequest
    texts: list[str] = field(default_factory=list)
    reasonings: list[str] = field(default_factory=list)
    reply: ChatReply | None = None

    @property
    def text(self) -> str:
        """The answer so far, as it was passed on."""
        return "".join(self.texts)

    @property
    def reasoning(self) -> str:
        """The thinking so far."""
        return "".join(self.reasonings)

    @property
    def finish(self) -> Finish | None:
        """How it ended; None while it has not."""
        return self.reply.finish if self.reply is not None else None

    @property
    def usage(self) -> TokenUsage:
        """What it cost, by the model's count or, where it came to no end, by ours."""
        if self.reply is not None:
            return self.reply.usage
        put_in, came_out = len(text_of(self.request.messages)), len(self.text) + len(self.reasoning)
        return TokenUsage(-(-put_in // 4), -(-came_out // 4), estimated=True)


async def speaking(
    model: ChatModel, said: Said, marks: Collection[str] = ()
) -> AsyncGenerator[ChatStatus | ChatReasoning | ChatText, None]:
    """The events of an answer as it is made; `said` grows with it. Raises what the model raises.

    `marks`: the citations that mean something; without any, citations are text like all other.
    """
    cited, whole, whole_thought = Citations(marks), _Whole(), _Whole()
    told = ""
    async with contextlib.aclosing(model.stream(said.request)) as pieces:
        async for piece in pieces:
            said.reply = piece.reply or said.reply
            thought = whole_thought.feed(piece.reasoning)
            text = whole.feed(piece.text)
            if thought:
                if not told:
                    told = "reasoning"
                    yield ChatStatus("reasoning")
                said.reasonings.append(thought)
                yield ChatReasoning(thought)
            if text and marks:
                text = cited.feed(text)
            if text:
                if told != "answering":
                    told = "answering"
                    yield ChatStatus("answering")
                said.texts.append(text)
                yield ChatText(text)
    rest = whole.end()
    rest = cited.feed(rest) + cited.end() if marks else rest
    if not said.texts and not rest and said.reply is not None:  # a model that answers all at once
        rest = said.reply.text
    if rest:
        if told != "answering":
            yield ChatStatus("answering")
        said.texts.append(rest)
        yield ChatText(rest)


class _Whole:
    """Keeps the halves of a character together that came in two pieces."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        """What can be passed on now."""
        if not text:
            return ""
        text, self._half = self._half + text, ""
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return _well_formed(text)

    def end(self) -> str:
        """A half whose other never came."""
        half, self._half = self._half, ""
        return _well_formed(half)


def _well_formed(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
