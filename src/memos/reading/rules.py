"""Reading a message by rules, without a model: what it says about its speaker, her plans and likes, and who is named.

Guards law 6 (works without a model). Nothing is learned from system, developer and tool messages, from recalled
memories, questions, what-ifs or quotations; an unnamed assistant's words are never facts about the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from memos.memory.message import Message
from memos.memory.model import Kind
from memos.reading.also_called import other_names
from memos.reading.answers import read_answer
from memos.reading.chinese_reader import read_chinese
from memos.reading.english_reader import read_english, read_statements
from memos.reading.finding import Finding
from memos.reading.hygiene import strip_injected, why_not
from memos.reading.scene import Scene
from memos.reading.sense import makes_sense
from memos.reading.wording import sentence
from memos.text.names import Name, NameType

_HAN = re.compile("[\u4e00-\u9fff]")
_LATIN = re.compile("[A-Za-z]")
_MENTION_CONFIDENCE = 0.6


def read_message(
    message: Message, *, user: str | None = None, previous: Sequence[Message] = (), named: bool = False
) -> tuple[Finding, ...]:
    """The findings of `message`, each with its evidence, without repeats. `named`: also what is said of somebody by a name alone.

    `user` names the speaker where the message does not; `previous` are the messages before it (the last one may
    hold the question this one answers). An assistant with a name speaks for herself; one without states only facts
    about things. Never raises for a text.
    """
    if why_not(message) is not None:
        return ()
    text, _ = strip_injected(message.text)
    chinese = _HAN.search(text) is not None
    speaker = message.name or (user if message.role == "user" else None)
    scene = Scene(message, text, speaker or _role_name(message.role, chinese), speaker or message.role)
    own = message.role == "user" or message.name is not None
    found: list[Finding] = []
    if chinese:
        found += read_chinese(scene, own=own)
    if _LATIN.search(text):
        found += read_english(scene) if own else read_statements(scene)
    if own:
        found = [*_called(scene, found), *found]
    if own and previous:
        found += read_answer(scene, previous[-1])
    return _distinct([*(f for f in found if named or not f.person), *_named(scene)])


def _role_name(role: str, chinese: bool) -> str:
    if chinese:
        return "用户" if role == "user" else "助手"
    return f"The {role}"


def _named(scene: Scene) -> Iterable[Finding]:
    """The names of a message as entities."""
    for name in scene.names:
        if name.confidence >= _MENTION_CONFIDENCE and not name.text.startswith("我"):
            yield Finding(
                kind=Kind.ENTITY,
                text=name.text,
                subject=name.text,
                attribute=str(name.type),
                value=name.text,
                start=name.start,
                end=name.end,
                confidence=name.confidence,
                mentions=(name,),
                said_by=scene.message.role,
            )


def _called(scene: Scene, found: list[Finding]) -> Iterable[Finding]:
    """What the speaker is called beside her name; it takes the place of the request to call her so (`found` is rid of it)."""
    for other in other_names(scene.text):
        if other.of is not None:
            continue
        span = (other.start, other.end)
        found[:] = [f for f in found if not (f.attribute == "always" and f.start <= other.start and other.end <= f.end)]
        han = _HAN.search(scene.who) or _HAN.search(other.name)
        text = f"{scene.who}叫{other.name}。" if han else sentence(scene.who, f"is called {other.name}")
        name = Name(other.name, other.start, other.end, NameType.PERSON, 0.9)
        yield replace(
            scene.finding(Kind.PROFILE, text, "nickname", span, span, single=True, confidence=0.9), mentions=(name,)
        )


def _distinct(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings in order of their evidence, the surest of those that say the same."""
    best: dict[tuple[Kind, str], Finding] = {}
    for finding in found:
        if not makes_sense(finding):
            continue
        key = (finding.kind, finding.key)
        if key not in best or finding.confidence > best[key].confidence:
            best[key] = finding
    return tuple(sorted(best.values(), key=lambda f: (f.kind is Kind.ENTITY, f.start, f.end)))
