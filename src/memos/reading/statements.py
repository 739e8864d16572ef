"""What is stated of things by their code, number or place: "The boiler serial is HK-902"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memos.memory.model import Kind
from memos.reading import english
from memos.reading.finding import Finding
from memos.reading.patterns import words
from memos.reading.scene import Scene
from memos.reading.value import trimmed
from memos.reading.wording import sentence

FUNCTION = words(
    """
    that which who whom and or to when where if while because but so than as is are was were i you we he she they it
    for with from only own
    """
)
_STATED = re.compile(
    r"(?:(?:so|and|but|or|then|plus|note|remember|fyi|btw|ok|also|please note|note that|by the way|remember that|actually"
    r"|update|correction)[:,]? )*(?P<the>(?:the |our |this is the )?)"
    r"(?P<s>[A-Za-z0-9][\w'’#/-]*(?: [\w'’#/-]+){0,5}?)(?: is(?: now)?| are(?: now)?|:| =) (?P<v>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_CODE = re.compile(r"(?=[\w./+-]*\d)[\w#+][\w./+#-]*|[A-Z]{2,}(?:-[A-Z0-9]+)+|[\w.+-]+@[\w-]+\.[\w.]+|https?://\S+")
_STATED_VALUE = re.compile(
    rf"(?P<v>(?:(?:number|no\.|room|code|floor|gate|on floor|in room|at gate|on the|in the|on|at|in)"
    rf" )?(?:{_CODE.pattern})(?: (?:{_CODE.pattern})){{0,3}})(?=\s*(?:[.,;!?\n]|$))"
)
_WORD_VALUE = re.compile(r"(?P<v>[\"“']?[\w!@#$%^&*-]{3,40}[\"”']?)(?=\s*(?:[.;!?\n]|$))")
SECRET = words("password passcode code ssid username login pin combination token key")
NO_SUBJECT = words(
    """
    it this that there he she they what who which where here these those you i we one everything nothing something
    all how why when so and but life today tomorrow my your his her their if time not also then yes no or yesterday
    tonight its both someone anyone thing things part best worst reason point question problem answer way example
    price more most some any each every another other such no-one nobody everyone people
    """
)


def statement(scene: Scene, start: int, end: int) -> Iterator[Finding]:
    """What a sentence states of a thing by its code, number, place or date: "Locker 14 code is 2207"."""
    match = _STATED.match(scene.text, start, end)
    if match is None:
        return
    subject = match["s"]
    parts = subject.lower().split()
    if (
        parts[0] in NO_SUBJECT
        or set(parts) & (FUNCTION - {"for", "with", "from"})
        or subject.isdigit()
        or any("'" in p or "’" in p for p in parts[:1])
    ):
        return
    value = _STATED_VALUE.match(scene.text, match.start("v"), end)
    head_known = parts[-1] in english.VALUE_NOUNS or bool(re.search(r"\d", subject))
    if value is None and parts[-1] in SECRET and ":" not in match[0][:1]:
        value = _WORD_VALUE.match(scene.text, match.start("v"), end)
        if value is not None and value["v"].lower() in (
            "wrong",
            "correct",
            "right",
            "invalid",
            "missing",
            "weak",
            "strong",
            "broken",
            "good",
            "ready",
            "working",
            "here",
            "below",
            "attached",
            "secret",
            "expired",
            "required",
            "clean",
            "messy",
        ):
            return
    if value is None:
        return
    said = value["v"]
    article = "the " if match["the"].lower() == "our " else match["the"]
    identifier = re.search(r"[A-Z]+-?\d|\d-?[A-Z]|-\w+-|@|://", said) is not None
    if not (head_known or identifier or re.match(r"(?:number|room|floor|gate|on floor|in room) ", said)):
        return
    yield scene.finding(
        Kind.FACT,
        sentence(
            "",
            f"{article}{scene.text[match.start('s') : match.start('v')].strip()} {said}",
        ),
        "is",
        trimmed(scene.text, *value.span("v")),
        (match.start("s"), value.end("v")),
        subject=subject,
        single=True,
        confidence=0.85,
    )
