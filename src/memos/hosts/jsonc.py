"""Edits JSON (and JSON5) text in place, with comments and trailing commas where there are some: what is not edited stays.

Hosts keep settings that people write by hand; reading and writing them anew would lose order, comments and layout.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from memos.errors import InvalidInput

Step = str | int
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_REST = re.compile(r"[ \t]*//[^\r\n]*(?=\r?\n)")
_WORDS = {"true": True, "false": False, "null": None}
_NAME = re.compile(r"[^\W\d][\w$]*|[$_][\w$]*")  # of a member, in JSON5
_STRING5 = re.compile(r"""'(?:[^'\\\n\r]|\\(?s:.))*'|"(?:[^"\\\n\r]|\\(?s:.))*\"""")
_NUMBER5 = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|Infinity|NaN|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_ESCAPE5 = re.compile(r"\\(?:\r\n|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|(?s:.))")
_ESCAPED5 = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_DEEPEST = 200


@dataclass(slots=True)
class Node:
    """A value and where it stands. Of an object: its `members` by name, and where each begins (at its name). `comma`: where the
    comma after the last member or item is, if one is.
    """

    start: int
    end: int = 0
    value: Any = None
    members: dict[str, Node] = field(default_factory=dict)
    begins: dict[str, int] = field(default_factory=dict)
    items: list[Node] = field(default_factory=list)
    comma: int | None = None


