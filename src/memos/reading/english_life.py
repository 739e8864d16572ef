"""English words and patterns as data: which doings and happenings are worth keeping.

Read by `english_events` and `english_doings`; nothing here acts.
"""

from __future__ import annotations

import re

from memos.reading.patterns import words
from memos.text.lazy import LazyPattern


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


# --- what happened --------------------------------------------------------------------------------

OPINION_PAST = words(
    """
    live lived work worked study studied like liked love loved enjoy enjoyed want wanted need needed think thought
    feel felt know knew hope hoped hear heard mean meant agree agreed see saw say said tell told talk talked mention
    mentioned ask asked wonder wondered guess guessed notice noticed realize realized remember remembered use used
    forget forgot wish wished believe believed miss missed be keep kept hate hated
    """
)
# Worth keeping even where nobody says when.
WEIGHTY = words(
    """
    flew traveled travelled visited toured hiked camped skied surfed climbed explored joined participated competed
    performed presented volunteered donated organized organised hosted celebrated married graduated enrolled applied
    accepted won passed failed launched opened closed founded published released rented adopted rescued built baked
    cooked roasted grilled painted sculpted sewed knitted planted repaired renovated restored moved relocated broke
    injured sprained crashed recovered emailed contacted interviewed coached raised recorded composed designed
    delivered bought sold attended hired fundraised protested marched auditioned babysat fostered danced photographed
    registered campaigned resigned retired proposed
    marry join graduate adopt buy sell move attend resign retire
    """
)
_A = r"(?:a|an|another|my|our|this|some|two|three)"
_MADE = (
    r"(?:book|song|poem|painting|bowl|pot|cake|pie|dinner|party|club|class|blog|store|business|group|band|project|course|job"
    r"|wallet|phone|keys|film|movie|video|game|design|sculpture|drawing|journal|fundraiser|event|garden|company|team|charity"
    r"|campaign|dog|cat|puppy|kitten|screenplay|script|letter|article|story)s?\b"
)
_HELD = (
    r"(?:accident|surgery|interview|performance|show|audition|concert|wedding|party|picnic|baby|meeting|exam|test|breakdown"
    r"|appointment|operation|fight|trip|vacation|recital)\b"
)
_GOT = r"(?:job|gig|offer|scholarship|dog|cat|puppy|kitten|tattoo|certificate|degree|promotion|raise|award|license)\b"
# Of "went", "got", "made" and their like it depends on what follows.
LIGHT = _any_of(
    r"went on (?:a|an|our|my|another) [\w -]*?(?:trip|hike|vacation|holiday|cruise|tour|safari|retreat|date|drive|walk|run)\b",
    r"went (?:camping|hiking|skiing|swimming|biking|surfing|sailing|fishing|snowboarding|kayaking|climbing|diving|dancing"
    r"|bowling) \w",
    r"went to (?:[A-Z]\w+|see (?:a|the|my) )",
    r"tried (?:my hand at|out) \w",
    r"r[au]n into (?:a|an|some|my|two|three|[A-Z])",
    r"signed up ",
    r"took (?:up |part in |(?:a|an|my|our) [\w -]*?(?:class|course|trip|workshop|test|exam|kids|son|daughter|dog|lessons?)\b)",
    rf"got (?:a|an|another|my) (?:[\w-]+ ){{0,3}}?{_GOT}",
    r"got into (?:a|an|the|my) [\w ]*?(?:accident|fight|argument|university|college|school|program|car)",
    r"got (?:accepted|promoted|hired|fired|injured|hurt|stuck|robbed|lost (?:in|on)|invited|rejected|diagnosed|married"
    r"|engaged|divorced)",
    rf"(?:made|created|wrote|drew|threw|held|started|finished|completed|lost|found) {_A} (?:\w+[ -]){{0,3}}{_MADE}",
    rf"had (?:a|an|my|our|that|this|the) (?:[\w-]+ ){{0,3}}?{_HELD}",
    r"had to (?:put down|cancel|quit|leave|move|sell|shut down|close|give up|return) \w+ \w+",
    r"met (?:a|an|some|my|with|up with|[A-Z])",
    r"lost (?:my|our) ",
    r"started (?!(?:doing|caring|thinking|feeling|getting|being|seeing) (?!an?\b|[a-z]+ing|[a-z]+ yoga))(?=[a-z]+ing\b)",
    r"learned (?:how )?to ",
)
LATELY = LazyPattern(
    r"\b(?:recently|lately|the other (?:day|night|week|evening)|not long ago|a while (?:ago|back)|for the first time"
    r"|(?:a few|several) (?:days|weeks|months|years) ago)\b",
    re.IGNORECASE,
)
# Verbs that tell no news by themselves, not even of late.
NO_NEWS = OPINION_PAST | words(
    """
    had have get got make made do did go come came try tried start started finish finished give gave take took put let
    show showed shared sent set help helped find found began begin decided woke happened looked needed learned read
    watched turned became took call called
    """
)

