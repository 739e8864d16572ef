"""What people do to skills: edit them, bring them in from files, and copy them to other cubes. Nothing here replaces a skill of
another, and what a person edited is only ever proposed to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from memos.errors import Conflict, InvalidInput, NotFound
from memos.evolution.model_words import DRAWN
from memos.evolution.skills.folder import DESCRIPTION, LICENSE, MAX_FILE, Found
from memos.evolution.skills.skills import settle, unique_name
from memos.memory.ids import is_id, new_id, unique_key
from memos.memory.learned import Action, Parameter, PolicyBody, SkillBody, State, is_bereft, is_skill_name
from memos.memory.model import TRUST_OF, Kind, Memory, Origin, Status
from memos.storage.sqlite import lived
from memos.text.guide import render

T = TypeVar("T")

MOST_ITEMS, LONGEST = 100, 10_000  # items of a list, characters of one text
_SHARED = "shared_from"
EDITED_THERE = "edited_there"  # in the body of a copy: a person edited the original, and nobody the copy


def find(db: Any, name: str) -> Memory:
    """The skill of a name or an id, whatever its state; of several of one name (documents have them) the newest. Raises
    NotFound.
    """
    if is_id(name):
        found = lived.memories(db, [name.lower()])
    else:
        found = lived.skills_named(db, name) or [
            m for m in lived.learned_memories(db, Kind.SKILL.value) if SkillBody.of(m).name == name
        ]
    for memory in found:
        if memory.kind is Kind.SKILL and memory.status is not Status.RETRACTED:
            return memory
    raise NotFound(f"skill {name!r:.80} does not exist in this cube; `skills` lists those that do")


# -- editing ---------------------------------------------------------------------------------------------------------


def edit(tx: Any, name: str, changes: Mapping[str, Any], if_version: int | None) -> Memory:
    """Change fields of a skill; from now on learning only proposes. `edited` False gives it back to learning. Raises NotFound,
    Conflict, InvalidInput.
    """
    memory = find(tx.db, name)
    if if_version is not None and memory.version != if_version:
        raise Conflict(f"skill {name} is at version {memory.version}, not {if_version}; read it again")
    body = SkillBody.of(memory)
    given = dict(changes)
    if "edited" in given:
        return _given_back(tx, memory, body, given)
    values = {field: _checked(field, value) for field, value in given.items()}
    if not values:
        raise InvalidInput(f"nothing to change; give some of {', '.join(_EDITABLE)}")
    if (wanted := values.get("name", body.name)) != body.name and unique_name(tx, wanted, memory.id) != wanted:
        raise Conflict(f"another skill of this cube is named {wanted!r}; choose another name")
    new = replace(body, **values, edited=True, proposal="")
    if not (new.guide or new.procedure or is_bereft(memory)):  # a deletion may have taken it
        raise InvalidInput("a skill needs a procedure or a guide")
    kept = tx.put(_with(memory, new), "edit")
    lived.tell(tx, "skill.edited", memory=memory.id, numbers={"version": kept.version})
    return kept  # type: ignore[no-any-return]


def _given_back(tx: Any, memory: Memory, body: SkillBody, given: Mapping[str, Any]) -> Memory:
    if given != {"edited": False}:
        raise InvalidInput("edited can only be set to false, and alone: the skill is then learning's again")
    if not body.policies:
        raise InvalidInput("this skill was not learned here; there is nothing it could be drawn from again")
    new = replace(body, edited=False, guide="", proposal="")
    tx.put(_with(memory, new, {k: v for k, v in memory.body.items() if k != DRAWN}), "edit")
    settle(tx, {memory.id})
    return tx.get(memory.id)  # type: ignore[no-any-return]


def _with(memory: Memory, body: SkillBody, beside: Mapping[str, Any] | None = None) -> Memory:
    plain = {**(memory.body if beside is None else beside), **body.to_body()}
    return replace(memory, text=render(body), title=body.name, body=plain)


def _checked(field: str, value: Any) -> Any:
    check = _EDITABLE.get(field)
    if check is None:
        raise InvalidInput(f"{field!r:.60} of a skill cannot be changed; what can: {', '.join(_EDITABLE)}")
    return check(value, field)


def _text(most: int) -> Callable[[Any, str], str]:
    def check(value: Any, what: str) -> str:
        if not isinstance(value, str) or len(value) > most:
            raise InvalidInput(f"{what} is a text of at most {most} characters, got {value!r:.60}")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidInput(f"{what} holds half a character (a lone surrogate); replace it") from None
        return value.strip()

    return check


def _said(value: Any, what: str) -> str:
    text = _text(DESCRIPTION)(value, what)
    if not text:
        raise InvalidInput("a skill needs a description of what it does and when to use it")
    return text


def _name(value: Any, what: str) -> str:
    if not isinstance(value, str) or not is_skill_name(value):
        raise InvalidInput(
            f"{what} {value!r:.80} is none of a skill: lower-case letters, digits and single dashes, 64 at most"
        )
    return value


def _list(item: Callable[[Any, str], T]) -> Callable[[Any, str], tuple[T, ...]]:
    def check(value: Any, what: str) -> tuple[T, ...]:
        if isinstance(value, str) or not isinstance(value, Sequence) or len(value) > MOST_ITEMS:
            raise InvalidInput(f"{what} is a list of at most {MOST_ITEMS}, got {value!r:.60}")
        return tuple(item(one, f"{what}[{n}]") for n, one in enumerate(value))

    return check


def _action(value: Any, what: str) -> Action:
    given = {"tool": value.tool, "input": value.input} if isinstance(value, Action) else value
    if not isinstance(given, Mapping) or not set(given) <= {"tool", "input"}:
        raise InvalidInput(f'{what} is one step: {{"tool": ..., "input": ...}}, got {value!r:.60}')
    text = _text(LONGEST)
    return Action(text(given.get("tool", ""), f"{what}.tool"), text(given.get("input", ""), f"{what}.input"))


def _parameter(value: Any, what: str) -> Parameter:
    names = ("name", "source", "examples", "description", "required")
    given = {n: getattr(value, n) for n in names} if isinstance(value, Parameter) else value
    if not isinstance(given, Mapping) or not set(given) <= set(names) or not given.get("name"):
        raise InvalidInput(f'{what} is one parameter: {{"name": ..., "description": ...}}, got {value!r:.60}')
    if not isinstance(given.get("required", True), bool):
        raise InvalidInput(f"{what}.required is true or false")
    text = _text(1_000)
    return Parameter(
        text(given["name"], f"{what}.name"),
        text(given.get("source", "unknown"), f"{what}.source"),
        _list(text)(given.get("examples", ()), f"{what}.examples"),
        text(given.get("description", ""), f"{what}.description"),
        given.get("required", True),
    )


_EDITABLE: Mapping[str, Callable[[Any, str], Any]] = {
    "name": _name,
    "description": _said,
    "parameters": _list(_parameter),
    "preconditions": _list(_text(LONGEST)),
    "procedure": _list(_action),
    "pitfalls": _list(_text(LONGEST)),
    "examples": _list(_text(LONGEST)),
    "verification": _text(LONGEST),
    "tools": _list(_text(200)),
    "environment": _text(200),
    "license": _text(LICENSE),
    "guide": _text(MAX_FILE),
}


# -- bringing in -----------------------------------------------------------------------------------------------------


def take_in(tx: Any, found: Found, owner: str) -> Memory:
    """Store an imported skill: new and on probation, or a new version of the one that was imported under its name before."""
    key = unique_key("imported skill", found.body.name)
    why = "imported" if not found.left else f"imported; {found.left} further files of its folder are not kept"
    new, beside = replace(found.body, why=why), {"imported_as": found.body.name}
    known = _standing(tx, key)
    if known is not None:
        return _renewed(tx, known, new)
    body = replace(new, name=unique_name(tx, new.name))
    memory = Memory(
        *(new_id(), Kind.SKILL, render(body)),
        title=body.name,
        tags=("skill",),
        origin=Origin.IMPORT,
        trust=TRUST_OF[Origin.IMPORT],
        owner=owner,
        body={**body.to_body(), **beside},
    )
    kept = tx.put(memory, "import", key=key)
    lived.tell(tx, "skill.imported", memory=memory.id, numbers={"version": 1})
    return kept  # type: ignore[no-any-return]


def _standing(tx: Any, key: bytes) -> Memory | None:
    id = tx.find_key(key)
    memory = None if id is None else tx.get(id)
    return None if memory is None or memory.status is Status.RETRACTED else memory


def _renewed(tx: Any, known: Memory, new: SkillBody) -> Memory:
    """A new version of what was brought in before; of one that was edited since, a proposal."""
    was = SkillBody.of(known)
    new = replace(new, name=was.name, state=was.state, why=was.why, policies=was.policies)
    text = render(new)
    if was.edited:
        proposal = "" if text == known.text else text
        if proposal == was.proposal:
            return known
        kept = tx.put(replace(known, body={**known.body, "proposal": proposal}), "propose")
        lived.tell(tx, "skill.proposed", memory=known.id, numbers={"version": kept.version})
        return kept  # type: ignore[no-any-return]
    if {**known.body, **new.to_body()} == known.body and text == known.text:
        return known
    kept = tx.put(_with(known, new), "import")
    lived.tell(tx, "skill.changed", memory=known.id, numbers={"version": kept.version})
    return kept  # type: ignore[no-any-return]


# -- copies in other cubes -------------------------------------------------------------------------------------------


def copy_key(cube: str, id: str) -> bytes:
    """What the copy of a memory of another cube is stored once under."""
    return unique_key("shared", cube, id)


def copy_of(tx: Any, cube: str, id: str) -> str | None:
    """The id of the copy of a memory of another cube; None where there is none."""
    found = _standing(tx, copy_key(cube, id))
    return None if found is None else found.id


def put_copy(tx: Any, source: Memory, cube: str, owner: str) -> tuple[str, bool]:
    """Make the copy of a memory of another cube, or bring it up to date; its id, and whether it is new."""
    key = copy_key(cube, source.id)
    known = _standing(tx, key)
    if known is not None:
        if source.kind is Kind.SKILL:
            _renewed(tx, known, _skill_of(source, cube))
        else:
            _updated(tx, known, source, cube)
        return known.id, False
    text, title, body = source.text, source.title, _body_of(source, cube)
    if source.kind is Kind.SKILL:
        skill = _skill_of(source, cube)
        skill = replace(skill, name=unique_name(tx, skill.name))
        text, title, body = render(skill), skill.name, skill.to_body()
    memory = Memory(
        *(new_id(), source.kind, text),
        title=title,
        tags=source.tags,
        valid_from=source.valid_from,
        valid_to=source.valid_to,
        confidence=source.confidence,
        importance=source.importance,
        origin=Origin.IMPORT,
        trust=min(source.trust, TRUST_OF[Origin.IMPORT]),
        owner=owner,
        role=source.role,
        speaker=source.speaker,
        info=source.info,
        body=body,
    )
    tx.put(memory, "share", key=key)
    if source.kind in (Kind.SKILL, Kind.POLICY):
        lived.tell(tx, f"{source.kind.value}.shared", memory=memory.id)
    return memory.id, True


def _skill_of(source: Memory, cube: str) -> SkillBody:
    body = SkillBody.of(source)
    origin = f"{cube}/{source.id}"
    return replace(
        body, state=State.PROBATION, policies=(), shared_from=origin, edited=False, proposal="", why="shared"
    )


def _body_of(source: Memory, cube: str) -> dict[str, Any]:
    beside = {_SHARED: f"{cube}/{source.id}"}
    if source.kind is Kind.POLICY:
        body = replace(PolicyBody.of(source), why="shared")  # its words are a person's there, and here too
        return {**body.to_body(), EDITED_THERE: body.edited, **beside}
    return {**source.body, **beside} if source.kind is Kind.WORLD_MODEL else beside


def _updated(tx: Any, known: Memory, source: Memory, cube: str) -> None:
    body = {**known.body, **_body_of(source, cube)}
    if source.kind is Kind.POLICY:
        if PolicyBody.of(known).edited and not known.body.get(EDITED_THERE):
            return
        body |= {k: known.body.get(k) for k in ("state", "why")}
    new = replace(
        known,
        text=source.text,
        title=source.title,
        tags=source.tags,
        valid_from=source.valid_from,
        valid_to=source.valid_to,
        confidence=source.confidence,
        info=source.info,
        body=body,
    )
    if new != known:
        tx.put(new, "share")
