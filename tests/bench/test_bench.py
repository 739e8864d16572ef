"""The measurements themselves: what they count, on conversations small enough to check by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memos.bench import __main__ as bench
from memos.bench import corpus, locomo, recall, speed
from memos.memory.hit import Hit
from memos.memory.model import Kind, Memory


def talk(path: Path) -> Path:
    turns = [("D1:1", "Ana", "I keep a teal kayak in the shed"), ("D1:2", "Ben", "My flute lesson is on Friday")]
    raw = {
        "speaker_a": "Ana",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [{"dia_id": d, "speaker": s, "text": t} for d, s, t in turns],
        "qa": [
            {"question": "What colour is Ana's kayak?", "evidence": ["D1:1"], "category": 4},
            {"question": "Which lesson does Ben have?", "evidence": ["D1:2", "D9:9"], "category": 1},
            {"question": "Nothing of it", "evidence": ["D9:9"], "category": 4},
        ],
    }
    path.mkdir(parents=True, exist_ok=True)
    (path / "talk.json").write_text(json.dumps(raw), encoding="utf-8")
    return path


def test_evidence_that_does_not_exist_is_dropped(tmp_path: Path) -> None:
    (one,) = locomo.load(talk(tmp_path))
    assert [i.evidence for i in one.items] == [("D1:1",), ("D1:2",)]
    assert one.items[1].category == "multi-hop"
    assert one.sessions[0][1][0]["chat_time"] == "2023-05-08T13:56:00+00:00"


def test_the_score_counts_ranks_and_tokens() -> None:
    def hit(message: str, rank: int) -> Hit:
        memory = Memory(id="", kind=Kind.TRACE, text="x" * 398, message_id=message)  # and "- " before it: 100 tokens
        return Hit(memory, 1.0, rank, "c", memory.text)

    hits = [hit(f"m{i}", i + 1) for i in range(30)]
    figures = recall.score(hits, locomo.Item("q", ("m0", "m14"), "single-hop"), history_tokens=100_000)
    assert (figures["@5"], figures["@10"], figures["@20"], figures["all@20"]) == (0.5, 0.5, 1.0, 1.0)
    assert (figures["<500t"], figures["<1000t"], figures["<2000t"]) == (0.5, 0.5, 1.0)
    assert figures["tokens@20"] == pytest.approx(2000)
    assert figures["saved@20"] == pytest.approx(0.98)


def test_the_command_measures_and_fills_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- bench:words -->\nold\n<!-- /bench -->\nafter\n", encoding="utf-8")
    code = bench.main(["words", "--data", str(talk(tmp_path / "data")), "--docs", str(page)])
    assert code == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "| all | 2 | 1.000 |" in text and "python -m memos.bench words" in text
    assert "## words" in capsys.readouterr().out


def test_missing_data_is_an_error_that_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["recall"]) == 2
    assert "--data" in capsys.readouterr().err


def test_generated_traffic_is_the_same_each_time() -> None:
    a, b = (list(corpus.messages(60, seed=3)) for _ in range(2))
    assert a == b
    assert sum(len(messages) for _, messages in a) == 60
    assert corpus.questions(5) == corpus.questions(5)


async def test_every_write_of_the_write_benchmark_is_stored(tmp_path: Path) -> None:
    latency, rate = await speed.write_latency(tmp_path, writers=8, each=5)
    assert 0 < latency.p50 <= latency.p99 and rate > 0
    from memos import AsyncMemOS

    async with AsyncMemOS(tmp_path, embedder="none", background=False) as memos:
        assert (await memos.stats(user=speed.USER)).store.memories == 41
