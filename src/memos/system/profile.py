"""The verb that says what is known of somebody."""

from __future__ import annotations

from memos.arguments import with_kinds
from memos.errors import InvalidInput
from memos.memory.hit import Hit
from memos.memory.model import Kind, Memory
from memos.memory.number import whole
from memos.memory.profile import Profile
from memos.memory.time import load_zone, utcnow
from memos.reading.parts import is_blank, well_formed
from memos.reading.read import as_name
from memos.recall.collect import with_contradictions
from memos.recall.profile import PROFILED, is_about, profile_of
from memos.storage.ports import NOW
from memos.storage.sqlite.cube import SqliteCube
from memos.system.base import DEFAULT_USER, Base, When
from memos.system.entities import bearing, names_of

MOST_TOKENS = 100_000
MOST_NAME = 200  # characters
_EVENTS = 1_000  # the newest, of which the last ones are shown
_PAGE = 5_000


class Profiling(Base):
    """See `AsyncMemOS`."""

    async def profile(
        self,
        *,
        about: str | None = None,
        max_tokens: int = 400,
        reference_time: When = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> Profile:
        """What is known of the user, or of somebody else (`about`: a name, or "brother"): wishes that always hold, facts,
        preferences, plans and the last events, each with its date and its sources.

        The surest and newest come first, in an order that changes only with what is known, within a hard budget of `max_tokens`
        (1 to 100,000; a token is 4 characters). What was superseded or is over at `reference_time` (now by default) is left
        out; what contradicts something is said beside it. Raises InvalidInput.
        """
        whole(max_tokens, "max_tokens", most=MOST_TOKENS)
        wanted = None if about is None else _checked(about)
        now = self._time(reference_time) or utcnow()
        async with self._cube(user, cube, "read") as (info, store):
            await self._parts().background.catch_up(store)
            names = {"user", "用户", user.casefold()} if wanted is None else await _names(store, wanted)
            found = [m for m in await _derived(store) if is_about(m, names, herself=wanted is None)]
            hits = [Hit(m, 1.0, n, info.name, m.text) for n, m in enumerate(found, 1)]
            hits = await with_contradictions(hits, {info.name: store}, NOW)
        return profile_of(
            found,
            about=wanted or _capital(as_name(user)) or "the user",
            max_tokens=max_tokens,
            now=now,
            zone=load_zone(self.settings.timezone),
            against={h.id: [c.text for c in h.contradicts] for h in hits if h.contradicts},
        )


def _capital(name: str | None) -> str | None:
    return name[:1].upper() + name[1:] if name else None


async def _derived(store: SqliteCube) -> list[Memory]:
    """What the cube derived and holds to be true: everything but events, and the newest of those."""
    out: list[Memory] = []
    where = with_kinds(None, [kind for kind in PROFILED if kind is not Kind.EVENT])
    cursor = None
    while True:
        page = await store.list(where, limit=_PAGE, cursor=cursor)
        out += page.items
        if (cursor := page.cursor) is None:
            break
    return [*out, *(await store.list(with_kinds(None, [Kind.EVENT]), limit=_EVENTS)).items]


async def _names(store: SqliteCube, about: str) -> set[str]:
    """The name, and every other name of an entity that bears it."""
    return {about.casefold()}.union(*map(names_of, await bearing(store, about)))


def _checked(about: object) -> str:
    if not isinstance(about, str) or is_blank(about):
        raise InvalidInput(f"about is a name, got {about!r:.40}; leave it out for the user")
    if len(about) > MOST_NAME:
        raise InvalidInput(f"about has at most {MOST_NAME} characters, got {len(about)}")
    return " ".join(well_formed(about).split())
