"""The words by which `memos.evolution.value.signals` tells what users say of what was done. English and Chinese; data only.

Every pattern is matched at the beginning of a clause, after words that mean nothing (`LEAD`).
"""

from __future__ import annotations

import re
from typing import Final

from memos.text.lazy import LazyPattern

LEAD: Final = (
    r"^[\W_]*(?:(?:ok(?:ay)?|oh|ah|hey|hi|hmm+|um+|uh|well|yes|yeah|yep|great|cool|nice|wow|so|and|but|sorry|please"
    r"|actually|now|unfortunately|sadly"
    r"|嗯+|啊|哦|噢|好的?|好吧|行|那|唉|哎|诶|可是|但是?|不过|呃|抱歉|可惜)[\s,，.。!！、…~～:：—-]+|[嗯啊哦噢唉哎诶呃])*"
)


def clause(*parts: str) -> LazyPattern:
    """The alternatives, at the beginning of a clause, without regard to case."""
    return LazyPattern(LEAD + "(?:" + "|".join(parts) + ")", re.IGNORECASE)


THANKS: Final = clause(
    r"(?:(?:many |much |a lot of |big )?(?:thanks?|thx|tysm|ty|cheers|much appreciated)(?!\w|-|[- ]you[- ](?:note"
    r"|letter|card|mail|email|message|page)"
    r"| in advance| you in advance| to\b)|i (?:really )?appreciate (?:it|that|this|the|your))",
    r"(?:非常|十分|太)?(?:谢谢|多谢|感谢|谢了|谢啦)(?!信|卡|的?(?:话|邮件|短信|稿))|辛苦(?:你|您)?(?:了|啦)",
)  # fmt: skip

_GOOD = (
    r"(?:perfect(?:ly)?|excellent|awesome|amazing|brilliant|fantastic|wonderful|superb|well done|(?:good|great|nice"
    r"|amazing) (?:job|work|stuff|catch)|nicely done|nice one"
    r"|lgtm|exactly (?:right|what i)|spot on|solved|fixed (?:it|the (?:problem|issue|bug))|did (?:it|the trick)"
    r"|problem solved|looks (?:good|great|right|correct|fine)"
    r"|works(?! (?:on|in|for|at|with|only|like th)\b)|worked(?! (?:on|in|at|with)\b)|(?:great|nice|good"
    r"|correct)(?=[\s!.,~]*$))\b"
)
PRAISE: Final = clause(
    r"(?:(?:that|it|this|everything|all)(?:'s| is| was| now| looks?| seems?)*\s+)?"
    rf"(?:(?:just|absolutely|really|very|so|now|pretty|finally|simply|is|was|all|working)\s+){{0,3}}{_GOOD}",
    r"(?:i )?love (?:it|this)\b|you (?:nailed|rock|did it|fixed it)\b",
    r"(?:这|它|那|现在|终于|都|果然|你|真|真是|这次|这样){0,4}(?:太|很|非常|挺|真|特别|十分)?"
    r"(?:好极了|太好了|太棒了|棒(?:极了)?(?![球子])|完美|不错|厉害|漂亮|可以了|好了|搞定了?|解决了|成功了?|没问题了|赞"
    r"|给力|正确|对了|正是我(?:想)?要的|就是(?:这样|这个|它)"
    r"|好用|[干做写]得(?:好|漂亮|不错|很好)|很好|能用了|跑通了|通过了)(?![吗么没不奇学看])(?=[\s\W的啦呀哦哈，。！!了]|谢|$)",
)  # fmt: skip

