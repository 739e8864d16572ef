"""Credentials in what a call was given, where they plainly are some: their values are left out of what is learned and told. Pure.

Only what a name says to be one (`PGPASSWORD=...`, `--token ...`, `Authorization: Bearer ...`, `scheme://user:...@host`), and the
forms that well-known services give their keys. What was reported stays in the raw record as it was.
"""

from __future__ import annotations

import re
from typing import Final

from memos.text.lazy import LazyPattern

SECRET: Final = "secret"  # noqa: S105 - the name of the parameter that stands for one
_NAME = r"[\w-]{0,40}(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|_token)"
_VALUE = r"(?!\{|\$|<|\*)[^\s'\"`&;|,<>{}]{4,400}"
_NAMED = LazyPattern(
    rf"(?P<before>(?<![\w-])(?:-{{1,2}})?{_NAME}(?:=|['\"]\s{{0,3}}:\s{{0,3}})['\"]?"
    r"|(?<![\w-])--(?:password|passwd|token|secret|api-key)[ =]['\"]?"
    r"|\bBearer |\bBasic (?=[A-Za-z0-9+/]{12})|\b[a-z][a-z0-9+.-]{1,12}://[^\s/:@'\"]{0,60}:)"
    rf"(?P<value>{_VALUE})",
    re.IGNORECASE,
)
_FORMED = LazyPattern(
    r"(?<![\w-])(?:sk-[A-Za-z0-9_-]{16,200}|gh[pousr]_[A-Za-z0-9]{16,200}|github_pat_\w{20,200}|xox[abprs]-[A-Za-z0-9-]{10,200}"
    r"|AKIA[A-Z0-9]{16}|AIza[\w-]{30,60}|eyJ[\w-]{10,400}\.[\w-]{10,400}\.[\w-]{5,400}|(?:sk|pk|rk|tk)_(?:live|test)_\w{8,200})"
)


def without_secrets(text: str, shown: str = f"{{{SECRET}}}") -> str:
    """A text with `shown` in the place of each credential."""
    if not text:
        return text
    return _FORMED.sub(shown, _NAMED.sub(lambda m: _hidden(m, shown), text))


def _hidden(found: re.Match[str], shown: str) -> str:
    before, value = found["before"], found["value"]
    if before.endswith(":") and "://" in before:  # of an address only what stands before the host is one
        _, at, host = value.rpartition("@")
        return f"{before}{shown}{at}{host}" if at else found[0]
    return before + shown
