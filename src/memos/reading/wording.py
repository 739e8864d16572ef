"""Saying a finding on its own: in the third person, in English or Chinese."""

from __future__ import annotations

import re

_IRREGULAR_PAST = {
    "be": "was",
    "have": "had",
    "eat": "ate",
    "drink": "drank",
    "speak": "spoke",
    "go": "went",
    "drive": "drove",
    "grow": "grew",
    "study": "studied",
    "drop": "dropped",
    "prefer": "preferred",
    "do": "did",
    "plan": "planned",
    "can": "could",
}
_PRONOUNS = {
    "my": "their",
    "me": "them",
    "myself": "themselves",
    "our": "their",
    "us": "them",
    "mine": "theirs",
    "i": "they",
    "i was": "they were",
    "i'm": "they are",
    "i’m": "they are",
    "i've": "they have",
    "i’ve": "they have",
    "we": "they",
    "ours": "theirs",
    "i'll": "they will",
    "i’ll": "they will",
    "we're": "they are",
    "ourselves": "themselves",
    "am": "are",
}
_PRONOUN = re.compile(
    r"(?<![\w-])(?:I['’](?:m|ve|ll)|I was|we['’]re|my|me|myself|our|us|mine|I|we|ours|ourselves)(?![\w-])",
    re.IGNORECASE,
)
_US = re.compile(r"\bUS\b")


def conjugated(phrase: str, *, past: bool = False, negated: bool = False, ended: bool = False) -> str:
    """A verb phrase that begins with a base form, in the third person: "live in Oslo" -> "lives in Oslo"."""
    verb, _, rest = phrase.partition(" ")
    rest = f" {rest}" if rest else ""
    if ended and not past:
        return f"no longer {_present(verb)}{rest}" if verb != "be" else f"is no longer{rest}"
    if verb == "can":
        return f"{'cannot' if negated else 'can'}{rest}"
    if verb == "be":
        return f"{'was' if past else 'is'}{' not' if negated else ''}{rest}"
    if negated:
        return f"{'did' if past else 'does'} not {verb}{rest}"
    return f"{_past(verb) if past else _present(verb)}{rest}"


def _present(verb: str) -> str:
    match verb:
        case "be":
            return "is"
        case "have":
            return "has"
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in tuple("aeiou"):
        return verb[:-1] + "ies"
    return verb + "s"


def _past(verb: str) -> str:
    if verb in _IRREGULAR_PAST:
        return _IRREGULAR_PAST[verb]
    return verb + ("d" if verb.endswith("e") else "ed")


def in_third_person(words: str) -> str:
    """`words` with the speaker's pronouns turned: "walk my dog" -> "walk their dog"."""

    def turned(match: re.Match[str]) -> str:
        if _US.fullmatch(match[0]):
            return match[0]
        return _PRONOUNS[match[0].lower()]

    return _PRONOUN.sub(turned, words)


def sentence(who: str, rest: str) -> str:
    """A sentence from its subject and the rest, with a full stop."""
    text = f"{who} {rest}".strip().rstrip(".。!！ ")
    return text[:1].upper() + text[1:] + "."
