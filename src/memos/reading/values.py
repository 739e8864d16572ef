"""The readers of values by their name in the pattern tables."""

from __future__ import annotations

import re
from collections.abc import Mapping

from memos.reading.value import Place, Reader, Value, by_pattern
from memos.reading.values_named import (
    address,
    company,
    given_name,
    known_place,
    languages,
    name,
    names,
    organisation,
    place_name,
    place_of_help,
    school,
)
from memos.reading.values_things import (
    a_date,
    a_list,
    age,
    before_allergy,
    condition,
    counted_kin,
    device,
    diet,
    food,
    job,
    liked,
    one_word,
    preferred,
    product,
    thing,
    word_or_pair,
)

_SUBJECTS = re.compile(
    r"(?:(?:computer|political|environmental|data|social|marine|materials|information|cognitive|food|sports)"
    r" (?:science|studies|engineering|biology)|"
    r"(?:mechanical|electrical|civil|chemical|software|industrial|aerospace) engineering|art history|graphic"
    r" design|interior design|creative writing|"
    r"international relations|business administration|biology|chemistry|physics|math(?:s|ematics)?|medicine"
    r"|law|economics|history|philosophy|psychology|"
    r"sociology|linguistics|literature|music|art|architecture|engineering|nursing|education|journalism"
    r"|geology|geography|astronomy|statistics|marketing|"
    r"business|accounting|finance|pharmacy|dentistry|anthropology|archaeology|theology|design|film|fashion"
    r"|counseling|agriculture|neuroscience|informatics)\b",
    re.IGNORECASE,
)
_TITLE = re.compile(r"[^\"“”\n]{2,80}(?=[\"”])")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(r"\+?\d[\d ()./-]{4,18}\d")


def read(kind: str, place: Place) -> list[Value]:
    """The values of `kind` that begin at `place`."""
    return READERS[kind](place)


READERS: Mapping[str, Reader] = {
    "place": place_name,
    "known_place": known_place,
    "organisation": organisation,
    "company": company,
    "school": school,
    "place_of_help": place_of_help,
    "name": name,
    "given_name": given_name,
    "names": names,
    "list": a_list,
    "languages": languages,
    "liked": liked,
    "preferred": preferred,
    "food": food,
    "job": job,
    "counted_kin": counted_kin,
    "device": device,
    "product": product,
    "thing": thing,
    "rest": thing,
    "word": one_word,
    "word2": word_or_pair,
    "age": age,
    "date": a_date,
    "condition": condition,
    "before_allergy": before_allergy,
    "diet": diet,
    "subject": by_pattern(_SUBJECTS),
    "title": by_pattern(_TITLE),
    "email": by_pattern(_EMAIL),
    "phone": by_pattern(_PHONE),
    "address": address,
}
