"""Waiting for derived work, with a progress bar on a terminal when it takes longer than a moment."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from memos.cli.state import State, console
from memos.cli.wording import in_cli_words
from memos.errors import ModelError

if TYPE_CHECKING:
    from memos.sync import MemOS

_PATIENCE = 0.7  # seconds before a bar is shown
_TICK = 0.2


def finish_or_say(system: MemOS, state: State, expected: int = 1) -> str | None:
    """Finish the waiting work; where a model cannot be had, a sentence about it: what was written is safe."""
    try:
        finish(system, state, expected)
    except ModelError as e:
        from memos.system.parts import left_undone

        return f"stored; {in_cli_words(left_undone(e))} (`memos flush` tries again)"
    return None


def finish_and_tell(system: MemOS, state: State, *, wait: bool) -> None:
    """The same for commands whose answer has no place for notices: they go to stderr."""
    if wait and (problem := finish_or_say(system, state)) is not None:
        console(error=True).print(f"memos: note: {problem}", soft_wrap=True)


def finish(system: MemOS, state: State, expected: int) -> None:
    """Return when the cube's waiting work is done; raises what the work raised (a model that is not there)."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            system.flush(**state.where)
        except BaseException as e:  # noqa: BLE001 - raised again where the command waits
            failed.append(e)

    thread = threading.Thread(target=work, name="memos-flush", daemon=True)
    thread.start()
    thread.join(_PATIENCE)
    out = console(error=True)
    if thread.is_alive() and out.is_terminal and not state.json:
        _show(system, state, thread, expected)
    thread.join()
    if failed:
        raise failed[0]


def _show(system: MemOS, state: State, thread: threading.Thread, expected: int) -> None:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(error=True), transient=True) as progress:
        tasks = {
            "digest": progress.add_task("reading", total=expected),
            "embed": progress.add_task("embedding", total=expected),
        }
        totals = dict.fromkeys(tasks, expected)
        while thread.is_alive():
            waiting = system.stats(**state.where).waiting
            for name, task in tasks.items():
                left = waiting.get(name, 0)
                totals[name] = max(totals[name], left)
                progress.update(task, total=totals[name], completed=totals[name] - left)
            time.sleep(_TICK)
