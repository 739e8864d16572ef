"""Cubes and grants, and searches over several cubes as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from memos import MemOS
from memos.errors import AccessDenied, InvalidInput, NotFound, StorageError
from memos.memory.hit import SearchStatus
from stubs import Words

KAYAK = "The teal kayak lies in shed four"


@pytest.mark.parametrize("embedder", ["none", "words"])
def test_hits_of_several_cubes_are_ranked_together(home: Path, embedder: str) -> None:
    with MemOS(home, embedder=Words() if embedder == "words" else "none", background=False) as memos:
        for name, texts in {
            "work": [KAYAK, *[f"The report number {i} of the office is due" for i in range(20)]],
            "club": [f"The kayak club meets in hall {i} of the town" for i in range(12)],
            "empty": [],
        }.items():
            memos.create_cube(name)
            if texts:
                memos.add(texts, cube=name, wait=True)
        result = memos.search("teal kayak in shed four", cubes=["club", "work", "empty", "work"], limit=30)
        assert (result.hits[0].cube, result.hits[0].memory.text) == ("work", KAYAK)
        assert {h.cube for h in result} == {"work", "club"}
        assert [h.rank for h in result] == list(range(1, len(result) + 1))
        assert [h.score for h in result] == sorted((h.score for h in result), reverse=True)
        other = memos.search("teal kayak in shed four", cubes=["work", "club", "empty"], limit=30)
        assert [(h.id, round(h.score, 5)) for h in other] == [(h.id, round(h.score, 5)) for h in result]


def test_the_same_words_in_two_cubes_are_two_hits(memos: MemOS) -> None:
    for name in ("a", "b"):
        memos.create_cube(name)
        memos.add(KAYAK, cube=name)
    assert {h.cube for h in memos.search("kayak", cubes=["a", "b"])} == {"a", "b"}


def test_one_cube_that_fails_leaves_a_partial_answer_with_the_reason(home: Path) -> None:
    with MemOS(home, embedder="none", background=False) as memos:
        for name in ("good", "bad", "lost"):
            memos.create_cube(name)
            memos.add(KAYAK, cube=name, wait=True)
        bad, lost = (home / "cubes" / memos.open_cube(n).location for n in ("bad", "lost"))
    bad.write_bytes(b"not a cube" * 1_000)
    lost.unlink()
    with MemOS(home, embedder="none", background=False) as memos:
        result = memos.search("kayak", cubes=["bad", "good", "lost"])
        assert (result.status, [h.cube for h in result]) == (SearchStatus.PARTIAL, ["good"])
        assert {"bad", "lost"} == {n for n in ("bad", "lost") if any(f"cube {n!r}" in r for r in result.reasons)}
        nothing = memos.search("zebra", cubes=["bad", "good"])
        assert (nothing.status, len(nothing)) == (SearchStatus.PARTIAL, 0)
        for names in (["bad"], ["bad", "lost"]):
            with pytest.raises(StorageError):
                memos.search("kayak", cubes=names)
        with pytest.raises(NotFound):
            memos.search("kayak", cubes=["good", "never made"])


def test_grants_allow_what_they_say_and_no_more(memos: MemOS) -> None:
    memos.create_cube("team", user="ann", info={"about": "boats"})
    (id,) = memos.add(KAYAK, user="ann", cube="team").ids

    def may(user: str) -> list[str]:
        out = []
        for verb, call in {
            "read": lambda: memos.get(id, user=user, cube="team"),
            "write": lambda: memos.update(id, tags=["x"], user=user, cube="team"),
            "admin": lambda: memos.share("team", "dan", "read", user=user),
        }.items():
            try:
                call()
                out.append(verb)
            except (NotFound, AccessDenied):
                pass
        return out

    assert (may("ann"), may("bo")) == (["read", "write", "admin"], [])
    for level, allowed in (("read", ["read"]), ("write", ["read", "write"]), ("admin", ["read", "write", "admin"])):
        info = memos.share("team", "bo", level, user="ann")
        assert (info.grants["bo"], may("bo")) == (level, allowed)
        assert "team" in [c.name for c in memos.list_cubes(user="bo")]
        assert dict(memos.open_cube("team", user="bo").info) == {"about": "boats"}
    memos.share("team", "bo", None, user="ann")
    assert may("bo") == [] and memos.list_cubes(user="bo") == []
    with pytest.raises(NotFound):
        memos.open_cube("team", user="bo")


def test_reading_is_not_telling_apart_a_foreign_cube_from_none(memos: MemOS) -> None:
    memos.create_cube("secret plans", user="ann")
    messages = []
    for name in ("secret plans", "no such cube"):
        with pytest.raises(NotFound) as error:
            memos.search("kayak", user="bo", cube=name)
        messages.append(str(error.value).split(";")[0].replace(name, "X"))
    assert messages[0] == messages[1]


def test_a_reader_may_not_write_and_is_told_what_it_needs(memos: MemOS) -> None:
    memos.create_cube("team", user="ann")
    memos.share("team", "bo", "read", user="ann")
    for call in (
        lambda: memos.add(KAYAK, user="bo", cube="team"),
        lambda: memos.delete(everything=True, user="bo", cube="team"),
        lambda: memos.delete_cube("team", user="bo"),
        lambda: memos.share("team", "bo", "admin", user="bo"),
    ):
        with pytest.raises(AccessDenied):
            call()


def test_an_admin_may_give_up_his_own_rights(memos: MemOS) -> None:
    memos.create_cube("team", user="ann")
    memos.share("team", "bo", "admin", user="ann")
    assert "bo" not in memos.share("team", "bo", None, user="bo").grants
    with pytest.raises(NotFound):
        memos.share("team", "bo", "admin", user="bo")


def test_what_somebody_made_under_a_users_name_never_takes_her_memories_in(memos: MemOS) -> None:
    memos.create_cube("bo", user="mallory")
    memos.share("bo", "bo", "admin", user="mallory")
    for call in (
        lambda: memos.add(KAYAK, user="bo"),
        lambda: memos.search("kayak", user="bo"),
        lambda: memos.list(user="bo"),
    ):
        with pytest.raises(NotFound):
            call()
    assert memos.list(user="mallory", cube="bo").items == ()
    memos.create_cube("bo's own", user="bo")
    memos.add(KAYAK, user="bo", cube="bo's own")
    with pytest.raises(NotFound):
        memos.list(user="mallory", cube="bo's own")


def test_cubes_are_created_once_and_deleted_with_their_files(memos: MemOS, home: Path) -> None:
    info = memos.create_cube("a")
    with pytest.raises(InvalidInput):
        memos.create_cube("a")
    with pytest.raises(InvalidInput):
        memos.create_cube("a", user="bo")
    memos.add(KAYAK, cube="a", wait=True)
    file = home / "cubes" / info.location
    assert file.exists()
    assert memos.delete_cube("a") > 0
    assert list(file.parent.glob(file.name + "*")) == []
    for call in (lambda: memos.search("kayak", cube="a"), lambda: memos.delete_cube("a"), lambda: memos.open_cube("a")):
        with pytest.raises(NotFound):
            call()
    memos.create_cube("a", user="bo")
    assert memos.list(cube="a", user="bo").items == ()


def test_more_cubes_than_may_be_open_all_answer(home: Path) -> None:
    with MemOS(home, embedder="none", background=False, open_cubes=2) as memos:
        names = [f"cube {i}" for i in range(7)]
        for name in names:
            memos.create_cube(name)
            memos.add(f"{KAYAK} of {name}", cube=name)
        assert {h.cube for h in memos.search("kayak", cubes=names)} == set(names)
        for name in names:
            assert memos.search("kayak", cube=name).hits[0].memory.text.endswith(name)
