"""JSON out of what models really send: fences, thoughts, prose, trailing commas, other quotes, Python's words, missing ends.

Pure functions. They raise `NotJson` and nothing else, and take time in proportion to the text, whatever it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

DEEPEST = 100
"""Containers within containers."""
_WORK = 3  # times the length of the text that is read at most, over all places where a value may begin
_LEAST_WORK, _ATTEMPT = 20_000, 50  # characters; what it takes to look at one such place
_MOST_VALUES = 32

_THOUGHT = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)(?:\s[^<>]{0,100})?>", re.IGNORECASE)
_START = re.compile(r"[{\[]")
_SPACE = re.compile(r"(?:[\s\ufeff\u200b]+|//[^\n]*|/\*.*?(?:\*/|\Z)|#[^\n]*)*", re.DOTALL)
_PLAIN = {
    quote: re.compile(rf"[^{quote}\\]*+") for quote in ('"', "'", "`", "”", "’")
}  # up to the next closing quote or backslash
_CLOSES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "”": "”"}
_AFTER_STRING = re.compile(r"[ \t\ufeff]*(?:[,:}\]\r\n]|//|/\*|\Z)")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "\n": ""}
_HEX4 = re.compile(r"[0-9a-fA-F]{4}")
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*+)?(?:\.\d*+)?(?:[eE][-+]?\d++)?")
_WORD = re.compile(r"[^\W\d][\w$.-]*+")
_WORDS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "none": None,
    "undefined": None,
    "nan": None,
    "infinity": None,
}
_UNSOUND = re.compile(r"[\ud800-\udfff\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LONE = re.compile(r"[\ud800-\udfff]")


class NotJson(ValueError):
    """There is no JSON value in the text, or none that can be saved. The message is short and holds nothing of the text."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A value found in a text. `cut`: its end was missing, so that only what was complete is in it."""

    value: Any
    cut: bool = False


def parse(text: str) -> Parsed:
    """The first object or array in a text, else the first whose end is missing. Raises NotJson."""
    found = next(iter(values_in(text)), None)
    if found is None:
        raise NotJson("there is no JSON in the answer" if text.strip() else "the answer is empty")
    return found


def values_in(text: str) -> Iterator[Parsed]:
    """Every object and array in a text that is not part of another: first the complete ones in order, then one that was cut.

    A text that is JSON itself is the only one. Never raises.
    """
    text = text.strip().lstrip("\ufeff")
    whole = _whole(text)
    if whole is not None:
        yield whole
        return
    text = without_thoughts(text)
    yield from _found(text)


def without_thoughts(text: str) -> str:
    """A text without what is between think tags; a thought without an end takes the rest, one without a beginning the start."""
    kept: list[str] = []
    before, at, thinking = "", 0, False
    for tag in _THOUGHT.finditer(text):
        if not thinking:
            kept.append(text[at : tag.start()])
            if tag[1]:  # the opening tag was in the prompt
                before = "".join(kept)
                kept.clear()
        thinking, at = not tag[1], tag.end()
    if not thinking:
        kept.append(text[at:])
    out = "".join(kept)
    return out if out.strip() or thinking else before


