"""What the local plugin calls policy, world model, skill and repair, in our words: notes, and skills on probation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from memos.errors import InvalidInput
from memos.memory.learned import NAME_LENGTH, skill_name
from memos.moving import shape
from memos.moving.items import Bad, Skill, Told
from memos.text import front_matter

MOST_NOTE = 20_000  # characters
_FROM_PEOPLE = frozenset(
    {"preference", "repair_instruction", "repair_validated", "failure_avoidance", "verifier_feedback"}
)
_UNSEEN = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_DESCRIPTION = 1_000
_T = TypeVar("_T", list[Any], dict[str, Any])


def learned_again(policy: Mapping[str, Any], evidence: bool) -> bool:
    """Whether the turns a policy came from are imported, so that it is learned from them again, by our rules. What people wrote
    or changed by hand is not in the turns. `evidence`: whether its episodes are in the file.
    """
    return (
        evidence
        and not policy.get("edited_at")
        and str(policy.get("experience_type")) not in _FROM_PEOPLE
        and not parsed(policy.get("source_feedback_ids_json"), list)
    )


def policy_note(policy: Mapping[str, Any]) -> Told | None:
    """A policy as a note."""
    lines = [
        ("", policy.get("title")),
        ("When", policy.get("trigger")),
        ("Do", policy.get("procedure")),
        ("Check", policy.get("verification")),
        ("Limits", policy.get("boundary")),
    ]
    guidance = parsed(policy.get("decision_guidance_json"), dict)
    lines += [("Prefer", one) for one in texts(guidance.get("preference"))]
    lines += [("Avoid", one) for one in texts(guidance.get("antiPattern"))]
    info = {
        name: policy[name] for name in ("status", "support", "gain", "experience_type") if policy.get(name) is not None
    }
    return _note(policy, lines, ("policy",), info)


def repair_note(repair: Mapping[str, Any]) -> Told | None:
    """What was to be done otherwise, as a note."""
    lines = [("Prefer", repair.get("preference")), ("Avoid", repair.get("anti_pattern"))]
    return _note({**repair, "created_at": repair.get("ts")}, lines, ("policy", "repair"), {})


def world_note(world: Mapping[str, Any]) -> Told | None:
    """A world model as a note: what it says in prose, else its entries."""
    lines: list[tuple[str, Any]] = [("", world.get("title")), ("", world.get("body"))]
    structure = parsed(world.get("structure_json"), dict)
    body = shape.text(world.get("body")) or ""
    for part in ("environment", "inference", "constraints"):
        for entry in structure.get(part) or () if isinstance(structure.get(part), list) else ():
            if (
                isinstance(entry, dict)
                and isinstance(said := shape.text(entry.get("description")), str)
                and said not in body
            ):
                lines.append((shape.text(entry.get("label")) or part, said))
    info = {name: world[name] for name in ("confidence",) if world.get(name) is not None}
    tags = ("world-model", *shape.tags(parsed(world.get("domain_tags_json"), list)))
    return _note(world, lines, tags, info)


def skill_item(skill: Mapping[str, Any], where: str, taken: set[str]) -> Skill | Bad:
    """A skill as its `SKILL.md`. `taken`: the names that are given already."""
    from memos.evolution.skills import folder

    words = shape.text(skill.get("name"))
    if words is None:
        return Bad(where, "it has no name")
    procedure = parsed(skill.get("procedure_json"), dict)
    guide = seen(shape.text(skill.get("invocation_guide")) or "").strip()
    head = shape.text(procedure.get("summary")) or next(
        (x.strip("# ") for x in guide.splitlines() if x.strip("# ")), words
    )
    steps = list(_steps(procedure))
    if not guide:
        guide = "\n\n".join([f"# {seen(words)}", *steps])
    elif steps and not any(step.split("\n", 1)[0][:60] in guide for step in steps):
        guide = "\n\n".join([guide, "## Steps", *steps])
    name = _apart(skill_name(words), taken)
    values: dict[str, front_matter.Value] = {
        "name": name,
        "description": " ".join(seen(head).split())[:_DESCRIPTION] or words,
    }
    markdown = front_matter.join(values, guide)
    try:
        folder.parse(markdown.encode())
    except (InvalidInput, UnicodeEncodeError) as e:
        return Bad(where, f"it is no skill here: {str(e)[:200]}")
    taken.add(name)
    return Skill(name, markdown)


def _steps(procedure: Mapping[str, Any]) -> Iterator[str]:
    found = procedure.get("steps")
    for number, step in enumerate(found[:50] if isinstance(found, list) else (), 1):
        if isinstance(step, dict):
            title, body = shape.text(step.get("title")), shape.text(step.get("body"))
            if title or body:
                yield seen(f"{number}. {': '.join(x.strip() for x in (title, body) if x)}")


def _apart(name: str, taken: set[str]) -> str:
    number, own = 1, name
    while name in taken:
        number += 1
        name = f"{own[: NAME_LENGTH - 6].rstrip('-')}-{number}"
    return name


def _note(
    row: Mapping[str, Any], lines: Iterable[tuple[str, Any]], tags: tuple[str, ...], info: Mapping[str, Any]
) -> Told | None:
    said = [
        f"{name}: {one.strip()}" if name else one.strip() for name, one in lines if isinstance(one, str) and one.strip()
    ]
    if not said:
        return None
    at = shape.time(row.get("updated_at")) or shape.time(row.get("created_at"))
    return Told("\n".join(said)[:MOST_NOTE], at, shape.name(row.get("id")), info=info, tags=tags, user=owner(row))


def owner(row: Mapping[str, Any]) -> str | None:
    """Whose a row is there: the agent and its profile."""
    kind, profile = row.get("owner_agent_kind"), row.get("owner_profile_id")
    said = "/".join(x for x in (kind, profile) if isinstance(x, str) and x not in ("unknown", "default"))
    return said[:200] or None


def parsed(value: Any, kind: type[_T]) -> _T:
    """A column of JSON; empty where it holds something else."""
    if isinstance(value, str) and value[:1] in "{[":
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return kind()
    return value if isinstance(value, kind) else kind()


def texts(value: Any) -> list[str]:
    """The texts of a list."""
    return [one for one in value[:50] if isinstance(one, str) and one.strip()] if isinstance(value, list) else []


def without_front_matter(text: str) -> str:
    """A guide without the front matter that a `SKILL.md` begins with."""
    try:
        return front_matter.split(text)[1]
    except InvalidInput:
        return text


def seen(text: str) -> str:
    """A text with a mark for each character that people would not see."""
    return _UNSEEN.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
