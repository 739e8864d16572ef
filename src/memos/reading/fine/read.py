"""Reading a segment with a language model: one call, whose answer is checked against what was said.

Guards law 1 (the traces stay as they are) and law 6: whatever goes wrong is raised, and the caller has its rules.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from memos.memory.model import Memory
from memos.memory.statement import SegmentReading
from memos.models.llm.port import ChatModel
from memos.reading.fine.grounding import Ground
from memos.reading.fine.lines import TOOL, lines_before, to_lines
from memos.reading.fine.prompt import EDITION, ReadingOptions, parts_of, shown_notes, to_request
from memos.reading.fine.segments import Segment

_BEFORE = 2

__all__ = ["ReadingOptions", "read_segment", "reader_name"]


async def read_segment(
    model: ChatModel, segment: Segment, noted: Sequence[Memory] = (), options: ReadingOptions = ReadingOptions()
) -> SegmentReading:
    """What a model understands in a segment, in one call (two where the first answer cannot be used).

    Args:
        model: who reads.
        segment: the traces to read, and those before them.
        noted: what rules derived from these traces; the model says which of it is wrong.
        options: what the cube asks for.

    Nothing is asked where nothing can be learned (blank messages, system prompts, tool output alone without a call).
    Raises ModelError (`structured.Unusable` for an answer that cannot be used).
    """
    from memos.models.llm.structured import ask_for  # pydantic takes a while to be loaded
    from memos.reading.fine.answer import asking
    from memos.reading.fine.understand import understood

    lines = to_lines(segment.traces)
    reader = reader_name(model)
    if not any(line.teaches for line in lines):
        return SegmentReading(reader)
    earlier = to_lines(segment.context) or lines_before(segment.traces[0])
    before = [line for line in earlier if line.role != TOOL][-_BEFORE:]
    noted = sorted(noted, key=lambda memory: memory.confidence)  # not all of them may be shown: first what is doubtful
    notes = shown_notes(noted, lines)
    request = to_request(lines, before, notes, options)
    answered = await ask_for(model, request, asking(*parts_of(lines, notes, options)))
    ground = Ground(lines, before)
    return await asyncio.to_thread(understood, answered.value, ground, noted[: len(notes)], options, reader)


def reader_name(model: ChatModel) -> str:
    """The model, and the edition of what it is asked: what is derived is stamped with it."""
    return f"{model.model_id}#{EDITION}"
