"""The score that a comment on an outcome says, in its words, its marks ("8/10", "4 stars") or its signs. English and Chinese."""

from __future__ import annotations

import re

from memos.evolution.directives import opinion_words as w
from memos.evolution.directives.directives import directives_of

_MARK = re.compile(r"(?<![\d.])(\d{1,3}(?:\.\d{1,2})?)\s*(?:/|out of|分?（?满分)\s*(\d{1,3})(?![\d.%/])", re.IGNORECASE)
_STARS = re.compile(r"(?<![\d.])([0-5](?:\.\d)?)\s*(?:stars?\b|星|颗星)|([★⭐]{1,5})[☆]{0,4}", re.IGNORECASE)
_UP, _DOWN = re.compile(r"👍|💯|🎉|✅|😀|😊|😍|🙏|❤"), re.compile(r"👎|❌|😡|😠|🤦|💩|☹|😞")
_LEVELS: tuple[tuple[float, re.Pattern[str]], ...] = (
    (-0.7, w.UNABLE),
    (0.7, w.GONE),
    (-0.8, w.HARMED),
    *((score, re.compile(pattern, re.IGNORECASE)) for score, pattern in (
        (
            -0.9,
            r"\b(?:terrible|horrible|awful|useless|disaster|disastrous|worst|garbage|catastroph\w+|rubbish"
            r"|unacceptable|made it worse)\b"
            r"|糟糕透|太差|很差|极差|垃圾|没有?一点用|毫无用处|一塌糊涂|太烂|很烂|灾难|更糟",
        ),
        (
            0.95,
            r"\b(?:perfect(?:ly)?|excellent|awesome|amazing|outstanding|flawless(?:ly)?|brilliant|fantastic|superb"
            r"|wonderful|exactly what"
            r"|spot on|love it)\b|完美|太棒|太好了|非常好|非常棒|优秀|极好|好极了|正是我|一流|满分",
        ),
        (
            -0.7,
            r"\b(?:wrong|fail(?:s|ed|ure|ing)?|bad(?:ly)?|broken|broke|incorrect|(?:does|did|do|is|was|has|could|can"
            r"|would)(?:n't| not) (?:\w+ ){0,2}?(?:work\w*|fix\w*|help\w*"
            r"|solve\w*|right|correct|done|finish\w*|complete\w*|run|succeed|answer\w*)|not (?:working|fixed|solved"
            r"|done|what|correct|right|finished|resolved)|crash\w*"
            r"|error|errors|bug|buggy|lost|deleted my|rejected|disappoint\w*|poor|unusable|no good)\b"
            r"|不好(?!意思)|错了?|错误|失败|不对|不行|没用|没(?:有)?(?:解决|完成|成功|修好|做完|通过|达到|按)|不能用"
            r"|不好用|坏了|报错|崩溃|差劲|失望|不满意|答非所问|不是我(?:想)?要",
        ),
        (
            0.7,
            r"\b(?:good|great|nice(?:ly)?|works?|worked|working|correct(?:ly)?|right|solved|fixed|success(?:ful"
            r"|fully)?|succeed(?:ed|s)?|passed|passes|done"
            r"|well|helpful|helped|useful|thanks|thank you|happy|satisfied|resolved|lgtm|approved|merged|cool|yes)\b"
            r"|不错|很好|挺好|好用|成功|解决了|搞定|正确|对了|可以了|通过|满意|有用|有帮助|谢谢|感谢|赞|完成了|修好了"
            r"|做得好|干得好|没问题|没毛病|^\s*好[的了]?(?=\s*$|[，。！,.!])",
        ),
        (
            -0.3,
            r"\b(?:meh|slow(?:ly)?|too (?:long|slow|many|much|verbose|short|complicated)|could (?:be|have been) better"
            r"|room for improvement|mediocre|incomplete"
            r"|partial(?:ly)?|almost|missing|missed|forgot|not (?:great|ideal|perfect|quite)|unnecessar\w+|confusing|messy)\b"
            r"|一般|太慢|有点慢|太长|太啰嗦|还差|差一点|不够|部分|不太|不完整|漏了|忘了|有待|还可以更好|马马虎虎|凑合",
        ),
        (0.3, r"\b(?:ok|okay|fine|acceptable|decent|alright|so[- ]so|passable|not bad|good enough|fair)\b|还行|还可以"
            r"|可以|凑合能用|马虎可以|差强人意|过得去|还好"),
    ))
)  # fmt: skip
_NOT = re.compile(
    r"(?:\bnot|n't|\bnever|\bno|\bhardly|\bwithout|\bfar from|\bneither)\s+(?:(?:a|an|the|any|so|very|really|that|all"
    r"|too|at all|at)\s+){0,2}$"
    r"|(?:不|没|没有|并非|并不|不太|不是很|不怎么|毫无)(?:是|太|很|够|算|那么)?$",
    re.IGNORECASE,
)
_BUT = re.compile(r"\b(?:but|however|although|though|except|yet)\b|但是?|可是|不过|然而|只是|就是", re.IGNORECASE)
_AFTER_BUT = 1.5  # how much more what comes after a "but" counts


def read_opinion(comment: str) -> float | None:
    """The score a comment says, in [-1, 1]; None where it says none. What is to be done from now on is no verdict."""
    text = _without_orders(comment[:4_000])
    for found in _MARK.finditer(text):
        given, most = float(found[1]), float(found[2])
        if most in (5, 10, 20, 100) and given <= most:
            return round(2 * given / most - 1, 4)
    stars = _STARS.search(text)
    if stars is not None:
        count = float(stars[1]) if stars[1] else float(len(stars[2]))
        return round(2 * (count - 1) / 4 - 1, 4) if count >= 1 else -1.0
    sides = _BUT.split(text, maxsplit=1)
    scored = [(s, 1.0 if n == 0 else _AFTER_BUT) for n, side in enumerate(sides) for s in _scores(side)]
    if not scored:
        return None
    return round(max(-1.0, min(1.0, sum(s * w for s, w in scored) / sum(w for _, w in scored))), 4)


def _without_orders(text: str) -> str:
    for one in reversed(directives_of(text)):
        if not w.GONE.search(one.text):  # "no more errors" is none
            text = f"{text[: one.start]} {text[one.end :]}"
    return w.ORDER.sub(" ", text)


def _scores(text: str) -> list[float]:
    """The scores of the words of a text; a word within a longer one that was read counts no more."""
    out = [0.8] * len(_UP.findall(text)) + [-0.8] * len(_DOWN.findall(text))
    taken = bytearray(len(text))
    for score, pattern in sorted(_LEVELS, key=lambda level: "not bad" not in level[1].pattern):
        for found in pattern.finditer(text):
            start, end = found.span()
            if any(taken[start:end]):
                continue
            taken[start:end] = b"\x01" * (end - start)
            if not _NOT.search(text[max(0, start - 24) : start]):
                out.append(score)
            elif score > 0:
                out.append(-0.6 * score - 0.1)
            else:
                out.append(0.4)
    return out