_NOT_DO = r"(?:(?:does|did|do|is|was|are|were|has|have|can|could|will|would)(?:n'?t| not)|cannot|won'?t)"
_SHOWN = (
    r"(?:(?:and |but )?(?:now )?(?:(?:i |we |it |that )?(?:still )?(?:gets?|got|getting|says?|said|shows?"
    r"|gives?)(?: me)?:?|报|提示|显示|结果是)[\s:：]*)?"
)
FAILED: Final = clause(
    _SHOWN + r"(?:[\w./-]{1,40}: )?(?:command not found|permission denied|no such file|traceback \(most"
        r"|segmentation fault|connection refused"
    r"|(?:fatal |uncaught |syntax |import |type |value |runtime )?(?:error|exception): |[A-Z]\w{2,40}(?:Error"
    r"|Exception)\b|exit(?:ed)? (?:with )?(?:code|status) [1-9])",
    r"(?:(?:that|it|this|the \w+(?: \w+)?|no|nope|your \w+|everything|same|you|there|i)(?:'s| is| are| was|'re)?[\s,]+){0,2}"
    r"(?:(?:still|just|again|also|now|even|only|totally|completely)\s+){0,2}(?:"
    rf"{_NOT_DO}\s+(?:\w+\s+){{0,2}}?(?:work|fix|help|run|start|compile|build|pass|load|open|match|fit|solve|do it"
    rf"|change|right|correct|resolved?|fixed|solved|working|install)"
    r"|not working|broken|broke|fail(?:s|ed|ing)?\b(?! (?:tests?|over))|crash(?:es|ed|ing)?|hangs?|times? out"
    r"|down(?=[\s.!]*$)|worse|(?:made|makes) (?:it|things|that) worse|useless"
    r"|(?:the |getting (?:the |an? )?|gets? (?:the |an? )?|sees? (?:the )?|seeing (?:the )?|gives? (?:me )?(?:the "
    r"|an? )?|throws? (?:the |an? )?|shows? (?:the |an? )?)?"
    r"(?:same (?:error|problem|issue|result|thing|growth|failure)|error again)|no (?:effect|change|difference|luck)\b)\b",
    rf"[^,.!?]{{0,60}}\bstill (?:fail|broken\b|crash|hang|not\b|wrong\b|the same\b|gives?\b|throws?\b|{_NOT_DO})",
    r"[^，。！？,.!?]{0,12}(?:还是|依然|仍然|仍旧|又|照样|还)(?:不行|没用|不对|不能|报错|出错|失败|没好|没通过|崩|挂"
    r"|卡|打不开|一样)",
    r"(?:我?(?:改|试|装|跑|用|弄)了?(?:以后|之后|完)?|还是|又|依然|仍然|仍|这|它|还|根本|完全|好像|似乎|你这?个?|结果"
    r"|跑起来|运行|测试|现在|刚才|一样|照样|网站|程序|服务|接口|页面|编译|构建){0,5}"
    r"(?:不行|没用|没有用|没解决|没有解决|没好|没有变化|没变化|没效果|没有效果|没反应|不能用|不好用|用不了|不工作"
    r"|不起作用|不管用|没成功|失败了?|报错|出错|崩了|崩溃|坏了|挂了|卡死了?"
    r"|没修好|没改好|(?:同样|一样)的(?:错误?|问题)|没通过|不过了|跑不(?:通|起来|了)|打不开|启动不了|更(?:糟|差|慢|坏)了?)",
)  # fmt: skip

_FINE = (
    r"problem|worries|worry|thanks?|thank|need|rush|hurry|one\b|matter|idea|doubt|more\b|longer|such|way\b|biggie"
    r"|big deal|issues?\b|changes?\b|errors?\b|other\b"
    r"|further|new\b|it(?:'s| is) (?:fine|ok|good|great)|that(?:'s| is) (?:fine|ok|all|it|good|great|perfect|right|correct)"
)
_WRONG = (
    r"(?:wrong|incorrect|off|missing|broken|awful|terrible|ugly|unreadable|too \w+|not (?:right|correct|what|how"
    r"|the|it\b|true|quite|there|good))"
)
CORRECTED: Final = clause(
    rf"no(?:pe)?(?:[\s,.!;:—–-]++(?!{_FINE})|$)|wrong\b(?! side)|incorrect\b",
    r"not (?:quite|right|correct|what|like that|that one|this one|there|the one|true|exactly|yet right|good enough)",
    rf"(?:that|this|it|they|those|these|the \w+(?: \w+){{0,3}}|your \w+(?: \w+)?|there)(?:'s|'re| is| are| was| were"
    rf"| looks?| seems?)? (?:(?:still|just|completely|totally|also|really|all) )?{_WRONG}\b",
    r"(?:that|this|it|they|there) (?:is|was|are|were)n't (?:right|correct|what|how|the|it\b|true|there|good)",
    r"(?:i|we) (?:only |just |actually |clearly |specifically |already )?(?:said|meant|mean|asked|wanted|told you"
    r"|did(?:n't| not) (?:ask|want|mean|say))\b",
    r"you (?:forgot|missed|misunderstood|misread|ignored|broke|didn't|did not|got (?:it|that|this) wrong|were supposed"
    r"|should(?:n't| not)? have|skipped|left out|deleted|overwrote"
    r"|(?:\w+ ){0,2}the wrong)",
    r"(?:way|far) (?:too|over|off|above|below|beyond)\b|(?:sounds?|looks?|feels?|seems?|reads?|is|are|was) (?:still "
    r"|a bit |way |far |much )*too \w+|ours? (?:is|are)\b",
    r"(?:that|this|it) was (?:the|my|our|not)\b|you (?:just|only) (?:deleted|removed|changed|skipped|commented"
    r"|disabled|renamed|moved|copied)",
    r"(?:\w+ ){1,4}should(?:n't| not) (?:be|have)\b|too (?:long|short|big|small|slow|many|much|formal|informal"
    r"|complicated|simple|verbose|vague|dark|bright|loud|late|early)\b",
    r"(?:please )?(?:use|try|make|take|do|put|give me|go with|write|pick|choose|change it to"
    r"|switch to) [^,.!?]{1,40} instead(?=[\s.!]*$)|(?:put|set|bring|switch|change) (?:it|that|them|this) back\b",
    r"you (?:overlooked|mixed up|swapped|confused|misplaced|changed the (?:meaning|sense))",
    r"(?:undo|revert|roll back|take back|put back) (?:that|this|it|the|your|these|those)|(?:don't|do not"
    r"|stop) (?:do(?:ing)? (?:that|this|it)|changing|touch(?:ing)?|us(?:e|ing) that)",
    r"(?:please )?(?:try|do it|redo|rewrite|start) (?:that |it |this )?(?:again|over)\b|redo\b|wait[\s,.!]+(?:no\b"
    r"|that|this|it|i\b)|scratch that|hold on[\s,.!]+(?:no\b|that|i\b)",
    r"不对(?!称|应|等|齐|外)|不是(?:这|那|的|我|，|,|。|！|!|啦|啊|吧|说|让|要|叫|$)|错了|错啦|(?:你)?(?:搞|弄|写|说"
    r"|标|改|放|装|选|发|算|部署|理解|用|删)错|不正确|有误|不行(?!吗)",
    r"不要这|别这|别(?:动|改|删|用|碰|再)|不能这|.{0,8}不(?:应该|该)(?:是|有|在|用|这)|我(?:说|要|指|问|想要)的(?:是"
    r"|不是)|我的意思是|我不是(?:说|要|这|让)|我没(?:说|让|要)",
    r"怎么(?:是|都是|又是?|还是?|变成)|.{0,6}怎么(?:都|全|又|还)是|.{0,8}明明|.{0,8}还是(?:歪|乱|错|偏|空|黑|白|旧|老"
    r"|原来).{0,3}",
    r"我让你|我(?:刚才?|之前|明明)(?:说|是说|都?说过)|你(?:听错|看错|忘|漏|没有?(?:按|听|看|理解|改|加|做|写)|又"
    r"|怎么(?:又|还|没))|漏了|少了|重来|重做|重新(?:来|做|写|生成|回答|改|弄|压|画|装)",
    r"再(?:来|试|做|写|改)一(?:次|遍|下)|改回|退回|恢复(?:成|到)?(?:原|之前)|撤销|撤回|还原|把.{1,12}(?:退回|改回|恢复"
    r"|撤)|等等[，,！!。]?(?:不|错|你|我)|打住|停(?:下|一下|！|!|，|,|$)",
    r"(?:这|它|你)?(?:也|写得|做得|说得|改得|有点|实在)?太(?:长|短|大|小|慢|多|少|正式|复杂|简单|啰嗦|差|丑|暗|亮|晚"
    r"|早|乱|烂)(?:了|啦|$)",
    r".{0,6}(?:应该|得)是|.{0,8}(?:都|全|还)?是乱码|.{1,5}太(?!好|棒|赞|感谢|谢谢|完美|牛|强|厉害|快了).{1,2}(?:了|啦"
    r"|[\s，。！!,.]|$)",
    r".{0,12}(?:标错|弄错|搞错|写错|算错|错了|不对|不正确|太差)(?:了|啦|吧)?(?=[\s，。！!,.]|$)",
)  # fmt: skip

