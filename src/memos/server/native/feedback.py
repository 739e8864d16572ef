"""POST /v1/feedback: what is wrong, missing, right or to be forgotten, in plain words."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import ConfigDict, Field, model_validator

from memos.memory.feedback import FeedbackResult, Rating
from memos.server.app import Core
from memos.server.caller import WRITE
from memos.server.limits import check_messages
from memos.server.native.answers import reply
from memos.server.native.fields import MAX_IDS, Flag, Id, Info, Name, Said, Scoped, Session, Tags, When
from memos.server.native.problems import writes
from memos.server.native.scope import WhoseTooDep
from memos.server.quick import QuickRoute

router = APIRouter(prefix="/v1/feedback", tags=["Memories"], route_class=QuickRoute)

_TEXT = "What is wrong, missing, right, or to be forgotten; or how to answer from now on."
_HISTORY = "The messages before it, as they are added; the answer that it is about comes last."
_TARGETS = "Ids of the memories it is about, such as those the answer was made of; those of other cubes are left out."


def _shapes(schema: dict[str, Any]) -> None:
    """Documents that there is a text, or a rating of some memories."""
    fields = schema.pop("properties")
    schema.pop("type"), schema.pop("additionalProperties")
    given = {
        name: next(s for s in fields[name]["anyOf"] if s != {"type": "null"}) for name in ("text", "rating", "targets")
    }
    kept = {
        name: {k: v for k, v in fields[name].items() if k not in ("anyOf", "default")} | given[name] for name in given
    }
    kept["targets"] = kept["targets"] | {"minItems": 1}
    by_rating = {name: field for name, field in fields.items() if name != "text"}
    schema["anyOf"] = [
        _shape(f"{schema['title']} in words", {**fields, "text": kept["text"]}, "text"),
        _shape(
            f"{schema['title']} by a rating",
            by_rating | {n: kept[n] for n in ("rating", "targets")},
            "rating",
            "targets",
        ),
    ]


def _shape(title: str, fields: dict[str, Any], *needed: str) -> dict[str, Any]:
    return {
        "type": "object",
        "title": title,
        "properties": fields,
        "required": [*needed],
        "additionalProperties": False,
    }


class FeedbackRequest(Scoped):
    """What a user says of what is remembered, or of an answer."""

    model_config = ConfigDict(json_schema_extra=_shapes)

    text: Annotated[Said, Field(max_length=1_600)] | None = Field(
        None, description=_TEXT, examples=["No, it's Bergen, not Oslo."]
    )
    rating: Rating | None = Field(None, description="A thumb, or how the task ended that the memories served.")
    session: Session | None = None
    history: list[Any] | str | None = Field(
        None, description=_HISTORY, examples=[[{"role": "assistant", "content": "You live in Oslo."}]]
    )
    targets: Annotated[list[Id], Field(max_length=MAX_IDS)] | None = Field(None, description=_TARGETS)
    hard: Flag = Field(
        False, description="What is to be forgotten is deleted for good. Without it, it is hidden, and can be undone."
    )
    dry_run: Flag = Field(False, description="Only tell what would be done; nothing is stored.")
    wait: Flag = Field(True, description="Answer when all is done; without it, a language model is not waited for.")
    answer: Flag = Field(False, description="Put the last answer right, too.")
    time: When | None = Field(None, description="When it was said.")
    tags: Tags = Field(default_factory=list)
    info: Info | None = None
    task_id: Name | None = Field(None, description="A name of your own; the same again does nothing twice.")

    @model_validator(mode="after")
    def _says_something(self) -> FeedbackRequest:
        if self.text is None and (self.rating is None or not self.targets):
            raise ValueError("give a text, or a rating and the targets it is of")
        return self


@router.post(
    "",
    operation_id="give_feedback",
    summary="Correct, supplement, replace, forget, confirm or prefer",
    response_model=FeedbackResult,
    responses=writes(),
)
async def give(request: Request, memos: Core, whose: WhoseTooDep, body: FeedbackRequest) -> Response:
    """The words are kept as a raw record; what they ask for is done in one change, which undoing that record takes back.

    What is unclear changes nothing: `understood` is false, `message` says why, and `candidates` are memories that may be meant.
    """
    place = whose.place(body, WRITE)
    check_messages(request.app.state.options, body.text or "")
    check_messages(request.app.state.options, body.history or ())
    done = await memos.feedback(
        body.text or "",
        user=place.user,
        cube=place.cube,
        session=body.session,
        history=body.history,
        targets=body.targets,
        rating=body.rating,
        hard=body.hard,
        dry_run=body.dry_run,
        wait=body.wait,
        answer=body.answer,
        time=body.time,
        tags=body.tags,
        info=body.info,
        task_id=body.task_id,
    )
    return reply(done)
