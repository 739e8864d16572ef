"""English patterns as data: vocabulary, who is kin, what possessions are called, requests and turned sentences.

What verbs say is in `english_verbs`. Read by `english_reader`; nothing here acts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from memos.memory.model import Kind
from memos.reading.patterns import ClauseRule, flags, words
from memos.text.lazy import LazyPattern

# --- vocabulary -----------------------------------------------------------------------------------

JOBS = words(
    """
    accountant actor actress administrator analyst anesthetist archaeologist architect artist assistant astronomer
    athlete attorney author baker banker barber barista bartender biologist blogger bookkeeper bookseller botanist
    broker builder butcher buyer caretaker carpenter cashier chef chemist cleaner clerk coach composer conductor
    consultant contractor controller cook counselor counsellor curator dancer dentist designer detective developer
    dietitian director doctor driver economist editor electrician engineer entrepreneur farmer firefighter fisherman
    florist founder freelancer gardener geologist hairdresser handyman historian illustrator inspector instructor
    intern interpreter investor janitor jeweler journalist judge landscaper lawyer lecturer librarian locksmith
    machinist manager masseuse mathematician mechanic midwife miner model musician nanny novelist nurse nutritionist
    officer operator optician painter paramedic pastor pharmacist photographer physician physicist physiotherapist
    pianist pilot plumber poet policeman policewoman politician postman potter priest principal producer professor
    programmer psychiatrist psychologist psychotherapist publisher realtor receptionist recruiter reporter
    researcher sailor salesman saleswoman salesperson scientist sculptor secretary singer soldier solicitor
    sommelier specialist statistician stylist supervisor surgeon surveyor tailor teacher technician technologist
    tester therapist translator tutor undertaker vet veterinarian videographer violinist waiter waitress watchmaker
    welder writer zookeeper student pensioner retiree
    """
)
PETS = words(
    """
    dog cat puppy kitten pup parrot hamster rabbit bunny horse pony turtle tortoise lizard snake goldfish guinea-pig
    budgie canary ferret gecko chinchilla pet
    """
)
DEVICES = words(
    """
    phone iphone laptop macbook computer pc desktop tablet ipad kindle camera printer monitor headphones watch
    smartwatch tv television router console playstation xbox thinkpad drone e-reader keyboard
    """
)
VEHICLES = words(
    """
    car truck van bike bicycle motorbike motorcycle scooter suv pickup tesla prius toyota honda volvo ford subaru
    bmw audi mazda nissan volkswagen boat campervan rv jeep civic corolla
    """
)
DIETS = (
    r"vegan|vegetarian|pescatarian|lactose[- ]intolerant|gluten[- ]free|gluten[- ]intolerant|celiac"
    r"|coeliac|keto|kosher|halal|flexitarian"
)
CONDITIONS = words(
    """
    diabetes asthma arthritis adhd migraines epilepsy hypertension insomnia eczema anxiety depression celiac coeliac
    tinnitus scoliosis dyslexia
    """
)
INSTRUMENTS = (
    r"piano|guitar|violin|cello|drums|flute|clarinet|saxophone|trumpet|ukulele|harp|bass|banjo|lute"
    r"|accordion|keyboard|organ|viola"
    r"|trombone|harmonica"
)
SPORTS = (
    r"tennis|football|soccer|basketball|volleyball|badminton|golf|chess|hockey|cricket|rugby|squash|baseball"
    r"|handball|poker"
    r"|table tennis|ping[- ]pong|video games|board games"
)

KIN: Mapping[str, str] = {
    **dict.fromkeys(("wife", "husband", "spouse", "fiance", "fiancé", "fiancee", "fiancée", "partner"), "spouse"),
    **dict.fromkeys(("girlfriend", "boyfriend"), "partner"),
    **dict.fromkeys(("mother", "father", "mom", "mum", "dad", "mommy", "daddy", "stepmother", "stepfather"), "parent"),
    **dict.fromkeys(
        ("brother", "sister", "twin", "twin brother", "twin sister", "stepbrother", "stepsister"), "sibling"
    ),
    **dict.fromkeys(("son", "daughter", "child", "kid", "baby", "stepson", "stepdaughter", "toddler"), "child"),
    **dict.fromkeys(
        (
            "grandmother",
            "grandfather",
            "grandma",
            "grandpa",
            "granny",
            "aunt",
            "uncle",
            "cousin",
            "niece",
            "nephew",
            "grandson",
            "granddaughter",
            "mother-in-law",
            "father-in-law",
            "brother-in-law",
            "sister-in-law",
        ),
        "relative",
    ),
    **dict.fromkeys(("friend", "best friend", "buddy", "roommate", "flatmate", "neighbor", "neighbour"), "friend"),
    **dict.fromkeys(
        (
            "colleague",
            "coworker",
            "co-worker",
            "teacher",
            "mentor",
            "coach",
            "assistant",
        ),
        "contact",
    ),
    **dict.fromkeys(("boss", "manager", "supervisor"), "boss"),
    **{role: role for role in ("doctor", "dentist", "therapist", "landlord")},
    **dict.fromkeys(sorted(PETS), "pet"),
    "guinea pig": "pet",
}
# There is one of these at a time: a new one replaces the old.
REPLACED_KIN = frozenset({"spouse", "partner", "boss", "doctor", "dentist", "therapist", "landlord"})
SINGLE_KIN = frozenset(
    {"wife", "husband", "spouse", "mother", "father", "mom", "mum", "dad", "partner", "fiancé", "fiancée", "boss"}
)

# --- what is possessed ----------------------------------------------------------------------------

POSSESSED: Mapping[str, tuple[str, Kind, bool, str]] = {
    **dict.fromkeys(("name", "full name", "first name", "real name"), ("name", Kind.PROFILE, True, "name")),
    **dict.fromkeys(("nickname",), ("nickname", Kind.PROFILE, True, "name")),
    **dict.fromkeys(("last name", "surname", "family name"), ("surname", Kind.PROFILE, True, "name")),
    **dict.fromkeys(("birthday", "date of birth", "birth date", "birthdate"), ("birthday", Kind.PROFILE, True, "date")),
    **dict.fromkeys(("email", "e-mail", "email address", "e-mail address"), ("email", Kind.PROFILE, True, "email")),
    **dict.fromkeys(
        ("phone", "phone number", "mobile", "cell", "mobile number", "cell number", "number", "telephone number"),
        ("phone", Kind.PROFILE, True, "phone"),
    ),
    **dict.fromkeys(("age",), ("age", Kind.PROFILE, True, "age")),
    **dict.fromkeys(("address", "home address", "postal address"), ("home_address", Kind.PROFILE, True, "address")),
    **dict.fromkeys(("job", "occupation", "profession", "job title", "title"), ("job", Kind.PROFILE, True, "job")),
    **dict.fromkeys(("hometown", "home town"), ("hometown", Kind.PROFILE, True, "place")),
    **dict.fromkeys(("employer", "company"), ("employer", Kind.PROFILE, True, "organisation")),
    **dict.fromkeys(
        ("native language", "mother tongue", "first language"), ("language", Kind.PROFILE, False, "languages")
    ),
    **dict.fromkeys(
        ("hobby", "hobbies", "main hobby", "passion", "passions"), ("likes", Kind.PREFERENCE, False, "liked")
    ),
    **dict.fromkeys(("allergy", "allergies"), ("allergy", Kind.PROFILE, False, "list")),
    **dict.fromkeys(("pronouns",), ("pronouns", Kind.PROFILE, True, "rest")),
    **dict.fromkeys(("timezone", "time zone"), ("timezone", Kind.PROFILE, True, "rest")),
}
ABSTRACT = words(
    """
    point question heart goal goals mind thought thoughts plan plans idea opinion advice problem issue concern fault
    mistake pleasure bad fear feeling feelings guess dream dreams hope wish answer view take impression favorite
    favourite turn way world life day week weekend morning night evening time family people kids children work job
    motto understanding experience journey art love treat priority focus jam thing style vibe cup style business
    pride joy inspiration purpose hands eyes head back body self everything memory memories biggest main best worst
    first last next latest recent whole only one number story stories reason key rule
    """
)
VALUE_NOUNS = words(
    """
    password passcode code pin serial number address extension id key port url email phone version combination ssid
    token locker plate license passport account iban username login wifi room desk serial-number model sku tracking
    reference invoice ticket order flight gate seat size dose dosage budget limit deadline birthday anniversary
    """
)

# --- whole clauses --------------------------------------------------------------------------------


def _clause(pattern: str) -> LazyPattern:
    return LazyPattern(pattern, re.IGNORECASE)


_TODO = r"(?P<v>[^.;!?\n]{2,160}?)(?=\s*(?:[.;!?\n]|$))"
_REQUEST_VERBS = (
    r"answer|reply|respond|use|write|call|address|speak|format|include|keep|give|show|start|end|cite|add"
    r"|avoid|translate|explain|ask"
    r"|sign|send|mention|suggest|recommend|convert|greet|begin|provide|return|refer|talk|put|quote|list|summari[sz]e"
)
_PLAIN_VERBS = (
    r"answer|reply|respond|use|write|call me|address me|format|cite|translate|include|refer"
    r"|convert|sign|greet me|summari[sz]e"
)

REQUESTS: tuple[ClauseRule, ...] = (
    ClauseRule(
        _clause(
            rf"(?:and |also |but |hey |ok |okay )?(?:please |can you |could you |would you |will you |pls"
            rf" )*(?:please )?remind me (?:again )?(?:to |about |that |of )(?:please )?{_TODO}"
        ),
        "reminder",
        "{s} wants to be reminded: {v}",
        Kind.COMMITMENT,
        confidence=0.95,
        flags=flags("due todo"),
    ),
    ClauseRule(
        _clause(rf"(?:please )?(?:don['’]t|do not) let me forget (?:to |about )?{_TODO}"),
        "reminder",
        "{s} wants to be reminded: {v}",
        Kind.COMMITMENT,
        flags=flags("due todo"),
    ),
    ClauseRule(
        _clause(
            rf"(?:(?:please |pls )always (?=(?:{_REQUEST_VERBS})\b)|always"
            rf" (?=(?:{_PLAIN_VERBS})\b))(?P<v>\w+\b[^.;!?\n]{{2,120}}?)(?: please)?(?=\s*(?:[.;!?\n]|$))"
        ),
        "always",
        "{s} wants the assistant to always {v}",
        Kind.PREFERENCE,
        flags=flags("todo"),
    ),
    ClauseRule(
        _clause(
            rf"(?:(?:please |pls )never (?:ever )?(?=(?:{_REQUEST_VERBS})\b)|never (?:ever"
            rf" )?(?=(?:{_PLAIN_VERBS})\b))(?P<v>\w+\b[^.;!?\n]{{2,120}}?)(?: please)?(?=\s*(?:[.;!?\n]|$))"
        ),
        "never",
        "{s} wants the assistant to never {v}",
        Kind.PREFERENCE,
        polarity="-",
        flags=flags("todo"),
    ),
    ClauseRule(
        _clause(
            rf"(?:please )?(?:from now on|in (?:the )?future|going forward|from here on),? (?:please"
            rf" )?(?:always )?(?P<v>(?:{_REQUEST_VERBS})\b[^.;!?\n]{{2,120}}?)(?: please)?(?=\s*(?:[.;!?\n]|$))"
        ),
        "always",
        "{s} wants the assistant to always {v}",
        Kind.PREFERENCE,
        flags=flags("todo"),
    ),
    ClauseRule(
        _clause(
            r"(?:please )?(?P<v>(?:answer|reply|respond|speak|write|talk|use)\b[^.;!?\n]{2,100}?),?"
            r" (?:from now on|in (?:the )?future|going forward|at all times)(?: please)?(?=\s*(?:[.;!?\n]|$))"
        ),
        "always",
        "{s} wants the assistant to always {v}",
        Kind.PREFERENCE,
        flags=flags("todo"),
    ),
    ClauseRule(
        _clause(
            rf"(?:please )?(?:don['’]t|do not|stop|avoid) (?:ever )?(?P<v>(?:{_REQUEST_VERBS}|using|calling"
            rf"|adding|writing|giving|mentioning|suggesting)\b[^.;!?\n]{{2,100}}?),? (?:again|any ?more|ever"
            rf"|from now on)(?: please)?(?=\s*(?:[.;!?\n]|$))"
        ),
        "never",
        "{s} wants the assistant to never {v}",
        Kind.PREFERENCE,
        polarity="-",
        flags=flags("todo"),
    ),
    ClauseRule(
        _clause(
            r"(?:please |you can |just |everyone |friends |people |they |everybody |most people )*call me"
            r" (?:just )?(?P<v>[A-Z][\w'’-]{1,20})(?=\s*(?:[.,;!?\n]|$| please))"
        ),
        "nickname",
        "{s} is called {v}",
        Kind.PROFILE,
        single=True,
        take="name",
    ),
)

INVERTED: tuple[ClauseRule, ...] = (
    ClauseRule(
        _clause(
            r"(?P<v>[\w][\w'’ -]{1,40}?) (?:is|are) (?:exactly |just |usually )?what (?P<who>I) (?:usually "
            r"|always |mostly |normally )?(?P<x>drink|eat|like|love|prefer|use|hate|enjoy)\b(?! to)"
        ),
        "{x}",
        "{s} {x} {v}",
        Kind.PREFERENCE,
    ),
    ClauseRule(
        _clause(r"(?P<v>[A-Z][\w'’, -]{1,40}?) is (?:the (?:city|town|country|place) )?where (?P<who>I) live\b(?! in)"),
        "home",
        "{s} lives in {v}",
        Kind.PROFILE,
        single=True,
        take="place",
    ),
    ClauseRule(
        _clause(r"(?P<v>[A-Z][\w'’ &-]{1,40}?) is where (?P<who>I) work\b"),
        "employer",
        "{s} works at {v}",
        Kind.PROFILE,
        single=True,
        take="organisation",
    ),
    ClauseRule(
        _clause(
            r"(?P<v>[A-Z][\w'’ &-]{1,40}?) is (?P<who>my) favou?rite (?P<x>[a-z][\w"
            r" -]{2,30}?)(?=\s*(?:[.,;!\n]|$| (?:of|in|because|and|but|so|ever)\b))"
        ),
        "favourite {x}",
        "{s}'s favourite {x} is {v}",
        Kind.PREFERENCE,
        single=True,
    ),
    ClauseRule(
        _clause(
            r"(?P<v>[A-Z][\w'’ -]{1,30}?) is (?P<who>my) (?:older |younger |little |big |best |eldest "
            r"|oldest |youngest |only )*(?P<x>wife|husband|brother|sister|son|daughter|mother|father|mom|dad"
            r"|friend|dog|cat|boss|girlfriend|boyfriend|partner|cousin|roommate)\b(?!['’-])"
        ),
        "kin:{x}",
        "{s}'s {x} is {v}",
        Kind.PROFILE,
        take="name",
    ),
    ClauseRule(
        _clause(r"(?P<v>[A-Z][\w'’-]{1,20}(?: [A-Z][\w'’-]{1,20})?) is (?P<who>my) (?:full |real |first )?name\b"),
        "name",
        "{s}'s name is {v}",
        Kind.PROFILE,
        single=True,
        take="name",
    ),
)
