"""Whom a statement is about, where its subject is another name of somebody known: both are filed under one subject, so that they
meet. What is known already stays where it is.
"""

from __future__ import annotations

import re
from dataclasses import replace

from memos.memory.model import Kind, Memory
from memos.memory.statement import Statement
from memos.organize.entities import aliased
from memos.storage.ports import WriteTx

SELF = frozenset(("user", "用户"))  # what slots call a user whose name is not known
_HAS = re.compile(r"\bhas an? ([\w -]+?) named (\w[\w'’-]*)")
_CALLED = re.compile("(?:的|有一只)([\u4e00-\u9fff]+?)叫([^。]+)")
_POSSESSED = re.compile(r"^(.+?)('s |’s |的)(.+)$")


def resolved(tx: WriteTx, trace: Memory, s: Statement) -> Statement:
    """The statement about the subject that its own subject is another name of; the same when it is none."""
    if s.person:
        return _of_person(tx, s)
    subject = s.slot.rpartition("|")[0]
    if not subject or subject in SELF or subject.startswith(("user's ", "用户的")):
        return s
    known = _canonical(tx, trace, subject)
    if known is None:
        return s

    return _moved(s, subject, known)


def _moved(s: Statement, subject: str, known: str) -> Statement:
    def moved(text: str) -> str:
        return f"{known}{text[len(subject) :]}" if text.startswith(f"{subject}|") else text

    ends = tuple(replace(e, slot=moved(e.slot), key=moved(e.key)) for e in s.ends)
    return replace(s, slot=moved(s.slot), key=moved(s.key), ends=ends)


def _of_person(tx: WriteTx, s: Statement) -> Statement:
    """The statement about the one relative, friend or colleague of this name, as who that is; the same where there is none."""
    subject = s.slot.rpartition("|")[0]
    chinese = subject.endswith(f"的{s.person.casefold()}")
    mark, called = ("的", _CALLED) if chinese else ("'s ", _HAS)
    owner = subject.removesuffix(f"{mark}{s.person.casefold()}")
    told = (called.search(m.text) for m in tx.find_about(owner, Kind.PROFILE) if m.body.get("value") == s.person)
    nouns = {found[1].casefold() for found in told if found and found[2] == s.person}
    if len(nouns) != 1:
        return s
    noun = nouns.pop()
    who = noun if chinese else f"{noun} {s.person}"
    text = s.text.replace(f"{mark}{s.person}", f"{mark}{who}", 1)
    body = {**s.body, "subject": str(s.body.get("subject", "")).replace(s.person, who)}
    return replace(_moved(s, subject, f"{owner}{mark}{who.casefold()}"), text=text, body=body, person="")


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
