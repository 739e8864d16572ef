"""From a spec such as `openai:gpt-4o-mini` to a chat model."""

from __future__ import annotations

from memos.errors import InvalidInput
from memos.models.llm.port import ChatModel


def make_chat_model(
    spec: str, *, base_url: str = "", api_key: str = "", timeout: float = 60.0, concurrency: int = 4
) -> ChatModel | None:
    """The chat model called `spec` (`provider:model`), or None for `none`. Nothing is sent.

    Raises InvalidInput: no such provider, no model named, or no key for a server that wants one.
    """
    if spec.strip() in ("", "none"):
        return None
    raise InvalidInput(f"no language model {spec!r}")