# --- what somebody does ---------------------------------------------------------------------------

# What is said, felt or wished at the time is nothing that one does; nor are these anything by themselves.
NO_DOING = words(
    """
    thinking hoping feeling wondering wishing talking telling saying asking kidding joking being having getting looking
    loving enjoying liking missing seeing hearing keeping coming leaving letting giving sending dying counting hanging
    rooting cheering waiting sitting standing lying making taking sharing starting finding going doing becoming beginning
    dealing struggling suffering worrying freaking crying laughing smiling living staying holding putting thanking using
    knowing wanting needing meaning believing continuing facing experiencing figuring reminding supporting excited
    interesting amazing exciting pushing working trying improving bringing showing stepping guessing planning intending
    focusing lending handling digging chilling sticking helping appreciating adjusting juggling relaxing resting
    exploring brainstorming catching celebrating growing heading learning embracing
    """
)
# Some of them are, with the right words after them.
STILL_DOING = _any_of(
    r"working (?:on|with|as|towards?) (?:a|an|the|my|our|some|two|new|improving|getting|making|building|[A-Z])",
    r"looking (?:into [a-z]|(?:for|at) (?:a|an|new|different|some|my|our|places?|[a-z]+s\b))",
    r"taking (?:a|an|some|up|[\w]+ (?:classes|lessons|courses))\b",
    r"making (?:an?(?! difference| change| impact)|some|my own|our own)\b",
    r"trying (?:out |to (?:get|start|learn|find|build|set up|improve|organi[sz]e|become|save|raise|lose|grow) )",
    r"doing (?:(?:a|an|some|yoga|crafts|research)\b|[a-z]+ing\b|volunteer)",
    r"keeping up with (?:the |my )?[a-z]+",
    r"learning (?:to |how to |about |the |some |[a-z]{4,})",
    r"exploring (?:the|a|my|our|new|different) ",
    r"(?:celebrating|starting) (?:a|an|my|our) ",
    r"using (?:a|an|my) ",
    r"playing (?:in|with|the|a) ",
    r"going to (?:a|an|the) [\w ]*?(?:class|group|gym|meetings?)",
)
USUALLY = words("usually often regularly frequently normally typically generally sometimes mostly mainly always")
_DAYS = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_TIMES = r"(?:once|twice|(?:two|three|four|five|six|\d)(?:(?: or |-)(?:two|three|four|five|six|\d))? times)"
OFTEN = (
    rf"(?:{_TIMES} (?:a|per|every) (?:day|week|month|year)"
    rf"|every (?:single |other )?(?:day|week|weekend|month|year|morning|evening|night|summer|winter|spring|fall|{_DAYS})"
    r"|daily|weekly|monthly)\b"
)
REGULAR = LazyPattern(
    rf"\b(?:{OFTEN}|on (?:weekends|weekdays|{_DAYS}s)\b|in my (?:free|spare) time\b"
    r"|most (?:days|weekends|mornings|evenings|nights)\b)",
    re.IGNORECASE,
)
NO_HABIT = words(
    """
    think know feel say forget imagine remember wonder seem believe find like love enjoy hate be mind see hear want wish
    need hope tell appreciate mean guess bet agree understand promise thank admire get have can do keep
    """
)
# Verbs of work and play: in the plain present they tell a habit by themselves.
PRACTISED = words(
    """
    color colour run jog swim hike bike cycle ski surf climb dance sing paint draw sketch knit sew crochet bake cook
    garden coach teach tutor mentor volunteer meditate journal blog code commute compete perform freelance collect
    photograph train foster babysit skate sculpt
    """
)
