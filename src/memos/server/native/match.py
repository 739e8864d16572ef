"""`ETag` and `If-Match`: a change that is made only while a memory has the version its author saw."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Header
from pydantic import WithJsonSchema

from memos.errors import InvalidInput
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


def version_of(if_match: str | None) -> int | None:
    """The version that `If-Match` asks for; None for any. Raises InvalidInput."""
    if if_match is None or if_match.strip() == "*":
        return None
    found = _VERSION.fullmatch(if_match.strip())
    if found is None:
        raise InvalidInput(f'If-Match is the ETag of the memory, such as "3", got {if_match!r:.40}')
    return int(found[1])


def failed(why: object) -> Refused:
    """The answer to a change that was made for another version."""
    return Refused(412, "conflict", str(why))
