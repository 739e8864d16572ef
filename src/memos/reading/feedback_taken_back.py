"""Whether an order to forget is taken back in the same breath ("... Never mind.", "... or not", 算了): then it is none.

What is not certain is not deleted, so this finds rather too much: whoever means it says it once more.
"""

from __future__ import annotations

import re

WHY = "that is asked for and taken back in one message; nothing was changed"

_TAKEN_BACK = re.compile(
    r"\bnever ?mind\s*(?:$|[,.!;:–—-])"
    r"|\b(?:kidding|joking|jk|on second thoughts?|changed my mind|take (?:it|that) back|or (?:rather )?not|yes or no)\b"
    r"|\b(?:just|only) a joke\b"
    r"|\bwait\b[\s,.!:;–—-]*(?:no\b|do ?n[o'’]?t|$)|\bno\b[\s,.!:;–—-]*wait\b"
    r"|\b(?:cancel|ignore|scratch|undo|belay|disregard) (?:that|it|this)\b"
    r"|\b(?:do not|don['’]?t)\s*(?:$|[,.!;:–—-]|do (?:it|that|so)\b|(?:actually |really )?(?:forget|delete|erase|remove)\b)"
    r"|(?<!not )(?<!n't )(?<!n’t )(?<!dont )\bkeep (?:it|that|this|them|those)\b"
    r"|(?:^|[.!?\n])\s*(?:no|nope|not)\W*$"
    r"|算了|开玩笑|逗你|说笑|不用了|不必了|等等|等一下|慢着|取消|反悔|(?:别|不要|勿|莫)(?:真的?)?(?:忘|删|刪|抹)"
    r"|还是(?:留|别|不|算)|留着吧|保留(?:着|吧|它)|(?:^|[。！!？?\n])\s*(?:不|不要|不行|才怪)[。！!]*$|才怪",
    re.IGNORECASE,
)


def taken_back(text: str) -> bool:
    """Whether a text, from an order to forget on, takes that back."""
    return _TAKEN_BACK.search(text.rstrip()) is not None
