"""The bodies of requests about memories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import ConfigDict, Field, WithJsonSchema

from memos.memory.reading import ReadingMode
from memos.reading.foreign import ROLES
from memos.server.native import fields
from memos.server.native.fields import (
    AsOf,
    Flag,
    Ids,
    Info,
    KnownAt,
    Limited,
    Name,
    QueryText,
    Scoped,
    Session,
    Share,
    Tags,
    Wire,
)

_PART: dict[str, Any] = {
    "type": "object",
    "properties": {"type": {"type": "string"}, "text": {"type": "string"}},
    "required": ["type"],
    "description": "A part of a message as chat APIs write it: text, image_url, file, input_audio …",
}
_TEXT: dict[str, Any] = {"type": "string", "minLength": 1, "pattern": r"[A-Za-z0-9\u00c0-\u024f\u4e00-\u9fff]"}
_CHAT: dict[str, Any] = {
    "type": "object",
    "title": "ChatMessage",
    "properties": {
        "role": {"type": "string", "enum": sorted(ROLES)},
        "content": {"anyOf": [_TEXT, {"type": "array", "items": _PART}]},
        "name": {"type": "string", "description": "Who speaks."},
        "chat_time": {"type": "string", "description": "When it was said."},
        "message_id": {"type": "string", "description": "Your own id; the same id is stored once."},
        "info": {"type": "object"},
    },
    "required": ["role", "content"],
    "examples": [{"role": "user", "content": "I moved to Oslo last week.", "chat_time": "2026-03-02T09:00:00+01:00"}],
}
_ONE = {"anyOf": [_TEXT, _CHAT]}
Messages = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [_TEXT, _CHAT, {"type": "array", "items": _ONE, "minItems": 1}],
            "title": "Messages",
            "description": "What happened: a text, a chat message, or a list of them.",
            "examples": [[{"role": "user", "content": "I moved to Oslo last week."}]],
        }
    ),
]


class Add(Scoped):
    """What happened, to be kept."""

    messages: Messages
    session: Session | None = None
    role: str = Field(
        "user", description="Who speaks where a message does not say.", json_schema_extra={"enum": [*sorted(ROLES)]}
    )
    tags: Tags = Field(default_factory=list)
    info: Info | None = None
    idempotency_key: Name | None = Field(
        None, description="The same key again stores nothing new and answers the same ids.", examples=["import-7/42"]
    )
    derive: Flag = Field(True, description="Read it for facts; `false` keeps the raw record only.")
    wait: Flag = Field(False, description="Answer when facts and vectors are derived too.")
    context: Messages | None = Field(None, description="Said before: these are understood by it. Not stored.")
    corrects: list[fields.Id] | None = Field(
        None,
        max_length=fields.MAX_IDS,
        description="That they correct something: what they are about, or an empty list to have it found.",
    )
    reading: ReadingMode | None = Field(
        None, description="`fine`: a language model reads it too; `fast`: rules alone. By default as the cube says."
    )
    task_id: Name | None = Field(None, description="A name of your own for the work behind it.", examples=["turn-12"])
    whole: Flag = Field(False, description="Each message stays one memory; else a long one is kept in parts.")


class Listing(Scoped):
    """Which memories to list, and from where."""

    filter: fields.WhereFilter | None = None
    kinds: fields.Kinds | None = None
    limit: Limited = Field(100, description="Items of a page at most.")
    cursor: str | None = Field(None, max_length=512, description="The `cursor` of the page before, to go on after it.")
    order: fields.OrderField = "newest"
    as_of: AsOf | None = None
    known_at: KnownAt | None = None
    include_inactive: Flag = Field(False, description="Also superseded, retracted and archived ones.")


class Counting(Scoped):
    """Which memories to count."""

    filter: fields.WhereFilter | None = None
    kinds: fields.Kinds | None = None
    include_inactive: Flag = Field(False, description="Also superseded, retracted and archived ones.")


class _Asking(Scoped):
    query: QueryText
    limit: fields.Limit | None = None
    max_tokens: fields.Tokens | None = None
    filter: fields.WhereFilter | None = None
    as_of: AsOf | None = None
    known_at: KnownAt | None = None
    reference_time: fields.When | None = Field(None, description='What "last week" in the query is relative to.')
    threshold: fields.Threshold = 0.0


def either(*names: str, required: bool) -> Callable[[dict[str, Any]], None]:
    """Documents a body with at most (`required`: exactly) one of some fields: one shape for each, without the others."""

    def finish(schema: dict[str, Any]) -> None:
        fields, needed = schema.pop("properties"), schema.pop("required", [])
        schema.pop("type"), schema.pop("additionalProperties")
        schema["anyOf"] = [
            {
                "type": "object",
                "title": f"{schema['title']} by {chosen}",
                "properties": {k: v for k, v in fields.items() if k not in names}
                | {chosen: _given(fields[chosen]) if required else fields[chosen]},
                "required": [*needed, chosen] if required else needed,
                "additionalProperties": False,
            }
            for chosen in names
        ]

    return finish


def _given(schema: dict[str, Any]) -> dict[str, Any]:
    """A field that may be left out, as one that is there: not null, and true."""
    kept = {k: v for k, v in schema.items() if k not in ("default", "anyOf")}
    if "anyOf" not in schema:
        return {**kept, "const": True}
    return {**kept, **next(s for s in schema["anyOf"] if s != {"type": "null"})}


class Search(_Asking):
    """A question to the memory."""

    model_config = ConfigDict(json_schema_extra=either("cube", "cubes", required=False))

    cubes: list[Name] | None = Field(
        None,
        min_length=1,
        max_length=100,
        description="Search these cubes together, instead of `cube`.",
        examples=[["ada", "team"]],
    )
    kinds: fields.Kinds | None = None
    include_superseded: Flag = Field(False, description="Also what was true once.")
    collapse: Flag = Field(True, description="Fold repetitions into one hit.")
    rerank: Flag = Field(True, description="Use the reranker, where one is configured.")


class Explain(_Asking):
    """A question, and the memory that was or was not among its hits."""

    memory_id: fields.Id


class Delete(Scoped):
    """What to delete: exactly one of `ids`, `filter`, `session` and `everything`."""

    model_config = ConfigDict(json_schema_extra=either("ids", "filter", "session", "everything", required=True))

    ids: Ids | None = None
    filter: fields.WhereFilter | None = None
    session: Session | None = None
    everything: Flag = Field(False, description="Everything in the cube.")
    hard: Flag = Field(True, description="Gone for good. `false`: hidden, kept in history, and can be undone.")
    dry_run: Flag = Field(False, description="Only tell what would be deleted.")
    vacuum: Flag | None = Field(
        None, description="Rewrite the file so that no page holds the text (default: if small)."
    )


class Get(Scoped):
    """Which memories to read."""

    ids: Ids


class Patch(Scoped):
    """What to change; what is left out stays."""

    text: str | None = Field(None, min_length=1, description="The new text.", examples=["Ada lives in Bergen."])
    title: str | None = Field(None, min_length=1, description="The new title.", examples=["Where Ada lives"])
    tags: Tags | None = None
    info: Info | None = Field(None, description="Merged into what is there; null removes a key.")
    importance: Share | None = Field(None, examples=[0.9])
    valid_from: fields.When | None = Field(None, description="Since when it is true.")
    valid_to: fields.When | None = Field(None, description="Until when it was true.")
    cause: str | None = Field(None, max_length=1_000, description="Why, for the history.", examples=["she told us"])


class Undo(Scoped):
    """Nothing but whose memory it is."""


__all__ = [
    "Add",
    "Counting",
    "Delete",
    "Explain",
    "Get",
    "Listing",
    "Messages",
    "Patch",
    "Search",
    "Undo",
    "Wire",
    "either",
]
