"""A document: one memory that names it, and pieces of its text that are found and that cover every character.

All pieces of an edition are stored in one change, and a new edition takes the place of the former one as a whole (law 1: the
former stays in the history). Rules do not read a document for facts: what it says, nobody said. A model may, piece by piece.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from memos.errors import InvalidInput, UnreadableFile
from memos.memory.ids import new_id, unique_key
from memos.memory.model import TRUST_OF, Edge, EdgeType, Kind, Memory, Origin, Source, Status
from memos.memory.time import utcnow
from memos.reading.files import read_file
from memos.reading.traces import PART_CHARS
from memos.storage.ports import READ, WriteTx
from memos.storage.threads import ThreadPool
from memos.text.analysis import passages
from memos.text.document import TermRow, term_row

_HEADING = re.compile(r"^#{1,6}[ \t]+(.{1,120}?)[ \t#]*$", re.MULTILINE)
UNREAD = "unread"  # in the body of a piece that a new edition left out before a model had read it
_TICK = timedelta(microseconds=1)
SECONDS = 300.0  # that reading one file may take
_readers = ThreadPool(2, "memos-files")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the text, ready to be stored: from which character to which, and under which heading."""

    memory: Memory
    terms: TermRow


@dataclass(frozen=True, slots=True)
class Edition:
    """A document ready to be stored. `key` says what "the same document" means, `digest` what "the same edition"."""

    memory: Memory
    pieces: tuple[Piece, ...]
    key: bytes
    digest: str


@dataclass(frozen=True, slots=True)
class Kept:
    """What storing a document did: its memory, whether it is new, whether it took the place of a former edition; the pieces that
    are new with it, and those of the former edition that are not in it any more.
    """

    memory: Memory
    new: bool
    replaced: bool
    pieces: tuple[str, ...] = ()
    left: tuple[Memory, ...] = ()


async def read_aside(data: bytes, name: str, media_type: str | None, **about: Any) -> Edition:
    """`read_edition` in a thread of its own kind: large or hostile files hold up other files at most, and nobody for ever."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise InvalidInput(
            f"data is the bytes of a file, not {type(data).__name__}; read it with Path(...).read_bytes()"
        )
    work = partial(read_edition, bytes(data), name, media_type, **about)
    try:
        async with asyncio.timeout(SECONDS):
            return await asyncio.get_running_loop().run_in_executor(_readers, work)
    except TimeoutError:
        raise UnreadableFile(f"{name!r:.80} could not be read within {SECONDS:.0f} s; nothing was stored") from None


def read_edition(
    data: bytes,
    name: str,
    media_type: str | None,
    *,
    document_id: str | None,
    owner: str,
    tags: Sequence[str],
    info: Mapping[str, Any],
) -> Edition:
    """A document of a file's bytes. Blocking: call it in a thread. Raises what `read_file` raises."""
    found = read_file(data, name=name, media_type=media_type)
    return to_edition(
        found.text,
        name=name,
        type=found.type,
        digest=hashlib.sha256(data).hexdigest(),
        size=len(data),
        now=utcnow(),
        owner=owner,
        document_id=document_id,
        tags=tags,
        info={**info, "document_title": found.title} if found.title else info,
    )


