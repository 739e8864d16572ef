"""A large cube answers at once from the stored full text while its index still loads, and says so."""

import threading
import time

import pytest

from memos import AsyncMemOS
from memos.storage.sqlite import ranked


async def test_a_large_cold_cube_answers_from_full_text_and_says_so(tmp_path, monkeypatch: pytest.MonkeyPatch):
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        for i in range(30):
            await memos.add(f"Shelf {i} holds the {'teal kayak' if i == 7 else 'grey box'} number {i}.")

    monkeypatch.setattr(ranked, "LOAD_AT_ONCE", 0)
    load, asked = ranked.RankedReads._load, threading.Event()

    def late(self: ranked.RankedReads) -> None:
        asked.wait(20)
        load(self)

    monkeypatch.setattr(ranked.RankedReads, "_load", late)
    async with AsyncMemOS(tmp_path, embedder="none", background=False) as memos:
        first = await memos.search("teal kayak")
        asked.set()
        assert "teal kayak" in first.hits[0].text
        assert any("still loading" in r for r in first.reasons)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            later = await memos.search("teal kayak")
            if not later.reasons:
                break
            time.sleep(0.05)
        assert later.reasons == ()
        assert "teal kayak" in later.hits[0].text
