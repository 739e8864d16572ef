"""What derived memories are worth to recall: the raw messages alone, with what rules derive, and with what a good model would.

The good model is simulated: it answers each segment with facts that people checked for LoCoMo (`session_N_observation`), which
then go through all that a real model's answer goes through.
"""

from __future__ import annotations

import difflib
import json
import re
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memos.bench import recall
from memos.bench.locomo import Conversation
from memos.bench.recall import Scores
from memos.models.llm.port import ChatReply, ChatRequest, Piece, TokenUsage
from memos.system import AsyncMemOS

_LINE = re.compile(r"^(\d+) ([^:\n]{1,40}): (.*)$", re.MULTILINE)
NAMES = ("@5", "@10", "@20", "@50", "all@20", "<500t", "<1000t", "<2000t", "tokens@20")


class Observer:
    """A chat model that knows what each message teaches: (text, about whom) by the words of the message."""

    model_id = "simulated:observations"

    def __init__(self, known: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        self._known = known
        self.calls = 0

    async def complete(self, request: ChatRequest) -> ChatReply:
        """See `ChatModel.complete`."""
        self.calls += 1
        facts = [
            {
                "kind": "fact",
                "who": who,
                "what": "told",
                "value": _shared(text, said),
                "text": text,
                "by": [int(number)],
            }
            for number, _, said in _LINE.findall(request.messages[-1].content)
            for text, who in self._known.get(_plain(said), ())
        ]
        return ChatReply(json.dumps({"facts": facts, "names": []}), usage=TokenUsage(1, 1))

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        """See `ChatModel.stream`."""
        yield Piece(reply=await self.complete(request))


def observations(folder: Path, only: Sequence[str] = ()) -> dict[str, list[tuple[str, str]]]:
    """The checked facts of every conversation by the words of the message they come from."""
    out: dict[str, list[tuple[str, str]]] = {}
    for file in sorted(folder.glob("*.json")):
        raw: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if only and file.stem not in only:
            continue
        said = {t["dia_id"]: _words(t) for name, ts in raw.items() if _is_session(name) for t in ts}
        for name, by_speaker in raw.items():
            if name.endswith("_observation"):
                for who, rows in by_speaker.items():
                    for text, ids in rows:
                        for id in [ids] if isinstance(ids, str) else ids:
                            if id in said:
                                out.setdefault(said[id], []).append((text, who))
    return out


async def compare(
    conversations: Sequence[Conversation], observed: Observer, embedder: str, say: Callable[[str], None]
) -> str:
    """The table: recall and tokens without derived memories, with those of rules, and with those of the simulated model."""
    rows: dict[str, tuple[int, Scores]] = {}
    for name in ("raw messages alone", "with what rules derive", "with what a model derives"):
        with tempfile.TemporaryDirectory() as home:
            model = observed if name.endswith("model derives") else None
            async with AsyncMemOS(home, embedder=embedder, llm=model, background=False, durability="normal") as memos:
                await recall.fill(memos, conversations, pooled=False, progress=say, derive=not name.startswith("raw"))
                derived = 0
                for c in conversations:
                    stats = await memos.stats(user=c.name)
                    by_kind = stats.store.by_kind
                    derived += sum(n for kind, n in by_kind.items() if kind not in ("trace", "entity"))
                rows[name] = derived, (await recall.ask_all(memos, conversations))["all"]
                say(f"measured {name}")
    head = "| memories | derived | " + " | ".join(NAMES) + " |\n|" + "---|" * (len(NAMES) + 2)
    lines = [
        f"| {name} | {derived:,} | "
        + " | ".join(f"{s.mean(n):,.0f}" if n == "tokens@20" else f"{s.mean(n):.3f}" for n in NAMES)
        + " |"
        for name, (derived, s) in rows.items()
    ]
    return "\n".join([head, *lines])


def _words(turn: Mapping[str, Any]) -> str:
    text = turn.get("text") or turn.get("clean_text") or ""
    return _plain(text + (f" [shares a photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""))


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _is_session(name: str) -> bool:
    return re.fullmatch(r"session_\d+", name) is not None


def _shared(text: str, said: str) -> str:
    """The longest run of characters of a message that a fact about it repeats, in whole words."""
    match = difflib.SequenceMatcher(None, said.casefold(), text.casefold(), autojunk=False).find_longest_match()
    start, end = match.a, match.a + match.size
    while start > 0 and said[start - 1].isalnum() and start < end:
        start += 1
    while end < len(said) and said[end].isalnum() and end > start:
        end -= 1
    return said[start:end].strip(" .,;:!?")
