"""Whether a user message corrects what was done, goes on with it, or begins another task: rules in order, English and Chinese.

Tool calls count for nothing here, and there is no number of turns after which a task must end. What a rule is sure of (`SURE`)
stands; of the rest a model may be asked (`memos.evolution.boundary_model`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from memos.evolution import signals
from memos.memory.episode import Relation, RelationKind
from memos.text.analysis import analyze

TaskChoice = Literal["auto", "new", "same"]

SURE: Final = 0.85  # a rule that is so sure needs no model
REACH: Final = timedelta(days=3)  # how long after its last message a task may still be corrected
PAUSE: Final = timedelta(minutes=30)  # after which a message that fits nothing is rather another task
SHORT: Final = 60  # characters (20 in Chinese) of a message that may lean on the one before
QUOTED, QUOTED_CJK = 16, 8  # characters of the reply that a message must repeat to quote it
OVERLAP: Final = 0.34  # share of a message's content terms that the task has, from which on it is about the same
_LOOKED_AT = 4_000  # characters of each text

REVISION, FOLLOW_UP, NEW_TASK = RelationKind.REVISION, RelationKind.FOLLOW_UP, RelationKind.NEW_TASK


@dataclass(frozen=True, slots=True)
class Before:
    """What came before a message: the goal of the episode, the last things said in it, when, and whether it is still open."""

    goal: str
    user: str
    assistant: str
    last_at: datetime
    is_open: bool = True


_NEW_TOPIC = re.compile(
    r"^[\W_]*(?:(?:ok(?:ay)?|great|thanks?(?: you)?(?: so much| a lot)?|perfect|good|alright|cool|nice|now|so|well|hi|hey|谢谢你?|好的?|行|嗯|那)[\s,，.。!！、;；]*)*"
    r"(?:(?:i have |i've got |here(?:'s| is) |let's (?:do|start|move on to|go to|switch to) |can you help(?: me)? with |moving on to |on to |next up[,:]? |and now (?:for )?)?"
    r"(?:a |an |the |one |my )?(?:(?:new|another|next|different|separate|unrelated|second|completely different|totally different) (?:task|topic|question|request|thing|job|issue|subject|problem|project|ticket|one)\b)"
    r"|(?:new|next) (?:task|topic|question|issue|ticket)\b|unrelated(?:ly)?\b|something (?:else|different|unrelated|completely different)|changing (?:the )?(?:topic|subject)|on (?:a|an) (?:different|unrelated|another) (?:note|topic|subject)"
    r"|switching (?:gears|topics?)|let's (?:move on|switch|change)|moving on\b|different (?:question|topic|subject)"
    r"|(?:我们?)?(?:换个?|换一个?|再来个?新的?|下一个?|另一?个|还有一?个?|新的?一?个?|问?你?另外一?个?)(?:话题|任务|问题|事情?|需求|工作|题目?)(?!的(?:原因|关键))|新(?:任务|话题|问题|需求)|另外?一件事|说(?:个|点|件)(?:别的|其他)|(?:聊|说|做|问)(?:点|个)(?:别的|其他的?)|不相关的)",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"^[\W_]*(?:and |but |so |ok(?:ay)? |then )?(?:it|its|it's|that|that's|this|these|those|they|them|he|she|why|how come|how so|which one|which of|what about|how about|what if|what does (?:that|it|this)"
    r"|what do you mean|is (?:it|that|this)|does (?:it|that|this)|can (?:it|that|this)|are (?:they|those|these)|will (?:it|that|this)|did (?:it|that|you)|where (?:is|did|are) (?:it|they|you|that)|the (?:first|second|third|last|other|same|latter|former) )\b"
    r"|^[\W_]*(?:那|这|它|其|还|哪|啥|为什么|为啥|怎么会|怎么回事|什么意思|是不是|能不能再|如果|要是|第[一二三四五六七八九十\d]|前者|后者|上面|刚才|刚刚|他|她|呢)",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"^[\W_]*(?:(?:ok(?:ay)?|great|perfect|good|alright|cool|nice|yes|yeah|sure|thanks?(?: you)?|well|谢谢你?|好的?|行|嗯|可以)[\s,，.。!！、;；]*)*"
    r"(?:also|then|next|now|and|continue|go on|go ahead|keep going|carry on|proceed|additionally|in addition|plus|after that|afterwards|finally|lastly|as well|while you're at it|one more thing|one more|do the same|same (?:for|with|thing)|likewise|more|again|please continue|let's (?:continue|keep|also)|could you also|can you also|please also|but)\b"
    r"|^[\W_]*(?:(?:好的?|行|嗯+|可以|谢谢你?|对)[\s,，.。!！、;；]*)*(?:继续|然后|接着|接下来|再(?!见)|另外|还有|还要|此外|顺便|同时|下一步|最后|也(?:帮|把|请|要|给|加)|同样|并且|而且|以及|但是?|那就|那么|请继续|往下|把(?:它|这|那|结果|上面|刚才))",
    re.IGNORECASE,
)
_AGREES = re.compile(
    r"^[\W_]*(?:(?:yes|yeah|yep|yup|sure|ok(?:ay)?|no|nope|right|correct|exactly|agreed|please do|please|do it|go ahead|go for it|sounds good|fine|all of them|both|neither|either|the \w+ one|option \w+|\d+|[a-e])(?:[\s,.!;]+|$)"
    r"|(?:是的?|对的?|好的?|可以|行|嗯+|不用|不要|没有|同意|就这样|都要|都可以|确定|没错|选)(?:[\s,，.。!！]|$))",
    re.IGNORECASE,
)
_LEANS = re.compile(
    r"\b(?:it|its|them|that one|this one|these|those|the same|the (?:above|previous|former|latter|result|output|error|other (?:one|file))|(?:that|this) (?:file|error|function|code|script|test|one|change|command|service|table|"
    r"page|line|way|version|list|part|branch|package|commit|message|email|text|draft|paragraph|plan|report|result|output|bug|issue|server|repo|step|section|class|query|function|endpoint|config|image|container|module)|as before|like before|you (?:just|did|made|wrote|said|used|mentioned|suggested|created|added|changed|listed)|instead|as well|too|again|earlier|above)\b"
    r"|这[个些段份句次里样种边步条版]|那[个些段份句次里样种边步条版]|它们?|上面|刚才|刚刚|前面|之前(?:的|那)|同样|一样|也(?:要|改|加|可以|需要|行|用)|你(?:刚|写|改|说|给|做|用|提到|建议)|改成|换成|改为|结果|输出|加上|去掉|补充|再(?:加|改|写|来|短|长|详细|简单)",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"^[\W_]*(?:hi|hello|hey|good (?:morning|afternoon|evening)|你好|您好|早上好|早|下午好|晚上好|嗨)[\W_]*(?:there|all|team|again|呀|啊)?[\W_]*$",
    re.IGNORECASE,
)  # fmt: skip
_ASKS_BACK = re.compile(r"[?？]\s*[\"'”」)）]*\s*$|(?:吗|呢|么)[。.!！]?\s*$")
_CJK = re.compile(r"[㐀-鿿]")
_WHITE = re.compile(r"\s+")


def relate(text: str, before: Before | None, at: datetime, gap: timedelta, choice: TaskChoice = "auto") -> Relation:
    """How a message stands to the episode before it. `choice`: what the caller says, which wins. `gap`: after which a message
    begins another task, unless it corrects something.
    """
    if before is None:
        told = "there is no task to go on with" if choice == "same" else "the first message of the session"
        return Relation(NEW_TASK, 1.0, told)
    if choice == "new":
        return Relation(NEW_TASK, 1.0, "the caller says that it is another task")
    if choice == "same":
        kind = REVISION if signals.corrects(text) else FOLLOW_UP
        return Relation(kind, 1.0, "the caller says that it is the same task")
    passed = at - before.last_at
    if passed > gap:
        if passed <= REACH and signals.corrects(text) and _speaks_of(text, before) and not _NEW_TOPIC.search(text):
            return Relation(REVISION, 0.85, "it corrects what was done, although some time ago")
        return Relation(NEW_TASK, 0.9, f"nothing was said for {_spoken(passed)}")
    return _by_words(text[:_LOOKED_AT].strip(), before, passed)


def _by_words(text: str, before: Before, passed: timedelta) -> Relation:
    if _NEW_TOPIC.search(text):
        return Relation(NEW_TASK, 0.9, "it says that it is about something else")
    if signals.is_only_about_before(text):
        return Relation(FOLLOW_UP, 0.9, "it only says what came of the task")
    if signals.gives_up(text):
        return Relation(NEW_TASK, 0.75, "it calls the task off and asks for something else")
    if signals.corrects(text):
        return Relation(REVISION, 0.9, "it says that what was done is wrong")
    if signals.said_again(text, before.user):
        return Relation(REVISION, 0.75, "it asks for the same again")
    short = len(text) <= (SHORT // 3 if _CJK.search(text) else SHORT)
    if short and (_AGREES.search(text) or (_asks_back(before.assistant) and not _stands_alone(text, before))):
        return Relation(FOLLOW_UP, 0.85, "it answers the reply before it")
    if _quotes(text, before.assistant):
        return Relation(FOLLOW_UP, 0.85, "it quotes the reply before it")
    if short and _POINTS.search(text):
        return Relation(FOLLOW_UP, 0.85, "it is short and points back")
    share = overlap(text, before)
    if _GOES_ON.search(text):
        sure = 0.85 if share > 0 or _LEANS.search(text) or short else 0.65
        return Relation(FOLLOW_UP, sure, "it goes on with the task in words")
    if share >= OVERLAP:
        return Relation(FOLLOW_UP, 0.75, "it is about the same things")
    if _LEANS.search(text):
        return Relation(FOLLOW_UP, 0.7, "it points back at what was said or made")
    if _GREETING.search(text):
        return Relation(NEW_TASK, 0.6, "it begins with a greeting")
    if passed > PAUSE:
        return Relation(NEW_TASK, 0.75, f"it is about other things, {_spoken(passed)} later")
    if share == 0 and _stands_alone(text, before):
        return Relation(NEW_TASK, 0.7, "it is a request of its own, about other things")
    return Relation(FOLLOW_UP, 0.5, "nothing says that it is another task")


def overlap(text: str, before: Before) -> float:
    """The share of a message's content terms that the task before it has, 0 to 1; 0 for a message without any."""
    mine = set(analyze(text[:_LOOKED_AT], query=True).content_terms())
    if not mine:
        return 0.0
    theirs: set[str] = set()
    for said in (before.goal, before.user, before.assistant):
        theirs.update(analyze(said[:_LOOKED_AT], query=True).content_terms())
    return len(mine & theirs) / len(mine)


