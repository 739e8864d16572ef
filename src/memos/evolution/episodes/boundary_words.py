"""The words by which `episodes.boundary` tells how a message stands to the task before it, English and Chinese."""

from __future__ import annotations

import re
from typing import Final

from memos.text.lazy import LazyPattern


def words(*parts: str) -> LazyPattern:
    """The alternatives as one pattern, without regard to case."""
    return LazyPattern("|".join(parts), re.IGNORECASE)


LEAD: Final = (
    r"^[\W_]*(?:(?:ok(?:ay)?|great|perfect|good|alright|cool|nice|awesome|excellent|yes|yeah|sure|well|so|hi|hey|got it"
    r"|(?:many )?thanks?(?: you)?(?: so much| very much| a lot)?(?: for (?:that|the help|your help))?(?:,? that(?:'s"
    r"| is| was) \w+)?"
    r"|谢谢你?(?:了|啊|的帮助)?|多谢|辛苦了|好的?|好吧|行|嗯+|可以|不错|太好了)[\s,，.。!！、;；—–:-]+)*"
)
"""What may stand before the words that count."""

_TASK_EN = r"(?:task|topic|question|request|thing|job|issue|subject|problem|project|ticket)"
_TASK_ZH = r"(?:话题|任务|问题|事情?|需求|工作|题目?|项目|功能)"
NEW_TOPIC: Final = words(
    LEAD
    + r"(?:now |and now |and |but )?(?:for |on to |i have |i've got |i got |here(?:'s| is) |there(?:'s| is) "
        r"|let's (?:do|start|move on to|go to|switch to|turn to)"
    r" |can you help(?: me)? with |moving on to |next up[,:]? )?(?:a |an |the |one |my |yet )?(?:completely |totally "
    r"|entirely |whole |quite )?"
    rf"(?:new|another|next|different|separate|unrelated|second)(?: \w+)? {_TASK_EN}\b",
    LEAD + r"(?:now )?(?:for |on )?(?:to )?something (?:else|different|unrelated|(?:completely|totally"
        r"|entirely) different|new)\b",
    LEAD + r"(?:new|next) (?:task|topic|question|issue|ticket)\b|" + LEAD + r"(?:totally |completely )?unrelated(?:ly)?\b",
    LEAD + r"(?:let's )?(?:chang(?:e|ing) (?:the )?(?:topic|subject)|switch(?:ing)? (?:gears|topics?)|mov(?:e|ing) on\b)",
    LEAD + r"on (?:a|an) (?:different|unrelated|another|separate) (?:note|topic|subject|matter)\b",
    LEAD + rf"(?:we|i)(?:'ve| have)? (?:got|received|have) (?:a|an|another) (?:(?:new|other|urgent|different"
        rf"|second) ){{1,2}}{_TASK_EN}\b",
    LEAD + r"(?:let's )?(?:leave|put|park|shelve) (?:that|this|it|all that) (?:aside|for (?:now|later)|on hold)\b"
        r"|" + LEAD + r"(?:这|那)个?(?:先|就先)?(?:放着|放一放|放一边|不管|搁着)",
    LEAD + r"(?:这|那)(?:个|件事|边)?(?:就)?(?:结束|完成|先到这里?|到此为止)了?[，,。\s]",
    LEAD + r"(?:separately|off[- ]topic|by the way, unrelated)\b",
    LEAD + rf"(?:我们?)?(?:现在)?(?:来)?(?:换个?|换一个?|再来个?新的?|做?下一个?|另一?个|还有一?个?|新的?一?个?"
        rf"|问?你?另外一?个?){_TASK_ZH}(?!的(?:原因|关键))",
    LEAD + r"(?:又)?(?:来了?个?)?新(?:任务|话题|问题|需求|工单)|" + LEAD + r"另外?(?:有)?一?件事",
    LEAD + r"(?:再)?(?:聊|说|做|问)一?(?:点|个|件)(?:别的|其他的?|不相关的|无关的)",
    LEAD + r"(?:跟|和)(?:这|刚才|上面|前面)(?:个|的)?(?:没关系|无关)|" + LEAD + r"(?:不相关|题外话|言归正传)",
)  # fmt: skip

