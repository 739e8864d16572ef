"""What an agent tells of a step, checked and made a memory: a tool call with what it was given and what came of it, verbatim.

Reports come in the spellings of several hosts (`call_of`). Of very long values the head and the tail are kept, with a notice;
nothing else is changed, and nothing is derived from what tools say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from memos.errors import InvalidInput
from memos.memory.episode import StepReport, StepRole, ToolUse
from memos.memory.ids import new_id
from memos.memory.model import EMPTY, TRUST_OF, Kind, Memory, Origin

MOST_CHARS: Final = 1_000_000  # of an input, an output or an error
SHOWN_INPUT, SHOWN_OUTPUT, SHOWN_ERROR = 400, 700, 400  # characters of each in the readable text
MOST_NAME = 256
MOST_NESTING = 64  # as `add` takes it: many a JSON reader stops at some depth
MOST_SECONDS = 366 * 86_400.0
USE, REFLECTION = "use", "reflection"  # in the body of a step's memory
SUBAGENT = "subagent:"  # before the name of a sub-agent, as the tool of its step
Clock = Callable[[Any], datetime | None]

_NAMES = {
    "tool": ("tool", "name", "tool_name", "toolName"),
    "input": ("input", "args", "arguments", "parameters", "tool_input", "toolInput"),
    "output": ("output", "result", "content", "tool_response", "toolResponse", "tool_output", "toolOutput"),
    "error": ("error", "error_message", "errorMessage", "errorCode", "error_code"),
    "ok": ("ok", "success"),
    "failed": ("is_error", "isError"),
    "call_id": ("call_id", "callId", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "id"),
    "reflection": ("reflection",),
    "seconds": ("duration",),
    "milliseconds": ("duration_ms", "durationMs"),
    "started": ("started_at", "startedAt"),
    "ended": ("ended_at", "endedAt"),
    "info": ("info",),
}
_MEANING = {spelling: name for name, spellings in _NAMES.items() for spelling in spellings}


@dataclass(frozen=True, slots=True)
class Call:
    """A report of a step, checked. `at`: when it was begun or ended, where the report says so. `notices`: what was cut or not
    understood.
    """

    use: ToolUse
    reflection: str | None = None
    info: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    at: datetime | None = None
    notices: tuple[str, ...] = ()

    @property
    def ok(self) -> bool | None:
        """Whether it worked: as was said, or no where there is an error."""
        return False if self.use.failed else self.use.ok

    @property
    def said(self) -> str:
        """What it said in failing, or else what it answered."""
        return self.use.error or self.use.output


# -- reading reports -------------------------------------------------------------------------------------------------


def call_of(report: StepReport | Mapping[str, Any], where: str, clock: Clock) -> Call:
    """A report as it came in, checked. `where` names it in errors ("steps[2]"); `clock` reads times. Raises InvalidInput, which
    names the field.
    """
    if isinstance(report, StepReport):
        given = {name: getattr(report, name) for name in ("tool", "input", "output", "error", "ok")}
        more = {name: getattr(report, name) for name in ("duration", "call_id", "reflection", "info")}
        return checked_call(**given, **more, where=where)
    if not isinstance(report, Mapping):
        raise InvalidInput(
            f"{where} is of type {type(report).__name__}; give a StepReport or an object with `tool`, `input` and `output`"
        )
    found, strange = _understood(report, where)
    notices = () if not strange else (f"{where}: unknown fields ignored: {', '.join(strange)}",)
    began, ended = (_moment(found.get(name), f"{where}.{name}", clock) for name in ("started", "ended"))
    call = checked_call(
        found.get("tool"),
        found.get("input"),
        found.get("output"),
        error=_error(found.get("error"), where),
        ok=_worked(found, where),
        duration=_duration(found, began, ended, where),
        call_id=_call_id(found.get("call_id")),
        reflection=found.get("reflection"),
        info=found.get("info"),
        where=where,
    )
    return replace(call, at=began or ended, notices=(*notices, *call.notices))


def checked_call(
    tool: object,
    input: object = None,
    output: object = None,
    *,
    error: object = None,
    ok: object = None,
    duration: object = None,
    call_id: object = None,
    reflection: object = None,
    info: object = None,
    where: str = "",
) -> Call:
    """A report given field by field, checked. Raises InvalidInput, which names the field."""
    field_ = f"{where}." if where else ""
    cut: list[str] = []
    if ok is not None and not isinstance(ok, bool):
        raise InvalidInput(f"{field_}ok is True, False or left out, got {ok!r:.40}")
    said = None if error is None else _clamped(_text(error, f"{field_}error"), f"{field_}error", cut)
    use = ToolUse(
        tool=checked_tool(tool, f"{field_}tool"),
        input=_clamped(_value(input, f"{field_}input"), f"{field_}input", cut),
        output=_clamped(_value(output, f"{field_}output"), f"{field_}output", cut),
        error=said or None,
        ok=ok,
        duration=_seconds(duration, f"{field_}duration"),
        call_id=None if call_id is None or call_id == "" else _short(call_id, f"{field_}call_id"),
    )
    thought = checked_reflection(reflection, f"{field_}reflection")
    return Call(use, thought, _info(info, f"{field_}info"), notices=tuple(cut))


def checked_tool(value: object, where: str) -> str:
    """The name of a tool: a text of 1 to 256 characters on one line. Raises InvalidInput."""
    if value is None:
        raise InvalidInput(f"{where} is missing; give the name of the tool that was called")
    return _short(value, where).strip()


def checked_reflection(value: object, where: str) -> str | None:
    """What an agent thinks of a step; None for nothing. Raises InvalidInput."""
    if value is None:
        return None
    text = _text(value, where).strip()
    if len(text) > MOST_CHARS:
        raise InvalidInput(f"{where} is {len(text):,} characters long, at most {MOST_CHARS:,} are kept; shorten it")
    return text or None


def whole_characters(text: str) -> str:
    """The text with lone surrogates, which no file can hold, replaced by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _understood(report: Mapping[str, Any], where: str) -> tuple[dict[str, Any], list[str]]:
    """The fields of a report under our names, and the names that nobody knows. The first spelling that has a value counts."""
    inner = report.get("function")
    if isinstance(inner, Mapping):  # the form in which chat APIs list calls
        report = {**{k: v for k, v in report.items() if k not in ("function", "type")}, **inner}
    found: dict[str, Any] = {}
    strange = []
    for key, value in report.items():
        name = _MEANING.get(key) if isinstance(key, str) else None
        if name is None:
            strange.append(f"{key!s:.60}")
        elif found.get(name) is None:
            found[name] = value
    if "tool" not in found:
        raise InvalidInput(f"{where} has no `tool`; a step is {{'tool': 'shell', 'input': …, 'output': …}}")
    return found, sorted(strange)


