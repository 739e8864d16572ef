"""Messages of the library in the words of the command line: where one names a Python call or argument, the command or
option is meant here. The one place for it.
"""

from __future__ import annotations

import re

_TABLE = tuple(
    (re.compile(pattern), meant)
    for pattern, meant in (
        (r"no background work runs here, `flush` does it", "a server or worker does it, or `memos flush`"),
        (r"create it with create_cube\((['\"])(.+?)\1, user=(['\"])(.+?)\3\)", r"`memos cubes create \2 --user \4` makes it"),
        (r"its owner can share it( with share\(\)| so)", "its owner can share it with `memos cubes share`"),
        (r"name a cube, or create one", "name one with --cube, or make one with `memos cubes create`"),
        (r"choose another name or allow overwriting", "choose another name, or --overwrite"),
        (r"choose another folder or allow overwriting", "choose another folder, or --overwrite"),
        (r"`skills` lists those that do", "`memos skills list` shows those that do"),
        (r"call start_turn with what the user said", "`memos turn start` begins one with what the user said"),
        (r"at once; use report_step", "at once; `memos turn step` reports one"),
        (r"from add\(\) or search\(\)", "as `memos list` and `memos search` show them"),
        (r"use list\(\) to read memories without a question", "`memos list` reads memories without a question"),
        (r"page with list\(\) for more", "`memos list --limit … --cursor …` goes through all"),
        (r"go on with cursor for more", "go on with --cursor for more"),
        (r"not one that list\(\) returned", "not one that `memos list` printed"),
        (r"by exactly one of ids, filter, session, everything=True", "by exactly one of IDs, --filter, --session, --everything"),
        (r"read anew by exactly one of ids, session, everything=True", "say what to read anew: ids, --session or --all"),
        (
            r"give text, title, tags, info, importance, valid_from or",
            "give --text, --title, --tag, --info, --importance, --valid-from or",
        ),
        (r"--valid-from or valid_to", "--valid-from or --valid-to"),
        (r"include_superseded, or a clock", "--superseded, or --as-of"),
        (r"give cube or cubes, not both", "give --cube or --in, not both"),
        (r"\b(as|known)_(of|at) (between|after)\b", r"--\1-\2 \3"),
        (r"\bmax_tokens=", "--max-tokens "),
        (r"delete them first, or say everything=True", "`memos cubes delete` each, or use --everything"),
        (r"\bexpires_in_days is\b", "--expires-in-days is"),
    )
)  # fmt: skip


def in_cli_words(message: str) -> str:
    """The message as it is said on the command line."""
    for pattern, meant in _TABLE:
        message = pattern.sub(meant, message)
    return message
