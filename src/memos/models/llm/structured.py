"""Answers in a form: a model is asked for JSON that a pydantic model describes, and what it sends is read tolerantly and checked.

An answer that cannot be used is asked for once more, with what was wrong with it; then `Unusable` sends the caller to its rules.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from memos.errors import ModelError
from memos.models.llm.fitting import Misfit, fit
from memos.models.llm.parsing import values_in
from memos.models.llm.port import ChatMessage, ChatModel, ChatReply, ChatRequest, TokenUsage

if TYPE_CHECKING:
    from pydantic import BaseModel

T = TypeVar("T", bound="BaseModel")

_USUAL_TOKENS = 4_096  # of an answer that was cut although nobody said how long it may be
_MORE_TOKENS = 4  # times as many for the second try: a model that thinks needs most of them for that
_MOST_TOKENS = 65_536
_LONGEST = 1_000_000  # characters of an answer that are read: far more than the most tokens are
_LONG = 10_000  # what is longer is read beside the event loop
_SHOWN = 2_000  # characters of an unusable answer that the model is shown again
_SAME_AGAIN = "The answer above cannot be used: {why}. Answer again: the JSON alone, complete, no other words."


@dataclass(frozen=True, slots=True)
class Answered(Generic[T]):
    """An answer in its form. `usage` is that of all `calls` that it took.

    `cut`: the end was missing, only what was complete is in it. `dropped`: items of lists that did not fit and were left out.
    """

    value: T
    usage: TokenUsage
    calls: int
    cut: bool = False
    dropped: int = 0


class Unusable(ModelError):
    """A model answered, but not in the form asked for, also not when it was told. `reply` is what it said the last time."""

    code = "model_unusable"

    def __init__(self, message: str, *, reply: str = "", usage: TokenUsage | None = None, calls: int = 0) -> None:
        super().__init__(message)
        self.reply, self.usage, self.calls = reply, usage or TokenUsage(), calls


async def ask_for(
    model: ChatModel, request: ChatRequest, answer: type[T], *, retries: int = 1, whole: bool = False
) -> Answered[T]:
    """The answer of a model in the form of a pydantic model.

    Args:
        model: who is asked.
        request: what is asked; the JSON schema is added to it.
        answer: the form. Its lists may lose single items that do not fit, unless `whole`.
        retries: calls after the first, when the answer cannot be used.
        whole: take no answer that lacks its end or single items.

    Raises Unusable, and what `ChatModel.complete` raises.
    """
    asked = first = replace(request, schema=answer.model_json_schema(), schema_name=answer.__name__)
    usage, calls = TokenUsage(), 0
    while True:
        reply = await model.complete(asked)
        usage, calls = _sum(usage, reply.usage), calls + 1
        read = await _read_beside(reply, answer, whole)
        if not isinstance(read, str):
            value, cut, dropped = read
            return Answered(value, usage, calls, cut, dropped)
        if calls > retries or reply.finish == "filtered":
            raise Unusable(
                f"{model.model_id} gave no usable answer: {read}", reply=reply.text, usage=usage, calls=calls
            )
        asked = _longer(first) if reply.finish == "length" else _corrected(first, reply.text, read)


async def _read_beside(reply: ChatReply, answer: type[T], whole: bool) -> tuple[T, bool, int] | str:
    """`_read`, which nobody waits for: a model may send whatever it likes, and as much of it."""
    if len(reply.text) <= _LONG:
        return _read(reply, answer, whole)
    if len(reply.text) > _LONGEST:
        return f"it is longer than {_LONGEST} characters"
    return await asyncio.to_thread(_read, reply, answer, whole)


def _read(reply: ChatReply, answer: type[T], whole: bool) -> tuple[T, bool, int] | str:
    """The value, whether it was cut, and how many items were dropped; or in few words why there is none."""
    if reply.finish == "filtered" and not reply.text.strip():
        return "its provider held the answer back (content filter)"
    why = "it holds no JSON" if reply.text.strip() else "it is empty"
    best: tuple[T, bool, int] | None = None
    for found in values_in(reply.text):
        try:
            value, dropped = fit(found.value, answer)
        except Misfit as error:
            why = str(error)
            continue
        if found.cut or dropped:
            if not whole and best is None:
                best = (value, found.cut, dropped)
            why = "its end is missing" if found.cut else "items of it do not fit"
            continue
        return value, False, 0
    if best is not None:
        return best
    return why + (" (it was cut off at its longest)" if reply.finish == "length" else "")


def _longer(request: ChatRequest) -> ChatRequest:
    tokens = min((request.max_tokens or _USUAL_TOKENS) * _MORE_TOKENS, _MOST_TOKENS)
    return replace(request, max_tokens=max(tokens, request.max_tokens or 0))


def _corrected(request: ChatRequest, said: str, why: str) -> ChatRequest:
    shown = (ChatMessage("assistant", said[:_SHOWN]),) if said.strip() else ()
    told = ChatMessage("user", _SAME_AGAIN.format(why=why))
    return replace(request, messages=(*request.messages, *shown, told))


def _sum(one: TokenUsage, other: TokenUsage) -> TokenUsage:
    return TokenUsage(
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        one.estimated or other.estimated,
    )
