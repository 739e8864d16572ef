"""What the measurement of fine reading counts."""

from __future__ import annotations

import json
from pathlib import Path

from memos.bench import locomo, reading


def talk(path: Path, turns: int) -> Path:
    said = [
        f"The harbour of Kvam had {n} boats this morning, and every boat came back with fish by noon."
        for n in range(turns)
    ]
    raw = {
        "speaker_a": "Ana",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"dia_id": f"D1:{n}", "speaker": "Ana" if n % 2 else "Ben", "text": text} for n, text in enumerate(said)
        ],
        "qa": [],
    }
    (path / "talk.json").write_text(json.dumps(raw), encoding="utf-8")
    return path


async def test_a_conversation_is_read_in_one_call_a_segment_for_half_as_many_tokens_again(tmp_path: Path) -> None:
    table = await reading.costs(list(locomo.load(talk(tmp_path, 150))))
    (row,) = [line.split("|")[2:-1] for line in table.splitlines() if line.startswith("| talk ")]
    messages, segments, size, calls, sent, noted = (float(cell.replace(",", "")) for cell in row)
    assert (messages, calls) == (150, 1.0)
    assert segments == 2
    assert 1_200 < size <= 2_000
    assert 1.1 < sent <= noted <= 1.5