def _whole(text: str) -> Parsed | None:
    """A text that is JSON, or JSON in a JSON string."""
    for _ in range(2):
        try:
            value = json.loads(text, strict=False, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            return None
        if isinstance(value, (dict, list)):
            try:
                return Parsed(_sound(value, 0))
            except NotJson:
                return None
        if not isinstance(value, str):
            return None
        text = value
    return None


def _found(text: str) -> Iterator[Parsed]:
    work, at, count = _WORK * len(text) + _LEAST_WORK, 0, 0
    cut: Parsed | None = None
    while work > 0 and count < _MOST_VALUES and (begin := _START.search(text, at)) is not None:
        reader, at, read = _Reader(text), begin.start() + 1, 0
        try:
            value, at = reader.value(begin.start(), 0)
        except _Cut as error:
            read = len(text)
            if error.saved:  # what follows is within it
                cut = Parsed(_sound(error.saved, 0), cut=True)
                break
        except _Bad as error:
            if error.deep:  # nobody means that
                break
            read = error.at
        else:
            read, count = at, count + 1
            yield Parsed(_sound(value, 0), reader.mended)
        work -= read - begin.start() + _ATTEMPT
    if cut is not None:
        yield cut


def _sound(value: Any, depth: int) -> Any:
    """Without halves of characters and control characters, which no store takes, and no deeper than anybody asked for."""
    if depth > DEEPEST:
        raise NotJson("the answer is nested too deeply")
    if isinstance(value, str):
        return _sound_text(value)
    if isinstance(value, list):
        return [_sound(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {_sound_text(str(key)): _sound(item, depth + 1) for key, item in value.items()}
    return value


def _sound_text(text: str) -> str:
    if _UNSOUND.search(text) is None:
        return text
    return _UNSOUND.sub("", _LONE.sub("\ufffd", text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")))


class _Bad(Exception):
    """No value can be read here; reading came as far as `at`. `deep`: because it is nested too deeply."""

    def __init__(self, at: int, deep: bool = False) -> None:
        self.at, self.deep = at, deep


class _Cut(Exception):
    """The text ended within a value, of which `saved` is complete (None: nothing)."""

    def __init__(self, saved: dict[str, Any] | list[Any] | None = None) -> None:
        self.saved = saved


class _Reader:
    """Reads one value. `mended`: a bracket was missing in the middle."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.mended = False

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        """The value at a place, and the place after it. Raises _Bad or _Cut."""
        at = self._skip(at)
        sign = self.text[at]
        if depth > DEEPEST:
            raise _Bad(at, deep=True)
        if sign == "{":
            return self._object(at, depth)
        if sign == "[":
            return self._array(at, depth)
        if sign in _CLOSES:
            return self._string(at)
        return self._scalar(at)

    def _object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        out: dict[str, Any] = {}
        key = ""
        try:
            at = self._skip(at + 1)
            while self.text[at] not in "}])":
                if self.text[at] in ",;":
                    at = self._skip(at + 1)
                    continue
                key, at = self._key(at)
                at = self._skip(at)
                if self.text[at] not in ":=":
                    raise _Bad(at)
                out[key], at = self.value(at + 1, depth + 1)
                at = self._skip(at)
        except _Cut as error:
            if error.saved and key not in out:
                out[key] = error.saved
            raise _Cut(out) from None
        if self.text[at] != "}":
            if not out:
                raise _Bad(at)
            self.mended = True
            return out, at
        return out, at + 1

    def _array(self, at: int, depth: int) -> tuple[list[Any], int]:
        out: list[Any] = []
        try:
            at = self._skip(at + 1)
            while self.text[at] not in "]})":
                if self.text[at] in ",;":
                    at = self._skip(at + 1)
                    continue
                item, at = self.value(at, depth + 1)
                out.append(item)
                at = self._skip(at)
        except _Cut as error:
            if not out and error.saved:
                out.append(
                    error.saved
                )  # the only item is kept as far as it goes; beside whole ones half a one is dropped
            raise _Cut(out) from None
        if self.text[at] != "]":
            if not out:
                raise _Bad(at)
            self.mended = True
            return out, at
        return out, at + 1

    def _key(self, at: int) -> tuple[str, int]:
        if self.text[at] in _CLOSES:
            return self._string(at)
        word = _WORD.match(self.text, at)
        if word is None:
            raise _Bad(at)
        return word[0], word.end()

    def _string(self, at: int) -> tuple[str, int]:
        """A string; a quote within it that nothing may follow as after an end is a part of it."""
        text, closing, parts = self.text, _CLOSES[self.text[at]], []
        at += 1
        plain = _PLAIN[closing]
        while True:
            end = _end(plain, text, at)
            parts.append(text[at:end])
            if end >= len(text):
                raise _Cut
            if text[end] == "\\":
                piece, at = self._escape(end)
                parts.append(piece)
            elif _AFTER_STRING.match(text, end + 1):
                return "".join(parts), end + 1
            else:
                parts.append(text[end])
                at = end + 1

    def _escape(self, at: int) -> tuple[str, int]:
        if at + 1 >= len(self.text):
            raise _Cut
        sign = self.text[at + 1]
        if sign != "u":
            return _ESCAPES.get(sign, sign if sign in "\"'\\/`“”‘’" else "\\" + sign), at + 2
        digits = _HEX4.match(self.text, at + 2)
        if digits is None:
            return "\\u", at + 2
        return chr(int(digits[0], 16)), at + 6

    def _scalar(self, at: int) -> tuple[Any, int]:
        number = _NUMBER.match(self.text, at)
        if number is not None and any(c.isdigit() for c in number[0]):
            if number.end() >= len(self.text):
                raise _Cut  # perhaps not all of its digits are here
            return _number(number[0].replace("_", "")), number.end()
        word = _WORD.match(self.text, at + (self.text[at] in "-+"))
        if word is None:
            raise _Bad(at)
        if word.end() >= len(self.text):
            raise _Cut
        if word[0].lower() not in _WORDS:
            raise _Bad(word.end())
        return _WORDS[word[0].lower()], word.end()

    def _skip(self, at: int) -> int:
        """The next place that is not space or a remark. Raises _Cut at the end of the text."""
        at = _end(_SPACE, self.text, at)
        if at >= len(self.text):
            raise _Cut
        return at


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where a pattern that matches nothing, too, ends."""
    found = pattern.match(text, at)
    return at if found is None else found.end()


def _number(text: str) -> int | float | None:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value - value == 0 else None
