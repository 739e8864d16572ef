"""Skills as an agent is shown them: which ones fit what it is doing, one line each, or the named one whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memos.memory.acting import RecalledItem, Tier
from memos.memory.learned import Skill, SkillBody, State
from memos.recall.agent_block import Candidate, lines, mark
from memos.recall.guidance import UNTESTED, Matched, as_call_of, known_of, parameters, phrase, repeats, trust
from memos.recall.lore import Entry, Lore
from memos.recall.pack import escape
from memos.text import calls
from memos.text.applies import (
    ALIKE,
    LEAST_ALIKE,
    Applies,
    Situation,
    Words,
    filled,
    filled_actions,
    most_alike,
    open_parameters,
    skill_applies,
)
from memos.text.calls import clipped, counted

DESCRIPTION, PHRASE, GUIDE = 400, 240, 20_000  # characters that are shown
POOL = 12  # skills whose trials are looked up
_MORE = "  … The rest does not fit: ask again with more tokens."
FIRST, PITFALL = 700, 320  # characters of a guide and of a pitfall that are shown in a line
_STEPS = re.compile(r"#+ *(?:the )?(?:steps|procedure|instructions|步骤|做法)[:：]?", re.IGNORECASE)
_SAYS = re.compile(
    r"(?:avoid|never|do not|don't|always|if|when|note|careful|不要|避免|请勿|切勿|如果|注意)\b|`", re.IGNORECASE
)
NAMED = 1.0  # how well a skill fits that is called by its name


@dataclass(frozen=True, slots=True)
class Fitting:
    """A skill that fits, and how: by its name, by a policy it is made of, or by its words."""

    entry: Entry[SkillBody]
    how: Applies


def fitting(lore: Lore, policies: Iterable[Matched], asked: Words, now: Situation | None = None) -> list[Fitting]:
    """The skills of a cube that fit, best first: by what they were learned for (a copy has no policies beside it), by a policy
    they are made of, or by their words.
    """
    by_policy = {m.id: m.how for m in policies if m.how.by in ("goal", "error", "input", "alike")}
    found = []
    for entry in lore.skills.values():
        hows = [by_policy[p] for p in entry.body.policies if p in by_policy]
        likeness = most_alike(asked, entry.words)
        if likeness >= LEAST_ALIKE:
            hows.append(Applies(ALIKE * likeness, "alike"))
        by_words = asked if likeness >= LEAST_ALIKE else None
        own = skill_applies(entry.body, now or Situation(), asked=by_words, said=entry.words[: len(entry.body.goals)])
        if own is not None:
            hows = [own]
        if hows:
            best = max(hows, key=lambda h: h.strength)
            values = {k: v for h in hows for k, v in h.values.items()}
            found.append(Fitting(entry, Applies(best.strength, best.by, values)))
    found.sort(key=lambda f: (-f.how.strength, f.entry.id))
    return found[:POOL]


def named(lore: Lore, name: str) -> Entry[SkillBody] | None:
    """The skill of this name or id."""
    wanted = name.strip().casefold()
    found = [e for e in lore.skills.values() if wanted in (e.body.name.casefold(), e.id)]
    return min(found, key=lambda e: e.id, default=None)


def skill_candidate(skill: Skill, how: Applies, cube: str, *, whole: int | None = None) -> Candidate:
    """A skill as one line, with a shorter one that says where the rest is; or the whole, over several lines, of at most `whole`
    characters.
    """
    body, record = skill.body, skill.record
    untested = body.state is not State.ACTIVE
    known = known_of(
        (
            f"from {counted(record.support, 'task')}" if record.support else "",
            trust(record.passes, record.fails, record.reliability, untested),
            f"seen in {escape(body.environment)}" if body.environment else "",
        )
    )
    tail = f"{known} {mark(Tier.SKILL, skill.id)}"
    head = f"- {escape(body.name)}: {escape(clipped(filled(body.description, how.values), DESCRIPTION)).rstrip('.')}."
    text = f"{head} {_steps(body, how.values)}{tail}"
    if whole is not None:
        text = _cut(f"{head}{tail}\n{_whole(body, how.values)}".rstrip(), whole)
    short = f"{head} Get the whole by its name.{tail}"
    rank = how.strength * (0.5 + 0.5 * record.reliability) * (UNTESTED if untested else 1.0)
    steps = () if body.guide else tuple(a for a in filled_actions(body.procedure, how.values) if a.tool)
    item = RecalledItem(Tier.SKILL, skill.id, cube, text.rstrip(), min(1.0, rank), trial=True, calls=steps)
    return Candidate(item, rank, (0.0, skill.id), short=short, untested=untested, says=body.policies)


def _steps(body: SkillBody, values: Mapping[str, str]) -> str:
    if body.guide:
        return f"{_guide(body, values)} Get the whole by its name."
    done = escape(calls.procedure(filled_actions(body.procedure, values)))
    said = [f"Do {done}."]
    if body.preconditions:
        said.append(f"Needs: {_phrases(body.preconditions, values)}.")
    if body.verification and not repeats(body.verification, body.procedure):
        said.append(f"Check: {_phrase(body.verification, body, values)}.")
    said += [f"{_pitfall(p, body, values)}." for p in body.pitfalls]
    if asked := parameters(open_parameters(body.parameters, " ".join(said))):
        said.append(f"Fill in: {asked}.")
    return " ".join(said)


def _whole(body: SkillBody, values: Mapping[str, str]) -> str:
    if body.guide:
        return lines(clipped(filled(body.guide, values), GUIDE))
    steps = [f"  {i}. {escape(calls.call(a))}" for i, a in enumerate(filled_actions(body.procedure, values), 1)]
    parts: list[tuple[str, Iterable[str]]] = [
        ("Needs", [_phrase(p, body, values) for p in body.preconditions]),
        ("Pitfalls", [_pitfall(p, body, values) for p in body.pitfalls]),
        ("Check", [_phrase(body.verification, body, values)] if body.verification else ()),
        ("Examples", [_phrase(p, body, values) for p in body.examples[:3]]),
    ]
    out = ["  Steps:", *steps] if steps else []
    for title, phrases in parts:
        said = [f"  - {p}" for p in phrases if p.strip()]
        out += [f"  {title}:", *said] if said else []
    if asked := parameters(open_parameters(body.parameters, "\n".join(out))):
        out.append(f"  Fill in: {asked}.")
    return "\n".join(out)


def _cut(text: str, most: int) -> str:
    """As many lines of a text as fit, with a word on what is missing."""
    if len(text) <= most:
        return text
    out, left = [], most - len(_MORE) - 1
    for line in text.splitlines():
        left -= len(line) + 1
        if left < 0:
            break
        out.append(line)
    return "\n".join([*out, _MORE])


def _guide(body: SkillBody, values: Mapping[str, str]) -> str:
    """The beginning of what a person wrote: its steps, where a heading names them, else what stands after the title."""
    raw = [line.strip() for line in filled(body.guide, values).splitlines()]
    said = [line for line in raw if line and line.lstrip("# ") != body.name and line != body.description.strip()]
    steps = next((n for n, line in enumerate(said) if _STEPS.fullmatch(line)), None)
    if steps is not None:
        said = [*said[steps + 1 :], *said[:steps]]
    return escape(clipped(" ".join(line.lstrip("# ") for line in said), FIRST))


def _pitfall(said: str, body: SkillBody, values: Mapping[str, str]) -> str:
    """A pitfall: as it is where it says by itself what to do or not to do, a note where it does not."""
    if as_call_of(said, _tools(body)) is not None:
        return f"Avoid {_phrase(said, body, values)}"
    text = _phrase(said, body, values)
    return text if _SAYS.match(said) else f"Note: {text}"


def _phrase(said: str, body: SkillBody, values: Mapping[str, str]) -> str:
    return phrase(said, _tools(body), values, PITFALL)


def _tools(body: SkillBody) -> tuple[str, ...]:
    return (*body.tools, *(a.tool for a in body.procedure))


def _phrases(phrases: Iterable[str], values: Mapping[str, str]) -> str:
    return "; ".join(escape(clipped(filled(p, values), PHRASE)).rstrip(".") for p in phrases)
