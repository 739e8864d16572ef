"""The form in which a model answers with notes of a topic. Loaded when one is first asked: pydantic is."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Note(BaseModel):
    """A sentence and the numbers of the records that say it."""

    text: str
    evidence: list[int]


class Notes(BaseModel):
    """A title and some sentences."""

    title: str = ""
    sentences: list[Note] = Field(default_factory=list)
