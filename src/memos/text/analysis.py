"""The analyzer: text -> terms, the same for documents and queries, per script and without a dictionary.

Words are folded and stemmed; CJK runs become characters and pairs, scripts without spaces trigrams; identifiers are
kept whole (with the prefix ``=``) and in parts. Stop words stay in the terms and are flagged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from string import ascii_letters

from memos.text.scripts import DIGIT, classes, fold, normalize
from memos.text.spans import passages, sentences
from memos.text.stem import stem_cyrillic, stem_english
from memos.text.stopwords import FRAME, STOP

__all__ = ["FRAME_WORDS", "Analysis", "analyze", "content_terms", "is_identifier", "is_stop", "passages", "sentences"]

MAX_TERM = 64
_MEMO_LIMIT = 50_000
_MEMO_CHUNK = 32


@dataclass(frozen=True, slots=True)
class Analysis:
    """The terms of a text in order, stop words included. Terms hold no white space, quotes or control characters."""

    terms: list[str]

    def content_terms(self) -> list[str]:
        """The terms that are not stop words."""
        return content_terms(self.terms)


def analyze(text: str, *, query: bool = False) -> Analysis:
    """The terms of any text; never raises, linear in its length.

    With `query`, a run of two or more CJK characters gives only its pairs, so that 茶楼 does not match 茶馆 by 茶; a
    document gives characters and pairs. Everything else is the same on both sides.
    """
    memo = _QUERY_MEMO if query else _MEMO
    terms: list[str] = []
    extend = terms.extend
    for chunk in _chunks(text):
        extend(memo[chunk])
    return Analysis(terms)


def is_stop(term: str) -> bool:
    """Whether a term is a stop word of any supported language. Identifiers (``=…``) never are."""
    return term in STOP


def is_identifier(term: str) -> bool:
    """Whether a term is a code, number or path kept whole ("=e-7731", "=db_main"), not just a word with a hyphen."""
    return term.startswith("=") and any(c.isdigit() or c in "_/@.\\" for c in term)


def content_terms(terms: Iterable[str]) -> list[str]:
    """The terms that are not stop words."""
    return [term for term in terms if term not in STOP]


# --- chunks between white space ---------------------------------------------------------------------------------------

_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_PHONE = re.compile(r"(?<![\w.])(?:\+\d|\(\d)[\d ()./-]{6,22}\d(?!\w)")


def _chunks(text: str) -> list[str]:
    text = normalize(text)
    if "+" in text or "(" in text:
        text = _PHONE.sub(_joined_phone, text)
    return text.split()


def _joined_phone(match: re.Match[str]) -> str:
    """A phone number written with spaces or brackets gets its digits as one word beside it."""
    digits = re.sub(r"\D", "", match[0])
    if not 8 <= len(digits) <= 15:
        return match[0]
    return f" {digits} {match[0]}"


class _Memo(dict[str, tuple[str, ...]]):
    """Terms of a chunk, remembered: most words were seen before. Emptied when full; long chunks are not kept."""

    def __init__(self, query: bool) -> None:
        super().__init__()
        self._query = query

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        found = tuple(_chunk_terms(chunk, self._query))
        if len(chunk) <= _MEMO_CHUNK:
            if len(self) >= _MEMO_LIMIT:
                self.clear()
            self[chunk] = found
        return found


_MEMO, _QUERY_MEMO = _Memo(query=False), _Memo(query=True)

# Over the class letters of a chunk (memos.text.scripts): words and compounds, CJK, trigram scripts, emoji, flags.
_TOKEN = re.compile(r"(?P<word>[ad][adm]*(?:[c']+[ad][adm]*)*+c*)|(?P<cjk>h[hm]*)|(?P<tri>t+)|(?P<emoji>e|rr?)")


def _chunk_terms(chunk: str, query: bool) -> list[str]:
    if "," in chunk:
        chunk = _THOUSANDS.sub("", chunk)
    kinds = classes(chunk)
    out: list[str] = []
    for match in _TOKEN.finditer(kinds):
        start, end = match.span()
        token = chunk[start:end]
        match match.lastgroup:
            case "word":
                _word_terms(_with_prefix(chunk, start) + token, kinds[start:end], out)
            case "cjk":
                _cjk_terms(token, query, out)
            case "tri":
                _trigrams(token, out)
            case _:
                out.append(token)
    return out


def _with_prefix(chunk: str, start: int) -> str:
    """The beginning of a path or of a leading-dot name, which belongs to the identifier."""
    for prefix in ("../", "~/", "./", "/"):
        if chunk.endswith(prefix, 0, start) and (start == len(prefix) or not chunk[start - len(prefix) - 1].isalnum()):
            return prefix
    return ""


# --- words and identifiers --------------------------------------------------------------------------------------------

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"-{2,}|\.{2,}(?!/)|/{3,}")
_SEGMENTS = re.compile(r"[/\\@?&=:#%$~]+")
_PIECES = re.compile(r"[^\W\d_]+|\d+", re.UNICODE)
_RUNS = re.compile(r"[^\W_]+")
_LETTERS = re.compile(r"[^\W\d_]")
_NOT_DIGITS = re.compile(r"\D")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|s)")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,20}://(?:www\.)?")
_URL_WORDS = frozenset({"http", "https", "www"})


def _word_terms(token: str, kinds: str, out: list[str]) -> None:
    if "c" in kinds or DIGIT in kinds:
        if kinds.strip(DIGIT):
            for part in _SEPARATORS.split(token):
                _identifier(part, out)
        else:
            out.append(_cut(fold(token)))
        return
    word = token.rpartition("/")[2]
    if word.isascii() and _CAMEL.search(word) and "'" not in word:
        _identifier(word, out)
        return
    folded = fold(word)
    if "'" in folded:
        folded = _without_apostrophe(folded)
    if word.isupper() and len(word) > 1 and folded in STOP:
        out.append(f"={folded}")  # "US", "IT", "WHO": a name, or a stop word in capitals
    if token != word:
        out.append(_cut(f"={fold(token)}"))
    out.append(_stem(folded))


def _identifier(token: str, out: list[str]) -> None:
    """Whole, in segments of a path or address, and in parts."""
    token = _trimmed(token)
    if token.endswith(("'s", "'S")):
        token = token[:-2]
    if not token:
        return
    whole = token.casefold()
    if not _PIECES.fullmatch(whole) or _CAMEL.search(token):
        out.append(_cut(f"={whole}"))
    if scheme := _SCHEME.match(whole):
        whole = whole[scheme.end() :]
        token = token[scheme.end() :] if len(token) >= scheme.end() else whole
        out.append(_cut(f"={whole}"))
    for segment in _SEGMENTS.split(token) if _SEGMENTS.search(token) else (token,):
        if segment:
            _segment(segment, whole, out)


def _segment(segment: str, whole: str, out: list[str]) -> None:
    folded = segment.casefold()
    if folded != whole and not _PIECES.fullmatch(folded):
        out.append(_cut(f"={folded}"))
    if _ORDINAL.fullmatch(folded):
        out.append(segment.rstrip(ascii_letters))
        return
    for run in _RUNS.findall(segment):
        humps = _CAMEL.split(run)
        for piece in [piece for hump in humps for piece in _PIECES.findall(hump)]:
            word = fold(piece)
            if word not in _URL_WORDS:
                out.append(_stem(word))
        if len(humps) > 1 and run.isalpha():
            out.append(_stem(fold(run)))  # "GitHub" is also written "github"
    digits = _NOT_DIGITS.sub("", segment)
    if 8 <= len(digits) <= 15 and len(digits) != len(segment) and not _LETTERS.search(segment):
        out.append(digits)  # a phone number written 555-123-4567, a date written 2023-05-08


def _trimmed(token: str) -> str:
    """Without closing punctuation, except where it is part of the name (C++, C#)."""
    if token.endswith(("++", "#")) and len(token.rstrip("+#")) == 1:
        return token
    return token.rstrip("-._/:@#+~\\=&%?$'")


_ELISIONS = frozenset(
    {
        "l",
        "d",
        "j",
        "m",
        "t",
        "s",
        "c",
        "n",
        "qu",
        "dell",
        "nell",
        "all",
        "sull",
        "dall",
        "un",
        "jusqu",
        "lorsqu",
        "puisqu",
    }
)
_CLITICS = frozenset({"s", "re", "ve", "ll", "d", "m"})


def _without_apostrophe(word: str) -> str:
    before, _, after = word.partition("'")
    if after in _CLITICS:
        return before
    if before in _ELISIONS and len(after) > 1:
        return after.replace("'", "")
    return word.replace("'", "")


def _stem(word: str) -> str:
    """The stem of a folded word. A stop word stays as it is, and no other word becomes one ("cans" is not "can")."""
    if word in STOP:
        return word
    if len(word) > MAX_TERM:
        return _cut(word)
    stem = stem_english(word) if word.isascii() else stem_cyrillic(word)
    return word if stem in STOP else stem


def _cut(term: str) -> str:
    """Long terms as their beginning and a hash of the whole: bounded, and still found by exactly the same text."""
    if len(term) <= MAX_TERM:
        return term
    digest = blake2b(term.encode("utf-8", "replace"), digest_size=12).hexdigest()
    return f"{term[: MAX_TERM - len(digest) - 1]}~{digest}"


# --- scripts without spaces -------------------------------------------------------------------------------------------


def _cjk_terms(run: str, query: bool, out: list[str]) -> None:
    if query and len(run) > 1:
        out.extend([run[i : i + 2] for i in range(len(run) - 1)])
        return
    last = len(run) - 1
    for i, char in enumerate(run):
        out.append(char)
        if i < last:
            out.append(run[i : i + 2])


def _trigrams(run: str, out: list[str]) -> None:
    run = fold(run)
    out.extend([run[i : i + 3] for i in range(max(1, len(run) - 2))])


FRAME_WORDS: frozenset[str] = frozenset(term for word in FRAME for term in analyze(word, query=True).terms)
