"""Tools that keep and show memories: add, search, get and list."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any, Literal

from pydantic import Field

from memos.memory.model import Kind, Memory
from memos.reading.parts import is_blank
from memos.tools.args import Args, Cube, Id, Listing, Name, Shown, Text, Time, Whole
from memos.tools.budget import as_json, piece, preview
from memos.tools.door import Door
from memos.tools.shapes import Card, cards, finite, moment, plain
from memos.tools.tool import Tool

_ROOM = 1_500  # characters of a whole memory's answer beside its text and info

KindName = Literal[
    "trace", "tool_call", "document", "chunk", "image", "fact", "profile", "preference", "commitment", "tool_schema", "event",
    "working", "summary", "policy", "entity", "world_model", "skill", "outer",
]  # fmt: skip
Tags = list[Name]


class ChatMessage(Args):
    """One message of a conversation."""

    role: Literal["user", "assistant", "system", "tool"] = "user"
    content: str = Field(max_length=200_000)
    time: Time | None = None


class Add(Args):
    """Arguments of memos_add."""

    content: Text | list[ChatMessage] = Field(
        description="What to remember, in plain words, or a list of chat messages. Facts are read from it by themselves.",
    )
    session: Name | None = Field(default=None, description="The conversation it belongs to.")
    tags: Tags | None = Field(default=None, max_length=50)
    info: dict[str, Any] | None = Field(default=None, description="Your own fields, as an object.")
    key: Name | None = Field(
        default=None, description="A name of this call: sent again with it, nothing is stored twice."
    )
    wait: bool | None = Field(default=None, description="Return only when facts are read and vectors made.")
    cube: Cube = None


class Stored(Shown):
    """A record."""

    id: str
    new: bool = Field(description="False: it was there already.")
    text: str


class Added(Listing):
    """What was stored."""

    status: Literal["stored", "nothing_stored"]
    cube: str | None = None
    records: list[Stored] = Field(default_factory=list)
    notices: list[str] = Field(default_factory=list)
    pending: bool = Field(
        default=False, description="Facts are still being read in the background; search finds the records now."
    )


async def add(door: Door, asked: Add) -> Added:
    """Store a text, or messages."""
    content: Any = asked.content
    if not isinstance(content, str):
        if all(is_blank(message.content) for message in content):
            return Added(status="nothing_stored", notices=["there is nothing to be seen in any message"])
        content = [
            {"role": m.role, "content": m.content, **({} if m.time is None else {"chat_time": m.time})} for m in content
        ]
    done = await door.system.add(
        content,
        session=asked.session or door.session,
        tags=asked.tags or (),
        info=asked.info or None,
        idempotency_key=asked.key,
        wait=bool(asked.wait),
        **door.where(asked.cube),
    )
    records = [Stored(id=r.id, new=r.new, text=preview(r.text, 200)) for r in done.records]
    return Added(status="stored", cube=done.cube, records=records, notices=list(done.notices), pending=done.pending)


class Search(Args):
    """Arguments of memos_search."""

    query: Text
    maxResults: Annotated[Whole, Field(ge=1, le=50)] | None = Field(default=None, description="Most hits (10).")
    tier1topK: Annotated[Whole, Field(ge=0, le=100)] | None = Field(default=None, description="Most skills (3).")
    tier2topK: Annotated[Whole, Field(ge=0, le=100)] | None = Field(
        default=None, description="Most memories and episodes (as many as maxResults)."
    )
    tier3topK: Annotated[Whole, Field(ge=0, le=100)] | None = Field(
        default=None, description="Most statements of the world model (3)."
    )
    sessionScope: bool | None = Field(default=None, description="Only what was said in this session.")
    session: Name | None = Field(
        default=None, description="Which session sessionScope means; by default this connection's."
    )
    kinds: list[KindName] | None = Field(default=None, max_length=18, description="Only memories of these kinds.")
    as_of: Time | None = Field(default=None, description="What was true then.")
    cube: Cube = None


class Found(Shown):
    """A hit."""

    tier: int = Field(description="1 a skill, 2 a memory or an episode, 3 the world model.")
    refKind: str
    refId: str
    score: float | None = Field(
        default=None, description="0 to 1; none for skills and the world model, which are in order."
    )
    snippet: str
    when: str | None = None
    outdated: list[str] | None = Field(default=None, description="What it says that newer memories replaced.")
    contradicted: list[str] | None = Field(
        default=None, description="What says otherwise; which is right is not known."
    )


class Answer(Listing):
    """What was found."""

    hits: list[Found] = Field(default_factory=list)
    status: str
    reasons: list[str] = Field(default_factory=list, description="Why something may be missing.")
    totalMs: int = 0


async def search(door: Door, asked: Search) -> Answer:
    """Skills, memories and the world model, in this order."""
    begun, most = time.perf_counter(), asked.maxResults or 10
    where, session = door.where(asked.cube), asked.session or door.session or "default"
    scope: Any = {"session": session} if asked.sessionScope else None
    least = (3 if asked.tier1topK is None else asked.tier1topK, 3 if asked.tier3topK is None else asked.tier3topK)
    aside = asked.sessionScope or asked.kinds or asked.as_of  # what was learned belongs to no session, and to no day
    many = most if asked.tier2topK is None else asked.tier2topK
    skills, world, found = await asyncio.gather(
        door.system.skills(asked.query, limit=least[0], **where) if least[0] and not aside else _none(),
        door.system.world(asked.query, hops=1, limit=least[1], **where) if least[1] and not aside else _none(),
        door.system.search(asked.query, limit=many, filter=scope, kinds=asked.kinds, as_of=asked.as_of, **where)
        if many
        else _none(),
    )
    first = [
        Found(tier=1, refKind="skill", refId=s.id, snippet=preview(f"{s.name}: {s.body.description}"))
        for s in (skills or ())[: least[0]]
    ]
    last = [
        Found(
            tier=3, refKind="world_model", refId=s.id, snippet=preview(s.memory.text), when=moment(s.memory.happened_at)
        )
        for s in (world.statements if world else ())[: least[1]]
    ]
    if found is None:
        return _answer(first + last, most, "found" if first or last else "nothing", (), begun)
    known = {one.refId for one in first}
    middle = [
        Found(
            tier=1 if hit.memory.kind is Kind.SKILL else 2,
            refKind=hit.memory.kind.value,
            refId=hit.id,
            score=finite(hit.score),
            snippet=preview(hit.text),
            when=moment(hit.memory.happened_at),
            outdated=[preview(m.text, 200) for m in hit.outdated[:3]] or None,
            contradicted=[preview(c.text, 200) for c in hit.contradicts[:3]] or None,
        )
        for hit in found.hits
        if hit.id not in known
    ]
    room = max(1, most - len(first) - len(last))
    hits = (
        [*first, *middle[:room], *last]
        if most > len(first) + len(last)
        else [*middle[: max(1, most // 2)], *first, *last]
    )
    status = "found" if hits and found.status.value == "nothing" else found.status.value
    return _answer(hits, most, status, found.reasons, begun)


async def _none() -> None:
    return None


def _answer(hits: list[Found], most: int, status: str, reasons: Any, begun: float) -> Answer:
    took = round((time.perf_counter() - begun) * 1_000)
    return Answer(hits=hits[:most], status=status, reasons=list(reasons), totalMs=took)


class Get(Args):
    """Arguments of memos_get."""

    id: Id
    kind: Literal["trace", "policy", "world_model", "skill", "episode"] | None = Field(
        default=None, description="What the id names, as memos_search told; needed for an episode only."
    )
    offset: Annotated[Whole, Field(ge=0, le=100_000_000)] | None = Field(
        default=None, description="Where in a long text to go on (next_offset)."
    )
    cube: Cube = None


class Got(Shown):
    """A memory, whole or a piece of it."""

    id: str
    kind: str
    text: str
    length: int = Field(description="Characters of the whole text.")
    next_offset: int | None = Field(default=None, description="Where the rest begins; none when this is all.")
    title: str | None = None
    when: str | None = None
    status: str | None = None
    version: int | None = None
    tags: list[str] | None = None
    session: str | None = None
    role: str | None = None
    owner: str | None = None
    importance: float | None = None
    info: dict[str, Any] | None = None
    meta: dict[str, Any] | None = Field(
        default=None, description="What is counted of something learned: state, support, gain, trials."
    )


async def get(door: Door, asked: Get) -> Got:
    """A memory with its whole text, or the next piece of it."""
    if asked.kind == "episode":
        found = await door.system.episode(asked.id, **door.where(asked.cube))
        lines = [f"{s.role.value}: {s.words}" for s in found.steps]
        return _piece(door, asked.offset or 0, "\n".join([found.episode.goal, *lines]), id=asked.id, kind="episode",
                      when=moment(found.episode.opened_at), session=found.episode.session,
                      meta={"outcome": found.episode.outcome, "reward": finite(found.episode.reward)})  # fmt: skip
    where = await door.at_home(asked.id, asked.cube)
    memory = await door.system.get(asked.id, **where)
    return whole(door, memory, await _meta(door, memory, where), asked.offset or 0)


async def _meta(door: Door, memory: Memory, where: dict[str, Any]) -> dict[str, Any] | None:
    """What is counted of something learned."""
    if memory.kind is Kind.POLICY:
        learned: Any = await door.system.policy(memory.id, **where)
    elif memory.kind is Kind.SKILL:
        learned = await door.system.skill(memory.id, **where)
    elif memory.kind is Kind.WORLD_MODEL:
        said = await door.system.world_statement(memory.id, **where)
        return {
            "section": said.body.section,
            "environment": said.body.environment,
            "holds": said.body.holds,
            "fails": said.body.fails,
        }
    else:
        return None
    record = learned.record
    return {
        "state": learned.body.state.value, "support": record.support, "gain": finite(record.gain), "passes": record.passes,
        "fails": record.fails, "reliability": finite(record.reliability),
    }  # fmt: skip


def whole(door: Door, memory: Memory, meta: dict[str, Any] | None, offset: int = 0) -> Got:
    """A memory, its text from `offset` on, as far as it fits."""
    info: Any = plain(memory.info) or None
    if info is not None and len(as_json(info)) > door.budget // 4:
        info = {"left_out": f"{len(as_json(info))} characters of info do not fit here"}
    return _piece(
        door, offset, memory.text, id=memory.id, kind=memory.kind.value, title=memory.title and preview(memory.title, 200),
        when=moment(memory.happened_at), status=memory.status.value, version=memory.version, tags=list(memory.tags[:50]) or None,
        session=memory.session, role=memory.role, owner=memory.owner, importance=finite(memory.importance), info=info, meta=meta,
    )  # fmt: skip


def _piece(door: Door, offset: int, text: str, **fields: Any) -> Got:
    start = min(offset, len(text))
    room = max(200, door.budget - _ROOM - len(as_json([fields.get("info"), fields.get("tags"), fields.get("meta")])))
    end = piece(text, start, room)
    return Got(text=text[start:end], length=len(text), next_offset=end if end < len(text) else None, **fields)


class List(Args):
    """Arguments of memos_list."""

    kinds: list[KindName] | None = Field(default=None, max_length=18)
    session: Name | None = None
    tag: Name | None = None
    limit: Annotated[Whole, Field(ge=1, le=200)] | None = Field(default=None, description="Most memories (20).")
    cursor: str | None = Field(default=None, max_length=512, description="From the page before, to go on.")
    oldest_first: bool | None = None
    cube: Cube = None


class Listed(Listing):
    """One page."""

    items: list[Card] = Field(default_factory=list)
    cursor: str | None = Field(default=None, description="Give it again for the next page; none on the last one.")


async def list_memories(door: Door, asked: List) -> Listed:
    """Memories in order of creation. A page holds no more than fits, so that nothing is left out between pages."""
    conditions: dict[str, Any] = {}
    if asked.session is not None:
        conditions["session"] = asked.session
    if asked.tag is not None:
        conditions["tags"] = {"contains": asked.tag}
    limit = min(asked.limit or 20, max(1, door.budget // 800))
    page = await door.system.list(
        filter=conditions or None, kinds=asked.kinds, limit=limit, cursor=asked.cursor or None,
        newest_first=not asked.oldest_first, **door.where(asked.cube),
    )  # fmt: skip
    return Listed(items=cards(page.items, 300), cursor=page.cursor)


TOOLS: tuple[Tool[Any], ...] = (
    Tool("memos_add", "Remember", "Remember something: a statement, or messages of a conversation. Facts, names and times are "
         "read from it by themselves. The same said twice is stored once.", Add, Added, add),
    Tool("memos_search", "Search memory", "Find what is remembered about a question: skills (tier 1), memories and episodes "
         "(tier 2), the world model (tier 3). Snippets are cut; memos_get has the whole.", Search, Answer, search, reads=True),
    Tool("memos_get", "Read one memory", "The whole of a memory by its id, with its details; a long one piece by piece "
         "(next_offset).", Get, Got, get, reads=True),
    Tool("memos_list", "List memories", "Memories in order of creation, newest first, a page at a time.", List, Listed,
         list_memories, reads=True),
)  # fmt: skip
