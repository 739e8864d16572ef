"""What one closed episode teaches: how an error was resolved, how a goal was reached, what failed to the end.

A lesson names steps by number and holds no text; its words are read from the memories of these steps (`told`), so that a deletion
leaves none. What tools print is never an action: only calls that were made, and worked, become part of a lesson.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from memos.evolution.case import Case
from memos.evolution.value.reward import ended
from memos.memory.episode import SUCCESS, Step, StepRole
from memos.memory.ids import unique_key
from memos.memory.learned import Form
from memos.storage.sqlite.lived import Lesson
from memos.text.applies import alike, words_of
from memos.text.courtesy import bare_request
from memos.text.signature import (
    action_head,
    context_key,
    error_signature,
    says_only_code,
    signature_key,
    telling_line,
)
from memos.text.template import LONGEST

OPEN = "open"  # the form of a lesson that is none: an error that stayed; what fixes of its kind are compared with
MOST_LESSONS = 40  # of an episode
MOST_ACTIONS = 8  # of a lesson
SHORT = 400  # characters of an input whose kind is remembered
AVOIDED = 0.8  # what it is worth not to do again what failed to the end
SHOWN = 0.6  # what a fix is worth at least of which the steps show that it helped, in a task that did not go badly

_EXPLORERS = """
ls dir cat head tail less more grep rg find locate which type whereis whoami who id uname uptime df du free top ps env
printenv history pwd echo date hostname stat file man help tree wc lsof lsblk ip ifconfig netstat ss
"""
SAME_ERROR = 0.4  # likeness of two errors from which they may be one in other words

_MASKED = re.compile(r"<\w+>(?:\.\w+)?")
_EXPLORING = frozenset(_EXPLORERS.split())
_LOOKING = frozenset(  # tools of hosts that read files or keep the agent's own list, as they are called
    ("read", "grep", "glob", "ls", "read_file", "list_dir", "list_files", "search_files", "todowrite", "update_plan")
)
_CHECKING = re.compile(
    r"(?:^|[\s_./-])(?:show|status|check|checks|verify|validate|test|tests|pytest|health|healthz|healthcheck|describe|inspect|ping|curl|"
    r"diff|lint|assert|--version|-v|get|view|read|list|ls|cat|is-active|查看|检查|验证|测试)(?:$|[\s_./:-])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Told:
    """A lesson with its words. `goal`: what was asked for; `error`, `tool`, `input`: the call that failed (empty for a path);
    `actions`: what was done, with the number of its step; `check`: the call that showed success last.
    """

    lesson: Lesson
    environment: str
    goal: str
    error: str
    tool: str
    input: str
    actions: tuple[Step, ...]
    check: Step | None
    steps: tuple[Step, ...]
    instead: Step | None = None  # of an avoid: the call that worked on the same thing afterwards
    hindered: str = ""  # what failed on the way of a path, and how

    @property
    def known(self) -> tuple[str, ...]:
        """The texts in which a parameter's value can stand before anything is done."""
        return (self.goal, self.error, self.input)

    @property
    def evidence(self) -> tuple[Step, ...]:
        """The steps that its words are from, and the one that shows that it worked."""
        named = {
            n for name in ("goal", "failed", "resolved", "check", "instead") for n in self.lesson.steps.get(name, ())
        }
        named |= {s.number for s in self.actions}
        return tuple(s for s in self.steps if s.number in named)

    @property
    def about(self) -> str:
        """Everything that says what the task is about."""
        return " ".join((*self.known, self.hindered))


def lessons_of(case: Case) -> list[Lesson]:
    """What an episode teaches, in the order of its steps. A step that nobody valued teaches nothing but what to avoid."""
    calls = [s for s in case.steps if _is_call(s)]
    goal = next((s.number for s in case.steps if s.role is StepRole.USER), None)
    out: list[Lesson] = []
    taught: set[tuple[str, bytes]] = set()
    again, worked = _again(calls), {head(s): place for place, s in enumerate(calls) if ended(s)}
    for place, step in enumerate(calls):
        if ended(step) is not False:
            continue
        is_new = worked.get(head(step), -1) < place  # no later call of its kind worked
        for lesson in _of_failure(case, calls, place, goal, again[place], is_new):
            if (lesson.form, lesson.bucket) not in taught:
                taught.add((lesson.form, lesson.bucket))
                out.append(lesson)
    path = _path(case, calls, goal)
    return [*out[: MOST_LESSONS - 1], *([path] if path else [])]


