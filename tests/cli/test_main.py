"""The command as a whole: help, global options, errors, completion, JSON, and a real process."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import typer
from cli_helpers import Memos, strict
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from memos import __version__
from memos.cli.jsonable import jsonable, to_json
from memos.cli.main import app, global_options_first
from memos.cli.state import State


def _commands() -> Iterator[tuple[str, ...]]:
    root = typer.main.get_command(app)
    about = typer.Context(root)
    for name in root.list_commands(about):  # type: ignore[attr-defined]
        command = root.get_command(about, name)  # type: ignore[attr-defined]
        for under in getattr(command, "commands", None) or (None,):
            yield (name,) if under is None else (name, under)


@pytest.mark.parametrize("command", list(_commands()), ids=" ".join)
def test_every_command_explains_itself(memos: Memos, command: tuple[str, ...]) -> None:
    shown = memos(*command, "--help").stdout
    usage, _, rest = shown.partition("\n\n")
    assert usage.startswith("Usage:")
    assert len(rest.split("\n\n")[0].strip()) > 15


def test_help_names_every_command(memos: Memos) -> None:
    shown = memos("--help").stdout
    wanted = (
        "add search get list update delete undo history explain neighbors timeline stats cubes export import doctor"
    )
    assert not [name for name in (*wanted.split(), "config") if f"\n  {name} " not in shown]


def test_help_groups_the_commands_and_leaves_none_out(memos: Memos) -> None:
    shown = memos("--help").stdout
    titles = ["Memory:", "Cubes and accounts:", "Serve and look after:"]
    places = [shown.index(f"\n{title}\n") for title in titles]
    assert places == sorted(places)
    named = [line.split()[0] for line in shown[places[0] :].splitlines() if line.startswith("  ") and line[2] != " "]
    wanted = {command[0] for command in _commands()}
    assert sorted(named[: len(wanted)]) == sorted(wanted)
    assert shown.index("\n  add ") < places[1] < shown.index("\n  keys ") < places[2] < shown.index("\n  serve ")


@pytest.mark.parametrize("command", [(), ("turn",), ("hosts",), ("mcp",)], ids=" ".join)
def test_help_cuts_no_sentence_off(memos: Memos, command: tuple[str, ...]) -> None:
    lines = memos(*command, "--help").stdout.splitlines()
    assert not [line for line in lines if line.endswith("...") and "ARGS" not in line]


def test_version(memos: Memos) -> None:
    assert memos("--version").stdout.strip() == f"memos {__version__}"
    assert memos("version").stdout.startswith(f"memos {__version__}")


def test_global_options_may_follow_the_command() -> None:
    args = ["search", "x", "--user", "ana", "--json", "--cube=c", "-n", "3", "--", "--user", "text"]
    assert global_options_first(args) == [
        "--user",
        "ana",
        "--json",
        "--cube=c",
        "search",
        "x",
        "-n",
        "3",
        "--",
        "--user",
        "text",
    ]


def test_a_text_that_looks_like_an_option_is_kept_behind_two_dashes(memos: Memos) -> None:
    memos("add", "--", "--json is a flag")
    assert "--json is a flag" in memos("search", "flag").stdout


def test_errors_are_json_with_json(memos: Memos) -> None:
    result = memos("--json", "get", "nonsense", code=2)
    assert result.stdout == ""
    assert strict(result.stderr)["error"]["code"] == "invalid_input"


def test_an_unknown_command_or_option_is_an_input_error(memos: Memos) -> None:
    assert "serch" in memos("serch", "x", code=2).stderr
    assert "--nope" in memos("search", "x", "--nope", code=2).stderr


def test_a_bug_is_one_line_and_debug_shows_where(memos: Memos, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: State) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(State, "settings", broken)
    error = memos("config", code=1).stderr
    assert error == "memos: unexpected KeyError: 'oops' (--debug shows where)\n"
    result = CliRunner().invoke(app, ["--home", str(home), "--debug", "config"])
    assert isinstance(result.exception, KeyError)


def test_importing_the_command_is_light() -> None:
    heavy = ("numpy", "apsw", "rich", "structlog", "asyncio")
    code = f"import memos.cli.main, sys; print([m for m in {heavy} if m in sys.modules])"
    assert _python("-c", code).stdout.strip() == "[]"


def test_a_real_process_adds_and_finds(tmp_path: Path) -> None:
    env = {"MEMOS_HOME": str(tmp_path / "home"), "MEMOS_EMBEDDER": "none"}
    added = _python(
        "-m", "memos.cli", "add", "-", "--user", "ana", "--json", env=env, input="紫藤茶馆 opens on Fridays"
    )
    id = strict(added.stdout)["records"][0]["id"]
    found = _python("-m", "memos.cli", "search", "茶馆", "--user", "ana", "--json", env=env)
    assert strict(found.stdout)["hits"][0]["memory"]["id"] == id
    missing = _python("-m", "memos.cli", "get", id, "--user", "bo", env=env, code=1)
    assert missing.stderr.count("\n") == 1
    assert missing.stderr.startswith("memos: memory ")


def test_shell_completion_offers_commands(tmp_path: Path) -> None:
    code = "from memos.cli.main import app; app(prog_name='memos')"
    env = {"_MEMOS_COMPLETE": "complete_bash", "COMP_WORDS": "memos sea", "COMP_CWORD": "1", "HOME": str(tmp_path)}
    assert _python("-c", code, env=env).stdout.split() == ["search"]


def _python(
    *args: str, env: dict[str, str] | None = None, input: str | None = None, code: int = 0
) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MEMOS_")}
    source = str(Path(__file__).parents[2] / "src")
    done = subprocess.run(
        [sys.executable, *args],
        env={**clean, "PYTHONPATH": source, "PYTHONUTF8": "1", **(env or {})},
        input=input,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


# -- JSON ------------------------------------------------------------------------------------------------------


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Thing:
    when: datetime
    colour: Colour
    parts: tuple[Any, ...]
    by: Any


def test_our_values_become_plain_json() -> None:
    noon = datetime(2025, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    thing = Thing(
        noon, Colour.RED, (1, None, float("nan"), b"\x01"), MappingProxyType({Colour.RED: frozenset({"b", "a"})})
    )
    assert jsonable(thing) == {
        "when": "2025-01-01T10:00:00Z",
        "colour": "red",
        "parts": [1, None, None, "01"],
        "by": {"red": ["a", "b"]},
    }
    assert jsonable(np.float32(0.5)) == 0.5
    assert jsonable(datetime(2025, 1, 1, tzinfo=UTC)) == "2025-01-01T00:00:00Z"


def test_what_has_no_form_in_json_is_an_error() -> None:
    with pytest.raises(TypeError, match="object"):
        jsonable(object())


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_json_output_is_always_strict(value: Any) -> None:
    read = strict(to_json(value))
    if isinstance(value, float):
        assert read == (value if math.isfinite(value) else None)
    elif not isinstance(value, (list, dict, str)):
        assert read == value
