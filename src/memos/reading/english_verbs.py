"""English patterns as data: what each verb says about its subject, and the inflected forms it is found under.

The first rule of a verb that finds its value wins. Read by `english_reader`; nothing here acts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from memos.memory.model import Kind
from memos.reading.english import DIETS, INSTRUMENTS, PETS, SPORTS
from memos.reading.patterns import NOW, PAST, PERFECT, PRESENT, PROGRESSIVE, VerbRule
from memos.text.lazy import LazyPattern


def _lead(pattern: str) -> LazyPattern:
    return LazyPattern(pattern, re.IGNORECASE)


_HERE = r"(?:(?:here|there|alone|together|now|currently|right now|both) )*"
_WITH = r"(?:with (?:my|our|his|her|their) [\w' -]{2,30}? )?"
_MOVED = (
    r"(?:(?:back|over|out|here|house|away|all the way|again|just|recently|permanently|together|home|in) )*"
    r"(?:from [\w' ,]{2,30}? )?"
)
_GONE = (
    r"(?:fired|laid off|let go|made redundant|sacked) (?:by|from) (?:my (?:job|position|role) (?:at|with) )?(?:the )?"
)
_MY_JOB = r"(?:my |the )?(?:old )?(?:job|position|role|post)"
_ANY = frozenset({PRESENT, PROGRESSIVE, PERFECT, PAST})
_HISTORY = frozenset({PAST, PERFECT})
_P = frozenset({PRESENT})
_SINCE = frozenset({PRESENT, PERFECT})  # "I've been vegan since 2019"
_LIKE = (VerbRule(_lead(r""), "liked", "likes", "like {v}", Kind.PREFERENCE, tenses=_P, opposite="dislikes", we=False),)
_HAVE_LOVED = VerbRule(
    _lead(r""),
    "liked",
    "likes",
    "like {v}",
    Kind.PREFERENCE,
    tenses=frozenset({PERFECT}),
    confidence=0.75,
    historic=True,
)
# "I loved “The Sea Wolf”" tells of a liking: a work is not over like a stay.
_WORK = VerbRule(
    _lead(
        r"(?:(?:reading|watching|seeing|playing|the (?:book|film|movie|novel|song|show|series|game)) )?[\"“](?=[A-Z])"
    ),
    "title",
    "likes",
    "like {v}",
    Kind.PREFERENCE,
    tenses=frozenset({PAST}),
    confidence=0.75,
    historic=True,
)
_DISLIKE = (VerbRule(_lead(r""), "liked", "dislikes", "dislike {v}", Kind.PREFERENCE, tenses=_P, polarity="-"),)
_AT = r"(?:(?:full[- ]time|part[- ]time|remotely|currently|now|right now|from home|on \w+) )*"
_AS = r"(?:as (?:an? |the )?[\w /-]{2,40}? )?"
_NEW = r"(?:(?:a|an|the|my|our|this|some|new|brand[- ]new|used|second-hand|old|cute|little|rescue|adorable|sweet) )*"
# "named Mia", and just ", Mia and Leo" where nothing else follows.
_CALLED = (
    r"(?:,? (?:called|named) |(?:,|:| [–-]) (?=(?-i:[A-Z][\w'’-]+)(?:,? (?:and|&) (?-i:[A-Z][\w'’-]+)"
    r"|, (?-i:[A-Z][\w'’-]+),? (?:and|&) (?-i:[A-Z][\w'’-]+))?\s*(?:[.!]|$)))"
)
_PET_NAMES = (
    rf"(?:(?:an?|the|this|two|three|another|{_NEW}) ?)*(?:[\w-]+ ){{0,2}}?(?:{'|'.join(sorted(PETS))}|dogs"
    rf"|cats|kittens|puppies|guinea pigs?)"
    r",? (?:(?:who is |who's |that is |that we |we |and (?:I|we) |I )?(?:called|named|call|name|calling)(?:"
    r" (?:it|him|her|them))?) "
)

_SOLD = VerbRule(
    _lead(r"(?:in )?(?:my|our) (?:old )?"), "device", "", "have {v}", Kind.FACT, tenses=_HISTORY, ends=True, we=True
)

VERBS: Mapping[str, tuple[VerbRule, ...]] = {
    "live": (
        VerbRule(
            _lead(rf"{_HERE}{_WITH}{_HERE}in (?:the (?:(?:city|town|village|suburbs?) of )?)?"),
            "place",
            "home",
            "live in {v}",
            Kind.PROFILE,
            single=True,
            confidence=0.95,
            we=True,
            starts=True,
        ),
        VerbRule(
            _lead(rf"{_HERE}(?:at|in|on) "),
            "address",
            "home",
            "live in {v}",
            Kind.PROFILE,
            single=True,
            confidence=0.9,
            we=True,
        ),
    ),
    "reside": (VerbRule(_lead(r"in "), "place", "home", "live in {v}", Kind.PROFILE, single=True, we=True),),
    "move": (
        VerbRule(
            _lead(rf"{_MOVED}to "),
            "address",
            "home",
            "live in {v}",
            Kind.PROFILE,
            single=True,
            tenses=_HISTORY,
            historic=True,
            starts=True,
            we=True,
        ),
        VerbRule(
            _lead(
                rf"{_MOVED}(?:in)?to (?:the|an?|our|my|this) (?:new |own |little |small |bigger )?"
                r"(?:flat|apartment|house|place|home|condo|studio|cottage) in "
            ),
            "place",
            "home",
            "live in {v}",
            Kind.PROFILE,
            single=True,
            confidence=0.9,
            tenses=_HISTORY,
            historic=True,
            starts=True,
            we=True,
        ),
        VerbRule(
            _lead(rf"{_MOVED}to (?:the )?(?:city of )?"),
            "place",
            "home",
            "live in {v}",
            Kind.PROFILE,
            single=True,
            confidence=0.9,
            tenses=_HISTORY,
            historic=True,
            starts=True,
            we=True,
        ),
        VerbRule(
            _lead(
                r"(?:(?:away|out|here|over|back|all the way|recently) )*(?:to [A-Z][\w' ,]{2,30}? )?(?:from|of|out of) "
            ),
            "known_place",
            "home",
            "live in {v}",
            Kind.PROFILE,
            confidence=0.8,
            tenses=_HISTORY,
            ends=True,
            we=True,
        ),
    ),
    "relocate": (
        VerbRule(
            _lead(r"(?:from [\w' ,]{2,30}? )?to "),
            "place",
            "home",
            "live in {v}",
            Kind.PROFILE,
            single=True,
            tenses=_HISTORY,
            historic=True,
            starts=True,
            we=True,
        ),
    ),
    "settle": (
        VerbRule(
            _lead(r"(?:down )?in "),
            "place",
            "home",
            "live in {v}",
            Kind.PROFILE,
            single=True,
            confidence=0.8,
            tenses=_HISTORY,
            historic=True,
            starts=True,
            we=True,
        ),
    ),
    "grow": (
        VerbRule(
            _lead(r"up (?:in|near|on) (?:the )?"),
            "place",
            "hometown",
            "grow up in {v}",
            Kind.PROFILE,
            tenses=_HISTORY,
            historic=True,
            sure_past=True,
        ),
    ),
    "work": (
        VerbRule(
            _lead(rf"{_AT}{_AS}{_AT}(?:at|for|with) (?:the )?"),
            "organisation",
            "employer",
            "work at {v}",
            Kind.PROFILE,
            single=True,
            starts=True,
            confidence=0.92,
        ),
        VerbRule(
            _lead(rf"{_AT}as (?:an? |the )?"), "job", "job", "work as {v}", Kind.PROFILE, single=True, starts=True
        ),
    ),
    "intern": (VerbRule(_lead(r"(?:at|for|with) "), "organisation", "employer", "intern at {v}", Kind.PROFILE),),
    "volunteer": (
        VerbRule(
            _lead(r"(?:\w+ )?(?:at|for|with) (?:the |a |an )?"),
            "place_of_help",
            "volunteers at",
            "volunteer at {v}",
            Kind.FACT,
            confidence=0.85,
            tenses=NOW | {PERFECT},
        ),
    ),
    "join": (
        VerbRule(
            _lead(r""),
            "organisation",
            "employer",
            "work at {v}",
            Kind.PROFILE,
            single=True,
            confidence=0.7,
            tenses=_HISTORY,
            historic=True,
            starts=True,
        ),
    ),
    "start": (
        VerbRule(
            _lead(
                rf"(?:working |my new job |a new job |a job |my job |my new role |a new role ){_AS}(?:at|with|for) (?:the )?"
            ),
            "organisation",
            "employer",
            "work at {v}",
            Kind.PROFILE,
            single=True,
            tenses=_HISTORY,
            historic=True,
            starts=True,
        ),
        VerbRule(
            _lead(r"(?:working |a new job |a job |my new job )as (?:an? |the )?"),
            "job",
            "job",
            "work as {v}",
            Kind.PROFILE,
            single=True,
            tenses=_HISTORY,
            historic=True,
            starts=True,
        ),
    ),
    "quit": (
        VerbRule(
            _lead(r"(?:my |the )?(?:job|work|position|role) (?:at|with|in|as) (?:the |an? )?"),
            "organisation",
            "employer",
            "work at {v}",
            Kind.PROFILE,
            tenses=_HISTORY,
            ends=True,
        ),
        VerbRule(
            _lead(r"working (?:at|for) (?:the )?"),
            "organisation",
            "employer",
            "work at {v}",
            Kind.PROFILE,
            tenses=_HISTORY,
            ends=True,
        ),
    ),
    "stop": (
        VerbRule(
            _lead(r"working (?:at|for) (?:the )?"),
            "organisation",
            "employer",
            "work at {v}",
            Kind.PROFILE,
            tenses=_HISTORY,
            ends=True,
        ),
    ),
    "resign": (
        VerbRule(
            _lead(rf"from (?:{_MY_JOB} (?:at|with) )?(?:the )?"),
            "organisation",
            "employer",
            "work at {v}",
            Kind.PROFILE,
            tenses=_HISTORY,
            ends=True,
        ),
    ),
    "leave": (
        VerbRule(
            _lead(r"(?:my |the )?(?:old )?(?:job|position|role|post) (?:at|with) (?:the )?"),
            "organisation",
            "employer",
            "work at {v}",
            Kind.PROFILE,
            tenses=_HISTORY,
            ends=True,
        ),
        VerbRule(
            _lead(r""),
            "organisation",
            "employer",
            "work at {v}",
            Kind.PROFILE,
            tenses=_HISTORY,
            ends=True,
            confidence=0.75,
        ),
    ),
    "lose": (
        VerbRule(
            _lead(r"(?:my |the )(?:old )?(?:job|position|role) (?:at|with) (?:the )?"),
            "organisation",
            "employer",
            "work at {v}",
            Kind.PROFILE,
            tenses=_HISTORY,
            ends=True,
        ),
    ),
    "retire": (
        VerbRule(
            _lead(r"from (?:my job (?:at|with) )?(?:the )?"),
            "organisation",
            "employer",
            "work at {v}",
            Kind.PROFILE,
            tenses=_HISTORY,
            ends=True,
        ),
    ),
    "study": (
        VerbRule(
            _lead(r"(?:[\w ]{2,30}? )?(?:at|in) (?:the )?"),
            "school",
            "school",
            "study at {v}",
            Kind.PROFILE,
            single=True,
            starts=True,
        ),
        VerbRule(_lead(r""), "subject", "field of study", "study {v}", Kind.PROFILE, tenses=NOW, confidence=0.85),
    ),
    "attend": (
        VerbRule(
            _lead(r"(?:the )?"),
            "school",
            "school",
            "attend {v}",
            Kind.PROFILE,
            single=True,
            starts=True,
            confidence=0.8,
            tenses=frozenset({PRESENT}),
        ),
    ),
    "go": (
        VerbRule(
            _lead(r"to (?:the )?"),
            "school",
            "school",
            "go to {v}",
            Kind.PROFILE,
            single=True,
            confidence=0.8,
            tenses=_P,
        ),
        VerbRule(
            _lead(r"by (?:the name (?:of )?)?"),
            "name",
            "name",
            "go by {v}",
            Kind.PROFILE,
            single=True,
            tenses=_P,
            kin=False,
        ),
    ),
    "graduate": (
        VerbRule(
            _lead(r"(?:\w+ )?from (?:the )?"),
            "school",
            "graduated from",
            "graduate from {v}",
            Kind.PROFILE,
            tenses=_HISTORY,
            historic=True,
            sure_past=True,
        ),
    ),
    "speak": (
        VerbRule(
            _lead(r"(?:fluent |some |a bit of |a little |good |basic |native |both |decent )?"),
            "languages",
            "language",
            "speak {v}",
            Kind.PROFILE,
            tenses=_P,
        ),
    ),
    "learn": (
        VerbRule(
            _lead(r"(?:to speak |how to speak |some )?"),
            "languages",
            "learning",
            "be learning {v}",
            Kind.FACT,
            tenses=frozenset({PROGRESSIVE}),
        ),
    ),
    "have": (
        VerbRule(
            _lead(r"(?:always )?(?:an?|this|such a) (?:\w+ ){0,2}(?:love|passion|fondness|soft spot|weakness) for "),
            "liked",
            "likes",
            "like {v}",
            Kind.PREFERENCE,
            tenses=frozenset({PRESENT, PERFECT}),
            historic=True,
        ),
        VerbRule(
            _lead(
                r"(?=(?:lots of|a lot of|tons of|loads of|plenty of|many|a (?:huge |big |large |small |nice )?collection of)"
                r" (?:[\w'’]+ ){0,2}?(?:books|records|plants|comics|games|stamps|coins|vinyls?|films|movies|figurines|paintings"
                r"|dolls|cameras|guitars|instruments|toys|shoes)\b)"
            ),
            "thing",
            "owns",
            "have {v}",
            tenses=_P,
            we=True,
            confidence=0.75,
        ),
        VerbRule(_lead(_PET_NAMES), "names", "pet", "have a pet named {v}", Kind.PROFILE, tenses=_ANY, we=True),
        VerbRule(
            _lead(
                r"(?:an? |one |two |three |\d )?(?:\w+ )?(?:sons?|daughters?|kids?|child|children|boys?"
                rf"|girls?|baby|twins){_CALLED}"
            ),
            "names",
            "child",
            "have a child named {v}",
            Kind.PROFILE,
            tenses=_P,
            we=True,
        ),
        VerbRule(
            _lead(rf"(?:an? )?(?:\w+ )?(?:brother|sister){_CALLED}"),
            "names",
            "sibling",
            "have a sibling named {v}",
            Kind.PROFILE,
            tenses=_P,
        ),
        VerbRule(
            _lead(r"(?:an? )?(?:\w+ )?(?:friend|buddy),? (?:called|named) "),
            "names",
            "friend",
            "have a friend named {v}",
            Kind.PROFILE,
            tenses=_P,
        ),
        VerbRule(
            _lead(r"a (?:new )?(?:boss|manager|supervisor)(?: now)?,? (?:(?:who is )?(?:called|named) )?"),
            "name",
            "boss",
            "have a boss named {v}",
            Kind.PROFILE,
            single=True,
            tenses=_P,
        ),
        VerbRule(_lead(r""), "counted_kin", "", "have {v}", Kind.PROFILE, tenses=_P, confidence=0.85, we=True),
        VerbRule(
            _lead(r"(?:an? )?(?:severe |bad |mild |serious |strong )?allerg(?:y|ies) to "),
            "list",
            "allergy",
            "be allergic to {v}",
            Kind.PROFILE,
            confidence=0.95,
            tenses=_P,
        ),
        VerbRule(
            _lead(r"(?:an? )?(?:severe |bad |mild |serious |strong |nasty )?(?=[\w ]+? allerg(?:y|ies)\b)"),
            "before_allergy",
            "allergy",
            "be allergic to {v}",
            Kind.PROFILE,
            confidence=0.92,
            tenses=_P,
        ),
        VerbRule(
            _lead(r"(?:type [12] |mild |severe |chronic |bad )?"),
            "condition",
            "condition",
            "have {v}",
            Kind.PROFILE,
            tenses=_P,
        ),
        VerbRule(_lead(_NEW), "device", "", "have {v}", Kind.FACT, tenses=_P, confidence=0.8, we=True),
        VerbRule(
            _lead(r"a (?:new )?(?:job|position|role) (?:at|with) (?:the )?"),
            "organisation",
            "employer",
            "work at {v}",
            Kind.PROFILE,
            single=True,
            tenses=_P,
            confidence=0.8,
        ),
        *(
            VerbRule(
                _lead(rf"(?:a|our|my) new (?:{noun})(?: now)?(?:[,:]| -)? (?:it['’]s |it is )?"),
                take,
                take if take != "address" else "home",
                say,
                Kind.PROFILE,
                single=True,
                tenses=_P,
                we=True,
            )
            for noun, take, say in (
                ("(?:home )?address", "address", "live in {v}"),
                ("e-?mail(?: address)?", "email", "have the email {v}"),
                ("(?:phone |mobile |cell )?number|phone", "phone", "have the phone number {v}"),
            )
        ),
    ),
    "get": (
        VerbRule(
            _lead(_PET_NAMES),
            "names",
            "pet",
            "have a pet named {v}",
            Kind.PROFILE,
            tenses=_HISTORY,
            historic=True,
            starts=True,
            we=True,
        ),
        VerbRule(
            _lead(r"(?:me |myself |ourselves |us )?(?:a |an |my |our )(?:brand[- ])?new "),
            "device",
            "",
            "have {v}",
            Kind.FACT,
            tenses=_HISTORY,
            historic=True,
            starts=True,
            confidence=0.8,
            we=True,
        ),
        VerbRule(
            _lead(r"(?:a |the |my )?(?:new )?(?:job|position|role) (?:at|with) (?:the )?"),
            "organisation",
            "employer",
            "work at {v}",
            Kind.PROFILE,
            single=True,
            tenses=_HISTORY,
            historic=True,
            starts=True,
            confidence=0.8,
        ),
        VerbRule(
            _lead(_GONE),
            "organisation",
            "employer",
            "work at {v}",
            Kind.PROFILE,
            tenses=_HISTORY,
            ends=True,
        ),
        VerbRule(
            _lead(r"(?=(?:married|engaged|divorced)\b(?! (?:couple|people)))"),
            "word",
            "marital status",
            "be {v}",
            Kind.PROFILE,
            single=True,
            tenses=_HISTORY,
            historic=True,
            starts=True,
            we=True,
        ),
        VerbRule(
            _lead(r"promoted to (?:an? |the )?"),
            "job",
            "job",
            "be {v}",
            Kind.PROFILE,
            single=True,
            tenses=_HISTORY,
            historic=True,
            starts=True,
        ),
    ),
    "adopt": (
        VerbRule(
            _lead(_PET_NAMES),
            "names",
            "pet",
            "have a pet named {v}",
            Kind.PROFILE,
            tenses=_HISTORY,
            historic=True,
            starts=True,
            we=True,
        ),
    ),
    "buy": (
        VerbRule(
            _lead(
                r"(?:me |myself |us |ourselves )?(?:a |an |my |our |the )?(?:first |brand[- ])?(?:new |used "
                r"|second-hand )?"
            ),
            "device",
            "",
            "have {v}",
            Kind.FACT,
            tenses=_HISTORY,
            historic=True,
            starts=True,
            confidence=0.8,
            we=True,
        ),
    ),
    "own": (
        VerbRule(
            _lead(r"(?=(?:a|an|two|three|four|five|some|\d+)\b)"),
            "thing",
            "owns",
            "own {v}",
            Kind.FACT,
            tenses=_P,
            we=True,
        ),
    ),
    "drive": (
        VerbRule(
            _lead(r"(?:a|an|my) (?:\d{4} )?(?:old |new |blue |red |white |black |silver |electric )?"),
            "device",
            "vehicle",
            "drive {v}",
            Kind.FACT,
            tenses=NOW,
        ),
    ),
    "sell": (_SOLD,),
    "trade": (_SOLD,),
    "crash": (_SOLD,),
    "total": (_SOLD,),
    "use": (VerbRule(_lead(r"(?:an? |the )?"), "product", "uses", "use {v}", Kind.FACT, tenses=_P, confidence=0.8),),
    "eat": (VerbRule(_lead(r""), "food", "eats", "eat {v}", Kind.PREFERENCE, tenses=_P, confidence=0.85),),
    "drink": (VerbRule(_lead(r""), "food", "drinks", "drink {v}", Kind.PREFERENCE, tenses=_P, confidence=0.85),),
    "play": (
        VerbRule(
            _lead(rf"(?=(?:the )?(?:{INSTRUMENTS}|{SPORTS})\b)(?:the )?"),
            "word2",
            "plays",
            "play {v}",
            Kind.FACT,
            tenses=_P | {PROGRESSIVE},
        ),
    ),
    "like": _LIKE,
    "love": (*_LIKE, _HAVE_LOVED, _WORK),
    "enjoy": (*_LIKE, _HAVE_LOVED, _WORK),
    "adore": _LIKE,
    "hate": _DISLIKE,
    "dislike": _DISLIKE,
    "despise": _DISLIKE,
    "loathe": _DISLIKE,
    "detest": _DISLIKE,
    "can't stand": _DISLIKE,
    "prefer": (VerbRule(_lead(r""), "preferred", "prefers", "prefer {v}", Kind.PREFERENCE, tenses=_P),),
    "can eat": (VerbRule(_lead(r""), "food", "can eat", "can eat {v}", Kind.PROFILE, tenses=_P, confidence=0.85),),
    "can have": (
        VerbRule(_lead(r"(?:any )?"), "food", "can eat", "can eat {v}", Kind.PROFILE, tenses=_P, confidence=0.75),
    ),
    "can drink": (
        VerbRule(_lead(r""), "food", "can drink", "can drink {v}", Kind.PROFILE, tenses=_P, confidence=0.85),
    ),
    "can speak": (
        VerbRule(
            _lead(r"(?:fluent |some |a bit of |a little |good |basic |both )?"),
            "languages",
            "language",
            "speak {v}",
            Kind.PROFILE,
            tenses=_P,
        ),
    ),
    "can play": (
        VerbRule(
            _lead(rf"(?=(?:the )?(?:{INSTRUMENTS}|{SPORTS})\b)(?:the )?"),
            "word2",
            "plays",
            "play {v}",
            Kind.FACT,
            tenses=_P,
        ),
    ),
    "turn": (
        VerbRule(
            _lead(r"(?=\d{1,3}\b|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty)\b)"),
            "age",
            "age",
            "be {v}",
            Kind.PROFILE,
            single=True,
            tenses=_HISTORY,
            historic=True,
            starts=True,
        ),
    ),
    "marry": (
        VerbRule(
            _lead(r"(?:my [\w ]{2,20}? )?"),
            "name",
            "spouse",
            "be married to {v}",
            Kind.PROFILE,
            single=True,
            tenses=_HISTORY,
            historic=True,
            starts=True,
        ),
    ),
    "be": (
        VerbRule(
            _lead(r"(?:only |just |once )*to (?:the )?"),
            "place",
            "visited",
            "visit {v}",
            tenses=frozenset({PERFECT}),
            confidence=0.85,
            historic=True,
            sure_past=True,
            starts=True,
            we=True,
        ),
        VerbRule(
            _lead(_GONE),
            "organisation",
            "employer",
            "work at {v}",
            Kind.PROFILE,
            tenses=_HISTORY,
            ends=True,
        ),
        VerbRule(
            _lead(rf"{_HERE}(?:based|located|living) (?:out of |in )(?:the )?"),
            "place",
            "home",
            "live in {v}",
            Kind.PROFILE,
            single=True,
            we=True,
            starts=True,
        ),
        VerbRule(
            _lead(r"(?:originally |actually )?from (?:the )?"),
            "place",
            "hometown",
            "be from {v}",
            Kind.PROFILE,
            tenses=_P,
        ),
        VerbRule(
            _lead(r"born (?:and (?:raised|bred) )?in (?:the )?"),
            "place",
            "birthplace",
            "be born in {v}",
            Kind.PROFILE,
            single=True,
            tenses=_HISTORY,
            historic=True,
            sure_past=True,
        ),
        VerbRule(
            _lead(r"born (?:on|in) "),
            "date",
            "birthday",
            "be born on {v}",
            Kind.PROFILE,
            single=True,
            tenses=_HISTORY,
            historic=True,
            sure_past=True,
        ),
        VerbRule(
            _lead(r"(?:\w+ly |deathly |very |really |quite |also |highly )?allergic to "),
            "list",
            "allergy",
            "be allergic to {v}",
            Kind.PROFILE,
            confidence=0.97,
            tenses=_SINCE,
        ),
        VerbRule(
            _lead(
                rf"(?:an? |strictly |a strict )?(?=(?:{DIETS})\b(?! (?:restaurant|place|food|dish|recipe"
                rf"|option|meal|cook|chef)))"
            ),
            "diet",
            "diet",
            "be {v}",
            Kind.PROFILE,
            tenses=_SINCE,
        ),
        VerbRule(
            _lead(r"(?:happily |newly |recently |now |already )*(?:married|engaged) to "),
            "name",
            "spouse",
            "be married to {v}",
            Kind.PROFILE,
            single=True,
            tenses=_P,
        ),
        VerbRule(
            _lead(
                r"(?:happily |newly |recently |now |already |currently )*(?=(?:married|divorced|engaged"
                r"|widowed)\b(?! (?:to|in|with)\b))"
            ),
            "word",
            "marital status",
            "be {v}",
            Kind.PROFILE,
            single=True,
            tenses=_P,
        ),
        VerbRule(
            _lead(r"(?:an? )?(?=(?:widow|widower)\b)"),
            "word",
            "marital status",
            "be a {v}",
            Kind.PROFILE,
            single=True,
            tenses=_P,
        ),
        VerbRule(
            _lead(r"(?:currently |now )?(?=single\s*(?:$|[.,!;]| (?:and|now|again|but)\b))"),
            "word",
            "marital status",
            "be {v}",
            Kind.PROFILE,
            single=True,
            tenses=_P,
        ),
        VerbRule(
            _lead(r"(?:now |already |only |almost )?"), "age", "age", "be {v}", Kind.PROFILE, single=True, tenses=_P
        ),
        VerbRule(
            _lead(r"(?:currently |now |also |actually )?(?=(?:retired|self-employed|unemployed|between jobs)\b)"),
            "word2",
            "job",
            "be {v}",
            Kind.PROFILE,
            single=True,
            tenses=_P,
        ),
        VerbRule(
            _lead(
                r"(?:currently |now |also |actually |just )?(?:an? |the )?(?:\w+ )?(?:student|senior|junior"
                r"|freshman|sophomore) (?:at|in) (?:the )?"
            ),
            "school",
            "school",
            "study at {v}",
            Kind.PROFILE,
            single=True,
            tenses=_ANY - {PROGRESSIVE},
        ),
        VerbRule(
            _lead(r"(?:currently |now |also |actually )?(?:an? |the )[\w -]{2,40}? (?:at|for|with) (?:the )?"),
            "organisation",
            "employer",
            "work at {v}",
            Kind.PROFILE,
            single=True,
            tenses=_ANY - {PROGRESSIVE},
            confidence=0.85,
        ),
        VerbRule(
            _lead(r"(?:currently |now |also |actually )?(?:an? |the )"),
            "job",
            "job",
            "be {v}",
            Kind.PROFILE,
            single=True,
            tenses=_ANY - {PROGRESSIVE},
            confidence=0.9,
        ),
        VerbRule(
            _lead(r"(?:called|named) "),
            "name",
            "name",
            "be called {v}",
            Kind.PROFILE,
            single=True,
            tenses=_P,
            kin=False,
        ),
        VerbRule(
            _lead(
                r"(?:such )?(?:an? )?(?:really |very |also |super |totally |so |huge |big |massive |great"
                r" )*(?:into|fond of|keen on|crazy about|obsessed with|passionate about|addicted to|fan of"
                r"|fans of|lover of) "
            ),
            "liked",
            "likes",
            "like {v}",
            Kind.PREFERENCE,
            tenses=_P,
            opposite="dislikes",
        ),
        VerbRule(
            _lead(
                r"(?:\w+ )?(?:into|fond of|keen on|crazy about|obsessed with|passionate about|(?:a )?(?:\w+ )?fan of) "
            ),
            "liked",
            "likes",
            "like {v}",
            Kind.PREFERENCE,
            tenses=frozenset({PERFECT}),
            historic=True,
        ),
        VerbRule(
            _lead(r"(?:really |very |so |quite |terribly )?(?:afraid|scared|terrified|frightened) of "),
            "liked",
            "fears",
            "be afraid of {v}",
            Kind.FACT,
            tenses=_P,
            confidence=0.85,
        ),
        VerbRule(
            _lead(r""),
            "given_name",
            "name",
            "be called {v}",
            Kind.PROFILE,
            single=True,
            tenses=_P,
            kin=False,
            confidence=0.85,
        ),
        VerbRule(
            _lead(
                r"(?=(?:left|right)-handed\b|colou?r[- ]?blind\b|near-?sighted\b|short-?sighted\b|deaf\b"
                r"|dyslexic\b|diabetic\b|asthmatic\b|pregnant\b)"
            ),
            "word",
            "condition",
            "be {v}",
            Kind.PROFILE,
            tenses=_P,
        ),
    ),
}


_IRREGULAR = {
    "grow": "grew grown",
    "go": "went gone",
    "speak": "spoke spoken",
    "have": "had had",
    "get": "got gotten",
    "buy": "bought bought",
    "drive": "drove driven",
    "sell": "sold sold",
    "eat": "ate eaten",
    "drink": "drank drunk",
    "leave": "left left",
    "lose": "lost lost",
    "quit": "quit quit",
    "study": "studied studied",
    "marry": "married married",
    "prefer": "preferred preferred",
    "learn": "learned learnt",
    "adopt": "adopted adopted",
    "be": "was been",
}


def _forms() -> dict[str, tuple[str, str]]:
    forms: dict[str, tuple[str, str]] = {}
    for verb in VERBS:
        if " " in verb:
            continue
        stem = verb[:-1] if verb.endswith("e") and verb != "be" else verb
        third = {"have": "has", "go": "goes", "be": "is"}.get(
            verb, verb[:-1] + "ies" if verb in ("study", "marry") else verb + "s"
        )
        double = {"get": "gett", "quit": "quitt", "prefer": "preferr"}.get(verb, stem)
        past, participle = _IRREGULAR.get(verb, f"{stem}ed {stem}ed").split()
        forms |= {double + "ing": (verb, PROGRESSIVE), participle: (verb, PERFECT), past: (verb, PAST)}
        forms |= {third: (verb, PRESENT), verb: (verb, PRESENT)}
    return forms | {"left": ("leave", PAST), "quit": ("quit", PAST)}


FORMS: Mapping[str, tuple[str, str]] = _forms()
"""Inflected form -> (verb, tense), for the verbs above."""
