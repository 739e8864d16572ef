"""Words that say nothing about what a text is about, per language, and the frame words of questions.

The lists are used together, whatever the language, so words that mean something in English (German "war", "die", "hat";
French "sous", "pour"; Spanish "sin") are left out of the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_ENGLISH = """
a an the this that these those it its i me my mine myself you your yours yourself he him his himself she her hers
herself we us our ours ourselves they them their theirs themselves itself yourselves one who whom whose which what
when where why how and or but nor so if then else than because while although though until unless whether as of at by
for with about into onto through before after above below to from up down in out on off over under again further once
here there all any both each few more most other some such no not only own same too very just also ever am is are was
were be been being do does did doing done have has had having will would shall should can could might must ought
cannot dont doesnt didnt isnt arent wasnt werent wont wouldnt shouldnt couldnt cant mustnt hasnt havent hadnt aint
neednt im ive youre youve youll youd hes shes theyre theyve theyll weve thats whats wheres whos theres heres lets let
s t d ll m re ve yes yeah ok okay oh hey hi hello um uh ah hmm well really quite rather still yet already much many
lot lots please thanks thank something anything nothing everything someone anyone everyone within without between
among during upon via per etc
"""
_CHINESE = """
的 了 是 在 我 你 他 她 它 们 这 那 有 和 与 及 或 也 都 就 不 吗 呢 吧 啊 呀 嘛 哦 嗯 着 过 地 得 把 被 给 对 从 到
让 很 还 又 再 我们 你们 他们 她们 它们 这个 那个 这些 那些 这里 那里 这样 那样 什么 怎么 怎样 哪里 哪个 哪些 哪儿 谁
多少 为什 什么 么时 时候 是否 可以 因为 所以 但是 如果 然后 或者 以及 而且 一个 一些 没有 不是 就是 还是 已经 非常
自己 咱们 您 咱 其 之 于 而 以 为 么 个
"""
_JAPANESE = """
の は を に が で と も へ や か ね よ です ます ました でし した して いる ある から まで など これ それ あれ この
その あの ここ そこ こと もの ため よう ない なに 何 どこ だれ いつ たち さん
"""
_KOREAN = """
은 는 을 를 의 에 와 과 도 에서 으로 로 하고 이것 그것 저것 여기 거기 저기 무엇 어디 누구 언제 나는 너는 우리 그리
하지 있다 있는 했다 입니 니다
"""
_GERMAN = """
der das dem des ein eine einer eines einem einen und oder aber ich du er sie es wir ihr mich dich sich uns euch mir
dir ihm mein meine dein deine sein seine ihre unser unsere nicht kein keine ist sind bist waren wird werden wurde
wurden habe haben hatte hatten kann konnen muss mussen soll sollen wollen mochte wenn weil dass als wie wo wer wem wen
welche welcher welches warum wann zu zum zur von vom mit nach bei aus auf unter vor durch gegen ohne um im ins auch
noch schon nur sehr hier dort dann denn doch mal ja nein dieser diese dieses jede jeder
"""
_FRENCH = """
le la les un une des du de et ou mais je tu il nous vous ils elles mon ma mes ta tes sa ses notre nos votre vos leur
leurs ce cet cette ces qui que quoi dont quel quelle quels quelles ne pas est suis es sont etait etaient ete etre as
avons avez ont avait avoir au aux en dans sur sous avec sans chez vers entre si quand pourquoi plus tres aussi bien
oui ici qu lui eux moi toi cela ca donc alors comme par
"""
_SPANISH = """
el los las una unos unas del al y o u pero yo tu ello nosotros vosotros ellos ellas mi mis tus su sus nuestro nuestra
que quien cual cuales donde cuando como cuanto porque si es eran fue fueron ser soy eres estar esta estan estoy estaba
ha han habia hemos con en por desde hasta sobre entre muy mas ya tambien este esto estos esas ese eso esos aquel lo le
les se nos me te
"""
_ITALIAN = """
il lo gli uno di da dal dalla dei delle della nel nella alla alle agli allo e ed ma io tu lui lei noi voi loro mio
miei tuo tua suo sua che chi cui quale quali quando perche sono sei siamo siete erano essere ho hai abbiamo hanno
aveva avere con tra fra piu molto anche questo questa questi queste quello quella non ci vi si
"""
_PORTUGUESE = """
um uma uns umas dos das ao aos na nos pelo pela pelos e ou mas eu ele ela eles elas voce voces meu minha meus minhas
seu sua seus suas nosso nossa que quem qual quais onde quando porque sao foi foram eram estou esta estao tem tinha com
sem sobre entre muito mais ja tambem isto isso este essa esse nao sim em
"""
_DUTCH = """
de het een en of maar ik jij je hij zij ze wij jullie mijn jouw zijn haar onze ons deze dat wie wat waar wanneer
waarom niet geen is waren wordt worden heb hebt heeft hebben hadden kan kunnen moet moeten zal zullen zou zouden voor
met naar bij uit op aan tegen zonder onder tussen te er ook nog wel al als omdat ja nee
"""
_RUSSIAN = """
и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее мне было вот от меня еще нет
о из ему теперь когда даже ну ли если уже или ни быть был него до вас опять вам ведь там потом себя ничего ей может
они тут где есть надо ней для мы тебя их чем была сам чтоб без будто чего раз тоже себе под будет тогда кто этот того
потому этого какой совсем ним здесь этом один почти мой тем чтобы нее были куда зачем всех при об хоть над эту моя это
эти мои твой наш ваш
"""

STOPWORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "en": frozenset(_ENGLISH.split()),
        "zh": frozenset(_CHINESE.split()),
        "ja": frozenset(_JAPANESE.split()),
        "ko": frozenset(_KOREAN.split()),
        "de": frozenset(_GERMAN.split()),
        "fr": frozenset(_FRENCH.split()),
        "es": frozenset(_SPANISH.split()),
        "it": frozenset(_ITALIAN.split()),
        "pt": frozenset(_PORTUGUESE.split()),
        "nl": frozenset(_DUTCH.split()),
        "ru": frozenset(_RUSSIAN.split()),
    }
)
STOP: frozenset[str] = frozenset().union(*STOPWORDS.values())

# Words a question is wrapped in ("can you tell me what I said about …"). Not stop words: a text may be about them.
_FRAME = """
tell say said says mention mentioned describe explain remind remember recall know ask asked talk talked discuss
discussed share shared give list show find according conversation chat message memory question answer suggest happen
happened 告诉 说过 提到 提过 记得 记住 知道 讨论 聊过 聊到 问过 说了
"""
FRAME: frozenset[str] = frozenset(_FRAME.split())
