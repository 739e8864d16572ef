"""How people say what an agent is always or never to do, in English and Chinese: patterns, and nothing else.

Every pattern is bounded, so that no text takes longer than its length. What is done with them stands in `directives`.
"""

from __future__ import annotations

import re

from memos.text.lazy import LazyPattern

_I = re.IGNORECASE


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# -- English -------------------------------------------------------------------------------------------------------

BULLET = LazyPattern(r"(?:[-*•·–—]|\d{1,2}[.)、]|[（(]\d{1,2}[)）])\s*")
OPENERS = LazyPattern(
    r"(?:(?:ok(?:ay)?|hey|hi|hello|whoa|hm+|oh|ah|"
    r"well|so|also|and|but|now|then|no+(?! more| \w+ should)|nope|wrong|sorry|thanks|thank you|"
    r"great|good|right|yes|"
    r"please|pls|plz|kindly|just|by the way|btw|(?:one|another)(?: (?:more|last|small|little|quick))? thing|fyi|actually|again|"
    r"(?:a )?(?:quick )?(?:note|reminder|rule|important|general rule|house rule|lesson learned|as a rule|in general|generally|"
    r"as a general rule)(?: of thumb)?(?=\s*[:,–—-])|rule \d+(?=\s*[:.]))\b[\s,.:;!…–—-]*)+",
    _I,
)
STANDING = (
    r"(?:from (?:now|here|this point|today|this moment|this day) on(?:wards?)?|from today(?=[,\s]*(?:always|never|please|use|"
    r"do))|"
    r"in (?:the )?future|going forward|moving forward|henceforth|as of (?:now|today)|starting (?:now|today|from today)|"
    r"at all times|without exception|every single time|every time|each time|as a rule|in general|by default|"
    r"(?:for|in|on) (?:all|any|every) future (?:\w+ ){0,2}\w+|no matter what|under (?:no|any) circumstances?|in all cases|"
    r"for good|(?:all|every) the time)"
)
STANDING_HEAD = LazyPattern(rf"{STANDING}\b[\s,:–—-]*", _I)
STANDING_TAIL = LazyPattern(rf"[\s,–—-]*(?:\b(?:please|thanks|thank you)\b[\s,]*)*\b{STANDING}(?=[\s,.!]*$|,)", _I)
NEXT = LazyPattern(r"(?:the )?next time(?: around)?\b[\s,:]*(?!i\b|we\b|he\b|she\b|they\b|is\b|was\b)", _I)
NEXT_TAIL = LazyPattern(r"[\s,]*\bnext time[\s.!]*$", _I)
EVERY = LazyPattern(
    r"(?P<cond>(?:whenever|every ?time|each time|any ?time|in every case where|as soon as|anywhere) [^,;:]{2,120})[,:]\s*",
    _I,
)
CONDITION = LazyPattern(
    r"(?P<cond>(?:when|if|unless|before|after|once|until|while|in case|where|for|in|on|with|inside|during|"
    r"as an?) (?:[^,;:?]{2,60}?(?<! i)(?<! we)(?<! you)(?<! they)(?= (?:always|never)\b)|[^,;:?]{2,120}(?=,)))[,\s]\s*",
    _I,
)
_PLACE = (
    r"(?:(?:in|on|for|with|throughout|across) this (?:repo(?:sitory)?|project|codebase|workspace|environment)|"
    r"(?:in|on|for) the [\w.-]{2,40} (?:repo(?:sitory)?|project|codebase|workspace|environment))\b"
)
LASTS = LazyPattern(r"\b(?:always|never)\b", _I)
HERE_HEAD = LazyPattern(rf"{_PLACE}[\s,:–—-]*", _I)
HERE_TAIL = LazyPattern(rf"[\s,]*\b(?:{_PLACE}(?=[\s,.!]*$|,)|here(?=[\s,.!]*$))", _I)
WE = LazyPattern(rf"we (?=(?:always|never|only|use|do not|don['’]?t)\b)(?=.{{0,160}}\b(?:{_PLACE}|here[\s.!]*$))", _I)
WE_HERE = LazyPattern(r"we (?=(?:always|never|only|use|do not|don['’]?t)\b)", _I)  # after "in this project"
EACH_EVENT = LazyPattern(
    r"(?:before|after|on|at|with|for|in) (?:every|each) (?:commit|push|deploy(?:ment)?|merge|release|pr|pull request|session|"
    r"task|answer|reply|e-?mail|meeting|edit)\b",
    _I,
)
INSTEAD_FIRST = LazyPattern(r"(?:instead of|rather than|in place of) (?P<old>[^,;:]{2,80}),\s*", _I)
POLITE = LazyPattern(
    r"(?:(?:could|can|would|will) you(?: please)?|"
    r"i(?:'d|’d| would)? (?:like|love|want|need|prefer|expect|would like) (?:it if |that |for )?you(?: to)?|"
    r"i(?:'d|’d| would) rather you|i(?:'d|’d| would) (?:prefer|appreciate) (?:it )?if you|"
    r"(?:you|we) (?:(?:really |simply |just )?(?:should|must|have to|need to|ought to|shall|are to|are supposed to)|had better|"
    r"'d better)|"
    r"make (?:absolutely )?sure (?:that )?(?:you |to )?|be sure to|remember to|remember:?|keep in mind:?|do(?= always|"
    r" remember)|"
    r"try (?:always )?to|please|pls|kindly|just|simply|it(?:'s| is| would be) (?:best|better|good|important) (?:to|if you)|"
    r"your job is to|i told you to|i(?:'ve| have) told you to|i said to|i said)\b[\s,:]*",
    _I,
)
POLITE_NOT = LazyPattern(
    r"(?:i (?:do not|don'?t|don’t|never) (?:ever )?want you to(?: ever)?|i(?:'d|’d| would) rather you (?:did not|didn'?t|"
    r"don'?t)|"
    r"(?:you|we) (?:(?:must|should|shall|may|can) not|cannot|can'?t|mustn'?t|shouldn'?t|are not (?:allowed|permitted) to|"
    r"aren'?t allowed to|are never (?:allowed )?to|may never|can never)|(?:you|we)['’]re not (?:allowed|permitted) to|"
    r"i told you (?:not|never) to|i(?:'ve|"
    r" have) told you (?:not|never) to|"
    r"i said (?:not|never) to|it(?:'s| is) (?:forbidden|not allowed|never ok(?:ay)?) to)\b[\s,]*(?P<ever>(?:ever|"
    r"again)\b[\s,]*)?",
    _I,
)
ALLOWED = LazyPattern(
    r"(?:you (?:can|may|are allowed to|are free to)|it(?:'s| is) (?:ok(?:ay)?|fine|alright|all right) (?:to|if you)|"
    r"feel free to|go ahead and)\b\s*",
    _I,
)
NEVER = LazyPattern(
    r"(?:never(?:,? ever| again)?|do(?:n['’]?t| not) (?:you )?ever(?: again)?|under no circumstances(?: should you| must you)?|"
    r"at no (?:time|point)(?: should you)?|in no case)\b[\s,]*",
    _I,
)
ALWAYS = LazyPattern(r"(?:always|invariably|consistently|without fail)\b[\s,]*", _I)
NOT = LazyPattern(r"(?:do not|don['’]?t|not to|no longer|not)\b[\s,]*(?P<again>again\b[\s,]*)?", _I)
STOP = LazyPattern(r"(?:stop|quit|cease|no more|avoid|refrain from|steer clear of|stay away from)\b\s+", _I)
WEAK = LazyPattern(
    r"(?:maybe|perhaps|ideally|preferably|if (?:at all )?possible|if you can|when(?:ever)? possible|where possible|probably|"
    r"as far as possible|it might be)\b[\s,]*",
    _I,
)
WEAK_ANY = LazyPattern(
    r"\b(?:maybe|perhaps|ideally|preferably|if (?:at all )?possible|if you can|when(?:ever)? possible|where possible|might)\b",
    _I,
)
STRONG_ANY = LazyPattern(
    r"\b(?:must|never|always|under no circumstances|no matter what|without exception|at all times|forbidden|not allowed|"
    r"mandatory|required|have to)\b",
    _I,
)
AGAIN_TAIL = LazyPattern(
    r"[\s,]*\b(?:ever again|again|any ?more|any longer|ever)\b(?P<for>(?: (?:for|in|on) [^,;]{2,60})?)[\s,]*(?:please|"
    r"ok(?:ay)?|thanks)?[\s.!]*$",
    _I,
)
WITHOUT = LazyPattern(
    r"\bwithout (?:first |my |explicitly |explicit |prior |running |having )*(?:asking|permission|approval|consent|\w+ing)\b|"
    r"\bwithout (?:an? |the |my )?(?:review|backup|confirmation|"
    r"tests?)\b|"
    r"\b(?:unless|until) (?:i|the user|you(?:'ve| have)?) ",
    _I,
)
PASSIVE = LazyPattern(
    r"(?P<np>(?!i\b|he\b|she\b|they\b|it\b|this\b|that\b|there\b|what\b|who\b|you\b)[^,;:?]{2,60}?) "
    r"(?:should|must|has to|have to|need to|needs to|are to|is to) (?P<adv>always|never) be (?P<rest>[^,;?]{2,160})",
    _I,
)
COMPARED = LazyPattern(
    r"(?P<new>[^;]{1,90}?)(?:,? (?:instead of|rather than|in place of|as opposed to|in preference to|and not|but not|but never|"
    r"and never)|, ?(?:not|never)) (?P<old>[^;]{1,90})$",
    _I,
)
OVER = LazyPattern(r"(?P<new>[^;]{1,90}?) (?:over|to|above|before|instead of|rather than) (?P<old>[^;]{1,90})$", _I)
NOT_BUT_ALWAYS = LazyPattern(
    r"(?P<old>[^,;]{1,80}?)(?:[,;]? (?:but|and) |[,;:–—-]+ ?)(?:please |rather |instead,? |just )?(?P<always>always )?"
    r"(?P<verb>open|create|ask|make|put|send|add|let|file|raise|leave|keep|book|offer) (?P<new>[^;]{1,80}?)$",
    _I,
)
NOT_BUT = LazyPattern(
    r"(?P<old>[^,;]{1,80}?)(?:[,;]? (?:but|and) |[,;:–—-]+ ?)(?:please |rather |instead,? |just |always )?(?P<verb>use|run|"
    r"call|go with|stick (?:to|with)|take|"
    r"try|do|prefer|choose|write) (?P<new>[^;]{1,80}?)(?: instead)?$",
    _I,
)
TRAIL_WHEN = LazyPattern(
    r"[\s,]+(?P<cond>(?:when(?:ever)?|if|unless|before|after|once|every time|each time|in case|"
    r"while|(?:on|at|with|for|in) (?:every|each)) (?!possible\b)[^,;?]{1,120})$",
    _I,
)
TIDY = LazyPattern(
    r"[\s,]*\b(?:please|pls|thanks|thank you|ok(?:ay)?|instead|though|for me|got it|will you|would you)[\s.!]*$", _I
)

