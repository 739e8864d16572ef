"""What the global options say, the system opened by them, and the one way a command answers: JSON, or for people."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from memos.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from memos.settings import Settings
    from memos.sync import MemOS


@dataclass(frozen=True, slots=True)
class State:
    """The global options of one run."""

    home: Path | None = None
    user: str = "default"
    cube: str | None = None
    json: bool = False
    embedder: str | None = None
    debug: bool = False

    def settings(self, **given: Any) -> Settings:
        """The settings with the options applied, and what a command was `given` beside them."""
        from memos.settings import Settings

        return Settings.load(home=self.home, embedder=self.embedder, **given)

    @contextlib.contextmanager
    def system(self, *, background: bool = False) -> Iterator[MemOS]:
        """The memory system, closed when the block ends. `background`: let it digest and embed on its own meanwhile."""
        from memos.sync import MemOS

        quiet_logs()
        system = MemOS(self.home, embedder=self.embedder, background=background)
        try:
            yield system
        finally:
            system.close()

    @property
    def where(self) -> dict[str, Any]:
        """The user and cube, as every verb takes them."""
        return {"user": self.user, "cube": self.cube}

    def tell(self, text: str) -> None:
        """Say something beside the answer, on stderr; nothing with `--json`."""
        if not self.json:
            typer.echo(text, err=True)

    def answer(self, value: Any, show: Callable[[Console], None]) -> None:
        """Print a value: as JSON with `--json`, else the way `show` prints it."""
        if self.json:
            from memos.cli.jsonable import to_json

            print(to_json(value))
        else:
            show(console())


def state_of(ctx: typer.Context) -> State:
    """The state of a command's run."""
    return ctx.obj if isinstance(ctx.obj, State) else State()


def named_user(ctx: typer.Context) -> str | None:
    """The user that --user or MEMOS_USER names; None where neither does: of a server, that is the user of its key."""
    source = ctx.find_root().get_parameter_source("user")
    return None if source is None or source.name == "DEFAULT" else state_of(ctx).user


def console(*, error: bool = False) -> Console:
    """Where output goes; styled only on a terminal, and never wrapped at 80 columns in a pipe."""
    from rich.console import Console

    stream = sys.stderr if error else sys.stdout
    return Console(stderr=error, markup=False, highlight=False, emoji=False, width=None if stream.isatty() else 160)


def print_all(*what: RenderableType) -> Callable[[Console], None]:
    """A `show` that prints these."""

    def show(out: Console) -> None:
        for one in what:
            out.print(one)

    return show


def parse_filter_option(text: str | None) -> dict[str, Any] | None:
    """The JSON of `--filter`."""
    if text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise InvalidInput(
            f'--filter is not JSON ({e}); write for example \'{{"tags": {{"contains": "work"}}}}\''
        ) from None
    if not isinstance(value, dict):
        raise InvalidInput(f"--filter is a JSON object, got {text[:60]!r}")
    return value


def parse_pairs(pairs: list[str]) -> dict[str, Any] | None:
    """Several `--info key=value`; a value that is JSON (a number, true, null, a list) is taken as such. None when
    there are none.
    """
    out: dict[str, Any] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip():
            raise InvalidInput(f"--info takes key=value, got {pair!r}")
        try:
            out[key.strip()] = json.loads(value, parse_constant=str)
        except (ValueError, RecursionError):
            out[key.strip()] = value
    return out or None


def quiet_logs(*, quiet: bool = True) -> None:
    """What the library logs (`quiet`: only warnings) goes to stderr, so that stdout holds the answer alone."""
    import logging

    class OnStderr(logging.StreamHandler[Any]):
        """Writes to what stderr is when something is said."""

        def emit(self, record: logging.LogRecord) -> None:
            self.stream = sys.stderr
            super().emit(record)

    log = logging.getLogger("memos")
    log.setLevel(logging.WARNING if quiet else logging.INFO)
    if not any(type(handler).__name__ == OnStderr.__name__ for handler in log.handlers):
        log.addHandler(handler := OnStderr())
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
