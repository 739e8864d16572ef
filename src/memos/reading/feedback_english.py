"""Feedback in English, by patterns: how one asks to have something forgotten, replaced or noted, agrees, refuses, or says how one
wants to be answered. Anchored at the beginning of a sentence, so that what is told of others' commands is none.
"""

from __future__ import annotations

import re

from memos.memory.feedback import Topic
from memos.reading.feedback_heard import ALL, NAMELESS, Heard, Manner, bare, cut

_I = re.IGNORECASE
_OPENERS = re.compile(
    r"(?:(?:ok(?:ay)?|hey|hi|hello|well|hmm+|um+|uh|oh|wait|so|also|and|but|now|please|pls|plz|kindly|just|then|"
    r"anyway|"
    r"thanks|thank you|by the way|btw|alright|sorry)\b[\s,.!:…–—-]*)+",
    _I,
)
_POLITE = re.compile(
    r"(?:(?:could|can|would|will) you|i(?:'d|’d| would) (?:like|love|prefer|want) (?:for )?you to|i (?:want|"
    r"need) you to|"
    r"you (?:can|may|should|could|must)|feel free to|go ahead and|it would be (?:great|nice|good) if you (?:could|"
    r"would)|"
    r"make sure (?:that )?(?:you|to)|try to|i(?:'d|’d| would) prefer (?:it )?(?:if|that) you)\b[\s,]*",
    _I,
)
_ASKED = re.compile(r"(?:could|can|would|will) you\b", _I)
_QUESTION = re.compile(
    r"(?:did|do|does|is|are|was|were|am|should|shall|would|could|can|will|have|has|had|what|when|where|who|whom|why|"
    r"how|which|"
    r"isn'?t|aren'?t|don'?t you|didn'?t|doesn'?t|won'?t)\b(?! (?:forget|remember|use|answer|reply|give|write|"
    r"call)\b)",
    _I,
)
_SUPPOSED = re.compile(
    r"(?:if|suppose|supposing|imagine|assuming|hypothetically|pretend|let'?s (?:say|pretend|assume)|say i|in case|"
    r"unless|"
    r"what if|what would)\b|.*\b(?:, if (?:i|you|we)\b|as if\b|would you\b.*\bif\b|i wish\b|might have\b)",
    _I,
)
_SAYING = (
    r"(?:said|says|told|tells|wrote|writes|asked|asks|wants|wanted|suggested|suggests|thinks|thought|keeps|kept|"
    r"recommends|"
    r"recommended|insists|insisted|begged|claims|claimed|likes to say|posted|texted|emailed|advised|advises|made me|"
    r"let me)"
)
_REPORTED = re.compile(
    rf"(?!(?:i|you|it|that|this|what)\b)(?:(?:my|the|our|his|her|their|a|an|some|"
    rf"one of)\s+)?(?:[\w'’.-]+\s+){{1,4}}?(?<!i )(?<!you ){_SAYING}\b",
    _I,
)
_REPORTED_LAST = re.compile(
    rf".*[,–—-]\s*(?:as )?(?:my \w+|he|she|they|[A-Z]\w+|people) (?:always |often |once )?{_SAYING}\b[^,]*$"
    rf"|.*\b(?:according to|quote|i (?:read|heard) that)\b",
    _I,
)

