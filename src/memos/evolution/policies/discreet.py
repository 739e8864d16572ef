"""A policy without the credentials that its evidence was given: it is handed on, shared and exported, and says how, not with
which password. Pure.
"""

from __future__ import annotations

from dataclasses import replace

from memos.memory.learned import Action, Parameter, PolicyBody
from memos.text.secrets import SECRET, without_secrets
from memos.text.template import fill

_PROBE = "Zq7probe7qZ"


def discreet(body: PolicyBody) -> PolicyBody:
    """The policy with `{secret}` in the place of each credential, and without examples of parameters that are some."""
    told = replace(
        body,
        trigger=without_secrets(body.trigger),
        error=without_secrets(body.error),
        errors=tuple(map(without_secrets, body.errors)),
        goal=without_secrets(body.goal),
        goals=tuple(map(without_secrets, body.goals)),
        procedure=tuple(Action(a.tool, without_secrets(a.input)) for a in body.procedure),
        verification=without_secrets(body.verification),
        prefer=without_secrets(body.prefer),
        avoid=without_secrets(body.avoid),
        parameters=tuple(replace(p, examples=()) if _is_secret(p, body) else p for p in body.parameters),
    )
    if any(f"{{{SECRET}}}" in a.input for a in told.procedure) and all(p.name != SECRET for p in told.parameters):
        told = replace(told, parameters=(*told.parameters, Parameter(SECRET)))
    return told


def _is_secret(parameter: Parameter, body: PolicyBody) -> bool:
    """Whether the values of a parameter are credentials, by their form or by where it stands."""
    if any(without_secrets(e) != e for e in parameter.examples):
        return True
    hole = f"{{{parameter.name}}}"
    placed = [fill(a.input, {parameter.name: _PROBE}) for a in body.procedure if hole in a.input]
    return any(_PROBE not in without_secrets(text) for text in placed)
