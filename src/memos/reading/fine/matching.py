"""Finding a model's words in what was said: exactly, or without differences of width, quotes, case and white space.

The spelling of the source is what counts: a match gives back where it stands there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from memos.text.analysis import analyze, content_terms

_SAME = str.maketrans(
    dict.fromkeys("‘’ʼ`´", "'")
    | dict.fromkeys("“”„«»「」『』", '"')
    | dict.fromkeys("‐‑–—−", "-")
    | {"。": ".", "，": ","}
)
_DIGITS = re.compile(r"\d+(?:[.,:]\d+)*")
_IN_WORDS = {
    word: str(n)
    for words in (
        "zero one two three four five six seven eight nine ten eleven twelve",
        "零 一 二 三 四 五 六 七 八 九 十",
    )
    for n, word in enumerate(words.split())
} | {"两": "2", "a couple": "2", "twenty": "20", "thirty": "30", "forty": "40", "fifty": "50"}
_IN_WORDS_RE = re.compile(r"\b(?:" + "|".join(w for w in _IN_WORDS if w.isascii()) + r")\b|[零一二两三四五六七八九十]")


class Folded:
    """A text in compatibility form, lower case, with plain quotes and single spaces, and where each character comes from."""

    def __init__(self, text: str) -> None:
        out: list[str] = []
        at: list[int] = []
        for i, char in enumerate(text):
            plain = char if char.isascii() else unicodedata.normalize("NFKC", char).translate(_SAME)
            plain = plain.translate(_SAME).casefold()
            if plain.isspace():
                plain = "" if out and out[-1] == " " else " "
            out += plain
            at += [i] * len(plain)
        self.text, self._at, self._length = "".join(out), at, len(text)

    def find(self, words: str) -> tuple[int, int] | None:
        """Where `words` stand in the text, as whole words, or None."""
        sought = Folded(words).text.strip().rstrip(".,;:!?") if words else ""
        if not sought:
            return None
        before = "(?<![a-z0-9_])" if _wordy(sought[0]) else ""
        after = "(?![a-z0-9_])" if _wordy(sought[-1]) else ""  # scripts without spaces have no such edges
        pattern = f"{before}{re.escape(sought)}{after}"
        match = re.search(pattern, self.text)
        if match is None:
            return None
        return self._at[match.start()], self._at[match.end() - 1] + 1


def place(words: str, text: str, folded: Folded) -> tuple[int, int] | None:
    """The span of `words` in `text`: character by character where they stand so, else as folded."""
    at = text.find(words) if words else -1
    while at >= 0:
        end = at + len(words)
        if not (_joins(text, at) or _joins(text, end)):
            return at, end
        at = text.find(words, at + 1)
    return folded.find(words)


def _joins(text: str, at: int) -> bool:
    """Whether a word goes on from before `at` to after it."""
    return 0 < at < len(text) and _wordy(text[at - 1]) and _wordy(text[at])


def _wordy(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char == "_")


def support(words: str, terms: Iterable[frozenset[str]]) -> float:
    """The share of the content terms of `words` that are among `terms`, 0 to 1; 0 where it has none."""
    own = set(content_terms(analyze(words).terms))
    if not own:
        return 0.0
    known = frozenset().union(*terms)
    return len(own & known) / len(own)


def numbers_in(text: str) -> set[str]:
    """The numbers of a text, in digits; those in words count as well."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return {n.replace(",", "") for n in _DIGITS.findall(plain)} | {_IN_WORDS[w] for w in _IN_WORDS_RE.findall(plain)}