def told(lesson: Lesson, environment: str, steps: Mapping[int, Step]) -> Told | None:
    """A lesson of an episode of this environment, with its words; None where a step of it is gone."""
    numbers = [n for group in lesson.steps.values() for n in group]
    if any(n not in steps for n in numbers):
        return None
    one = {name: steps[group[0]] for name, group in lesson.steps.items() if group}
    failed = one.get("failed")
    use = failed.use if failed else None
    goal = one.get("goal")
    return Told(
        lesson,
        environment,
        bare_request(_plain(goal.words)) if goal else "",
        _plain(telling_line(said(failed))) if failed else "",
        use.tool if use else "",
        use.input[:LONGEST] if use else "",
        tuple(steps[n] for n in lesson.steps.get("done", ())),
        one.get("check"),
        tuple(steps[n] for n in sorted(set(numbers))),
        one.get("instead"),
        "\n".join(
            f"{s.use.input} {_plain(telling_line(said(s)))}"
            for s in (steps[n] for n in lesson.steps.get("hindered", ()))
            if s.use
        ),
    )


def done_only(lesson: Lesson, steps: Mapping[int, Step]) -> Told:
    """A lesson with what was done, and without words."""
    done = tuple(steps[n] for n in lesson.steps.get("done", ()))
    return Told(lesson, "", "", "", "", "", done, None, done)


def said(step: Step) -> str:
    """What a call that failed said: its error, or what it printed."""
    use = step.use
    return "" if use is None else (use.error or use.output)


def alike_errors(one: str, other: str) -> bool:
    """Whether two errors may be one in other words: what they say, without what they name, is alike."""
    return alike(*(words_of(_MASKED.sub(" ", error_signature(text))) for text in (one, other))) >= SAME_ERROR


def head(step: Step) -> str:
    """What kind of call a step is."""
    use = step.use
    if use is None:
        return ""
    return kind_of(use.tool, use.input)


def kind_of(tool: str, input: str) -> str:
    """What kind of call it is: the tool, and what command it runs, whatever else it is given."""
    return _head(tool, input) if len(input) <= SHORT else action_head(tool, input, keys=False)


@lru_cache(4_096)
def _head(tool: str, input: str) -> str:
    return action_head(tool, input, keys=False)


def is_exploring(step: Step) -> bool:
    """Whether a call only looks around."""
    words = head(step).split()
    if step.use is not None and step.use.tool.lower() in _LOOKING:
        return True
    return bool(words) and (words[-1] in _EXPLORING or (len(words) > 1 and words[1] in _EXPLORING))


def is_checking(step: Step) -> bool:
    """Whether a call looks whether something is as it should be."""
    use = step.use
    return use is not None and bool(_CHECKING.search(f"{use.tool} {use.input[:200]}"))


def _is_call(step: Step) -> bool:
    return step.role is StepRole.TOOL and step.use is not None and len(step.use.input) <= LONGEST


def _again(calls: Sequence[Step]) -> list[int | None]:
    """Of each call, how many others come before the next attempt at the same thing; None where there is none."""
    out: list[int | None] = []
    following: dict[bytes, int] = {}
    for place in range(len(calls) - 1, -1, -1):
        context = _context(calls[place])
        out.append(following[context] - place - 1 if context in following else None)
        following[context] = place
    return out[::-1]


