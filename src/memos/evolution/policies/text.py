"""How a policy reads: its title and its text, which are searched and shown. Pure."""

from __future__ import annotations

from memos.memory.learned import Form, PolicyBody

_LINE = 300


def policy_title(body: PolicyBody) -> str:
    """A policy in one short line."""
    what = body.trigger or body.error or body.goal or body.avoid
    return f"{'Avoid' if body.form is Form.AVOID else 'When'} {_short(what, 110)}" if what else body.form.value


def policy_text(body: PolicyBody) -> str:
    """A policy in full, a part to a line: when, for example, do, check, not, instead, where."""
    lines = [f"When {_short(body.trigger)}"] if body.trigger else []
    shown = body.trigger
    errors = [f"Fails with: {_short(p)}" for p in (body.error, *body.errors) if p and p not in shown]
    goals = [f"Asked for as: {_short(p)}" for p in (body.goal, *body.goals) if p and p not in shown]
    lines += [*errors, *goals][:8]
    lines += [
        f"{n}. {action.tool}: {action.input}" if action.tool else f"{n}. {action.input}"
        for n, action in enumerate(body.procedure if body.form is not Form.AVOID else (), 1)
    ]
    lines += [f"Check: {_short(body.verification)}"] if body.verification else []
    lines += [f"Do not: {_short(body.avoid)}"] if body.avoid else []
    lines += [f"Instead: {_short(body.prefer)}"] if body.prefer else []
    lines += [f"Not seen to hold: {_short(body.boundary)}"] if body.boundary else []
    return "\n".join(lines)


def _short(text: str, most: int = _LINE) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= most else plain[: most - 1] + "…"
