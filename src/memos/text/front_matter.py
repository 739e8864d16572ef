"""The front matter of a Markdown file, in the part of YAML that such files are written in: texts, maps and lists of texts.

Nothing of YAML that could build objects, point at one another or grow: a tag, an anchor, an alias or a second document is
refused. Pure and linear.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from memos.errors import InvalidInput

Value = str | list[str] | dict[str, str]

MOST_LINES, MOST_CHARACTERS = 2_000, 65_536
_KEY = re.compile(
    r"""(?:"(?P<quoted>[^"\\]{1,100})"|'(?P<single>[^']{1,100})'|(?P<plain>[\w][\w .-]{0,99}?))\s*:(?:\s+|$)"""
)
_BLOCK = re.compile(r"([|>])([+-]?)\s*(?:#.*)?")
_COMMENT = re.compile(r"\s#.*$")
_REFUSED = "&*!?%@`{}]"  # what a plain text cannot begin with; here, with what YAML makes of these
_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b", " ": " ", '"': '"',
    "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0",
}  # fmt: skip
_CODES = {"x": 2, "u": 4, "U": 8}


def split(text: str) -> tuple[dict[str, Value], str]:
    """The front matter of a text, and what follows it. Raises InvalidInput when there is none, or none that is understood."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---":
        raise InvalidInput("it does not begin with a line of --- and front matter")
    end = next((n for n, line in enumerate(lines[1 : MOST_LINES + 1], 1) if line.rstrip() in ("---", "...")), None)
    if end is None:
        raise InvalidInput(f"its front matter has no end: a line of --- within the first {MOST_LINES}")
    if sum(map(len, lines[:end])) > MOST_CHARACTERS:
        raise InvalidInput(f"its front matter has more than {MOST_CHARACTERS} characters")
    return _Reader(lines[1:end]).top(), "\n".join(lines[end + 1 :]).strip("\r\n")


def join(values: Mapping[str, Value], body: str) -> str:
    """A text with front matter; `split` gives the same back, without line ends around the body."""
    out = ["---"]
    for key, value in values.items():
        if isinstance(value, str):
            out.append(f"{key}: {quoted(value)}")
        elif isinstance(value, list):
            out += [f"{key}:", *(f"  - {quoted(item)}" for item in value)]
        else:
            out += [f"{key}:", *(f"  {name}: {quoted(item)}" for name, item in value.items())]
    return "\n".join([*out, "---", "", body.strip("\r\n"), ""])


def quoted(text: str) -> str:
    """A text as YAML: bare where that says the same, else in double quotes."""
    if _BARE.fullmatch(text) and text.lower() not in _WORDS:
        return text
    made = json.dumps(text, ensure_ascii=False)
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff]", lambda m: f"\\u{ord(m[0]):04x}", made)


_BARE = re.compile(r"[A-Za-z](?:[\w ./,()'+-]*[\w./)+-])?", re.ASCII)
_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))


class _Reader:
    """Reads lines one after another."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0

    def top(self) -> dict[str, Value]:
        found: dict[str, Value] = {}
        while (line := self._next()) is not None:
            if _indent(line):
                raise self._bad("stands further to the right than its key")
            key, rest = self._key(line)
            if key in found:
                raise self._bad(f"gives {key!r:.60} a second time")
            found[key] = self._value(rest, 0)
        return found

    def _next(self) -> str | None:
        """The next line that says something."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            if line.strip() and not line.lstrip().startswith("#"):
                return line
        return None

    def _key(self, line: str) -> tuple[str, str]:
        found = _KEY.match(line.strip())
        if found is None:
            raise self._bad("is no 'key: value'")
        return next(g for g in found.groups() if g is not None), line.strip()[found.end() :].strip()

    def _value(self, rest: str, indent: int) -> Value:
        block = _BLOCK.fullmatch(rest)
        if block is not None:
            return self._block(block[1], block[2], indent)
        if rest.startswith("["):
            return self._flow(rest)
        if rest and not rest.startswith("#"):
            return self._scalar(rest, indent)
        return self._nested(indent)

    def _nested(self, indent: int) -> Value:
        """What stands under a key without a value: a map, a list, or nothing."""
        texts: dict[str, str] = {}
        items: list[str] = []
        while (line := self._peek()) is not None:
            deep = _indent(line)
            is_item = line.strip() == "-" or line.lstrip().startswith("- ")
            if deep <= indent and not (is_item and deep == indent):
                break
            self._next()
            if is_item and not texts:
                items.append(self._scalar(line.strip()[1:].strip(), deep))
            elif not is_item and not items:
                key, rest = self._key(line)
                block = _BLOCK.fullmatch(rest)
                value = self._block(block[1], block[2], deep) if block else self._scalar(rest, deep) if rest else ""
                if key in texts:
                    raise self._bad(f"gives {key!r:.60} a second time")
                texts[key] = value
            else:
                raise self._bad("mixes a map and a list")
        return items if items else texts if texts else ""

    def _peek(self) -> str | None:
        at = self._at
        line = self._next()
        self._at = at if line is None else self._at - 1
        return line

    def _scalar(self, text: str, indent: int) -> str:
        if text[:1] == '"':
            return self._double(self._quoted_lines(text, '"'))
        if text[:1] == "'":
            return self._single(self._quoted_lines(text, "'"))
        if (text and text[0] in _REFUSED) or text.startswith(("- ", "| ", "> ", ", ", "[")) or text in ("-", ","):
            raise self._bad(f"begins with {text[:1]!r}, which is not read here; put the text in quotes")
        said = [_COMMENT.sub("", f" {text}").strip()]
        while (line := self._peek()) is not None and _indent(line) > indent and "\n" not in line:
            if _KEY.match(line.strip()):
                raise self._bad("has a key under a text; put the text in quotes")
            self._next()
            said.append(_COMMENT.sub("", line).strip())
        return " ".join(x for x in said if x)

    def _quoted_lines(self, text: str, quote: str) -> str:
        """A quoted text that may go on over lines, without its quotes."""
        said, line = "", text[1:]
        while True:
            end = _closing(line, quote)
            if end is not None:
                if line[end + 1 :].strip() and not line[end + 1 :].lstrip().startswith("#"):
                    raise self._bad("has something behind a quoted text")
                return said + line[:end]
            if self._at >= len(self._lines):
                raise self._bad("has a quoted text without an end")
            said += f"{line} " if line else "\n"
            if not self._lines[self._at].strip():
                said = said.rstrip(" ")
            line = self._lines[self._at].strip()
            self._at += 1

    def _double(self, text: str) -> str:
        out: list[str] = []
        chars = iter(text)
        for char in chars:
            out.append(self._escape(chars) if char == "\\" else char)
        return "".join(out)

    def _escape(self, chars: Iterator[str]) -> str:
        kind = next(chars, "")
        if kind in _ESCAPES:
            return _ESCAPES[kind]
        digits = "".join(next(chars, "") for _ in range(_CODES.get(kind, 0)))
        code = int(digits, 16) if re.fullmatch("[0-9a-fA-F]+", digits) and len(digits) == _CODES[kind] else -1
        if not 0 <= code <= 0x10FFFF:
            raise self._bad(f"has an escape that is none: \\{kind}{digits}")
        if 0xD800 <= code < 0xDC00:  # JSON writes characters beyond these as two
            low = "".join(next(chars, "") for _ in range(6))
            if re.fullmatch(r"\\u[dD][c-fC-F][0-9a-fA-F]{2}", low):
                return chr(0x10000 + ((code - 0xD800) << 10) + int(low[2:], 16) - 0xDC00)
        if 0xD800 <= code < 0xE000:
            raise self._bad("has half a character")
        return chr(code)

    def _single(self, text: str) -> str:
        return text.replace("''", "'")

    def _flow(self, text: str) -> list[str]:
        """A list of texts on one line."""
        inner = _COMMENT.sub("", text).strip()
        if not inner.endswith("]"):
            raise self._bad("has a list without an end on its line")
        out: list[str] = []
        rest = inner[1:-1].strip()
        while rest:
            if rest[0] in "\"'":
                end = _closing(rest[1:], rest[0])
                if end is None:
                    raise self._bad("has a quoted text without an end")
                inside = rest[1 : end + 1]
                out.append(self._double(inside) if rest[0] == '"' else self._single(inside))
                rest = rest[end + 2 :].strip()
            else:
                item, comma, after = rest.partition(",")
                if any(c in item for c in "[]{}&*!:"):
                    raise self._bad("has a list of more than texts")
                out.append(item.strip())
                rest = f",{after}" if comma else ""
            if rest and rest[0] != ",":
                raise self._bad("has a list without a comma between its texts")
            rest = rest[1:].strip()
        return out

    def _block(self, style: str, chomp: str, indent: int) -> str:
        """The lines under a | or >."""
        taken: list[str] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip() and _indent(line) <= indent:
                break
            taken.append(line)
            self._at += 1
        width = next((_indent(line) for line in taken if line.strip()), 0)
        said = [line[width:].rstrip() if line.strip() else "" for line in taken]
        if any(line.strip() and _indent(line) < width for line in taken):
            raise self._bad("has a text whose lines begin further left than its first")
        text = "\n".join(said) if style == "|" else _folded(said)
        return text.rstrip("\n") if chomp != "+" else text

    def _bad(self, what: str) -> InvalidInput:
        return InvalidInput(f"line {self._at + 1} of its front matter {what}")


def _indent(line: str) -> int:
    bare = line.lstrip(" ")
    if bare.startswith("\t"):
        raise InvalidInput("its front matter is indented with tabs; use spaces")
    return len(line) - len(bare)


def _closing(text: str, quote: str) -> int | None:
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\" and quote == '"':
            at += 2
            continue
        if char == quote:
            if quote == "'" and text[at + 1 : at + 2] == "'":
                at += 2
                continue
            return at
        at += 1
    return None


def _folded(lines: list[str]) -> str:
    out = ""
    for line in lines:
        if not line:
            out += "\n"
        elif out and not out.endswith("\n"):
            out += f" {line}"
        else:
            out += line
    return out
