"""Messages of the library in the words of HTTP: where one names a Python call or argument, the route or field is meant here.
The one place for it.
"""

from __future__ import annotations

import re

_TABLE = tuple(
    (re.compile(pattern), meant)
    for pattern, meant in (
        (
            r"create it with create_cube\((['\"])(.+?)\1, user=(['\"])(.+?)\3\)",
            r"POST /v1/cubes with the name \2 and the user \4 makes it",
        ),
        (r"its owner can share it( with share\(\)| so)", "its owner can share it with PUT /v1/cubes/{name}/grants/{user}"),
        (r"name a cube, or create one", "name a `cube`, or make one with POST /v1/cubes"),
        (r"`skills` lists those that do", "GET /v1/skills lists those that do"),
        (r"at once; use report_step", "at once; POST /v1/steps takes one"),
        (r"choose another name or open that one", "choose another name, or use that one as `cube`"),
        (r"from add\(\) or search\(\)", "as POST /v1/memories and /v1/memories/search answer them"),
        (r"use list\(\) to read memories without a question", "GET /v1/memories reads memories without a question"),
        (r"page with list\(\) for more", "go through all with GET /v1/memories and `cursor`"),
        (r"not one that list\(\) returned", "not one that a page before answered"),
        (r"by exactly one of ids, filter, session, everything=True", "by exactly one of ids, filter, session, everything: true"),
        (r"by exactly one of ids, session, everything=True", "by exactly one of ids, session, everything: true"),
        (r"or say everything=True", "or say everything=true"),
        (r"\bmax_tokens=", "max_tokens "),
        (r"not True or False", "not true or false"),
        (r"\bis True or False, got (True|False|None|[^;]*)", r"is true or false, got \1"),
    )
)  # fmt: skip


def in_http_words(message: str) -> str:
    """The message as it is said over HTTP."""
    for pattern, meant in _TABLE:
        message = pattern.sub(meant, message)
    return message
