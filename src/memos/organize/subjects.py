"""Whom a statement is about, where its subject is another name of somebody known: both are filed under one subject, so that they
meet. What is known already stays where it is.
"""

from __future__ import annotations

import re
from dataclasses import replace

from memos.memory.model import Memory
from memos.memory.statement import Statement
from memos.organize.entities import aliased
from memos.storage.ports import WriteTx

SELF = frozenset(("user", "用户"))  # what slots call a user whose name is not known
_POSSESSED = re.compile(r"^(.+?)('s |’s |的)(.+)$")


def resolved(tx: WriteTx, trace: Memory, s: Statement) -> Statement:
    """The statement about the subject that its own subject is another name of; the same when it is none."""
    subject = s.slot.rpartition("|")[0]
    if not subject or subject in SELF or subject.startswith(("user's ", "用户的")):
        return s
    known = _canonical(tx, trace, subject)
    if known is None:
        return s

    def moved(text: str) -> str:
        return f"{known}{text[len(subject) :]}" if text.startswith(f"{subject}|") else text

    ends = tuple(replace(e, slot=moved(e.slot), key=moved(e.key)) for e in s.ends)
    return replace(s, slot=moved(s.slot), key=moved(s.key), ends=ends)


def _canonical(tx: WriteTx, trace: Memory, subject: str) -> str | None:
    """What a subject is called, where it is an alias, or the possession of one ("bob's sister")."""
    possessed = _POSSESSED.match(subject)
    for name, rest in ((subject, ""), *([(possessed[1], possessed[2] + possessed[3])] if possessed else [])):
        entity = aliased(tx, name)
        if entity is None:
            continue
        known = str(entity.body.get("subject") or entity.text.casefold())
        speaks = (trace.speaker or trace.role or "user").casefold()
        if known == name or speaks in (known, name) or (known in SELF and trace.role == "user"):
            return None  # nobody speaks of herself like that: it is another of the same name
        return f"{known}{rest}"
    return None
