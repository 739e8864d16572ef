"""Packing: from ranked hits to a context block within a hard token budget (a token = 4 characters, rounded up).

Best hits are taken first, then shown in the order things happened, with dates and speakers; current facts lead, stale
records are marked. Everything from memory is escaped, so that no stored text can close the block or speak outside it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo

from memos.memory.clock import shown_since, shown_time
from memos.memory.hit import Hit, Passage
from memos.memory.holding import holds_at
from memos.memory.model import LAYER_OF, Layer, Memory
from memos.memory.time import utcnow
from memos.text.analysis import analyze, passages, sentences
from memos.text.courtesy import says_nothing
from memos.text.document import news_of, own_words

OPEN, CLOSE = "<memos-context>", "</memos-context>"
WHOLE = 280  # characters up to which a memory is shown whole; longer ones are shown by their best passage
FACTS_OF = 3  # hits whose facts are all shown; of the others only facts that were found themselves
PASSAGE = 240  # characters of such a passage
_LEAST, _FEW = 0.35, 10
# What could be taken for structure: our own tags, those by which prompts mark who speaks, and the marks of chat templates.
_TAG = re.compile(
    r"[<＜﹤]\s*[/／]?\s*(?:memos-context[^<>＞﹥]*|(?:memor(?:y|ies)|facts|system|developer|assistant|user|human|instructions?"
    r"|tools?|tool[_-](?:call|calls|result|results|response|use)|function[_-](?:call|calls|results?)"
    r"|(?:start|end)_of_turn|bos|eos|s)\b[^<>＞﹥]*)[>＞﹥]?"
    r"|<[|｜][^<>]{0,80}[|｜]>|<<\s*/?\s*SYS\s*>>|\[\s*/?\s*INST\s*\]",
    re.IGNORECASE,
)
_DEFUSED = str.maketrans("<>＜＞﹤﹥[]", "‹›‹›‹›‹›")
# Never seen by a reader, but by a model: direction marks, zero widths, tag characters, controls. Joiners stay where scripts and
# emoji need them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e00ff]|(?<=[!-~])[\u034f\u200c\u200d\ufe00-\ufe0f]+(?=[!-~])"
)


def least_score(competing: int) -> float:
    """The score below which a hit is not shown to an agent. A score compares hits, and says little of a few: then it is 0."""
    return _LEAST if competing > _FEW else 0.0


def tokens(text: str) -> int:
    """Tokens of a text, counted as 4 characters each, rounded up."""
    return -(-len(text) // 4)


@dataclass(slots=True)
class _Block:
    facts: list[str] = field(default_factory=list)
    lines: list[tuple[datetime | None, int, str]] = field(default_factory=list)

    def render(self) -> str:
        parts = [OPEN]
        if self.facts:
            parts += ["Current facts:", *self.facts]
        if self.lines:
            ordered = sorted(self.lines, key=lambda x: (x[0] is None, x[0], x[1]))
            parts += ["What was said, oldest first:", *(line for _, _, line in ordered)]
        return "\n".join([*parts, CLOSE])


@dataclass(frozen=True, slots=True)
class Packed:
    """A context block (empty when nothing fits), and the hits that stand in it, best first."""

    text: str
    hits: tuple[Hit, ...] = ()


def pack(hits: Sequence[Hit], max_tokens: int | None, zone: tzinfo, *, now: datetime | None = None) -> str:
    """The context block of as many hits as fit, best first; empty when not even one does."""
    return pack_shown(hits, max_tokens, zone, now=now).text


def pack_shown(
    hits: Sequence[Hit],
    max_tokens: int | None,
    zone: tzinfo,
    *,
    marked: bool = False,
    now: datetime | None = None,
) -> Packed:
    """The same, with which hits are in it. `marked`: each line begins with the mark of its hit, for answers that cite. `now`:
    when what stands as a fact is to hold (None: as the clock says). Replies that say nothing take no room, unless there is
    nothing else.
    """
    now = now or utcnow()
    block, shown, kept = _Block(), set[str](), list[Hit]()
    for hit in [h for h in hits if not empty_reply(h.memory)] or hits:
        trial = replace_block(block)
        own = f"{mark(len(kept) + 1, hit)} " if marked else ""
        told = [f for f in hit.facts if hit.rank <= FACTS_OF or f.id in hit.via]
        if LAYER_OF[hit.memory.kind] is Layer.DERIVED and not hit.stale and holds_at(hit.memory, now):
            told.append(hit.memory)
        else:
            trial.lines.append((hit.memory.happened_at, hit.rank, own + line(hit, zone)))
        told = [f for f in told if f.id not in shown]
        trial.facts += [f"- {own}{_fact_line(fact, hit, zone)}" for fact in told]
        if max_tokens is not None and tokens(trial.render()) > max_tokens:
            continue
        block = trial
        shown |= {f.id for f in told} | {hit.memory.id}
        kept.append(hit)
    return Packed(block.render(), tuple(kept)) if kept else Packed("")


def empty_reply(memory: Memory) -> bool:
    """Whether a memory is an answer of the assistant that says nothing: "Noted.", "好的。"."""
    return memory.role == "assistant" and memory.layer is Layer.TRACE and says_nothing(memory.text)


def mark(number: int, hit: Hit) -> str:
    """What cites a hit: its number in the block, and the last eight digits of its id (the first are the same for a minute)."""
    return f"[{number}:{hit.memory.id[-8:]}]"


def replace_block(block: _Block) -> _Block:
    """A copy that can be tried and thrown away."""
    return _Block(list(block.facts), list(block.lines))


def line(hit: Hit, zone: tzinfo) -> str:
    """One memory as one line: date, speaker, what was said; stale ones are marked."""
    when = shown_time(hit.memory, zone)
    stamp = f"{when} " if when else "" if hit.memory.speaker else "- "  # a line never begins with what was stored
    who = f"{escape(hit.memory.speaker)}: " if hit.memory.speaker else ""
    mark = "[outdated] " if hit.stale else ""
    no_longer = (
        "" if hit.stale or not hit.outdated else f" [no longer: {escape(' '.join(f.text for f in hit.outdated))}]"
    )
    injected = hit.memory.body.get("injected", ()) if hit.text == hit.memory.text else ()
    return f"{stamp}{mark}{who}{escape(own_words(hit.text, hit.memory.speaker, injected))}{no_longer}"


def _fact_line(fact: Memory, hit: Hit, zone: tzinfo) -> str:
    since = shown_since(fact, zone)
    against = " ".join(c.text for c in hit.contradicts if c.of == fact.id)
    disputed = f" [contradicted by: {escape(against)}]" if against else ""
    return f"{escape(fact.text)} (since {since}){disputed}" if since else f"{escape(fact.text)}{disputed}"


def escape(text: str) -> str:
    """Stored text as data: tags are defused, line breaks folded and unseen characters taken out, so that it cannot act as
    structure.
    """
    return " ".join(defuse(_UNSEEN.sub("", text)).split())


def defuse(text: str) -> str:
    """A text whose tags are none any more; as long as before."""
    return _TAG.sub(lambda m: m[0].translate(_DEFUSED), text)


def best_passage(memory: Memory, terms: Collection[str], budget: int = PASSAGE) -> Passage | None:
    """The run of sentences of a long memory that says most about the question; None when the memory is short."""
    text = news_of(memory)
    if len(text) <= WHOLE or not text.strip():
        return None
    wanted = set(terms)
    spans = [part for a, b in sentences(text) for part in _cut(text, a, b, budget)]
    starts = tuple({t.lstrip("=")[:4] for t in wanted})  # a stem begins like its word: most sentences need no analysis
    low = text.casefold() if len(text.casefold()) == len(text) else None
    worth = [
        len(wanted.intersection(analyze(text[a:b]).terms))
        if low is None or any(start in low[a:b] for start in starts)
        else 0
        for a, b in spans
    ]
    best, best_span = -1.0, spans[0]
    start = 0
    total = 0
    for end in range(len(spans)):
        total += worth[end]
        while start < end and spans[end][1] - spans[start][0] > budget:
            total -= worth[start]
            start += 1
        value = total + 0.001 * (end - start)
        if value > best:
            best, best_span = value, (spans[start][0], spans[end][1])
    return Passage(*best_span)


def _cut(text: str, start: int, end: int, budget: int) -> list[tuple[int, int]]:
    """A sentence, or its pieces where it is longer than the budget."""
    if end - start <= budget:
        return [(start, end)]
    return [(start + a, start + b) for a, b in passages(text[start:end], budget)]


def with_passage(hit: Hit, terms: Collection[str]) -> Hit:
    """The hit, shown by its best passage when its memory is long."""
    passage = best_passage(hit.memory, terms)
    if passage is None:
        return hit
    text = news_of(hit.memory)[passage.start : passage.end].strip()
    before = "… " if passage.start > 0 else ""
    after = " …" if passage.end < len(hit.memory.text) else ""
    return replace(hit, text=f"{before}{text}{after}", passage=passage)
