"""Reading one sentence of a user's for what is to be done, or not done, from now on: see `directives`, which calls this."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from memos.evolution.directives import directive_words as w
from memos.text.lazy import LazyPattern

_HAN = re.compile(r"[\u4e00-\u9fff]")
_WORD = re.compile(r"[\w'’-]+")
_PREFERRING = ("prefer", "favor", "favour")


@dataclass(frozen=True, slots=True)
class Directive:
    """What to do (`prefer`), what not to do (`avoid`), and `when`. `scope`: `agent:NAME`, `tool:NAME`, `environment:NAME` or
    `all`; `strength` in [0, 1]. `start` and `end`: the characters of the text that say so, which are `text`.
    """

    prefer: str = ""
    avoid: str = ""
    when: str = ""
    scope: str = "all"
    strength: float = 0.7
    start: int = 0
    end: int = 0
    text: str = ""


def heard(line: str, own: str, agent: str, *, brief: bool = True) -> tuple[list[Directive], str | None]:
    """The directives of a sentence (places within it), and what it forbids to use without saying for how long. `brief`: it is not
    part of a long text, where "always" and "instead of" are said of the task, or by whoever wrote what is pasted.
    """
    if not brief and not w.LASTING.search(line):
        return [], None
    if len(_HAN.findall(line)) >= 3:
        return _chinese(line, own), None
    return _english(line, own, agent) if w.ANY.search(line) else ([], None)


def _english(line: str, own: str, agent: str) -> tuple[list[Directive], str | None]:
    stop = len(line.rstrip(" \t\n.!…"))
    at = _cut(w.BULLET, line, len(line) - len(line.lstrip()))
    if line[at : at + 1] in "\"“‘'`":  # somebody's words, not an order
        return [], None
    if agent and (called := re.match(rf"@?{re.escape(agent)}\b[\s,:]*", line[at:], re.IGNORECASE)):
        at += called.end()
    at = _cut(w.OPENERS, line, at)
    body = line[at:stop]
    asks = line.rstrip("\"'”’ \t\n)").endswith("?")
    if asks and not w.ASKED.match(body):
        return [], None
    if (
        not body
        or w.QUESTION.match(body)
        or w.SUPPOSED.match(body)
        or w.SUPPOSED_ANY.search(body)
        or w.IDIOMS.match(body)
    ):
        return [], None
    if w.REPORTED.match(body) or w.REPORTED_LAST.search(body):
        return [], None
    once = w.ONE_OFF.search(body)
    if once is not None and not (once[0].lower() == "here" and w.LASTS.search(body)):
        return [], None
    return _Order(line, own, at, len(line.rstrip(" \t\n.!?…"))).read()


@dataclass(slots=True)
class _Order:
    """An English sentence that is being taken apart from both ends, and what was found out on the way."""

    line: str
    own: str
    at: int
    stop: int
    standing: bool = False
    always: bool = False
    never: bool = False
    no: bool = False
    again: bool = False
    duty: bool = False
    allowed: bool = False
    stopped: bool = False
    here: bool = False
    when: str = ""
    old: str = ""
    strength: float = 0.0

    def read(self) -> tuple[list[Directive], str | None]:
        """See `heard`."""
        start = self.at
        if (passive := w.PASSIVE.match(self.line[self.at : self.stop])) is not None:
            said = self._own(self.at, self.stop)
            kind = "avoid" if passive["adv"].lower() == "never" else "prefer"
            made = self._made(start, 0.9)
            return [replace(made, avoid=said) if kind == "avoid" else replace(made, prefer=said)], None
        self._heads()
        if self.at >= self.stop:
            return [], None
        self._tails()
        rest = self.line[self.at : self.stop]
        if self.standing and (said_in := w.SPEAKING.match(rest)) is not None:  # "from now on in English, please"
            return [replace(self._made(start, 0.8), prefer=f"answer {said_in['in']}")], None
        word = _WORD.match(rest)
        if word is None:
            return [], None
        verb = word[0].lower()
        if self.stopped:
            return self._stop(start, verb)
        if verb not in w.VERBS or w.STATES.match(rest):
            return [], None
        return self._judge(start, verb, rest)

    def _heads(self) -> None:
        """Take away what comes before the verb."""
        while True:
            here = self.at
            text = self.line[here : self.stop]
            if m := w.EVERY.match(text):
                self.standing, self.when = True, self._own(here, here + m.end("cond"))
            elif (m := w.STANDING_HEAD.match(text)) or (m := w.NEXT.match(text)):
                self.standing = True
                self.never |= "no circumstances" in m[0].lower()
                self.strength = max(self.strength, 0.6 if "next" in m[0].lower() else 0.8)
            elif m := w.INSTEAD_FIRST.match(text):
                self.old = self._own(here + m.start("old"), here + m.end("old"))
            elif m := w.POLITE_NOT.match(text):
                self.no = self.duty = True
                self.again |= m["ever"] is not None or "ever" in m[0].lower().split()
                self.never |= " never " in f" {m[0].lower()} "
            elif m := w.NEVER.match(text):
                self.never = True
            elif m := w.ALWAYS.match(text):
                self.always = True
            elif m := w.STOP.match(text):
                self.no = self.stopped = True
            elif m := w.NOT.match(text):
                self.no = not self.no
                self.again |= m["again"] is not None
            elif m := w.WEAK.match(text):
                self.strength = 0.3
            elif m := w.ALLOWED.match(text):
                self.allowed = True
            elif (m := w.POLITE.match(text)) or (m := w.OPENERS.match(text)):
                pass
            elif m := w.HERE_HEAD.match(text):
                self.here = True
            elif m := (w.WE_HERE if self.here else w.WE).match(text):
                pass
            elif not self.when and (m := w.CONDITION.match(text)):
                self.when = self._own(here, here + m.end("cond"))
                self.standing |= w.EACH_EVENT.match(text) is not None
            else:
                return
            self.at = here + m.end()
            if m.end() == 0:
                return

    def _tails(self) -> None:
        """Take away what comes after what is to be done."""
        while True:
            text = self.line[self.at : self.stop]
            if m := w.TIDY.search(text):
                pass
            elif m := w.HERE_TAIL.search(text):
                self.here = True
            elif (m := w.STANDING_TAIL.search(text)) or (m := w.NEXT_TAIL.search(text)):
                self.standing = True
                self.strength = max(self.strength, 0.6 if "next" in m[0].lower() else 0.8)
                if m.end() < len(text):  # ..., because ...
                    pass
            elif (self.no or self.never or self.allowed) and (m := w.AGAIN_TAIL.search(text)):
                self.again = True
                if m["for"]:
                    self.when = self.when or m["for"].strip()
            elif not self.when and (m := w.TRAIL_WHEN.search(text)):
                cond = m["cond"]
                self.standing |= bool(re.match(r"(?:whenever|every time|each time)\b", cond, re.IGNORECASE))
                self.standing |= w.EACH_EVENT.match(cond) is not None
                self.when = self._own(self.at + m.start("cond"), self.at + m.end("cond"))
            else:
                return
            if m.start() == 0:
                return
            self.stop = self.at + m.start()

    def _judge(self, start: int, verb: str, rest: str) -> tuple[list[Directive], str | None]:
        """Whether it holds beyond this task, and what it says then."""
        negative = self.no or self.never
        lasting = self.standing or self.always or self.never or (negative and self.again)
        lasting |= self.here and verb in w.HABITS
        if self.allowed:
            again = [replace(self._made(start, 0.4), prefer=self._rest())]
            return (again if self.again or self.standing else []), None
        compared = self._instead(start, rest, lasting) if negative else self._compared(start, verb, rest, lasting)
        if compared is not None:
            return compared, None
        if verb in _PREFERRING and not negative and not w.VALUE.match(_object(rest)):
            return [replace(self._made(start, 0.6), prefer=self._rest())], None
        if negative and not lasting:
            lasting = (self.duty and " " in rest.strip()) or bool(w.WITHOUT.search(f"{rest} {self.when}"))
        if not lasting:
            return [], (self._rest() if negative and verb in w.USING else None)
        made = self._made(start, 0.9 if self.never or self.always else 0.8)
        return [replace(made, avoid=self._rest()) if negative else replace(made, prefer=self._rest())], None

    def _instead(self, start: int, rest: str, lasting: bool) -> list[Directive] | None:
        """ "Do not use pip, use uv"; None where it is no such sentence."""
        pair = w.NOT_BUT.match(rest)
        if pair is None and (pair := w.NOT_BUT_ALWAYS.match(rest)) is not None:
            lasting |= pair["always"] is not None
            if not (self.never or pair["always"]):
                return None
        if pair is None or not (lasting or not w.VALUE.match(_object(pair["old"]))):
            return None
        new, old = self._part(pair, "new"), self._part(pair, "old")
        return [replace(self._made(start, 0.8), prefer=f"{pair['verb']} {new}", avoid=old)]

    def _compared(self, start: int, verb: str, rest: str, lasting: bool) -> list[Directive] | None:
        """ "Use uv instead of pip", "prefer uv over pip", "instead of pip, use uv"; None where nothing is compared."""
        if self.old:
            good = lasting or verb in w.USING
            return [replace(self._made(start, 0.7), prefer=self._rest(), avoid=self.old)] if good else []
        pair = (w.OVER if verb in _PREFERRING else w.COMPARED).match(rest)
        if pair is None or not (lasting or verb in w.USING):
            return None
        if not lasting and any(w.VALUE.match(_object(pair[one])) for one in ("new", "old")):
            return []
        new, old = self._part(pair, "new"), self._part(pair, "old")
        strength = 0.6 if verb in _PREFERRING else 0.7
        return [replace(self._made(start, strength), prefer=new, avoid=_with_verb(new, old))]

    def _stop(self, start: int, verb: str) -> tuple[list[Directive], str | None]:
        """ "Stop adding emojis", "no more emojis", "avoid regular expressions from now on"."""
        lasting = self.standing or self.always or self.again
        rest = self.line[self.at : self.stop]
        lead = self.line[start : self.at].lower()
        what = _object(rest)
        habit = (
            verb in w.LASTING_STOPS
            and not w.VALUE.match(what)
            and ("stop" in lead or "quit" in lead or "avoid" in lead)
        )
        none = "no more" in lead and not re.match(r"(?:than|time|questions?|no|of)\b", rest, re.IGNORECASE)
        if not (lasting or habit or none):
            return [], None
        return [replace(self._made(start, 0.8 if "avoid" not in lead else 0.7), avoid=self._rest())], None

    def _made(self, start: int, strength: float) -> Directive:
        whole = self.line[start:]
        value = max(self.strength, strength) if self.strength != 0.3 else 0.3
        if w.WEAK_ANY.search(whole):
            value = 0.3
        elif w.STRONG_ANY.search(whole):
            value = max(value, 0.9)
        end = len(self.line.rstrip(" \t\n.!?…"))
        return Directive(when=self.when, strength=value, start=start, end=end)

    def _rest(self) -> str:
        return self._own(self.at, self.stop)

    def _part(self, pair: re.Match[str], name: str) -> str:
        return self._own(self.at + pair.start(name), self.at + pair.end(name))

    def _own(self, start: int, end: int) -> str:
        return " ".join(self.own[start:end].split()).strip(" ,;:–—-")


@dataclass(frozen=True, slots=True)
class _Frame:
    """What stands around an order in Chinese: where it begins and ends, whether it is to last, and when it holds."""

    start: int
    at: int
    stop: int
    standing: bool = False
    always: bool = False
    asked: bool = False
    when: str = ""


def _chinese(line: str, own: str) -> list[Directive]:
    frame = _framed(line, own)
    if frame is None:
        return []
    body, rest = line[frame.start : frame.stop], line[frame.at : frame.stop]
    if w.ZH_REPORTED.match(body) or w.ZH_SUPPOSED.match(body) or w.ZH_IDIOM.match(body):
        return []
    if w.ZH_ONE_OFF.search(w.ZH_FROM_TODAY.sub("", body)):
        return []
    if w.ZH_QUESTION.search(re.sub(r"[吗么]?\s*[?？]*$", "", rest) if frame.asked else rest):
        return []
    if w.ZH_IDIOM.match(rest) or w.ZH_REPORTED.match(rest):
        return []
    found = _chinese_compared(own[frame.at : frame.stop], rest, lasting=frame.standing)
    if found is None:
        found = _chinese_order(own[frame.at : frame.stop], rest, frame)
    if found is None:
        return []
    strength = 0.3 if w.ZH_WEAK.search(body) else found.strength
    if strength > 0.3 and w.ZH_STRONG.search(body):
        strength = max(strength, 0.9)
    said = replace(found, prefer=_zh(found.prefer), avoid=_zh(found.avoid), when=frame.when)
    return [replace(said, strength=strength, start=frame.start, end=frame.stop)]


def _framed(line: str, own: str) -> _Frame | None:
    """A sentence without what comes before the order; None where somebody else speaks."""
    stop = len(line.rstrip(" \t\n。.!！…~"))
    at = len(line) - len(line.lstrip())
    if line[at : at + 1] in '"“「『‘《`' or w.ZH_REPORTED.match(line, at, stop):
        return None
    at = _cut_all(w.ZH_LEAD, line, _cut(w.BULLET, line, at), stop)
    frame = _Frame(at, at, stop)
    while True:
        here, text = frame.at, line[frame.at : stop]
        if (m := w.ZH_HEAD.match(text)) or (m := w.ZH_NEXT.match(text) if frame.when else None):
            frame = replace(frame, standing=True)
        elif m := w.ZH_LEAD.match(text):
            pass
        elif frame.standing and (m := w.ZH_ASKED.match(text)):
            frame = replace(frame, asked=True)
        elif not frame.when and ((m := w.ZH_WHEN.match(text)) or (m := w.ZH_CONDITION.match(text))):
            when = own[here : here + m.end("cond")].strip()
            next_time, every = bool(w.ZH_NEXT.match(when)), when.startswith(("每", "凡是"))
            frame = replace(frame, when=when, standing=frame.standing or next_time, always=frame.always or every)
        elif m := w.ZH_NEXT.match(text):
            frame = replace(frame, standing=True)
        else:
            return frame
        frame = replace(frame, at=here + m.end())


def _chinese_compared(own: str, rest: str, *, lasting: bool) -> Directive | None:
    """ "用X代替Y", "不要用Y，改用X", "优先用X"; None where nothing is compared, or only for this task."""

    def mine(match: re.Match[str], name: str) -> str:
        return "" if match[name] is None else own[match.start(name) : match.end(name)]

    if pair := w.ZH_NOT_BUT.match(rest) or w.ZH_INSTEAD.match(rest):
        if not lasting and any(w.VALUE.match(pair[one].strip()) for one in ("new", "old")):
            return None
        return Directive(f"用{mine(pair, 'new')}", f"用{mine(pair, 'old')}", strength=0.7)
    if pair := w.ZH_BA.match(rest) or w.ZH_OVER.match(rest):
        return Directive(mine(pair, "new"), mine(pair, "old"), strength=0.6)
    return None


def _chinese_order(own: str, rest: str, frame: _Frame) -> Directive | None:
    """An order in Chinese without a comparison: is it to last, and is it for or against something?"""
    at, no, never, again, always = 0, False, False, False, frame.always
    while True:
        text = rest[at:]
        if m := w.ZH_NEVER.match(text):
            never = True
        elif m := w.ZH_NOT_AGAIN.match(text):
            no = again = True
        elif m := w.ZH_ALWAYS.match(text):
            always = True
        elif (m := w.ZH_TRY.match(text)) or (m := w.ZH_MUST.match(text)):
            pass
        elif m := w.ZH_NOT.match(text):
            no = True
        else:
            break
        at += m.end()
    if not w.ZH_VERB.match(rest[at:]) or not (frame.standing or always or never or again):
        return None
    if no or never:
        return Directive(avoid=own[at:], strength=0.9 if never else 0.8)
    return Directive(prefer=own[at:], strength=0.9 if always else 0.8)


def _zh(text: str) -> str:
    return re.sub(r"(?:了|哦|啊|吧|呀|谢谢|好吗|吗)+$", "", " ".join(text.split()).strip(" ,，;；:：、。?？")).strip(
        " ,，"
    )


def said_instead(line: str, own: str) -> str | None:
    """ "Use uv instead.", after a sentence that forbade something else."""
    found = re.match(
        r"\s*(?:please |just )?(?P<what>(?:use|run|call|choose|take|try) [^,;?]{1,80}?) instead[\s.!]*$",
        line,
        re.IGNORECASE,
    )
    if found is None or w.ONE_OFF.search(line) or w.VALUE.match(_object(found["what"])):
        return None
    return own[found.start("what") : found.end("what")]


def _cut(pattern: LazyPattern, text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()


def _cut_all(pattern: LazyPattern, text: str, at: int, stop: int) -> int:
    while (found := pattern.match(text, at, stop)) and found.end() > at:
        at = found.end()
    return at


def _object(phrase: str) -> str:
    """What a verb is said of."""
    return (
        re.sub(r"^(?:[\w-]+ (?:to |with |for )?)", "", phrase.strip(), count=1)
        if " " in phrase.strip()
        else phrase.strip()
    )


def _with_verb(new: str, old: str) -> str:
    """The second of "use uv instead of pip" with the verb of the first, unless it has one of its own."""
    first = new.split(" ", 1)[0]
    head = old.split(" ", 1)[0].lower()
    return old if head.endswith("ing") or head in w.VERBS else f"{first} {old}" if " " in new else old
