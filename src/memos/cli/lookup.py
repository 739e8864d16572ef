"""What a person types, found in the cube: memories by a part of their id, and the name of a conversation that was meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

from memos.errors import InvalidInput, NotFound
from memos.memory.ids import is_id

if TYPE_CHECKING:
    from memos.cli.state import State
    from memos.memory.episode import Episodes
    from memos.storage.tasks import TaskPage
    from memos.sync import MemOS

    Listed = TaskPage | Episodes

SHORT = 8  # characters of an id in tables: its end, which is random (ids made in the same minute begin alike)
LEAST = 6  # characters of a part of an id
_PART = re.compile(rf"[0-9a-fA-F-]{{{LEAST},36}}")
_NAMED = 10  # ids that an error lists
_PAGES, _PAGE = 10, 1_000  # of the newest messages in which names of conversations are looked for


def short_id(id: str) -> str:
    """An id as tables show it."""
    return id[-SHORT:]


def could_be_id(text: str) -> bool:
    """Whether a text is an id, or a part of one that is long enough."""
    return is_id(text) or (_PART.fullmatch(text) is not None and len(text.replace("-", "")) >= LEAST)


def whole_id(system: MemOS, state: State, text: str) -> str:
    """The id that is meant by a whole one, or by its beginning or end. Raises InvalidInput for what is neither or fits
    several, NotFound for what fits none.
    """
    if is_id(text):
        return text
    if not could_be_id(text):
        raise InvalidInput(
            f"{text!r} is not a memory id; give one as `memos list` and `memos search` show it, or {LEAST} characters "
            "or more of its beginning or end"
        )
    found = system.find_ids(text, **state.where)
    if not found:
        raise NotFound(f"no memory of this cube has an id that begins or ends with {text!r}; `memos list` shows them")
    if len(found) > 1:
        raise InvalidInput(
            f"{text!r} may be any of {', '.join(found)}{' …' if len(found) == 10 else ''}; give more of it"
        )
    return found[0]


def whole_task_id(system: MemOS, text: str) -> str:
    """The same for the id of a task, among all that are kept."""
    return _among(text, "task", lambda cursor: system.tasks.find(limit=_PAGE, cursor=cursor))


def whole_episode_id(system: MemOS, state: State, text: str) -> str:
    """The same for the id of an episode, among the newest of the cube."""
    return _among(
        text,
        "episode",
        lambda cursor: system.episodes(limit=_PAGE, cursor=cursor, **state.where),
        pages=_PAGES,
    )


def _among(text: str, what: str, after: Callable[[str | None], Listed], pages: int | None = None) -> str:
    """The id that is meant, among those on the pages of a listing (`pages` of them at most, each `after` a cursor)."""
    if is_id(text):
        return text
    if not could_be_id(text):
        raise InvalidInput(
            f"{text!r} is not {'an' if what[0] in 'aeiou' else 'a'} {what} id; give one as `memos {what}s list` shows it, or "
            f"{LEAST} characters or more of its beginning or end"
        )
    part = text.replace("-", "").casefold()
    found: list[str] = []
    cursor: str | None = None
    for _ in count() if pages is None else range(pages):
        page = after(cursor)
        bare = ((one.id, one.id.replace("-", "")) for one in page.items)
        found += [id for id, digits in bare if digits.startswith(part) or digits.endswith(part)]
        if (cursor := page.cursor) is None or len(found) > _NAMED:
            break
    if not found:
        raise NotFound(f"no {what} has an id that begins or ends with {text!r}; `memos {what}s list` shows them")
    if len(found) > 1:
        named = ", ".join(found[:_NAMED]) + (" …" if len(found) > _NAMED else "")
        raise InvalidInput(f"{text!r} may be any of {named}; give more of it")
    return found[0]


def no_session(system: MemOS, state: State, name: str) -> NotFound:
    """The error for a conversation that has no memories, with the names that were perhaps meant."""
    names: dict[str, None] = {}
    cursor: str | None = None
    for _ in range(_PAGES):
        page = system.list(filter={"layer": "trace"}, limit=_PAGE, cursor=cursor, **state.where)
        names.update(dict.fromkeys(m.session for m in page.items if m.session))
        cursor = page.cursor
        if cursor is None:
            break
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    return NotFound(f"nothing matches: there is no memory of session {name!r} in this cube{hint}")
