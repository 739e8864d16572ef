"""SQL for the two clocks: which row of `memories m` or `edges e` a `View` sees."""

from __future__ import annotations

from typing import Any

from memos.memory.model import Status
from memos.memory.time import to_micros
from memos.storage.ports import View


def known(view: View, alias: str) -> tuple[str, list[Any]]:
    """Rows that were our belief at `known_at`."""
    if view.known_at is None:
        return f"{alias}.known_to IS NULL", []
    at = to_micros(view.known_at)
    return f"{alias}.known_from <= ? AND ({alias}.known_to IS NULL OR {alias}.known_to > ?)", [at, at]


def true_at(view: View, alias: str) -> tuple[str, list[Any]]:
    """Rows that say of themselves that they were true at `as_of`; an unknown start counts as true."""
    if view.as_of is None:
        return "1", []
    at = to_micros(view.as_of)
    return (
        f"({alias}.valid_from IS NULL OR {alias}.valid_from <= ?) AND ({alias}.valid_to IS NULL OR {alias}.valid_to > ?)",
        [at, at],
    )


def memory_view(view: View) -> tuple[str, list[Any]]:
    """The condition on `memories m` for a view: belief, truth and status."""
    k, k_params = known(view, "m")
    v, v_params = true_at(view, "m")
    statuses = sorted(view.visible)
    s = "1" if len(statuses) == len(Status) else f"m.status IN ({', '.join('?' * len(statuses))})"
    s_params = [] if s == "1" else [status.value for status in statuses]
    return f"{k} AND {v} AND {s}", [*k_params, *v_params, *s_params]


def edge_view(view: View) -> tuple[str, list[Any]]:
    """The condition on `edges e` for a view."""
    k, k_params = known(view, "e")
    v, v_params = true_at(view, "e")
    return f"{k} AND {v}", k_params + v_params
