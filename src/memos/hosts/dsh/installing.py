"""Puts MemOS into DeepSeek Harness and takes it out: a plugin, and rows in `cordis.patch.yml` that mount it in every profile."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from memos.errors import InvalidInput
from memos.hosts.dsh.rows import command_in, has_server, rows, with_rows, without_rows
from memos.hosts.edits import Edit, apply, read
from memos.hosts.install import Installed, Standing
from memos.hosts.places import Reach
from memos.hosts.receipts import Receipt

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
        _receipt(home).note(edits, _without_us)
        apply(*edits)
    return Installed(HOST, "user", tuple(e.path for e in edits if e.changes), dry_run, (_ASKS,))


def uninstall(home: Path, *, dry_run: bool = False) -> Installed:
    """Take MemOS out: the patch file becomes what it was before, to the byte; if it changed since, only our rows go. What was
    remembered stays.
    """
    receipt, patch, plugin = _receipt(home), patch_file(), plugin_file()
    edits = [_taken_back(patch, receipt), Edit(plugin, read(plugin), None)]
    if not dry_run:
        apply(*edits)
        receipt.forget()
    return Installed(HOST, "user", tuple(e.path for e in edits if e.changes), dry_run)


def standing() -> Standing:
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


def _taken_back(patch: Path, receipt: Receipt) -> Edit:
    before = read(patch)
    if before is None:
        return Edit(patch, None, None)
    if (edit := receipt.to_the_byte(patch, before)) is not None:
        return edit
    after = without_rows(patch, _text(patch, before)).encode()
    return Edit(patch, before, None if receipt.made(patch) and after.strip() in (b"", b"[]") else after)


def _without_us(edit: Edit) -> bytes | None:
    """What a file was before MemOS came."""
    if edit.before is None or edit.path != patch_file():
        return None
    return without_rows(edit.path, edit.before.decode()).encode()


def _text(path: Path, content: bytes | None) -> str:
    try:
        return "" if content is None else content.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is no UTF-8 text") from None


def _receipt(home: Path) -> Receipt:
    return Receipt(home, HOST, "user", str(dsh_home()))
