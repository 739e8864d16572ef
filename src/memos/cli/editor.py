"""A text in the person's own editor: `VISUAL`, else `EDITOR`, else vi."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from memos.errors import InvalidInput


def edited(text: str, suffix: str = ".md") -> str | None:
    """The text as it was saved; None when it was left as it is. Raises InvalidInput when the editor cannot be run."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="memos-") as folder:
        file = Path(folder, f"skill{suffix}")
        file.write_text(text, "utf-8")
        try:
            done = subprocess.run([*shlex.split(editor), str(file)], check=False)  # noqa: S603 - the person's own choice
        except (OSError, ValueError) as e:
            raise InvalidInput(f"the editor {editor!r} cannot be run ({e}); set EDITOR, or use --file") from None
        if done.returncode != 0:
            raise InvalidInput(f"the editor ended with code {done.returncode}; nothing was changed")
        now = file.read_text("utf-8")
    return None if now == text else now
