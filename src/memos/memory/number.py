"""Numbers that callers give: whole ones within bounds, and shares of one. What does not fit is an error that says what
does, never a guess: "5" is not 5, True is not 1, and 10^9 results are not a page.
"""

from __future__ import annotations

from memos.errors import InvalidInput

MOST_AT_ONCE = 10_000  # memories one call answers with at most


def whole(value: object, what: str, *, least: int = 1, most: int = MOST_AT_ONCE, hint: str = "") -> int:
    """The value as an integer from `least` to `most`. Raises InvalidInput, which ends with `hint`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(f"{what} must be an integer from {least} to {most:,}, got {value!r:.60}{hint}")
    return int(value)


def share(value: object, what: str) -> float:
    """The value as a number from 0 to 1. Raises InvalidInput."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise InvalidInput(f"{what} is a number between 0 and 1, got {value!r:.60}")
    return float(value)
