"""Puts MemOS into OpenClaw and takes it out: where the plugin is, and that it is the memory, in `openclaw.json`."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from memos.errors import InvalidInput
from memos.hosts.edits import Edit, apply, edit_json, read
from memos.hosts.install import Installed, Standing
from memos.hosts.jsonc import Document, value_at
from memos.hosts.places import Reach
from memos.hosts.receipts import Receipt

HOST, NAME = "openclaw", "memos"
PLUGIN = Path(__file__).parent / "plugin"
_ENTRY, _SLOT = ("plugins", "entries", NAME), ("plugins", "slots", "memory")
_PATHS, _ALLOW = ("plugins", "load", "paths"), ("plugins", "allow")
_UNSET = ("", "undefined", "null")  # what OpenClaw takes for no value of a variable


def config_file() -> Path:
    """Where this user's OpenClaw keeps its settings."""
    env = {name: value.strip() for name, value in os.environ.items() if value.strip() not in _UNSET}
    home = env.get("OPENCLAW_HOME", "~")
    if (given := env.get("OPENCLAW_CONFIG_PATH")) is not None:
        return _path(given, home)
    state = env.get("OPENCLAW_STATE_DIR")
    return (_path(home, "~") / ".openclaw" if state is None else _path(state, home)) / "openclaw.json"


def install(reach: Reach, home: Path, *, dry_run: bool = False) -> Installed:
    """Make MemOS the memory of OpenClaw. Doing it again changes nothing, or what is asked otherwise now. Raises InvalidInput
    for a file that cannot be read, or that forbids plugins; nothing is written then.
    """
    path = config_file()
    others: list[str] = []

    def change(document: Document) -> None:
        plugins = value_at(document.value, ("plugins",)) or {}
        if isinstance(plugins, dict) and (plugins.get("enabled") is False or NAME in (plugins.get("deny") or ())):
            raise InvalidInput("it switches plugins off (plugins.enabled or plugins.deny)")
        slot = value_at(document.value, _SLOT)
        others.extend([slot] if isinstance(slot, str) and slot != NAME else [])
        _put_in(document, _settings(reach))

    edit = edit_json(path, change, json5=True)
    notes = ["A gateway that runs takes it up by itself; `openclaw plugins inspect memos --runtime` shows it."]
    notes += [f"the memory plugin was {other!r}; uninstall puts it back" for other in others]
    if reach.url is None and find_spec("fastapi") is None:
        notes.append(
            "the plugin starts a server, which needs the extra 'server': pip install '.[server]' in a checkout"
        )
    if find_spec("mcp") is None:
        notes.append("its tools (memos_search ...) need the extra 'mcp': pip install '.[mcp]' in a checkout")
    if not dry_run and edit.changes:
        receipt = _receipt(path, home)
        receipt.note([edit], lambda edit: _without_us(edit, receipt))
        apply(edit)
    return Installed(HOST, "user", (path,) if edit.changes else (), dry_run, tuple(notes))


def uninstall(home: Path, *, dry_run: bool = False) -> Installed:
    """Take MemOS out of OpenClaw: a file that is as it was written becomes what it was before, to the byte; of one that changed
    since, only what is ours is taken out. What was remembered stays.
    """
    path = config_file()
    receipt = _receipt(path, home)
    edit = _taken_back(path, receipt)
    if not dry_run:
        apply(edit)
        receipt.forget()
    return Installed(HOST, "user", (path,) if edit.changes else (), dry_run)


def standing() -> Standing:
    """Whether MemOS is in OpenClaw now, by what its file says."""
    path, problem, value = config_file(), None, None
    try:
        value = _value(read(path))
    except InvalidInput as e:
        problem = f"{path}: {e}"
    entry = value_at(value, _ENTRY)
    entry = entry if isinstance(entry, dict) else {}
    parts = {
        "plugin": any(_is_ours(p) and Path(p).is_dir() for p in _list(value, _PATHS)),
        "memory": value_at(value, _SLOT) == NAME,
        "hooks": value_at(entry, ("hooks", "allowConversationAccess")) is True and entry.get("enabled") is not False,
    }
    there = tuple(name for name, is_there in parts.items() if is_there)
    lacks = tuple(name for name in parts if name not in there) if there else ()
    if problem is None and lacks:
        problem = f"{path} lacks {', '.join(lacks)}: memos hosts install openclaw"
    said = "memory plugin" if there else None
    return Standing(HOST, "user", path, there, lacks, False, None, problem, what=said)


def waiting(home: Path) -> int:
    """How many files of reports the plugin has still to tell on a data folder."""
    return sum(1 for _ in (home / "hosts" / HOST).glob("spool*/*.jsonl"))