def _error(value: object, where: str) -> object:
    """An error as hosts write it: words, a code, or an object with a message."""
    if isinstance(value, Mapping):
        message = value.get("message")
        return message if isinstance(message, str) and message.strip() else _value(value, f"{where}.error")
    if isinstance(value, bool):
        return None
    return str(value) if isinstance(value, (int, float)) else value


def _worked(found: Mapping[str, Any], where: str) -> object:
    if found.get("ok") is not None:
        return found["ok"]
    failed = found.get("failed")
    if failed is None:
        return False if found.get("error") is True else None
    if not isinstance(failed, bool):
        raise InvalidInput(f"{where}.is_error is True, False or left out, got {failed!r:.40}")
    return not failed


def _call_id(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _moment(value: object, where: str, clock: Clock) -> datetime | None:
    if value is None or value == "":
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) > 1e11:
        value = value / 1000  # milliseconds, as JavaScript tells time
    try:
        return clock(value)
    except (InvalidInput, TypeError, ValueError, OverflowError) as e:
        raise InvalidInput(f"{where}: {e}") from e


def _duration(found: Mapping[str, Any], began: datetime | None, ended: datetime | None, where: str) -> float | None:
    if found.get("seconds") is not None:
        return _seconds(found["seconds"], f"{where}.duration")
    if found.get("milliseconds") is not None:
        most = MOST_SECONDS * 1000
        return _number(found["milliseconds"], f"{where}.duration_ms", most, "milliseconds") / 1000
    return None if began is None or ended is None else max(0.0, (ended - began).total_seconds())


def _seconds(value: object, where: str) -> float | None:
    return None if value is None else _number(value, where, MOST_SECONDS, "seconds")


def _number(value: object, where: str, most: float, unit: str) -> float:
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not good or not 0 <= value <= most:  # type: ignore[operator]
        raise InvalidInput(f"{where} is a number of {unit} from 0 to {most:,.0f}, got {value!r:.40}")
    return float(value)  # type: ignore[arg-type]


def _short(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{where} must be a non-empty text, got {value!r:.60}")
    if len(value) > MOST_NAME:
        raise InvalidInput(f"{where} is {len(value):,} characters long, at most {MOST_NAME} are allowed")
    if any(ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) <= 0xDFFF for c in value):
        raise InvalidInput(f"{where} must not contain control characters or lone surrogates: {value!r:.60}")
    return value


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{where} is of type {type(value).__name__}; give a text")
    return whole_characters(value)