def _of_failure(
    case: Case, calls: Sequence[Step], place: int, goal: int | None, again: int | None, is_new: bool
) -> list[Lesson]:
    """What the failure of a call teaches, unless the same call fails in the same way later: then that failure does."""
    failed = calls[place]
    kind = _kind(failed)
    after = calls[place + 1 :]
    if again is not None and ended(after[again]) is False and _kind(after[again]) == kind:
        return []
    done, resolved = _resolution(failed, after, again, case)
    base: dict[str, tuple[int, ...]] = {"goal": (goal,) if goal is not None else (), "failed": (failed.number,)}
    if resolved is None:
        worth = case.credits[failed.number].value if failed.number in case.credits else 0.0
        value = min(worth, case.reward.value if case.reward.value is not None else 0.0)
        out = [Lesson(case.episode.id, OPEN, kind, base, value)]
        if is_new:
            out.append(_avoid(case, kind, base, _instead(failed, after, case)))
        return out
    if says_only_code(telling_line(said(failed))):  # any failure may end so: what resolved this one resolves no other
        return []
    numbers = {**base, "done": tuple(s.number for s in done), "resolved": (resolved.number,)}
    worthy = [case.credits[s.number].value for s in (*done, resolved) if s.number in case.credits]
    value = max(worthy, default=0.0)
    if (case.reward.value or 0.0) > 0 and ended(resolved):
        value = max(value, SHOWN)
    fix = Lesson(case.episode.id, Form.FIX.value, kind, numbers, value)
    if not is_new or resolved not in done or head(resolved) == head(failed) or value <= 0:
        return [fix]
    return [fix, _avoid(case, kind, base, resolved)]  # such a call failed here too, and this did instead


def _avoid(case: Case, kind: bytes, base: Mapping[str, tuple[int, ...]], instead: Step | None) -> Lesson:
    steps = base if instead is None else {**base, "instead": (instead.number,)}
    return Lesson(case.episode.id, Form.AVOID.value, kind, steps, AVOIDED)


def _instead(failed: Step, after: Sequence[Step], case: Case) -> Step | None:
    """The only call that changed something about the same thing after a failure, in a task that went well; None where there is
    none, or more than one.
    """
    if (case.reward.value or 0.0) < SUCCESS or is_checking(failed):
        return None
    other = [*islice((s for s in after if _did(s) and not is_checking(s) and _share(s, failed)), 2)]
    return other[0] if len(other) == 1 else None


def _resolution(
    failed: Step, after: Sequence[Step], again: int | None, case: Case
) -> tuple[tuple[Step, ...], Step | None]:
    """What was done about a failure, and the call that shows that it helped; None where nothing does."""
    if again is not None:
        repeated = _same_call(after[again], failed)
        between = (s for s in after[: again + (not repeated)] if _did(s) and not _same_call(s, failed))
        done = tuple(islice(between, MOST_ACTIONS + 1))
        if len(done) > MOST_ACTIONS or not (repeated or ended(after[again])):
            return (), None
        return _without_repeats(done), after[again]
    if (reworded := _reworded(failed, after)) is not None:
        return reworded, reworded[-1]
    kind = head(failed)
    near = next(
        (i + 1 for n, i in enumerate(_did_at(after)) if n == MOST_ACTIONS), len(after)
    )  # as far as one may follow
    other = next((i for i, s in enumerate(after[:near]) if ended(s) and head(s) == kind and _share(s, failed)), None)
    if other is not None and not is_checking(failed):
        done = tuple(s for s in after[: other + 1] if _did(s))
        return (_without_repeats(done), after[other]) if len(done) <= MOST_ACTIONS else ((), None)
    worked = tuple(islice((s for s in reversed(after) if _did(s)), MOST_ACTIONS + 1))[::-1]
    first = next((s for s in case.steps if _is_call(s) and not is_exploring(s)), None)
    if (
        first is failed
        and worked
        and _share(worked[-1], failed)
        and (case.reward.value or 0.0) > 0
        and ended(after[-1])
        and len(worked) <= MOST_ACTIONS
    ):
        return _without_repeats(worked), worked[-1]
    return (), None


_NO_COMMAND = re.compile(r"command not found|not recognized|no module named|未找到命令|找不到命令", re.IGNORECASE)


