"""POST /product/suggestions: three questions one could ask next, made by rules from what was remembered last."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from starlette.responses import Response

from memos.memory.model import Kind, Memory
from memos.reading.parts import parse_content, text_of
from memos.server.caller import READ, Caller
from memos.server.product import access, wording
from memos.server.product.models import SuggestBody
from memos.server.product.replies import ok
from memos.system import AsyncMemOS

COUNT = 3
RECENT = 60  # memories looked at
LENGTH = 60  # characters of a memory quoted in a question
TEMPLATES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "person": "What do you know about {0}?",
        "place": "What happened in {0}?",
        "other": "What did I say about {0}?",
        "event": "What happened after this: “{0}”?",
        "commitment": "What do I have to keep in mind for “{0}”?",
        "preference": "What else may suit me, given that “{0}”?",
        "fact": "What else do you know around “{0}”?",
        "recent": "What did we talk about last?",
        "plans": "What do I have planned?",
        "likes": "What do you know about my preferences?",
    },
    "zh": {
        "person": "关于{0}你知道些什么？",
        "place": "在{0}发生过什么？",
        "other": "我说过哪些关于{0}的事？",
        "event": "“{0}”之后发生了什么？",
        "commitment": "关于“{0}”，我要记住什么？",
        "preference": "既然“{0}”，还有什么适合我？",
        "fact": "关于“{0}”，你还知道什么？",
        "recent": "我们最近聊了什么？",
        "plans": "我有哪些计划？",
        "likes": "你了解我的哪些偏好？",
    },
}
_DERIVED = (Kind.EVENT, Kind.COMMITMENT, Kind.PREFERENCE, Kind.PROFILE, Kind.FACT)


async def suggestions(core: AsyncMemOS, caller: Caller, body: SuggestBody) -> Response:
    """Three questions, from the conversation given or from recent memories; none where there is nothing to ask about."""
    user = await access.acting_on(core, caller, body.user_id, body.mem_cube_id, READ)
    cube = body.mem_cube_id
    entities = list((await core.list(kinds=[Kind.ENTITY], limit=RECENT, user=user, cube=cube)).items)
    derived = list((await core.list(kinds=_DERIVED, limit=RECENT, user=user, cube=cube)).items)
    said = _text(body.message)
    if not (said or entities or derived or await core.count(user=user, cube=cube)):
        return ok(wording.SUGGESTED, {"query": []})
    if said:  # what the conversation is about comes first
        low = said.casefold()
        entities.sort(key=lambda m: m.text.casefold() not in low)
        derived.sort(key=lambda m: str(m.body.get("value", "\0")).casefold() not in low)
    return ok(wording.SUGGESTED, {"query": _three(_questions(entities, derived, TEMPLATES[body.language]))})


def _questions(entities: Sequence[Memory], derived: Sequence[Memory], words: Mapping[str, str]) -> Iterator[str]:
    """Questions, the best first: about a memory and about a name in turn, then general ones."""
    about_memories = (words.get(m.kind.value, words["fact"]).format(_short(m.text)) for m in derived)
    about_names = (words.get(str(m.body.get("type")), words["other"]).format(_short(m.text)) for m in entities)
    for one, other in zip(about_memories, about_names, strict=False):
        yield from (one, other)
    yield from (words[name] for name in ("recent", "plans", "likes"))
    yield from (*about_memories, *about_names)


def _three(questions: Iterator[str]) -> list[str]:
    out: dict[str, None] = {}
    for question in questions:
        out.setdefault(question)
        if len(out) == COUNT:
            break
    return list(out)


def _text(messages: Sequence[Any] | None) -> str:
    """What the last two messages of a conversation say."""
    out = []
    for message in (messages or [])[-2:]:
        if isinstance(message, str):
            out.append(message)
        elif isinstance(message, Mapping):
            out.append(text_of(parse_content(message.get("content"), "message.content", lambda _: None)))
    return "\n".join(part for part in out if part)


def _short(text: str) -> str:
    text = re.sub(r"\s+", " ", text).strip().rstrip(".。!！")
    return text if len(text) <= LENGTH else text[: LENGTH - 1].rstrip() + "…"
