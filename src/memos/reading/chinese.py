"""Chinese patterns as data: clauses that say something about the speaker, her relatives, and things.

A pattern is matched at the beginning of a clause, after fillers and a date. Read by `chinese_reader`; nothing here
acts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from memos.memory.model import Kind
from memos.reading.patterns import ClauseRule, flags
from memos.text.lazy import LazyPattern
from memos.text.name_lists import SURNAMES

_V = r"(?P<v>[^，。！？；,!?;、\s（）()]{1,24}?)"
_LIST = r"(?P<v>[^，。！？；,!?;\s（）()]{1,30}?)"
_JOINT = r"而且|但是|可是|不过|并且|所以|因为|然后|同时"
_END = rf"(?=(?:了|啦|呢|的|哦|啊|呀|吧|哈)*\s*(?:[，。！？；,!?;、~～…（(\n]|{_JOINT}|$))"
_LEND = rf"(?=(?:了|啦|呢|的|哦|啊|呀|吧|哈)*\s*(?:[，。！？；,!?;~～…（(\n]|{_JOINT}|$))"
_PLACE = r"(?P<v>[^，。！？；,!?;、\s的了这那我你他她它们家里]{2,10}?)"
_ORG = (
    r"(?P<v>(?:[A-Za-z][\w&. -]{1,30}|[^，。！？；,!?;、\s的了这那我你他她]{2,16}?)(?:公司|大学|医院|银行"
    r"|集团|学院|中学|小学|研究所|研究院|学校|超市|餐厅|工厂)?)"
)
_ADDRESS = (
    r"(?P<v>(?:[^，。！？；,!?;、\s我你他]{0,12}?(?:路|街|巷|弄|大道|胡同|小区|新村|花园|大厦|公寓|苑)"
    r"[^，。！？；,!?;、\s我你他]{0,12}?\d+|[^，。！？；,!?;、\s我你他]{2,12}?\d+号)[\w\u4e00-\u9fff-]{0,16}?)"
)
_NUMBER = r"(?P<v>\+?\d[\d -]{5,16}\d)"
_RENEWED = r"(?:(?:新|现在|目前|最新)的?)?"
_NAME = r"(?P<v>[A-Za-z][A-Za-z'’ .-]{1,30}|[\u4e00-\u9fff·]{1,6}?)"
_SHORT_NAME = r"(?:[A-Za-z]{2,20}|[\u4e00-\u9fff·]{1,4}?)"
# 叫 also is to cry, to call out and to have brought.
_IS_CALLED = (
    r"(?:它们?|她们?|他们?)?(?:的?名字)?(?:分别)?(?:叫做?|名叫)(?![声得起不个我你他她它人一什苦唤喊来去车外救醒])"
)
_HOW = r"(?:很|特别|非常|最|超级?|比较|挺|真的|一直|都|也|还|就|十分|蛮|更|尤其|从小就?|一向|平时|其实)*"
_NOW = r"(?:现在|目前|一直|已经|最近|刚|刚刚|今年|就|也|都|还|暂时|平时|也都|是)*"
KIN_WORDS = (
    r"(?:老婆|妻子|太太|老公|丈夫|爱人|妈妈|妈|母亲|爸爸|爸|父亲|哥哥|哥|姐姐|姐|弟弟|妹妹|儿子|女儿|孩子"
    r"|爷爷|奶奶|外公|外婆|姥姥|姥爷|叔叔|阿姨|姑姑|舅舅|表哥|表姐"
    r"|表弟|表妹|堂哥|堂弟|室友|闺蜜|好朋友|朋友|同事|老板|经理|男朋友|女朋友|男友|女友|邻居|同学|导师|狗狗"
    r"|猫咪|宠物|狗|猫)"
)
JOBS = (
    r"(?:医生|护士|老师|教师|教授|工程师|程序员|设计师|律师|会计|厨师|司机|记者|编辑|作家|画家|音乐家|歌手"
    r"|演员|导演|摄影师|警察|消防员|军人|学生|研究生|博士生|大学生"
    r"|高中生|研究员|科学家|经理|产品经理|项目经理|销售|客服|秘书|翻译|导游|飞行员|空姐|药剂师|牙医|兽医"
    r"|心理咨询师|建筑师|农民|工人|公务员|保安|理发师|咖啡师|服务员"
    r"|收银员|快递员|外卖员|电工|木匠|机械师|运动员|教练|健身教练|插画师|自由职业者|创业者|分析师|数据分析师"
    r"|顾问|架构师|测试工程师|运营|主播|博主|店长|老板|护工|保姆"
    r"|总监|主管|主任|总经理|助理|会计师|咨询师"
    r"|幼师|数学老师|语文老师|英语老师|法官|检察官|投资人|银行职员|图书管理员)"
)
# "杭州的一家电商公司", and as what somebody works there.
_SOME_ORG = (
    r"(?:[\u4e00-\u9fff]{2,4}?的?)?(?:一家|某家|一间|一所)"
    r"(?P<v>[\u4e00-\u9fffA-Za-z]{2,10}?(?:公司|银行|医院|学校|工厂|餐厅|律所|事务所|研究所|机构|企业|工作室))"
)
_AS_JOB = rf"(?:当|做|担任|任)(?:一名|一个|一位|个|名)?(?P<x>[\u4e00-\u9fffA-Za-z]{{0,6}}?{JOBS})"
LANGUAGES = (
    r"(?:中文|汉语|普通话|粤语|英语|英文|法语|德语|日语|韩语|西班牙语|俄语|意大利语|葡萄牙语"
    r"|阿拉伯语|挪威语|瑞典语|丹麦语|芬兰语|荷兰语|泰语|越南语|印地语|土耳其语|希腊语|上海话|闽南语)"
)
PETS = (
    r"(?:狗|猫|狗狗|猫咪|小狗|小猫|金毛|柯基|哈士奇|柴犬|布偶猫|英短|橘猫|兔子|仓鼠|鹦鹉|乌龟|鱼|金鱼|马"
    r"|龙猫|泰迪|拉布拉多)"
)
THINGS = r"(?:车|汽车|自行车|电动车|摩托车|特斯拉|手机|电脑|笔记本|笔记本电脑|平板|相机|耳机|手表|iPhone|MacBook|iPad)"

KIN: Mapping[str, str] = {
    **dict.fromkeys(("老婆", "妻子", "太太", "老公", "丈夫", "爱人"), "spouse"),
    **dict.fromkeys(("男朋友", "女朋友", "男友", "女友"), "partner"),
    **dict.fromkeys(("妈妈", "妈", "母亲", "爸爸", "爸", "父亲"), "parent"),
    **dict.fromkeys(("哥哥", "哥", "姐姐", "姐", "弟弟", "妹妹"), "sibling"),
    **dict.fromkeys(("儿子", "女儿", "孩子"), "child"),
    **dict.fromkeys(("朋友", "好朋友", "闺蜜", "室友", "邻居", "同学"), "friend"),
    **dict.fromkeys(("老板", "经理", "同事", "导师"), "contact"),
    **dict.fromkeys(("狗", "猫", "狗狗", "猫咪", "宠物"), "pet"),
}


def _re(pattern: str) -> LazyPattern:
    return LazyPattern(pattern)


_NO_LIKE = r"(?!你|您|他|她|它|这|那|什么|听到|听你|看到|和你|跟你|的|上了|了|过|得|不|就|也|都|死|莫能助)"

# Of the speaker: what may follow 我. `{s}` is her name or 用户.
SELF: tuple[ClauseRule, ...] = (
    ClauseRule(
        _re(rf"(?:的名字)?(?:叫|是叫|名叫|的名字是)(?!做|了|他|她|你|我|什么){_NAME}{_END}"),
        "name",
        "{s}叫{v}",
        Kind.PROFILE,
        single=True,
        confidence=0.95,
        take="name",
    ),
    ClauseRule(
        _re(rf"{_NOW}不再?(?:住|居住|生活)在{_PLACE}(?P<gone>了)?{_END}"),
        "home",
        "{s}不再住在{v}",
        Kind.PROFILE,
        single=True,
        take="place",
        flags=flags("denied"),
    ),
    ClauseRule(
        _re(rf"(?:以前|之前|曾经|曾|原来|小时候|过去)(?:一直)?(?:住|居住|生活)(?:在|过){_PLACE}(?:过)?{_END}"),
        "home",
        "{s}曾住在{v}",
        Kind.PROFILE,
        single=True,
        take="place",
        flags=flags("ended"),
    ),
    ClauseRule(
        _re(
            rf"(?:{_NOW}(?:住|居住)在|{_NOW}搬(?:家)?(?:到|去)(?:了)?|(?:家)?的?{_RENEWED}(?:家庭)?(?:地址|住址)(?:现在)?"
            rf"(?:是|为|：|:|改成了?|换成了?|变成了?)\s*){_ADDRESS}{_END}"
        ),
        "home_address",
        "{s}的地址是{v}",
        Kind.PROFILE,
        single=True,
        take="address",
    ),
    ClauseRule(
        _re(rf"{_NOW}(?P<v>搬家|搬了家|换了?房子){_END}"),
        "home_address",
        "{s}{v}了",
        Kind.PROFILE,
        confidence=0.85,
        flags=flags("ended moved"),
    ),
    ClauseRule(
        _re(rf"{_NOW}(?:住|居住|定居|生活)在{_PLACE}(?:市中心|附近)?{_END}"),
        "home",
        "{s}住在{v}",
        Kind.PROFILE,
        single=True,
        confidence=0.95,
        take="place",
        flags=flags("since"),
    ),
    ClauseRule(
        _re(rf"家{_NOW}(?:住)?在{_PLACE}{_END}"),
        "home",
        "{s}住在{v}",
        Kind.PROFILE,
        single=True,
        confidence=0.85,
        take="place",
    ),
    ClauseRule(
        _re(
            rf"{_NOW}(?:从(?P<x>[\u4e00-\u9fff]{{2,6}}?))?(?:搬|搬家|搬迁|移居|移民)(?:到|去|来"
            rf"|回)(?:了)?{_PLACE}(?:来|去|住|定居)?{_END}"
        ),
        "home",
        "{s}住在{v}",
        Kind.PROFILE,
        single=True,
        take="place",
        flags=flags("starts"),
    ),
    ClauseRule(
        _re(rf"{_NOW}(?:已经)?(?:离开|搬离){_PLACE}{_END}"),
        "home",
        "{s}不再住在{v}",
        Kind.PROFILE,
        single=True,
        take="known_place",
        confidence=0.75,
        flags=flags("ended"),
    ),
    ClauseRule(
        _re(rf"{_NOW}不(?:再)?在{_ORG}(?:工作|上班|任职)(?P<gone>了)?{_END}"),
        "employer",
        "{s}不再在{v}工作",
        Kind.PROFILE,
        single=True,
        take="organisation",
        flags=flags("denied"),
    ),
    ClauseRule(
        _re(rf"(?:以前|之前|曾经|曾|原来|过去)在{_ORG}(?:工作|上班|任职|实习)(?:过)?{_END}"),
        "employer",
        "{s}曾在{v}工作",
        Kind.PROFILE,
        single=True,
        take="organisation",
        flags=flags("ended"),
    ),
    ClauseRule(
        _re(rf"{_NOW}在{_ORG}(?:工作|上班|任职|就职)(?!日|量|时间){_END}"),
        "employer",
        "{s}在{v}工作",
        Kind.PROFILE,
        single=True,
        confidence=0.93,
        take="organisation",
        flags=flags("since"),
    ),
    ClauseRule(
        _re(rf"{_NOW}在{_SOME_ORG}{_AS_JOB}{_END}"),
        "employer",
        "{s}在{v}工作",
        Kind.PROFILE,
        single=True,
        confidence=0.85,
        take="organisation",
        flags=flags("job"),
    ),
    ClauseRule(
        _re(rf"{_NOW}在{_SOME_ORG}(?:工作|上班|任职){_END}"),
        "employer",
        "{s}在{v}工作",
        Kind.PROFILE,
        single=True,
        confidence=0.85,
        take="organisation",
    ),
    ClauseRule(
        _re(rf"{_NOW}在{_ORG}{_AS_JOB}{_END}"),
        "employer",
        "{s}在{v}工作",
        Kind.PROFILE,
        single=True,
        take="organisation",
        flags=flags("job"),
    ),
    ClauseRule(
        _re(rf"{_NOW}在[^，。！？；,!?;、\s我你他她]{{1,12}}?{_AS_JOB.replace('<x>', '<v>')}{_END}"),
        "job",
        "{s}是{v}",
        Kind.PROFILE,
        single=True,
    ),
    ClauseRule(
        _re(rf"{_NOW}(?:加入|入职|跳槽(?:到|去))(?:了)?{_ORG}{_END}"),
        "employer",
        "{s}在{v}工作",
        Kind.PROFILE,
        single=True,
        confidence=0.8,
        take="organisation",
        flags=flags("starts"),
    ),
    ClauseRule(
        _re(rf"{_NOW}从{_ORG}(?:离职|辞职|退休){_END}"),
        "employer",
        "{s}不再在{v}工作",
        Kind.PROFILE,
        single=True,
        take="organisation",
        flags=flags("ended"),
    ),
    ClauseRule(
        _re(
            rf"{_NOW}(?P<v>(?:从(?:公司|单位))?(?:辞职|离职)|退休|失业|下岗|辞了职|被(?:公司)?(?:裁|裁员|裁掉|开除|炒|炒鱿鱼|解雇)|丢了工作|辞掉?了?工作"
            rf"|不在那(?:里|儿|边)(?:工作|上班|干))(?:了|啦)?{_END}"
        ),
        "employer",
        "{s}{v}了",
        Kind.PROFILE,
        confidence=0.85,
        flags=flags("ended jobless"),
    ),
    ClauseRule(
        _re(
            rf"(?:{_NOW}是(?:一名|一个|一位|个|名|位)?|{_NOW}(?:当|做)(?:一名|一个)?|的(?:工作"
            rf"|职业)是)(?P<v>[\u4e00-\u9fffA-Za-z]{{0,6}}?{JOBS}){_END}"
        ),
        "job",
        "{s}是{v}",
        Kind.PROFILE,
        single=True,
        confidence=0.92,
    ),
    ClauseRule(
        _re(rf"是(?!.{{0,3}}(?:人|生|员|师|者|家|的))(?P<v>[{SURNAMES}][\u4e00-\u9fff]{{1,2}}){_END}"),
        "name",
        "{s}叫{v}",
        Kind.PROFILE,
        single=True,
        confidence=0.75,
        take="name",
    ),
    ClauseRule(
        _re(rf"(?:已经)?不再?对{_LIST}过敏{_END}"),
        "allergy",
        "{s}不对{v}过敏",
        Kind.PROFILE,
        polarity="-",
        take="list",
        flags=flags("negated"),
    ),
    ClauseRule(
        _re(rf"{_NOW}对{_LIST}(?:严重|有点|会|都|也)*过敏{_END}"),
        "allergy",
        "{s}对{v}过敏",
        Kind.PROFILE,
        confidence=0.97,
        take="list",
    ),
    ClauseRule(
        _re(rf"(?:有|患有)(?P<v>糖尿病|哮喘|高血压|鼻炎|胃病|失眠|抑郁症|偏头痛|乳糖不耐症?){_END}"),
        "condition",
        "{s}有{v}",
        Kind.PROFILE,
    ),
    ClauseRule(
        _re(rf"{_NOW}(?P<v>\d{{1,3}}|[一二三四五六七八九十]{{1,3}})岁{_END}"),
        "age",
        "{s}{v}岁",
        Kind.PROFILE,
        single=True,
    ),
    ClauseRule(
        _re(rf"的?生日是(?:在)?(?P<v>[^，。！？；,!?;、\s]{{2,16}}?){_END}"),
        "birthday",
        "{s}的生日是{v}",
        Kind.PROFILE,
        single=True,
    ),
    ClauseRule(
        _re(rf"(?:出?生于|是)(?P<v>\d{{4}}年(?:\d{{1,2}}月(?:\d{{1,2}}[日号])?)?)(?:出?生)?{_END}"),
        "birthday",
        "{s}出生于{v}",
        Kind.PROFILE,
        single=True,
    ),
    ClauseRule(
        _re(rf"(?:出生在|生在){_PLACE}{_END}"), "birthplace", "{s}出生在{v}", Kind.PROFILE, single=True, take="place"
    ),
    ClauseRule(
        _re(rf"(?:来自|老家(?:是|在)|的家乡(?:是|在)|是从){_PLACE}(?:来)?{_END}"),
        "hometown",
        "{s}来自{v}",
        Kind.PROFILE,
        take="place",
    ),
    ClauseRule(_re(rf"是{_PLACE}人{_END}"), "hometown", "{s}是{v}人", Kind.PROFILE, take="known_place"),
    ClauseRule(
        _re(rf"(?:不能|不可以)(?:吃|喝){_V}{_END}"),
        "can eat",
        "{s}不能吃{v}",
        Kind.PROFILE,
        polarity="-",
        take="food",
        flags=flags("negated"),
    ),
    ClauseRule(_re(rf"(?:能|可以)吃{_V}{_END}"), "can eat", "{s}能吃{v}", Kind.PROFILE, confidence=0.8, take="food"),
    ClauseRule(
        _re(rf"{_NOW}(?:(?:是|只)?(?:个|一个|一名|位)?(?P<v>素食主义者|素食者|吃素)){_END}"),
        "diet",
        "{s}的饮食：{v}",
        Kind.PROFILE,
    ),
    ClauseRule(
        _re(rf"(?:已经|再也|从来|从|一直|永远|绝|平时|现在|都)*不再?(?P<x>吃|喝|抽){_V}(?P<gone>了)?{_END}"),
        "{x}",
        "{s}不再{x}{v}",
        Kind.PREFERENCE,
        take="food",
        flags=flags("denied"),
    ),
    ClauseRule(
        _re(rf"(?:平时|每天|经常|常常|一直|也|会|都)*(?:抽|吸)(?P<v>烟){_END}"),
        "smokes",
        "{s}抽{v}",
        Kind.PREFERENCE,
        confidence=0.8,
    ),
    ClauseRule(
        _re(
            rf"{_NOW}戒(?!不)(?:掉|了|掉了)?(?P<v>[\u4e00-\u9fffA-Za-z]{{1,6}}?)(?:了|很久|好久|\d+年|[一两三]年)?{_END}"
        ),
        "likes",
        "{s}戒了{v}",
        Kind.PREFERENCE,
        take="food",
        flags=flags("ended habit"),
    ),
    ClauseRule(
        _re(
            rf"{_NOW}(?:把|卖掉?了)(?:我的?|那)?(?:[辆台部])?(?P<v>[\u4e00-\u9fffA-Za-z]{{0,6}}?{THINGS})"
            rf"(?:(?<!卖了)(?:卖|卖掉|转让|处理掉)了)?{_END}"
        ),
        "owns",
        "{s}卖了{v}",
        Kind.FACT,
        flags=flags("ended sold"),
    ),
    ClauseRule(
        _re(rf"(?:从来不|从不|绝不|永远不(?:会)?){_V}{_END}"),
        "never",
        "{s}从来不{v}",
        Kind.PREFERENCE,
        polarity="-",
        take="habit",
    ),
    ClauseRule(
        _re(rf"(?:总是|每次都|每天都|老是|一直都|通常都){_V}{_END}"),
        "always",
        "{s}总是{v}",
        Kind.PREFERENCE,
        confidence=0.8,
        take="habit",
    ),
    ClauseRule(
        _re(
            rf"(?:的)?(?:最)?(?:喜欢|爱|喜爱)的(?P<x>[\u4e00-\u9fff]{{1,8}}?)是(?P<v>《[^》]+》"
            rf"|[^，。！？；,!?;、\s]{{1,20}}?){_END}"
        ),
        "最喜欢的{x}",
        "{s}最喜欢的{x}是{v}",
        Kind.PREFERENCE,
        single=True,
        confidence=0.93,
    ),
    ClauseRule(
        _re(rf"{_NOW}更(?:喜欢|爱|偏爱|倾向于?){_NO_LIKE}{_V}(?:而不是[^，。！？]{{1,12}})?{_END}"),
        "prefers",
        "{s}更喜欢{v}",
        Kind.PREFERENCE,
        take="liked",
    ),
    ClauseRule(
        _re(rf"{_HOW}(?:不再|已经不)(?:喜欢|爱){_NO_LIKE}{_V}了?{_END}"),
        "likes",
        "{s}不再喜欢{v}",
        Kind.PREFERENCE,
        take="liked",
        flags=flags("ended"),
    ),
    ClauseRule(
        _re(
            rf"{_HOW}(?:不太?|不怎么|并不|从来不|都不)(?:很|是很|太|怎么)?(?:喜欢|爱吃|爱喝|爱看|爱"
            rf"|喜爱){_NO_LIKE}{_V}{_END}"
        ),
        "dislikes",
        "{s}不喜欢{v}",
        Kind.PREFERENCE,
        polarity="-",
        take="liked",
    ),
    ClauseRule(
        _re(rf"{_HOW}(?:讨厌|痛恨|恨|反感|受不了|厌恶|嫌弃){_NO_LIKE}{_V}{_END}"),
        "dislikes",
        "{s}讨厌{v}",
        Kind.PREFERENCE,
        polarity="-",
        take="liked",
    ),
    ClauseRule(
        _re(
            rf"{_HOW}(?:喜欢|热爱|喜爱|酷爱|爱吃|爱喝|爱看|爱听|爱玩|偏爱|痴迷于?|爱好是|的爱好是"
            rf"|爱){_NO_LIKE}{_LIST}{_LEND}"
        ),
        "likes",
        "{s}喜欢{v}",
        Kind.PREFERENCE,
        take="liked_list",
    ),
    ClauseRule(
        _re(
            rf"{_HOW}(?:有|养了?|领养了|收养了)(?:一|两|三)?[只条个匹]?(?:[\u4e00-\u9fff]{{1,4}}的?)??"
            rf"(?P<x>{PETS})[，, ]+{_IS_CALLED}{_NAME}{_END}"
        ),
        "pet",
        "{s}有一只{x}叫{v}",
        Kind.PROFILE,
        take="name",
        flags=flags("reaches"),
    ),
    ClauseRule(
        _re(
            rf"{_HOW}(?:有|养了?|领养了|收养了)(?:一|两|三)?[只条个匹]?(?:[\u4e00-\u9fff]{{1,4}}的?)??"
            rf"(?P<x>{PETS})[，, ]?(?:它)?(?:的)?(?:名字)?(?:是|叫|名叫|叫做){_NAME}{_END}"
        ),
        "pet",
        "{s}有一只{x}叫{v}",
        Kind.PROFILE,
        take="name",
    ),
    ClauseRule(
        _re(
            rf"{_HOW}(?:有|养了?|领养了|收养了)(?P<v>[一两三四五]?[只条匹](?:[\u4e00-\u9fff]{{1,4}}的?)??{PETS}){_END}"
        ),
        "pet",
        "{s}有{v}",
        Kind.PROFILE,
        confidence=0.85,
    ),
    ClauseRule(
        _re(
            rf"有(?:[两三四五\d]个)(?P<x>孩子|儿子|女儿|哥哥|姐姐|弟弟|妹妹|好朋友|朋友)[，, ]*{_IS_CALLED}"
            rf"(?P<v>{_SHORT_NAME}(?:[、和与跟]{_SHORT_NAME})+){_END}"
        ),
        "kin:{x}",
        "{s}的{x}叫{v}",
        Kind.PROFILE,
        take="names",
        flags=flags("reaches"),
    ),
    ClauseRule(
        _re(
            rf"有(?:一|两|三)?个?(?P<x>儿子|女儿|孩子|哥哥|姐姐|弟弟|妹妹|好朋友|朋友)[，, ]+{_IS_CALLED}{_NAME}{_END}"
        ),
        "kin:{x}",
        "{s}的{x}叫{v}",
        Kind.PROFILE,
        take="name",
        flags=flags("reaches"),
    ),
    ClauseRule(
        _re(
            rf"有(?:一|两|三)?个?(?P<x>儿子|女儿|孩子|哥哥|姐姐|弟弟|妹妹|好朋友|朋友)[，, ]?(?:名字)?(?:叫"
            rf"|名叫){_NAME}{_END}"
        ),
        "kin:{x}",
        "{s}的{x}叫{v}",
        Kind.PROFILE,
        take="name",
    ),
    ClauseRule(
        _re(rf"有(?P<v>[一两三四五\d]个(?P<x>儿子|女儿|孩子|哥哥|姐姐|弟弟|妹妹)){_END}"),
        "kin:{x}",
        "{s}有{v}",
        Kind.PROFILE,
        confidence=0.85,
    ),
    ClauseRule(
        _re(rf"(?:会说?|能说|讲|说|会讲)(?:一点|流利的)?(?P<v>{LANGUAGES}(?:[和、与]{LANGUAGES})*){_END}"),
        "language",
        "{s}会说{v}",
        Kind.PROFILE,
        take="list",
    ),
    ClauseRule(
        _re(rf"{_NOW}不(?:再)?学(?:习)?(?P<v>{LANGUAGES}|[\u4e00-\u9fff]{{2,6}}?)了{_END}"),
        "learning",
        "{s}不再学{v}",
        Kind.FACT,
        flags=flags("ended"),
    ),
    ClauseRule(
        _re(rf"{_NOW}(?:正?在|开始)(?:自)?学(?:习)?(?P<v>{LANGUAGES}|[\u4e00-\u9fff]{{2,6}}?){_END}"),
        "learning",
        "{s}在学{v}",
        Kind.FACT,
        confidence=0.85,
    ),
    ClauseRule(
        _re(
            rf"{_NOW}(?:买|换|入手)了(?:一)?[辆台部个]?(?:新的?)?(?P<v>[\u4e00-\u9fffA-Za-z0-9"
            rf" ]{{0,10}}?{THINGS}(?! ?号)(?: ?\w{{1,8}})?){_END}"
        ),
        "owns",
        "{s}有{v}",
        Kind.FACT,
        confidence=0.85,
        flags=flags("starts"),
    ),
    ClauseRule(
        _re(rf"(?:有|开)(?:一)?[辆台部](?P<v>[\u4e00-\u9fffA-Za-z0-9 ]{{0,10}}?{THINGS}(?: ?\w{{1,8}})?){_END}"),
        "owns",
        "{s}有{v}",
        Kind.FACT,
        confidence=0.85,
    ),
    ClauseRule(
        _re(rf"{_NOW}(?P<v>单身|已婚|离婚了|结婚了|订婚了|离异){_END}"),
        "marital status",
        "{s}的婚姻状况：{v}",
        Kind.PROFILE,
        single=True,
    ),
    ClauseRule(
        _re(
            rf"{_NOW}(?:(?:和|跟|与)[\u4e00-\u9fffA-Za-z]{{1,8}}?)?(?:已经|刚|刚刚|上个月|去年)?(?P<v>离婚|分居)了?{_END}"
        ),
        "marital status",
        "{s}的婚姻状况：{v}",
        Kind.PROFILE,
        single=True,
    ),
    ClauseRule(
        _re(
            rf"{_NOW}(?:和|跟|与)(?:我的?)?(?:男友|女友|男朋友|女朋友|[A-Za-z\u4e00-\u9fff]{{1,4}}?)(?P<v>分手)了?{_END}"
        ),
        "partner",
        "{s}{v}了",
        Kind.PROFILE,
        flags=flags("ended parted"),
    ),
    ClauseRule(
        _re(rf"(?:和|跟)(?P<v>[\u4e00-\u9fffA-Za-z]{{2,10}}?)(?:已经)?结婚了?{_END}"),
        "spouse",
        "{s}和{v}结婚了",
        Kind.PROFILE,
        single=True,
        confidence=0.85,
        take="name",
    ),
    ClauseRule(
        _re(rf"{_NOW}(?:毕业于|是)(?P<v>[\u4e00-\u9fff]{{2,12}}?(?:大学|学院|中学|高中))(?:毕业|的学生)?{_END}"),
        "school",
        "{s}毕业于{v}",
        Kind.PROFILE,
        take="organisation",
    ),
    ClauseRule(
        _re(
            rf"{_NOW}在(?P<v>[\u4e00-\u9fff]{{2,12}}?(?:大学|学院|中学|高中))(?:读书|上学|读研|读博|读大学"
            rf"|念书|学习|读[\u4e00-\u9fff]{{2,6}}){_END}"
        ),
        "school",
        "{s}在{v}上学",
        Kind.PROFILE,
        single=True,
        take="organisation",
    ),
    ClauseRule(
        _re(
            rf"的?{_RENEWED}(?:邮箱|电子邮箱|邮件地址|email)(?:地址)?(?:现在)?(?:是|：|:|改成了?|换成了?)\s*(?P<v>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
        ),
        "email",
        "{s}的邮箱是{v}",
        Kind.PROFILE,
        single=True,
        confidence=0.95,
    ),
    ClauseRule(
        _re(
            rf"(?:的?{_RENEWED}(?:电话|手机|手机号|电话号码|手机号码|号码)(?:现在)?(?:是|：|:|改成了?|换成了?)"
            rf"|{_NOW}换了?(?:个|一个)?(?:新的?)?(?:手机号码?|电话号码?|号码|电话)[，,：: ]*(?:新号码?是?|现在是|是)?)"
            rf"\s*{_NUMBER}"
        ),
        "phone",
        "{s}的电话是{v}",
        Kind.PROFILE,
        single=True,
        confidence=0.95,
    ),
    ClauseRule(
        _re(
            rf"的{_RENEWED}(?P<x>[\u4e00-\u9fffA-Za-z0-9]{{1,10}}?)(?:现在)?(?:是|改成了?|换成了?"
            rf"|变成了?)(?P<v>[^，。！？；,!?;、\s]{{1,24}}?){_END}"
        ),
        "{x}",
        "{s}的{x}是{v}",
        Kind.FACT,
        single=True,
        confidence=0.82,
        take="possessed",
    ),
    ClauseRule(
        _re(
            rf"的{_RENEWED}(?P<x>[\u4e00-\u9fffA-Za-z0-9]{{1,10}}?)(?:现在)?(?:在|搬到了?"
            rf"|换到了?)(?P<v>[^，。！？；,!?;、\s]{{1,16}}?){_END}"
        ),
        "{x}",
        "{s}的{x}在{v}",
        Kind.FACT,
        single=True,
        confidence=0.82,
        take="possessed",
    ),
)

# Of a relative: what may follow 我(的)<relative>; `{s}` is "用户的哥哥".
RELATIVE: tuple[ClauseRule, ...] = (
    ClauseRule(
        _re(rf"(?:的名字)?(?:叫|名叫|是叫|的名字是){_NAME}{_END}"),
        "kin",
        "{s}叫{v}",
        Kind.PROFILE,
        confidence=0.93,
        take="name",
    ),
    ClauseRule(
        _re(
            rf"(?P<v>[\u4e00-\u9fffA-Za-z]{{0,6}}?)(?:上周|昨天|去年|今年|上个月|前天|已经|刚刚?)?(?:去世"
            rf"|过世|死|走)了{_END}"
        ),
        "died",
        "{s}{v}去世了",
        Kind.PROFILE,
        take="optional",
    ),
    ClauseRule(
        _re(rf"{_NOW}(?:住|居住|定居|生活)在{_PLACE}{_END}"),
        "home",
        "{s}住在{v}",
        Kind.PROFILE,
        single=True,
        take="place",
    ),
    ClauseRule(
        _re(rf"{_NOW}(?:搬|移居|移民)(?:到|去|来|回)(?:了)?{_PLACE}{_END}"),
        "home",
        "{s}住在{v}",
        Kind.PROFILE,
        single=True,
        take="place",
        flags=flags("starts"),
    ),
    ClauseRule(
        _re(rf"{_NOW}在{_ORG}(?:工作|上班|任职){_END}"),
        "employer",
        "{s}在{v}工作",
        Kind.PROFILE,
        single=True,
        take="organisation",
    ),
    ClauseRule(
        _re(rf"{_NOW}是(?:一名|一个|一位|个|名|位)?(?P<v>[\u4e00-\u9fffA-Za-z]{{0,6}}?{JOBS}){_END}"),
        "job",
        "{s}是{v}",
        Kind.PROFILE,
        single=True,
    ),
    ClauseRule(
        _re(rf"{_NOW}对{_LIST}(?:严重|有点|也)*过敏{_END}"), "allergy", "{s}对{v}过敏", Kind.PROFILE, take="list"
    ),
    ClauseRule(
        _re(rf"{_NOW}(?P<v>\d{{1,3}}|[一二三四五六七八九十]{{1,3}})岁{_END}"),
        "age",
        "{s}{v}岁",
        Kind.PROFILE,
        single=True,
    ),
    ClauseRule(
        _re(rf"(?:从来|从|也|都|一直|平时)*不(?:能|可以)?吃{_V}{_END}"),
        "eats",
        "{s}不吃{v}",
        Kind.PREFERENCE,
        polarity="-",
        take="food",
        flags=flags("negated"),
    ),
    ClauseRule(
        _re(rf"{_HOW}(?:喜欢|爱吃|爱喝|爱看|热爱){_NO_LIKE}{_V}{_END}"),
        "likes",
        "{s}喜欢{v}",
        Kind.PREFERENCE,
        take="liked",
    ),
    ClauseRule(
        _re(rf"{_HOW}(?:讨厌|不喜欢|不爱吃){_NO_LIKE}{_V}{_END}"),
        "dislikes",
        "{s}不喜欢{v}",
        Kind.PREFERENCE,
        polarity="-",
        take="liked",
    ),
)
# Somebody by name: "旺财去世了"; a former husband or wife.
DIED = re.compile(
    r"(?P<v>[A-Z][a-z]+|[\u4e00-\u9fff]{2,4}?)(?:昨天|前天|今天|上周|上个月|去年|已经|刚刚?|不幸)*(?:去世|过世|病逝|离世|死|走丢)了"
    rf"{_END}"
)
FORMER = re.compile(r"我(?:的)?(?P<v>前(?:夫|妻|任|男友|女友|男朋友|女朋友))")
# Somebody by name alone: 陈刚对芒果过敏. It counts where the speaker has one so named.
NAMES = (re.compile(r"[\u4e00-\u9fff]{2}"), re.compile(r"[\u4e00-\u9fff]{3}"), re.compile(r"[A-Z][a-z]+"))
MAY_NAME = re.compile("过敏|[住居活搬移作班职岁是吃欢爱厌]")  # what every rule of RELATIVE has
# After it, who has no subject is the speaker: 我升职了，现在是总监.
NEW_JOB = re.compile(
    r"我(?:们)?(?:最近|刚刚?|已经|今年|终于|又)*(?:升职|晋升|升|转正|跳槽|转行|换工作|换了工作|毕业)了"
)
KIN_HEAD = re.compile(
    rf"我(?:的|们家)?(?P<kin>{KIN_WORDS})(?!们|食|粮|节|圈|的(?!名字))(?:[（(，, ]?(?P<name>[A-Z][a-z]+)[）), ]?)?"
)

# Requests: clauses that need no 我.
REQUESTS: tuple[ClauseRule, ...] = (
    ClauseRule(
        _re(
            r"(?:请|麻烦|帮我|能不能|可以|记得|别忘了|到时候"
            r"|那你)*(?:在?(?P<when>[^，。！？我你]{0,14}?))?(?:提醒|叫)我(?:一下)?(?:要|去"
            r"|记得)?(?P<v>[^，。！？；!?;\n吗]{2,40})"
        ),
        "reminder",
        "{s}要提醒：{v}",
        Kind.COMMITMENT,
        confidence=0.95,
        flags=flags("due remind"),
    ),
    ClauseRule(
        _re(
            r"(?:请|麻烦)?(?:你)?(?:以后|今后|从现在起|从现在开始|之后)(?:请|都|一律|总是|要|跟我|和我"
            r"|对我)*(?P<v>(?:用|回答|回复|说|叫我|称呼|写|使用|给|讲|以)[^，。！？；!?;\n]{1,40})"
        ),
        "always",
        "{s}希望助手总是{v}",
        Kind.PREFERENCE,
    ),
    ClauseRule(
        _re(r"(?:请|麻烦)(?:你)?(?:总是|一直|始终|务必|永远|每次都)(?P<v>[^，。！？；!?;\n]{2,40})"),
        "always",
        "{s}希望助手总是{v}",
        Kind.PREFERENCE,
    ),
    ClauseRule(
        _re(
            r"(?:请|麻烦)?(?:你)?(?:以后|今后|永远|再也|请)(?:都|也|请)*(?:不要|别)(?:再)?(?P<v>(?:用|回答"
            r"|回复|说|叫我|称呼|写|使用|给|发|提|加)[^，。！？；!?;\n]{1,40})"
        ),
        "never",
        "{s}希望助手不要{v}",
        Kind.PREFERENCE,
        polarity="-",
    ),
    ClauseRule(
        _re(
            rf"(?:请|你可以|大家都|大家|朋友都|以后|就)*叫我(?!去|来|做|起|别|不|的|怎么|什么|一|帮|把|给"
            rf"|吃)(?P<v>[A-Za-z]{{2,20}}|[小老阿][\u4e00-\u9fff]|[{SURNAMES}][\u4e00-\u9fff]{{1,2}}){_END}"
        ),
        "nickname",
        "{s}叫{v}",
        Kind.PROFILE,
        single=True,
    ),
)
# Things: "储物柜14的密码是2207".
STATED = re.compile(
    r"(?P<s>[\u4e00-\u9fffA-Za-z0-9 ]{1,20}?)(?:是|为|：|:)\s*"
    r"(?P<v>(?=[\w./@+-]*[\d@])[A-Za-z0-9][\w./@+-]*[A-Za-z0-9]|\d+)(?:号|楼|层)?(?=\s*(?:[，。！？；,!?;]|$))"
)
STATED_NOUNS = re.compile(
    r"(?:密码|编号|代码|序列号|号码|号|地址|账号|验证码|端口|楼层|房间|车牌|口令|ID|id|密钥|型号|版本)$|\d"
)
