"""What wording by a model has in common, whatever it words (`refining`, `skill_writing`): what waits for words, whether it still
is what the model was shown, and whether the words name only that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from memos.memory.learned import PolicyBody, SkillBody
from memos.memory.model import Kind, Memory
from memos.storage.sqlite import rows

if TYPE_CHECKING:
    import apsw

DRAWN = "drawn"  # in the body: what rules made of the evidence, as a digest
MOST_TOKENS = 800  # of an answer
SHOWN = 6_000  # characters of a policy or skill that are shown

_UNUSUAL = re.compile(r"[^\s,;:!?()\"'“”‘’«»，。；：！？（）《》]+")
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]")


def unworded(db: apsw.Connection, kind: Kind, mark: str, limit: int, *, state: str | None = None) -> list[Memory]:
    """Those of a kind (in this state) that have the words of the rules, and for which no model was asked as they are. `mark`:
    where the body keeps for which draft one was.
    """
    found = db.execute(
        f"SELECT {rows.SELECT} FROM memories m WHERE m.kind='{kind.value}' AND m.known_to IS NULL AND m.status='active' "
        f"AND (?2 IS NULL OR m.body->>'state'=?2) AND m.body->>'author'='rules' AND NOT m.body->>'edited' "
        f"AND m.body->>'{DRAWN}' IS NOT NULL AND m.body->>'{mark}' IS NOT m.body->>'{DRAWN}' ORDER BY m.id LIMIT ?1",
        (limit, state),
    )
    return [*map(rows.memory_from_row, found)]


def as_shown(tx: Any, memory: Memory, kind: Kind) -> Memory | None:
    """What a model was shown, as it stands; None when it is gone, or was edited, worded or drawn anew meanwhile."""
    now: Memory | None = tx.get(memory.id)
    if now is None or now.kind is not kind or now.body.get(DRAWN) != memory.body.get(DRAWN):
        return None
    body = PolicyBody.of(now) if kind is Kind.POLICY else SkillBody.of(now)
    return None if body.edited or body.author != "rules" else now


def is_known(text: str, shown: str, plain: re.Pattern[str]) -> bool:
    """Whether everything in a text that is no `plain` word (a number, a path, a command, an address) was shown."""
    if _HIDDEN.search(text):
        return False
    whole = shown.lower()
    words = (w.strip(".…") for w in _UNUSUAL.findall(text))
    return all(plain.fullmatch(w) or w.lower() in whole for w in words if w)
