"""What each step of an episode was worth: the episode's reward, carried back over its steps, to each for its part in it. Pure.

A step's part (alpha) is what a model found, what the agent's own reflection shows, or, without either, what the step changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from memos.evolution.case import Credit
from memos.evolution.value.reward import ALPHA, ended
from memos.memory.episode import Signal, SignalSource, Step, StepRole
from memos.text.analysis import analyze, content_terms
from memos.text.signature import context_key

GAMMA = 0.9  # what is left of the outcome's credit with each step further from it
HALF_LIFE = 30.0  # days after which a memory's priority is half

RESOLVED = 0.8  # the call succeeds that had failed before in this episode
BETWEEN = 0.7  # a call that succeeds between a failure and the success of the same call: perhaps what resolved it
USED = 0.4  # what a call brought to light (a name, a path, a number) is used by a later step
REFLECTED = 0.5  # the agent said what it made of the step (as in the MemOS local plugin)
NOTHING = 0.0  # everything else, and always a call that fails

MOST_CHARS = 20_000  # of an output or input that are looked at
_NAME = re.compile(r"[A-Za-z0-9_][\w./:@+-]{3,79}")
_NEW = re.compile(r"[\d_./:@+-]|[a-z][A-Z]")  # what makes a name more than a word
_FEWEST_TERMS = 2  # a reflection of fewer says nothing
_NEW_TERMS = 0.3  # share of a reflection's terms that the step itself must not have said already
_EMPTY = (  # stems: what every step may say of itself
    "work success successful succeed fail failur error done ok okay good well fine great expect complet finish task step call "
    "tool result ran run execut command output input went"
)
_EMPTY_WORDS = frozenset(_EMPTY.split())
_EMPTY_CHINESE = re.compile("成功|失败|完成|正常|顺利|结果|任务|步骤|调用|工具|执行|已经|一切|操作")


def credits_of(steps: Sequence[Step], reward: float, signals: Sequence[Signal] = ()) -> dict[int, Credit]:
    """The alpha and value of each step by number:

        V_T = R        V_t = alpha_t * R + (1 - alpha_t) * GAMMA * V_(t+1)        each in [-1, 1]

    (the reflection-weighted back-propagation of the MemOS local plugin; alpha of the last step does not matter.)
    """
    part = alphas(steps, signals)
    value, out = 0.0, {}
    for place, step in enumerate(reversed(steps)):
        alpha = part[step.number]
        value = reward if place == 0 else alpha * reward + (1 - alpha) * GAMMA * value
        value = max(-1.0, min(1.0, value))
        out[step.number] = Credit(alpha, value)
    return dict(sorted(out.items()))


def alphas(steps: Sequence[Step], signals: Sequence[Signal] = ()) -> dict[int, float]:
    """How far each step itself is credited with the outcome, in [0, 1], by number: as a model says, else as the rules above."""
    said = {s.memory: s.score for s in signals if s.source is SignalSource.MODEL and s.what == ALPHA and s.memory}
    ruled = _by_rules(steps)
    return {s.number: max(0.0, min(1.0, said[s.id])) if s.id in said else ruled[s.number] for s in steps}


def priority(value: float | None, at: datetime, now: datetime) -> float:
    """How much a step should come to mind now: max(V, 0), halved every 30 days. Made when it is read, never stored."""
    days = max(0.0, (now - at).total_seconds() / 86_400)
    return max(value or 0.0, 0.0) * float(0.5 ** (days / HALF_LIFE))


def is_telling(reflection: str | None, step: Step) -> bool:
    """Whether a reflection says something that the step does not say by itself ("it worked" does not)."""
    if not reflection:
        return False
    said = _EMPTY_CHINESE.sub(" ", reflection[:MOST_CHARS])
    terms = set(content_terms(analyze(said).terms)) - _EMPTY_WORDS
    own = set(analyze(_told(step)[:MOST_CHARS]).terms)
    return len(terms) >= _FEWEST_TERMS and len(terms - own) >= _NEW_TERMS * len(terms)


def _by_rules(steps: Sequence[Step]) -> dict[int, float]:
    part = {s.number: NOTHING for s in steps}
    failed_at: dict[bytes, int] = {}  # where each call failed that did not succeed since
    contexts = [_context(s) for s in steps]
    for place, (step, context) in enumerate(zip(steps, contexts, strict=True)):
        if ended(step) is False:
            if context is not None:
                failed_at.setdefault(context, place)
            continue
        if is_telling(step.reflection, step):
            part[step.number] = REFLECTED
        since = failed_at.pop(context, None) if context is not None and ended(step) else None
        if since is None:
            continue
        part[step.number] = RESOLVED
        for other in steps[since + 1 : place]:
            if ended(other):
                part[other.number] = max(part[other.number], BETWEEN)
    for number in _used_later(steps):
        part[number] = max(part[number], USED)
    return part


def _context(step: Step) -> bytes | None:
    return None if step.use is None else context_key(step.use.tool, step.use.input)


def _used_later(steps: Sequence[Step]) -> set[int]:
    """The calls of whose output something new is in what a later call is given, or in what the agent says later."""
    known: set[str] = set()
    brought: dict[str, int] = {}
    used: set[int] = set()
    for step in steps:
        given = _names(step.use.input) if step.use else _names(step.words)
        if step.role is not StepRole.USER:
            used |= {brought[name] for name in given if name in brought}
        known |= given
        if step.use is not None:
            for name in _names(step.use.output) - known:
                if _NEW.search(name) and ended(step) is not False:
                    brought[name] = step.number
            known |= _names(step.use.output) | _names(step.use.error or "")
    return used


def _names(text: str) -> set[str]:
    return {name.rstrip(".:,") for name in _NAME.findall(text[:MOST_CHARS])}


def _told(step: Step) -> str:
    use = step.use
    return step.words if use is None else f"{use.tool} {use.input} {use.output} {use.error or ''}"
