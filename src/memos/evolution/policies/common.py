"""What several lessons have in common: the shortest sequence of calls that did in each of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memos.evolution.policies.lessons import Told, head
from memos.memory.episode import Step

Heads = tuple[str, ...]
_TOKEN = re.compile(r"[^\W_]{3,}|\d{2,}")


@dataclass(frozen=True, slots=True)
class Shared:
    """Lessons in which the same kinds of calls did, each with only the calls that realise them."""

    heads: Heads
    members: tuple[Told, ...]


def heads_of(told: Told) -> Heads:
    """The kinds of calls of a lesson, in order."""
    return tuple(head(s) for s in told.actions)


def shared(lessons: Sequence[Told], failed: Sequence[Told] = ()) -> list[Shared]:
    """Lessons by what they have in common, the best supported first. Calls that other lessons did without are left out; of two
    lessons with different calls beside the same ones, only those that have nothing to do with the task. `failed`: lessons of
    tasks that came to nothing; what was done there just as well is not what made the others succeed.
    """
    left, out = list(lessons), []
    while len({t.lesson.task for t in left}) > 1:
        best: tuple[float, int, Heads] | None = None
        for sequence in _candidates(left):
            able = [t for t in left if _can(t, sequence)]
            rank = (worth(able, sequence, failed), len(sequence), sequence)
            if len({t.lesson.task for t in able}) > 1 and rank[0] > 0 and (best is None or rank > best):
                best = rank
        if best is None:
            break
        chosen = best[2]
        members = tuple(realised(t, chosen) for t in left if _can(t, chosen))
        out.append(Shared(chosen, members))
        left = [t for t in left if not _can(t, chosen)]
    return out


def worth(lessons: Sequence[Told], heads: Heads, failed: Sequence[Told]) -> float:
    """In how many episodes something did, less those in which it was done for nothing; each counts as much as its outcome is
    clear, where there are both.
    """
    if not failed:
        return len({t.lesson.task for t in lessons})
    good = {t.lesson.task: t.lesson.value for t in sorted(lessons, key=lambda t: t.lesson.value)}
    bad = {t.lesson.task: t.lesson.value for t in failed if _can(t, heads)}
    return round(sum(good.values()) + sum(bad.values()), 9)


def realised(told: Told, heads: Heads) -> Told:
    """A lesson with only the calls of these kinds, the last of each that fits."""
    chosen: list[Step] = []
    wanted = list(heads)
    for step in reversed(told.actions):
        if wanted and head(step) == wanted[-1]:
            chosen.append(step)
            wanted.pop()
    return replace(told, actions=tuple(reversed(chosen)))


def contains(told: Told, heads: Heads) -> bool:
    """Whether a lesson has calls of these kinds in this order."""
    found = iter(heads_of(told))
    return all(h in found for h in heads)


def _can(told: Told, heads: Heads) -> bool:
    return contains(told, heads) if heads else not told.actions


def _candidates(lessons: Sequence[Told]) -> list[Heads]:
    alike: dict[Heads, list[Told]] = {}
    for told in lessons:
        alike.setdefault(heads_of(told), []).append(told)
    found = dict.fromkeys(alike)
    own = list(alike)
    for i, a in enumerate(own):
        for b in own[i + 1 :]:
            both = _common(a, b)
            if both and both not in found and all(any(_only_noise(t, both) for t in alike[of]) for of in (a, b)):
                found[both] = None
    return list(found)


def _only_noise(told: Told, heads: Heads) -> bool:
    """Whether the calls beside these have nothing to do with the task: they name nothing that it names."""
    kept = {s.number for s in realised(told, heads).actions}
    about = set(_TOKEN.findall(told.about.lower()))
    for step in told.actions:
        if step.number not in kept and step.use is not None:
            own = set(_TOKEN.findall(step.use.input.lower())) - set(_TOKEN.findall(head(step).lower()))
            if own & about:
                return False
    return True


def _common(a: Heads, b: Heads) -> Heads:
    best = [[()] * (len(b) + 1) for _ in range(len(a) + 1)]  # type: list[list[Heads]]
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            if a[i] == b[j]:
                best[i][j] = (a[i], *best[i + 1][j + 1])
            else:
                best[i][j] = max(best[i + 1][j], best[i][j + 1], key=len)
    return best[0][0]
