"""What a chat answers with: the whole answer, or one event after another. Plain values that system, server and client share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from memos.memory.hit import Hit, SearchStatus
from memos.models.llm.port import Finish, TokenUsage

LIMIT = 20  # memories looked at for an answer
CONTEXT_TOKENS = 1_500  # tokens of those shown to the model (4 characters each)
Stage = Literal["searching", "found", "reasoning", "answering"]


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """An answer, and what it rests on.

    `references`: the memories that were shown to the model, best first. `recall`: how the search for them ended. `finish`:
    `length` when the answer was cut off. `added`: ids of the records that question and answer were stored as. `notices`: what
    else is to be known, for example why nothing was stored.
    """

    text: str
    reasoning: str = ""
    references: tuple[Hit, ...] = ()
    recall: SearchStatus = SearchStatus.NOTHING
    usage: TokenUsage = field(default_factory=TokenUsage)
    model: str = ""
    finish: Finish = "stop"
    added: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class ChatStatus:
    """What goes on now."""

    stage: Stage
    type: Literal["status"] = "status"


@dataclass(frozen=True, slots=True)
class ChatReferences:
    """The memories that the model is shown, best first, and how the search for them ended."""

    references: tuple[Hit, ...]
    recall: SearchStatus
    reasons: tuple[str, ...] = ()
    type: Literal["references"] = "references"


@dataclass(frozen=True, slots=True)
class ChatReasoning:
    """A piece of the model's thinking."""

    text: str
    type: Literal["reasoning"] = "reasoning"


@dataclass(frozen=True, slots=True)
class ChatText:
    """A piece of the answer. No character is cut in two, and no citation either."""

    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class ChatTime:
    """Seconds it took: in all, to search, and until the first word of the answer."""

    total: float
    search: float
    first: float | None
    type: Literal["time"] = "time"


@dataclass(frozen=True, slots=True)
class ChatSuggestions:
    """Questions that could be asked next."""

    questions: tuple[str, ...]
    type: Literal["suggestions"] = "suggestions"


@dataclass(frozen=True, slots=True)
class ChatAdded:
    """The records that question and answer were stored as; none where it could not be done, as `notices` say."""

    ids: tuple[str, ...]
    notices: tuple[str, ...] = ()
    type: Literal["added"] = "added"


@dataclass(frozen=True, slots=True)
class ChatError:
    """The answer ends here, unfinished: what went wrong. `code` is that of the error, as in `memos.errors`."""

    code: str
    message: str
    type: Literal["error"] = "error"


@dataclass(frozen=True, slots=True)
class ChatEnd:
    """Always the last event. `finish` is None when the answer failed."""

    model: str
    usage: TokenUsage
    finish: Finish | None
    type: Literal["end"] = "end"


@dataclass(frozen=True, slots=True)
class ChatModels:
    """The names of the models that can answer, the usual one first."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Suggested:
    """Questions that could be asked next."""

    questions: tuple[str, ...]


ChatEvent = (
    ChatStatus
    | ChatReferences
    | ChatReasoning
    | ChatText
    | ChatTime
    | ChatSuggestions
    | ChatAdded
    | ChatError
    | ChatEnd
)
