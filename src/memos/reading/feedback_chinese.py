"""Feedback in Chinese, by patterns, like `feedback_english`: anchored at the beginning of a sentence, after what is polite."""

from __future__ import annotations

import re

from memos.memory.feedback import Topic
from memos.reading.feedback_heard import ALL, NAMELESS, Heard, Manner, bare, cut

_OPENERS = re.compile(
    r"(?:(?:请问?|請|麻烦(?:你|您)?|麻煩(?:你|您)?|拜托(?:你|您)?|劳驾|嗯+|哦|啊|呃|喂|你好|您好|那个|那|好的?|另外|"
    r"还有|還有|也|再|就|帮我|幫我|"
    r"给我|能不能|能否|可不可以|可以|你可以|您可以|你能|您能|希望你|希望您|我希望你|我希望您|我想让你|我要你|谢谢|"
    r"謝謝|不好意思|抱歉|对了)[\s，,、。！!：:]*)+"
)
_ASKED = re.compile(r".{0,6}?(?:能不能|能否|可不可以|可以|你能|您能|能)")
_QUESTION = re.compile(
    r"[?？]\s*[”」\"]?$|(?:吗|嗎|呢|么)[。.!！]?$|该不该|要不要|是不是|会不会|为什么|怎么样|怎样|难道"
)
_SUPPOSED = re.compile(r"(?:如果|假如|假设|要是|倘若|万一|假使|若是?|设想|比如说)|.*(?:的话[，,]|会怎么样|会怎样)")
_SAYING = r"(?:说|說|告诉|讓|让|叫|劝|问|要求|建议|写道|认为|觉得|想让|总是|老是|老|经常|常常|又|希望)"
_REPORTED = re.compile(
    rf"(?!我(?:说|的意思|想让你|要你|希望)|你|您|请|顺便|对了|另外|还有|补充|"
    rf"再)(?:我的?)?(?:[^我你您，,。！!说把将]{{1,6}}?|他们?|她们?|"
    rf"它)(?<!我)(?<!从)(?<!以后)(?<!对)(?<!说){_SAYING}(?!话|得对|错|明)"
)
_QUOTED = re.compile(r"[说說道：:]\s*[“「\"]")

_REFUSED = re.compile(
    r"(?:(?:不对|不對|不是这样的?|不是的|错了|錯了|说错了|說錯了|搞错了|弄错了|记错了|(?:你|您)(?:记|搞|弄|说|"
    r"理解)错了|不正确|不准确|"
    r"更正(?:一下|一点)?|纠正(?:一下|一点)?|订正(?:一下)?|修正(?:一下)?|不好意思|抱歉|呃|等等|等一下|"
    r"不(?=[，,。！!]))[\s，,。！!：:；;]*)+"
)
_SOFT = re.compile(r"(?:(?:不好意思|抱歉|呃|等等|等一下)[\s，,。！!：:；;]*)+")
_REFUSED_LAST = re.compile(r"(?P<rest>.+?)[，,]\s*(?:你|您)?(?:记|搞|弄|说)错了[。.!！]*$")
_AGREED = re.compile(
    r"(?:(?:对+的?|對+的?|对对对?|没错|沒錯|是的|正是|正确|正確|完全正确|说得对|說得對|你?说的?没错|你说对了|嗯+|"
    r"确实|確實|的确|是啊|对啊|好的)[\s，,。！!：:、]*)+"
)
_JUST = re.compile(r"就是[^，,。]{1,12}[。.!！]*$")
_THANKS = re.compile(r"(?:谢谢|謝謝|多谢|感谢|你|您|了|啦|哦|呀|很好|太好了|[\s，,。！!~～])*$")