class Document:
    """A JSON text that is edited. `json5`: in which names may stand without quotes, and texts between single ones. Raises
    InvalidInput for one that cannot be read.
    """

    def __init__(self, text: str, *, json5: bool = False) -> None:
        self.text, self._json5 = text, json5
        self.root = Node(0)
        self._read()

    @property
    def value(self) -> Any:
        """What the text says."""
        return self.root.value

    def put(self, path: Sequence[str], value: Any) -> None:
        """Set a member of an object, which is made where it is missing. Raises InvalidInput when something else is there."""
        node, depth = self._deepest(path)
        if depth == len(path):
            self._splice(node.start, node.end, self._written(value, len(path)))
            return
        if not isinstance(node.value, dict):
            raise InvalidInput(f"{'.'.join(path[:depth]) or 'the file'} is no object")
        for name in reversed(path[depth + 1 :]):
            value = {name: value}
        self._insert(node, f"{json.dumps(path[depth], ensure_ascii=False)}: ", value, depth + 1)

    def append(self, path: Sequence[str], value: Any) -> None:
        """Add an item to a list, which is made where it is missing."""
        node, depth = self._deepest(path)
        if depth < len(path):
            self.put(path, [value])
        elif isinstance(node.value, list):
            self._insert(node, "", value, len(path) + 1)
        else:
            raise InvalidInput(f"{'.'.join(path)} is no list")

    def drop(self, path: Sequence[Step]) -> None:
        """Take a member or item out, with its comma and its line; nothing where there is none."""
        parent, last = self.root, path[-1]
        for step in path[:-1]:
            found = _child(parent, step)
            if found is None:
                return
            parent = found
        node = _child(parent, last)
        if node is None:
            return
        start = parent.begins[last] if isinstance(last, str) else node.start
        ends = sorted(n.end for n in (*parent.members.values(), *parent.items))
        at = ends.index(node.end)
        comma = self._comma_after(node.end) if at + 1 < len(ends) or parent.comma is not None else None
        cuts = [(start, node.end)]
        if comma is not None:
            cuts.append((comma, comma + 1))
        elif at > 0:
            before = self._comma_after(ends[at - 1])
            if before is not None:
                cuts.append((before, before + 1))
        out = self.text
        for begin, end in sorted(cuts, reverse=True):
            if begin == start:
                begin, end = self._line(out, begin, end)
            out = out[:begin] + out[end:]
        if at == 0 and len(ends) == 1:
            out = _closed_up(out, parent.start)
        self.text = out
        self._read()

    # -- writing ---------------------------------------------------------------------------------------------------

    def _insert(self, node: Node, name: str, value: Any, depth: int) -> None:
        children = [*node.members.values(), *node.items]
        written = name + self._written(value, depth)
        if children:
            last = max(children, key=lambda n: n.end)
            first = min((*node.begins.values(), *(n.start for n in node.items)))
            inline = "\n" not in self.text[node.start : first]
            at = last.end if node.comma is None else node.comma + 1
            comma = "," if node.comma is None else ""
            if inline:
                self._splice(at, at, f"{comma} {written}")
            else:  # behind a comment on the last one's line
                end = _REST.match(self.text, at)
                comment = "" if end is None else end[0]
                self._splice(at, at + len(comment), comma + comment + self._break(depth) + written)
            return
        close = node.end - 1
        inside = self.text[node.start + 1 : close]
        if not inside.strip():
            self._splice(node.start + 1, close, self._break(depth) + written + self._break(depth - 1))
        else:  # a comment alone
            kept = inside.rstrip()
            at = node.start + 1 + len(kept)
            self._splice(at, close, self._break(depth) + written + self._break(depth - 1))

    def _written(self, value: Any, depth: int) -> str:
        text = json.dumps(value, indent=self.indent, ensure_ascii=False)
        return text.replace("\n", self._break(depth))

    def _break(self, depth: int) -> str:
        unit = self.indent if isinstance(self.indent, str) else " " * self.indent
        return ("\r\n" if "\r\n" in self.text else "\n") + unit * depth

    @property
    def indent(self) -> str | int:
        """The indentation of the file: that of its first member on a line of its own, else two spaces."""
        found = re.search(r"^\s*\{[ \t]*\r?\n([ \t]+)\"", self.text)
        return found[1] if found else 2

    def _splice(self, start: int, end: int, written: str) -> None:
        self.text = self.text[:start] + written + self.text[end:]
        self._read()

    @staticmethod
    def _line(text: str, start: int, end: int) -> tuple[int, int]:
        """A cut widened by the blank before it on its line, and the line break before that, where nothing else is on the line."""
        before = start
        while before > 0 and text[before - 1] in " \t":
            before -= 1
        rest = re.compile(r"[ \t]*(?:,[ \t]*)?(?=\r?\n|$)").match(text, end)
        if before > 0 and text[before - 1] == "\n" and rest is not None and "," not in rest[0]:
            before -= 2 if text[before - 2 : before] == "\r\n" else 1
            return before, rest.end()
        return start, end

    def _comma_after(self, at: int) -> int | None:
        at = self._blank(at)
        return at if self.text[at : at + 1] == "," else None

    # -- reading ---------------------------------------------------------------------------------------------------

    def _deepest(self, path: Sequence[str]) -> tuple[Node, int]:
        node = self.root
        for depth, name in enumerate(path):
            found = node.members.get(name)
            if found is None:
                return node, depth
            node = found
        return node, len(path)

    def _read(self) -> None:
        start = 1 if self.text.startswith("\ufeff") else 0
        self.root = self._value(self._blank(start), 0)
        rest = self._blank(self.root.end)
        if rest != len(self.text):
            raise self._wrong(rest)

    def _value(self, at: int, depth: int) -> Node:
        head = self.text[at : at + 1]
        if depth > _DEEPEST:
            raise InvalidInput("it is nested too deep")
        if head == "{":
            return self._object(at, depth)
        if head == "[":
            return self._list(at, depth)
        if head == '"' or (self._json5 and head == "'"):
            return self._string(at)
        if self._json5 and (written := _NUMBER5.match(self.text, at)) is not None:
            return Node(at, written.end(), _number5(written[0]))
        number = _NUMBER.match(self.text, at)
        if number is not None:
            return Node(at, number.end(), json.loads(number[0]))
        for word, value in _WORDS.items():
            if self.text.startswith(word, at):
                return Node(at, at + len(word), value)
        raise self._wrong(at)

    def _object(self, at: int, depth: int) -> Node:
        node = Node(at, value={})
        for begin in self._parts(node, "}"):
            name = self._name(begin)
            colon = self._blank(name.end)
            if self.text[colon : colon + 1] != ":":
                raise self._wrong(colon)
            child = self._value(self._blank(colon + 1), depth + 1)
            if name.value in node.members:
                raise InvalidInput(f"it has {name.value!r} twice in one object")
            node.members[name.value], node.begins[name.value] = child, begin
            node.value[name.value] = child.value
            node.end = child.end
        node.end = self._blank(node.end if node.comma is None else node.comma + 1) + 1
        return node

    def _list(self, at: int, depth: int) -> Node:
        node = Node(at, value=[])
        for begin in self._parts(node, "]"):
            child = self._value(begin, depth + 1)
            node.items.append(child)
            node.value.append(child.value)
            node.end = child.end
        node.end = self._blank(node.end if node.comma is None else node.comma + 1) + 1
        return node

    def _parts(self, node: Node, close: str) -> Iterator[int]:
        """Where each part begins; the reader of a part says in `node.end` where it ends."""
        node.end = node.start + 1
        at = self._blank(node.end)
        while self.text[at : at + 1] != close:
            node.comma = None
            yield at
            at = self._blank(node.end)
            if self.text[at : at + 1] == ",":
                node.comma = at
                at = self._blank(at + 1)
            elif self.text[at : at + 1] != close:
                raise self._wrong(at)

    def _name(self, at: int) -> Node:
        plain = _NAME.match(self.text, at) if self._json5 else None
        return self._string(at) if plain is None else Node(at, plain.end(), plain[0])

    def _string(self, at: int) -> Node:
        if self._json5 and (written := _STRING5.match(self.text, at)) is not None:
            return Node(at, written.end(), _ESCAPE5.sub(_escaped5, written[0][1:-1]))
        found = _STRING.match(self.text, at)
        if found is None:
            raise self._wrong(at)
        try:
            return Node(at, found.end(), json.loads(found[0]))
        except ValueError:
            raise self._wrong(at) from None

    def _blank(self, at: int) -> int:
        """The first place from `at` on that is neither blank nor comment."""
        while at < len(self.text):
            if self.text[at] in " \t\r\n" or (self._json5 and self.text[at].isspace()):
                at += 1
            elif self.text.startswith("//", at):
                end = self.text.find("\n", at)
                at = len(self.text) if end < 0 else end
            elif self.text.startswith("/*", at):
                end = self.text.find("*/", at + 2)
                if end < 0:
                    raise self._wrong(at)
                at = end + 2
            else:
                break
        return at

    def _wrong(self, at: int) -> InvalidInput:
        line = self.text.count("\n", 0, at) + 1
        return InvalidInput(f"it cannot be read as JSON, at line {line}")


def _number5(written: str) -> float:
    sign, plain = (-1, written[1:]) if written[0] == "-" else (1, written.removeprefix("+"))
    if plain[:2] in ("0x", "0X"):
        return sign * int(plain, 16)
    return sign * (int(plain) if plain.isdigit() else float(plain))


def _escaped5(found: re.Match[str]) -> str:
    told = found[0][1:]
    if told[0] in "ux" and len(told) > 1:
        return chr(int(told[1:], 16))
    return "" if told[0] in "\r\n\u2028\u2029" else _ESCAPED5.get(told, told)


def value_at(value: Any, path: Sequence[str]) -> Any:
    """What stands at a path of names in a value of JSON; None where nothing does."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _child(node: Node, step: Step) -> Node | None:
    if isinstance(step, str):
        return node.members.get(step)
    return node.items[step] if 0 <= step < len(node.items) else None


def _closed_up(text: str, start: int) -> str:
    """The text with the empty container that begins at `start` closed up, where only blank is left in it."""
    found = re.compile(r"[\[{]\s*([\]}])").match(text, start)
    return text if found is None else text[: start + 1] + found[1] + text[found.end() :]
