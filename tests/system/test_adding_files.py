"""`add_file`: a document and its pieces, stored, replaced, deleted and brought back as one."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from memos import AsyncMemOS, MemOS
from memos.errors import AccessDenied, InvalidInput, UnknownFileType, UnreadableFile
from memos.memory.model import Status
from memos.reading import documents

LONG = "".join(f"Sentence {n} of the manual speaks of valve {n}.\n" for n in range(200))


async def pieces(m: AsyncMemOS, **more: object) -> list[str]:
    return [p.text for p in (await m.list(kinds=["chunk"], newest_first=False, limit=1000, **more)).items]


async def test_pieces_cover_every_character_and_are_in_order(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as m:
        done = await m.add_file(LONG.encode(), name="manual.txt", tags=["valves"], info={"site": "north"})
        assert (done.new, done.replaced, done.pieces > 5) == (True, False, True)
        assert "".join(await pieces(m)) == LONG
        hit = (await m.search("valve 137", filter={"tags": "valves"})).hits[0]
        assert "valve 137" in hit.memory.text
        assert (hit.memory.title, hit.memory.body["document"], hit.memory.info["site"]) == (
            "manual.txt",
            done.id,
            "north",
        )
        assert hit.memory.sources[0].uri == "manual.txt"
        assert (await m.search("manual.txt")).hits


async def test_the_same_again_changes_nothing_and_other_labels_do(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as m:
        first = await m.add_file(b"The valve is red.", name="a.txt")
        again = await m.add_file(b"The valve is red.", name="a.txt")
        assert (again.id, again.new, again.replaced) == (first.id, False, False)
        assert len(await m.history(first.id)) == 1
        tagged = await m.add_file(b"The valve is red.", name="a.txt", tags=["x"])
        assert (tagged.id, tagged.replaced) == (first.id, True)
        assert len(await pieces(m)) == 1


async def test_a_new_edition_is_all_or_nothing_for_readers(tmp_path: Path) -> None:
    """Two editions written at once, again and again, and read meanwhile: never a mixture (R008)."""
    texts = ["".join(f"{word} line {n}.\n" * 3 for n in range(300)) for word in ("alpha", "beta")]
    async with AsyncMemOS(tmp_path, embedder="none") as m:
        await m.add_file(texts[0].encode(), name="d.txt", document_id="d")

        async def write(text: str) -> None:
            for _ in range(3):
                await m.add_file(text.encode(), name="d.txt", document_id="d")

        async def read() -> None:
            for _ in range(10):
                assert "".join(await pieces(m)) in texts
                await asyncio.sleep(0.01)

        await asyncio.gather(write(texts[0]), write(texts[1]), read())
        assert "".join(await pieces(m)) in texts
        assert (await m.count(kinds=["document"])) == 1


async def test_a_former_edition_stays_in_the_history_and_comes_back(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as m:
        done = await m.add_file(b"The old valve.", name="d.txt", document_id="d")
        old = (await m.list(kinds=["chunk"])).items[0]
        await m.add_file(b"The new valve.", name="d.txt", document_id="d")
        assert (await m.get(old.id)).status is Status.SUPERSEDED
        assert (await m.history(done.id))[0].memory.body["sha256"] == done.memory.body["sha256"]
        await m.undo(done.id)
        assert await pieces(m) == ["The old valve."]
        await m.flush()
        assert (await m.list(kinds=["fact", "profile", "preference", "event"])).items == ()


async def test_deleting_a_document_takes_its_pieces(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as m:
        done = await m.add_file(LONG.encode(), name="d.txt", document_id="d")
        await m.delete(done.id, hard=False)
        assert await pieces(m) == []
        back = await m.add_file(LONG.encode(), name="d.txt", document_id="d")
        assert (back.id, "".join(await pieces(m))) == (done.id, LONG)
        await m.delete(done.id)
        assert await m.count(include_inactive=True) == 0
        assert (await m.add_file(LONG.encode(), name="d.txt", document_id="d")).new


async def test_an_edited_piece_is_not_taken_for_something_said(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as m:
        await m.add_file(b"A page.", name="d.txt")
        piece = (await m.list(kinds=["chunk"])).items[0]
        await m.update(piece.id, text="I live in Oslo and I like jazz.")
        await m.flush()
        assert (await m.list(kinds=["profile", "preference"])).items == ()


async def test_a_piece_is_titled_by_the_heading_it_stands_under(tmp_path: Path) -> None:
    text = "# Desk\n\n" + "Open from nine.\n" * 100 + "\n## Garage\n\n" + "Closed at six.\n" * 200
    async with AsyncMemOS(tmp_path, embedder="none") as m:
        await m.add_file(text.encode(), name="hours.md")
        titles = [p.title for p in (await m.list(kinds=["chunk"], newest_first=False)).items]
        assert (titles[0], titles[-1]) == ("hours.md › Desk", "hours.md › Garage")


async def test_who_may_not_write_and_what_cannot_be_read(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as m:
        await m.create_cube("team", user="ann")
        await m.share("team", "bob", "read", user="ann")
        with pytest.raises(AccessDenied):
            await m.add_file(b"x", name="a.txt", user="bob", cube="team")
        with pytest.raises(UnknownFileType):
            await m.add_file(b"x", name="a.exe")
        with pytest.raises(InvalidInput, match="bytes of a file"):
            await m.add_file("a text", name="a.txt")
        for name in ("", "\n", "x" * 300):
            with pytest.raises(InvalidInput):
                await m.add_file(b"x", name=name)
        assert await m.count(include_inactive=True) == 0


async def test_a_file_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "SECONDS", 0.05)
    monkeypatch.setattr(documents, "read_file", lambda *_, **__: time.sleep(0.5))
    async with AsyncMemOS(tmp_path, embedder="none") as m:
        with pytest.raises(UnreadableFile, match="within"):
            await m.add_file(b"x", name="a.txt")
        assert await m.count(include_inactive=True) == 0


def test_the_synchronous_face_has_it_too(tmp_path: Path) -> None:
    with MemOS(tmp_path, embedder="none") as m:
        assert m.add_file(b"The valve is red.", name="a.txt").pieces == 1
        assert m.judge("valve", ["a red valve", "a pump"])[0] > 0.9