_REFUSED = re.compile(
    r"(?:(?:no+|nope|nah|wrong|incorrect|false|not (?:quite|exactly|really|right|true|correct)|actually|correction|"
    r"(?:a )?(?:small|quick|minor|slight) correction|my mistake|"
    r"(?:that|this|it)(?:'s|’s| is|s| was)? (?:all |just |completely |totally )?(?:wrong|incorrect|not (?:right|"
    r"true|correct|it)|"
    r"false|a mistake|outdated|out of date)|(?:that|this|it) isn'?t (?:right|true|correct)|"
    r"you(?:'re|’re| are) (?:mistaken|wrong|incorrect)|you (?:have |'ve |’ve )?(?:got|have) (?:that|this|it|"
    r"me) wrong|"
    r"you (?:made|have) (?:a mistake|an error|an old .{1,30}? for me)|"
    r"(?:please )?(?:correct|fix) (?:that|this|it)|i (?:think|believe) you (?:have|made|got|are|'re)\b[^,:;.]{0,50}|"
    r"i never said (?:that|this|so)|(?:i'?m )?sorry|hmm+|wait|oh|well|ehm?|um+|no no)\b[\s,.:;!–—-]*)+",
    _I,
)
_PAUSE = re.compile(r"[,.:;!–—-]\s*$")
_GOES_ON = re.compile(r"(?:it|that|this|he|she|they|i|we|my|our|the|should|make|not)\b", _I)
_MEANT = re.compile(r"i (?:said|meant|mean)\s+", _I)
_AGREED = re.compile(
    r"(?:(?:yes|yep|yeah|yup|ya|exactly|precisely|correct|right|true|indeed|absolutely|confirmed|spot on|bingo|"
    r"that'?s it|"
    r"(?:that|this|it)(?:'s|’s| is|s| was) (?:all |absolutely |quite |exactly |perfectly |totally )?(?:right|"
    r"correct|true|it|accurate)|"
    r"you(?:'re|’re| are) (?:absolutely |quite |totally )?(?:right|correct)|"
    r"you (?:got|have) (?:it|that) right|i (?:can )?confirm(?: that)?(?: it)?|all correct|"
    r"of course)\b[\s,.:;!–—-]*)+",
    _I,
)
_THANKS = re.compile(
    r"(?:(?:thanks|thank you|thx|cheers|great|good|perfect|nice|cool|well done|ok(?:ay)?|a lot|so much|very much|"
    r"again|job|"
    r"indeed|and|please|bye)\b[\s,.!…]*)*$",
    _I,
)

