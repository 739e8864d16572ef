"""What kind of error a text tells of, and what kind of call an action is: the telling line of an error with everything masked
that differs from case to case, and keys under which alike errors and alike calls meet. English and Chinese; pure and linear.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import lru_cache
from typing import Any

from memos.text.lazy import LazyPattern
from memos.text.signature_words import EXTENSIONS, FAMILIES, PLAIN

HEAD, TAIL = 12_000, 12_000  # characters of a text that are looked at, from its beginning and its end
LINE = 400  # characters of a line that are looked at

_ANSI = LazyPattern(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")
_STAMP = LazyPattern(
    r"^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?[ \t]{0,4}"
    r"|^\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?[ \t]{1,4}"
)

# How telling a line is, best first; of several alike the last counts for exceptions (a chain ends with what came out), the first
# for everything else.
_COMPILER = LazyPattern(
    r"^\S{1,200}?:\d{1,7}(?::\d{1,7})?: (?:fatal )?error\b|^error(?:\[[A-Z]\d{2,5}\])?: |: fatal error: "
)
_EXCEPTION = LazyPattern(
    r"^(?:Caused by: |Uncaught |Unhandled |E {1,8})?(?:[A-Za-z_]\w{0,60}\.){0,8}"
    r"[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Exit|Failure|Fault|NotFound|Denied|Timeout|Refused|Warning)(?::|$)|^panic: "
)
_PLACE = LazyPattern(r"^\S{1,200}?:\d{1,7}(?::\d{1,7})?: |^\S{1,80}: line \d{1,7}: ")
_GENERIC = LazyPattern(r"CalledProcessError|SystemExit|non-zero exit|returned non-zero|exit (?:status|code) \d")
_CAUSE = LazyPattern(
    r"not found|no such|permission denied|access denied|operation not permitted|not permitted|denied|refused|unreachable"
    r"|timed? ?out|read-only|unable to|cannot|can't|could not|couldn't|does not exist|doesn't exist|already exists"
    r"|already in use|in use"
    r"|not installed|no module|missing|undefined|unknown|unrecogni[sz]ed|unexpected|invalid|unsupported|not allowed|forbidden"
    r"|unauthori[sz]ed|not running|no space left|out of memory|syntax error|is not|must (?:not )?be|errno|conflict|violat"
    r"|(?-i:\bE[A-Z]{3,14}\b)|\bHTTP[ /]?[\d. ]{0,6}[45]\d\d\b|\bstatus(?: code)?:? ?[45]\d\d\b"
    r"|找不到|未找到|没有找到|不存在|没有那个|权限不够|权限不足|拒绝|超时|无法|不能|已存在|缺少|未安装|未定义|未知|无效|不支持|非法"
    r"|未运行|没有运行|只读|空间不足|内存不足|不允许|冲突|必须|没有权限|未授权|被占用",
    re.IGNORECASE,
)
_ERROR = LazyPattern(r"\b(?:error|fatal|failed|failure|exception|err!|panic)\b|错误|失败|异常|出错", re.IGNORECASE)
_EXIT = LazyPattern(r"\bexit(?:ed)?(?: with)?(?: non-zero)?(?: code| status)?:? \d|退出码|返回码", re.IGNORECASE)

_NOISE = ("Traceback (", "During handling", "The above exception", "+ ", "$ ", "> ")
_ONLY_CODE = LazyPattern(
    r"\W*(?:(?:the )?(?:command|process|tool|program)s? )?(?:failed|error)?[\s:,(]*(?:with )?"
    r"(?:exit(?:ed)?(?: with)?(?: non-zero)?(?: code| status)?|退出码|返回码|return(?:ed)? code)[\s:：=]*-?\d{1,6}\W*",
    re.IGNORECASE,
)

_LATIN = r"[A-Za-z0-9_]"
_URL = LazyPattern(r"\b[a-z][a-z0-9+.-]{1,12}://[^\s'\"<>`，。）)\]]{1,400}", re.IGNORECASE)
_QUOTED = LazyPattern(
    r"(?<![A-Za-z0-9])'([^'\n]{1,200})'|\"([^\"\n]{1,200})\"|`([^`'\n]{1,200})[`']|‘([^’\n]{1,200})’|“([^”\n]{1,200})”"
    r"|「([^」\n]{1,200})」|『([^』\n]{1,200})』|《([^》\n]{1,200})》|【([^】\n]{1,200})】"
)
_PATH = LazyPattern(
    r"(?<![\w<>/.~\\-])(?:~|\.{1,2})?(?:/[\w.@%+=~-]{1,120}){1,40}/?|(?<![\w<>/.-])[\w.@-]{1,80}(?:/[\w.@%+=~-]{1,120}){1,40}/?"
    r"|(?<!\w)[A-Za-z]:\\[\w.@%+=~\\ -]{1,300}"
)
_EMAIL = LazyPattern(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,6}")
_IP = LazyPattern(
    r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?![\w.])|(?<![\w:])(?:[0-9a-f]{0,4}:){3,7}[0-9a-f]{1,4}(?![\w:])"
)
_HOST = LazyPattern(
    r"(?<![\w.@-])(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,6}(?:com|org|net|io|dev|local|localdomain|internal|lan|corp|home|cn|"
    r"edu|gov|test|example|invalid|cloud|app|ai|de|uk|jp|svc|cluster|intranet)(?::\d{1,5})?(?![\w-])",
    re.IGNORECASE,
)
_LOCALHOST = LazyPattern(r"\blocalhost(?::\d{1,5})?\b")
_FILE = LazyPattern(r"(?<![\w<>.-])[\w+-][\w.+-]{0,100}?\.([A-Za-z][A-Za-z0-9]{0,9}|7z|[12345]pm)(?![\w-]|\.\w)")
_HEX = LazyPattern(
    r"\b0x[0-9a-fA-F]{1,32}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|(?<![\w-])(?=[a-f]{0,40}\d)[0-9a-f]{7,64}(?![\w-])",
    re.IGNORECASE,
)
_VERSION = LazyPattern(
    r"(?<![\w.])v?\d{1,6}(?:\.\d{1,6}){1,4}(?:[-+.]?(?:rc|alpha|beta|dev|post|a|b)\.?\d{0,4})?(?![\w])"
)
_SPECIFIER = LazyPattern(r"(?:[<>=!~]=|(?<=\w)[<>=^~])[ ]?(?=\d|<version>)")
# Numbers that say what happened stay: codes, statuses, signals.
_CODE = LazyPattern(
    r"(\b(?:exit(?:ed)?(?: with)?(?: non-zero)?(?: code| status)?|status(?: code)?|error(?: code)?|code|errno"
    r"|http(?:/[\d.]{1,3})?|signal|sqlstate|退出码|状态码|错误码|返回码|错误代码|代码|信号)"
    r"[ :：=\[(]{0,3})(\d{1,6})\b",
    re.IGNORECASE,
)
_HIDE = {ord("0") + d: chr(0xE000 + d) for d in range(10)}  # digits that no mask sees
_SHOW = {0xE000 + d: str(d) for d in range(10)}
_NUMBER = LazyPattern(r"(?<![\w<])[+-]?\d[\d,]{0,20}(?:\.\d{1,10})?(?=%|[kKMGT]i?B?\b|m?s\b|\b)")
_CODEWORD = LazyPattern(r"[A-Z][A-Z0-9]{0,8}-?\d{2,6}|[A-Z]{2,}(?:_[A-Z0-9]{1,30}){0,6}|E[A-Z]{3,14}")
_NAMED = LazyPattern(
    r"\b(packages?|modules?|commands?|programs?|services?|units?|hosts?|users?|groups?|tables?|columns?|relations?|database|keys?|variables?|"
    r"branch|images?|containers?|volumes?|networks?|ports?|requirements?|librar(?:y|ies)|headers?|functions?|methods?|class|attributes?|"
    r"fields?|targets?|rules?|plugins?|extensions?|devices?|process|jobs?|tasks?|nodes?|pods?|namespaces?|deployments?|projects?|repository|"
    r"remote|path|file|directory|symbol|reference to|option|argument|parameter|for|named|called|of|to|on)([: ]{1,3})"
    r"([A-Za-z0-9][\w.+@:-]{0,100}[\w+]|[A-Za-z0-9])(?=[\s,;:.)]|$)"
)
_OBJECT_ONLY = LazyPattern(r"^(?:for|named|called|of|to|on)$")
_SEGMENT = LazyPattern(
    r"(?<=: )([^\s:：]{1,120})(?=: )|^([^\s:：]{1,120})(?=: (?:command not found|not found|未找到命令|找不到命令))"
)
_OBJECT = LazyPattern(r"(?<=: )[^\s:：<>]{1,120}$")
_BEGINNER = LazyPattern(r"^[a-z][\w.-]{1,60}(?= [a-z]{3,20}s\b)")
_SUBJECT = LazyPattern(
    r"(?<![\w<])([A-Za-z0-9][\w.+-]{1,80})(?= (?:is not|isn't|was not|not found|does not exist|already exists|failed to|has no|"
    r"must|could not|cannot be|needs|requires|depends)\b)"
)
_SUBWORDS = LazyPattern(r"(?<![\w<>./@-])[A-Za-z0-9]{1,60}(?:[-_][A-Za-z0-9]{1,60}){1,8}(?![\w<>@-])")
_HYPHENED = LazyPattern(
    r"^(?:non|re|pre|un|sub|multi|auto|self|well|co|ex|cross|built|read|write|up|end|out|run|time|command|case|set|plug|add|log|sign|"
    r"zero|null|not|so|dry|back|run|lower|upper|long|short|high|low|single|double|two|one|in|on|off|user|super)-[a-z]+(?:-[a-z]+)?$",
    re.IGNORECASE,
)
_DIGITED = LazyPattern(r"(?<![\w<>./-])[A-Za-z]{1,40}\d{1,8}[A-Za-z0-9]{0,40}(?![\w<>-]|\.\w)")
_CJK = LazyPattern(r"[一-鿿]")
_AMONG_CJK = LazyPattern(rf"(?<![<\w.])(?<!>\.){_LATIN}[\w.+-]{{0,100}}(?![\w>])")
_EXCEPTION_NAME = LazyPattern(
    r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning)|HTTP|SSL|TLS|TCP|DNS|SQL|API|JSON"
)
_LINK_LIBRARY = LazyPattern(r"(?<=\s)-l[\w+-]{1,80}")
_WHITE = LazyPattern(r"\s+")
_NUMBERS_IN_PLACE = LazyPattern(r":\d{1,7}(?::\d{1,7})?(?=[:,)\s]|$)")


def error_signature(text: str) -> str:
    """The telling line of an error, with what differs from case to case masked (`<name>`, `<path>`, `<file>.h`, `<host>`, `<n>`
    ...); codes and statuses stay. The first line where none is telling; empty for an empty text. At most 400 characters.
    """
    return mask(telling_line(text))


def signature_key(tool: str, text: str, given: str = "") -> bytes:
    """16 bytes that errors of one kind from one tool share. `given`: what the tool was called with; what the error repeats of it
    is masked too.
    """
    line = telling_line(text)
    for name in sorted(_names_in(given), key=lambda n: (-len(n), n)):
        line = re.sub(rf"(?<![\w<]){re.escape(name)}(?!\w)", "<name>", line)
    return _digest("signature", tool.strip().lower(), mask(line).lower())


_GIVEN = LazyPattern(r"[A-Za-z0-9](?:[\w.-]{0,78}\w)?")


def _names_in(given: str) -> set[str]:
    """The words of a call, but for the command itself, that may be names."""
    words = _GIVEN.findall(given[: 4 * LINE])
    own = {*action_head("", given).split(), words[0] if words else ""}
    return {w for w in words[:60] if len(w) > 2 and not _is_word(w) and w.lower() not in own and not w.isdigit()}


def telling_line(text: str) -> str:
    """The line of an error that says what went wrong, as it stands there, without the place in a file that it begins with."""
    best, top = "", -1
    for line in _lines(text):
        score = _telling(line)
        if (
            score > top
            or (score == top and score == _EXCEPTION_SCORE)
            or (says_only_code(best) and not line.startswith(_NOISE))
        ):
            best, top = line, score
    return _PLACE.sub("", best) or best


def says_only_code(line: str) -> bool:
    """Whether a line tells how a command ended and nothing else ("Exit code 1", with which some hosts begin every failure)."""
    return _ONLY_CODE.fullmatch(line) is not None


_EXCEPTION_SCORE = 5


def _telling(line: str) -> int:
    if _COMPILER.search(line) and not _GENERIC.search(line):
        return 6
    if _EXCEPTION.search(line):
        return 3 if _GENERIC.search(line) else _EXCEPTION_SCORE
    if line.startswith(_NOISE):
        return 0
    if _GENERIC.search(line):
        return 1
    if _CAUSE.search(line):
        return 4
    if _ERROR.search(line):
        return 2
    return 1 if _EXIT.search(line) else 0


def _lines(text: str) -> list[str]:
    if len(text) > HEAD + TAIL:
        text = text[:HEAD] + "\n" + text[-TAIL:]
    out = []
    for raw in _ANSI.sub("", text).splitlines():
        line = _STAMP.sub("", raw.strip()[:LINE]).strip()
        if any(map(str.isalnum, line)):
            out.append(line)
    return out


def mask(line: str) -> str:
    """A line with paths, names, numbers, versions, hosts and the like replaced by what they are; see `error_signature`."""
    line = _WHITE.sub(" ", line[:LINE].translate(_SHOW)).strip()
    line = _URL.sub("<url>", line)
    line = _QUOTED.sub(lambda m: _named(next(g for g in m.groups() if g is not None)), line)
    line = _EMAIL.sub("<email>", line)
    line = _PATH.sub(lambda m: _path(m[0]), line)
    line = _IP.sub("<host>", line)
    line = _FILE.sub(lambda m: f"<file>.{m[1].lower()}" if m[1].lower() in EXTENSIONS else m[0], line)
    line = _HOST.sub("<host>", line)
    line = _LOCALHOST.sub("<host>", line)
    line = _NUMBERS_IN_PLACE.sub(":<n>", line)
    line = _CODE.sub(lambda m: m[1] + m[2].translate(_HIDE), line)
    line = _HEX.sub("<hex>", line)
    line = _VERSION.sub("<version>", line)
    line = _SPECIFIER.sub("==", line)
    line = _SEGMENT.sub(lambda m: _segment(m[0]), line)
    line = _LINK_LIBRARY.sub("-l<name>", line)
    line = _NAMED.sub(_after_noun, line)
    line = _SUBJECT.sub(lambda m: m[0] if _is_word(m[1]) or m[1].istitle() else "<name>", line)
    line = _OBJECT.sub(lambda m: _segment(m[0]), line)
    line = _BEGINNER.sub(lambda m: m[0] if _is_word(m[0]) else "<name>", line)
    line = _SUBWORDS.sub(lambda m: m[0] if _HYPHENED.match(m[0]) or _CODEWORD.fullmatch(m[0]) else "<name>", line)
    line = _DIGITED.sub(lambda m: m[0] if _CODEWORD.fullmatch(m[0]) else "<name>", line)
    if _CJK.search(line):
        line = _AMONG_CJK.sub(_among_chinese, line)
    line = _NUMBER.sub("<n>", line)
    line = re.sub(r"<name>(?:==|[=@:])<(?:version|n)>", "<name>", line)
    return line.translate(_SHOW)


def _named(inner: str) -> str:
    inner = inner.strip()
    if "/" in inner and " " not in inner:
        return _path(inner)
    found = _FILE.fullmatch(inner)
    return f"<file>.{found[1].lower()}" if found and found[1].lower() in EXTENSIONS else "<name>"


def _path(path: str) -> str:
    name = re.split(r"[/\\]", path.rstrip("/\\"))[-1]
    stem, dot, extension = name.rpartition(".")
    return f"<file>.{extension.lower()}" if dot and stem and extension.lower() in EXTENSIONS else "<path>"


def _segment(word: str) -> str:
    bare = word.strip("<>[]()")
    is_code = bare.translate(_SHOW).isdigit() and not bare.isascii()
    if (
        word.startswith("<")
        or is_code
        or _is_word(bare)
        or _CODEWORD.fullmatch(bare)
        or _EXCEPTION_NAME.fullmatch(bare)
    ):
        return word
    return "<name>"


def _after_noun(m: re.Match[str]) -> str:
    noun, gap, name = m.groups()
    if _is_word(name) or _CODEWORD.fullmatch(name) or _EXCEPTION_NAME.fullmatch(name):
        return m[0]
    # A preposition is followed by anything; only what does not look like an English word is a name there.
    if _OBJECT_ONLY.match(noun) and name.isalpha() and (name.islower() or name.istitle()):
        return m[0]
    return f"{noun}{gap}<name>"


def _among_chinese(m: re.Match[str]) -> str:
    word = m[0]
    if (
        _CODEWORD.fullmatch(word)
        or _EXCEPTION_NAME.fullmatch(word)
        or word.lower() in ("error", "errno", "exit", "http", "code")
    ):
        return word
    return "<n>" if word.isdigit() else "<name>"


def _is_word(word: str) -> bool:
    return word.lower() in PLAIN or (word.isalpha() and word.endswith("ed"))


# -- what kind of action it is ---------------------------------------------------------------------------------------

_COMMAND_KEYS = ("command", "cmd", "script", "shell", "code", "query", "sql")
_VERB_KEYS = ("action", "operation", "op", "method", "verb", "type")
_BEFORE = LazyPattern(
    r"^(?:sudo(?: -\w+)*|env|time|nohup|exec|command|[A-Za-z_]\w{0,60}=\S{0,200}|cd \S{1,200} ?(?:&&|;))\s+"
)
_SUBCOMMAND = LazyPattern(r"[a-z][a-z-]{1,30}")
_ARGUMENT = LazyPattern(r"'[^']{0,2000}'|\"[^\"]{0,2000}\"|[^\s'\"]+|['\"]")


def action_head(tool: str, input: str, *, keys: bool = True) -> str:
    """What kind of action a call is, in a few words: the tool and the command it runs (`bash apt-get install`), or the tool and
    the `keys` it was given (`write_file content path`).
    """
    given = _json(input)
    if isinstance(given, dict):
        for key in _COMMAND_KEYS:
            if isinstance(given.get(key), str):
                return " ".join((tool, *_command(given[key]))).strip()
        verbs = [v for key in _VERB_KEYS if isinstance(v := given.get(key), str) and _SUBCOMMAND.fullmatch(v.lower())]
        return " ".join((tool, *verbs, *(sorted(str(k)[:40] for k in given)[:12] if keys else ()))).strip()
    if isinstance(given, list):
        return " ".join((tool, *_command(" ".join(str(x) for x in given[:3])))).strip()
    return " ".join((tool, *_command(input))).strip()


def context_key(tool: str, input: str) -> bytes:
    """16 bytes that repeated attempts at the same thing share: the tool and what it was given, without options, numbers, versions
    and long texts. The very object (a name, a path) counts: that a command failed for one package and works for another is no
    run of failures, and its working there must not end one here.
    """
    return _context_known(tool, input) if len(input) <= _REMEMBERED else _context(tool, input)


_REMEMBERED = 400  # characters of a call whose context is remembered


@lru_cache(4_096)
def _context_known(tool: str, input: str) -> bytes:
    return _context(tool, input)


def _context(tool: str, input: str) -> bytes:
    given = _json(input)
    if isinstance(given, dict):
        for key in _COMMAND_KEYS:
            if isinstance(given.get(key), str):
                return _digest("context", tool.strip().lower(), *_objects(given[key]))
        parts = [f"{k}={_object(v)}" for k, v in sorted((str(k), v) for k, v in given.items())]
        return _digest("context", tool.strip().lower(), *parts[:40])
    return _digest("context", tool.strip().lower(), *_objects(input))


def _objects(command: str) -> list[str]:
    out = []
    for raw in _ARGUMENT.findall(_stripped(command[: LINE * 4]))[:60]:
        word = raw.strip("'\"")
        if word and not word.startswith("-"):
            out.append(_object(word))
    return out


def _object(value: Any) -> str:
    if not isinstance(value, str):
        return "<n>" if isinstance(value, int | float) else "<data>"
    word = value.strip()
    if len(word) > 200 or len(word.split()) > 6:
        return "<text>"
    word = _HEX.sub("<hex>", word)
    word = re.sub(r"(?:[<>=!~]=|@)v?\d[\w.+-]{0,40}$", "", word)
    word = _VERSION.sub("<version>", word)
    return "<n>" if _NUMBER.fullmatch(word) else word.lower()


def _command(text: str) -> list[str]:
    first = _stripped(text[: LINE * 4])
    words = first.split()[:6]
    if not words:
        return []
    program = words[0].rsplit("/", 1)[-1][:40].lower()
    rest = [w for w in words[1:] if not w.startswith("-")]
    if program in FAMILIES and rest and _SUBCOMMAND.fullmatch(rest[0]):
        return [program, rest[0]]
    return [program]


def _stripped(text: str) -> str:
    text = text.strip()
    for _ in range(8):
        shorter = _BEFORE.sub("", text)
        if shorter == text:
            return text
        text = shorter
    return text


def _json(input: str) -> Any:
    if input.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(input)
    except ValueError:
        return None
    except RecursionError:
        return None


def _digest(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).digest()[:16]