_V = r"(?:忘掉|忘记掉?|忘記|忘了|忘却|删除掉?|刪除|删掉|删了|刪掉|抹掉|抹去|清除掉?|去掉|移除|擦掉)"
_NO_MORE = r"(?:不要再|别再|別再|不要|别|不用再|不必再|停止)(?:记住?着?|記住?著?|记得|保存|存着|储存)"
_FROM = r"(?:从|從)(?:你的?|您的?)?(?:记忆|記憶|记录)(?:里面?|中|里头)?"
_FORGET = (
    re.compile(rf"(?:{_FROM})?{_V}(?P<what>.+)$"),
    re.compile(rf"(?:把|将|將)(?P<what>.+?)(?:都|全部?|统统|彻底|完全|{_FROM})*{_V}(?:吧|了|掉|好吗|啦)*$"),
    re.compile(rf"{_NO_MORE}(?P<what>.+?)(?:了|啦)*$"),
)
_TAIL = re.compile(r"(?:[\s，,]*(?:吧|了|啦|好吗|好嗎|可以吗|行吗|吗|嗎|谢谢|謝謝|谢谢你|谢谢您|拜托|一下|掉))$")
_THING = re.compile(
    r"(?:的?(?:这件|這件|这个|那件|所有|全部|相关|有关)?(?:事情|事儿|事|记录|記錄|信息|資訊|内容|记忆|資料|资料|"
    r"消息|一切)|(?<=说过)的?话|这一?[件条点个](?:事情|事|记录)?|那一?[件条点个](?:事情|事|记录)?)$"
)
_ABOUT = re.compile(
    r"(?:(?:我|你|您)?(?:以前|之前|刚才|曾经)?(?:跟你|对你|和你|向你)?(?:说过?|提过?|提到过?|讲过?|告诉过?你|知道|"
    r"记住|记得|保存)?的?(?:所有|一切|全部|那些|任何)?(?:的)?)"
    r"(?:关于|關於|有关|有關|提到)(?P<np>.+)$"
)
_ALL = re.compile(
    r"(?:一切|全部|所有|所有(?:的)?(?:事情?|记忆|东西|内容|记录)|所有东西|我(?:的(?:一切|所有.*|全部.*|记忆))?|"
    r"我说过的(?:一切|所有.*|全部.*|话))$"
)
_VAGUE = re.compile(r"(?:东西|事情|事|什么|某些.*|一些.*|人|别人)$")
_POINTING = re.compile(
    r"(?:这个|那个|这些|那些|这|那|这条|那条|它|它们|这件事|那件事|刚才(?:说的|那个|那条)|刚刚说的)$"
)
_SOMEBODY = re.compile(r"(?:他|她|它|他们|她们|你|您)的")
_WH = (
    (re.compile(r"我(?:现在)?住(?:在)?(?:哪里|哪儿|哪|什么地方)$"), ("home_city", "home_address")),
    (re.compile(r"我(?:现在)?在(?:哪里|哪儿|哪家?公司|什么公司)(?:工作|上班)$"), ("employer",)),
    (re.compile(r"我(?:今年)?(?:多大|几岁)(?:了)?$"), ("age",)),
    (re.compile(r"我叫什么(?:名字)?$"), ("name", "nickname")),
    (re.compile(r"我是?做什么(?:工作)?的?$"), ("occupation", "job")),
)
_NAMES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("电话", "电话号码", "電話", "手机", "手机号", "手机号码", "号码"), ("phone",)),
    **dict.fromkeys(("生日", "出生日期"), ("birthday",)),
    **dict.fromkeys(("年龄", "年齡", "岁数", "年纪"), ("age",)),
    **dict.fromkeys(("地址", "住址", "家庭住址", "家庭地址"), ("home_address",)),
    **dict.fromkeys(("名字", "姓名"), ("name",)),
    **dict.fromkeys(("昵称", "外号"), ("nickname",)),
    **dict.fromkeys(("邮箱", "电子邮箱", "邮件地址"), ("email",)),
    **dict.fromkeys(("工作", "公司", "单位"), ("employer", "occupation", "job")),
    **dict.fromkeys(("过敏", "过敏史", "过敏信息"), ("allergy",)),
    **dict.fromkeys(("宠物",), ("pet",)),
    **dict.fromkeys(("饮食", "饮食习惯"), ("diet",)),
}
_CLAUSE_VERB = re.compile(r"住在|叫|是|有|喜欢|喜歡|讨厌|对.+过敏|在.+工作|会|打|吃|喝|养|学|不")

_X, _Y = (
    r"[“「\"]?(?P<old>[^“”「」\"，,。！!？?]{1,30}?)[”」\"]?",
    r"[“「\"]?(?P<new>[^“”「」\"，,。！!？?]{1,30}?)[”」\"]?",
)
_TURN = r"(?:改成|改为|改為|换成|換成|换为|替换成|替换为|更改为|更名为|改叫)"
_REPLACE = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:把|将|將)(?:所有|全部|凡是|一切)(?:的)?(?:提到|出现|写着|说到)?(?:的)?{_X}(?:的地方)?(?:都|全部?|统统|"
        rf"一律)*{_TURN}{_Y}(?:吧|好吗|谢谢|了)*[。.!！]*$",
        rf"(?:把|将|將){_X}(?:的地方)?(?:都|全部?|统统|一律|处处|到处)+{_TURN}{_Y}(?:吧|好吗|谢谢|了)*[。.!！]*$",
        rf"(?:所有|全部|凡是)(?:的)?(?:提到|出现|写着|说到)?(?:的)?{_X}(?:的地方)?(?:都|全部?|统统|一律)*(?:要|"
        rf"应该)?{_TURN}{_Y}(?:吧|好吗|谢谢|了)*[。.!！]*$",
    )
)

