"""Which memories feedback means: those to be forgotten, those agreed to, those that hold a word. Reads only.

Finds too little rather than too much: what is not surely meant is a candidate, which is shown and left alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memos.memory.feedback import Topic
from memos.memory.filter import And, Compare, Field, Filter, Op, Or
from memos.memory.forgotten import with_forgotten
from memos.memory.model import EdgeType, Kind, Layer, Memory, Status
from memos.organize.exchange import found
from memos.organize.passages import forgotten, passages
from memos.storage.ports import FEEDBACK, WAS_TRUE, CubeStore, TextQuery, View
from memos.text.analysis import analyze
from memos.text.spans import sentences

FACTS = (Kind.FACT, Kind.PROFILE, Kind.PREFERENCE, Kind.COMMITMENT, Kind.EVENT)
MOST, MOST_BROAD = 8, 30  # memories that one sentence may have forgotten: of one thing, and of all that is about it
SHOWN = 5  # candidates that are told
_LOOKED_AT = 500
_EVER = View(statuses=WAS_TRUE)
_HAN = re.compile("[\u3400-\u9fff]")
KIN = frozenset(
    {"boss", "sibling", "spouse", "partner", "parent", "child", "relative", "friend", "colleague", "pet", "ex"}
)


@dataclass(frozen=True, slots=True)
class Found:
    """The memories that are meant. `why`: why it is not certain; then nothing is meant, and `candidates` may have been. `mixed`:
    the raw records that say it among other things, and stay, with a note of the passages that do.
    """

    memories: tuple[Memory, ...] = ()
    why: str = ""
    candidates: tuple[Memory, ...] = ()
    mixed: tuple[Memory, ...] = ()


@dataclass(slots=True)
class _About:
    """What is about a topic, while it is collected."""

    facts: dict[str, Memory] = field(default_factory=dict)
    records: dict[str, Memory] = field(default_factory=dict)


async def forgettable(
    store: CubeStore, trace: Memory, topic: Topic, me: Collection[str], named: Sequence[str]
) -> Found:
    """What a topic means: the facts about it, and the records that say nothing else. `me`: what the speaker is called in facts.

    `named`: ids the caller gave; then nothing else is meant, and it may be many.
    """
    scope = await with_kin(store, named) if named else {}
    if named and not scope:
        return Found(why="none of the memories that are named is in this cube")
    if topic.pointing:
        return _pointed_at(trace, topic, named, scope)
    about = await _about(store, trace, topic, me, scope)
    facts, records = list(about.facts.values()), list(about.records.values())
    if not facts and not records:
        near = await _near(store, topic, trace)
        return Found(why=f"nothing that is remembered is surely about {topic.words or 'that'!r:.80}", candidates=near)
    sure = bool(named) and set(named) <= {*about.facts, *about.records}  # just these were named, not all of an answer's
    doubt = _doubt(topic, facts, records)
    if doubt and not sure:
        return Found(why=doubt, candidates=(*facts, *records)[:SHOWN])
    whole, mixed = await _only_about_it(store, topic, about)
    chosen = (*facts, *whole)
    if not chosen:
        return Found(
            why="it is only said among other things; give the ids of what is to be forgotten",
            candidates=tuple(records[:SHOWN]),
        )
    most = MOST_BROAD if topic.broad else MOST
    if len(chosen) > most and not sure:
        return Found(
            why=f"{len(chosen)} memories are about that; give the ids of those that are meant",
            candidates=chosen[:SHOWN],
        )
    return Found(chosen, mixed=mixed)


async def with_evidence(store: CubeStore, ids: Sequence[str]) -> Found:
    """The memories of these ids, and the raw records that facts among them were read from and that say nothing else."""
    named = await store.get(list(ids))
    about = _About({m.id: m for m in named if m.layer is Layer.DERIVED})
    evidence = {s.memory_id for m in about.facts.values() for s in m.sources if s.memory_id} - {m.id for m in named}
    about.records = {m.id: m for m in await store.get(sorted(evidence)) if m.kind is Kind.TRACE}
    whole, mixed = await _only_about_it(store, Topic(), about)
    return Found((*named, *whole), mixed=mixed)


async def agreed_to(store: CubeStore, trace: Memory, me: Collection[str], named: Sequence[str]) -> Found:
    """What "yes, that's right" is said of: the facts that the answer before it told, or the one fact that the caller named."""
    said = trace.body.get("context", ())
    last = next((str(m["text"]) for m in reversed(said) if m.get("role") == "assistant"), None)
    scope = await with_kin(store, named) if named else None
    if last is None:
        facts = [m for m in (scope or {}).values() if m.layer is Layer.DERIVED and m.status is Status.ACTIVE]
        return (
            Found(tuple(facts))
            if len(facts) == 1
            else Found(why="it is not known what is right: no answer was given with it")
        )
    if last.rstrip().endswith(("?", "？")):
        return Found(why="what was said before is a question, so nothing is confirmed")
    known = list(scope.values()) if scope else await current(store)
    told = told_in(last, [m for m in known if m.layer is Layer.DERIVED and m.status is Status.ACTIVE], me)
    return Found(tuple(told)) if told else Found(why="nothing that is remembered was told in the answer before")


def told_in(message: str, facts: Iterable[Memory], me: Collection[str]) -> list[Memory]:
    """The facts that a message tells: all their words, or, where no fact has them all, the one value that is in it."""
    valued = [m for m in facts if (value := str(m.body.get("value", ""))) and _has(message, value)]
    whole = [m for m in valued if _holds(message, predicate(m, me))]
    if whole:
        return whole
    return valued if len({str(m.body.get("value", "")).casefold() for m in valued}) == 1 and len(valued) <= 2 else []


def tells(message: str, fact: Memory) -> bool:
    """Whether a message surely tells a fact: it has all its words."""
    value, subject = str(fact.body.get("value", "")), str(fact.body.get("subject", ""))
    return bool(value) and _has(message, value) and _holds(message, predicate(fact, (subject,)))


def predicate(fact: Memory, me: Collection[str]) -> str:
    """What a fact says, without whom of."""
    text = re.sub(r"^(?:the user(?:'s)?|用户的?)\s*", "", fact.text, flags=re.IGNORECASE)
    for name in me:
        text = re.sub(rf"^{re.escape(name)}(?:'s|的)?\s*", "", text, flags=re.IGNORECASE)
    return text


async def holding(store: CubeStore, words: str) -> tuple[list[Memory], list[Memory]]:
    """The current derived memories, and the raw messages, that hold these words."""
    like = Compare(Field("text"), Op.LIKE, words)
    both = [m for m in await _all(store, like) if found(m.text, words)]
    derived = [m for m in both if m.layer is Layer.DERIVED and m.kind is not Kind.SUMMARY]
    return derived, [m for m in both if m.kind is Kind.TRACE and FEEDBACK not in m.body]


async def current(store: CubeStore, where: Filter | None = None) -> list[Memory]:
    """The facts that hold now, newest first, as many as are looked at."""
    kinds = Compare(Field("kind"), Op.IN, tuple(k.value for k in FACTS))
    page = await store.list(And((kinds, where)) if where is not None else kinds, limit=_LOOKED_AT)
    return list(page.items)


async def with_kin(store: CubeStore, ids: Sequence[str]) -> dict[str, Memory]:
    """The memories of these ids, what was read from them and what they were read from. Unknown ids are left out."""
    links = await store.neighbors(list(ids), depth=1, types=[EdgeType.DERIVED_FROM], view=View())
    met = dict.fromkeys([*ids, *(end for link in links for end in (link.edge.src, link.edge.dst))])
    return {m.id: m for m in await store.get(list(met), _EVER) if m.kind is not Kind.SUMMARY}


async def _all(store: CubeStore, where: Filter, view: View = View()) -> list[Memory]:
    out: list[Memory] = []
    cursor: str | None = None
    while len(out) < 10 * _LOOKED_AT:
        page = await store.list(where, view=view, limit=_LOOKED_AT, cursor=cursor)
        out += page.items
        cursor = page.cursor
        if cursor is None:
            break
    return out


def _pointed_at(trace: Memory, topic: Topic, named: Sequence[str], scope: Mapping[str, Memory]) -> Found:
    """ "Forget that": the one memory that was named, or, for "all of those", all of them."""
    there = [scope[id] for id in named if id in scope]
    if len(there) == 1 or (there and topic.broad and len(there) <= MOST):
        return Found(tuple(there))
    return Found(
        why="what is to be forgotten is not said; name it, or give the id of the memory",
        candidates=tuple(there[:SHOWN]),
    )


async def _about(
    store: CubeStore, trace: Memory, topic: Topic, me: Collection[str], scope: Mapping[str, Memory]
) -> _About:
    """The facts and raw records about a topic, wherever they are, or among those in scope."""
    about = _About()
    pool = [m for m in (list(scope.values()) or await _pool(store, topic, me)) if m.id != trace.id]
    if topic.mine or topic.attributes or topic.keys:
        pool = [m for m in pool if _hers(m, trace, me)]
    facts = [m for m in pool if m.kind in FACTS]
    keyed = [m for m in facts if m.body.get("key") in topic.keys]
    called = [m for m in facts if _is_called(m, topic, me)]
    worded = [m for m in facts if topic.words and _fact_is_about(m, topic, me)]
    about.facts = {m.id: m for m in keyed or called or ([] if topic.attributes else worded)}
    if topic.words:
        about.records = {
            m.id: m
            for m in pool
            if m.kind is Kind.TRACE
            and FEEDBACK not in m.body
            and any(_sentence_is_about(s, topic, m) for s in _said(m))
        }
    evidence = {s.memory_id for m in about.facts.values() for s in m.sources if s.memory_id} - {trace.id}
    told = {m.id: m for m in await store.get(sorted(evidence)) if m.kind is Kind.TRACE}
    if others := {
        m.id for m in told.values() if topic.mine and not _hers(m, trace, me)
    }:  # two users say it of themselves
        about.facts = {m.id: m for m in about.facts.values() if not others & {s.memory_id for s in m.sources}}
    about.records |= {id: m for id, m in told.items() if id not in others}
    return about


def _hers(m: Memory, trace: Memory, me: Collection[str]) -> bool:
    """Whether "my" may mean it: what another user of the cube said of "the user", or of "my ...", is of that one."""
    if m.owner in (None, trace.owner):
        return True
    return m.layer is Layer.DERIVED and str(m.body.get("subject", "")).casefold() in {*me} - {"user"}


async def _pool(store: CubeStore, topic: Topic, me: Collection[str]) -> list[Memory]:
    """What may be about a topic: what has its words, and what is called so."""
    rows: dict[str, Memory] = {}
    if topic.words:
        terms = tuple(dict.fromkeys(analyze(topic.words, query=True).content_terms()))
        hits = await store.search_text(TextQuery(terms), limit=_LOOKED_AT, view=_EVER) if terms else []
        rows |= {m.id: m for m in await store.get([h.id for h in hits], _EVER)}
        if _HAN.search(topic.words) and len(topic.words) <= 2:
            rows |= {m.id: m for m in await _all(store, Compare(Field("text"), Op.LIKE, topic.words), _EVER)}
    slots = [f"{who}|{name}" for who in me for name in topic.attributes] + [k.rpartition("|")[0] for k in topic.keys]
    if slots:
        where: Filter = Or(tuple(Compare(Field("slot"), Op.EQ, slot) for slot in dict.fromkeys(slots)))
        rows |= {m.id: m for m in await _all(store, where, _EVER)}
    return list(rows.values())


def _is_called(fact: Memory, topic: Topic, me: Collection[str]) -> bool:
    """Whether a fact of the speaker's is what the topic calls it ("my phone number"), with these words where there are any."""
    who, _, name = (fact.slot or "").partition("|")
    if name not in topic.attributes or who not in me:
        return False
    whole = not topic.words or (name in topic.attributes and not _extra(topic))
    return whole or _has(fact.text, topic.words) or _stems(topic.words) <= _stems(fact.text)