_FORGET = re.compile(
    r"(?:(?:forget|delete|erase|remove|drop|wipe|discard|unlearn|scrub|get rid of)(?: out)?|"
    r"(?:stop|quit) (?:remembering|storing|keeping)|(?:do not|don'?t|don’t) (?:remember|keep|store)|"
    r"no longer remember|"
    r"never mind)\b\s+(?P<what>.+)$",
    _I,
)
_TAIL = re.compile(
    r"[\s,]*\b(?:please|pls|plz|thanks|thank you|for me|now|ok(?:ay)?|again|entirely|completely|altogether|will you|"
    r"would you|"
    r"any ?more|any longer|for ever|forever|for good|for real|right away|immediately|at once|if you (?:can|could|don't mind)|"
    r"permanently|"
    r"(?:from|out of|in) (?:your|my|the|all your) (?:memory|memories|notes|records|database|head)|from (?:memory|"
    r"there))$",
    _I,
)
_IDIOM = re.compile(
    r"(?:it|about it|me|(?:that )?i (?:ever )?(?:asked|said|mentioned)(?: (?:it|that|anything|so))?|you|to|"
    r"what time)$|to\b",
    _I,
)
_AND_NOW = re.compile(r"(?:all )?(?:about )?(?:it|that|this|him|her|them|those|these)\s*[,;:.!–—-]+\s*\S", _I)
_ALL = re.compile(
    r"(?:absolutely )?(?:everything|all|anything|all (?:of )?(?:it|that|this|memor(?:y|ies)|(?:my|your|"
    r"the) (?:memor(?:y|ies)|data|facts))|"
    r"(?:my|the|your|all my) (?:memor(?:y|ies)|data|facts|history|conversations?)|"
    r"(?:everything|all|whatever|anything) (?:that )?(?:you|i) (?:know|remember|have|said|told you|"
    r"ever said)(?: (?:about|of) me)?|"
    r"(?:everything|all|anything) (?:about|on) me)$",
    _I,
)
_VAGUE = re.compile(r"(?:things?|stuff|something|some things?|somebody|someone|people|names?|faces?|one|ones)$", _I)
_POINTING = re.compile(
    r"(?:that|this|those|these|them|both|(?:all |any |both )?of (?:that|this|those|these|them)|"
    r"(?:the|that|this) (?:last |previous |first )?(?:one|thing|part|bit|fact|memory|answer|point)|"
    r"(?:what|everything) (?:i|you) just (?:said|told (?:you|me)|wrote))$",
    _I,
)
_ABOUT = re.compile(
    r"(?:(?:what(?:ever)?|everything|all|anything|(?:all )?the (?:bits?|parts?|things?|stuff|facts?|memor(?:y|ies)|"
    r"information|"
    r"info|messages?|notes?|records?|details?|entr(?:y|ies))|any(?:thing)? (?:notes?|details?|mentions?|records?))\b"
    r"(?: that| which)?(?: (?:i|you|we)(?: have|'ve|’ve| had| ever| just| once| may have| might have)*"
    r" (?:said|told|tell|mentioned|wrote|written|know|knew|remember|have|stored|saved|shared|talked|got|learned|"
    r"noted)"
    r"(?: (?:to )?(?:you|me))?(?: down)?)?(?: to do with)? )?(?:(?:about|on|regarding|concerning|of)\s+)(?P<np>.+)$",
    _I,
)
_TO_DO_WITH = re.compile(r"(?:everything|anything|all)(?: that has)? to do with (?P<np>.+)$", _I)
_THAT = re.compile(r"(?:(?:the fact )?that |how )?(?P<clause>(?:i|we|my|our|she|he|they|the)\b['’]?.+)$", _I)
_SOMEBODY = re.compile(r"(?:his|her|their|your|its|our)\b", _I)
_WH = (
    (re.compile(r"where i(?:'m| am)? (?:live|living|reside|stay)\b.*$", _I), ("home_city", "home_address")),
    (re.compile(r"where i(?:'m| am)? (?:work|working)\b.*$", _I), ("employer",)),
    (re.compile(r"how old i am$", _I), ("age",)),
    (re.compile(r"what (?:i'?m called|my name is)$", _I), ("name", "nickname")),
    (re.compile(r"what i do(?: for (?:a living|work))?$", _I), ("occupation", "job")),
    (re.compile(r"when i was born$", _I), ("birthday", "birth_date")),
)
_WH_IS = re.compile(r"(?:what|who|when|where|which|how) (?P<np>my .+?) (?:is|are|was)$", _I)
_NAMES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("phone", "phone number", "mobile number", "cell number", "telephone number", "number"), ("phone",)
    ),
    **dict.fromkeys(("birthday", "birthdate", "birth date", "date of birth"), ("birthday",)),
    **dict.fromkeys(("address", "home address"), ("home_address",)),
    **dict.fromkeys(("job", "work"), ("employer", "occupation", "job")),
    **dict.fromkeys(("employer", "workplace"), ("employer",)),
    **dict.fromkeys(("email", "e-mail", "email address"), ("email",)),
    **dict.fromkeys(("allergy", "allergies"), ("allergy",)),
    **dict.fromkeys(("kids", "children"), ("child",)),
    "age": ("age",),
    "boss": ("boss",),
    "city": ("home_city",),
    "diet": ("diet",),
    "home": ("home_city", "home_address"),
    "home town": ("home_town",),
    "name": ("name",),
    "nickname": ("nickname",),
    "occupation": ("occupation", "job"),
    "pets": ("pet",),
}
_OF_NAME = re.compile(r"(?P<name>allerg(?:y|ies)) (?:to|of|against) (?P<rest>.+)$", _I)

_EVERYWHERE = (
    r"(?:\s*,?\s*(?:everywhere|throughout|all over|in (?:all|every|each|any)(?: of)?(?: (?:my|the|"
    r"your))? ?(?:memor(?:y|ies)|notes?|places?|facts?)?|"
    r"in everything|wherever (?:it|that) (?:is|appears|occurs|stands)(?: mentioned)?|every time|across the board|"
    r"from now on|"
    r"please|pls|thanks))*[.!\s]*$"
)
_EVERY = (
    r"(?:every|all|each|any)(?: of)?(?: the| my)?(?: (?:mentions?|occurrences?|instances?|references?|"
    r"uses?)(?: (?:of|to))?)?"
)
_X, _Y = r"[\"'“‘]?(?P<old>[^\"“”,;:.!?]{1,60}?)[\"'”’]?", r"[\"'“‘]?(?P<new>[^\"“”,;:.!?]{1,60}?)[\"'”’]?"
_PUT = r"(?:replace|change|rename|swap|switch|substitute|update|turn)"
_REPLACE = tuple(
    re.compile(pattern, _I)
    for pattern in (
        rf"{_PUT} {_EVERY} {_X} (?:with|to|into|by|for) {_Y}{_EVERYWHERE}",
        rf"{_PUT} {_X} (?:with|to|into|by|for) {_Y}(?=\s*,?\s*(?:everywhere|throughout|all over|in (?:all|every|"
        rf"each)|in everything|wherever|every time|across)){_EVERYWHERE}",
        rf"everywhere,?\s*{_PUT} {_X} (?:with|to|into|by|for) {_Y}{_EVERYWHERE}",
        rf"(?:everywhere|wherever) (?:it|you|i) (?:says?|said|have|wrote|reads?|"
        rf"mentions?) {_X},? (?:it should (?:say|be|read)|(?:put|write|say|read|use|make it)) {_Y}{_EVERYWHERE}",
        rf"{_X} (?:is|was) (?:now |being )?(?:called|named|renamed(?: to)?|known as) {_Y},? (?:so |and )?(?:please |"
        rf"pls )?(?:update|change|replace|fix|correct|rename) (?:it|that|this|them|all|everything|every)\b.*$",
    )
)

