"""The last check of every finding: a value must be a sensible phrase, not one that runs into the next clause."""

from __future__ import annotations

import re

from memos.memory.model import Kind
from memos.reading.finding import Finding
from memos.reading.patterns import words

_JOINTS = words("and or but because nor than although though unless the a an my our your their its & plus")
_SUBJECTS = words(
    """
    i i'm im i've i'll i'd he she they you we we're we've we'll he he's she she's they they're it's you're you've there's that's
    """
)
_VERBS = words("am is are was were isn't aren't wasn't weren't don't doesn't didn't can't won't has have had would")
_OBJECTS = words("me it them us him")
_CHINESE = re.compile(r"(?:我|但是|而且|因为|所以|并且|不过)$|^(?:而且|但是|所以|因为)")
_WORDY = (Kind.EVENT, Kind.COMMITMENT)


def makes_sense(finding: Finding) -> bool:
    """Whether the value ends as a phrase ends: with no conjunction, article, subject or auxiliary left over.

    What somebody plans or did may end with an object or a verb ("pick it up for me", "go back to where I was").
    """
    parts = finding.value.replace("’", "'").split()
    if not parts or _CHINESE.search(finding.value):
        return False
    if finding.kind is Kind.ENTITY or finding.attribute == "pronouns":
        return True
    last, first = _plain(parts[-1]), _plain(parts[0])
    if last in _JOINTS or (first in ("and", "or", "but") and len(parts) > 1):
        return False
    if finding.kind in _WORDY or finding.attribute in ("always", "never", "reminder"):
        return True
    if last in _VERBS and len(parts) > 2 and _plain(parts[-2]) in _SUBJECTS:
        return "and" not in map(_plain, parts)  # "the friends I have"
    return last not in _SUBJECTS | _VERBS | _OBJECTS


def _plain(word: str) -> str:
    bare = word.strip('.,;:!?"()“”')
    # US and IT are names, and so is the A of "vitamin A".
    return bare if bare != "I" and bare.isupper() and "'" not in bare else bare.lower()
