"""What callers hand to `add`, in every legal shape, as `Message`s: strings, chat messages, raw items, or a mix of them.

Guards law 2: nothing is dropped without a notice that names it, and what cannot be understood is an error before
anything is stored. The content of one message is read in `memos.reading.parts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from json import dumps
from typing import Any

from memos.errors import InvalidInput
from memos.memory.image import reference_to
from memos.memory.message import Message, Part, PartType, ToolCall
from memos.memory.model import EMPTY
from memos.memory.time import parse_time, plausible
from memos.reading.foreign import ROLES, in_our_words
from memos.reading.parts import is_blank, parse_content, text_of, well_formed
from memos.reading.transcript import name_speakers

MAX_NESTING = 64
_ROLE_ALIASES = {"function": "tool"}
_KNOWN = frozenset(
    {"role", "content", "name", "chat_time", "message_id", "tool_calls", "tool_call_id", "function_call", "refusal"}
    | {"info", "audio", "annotations", "type", "text", "file", "image_url", "input_audio"}
)
_RAW_TYPES = frozenset({"text", "file", "image_url", "input_audio", "input_text", "input_image", "input_file", "image"})


@dataclass(frozen=True, slots=True)
class Parsed:
    """The messages understood, and a sentence for each thing that was skipped or changed on the way."""

    messages: tuple[Message, ...]
    notices: tuple[str, ...] = ()


def parse_messages(
    input: object, *, now: datetime, zone: str = "UTC", default_role: str = "user", images: bool = False
) -> Parsed:
    """Understand `input`: a string, a chat message, a raw item, a `Message`, or a list of these.

    `now` is the aware time of arrival, used where a message has no `chat_time`; times without an offset are read in
    `zone`. `images`: give the bytes of inline images along.

    Blank messages are left out with a notice. Raises InvalidInput, naming index and field, for wrong types,
    unknown roles and unreadable times, and when nothing is left to store.
    """
    if now.tzinfo is None:
        raise InvalidInput("now has no time zone; give an aware datetime, such as datetime.now(UTC)")
    reader = _Reader(now.astimezone(UTC), zone, _role(default_role, "role"), images)
    for i, item in enumerate(_items(input, "messages")):
        reader.read(item, f"messages[{i}]")
    if not reader.messages:
        why = "; ".join(reader.notices) or "the list is empty"
        raise InvalidInput(f"there is nothing to store ({why}); give at least one message with content")
    messages, notice = name_speakers(reader.messages)
    read = f"fields were read as ours: {', '.join(reader.translated)}" if reader.translated else None
    return Parsed(messages, (*reader.notices, *(n for n in (read, notice) if n)))


def parse_context(input: object, *, now: datetime, zone: str = "UTC", called: str = "context") -> tuple[Message, ...]:
    """What was said before, in the same shapes; nothing where there is nothing to be read. `called`: its name, for errors."""
    if input is None or (isinstance(input, (str, list, tuple)) and not input):
        return ()
    reader = _Reader(now.astimezone(UTC), zone, "user")
    for i, item in enumerate(_items(input, called)):
        reader.read(item, f"{called}[{i}]")
    return tuple(reader.messages)


def _items(input: object, what: str) -> Iterable[object]:
    """One message, or several, as an iterable."""
    if isinstance(input, (str, Mapping, Message)):
        return (input,)
    if isinstance(input, Iterable) and not isinstance(input, (bytes, bytearray)):
        return input
    raise InvalidInput(f"{what} is of type {type(input).__name__}; give a string, a chat message or a list of them")


class _Reader:
    """Collects messages and notices of one input."""

    def __init__(self, now: datetime, zone: str, role: str, images: bool = False) -> None:
        self.now, self.zone, self.role, self.images = now, zone, role, images
        self.messages: list[Message] = []
        self.notices: list[str] = []
        self.translated: dict[str, None] = {}  # each way once, in order

    def read(self, item: object, where: str) -> None:
        if isinstance(item, Message):
            message = checked_message(item, where)
        elif isinstance(item, str):
            text = well_formed(item)
            message = self._message(self.role, (Part(PartType.TEXT, text=text),), {}, where)
        elif isinstance(item, Mapping):
            message = self._chat(item, where)
        else:
            raise InvalidInput(
                f"{where} is of type {type(item).__name__}; give a string or a chat message with role and content"
            )
        if is_blank(message.text) and not message.tool_calls:
            self.notices.append(f"{where}: blank content, not stored")
        else:
            self.messages.append(message)
            if plausible(message.time, self.now) != message.time:
                self.notices.append(f"{where}: chat_time is in the future; its facts are dated by when it arrived")

    def _chat(self, item: Mapping[Any, Any], where: str) -> Message:
        raw = "content" not in item and "role" not in item and str(item.get("type")) in _RAW_TYPES
        if not raw:
            found = in_our_words(item, self._is_time)
            item = found.item
            self.translated.update(dict.fromkeys(found.read))
            self.notices += [f"{where}: {sentence}" for sentence in found.unread]
        if not raw and "role" not in item and "content" not in item:
            raise InvalidInput(
                f"{where} has neither 'role' nor 'content'; a chat message is {{'role': 'user', 'content': '…'}}"
            )
        role = _role(item.get("role", self.role), f"{where}.role")
        parts = parse_content(
            item if raw else item.get("content"),
            where if raw else f"{where}.content",
            self.notices.append,
            images=self.images,
        )
        refusal = _text(item, "refusal", where) if not raw else None
        if refusal:
            parts += (Part(PartType.REFUSAL, text=refusal),)
        unknown = sorted(str(key) for key in item if key not in _KNOWN)
        if unknown and not raw:
            self.notices.append(f"{where}: unknown fields ignored: {', '.join(unknown)}")
        return self._message(role, parts, item, where)

    def _message(self, role: str, parts: tuple[Part, ...], item: Mapping[Any, Any], where: str) -> Message:
        time, zone, given = self._time(item.get("chat_time"), where)
        return Message(
            role=role,
            text=text_of(parts),
            time=time,
            zone=zone,
            time_given=given,
            name=_text(item, "name", where) or None,
            message_id=_text(item, "message_id", where) or None,
            parts=parts,
            tool_calls=_tool_calls(item, where),
            tool_call_id=_text(item, "tool_call_id", where) or None,
            info=checked_info(item.get("info"), f"{where}.info"),
        )

    def _is_time(self, value: object) -> bool:
        try:
            parse_time(value, default_zone=self.zone, now=self.now)
        except (InvalidInput, TypeError):
            return False
        return True

    def _time(self, value: object, where: str) -> tuple[datetime, str, bool]:
        if value is None or value == "":
            return self.now, self.zone, False
        try:
            parsed = parse_time(value, default_zone=self.zone, now=self.now)
        except (InvalidInput, TypeError) as error:
            raise InvalidInput(f"{where}.chat_time: {error}") from error
        return parsed.instant.astimezone(UTC), parsed.zone, True


def _role(value: object, where: str) -> str:
    role = _ROLE_ALIASES.get(value, value) if isinstance(value, str) else ""
    if role not in ROLES:
        raise InvalidInput(f"{where} is {value!r}; roles are {', '.join(sorted(ROLES))}")
    return role


def _text(item: Mapping[Any, Any], field: str, where: str) -> str | None:
    value = item.get(field)
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidInput(f"{where}.{field} is of type {type(value).__name__}; give a string")
    return well_formed(value)


def _tool_calls(item: Mapping[Any, Any], where: str) -> tuple[ToolCall, ...]:
    calls = item.get("tool_calls")
    if calls is not None and not isinstance(calls, (list, tuple)):
        raise InvalidInput(f"{where}.tool_calls is of type {type(calls).__name__}; give a list of calls")
    found = [_tool_call(call, f"{where}.tool_calls[{i}]") for i, call in enumerate(calls or ())]
    if item.get("function_call") is not None:
        found.append(_tool_call({"function": item["function_call"]}, f"{where}.function_call"))
    return tuple(found)


def _tool_call(call: object, where: str) -> ToolCall:
    if not isinstance(call, Mapping):
        raise InvalidInput(
            f"{where} is of type {type(call).__name__}; give {{'id': …, 'function': {{'name': …, 'arguments': …}}}}"
        )
    body = call.get("function", call.get("custom", call))
    if not isinstance(body, Mapping) or not isinstance(body.get("name"), str):
        raise InvalidInput(f"{where}.function.name is missing or not a string; a call needs the tool's name")
    arguments = body.get("arguments", body.get("input", ""))
    if not isinstance(arguments, str):
        # Some clients send the arguments as an object; the record keeps them as the JSON text it stands for.
        arguments = _json(arguments, f"{where}.function.arguments")
    return ToolCall(_text(call, "id", where) or "", well_formed(body["name"]), well_formed(arguments))


def _json(value: object, where: str) -> str:
    try:
        return dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{where} cannot be written as JSON ({error})") from error


def checked_info(value: object, where: str) -> Mapping[str, Any]:
    """Free metadata as it can be stored: string keys, JSON values, whole characters, nested up to 64 deep. Raises InvalidInput
    naming `where`.
    """
    if value is None:
        return EMPTY
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidInput(f"{where} is of type {type(value).__name__}; give an object with string keys")
    _json(dict(value), where)
    return {well_formed(key): _clean(item, where, 1) for key, item in value.items()}


def _clean(value: Any, where: str, depth: int) -> Any:
    """`value` with well-formed strings all the way down."""
    if isinstance(value, str):
        return well_formed(value)
    if not isinstance(value, (Mapping, list, tuple)):
        return value
    if depth > MAX_NESTING:  # many a JSON reader stops at some depth, and one value it cannot read hides a whole page
        raise InvalidInput(f"{where} is nested more than {MAX_NESTING} deep; keep it flatter, or as a text")
    if isinstance(value, Mapping):
        return {well_formed(str(key)): _clean(item, where, depth + 1) for key, item in value.items()}
    return [_clean(item, where, depth + 1) for item in value]


def checked_message(message: Message, where: str) -> Message:
    """A `Message` made by the caller, with what the type checker cannot promise checked. Raises InvalidInput naming `where`."""
    _role(message.role, f"{where}.role")
    if not isinstance(message.text, str):
        raise InvalidInput(f"{where}.text is of type {type(message.text).__name__}; give a string")
    if not isinstance(message.time, datetime) or message.time.tzinfo is None:
        raise InvalidInput(f"{where}.time has no time zone; give an aware datetime")
    parts = tuple(p if p.data is None else replace(p, uri=reference_to(p.data)) for p in message.parts)
    return replace(message, text=well_formed(message.text), time=message.time.astimezone(UTC), parts=parts)
