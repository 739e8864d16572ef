"""Tools that change memories or take them away, and what the user says of them."""

from __future__ import annotations

import contextlib
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from memos.errors import InvalidInput, NotFound
from memos.tools.args import Args, Cube, Id, Listing, Name, Share, Shown, Text, Whole
from memos.tools.budget import preview
from memos.tools.door import Door
from memos.tools.memories import Tags
from memos.tools.shapes import Card, card, cards
from memos.tools.tool import Tool

_MOST_FORGOTTEN = 1_000


class Update(Args):
    """Arguments of memos_update."""

    id: Id
    text: Text | None = None
    title: Text | None = None
    tags: Tags | None = Field(default=None, max_length=50)
    info: dict[str, Any] | None = Field(default=None, description="Merged into what is there; a null removes a key.")
    importance: Share | None = None
    if_version: Annotated[Whole, Field(ge=1, le=2_147_483_647)] | None = Field(
        default=None, description="Change it only while it has this version."
    )
    cube: Cube = None


class Updated(Shown):
    """The memory as it is now."""

    changed: bool
    memory: Card
    version: int


async def update(door: Door, asked: Update) -> Updated:
    """Change a memory; its former version stays in its history."""
    where = await door.at_home(asked.id, asked.cube)
    fields = {
        name: value
        for name in ("text", "title", "tags", "info", "importance")
        if (value := getattr(asked, name)) is not None and value != {}
    }
    if not fields:
        memory = await door.system.get(asked.id, **where)
        return Updated(changed=False, memory=card(memory), version=memory.version)
    memory = await door.system.update(asked.id, if_version=asked.if_version, cause="memos_update", **fields, **where)
    return Updated(changed=True, memory=card(memory), version=memory.version)


class Delete(Args):
    """Arguments of memos_delete."""

    ids: list[Id] = Field(min_length=1, max_length=100)
    hard: bool | None = Field(
        default=None, description="Gone for good (true, the default), or only taken back, to be undone."
    )
    dry_run: bool | None = Field(default=None, description="Say what would go, and change nothing.")
    cube: Cube = None


class Deleted(Listing):
    """What is gone."""

    deleted: int = Field(description="How many were meant; of a dry run, how many would be.")
    with_them: int = Field(default=0, description="Facts that rested on nothing else.")
    hard: bool = True
    dry_run: bool = False
    missing: list[str] = Field(default_factory=list, description="Ids that do not exist.")
    memories: list[Card] = Field(default_factory=list)


async def delete(door: Door, asked: Delete) -> Deleted:
    """Delete memories by id. An id that does not exist is told, and stops none of the others."""
    ids, hard = list(dict.fromkeys(one.lower() for one in asked.ids)), asked.hard is not False
    out = Deleted(deleted=0, hard=hard, dry_run=bool(asked.dry_run))
    for cube, held in (await door.homes(ids, asked.cube)).items():
        where = door.where(cube)
        there = await _there(door, held, where)
        out.missing += [one for one in held if one not in there]
        if there:
            done = await door.system.delete(there, hard=hard, dry_run=bool(asked.dry_run), **where)
            out.deleted += len(there)
            out.with_them += done.cascaded
    if not out.deleted:
        raise NotFound(f"ids: none of these memories exists here ({', '.join(out.missing[:3])})")
    return out


async def _there(door: Door, ids: list[str], where: dict[str, Any]) -> list[str]:
    """Those of the ids that exist."""
    if not door.local:
        got: Any = await cast("Any", door.system).get_many(ids, **where)
        return [one for one in ids if one not in got.missing]
    found = []
    for id in ids:
        with contextlib.suppress(NotFound):
            await door.system.get(id, **where)
            found.append(id)
    return found


class Forget(Args):
    """Arguments of memos_forget."""

    phrase: str = Field(
        min_length=2,
        max_length=500,
        pattern=r"[^\W_].*[^\W_]",
        description="Words as they stand in the memories, all of them, in this order; no wildcards.",
    )
    session: Name | None = Field(default=None, description="Only in this session.")
    hard: bool | None = Field(
        default=None, description="Gone for good, or (false, the default) taken back, to be undone."
    )
    dry_run: bool | None = Field(default=None, description="Say what would go, and change nothing. Do this first.")
    cube: Cube = None


