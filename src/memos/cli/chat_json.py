"""The answer of a chat as JSON for scripts: what it rests on in short, unless all of it is asked for."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from memos.answers import ChatAnswer
from memos.cli.jsonable import jsonable
from memos.memory.hit import Hit


@dataclass(frozen=True, slots=True)
class Reference:
    """A memory that an answer rests on. `when` it happened or was said."""

    id: str
    text: str
    score: float
    when: datetime | None
    speaker: str | None

    @classmethod
    def of(cls, hit: Hit) -> Reference:
        """What is told of a hit."""
        m = hit.memory
        return cls(m.id, m.text, round(hit.score, 4), m.happened_at, m.speaker or m.role)


def told(answer: ChatAnswer, *, full: bool) -> Any:
    """An answer, as `memos chat --json` prints it. `full`: with everything known of its references."""
    if full:
        return jsonable(answer)
    whole = {f.name: getattr(answer, f.name) for f in fields(answer)}
    return jsonable(whole | {"references": [Reference.of(hit) for hit in answer.references]})
