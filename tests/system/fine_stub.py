"""A stand-in for `memos.reading.fine`: every line `slot = value` of a model's answer is a fact of the message it names.

The prompt is `id: text` lines; the answer is JSON: `{"facts": [[number of the message, slot, value], ...], "wrong": [number of a
note], "names": [[number, name]], "relations": [[number, subject, predicate, object]], "also": {slot: [numbers]}}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pydantic

from memos.memory.model import Kind, Memory
from memos.memory.statement import Mention, Reading, Relation, SegmentReading, Statement
from memos.models.llm.port import ChatModel, ChatRequest
from memos.models.llm.structured import ask_for
from memos.reading.traces import source_of


class Answer(pydantic.BaseModel):
    facts: list[tuple[int, str, str]] = []
    wrong: list[int] = []
    names: list[tuple[int, str]] = []
    relations: list[tuple[int, str, str, str]] = []
    also: dict[str, list[int]] = {}


@dataclass(frozen=True)
class Run:
    traces: tuple[Memory, ...]
    context: tuple[Memory, ...] = ()


class StubReader:
    """`size`: messages of one run at most. `seen`: (instructions, tags) of every call."""

    def __init__(self, size: int = 8) -> None:
        self.size = size
        self.seen: list[tuple[str, tuple[str, ...]]] = []
        self.noted: list[list[str]] = []

    def segments(self, traces: Sequence[Memory], before: object = None) -> list[Run]:
        runs: list[list[Memory]] = []
        for trace in traces:
            if not runs or runs[-1][0].session != trace.session or len(runs[-1]) >= self.size:
                runs.append([])
            runs[-1].append(trace)
        return [Run(tuple(run)) for run in runs]

    async def read(
        self, model: ChatModel, segment: Run, rules: Sequence[Memory], instructions: str, tags: tuple[str, ...]
    ) -> SegmentReading:
        self.seen.append((instructions, tags))
        self.noted.append([m.text for m in rules])
        prompt = "\n".join(f"{n}: {t.text}" for n, t in enumerate(segment.traces))
        value = (await ask_for(model, ChatRequest.of("Read.", prompt), Answer)).value
        return found(model.model_id, segment.traces, rules, value, tags)


def found(
    reader: str, traces: Sequence[Memory], rules: Sequence[Memory], value: Answer, tags: Sequence[str] = ()
) -> SegmentReading:
    readings: dict[str, Reading] = {}
    for n, trace in enumerate(traces):
        statements = tuple(
            fact(trace, slot, said, [traces[i] for i in value.also.get(slot, [])], tags)
            for number, slot, said in value.facts
            if number == n
        )
        names = tuple(Mention(name, "other") for number, name in value.names if number == n)
        relations = tuple(
            Relation(Mention(a, "other"), how, Mention(b, "other"))
            for number, a, how, b in value.relations
            if number == n
        )
        readings[trace.id] = Reading(statements, names, relations=relations)
    return SegmentReading(reader, readings, tuple(rules[n].id for n in value.wrong))


def fact(
    trace: Memory, slot: str, value: str, also: Sequence[Memory] = (), tags: Sequence[str] = (), **more: Any
) -> Statement:
    options: dict[str, Any] = {"kind": Kind.FACT, "single": True} | more
    return Statement(
        text=f"{slot}: {value}",
        slot=slot,
        key=f"{slot}|{value.casefold()}",
        value=value,
        confidence=0.9,
        source=source_of(trace, 0, len(trace.text)),
        also=tuple(source_of(t, 0, len(t.text)) for t in also),
        tags=tuple(tags),
        **options,
    )