async def forget(door: Door, asked: Forget) -> Deleted:
    """Delete the memories that hold a phrase, the whole of it."""
    where = door.where(asked.cube)
    conditions: dict[str, Any] = {
        "text": {"like": asked.phrase.strip()},
        "kind": {"ne": "entity"},
    }  # a name says nothing
    if asked.session is not None:
        conditions["session"] = asked.session
    page = await door.system.list(filter=conditions, limit=_MOST_FORGOTTEN, **where)
    if page.cursor is not None:
        raise InvalidInput(
            f"phrase: more than {_MOST_FORGOTTEN:,} memories hold {asked.phrase!r:.60}; give more of the words"
        )
    found = [memory for memory in page.items if _holds(memory.text, asked.phrase)]
    hard, rehearsal = bool(asked.hard), bool(asked.dry_run)
    if not found:
        return Deleted(deleted=0, hard=hard, dry_run=rehearsal)
    done = await door.system.delete([m.id for m in found], hard=hard, dry_run=rehearsal, **where)
    return Deleted(
        deleted=len(found), with_them=done.cascaded, hard=hard, dry_run=rehearsal, memories=cards(found, 200)
    )


def _holds(text: str, phrase: str) -> bool:
    """Whether the phrase stands in the text as words: 'art' is not in 'party'."""
    folded, wanted = text.casefold(), phrase.strip().casefold()
    start = folded.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        if _apart(folded[start - 1 : start], wanted[0]) and _apart(folded[end : end + 1], wanted[-1]):
            return True
        start = folded.find(wanted, start + 1)
    return False


def _apart(beside: str, edge: str) -> bool:
    """Whether a word ends between two signs. Chinese and Japanese write none apart."""
    return not (beside.isalnum() and edge.isalnum() and beside.isascii() and edge.isascii())


class Feedback(Args):
    """Arguments of memos_feedback."""

    text: Text = Field(
        description="What the user says: 'no, it is Bergen, not Oslo', 'forget what I said about my ex'."
    )
    targets: list[Id] | None = Field(default=None, max_length=50, description="Ids of the memories it is about.")
    rating: Literal["up", "down", "succeeded", "failed"] | None = None
    session: Name | None = None
    dry_run: bool | None = Field(default=None, description="Say what would be done, and change nothing.")
    cube: Cube = None


class Operation(Shown):
    """One thing that was done."""

    operation: str
    before: list[str] = Field(default_factory=list)
    after: list[str] = Field(default_factory=list)
    ids: list[str] = Field(default_factory=list)


class Understood(Listing):
    """What came of feedback."""

    understood: bool
    message: str = ""
    operations: list[Operation] = Field(default_factory=list)
    candidates: list[Card] = Field(
        default_factory=list, description="What may have been meant; give their ids as targets."
    )
    record: str | None = Field(default=None, description="Id of the feedback itself; undoing it undoes all it did.")


async def feedback(door: Door, asked: Feedback) -> Understood:
    """Put right, add, replace, forget or confirm, in the user's words."""
    done = await door.system.feedback(
        asked.text, session=asked.session or door.session, targets=asked.targets, rating=asked.rating,
        dry_run=bool(asked.dry_run), **door.where(asked.cube),
    )  # fmt: skip
    return Understood(
        understood=done.understood,
        message=done.message,
        operations=[
            Operation(
                operation=one.operation.value,
                before=[preview(t.text, 200) for t in one.targets],
                after=[preview(m.text, 200) for m in one.made],
                ids=[m.id for m in one.made if m.id],
            )
            for one in done.operations
        ],
        candidates=[Card(id=c.id, kind="candidate", text=preview(c.text, 200)) for c in done.candidates],
        record=done.record,
    )


TOOLS: tuple[Tool[Any], ...] = (
    Tool("memos_update", "Change a memory", "Change the text, title, tags, info or importance of a memory. The former version "
         "stays in its history.", Update, Updated, update, destroys=True, again=True),
    Tool("memos_delete", "Delete memories", "Delete memories by id, with the facts that rest on nothing else.", Delete, Deleted,
         delete, destroys=True),
    Tool("memos_forget", "Forget a phrase", "Take back the memories that hold a phrase (all its words, in order). Make a "
         "dry_run first and show the user what would go.", Forget, Deleted, forget, destroys=True, again=True),
    Tool("memos_feedback", "Pass on what the user says of memory", "Correct, add, replace, forget or confirm in the user's own "
         "words. What is unclear changes nothing and names candidates.", Feedback, Understood, feedback,
         destroys=True, outside=True),
)  # fmt: skip