def _settings(reach: Reach) -> dict[str, Any]:
    asked: dict[str, Any] = {
        "python": sys.executable if reach.url is None else None,
        "home": reach.home,
        "url": reach.url,
        "keyFile": reach.key_file,
        "user": reach.user,
        "cube": reach.cube,
    }
    out: dict[str, Any] = {name: str(value) for name, value in asked.items() if value is not None}
    return out if reach.max_tokens == 1_500 else {**out, "maxTokens": reach.max_tokens}


def _put_in(document: Document, settings: dict[str, Any]) -> None:
    """Write what is missing or asked otherwise; what else the user set of the plugin stays."""
    config = value_at(document.value, (*_ENTRY, "config")) or {}
    wanted: dict[tuple[str, ...], Any] = {
        (*_ENTRY, "enabled"): True,
        (*_ENTRY, "hooks", "allowConversationAccess"): True,
        **{(*_ENTRY, "config", name): value for name, value in settings.items()},
        _SLOT: NAME,
    }
    if value_at(document.value, _ENTRY) is None:
        entry = {"enabled": True, "hooks": {"allowConversationAccess": True}, "config": settings}
        wanted = {_ENTRY: entry, _SLOT: NAME}
    elif "url" in config and "url" not in settings:
        document.drop((*_ENTRY, "config", "url"))
    here = str(PLUGIN)
    for old in [p for p in _list(document.value, _PATHS) if _is_ours(p) and p != here]:
        document.drop((*_PATHS, _list(document.value, _PATHS).index(old)))
    if here not in _list(document.value, _PATHS):
        document.append(_PATHS, here)
    for path, value in wanted.items():
        if value_at(document.value, path) != value:
            document.put(path, value)
    allowed = _list(document.value, _ALLOW)
    if allowed and NAME not in allowed:
        document.append(_ALLOW, NAME)


def _taken_back(path: Path, receipt: Receipt) -> Edit:
    before = read(path)
    if before is None:
        return Edit(path, None, None)
    if (edit := receipt.to_the_byte(path, before)) is not None:
        return edit
    copy = receipt.copy_of(path)
    try:
        if not _is_in(_value(before)):
            return Edit(path, before, before)
    except InvalidInput as e:
        raise InvalidInput(f"{path}: {e}; mend it first, nothing was changed") from None
    edit = edit_json(path, lambda document: _take_out(document, _value(copy)), json5=True)
    return Edit(path, before, None) if receipt.made(path) and _value(edit.after) == {} else edit


def _take_out(document: Document, was: Any) -> None:
    """Take ours out; the memory plugin that was there before, by the copy, is in its place again."""
    document.drop(_ENTRY)
    for at, one in reversed([*enumerate(_list(document.value, _PATHS))]):
        if _is_ours(one):
            document.drop((*_PATHS, at))
    if NAME in (allowed := _list(document.value, _ALLOW)) and NAME not in _list(was, _ALLOW):
        document.drop((*_ALLOW, allowed.index(NAME)))
    if value_at(document.value, _SLOT) == NAME:
        other = value_at(was, _SLOT)
        if isinstance(other, str) and other != NAME:
            document.put(_SLOT, other)
        else:
            document.drop(_SLOT)
    for path in (("plugins", "entries"), _PATHS, ("plugins", "load"), ("plugins", "slots"), ("plugins",)):
        if value_at(document.value, path) in ({}, []) and value_at(was, path) is None:
            document.drop(path)


def _without_us(edit: Edit, receipt: Receipt) -> bytes | None:
    """What the file was before MemOS came."""
    if edit.before is None or not _is_in(_value(edit.before)):
        return edit.before
    copy = receipt.copy_of(edit.path)
    out = edit_json(edit.path, lambda document: _take_out(document, _value(copy)), edit.before, json5=True).after
    return None if receipt.made(edit.path) and _value(out) == {} else out


def _is_in(value: Any) -> bool:
    """Whether anything of ours is in the settings."""
    return (
        value_at(value, _ENTRY) is not None
        or value_at(value, _SLOT) == NAME
        or any(map(_is_ours, _list(value, _PATHS)))
    )


def _is_ours(path: Any) -> bool:
    return isinstance(path, str) and Path(path).parts[-4:] == PLUGIN.parts[-4:]


def _value(content: bytes | None) -> Any:
    try:
        text = "" if content is None else content.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput("it is no UTF-8 text") from None
    return Document(text, json5=True).value if text.strip() else {}


def _list(value: Any, path: tuple[str, ...]) -> list[Any]:
    found = value_at(value, path)
    return found if isinstance(found, list) else []


def _path(given: str, home: str) -> Path:
    return Path(home + given[1:] if given[:1] == "~" else given).expanduser().absolute()


def _receipt(path: Path, home: Path) -> Receipt:
    return Receipt(home, HOST, "user", str(path))
