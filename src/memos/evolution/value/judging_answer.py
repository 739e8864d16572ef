"""The form in which a model judges an episode."""

from __future__ import annotations

from pydantic import BaseModel, Field


class StepJudged(BaseModel):
    """How decisive a record was."""

    n: int = Field(description="the number of the record")
    alpha: float = Field(ge=0.0, le=1.0, description="how decisive it was")


class Judgement(BaseModel):
    """How a task went."""

    goal: float = Field(ge=-1.0, le=1.0)
    process: float = Field(ge=-1.0, le=1.0)
    satisfaction: float = Field(ge=-1.0, le=1.0)
    steps: list[StepJudged] = Field(default_factory=list)
