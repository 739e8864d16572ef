"""What the cloud wire says of memories, messages, tasks and files. Times are milliseconds since 1970."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

from memos.memory.hit import Hit
from memos.memory.learned import SkillBody
from memos.memory.model import Kind, Memory
from memos.server.translate import STATUS_OF, memory_type, milliseconds, preference_type, readable, relativity, told
from memos.text.guide import action_text

_TITLE = 60  # characters


@dataclass(frozen=True, slots=True)
class MemoryDetail:
    """One memory. `relativity` is the score of the search that found it; `knowledgebase_id` where that was."""

    id: str
    memory_key: str
    memory_value: str
    memory_type: str
    memory_time: int | None
    create_time: int | None
    update_time: int | None
    conversation_id: str | None
    status: str
    confidence: float
    tags: Sequence[str]
    info: Mapping[str, Any]
    relativity: float | None = None
    knowledgebase_id: str | None = None
    file_id: str | None = None


@dataclass(frozen=True, slots=True)
class PreferenceDetail:
    """One preference of the user, and how it is known."""

    id: str
    preference: str
    preference_type: str
    reasoning: str
    create_time: int | None
    update_time: int | None
    conversation_id: str | None
    status: str
    relativity: float | None = None


@dataclass(frozen=True, slots=True)
class ToolDetail:
    """What was seen of a tool."""

    id: str
    tool_type: str
    tool_value: str
    experience: str
    create_time: int | None
    update_time: int | None
    conversation_id: str | None
    status: str
    relativity: float | None = None


@dataclass(frozen=True, slots=True)
class SkillValue:
    """What a skill says."""

    name: str
    description: str
    procedure: str
    experience: Sequence[str] = ()
    preference: Sequence[str] = ()
    examples: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class SkillDetail:
    """One skill."""

    id: str
    skill_type: str
    skill_value: SkillValue
    create_time: int | None
    update_time: int | None
    status: str
    tags: Sequence[str]
    relativity: float | None = None


@dataclass(frozen=True, slots=True)
class MessageDetail:
    """One message as it came in, whole."""

    id: str
    role: str
    content: str
    conversation_id: str | None
    message_id: str | None
    create_time: int | None
    update_time: int | None
    relativity: float | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to search/memory. `search_status` and `reasons` say how whole it is."""

    memory_detail_list: Sequence[MemoryDetail]
    message_detail_list: Sequence[MessageDetail]
    preference_detail_list: Sequence[PreferenceDetail]
    tool_memory_detail_list: Sequence[ToolDetail]
    skill_detail_list: Sequence[SkillDetail]
    profile_detail_list: Sequence[MemoryDetail]
    event_detail_list: Sequence[MemoryDetail]
    preference_note: str
    search_status: str
    reasons: Sequence[str]


@dataclass(frozen=True, slots=True)
class Listed:
    """The answer to get/memory: one page over all lists together; `total` counts what is in any of them."""

    memory_detail_list: Sequence[MemoryDetail]
    preference_detail_list: Sequence[PreferenceDetail]
    tool_memory_detail_list: Sequence[ToolDetail]
    skill_detail_list: Sequence[SkillDetail]
    profile_detail_list: Sequence[MemoryDetail]
    event_detail_list: Sequence[MemoryDetail]
    total: int
    size: int
    current: int
    pages: int


@dataclass(frozen=True, slots=True)
class TaskDetail:
    """How work is going: `running`, `completed` or `failed`. `progress` is from 0 to 1."""

    task_id: str
    status: str
    success: bool = True
    progress: float = 1.0
    reason: str | None = None
    memory_views: Mapping[str, Any] | None = None
    notices: Sequence[str] = field(default_factory=tuple)


def memory_detail(
    memory: Memory, zone: tzinfo, *, score: float | None = None, text: str | None = None, base: str | None = None
) -> MemoryDetail:
    """A memory for a list. `base`: the knowledge base it is from."""
    document = memory.body.get("document")
    return MemoryDetail(
        id=memory.id,
        memory_key=title_of(memory),
        memory_value=text if text is not None else readable(memory, zone),
        memory_type=memory_type(memory.kind),
        memory_time=milliseconds(memory.happened_at),
        create_time=milliseconds(memory.recorded_at),
        update_time=milliseconds(memory.known_from),
        conversation_id=memory.session,
        status=STATUS_OF[memory.status],
        confidence=memory.confidence,
        tags=list(memory.tags),
        info=memory.info,
        relativity=rounded(score),
        knowledgebase_id=base,
        file_id=document if isinstance(document, str) else None,
    )


def hit_detail(hit: Hit, zone: tzinfo, base: str | None = None) -> MemoryDetail:
    """A hit for a list."""
    return memory_detail(hit.memory, zone, score=hit.score, text=told(hit, zone), base=base)


def preference_detail(memory: Memory, score: float | None = None) -> PreferenceDetail:
    """A preference for a list."""
    said_by = memory.body.get("said_by")
    return PreferenceDetail(
        id=memory.id,
        preference=memory.text,
        preference_type=preference_type(memory),
        reasoning=f"Said by {said_by}." if said_by else "",
        create_time=milliseconds(memory.recorded_at),
        update_time=milliseconds(memory.known_from),
        conversation_id=memory.session,
        status=STATUS_OF[memory.status],
        relativity=rounded(score),
    )


def tool_detail(memory: Memory, zone: tzinfo, score: float | None = None) -> ToolDetail:
    """What is known of a tool, for a list."""
    return ToolDetail(
        id=memory.id,
        tool_type=memory_type(memory.kind) if memory.kind is not Kind.TRACE else "ToolTrajectoryMemory",
        tool_value=readable(memory, zone),
        experience=str(memory.body.get("experience", "")),
        create_time=milliseconds(memory.recorded_at),
        update_time=milliseconds(memory.known_from),
        conversation_id=memory.session,
        status=STATUS_OF[memory.status],
        relativity=rounded(score),
    )


def skill_detail(memory: Memory, score: float | None = None) -> SkillDetail:
    """A skill for a list."""
    body = SkillBody.of(memory)
    steps = "\n".join(f"{n}. {action_text(action)}" for n, action in enumerate(body.procedure, 1))
    value = SkillValue(
        name=title_of(memory),
        description=body.description,
        procedure=steps if memory.body.get("procedure") and not body.guide else memory.text,
        experience=list(body.pitfalls),
        preference=list(body.preconditions),
        examples=list(body.examples),
    )
    return SkillDetail(
        id=memory.id,
        skill_type=memory_type(memory.kind),
        skill_value=value,
        create_time=milliseconds(memory.recorded_at),
        update_time=milliseconds(memory.known_from),
        status=STATUS_OF[memory.status],
        tags=list(memory.tags),
        relativity=rounded(score),
    )


def message_detail(memory: Memory, content: str | None = None, score: float | None = None) -> MessageDetail:
    """A raw record as the message it was. `content`: the whole text, where the record is only a part of it."""
    return MessageDetail(
        id=memory.id,
        role=memory.role or "user",
        content=memory.text if content is None else content,
        conversation_id=memory.session,
        message_id=memory.message_id,
        create_time=milliseconds(memory.happened_at),
        update_time=milliseconds(memory.known_from),
        relativity=rounded(score),
    )


def title_of(memory: Memory) -> str:
    """A short title: the memory's own, or how its text begins."""
    line = " ".join((memory.title or memory.text).split())
    return line if memory.title or len(line) <= _TITLE else line[: _TITLE - 1].rstrip() + "…"


def rounded(score: float | None) -> float | None:
    """A score on the scale of the wire, with four digits."""
    return None if score is None else round(relativity(score), 4)
