"""The retention rules of a cube as they are given and kept, and whether they may be applied by the clock there is."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any

from memos.arguments import checked_tags, listed, member
from memos.errors import InvalidInput
from memos.memory.model import Kind
from memos.memory.number import whole
from memos.memory.upkeep import RetentionRule

INFO = "retention"  # the key of the rules in a cube's info
MOST_RULES = 32
_BACK, _JUMP = timedelta(days=1), timedelta(days=30)


def checked_rules(rules: object) -> tuple[RetentionRule, ...]:
    """Rules as a caller gives them: `RetentionRule`s, or mappings with their fields. Raises InvalidInput."""
    if isinstance(rules, (str, Mapping, RetentionRule)) or not isinstance(rules, Collection):
        raise InvalidInput(f"rules is a list of retention rules, got {type(rules).__name__}; nothing was changed")
    if len(rules) > MOST_RULES:
        raise InvalidInput(f"a cube has at most {MOST_RULES} retention rules, got {len(rules)}")
    return tuple(_checked(rule, place) for place, rule in enumerate(rules))


def _checked(rule: object, place: int) -> RetentionRule:
    what = f"retention rule {place}"
    if isinstance(rule, RetentionRule):
        given = {f.name: getattr(rule, f.name) for f in fields(rule)}
    elif isinstance(rule, Mapping):
        given = dict(rule)
    else:
        raise InvalidInput(f"{what} is a mapping such as {{'kinds': ['fact'], 'max_age_days': 90}}, got {rule!r:.60}")
    names = [f.name for f in fields(RetentionRule)]
    if unknown := [name for name in given if name not in names]:
        raise InvalidInput(f"{what} has an unknown field {unknown[0]!r:.60}; known are {', '.join(names)}")
    limits = [given.get(name) for name in ("max_age_days", "keep_newest", "keep_bytes")]
    if sum(limit is not None for limit in limits) != 1:
        raise InvalidInput(f"{what} needs exactly one of max_age_days, keep_newest and keep_bytes")
    age, newest, size = limits
    if age is not None and (
        isinstance(age, bool) or not isinstance(age, (int, float)) or not (math.isfinite(age) and age > 0)
    ):
        raise InvalidInput(f"{what}: max_age_days is a number of days above 0, got {age!r:.60}")
    if not isinstance(given.get("hard", False), bool):
        raise InvalidInput(f"{what}: hard is True or False, got {given['hard']!r:.60}")
    return RetentionRule(
        kinds=tuple(dict.fromkeys(member(Kind, k, "kind").value for k in listed(given.get("kinds") or (), "kinds"))),
        tags=checked_tags(given.get("tags") or ()),
        max_age_days=None if age is None else float(age),
        keep_newest=None if newest is None else whole(newest, "keep_newest", least=0),
        keep_bytes=None if size is None else whole(size, "keep_bytes", least=0, most=1 << 53),
        hard=given.get("hard", False),
    )


def as_info(rules: Sequence[RetentionRule]) -> list[dict[str, Any]]:
    """The rules as they stand in a cube's info."""
    usual = RetentionRule()
    return [
        {
            f.name: value
            for f in fields(rule)
            if (value := _plain(getattr(rule, f.name))) != _plain(getattr(usual, f.name))
        }
        for rule in rules
    ]


def rules_of(info: Mapping[str, Any]) -> tuple[RetentionRule, ...]:
    """The rules in a cube's info; none where there are none, or where they are not ours."""
    kept = info.get(INFO)
    if not isinstance(kept, list):
        return ()
    try:
        return checked_rules(kept)
    except InvalidInput:  # written by hand, or by a newer version: what is not understood deletes nothing
        return ()


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


# -- the clock -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LastRun:
    """When rules were last applied to a cube (or set), kept in the cube. `refused`: a refusal was told already."""

    at: datetime
    refused: bool = False

    def to_text(self) -> str:
        """As it is kept."""
        return json.dumps({"at": self.at.isoformat(), "refused": self.refused})

    @classmethod
    def from_text(cls, text: str | None) -> LastRun | None:
        """As it was kept; None where nothing was, or nothing of ours."""
        try:
            value = json.loads(text or "null")
            return cls(datetime.fromisoformat(value["at"]), bool(value["refused"]))
        except (ValueError, TypeError, KeyError):
            return None


def refusal(now: datetime, newest: datetime | None, last: LastRun | None) -> str | None:
    """Why rules must not be applied, here and by this clock; None when they may. `newest`: when the last memory was recorded."""
    if last is None:
        return "these rules came with the cube from elsewhere; set them once here, or run them with despite_clock"
    if newest is not None and now < newest - _BACK:
        return (
            f"the clock says {now:%Y-%m-%d %H:%M}, more than a day before the newest memory was recorded "
            f"({newest:%Y-%m-%d %H:%M}); set the clock right, or run the rules with despite_clock"
        )
    if now - last.at > _JUMP and (newest is None or newest <= last.at):
        return (
            f"the clock says {now:%Y-%m-%d %H:%M}, more than 30 days after the last run, and nothing was recorded since; "
            "if it is right, run the rules with despite_clock"
        )
    return None


def with_run(last: LastRun | None, now: datetime, *, refused: bool) -> LastRun:
    """What is kept after a run, or after a refusal, which does not count as one. Raises ValueError without a first run."""
    if not refused:
        return LastRun(now)
    if last is None:
        raise ValueError("there was no run to keep")
    return replace(last, refused=True)
