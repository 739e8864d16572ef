"""What a user's words say of how a task went, where nobody gives a score. English and Chinese. (How its tools fared says
`memos.evolution.reward`.)

Words are read clause by clause, and only where people speak of what was done: at the beginning of a message and at its end. A
task that is *about* thanks or failures ("write a thank-you letter") says nothing of the one before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from memos.memory.episode import RelationKind
from memos.text.analysis import analyze

ABANDONED: Final = "abandoned"


@dataclass(frozen=True, slots=True)
class Heard:
    """A signal found in words: `what` in a word, `score` in [-1, 1]. Implicit signals stay within [-0.7, 0.7]."""

    what: str
    score: float


THANKS = Heard("thanks", 0.5)
PRAISE = Heard("praise", 0.7)
CORRECTED = Heard("correction", -0.5)
FAILED = Heard("failed", -0.7)
REVISED = Heard("revision", -0.4)  # the message goes over what was done, in words that are no correction by themselves
REPEATED = Heard("repeated", -0.4)
GAVE_UP = Heard(ABANDONED, -0.6)
SUBAGENT_WORKED, SUBAGENT_FAILED = Heard("subagent_ok", 0.6), Heard("subagent_failed", -0.6)

REPEAT_TERMS, REPEAT_SHARE = 4, 0.8  # content terms a request must have, and share, to count as said again

_LEAD = (
    r"^[\W_]*(?:(?:ok(?:ay)?|oh|ah|hey|hi|hmm+|um+|uh|well|yes|yeah|yep|great|cool|nice|wow|so|and|but|sorry|please|actually"
    r"|嗯+|啊|哦|噢|好的?|好吧|行|那|唉|哎|诶|可是|但是?|不过|呃|抱歉)[\s,，.。!！、…~～:：—-]+|[嗯啊哦噢唉哎诶呃]+)*"
)
_THANKS = re.compile(
    _LEAD
    + r"(?:(?:many |much |a lot of |big )?(?:thanks?(?! in advance)|thx|tysm|ty|cheers|much appreciated|appreciate it"
    r"|i (?:really )?appreciate (?:it|that|this|the|your))(?!\w|[- ]you[- ](?:note|letter|card|mail|email|message|page)| in advance"
    r"|-)|(?:非常|十分|太)?(?:谢谢|多谢|感谢|谢了|谢啦)(?!信|卡|的?(?:话|邮件|短信|稿))|辛苦(?:你|您)?(?:了|啦))",
    re.IGNORECASE,
)
_PRAISE = re.compile(
    _LEAD
    + r"(?:(?:that|it|this|everything|all)(?:'s| is| was| now| looks?| seems?)*\s+)?(?:(?:just|absolutely|really|very|so|now|pretty|"
    r"finally|simply|is|was|all|working)\s+){0,3}"
    r"(?:perfect(?:ly)?|excellent|awesome|amazing|brilliant|fantastic|wonderful|superb|well done|good (?:job|work|stuff)"
    r"|great (?:job|work|stuff)|nice(?:ly)? (?:job|work|done|one)|lgtm|love (?:it|this)|exactly (?:right|what i)|spot on|solved"
    r"|fixed (?:it|the (?:problem|issue|bug))|did (?:it|the trick)|problem solved|looks (?:good|great|right|correct)"
    r"|works(?! (?:on|in|for|at|with|only|like th)\b)|worked(?! (?:on|in|at|with)\b)|(?:great|nice|good|correct)(?=[\s!.,~]*$)"
    r"|you (?:nailed|rock|did it))\b"
    r"|"
    + _LEAD
    + r"(?:这|它|那|现在|终于|都|果然|你|真|真是|做得|干得|写得|这次|这样){0,4}(?:太|很|非常|挺|真|特别|十分)?"
    r"(?:好极了|太好了|太棒了|棒(?:极了)?(?![球子])|完美|不错|厉害|漂亮|可以了|好了|搞定了?|解决了|成功了?|没问题了|赞|给力|正确|对了"
    r"|正是我(?:想)?要的|就是(?:这样|这个|它)|好用|干得(?:好|漂亮)|做得(?:好|很好|不错)|很好|能用了|跑通了|通过了)(?![吗么没不奇学看])(?=[\s\W的啦呀哦哈，。！!了]|谢|$)",
    re.IGNORECASE,
)
_FAILED = re.compile(
    _LEAD
    + r"(?:(?:that|it|this|the \w+(?: \w+)?|no|nope|your \w+|everything|same|you|there|i)(?:'s| is| was|'re)?[\s,]+){0,2}"
    r"(?:(?:still|just|again|also|now|even|only|totally|completely)\s+){0,2}"
    r"(?:(?:does|did|do|is|was|are|has|have|can|could|will|would)(?:n't| not)\s+(?:\w+\s+){0,2}?(?:work|fix|help|run|start|compile|build|pass|load|open"
    r"|solve|do it|change|right|correct|resolved?|fixed|solved|working)|not working|broken|broke|fail(?:s|ed|ing)?\b(?! (?:tests?|over))|crash(?:es|ed|ing)?|worse"
    r"|(?:the |getting the |get the |getting |get |see |seeing |gives? (?:me )?|throws? |shows? )?(?:the )?same (?:error|problem|issue|result|thing)"
    r"|(?:the |an |getting an? |get an? |gives? (?:me )?an? |throws? an? )?error again|no (?:effect|change|difference|luck)\b|useless)\b"
    r"|"
    + _LEAD
    + r"(?:还是|又|依然|仍然|仍|这|它|还|根本|完全|好像|似乎|你这?个?|结果|跑起来|运行|测试|现在|刚才|一样|照样){0,4}"
    r"(?:不行|没用|没有用|没解决|没有解决|没好|没有变化|没变化|没效果|没有效果|没反应|不能用|不好用|用不了|不工作|不起作用|不管用|没成功|失败了?|报错|出错|崩了|崩溃|坏了|挂了"
    r"|没修好|没改好|同样的(?:错误?|问题)|一样的(?:错误?|问题)|没通过|跑不(?:通|起来|了)|打不开|启动不了|更糟|更差)",
    re.IGNORECASE,
)
_CORRECTED = re.compile(
    _LEAD
    + r"(?:no(?:pe)?(?:[\s,.!;:—–-]+(?!problem|worries|worry|thanks?|thank|need|rush|hurry|one\b|matter|idea|doubt|more\b|longer|such|way\b"
    r"|biggie|big deal|issues?\b|changes?\b|errors?\b|other\b|further|new\b|it(?:'s| is) (?:fine|ok|good|great)|that(?:'s| is) (?:fine|ok|all|it|good|great|perfect|right|correct))|$)"
    r"|wrong\b(?! side)|incorrect\b|not (?:quite|right|correct|what|like that|that one|this one|there|the one|true|exactly|yet right)"
    r"|(?:that|this|it)(?:'s| is| was|s)? (?:(?:still|just|completely|totally|also|really) )?(?:wrong|incorrect|not (?:right|correct|what|how|the|it\b|true|quite)|n't (?:right|correct|what|how|it))"
    r"|(?:that|this|it) (?:is|was)n't (?:right|correct|what|how|the|it\b|true)"
    r"|(?:i|we) (?:said|meant|mean|asked|wanted|told you|didn't (?:ask|want|mean|say)|did not (?:ask|want|mean|say))\b"
    r"|you (?:forgot|missed|misunderstood|misread|ignored|broke|didn't|did not|got (?:it|that|this) wrong|were supposed|should(?:n't| not)? have|skipped|left out|used the wrong|deleted|overwrote)"
    r"|(?:undo|revert|roll back|take back) (?:that|this|it|the|your|these|those)|(?:don't|do not|stop) (?:do(?:ing)? (?:that|this|it)|changing|touch(?:ing)?|us(?:e|ing) that)"
    r"|(?:please )?(?:try|do it|redo|rewrite|start) (?:that |it |this )?(?:again|over)\b|redo\b|wait[\s,.!]+(?:no\b|that|this|it)|scratch that|hold on[\s,.!]+(?:no\b|that))"
    r"|"
    + _LEAD
    + r"(?:不对(?!称|应|等|齐|外)|不是(?:这|那|的|我|，|,|。|！|!|啦|啊|吧|说|让|要|叫|$)|错了|错啦|搞错|弄错|写错|说错|不正确|有误|不行(?!吗)|不要这|别这|别(?:动|改|删|用|碰|再)|不应该|不该|不能这"
    r"|我(?:说|要|指|问|想要)的(?:是|不是)|我的意思是|我不是(?:说|要|这|让)|我没(?:说|让|要)|我让你|我(?:刚才?|之前|明明)(?:说|是说|都?说过)|你(?:理解错|搞错|弄错|写错|听错|看错|忘|漏|没有?(?:按|听|看|理解|改|加|做|写)|又|怎么(?:又|还|没))"
    r"|漏了|少了|重来|重做|重新(?:来|做|写|生成|回答|改)|再(?:来|试|做|写|改)一(?:次|遍|下)|改回|恢复(?:成|到)?(?:原|之前)|撤销|撤回|退回|还原|等等[，,！!。]?(?:不|错|你)|打住|停(?:下|一下|！|!|，|,|$))",
    re.IGNORECASE,
)
_ABANDONED = re.compile(
    _LEAD
    + r"(?:(?:just |let's |let us |we can |you can |i'll |i will |i )?(?:never ?mind|nvm|nevermind|forget (?:it|about it|this|that|about (?:this|that))"
    r"|(?:just )?(?:leave|drop|skip|abandon|cancel|scrap|abort) (?:it|this|that|the task|everything)(?! (?:as|in|on|at|to|running|open|out|alone for|for|into|off)\b)"
    r"|don't bother|do not bother|not worth it|give up|i'm giving up|giving up|gave up|do it myself|figure it out myself|fix it myself|handle it myself|stop here))\b"
    r"|"
    + _LEAD
    + r"(?:那|还是|我|就|我看|先|要不|干脆|那就|那还是){0,3}(?:算了(?![一算])|不(?:用|必|需要)了|别(?:弄|做|搞|管|改|写|试|查)了|不(?:弄|做|搞|管|要|改|写|试|想)了(?!解)|放弃(?:吧|了|$|，|,|。)|取消(?:吧|了|这个|任务|$|，|,|。)"
    r"|(?:我)?自己(?:来|弄|做|搞|改|写|解决|处理)(?:吧|了|$|，|,|。|好了)|到此为止|随便吧|不管它)",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"[?？]\s*$|[吗么呢]\s*$|^(?:did|does|do|is|are|was|were|has|have|can|could|should|why|what|how|when|who|where)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.!?。！？;；\n]+(?=\s|$|[^\x00-\x7f])|[。！？；\n]+|(?:,|，)\s*")
_FENCED = re.compile(r"```.*?(?:```|$)|`[^`\n]*`", re.DOTALL)
LONGEST = 160  # characters of a clause that is looked at


# -- words -----------------------------------------------------------------------------------------------------------


def heard(text: str, relation: RelationKind, former: str = "") -> tuple[Heard, ...]:
    """What a user message says of what was done before it, each kind once. `former`: the user's message before, to tell whether
    this one asks the same again. Of a message that begins another task, only what looks back counts.
    """
    found: dict[str, Heard] = {}
    for clause in _clauses(text):
        one = _of(clause)
        if one is not None:
            found.setdefault(one.what, one)
    if relation is RelationKind.NEW_TASK:
        return tuple(one for one in found.values() if one in (THANKS, PRAISE, GAVE_UP))
    if FAILED.what in found or CORRECTED.what in found:
        found.pop(PRAISE.what, None)
    if said_again(text, former):
        found.setdefault(REPEATED.what, REPEATED)
    if relation is RelationKind.REVISION and not any(one.score < 0 for one in found.values()):
        found[REVISED.what] = REVISED
    return tuple(found.values())


def said_again(text: str, former: str) -> bool:
    """Whether a message asks again for what the one before asked for, in nearly the same words."""
    one, other = (set(analyze(t[:4_000]).content_terms()) for t in (text, former))
    if len(one) < REPEAT_TERMS or len(other) < REPEAT_TERMS:
        return False
    return len(one & other) >= REPEAT_SHARE * len(one | other)


def corrects(text: str) -> bool:
    """Whether a message begins by saying that what was done is wrong, or failed."""
    return any(_of(clause) in (CORRECTED, FAILED) for clause in _clauses(text)[:2])


def gives_up(text: str) -> bool:
    """Whether a message calls off what was asked for."""
    return any(_of(clause) is GAVE_UP for clause in _clauses(text)[:2])


def is_only_about_before(text: str) -> bool:
    """Whether a message does nothing but thank, praise or give up: it asks for nothing."""
    clauses = _clauses(text, every=True)
    return bool(clauses) and all(
        _of(c) in (THANKS, PRAISE, GAVE_UP) or len(c) <= 3 or _FILLER.fullmatch(c) for c in clauses
    )


_FILLER = re.compile(
    r"[\W_]*(?:(?:so|very|that|this|it|is|was|for|the|your|help|you|all|really|now|a|lot|much|everything|again|great|good|ok(?:ay)?|yes|yeah|cool|nice|got it|helpful|今天|你|您|的|帮助|真|太|了|好|嗯|哈+|就这样|先这样|吧|帮了我?大?忙)[\s\W]*)+",
    re.IGNORECASE,
)


def _clauses(text: str, *, every: bool = False) -> list[str]:
    """The clauses in which people speak of what was done: the first three and the last two."""
    bare = _FENCED.sub(" ", text[:20_000])
    found = [c.strip() for c in _CLAUSE.split(bare) if c and c.strip()]
    if not every and len(found) > 5:
        found = [*found[:3], *found[-2:]]
    return [c[:LONGEST] for c in found]


def _of(clause: str) -> Heard | None:
    if _ABANDONED.match(clause):
        return GAVE_UP
    if _FAILED.match(clause) and not _asks(clause):
        return FAILED
    if _THANKS.match(clause):
        return THANKS
    if _PRAISE.match(clause) and not _asks(clause):
        return PRAISE
    if _CORRECTED.match(clause):
        return CORRECTED
    return None


def _asks(clause: str) -> bool:
    return _QUESTION.search(clause) is not None
