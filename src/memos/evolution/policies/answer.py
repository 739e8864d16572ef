"""The form in which a model puts a policy into words. Loaded when one is first asked: pydantic is."""

from __future__ import annotations

from pydantic import BaseModel, Field

from memos.evolution.skills.answer import Meaning


class PolicyWording(BaseModel):
    """A title, when the policy applies, what to beware of, and what its parameters are."""

    title: str = ""
    when: str = ""
    caveat: str = ""
    parameters: list[Meaning] = Field(default_factory=list)
