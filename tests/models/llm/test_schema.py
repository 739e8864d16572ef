"""A schema in the strict form that models are held to, and in words for the others."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from memos.models.llm.port import ChatMessage, ChatRequest
from memos.models.llm.schema import form_of, in_words, strict


class Part(BaseModel):
    name: str = Field(description="as written")
    kind: Literal["a", "b"] = "a"
    weight: float | None = Field(default=None, ge=0, le=1)
    sure: float = Field(default=1, ge=0, le=1, description="how sure")


class Whole(BaseModel):
    parts: list[Part] = Field(default_factory=list, max_length=9)
    first: Part | None = None
    tags: list[str] = []


class Free(BaseModel):
    values: dict[str, int]


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


def objects_in(node: Any) -> list[dict[str, Any]]:
    if isinstance(node, list):
        return [found for item in node for found in objects_in(item)]
    if not isinstance(node, dict):
        return []
    return ([node] if "properties" in node else []) + [found for inner in node.values() for found in objects_in(inner)]


@pytest.mark.parametrize("form", [Whole, Part, Tree])
def test_every_field_is_named_none_besides_and_no_rule_but_of_form(form: type[BaseModel]) -> None:
    held = strict(form.model_json_schema())
    assert held is not None
    found = objects_in(held)
    assert found
    for node in found:
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])
    text = str(held)
    for word in ("default", "title", "minimum", "maxItems", "allOf", "oneOf"):
        assert f"'{word}'" not in text


def test_a_range_is_remarked() -> None:
    held = strict(Part.model_json_schema())
    assert held is not None
    assert held["properties"]["sure"]["description"] == "how sure (0..1)"


def test_the_schema_itself_is_left_as_it_is() -> None:
    schema = Whole.model_json_schema()
    strict(schema)
    form_of(schema)
    assert schema == Whole.model_json_schema()


def test_no_model_is_held_to_a_free_mapping() -> None:
    assert strict(Free.model_json_schema()) is None


def test_the_form_in_words_is_short_and_says_everything() -> None:
    assert form_of(Whole.model_json_schema()) == (
        '{"parts"?: [{"name": string /* as written */, "kind"?: "a"|"b", "weight"?: number 0..1|null, '
        '"sure"?: number 0..1 /* how sure */}, …], "first"?: {"name": string /* as written */, "kind"?: "a"|"b", '
        '"weight"?: number 0..1|null, "sure"?: number 0..1 /* how sure */}|null, "tags"?: [string, …]}'
    )
    assert form_of(Free.model_json_schema()) == '{"values": {name: integer, …}}'


def test_a_form_within_itself_ends() -> None:
    assert form_of(Tree.model_json_schema()).startswith('{"name": string, "children"?: [{"name": string')


@pytest.mark.parametrize(
    "messages", [(), (ChatMessage("user", "Hi."),), (ChatMessage("system", "Be."), ChatMessage("user", "Hi."))]
)
def test_the_words_stand_in_the_system_message(messages: tuple[ChatMessage, ...]) -> None:
    told = in_words(ChatRequest(messages, schema=Free.model_json_schema()))
    assert told.schema is None
    assert told.messages[0].role == "system"
    assert told.messages[0].content.endswith('{"values": {name: integer, …}}')
    assert told.messages[1:] == tuple(m for m in messages if m.role == "user")
