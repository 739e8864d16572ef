"""The verb phrase after an English subject: which verb, in which tense, denied or ended, and where the rest begins."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from memos.reading.english_verbs import FORMS
from memos.reading.patterns import FUTURE, PAST, PERFECT, PRESENT, PROGRESSIVE, words

_TOKEN = re.compile(r"\s?([A-Za-z]+(?:['’][a-z]+)?)")
_GLUED = re.compile(r"['’](m|ve|ll|d|re|s)\b")
_BEEN = re.compile(r"(?:[a-z]+ )?been\b", re.IGNORECASE)
_ADVERBS = words(
    """
    really also just currently now still actually always usually often recently already finally only mostly never
    absolutely totally sometimes once originally both definitely honestly truly simply especially particularly ever
    even first rarely personally generally normally basically mainly typically probably regularly frequently all
    completely genuinely seriously happily newly formerly previously eventually ultimately even officially literally
    kinda sorta
    """
)
_BE = {"am": PRESENT, "m": PRESENT, "is": PRESENT, "are": PRESENT, "re": PRESENT, "was": PAST, "were": PAST}
_NEGATIVE = {
    "don't": "do",
    "doesn't": "do",
    "didn't": "did",
    "won't": "will",
    "can't": "can",
    "cannot": "can",
    "isn't": "is",
    "aren't": "are",
    "wasn't": "was",
    "weren't": "were",
    "haven't": "have",
    "hasn't": "has",
    "hadn't": "had",
    "wouldn't": "would",
    "couldn't": "could",
    "shouldn't": "should",
    "dont": "do",
    "cant": "can",
    "ain't": "am",
    "mustn't": "must",
}
_MODAL = words("would could might may should d must shall ought")
_IRREGULAR_PAST = words(
    """
    went got came saw met made took bought told said gave found began won ran ate drove flew felt heard kept knew
    read spent spoke taught wrote became built caught chose cut did drew dug fell fought forgot froze held hid hit
    hurt led lent let paid put rode rose sang sat sent set shook shot slept sold stood stole stuck swam threw
    understood woke wore broke brought fed grew left lost quit had drank
    """
)
_PARTICIPLE = _IRREGULAR_PAST | words(
    """
    been gone seen done taken given written eaten driven known grown spoken gotten become begun flown broken worn
    chosen
    """
)
_NO_ED = words("need feed seed bed red speed embed exceed indeed breed bleed weed shed wed sped")


@dataclass(frozen=True, slots=True)
class VerbPhrase:
    """A verb (base form where known) with its tense; it stands at `at`, its complement begins at `rest`."""

    verb: str
    tense: str
    at: int
    rest: int
    negated: bool = False
    ended: bool = False
    modal: str = ""
    used: bool = False
    adverbs: frozenset[str] = field(default_factory=frozenset)


def parse(text: str, at: int, end: int, *, elided: bool = False) -> VerbPhrase | None:
    """The verb phrase that begins at `at` (right after the subject), or None where there is none.

    `elided`: subject and auxiliary were left out ("Been painting a lot", "just learning to sail").
    """
    parser = _Parser(text, end)
    if elided:
        parser.perfect = _BEEN.match(text, at, end) is not None
        parser.be = "" if parser.perfect else "be"
    return parser.run(at)


class _Parser:
    def __init__(self, text: str, end: int) -> None:
        self.text, self.end = text, end
        self.be = self.modal = ""
        self.perfect = self.future = self.past = self.negated = self.no_longer = self.used = False
        self.adverbs: set[str] = set()

    def run(self, at: int) -> VerbPhrase | None:
        glued = _GLUED.match(self.text, at, self.end)
        if glued:
            if not self._auxiliary(glued[1], glued.end()):
                return self._verb(glued[1], glued.start(1), glued.end())
            at = glued.end()
        for _ in range(8):
            token = _TOKEN.match(self.text, at, self.end)
            if token is None:
                return self._done("be", at, at) if self.be else None
            word = token[1].lower().replace("’", "'")
            if word in _ADVERBS:
                self.adverbs.add(word)
            elif word == "not":
                self.negated = True
            elif word == "no" and self.text[token.end() : token.end() + 7].lower() == " longer":
                self.no_longer = True
                at = token.end() + 7
                continue
            elif word == "used" and self.text[token.end() : token.end() + 4].lower() == " to ":
                self.used = True
                at = token.end() + 3
                continue
            elif not self._auxiliary(word, token.end()):
                return self._verb(word, token.start(1), token.end())
            at = token.end()
        return None

    def _auxiliary(self, word: str, after: int) -> bool:
        """Whether `word` is an auxiliary here; notes what it means."""
        if word in _NEGATIVE:
            self.negated = True
            word = _NEGATIVE[word]
            if word in ("do", "did"):
                self.past |= word == "did"
                return True
        if word in _BE and not (self.be and word == "s"):
            self.be = "be"
            self.past |= _BE[word] == PAST
            return True
        if word == "s":
            self.be = "be"
            return True
        if word == "been" and self.perfect:
            self.be = "be"
            return True
        if word in ("do", "did"):
            following = _TOKEN.match(self.text, after, self.end)
            helps = following is not None and (following[1].lower() == "not" or following[1].lower() in FORMS)
            self.past |= helps and word == "did"
            return helps
        if word in ("will", "ll", "gonna"):
            self.future = True
            return True
        if word in _MODAL or word == "can":
            self.modal = word
            return True
        if word in ("have", "ve", "has", "had"):
            return self._have(word, after)
        return False

    def _have(self, word: str, after: int) -> bool:
        at = after
        while (token := _TOKEN.match(self.text, at, self.end)) and (
            token[1].lower() in _ADVERBS or token[1].lower() == "not"
        ):
            at = token.end()
        following = token[1].lower() if token else ""
        if following == "got" and word in ("have", "ve", "has"):
            return False
        participle = following in _PARTICIPLE or (following.endswith("ed") and following not in _NO_ED)
        if word == "ve" or (participle and following != "had") or (following == "had" and word != "had"):
            self.perfect = True
            self.past |= word == "had"
            return True
        return False

    def _verb(self, word: str, start: int, after: int) -> VerbPhrase | None:
        if word in ("have", "ve", "has") and self.text[after : after + 4].lower() == " got":
            return self._done("have", start, after + 4)
        if self.perfect and word == "got" and not self.be:
            # "I've got a dog" is having one; "I've got a new dog named Rex" as well.
            return self._done("have", start, after, tense=PRESENT)
        if self.be:
            if word == "going" and (
                to := re.compile(
                    r" to (?=[a-z])(?!(?:a|an|the|my|our|this|that|his|her|their|your|some|another|one"
                    r"|church|school|college|work|bed)\b)"
                ).match(self.text, after, self.end)
            ):
                self.future, self.be = True, ""
                return self._future_verb(to.end())
            verb, tense = FORMS.get(word, (word, ""))
            if tense == PROGRESSIVE or (word.endswith("ing") and len(word) > 4):
                return self._done(
                    verb, start, after, tense=PERFECT if self.perfect else PAST if self.past else PROGRESSIVE
                )
            return self._done("be", start, start)
        verb, tense = FORMS.get(word, (word, ""))
        if self.modal in ("can",):
            stand = word == "stand" and self.negated
            self.negated = self.negated and not stand
            return self._done("can't stand" if stand else f"can {verb}", start, after, tense=PRESENT)
        if self.perfect:
            return self._done(verb, start, after, tense=PERFECT)
        if not tense:
            past = word in _IRREGULAR_PAST or (word.endswith("ed") and word not in _NO_ED)
            tense = PAST if past else PRESENT
        if tense == PERFECT:
            tense = PAST  # a participle without an auxiliary is the past of a regular verb
        return self._done(verb, start, after, tense=PAST if self.past or self.used else tense)

    def _future_verb(self, at: int) -> VerbPhrase | None:
        token = _TOKEN.match(self.text, at, self.end)
        if token is None:
            return None
        verb, _ = FORMS.get(token[1].lower(), (token[1].lower(), ""))
        return self._done(verb, token.start(1), token.end())

    def _done(self, verb: str, start: int, rest: int, *, tense: str = "") -> VerbPhrase:
        if self.future:
            tense = FUTURE
        elif not tense:
            tense = PERFECT if self.perfect else PAST if self.past or self.used else PRESENT
        while rest < self.end and self.text[rest] == " ":
            rest += 1
        return VerbPhrase(
            verb,
            tense,
            start,
            rest,
            negated=self.negated,
            ended=self.no_longer,
            modal="" if self.modal == "can" else self.modal,
            used=self.used,
            adverbs=frozenset(self.adverbs),
        )
