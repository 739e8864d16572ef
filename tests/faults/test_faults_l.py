"""L. Embedding, upgrade, import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memos import MemOS, vectors
from memos.errors import ArchiveError, InvalidInput, ModelError, ModelUnavailable, NotFound, StorageError
from stubs import Words

TEXTS = [
    f"kayak number {i} is called {name}"
    for i, name in enumerate(["Wren", "Lark", "Heron", "Swift", "Teal", "Crane", "Robin", "Finch", "Raven", "Dove"])
]


def test_r146_another_model_never_compares_with_the_vectors_of_the_one_before(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changing the model leaves an index of mixed dimensions without a word."""
    monkeypatch.setattr(vectors, "EMBED_BATCH", 3)
    with MemOS(home, embedder=Words("A", 8), background=False) as memos:
        memos.add(TEXTS, wait=True)
        assert set(memos.stats().store.vectors) == {"A"}
    for model, dim in (("B", 12), ("C", 12)):
        with MemOS(home, embedder=Words(model, dim), background=False) as memos:
            assert memos.stats().waiting["embed"] > 0  # flagged as stale
            for text in TEXTS:
                assert memos.search(text).hits[0].memory.text == text
            memos.add(f"kayak of the time of model {model}")
            assert memos.search(f"time of model {model}").hits[0].memory.text.endswith(model)
        halfway = Words(model, dim, errors=[])
        halfway.fails_after = 2  # type: ignore[attr-defined]
        monkeypatch.setattr(Words, "embed_sync", _failing_after(Words.embed_sync))
        with MemOS(home, embedder=halfway, background=False) as memos, pytest.raises(ModelError):
            memos.flush()
        monkeypatch.undo()
        monkeypatch.setattr(vectors, "EMBED_BATCH", 3)
        with MemOS(home, embedder=Words(model, dim), background=False) as memos:
            memos.flush()
            assert set(memos.stats().store.vectors) == {model}
            assert memos.stats().waiting["embed"] == 0
            result = memos.search(TEXTS[3])
            assert result.hits[0].memory.text == TEXTS[3] and "vector" in result.served_by


def _failing_after(embed: Any) -> Any:
    def run(self: Any, texts: Any, *, purpose: Any) -> Any:
        if self.calls >= 2:
            raise ModelUnavailable("stands for a crash here")
        return embed(self, texts, purpose=purpose)

    return run


def everything(memos: MemOS, **where: str) -> list[Any]:
    found = memos.list(include_inactive=True, limit=1_000, newest_first=False, **where).items
    return [(memos.history(m.id, **where), memos.neighbors(m.id, **where)) for m in found]


def filled(memos: MemOS) -> None:
    memos.add([{"role": "user", "content": "I live in Rome.", "chat_time": "2024-01-01", "message_id": "m1", "info": {"a": [1, "é"]}},
               {"role": "user", "content": "I moved to Oslo. 我喜欢喝龙井茶。", "chat_time": "2024-02-01", "name": "Ann"}], tags=["x"], wait=True)  # fmt: skip
    gone = memos.add("a slip of the tongue to be taken back").ids[0]
    memos.delete(gone, hard=False)
    memos.update(memos.list(kinds=["trace"]).items[0].id, importance=0.9)
    memos.flush()


def test_r151_a_cube_that_travels_is_the_same_cube(memos: MemOS, tmp_path: Path) -> None:
    """Dumping a cube fails, or what is loaded is not what was dumped."""
    filled(memos)
    folder = tmp_path / "un dossier 茶 🛶"
    folder.mkdir()
    first, second = folder / "my cube.memos", folder / "again.memos"
    memos.export_cube(first)
    memos.import_cube(first, "travelled", user="bo")
    there = {"user": "bo", "cube": "travelled"}
    assert everything(memos, **there) == everything(memos)
    memos.export_cube(second, **there)
    memos.import_cube(second, "back again")
    assert everything(memos, cube="back again") == everything(memos)
    assert [h.id for h in memos.search("龙井茶 Rome Oslo", **there)] == [h.id for h in memos.search("龙井茶 Rome Oslo")]
    (known,) = memos.add(
        [{"role": "user", "content": "I live in Rome.", "chat_time": "2024-01-01", "message_id": "m1"}], **there
    ).records
    assert not known.new
    with pytest.raises(NotFound):
        memos.list(cube="travelled")


def test_r151_what_cannot_be_written_or_read_is_refused_and_leaves_nothing(memos: MemOS, tmp_path: Path) -> None:
    """A dump or load that cannot succeed leaves half of it."""
    filled(memos)
    taken = tmp_path / "taken.memos"
    taken.write_text("mine")
    (tmp_path / "folder").mkdir()
    for path in (
        taken,
        tmp_path / "folder",
        tmp_path / "no" / "such" / "folder.memos",
        Path("/dev/full/x"),
        Path("/proc/x.memos"),
    ):
        with pytest.raises((InvalidInput, StorageError)):
            memos.export_cube(path)
    assert taken.read_text() == "mine"
    for path in (taken, tmp_path / "missing.memos", tmp_path / "folder"):
        with pytest.raises((InvalidInput, ArchiveError)):
            memos.import_cube(path, "new one")
    memos.export_cube(taken, overwrite=True)
    memos.create_cube("occupied")
    with pytest.raises(InvalidInput):
        memos.import_cube(taken, "occupied")
    assert [c.name for c in memos.list_cubes()] == ["default", "occupied"]
    assert memos.list(cube="occupied").items == ()