def _reworded(failed: Step, after: Sequence[Step]) -> tuple[Step, ...] | None:
    """The same command behind another one, which worked where it did not ("uv run pytest -q" for "pytest -q"): at once, or later
    where there is no such command by itself. Or the same of a program with nearly that name ("pnpm run build" for "npm run
    build"), with what was done before it.
    """
    assert failed.use is not None
    words = failed.use.input.split()
    given = failed.use.input.startswith(("{", "["))  # not a command
    for place, step in enumerate(after[: 2 * MOST_ACTIONS] if words and not given else ()):
        other = (
            step.use.input.split() if step.use is not None and step.use.tool == failed.use.tool and _did(step) else []
        )
        if not other or other[0] == words[0]:
            continue
        done = tuple(s for s in after[: place + 1] if _did(s))
        behind = len(other) > len(words) and other[-len(words) :] == words
        if behind and (done == (step,) or _NO_COMMAND.search(said(failed))):
            return (step,)
        if other[1:] and other[1:] == words[1:] and (other[0] in words[0] or words[0] in other[0]):
            return _without_repeats(done) if len(done) <= MOST_ACTIONS else None
    return None


def _did(step: Step) -> bool:
    """Whether a call worked and may have changed something: looking around changes nothing."""
    return bool(ended(step)) and not is_exploring(step)


def _did_at(steps: Sequence[Step]) -> Iterator[int]:
    return (i for i, s in enumerate(steps) if _did(s))


_NAME = re.compile(r"[^\W_]{3,}")


def _share(a: Step, b: Step) -> bool:
    """Whether two calls are about the same thing: their inputs share a name, beside the command."""
    one, other = (
        set(_NAME.findall(s.use.input.lower())) - set(_NAME.findall(head(s).lower())) for s in (a, b) if s.use
    )
    return bool(one & other)


def _path(case: Case, calls: Sequence[Step], goal: int | None) -> Lesson | None:
    """The shortest way to the goal that the episode shows: the calls that worked, each once, and the check at its end."""
    vain = _in_vain(calls)
    worked = [s for s in calls if ended(s) and not is_exploring(s) and s.number not in vain]
    first = next((s for s in calls if not is_exploring(s)), None)
    if goal is None or not worked or first is None or case.reward.value is None:
        return None
    check = worked[-1] if len(worked) > 1 and is_checking(worked[-1]) else None
    done = _without_repeats(tuple(s for s in worked if s is not check and not (check and _same_call(s, check))))
    if not done or len(done) > MOST_ACTIONS:
        return None
    failed = tuple(s.number for s in calls if ended(s) is False)[:MOST_ACTIONS]
    numbers = {
        "goal": (goal,),
        "done": tuple(s.number for s in done),
        "check": (check.number,) if check else (),
        "hindered": failed,
    }
    bucket = unique_key("path", head(first))
    value = max((case.credits[s.number].value for s in done if s.number in case.credits), default=case.reward.value)
    return Lesson(
        case.episode.id, Form.PATH.value, bucket, numbers, value if case.reward.value > 0 else case.reward.value
    )


def _in_vain(calls: Sequence[Step]) -> set[int]:
    """The calls after which the same failed again as before: whatever they did, they did not help."""
    out: set[int] = set()
    for place, (step, again) in enumerate(zip(calls, _again(calls), strict=True)):
        if again is None or ended(step) is not False:
            continue
        later = calls[place + again + 1]
        if _same_call(later, step) and ended(later) is False and _kind(later) == _kind(step):
            out.update(s.number for s in calls[place + 1 : place + again + 1])
    return out


def _without_repeats(done: tuple[Step, ...]) -> tuple[Step, ...]:
    """Each call once, where it was made last."""
    last = {(s.use.tool, s.use.input): s for s in done if s.use}
    return tuple(s for s in done if s.use and last[(s.use.tool, s.use.input)] is s)


def _same_call(a: Step, b: Step) -> bool:
    return a.use is not None and b.use is not None and (a.use.tool, a.use.input) == (b.use.tool, b.use.input)


def _kind(step: Step) -> bytes:
    assert step.use is not None
    return signature_key(step.use.tool, said(step), step.use.input)


def _context(step: Step) -> bytes:
    assert step.use is not None
    return context_key(step.use.tool, step.use.input)


def _plain(text: str) -> str:
    return " ".join(text[:LONGEST].split())