_SCOPE = (
    r"(?:from (?:now|here) on(?:wards?)?|in (?:the )?future|going forward|from this (?:moment|day|point) on|"
    r"henceforth|"
    r"as of (?:now|today)|starting (?:now|today))"
)
_STANDING = re.compile(rf"(?:{_SCOPE}|always|never)\b", _I)
_ASK_VERBS = (
    r"(?:answer|reply|respond|write|use|keep|speak|give|include|avoid|explain|cite|ask|show|start|begin|end|finish|"
    r"translate|"
    r"format|address|call|refer|talk|send|provide|list|put|make|tell|add|say|mention|skip|omit|stop|assume|convert|"
    r"quote|sign|"
    r"be|stick|limit|summarize|summarise|prefer|choose|suggest|recommend|remind)"
)
_WISH = re.compile(
    rf"(?P<head>(?:{_SCOPE}\b[\s,:]*|please\s+|always\s+)*)(?P<not>(?:do not|don'?t|don’t|never|"
    rf"stop)\s+)?(?:ever\s+|always\s+)?"
    rf"(?P<verb>{_ASK_VERBS})(?P<ing>ing)?\b(?P<rest>.*?)(?P<tail>[\s,]*\b{_SCOPE})?[\s.!]*$",
    _I,
)
_OF_ANSWERS = re.compile(
    r"\b(?:your (?:answers?|repl(?:y|ies)|responses?|messages?|explanations?|tone|language)|answers|replies|responses|"
    r"emojis?|bullet points?|(?:metric|imperial) units?)\b",
    _I,
)
_CALL = re.compile(
    rf"(?:{_SCOPE}\b[\s,:]*|please\s+|always\s+)*(?:call me|address me as|refer to me as)\s+(?P<name>(?!back\b|"
    rf"when\b|if\b|at\b|on\b|later\b|tomorrow\b|a\b|an\b)"
    rf"(?:(?:dr|mr|mrs|ms|prof)\.? )?[\w'’-]+(?: [A-Z][\w'’-]+){{0,2}})(?: (?:instead|{_SCOPE}|please))*[\s.!,]*$",
    _I,
)
_LANGUAGE = re.compile(r"\b(?:answer|reply|respond|write|speak|talk)\b.*\bin ([A-Z][a-z]+)\b", _I)
_NOT_STANDING = re.compile(r"never (?:mind|forget|again|ever|been|had|was|liked)\b", _I)

_NOTED = (
    r"(?:also |additionally |furthermore |moreover )*"
    r"(?:note|remember|keep in mind|bear in mind|don'?t forget|don’t forget|do not forget|never forget|take note|"
    r"make a note|record|"
    r"write down|store|save|add|jot down|memori[sz]e|be aware)(?: it)?(?: down)?(?: as well| too| also| to (?:that|"
    r"this|it|your (?:memory|notes)))*"
)
_NOTE = re.compile(
    rf"{_NOTED}[\s,]*(?::|-|–|—|\bthat\b|\bof the fact that\b)\s*(?P<rest>\S.*)$|{_NOTED}\s+(?P<rest2>(?:i|i'm|i’m|"
    rf"my|we|our|the)\b.+)$",
    _I,
)
_LEADS = re.compile(
    r"(?:one more thing|another thing|fyi|for your information|by the way|btw|for the record|also|additionally|"
    r"on top of that|"
    r"in addition|ps|p\.s\.|(?:you )?should (?:also )?know(?: that)?|you might want to know(?: that)?|"
    r"something (?:else|new)|"
    r"just so you know|what you (?:don'?t|do not) know(?: yet)? is(?: that)?|and)\b[\s,.:;–—-]*",
    _I,
)
_NOTE_LAST = re.compile(
    r"(?P<rest>\S.*?)[,;–—-]+\s*(?:please |pls )?(?:note|remember|keep) (?:that|this|it)(?: (?:down|"
    r"in mind))?[\s.!]*$",
    _I,
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|am|'s|’s|'m|’m|has|have|had|will|can|does|do|did|\w+(?:s|ed))\b|\b(?:i|we|they|you|he|"
    r"she|it)\b",
    _I,
)


