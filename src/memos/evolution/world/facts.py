"""What is there in an environment, from calls that worked in two or more episodes: tools and what they are used for, and the
paths, hosts and services they name. By rules, over a window of the newest episodes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from memos.evolution.case import Case
from memos.evolution.world.said import Said, slot_of, worked
from memos.memory.episode import Step
from memos.storage.sqlite import lived_world
from memos.text.lazy import LazyPattern
from memos.text.signature import action_head

if TYPE_CHECKING:
    import apsw

WINDOW = 30  # episodes of an environment that are looked at, the newest
CALLS = 600  # of their calls, the newest
NAMED = 60  # paths, hosts and services that are stated of one environment
USES = 5  # of a tool that are named
NEARLY_ALL, MOST, HALF = 0.9, 0.6, 0.4

_PATH = LazyPattern(r"(?<![\w.~/-])/(?:[\w.@+-]{1,60}/){0,8}[\w.@+-]{1,60}")
_URL_HOST = LazyPattern(r"\b[a-z][a-z0-9+.-]{1,12}://(?:[^\s/@'\"]{1,60}@)?([A-Za-z0-9][\w.-]{1,80})", re.IGNORECASE)
_AT_HOST = LazyPattern(r"(?<![\w.])[\w.-]{1,40}@([a-z][a-z0-9-]{1,40}(?:\.[a-z0-9-]{1,40}){0,4})\b")
_HOST = LazyPattern(
    r"(?<![\w.@/-])([a-z0-9](?:[a-z0-9-]{0,40}\.){1,5}(?:com|org|net|io|dev|local|internal|lan|corp|cloud|svc|cluster|intranet))\b"
)
_SERVICE = LazyPattern(
    r"\b(?:systemctl(?: --?[\w-]+)* (?:start|stop|restart|reload|status|enable|disable|is-active)(?: --?[\w-]+)*|"
    r"(?:docker|podman)(?: compose)? (?:restart|stop|logs|exec)(?: -\w+)*|supervisorctl \w+|rc-service) ([a-z][\w@.-]{1,60})"
    r"|\bservice ([a-z][\w@.-]{1,60}) (?:start|stop|restart|reload|status)\b",
    re.IGNORECASE,
)
_NOT_THERE = LazyPattern(
    r"no such file|not found|does not exist|doesn't exist|could not resolve|unknown host|could not be found|not-found|"
    r"unable to locate|不存在|找不到|没有那个|未找到|无法解析",
    re.IGNORECASE,
)
_EVERYWHERE = ("/bin", "/dev", "/etc", "/home", "/opt", "/proc", "/root", "/sbin", "/sys", "/usr", "/usr/bin", "/var")
_PASSING = ("/dev/", "/proc/", "/sys/", "/tmp/")  # noqa: S108


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is there. `episodes`: by id, the number of the last step of each that shows it; `steps`: those steps."""

    said: Said
    name: str
    episodes: Mapping[str, int]
    steps: tuple[lived_world.Use, ...]
    is_tool: bool = False


def facts_of(db: apsw.Connection, case: Case) -> list[Fact]:
    """What an episode uses or misses, with the newest episodes of its environment that show it too."""
    environment = case.episode.environment
    used = [s.use for s in case.steps if s.use is not None]
    if not used:
        return []
    window = lived_world.recent_uses(db, environment, WINDOW, CALLS)
    tools = dict.fromkeys(u.tool for u in used if worked(u) and not u.tool.startswith("subagent:"))
    out = [f for tool in tools if (f := _tool(environment, tool, window)) is not None]
    named = dict.fromkeys(
        t for u in used for t in things(u.input) if worked(u) or _names_what_is_not(u.error or u.output, t[1])
    )
    good = [u for u in window if u.ok]
    room = NAMED - len(lived_world.ids_by_slot(db, slot_of(environment, "environment", "thing|")))
    for kind, name in named:
        shown = [u for u in good if name in u.input and (kind, name) in things(u.input)]
        fact = _fact(_said(environment, f"thing|{kind}|{name}", name, _worded(kind, name)), name, shown)
        known = lived_world.ids_by_slot(db, fact.said.slot)
        if known or (room > 0 and len(fact.episodes) > 1):
            room -= 0 if known else 1
            out.append(fact)
    return out


