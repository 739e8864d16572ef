"""Light stemming: plurals, -ing, -ed, irregular forms and common derivations of English, case endings of Russian.

A stem is a key,
not a word ("making" and "make" are both "mak"). Latin words of other languages go through the same rules,
which touch little of them and treat document and query alike.
"""

from __future__ import annotations

import re

# Irregular verbs (base: other forms) and nouns (singular: plural), where the rules below do not reach.
_IRREGULAR = """
arise arose arisen; awake awoke awoken; bear bore borne; beat beaten; become became; begin began begun; bend bent;
bet; bite bit bitten; bleed bled; blow blew blown; break broke broken; breed bred; bring brought; build built; burn
burnt; buy bought; catch caught; choose chose chosen; cling clung; come came; creep crept; deal dealt; dig dug; draw
drew drawn; dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt;
fight fought; find found; flee fled; fly flew flown flies; forbid forbade forbidden; forget forgot forgotten; forgive
forgave forgiven; freeze froze frozen; get got gotten; give gave given; go went gone goes; grow grew grown; hang hung;
hear heard; hide hid hidden; hold held; keep kept; kneel knelt; know knew known; lay laid; lead led; lean leant; leap
leapt; learn learnt; leave left; lend lent; lie lay lain lying; light lit; lose lost; make made; mean meant; meet met;
mistake mistook mistaken; pay paid; prove proven; ride rode ridden; ring rang rung; rise rose risen; run ran; say
said; see saw seen; seek sought; sell sold; send sent; sew sewn; shake shook shaken; shine shone; shoot shot; show
shown; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; speak spoke spoken;
spell spelt; spend spent; spill spilt; spin spun; spring sprang sprung; stand stood; steal stole stolen; stick stuck;
sting stung; stride strode; strike struck; strive strove; swear swore sworn; sweep swept; swell swollen; swim swam
swum; swing swung; take took taken; teach taught; tear tore torn; tell told; think thought; throw threw thrown;
understand understood; undergo underwent undergone; wake woke woken; wear wore worn; weave wove woven; weep wept; win
won; wind wound; write wrote written; withdraw withdrew withdrawn; child children; person people; man men; woman
women; foot feet; tooth teeth; mouse mice; goose geese; wife wives; knife knives; leaf leaves; half halves; shelf
shelves; wolf wolves; thief thieves; loaf loaves; scarf scarves; calf calves; self selves; ox oxen; die died dies
dying; tie tied ties tying; potato potatoes; tomato tomatoes; hero heroes; echo echoes; analysis analyses; crisis
crises; thesis theses; diagnosis diagnoses; phenomenon phenomena; criterion criteria; datum data; medium media; bus
buses; gas gases; lens lenses; quiz quizzes; movie movies; cookie cookies; calorie calories; zombie zombies; selfie
selfies; hoodie hoodies; smoothie smoothies; brownie brownies; genie genies; rookie rookies; shoe shoes; toe toes; use
used using uses; age aged aging; owe owed owing; ice iced icing; news; series; species; always; perhaps; thing;
something; anything; nothing; everything; morning mornings; evening evenings; spring springs; string strings; king
kings; ring rings; wing wings; bring brings; sibling siblings; wedding weddings; ceiling ceilings; during; red; bed;
shed; seed; need; feed; speed; breed; indeed; hundred; sacred; naked; bleed; weed; reed; travel travelled travelling;
cancel cancelled cancelling; label labelled labelling; model modelled modelling; marvel marvelled; christmas; texas;
paris; james; kansas; dallas; atlas; canvas; iris; tennis; basis; oasis; chess; physics; mathematics
"""

_VOWEL = re.compile("[aeiouy]")
_DOUBLED = frozenset("bdgkmnprt")


def _irregular() -> dict[str, str]:
    table: dict[str, str] = {}
    for entry in _IRREGULAR.replace("\n", " ").split(";"):
        base, *forms = entry.split()
        # "lay" is a verb and the past of "lie"; the first entry of a form wins.
        stem = table.setdefault(base, _without_e(base))
        for form in forms:
            table.setdefault(form, stem)
    return table


# Endings that make nouns, adjectives and adverbs, and what stays of them; at least four letters remain.
_DERIVED = (("fully", ""), ("ly", ""), ("ness", ""), ("ment", ""), ("ful", ""), ("ation", "at"), ("ion", ""))


def stem_english(word: str) -> str:
    """The stem of a lower-case ASCII word."""
    stem = _inflected(word)
    for ending, rest in _DERIVED:
        if stem.endswith(ending) and len(stem) - len(ending) >= 4:
            return _inflected(stem[: -len(ending)]) + rest
    return stem


def _inflected(word: str) -> str:
    """The word without plural, -ing, -ed, irregular forms and a final silent e."""
    if len(word) <= 3:
        return _TABLE.get(word, word)
    if known := _TABLE.get(word):
        return known
    word = _singular(word)
    if known := _TABLE.get(word):
        return known
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("ing") and len(word) > 4:
        return _verb(word[:-3], word)
    if word.endswith("ed") and len(word) > 4 and word[-3] != "e":
        return _verb(word[:-2], word)
    return _without_e(word)


def _singular(word: str) -> str:
    if word[-1] != "s" or word[-2] in "su" or word.endswith("is"):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    return word[:-1]


def _verb(stem: str, word: str) -> str:
    if not _VOWEL.search(stem):
        return _without_e(word)
    if stem in _TABLE:
        return _TABLE[stem]
    if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] in _DOUBLED:
        return stem[:-1]
    return _without_e(stem)


def _without_e(word: str) -> str:
    return word[:-1] if len(word) > 3 and word[-1] == "e" and word[-2] != "e" else word


_TABLE = _irregular()

_RUSSIAN_ENDINGS = """
ами ями ого его ому ему ыми ими ая яя ое ее ый ий ой ей ую юю ых их ым им ом ем ам ям ах ях ов ев ью ия ие ии ию иям
иях а я о е ы и у ю ь й ешь ет ем ете ут ют ишь ит им ите ат ят ла ло ли ал ял ил ел ть ться тся лась лось лись лся
"""
_RUSSIAN = tuple(sorted(_RUSSIAN_ENDINGS.split(), key=len, reverse=True))


def stem_cyrillic(word: str) -> str:
    """The word without its longest common ending, if at least three letters remain."""
    for ending in _RUSSIAN:
        if len(word) - len(ending) >= 3 and word.endswith(ending):
            return word[: -len(ending)]
    return word
