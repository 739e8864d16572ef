"""What of a conversation goes to the model again: the last messages of user and assistant, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from memos.memory.message import Message
from memos.models.llm.port import ChatMessage, Role

MESSAGES = 20  # messages at most
TOKENS = 3000  # tokens at most (4 characters each)
_SPOKEN = ("user", "assistant")
_CUT = "… "


def fitting(history: Sequence[Message], *, most: int = MESSAGES, budget: int = TOKENS) -> tuple[ChatMessage, ...]:
    """The newest messages that fit, oldest first, beginning with one of the user's; neighbours of one role become one message.

    What tools and systems said is left out: there is one system message, and it is not from here. Of a newest message that
    alone is too long its end is kept.
    """
    kept: list[ChatMessage] = []
    left = budget * 4
    for message in reversed([m for m in history if m.role in _SPOKEN and m.text.strip()][-most:]):
        text = message.text.strip()
        if len(text) > left:
            if not kept:
                kept.append(_said(message.role, _CUT + text[len(_CUT) - left :]))
            break
        left -= len(text)
        kept.append(_said(message.role, text))
    return _joined(kept[::-1])


def _said(role: str, text: str) -> ChatMessage:
    return ChatMessage(cast("Role", role), text)


def _joined(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    out: list[ChatMessage] = []
    for message in messages:
        if not out and message.role != "user":
            continue  # many a model wants the user to begin
        if out and out[-1].role == message.role:
            out[-1] = ChatMessage(message.role, f"{out[-1].content}\n\n{message.content}")
        else:
            out.append(message)
    return tuple(out)