POINTS: Final = words(
    r"^[\W_]*(?:and |but |so |ok(?:ay)? |then )?(?:it|its|it's|that|that's|this|these|those|they|them|he|she)\b",
    r"^[\W_]*(?:and |but |so )?(?:why|how come|how so|which one|which of|what about|how about|what if|what do you mean)\b",
    r"^[\W_]*(?:and |but |so )?(?:what does|is|does|can|could|are|will|would|did|do|should|where is|where did"
    r"|where are|how does|how do|when did|when will) "
    r"(?:it|that|this|they|those|these|the others?)\b",
    r"^[\W_]*(?:and |but )?(?:did|have|could|can|would) you (?:also|already|just|test|check|try|run|commit|save|push)\b",
    r"^[\W_]*(?:and )?(?:the|which) (?:first|second|third|last|other|same|latter|former)\b",
    LEAD + r"(?:how (?:much|many)|what(?:'s| is| was) the (?:problem|cause|reason|url|link|name|password|size|error"
    r"|result|output|difference|path|command|version|port))\b",
    r"^[\W_]*(?:那|这|它|其|哪|啥|为什么|为啥|怎么会|怎么回事|什么意思|是不是|能不能再|如果|要是"
    r"|第[一二三四五六七八九十\d]|前者|后者|上面|刚才|刚刚|他|她|呢)",
    r"^[\W_]*(?:网址|链接|名字|密码|大小|结果|路径|端口|版本|错误)(?:是|在|呢|多)|^.{1,8}呢[?？]?$|^[\W_]*(?:快|慢|多"
    r"|少|大|小|省|好|贵)了?多少",
)  # fmt: skip

GOES_ON: Final = words(
    LEAD + r"(?:also|then|next|now|and|continue|go on|go ahead|keep going|carry on|proceed|additionally|in addition"
        r"|plus|after that"
    r"|afterwards|finally|lastly|as well|while you're at it|one more|do the same|same (?:for|with|thing)|likewise|more"
    r"|again|but"
    r"|(?:please|let's|could you|can you|now) (?:continue|keep|also|then|now))\b",
    LEAD + r"(?:请|麻烦|你)?(?:继续|然后|接着|接下来|再(?!见)|另外|还有|还要|此外|顺便|同时|下一步|最后|也(?:帮|把|请"
        r"|要|给|加)|同样|并且|而且|以及"
    r"|但是?|那就|那么|往下|把(?:它|这|那|结果|上面|刚才)|现在(?:再|把|请|开始))",
)  # fmt: skip

ANSWERS: Final = words(
    r"^[\W_]*(?:yes|yeah|yep|yup|sure|ok(?:ay)?|no|nope|right|correct|exactly|agreed|please do|please|do it|go ahead"
    r"|go for it|sounds good"
    r"|fine|all of them|both|neither|either|the \w+ one|option \w+|\d+|[a-e])(?:\s*[,.!;:]|\s*$|\s+(?:please|do|go|and"
    r"|but|it|that|to|all|both)\b)",
    r"^[\W_]*(?:是的?|对的?|好的?|可以|行|嗯+|不用|要的?|不要|没有|同意|就这样|都要|都可以|确定|没错"
    r"|选.)(?:\s*[,，.。!！;；]|\s*$)",
)  # fmt: skip

_MADE = (
    r"(?:file|error|function|code|script|test|tests|one|ones|change|changes|command|service|table|page|line|lines|way"
    r"|version|list|part|branch"
    r"|package|commit|message|email|text|draft|paragraph|plan|report|result|results|output|bug|issue|server|repo|step"
    r"|section|class|query"
    r"|endpoint|config|image|container|module|number|numbers|entry|value)"
)
LEANS: Final = words(
    r"\b(?:one|two|three|four|five|some|few|any|\d+) more\b",
    r"\b(?:it|its|them|that one|this one|these|those|instead|as well|too|earlier|above)\b",
    r"\bthe (?:same|above|previous|former|latter|result|results|output|others?)\b",
    rf"\b(?:that|this) {_MADE}\b|\b(?:as|like) before\b",
    r"\byou (?:just|did|made|wrote|said|used|mentioned|suggested|created|added|changed|listed|installed|found|have)\b",
    r"这[个些段份句次里样种边步条版封张]|那[个些段份句次里样种边步条版封张]|它们?|上面|刚才|刚刚|前面|之前的?那|同样"
    r"|一样的?|你(?:刚|写的|改的|说的|给的|做的|用的|提到|建议)",
    r"也(?:导|加|要|改|可以|需要|行|用|画|发|写|装|帮|把|给|请|能|会|一起|一样|来|做|算|有|删|存)|还(?:会|能|要|在|有"
    r"|需要|是|生效)|跟?上(?:周|次|个月)比|改成|换成|改为|加上|去掉|补充|再(?:加|改|写|来|短|长|详细|简单)",
)  # fmt: skip

SHOWS: Final = words(
    r"^[\W_]*(?:please |can you |could you )?(?:show|print|display|list|paste|give)(?: me)? (?:the|your|all|its)\b",
    r"^[^，。]{0,6}(?:能|可以|会|要)[^，。]{1,3}吗[?？]?$",
    r"^[\W_]*(?:请)?(?:给我看|看看|看一下|显示|列出|打印|贴)",
)
"""Asking for something that must be there already, or whether what is there can be so and so."""

