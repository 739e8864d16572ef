"""Puts MemOS into Hermes and takes it out: the name of the provider in its `config.yaml`, and the folder by which it is found."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from memos.errors import InvalidInput
from memos.hosts.edits import Edit, apply, read
from memos.hosts.hermes import options as settings
from memos.hosts.hermes.shim import files
from memos.hosts.hermes.yaml_line import value_of, with_value, without_value
from memos.hosts.install import Installed, Standing
from memos.hosts.places import Reach
from memos.hosts.receipts import Receipt

HOST, NAME = "hermes", "memos"
_SECTION, _KEY = "memory", "provider"


def hermes_home() -> Path:
    """Where this user's Hermes keeps its settings."""
    return Path(os.environ.get("HERMES_HOME") or "~/.hermes").expanduser().absolute()


def install(reach: Reach, home: Path, *, dry_run: bool = False) -> Installed:
    """Make MemOS the memory provider of Hermes. Doing it again changes nothing, or what is asked otherwise now. Raises
    InvalidInput for a file that cannot be read or edited; nothing is written then.
    """
    root = hermes_home()
    edits = [_config(root, NAME), *(Edit(p, read(p), content) for p, content in files(root / "plugins" / NAME).items())]
    asked = _asked(reach)
    if asked or settings.config_file(root).exists():
        edits.append(_options(root, asked))
    notes = [
        "Hermes takes it up at its next session; `hermes memory status` shows it, `memos hosts doctor hermes` tries it."
    ]
    other = value_of(_text(edits[0].before), _SECTION, _KEY)
    if other and other != NAME:
        notes.append(f"the memory provider was {other!r}; uninstall puts it back")
    if not dry_run:
        receipt = _receipt(root, home)
        receipt.note(edits, lambda edit: _first(edit, receipt))
        apply(*edits)
    return Installed(HOST, "user", tuple(e.path for e in edits if e.changes), dry_run, tuple(notes))


def uninstall(home: Path, *, dry_run: bool = False) -> Installed:
    """Take MemOS out of Hermes: files that are as they were written become what they were before, to the byte; in a
    `config.yaml` that changed since, only the provider does. What was remembered stays.
    """
    root = hermes_home()
    receipt = _receipt(root, home)
    paths = [root / "config.yaml", *files(root / "plugins" / NAME), settings.config_file(root)]
    edits = [_taken_back(path, receipt) for path in paths]
    if not dry_run:
        apply(*edits)
        _swept(root)
        receipt.forget()
    return Installed(HOST, "user", tuple(e.path for e in edits if e.changes), dry_run)


def standing() -> Standing:
    """Whether MemOS is in Hermes now, by what its files say."""
    root = hermes_home()
    config, folder, problem, chosen = root / "config.yaml", root / "plugins" / NAME / "__init__.py", None, None
    try:
        chosen = value_of(_text(read(config)), _SECTION, _KEY)
        settings.load(root)
    except (InvalidInput, UnicodeDecodeError) as e:
        problem = f"{config}: {e}"
    there = tuple(word for word, is_there in (("provider", chosen == NAME), ("plugin", folder.is_file())) if is_there)
    lacks = tuple(word for word in ("provider", "plugin") if word not in there) if there else ()
    if problem is None and lacks:
        what = f"memory.provider is {chosen or 'not set'}" if "provider" in lacks else f"{folder} is not there"
        problem = f"{what}: memos hosts install hermes"
    said = "memory provider" if there else None
    return Standing(HOST, "user", config, there, lacks, False, None, problem, what=said)


def _config(root: Path, name: str) -> Edit:
    path = root / "config.yaml"
    before = read(path)
    try:
        after = with_value(_text(before), _SECTION, _KEY, name)
    except (InvalidInput, UnicodeDecodeError) as e:
        raise InvalidInput(
            f"{path} cannot be edited ({e}); nothing was changed. Set it by hand first: hermes config set memory.provider memos"
        ) from None
    return Edit(path, before, after.encode())


def _asked(reach: Reach) -> dict[str, Any]:
    asked: dict[str, Any] = {
        "home": reach.home,
        "url": reach.url,
        "key_file": reach.key_file,
        "user": reach.user,
        "cube": reach.cube,
    }
    out = {name: str(value) for name, value in asked.items() if value is not None}
    return out if reach.max_tokens == 1_500 else {**out, "max_tokens": reach.max_tokens}


def _options(root: Path, asked: dict[str, Any]) -> Edit:
    """The options with what is asked in them; what is there already and not asked stays."""
    path = settings.config_file(root)
    settings.load(root, {})
    before = read(path)
    kept = json.loads(before) if before and before.strip() else {}
    if {**kept, **asked} == kept:
        return Edit(path, before, before)
    return Edit(path, before, (json.dumps({**kept, **asked}, indent=2, ensure_ascii=False) + "\n").encode())


def _first(edit: Edit, receipt: Receipt) -> bytes | None:
    """What a file was before MemOS came."""
    ours = edit.before is None or edit.path.parent.name == NAME
    return None if ours else _without_us(edit.before or b"", receipt.copy_of(edit.path))


def _taken_back(path: Path, receipt: Receipt) -> Edit:
    before = read(path)
    if before is None or path.parent.name == NAME:
        return Edit(path, before, None)
    if (edit := receipt.to_the_byte(path, before)) is not None:
        return edit
    try:
        after = _without_us(before, receipt.copy_of(path))
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is no UTF-8 text; mend it first, nothing was changed") from None
    return Edit(path, before, None if not after.strip() and receipt.made(path) else after)


def _without_us(content: bytes, copy: bytes | None) -> bytes:
    """A `config.yaml` with the provider that was in it before, as the copy says, in place of ours."""
    text = _text(content)
    if value_of(text, _SECTION, _KEY) != NAME:
        return content
    was = None if copy is None else value_of(_text(copy), _SECTION, _KEY)
    if was is None or was == NAME:
        return without_value(text, _SECTION, _KEY).encode()
    return with_value(text, _SECTION, _KEY, was or "''").encode()


def _swept(root: Path) -> None:
    """Take folders of ours away that are empty but for what Python leaves in them."""
    folder = root / "plugins" / NAME
    for left in (folder / "__pycache__").glob("__init__.*.pyc"):
        left.unlink(missing_ok=True)
    for one in (folder / "__pycache__", folder, root / "plugins", root / settings.FOLDER):
        with contextlib.suppress(OSError):
            one.rmdir()


def _text(content: bytes | None) -> str:
    return "" if content is None else content.decode("utf-8")


def _receipt(root: Path, home: Path) -> Receipt:
    return Receipt(home, HOST, "user", str(root))