VERBS = _set(
    "use run call install write edit commit push pull deploy restart start delete remove touch read open close "
    "ask check test verify add include show give answer reply respond explain cite quote format address keep "
    "put make create build generate return send post publish save store log print name rename move copy merge "
    "rebase squash overwrite override skip ignore guess assume invent hardcode hard-code change modify update "
    "upgrade downgrade pin import export download upload fetch query search look double-check back backup "
    "validate confirm review summarize summarise translate convert document comment indent lint set configure "
    "disable enable pass wrap escape quote catch retry try prefer choose pick favor favour stick follow "
    "respect apply execute schedule notify tell inform mention say report stop kill wait connect disconnect "
    "reboot reload rely trust leave go take do bring begin end finish sign round sort order list provide avoid "
    "refer speak talk expose share leak submit approve accept reject release tag bump switch replace declare "
    "define mock stub handle plan think limit cap consult be have get work clean cleanup clear drop truncate "
    "reset revert force force-push cache bypass hide mount grant chmod sudo upload ssh omit access buy order "
    "book pay charge compress archive annotate cc bcc forward attach escalate assign label remind invite greet "
    "offer roll propose recommend suggest sell ship transfer refund cancel confirm quote reschedule contact email message scale "
    "drain provision plan refactor inline extract hand mix share store print estimate discuss promise"
)
HABITS = _set("use prefer stick favor favour")  # of what is said to be so in a project
USING = _set("use prefer choose pick favor favour run call stick go take install write try adopt default reach")
LASTING_STOPS = _set(
    "using adding asking creating writing making putting inserting suggesting recommending apologizing "
    "apologising repeating guessing inventing assuming hardcoding hard-coding committing pushing deleting "
    "overwriting changing modifying editing installing calling ignoring skipping including sending telling "
    "printing generating answering responding replying explaining leaving relying"
)
STATES = LazyPattern(r"(?:be|have) (?:been|had|a|an|the|my|me|to|there|here|able)\b", _I)

