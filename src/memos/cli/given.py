"""What `memos add` is given: words on the command line, standard input, or a file, which is JSON, JSON lines or text."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memos.errors import InvalidInput

_JSON_NAMES = (".json", ".jsonl", ".ndjson")
_OPENS_JSON = re.compile(r"\s*(?:\{\s*(?:\"|\}|$)|\[\s*(?:[\[{\"]|\]|$))")


@dataclass(frozen=True, slots=True)
class Given:
    """What to store, as `MemOS.add` takes it, and what the person should know about how it was understood."""

    messages: Any
    notice: str | None = None


def given(words: Sequence[str] | None, file: str | None) -> Given:
    """Read the input. Raises InvalidInput when there is none, there are two, or a file cannot be read."""
    if (not words) == (file is None):
        raise InvalidInput(
            "give either a text (or `-` for standard input) or --file, " + ("not both" if words else "one of them")
        )
    if file is not None:
        return _of_file(file)
    assert words
    text = " ".join(words)
    if text == "-":
        return Given(_decoded(_standard_input(), "standard input"))
    if len(words) == 1 and _is_file(text):
        return Given(text, f"{text} is the name of a file; `memos add --file {text}` stores what it holds")
    return Given(text)


def _of_file(file: str) -> Given:
    if file == "-":
        name, content = "standard input", _standard_input()
    else:
        name = file
        if not _is_file(file):
            raise InvalidInput(f"{file} is not a file that can be read")
        content = Path(file).read_bytes()
    text = _decoded(content, name)
    if Path(file).suffix.lower() in _JSON_NAMES or _OPENS_JSON.match(text):
        return Given(parse_chat(text, name))
    return Given(text, f"{name} is not JSON: stored as one text")


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long for a name
        return False


def _standard_input() -> bytes:
    return sys.stdin.buffer.read()


def _decoded(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise InvalidInput(f"{name} is not UTF-8 text ({e.reason} at byte {e.start})") from None


def parse_chat(content: str, name: str) -> Any:
    """The messages of a chat file: a JSON list, an object with `messages`, one message, or a message per line."""
    try:
        value = json.loads(content)
    except json.JSONDecodeError as whole:
        return _lines(content, name, whole)
    except RecursionError:
        raise InvalidInput(f"{name} is nested too deeply to be a list of messages") from None
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        return value["messages"]
    return value


def _lines(content: str, name: str, whole: json.JSONDecodeError) -> list[Any]:
    """A message per line, where the file as a whole is not JSON; errors are told by line."""
    out: list[Any] = []
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        try:
            out.append(json.loads(line))
        except (ValueError, RecursionError) as e:
            what, at = (whole, whole.lineno) if not out else (e, number)
            reason = what.msg if isinstance(what, json.JSONDecodeError) else str(what)
            column = f", column {what.colno}" if isinstance(what, json.JSONDecodeError) else ""
            raise InvalidInput(f"{name}, line {at}{column} is not JSON: {reason}") from None
    return out
