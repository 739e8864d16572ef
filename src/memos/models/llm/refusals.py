"""What a server does not take, told from what it says when it refuses a request: it is asked again without, then and later.

Servers differ in fields, and which takes what changes faster than a table: the server itself is the only one who knows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memos.models.llm.dialect import WITHOUT_SYSTEM, WITHOUT_TOKENS, Dialect

_TOO_MUCH = re.compile(
    r"context.{0,20}(length|window|size)|too long|reduce the length|input.{0,20}tokens", re.IGNORECASE
)
_NUMBER = re.compile(r"\d")
_FORMS = ("json_schema", "json_object")


@dataclass(frozen=True, slots=True)
class Refusal:
    """What to leave out (see `Dialect.payload`). `always`: not only of this request."""

    what: str
    always: bool = True


def refusal_in(message: str, payload: Mapping[str, Any], dialect: Dialect) -> Refusal | None:
    """What the server means, or None when asking without anything would not help."""
    said = message.lower()
    refusable = dialect.refusable(payload)
    tokens = next((name for name in ("max_tokens", "max_completion_tokens") if name in payload), "")
    if _TOO_MUCH.search(said) and not (tokens and tokens in said):
        return None
    named = {word: said.find(word.lower()) for word in refusable if word.lower() in said}
    if named:
        first = min(named, key=lambda word: (named[word], -len(word)))
        if (
            first == tokens and _NUMBER.search(said) and "unsupported" not in said
        ):  # too many of them, not the field as such
            return Refusal(WITHOUT_TOKENS, always=False)
        return Refusal(refusable[first])
    if "system" in said and "role" in said:
        return Refusal(WITHOUT_SYSTEM)
    # It did not say what it does not like; of all that is asked, a form is what servers most often cannot do.
    form = next((what for what in refusable.values() if what in _FORMS), None)
    return None if form is None else Refusal(form)
