"""`ETag` and `If-Match`: a change that is made only while a memory has the version its author saw."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Annotated

from fastapi import Header
from pydantic import WithJsonSchema

from memos.errors import Conflict, InvalidInput
from memos.memory.model import Memory
from memos.server.errors import Refused

IfMatch = Annotated[
    str | None,
    WithJsonSchema({"type": "string", "examples": ['"3"', "*"]}),
    Header(description='Make the change only at this version of the memory: its `ETag`, such as `"3"`, or `*`.'),
]
_VERSION = re.compile(r'(?:W/)?"?([1-9][0-9]{0,17})"?')


def etag(memory: Memory) -> dict[str, str]:
    """The header that names a memory's version."""
    return {"ETag": f'"{memory.version}"'}


@contextlib.contextmanager
def only_at(if_match: str | None) -> Iterator[int | None]:
    """Around a change: the version that `If-Match` asks for, None for any. A conflict is then that it has another (412). Raises
    InvalidInput.
    """
    wanted = _version_of(if_match)
    try:
        yield wanted
    except Conflict as e:
        if wanted is None:
            raise
        raise Refused(412, "conflict", str(e)) from e


def _version_of(if_match: str | None) -> int | None:
    if if_match is None or if_match.strip() == "*":
        return None
    found = _VERSION.fullmatch(if_match.strip())
    if found is None:
        raise InvalidInput(f'If-Match is the ETag of the memory, such as "3", got {if_match!r:.40}')
    return int(found[1])