def _extra(topic: Topic) -> bool:
    """Whether the words say which of several is meant ("allergy to nuts")."""
    return "allergy" in topic.attributes and not re.fullmatch(r"allerg(?:y|ies)|过敏.*", topic.words, re.IGNORECASE)


def _fact_is_about(fact: Memory, topic: Topic, me: Collection[str]) -> bool:
    subject = str(fact.body.get("subject", "")).casefold()
    if topic.mine and subject not in me:
        owner = next((who for who in me if subject.startswith((f"{who}'s ", f"{who}的"))), None)
        rest = subject.removeprefix(f"{owner}'s ").removeprefix(f"{owner}的") if owner else ""
        if owner is None or not (_stems(rest) & _stems(topic.words) or (_HAN.search(rest) and rest in topic.words)):
            return False
    return _names_it(fact.text, topic.words)


def _names_it(text: str, words: str) -> bool:
    """Whether a text has all words of a topic; a lone name not as a part of a longer one."""
    if _HAN.search(words):
        return words in text
    if " " in words:
        terms = _stems(words)
        return bool(terms) and terms <= _stems(text)
    spans = [span for word in {words, words.removesuffix("s")} for span in found(text, word)]  # never a verb: "works"
    return any(not words[0].isupper() or not _in_name(text, span) for span in spans)