def gone_in(case: Case, fact: Fact) -> Step | None:
    """The step of an episode that shows that something is not there (any more), when none after it shows that it is."""
    found: Step | None = None
    for step in case.steps:
        use = step.use
        if use is None or fact.is_tool or fact.name not in use.input:
            continue
        if worked(use):
            found = None
        elif _names_what_is_not(use.error or use.output, fact.name):
            found = step
    return found


def things(text: str) -> tuple[tuple[str, str], ...]:
    """The paths (and the folders they are in), hosts and services that a call names, with what each is."""
    return _things(text[:2_000])


@lru_cache(2_048)
def _things(text: str) -> tuple[tuple[str, str], ...]:
    found: dict[tuple[str, str], None] = {}
    for match in _SERVICE.finditer(text):
        found["service", (match[1] or match[2]).removesuffix(".service")] = None
    for pattern in (_URL_HOST, _AT_HOST, _HOST):
        for match in pattern.finditer(text):
            found["host", match[1].rstrip(".").lower()] = None
    for match in _PATH.finditer(text):
        path = match[0].rstrip(".")
        for one in (path, str(PurePosixPath(path).parent)):
            if one.count("/") > 0 and one not in ("/", *_EVERYWHERE) and not f"{one}/".startswith(_PASSING):
                found["path", one] = None
    return tuple(found)


def _names_what_is_not(error: str, name: str) -> bool:
    return any(name in line and _NOT_THERE.search(line) for line in error[:4_000].splitlines())


def _tool(environment: str, tool: str, window: list[lived_world.Use]) -> Fact | None:
    shown = [u for u in window if u.tool == tool]
    judged = [u.ok for u in shown if u.ok is not None]
    by_head: dict[str, set[str]] = {}
    for use in shown:
        if use.ok and (head := _head(tool, use.input)):
            by_head.setdefault(head, set()).add(use.episode)
    often = Counter({head: len(episodes) for head, episodes in by_head.items() if len(episodes) > 1})
    uses = sorted(head for head, _ in sorted(often.items(), key=lambda item: (-item[1], item[0]))[:USES])
    text = f"there is the tool `{tool}`"
    if uses:
        text += ", used for " + ", ".join(f"`{use}`" for use in uses)
    if judged:
        text += f"; {_share(sum(judged) / len(judged))} of its calls work"
    fact = _fact(_said(environment, f"tool|{tool}", tool, text), tool, [u for u in shown if u.ok], is_tool=True)
    return fact if fact.episodes else None


@lru_cache(2_048)
def _head(tool: str, input: str) -> str:
    return action_head(tool, input, keys=False).removeprefix(tool).strip()


def _share(share: float) -> str:
    if share >= NEARLY_ALL:
        return "nearly all"
    return "most" if share >= MOST else "about half" if share >= HALF else "few"


def _worded(kind: str, name: str) -> str:
    return {
        "path": f"there is `{name}`",
        "host": f"the host `{name}` is reached",
        "service": f"there is the service `{name}`",
    }[kind]


def _said(environment: str, key: str, subject: str, text: str) -> Said:
    shown = f"On {environment}, {text}." if environment else f"{text[0].upper()}{text[1:]}."
    return Said(environment, "environment", subject, shown, key)


def _fact(said: Said, name: str, shown: list[lived_world.Use], *, is_tool: bool = False) -> Fact:
    last: dict[str, lived_world.Use] = {}
    for use in shown:
        known = last.get(use.episode)
        if known is None or use.number > known.number:
            last[use.episode] = use
    return Fact(said, name, {id: u.number for id, u in last.items()}, tuple(last.values()), is_tool)