def hear(sentence: str) -> Heard:
    """What an English sentence of feedback is."""
    text = sentence.strip()
    lead = len(sentence) - len(sentence.lstrip())
    if _SUPPOSED.match(text) or _REPORTED_LAST.match(text):
        return Heard(Manner.NOTHING)
    order, at = _order(text, lead)
    asks = text.rstrip("\"'”’ ").endswith(("?", "？"))
    if asks and not _is_asked(text):
        return Heard(Manner.NOTHING)
    if (found := _command(order.rstrip(" ?？"), at)) is not None:
        return found
    if asks or _QUESTION.match(order) or _REPORTED.match(text):
        return Heard(Manner.NOTHING)
    return _statement(text, lead)


def _order(text: str, at: int) -> tuple[str, int]:
    """A sentence without what makes it polite."""
    while True:
        rest, where = cut(_POLITE, *cut(_OPENERS, text, at))
        if where == at:
            return text, at
        text, at = rest, where


def _is_asked(text: str) -> bool:
    return _ASKED.match(cut(_OPENERS, text)[0]) is not None


def _command(order: str, at: int) -> Heard | None:
    for pattern in _REPLACE:
        match = pattern.match(order)
        if match and bare(match["old"]) and bare(match["new"]) and bare(match["old"]) != bare(match["new"]):
            return Heard(Manner.REPLACE, old=bare(match["old"]), new=bare(match["new"]))
    forget = _FORGET.match(order)
    if forget:
        return _forget(bare(forget["what"]))
    note = _NOTE.match(order)
    if note:
        group = "rest" if note["rest"] else "rest2"
        return Heard(Manner.NOTE, note[group], at + note.start(group), firm=_VERB.search(note[group]) is not None)
    return _wish(order)


def _forget(what: str) -> Heard:
    while (shorter := bare(_TAIL.sub("", what))) != what:
        what = shorter
    if not what or _IDIOM.match(what):
        return Heard(Manner.NOTHING)
    if _AND_NOW.match(what):  # "about it, I like tea": what follows is not what is to go
        return Heard(Manner.FORGET, unclear=NAMELESS)
    if _ALL.match(what):
        return Heard(Manner.FORGET, unclear=ALL)
    if _VAGUE.match(what):
        return Heard(Manner.FORGET, unclear=NAMELESS)
    if _POINTING.match(what):
        return Heard(Manner.FORGET, topic=Topic(pointing=True))
    for pattern, attributes in _WH:
        if pattern.match(what):
            return Heard(Manner.FORGET, topic=Topic(mine=True, attributes=attributes))
    about = _TO_DO_WITH.match(what) or _ABOUT.match(what)
    if about:
        return _forget_phrase(about["np"], broad=True)
    asked = _WH_IS.match(what)
    return _forget_phrase(asked["np"] if asked else what, broad=False)


