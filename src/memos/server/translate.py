"""Our memories in the words of MemOS's wires: type and status names, texts that can be read alone, preferences, thresholds.

What `/product` and `/api/openmem/v1` both say of a memory is said here, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, tzinfo
from types import MappingProxyType

from memos.memory.clock import shown_since, shown_time
from memos.memory.fields import WIRE_TYPES
from memos.memory.hit import Hit
from memos.memory.model import Kind, Layer, Memory, Status
from memos.text.document import own_words

TYPE_OF: Mapping[Kind, str] = MappingProxyType({kind: name for name, kinds in WIRE_TYPES.items() for kind in kinds})
STATUS_OF: Mapping[Status, str] = MappingProxyType(
    {
        Status.ACTIVE: "activated",
        Status.SUPERSEDED: "archived",
        Status.ARCHIVED: "archived",
        Status.RETRACTED: "deleted",
        Status.QUARANTINED: "resolving",
    }
)
PREFERENCES = frozenset({Kind.PREFERENCE})
TOOLS = frozenset({Kind.TOOL_SCHEMA, Kind.TOOL_CALL})
SKILLS = frozenset({Kind.SKILL})
NODES = frozenset({Kind.ENTITY})  # of the graph only: a name alone is no memory on these wires
FILES = frozenset(WIRE_TYPES["RawFileMemory"])
TEXTS = frozenset(Kind) - PREFERENCES - TOOLS - SKILLS - NODES
ALL_SUMMARY = "AllSummaryMemory"  # long-term and user memory together
SUMMARY = ("LongTermMemory", "UserMemory")
USUAL = 0.45  # the wires' default threshold
LEAST_GOOD = 0.2  # our score that it stands for
SESSION_BONUS = 0.05  # what a hit of the session asked for gains: it goes before equals, not before clearly better ones


def memory_type(kind: Kind) -> str:
    """What the wires call memories of a kind; those they have no name for count as long-term memory."""
    return TYPE_OF.get(kind, "LongTermMemory")


def kinds_of(name: str) -> frozenset[Kind]:
    """The kinds behind a memory type of the wires. Raises KeyError for a name that is none."""
    names = SUMMARY if name == ALL_SUMMARY else (name,)
    return frozenset(kind for one in names for kind in WIRE_TYPES[one])


def preference_type(memory: Memory) -> str:
    """Whether a preference was stated or inferred."""
    return str(memory.body.get("preference_type", "explicit_preference"))


def told(hit: Hit, zone: tzinfo) -> str:
    """A hit as one text that can be read alone, with what a correction meant, and what does not hold any more."""
    meant = f" [so: {' '.join(f.text for f in hit.facts)}]" if "corrects" in hit.memory.body and hit.facts else ""
    gone = "" if hit.stale or not hit.outdated else f" [no longer: {' '.join(f.text for f in hit.outdated)}]"
    against = f" [contradicted by: {' '.join(c.text for c in hit.contradicts)}]" if hit.contradicts else ""
    return f"{readable(hit.memory, zone, outdated=hit.stale)}{meant}{gone}{against}"


def readable(memory: Memory, zone: tzinfo, *, outdated: bool = False) -> str:
    """The whole text and what a reader of nothing else needs: date and speaker of what was said, since when a fact holds, the
    file of a passage, and whether it is outdated.
    """
    mark = "[outdated] " if outdated else ""
    if memory.kind in FILES:
        return f"{mark}[{memory.title}] {memory.text}" if memory.title else mark + memory.text
    if memory.layer is not Layer.TRACE:
        # the text of an event says when it was
        since = "" if memory.kind is Kind.EVENT else shown_since(memory, zone)
        return f"{mark}{memory.text} (since {since})" if since else mark + memory.text
    said = own_words(memory.text, memory.speaker)
    when = shown_time(memory, zone)
    who = f"{memory.speaker}: " if memory.speaker else ""
    return f"{when} {mark}{who}{said}" if when else f"{mark}{who}{said}"


def relativity(score: float) -> float:
    """Our score of a hit, 0 to 1, on the scale of the wires, where callers rely on the default threshold of 0.45.

    Straight lines through (0, 0), (0.2, 0.45) and (1, 1): in a cube of one or two memories a good answer can score as little
    as 0.24, and the default must not take it away (`docs/memos-wire.md`).
    """
    if score <= LEAST_GOOD:
        return USUAL * score / LEAST_GOOD
    return USUAL + (1 - USUAL) * (score - LEAST_GOOD) / (1 - LEAST_GOOD)


def score_of(relativity: float | None) -> float:
    """The lowest score that a `relativity` lets through: the other way round. 0, or none, lets everything through, and what is
    above 1 only perfect matches.
    """
    if relativity is None or relativity <= USUAL:
        return max(0.0, relativity or 0.0) * LEAST_GOOD / USUAL
    return min(1.0, LEAST_GOOD + (1 - LEAST_GOOD) * (relativity - USUAL) / (1 - USUAL))


def milliseconds(when: datetime | None) -> int | None:
    """A time as the cloud writes it: milliseconds since 1970."""
    return None if when is None else int(when.timestamp() * 1000)
