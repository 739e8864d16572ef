"""The rows of MemOS in a patch file of DeepSeek Harness (YAML): put at its end between two marks, read, and taken out again.

The file is edited as text, so that what is there keeps its layout and its comments; what cannot be told apart is refused.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from memos.errors import Conflict, InvalidInput
from memos.hosts.places import SERVER, Reach

BEGIN, END = "# >>> memos: `memos hosts uninstall dsh` takes this out", "# <<< memos"
_CLIENT = "@deepseek-ai/dsh-mcp-client"
_OURS = re.compile(r"""^[\s-]*(?:id|serverName):\s*["']?memos(?:-mcp)?["']?\s*(?:#.*)?$""", re.MULTILINE)
_COMMAND = re.compile(r"^\s*command: (\[.*\])$", re.MULTILINE)


def rows(plugin: Path, journals: Path, reach: Reach, host: str) -> str:
    """The lines that mount the plugin and, if asked for, the MCP server. Strings of JSON are strings of YAML."""
    lines = [
        "- insert:",
        "    - id: memos",
        f"      name: {_said(str(plugin))}",
        "      config:",
        f"        command: {_said(reach.hook(host))}",
        f"        journal: {_said(str(journals))}",
    ]
    if reach.tools:
        command, *arguments = reach.mcp(host)
        lines += [
            "    - id: memos-mcp",
            f"      name: {_said(_CLIENT)}",
            "      config:",
            "        transport: stdio",
            f"        serverName: {SERVER}",
            f"        command: {_said(command)}",
            f"        args: {_said(arguments)}",
        ]
    return "\n".join(lines)


def with_rows(path: Path, text: str, lines: str) -> str:
    """The text of a patch file with the rows in it, in place of those that are there. Raises Conflict for rows of these names
    that are not ours, InvalidInput for a file that is no list of rows, one below the other.
    """
    text = without_rows(path, text)
    if _OURS.search(text):
        raise Conflict(f"{path} has a row or a server {SERVER!r} that is not of MemOS; take it out first")
    block = f"{BEGIN}\n{lines}\n{END}\n"
    kept = _significant(text)
    if kept == ["[]"]:
        return re.sub(r"^\[\][ \t]*(?:#.*)?\n?", lambda _: block, text, count=1, flags=re.MULTILINE)
    if kept and not kept[0].startswith("- ") and kept[0] != "-":
        raise InvalidInput(f"{path} is not a list of rows, one below the other; write it so first, nothing was changed")
    return (text if not text or text.endswith("\n") else text + "\n") + block


def without_rows(path: Path, text: str) -> str:
    """The text without the block between the marks. Raises InvalidInput when only one of them is left."""
    start, end = text.find(BEGIN), text.find(END)
    if start < 0 and end < 0:
        return text
    if start < 0 or end < start:
        raise InvalidInput(f"{path}: one of the two lines that mark the rows of MemOS is gone; take them out by hand")
    rest = text[:start] + text[end + len(END) :].removeprefix("\r").removeprefix("\n")
    return rest if not rest or _significant(rest) else rest + "[]\n"  # the harness refuses a file without a list


def command_in(text: str) -> list[str] | None:
    """The words of the hook that the rows name; None without rows."""
    start, end = text.find(BEGIN), text.find(END)
    found = _COMMAND.search(text[start:end]) if 0 <= start < end else None
    try:
        words: Any = json.loads(found.group(1)) if found else None
    except ValueError:
        return None
    return words if isinstance(words, list) and all(isinstance(w, str) for w in words) else None


def has_server(text: str) -> bool:
    """Whether the rows mount the MCP server."""
    start, end = text.find(BEGIN), text.find(END)
    return 0 <= start < end and _CLIENT in text[start:end]


def _significant(text: str) -> list[str]:
    """The lines that are neither empty nor comments, nor the start of a document."""
    lines = (line.rstrip() for line in text.splitlines())
    return [
        re.sub(r"\s+#.*$", "", one)
        for one in lines
        if one.strip() and not one.lstrip().startswith("#") and one != "---"
    ]


def _said(value: str | list[str]) -> str:
    return json.dumps(value, ensure_ascii=False)
