"""One vocabulary with the rules: what a model calls an attribute, as the rules call it, so that both fill the same slot.

An attribute that the rules do not know keeps its own name and may have many values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from memos.memory.model import Kind
from memos.reading import chinese, english
from memos.reading.finding import normal
from memos.reading.topics import preferred_as
from memos.reading.value import Place
from memos.reading.values import read
from memos.text.name_lists import CHINESE_COUNTRIES


@dataclass(frozen=True, slots=True)
class Attribute:
    """What about a subject: its name, the kind of such a fact, and whether there is one value at a time."""

    name: str
    kind: Kind
    single: bool = False
    polarity: str = "+"


def _all(names: str, attribute: Attribute) -> dict[str, Attribute]:
    return dict.fromkeys((name.strip() for name in names.split(",")), attribute)


_P, _F = Kind.PROFILE, Kind.FACT
_KNOWN: Mapping[str, Attribute] = {
    **_all(
        "home, home city, city, city of residence, lives in, live in, living in, residence, place of residence, location, "
        "current city, current location, current residence, resides in, based in, moved to, relocated to, home town now, "
        "home country, country, country of residence, 居住地, 住在, 现居, 现居地, 城市, 居住城市, 所在城市, 所在地, 搬到, 常住地",
        Attribute("home_", _P, True),
    ),
    **_all("home address, address, street address, 地址, 住址, 家庭住址", Attribute("home_address", _P, True)),
    **_all(
        "hometown, home town, origin, from, comes from, place of origin, home land, grew up in, 家乡, 老家, 来自",
        Attribute("hometown", _P),
    ),
    **_all("birthplace, place of birth, born in, 出生地, 出生在", Attribute("birthplace", _P, True)),
    **_all("birthday, date of birth, birth date, birthdate, 生日, 出生日期", Attribute("birthday", _P, True)),
    **_all("age, years old, 年龄, 岁数", Attribute("age", _P, True)),
    **_all(
        "employer, works at, work at, works for, work for, company, workplace, place of work, employed by, employed at, joined, "
        "working at, 公司, 工作单位, 雇主, 就职于, 工作于, 任职于, 就职公司, 单位",
        Attribute("employer", _P, True),
    ),
    **_all(
        "job, occupation, profession, job title, works as, work as, working as, role, position, career, current job, "
        "职业, 工作, 职位, 岗位",
        Attribute("job", _P, True),
    ),
    **_all("name, full name, first name, real name, 名字, 姓名", Attribute("name", _P, True)),
    **_all("nickname, called, goes by, 昵称, 外号", Attribute("nickname", _P, True)),
    **_all("surname, last name, family name, 姓", Attribute("surname", _P, True)),
    **_all("email, e-mail, email address, e-mail address, 邮箱, 电子邮箱, 邮件地址", Attribute("email", _P, True)),
    **_all(
        "phone, phone number, mobile, mobile number, telephone, telephone number, cell, cell number, 电话, 手机号, 电话号码",
        Attribute("phone", _P, True),
    ),
    **_all(
        "school, studies at, study at, university, college, attends, attending, 学校, 大学, 就读于",
        Attribute("school", _P, True),
    ),
    **_all("graduated from, alma mater, degree from, 毕业于", Attribute("graduated from", _P)),
    **_all("field of study, studies, study, major, studying, subject, 专业, 学习专业", Attribute("field of study", _P)),
    **_all(
        "marital status, relationship status, civil status, relationship, 婚姻状况, 感情状况",
        Attribute("marital status", _P, True),
    ),
    **_all("allergy, allergies, allergic to, is allergic to, 过敏, 过敏原, 过敏源", Attribute("allergy", _P)),
    **_all("diet, dietary preference, dietary restriction, eating habits, 饮食, 饮食习惯", Attribute("diet", _P)),
    **_all("can eat", Attribute("can eat", _P)),
    **_all(
        "condition, health condition, medical condition, illness, disease, diagnosis, diagnosed with, suffers from, 疾病, 病症",
        Attribute("condition", _P),
    ),
    **_all("language, languages, speaks, native language, mother tongue, 语言, 母语, 会说", Attribute("language", _P)),
    **_all("learning, is learning, learns, 正在学, 在学", Attribute("learning", _F)),
    **_all("plays, instrument, plays instrument, sport, plays sport, 乐器", Attribute("plays", _F)),
    **_all("owns, owns a, has a, possession, 拥有", Attribute("owns", _F)),
    **_all("uses, tool used, 使用", Attribute("uses", _F)),
    **_all("vehicle, drives, 开", Attribute("vehicle", _F)),
    **_all("device, devices, 设备", Attribute("device", _F)),
    **_all("fears, fear, afraid of, scared of, phobia, 害怕, 怕", Attribute("fears", _F)),
    **_all("volunteers at, volunteer at, volunteering at, volunteers for", Attribute("volunteers at", _F)),
    **_all("pronouns", Attribute("pronouns", _P, True)),
    **_all("timezone, time zone, 时区", Attribute("timezone", _P, True)),
    **_all("drinks, drink", Attribute("drinks", Kind.PREFERENCE)),
    **_all("eats, eat", Attribute("eats", Kind.PREFERENCE)),
    **_all(
        "likes, like, loves, enjoys, hobby, hobbies, interest, interests, passion, 爱好, 兴趣, 喜欢",
        Attribute("likes", Kind.PREFERENCE),
    ),
    **_all("dislikes, dislike, hates, 不喜欢, 讨厌", Attribute("dislikes", Kind.PREFERENCE, polarity="-")),
    **_all("prefers, preference, preferred, prefer", Attribute("prefers", Kind.PREFERENCE)),
}
_HAS = re.compile(r"^(?:has|have|had) (?:an? |the )?|^(?:my|the|his|her|their|is|the name of) |^有")
_NAMED = re.compile(r"(?:'s)? (?:is )?(?:names?|called|named)$|的?(?:名字|名叫|叫)$")
_FAVOURITE = re.compile(r"(?:all[- ]time )?favou?rites? (?P<x>.+)")
_LONGEST = 60
_SHARED = {"spouse", "boss"}
_TASKS = {
    "reminder": "reminder",
    "remind": "reminder",
    "todo": "todo",
    "to do": "todo",
    "task": "todo",
    "提醒": "reminder",
}
_LIKED = {"love": "likes", "like": "likes", "dislike": "dislikes", "hate": "dislikes"}


def attribute_of(kind: str, what: str, value: str) -> Attribute:
    """The attribute of a fact of a model's `kind` that it calls `what`."""
    said = normal(what).replace("_", " ").strip(" .:?")
    if kind in ("always", "never"):
        return Attribute(kind, Kind.PREFERENCE, polarity="-" if kind == "never" else "+")
    if kind == "event":
        return Attribute("event", Kind.EVENT)
    if kind == "plan":
        return Attribute(_TASKS.get(said, "plan"), Kind.COMMITMENT)
    favourite = _FAVOURITE.fullmatch(said)
    if favourite and kind not in ("dislike", "hate"):
        return Attribute(f"favourite {favourite['x']}", Kind.PREFERENCE, single=True)
    if said.startswith("最喜欢的") and kind not in ("dislike", "hate"):
        return Attribute(said, Kind.PREFERENCE, single=True)
    if kind in _LIKED:
        return _taste(kind, said, value)
    return _fact(Kind.PROFILE if kind == "profile" else Kind.FACT, said, value)


