"""Installs MemOS in a host, takes it out again, and says whether it is in: `memos hosts`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memos.errors import Conflict, InvalidInput
from memos.hosts.edits import Edit, apply, edit_json, read, with_block, without_block
from memos.hosts.jsonc import Document, value_at
from memos.hosts.places import MARK, Place, Reach, group, mcp_entry, mcp_lines
from memos.hosts.receipts import Receipt


@dataclass(frozen=True, slots=True)
class Installed:
    """What an installation changed, or would: the files; `notes`: what is to be known beside."""

    host: str
    scope: str
    files: tuple[Path, ...]
    dry_run: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether MemOS is in a host: `events` that have its hook, whether its MCP server is there, and the hook's command.
    `what`: what is there instead of hooks, in a host that takes a plugin.
    """

    host: str
    scope: str
    hooks_file: Path
    events: tuple[str, ...]
    missing: tuple[str, ...]
    mcp: bool
    command: str | None
    problem: str | None = None
    what: str | None = None


@dataclass(frozen=True, slots=True)
class Examined:
    """How an installed hook did. `seconds`: its round trip, as the host would wait for it. `problems`: what is wrong, to be
    mended from the first on. `what` took these seconds.
    """

    host: str
    scope: str
    seconds: float | None
    problems: tuple[str, ...]
    what: str = "a hook took"

    @property
    def well(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def lines(self) -> list[str]:
        """For people."""
        head = f"{self.host} ({self.scope}): {'well' if self.well else 'not well'}"
        took = [] if self.seconds is None else [f"{self.what} {self.seconds * 1_000:.0f} ms"]
        return [head, *(f"  {line}" for line in (*took, *self.problems))]


def install(place: Place, reach: Reach, home: Path, *, mcp: bool = True, dry_run: bool = False) -> Installed:
    """Write the hooks and the MCP server into a host's files, beside what is there. Doing it again changes nothing, or what is
    asked otherwise now. Raises InvalidInput for a file that cannot be read, Conflict for an MCP server of this name that is not
    ours; nothing is written then.
    """
    edits = [_with_hooks(place, reach)]
    if mcp:
        edits.append(_with_mcp(place, reach))
    changed = tuple(e.path for e in edits if e.changes)
    if not dry_run:
        _receipt(place, home).note(
            edits, lambda edit: _without_us(place, edit), lambda edit: {"depth": _missing(place, edit)}
        )
        apply(*edits)
    unread = _left_out(place)
    return Installed(place.host, place.scope, changed, dry_run, (place.asks, *([unread] if unread else ())))


def uninstall(place: Place, home: Path, *, dry_run: bool = False) -> Installed:
    """Take MemOS out of a host: a file that is as it was written becomes what it was before, to the byte; of one that changed
    since, only what is ours is taken out. What was remembered stays.
    """
    receipt = _receipt(place, home)
    edits = [_taken_back(place, receipt, path) for path in dict.fromkeys((place.hooks, place.mcp))]
    changed = tuple(e.path for e in edits if e.changes)
    if not dry_run:
        apply(*edits)
        receipt.forget()
    return Installed(place.host, place.scope, changed, dry_run)


def standing(place: Place) -> Standing:
    """Whether MemOS is in a host now, by what its files say."""
    events: list[str] = []
    commands: list[str] = []
    mcp, problem = False, None
    try:
        found = _document(place.hooks)
        if found is not None:
            for event, _, command in _ours(found.value):
                events.append(event)
                commands.append(command)
        mcp = _has_mcp(place)
        problem = _left_out(place) if events else None
    except InvalidInput as e:
        problem = str(e)
    had = tuple(e for e in place.events if e in events)
    missing = tuple(e for e in place.events if e not in events)
    first = commands[0] if commands else None
    return Standing(place.host, place.scope, place.hooks, had, missing, mcp, first, problem)


def _left_out(place: Place) -> str | None:
    """What is wrong with settings that we can read and the host cannot: it leaves out all of them, in silence."""
    content = read(place.hooks)
    try:
        json.loads((content or b"").strip() or b"{}")
    except ValueError:
        return (
            f"{place.host} reads plain JSON alone and leaves out all of {place.hooks}, our hooks and what else is in it: "
            "take its comments and trailing commas out"
        )
    return None


# -- hooks ---------------------------------------------------------------------------------------------------------


def _with_hooks(place: Place, reach: Reach) -> Edit:
    def change(document: Document) -> None:
        wanted = {event: group(place, event, reach) for event in place.events}
        there = [event for event, _, _ in _ours(document.value)]
        if sorted(there) == sorted(wanted) and all(wanted[event] in document.value["hooks"][event] for event in wanted):
            return
        _drop_hooks(document, keep_empty=True)
        for event, entry in wanted.items():
            document.append(("hooks", event), entry)

    return edit_json(place.hooks, change)


def _drop_hooks(document: Document, *, keep_empty: bool = False) -> None:
    """Take our hooks out; lists and groups that are empty then go too (`keep_empty`: only groups)."""
    hooks = document.value.get("hooks")
    touched = set()
    for event, groups in list(hooks.items()) if isinstance(hooks, dict) else ():
        for at in reversed(range(len(groups) if isinstance(groups, list) else 0)):
            entries = groups[at].get("hooks") if isinstance(groups[at], dict) else None
            mine = [n for n, entry in enumerate(entries) if _is_ours(entry)] if isinstance(entries, list) else []
            if mine and len(mine) == len(entries or ()):
                document.drop(("hooks", event, at))
                touched.add(event)
            else:
                for n in reversed(mine):
                    document.drop(("hooks", event, at, "hooks", n))
    if keep_empty:
        return
    for event in touched:
        if document.value["hooks"][event] == []:
            document.drop(("hooks", event))
    if touched and document.value["hooks"] == {}:
        document.drop(("hooks",))


def _ours(settings: Any) -> Iterator[tuple[str, int, str]]:
    """(event, number of the group, command) of each hook of ours."""
    hooks = settings.get("hooks") if isinstance(settings, dict) else None
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for number, one in enumerate(groups if isinstance(groups, list) else ()):
            entries = one.get("hooks") if isinstance(one, dict) else None
            for entry in entries if isinstance(entries, list) else ():
                if _is_ours(entry):
                    yield event, number, entry["command"]


def _is_ours(entry: Any) -> bool:
    command = entry.get("command") if isinstance(entry, dict) else None
    return isinstance(command, str) and MARK in command


# -- MCP -----------------------------------------------------------------------------------------------------------


def _with_mcp(place: Place, reach: Reach) -> Edit:
    if place.mcp.suffix == ".toml":
        return with_block(place.mcp, ".".join(place.mcp_path), mcp_lines(place, reach))

    def change(document: Document) -> None:
        there = value_at(document.value, place.mcp_path)
        if there is not None and not _is_our_server(there):
            raise Conflict(
                f"{place.mcp} has an MCP server {place.mcp_path[-1]!r} that is not of MemOS; rename it, or install with --no-mcp"
            )
        entry = mcp_entry(place, reach)
        if there != entry:
            document.put(place.mcp_path, entry)

    return edit_json(place.mcp, change)


def _drop_mcp(place: Place, document: Document, made: int) -> None:
    """Take our server out, and the objects around it that are empty then, as far as `made` of them were made for it."""
    if not _is_our_server(value_at(document.value, place.mcp_path)):
        return
    path = place.mcp_path
    document.drop(path)
    while made > 0 and len(path) > 1 and value_at(document.value, path[:-1]) == {}:
        path, made = path[:-1], made - 1
        document.drop(path)


def _has_mcp(place: Place) -> bool:
    if place.mcp.suffix == ".toml":
        content = read(place.mcp)
        return content is not None and without_block(place.mcp, content.decode("utf-8", "replace")) != content.decode(
            "utf-8", "replace"
        )
    found = _document(place.mcp)
    return found is not None and _is_our_server(value_at(found.value, place.mcp_path))


def _is_our_server(entry: Any) -> bool:
    arguments = entry.get("args") if isinstance(entry, dict) else None
    return isinstance(arguments, list) and "memos.cli" in arguments and "mcp" in arguments


# -- taking back ---------------------------------------------------------------------------------------------------


def _taken_back(place: Place, receipt: Receipt, path: Path) -> Edit:
    before = read(path)
    if (edit := receipt.to_the_byte(path, before)) is not None:
        return edit
    if before is None:
        return Edit(path, None, None)
    made = receipt.made(path)
    if path.suffix == ".toml":
        after = without_block(path, before.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        return Edit(path, before, None if made and not after.strip() else after)

    def change(document: Document) -> None:
        if path == place.hooks:
            _drop_hooks(document)
        if path == place.mcp:
            known = receipt.files.get(str(path))
            _drop_mcp(place, document, 1 if known is None else int(known["depth"]))

    edit = edit_json(path, change)
    return Edit(path, before, None) if made and edit.after is not None and edit.after.strip() == b"{}" else edit


def _without_us(place: Place, edit: Edit) -> bytes | None:
    """What a file was without us: as it is, unless an installation that nobody has a receipt of is in it."""
    if edit.before is None or edit.path.suffix == ".toml":
        return None if edit.before is None else without_block(edit.path, edit.before.decode()).encode()
    if edit.path == place.hooks:
        return edit_json(edit.path, _drop_hooks, edit.before).after
    return edit_json(edit.path, lambda document: _drop_mcp(place, document, 1), edit.before).after


def _missing(place: Place, edit: Edit) -> int:
    """How many objects around the MCP server are made for it."""
    if edit.path != place.mcp or edit.path.suffix == ".toml":
        return 0
    value = {} if edit.before is None or not edit.before.strip() else Document(edit.before.decode()).value
    return sum(1 for n in range(1, len(place.mcp_path)) if value_at(value, place.mcp_path[:n]) is None)


def _receipt(place: Place, home: Path) -> Receipt:
    return Receipt(home, place.host, place.scope, f"{place.scope}\0{place.hooks}")


def _document(path: Path) -> Document | None:
    content = read(path)
    if content is None:
        return None
    try:
        return Document(content.decode("utf-8") if content.strip() else "{}")
    except (InvalidInput, UnicodeDecodeError) as e:
        raise InvalidInput(f"{path}: {e}") from None
