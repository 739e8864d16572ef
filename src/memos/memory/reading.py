"""How a cube wants its records read: by rules or by a model, with which instructions and tags. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from memos.errors import InvalidInput

Mode = Literal["auto", "fast", "fine"]
ReadingMode = Literal["fast", "fine"]
KEY = "reading"  # in the info of a cube
MOST_INSTRUCTIONS = 2_000  # characters: they are paid for at each call
MOST_TAGS, MOST_TAG = 100, 64


def checked_mode(mode: str | None) -> None:
    """Raises InvalidInput for a mode of a call that is none."""
    if mode is not None and mode not in get_args(ReadingMode):
        raise InvalidInput(f"reading is 'fast' or 'fine', got {mode!r:.40}")


@dataclass(frozen=True, slots=True)
class ReadingConfig:
    """`mode`: `fine` has a model read what is added, `fast` leaves it to rules, `auto` is as the settings say.

    `instructions`: what a model should look for or leave out, in your words. `tags`: the vocabulary that what it finds is tagged
    with.
    """

    mode: Mode = "auto"
    instructions: str = ""
    tags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise InvalidInput(f"mode is 'auto', 'fast' or 'fine', got {self.mode!r:.40}")
        if not isinstance(self.instructions, str) or len(self.instructions) > MOST_INSTRUCTIONS:
            raise InvalidInput(f"instructions are a text of at most {MOST_INSTRUCTIONS:,} characters")
        if len(self.tags) > MOST_TAGS or any(not t.strip() or len(t) > MOST_TAG for t in self.tags):
            raise InvalidInput(f"tags are at most {MOST_TAGS} names of 1 to {MOST_TAG} characters")

    @classmethod
    def of(cls, info: Mapping[str, Any]) -> ReadingConfig:
        """What the info of a cube says of reading; the default where it says nothing that can be understood."""
        kept = info.get(KEY)
        if not isinstance(kept, Mapping):
            return _DEFAULT
        try:
            return cls(kept.get("mode", "auto"), kept.get("instructions", ""), tuple(map(str, kept.get("tags", ()))))
        except (InvalidInput, TypeError):
            return _DEFAULT

    def kept(self) -> dict[str, Any]:
        """How it is kept in the info of a cube."""
        return {"mode": self.mode, "instructions": self.instructions, "tags": list(self.tags)}


_DEFAULT = ReadingConfig()


@dataclass(frozen=True, slots=True)
class Reread:
    """What `reread` set going: how many records are to be read anew, and the `task` that does it (None: nothing was meant, or it
    is done already). `pending`: whether some of it is still to be done.
    """

    cube: str
    records: int
    task: str | None = None
    pending: bool = False
    notices: tuple[str, ...] = ()
