"""`pref_string` and `pref_note`: the preferences that a search answers with as text for a prompt.

Made from what is left after every filter, so the text never says more than the list.
"""

from __future__ import annotations

from collections.abc import Sequence

from memos.memory.model import Memory
from memos.server.product import wording

_IMPLICIT = "implicit_preference"


def rendered(preferences: Sequence[Memory], query: str) -> dict[str, str]:
    """The two fields of the wire; both empty where there is no preference."""
    if not preferences:
        return {"pref_string": "", "pref_note": ""}
    note = wording.PREF_NOTE["zh" if any("\u4e00" <= c <= "\u9fff" for c in query) else "en"]
    implicit = [m for m in preferences if m.body.get("preference_type") == _IMPLICIT]
    explicit = [m for m in preferences if m not in implicit]
    blocks = [
        _numbered(title, some) for title, some in ((wording.EXPLICIT, explicit), (wording.IMPLICIT, implicit)) if some
    ]
    return {"pref_string": "\n".join(blocks) + note, "pref_note": note}


def _numbered(title: str, preferences: Sequence[Memory]) -> str:
    return "\n".join([title, *(f"{n}. {' '.join(m.text.split())}" for n, m in enumerate(preferences, 1))])