def to_edition(
    text: str,
    *,
    name: str,
    type: str,
    digest: str,
    size: int,
    now: datetime,
    owner: str,
    document_id: str | None = None,
    tags: Sequence[str] = (),
    info: Mapping[str, Any] | None = None,
) -> Edition:
    """A document of a text. Without a `document_id` the same name and content are the same document. Blocking: takes about a
    second for a million characters.
    """
    about = ("id", document_id) if document_id is not None else ("content", name, digest)
    key = unique_key("document", *about)
    spans = passages(text, PART_CHARS) if len(text) > PART_CHARS else [(0, len(text))]
    spans = [(start, end) for start, end in spans if text[start:end].strip()]
    whole = Memory(
        id=new_id(),
        kind=Kind.DOCUMENT,
        text=f"{name} (document in {len(spans)} parts)" if len(spans) > 1 else f"{name} (document)",
        title=name,
        tags=tuple(tags),
        valid_from=now,
        origin=Origin.IMPORT,
        trust=TRUST_OF[Origin.IMPORT],
        owner=owner,
        info=dict(info or {}),
        body={
            "name": name,
            "type": type,
            "sha256": digest,
            "bytes": size,
            "chars": len(text),
            "parts": len(spans),
            **({"document_id": document_id} if document_id is not None else {}),
        },
    )
    headings = [(m.start(), m[1].strip()) for m in _HEADING.finditer(text)] if type in _HEADED else []
    pieces, at = [], 0
    for part, (start, end) in enumerate(spans):
        while at < len(headings) and headings[at][0] <= start:
            at += 1
        heading = headings[at - 1][1] if at else None
        memory = replace(
            whole,
            id=new_id(),
            kind=Kind.CHUNK,
            text=text[start:end],
            title=f"{name} › {heading}" if heading else name,
            valid_from=now + _TICK * part,
            body={"part": part, "parts": len(spans), "start": start, "end": end},
        )
        pieces.append(Piece(memory, term_row(memory)))
    return Edition(whole, tuple(pieces), key, digest)


_HEADED = frozenset({"markdown", "html", "docx"})


def store_edition(tx: WriteTx, edition: Edition, *, fine: bool = False) -> Kept:
    """Store a document, in the place of its former edition where there is one. The same edition again changes nothing.

    `fine`: mark the new pieces to be read by a model. Pieces that both editions have stay, with what was read from them.
    """
    known = tx.find_key(edition.key)
    former = tx.get(known) if known is not None else None
    document = edition.memory
    if former is not None:
        if former.status is Status.ACTIVE and _same(former, document):
            return Kept(former, False, False)
        document = replace(document, id=former.id, version=former.version)
    there: dict[str, list[Memory]] = {}
    for old in _pieces(tx, former.id) if former is not None else ():
        there.setdefault(old.text, []).append(old)
    session = f"document:{document.id}"
    stored = tx.put(replace(document, session=session), "add" if former is None else "update", key=edition.key)
    added = []
    for piece in edition.pieces:
        body = {**piece.memory.body, "document": stored.id}
        source = Source(memory_id=stored.id, start=body["start"], end=body["end"], uri=stored.title)
        memory = replace(piece.memory, session=session, body=body, sources=(source,))
        if same := there.get(memory.text):
            _keep(tx, same.pop(0), memory)
            continue
        tx.put(memory, "add", terms=piece.terms)
        tx.link(Edge(memory.id, stored.id, EdgeType.PART_OF))
        if fine:
            tx.mark(memory.id, READ)
        added.append(memory.id)
    left = [old for rest in there.values() for old in rest]
    for old in left:
        body = {**old.body, UNREAD: True} if tx.unmark(old.id, READ) else {**old.body}
        tx.put(replace(old, status=Status.SUPERSEDED, valid_to=tx.now, body=body), "supersede")
    return Kept(stored, former is None, former is not None, tuple(added), tuple(left))


def _keep(tx: WriteTx, old: Memory, new: Memory) -> None:
    """A piece that was in the former edition stays, in its new place, with its id, its time and what was read from it."""
    kept = replace(old, title=new.title, tags=new.tags, info=new.info, body=new.body, sources=new.sources)
    if kept != old:
        tx.put(kept, "update")


def _same(former: Memory, new: Memory) -> bool:
    return (former.body, former.title, former.tags, former.info) == (new.body, new.title, new.tags, new.info)


def _pieces(tx: WriteTx, id: str) -> list[Memory]:
    """The pieces of the edition that stands, in their order."""
    found = (tx.get(edge.src) for edge in tx.edges(id, "in", (EdgeType.PART_OF,)))
    there = [piece for piece in found if piece is not None and piece.status is Status.ACTIVE]
    return sorted(there, key=lambda piece: int(piece.body.get("part", 0)))
