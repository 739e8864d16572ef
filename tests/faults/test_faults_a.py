"""A. Silent write loss."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw
import pytest

from memos import MemOS, background
from memos.errors import InvalidInput, ModelError, ModelTimeout, NotFound
from memos.memory.hit import SearchStatus
from memos.scheduler import worker
from stubs import Broken, Words, child_env


@pytest.mark.parametrize("wait", [True, False])
def test_r001_an_add_that_answers_has_stored(memos: MemOS, wait: bool) -> None:
    """Success is answered and nothing is ever stored."""
    (id,) = memos.add("My kayak is teal and lives in shed 4.", user="u_alpha", wait=wait).ids
    assert [m.id for m in memos.list(user="u_alpha", kinds=["trace"]).items] == [id]
    assert memos.search("kayak colour", user="u_alpha").hits[0].id == id
    with pytest.raises(InvalidInput, match="nothing to store"):
        memos.add([], user="u_alpha")


def test_r003_an_id_stays_valid_and_its_delete_takes_along_what_was_made_of_it(memos: MemOS) -> None:
    """An id that was handed out stops existing when the background step has refined its record."""
    (id,) = memos.add("I live in Rome. Invoice day is the 9th. The locker is number 58.").ids
    before = memos.get(id)
    memos.flush()
    assert memos.get(id) == before
    assert len(memos.list(kinds=["profile", "fact"]).items) == 2
    memos.delete(id)
    assert memos.list(include_inactive=True).items == ()
    with pytest.raises(NotFound):
        memos.get(id)


def test_r008_every_piece_of_an_oversized_message_is_kept(memos: MemOS) -> None:
    """Pieces of one long text share an id, and each overwrites the one before."""
    filler = "This is a sentence of no particular interest to anybody. " * 30
    text = f"HEAD-11 begins here. {filler}MID-22 is in between. {filler}TAIL-33 ends it."
    ids = memos.add(text).ids
    assert len(ids) >= 3
    for token in ("HEAD-11", "MID-22", "TAIL-33"):
        assert token in memos.search(token).hits[0].text
    assert " ".join(" ".join(memos.get(i).text for i in ids).split()) == " ".join(text.split())
    assert memos.add(text).ids == ids
    assert len(memos.list(kinds=["trace"]).items) == len(ids)


def test_r010_a_model_that_fails_and_comes_back_is_asked_again(
    home: Path, monkeypatch: pytest.MonkeyPatch, wait_for: Callable[..., None]
) -> None:
    """A passing error of a model is swallowed: the work counts as done with nothing in it."""
    monkeypatch.setattr(worker, "BACKOFF_BASE", 0.02)
    embedder = Words(errors=[ModelError("429 too many requests"), ModelTimeout("did not answer in time")])
    with MemOS(home, embedder=embedder) as memos:
        memos.add("The locker is number 58.")
        wait_for(lambda: not any(memos.stats().waiting.values()))
        assert memos.stats().store.vectors["words"] == 2
        assert [m.text for m in memos.list(kinds=["fact"]).items] == ["The locker is number 58."]
        assert "vector" in memos.search("locker").served_by


def test_r010_a_model_that_always_fails_loses_nothing_and_the_backlog_is_visible(home: Path) -> None:
    """The same, when the model never comes back."""
    with MemOS(home, embedder=Broken(ModelTimeout("did not answer in time")), background=False) as memos:
        memos.add("The locker is number 58.")
        with pytest.raises(ModelTimeout):
            memos.flush()
        assert memos.stats().waiting["embed"] == 2
        result = memos.search("locker")
        assert (result.status, result.hits[0].memory.text) == (SearchStatus.FOUND, "The locker is number 58.")
        assert any("did not answer" in r for r in result.reasons)
        assert [m.text for m in memos.list(kinds=["fact"]).items] == ["The locker is number 58."]
    with MemOS(home, embedder=Words(), background=False) as memos:
        memos.flush()
        assert memos.stats().waiting["embed"] == 0


def test_r015_a_contradiction_leaves_the_new_fact_and_archives_the_old(memos: MemOS) -> None:
    """The old fact is removed and the new one never added."""
    memos.add("My desk is on floor 3.", wait=True)
    memos.add("My desk moved to floor 9.", wait=True)
    facts = {m.text: m.status.value for m in memos.list(kinds=["fact"], include_inactive=True).items}
    assert sorted(facts.values()) == ["active", "superseded"]
    assert next(t for t, s in facts.items() if s == "active").endswith("floor 9.")
    assert "floor 9" in memos.search("desk floor").hits[0].text


def test_r017_parallel_adds_of_one_system_all_arrive(memos: MemOS) -> None:
    """Parallel calls drop each other's writes."""
    with ThreadPoolExecutor(25) as pool:
        results = list(pool.map(lambda i: memos.add(f"parallel item number {i} of fifty"), range(50)))
    assert len({i for r in results for i in r.ids}) == 50
    assert len(memos.list(kinds=["trace"]).items) == 50