_SCOPE = (
    r"(?:从现在起|从现在开始|从今以后|从今往后|从今天起|从此|以后|今后|往后|日后|接下来|每次|始终|永远|一直|"
    r"总是|以后都)"
)
_ACTS = (
    r"(?:用|回答|回复|答复|叫我|称呼|跟我|对我|给我|和我|说话|说|写|不要|别|不许|不用|请|都|要|要用|只|尽量|"
    r"尽可能|保持|避免|少|多|告诉我|使用|加上|附上|列出|翻译|提醒)"
)
_WISH = re.compile(rf"(?:{_SCOPE}[\s，,：:]*)(?:你|您)?(?P<wish>(?:请|都|就|也)*{_ACTS}.+)$")
_WISH_LAST = re.compile(
    rf"(?P<wish>(?:回答|回复|说话|写|用|不要|别|尽量|保持|请).+?)[，,]?\s*(?:{_SCOPE})(?:都|请|就)?(?:这样|如此|"
    rf"这么做)?(?:吧)?$"
)
_MINE = re.compile(r"我(?:想|要|会|打算|都|就|在|去|是|有|准备|应该|可能)")
_CALL = re.compile(
    rf"(?:{_SCOPE}[\s，,：:]*)?(?:请|就|都|你|您)*(?:叫我|称呼我(?:为|叫)?|喊我|"
    rf"管我叫)[“「\"]?(?P<name>(?![一起吃去来过回上下怎什做别不])[^“”「」\"，,。！!？?的吧了]{{1,12}})[”」\"]?(?:吧|好了|就行|就好|即可)*$"
)
_LANGUAGE = re.compile(r"(?:用|说|讲)(?P<l>[\u4e00-\u9fff]{1,4}?(?:文|语|話|话))")

_NOTE = re.compile(
    r"(?:(?:另外|再|也|还有|還有|顺便|请|請|麻烦你?|帮我|幫我|给我|对了|补充|備註|备注)*[\s，,]*)*"
    r"(?:记(?:住|得|下来?|一下|录一下|录|个笔记|着)|記(?:住|得|下|一下)|别忘了?|不要忘记?|别忘记|不要忘了|牢记|注意|"
    r"补充(?:一下|一点|说明)?|备注(?:一下)?)"
    r"[\s，,：:。]*(?P<rest>\S.*)$"
)
_LEADS = re.compile(
    r"(?:(?:另外|还有(?:一点|件事)?|還有|顺便(?:说|提)一?(?:句|下|嘴)?|对了|再补充一点|补充一点|补充(?:一下)?|此外|"
    r"而且|题外话|需要说明的是|你?要知道|告诉你)[\s，,：:。]*)+"
)
_NOTE_LAST = re.compile(
    r"(?P<rest>\S.*?)[，,。\s]+(?:请|麻烦|帮我|你)*(?:记一下|记住|记下来?|别忘了|记录一下)(?:吧|哦|啊)?[。.!！]*$"
)
_VERB = re.compile(r"[是有在叫会能要想住喜爱讨恨对去来吃喝用买卖做说学开关养玩打看穿搬换过需应等为]|号|码")
_THANKED = re.compile(r"(?:[\s，,]*(?:谢谢|谢谢你|谢谢您|谢啦|拜托了?|麻烦了|好吗|好嗎|可以吗|行吗))+$")


def hear(sentence: str) -> Heard:
    """What a Chinese sentence of feedback is."""
    text = sentence.strip()
    lead = len(sentence) - len(sentence.lstrip())
    if _SUPPOSED.match(text) or _QUOTED.search(text):
        return Heard(Manner.NOTHING)
    order, at = cut(_OPENERS, text, lead)
    asks = _QUESTION.search(text) is not None
    if asks and not (_ASKED.match(text) and re.search(r"(?:吗|嗎|[?？])[。.!！?？]*$", text)):
        return Heard(Manner.NOTHING)
    if (found := _command(order, at)) is not None:
        return found
    if asks or _REPORTED.match(text):
        return Heard(Manner.NOTHING)
    return _statement(text, lead)