_VERBS = (
    r"(?:write|create|make|build|find|search|look up|look for|explain|plan|book|order|buy|calculate|compute|convert"
    r"|translate|summari[sz]e|draft|design|set up|setup"
    r"|install|configure|deploy|fix|debug|refactor|implement|add|remove|delete|update|upgrade|run|start|stop|restart"
    r"|check|test|compare|analy[sz]e|list|show|give"
    r"|tell|help|generate|prepare|organi[sz]e|schedule|remind|send|call|open|read|review|compile|clean|download|upload"
    r"|move|copy|rename|plot|draw|recommend|suggest"
    r"|describe|define|prove|solve|play|sing|sort|count|print|get|fetch|migrate|backup|back up|monitor|investigate"
    r"|research|teach|think|choose|pick|estimate|measure"
    r"|compose|brainstorm|extract|parse|merge|split|format|profile|scale|provision|restore|reset|enable|disable"
    r"|publish|release|commit|push|pull|clone"
    r"|archive|encrypt|decrypt|rotate|mount|validate|verify|diagnose|troubleshoot|optimi[sz]e|improve|simplify"
    r"|document|outline|edit|proofread|cook|bake"
    r"|invite|cancel|pay|transfer|share|learn|invent|paint|connect|benchmark|audit|scan|rewrite|port|integrate"
    r"|automate|build)"
)
REQUEST: Final = words(
    LEAD + r"(?:(?:please|now|then|first|just|kindly) )*" + _VERBS + r"\b",
    LEAD + r"(?:please\b|(?:can|could|would|will) you\b|i (?:need|want|would like|'d like|have to)\b|i'd like\b"
        r"|help me\b|let's\b)",
    LEAD + r"(?:what|how|who|when|where|which|why|is|are|does|do|did|should|can|could)\b[^?]*\?",
    LEAD + r"(?:请|帮|麻烦|给我?|为|写|查|算|做|画|找|搜|翻译|解释|计划|安排|预约|订|买|计算|转换|总结|起草|设计|安装"
        r"|配置|部署|修复|调试|重构|实现|添加|删除|更新"
    r"|运行|启动|停止|重启|检查|测试|比较|分析|列|生成|准备|整理|提醒|发|打开|读|编译|清理|下载|上传|移动|复制|推荐"
    r"|建议|介绍|描述|证明|解|排|教|我(?:想|要|需要)|能不能|可不可以|怎么|如何|什么)",
    r"[?？]\s*$|[吗么]\s*$|(?:怎么(?:做|办|写|弄|用|走)|是谁|是什么|多少|什么时候|在哪里?|哪一?年|多久|多远|(?:做|吃"
    r"|买|选|用)什么.{0,3})[呀啊呢]?\s*$",
    LEAD + r"(?:who|what|when|where)(?:'s|s)? (?:\w+ ){2,}",
    r"\b(?:what|how|where|which)(?: \w+)? (?:can|should|could|do|would) (?:i|we|you|one)\b|\bany ideas?\b",
)  # fmt: skip

WORKFLOW: Final = words(
    LEAD + r"(?:please )?(?:re)?(?:run|commit|push|deploy|merge|publish|release|save|build|restart|test|lint|format"
        r"|ship|submit|send|upload|open (?:a|the) (?:pr|pull request|merge request))"
    r"(?: (?:the|all|my|your|it|and|a|to|everything|again|tests?|changes?|build|server|service|suite|linter|pr|push"
    r"|deploy|commit|staging|production|main|master)\b)*[\s.!]*$",
    LEAD + r"(?:请)?(?:运行|跑|提交|推送|部署|发布|合并|保存|重启|构建|测试|上线|发送|上传|执行)(?:一下|一遍|并|和"
        r"|代码|测试|全部|所有|修改|改动|服务|到?线上|到?主分支|推送|提交|吧|了)*[\s。！!]*$",
)  # fmt: skip
"""What follows work of almost any kind: running the tests, committing, deploying."""

GREETING: Final = words(
    r"^[\W_]*(?:hi|hello|hey|good (?:morning|afternoon|evening)|你好|您好|早上好|早|下午好|晚上好|嗨)(?: there| all"
    r"| team| again|呀|啊)?(?:[\W_]|$)",
)
ASKS_BACK: Final = words(r"[?？]\s*[\"'”」)）*]*\s*$|(?:吗|呢|么)[。.!！]?\s*$|[?？][^.!。！?？\n]{0,80}$")
