"""What in a comment on an outcome says more than its single words: that something bad is gone, that something good was broken;
and what is no verdict, though it speaks of failures: what is to be done from now on. English and Chinese.
"""

from __future__ import annotations

import re

_BAD = (
    r"(?:errors?|bugs?|issues?|problems?|failures?|exceptions?|crash(?:es)?|warnings?|leaks?|conflicts?"
    r"|time-?outs?|regressions?|glitch(?:es)?|symptoms?|alerts?)"
)
_ILL = (
    rf"(?:{_BAD}|fail(?:s|ing)?|crashing|break(?:s|ing)?|hang(?:s|ing)?"
    r"|freez(?:e|es|ing)|leaking|timing out|flak(?:y|ing)|complain(?:s|ing)?)"
)
_OWN = (
    r"(?:files?|data|logs?|changes|work|backups?|tables?|config\w*|settings|commits?|branch(?:es)?|rows|records|history|folders?"
    r"|director(?:y|ies)|databases?|code|photos?|documents?|tests|comments)"
)
_HARM = (
    r"(?:deleted|broke|broken|lost|removed|destroyed|wiped|erased|overwrote|overwritten|corrupted|ruined|messed up|damaged"
    r"|dropped|leaked|exposed|clobbered|trashed|purged|truncated|screwed up)"
)
_USELESS = (
    rf"(?:{_BAD}|duplicates?|dead|stuck|stale|unused|old|temp\w*|obsolete|junk|needless|unnecessary|redundant|cache\w*)"
)
_NO = r"n['’]t\b|\bnot\b|\bnever\b|\bstill\b|\bhalf\b|\bpart(?:ly|ially)\b|\balmost\b"

UNABLE = re.compile(r"\b(?:fail(?:s|ed)?|unable|not able) to\b[^.,;!?\n]{0,80}", re.IGNORECASE)
GONE = re.compile(
    rf"\b{_BAD}\b(?:(?!{_NO})[^.,;!?\n]){{0,40}}?"
    r"\b(?:gone|fixed|resolved|solved|cleared|went away|gone away|disappeared|vanished|squashed|no more)\b"
    rf"|\b(?:no longer|no more|stopped|without(?: any)?|free of|zero)\s+(?:\w+\s+){{0,2}}?{_ILL}\b"
    rf"|\b(?:fix(?:es|ed)?|solv(?:es|ed)|resolv(?:es|ed)|clear(?:s|ed)|got rid of|cured|eliminated|removed|squashed)"
    rf"\s+(?:\w+\s+){{0,3}}?(?:{_BAD}|broken|failing)\b"
    rf"|\bno\s+{_BAD}\b|\bno longer (?:show|appear|occur|happen|com)\w*"
    r"|(?:n['’]t|\bnot|\bnever)\s+(?:crash|fail|hang|break|leak|freeze|complain)(?:ing|s|ed)?\b(?:\s+any\s?more|\s+now)?"
    r"|(?:错误|报错|问题|故障|异常|警告|漏洞|毛病|冲突|bug)s?(?:[^，。；！？\n不没未]){0,6}(?:没有了|没了|消失|已?解决|修复|修好|不见了|不再出现|排除)"
    r"|不再?(?:报错|崩溃|出错|失败|卡死?|闪退)(?:了)?|没(?:有)?再?(?:报错|出错|崩溃)了?",
    re.IGNORECASE,
)
HARMED = re.compile(
    rf"\b(?:you|it|this|that|which|agent|script|command)(?:['’]ve| have| has| had)?\s+(?:(?:also|just|even|\w+ly)\s+)?{_HARM}\b"
    rf"(?!\s+(?:\w+\s+){{0,2}}?{_USELESS}\b)(?:\s+{_BAD})?"
    rf"|\b{_OWN}\b(?:(?!{_NO})[^.,;!?\n]){{0,40}}?"
    r"\b(?:is|are|was|were|got|all|been)\s+(?:now\s+|all\s+|completely\s+)?(?:gone|lost|missing|deleted|wiped|corrupted|destroyed|overwritten)\b"
    r"|\b(?:no longer|stopped)\s+(?:\w+\s+)?(?:work|start|run|build|compil|respond|load|open|pass|boot|connect)\w*"
    r"|(?:你|把)(?:(?!垃圾|临时|多余|重复|错误|报错|问题|无用|缓存|旧|bug)[^，。；！？\n]){0,12}?(?:删[了掉除光]|弄坏|搞坏|弄丢|丢了|搞丢|覆盖了|清空了|破坏|毁了|搞砸)"
    r"(?![^，。；！？\n]{0,3}(?:垃圾|临时|多余|重复|错误|报错|问题|无用|缓存|旧|bug))"
    r"|(?:文件|数据|日志|备份|配置|代码|改动|记录|表|目录)[^，。；！？\n没不]{0,6}(?:没了|丢了|丢失|不见了|被删|被清空|被覆盖)",
    re.IGNORECASE,
)

_STATES = r"(?!\s*\w+(?:ed|(?<!s)s)\b|\s+(?:again|been|had|did|got|ran|went|broke|saw|the|a|my)\b)"
ORDER = re.compile(
    r"(?:(?<=[.,;:!?\n])|(?<=\bbut)|(?<=\band)|(?<=\bso)|(?<=\bjust)|(?<=[-–—])|^)"
    r"\s*(?:please\s+|but\s+|and\s+|just\s+|you should\s+|you must\s+)*"
    rf"(?:(?:always|never){_STATES}|(?:do not|don['’]t) ever\b|(?:from now on|in (?:the )?future|next time|going forward"
    r"|henceforth)\b"
    r"|make sure\b|be sure\b|remember to\b|whenever\b|before you\b)[^.;!?\n]*?(?=[.;!?\n]|,\s*(?:but|thank|otherwise)|$)"
    r"|(?:以后|下次|从现在(?:起|开始)|今后|往后|务必|记得|切记|千万|永远(?:不要|别)|始终要|每次都?要|一定要|请?(?:不要|别)再)[^，。；！？\n]*",
    re.IGNORECASE,
)
