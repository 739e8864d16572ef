"""A profile: what is known of somebody, ranked and rendered within a hard token budget. Nothing here reads a cube.

The surest and newest come first, by steps of certainty and whole days, so that the text changes only where something is learned:
a prompt that begins with it stays in the cache of a model.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from memos.memory.clock import shown_since
from memos.memory.holding import due_of, holds_at
from memos.memory.model import Kind, Memory
from memos.memory.profile import Profile, ProfileItem, Section
from memos.recall.pack import CLOSE, OPEN, escape, tokens

PROFILED = (Kind.PROFILE, Kind.FACT, Kind.PREFERENCE, Kind.COMMITMENT, Kind.EVENT)
# What each section is sure of, in hundredths of the budget; what one leaves, the next may take.
SHARES: Mapping[Section, int] = {
    Section.WISHES: 20,
    Section.FACTS: 35,
    Section.PREFERENCES: 25,
    Section.PLANS: 10,
    Section.EVENTS: 10,
}
_STEP = 0.1  # of certainty: what differs by less counts as equally sure, and the newer comes first
_OWNED = re.compile(r"['’]s ")
_HAN = re.compile("[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class _Words:
    """How a language heads the sections, and says since when something holds."""

    titles: Mapping[Section, str]
    since: str
    told: str
    due: str
    against: str


_ENGLISH = _Words(
    {
        Section.WISHES: "Always to be heeded:",
        Section.FACTS: "Known about {about}:",
        Section.PREFERENCES: "Preferences:",
        Section.PLANS: "Plans:",
        Section.EVENTS: "What happened, newest first:",
    },
    " (since {day})",
    " (told {day})",
    " (due {day})",
    " [contradicted by: {words}]",
)
_CHINESE = _Words(
    {
        Section.WISHES: "始终要遵守：",
        Section.FACTS: "关于{about}：",
        Section.PREFERENCES: "偏好：",
        Section.PLANS: "计划：",
        Section.EVENTS: "发生过的事（从新到旧）：",
    },
    "（自{day}起）",
    "（{day}提到）",
    "（{day}到期）",
    "［与此矛盾：{words}］",
)


@dataclass(frozen=True, slots=True)
class _Line:
    memory: Memory
    section: Section
    text: str


def is_about(memory: Memory, names: Collection[str], *, herself: bool) -> bool:
    """Whether a derived memory tells of somebody who bears one of these `names` (in lower case), or of what is theirs.

    `herself`: the user of the cube, whom the rules call by her name or "user": what a user's message says of its speaker too.
    """
    subject = str(memory.body.get("subject", "")).casefold()
    if not subject:
        return herself
    owner = _OWNED.split(subject, maxsplit=1)[0]
    if subject in names or owner in names:
        return True
    if not herself:
        return any(subject.endswith((f"'s {name}", f"’s {name}")) for name in names)
    return any(s.role == "user" and (s.speaker or "").casefold() in (subject, owner) for s in memory.sources)


def profile_of(
    memories: Iterable[Memory],
    *,
    about: str,
    max_tokens: int,
    now: datetime,
    zone: tzinfo,
    against: Mapping[str, Sequence[str]],
) -> Profile:
    """The profile of `about` from memories that tell of her: what holds at `now`, the surest and newest first.

    `against`: what contradicts a memory, by its id. The whole text never has more than `max_tokens` (of 4 characters).
    """
    holding = sorted((m for m in memories if holds_at(m, now)), key=_rank)
    chinese = sum(_HAN.search(m.text) is not None for m in holding) * 2 > len(holding)
    words = _CHINESE if chinese else _ENGLISH
    lines = [_line(m, words, zone, against.get(m.id, ())) for m in _each_once(holding)]
    shown = _chosen(lines, words, about, max_tokens)
    if not shown:
        return Profile("", left_out=len(lines))
    text = _rendered(shown, words, about)
    items = tuple(_item(line, tuple(against.get(line.memory.id, ()))) for line in shown)
    return Profile(text, items, tokens(text), len(lines) - len(shown))


def _section(m: Memory) -> Section:
    match m.kind:
        case Kind.EVENT:
            return Section.EVENTS
        case Kind.COMMITMENT:
            return Section.PLANS
        case Kind.PREFERENCE:
            return Section.WISHES if m.body.get("attribute") in ("always", "never") else Section.PREFERENCES
        case _:
            return Section.FACTS


def _rank(m: Memory) -> tuple[int, int, int, int, str]:
    """Facts told of the person herself before those of her relatives and things, preferences she told before implied ones."""
    section = _section(m)
    sure = round(m.confidence * m.trust / _STEP)
    day = m.happened_at
    newest = -day.toordinal() if day is not None else 0
    order = [*Section].index(section)
    if section is Section.EVENTS:
        return order, 0, newest, -sure, m.id
    if section is Section.PLANS:
        due = due_of(m)
        return order, due[0].toordinal() if due else 10**7, newest, -sure, m.id
    implied = m.body.get("preference_type") == "implicit_preference"
    theirs = 2 * (_OWNED.search(str(m.body.get("subject", ""))) is not None)
    later = implied if section is Section.PREFERENCES else theirs + (m.kind is not Kind.PROFILE)
    return order, int(later), -sure, newest, m.id


def _each_once(memories: Iterable[Memory]) -> list[Memory]:
    """Without what says the same in the same words."""
    seen: dict[tuple[Section, str], Memory] = {}
    for m in memories:
        seen.setdefault((_section(m), " ".join(m.text.casefold().split())), m)
    return list(seen.values())


def _line(m: Memory, words: _Words, zone: tzinfo, against: Sequence[str]) -> _Line:
    section, due = _section(m), due_of(m)
    since, told = shown_since(m, zone), _told(m, zone)
    text = escape(m.text)
    if section is Section.EVENTS:
        text = f"{since or told}: {text}" if since or told else text
    elif due is not None:
        text += words.due.format(day=f"{due[0].astimezone(zone):%Y-%m-%d}")
    elif since:
        text += words.since.format(day=since)
    elif told:
        text += words.told.format(day=told)
    if against:
        text += words.against.format(words=escape(" ".join(against)))
    return _Line(m, section, f"- {text}")


def _told(m: Memory, zone: tzinfo) -> str:
    when = next((s.time for s in m.sources if s.time is not None), m.recorded_at)
    return f"{when.astimezone(zone):%Y-%m-%d}" if when else ""


def _chosen(lines: Sequence[_Line], words: _Words, about: str, max_tokens: int) -> list[_Line]:
    """The lines that fit: each section gets its share first, then what is left goes to the first sections."""
    budget = max_tokens * 4 - len(OPEN) - len(CLOSE) - 1  # characters, without the line break before the last line
    kept: set[int] = set()
    headed: set[Section] = set()
    used = 0
    for limited in (True, False):
        for section in Section:
            spent = 0
            for i, line in enumerate(lines):
                if line.section is not section or i in kept:
                    continue
                cost = len(line.text) + 1 + (0 if section in headed else len(_title(words, section, about)) + 1)
                share = budget * SHARES[section] // 100 if limited else budget
                if used + cost > budget or spent + cost > share:
                    continue
                kept.add(i)
                headed.add(section)
                used, spent = used + cost, spent + cost
    return [line for i, line in enumerate(lines) if i in kept]


def _title(words: _Words, section: Section, about: str) -> str:
    return words.titles[section].format(about=escape(about))


def _rendered(lines: Sequence[_Line], words: _Words, about: str) -> str:
    parts = [OPEN]
    for section in Section:
        mine = [line.text for line in lines if line.section is section]
        if mine:
            parts += [_title(words, section, about), *mine]
    return "\n".join([*parts, CLOSE])


def _item(line: _Line, against: tuple[str, ...]) -> ProfileItem:
    m = line.memory
    return ProfileItem(
        id=m.id,
        section=line.section,
        text=m.text,
        since=m.valid_from,
        confidence=m.confidence,
        memory_ids=tuple(dict.fromkeys(s.memory_id for s in m.sources if s.memory_id)),
        message_ids=tuple(dict.fromkeys(s.message_id for s in m.sources if s.message_id)),
        against=against,
    )
