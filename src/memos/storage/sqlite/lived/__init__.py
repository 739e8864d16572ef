"""Episodes, steps, signals, lessons, trials, hints and what was learned, in a cube file: the statements about these tables, for
changes (functions over `SqliteTx`) and for reads (`Lived`, a part of `SqliteCube`).

They hold ids, numbers and names, never a text (law 1): the texts are memories. A hard deletion takes rows along (`forget`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import apsw

from memos.storage.sqlite.lived.episodes import (
    NEXT_WORK,
    Standing,
    close_episode,
    due,
    due_of,
    environments,
    episode,
    episode_of,
    episodes,
    episodes_by_id,
    episodes_of,
    idle,
    last_episode,
    learn_again,
    next_due,
    next_judge,
    next_work,
    open_episode,
    open_in,
    place_in,
    postpone,
    put_off_judging,
    reopen_episode,
    set_judge,
    set_reward,
    standing,
    to_judge,
    waiting,
)
from memos.storage.sqlite.lived.events import events, last_event, tell, told_since, was_told
from memos.storage.sqlite.lived.forgetting import LEARNED_ANEW, forget, taken_back
from memos.storage.sqlite.lived.hints import (
    StoredHint,
    add_hint,
    disproved,
    hint,
    hint_after,
    hint_made,
    hints,
    mark_delivered,
    settle_hint,
    validate_hint,
)
from memos.storage.sqlite.lived.learned import (
    Stamp,
    directives_of_owner,
    learned_memories,
    learned_since,
    procedures_of_owner,
    skills_named,
)
from memos.storage.sqlite.lived.lessons import (
    Compared,
    Counted,
    attach,
    by_task,
    compared,
    counted,
    failed_in,
    lessons_elsewhere,
    lessons_failed,
    lessons_for,
    lessons_free,
    lessons_good,
    lessons_in,
    lessons_newest,
    lessons_of,
    policies_of_buckets,
    put_lessons,
    usual_success,
)
from memos.storage.sqlite.lived.rows_read import REFLECTION, USE, Lesson, memories, tool_use
from memos.storage.sqlite.lived.signals import add_signal, has_verdict, signal_under, signals
from memos.storage.sqlite.lived.steps import (
    Place,
    Placed,
    add_step,
    amend_step,
    calls_after,
    episode_of_step,
    failed_like,
    failures_in_a_row,
    is_told_again,
    last_calls,
    last_of,
    last_step,
    last_step_id,
    numbers_there,
    place,
    placed,
    set_value,
    set_values,
    steps,
    steps_by_number,
    steps_in_context,
)
from memos.storage.sqlite.lived.trials import (
    Uncarried,
    hand_out,
    handed_after,
    mark_carried,
    outcomes,
    resolve_trial,
    trials,
    uncarried,
)

__all__ = [
    "Compared",
    "Counted",
    "LEARNED_ANEW",
    "Lesson",
    "Lived",
    "NEXT_WORK",
    "Place",
    "Placed",
    "REFLECTION",
    "Stamp",
    "Standing",
    "StoredHint",
    "USE",
    "Uncarried",
    "add_hint",
    "add_signal",
    "add_step",
    "amend_step",
    "attach",
    "by_task",
    "calls_after",
    "close_episode",
    "compared",
    "counted",
    "directives_of_owner",
    "disproved",
    "due",
    "due_of",
    "environments",
    "episode",
    "episode_of",
    "episode_of_step",
    "episodes",
    "episodes_by_id",
    "episodes_of",
    "events",
    "failed_in",
    "failed_like",
    "failures_in_a_row",
    "forget",
    "hand_out",
    "handed_after",
    "has_verdict",
    "hint",
    "hint_after",
    "hint_made",
    "hints",
    "idle",
    "is_told_again",
    "last_calls",
    "last_episode",
    "last_event",
    "last_of",
    "last_step",
    "last_step_id",
    "learn_again",
    "learned_memories",
    "learned_since",
    "lessons_elsewhere",
    "lessons_failed",
    "lessons_for",
    "lessons_free",
    "lessons_good",
    "lessons_in",
    "lessons_newest",
    "lessons_of",
    "mark_carried",
    "mark_delivered",
    "memories",
    "next_due",
    "next_judge",
    "next_work",
    "numbers_there",
    "open_episode",
    "open_in",
    "outcomes",
    "place",
    "place_in",
    "placed",
    "policies_of_buckets",
    "postpone",
    "procedures_of_owner",
    "put_lessons",
    "put_off_judging",
    "reopen_episode",
    "resolve_trial",
    "set_judge",
    "set_reward",
    "set_value",
    "set_values",
    "settle_hint",
    "signal_under",
    "signals",
    "skills_named",
    "standing",
    "steps",
    "steps_by_number",
    "steps_in_context",
    "taken_back",
    "tell",
    "to_judge",
    "told_since",
    "tool_use",
    "trials",
    "uncarried",
    "usual_success",
    "validate_hint",
    "waiting",
    "was_told",
]

T = TypeVar("T")


class Lived:
    """The part of `SqliteCube` that reads these. A function above, with the same arguments after the connection."""

    async def _read(self, fn: Callable[[apsw.Connection], T]) -> T:
        raise NotImplementedError

    async def lived(self, fn: Callable[..., T], *args: Any, **named: Any) -> T:
        """One of the reading functions of this module, on one state of the file."""
        return await self._read(lambda db: fn(db, *args, **named))

    async def read_lived(self, fn: Callable[[apsw.Connection], T]) -> T:
        """Several of them, on one state of the file."""
        return await self._read(fn)