def _forget_phrase(phrase: str, *, broad: bool) -> Heard:
    phrase = bare(phrase)
    if _POINTING.match(phrase) or phrase.casefold() in ("it", "him", "her", "them"):
        return Heard(Manner.FORGET, topic=Topic(pointing=True, broad=broad))
    if _ALL.match(phrase) or _VAGUE.match(phrase) or phrase.casefold() == "me":
        return Heard(Manner.FORGET, unclear=ALL if phrase.casefold() == "me" else NAMELESS)
    if _SOMEBODY.match(phrase):
        return Heard(Manner.FORGET, unclear=f"whose is meant by {phrase!r:.60} is not said; nothing was changed")
    clause = _THAT.match(phrase)
    if clause and (
        phrase.casefold().startswith(("that ", "the fact", "how ", "i ", "i'", "i’")) or _is_clause(clause["clause"])
    ):
        said = clause["clause"]
        words = re.sub(r"^(?:i(?:'m|’m| am|'ve|’ve| have| do)?|my|we|our|the)\s+", "", said, flags=_I)
        return Heard(
            Manner.FORGET,
            topic=Topic(words, mine=re.match(r"(?:i|my)\b", said, _I) is not None, broad=broad),
            clause=said,
        )
    mine = re.match(r"my\s+", phrase, _I)
    words = re.sub(r"^(?:my|the|a|an|this|that|these|those|all|any)\s+(?:of (?:my|the)\s+)?", "", phrase, flags=_I)
    named = _OF_NAME.match(words)
    if named:
        return Heard(Manner.FORGET, topic=Topic(named["rest"], True, _NAMES[named["name"].casefold()], broad=broad))
    return Heard(
        Manner.FORGET,
        topic=Topic(words, mine is not None, _NAMES.get(words.casefold(), ()) if mine else (), broad=broad),
    )


def _is_clause(words: str) -> bool:
    return (
        re.search(
            r"\b(?:is|are|was|were|am|has|have|had|lives?|works?|likes?|loves?|"
            r"hates?)\b",
            words,
            _I,
        )
        is not None
    )


def _wish(order: str) -> Heard | None:
    """How one wants to be answered, where that is said."""
    named = _CALL.match(order)
    if named and (named["name"][0].isupper() or re.search(_SCOPE, order, _I)):
        name = bare(named["name"])
        return Heard(Manner.PREFER, f"Call me {name}.", -1, about="nickname", new=name)
    match = _WISH.match(order)
    if match is None or _NOT_STANDING.match(order):
        return None
    standing = _STANDING.search(f"{match['head']} {match['tail'] or ''} {match['not'] or ''}") is not None
    if not standing and not (_OF_ANSWERS.search(match["rest"]) and _STANDING_BY_KIND.match(match["verb"])):
        return None
    if not bare(match["rest"]):
        return None
    how = "never " if match["not"] else "" if match["verb"].casefold() == "stop" else "always "
    wish = f"{how}{match['verb'].lower()}{match['rest'].rstrip(' .!,')}"
    language = _LANGUAGE.search(wish)
    return Heard(
        Manner.PREFER, wish=wish, about="answer language" if language else "", new=language[1] if language else ""
    )


_STANDING_BY_KIND = re.compile(r"(?:answer|reply|respond|keep|use|avoid|write|stop|speak|limit|be)$", _I)


def _statement(text: str, lead: int) -> Heard:
    """A sentence that commands nothing: it agrees, refuses, adds, or just states."""
    rest, at = cut(_REFUSED, text, lead)
    if at > lead and re.match(r"(?:no|nope|nah)\b.{0,3}(?:problem|worries|thanks|thank you|need)\b", text, _I):
        return Heard(Manner.NOTHING)
    opened = text[: at - lead]
    if at > lead and not re.fullmatch(r"(?:(?:sorry|hmm+|wait|oh|well|ehm?|um+)\b[\s,.:;!–—-]*)+", opened, _I):
        if rest and not _PAUSE.search(opened) and not _GOES_ON.match(rest):  # "no idea"
            return Heard(Manner.NOTHING)
        return Heard(Manner.REFUSE, *cut(_MEANT, rest, at))
    meant = _MEANT.match(rest)
    if meant:
        return Heard(Manner.REFUSE, rest[meant.end() :], at + meant.end())
    agreed, where = cut(_AGREED, text, lead)
    if where > lead:
        return Heard(Manner.AGREE, "" if _THANKS.match(agreed) else agreed, where)
    last = _NOTE_LAST.match(text)
    if last:
        return Heard(Manner.NOTE, last["rest"], lead, firm=True)
    added, where = text, lead
    while (shorter := cut(_LEADS, *cut(_OPENERS, added, where)))[1] != where:
        added, where = shorter
    if where > lead and added != text and _LEADS.search(text[: where - lead]):
        order, begins = _order(added, where)
        return _command(order, begins) or Heard(Manner.NOTE, added, where, firm=_VERB.search(added) is not None)
    return Heard(Manner.PLAIN, text, lead)
