"""Which open commitment a statement calls off or moves: the one of its kind, or the one of its session. Where it may be one of
several, none: then all stay.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from memos.memory.holding import due_of, holds_at
from memos.memory.model import Kind, Memory
from memos.memory.statement import Reference, Statement
from memos.organize.known import told_as
from memos.storage.ports import WriteTx
from memos.storage.timeline import last_said, strangers
from memos.text.name_lists import CHINESE_PLACES, PLACES

_START = datetime(1, 1, 1, tzinfo=UTC)
_TRAVELS = r"trip|holidays?|vacation|journey|getaway|honeymoon|cruise|stay|visit"
_TRAVEL = re.compile(_TRAVELS)
# How a plan says that it is about a journey, and that it is about a place.
_TELLS_TRAVEL = re.compile(
    rf"\b(?:{_TRAVELS})\b"
    r"|\b(?:go|going|fly|flying|travel|travell?ing|drive|driving|head|heading) (?:back )?to (?:the )?(?-i:[A-Z])",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\bto (?:the )?([A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2})")
_AT = r"\b(?:to|in|visit(?:ing)?|for|around|through|see(?:ing)?|at) (?:the )?"
_HAN = re.compile("[\u4e00-\u9fff]")
_CHINESE_TRIP = "旅行"
_GOES = re.compile(r"[去到飞回往](?P<to>[\u4e00-\u9fff]{2,4}|[A-Z]\w+)|[旅出]行|旅游|度假")
_ARTICLES = frozenset(("a", "an", "the", "my", "our", "their", "his", "her", "another", "s", ""))


def referred(tx: WriteTx, trace: Memory, s: Statement) -> list[Memory]:
    """The open commitment that a statement changes, in all the ways it was told; nothing where that is not sure."""
    if s.of is None:
        return []
    of, told = s.of, trace.valid_from or _START
    meant = [
        m
        for m in tx.find_about(s.slot.rpartition("|")[0], Kind.COMMITMENT)
        if holds_at(m, told)
        and last_said(m) <= told
        and not strangers(m, trace)
        and not any(source.memory_id == trace.id for source in m.sources)
        and _is_meant(m, of)
    ]
    if of.within is not None:
        meant = [m for m in meant if (due := due_of(m)) is not None and _overlap(due, of.within)]
    if not _is_one(meant, of):
        meant = [m for m in meant if m.session is not None and m.session == trace.session]
    return meant if _is_one(meant, of) else []


def called_as_known(s: Statement, known: Sequence[Memory]) -> Statement:
    """The statement under the name that the commitment already has: "the appointment" is the dentist appointment."""
    attribute = str(s.body.get("attribute", ""))
    for m in known if not s.ended else ():
        name = _name_of(m, attribute)
        if not name or name.casefold() == attribute.casefold():
            continue
        subject = s.slot.rpartition("|")[0]
        slot = m.slot if m.body.get("attribute") == name and m.slot else f"{subject}|{name.casefold()}"
        told = told_as(s, slot, f"{slot}|{s.key.split('|', 2)[-1]}", single=True)
        text = s.text.replace(attribute, name, 1)
        return replace(told, text=text, body={**told.body, "attribute": name}, tags=(name,))
    return s


def _name_of(m: Memory, noun: str) -> str:
    """What a commitment calls itself more closely than by this noun: "dentist appointment", "trip to Tokyo"; "" for nothing."""
    attribute = str(m.body.get("attribute", ""))
    if attribute.endswith(f" {noun}") or attribute.startswith(f"{noun} to "):
        return attribute
    if _TRAVEL.fullmatch(noun):
        place = _PLACE.search(m.text)
        return f"{noun} to {place[1]}" if place else ""
    kind = re.search(rf"\b([\w-]+) {re.escape(noun)}\b", m.text)
    return f"{kind[1]} {noun}" if kind and kind[1].casefold() not in _ARTICLES else ""


def _is_meant(m: Memory, of: Reference) -> bool:
    text = m.text
    if _HAN.search(text) and (not of.noun or not of.noun.isascii()):
        fits = _goes_to(text) is not None if of.noun == _CHINESE_TRIP else of.noun in text
        return fits and of.name in text
    if of.name and not re.search(rf"{_AT if not of.noun else ''}\b{re.escape(of.name)}\b", text):
        return False
    if not of.noun:
        return True
    if _TRAVEL.fullmatch(of.noun.casefold()):
        return _TELLS_TRAVEL.search(text) is not None
    return all(re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE) for word in of.noun.split())


def _goes_to(text: str) -> str | None:
    """Where a Chinese plan goes to, "" where it only says that it is a journey; None for one that is none."""
    for match in _GOES.finditer(text):
        said = match["to"] or ""
        places = (said[:n] for n in range(len(said), 1, -1))
        if not said or (to := next((p for p in places if p in CHINESE_PLACES or p in PLACES), None)):
            return to if said else ""
    return None


def _is_one(meant: Sequence[Memory], of: Reference) -> bool:
    """Whether these are one commitment, told more than once: of the same name, and never of different days."""
    if len(meant) < 2:
        return bool(meant)
    days = [due for m in meant if (due := due_of(m)) is not None]
    if not all(_overlap(a, b) for a, b in itertools.combinations(days, 2)):
        return False
    if not of.noun or of.name:
        return True
    if of.noun == _CHINESE_TRIP:
        return len({_goes_to(m.text) for m in meant} - {""}) < 2
    if not of.noun.isascii():
        return len([m for m in meant if m.body.get("attribute") == "plan"]) < 2
    head = re.compile(rf"\b(\w+) {re.escape(of.noun.split()[0])}\b", re.IGNORECASE)
    kinds = {found[1].casefold() if (found := head.search(m.text)) else "" for m in meant}
    return len(days) == len(meant) and len(kinds - _ARTICLES) < 2


def _overlap(a: tuple[datetime, datetime], b: tuple[datetime, datetime]) -> bool:
    return a[0] < b[1] and b[0] < a[1]
