"""What a host or a memory wrote into a user's message before the model saw it: nobody said it, and it is not learned."""

from __future__ import annotations

import re

from memos.text.blocks import Blocks

BLOCKS = (
    "memos_context",
    "memos-context",
    "memory-context",
    "memory_context",
    "relevant-memories",
    "relevant_memories",
    "recalled-memories",
    "recalled_memories",
    "memories",
    "system-reminder",
    "active_memory_plugin",
)
_OPENS = re.compile(rf"<\s*({'|'.join(BLOCKS)})(?:\s[^<>]{{0,300}})?>", re.IGNORECASE)
_FACTS = re.compile(
    r"\s*(?:Conversation info|Sender|Thread starter|Replied message|Forwarded message context|Chat history since last reply)"
    r" \(untrusted[^\n]{0,100}\):\n```json\n"
)
_STAMP = re.compile(r"\s*\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?(?: [\w+:-]{1,12})?\] ")


def said_only(text: str) -> str:
    """A message without the blocks of memories, the facts about the sender and the time that were put before it."""
    out: list[str] = []
    at = 0
    lowered = text.lower() if "<" in text else ""
    if len(lowered) != len(text):  # a letter that is two in lower case: places differ
        lowered = text
    blocks = {name: Blocks(lowered, name) for name in BLOCKS}
    while (block := _OPENS.search(text, at)) is not None:
        end = blocks[block[1].lower()].end(block.end())
        if end < 0:
            out.append(text[at : block.end()])  # never closed: it is text
            at = block.end()
            continue
        out.append(text[at : block.start()])
        at = end
    text = "".join([*out, text[at:]])
    while (facts := _FACTS.match(text)) is not None:
        end = text.find("\n```", facts.end())
        if end < 0:
            break
        text = text[end + 4 :]
    stamp = _STAMP.match(text)
    return text[stamp.end() if stamp else 0 :].strip()
