"""What a request is about, without courtesy around it: "hi, could you please restart loki? thanks" is "restart loki"."""

from __future__ import annotations

import re

from memos.text.lazy import LazyPattern

_MOST = 12  # such phrases before a request, and after it
_BEFORE = LazyPattern(
    r"(?:(?:hi|hey|hello|ok|okay|now|alright|good (?:morning|afternoon|evening))[,:!.]\s{0,9}"
    r"|(?:please|pls|kindly|just"
    r"|(?:can|could|would|will) you|would you mind|i(?:'d| would) like you to|i (?:need|want) you to|go ahead and|help me)"
    r"(?=[\s,:!.])[\s,:!.]{1,9}"
    r"|(?:你好|您好|嗨|哈喽|请(?=[^问教求假示])|麻烦(?:你|您)?|劳驾|拜托|帮我(?:一下)?|帮忙|能不能|能否|可不可以|我(?:想|要|需要)(?:你|您))"
    r"[\s，,：:。！!]{0,9})",
    re.IGNORECASE,
)
_AFTER = LazyPattern(
    r"[\s,，.!?。！？]{0,9}(?:\b(?:please|pls|for me|thanks(?: a lot)?|thank you(?: very much)?|will you|would you"
    r"|as soon as possible|asap|right away|right now)|(?:谢谢(?:你|您)?|多谢|好吗|行吗|可以吗|拜托了?|吧))[\s.!?。！？]{0,9}$",
    re.IGNORECASE,
)


def bare_request(text: str) -> str:
    """The request in a short text; the text itself where it is nothing but courtesy."""
    bare = text.strip()
    for _ in range(_MOST):
        found = _BEFORE.match(bare)
        if found is None or found.end() >= len(bare):
            break
        bare = bare[found.end() :]
    for _ in range(_MOST):
        tail = bare[-80:]
        found = _AFTER.search(tail)
        if found is None or len(tail) - found.start() >= len(bare):
            break
        bare = bare[: len(bare) - len(tail) + found.start()]
    return bare or text.strip()