def _command(order: str, at: int) -> Heard | None:
    said = _THANKED.sub("", order.rstrip("。.!！?？ ~～"))
    for pattern in _REPLACE:
        match = pattern.match(said)
        if match and bare(match["old"]) and bare(match["new"]) and match["old"] != match["new"]:
            return Heard(Manner.REPLACE, old=bare(match["old"]), new=bare(match["new"]))
    note = _NOTE.match(order)
    if note:
        return Heard(Manner.NOTE, note["rest"], at + note.start("rest"), firm=_VERB.search(note["rest"]) is not None)
    for pattern in _FORGET:
        if (forget := pattern.match(said)) is not None:
            return _forget(bare(forget["what"]))
    return _wish(said)


def _forget(what: str) -> Heard:
    while (shorter := bare(_TAIL.sub("", what))) != what:
        what = shorter
    if not what:
        return Heard(Manner.NOTHING)
    if _ALL.match(what):
        return Heard(Manner.FORGET, unclear=ALL)
    if _POINTING.match(what):
        return Heard(Manner.FORGET, topic=Topic(pointing=True))
    about = _ABOUT.match(what)
    broad = about is not None or (what.startswith("我") and _THING.search(what) is not None)
    phrase = about["np"] if about else what
    while (shorter := _THING.sub("", phrase)) != phrase:
        phrase = shorter
    phrase = bare(re.sub(r"(?:的)$", "", phrase))
    if not phrase or _VAGUE.match(phrase):
        return Heard(Manner.FORGET, unclear=NAMELESS)
    if _ALL.match(phrase):
        return Heard(Manner.FORGET, unclear=ALL)
    if _SOMEBODY.match(phrase) or phrase in ("他", "她", "它"):
        return Heard(Manner.FORGET, unclear=f"“{phrase[:30]}”指的是谁并不清楚，没有做任何更改")
    for pattern, attributes in _WH:
        if pattern.match(phrase):
            return Heard(Manner.FORGET, topic=Topic(mine=True, attributes=attributes))
    mine = re.match(r"我们?的?", phrase)
    words = phrase[mine.end() :] if mine else phrase
    if mine and not phrase.startswith(("我的", "我们的")) and _CLAUSE_VERB.search(words):
        return Heard(Manner.FORGET, topic=Topic(_predicate(words), True, broad=False), clause=phrase)
    return Heard(
        Manner.FORGET, topic=Topic(words, mine is not None, _NAMES.get(words, ()) if mine else (), broad=broad)
    )


def _predicate(words: str) -> str:
    return re.sub(r"^(?:现在|是|有|会|很|都|也)+", "", words)


def _wish(said: str) -> Heard | None:
    named = _CALL.match(said)
    if named:
        return Heard(Manner.PREFER, f"叫我{named['name']}。", -1, about="nickname", new=named["name"])
    match = _WISH.match(said) or _WISH_LAST.match(said)
    if match is None or _MINE.match(match["wish"]):
        return None
    wish = bare(re.sub(r"^(?:请|都|就|也)+", "", match["wish"]))
    if wish in ("这样", "如此", "这么做", "那样"):
        return None
    language = _LANGUAGE.search(wish) if re.search(r"回答|回复|答复|说话|交流|对话|跟我", wish) else None
    return Heard(
        Manner.PREFER, wish=wish, about="answer language" if language else "", new=language["l"] if language else ""
    )


def _statement(text: str, lead: int) -> Heard:
    rest, at = cut(_REFUSED, text, lead)
    if at > lead and not _SOFT.fullmatch(text[: at - lead]):
        return Heard(Manner.REFUSE, rest, at)
    last = _REFUSED_LAST.match(text)
    if last:
        return Heard(Manner.REFUSE, last["rest"], lead)
    agreed, where = cut(_AGREED, text, lead)
    if where > lead or _JUST.match(text):
        done = _THANKS.match(agreed) or _JUST.match(agreed)
        return Heard(Manner.AGREE, "" if done else agreed, where)
    noted = _NOTE_LAST.match(text)
    if noted:
        inner, begins = cut(_LEADS, noted["rest"], lead)
        return Heard(Manner.NOTE, inner, begins, firm=True)
    added, where = cut(_LEADS, text, lead)
    if where > lead and added:
        order, begins = cut(_OPENERS, added, where)
        return _command(order, begins) or Heard(Manner.NOTE, added, where, firm=len(added) > 4)
    return Heard(Manner.PLAIN, text, lead)
