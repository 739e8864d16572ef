"""How often the rules do with feedback what is meant, and to the right memories: each utterance in a cube of its own.

Right: the operations asked for, on memories of just the messages that are meant, with the words that must come of it. A wrong
deletion: anything hidden that was not to be forgotten.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memos.bench.feedback_corpus import DEV, HELD, Case
from memos.memory.feedback import FeedbackResult, Operation
from memos.memory.model import Layer, Memory, Status
from memos.system import AsyncMemOS

_HAN = re.compile("[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Judged:
    """One utterance: whether the operations were right, whether their targets were too, and how many memories went wrongly."""

    case: Case
    operation: bool
    target: bool
    deleted: int
    result: FeedbackResult

    @property
    def right(self) -> bool:
        """Whether all of it was."""
        return self.operation and self.target and not self.deleted


async def judge_all(cases: Sequence[Case]) -> list[Judged]:
    """Every case, each by a user of its own."""
    with tempfile.TemporaryDirectory() as home:
        async with AsyncMemOS(
            home, embedder="none", llm="none", background=False, durability="normal", open_cubes=4
        ) as memos:
            return [await judge(memos, case, f"case {number}") for number, case in enumerate(cases)]


async def judge(memos: AsyncMemOS, case: Case, cube: str) -> Judged:
    """One case, in a cube that is made for it."""
    told: list[str] = []
    await memos.create_cube(cube)
    for text in case.knows:
        told += (await memos.add(text, cube=cube, wait=True)).ids
    before = {m.id: m for m in (await memos.list(cube=cube, limit=1_000, include_inactive=True)).items}
    history = [{"role": ("user", "assistant")[n % 2], "content": t} for n, t in enumerate(case.history)]
    result = await memos.feedback(case.say, cube=cube, history=history)
    after = {m.id: m for m in (await memos.list(cube=cube, limit=1_000, include_inactive=True)).items}
    meant = {told[n] for n in case.hits}
    gone = [m for id, m in before.items() if m.status is not Status.RETRACTED and after[id].status is Status.RETRACTED]
    wrong = [m for m in gone if "forget" not in case.does or not (_evidence(m) <= meant)]
    return Judged(
        case,
        sorted(done.operation.value for done in result.operations) == sorted(case.does),
        _hits(result, before, after, meant)
        and _became(result, case)
        and (bool(case.does) or _same(before, after, result)),
        len(wrong),
        result,
    )


def _hits(result: FeedbackResult, before: dict[str, Memory], after: dict[str, Memory], meant: set[str]) -> bool:
    """Whether the targets are of just the messages that are meant, and of all of them."""
    hit = {
        id
        for done in result.operations
        if done.operation is not Operation.SUPPLEMENT
        for target in done.targets
        for id in _evidence(before.get(target.id) or after[target.id])
    }
    return hit == meant


def _evidence(memory: Memory) -> set[str]:
    return {memory.id} if memory.layer is Layer.TRACE else {s.memory_id for s in memory.sources if s.memory_id}


def _became(result: FeedbackResult, case: Case) -> bool:
    made = [m.text.casefold() for done in result.operations for m in done.made]
    return all(any(words.casefold() in text for text in made) for words in case.becomes)


def _same(before: dict[str, Memory], after: dict[str, Memory], result: FeedbackResult) -> bool:
    """Whether nothing changed but that the words were kept."""
    return all(m == before.get(id) for id, m in after.items() if id != result.record)


async def measure(say: Callable[[str], None] = lambda _: None) -> str:
    """The table of both halves of the corpus, by language and by operation."""
    rows = []
    for name, cases in (("built on", DEV), ("held back", HELD)):
        judged = await judge_all(cases)
        for wrong in (j for j in judged if not j.right):
            say(f"{name}: {wrong.case.say!r} -> {[d.operation.value for d in wrong.result.operations]}")
        rows.append(_row(name, judged))
        rows.append(_row(f"{name}, English", [j for j in judged if not _HAN.search(j.case.say)]))
        rows.append(_row(f"{name}, Chinese", [j for j in judged if _HAN.search(j.case.say)]))
        for operation in (*(o.value for o in Operation if o is not Operation.RATE), ""):
            of = [j for j in judged if (operation in j.case.does if operation else not j.case.does)]
            rows.append(_row(f"{name}, {operation or 'must change nothing'}", of))
    head = "| utterances | n | right operation | right operation and target | wrong deletions |\n|---|---|---|---|---|"
    return "\n".join([head, *rows])


def _row(name: str, judged: Sequence[Judged]) -> str:
    count = max(1, len(judged))
    operation = sum(j.operation for j in judged) / count
    right = sum(j.right for j in judged) / count
    return f"| {name} | {len(judged)} | {operation:.1%} | {right:.1%} | {sum(j.deleted for j in judged)} |"