def _in_name(text: str, span: tuple[int, int]) -> bool:
    """Whether a name goes on: "Tom" of "Tom's Diner" does, "Tom" of "my brother Tom Berg" may."""
    return re.match(r"(?:['’]s)? [A-Z]", text[span[1] :]) is not None


def _sentence_is_about(sentence: str, topic: Topic, record: Memory) -> bool:
    if not topic.mine:
        return _names_it(sentence, topic.words)
    if record.role not in ("user", "assistant"):
        return False
    han = _HAN.search(topic.words) is not None
    whose = ("我" if record.role == "user" else "[你您]") if han else ("my" if record.role == "user" else "your")
    first = "i" if record.role == "user" else "you"
    if han:
        gap = (
            r"(?:们?的|们|家的?|有(?:一?[个只条位名])?|现在|也|很|还|最)?"  # nobody else between: 我妹妹的电话 is hers
        )
        return re.search(rf"{whose}{gap}{re.escape(topic.words)}", sentence) is not None
    near = rf"\b(?:{whose}|{first})\b(?:\s+[\w-]+){{0,2}}?\s+{re.escape(topic.words)}\b"
    if re.search(near, sentence, re.IGNORECASE):
        return True
    begins = re.match(rf"\s*(?:{first}|{whose})\b", sentence, re.IGNORECASE) is not None
    return begins and " " in topic.words and _stems(topic.words) <= _stems(sentence)