def _taste(kind: str, said: str, value: str) -> Attribute:
    if kind in ("dislike", "hate"):
        return Attribute("dislikes", Kind.PREFERENCE, polarity="-")
    if said.startswith("prefer"):
        name, single = preferred_as(value)
        return Attribute(name, Kind.PREFERENCE, single)
    known = _KNOWN.get(said)
    if known is not None and known.name in ("drinks", "eats"):
        return known
    return Attribute("likes", Kind.PREFERENCE)


def _fact(kind: Kind, said: str, value: str) -> Attribute:
    known = _KNOWN.get(said) or _KNOWN.get(_HAS.sub("", said)) or _possessed(said)
    if known is not None:
        if known.name == "home_":
            return _home(value)
        if known.name == "prefers":
            name, single = preferred_as(value)
            return Attribute(name, Kind.PREFERENCE, single)
        return known
    plain = _NAMED.sub("", _HAS.sub("", said)).strip()
    kin = english.KIN.get(plain) or chinese.KIN.get(plain) or english.KIN.get(plain.removesuffix("s"))
    if kin:
        return Attribute(kin, Kind.PROFILE, kin in _SHARED)
    if not said:
        return Attribute("is", kind)
    return Attribute(said[:_LONGEST], kind, said.split()[-1] in english.VALUE_NOUNS)


def is_detail(attribute: Attribute) -> bool:
    """Whether an attribute is the number, code or place of a thing."""
    return attribute.kind is Kind.FACT and attribute.name.split()[-1] in english.VALUE_NOUNS


def _possessed(said: str) -> Attribute | None:
    found = english.POSSESSED.get(_HAS.sub("", said))
    return Attribute(found[0], found[1], found[2]) if found else None


def _home(value: str) -> Attribute:
    """Where somebody lives: a street, a city, a region or a country."""
    found = read("address", Place(value, 0, len(value))) or read("place", Place(value, 0, len(value)))
    where = found[0].attribute if found and found[0].start == 0 else ""
    if value in CHINESE_COUNTRIES:
        where = "country"
    elif re.search(r"[路街巷弄号]\d|\d号", value):
        where = "address"
    return Attribute(f"home_{where or 'city'}", Kind.PROFILE, True)
