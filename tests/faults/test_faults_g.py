"""G. Duplicates, wrong or stale memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from memos import MemOS
from memos.memory.model import Status

FACTS = ["fact", "profile", "preference", "commitment", "event"]


def facts(memos: MemOS) -> list[str]:
    memos.flush()
    return sorted(m.text for m in memos.list(kinds=FACTS, limit=1_000).items)


def test_r101_one_fact_however_often_and_in_whatever_words(memos: MemOS) -> None:
    """The same fact in other words is stored and recalled many times."""
    said = ["I drink oat milk.", "Oat milk is what I drink.", "I drink oat milk."]
    for text in said:
        memos.add(text, wait=True)
    for text in said:
        memos.add(text)
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda i: memos.add(said[i % 2], session=f"s{i % 5}", wait=True), range(10)))
    assert facts(memos) == ["The user drinks oat milk."]
    (fact,) = memos.list(kinds=FACTS).items
    records = {m.id for m in memos.list(kinds=["trace"]).items}
    assert {s.memory_id for s in fact.sources} == records
    assert len(records) == 2 + 2 * 4 + 2 or len(records) <= 12  # one per session and wording
    hits = memos.search("milk", limit=50).hits
    assert len({h.text for h in hits}) == len(hits) == 2


@pytest.mark.parametrize("mangle", [
    lambda block, n: f"{block}\nok {n}",
    lambda block, n: f"ok {n}\n{block}",
    lambda block, n: f"{block[: len(block) * 2 // 3]}",
    lambda block, n: f"{block[20:]}\nok {n}",
    lambda block, n: f"{block[:15]}{block}{block[15:]}\nok {n}",
    lambda block, n: f"{block.upper()}\nok {n}",
    lambda block, n: f"<relevant_memories>\n{block}\n</relevant_memories> ok {n}",
])  # fmt: skip
def test_r103_what_was_recalled_is_not_learned_again(memos: MemOS, mangle: Any) -> None:
    """Recalled memories in the prompt are captured again: a growth loop."""
    memos.add("I live in Rome near the river.", wait=True)
    before = facts(memos)
    for n in range(20):
        block = memos.search("Where do I live?").context
        assert "rome" in block.lower()
        memos.add([{"role": "user", "content": mangle(block, n), "message_id": f"m{n}"}], session="chat", wait=True)
    assert facts(memos) == before == ["The user lives in Rome."]
    (fact,) = memos.list(kinds=FACTS).items
    assert len(fact.sources) == 1


def test_r106_what_differs_in_a_number_or_a_not_is_another_fact(memos: MemOS) -> None:
    """Facts that differ only in numbers are thrown away as duplicates."""
    said = [
        "Locker 14 code is 2207",
        "Locker 15 code is 9913",
        "Meeting on 3 May",
        "Meeting on 4 May",
        "I can eat nuts",
        "I can't eat nuts",
    ]
    results = [memos.add(text, wait=True).records[0] for text in said]
    assert all(r.new for r in results) and len({r.id for r in results}) == 6
    for text, record in zip(said, results, strict=True):
        first = memos.search(text).hits[
            :2
        ]  # the two meetings share all words but the date, which is looked for as a time
        assert (record.id, text) in [(h.id, h.text) for h in first], text
    assert {"Locker 14 code is 2207.", "Locker 15 code is 9913.", "The user cannot eat nuts."} <= set(facts(memos))
    everything = memos.list(kinds=["preference", "profile", "fact"], include_inactive=True).items
    eaten = next(m for m in everything if m.text == "The user can eat nuts.")
    assert eaten.status is Status.SUPERSEDED  # its contrary was said later: replaced in the open, not merged away


@pytest.mark.parametrize(
    "text", ["hi", "ok", "👍", "yes", "thanks!", "???", "hello there", "嗯", "好的", "lol", "...", "bye", "1", "Hmm."]
)
def test_r109_a_word_or_two_make_no_facts(memos: MemOS, text: str) -> None:
    """Examples of a prompt are stored as facts about the user."""
    memos.add([text, {"role": "assistant", "content": "How can I help you?"}], wait=True)
    assert facts(memos) == []


@pytest.mark.parametrize("role", ["system", "developer", "tool"])
def test_r109_prompts_and_tools_teach_nothing(memos: MemOS, role: str) -> None:
    """A system prompt is stored as facts about the user."""
    memos.add(
        [{"role": role, "content": "I live in Rome. My name is Ann. The locker is number 58.", "tool_call_id": "c"}],
        wait=True,
    )
    assert facts(memos) == []
