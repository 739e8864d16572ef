"""Errors name commands and options where the library names calls and arguments."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli_helpers import Answer, Memos

from memos.cli.wording import in_cli_words


def test_no_error_names_a_python_call(memos: Memos, answer: Answer, tmp_path: Path) -> None:
    answer("add", "something", "--user", "ana")
    answer("cubes", "create", "theirs", "--user", "ana")
    out = tmp_path / "out.zip"
    memos("export", str(out), "--user", "ana")
    runs = {
        ("search", "x", "--cube", "nope"): "`memos cubes create nope --user default`",
        ("get", "nonsense"): "`memos list`",
        ("search", "x", "--cube", "theirs"): "`memos cubes share`",
        ("export", str(out), "--user", "ana"): "--overwrite",
        ("search", ""): "`memos list`",
        ("list", "--cursor", "x"): "`memos list` printed",
        ("list", "--limit", "20000"): "--cursor",
        ("delete", "--yes"): "--session, --everything",
        ("reread",): "ids, --session or --all",
        ("update", answer("add", "mine")["records"][0]["id"]): "--valid-from or --valid-to",
    }
    for args, says in runs.items():
        result = memos(*args, code=1 if args[-1] in ("nope", "theirs") else 2)
        assert says in result.stderr, args
        assert not re.search(r"\w\(\)|\w\('|=True|valid_from|max_tokens", result.stderr), result.stderr


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("no hit fits into max_tokens=3", "no hit fits into --max-tokens 3"),
        ("as_of between 2024-01-01 and now", "--as-of between 2024-01-01 and now"),
        ("search with the superseded status visible (include_superseded, or a clock)",
         "search with the superseded status visible (--superseded, or --as-of)"),
        ("cube 'o\"x' does not exist for user 'u'; create it with create_cube('o\"x', user='u')",
         "cube 'o\"x' does not exist for user 'u'; `memos cubes create o\"x --user u` makes it"),
        ("the disk is full", "the disk is full"),
    ],
)  # fmt: skip
def test_hints_are_put_into_options(said: str, meant: str) -> None:
    assert in_cli_words(said) == meant
