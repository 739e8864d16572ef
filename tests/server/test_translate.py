"""What both wires of MemOS say of memories: names, texts that can be read alone, and one scale of relativity."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memos.memory.hit import Hit
from memos.memory.ids import new_id
from memos.memory.model import Kind, Memory, Status
from memos.server.translate import (
    FILES,
    NODES,
    PREFERENCES,
    SKILLS,
    STATUS_OF,
    TEXTS,
    TOOLS,
    kinds_of,
    memory_type,
    relativity,
    score_of,
    told,
)

WHEN = datetime(2025, 6, 26, 15, 0, tzinfo=UTC)
SAID = Memory(new_id(), Kind.TRACE, "I moved to Oslo.", valid_from=WHEN, role="user", speaker="Ann")
FACT = Memory(new_id(), Kind.PROFILE, "Ann lives in Oslo.", valid_from=WHEN)


def hit(memory: Memory, **more: object) -> Hit:
    return Hit(memory, 0.5, 1, "ann", memory.text, **more)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (hit(SAID), "2025-06-26 15:00 Ann: I moved to Oslo."),
        (hit(replace(SAID, text="Ann: I moved to Oslo.")), "2025-06-26 15:00 Ann: I moved to Oslo."),
        (hit(SAID, stale=True), "2025-06-26 15:00 [outdated] Ann: I moved to Oslo."),
        (hit(SAID, outdated=(FACT,)), "2025-06-26 15:00 Ann: I moved to Oslo. [no longer: Ann lives in Oslo.]"),
        (
            hit(replace(SAID, text="No, Oslo.", body={"corrects": []}), facts=(FACT,)),
            "2025-06-26 15:00 Ann: No, Oslo. [so: Ann lives in Oslo.]",
        ),
        (hit(FACT), "Ann lives in Oslo. (since 2025-06-26)"),
        (hit(replace(FACT, kind=Kind.EVENT)), "Ann lives in Oslo."),
        (hit(FACT, stale=True), "[outdated] Ann lives in Oslo. (since 2025-06-26)"),
        (hit(replace(FACT, kind=Kind.CHUNK, title="a.md › Ann")), "[a.md › Ann] Ann lives in Oslo."),
    ],
)
def test_a_hit_can_be_read_alone(found: Hit, text: str) -> None:
    assert told(found, UTC) == text


def test_every_kind_has_a_place_and_every_status_a_name() -> None:
    assert set(Kind) == PREFERENCES | TOOLS | SKILLS | NODES | TEXTS
    assert FILES < TEXTS
    assert set(STATUS_OF) == set(Status)
    assert memory_type(Kind.PROFILE) == "UserMemory"
    assert memory_type(Kind.POLICY) == "LongTermMemory"
    assert kinds_of("AllSummaryMemory") == kinds_of("LongTermMemory") | kinds_of("UserMemory")


def test_relativity_and_score_are_one_scale() -> None:
    assert [relativity(score) for score in (0.0, 0.2, 1.0)] == pytest.approx([0.0, 0.45, 1.0])
    for value in (0.0, 0.1, 0.45, 0.62, 0.9, 1.0):
        assert relativity(score_of(value)) == pytest.approx(value)
    assert (score_of(None), score_of(-1), score_of(7)) == (0.0, 0.0, 1.0)