def _doubt(topic: Topic, facts: Sequence[Memory], records: Sequence[Memory]) -> str:
    """Why it is not certain that one thing is meant; "" when it is."""
    ties = {name for m in facts if (name := (m.slot or "").partition("|")[2]) in KIN and _is_value(m, topic.words)}
    if len(ties) > 1:
        return f"more than one is called {topic.words!r:.60}: {', '.join(sorted(ties))}"
    if topic.broad or topic.keys or topic.attributes:
        return ""
    if topic.mine:
        return ""
    if len({m.slot for m in facts if m.status is Status.ACTIVE}) > 1 or (not facts and len(records) > 1):
        return f"several memories have to do with {topic.words!r:.60}; say which, or give its id"
    if not all(_is_name_of(m, topic.words) for m in facts) or not all(
        _begins_with(m, topic.words) for m in records if not facts
    ):
        return f"{topic.words!r:.60} is said of something else; say what is to be forgotten of it, or give the id"
    return ""


def _is_name_of(fact: Memory, words: str) -> bool:
    """Whether words are what a fact is about, not what it says of it: "the wifi password", but not "Oslo"."""
    what = f"{fact.body.get('subject', '')} {fact.body.get('attribute', '')}"
    return words in what if _HAN.search(words) else _stems(words) <= _stems(what)


