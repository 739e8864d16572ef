"""The form in which a model describes a skill: what `skill_writing` asks for."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Meaning(BaseModel):
    """A parameter, and what it stands for in a few words."""

    name: str
    meaning: str


class Wording(BaseModel):
    """A skill's name, description and parameters."""

    name: str = ""
    description: str = ""
    parameters: list[Meaning] = Field(default_factory=list)
