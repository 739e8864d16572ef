"""Environment variables that look like settings of MemOS but set nothing: most likely a name with a slip in it."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import fields

PREFIX = "MEMOS_"
# Read by the command itself, by the clients and by the models.
_OTHERS = ("MEMOS_USER", "MEMOS_CUBE", "MEMOS_URL", "MEMOS_API_KEY", "MEMOS_BASE_URL", "MEMOS_RERANKER_URL")
_OF_TESTS = "MEMOS_TEST_"


def known_variables() -> list[str]:
    """Every variable that is read somewhere."""
    from memos.server.options import PREFIX as SERVER
    from memos.server.options import ServerOptions
    from memos.settings import Settings

    of_settings = [f"{PREFIX}{field.name.upper()}" for field in fields(Settings)]
    return [*of_settings, *(f"{SERVER}{field.name.upper()}" for field in fields(ServerOptions)), *_OTHERS]


def unknown_variables(env: Mapping[str, str] | None = None) -> list[str]:
    """A sentence about each variable that begins like ours and is none."""
    known = known_variables()
    names = sorted(name for name in (os.environ if env is None else env) if name.startswith(PREFIX))
    return [_said(name, known) for name in names if name not in known and not name.startswith(_OF_TESTS)]


def _said(name: str, known: list[str]) -> str:
    bare = {word.removeprefix("MEMOS_SERVER_").removeprefix(PREFIX): word for word in reversed(known)}
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
    same = bare.get(name.removeprefix("MEMOS_SERVER_").removeprefix(PREFIX))
    meant = same or (near[0] if near else None)
    return f"unknown variable {name}{f'; did you mean {meant}?' if meant else ''} (`memos config` shows all there are)"
