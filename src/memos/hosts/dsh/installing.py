"""Puts MemOS into DeepSeek Harness and takes it out: a plugin, and rows in `cordis.patch.yml` that mount it in every profile."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from memos.errors import InvalidInput
from memos.hosts.dsh.rows import command_in, has_server, rows, with_rows, without_rows
from memos.hosts.edits import Edit, Receipt, apply, keep, read, sha, to_the_byte
from memos.hosts.install import Installed, Standing
from memos.hosts.places import Reach

HOST = "dsh"
_ASKS = "Sessions that run already take it up when they are started again; dsh --profile NAME --dump-config shows it."


def dsh_home(env: Mapping[str, str] | None = None) -> Path:
    """Where this user's DeepSeek Harness keeps its settings."""
    given = (os.environ if env is None else env).get("DSH_HOME")
    return Path(given or "~/.dsh").expanduser().absolute()


def patch_file() -> Path:
    """The patch that is laid over every profile."""
    return dsh_home() / "cordis.patch.yml"


def plugin_file() -> Path:
    """The plugin, in a folder of its own beside the profiles: it stays loadable when this package goes."""
    return dsh_home() / "memos" / "plugin.mjs"


def plugin_text() -> bytes:
    """The plugin that belongs to this version."""
    return files("memos.hosts.dsh").joinpath("plugin.mjs").read_bytes()


def install(reach: Reach, home: Path, *, dry_run: bool = False) -> Installed:
    """Mount the plugin and the MCP server. Doing it again changes nothing, or what is asked otherwise now. Raises InvalidInput
    for a file that cannot be read or edited, Conflict for rows of our names that are not ours; nothing is written then.
    """
    patch, plugin = patch_file(), plugin_file()
    before = read(patch)
    lines = rows(plugin, home / "hosts" / HOST, reach, HOST)
    edits = [
        Edit(plugin, read(plugin), plugin_text()),
        Edit(patch, before, with_rows(patch, _text(patch, before), lines).encode()),
    ]
    if not dry_run:
        _keep(home, edits)
        apply(*edits)
    return Installed(HOST, "user", tuple(e.path for e in edits if e.changes), dry_run, (_ASKS,))


def uninstall(home: Path, *, dry_run: bool = False) -> Installed:
    """Take MemOS out: the patch file becomes what it was before, to the byte; if it changed since, only our rows go. What was
    remembered stays.
    """
    receipt = Receipt.load(_receipt_file(home))
    known = {} if receipt is None else receipt.files
    patch, plugin = patch_file(), plugin_file()
    edits = [_taken_back(patch, known.get(str(patch)), home), Edit(plugin, read(plugin), None)]
    if not dry_run:
        apply(*edits)
        for one in known.values():
            if one["copy"] is not None:
                (home / "hosts" / one["copy"]).unlink(missing_ok=True)
        _receipt_file(home).unlink(missing_ok=True)
    return Installed(HOST, "user", tuple(e.path for e in edits if e.changes), dry_run)


def standing(home: Path) -> Standing:
    """Whether MemOS is in the harness now, by what its files say."""
    patch, problem, text = patch_file(), None, ""
    try:
        text = _text(patch, read(patch))
        without_rows(patch, text)
    except InvalidInput as e:
        problem = str(e)
    words = command_in(text)
    there = tuple(w for w, is_there in (("rows", words is not None), ("plugin", plugin_file().is_file())) if is_there)
    lacks = tuple(w for w in ("rows", "plugin") if w not in there) if there else ()
    if problem is None and lacks:
        problem = f"the {lacks[0]} of MemOS {'are' if lacks[0] == 'rows' else 'is'} missing: memos hosts install dsh"
    mcp = has_server(text)
    what = f"plugin, {'MCP server' if mcp else 'no MCP server'}" if there else None
    command = None if words is None else shlex.join(words)
    return Standing(HOST, "user", patch, there, lacks, mcp, command, problem, what=what)


def _taken_back(patch: Path, known: dict[str, Any] | None, home: Path) -> Edit:
    before = read(patch)
    if before is None:
        return Edit(patch, None, None)
    if (edit := to_the_byte(patch, before, known, home)) is not None:
        return edit
    after = without_rows(patch, _text(patch, before)).encode()
    made = known is not None and known["copy"] is None
    return Edit(patch, before, None if made and after.strip() in (b"", b"[]") else after)


def _keep(home: Path, edits: list[Edit]) -> None:
    """Keep what the patch file was before MemOS came, once, and what the files are now."""
    file = _receipt_file(home)
    old = Receipt.load(file)
    receipt = Receipt(HOST, "user", {} if old is None else dict(old.files))
    for edit in edits:
        if not edit.changes:
            continue
        assert edit.after is not None
        known = receipt.files.get(str(edit.path))
        if known is None or edit.before is None or sha(edit.before) != known["wrote"]:
            copy = None
            if edit.before is not None and edit.path == patch_file():
                copy = f"before/{file.stem}-{edit.path.name}"
                keep(home / "hosts" / copy, without_rows(edit.path, edit.before.decode()).encode())
            known = {"copy": copy}
        receipt.files[str(edit.path)] = {**known, "wrote": sha(edit.after)}
    if receipt.files:
        receipt.save(file)


def _text(path: Path, content: bytes | None) -> str:
    try:
        return "" if content is None else content.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is no UTF-8 text") from None


def _receipt_file(home: Path) -> Path:
    return home / "hosts" / f"{HOST}-{hashlib.sha256(str(dsh_home()).encode()).hexdigest()[:12]}.json"