ONE_OFF = LazyPattern(
    r"\b(?:(?:just )?(?:for )?this (?:one )?(?:time|once|task|case|run|job|question|request|test|ticket|issue|pr|pull request|"
    r"commit|"
    r"change|file|function|class|method|line|page|message|email|letter|example|demo|session|meeting|trip|week|month|morning|"
    r"afternoon|evening|section|table|paragraph|step|build|branch|migration|deployment|script|order|report|one)|just (?:once|"
    r"this)|only (?:once|this)|"
    r"for (?:this(?! (?:repo|project|codebase|workspace|environment))|that|it|"
    r"the (?:demo|moment|time being|current \w+|next (?:run|step|call|test|build|hour))|now|today|tonight|"
    r"once|a (?:moment|while|minute|bit))|"
    r"right (?:now|away)|at the moment|for a change|tomorrow|tonight|yesterday|temporarily|until (?:then|tomorrow|monday|"
    r"tuesday|"
    r"wednesday|thursday|friday|saturday|sunday|next \w+|tonight|i (?:am|'m) back|i come back|the (?:end|demo|release|"
    r"meeting) \w*)|"
    r"on (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)|this (?:coming )?(?:monday|tuesday|wednesday|thursday|"
    r"friday|weekend)|"
    r"in (?:that|the (?:current|above|following)) (?:file|function|class|line|test|task|case|message|step)|here(?=[\s.!]*$)|"
    r"(?:in|for) the (?:title|subject|header|first|second|last) \w+)\b"
    r"|(?<!of )(?<!starting )(?<!from )(?<!as of )\btoday\b",
    _I,
)
QUESTION = LazyPattern(
    r"(?:did|do(?! not\b| always\b| remember\b)|does|is|are|was|were|am|should|shall|would(?! you)|could(?! you)|can(?! you)|"
    r"will(?! you)|have|has|had|what|who|whom|why|how|which|whose|"
    r"isn'?t|aren'?t|didn'?t|doesn'?t|won'?t|wasn'?t|where(?! possible)|when (?:should|do|did|will|is|are|can|"
    r"would))\b(?=[^.!]*\?|\s+(?:i|you|we|they|he|she)\b)",
    _I,
)
ASKED = LazyPattern(r"(?:could|can|would|will) you\b", _I)
SUPPOSED = LazyPattern(
    r"(?:suppose|supposing|imagine|assuming|hypothetically|pretend|let'?s (?:say|pretend|assume|imagine)|say i|what if|"
    r"what would|"
    r"if (?:i|we|you|they|he|she) (?:were|was|had|could|would|always|never|ever)|if only|in theory|in an ideal world|"
    r"i wonder|i wish)\b",
    _I,
)
SUPPOSED_ANY = LazyPattern(
    r"\b(?:would have|could have|should(?:n'?t| not)? (?:always |never |not )?have|might have|would always|would never|i wish|"
    r"as if)\b",
    _I,
)
_SAYING = (
    r"(?:said|says|say|told|tells|tell|wrote|writes|asked|asks|wants|wanted|suggested|suggests|suggest|thinks|thought|"
    r"recommends|"
    r"recommend|recommended|insists|insisted|claims|claimed|claim|advised|advises|advise|states|state|stated|reads|warns|warn|"
    r"warned|"
    r"taught|teaches|believes|believe|argues|argue|mentions|mentioned|require|requires|keeps|kept|like to say|used to)"
)
REPORTED = LazyPattern(
    rf"(?!(?:i|you|when(?:ever)?|if|once|before|after|unless|every time|each time)\b)"
    rf"(?:[\w'’.@/-]+\s+){{1,6}}?{_SAYING}\b(?! (?:me|us) (?:if|when|what|how|before)\b)|"
    r"(?:according to|per the|as per|i (?:read|heard|saw|learned|learnt|think|thought|believe|guess|know|remember|noticed|"
    r"was told|used to|always|never|"
    r"only|often|will|would(?! like| prefer| rather| love| appreciate)|do not(?! want you)|don'?t(?! want you)|can|could|"
    r"should|must|have to|need to(?! tell)|try|tend|prefer(?! (?:that |it if )?you)|like|love|hate)\b|"
    r"(?:he|she|they|it|people|everyone|everybody|developers|most \w+|some \w+|my \w+|our \w+|the \w+) "
    r"(?:always|never|usually|often|only)\b|"
    r"(?:the )?(?:slogan|motto|saying|rule|policy|advice|joke|song|title|line|quote|lyrics?) (?:is|was|goes|said|says|reads)\b|"
    r"you (?:always|never|usually|often|keep|kept)\b)",
    _I,
)
REPORTED_LAST = LazyPattern(
    rf"[,–—-]\s*(?:as )?(?:my \w+|the \w+|he|she|they|[A-Z]\w+|people|everyone) (?:always |often |once |"
    rf"used to )?{_SAYING}\b[^,]*$|"
    r"\b(?:according to|quote unquote|is what (?:the|my|our|he|she|they)\b|, ?(?:says|said|reads|states|goes) (?:the|my|our|a|"
    r"an)\b|is (?:a|the|their|his|her|my) (?:motto|slogan|"
    r"saying|rule))",
    _I,
)
IDIOMS = LazyPattern(
    r"(?:never (?:mind|say never|been|had|was|heard|seen|liked|knew|understood|got|did|worked|happened|fails|gonna|too late|"
    r"a dull)|"
    r"always (?:on|a|the|been|wanted|loved|liked|had|was|knew|thought|will|there|happy|nice|good|look(?:ing)? (?:on|forward)|"
    r"do(?:es|ing)?(?: that| this| it)?(?=[\s.!]*$))|"
    r"(?:do(?:n['’]?t| not)|never) (?:worry|mind|forget|bother|get me wrong|be (?:silly|sorry|afraid|shy|scared)|give up|"
    r"lose hope|let (?:me|it|them) (?:down|get|know)|hesitate|care|think so|know)|"
    r"(?:stop|quit) (?:it|that|this|here|now|right|the))\b",
    _I,
)
LOG_LINE = LazyPattern(
    r"\s*(?:>|\$ |# |\||```|(?:\[?\d{2,4}[-:/.]\d{2}[-:/.T ]\S*)|\[?(?:error|warn(?:ing)?|info|debug|trace|fatal|critical|hint|"
    r"tip|deprecat\w+|notice|npm|pip|usage|traceback)\]?(?:\[\w+\])?:? ?(?:err!|warn)?[:\]]|"
    r"at \w+[.(]|file \"|(?:user|assistant|system|human|ai|tool|bot|agent)\s*[:：])",
    _I,
)
VALUE = LazyPattern(
    r"(?:(?:port|line|version|branch|file|folder|directory|key|id|column|row|page|value|number|option|room|seat|date|day|"
    r"address|name|"
    r"account|user|table|figure|title) ?\S*$|[\d$€£#:./_-]+\S*$|[~/]\S*$|\S+@\S+$|(?:the|this|that|these|those|my|your|his|her|"
    r"their|it|its|one|another)\b(?!.*\b(?:tool|command|"
    r"api|cli|library|client|approach|style|standard|format|mode)\b)|(?:mon|tues|wednes|thurs|fri|satur|sun)day|[红绿蓝黑白黄紫灰橙]色|"
    r"(?:red|blue|"
    r"green|black|white|yellow|orange|"
    r"pink|purple|grey|gray|sugar|salt|butter|oil|milk|chicken|beef|tofu|honey|\w+ flour|tea|coffee)\b)",
    _I,
)

