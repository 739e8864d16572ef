"""What a preference is about, where its words tell: of phone calls and email only one is preferred.

A preference without a known topic stands beside the others.
"""

from __future__ import annotations

import re

_LEAD = (
    r"(?:to )?(?:(?:be|being) (?:contacted|reached|called|notified) (?:by|via|on|over|through) |(?:get|getting|receive"
    r"|receiving|use|using|have|having|drink|drinking|sit|sitting|speak|speaking|write|writing|talk|talking|communicate"
    r"|communicating|work|working|travel|travelling|traveling|go|going|take|taking|pay|paying)"
    r"(?: (?:by|via|on|over|in|with|through|at|my|in the))* )?(?:by |in |an? |the |my )?"
)
_DRINK = r"(?:[a-z]+ )?(?:coffee|tea|espresso|cappuccino|latte|matcha|cocoa)"
_TOPICS = (
    (
        "contact",
        r"(?:phone |voice |video )?calls?|phone|telephone|e-?mails?|texts?|texting|text messages?|sms|whatsapp|signal"
        r"|telegram|slack|messages?|messaging|letters?|calling|emailing|in[- ]person(?: meetings?)?|打电话|电话|发?邮件"
        r"|发?短信|发?微信|微信",
    ),
    ("seat", r"(?:window|aisle|middle) seats?|(?:window|aisle)(?: side)?|靠窗(?:的座位|座位)?|靠过道(?:的座位|座位)?"),
    ("hot drink", rf"{_DRINK}|(?:喝)?(?:绿|红|奶|乌龙|花)?茶|(?:喝)?(?:黑|冰)?咖啡"),
    (
        "language",
        r"english|french|german|spanish|italian|chinese|japanese|korean|russian|swedish|norwegian|danish|finnish|dutch"
        r"|polish|portuguese|(?:用|说)?(?:中文|英文|英语|法语|德语|日语|韩语|普通话|粤语)",
    ),
    ("theme", r"(?:dark|light)(?: mode| theme)?"),
    ("units", r"metric(?: units)?|imperial(?: units)?|celsius|fahrenheit|kilometers|kilometres|miles"),
    ("indentation", r"tabs|spaces"),
    ("transport", r"trains?|planes?|flying|driving|(?:the )?bus(?:es)?|cycling|坐?(?:火车|高铁|飞机)|开车"),
    ("time of day", r"(?:early )?(?:mornings?|evenings?|afternoons?|nights?)(?: appointments?| meetings?)?"),
    ("payment", r"cash|(?:credit |debit )?cards?|paypal|invoice|现金|刷卡|支付宝"),
)
_TOPIC = tuple((topic, re.compile(f"{_LEAD}(?:{pattern})", re.IGNORECASE)) for topic, pattern in _TOPICS)


def topic_of(value: str) -> str:
    """The topic of which `value` is one choice, or "" where it is not plain."""
    return next((topic for topic, pattern in _TOPIC if pattern.fullmatch(value)), "")


def preferred_as(value: str) -> tuple[str, bool]:
    """The attribute of a preference for `value`, and whether there is one at a time."""
    topic = topic_of(value)
    return (f"preferred {topic}", True) if topic else ("prefers", False)
