"""Directives: what a user told an agent to do, or not to do, from now on. Read from the user's own words by rules; better one
missed than one made up.

An instruction of the task at hand is none, nor is a question, a what-if, or what somebody else said. A taste ("I like tea") is a
`preference`, not a directive: only what instructs acting is (an order, or what "you" should do).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from memos.errors import NotFound
from memos.evolution.directives import directive_words as w
from memos.evolution.directives.heard import Directive, heard, said_instead
from memos.evolution.policies import settling
from memos.evolution.policies.against import breaking
from memos.evolution.skills import skills
from memos.memory.ids import new_id, unique_key
from memos.memory.learned import NOT_IN, TOLD_IN, Form, PolicyBody, State
from memos.memory.model import Edge, EdgeType, Kind, Memory, Origin, Source, Status
from memos.storage.sqlite import lived, lived_world
from memos.text.analysis import analyze, is_stop
from memos.text.spans import sentences
from memos.text.stem import stem_english

MOST = 20  # directives of one text
PLACES = 8  # of a directive that are remembered
LONGEST = 400  # characters of a sentence that is looked at
BRIEF = 1_200  # characters of a text, above which only "from now on" and the like make a directive
ONCE_MORE = 0.1  # strength that being told again adds
_QUOTED = re.compile(
    r"\"[^\"\n]{2,200}\"|“[^”\n]{1,200}”|「[^」\n]{1,200}」|『[^』\n]{1,200}』|‘[^’\n]{2,200}’(?!\w)|`[^`\n]{1,200}`"
)
_HIDDEN = "\ue000"


def directives_of(
    text: str, *, tools: Collection[str] = (), environment: str = "", agent: str = ""
) -> tuple[Directive, ...]:
    """The directives in the words of a user, in order. `tools`, `environment` and `agent`: names that a scope is made of."""
    hidden = _QUOTED.sub(lambda m: m[0][0] + _HIDDEN * (len(m[0]) - 2) + m[0][-1], text)
    out: list[Directive] = []
    before: tuple[str, int] | None = None  # what the sentence before forbids to use, and where it begins
    for start, end in sentences(hidden):
        line = hidden[start:end]
        if len(line) > LONGEST or w.LOG_LINE.match(line):
            before = None
            continue
        found, forbidden = heard(line, text[start:end], agent, brief=len(text) <= BRIEF)
        if not found and before is not None and (said := said_instead(line, text[start:end])) is not None:
            found = [
                Directive(prefer=said, avoid=before[0], strength=0.7, start=before[1] - start, end=len(line.rstrip()))
            ]
        before = None if forbidden is None else (forbidden, start)
        for one in found:
            shown = " ".join(text[start + one.start : start + one.end].split())
            scope = _scope(one, shown, tools, environment, agent)
            out.append(replace(one, start=start + one.start, end=start + one.end, text=shown, scope=scope))
        if len(out) >= MOST:
            break
    return tuple(out[:MOST])


# -- keeping -------------------------------------------------------------------------------------------------------


def tell_directives(
    tx: Any, directives: Collection[Directive], *, memory: str, owner: str, episode: str | None = None
) -> tuple[str, ...]:
    """Keep what a user told as policies that hold at once; returns their ids, in order. `memory` is the record that says so: of
    any other origin than the user nothing is kept. Said again, one is strengthened, and one that was retired holds again; one
    that says the opposite takes the place of the older. Raises NotFound when there is no such record.
    """
    record = tx.get(memory)
    if record is None:
        raise NotFound(f"memory {memory} does not exist in this cube; store the user's message before its directives")
    if record.origin is not Origin.USER or record.role not in (None, "user"):
        return ()
    found = None if episode is None else lived.episode(tx.db, episode)
    here = "" if found is None else found.environment
    where = None if found is None else (found.environment, found.agent)
    told: list[str] = []
    for directive in _placed(tx, directives, episode):
        known = [(m, PolicyBody.of(m)) for m in lived.directives_of_owner(tx.db, owner)]
        key = _key(owner, directive)
        same = next((m for m, body in known if m.id == tx.find_key(key) or _same(directive, body)), None)
        policy = (
            _told_first(tx, directive, record, owner, key, where)
            if same is None
            else _told_again(tx, same, directive, record, where)
        )
        what = "policy.told" if same is None else "policy.told_again"
        lived.tell(tx, what, memory=policy.id, episode=episode, numbers={"strength": PolicyBody.of(policy).strength})
        for old, body in known:
            if old.id == policy.id or body.state is State.RETIRED:
                continue
            if (place := _exempt(directive, body, here)) is not None:
                _except_in(tx, *((policy.id, place[1]) if place[0] else (old.id, place[1])))
            elif _opposite(directive, body):
                _replaced(tx, old, body, policy.id, episode)
        told.append(policy.id)
    marked = breaking(tx, [m for id in dict.fromkeys(told) if (m := tx.get(id)) is not None], owner)
    if marked:  # what was learned and does what the user forbids is advised no more
        settling.settle(tx, marked)
        skills.settle(tx, marked)
    return tuple(dict.fromkeys(told))


def _placed(tx: Any, directives: Collection[Directive], episode: str | None) -> list[Directive]:
    """Directives with the scope that they have by where they were told: the tools, agent and environment of their episode."""
    found = lived.episode(tx.db, episode) if directives and episode is not None else None
    if found is None:
        return [*directives]
    tools, places = lived_world.tools_used(tx.db), lived_world.places(tx.db)
    out = []
    for d in directives:
        elsewhere = [p for p in places if p != found.environment and _in_place(d.text, p)]
        if len(elsewhere) == 1 and not _in_place(d.text, found.environment):
            d = replace(d, scope=f"environment:{elsewhere[0]}")
        elif d.scope == "all":
            d = replace(d, scope=_scope(d, d.text, tools, found.environment, found.agent))
        out.append(d)
    return out


def _told_first(
    tx: Any, directive: Directive, record: Memory, owner: str, key: bytes, where: tuple[str, str] | None
) -> Memory:
    body = PolicyBody(
        form=Form.DIRECTIVE,
        state=State.ACTIVE,
        trigger=directive.when,
        tool=directive.scope.removeprefix("tool:") if directive.scope.startswith("tool:") else "",
        prefer=directive.prefer,
        avoid=directive.avoid,
        scope=directive.scope,
        strength=directive.strength,
        environment=directive.scope.removeprefix("environment:") if directive.scope.startswith("environment:") else "",
        author="user",
        why="told by the user",
    )
    memory = Memory(
        id=new_id(),
        kind=Kind.POLICY,
        text=directive.text or _worded(directive),
        sources=(_source(directive, record),),
        valid_from=record.happened_at,
        confidence=directive.strength,
        importance=directive.strength,
        origin=Origin.USER,
        owner=owner,
        body={**body.to_body(), TOLD_IN: [list(where)] if where is not None else []},
    )
    stored: Memory = tx.put(memory, "tell", key=key)
    tx.link(Edge(stored.id, record.id, EdgeType.DERIVED_FROM, weight=directive.strength))
    return stored


def _told_again(tx: Any, policy: Memory, directive: Directive, record: Memory, where: tuple[str, str] | None) -> Memory:
    """One more record says so. The same record again changes nothing, unless it was taken back meanwhile."""
    body = PolicyBody.of(policy)
    known = any(e.dst == record.id for e in tx.edges(policy.id, "out", {EdgeType.DERIVED_FROM}))
    if known:
        return policy
    strength = round(min(1.0, max(body.strength, directive.strength) + ONCE_MORE), 3)
    if not body.edited:
        body = replace(body, prefer=body.prefer or directive.prefer, avoid=body.avoid or directive.avoid)
    forgiven = len(lived.outcomes(tx.db, policy.id))  # what went wrong before is known to who says it again
    body = replace(body, state=State.ACTIVE, strength=strength, why="told again by the user", forgiven=forgiven)
    again = replace(
        policy,
        status=Status.ACTIVE,
        valid_to=None,
        retracted_at=None,
        confidence=strength,
        importance=strength,
        sources=(*policy.sources, _source(directive, record))[-MOST:],
        body={**policy.body, **body.to_body(), TOLD_IN: _placed_too(policy, where), NOT_IN: []},
    )
    stored: Memory = tx.put(again, "tell")
    tx.link(Edge(policy.id, record.id, EdgeType.DERIVED_FROM, weight=directive.strength))
    return stored


def _placed_too(policy: Memory, where: tuple[str, str] | None) -> list[list[str]]:
    """Where a directive was told, with one more place; nowhere in particular once it was told outside an episode."""
    known = policy.body.get(TOLD_IN) or []
    if where is None or not known:
        return []
    return [*(p for p in known if p != [*where]), [*where]][-PLACES:]


def _exempt(new: Directive, old: PolicyBody, here: str) -> tuple[bool, str] | None:
    """Where one of two that say the opposite does not hold, for the other was said of that environment: whether it is the new
    one, and the environment. None: they do not, or the new one takes the place of the old.
    """
    (one, _, place), (other, _, there) = new.scope.partition(":"), old.scope.partition(":")
    if {one, other} != {"all", "environment"} or not _turned(new, old):
        return None
    if one == "environment":
        return False, place
    return (True, there) if there != here else None


def _except_in(tx: Any, id: str, place: str) -> None:
    memory = tx.get(id)
    known = [] if memory is None else memory.body.get(NOT_IN) or []
    if memory is not None and place not in known:
        tx.put(replace(memory, body={**memory.body, NOT_IN: [*known, place][-PLACES:]}), "tell")


def _replaced(tx: Any, old: Memory, body: PolicyBody, new: str, episode: str | None) -> None:
    """The user says the opposite now."""
    retired = replace(body, state=State.RETIRED, why=f"replaced by {new}")
    tx.put(
        replace(old, status=Status.ARCHIVED, valid_to=tx.now, body={**old.body, **retired.to_body()}),
        "supersede",
    )
    tx.link(Edge(new, old.id, EdgeType.SUPERSEDES))
    lived.tell(tx, "policy.retired", memory=old.id, episode=episode, numbers={"by": new})


def _source(directive: Directive, record: Memory) -> Source:
    start, end = directive.start, directive.end
    if " ".join(record.text[start:end].split()) != directive.text:  # read in a part of what was stored
        start = record.text.find(directive.text)
        end = start + len(directive.text)
    return Source(
        memory_id=record.id,
        message_id=record.message_id,
        role=record.role or "user",
        speaker=record.speaker,
        time=record.happened_at,
        start=start if start >= 0 else None,
        end=end if start >= 0 else None,
    )


def _worded(directive: Directive) -> str:
    parts = (directive.prefer, f"not: {directive.avoid}" if directive.avoid else "", directive.when)
    return "; ".join(part for part in parts if part)


# -- which is which ------------------------------------------------------------------------------------------------

_USING = frozenset(
    {
        "use",
        "run",
        "call",
        "用",
        "使用",
        "prefer",
        "choos",
        "choose",
        "ever",
        "again",
        "alway",
        "always",
        "pleas",
        "please",
    }
)


def _terms(words: str) -> frozenset[str]:
    """What a phrase is about: "use uv" and "using uv" are about the same."""
    plain = re.sub(r"[使改采]?用|^把|一下$", " ", words)
    return frozenset(t for t in analyze(plain).terms if t not in _USING and not is_stop(t))


def _key(owner: str, directive: Directive) -> bytes:
    parts = [owner, directive.scope]
    parts += [" ".join(sorted(_terms(words))) for words in (directive.prefer, directive.avoid, directive.when)]
    return unique_key("directive", *parts)


def _same(new: Directive, old: PolicyBody) -> bool:
    """Whether both say the same, one perhaps without what is to be avoided or done instead."""
    if new.scope != old.scope or _terms(new.when) != _terms(old.trigger):
        return False
    prefers, avoids = (_terms(new.prefer), _terms(old.prefer)), (_terms(new.avoid), _terms(old.avoid))
    if prefers[0] and prefers[0] == prefers[1]:
        return avoids[0] == avoids[1] or not all(avoids)
    return bool(avoids[0]) and avoids[0] == avoids[1] and not all(prefers)


def _opposite(new: Directive, old: PolicyBody) -> bool:
    """Whether the new one forbids what the old one wants, wants what it forbids, or wants another thing instead of the same."""
    return new.scope in ("all", old.scope) and _turned(new, old)


def _turned(new: Directive, old: PolicyBody) -> bool:
    if new.when and _terms(new.when) != _terms(old.trigger):
        return False
    prefer, avoid = _terms(new.prefer), _terms(new.avoid)
    was_preferred, was_avoided = _terms(old.prefer), _terms(old.avoid)
    turned = (prefer and prefer == was_avoided) or (avoid and avoid == was_preferred) or _excludes(new, old)
    other = avoid and avoid == was_avoided and prefer and was_preferred and prefer != was_preferred
    return bool(turned or other)


def _excludes(new: Directive, old: PolicyBody) -> bool:
    """Whether both want one of several things of which only one can be had, of the same: another language, tabs for spaces."""
    for words in w.EXCLUSIVE:
        one, other = _of_these(new.prefer, words), _of_these(old.prefer, words)
        if one and other and one != other:
            rest, was = (_terms(_without(text, words)) - _ANSWERING for text in (new.prefer, old.prefer))
            return rest == was
    return False


_ANSWERING = frozenset(
    map(
        stem_english,
        ("answer", "reply", "respond", "speak", "talk", "write", "explain", "say", "keep", "me", "again", "only"),
    )
)


def _of_these(text: str, words: Collection[str]) -> frozenset[str]:
    return frozenset(word.rstrip("s") for word in words if _names(text, word))


def _without(text: str, words: Collection[str]) -> str:
    for word in sorted(words, key=len, reverse=True):
        text = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", " ", text, flags=re.IGNORECASE | re.ASCII)
    return text


# -- scope ---------------------------------------------------------------------------------------------------------


def _scope(directive: Directive, text: str, tools: Collection[str], environment: str, agent: str) -> str:
    """Where it holds: what it names outright, else everywhere."""
    if environment and (_names(text, environment) or _HERE.search(text)):
        return f"environment:{environment}"
    if not (directive.prefer and directive.avoid):
        named = [tool for tool in tools if _names(text, tool)]
        if len(named) == 1:
            return f"tool:{named[0]}"
    if agent and _names(text, agent):
        return f"agent:{agent}"
    return "all"


_HERE = re.compile(
    r"\b(?:always|never)\b.*\bhere[\s.!]*$|"
    r"\b(?:in|on|for|with) this (?:environment|repo(?:sitory)?|project|machine|server|host|codebase|cluster|workspace|box)\b|"
    r"(?:这个|本|该)(?:环境|仓库|项目|代码库|集群|工程)|这台(?:机器|服务器|主机)",
    re.IGNORECASE,
)


def _in_place(text: str, place: str) -> bool:
    """Whether a text says that it holds in this environment, by its name ("in the billing project", "on web1")."""
    return (
        bool(place)
        and re.search(
            rf"\b(?:in|on|for|at|within)(?: the| our)? ['\"`]?{re.escape(place)}(?![\w-])|在\s?{re.escape(place)}(?![\w-])",
            text,
            re.IGNORECASE | re.ASCII,
        )
        is not None
    )


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text, re.IGNORECASE | re.ASCII) is not None
