"""What people say about what is remembered, and what should come of it: the corpus that feedback by rules is measured on.

Written by hand, half in English and half in Chinese. `DEV` was at hand while the rules were written. `HELD` was written before
any of them was tried; 94.8 % of it was right before it was looked at, and some of what was wrong was mended after.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """`say` is the feedback, to a cube that was told `knows`, after `history` (user and assistant in turn, the assistant last).

    `does`: the operations, in any order; none: nothing may change. `hits`: which of the messages in `knows` (or facts read from
    them) are meant, by number. `becomes`: words that must be in what is new, each in some memory.
    """

    say: str
    knows: tuple[str, ...] = ()
    does: tuple[str, ...] = ()
    hits: tuple[int, ...] = ()
    becomes: tuple[str, ...] = ()
    history: tuple[str, ...] = ()


ME = ("I live in Oslo.", "I work at Acme as a designer.", "I like coffee.", "I'm allergic to nuts.")
FAMILY = ("My sister Anna lives in Madrid.", "I have a dog named Rex.", "My boss is Sarah.", "My car is red.")
EX = ("My ex is called Tom.", "I like jazz.", "I live in Oslo.")
EXES = ("My ex Tom lives in Paris.", "My ex likes skiing.", "My brother is called Tim.")
DETAILS = ("My phone number is 555-1234.", "My birthday is May 3.", "My address is 12 Elm Street.", "I play tennis.")
FIRM = ("We use Acme for billing.", "I work at Acme.", "Acme sends its invoices on Mondays.", "I live in Oslo.")
KAYAK = ("My kayak is teal and lives in shed 4.", "The meeting is at 8 on Thursday.", "The wifi password is sunflower.")
WO = ("我住在北京。", "我在腾讯工作。", "我喜欢喝咖啡。", "我对花生过敏。")
JIA = ("我的妹妹住在上海。", "我有一只猫叫咪咪。", "我的车是红色的。", "我有两个孩子。")
QIAN = ("我的前女友叫小丽。", "我喜欢爵士乐。", "我住在北京。")
ZILIAO = ("我的电话是13800138000。", "我的生日是5月3日。", "我今年三十岁。", "我喜欢打网球。")
GONGSI = ("我们公司用钉钉办公。", "我每天用钉钉打卡。", "我住在北京。")

DEV: tuple[Case, ...] = (
    # -- correct, English
    Case("No, it's Bergen, not Oslo.", ME, ("correct",), (0,), ("Bergen",), ("Where do I live?", "You live in Oslo.")),
    Case("That's wrong, I live in Bergen.", ME, ("correct",), (0,), ("Bergen",), ("Where do I live?", "You live in Oslo.")),
    Case("no, Bergen", ME, ("correct",), (0,), ("Bergen",), ("Where do I live?", "You live in Oslo.")),
    Case("Sorry, I meant Bergen, not Oslo!", ME, ("correct",), (0,), ("Bergen",)),
    Case("Actually I work at Apex, not Acme.", ME, ("correct",), (1,), ("Apex",)),
    Case("Please correct that: my dog is called Max, not Rex.", FAMILY, ("correct",), (1,), ("Max",)),
    Case("my boss isn't Sarah, it's Maria", FAMILY, ("correct",), (2,), ("Maria",)),
    Case("Nope. My car is blue, not red.", FAMILY, ("correct",), (3,), ("blue",)),
    Case("You got that wrong: Anna lives in Lisbon, not Madrid.", FAMILY, ("correct",), (0,), ("Lisbon",)),
    Case("Wrong, the meeting is at 9, not 8.", KAYAK, ("correct",), (1,), ("9",)),
    Case("The kayak is green, not teal.", KAYAK, ("correct",), (0,), ("green",)),
    Case("my birthday is may 5, not may 3", DETAILS, ("correct",), (1,), ("5",)),
    Case("Hmm, not quite. My phone number is 555-9876.", DETAILS, ("correct",), (0,), ("555-9876",)),
    Case(
        "I think you have an old address for me, it should be 7 Oak Road, not 12 Elm Street.",
        *(DETAILS, ("correct",), (2,), ("7 Oak Road",)),
    ),
    # -- supplement, English
    Case("Also note that I have two kids.", ME, ("supplement",), (), ("two kids",)),
    Case("Please also remember that I'm vegetarian.", ME, ("supplement",), (), ("vegetarian",)),
    Case("Add to that: my brother lives in Rome.", ME, ("supplement",), (), ("Rome",)),
    Case("One more thing, I have diabetes.", ME, ("supplement",), (), ("diabetes",)),
    Case("FYI: the office closes at six on Fridays.", ME, ("supplement",), (), ("closes at six",)),
    Case("Don't forget that I'm allergic to shellfish.", DETAILS, ("supplement",), (), ("shellfish",)),
    Case("Could you also note down that my locker is number 42?", ME, ("supplement",), (), ("42",)),
    # -- replace, English
    Case("Replace Acme with Apex everywhere.", FIRM, ("replace",), (0, 1, 2), ("works at Apex",)),
    Case("Please change every mention of Acme to Apex.", FIRM, ("replace",), (0, 1, 2), ("works at Apex",)),
    Case("Rename Rex to Rocky in all my memories, please.", FAMILY, ("replace",), (1,), ("Rocky",)),
    # -- forget, English
    Case("Forget what I said about my ex.", EX, ("forget",), (0,)),
    Case("Please forget everything about my ex.", EXES, ("forget",), (0, 1)),
    Case("forget my phone number", DETAILS, ("forget",), (0,)),
    Case("Delete my address, please.", DETAILS, ("forget",), (2,)),
    Case("Could you please forget that I like coffee?", ME, ("forget",), (2,)),
    Case("Remove the wifi password from your memory.", KAYAK, ("forget",), (2,)),
    Case("You can forget that I play tennis.", DETAILS, ("forget",), (3,)),
    Case("I'd like you to forget my birthday", DETAILS, ("forget",), (1,)),
    # -- confirm, English
    Case("Yes, that's right.", ME, ("confirm",), (0,), (), ("Where do I live?", "You live in Oslo.")),
    Case("Exactly!", ME, ("confirm",), (2,), (), ("What do I drink?", "You like coffee.")),
    Case("correct, thanks", FAMILY, ("confirm",), (1,), (), ("What is my dog called?", "Your dog is named Rex.")),
    Case("Yes, I do live in Oslo.", ME, ("confirm",), (0,)),
    # -- prefer, English
    Case("From now on answer in French.", ME, ("prefer",), (), ("French",)),
    Case("Call me Max from now on.", ME, ("prefer",), (), ("Max",)),
    Case("please keep your answers short in future", ME, ("prefer",), (), ("short",)),
    Case("Never use emojis when you reply to me.", ME, ("prefer",), (), ("emojis",)),
    Case("I'd prefer that you use metric units.", ME, ("prefer",), (), ("metric",)),
    # -- several, English
    Case(
        "No, it's Bergen, not Oslo. Also note that I have two kids.",
        *(ME, ("correct", "supplement"), (0,), ("Bergen", "two kids")),
    ),
    Case("Forget my phone number. And from now on call me Max.", DETAILS, ("forget", "prefer"), (0,), ("Max",)),
    # -- nothing, English
    Case("Is it Bergen, not Oslo?", ME),
    Case("Did you forget what I said about my ex?", EX),
    Case('My therapist said "forget everything about your ex".', EX),
    Case("If I asked you to forget my address, would you?", DETAILS),
    Case("Great answer!", ME),
    Case("Don't forget my birthday.", DETAILS),
    Case("Forget it.", ME),
    Case("I forgot my keys at work.", ME),
    Case("That's wrong.", ME, history=("Where do I live?", "You live in Oslo.")),
    Case("Tom told his bank to delete his address.", DETAILS),
    Case("No.", ME, history=("Shall I book it?", "Do you want me to book the flight to Oslo?")),
    Case("It's Bergen, not Paris.", ME),
    Case("Forget about Linda.", EX),
    Case("What would happen if you replaced Acme with Apex everywhere?", FIRM),
    # -- correct, Chinese
    Case("不对，是上海，不是北京。", WO, ("correct",), (0,), ("上海",), ("我住在哪里？", "您住在北京。")),
    Case("不对，是上海。", WO, ("correct",), (0,), ("上海",), ("我住在哪里？", "您住在北京。")),
    Case("你记错了，我住在上海，不是北京。", WO, ("correct",), (0,), ("上海",)),
    Case("我不在腾讯工作，我在阿里工作。", WO, ("correct",), (1,), ("阿里",)),
    Case("错了，我的猫叫花花，不叫咪咪", JIA, ("correct",), (1,), ("花花",)),
    Case("我的车是蓝色的，不是红色的。", JIA, ("correct",), (2,), ("蓝色",)),
    Case("更正一下：我的生日是5月5日。", ZILIAO, ("correct",), (1,), ("5月5日",)),
    Case("不好意思，我的电话应该是13900139000，不是13800138000。", ZILIAO, ("correct",), (0,), ("13900139000",)),
    Case("说错了，我今年三十一岁。", ZILIAO, ("correct",), (2,), ("三十一",)),
    # -- supplement, Chinese
    Case("另外记一下，我有两个孩子。", WO, ("supplement",), (), ("两个孩子",)),
    Case("补充一下：我是素食者。", WO, ("supplement",), (), ("素食",)),
    Case("还有，请记住我的柜子是42号。", WO, ("supplement",), (), ("42",)),
    Case("顺便说一句，公司周五六点关门。", WO, ("supplement",), (), ("六点关门",)),
    Case("别忘了我对海鲜过敏。", ZILIAO, ("supplement",), (), ("海鲜",)),
    # -- replace, Chinese
    Case("把钉钉都改成飞书。", GONGSI, ("replace",), (0, 1), ("飞书",)),
    Case("请把所有的腾讯都换成阿里", WO, ("replace",), (1,), ("阿里",)),
    # -- forget, Chinese
    Case("忘掉我说过的关于前女友的事。", QIAN, ("forget",), (0,)),
    Case("请忘记我的电话号码。", ZILIAO, ("forget",), (0,)),
    Case("删除我的生日", ZILIAO, ("forget",), (1,)),
    Case("麻烦把我的年龄忘掉吧", ZILIAO, ("forget",), (2,)),
    Case("请忘了我喜欢喝咖啡这件事", WO, ("forget",), (2,)),
    Case("别再记着我的猫了", JIA, ("forget",), (1,)),
    # -- confirm, Chinese
    Case("对，没错。", WO, ("confirm",), (0,), (), ("我住在哪里？", "您住在北京。")),
    Case("是的，我在腾讯工作。", WO, ("confirm",), (1,)),
    Case("说得对！", JIA, ("confirm",), (1,), (), ("我的猫叫什么？", "您的猫叫咪咪。")),
    # -- prefer, Chinese
    Case("从现在起叫我小王。", WO, ("prefer",), (), ("小王",)),
    Case("以后请用英文回答我。", WO, ("prefer",), (), ("英文",)),
    Case("回答尽量简短一点，以后都这样。", WO, ("prefer",), (), ("简短",)),
    Case("今后不要用表情符号。", WO, ("prefer",), (), ("表情",)),
    # -- several, Chinese
    Case("不对，是上海，不是北京。另外记一下我有两个孩子。", WO, ("correct", "supplement"), (0,), ("上海", "两个孩子")),
    # -- more, Chinese
    Case("我对花生不过敏，是对虾过敏。", WO, ("correct",), (3,), ("虾",)),
    Case("麻烦您记住，我今年要考研。", ZILIAO, ("supplement",), (), ("考研",)),
    Case("请删除我前女友的信息，谢谢", QIAN, ("forget",), (0,)),
    Case("从今以后跟我说话要用繁体字", WO, ("prefer",), (), ("繁体字",)),
    Case("朋友劝我忘掉前女友。", QIAN),
    Case("我想把头发换成红色的。", JIA),
    # -- nothing, Chinese
    Case("是上海不是北京吗？", WO),
    Case("你忘了我的生日吗？", ZILIAO),
    Case("别忘了我的生日。", ZILIAO),
    Case("医生说“忘掉前女友吧”。", QIAN),
    Case("如果我让你忘记我的电话，你会忘吗？", ZILIAO),
    Case("算了，忘了吧。", WO),
    Case("我忘了带钥匙。", WO),
    Case("回答得真好！", WO),
    Case("不对。", WO, history=("我住在哪里？", "您住在北京。")),
    Case("忘掉小明的事。", QIAN),
    Case("小王让银行删除他的电话。", ZILIAO),
)  # fmt: skip

HELD: tuple[Case, ...] = (
    # -- correct, English
    Case("Nah, it's Trondheim not Oslo", ME, ("correct",), (0,), ("Trondheim",)),
    Case("That isn't right. I live in Stavanger, not in Oslo.", ME, ("correct",), (0,), ("Stavanger",)),
    Case("You're mistaken, I work at Initech.", ME, ("correct",), (1,), ("Initech",), ("Where do I work?", "You work at Acme.")),
    Case("Small correction: Anna lives in Porto rather than Madrid.", FAMILY, ("correct",), (0,), ("Porto",)),
    Case("it's not Rex, it's Roxy", FAMILY, ("correct",), (1,), ("Roxy",), ("What's my dog's name?", "Your dog is named Rex.")),
    Case("Wait, no. My boss is Linda, not Sarah.", FAMILY, ("correct",), (2,), ("Linda",)),
    Case("The meeting is on Friday, not Thursday.", KAYAK, ("correct",), (1,), ("Friday",)),
    Case("Shed 5, not shed 4.", KAYAK, ("correct",), (0,), ("shed 5",)),
    Case("i said may 30 not may 3", DETAILS, ("correct",), (1,), ("30",)),
    Case("Could you fix that? I'm allergic to peanuts, not nuts.", ME, ("correct",), (3,), ("peanuts",)),
    # -- supplement, English
    Case("Please note as well that I'm left-handed.", ME, ("supplement",), (), ("left-handed",)),
    Case("By the way, you should also know that my cat is called Misty.", ME, ("supplement",), (), ("Misty",)),
    Case("Keep in mind that the garage code is 7788.", ME, ("supplement",), (), ("7788",)),
    Case("Make a note: our anniversary is on June 12.", ME, ("supplement",), (), ("June 12",)),
    Case("I also speak Norwegian.", ME, ("supplement",), (), ("Norwegian",)),
    # -- replace, English
    Case("Everywhere it says Acme, it should say Apex.", FIRM, ("replace",), (0, 1, 2), ("works at Apex",)),
    Case("Acme is now called Apex, please update all of it.", FIRM, ("replace",), (0, 1, 2), ("works at Apex",)),
    # -- forget, English
    Case("Pls forget what i told you about my ex", EX, ("forget",), (0,)),
    Case("Erase everything you know about my ex.", EXES, ("forget",), (0, 1)),
    Case("Stop remembering my phone number.", DETAILS, ("forget",), (0,)),
    Case("Please don't remember my birthday any more.", DETAILS, ("forget",), (1,)),
    Case("Can you delete the bit about my allergy to nuts?", ME, ("forget",), (3,)),
    Case("Forget where I live.", ME, ("forget",), (0,)),
    # -- confirm, English
    Case("Yep, that is correct.", ME, ("confirm",), (1,), (), ("Where do I work?", "You work at Acme.")),
    Case("you're right", FAMILY, ("confirm",), (3,), (), ("What colour is my car?", "Your car is red.")),
    # -- prefer, English
    Case("In the future, please reply in German.", ME, ("prefer",), (), ("German",)),
    Case("Please address me as Dr. Berg.", ME, ("prefer",), (), ("Berg",)),
    Case("Always give me sources.", ME, ("prefer",), (), ("sources",)),
    # -- nothing, English
    Case("Should I move to Bergen instead of Oslo?", ME),
    Case("Never forget where you come from, my dad says.", ME),
    Case("Never mind, forget I asked.", ME),
    Case("Suppose I lived in Bergen, not Oslo.", ME),
    Case('She wrote: "Delete my address."', DETAILS),
    Case("Can you forget things?", DETAILS),
    Case("Hmm, not sure about that.", ME, history=("Where do I live?", "You live in Oslo.")),
    Case("Thanks a lot.", ME, history=("Where do I live?", "You live in Oslo.")),
    Case("Forget everything.", ME),
    Case("He keeps forgetting my birthday.", DETAILS),
    Case("My sister wants me to call her Annie from now on.", FAMILY),
    # -- correct, Chinese
    Case("不，我住在广州，不在北京。", WO, ("correct",), (0,), ("广州",)),
    Case("不是北京，是深圳。", WO, ("correct",), (0,), ("深圳",), ("我住在哪里？", "您住在北京。")),
    Case("搞错了，我在百度工作。", WO, ("correct",), (1,), ("百度",), ("我在哪里工作？", "您在腾讯工作。")),
    Case("我妹妹住在杭州，不是上海。", JIA, ("correct",), (0,), ("杭州",)),
    Case("纠正一下，我有三个孩子，不是两个孩子。", JIA, ("correct",), (3,), ("三个孩子",)),
    Case("我的生日是5月13日，你记错了。", ZILIAO, ("correct",), (1,), ("5月13日",)),
    # -- supplement, Chinese
    Case("也请记住，我对海鲜过敏。", WO, ("supplement",), (), ("海鲜",)),
    Case("再补充一点，我有一只狗叫旺财。", WO, ("supplement",), (), ("旺财",)),
    Case("帮我记一下：车库密码是7788。", WO, ("supplement",), (), ("7788",)),
    Case("对了，我还会说日语。", WO, ("supplement",), (), ("日语",)),
    # -- replace, Chinese
    Case("将所有提到钉钉的地方都改为飞书。", GONGSI, ("replace",), (0, 1), ("飞书",)),
    # -- forget, Chinese
    Case("把我前女友的事都忘了吧。", QIAN, ("forget",), (0,)),
    Case("不要再记住我的手机号了。", ZILIAO, ("forget",), (0,)),
    Case("删掉关于我妹妹的记录。", JIA, ("forget",), (0,)),
    Case("请忘记我住在哪里。", WO, ("forget",), (0,)),
    Case("请从记忆里删掉我对花生过敏这一条", WO, ("forget",), (3,)),
    # -- confirm, Chinese
    Case("嗯，对的。", WO, ("confirm",), (2,), (), ("我喜欢喝什么？", "您喜欢喝咖啡。")),
    Case("没错，我的车是红色的。", JIA, ("confirm",), (2,)),
    # -- prefer, Chinese
    Case("以后称呼我王博士。", WO, ("prefer",), (), ("王博士",)),
    Case("请始终用中文回复。", WO, ("prefer",), (), ("中文",)),
    Case("往后别用那么多感叹号。", WO, ("prefer",), (), ("感叹号",)),
    # -- more, Chinese
    Case("不好意思说错了，我的猫叫团团。", JIA, ("correct",), (1,), ("团团",)),
    Case("是红色吗？不对，我的车是白色的，不是红色的。", JIA, ("correct",), (2,), ("白色",)),
    Case("请把北京改成天津，我搬家了。", WO, ("correct",), (0,), ("天津",)),
    Case("另外，我老婆喜欢喝茶，记一下。", WO, ("supplement",), (), ("茶",)),
    Case("忘记我打网球的事", ZILIAO, ("forget",), (3,)),
    Case("对对对，就是咪咪。", JIA, ("confirm",), (1,), (), ("我的猫叫什么？", "您的猫叫咪咪。")),
    Case("请不要忘记我住在北京。", WO, ("confirm",), (0,)),
    Case("老师说“从现在起用英文回答”。", WO),
    Case("把钉钉换成飞书会怎么样？", GONGSI),
    # -- nothing, Chinese
    Case("我该不该忘掉前女友？", QIAN),
    Case("假如我住在上海，不是北京呢？", WO),
    Case("他总是忘记我的生日。", ZILIAO),
    Case("忘掉一切吧。", WO),
    Case("谢谢你。", WO, history=("我住在哪里？", "您住在北京。")),
    Case("是深圳，不是成都。", WO),
    Case("你能忘记东西吗？", ZILIAO),
    Case("我妹妹让我以后叫她安妮。", JIA),
)  # fmt: skip