ANY = LazyPattern(  # without one of these words no sentence is a directive
    r"\b(?:always|never|ever|from|future|forward|henceforth|prefer\w*|favou?r|instead|rather|over|stop|quit|avoid|refrain|"
    r"steer|stay|"
    r"more|again|every\w*|each|any\w*|whenever|next|must|can|may|should|have|rule|general|default|circumstances|time|times|"
    r"not|without|starting|case|long\w*|invariably|consistently|good|repo(?:sitory)?|project|codebase|workspace|environment)\b|n['’]t\b",
    _I,
)

# -- Chinese -------------------------------------------------------------------------------------------------------

ZH_STANDING = (
    r"(?:从?今后|从?以后|往后|日后|将来|从现在(?:起|开始)|从今(?:天|日)?(?:以后|往后|之后|起|开始)|从此(?:以后|之后)?|之后都|任何时候|任何情况下|"
    r"无论如何|不管怎样|无论什么情况)"
)
ZH_LEAD = LazyPattern(
    r"(?:请你?|麻烦你?|拜托你?|记住|记得|切记|注意|提醒一下|另外|还有|对了|好的?|嗯|那么?|所以|但是?|不过|而且|你们?|您|希望你|我希望你?|我想要?你|我要求?你|我需要你|"
    r"不对|不是|错了|谢谢|不错|很好|规则|原则上|一般来说|通常|"
    r"在?(?:这个|本|该)(?:项目|仓库|代码库|工程)(?:里面?|中)?(?:我们)?(?=[都请只]?(?:使用|用|采用)))[\s,，:：、!！]*"
)
ZH_HEAD = LazyPattern(rf"{ZH_STANDING}[\s,，:：]*(?:你|您|请|麻烦你?|都|就|也)*")
ZH_NEXT = LazyPattern(r"(?:下次|下回|下一次|以后每次|每次|每回|每当|凡是|只要)")
ZH_WHEN = LazyPattern(
    r"(?P<cond>(?:在|当|每当|每次|只要|如果|若|凡是|遇到|一旦|对于|关于|下次|涉及|针对)?[^,，。；;?？]{1,40}?(?:的时候|时候|时|之前|以前|前|之后|后|的话|方面|中|里|上|"
    r"情况下))[,，]?\s*"
    r"(?=(?:请|你|您|都|要|必须|务必|应该|应当|一定|一律|总是|始终|永远|先|不要|别|不准|不许|不得|禁止|绝不|绝对不|优先|尽量|用|使用|只))"
)
ZH_CONDITION = LazyPattern(
    r"(?P<cond>(?:如果|若|要是|只要|每当|当|凡是|遇到|一旦|每次|下次|在)[^,，。；;?？]{1,50})[,，]\s*"
)
ZH_ALWAYS = LazyPattern(
    r"(?:总是|总要|始终|永远|一直都?|一律|每次都?|都要|必须都?|务必都?|一概|都必须|都应该|都应当|都得|均须)[\s,，]*"
)
ZH_MUST = LazyPattern(r"(?:必须|务必|一定要?|应该|应当|需要|得|要|都|就|也|只能|只|请|尽可能)")
ZH_NEVER = LazyPattern(
    r"(?:永远(?:都)?不(?:要|能|可以?|得|准|许)?|永远别|绝对?不(?:要|能|可以?|得|准|许|允许)?|决不(?:要|能|可|得)?|从不要|任何时候都?(?:不(?:要|能|可以?|得|准|许)|别)|严禁|"
    r"一律(?:不(?:要|能|得|准|许)?|禁止|别))(?:再)?"
)
ZH_NOT_AGAIN = LazyPattern(r"(?:请?(?:不要|别|不准|不许|不能|不可以?|不得|禁止|勿|不该|不应该?|不想让?你)再|停止|少再)")
ZH_NOT = LazyPattern(r"(?:千万)?(?:不要|别|不准|不许|不能|不可以|不可|不得|禁止|切勿|勿|避免|不应该?|不该|少)")
ZH_TRY = LazyPattern(r"(?:尽量|尽可能|最好|可以的话|优先)")
ZH_WEAK = LazyPattern(r"(?:最好|可以的话|如果可以|可能的话|也许|或许|尽量|方便的话)")
ZH_STRONG = LazyPattern(
    r"(?:必须|务必|一律|永远|绝不|绝对|决不|严禁|禁止|总是|始终|一定|任何时候|任何情况下|不得|不准|不许|无论如何)"
)
ZH_INSTEAD = LazyPattern(
    r"(?:请|要|改|都|应该|必须|优先|尽量)*(?:使用|改用|采用|用|选择|选)(?P<new>[^,，。；;]{1,40}?)(?:来|去)?(?:[,，]?(?:代替|替代|取代|替换|而不是|而非|而不要用|不要用|别用|不要|"
    r"别)(?:掉)?(?:使用|用|选择)?)(?P<old>[^,，。；;]{1,40})$"
)
ZH_NOT_BUT = LazyPattern(
    r"(?:请)?(?:不要|别|不能|不准|禁止)(?:再)?(?:使用|用|采用)(?P<old>[^,，。；;]{1,40})(?:了)?[,，;；]\s*(?:而是|而要|应该|请|要|都|以后|改|一律)*(?:改用|使用|换成|用|"
    r"换)(?P<new>[^,，。；;]{1,40})$"
)
ZH_OVER = LazyPattern(r"(?P<new>[^,，。；;的]{1,30}?)优先于(?P<old>[^,，。；;]{1,30})$")
ZH_BA = LazyPattern(
    r"(?:优先)(?:考虑|选择|使用|采用|选用|用|选|走|调用)(?P<new>[^,，。；;]{1,40}?)(?:[,，]?(?:而不是|而非|其次才?是|再考虑|不要用|别用)(?P<old>[^,，。；;]{1,40}))?$"
)
ZH_VERB = LazyPattern(
    r"(?:在|把|将|对|从|为|按|以|通过|给|跟|向|往|直接|擅自|私自|随便|随意|自己|自行|先|只|就|都|再|一次|主动|手动|自动|同时|额外|另外|提前|事先|重新|轻易|未经)*"
    r"(?:[^,，。；;]{0,16}?)(?:使用|运行|执行|调用|安装|装|写|加|删|修改|改|动|碰|提交|推送|部署|重启|启动|检查|测试|验证|问|询问|确认|备份|打开|读|看|查|发|创建|新建|建|生成|返回|输出|打印|"
    r"回答|回复|"
    r"说明|解释|提供|保存|合并|覆盖|跳过|忽略|猜|假设|编造|保持|遵守|遵循|记录|添加|包含|引用|翻译|格式化|编译|停止|访问|下载|上传|选|采用|放|命名|用|跑|推|存|传|列出|附上|标注|注明|硬编码|连接|清空|回滚|"
    r"关闭|开启|禁用|升级|降级|通知|告诉|报告|汇报|总结|道歉|重复|省略|写入|泄露|分享|公开|处理|走|调|拉取|订|买|付款|购买|叫|称呼)"
)
ZH_ONE_OFF = LazyPattern(
    r"(?:这一?次|本次|这回|此次|这趟|今天|今晚|明天|后天|昨天|现在先|暂时|目前|眼下|先这样|这个(?:程序|代码|类|模块|接口|按钮|表格|任务|问题|文件|函数|测试|例子|请求|页面|段落|邮件|会议|步骤|分支|脚本|"
    r"报告|订单)|"
    r"这里|这儿|这封|这份|这篇|这段|这张|这条|本题|这道|一下子|下周|本周|这周|直到|临时|仅此一次|就一次|只这一次)"
)
ZH_FROM_TODAY = LazyPattern(r"从今天(?:起|开始|以后)")
ZH_QUESTION = LazyPattern(
    r"(?:为什么|为何|怎么(?!样都)|怎样(?!都)|什么时候|谁|哪|多少|是不是|有没有|要不要|该不该|是否|难道|吗|么[?？]|呢[?？]?$)|[?？]\s*$"
)
ZH_ASKED = LazyPattern(r"(?:能不能|可不可以|能否|可否|可以|能)(?:请你?|麻烦你?|你)?")
ZH_SUPPOSED = LazyPattern(
    r"(?:假设|假如|假使|想象|设想|比如说?|例如|倘若|要是我|如果我|如果你是|万一我|本来|当初|早知道|据说|听说)"
)
ZH_REPORTED = LazyPattern(
    r"(?:(?!我)[^,，。]{0,12}(?:说|讲|告诉|要求|建议|认为|觉得|写着|写道|提到|表示|规定|强调|警告|提醒我|教我|常说|喜欢说|推荐)(?!明)|"
    r"(?:我|我们|咱们|他|她|它|他们|她们|它们|大家|人们|有人|别人|同事|老板|妈妈|爸爸|老师|朋友|公司|文档|客户|孩子|我的?[^,，。你]{1,6}?)[^,，。你]{0,6}?(?:总是|从不|永远|一直|始终|以后|"
    r"今后|再也|每次|不会再|不再|绝不|决不|不要再|别再|打算|准备|喜欢|讨厌|优先|尽量|都|一律)|"
    r"你(?:总是|老是|从来|每次都|一直|又|永远都?))"
)
ZH_IDIOM = LazyPattern(
    r"(?:别再?(?:说了|哭|等了?|闹|想了|担心|生气|难过|客气|开玩笑|提了|管|来了|骗)|不要再?(?:担心|生气|难过|客气|紧张|害怕)|别(?:忘|着急|担心)|永远(?:爱|支持|是|在|年轻|记得)|总是(?:这样|"
    r"如此))"
)

_LANGUAGE = (
    "english german french spanish italian portuguese dutch polish russian ukrainian chinese mandarin japanese korean turkish "
    "arabic hindi swedish norwegian danish finnish czech greek hebrew vietnamese thai indonesian"
)
EXCLUSIVE = (  # where one is wanted, the others are not
    _set(_LANGUAGE),
    _set("tabs spaces tab space"),
    _set("short brief concise long detailed verbose"),
    _set("formal informal casual"),
    _set("英文 英语 中文 汉语 日文 日语 德语 德文 法语 法文"),
)
SPEAKING = LazyPattern(
    rf"(?:please )?(?P<in>in (?:{_LANGUAGE.replace(' ', '|')}))(?: again)?(?: only)?(?=[\s,.!]*(?:please)?[\s.!]*$)", _I
)
LASTING = LazyPattern(rf"\b{STANDING}\b|\bnext time\b|{ZH_STANDING}|下次|下回", _I)  # said of more than this task
