"""Several texts side by side: what they share, in order, and what stands in each of them in between. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r"\{[a-z][a-z0-9_]{0,39}\}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<![\w.])v?\d+(?:\.\d+)+(?![\w.])"
    r"|[一-鿿]|(?:(?![一-鿿])[^\W_])+|\s+|.",
    re.DOTALL,
)
_CELLS = 60_000  # of one alignment; beyond, only what the texts begin and end with is held against each other
_KEY_BEFORE = re.compile(r"[\"']?([A-Za-z][A-Za-z0-9_-]{0,38})[\"']?\s{0,3}[:=]\s{0,3}[\"'\[(]?$")
_FLAG_BEFORE = re.compile(r"--([A-Za-z][A-Za-z0-9-]{1,38})[= ]$")
_NOUN_BEFORE = re.compile(
    r"\b(package|module|command|service|unit|host|server|user|group|table|column|database|key|variable|branch|image|container|volume|"
    r"network|port|library|header|function|method|class|field|target|rule|plugin|extension|device|process|job|task|node|pod|namespace|"
    r"deployment|project|repository|remote|path|file|directory|folder|symbol|option|argument|name|url|version|region|environment|app|"
    r"application|component|dataset|model|queue|topic|bucket|domain|account|record|page|ticket|document|"
    r"report)s?[ :=\"'`‘“]{1,4}$",
    re.IGNORECASE,
)
_VERB_BEFORE = (
    (
        re.compile(r"(?:\b(?:install|uninstall|pip3? install|add package)|安装)(?: -\S{1,20}){0,3} ?$", re.IGNORECASE),
        "package",
    ),
    (re.compile(r"(?:\b(?:restart|reload|systemctl \w{1,12})|重启|重新加载) ?$", re.IGNORECASE), "service"),
    (re.compile(r"\b(?:port|端口) ?$", re.IGNORECASE), "port"),
)
_NOUN_AFTER = re.compile(
    r"^[\"'`’”]? (package|module|service|table|library|command|server|host|image|container|branch|file|port)\b"
)
_PART_AFTER = (
    (re.compile(r"^-dev(?:el)?\b"), "library"),
    (re.compile(r"^\.(?:h|hpp|hh)\b"), "header"),
    (re.compile(r"^\.service\b"), "service"),
)
_CHINESE_NOUNS = {
    "软件包": "package",
    "包": "package",
    "模块": "module",
    "服务": "service",
    "主机": "host",
    "服务器": "server",
    "用户": "user",
    "表": "table",
    "文件": "file",
    "目录": "directory",
    "端口": "port",
    "命令": "command",
    "镜像": "image",
    "容器": "container",
    "分支": "branch",
    "数据库": "database",
    "库": "library",
}


@dataclass(frozen=True, slots=True)
class Slot:
    """A place where the texts differ: what stands there in each, and a name that the words around it suggest (may be empty)."""

    values: tuple[str, ...]
    hint: str = ""


def align(texts: Sequence[str]) -> list[str | Slot] | None:
    """What the texts share and where they differ, in order; None when one has nothing where another has something."""
    cases = [_TOKEN.findall(text) for text in texts]
    common = cases[0]
    for other in cases[1:]:
        common = [common[i] for i, _ in _pairs(common, other)]
    gaps = _gaps(common, cases)
    if gaps is None:
        return None
    return _joined(_pieces(common, gaps))


_HOLDING = ("_", "/", "-", ".")


def _joined(pieces: list[str | Slot]) -> list[str | Slot]:
    """Two places that a sign holds together, in every text alike, are one: what stands there is one name or path."""
    out: list[str | Slot] = []
    for piece in pieces:
        if len(out) > 1 and isinstance(piece, Slot) and out[-1] in _HOLDING and isinstance(out[-2], Slot):
            before = out[-2]
            joined = tuple(f"{a}{out[-1]}{b}" for a, b in zip(before.values, piece.values, strict=True))
            out[-2:] = [Slot(joined, before.hint or piece.hint)]
        else:
            out.append(piece)
    return out


def _gaps(common: list[str], cases: Sequence[list[str]]) -> list[list[str]] | None:
    """For each place before, between and after the common tokens, what stands there in each text. A place that is empty in some
    takes a common token in; `common` is changed accordingly.
    """
    for _ in range(40):
        columns = [_between(common, tokens) for tokens in cases]
        gaps = [list(place) for place in zip(*columns, strict=True)]
        odd = next((n for n, place in enumerate(gaps) if any(place) and not all(place)), None)
        if odd is None:
            cut = next((n for n in range(1, len(gaps)) if _cuts_option(common, gaps[n], n)), None)
            if cut is None:
                return gaps
            del common[cut - 1]
            continue
        if not common:
            return None
        # A sign goes in before a word does, and a space last; of two alike the one after the place: what differs leads up to it.
        beside = [n for n in (odd, odd - 1) if 0 <= n < len(common)]
        del common[min(beside, key=lambda n: _holds(common[n]))]
    return None


def _cuts_option(common: Sequence[str], place: Sequence[str], n: int) -> bool:
    """Whether what differs begins behind the dash of an option and goes on with other words: the option is one of them."""
    begins = common[n - 1] == "-" and (n == 1 or common[n - 2].isspace() or common[n - 2] == "-")
    return begins and any(" " in value for value in place)


def _holds(token: str) -> int:
    """How reluctantly a shared token is given up."""
    return 2 if token.isspace() else int(token[0].isalnum())


def _between(common: Sequence[str], tokens: Sequence[str]) -> list[str]:
    out: list[str] = []
    at = 0
    for _, j in _pairs(common, tokens):
        out.append("".join(tokens[at:j]))
        at = j + 1
    out.append("".join(tokens[at:]))
    return out if len(out) == len(common) + 1 else _leftmost(common, tokens)


def _leftmost(common: Sequence[str], tokens: Sequence[str]) -> list[str]:
    out: list[str] = []
    at = 0
    for token in common:
        j = tokens.index(token, at) if token in tokens[at:] else len(tokens)
        out.append("".join(tokens[at:j]))
        at = j + 1
    return [*out, "".join(tokens[at:])]


def _pieces(common: Sequence[str], gaps: Sequence[Sequence[str]]) -> list[str | Slot]:
    out: list[str | Slot] = []
    text = ""
    for n, place in enumerate(gaps):
        if any(place):
            if text:
                out.append(text)
            out.append(Slot(tuple(place)))
            text = ""
        if n < len(common):
            text += common[n]
    if text:
        out.append(text)
    return [_hinted(out, n) if isinstance(piece, Slot) else piece for n, piece in enumerate(out)]


def _hinted(pieces: Sequence[str | Slot], n: int) -> Slot:
    slot = pieces[n]
    assert isinstance(slot, Slot)
    before = pieces[n - 1] if n else ""
    after = pieces[n + 1] if n + 1 < len(pieces) else ""
    hint = ""
    if isinstance(before, str):
        found = _NOUN_BEFORE.search(before) or _FLAG_BEFORE.search(before) or _KEY_BEFORE.search(before)
        hint = found[1] if found else ""
        bare = before.rstrip(" ：:“「'\"")
        hint = hint or next((word for noun, word in _CHINESE_NOUNS.items() if bare.endswith(noun)), "")
    if not hint and isinstance(after, str):
        hint = next((noun for part, noun in _PART_AFTER if part.search(after)), "")
    if not hint and isinstance(before, str):
        hint = next((noun for verb, noun in _VERB_BEFORE if verb.search(before)), "")
    if not hint and isinstance(after, str):
        found = _NOUN_AFTER.search(after)
        hint = found[1] if found else ""
    return Slot(slot.values, re.sub(r"[^a-z0-9]+", "_", hint.lower()).strip("_"))


def _pairs(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Places of the tokens that two texts share in order, so that the shared words weigh most."""
    start = 0
    while start < len(a) and start < len(b) and a[start] == b[start]:
        start += 1
    end = 0
    while end < len(a) - start and end < len(b) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    inner = _longest(a[start : len(a) - end], b[start : len(b) - end])
    return [
        *((i, i) for i in range(start)),
        *((start + i, start + j) for i, j in inner),
        *((len(a) - end + i, len(b) - end + i) for i in range(end)),
    ]


def _longest(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    rows, columns = len(a), len(b)
    if not rows or not columns or rows * columns > _CELLS:
        return []
    weights = [_weight(token) for token in a]
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        row, under, token, weight = best[i], best[i + 1], a[i], weights[i]
        for j in range(columns - 1, -1, -1):
            value = under[j] if under[j] > row[j + 1] else row[j + 1]
            if token == b[j] and under[j + 1] + weight > value:
                value = under[j + 1] + weight
            row[j] = value
    out = []
    i = j = 0
    while i < rows and j < columns:
        if a[i] == b[j] and best[i][j] == best[i + 1][j + 1] + weights[i]:
            out.append((i, j))
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return out


def _weight(token: str) -> float:
    if token.isspace():
        return 0.2
    return 1.0 + 0.25 * min(len(token), 8) if token[0].isalnum() else 0.5
