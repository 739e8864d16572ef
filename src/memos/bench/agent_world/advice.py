"""How the agent reads what its memory tells it: lines with commands in backticks, patterns with `{parameters}`, what to avoid.

It reads as anybody would: what stands in backticks is a command, what stands after "fails with" is an error; a parameter is
filled from where its pattern fits something that is known (the error, the command at hand). What is told in answer to an error is
about that error. Nothing here knows what was learned, or how.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TOOL = "shell"  # what the agent's only tool is called
_CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_NOT = re.compile(r"\b(?:avoid|never|do not|don't|not:|instead of|pitfalls?)\b|不要|避免", re.IGNORECASE)
_AGAIN = re.compile(r"(?<=[.;:]) +(?:check|fill in|rather|do|not seen to hold|needs|wanted)\b", re.IGNORECASE)
_ASIDE = re.compile(r"(?<=\.) +(?:check|fill in|not seen to hold|needs):", re.IGNORECASE)
_FIRST = re.compile(r"\b(?:first|before|always)\b|先", re.IGNORECASE)
_WANTED = re.compile(r"^- (?:wanted|the user said):|^(?:- )?after \d+ failures", re.IGNORECASE)
_CALL = re.compile(rf"(?<!`)`({TOOL})`: (`+ ?)")
_OTHERWISE = re.compile(r" if it fails with “", re.IGNORECASE)
_HOLE = re.compile(r"\{(\w+)\}")
_ERROR = re.compile(r"\bfails with:? (.+?)(?:: do `|\.(?= [A-Z(\[]|$))", re.IGNORECASE)
_LINE = re.compile(r"^\s*(?:-|\d+\.) ")
_MARK = re.compile(r"\s*\[[a-z]:[\w-]+\]\s*$")


@dataclass(frozen=True, slots=True)
class Advice:
    """One line: when (`patterns` of an error, if it names any), what to do, what not to do. `wanted`: a standing order. `about`:
    the error that it was told in answer to.
    """

    text: str
    patterns: tuple[str, ...]
    do: tuple[str, ...]
    avoid: tuple[str, ...] = ()
    wanted: bool = False
    about: str = ""

    def plan(self, command: str) -> list[str]:
        """The commands for a goal for which one would run `command`: where that is one of them, all that can be filled in."""
        if self.wanted or self.patterns:
            return []
        return self._filled(command, {})

    def fix(self, command: str, error: str) -> list[str]:
        """The commands against an error that came of `command`; none where the error is not as the pattern says."""
        if self.wanted or not error:
            return []
        for pattern in self.patterns:
            values = fits(pattern, error, within=True)
            if values is not None:
                return self._filled(command, values, must=False)
        return self._filled(command, {}, must=False) if self.about == error else []

    def naming(self, object: str) -> list[str]:
        """The commands, where all of them can be run as they stand and one names an object."""
        if self.wanted or any(_HOLE.search(d) for d in self.do) or not any(object in d.split() for d in self.do):
            return []
        return [*self.do]

    def before(self, command: str) -> list[str]:
        """What a standing order wants to be run before a command."""
        if not self.wanted or not _FIRST.search(self.text) or len(self.do) > 2:
            return []
        if len(self.do) == 1:
            return [] if _HOLE.search(self.do[0]) else [*self.do]
        first, then = self.do
        return [first] if command.startswith(then) and not _HOLE.search(first) else []

    def _filled(self, command: str, values: Mapping[str, str], must: bool = True) -> list[str]:
        found = {**values}
        mine = False
        for template in self.do:
            own = fits(fill(template, found), command)
            if own is not None:
                found |= own
                mine = True
                break
        if must and not mine:
            return []
        filled = [fill(template, found) for template in self.do]
        return [f for f in filled if not _HOLE.search(f)]


def read_advice(text: str, about: str = "") -> list[Advice]:
    """The advice in a text that was recalled (`about` an error): each line that begins like an item of a list."""
    out = []
    for line in html.unescape(text).splitlines():
        if not _LINE.match(line):
            continue
        said = _MARK.sub("", line.strip())
        advice = _read(said, about)
        if advice.do:
            out.append(advice)
    return out


def _read(line: str, about: str) -> Advice:
    wanted = bool(_WANTED.search(line))
    line = _CALL.sub(r"\2\1 ", line)  # `shell`: `ls` is one call
    line = _OTHERWISE.split(line)[0]  # what to do against another error than the one at hand
    patterns = [m[1].strip("“”") for m in _ERROR.finditer(line)]
    do: list[str] = []
    avoid: list[str] = []
    for found in _CODE.finditer(line):
        code, before = found[2].strip(), line[: found.start()]
        aside = max((m.end() for m in _ASIDE.finditer(before)), default=0)
        if aside > max((m.end() for m in _NOT.finditer(before)), default=0):
            continue
        command = _command(code)
        if command is None and not wanted:
            patterns.append(code)
        elif _avoided(before):
            avoid.append(command or code)
        else:
            do.append(command or code)
    return Advice(line, tuple(patterns), tuple(do), tuple(avoid), wanted, about)


def _command(code: str) -> str | None:
    """What is given to the tool; None where a piece of code is no call of it."""
    tool, _, rest = code.partition(" ")
    if tool.rstrip(":") == TOOL and rest:
        return rest.strip()
    return None


def _avoided(before: str) -> bool:
    """Whether what comes next is something not to do: the last word on it says so, and no other part began since."""
    last = max((m.end() for m in _NOT.finditer(before)), default=-1)
    return last >= 0 and not _AGAIN.search(before, last)


def fill(template: str, values: Mapping[str, str]) -> str:
    """A template with the parameters that are known."""
    return _HOLE.sub(lambda m: values.get(m[1], m[0]), template)


def fits(template: str, text: str, *, within: bool = False) -> dict[str, str] | None:
    """The values under which a text is as a template says (`within`: somewhere in it); None when it is not."""
    out = []
    seen: set[str] = set()
    pieces = _HOLE.split(template)
    for n, piece in enumerate(pieces):
        if n % 2 == 0:
            out.append(re.escape(piece))
        elif piece in seen:
            out.append(f"(?P={piece})")
        else:
            seen.add(piece)
            last = n == len(pieces) - 2 and not pieces[-1]
            out.append(rf"(?P<{piece}>[^\s'\"]+)" if last else rf"(?P<{piece}>\S+?)")
    pattern = re.compile("".join(out), re.IGNORECASE)
    found = pattern.search(text) if within else pattern.fullmatch(text)
    return found.groupdict() if found else None


def commands_in(texts: Sequence[str]) -> list[str]:
    """Every command that these texts name, to be done or not."""
    return [c for text in texts for advice in read_advice(text) for c in (*advice.do, *advice.avoid)]
