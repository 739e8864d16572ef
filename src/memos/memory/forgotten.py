"""What a user asked to forget of a message that says other things too: the message stays as it was said (law 1), with a note
of the passages, which nothing is read from any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from zlib import crc32

from memos.memory.model import Memory

_NOTE = "forgotten"  # in the body of a record: {"of": checksum of the text, "spans": [[start, end], ...]}


def with_forgotten(record: Memory, spans: Iterable[tuple[int, int]]) -> Memory:
    """A record with the note that these characters of its text, and those noted before, are forgotten."""
    noted = sorted({*_spans(record), *spans})
    note = {"of": crc32(record.text.encode()), "spans": [[*span] for span in noted]}
    return replace(record, body={**record.body, _NOTE: note}) if noted else record


def readable(record: Memory) -> Memory:
    """A record as it is to be read: with blanks where its text is forgotten, so that every other character keeps its place. A
    text that was edited since is read whole.
    """
    text = record.text
    for start, end in _spans(record):
        text = text[:start] + " " * len(text[start:end]) + text[end:]
    return record if text == record.text else replace(record, text=text)


def _spans(record: Memory) -> list[tuple[int, int]]:
    note = record.body.get(_NOTE)
    if not note or note["of"] != crc32(record.text.encode()):
        return []
    return [(start, end) for start, end in note["spans"]]