def _begins_with(record: Memory, words: str) -> bool:
    return any(re.match(rf"(?:the |our |my )?{re.escape(words)}", s.strip(), re.IGNORECASE) for s in _said(record))


def _is_value(fact: Memory, words: str) -> bool:
    return str(fact.body.get("value", "")).casefold() == words.casefold()


async def _only_about_it(store: CubeStore, topic: Topic, about: _About) -> tuple[list[Memory], tuple[Memory, ...]]:
    """The raw records that say nothing beside what is to be forgotten, and those that say it among other things, noted."""
    links = await store.neighbors(
        list(about.records), depth=1, types=[EdgeType.DERIVED_FROM], direction="in", view=_EVER
    )
    derived = await store.get(sorted({link.edge.src for link in links}), _EVER) if links else []
    kept = {m.id: m for m in derived if m.kind is not Kind.SUMMARY and m.id not in about.facts}  # it only retells them
    whole, mixed = [], []
    for id, record in about.records.items():
        others = [kept[link.edge.src] for link in links if link.edge.dst == id and link.edge.src in kept]

        def is_it(words: str, record: Memory = record) -> bool:
            return bool(topic.words) and _sentence_is_about(words, topic, record)

        told = passages(record, about.facts.values(), is_it)
        if not others and "whole" not in record.body and told and all(about_it for _, about_it in told):
            whole.append(record)
        else:
            mixed.append(with_forgotten(record, forgotten(record, told, about.facts.values(), others)))
    return whole, tuple(mixed)


async def _near(store: CubeStore, topic: Topic, trace: Memory) -> tuple[Memory, ...]:
    """What may have been meant: what has some of the words."""
    terms = tuple(dict.fromkeys(analyze(topic.words, query=True).content_terms()))
    if not terms:
        return ()
    hits = await store.search_text(TextQuery(terms), limit=4 * SHOWN)
    near = await store.get([h.id for h in hits if h.id != trace.id])
    return tuple(m for m in near if m.kind in (*FACTS, Kind.TRACE) and FEEDBACK not in m.body)[:SHOWN]


def _said(record: Memory) -> list[str]:
    return [record.text[a:b] for a, b in sentences(record.text)]


def _holds(text: str, words: str) -> bool:
    """Whether a text has all these words, in whatever order, or is Chinese and has just these."""
    return _stems(words) <= _stems(text) or _bare(words) in text


def _has(text: str, words: str) -> bool:
    return bool(found(text, words)) or (_HAN.search(words) is not None and words in text)


def _bare(text: str) -> str:
    return text.strip(" .。!！")


def _stems(text: str) -> frozenset[str]:
    return frozenset(analyze(text).content_terms())


async def likely(store: CubeStore, trace: Memory, limit: int = 20) -> list[Memory]:
    """The memories feedback is likely about: facts first, that share words with it and what was said before, then the newest."""
    said = " ".join([trace.text, *(str(m.get("text", "")) for m in trace.body.get("context", ()))])
    terms = tuple(dict.fromkeys(analyze(said, query=True).content_terms()))[:64]
    hits = await store.search_text(TextQuery(terms), limit=4 * limit) if terms else []
    shared = [m for m in await store.get([h.id for h in hits]) if m.id != trace.id and FEEDBACK not in m.body]
    facts = [m for m in shared if m.kind in FACTS]
    records = [m for m in shared if m.kind is Kind.TRACE]
    rows = {m.id: m for m in (*facts[:limit], *records[: limit // 2])}
    for newest in (await current(store))[:limit]:
        if len(rows) >= limit:
            break
        rows[newest.id] = newest
    return list(rows.values())[:limit]