def test_r017_two_processes_on_one_store_add_all_of_theirs(home: Path) -> None:
    """Two processes on one store corrupt it or drop each other's writes."""
    code = (
        "import sys; from memos import MemOS\n"
        "with MemOS(sys.argv[1], embedder='none') as m:\n"
        "    for i in range(50): m.add(f'item number {i} of process {sys.argv[2]}')\n"
    )
    children = [subprocess.Popen([sys.executable, "-c", code, str(home), who], env=child_env()) for who in "ab"]
    assert [c.wait(60) for c in children] == [0, 0]
    with MemOS(home, embedder="none", background=False) as memos:
        assert len(memos.list(kinds=["trace"], limit=500).items) == 100
        assert len(memos.search("process b item number 7", limit=100).hits) > 0


@pytest.mark.parametrize("damage", ["kind='nonsense'", "tags='not json'", "body='{'"])
def test_r017_one_bad_row_is_skipped_and_reported(home: Path, damage: str) -> None:
    """One bad row makes every tool fail."""
    with MemOS(home, embedder="none", background=False) as memos:
        bad, good = memos.add(["the kayak with the bad row", "the kayak with the good row"], wait=True).ids
        file = home / "cubes" / memos.open_cube("default").location
    db = apsw.Connection(str(file))
    db.execute(f"UPDATE memories SET {damage} WHERE id=?", (bytes.fromhex(bad.replace("-", "")),))
    db.close()
    with MemOS(home, embedder="none", background=False) as memos:
        assert [m.id for m in memos.list(kinds=["trace"]).items] == [good]
        assert [h.id for h in memos.search("kayak row")] == [good]
        (new,) = memos.add("the kayak with a new row").ids
        assert {h.id for h in memos.search("kayak row")} == {good, new}


@pytest.mark.parametrize("answer", [RuntimeError, ValueError("no"), (), None, "garbage", 7])
def test_r025_a_record_is_kept_whatever_becomes_of_its_refinement(
    home: Path, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    """The refinement fails, and the quick record made at add time is deleted all the same."""
    from memos.memory.statement import Reading

    def read(*_: Any) -> Any:
        if answer is RuntimeError:
            raise LookupError("the model is gone")
        if isinstance(answer, Exception):
            raise answer
        return Reading() if answer == () else answer

    monkeypatch.setattr(background, "read_trace", read)
    with MemOS(home, embedder="none", background=False) as memos:
        (id,) = memos.add("The boiler serial is HK-902-FENNEL").ids
        memos.flush()
        assert memos.search("HK-902-FENNEL").hits[0].id == id
        assert memos.stats().waiting.get("digest", 0) == (0 if answer == () else 1)
    monkeypatch.undo()
    with MemOS(home, embedder="none", background=False) as memos:
        memos.flush()
        assert memos.stats().waiting.get("digest", 0) == 0
        assert [m.text for m in memos.list(kinds=["fact"]).items] == (
            [] if answer == () else ["The boiler serial is HK-902-FENNEL."]
        )
