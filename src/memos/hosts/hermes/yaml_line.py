"""Sets one value of a YAML file, `SECTION: KEY:`, in its text: comments, order and layout of everything else stay."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memos.errors import InvalidInput

_EMPTY = ("", "{}", "null", "~")
_INDENT = "  "
_VALUE = re.compile(
    r"[ \t]*('(?:[^']|'')*'|\"[^\"\\]*\"|[^\s#'\"&*!|>{\[%@`][^\r\n]*?|\{\}|)"  # quoted, plain, {}, or nothing
    r"([ \t]*|[ \t]+#[^\r\n]*)(\r?\n?)\Z"
)


@dataclass(frozen=True, slots=True)
class _Found:
    """Where things are, as numbers of lines. `header` None: there is no such section. `line` None: the section has no such key.
    `after`: where a line of the section can be put in.
    """

    header: int | None
    line: int | None
    after: int
    indent: str
    children: int


def value_of(text: str, section: str, key: str) -> str | None:
    """The value, without quotes; None where there is none. Raises InvalidInput for a file that cannot be edited as lines."""
    lines = text.splitlines(keepends=True)
    found = _find(lines, section, key)
    return None if found.line is None else _split(lines[found.line], section, key)[1].strip("'\"")


def with_value(text: str, section: str, key: str, value: str) -> str:
    """The text with the value set. Raises InvalidInput for a file that cannot be edited as lines."""
    lines = text.splitlines(keepends=True)
    end = "\r\n" if "\r\n" in text else "\n"
    if text.strip() in _EMPTY[1:]:
        lines = []
    found = _find(lines, section, key)
    if found.line is not None:
        head, _, tail = _split(lines[found.line], section, key)
        lines[found.line] = f"{head.rstrip()} {value}{tail}"
    elif found.header is not None:
        head, _, tail = _split(lines[found.header], section, section)
        lines[found.header] = _ended(f"{head.rstrip()}{tail}", end)
        lines.insert(found.after, f"{found.indent}{key}: {value}{end}")
    else:
        if lines:
            lines[-1] = _ended(lines[-1], end)
        lines += [f"{section}:{end}", f"{_INDENT}{key}: {value}{end}"]
    return "".join(lines)


def without_value(text: str, section: str, key: str) -> str:
    """The text without the key, and without the section where nothing else is in it."""
    lines = text.splitlines(keepends=True)
    found = _find(lines, section, key)
    if found.line is not None and found.header is not None:
        del lines[found.line]
        if found.children == 1:
            del lines[found.header]
    return "".join(lines)


def _find(lines: list[str], section: str, key: str) -> _Found:
    if sum(1 for line in lines if re.match(r"---(\s|$)", line)) > 1:
        raise InvalidInput("it holds several YAML documents")
    if any(line.lstrip("\ufeff")[:1] in "{[" for line in lines if line.strip() and not line.startswith("#")):
        raise InvalidInput("it is written in braces")
    heads = [n for n, line in enumerate(lines) if _is_key(line.lstrip("\ufeff"), "", section)]
    if len(heads) > 1:
        raise InvalidInput(f"it has {len(heads)} sections {section!r}")
    if not heads:
        return _Found(None, None, len(lines), _INDENT, 0)
    if _split(lines[heads[0]], section, section)[1] not in _EMPTY:
        raise InvalidInput(f"its section {section!r} is written in one line")
    return _in_section(lines, heads[0], section, key)


def _in_section(lines: list[str], header: int, section: str, key: str) -> _Found:
    indent, line, children = "", None, 0
    for n in range(header + 1, len(lines)):
        words = lines[n].strip()
        if not words or words.startswith("#"):
            continue
        space = lines[n][: len(lines[n]) - len(lines[n].lstrip())]
        if not space:
            if words.startswith("- "):
                raise InvalidInput(f"its section {section!r} is a list")
            break
        if "\t" in space:
            raise InvalidInput("it is indented with tabs")
        indent = indent or space
        if space == indent:
            children += 1
            if _is_key(lines[n], indent, key):
                if line is not None:
                    raise InvalidInput(f"{section}.{key} is in it twice")
                line = n
        elif line is not None and n == line + 1:
            raise InvalidInput(f"{section}.{key} goes over several lines")
    return _Found(header, line, header + 1, indent or _INDENT, children)


def _is_key(line: str, indent: str, key: str) -> bool:
    return re.match(rf"{indent}(?:{key}|'{key}'|\"{key}\")[ ]*:(?:\s|$)", line) is not None


def _split(line: str, section: str, key: str) -> tuple[str, str, str]:
    """A line as what stands up to its colon, its value, and the rest: a comment, and the end of the line."""
    colon = line.index(":") + 1
    head, rest = line[:colon], line[colon:]
    found = _VALUE.match(rest)
    if found is None:
        raise InvalidInput(f"the value of {section if key == section else f'{section}.{key}'} is no plain word")
    return head, found.group(1), found.group(2).rstrip(" \t") + found.group(3)


def _ended(line: str, end: str) -> str:
    return line if line.endswith("\n") else line + end