def _value(value: object, where: str) -> str:
    """A text as it is, anything else as compact JSON. (A number that JSON has no form for is written as Python's json does.)"""
    if value is None:
        return ""
    if isinstance(value, str):
        return whole_characters(value)
    try:
        return whole_characters(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    except (TypeError, ValueError, RecursionError) as e:
        raise InvalidInput(
            f"{where} of type {type(value).__name__} cannot be written as JSON ({e!s:.80}); give a text, or what JSON can say"
        ) from None


def _info(value: object, where: str) -> Mapping[str, Any]:
    if value is None or value == {}:
        return EMPTY
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidInput(f"{where} is of type {type(value).__name__}; give an object with string keys")
    try:
        plain = whole_characters(json.dumps(dict(value), ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as e:
        raise InvalidInput(f"{where} cannot be written as JSON ({e!s:.80})") from None
    if len(plain) > MOST_CHARS:
        raise InvalidInput(f"{where} is {len(plain):,} characters of JSON, at most {MOST_CHARS:,} are kept")
    made: dict[str, Any] = json.loads(plain)
    if _is_deeper(made, MOST_NESTING):
        raise InvalidInput(f"{where} is nested more than {MOST_NESTING} deep; keep it flatter, or as a text")
    return made


def _is_deeper(value: dict[str, Any], most: int) -> bool:
    """Whether what an object holds is nested more than so deep."""
    level: list[Any] = [value]
    for _ in range(most + 1):
        held = (one for v in level for one in (v.values() if isinstance(v, dict) else v))
        level = [one for one in held if isinstance(one, (dict, list))]
    return bool(level)


def _clamped(text: str, where: str, notices: list[str]) -> str:
    if len(text) <= MOST_CHARS:
        return text
    notices.append(f"{where} is {len(text):,} characters long; its first and last {MOST_CHARS // 2:,} are kept")
    return clamp(text, MOST_CHARS)


def clamp(text: str, most: int) -> str:
    """At most about so many characters of a text: its head and its tail, with how many are left out between them."""
    if len(text) <= most:
        return text
    head = most * 55 // 100
    tail = most - head
    return f"{text[:head]}\n[… {len(text) - most} characters …]\n{text[-tail:]}"


# -- memories ----------------------------------------------------------------------------------------------------------


def memory_of(call: Call, *, session: str, owner: str, agent: str, at: datetime) -> Memory:
    """The memory of a step (L1, kind tool_call): a readable text of up to about 1,600 characters, and all in its body."""
    body: dict[str, Any] = {USE: plain_use(call.use)}
    if call.reflection is not None:
        body[REFLECTION] = call.reflection
    return Memory(
        id=new_id(),
        kind=Kind.TOOL_CALL,
        text=readable(call.use),
        valid_from=call.at or at,
        origin=Origin.TOOL,
        trust=TRUST_OF[Origin.TOOL],
        owner=owner,
        session=session,
        role="tool",
        speaker=agent,
        info=call.info,
        body=body,
    )


def role_of(call: Call) -> StepRole:
    """Whether a call is a tool's or hands work to another agent."""
    return StepRole.SUBAGENT if call.use.tool.startswith(SUBAGENT) else StepRole.TOOL


def plain_use(use: ToolUse) -> dict[str, Any]:
    """A `ToolUse` as JSON values, without what is not known."""
    known = {"tool": use.tool, "input": use.input, "output": use.output, "error": use.error}
    more = {"ok": use.ok, "duration": use.duration, "call_id": use.call_id}
    return {k: v for k, v in {**known, **more}.items() if v not in (None, "")}


def readable(use: ToolUse) -> str:
    """A call in words: the tool and what it was given, then what came of it."""
    lines = [f"{use.tool}: {clamp(use.input.strip(), SHOWN_INPUT)}" if use.input.strip() else use.tool]
    if use.error:
        lines.append(f"error: {clamp(use.error.strip(), SHOWN_ERROR)}")
    elif use.ok is not None:
        lines.append("ok" if use.ok else "failed")
    if use.output.strip() and use.output != use.error:
        lines.append(clamp(use.output.strip(), SHOWN_OUTPUT))
    return "\n".join(lines)


def same_call(one: ToolUse, other: ToolUse) -> bool:
    """Whether two reports are of one call, as far as tool and input tell: JSON is compared by what it says."""
    return one.tool == other.tool and (one.input == other.input or _parsed(one.input) == _parsed(other.input))


def has_outcome(use: ToolUse) -> bool:
    """Whether a report says what came of the call."""
    return bool(use.output or use.error) or use.ok is not None


def same_outcome(one: ToolUse, other: ToolUse) -> bool:
    """Whether two reports say the same of what came of a call."""
    return (one.error, one.ok) == (other.error, other.ok) and _parsed(one.output) == _parsed(other.output)


def completed(memory: Memory, call: Call) -> Memory:
    """The memory of a call that was reported before its outcome was known, with it."""
    use = call.use
    body = {**memory.body, USE: plain_use(use)}
    if call.reflection is not None:
        body[REFLECTION] = call.reflection
    return replace(memory, text=readable(use), body=body)


def _parsed(text: str) -> object:
    if text[:1] in "{[" and len(text) < MOST_CHARS:
        try:
            return json.dumps(json.loads(text), sort_keys=True)
        except (ValueError, RecursionError):
            return text
    return text
