"""What language models were used for, in the control file: a row for each day, user, purpose and model."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import date
from typing import Any

from memos.memory.spending import By, LlmUse
from memos.storage.sqlite import audit
from memos.storage.sqlite.control import Control

DELETED = "(deleted)"  # whose calls ended after the user was deleted

_COUNTS = ("calls", "failed", "estimated", "unpriced", "input_tokens", "output_tokens", "cost", "seconds")
_ADD = (
    f"INSERT INTO llm_usage(day, user, purpose, model, {', '.join(_COUNTS)}) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    f"ON CONFLICT DO UPDATE SET {', '.join(f'{name}={name}+excluded.{name}' for name in _COUNTS)}"
)


class SqliteUsage:
    """The use of language models in one data folder. All methods are quick, blocking and safe from any thread or process."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def add(self, uses: Iterable[LlmUse], known: Collection[str] = ()) -> set[str]:
        """Add to what is there, in one transaction; returns the users who exist. One of the `known`, who did exist, and does not
        any more was deleted: her name does not come back.
        """
        found = list(uses)
        with self._control.change() as db:
            users = {use.user for use in found if use.user is not None}
            there = {user for user in users if audit.exists(db, user)}
            gone = {user for user in users if user in known} - there
            for u in found:
                user = DELETED if u.user in gone else u.user
                counts = (u.calls, u.failed, u.estimated, u.unpriced, u.input_tokens, u.output_tokens)
                day = u.day.isoformat() if u.day is not None else ""
                db.execute(_ADD, (day, user, u.purpose, u.model, *counts, u.cost_micros or 0, u.seconds))
        return there

    def find(
        self,
        by: Sequence[By],
        *,
        user: str | None = None,
        purpose: str | None = None,
        since: date | None = None,
        until: date | None = None,
        limit: int = -1,
    ) -> tuple[LlmUse, ...]:
        """The sums of what was used from a day to a day (both included), told apart `by` these: newest days first, then those
        with the most tokens.
        """
        wheres = {"user=?": user, "purpose=?": purpose, "day>=?": since, "day<=?": until}
        asked = {sql: str(value) for sql, value in wheres.items() if value is not None}
        where = f"WHERE {' AND '.join(asked)}" if asked else ""
        group = f"GROUP BY {', '.join(by)}" if by else ""
        order = ", ".join([*(["day DESC"] if "day" in by else []), "sum(input_tokens)+sum(output_tokens) DESC", *by])
        sums = ", ".join(f"sum({name})" for name in _COUNTS)
        columns = f"{', '.join(by)}, {sums}" if by else sums
        with self._control.use() as db:
            rows: list[Any] = db.execute(
                f"SELECT {columns} FROM llm_usage {where} {group} ORDER BY {order} LIMIT ?", (*asked.values(), limit)
            ).fetchall()
        return tuple(_use(by, row) for row in rows if row[len(by)] is not None)

    def tokens(self, user: str, day: date) -> int:
        """The tokens of a user on a day."""
        with self._control.use() as db:
            found: int | None = db.execute(
                "SELECT sum(input_tokens+output_tokens) FROM llm_usage WHERE user=? AND day=?", (user, day.isoformat())
            ).get
        return found or 0


def _use(by: Sequence[By], row: tuple[Any, ...]) -> LlmUse:
    names: dict[str, Any] = dict(zip(by, row, strict=False))
    if "day" in names:
        names["day"] = date.fromisoformat(names["day"])
    calls, failed, estimated, unpriced, tokens_in, tokens_out, cost, seconds = row[len(by) :]
    return LlmUse(
        **names,
        calls=calls,
        failed=failed,
        estimated=estimated,
        unpriced=unpriced,
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        cost_micros=None if unpriced == calls else cost,
        seconds=seconds,
    )