def _speaks_of(text: str, before: Before) -> bool:
    """Whether a correction that comes late can only be of this task: it has words of it, or none that could be of another."""
    return overlap(text, before) > 0 or len(analyze(text[:_LOOKED_AT]).content_terms()) <= 4


def _stands_alone(text: str, before: Before) -> bool:
    """Whether a message says enough to be a request by itself."""
    return len(set(analyze(text, query=True).content_terms())) >= 2 and overlap(text, before) == 0


def _asks_back(reply: str) -> bool:
    return _ASKS_BACK.search(reply[-200:]) is not None


def _quotes(text: str, reply: str) -> bool:
    """Whether a message repeats a piece of the reply: a run of so many characters."""
    size = QUOTED_CJK if _CJK.search(text) else QUOTED
    mine, theirs = (_WHITE.sub(" ", t[:_LOOKED_AT]).lower() for t in (text, reply))
    if len(mine) < size or len(theirs) < size:
        return False
    runs = {theirs[i : i + size] for i in range(len(theirs) - size + 1)}
    return any(mine[i : i + size] in runs for i in range(0, len(mine) - size + 1))


def _spoken(span: timedelta) -> str:
    minutes = int(span.total_seconds() // 60)
    if minutes < 120:
        return f"{minutes} minutes"
    return f"{minutes // 60} hours" if minutes < 2880 else f"{minutes // 1440} days"