GAVE_UP: Final = clause(
    r"(?:(?:just |let's |let us |we can |you can |i'll |i will |i )?(?:never ?mind|nvm|nevermind|forget (?:it|about it"
    r"|this|that|about (?:this|that)))"
    r"|(?:let's )?(?:just )?(?:leave|drop|skip|abandon|cancel|scrap|abort) (?:it|this|that|the task"
    r"|everything)(?! (?:as|in|on|at|to|running|open|out|alone for|for|into|off)\b)"
    r"|don't bother|do not bother|(?:it's )?not worth it|(?:i |i'm |let's )?(?:give|giving|gave) up|(?:i'll |i will "
    r"|i can )?(?:do|figure|fix|handle) (?:it|this|that)(?: out)? (?:by )?myself|(?:let's )?stop here)\b",
    r"(?:还是|我|就|我看|先|要不|干脆|那就|那还是){0,3}(?:算了(?![一算])|不(?:用|必|需要)了(?!解)|别(?:弄|做|搞|管|改"
    r"|写|试|查)了|不(?:弄|做|搞|管|要|改|写|试|想)了(?!解)"
    r"|放弃(?:吧|了|$|，|,|。)|取消(?:吧|了|这个|任务|$|，|,|。)|(?:我)?自己(?:来|弄|做|搞|改|写|解决|处理)(?:吧|了|$"
    r"|，|,|。|好了)|到此为止|随便吧|不管它)",
)  # fmt: skip

QUESTION: Final = LazyPattern(
    r"[?？]\s*$|[吗么呢]\s*$|^(?:did|does|do|is|are|was|were|has|have|can|could|should|why|what|how|when|who|where)\b(?!n't)",
    re.IGNORECASE,
)
FILLER: Final = LazyPattern(
    r"[\W_]*(?:(?:so|very|that|this|it|is|was|for|the|your|help|you|all|really|now|a|lot|much|everything|again|great"
    r"|good|ok(?:ay)?|yes|yeah"
    r"|cool|nice|got it|helpful|今天|你|您|的|帮助|真|太|了|好|嗯|哈|就这样|先这样|吧|帮了我?大?忙)[\s\W]*)+",
    re.IGNORECASE,
)
"""A clause that asks for nothing."""
