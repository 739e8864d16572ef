"""Characters: normalisation for searching, and the class of a character that decides how text is cut into terms."""

from __future__ import annotations

import re
import unicodedata

# Invisible or presentational: soft hyphen, joiners, direction marks, variation selectors, skin tones, tags.
_IGNORED = re.compile(
    "[\u00ad\u034f\u061c\u0640\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")
_SAME = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u2010": "-", "\u2011": "-", "\u2212": "-", "\u30fb": " "}
)

# Latin letters that do not decompose, and Arabic and Cyrillic spellings people mix.
_LETTERS = {
    "ø": "o", "đ": "d", "ð": "d", "ł": "l", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ё": "е",
    "أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ة": "ه",
}  # fmt: skip

ALPHA, DIGIT, MARK, CJK, TRIGRAM, EMOJI, FLAG, JOIN, QUOTE, OTHER = "admhterc'x"
_JOINERS = frozenset("-._/:@#+~\\=&%?$")

_RANGES = (
    (0x0E00, 0x0EFF, TRIGRAM),  # Thai, Lao
    (0x1000, 0x109F, TRIGRAM),  # Myanmar
    (0x1780, 0x17FF, TRIGRAM),  # Khmer
    (0x19E0, 0x19FF, TRIGRAM),
    (0xA9E0, 0xA9FF, TRIGRAM),
    (0xAA60, 0xAA7F, TRIGRAM),
    (0x1100, 0x11FF, CJK),
    (0x2E80, 0x2FDF, CJK),
    (0x3005, 0x3007, CJK),
    (0x3041, 0x30FF, CJK),
    (0x3105, 0x312F, CJK),
    (0x3131, 0x318E, CJK),
    (0x31A0, 0x31FF, CJK),
    (0x3400, 0x4DBF, CJK),
    (0x4E00, 0x9FFF, CJK),
    (0xA960, 0xA97F, CJK),
    (0xAC00, 0xD7FF, CJK),
    (0xF900, 0xFAFF, CJK),
    (0x1F1E6, 0x1F1FF, FLAG),
    (0x1B000, 0x1B16F, CJK),
    (0x20000, 0x3FFFF, CJK),
)


def normalize(text: str) -> str:
    """NFKC with lone surrogates as U+FFFD, invisible characters removed, typographic quotes and hyphens as ASCII."""
    if text.isascii():
        return text
    if _SURROGATES.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = _IGNORED.sub("", unicodedata.normalize("NFKC", text))
    return text.translate(_SAME)


def fold(word: str) -> str:
    """Case and accents removed: "Élève" -> "eleve", "Straße" -> "strasse", "Ёлка" -> "елка"; "й" and kana stay."""
    word = word.casefold()
    return word if word.isascii() else word.translate(_FOLDED)


def classes(text: str) -> str:
    """One class letter for each character of a normalised text."""
    return text.translate(_CLASSES)


class _Classes(dict[int, str]):
    def __missing__(self, code: int) -> str:
        found = self[code] = _class_of(code)
        return found


class _Folded(dict[int, str]):
    def __missing__(self, code: int) -> str:
        found = self[code] = _folded(chr(code))
        return found


_CLASSES = _Classes()
_FOLDED = _Folded()


def _class_of(code: int) -> str:
    char = chr(code)
    if char == "'":
        return QUOTE
    if char in _JOINERS:
        return JOIN
    category = unicodedata.category(char)
    for low, high, found in _RANGES:
        if low <= code <= high:
            if category == "Nd":
                return DIGIT
            return found if category[0] in "LMN" or found is FLAG else OTHER
    if category == "Nd":
        return DIGIT
    if category[0] in "LN":
        return ALPHA
    if category[0] == "M":
        return MARK
    return EMOJI if category == "So" and code > 0xFF and code != 0xFFFD else OTHER


def _folded(char: str) -> str:
    if char in _LETTERS:
        return _LETTERS[char]
    if unicodedata.category(char) == "Nd":
        return str(unicodedata.digit(char))
    script = unicodedata.name(char, "").split(" ", 1)[0]
    if script in ("COMBINING", "ARABIC", "HEBREW") and unicodedata.category(char) == "Mn":
        return ""
    if script in ("LATIN", "GREEK"):
        return "".join(part for part in unicodedata.normalize("NFD", char) if not unicodedata.combining(part))
    return char
