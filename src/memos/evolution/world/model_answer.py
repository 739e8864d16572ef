"""The form in which a model answers with statements about an environment. Loaded when one is first asked: pydantic is."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Stated(BaseModel):
    """A statement and the numbers of the records that bear it out."""

    text: str
    evidence: list[int]


class Abstracted(BaseModel):
    """What is there, what follows from what, and what must or must not be."""

    environment: list[Stated] = Field(default_factory=list)
    inference: list[Stated] = Field(default_factory=list)
    constraint: list[Stated] = Field(default_factory=list)
