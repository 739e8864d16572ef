"""What a hard deletion does to what was learned: a policy, statement or skill that other evidence still bears out stays, under
its id and with its trials and what a person decided, but every word of it goes, in every version. Learning tells it again from
the evidence that is left. Only what a person wrote into it stays, without what it took over from the deleted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import apsw

from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.memory.learned import BEREFT, BY_HAND, OWN, Form, SkillBody, is_bereft, is_skill_name
from memos.memory.model import Kind, Memory, Status
from memos.storage.sqlite import bereave, lived, rows
from memos.text.guide import render

if TYPE_CHECKING:
    from memos.storage.sqlite.tx import SqliteTx

EPISODES = 2  # as many must be left that teach a policy
LOOK_BACK = 200  # lessons of a policy whose words are looked at, the newest
LEARNED = ("policy", "world_model", "skill")
LOST = "some of what it was learned from was deleted; what a person wrote stays"
_TAUGHT = frozenset({Form.FIX.value, Form.PATH.value, Form.AVOID.value})
_BESIDE = ("why", "state", "policies", OWN)
_BY_PEOPLE = ("edit", "update")
_FACTS: Mapping[Kind, tuple[str, ...]] = {  # fields without words, or with those that callers gave as names
    Kind.POLICY: ("form", "state", "scope", "strength", "forgiven", "edited", "shared_from"),
    Kind.WORLD_MODEL: ("section", "environment", "holds", "fails", "author", "edited", "shared_from"),
    Kind.SKILL: ("state", "edited", "shared_from", "license", "imported_as"),
}
_FIELDS = (  # of a skill, that can be edited
    "name", "description", "parameters", "preconditions", "procedure", "pitfalls", "examples", "verification", "tools",
    "environment", "license", "guide",
)  # fmt: skip
_WORD = re.compile(r"[a-z0-9]+|[^\W_]", re.IGNORECASE)
_LINE = re.compile(r"(?<=[.!?。！？])\s+|\n")


def is_learned(db: apsw.Connection, ident: bytes) -> bool:
    """Whether a memory is a policy, a statement about the world or a skill."""
    return db.execute("SELECT kind FROM memories WHERE id=? AND known_to IS NULL", (ident,)).get in LEARNED


def retelling(db: apsw.Connection, ident: bytes) -> set[bytes]:
    """What may hold words of a memory without being derived from it: the statements and skills made of the policies that its
    episode teaches, or taught when they were made, which show cases; of a directive, the policies that were retired because of
    it, which say so.
    """
    if is_learned(db, ident):
        found = db.execute(
            "SELECT id FROM memories WHERE kind='policy' AND body->>'against'=?", (id_from_bytes(ident),)
        )
        return {id for (id,) in found}
    found = db.execute(
        "SELECT e.src FROM lessons l JOIN edges e ON e.dst=l.memory AND e.type='DERIVED_FROM' "
        "WHERE l.episode=(SELECT episode FROM steps WHERE id=?1) AND l.memory IS NOT NULL UNION "
        "SELECT e.dst FROM steps s JOIN edges e ON e.src=s.id AND e.type='SUPPORTS' JOIN memories m ON m.id=e.dst "
        "AND m.kind='skill' WHERE s.episode=(SELECT episode FROM steps WHERE id=?1)",
        (ident,),
    )
    return {src for (src,) in found}


def stays(db: apsw.Connection, ident: bytes, doomed: Collection[bytes]) -> bool:
    """Whether something learned stays when `doomed` goes: what a person edited does; else enough has to be left to tell it."""
    memory = _current(db, ident)
    if memory.status is Status.RETRACTED and not is_bereft(memory):
        return False
    if memory.body.get("edited"):
        return True
    if memory.kind is Kind.POLICY:
        return memory.body.get("form") in _TAUGHT and _is_taught(db, ident, doomed)
    left = [p for p in _policies(memory) if p not in doomed]
    if memory.kind is Kind.WORLD_MODEL:
        return memory.body.get("author") == "rules" and bool(left)
    return bool(left) and left[:1] == _policies(memory)[:1]


def _is_taught(db: apsw.Connection, ident: bytes, doomed: Collection[bytes]) -> bool:
    """Whether of two tasks that teach a policy something is left: learning sees whether they still do."""
    lessons, task = lived.by_task(db)
    tasks: set[object] = set()
    found: Any = db.execute(
        f"SELECT {task}, l.episode FROM {lessons} WHERE l.memory=? AND l.value>0", (ident,)
    ).fetchall()
    for of, episode in found:
        steps = db.execute("SELECT id FROM steps WHERE episode=?", (episode,)) if of not in tasks else ()
        if any(id not in doomed for (id,) in steps):
            tasks.add(of)
        if len(tasks) >= EPISODES:
            return True
    return False


def empty(tx: SqliteTx, idents: Collection[bytes], doomed: Collection[bytes], term_ids: set[int]) -> None:
    """Take the words from what stays of what was learned, in every version, and have it told again."""
    said = _Said(tx.db, doomed)
    for ident in sorted(idents):
        _empty_one(tx, ident, said, term_ids)
    for ident in doomed:
        _show_again(tx.db, ident, doomed)


def _empty_one(tx: SqliteTx, ident: bytes, said: _Said, term_ids: set[int]) -> None:
    db = tx.db
    found: Any = db.execute(
        f"SELECT {rows.SELECT}, m.op, m.n FROM memories m WHERE m.id=? ORDER BY m.version", (ident,)
    ).fetchall()
    versions = [(rows.memory_from_row(row), row[rows.WIDTH]) for row in found]
    now = versions[-1][0]
    policies = [p for p in _policies(now) if p not in said.doomed]
    own = _own(versions)
    taken = _Taken(said, [ident, *_policies(now)], versions, own)
    tx.put(_bare(now, policies, own, taken), "bereave")
    bereave.drop_versions(db, ident, [row[rows.WIDTH + 1] for row in found], term_ids)
    db.execute("UPDATE memories SET recorded_at=? WHERE id=?", (found[-1][rows.COLUMNS.index("recorded_at")], ident))
    db.execute("DELETE FROM edges WHERE src=? AND type='DERIVED_FROM' AND known_to IS NOT NULL", (ident,))
    db.execute("DELETE FROM learned WHERE memory=? AND what='skill.refused'", (ident,))  # has the digest of a draft
    if now.kind is Kind.SKILL:
        db.execute("DELETE FROM edges WHERE dst=? AND type='SUPPORTS'", (ident,))
    if now.kind is Kind.POLICY:
        db.execute("DELETE FROM keys WHERE id=?", (ident,))  # digests of what it said
        lived.learn_anew(db, ident)
    for policy in policies:
        lived.learn_anew(db, policy, 1)


def _bare(now: Memory, policies: Iterable[bytes], own: Collection[str], taken: _Taken) -> Memory:
    """What is left of something learned."""
    why = str(now.body.get("why") or "")
    edited = bool(now.body.get("edited"))
    body = {name: now.body[name] for name in _FACTS[now.kind] if name in now.body}
    body |= {BEREFT: True, "policies": [id_from_bytes(p) for p in policies]}
    body["why"] = why if why.startswith(BY_HAND) else LOST if edited else ""
    body |= {OWN: sorted(own)} if edited else {}
    text, title, slot = "", None, None
    if now.kind is Kind.SKILL:
        body |= {name: taken.cleared(now.body[name]) for name in own if name in now.body}
        named = str(now.body.get("name") or "")
        body["name"] = named if is_skill_name(named) and taken.is_clear(named) else f"skill-{now.id[-8:].lower()}"
        if edited:
            skill = SkillBody.of(replace(now, text="", body=body))
            text, title = render(skill), skill.name
    elif edited:
        text = taken.cleared(now.text)
        slot = now.slot if now.slot and taken.is_clear(now.slot) else None
        title = now.title if now.title and taken.is_clear(now.title) else None
    status = now.status if edited else Status.RETRACTED
    return replace(now, text=text, title=title, slot=slot, status=status, body=body)


def _own(versions: Iterable[tuple[Memory, str]]) -> frozenset[str]:
    """The fields of a skill that a person wrote, by what edits changed."""
    own: set[str] = set()
    before: Mapping[str, Any] = {}
    for memory, op in versions:
        if not memory.body.get("edited"):
            own = set()
        elif memory.kind is Kind.SKILL:
            known = memory.body.get(OWN)
            changed = {f for f in _FIELDS if memory.body.get(f) != before.get(f)}
            own |= {*(known or ())} & {*_FIELDS}
            own |= changed if (op in _BY_PEOPLE if before else known is None) else set()
        before = memory.body
    return frozenset(own)


class _Said:
    """What the deleted records say."""

    def __init__(self, db: apsw.Connection, doomed: Collection[bytes]) -> None:
        self.db = db
        self.doomed = doomed

    @cached_property
    def text(self) -> str:
        """All of it, in lower case."""
        return "\n".join(_texts(self.db, (d for d in self.doomed if not is_learned(self.db, d))))

    def left(self, policies: Iterable[bytes]) -> str:
        """What the episodes say that are left and teach these policies."""
        steps: dict[bytes, None] = {}
        for policy in policies:
            for lesson in lived.lessons_newest(self.db, id_from_bytes(policy), LOOK_BACK):
                numbers = json.dumps([n for group in lesson.steps.values() for n in group])
                found = self.db.execute("SELECT id FROM steps WHERE s IN (SELECT value FROM json_each(?))", (numbers,))
                steps |= {id: None for (id,) in found if id not in self.doomed}
        return "\n".join(_texts(self.db, steps))


class _Taken:
    """Which words of something learned may be from what was deleted: they stand there, in what it derived in any version, and in
    nothing that is left.
    """

    def __init__(
        self, said: _Said, policies: list[bytes], versions: list[tuple[Memory, str]], own: Collection[str]
    ) -> None:
        self._said, self._policies = said, policies
        memories = [memory for memory, _ in versions]
        derived = [m for m in memories if not m.body.get("edited")]
        if not derived and not any(OWN in m.body for m in memories):  # who wrote what is not known
            derived = memories
        others = ({k: v for k, v in m.body.items() if k not in (*own, *_BESIDE)} for m in memories)
        self._derived = "\n".join((*map(_everything, derived), *map(_worded, others))).lower()
        self._known: dict[str, bool] = {}

    @cached_property
    def _left(self) -> str:
        return self._said.left(self._policies)

    def is_clear(self, text: str) -> bool:
        """Whether no word of a text may be from what was deleted."""
        return not any(map(self._is_taken, _words(text)))

    def _is_taken(self, word: str) -> bool:
        if word not in self._known:
            self._known[word] = word in self._derived and word in self._said.text and word not in self._left
        return self._known[word]

    def cleared(self, value: Any) -> Any:
        """What a person wrote without the lines, and of lists the items, in which such words stand."""
        if isinstance(value, str):
            lines = [part for part in _LINE.split(value) if part]
            return value if self.is_clear(value) else "\n".join(filter(self.is_clear, lines))
        if isinstance(value, (list, tuple)):
            return [one for one in value if self.is_clear(_worded(one))]
        return value


def _show_again(db: apsw.Connection, ident: bytes, doomed: Collection[bytes]) -> None:
    """A statement of what is there goes with a step that shows it: the newest other episode that does states it again."""
    if db.execute("SELECT kind FROM memories WHERE id=? AND known_to IS NULL", (ident,)).get != Kind.WORLD_MODEL.value:
        return
    found = db.execute("SELECT dst FROM edges WHERE src=? AND type='DERIVED_FROM' AND known_to IS NULL", (ident,))
    left = json.dumps([dst.hex() for (dst,) in found if dst not in doomed])
    db.execute(
        "UPDATE episodes SET due_at=coalesce(due_at, closed_at) WHERE closed_at IS NOT NULL AND e=(SELECT max(episode) "
        "FROM steps WHERE id IN (SELECT unhex(value) FROM json_each(?)))",
        (left,),
    )


def _current(db: apsw.Connection, ident: bytes) -> Memory:
    return rows.memory_from_row(
        db.execute(f"SELECT {rows.SELECT} FROM memories m WHERE m.id=? AND m.known_to IS NULL", (ident,)).fetchone()  # type: ignore[arg-type]
    )


def _policies(memory: Memory) -> list[bytes]:
    given = memory.body.get("policies")
    return [id_to_bytes(str(p)) for p in given] if isinstance(given, (list, tuple)) else []


def _texts(db: apsw.Connection, idents: Iterable[bytes]) -> Iterator[str]:
    for ident in idents:
        found: Any = db.execute("SELECT text, title, body FROM memories WHERE id=?", (ident,)).fetchall()
        for text, title, body in found:
            yield f"{text}\n{title or ''}\n{_worded(json.loads(body)) if body else ''}".lower()


def _everything(memory: Memory) -> str:
    return f"{memory.text}\n{memory.title or ''}\n{_worded(memory.body)}"


def _worded(value: Any) -> str:
    """The texts within a JSON value, or a body."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "\n".join(map(_worded, value.values()))
    return "\n".join(map(_worded, value)) if isinstance(value, (list, tuple)) else ""


def _words(text: str) -> set[str]:
    """What a text is made of: words and numbers; of a script without spaces, pairs of signs."""
    found = [w.lower() for w in _WORD.findall(text)]
    pairs = {a + b for a, b in pairwise(found) if not (a + b).isascii()}
    return {w for w in found if len(w) > 1} | pairs
