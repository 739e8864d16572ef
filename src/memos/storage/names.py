"""What a name of a user, cube or session may be, and metadata as it is stored. Names are opaque: no path, no pattern, no
case to fold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memos.errors import InvalidInput

MAX_NAME = 256


EVERYBODY = "*"  # in a grant: every user, also those that come later


def check_user(name: str) -> str:
    """The name of one user."""
    if check_name(name, "user") == EVERYBODY:
        raise InvalidInput(f"{EVERYBODY!r} stands for everybody and is nobody's name; choose another")
    return name


def check_name(name: str, what: str) -> str:
    """A user's, cube's or session's name: any text of 1 to 256 characters without control characters."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"{what} must be a non-empty text, got {name!r}")
    if len(name) > MAX_NAME:
        raise InvalidInput(f"{what} is {len(name)} characters long, at most {MAX_NAME} are allowed: {name[:40]!r}…")
    if any(ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) <= 0xDFFF for c in name):
        raise InvalidInput(f"{what} must not contain control characters or lone surrogates: {name!r}")
    return name


def encoded_info(info: Mapping[str, Any] | None) -> str | None:
    """Metadata as JSON text, None when there is none. Raises InvalidInput for what JSON has no form for."""
    if not info:
        return None
    try:
        return json.dumps(dict(info), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as e:
        raise InvalidInput(f"info cannot be written as JSON ({e})") from None
