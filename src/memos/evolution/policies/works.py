"""What works: for each kind of call one that worked is remembered, so that nobody is told to avoid those."""

from __future__ import annotations

from typing import Any

from memos.evolution.case import Case
from memos.evolution.policies.lessons import Told, head, kind_of
from memos.evolution.value.reward import ended
from memos.memory.ids import unique_key


def note_what_works(tx: Any, case: Case) -> None:
    """Remember for each kind of call one that worked: nobody is told to avoid those."""
    for step in case.steps:
        if step.use is not None and ended(step):
            key = works_key(step.use.tool, head(step))
            if tx.find_key(key) is None:
                tx.point(key, step.id)


def never_works(tx: Any, one: Told) -> bool:
    """Whether no call of the kind that failed here ever worked."""
    return tx.find_key(works_key(one.tool, kind_of(one.tool, one.input))) is None


def works_key(tool: str, kind: str) -> bytes:
    """Under which a call of a kind that worked is found."""
    return unique_key("works", tool, kind)
