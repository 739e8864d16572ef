"""What a request is about, without courtesy around it: "hi, could you please restart loki? thanks" is "restart loki".

And whether a reply is nothing but courtesy: "Noted." and "好的，记住了。" say nothing that could be remembered.
"""

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

_LONGEST_REPLY = 160
_KEPT = (
    r"(?:(?:i(?:(?:'|’)ll| will)|will)(?: be sure to)? (?:remember|save|store|record|keep|note|(?:make|take) (?:a )?note(?: of)?)"
    r"|(?:i(?:(?:'|’)ve| have)? )?(?:remembered|saved|stored|recorded|noted|kept|(?:made|taken) (?:a )?note(?: of)?))"
    r"(?: (?:that|this|it)(?: (?:down|in mind|in my notes|for you|for (?:later|next time|the future|future reference)))*)?"
)
# "Yes", "no" and "done" are not among them: they answer.
# What one of them has matched is never tried in another way: no reply takes long to look through.
_NOTHING_SAID = LazyPattern(
    r"(?:(?>"
    rf"(?:duly |well )?noted with thanks|{_KEPT}"
    r"|(?:duly|well) noted|got it|gotcha|ok(?:ay)?|sure(?: thing)?|of course|certainly|absolutely|understood"
    r"|i (?:understand|see)|will do|all ?right|great|perfect|good to know|very well|roger(?: that)?|copy that|sounds good"
    r"|no problem|my pleasure|(?:you(?:'|’)?re|you are) (?:very )?welcome|(?:happy|glad) to help"
    r"|(?:thanks|thank you)(?: (?:so|very) much)?(?: for (?:letting me know|telling me|sharing(?: that| this)?|the update"
    r"|the info(?:rmation)?))?"
    r"|let me know if (?:you need anything(?: else)?|there(?:'|’)?s anything else(?: i can (?:do|help(?: you)? with))?)"
    r"|(?:is there )?anything else(?: (?:i can (?:do for you|help(?: you)? with)|you need))?"
    r"|好(?:的|滴|嘞|呀|啊)?|收到|嗯+|行|没问题|当然(?:可以)?|可以|明白(?:了)?|(?:我)?知道了|了解(?:了)?|不客气|不用谢"
    r"|谢谢(?:你|您)?(?:告诉我|告知|的?分享)?"
    r"|(?:我)?(?:会|已经?|都)?(?:帮|为|给|替)?(?:你|您)?(?:记(?:住|下|下来|着|好)|记录|保存|存)(?:下来)?(?:了|的|好了)?"
    r"|(?:请问)?(?:你|您)?(?:还有|有)(?:什么|其他|别的)*(?:需要|可以)?(?:我)?(?:能|可以)?(?:帮忙|帮助|帮(?:你|您))的?(?:事|地方)?(?:吗)?"
    r"|有(?:需要|事)(?:请)?随时(?:告诉我|找我|叫我)"
    r")[\s,，.。;；:：!！?？~～…👍😊🙂–—-]*+)++",
    re.IGNORECASE,
)


def says_nothing(text: str) -> bool:
    """Whether a text only acknowledges what was said before it."""
    bare = text.strip()
    return len(bare) <= _LONGEST_REPLY and _NOTHING_SAID.fullmatch(bare) is not None


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
