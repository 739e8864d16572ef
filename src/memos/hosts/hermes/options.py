"""What is set for MemOS in Hermes: `$HERMES_HOME/memos/config.json`, written without losing what others put there."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from memos.errors import InvalidInput
from memos.hosts.edits import read, write

FOLDER, FILE = "memos", "config.json"
_NEEDED = (
    "apsw",
    "httpx2",
    "numpy",
    "pydantic",
    "structlog",
)  # by the library; Hermes may run in a Python without them


@dataclass(frozen=True, slots=True)
class Options:
    """`home`: the data folder. `url`, `key_file`: a server instead (`home` then only keeps what is still to be told). `user`:
    whose memory it is, whoever speaks in a gateway. `cube`: one for all profiles. `max_tokens`: budget of the block before a
    prompt. `prefetch_seconds`: how long a prompt waits for it at most.
    """

    home: str = "~/.memos"
    url: str = ""
    key_file: str = ""
    user: str = ""
    cube: str = ""
    max_tokens: int = 1_500
    prefetch_seconds: float = 3.0

    @property
    def folder(self) -> Path:
        """The data folder."""
        return Path(os.path.abspath(os.path.expanduser(self.home)))


SCHEMA: tuple[dict[str, Any], ...] = (
    {"key": "home", "description": "Data folder of MemOS", "default": "~/.memos", "type": "text"},
    {"key": "url", "description": "URL of a MemOS server (empty: the data folder itself)", "default": "", "type": "text"},
    {"key": "key_file", "description": "File with the API key of that server", "default": "", "type": "text"},
    {"key": "user", "description": "Whose memory it is (empty: each user of a gateway their own)", "default": "", "type": "text"},
    {"key": "cube", "description": "One memory for all profiles (empty: each profile its own)", "default": "", "type": "text"},
    {"key": "max_tokens", "description": "Budget of what is put before a prompt, in tokens", "default": 1_500, "type": "integer",
     "minimum": 50, "maximum": 20_000, "step": 50},
    {"key": "prefetch_seconds", "description": "How long a prompt waits for it at most, in seconds", "default": 3.0,
     "type": "number", "minimum": 0.1, "maximum": 6.0, "step": 0.1},
)  # fmt: skip


def config_file(hermes_home: str | Path) -> Path:
    """Where the options are."""
    return Path(hermes_home) / FOLDER / FILE


def load(hermes_home: str | Path, env: Mapping[str, str] | None = None) -> Options:
    """The options as they are set; for `home`, the variable MEMOS_HOME stands above the default. Raises InvalidInput naming the
    file and the field that cannot be used.
    """
    path, env = config_file(hermes_home), os.environ if env is None else env
    given = _object(path)
    out: dict[str, Any] = {"home": env["MEMOS_HOME"]} if env.get("MEMOS_HOME") else {}
    for one in SCHEMA:
        value = given.get(one["key"])
        if value is not None and value != "":
            out[one["key"]] = _checked(path, one, value)
    return Options(**out)


def save(values: Mapping[str, Any], hermes_home: str | Path) -> Path:
    """Write options over those that are there; every other key stays. Raises InvalidInput for one that cannot be used, and for a
    file that is no JSON object; nothing is written then.
    """
    path = config_file(hermes_home)
    kept = _object(path)
    known = {one["key"]: one for one in SCHEMA}
    for key, value in values.items():
        if value is None or value == "":
            kept.pop(key, None)
        else:
            kept[key] = _checked(path, known[key], value) if key in known else value
    write(path, (json.dumps(kept, indent=2, ensure_ascii=False) + "\n").encode())
    return path


def missing() -> list[str]:
    """Packages that the library needs and this Python does not have."""
    return [name for name in _NEEDED if importlib.util.find_spec(name) is None]


def changed(options: Options) -> dict[str, Any]:
    """What differs from the defaults."""
    return {f.name: getattr(options, f.name) for f in fields(Options) if getattr(options, f.name) != f.default}


def _object(path: Path) -> dict[str, Any]:
    content = read(path)
    try:
        value = {} if content is None or not content.strip() else json.loads(content)
    except ValueError:
        raise InvalidInput(f"{path} is no JSON; mend it, or take it away") from None
    if not isinstance(value, dict):
        raise InvalidInput(f"{path} holds no JSON object; mend it, or take it away")
    return value


def _checked(path: Path, field: Mapping[str, Any], value: Any) -> Any:
    if field["type"] == "text":
        if not isinstance(value, str):
            raise InvalidInput(f"{path}: {field['key']} is a text, got {value!r:.60}")
        return value
    try:
        number = int(value) if field["type"] == "integer" else float(value)
        if isinstance(value, bool) or not field["minimum"] <= number <= field["maximum"]:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(
            f"{path}: {field['key']} is a number from {field['minimum']} to {field['maximum']}, got {value!r:.60}"
        ) from None
    return number
