"""Archives of cubes: nothing is lost on the way out and back, and nothing damaged or hostile comes in."""

from __future__ import annotations

import asyncio
import io
import json
import stat
import threading
import zipfile
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from memos.cubes import archive, container, records
from memos.cubes.pool import CubePool
from memos.errors import ArchiveError, InvalidInput, StorageError
from memos.memory.ids import new_id
from memos.memory.model import Edge, EdgeType, Kind, Memory, Source, Status
from memos.memory.time import parse_time, to_micros, utcnow
from memos.settings import Settings
from memos.storage.ports import ANY_STATUS, Change, TextQuery, View, WriteTx
from memos.storage.sqlite.registry import SqliteRegistry

IDS = [new_id() for _ in range(6)]
Members = dict[str, bytes]
Edit = Callable[[Members], None]


class Home:
    """A data folder with one cube, `mine`, in which everything that can be stored is stored."""

    def __init__(self, folder: Path) -> None:
        self.settings = Settings(home=folder / "home")
        self.registry = SqliteRegistry(self.settings.home)
        self.pool = CubePool(self.registry, self.settings)
        self.folder = folder
        self.info, _ = self.registry.create("mine", "ana", {"note": "Ünï"})

    async def export(self, name: str = "mine", file: str = "mine.zip", **options: Any) -> tuple[Path, archive.Report]:
        info = self.registry.find(name)
        assert info is not None
        path = self.folder / file
        async with self.pool.use(info) as store:
            return path, await archive.export(store, info, path, home=self.settings.home, **options)

    async def restore(self, path: Path, name: str = "copy") -> archive.Report:
        return await archive.restore(path, name, "bo", self.registry, self.pool)

    def files(self) -> set[str]:
        return {f.name for f in (self.settings.home / "cubes").glob("*") if not f.name.endswith(("-wal", "-shm"))}


def _fill(tx: WriteTx) -> None:
    day = parse_time("2024-02-29").instant
    tx.put(
        Memory(
            IDS[0], Kind.TRACE, "We moved from Oslo to Bergen \u2028 \x00 \U0001f9ed", tags=("a", "ü"), session="s",
            role="user", speaker="Ana", valid_from=day, message_id="m1", body={"zone": "+02:00"},
            info={"b": [1, 2.5, None, {"c": "d"}], "a": True},
        ),
        key=b"k1",
    )  # fmt: skip
    tx.put(Memory(IDS[1], Kind.TRACE, "你好，紫藤茶馆", session="s", role="assistant", importance=0.0), key=b"k0")
    tx.put(
        Memory(
            IDS[2], Kind.FACT, "Ana lives in Oslo", slot="ana|home", valid_from=day, confidence=0.75,
            sources=(Source(IDS[0], "m1", role="user", speaker="Ana", time=day, start=0, end=12, uri="x:y"),),
        )
    )  # fmt: skip
    tx.put(Memory(IDS[3], Kind.ENTITY, "Bergen", title="Bergen"))
    tx.link(Edge(IDS[2], IDS[0], EdgeType.DERIVED_FROM, weight=0.75))
    tx.link(Edge(IDS[0], IDS[3], EdgeType.RELATES_TO, "moved to", 0.5, day, day, info={"x": 1}))
    tx.mark(IDS[0], "digest")
    tx.mark(IDS[1], "digest")
    tx.fail(IDS[1], "digest", "no reader")


def _change(tx: WriteTx) -> None:
    fact = tx.get(IDS[2])
    assert fact is not None
    tx.put(replace(fact, status=Status.SUPERSEDED, valid_to=tx.now), "supersede")
    tx.put(Memory(IDS[4], Kind.FACT, "Ana lives in Bergen", slot="ana|home"))
    tx.link(Edge(IDS[4], IDS[2], EdgeType.SUPERSEDES))
    tx.unlink(IDS[0], IDS[3], EdgeType.RELATES_TO, "moved to")
    second = tx.get(IDS[1])
    assert second is not None
    tx.put(replace(second, text="你好，青藤茶馆"), "update")
    tx.touch(IDS[1])


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    made = Home(tmp_path)
    async with made.pool.use(made.info) as store:
        await store.write(_fill, Change("ana", "add"))
        await store.write(_change, Change("bo", "correct"))
        texts = await store.pending_vectors("small")
        await store.write(lambda tx: tx.put_vectors("small", [(p.text_id, _vector(p.text_id, 4)) for p in texts]))
        await store.write(lambda tx: tx.put_vectors("wide/2", [(texts[0].text_id, _vector(1, 9))]))
    yield made
    await made.pool.close()
    made.registry.close()


def _vector(seed: int, dim: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    made = np.random.default_rng(seed).normal(size=dim).astype(np.float32)
    return made / np.linalg.norm(made)


def _members(path: Path) -> Members:
    with zipfile.ZipFile(path) as z:
        return {n: z.read(n) for n in z.namelist()}


def _write(path: Path, members: Members, *, true_sums: bool = True) -> Path:
    """An archive of these members; with `true_sums` its manifest is made to vouch for them."""
    if true_sums:
        manifest = json.loads(members["manifest.json"])
        sums = manifest["members"] if isinstance(manifest, dict) else {}
        for name, content in members.items():
            if name in sums:
                sums[name] = {
                    "bytes": len(content),
                    "sha256": container.hashlib.sha256(content).hexdigest(),
                }
        members = {**members, "manifest.json": json.dumps(manifest).encode()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in members.items():
            z.writestr(name, content)
    return path


# -- there and back --------------------------------------------------------------------------------------------


async def test_export_import_export_is_equal(home: Home) -> None:
    first, report = await home.export()
    restored = await home.restore(first)
    second, again = await home.export("copy", "copy.zip")
    one, two = _members(first), _members(second)
    del one["manifest.json"], two["manifest.json"]
    assert one == two
    counts = (report.memories, report.versions, report.edges, report.vectors)
    assert counts == (5, 7, 3, 5)
    assert counts == (restored.memories, restored.versions, restored.edges, restored.vectors)
    assert counts == (again.memories, again.versions, again.edges, again.vectors)
    assert (restored.cube, restored.bytes, restored.sha256) == ("copy", report.bytes, report.sha256)


async def test_two_exports_are_the_same_bytes(home: Home) -> None:
    first, one = await home.export()
    second, two = await home.export(file="again.zip")
    assert first.read_bytes() == second.read_bytes()
    assert one.sha256 == two.sha256 == container.hashlib.sha256(first.read_bytes()).hexdigest()


async def test_a_restored_cube_reads_like_the_original(home: Home) -> None:
    path, _ = await home.export()
    await home.restore(path)
    copied = home.registry.find("copy")
    assert copied is not None
    assert (copied.owner, copied.info) == ("bo", {"note": "Ünï"})
    async with home.pool.use(home.info) as old, home.pool.use(copied) as new:
        everything = View(statuses=ANY_STATUS)
        assert await new.get(IDS, everything) == await old.get(IDS, everything)
        for id in IDS[:5]:
            assert await new.history(id) == await old.history(id)
            assert await new.neighbors([id], depth=3) == await old.neighbors([id], depth=3)
        before = (await old.history(IDS[1]))[0].at
        then = View(known_at=before)
        assert await new.neighbors(IDS[:1], view=then) == await old.neighbors(IDS[:1], view=then)
        assert await new.todo("digest") == await old.todo("digest")
        query = TextQuery(("bergen",))
        assert [s.id for s in await new.search_text(query)] == [s.id for s in await old.search_text(query)] != []
        vector = _vector(1, 4)
        assert await new.search_vector(vector, "small") == await old.search_vector(vector, "small")
        assert (await new.stats()).vectors == (await old.stats()).vectors == {"small": 4, "wide/2": 1}
        assert await new.count_pending_vectors("small") == await old.count_pending_vectors("small")
        assert await new.write(lambda tx: tx.find_key(b"k1")) == IDS[0]
        assert await new.check() == []


async def test_a_change_made_before_the_export_can_be_undone_after_the_import(home: Home) -> None:
    path, _ = await home.export()
    await home.restore(path)
    copied = home.registry.find("copy")
    assert copied is not None
    async with home.pool.use(copied) as store:
        await store.write(lambda tx: tx.undo(IDS[4]))
        now = {m.id: m for m in await store.get(IDS, View(statuses=ANY_STATUS))}
        assert now[IDS[2]].status is Status.ACTIVE
        assert now[IDS[4]].status is Status.RETRACTED
        assert now[IDS[1]].text == "你好，紫藤茶馆"


async def test_an_empty_cube_travels(home: Home) -> None:
    home.registry.create("empty", "ana")
    path, report = await home.export("empty", "empty.zip")
    assert (report.memories, report.vectors) == (0, 0)
    await home.restore(path)
    copied = home.registry.find("copy")
    assert copied is not None
    async with home.pool.use(copied) as store:
        assert (await store.stats()).memories == 0


async def test_progress_is_told_to_the_end(home: Home) -> None:
    told: list[tuple[str, int, int]] = []
    path, _ = await home.export(progress=lambda *step: told.append(step))
    assert ("memories", 7, 7) in told
    told.clear()
    await archive.restore(path, "copy", "bo", home.registry, home.pool, progress=lambda *step: told.append(step))
    assert ("checking", 7, 7) in told
    assert ("vectors", 1, 1) in told


async def test_a_write_during_the_export_is_not_half_in_it(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    async with home.pool.use(home.info) as store:

        def write_more(*step: object) -> None:
            store.write_soon(lambda tx: tx.put(Memory(new_id(), Kind.TRACE, "late"))).result()

        path, report = await home.export(progress=write_more)
        assert (await store.stats()).memories > report.memories == 5
    await home.restore(path)


# -- files -----------------------------------------------------------------------------------------------------


async def test_an_existing_file_is_only_overwritten_when_asked(home: Home) -> None:
    path, _ = await home.export()
    path.write_bytes(b"precious")
    with pytest.raises(InvalidInput, match="exists already"):
        await home.export()
    assert path.read_bytes() == b"precious"
    await home.export(overwrite=True)
    assert zipfile.is_zipfile(path)


async def test_a_failed_export_leaves_no_file(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(container.os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        await home.export()
    assert [f.name for f in home.folder.iterdir()] == ["home"]


@pytest.mark.parametrize("where", ["home", "nowhere/x.zip"])
async def test_a_path_that_cannot_be_a_file_is_refused(home: Home, where: str) -> None:
    with pytest.raises(InvalidInput, match="name a file"):
        await home.export(file=where)


async def test_import_of_no_file_is_an_input_error(home: Home) -> None:
    for path in (home.folder / "none.zip", home.folder):
        with pytest.raises(InvalidInput, match="name an archive file"):
            await home.restore(path)


async def test_a_taken_name_leaves_the_other_cube_alone(home: Home) -> None:
    path, _ = await home.export()
    before = home.files()
    with pytest.raises(InvalidInput, match="exists already"):
        await home.restore(path, "mine")
    assert home.files() == before
    assert (await home.export(overwrite=True))[1].memories == 5


# -- damage and malice -----------------------------------------------------------------------------------------


async def _refused(home: Home, path: Path, match: str) -> None:
    """The import fails, says why, and leaves nothing behind."""
    before = home.files()
    with pytest.raises(ArchiveError, match=match):
        await home.restore(path)
    assert home.registry.find("copy") is None
    assert home.files() == before
    assert not [f for f in home.folder.iterdir() if f.name not in {"home", "mine.zip", path.name}]


async def test_any_cut_is_noticed(home: Home) -> None:
    path, _ = await home.export()
    whole = path.read_bytes()
    bad = home.folder / "bad.zip"
    for length in (0, 1, 100, len(whole) // 2, len(whole) - 30, len(whole) - 1):
        bad.write_bytes(whole[:length])
        await _refused(home, bad, "was not imported")


async def test_any_flipped_byte_is_noticed_or_harmless(home: Home) -> None:
    path, _ = await home.export()
    whole = path.read_bytes()
    good = _members(path)
    bad = home.folder / "bad.zip"
    refused = 0
    for at in range(0, len(whole), 61):
        bad.write_bytes(whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :])
        name = f"flip{at}"
        try:
            await home.restore(bad, name)
        except ArchiveError:
            refused += 1
            assert home.registry.find(name) is None
        else:  # a byte that means nothing, such as a date in the directory
            copy, _ = await home.export(name, f"{name}.zip")
            assert {n: c for n, c in _members(copy).items() if n != "manifest.json"} == {
                n: c for n, c in good.items() if n != "manifest.json"
            }
            copy.unlink()
    assert refused > len(whole) / 61 / 2


def _manifest(**changes: Any) -> Edit:
    def edit(members: Members) -> None:
        members["manifest.json"] = json.dumps({**json.loads(members["manifest.json"]), **changes}).encode()

    return edit


def _counts(**changes: int) -> Edit:
    def edit(members: Members) -> None:
        counts = json.loads(members["manifest.json"])["counts"]
        _manifest(counts={**counts, **changes})(members)

    return edit


def _line(member: str, number: int, **changes: Any) -> Edit:
    """Change fields of one line; a value of `...` removes the field."""

    def edit(members: Members) -> None:
        lines = members[member].splitlines(keepends=True)
        value = {**json.loads(lines[number]), **changes}
        lines[number] = json.dumps({k: v for k, v in value.items() if v is not ...}).encode() + b"\n"
        members[member] = b"".join(lines)

    return edit


def _replace(member: str, old: bytes, new: bytes) -> Edit:
    def edit(members: Members) -> None:
        assert old in members[member]
        members[member] = members[member].replace(old, new, 1)

    return edit


def _put(member: str, content: bytes) -> Edit:
    return lambda members: members.update({member: content})


def _drop(member: str) -> Edit:
    return lambda members: members.pop(member) and None


def _again(member: str) -> Edit:
    """The first line of a member once more at its end."""
    return lambda members: members.update({member: members[member] + members[member].splitlines(keepends=True)[0]})


def _both(first: Edit, second: Edit) -> Edit:
    def edit(members: Members) -> None:
        first(members)
        second(members)

    return edit


def _model(name: str) -> dict[str, Any]:
    return {"name": name, "dim": 1, "vectors": 1}


BAD: dict[str, tuple[Edit, str]] = {
    "another format": (_manifest(format="other"), "format 'other'"),
    "a newer format": (_manifest(format_version=2), "upgrade"),
    "a manifest that is no object": (_put("manifest.json", b"[]"), "not an object"),
    "a manifest without counts": (_manifest(counts=None), "no valid counts"),
    "a count too low": (_counts(versions=6), "7 entries, the manifest says 6"),
    "a count too high": (_counts(edges=4), "3 entries, the manifest says 4"),
    "a wrong number of memories": (_counts(memories=4), "5 memories"),
    "a count below zero": (_counts(todo=-1), "counts.todo"),
    "a missing member": (_drop("edges.jsonl"), "lacks 'edges.jsonl'"),
    "no manifest": (_drop("manifest.json"), "no manifest"),
    "a strange member": (_put("evil.py", b"print()"), "'evil.py', which does not belong"),
    "a path upwards": (_put("../../evil", b"x"), "does not belong"),
    "an absolute path": (_put("/etc/evil", b"x"), "does not belong"),
    "text that is not JSON": (_replace("memories.jsonl", b"{", b"["), "line 1: the line is not valid JSON"),
    "text that is not UTF-8": (_replace("memories.jsonl", b"Oslo", b"\xff\xfe\xff"), "not valid JSON"),
    "a key given twice": (_replace("memories.jsonl", b'"op":', b'"op":"add","op":'), "given twice"),
    "NaN": (_replace("memories.jsonl", b"2.5", b"NaN"), "NaN is not a number"),
    "an endless number": (_replace("memories.jsonl", b"2.5", b"1e999"), "too large"),
    "a number of a million digits": (_replace("memories.jsonl", b"2.5", b"9" * 1_000_000), "not valid JSON"),
    "brackets without end": (_replace("memories.jsonl", b"2.5", b"[" * 200_000 + b"]" * 200_000), "not valid JSON"),
    "half a surrogate pair": (_replace("memories.jsonl", b"Oslo", b"\\ud800"), "not valid JSON"),
    "a last line cut off": (lambda m: m.update({"edges.jsonl": m["edges.jsonl"][:-1]}), "cut off"),
    "an id that is none": (_line("memories.jsonl", 0, id="x'; DROP TABLE memories"), "memory.id is .*not a UUID"),
    "an unknown kind": (_line("memories.jsonl", 0, kind="virus"), "memory.kind is 'virus', not one of"),
    "an unknown status": (_line("memories.jsonl", 0, status="great"), "memory.status"),
    "an unknown field": (_line("memories.jsonl", 0, evil=1), "unknown field 'evil'"),
    "a missing field": (_line("memories.jsonl", 0, op=...), "memory has no op"),
    "a text that is a number": (_line("memories.jsonl", 0, text=7), "memory.text is 7, not a text"),
    "a time out of the world": (_line("memories.jsonl", 0, known_from=10**18), "memory.known_from"),
    "a number SQLite cannot hold": (_line("memories.jsonl", 0, seen=2**63), "memory.seen"),
    "a confidence above one": (_line("memories.jsonl", 0, confidence=7), "memory.confidence"),
    "true as a number": (_line("memories.jsonl", 0, version=True), "memory.version"),
    "info that is a list": (_line("memories.jsonl", 0, info=[]), "memory.info"),
    "a source with a strange field": (_line("memories.jsonl", 2, sources=[{"evil": 1}]), "unknown field 'evil'"),
    "sources kept of no version": (_line("memories.jsonl", 0, sources_kept=1), "keeps 1 sources, .* has 0"),
    "a version twice": (lambda m: m.update({"memories.jsonl": m["memories.jsonl"] * 2}), "comes after version"),
    "two current versions": (_line("memories.jsonl", 1, known_to=None), "has no end"),
    "no current version": (_line("memories.jsonl", 3, known_to=5), "no current version"),
    "the text of nobody": (_line("memories.jsonl", 4, text_version=7), "the text of version 7"),
    "an edge to nowhere": (_line("edges.jsonl", 0, dst=new_id()), "not in the archive"),
    "an unknown edge": (_line("edges.jsonl", 0, type="EATS"), "edge.type"),
    "a predicate where none can be": (_line("edges.jsonl", 0, predicate="x"), "edge.predicate"),
    "an edge twice": (_both(_again("edges.jsonl"), _counts(edges=4)), "contradicts"),
    "a key of nobody": (_line("keys.jsonl", 0, id=new_id()), "not in the archive"),
    "a key that is no key": (_line("keys.jsonl", 0, key="zz"), "key.key"),
    "work of nobody": (_line("todo.jsonl", 0, id=new_id()), "not in the archive"),
    "work with a strange name": (_line("todo.jsonl", 0, task="rm -rf /"), "todo.task"),
    "a vector of nobody": (lambda m: m.update({"vectors-1.ids": b"\0" * 20}), "a vector belongs to"),
    "a vector that is not finite": (lambda m: m.update({"vectors-1.f16": b"\x00\x7c" * 9}), "not finite"),
    "a vector too short": (lambda m: m.update({"vectors-1.f16": b"\0" * 17}), "vectors-1.f16 has 17 bytes"),
    "a vector twice": (lambda m: m.update({"vectors-0.ids": m["vectors-0.ids"][:20] * 4}), "contradicts"),
    "vectors of no dimension": (_manifest(models=[{**_model("m"), "dim": 0}]), "dim is 0"),
    "a model twice": (_manifest(models=[_model("m")] * 2), "2 models"),
    "more models than there can be": (_manifest(models=[_model(f"m{i}") for i in range(99)]), "99 models"),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_wrong_archive_is_refused_with_its_reason(home: Home, name: str) -> None:
    edit, match = BAD[name]
    path, _ = await home.export()
    members = _members(path)
    edit(members)
    await _refused(home, _write(home.folder / "bad.zip", members, true_sums="manifest.json" in members), match)


async def test_content_that_its_checksum_does_not_vouch_for_is_refused(home: Home) -> None:
    path, _ = await home.export()
    members = _members(path)
    _replace("memories.jsonl", b"Bergen", b"Bremen")(members)
    await _refused(home, _write(home.folder / "bad.zip", members, true_sums=False), "does not match its checksum")


async def test_a_link_or_folder_in_an_archive_is_refused(home: Home) -> None:
    path, _ = await home.export()
    for name, mode in (("memories.jsonl", stat.S_IFLNK), ("keys.jsonl", stat.S_IFDIR)):
        bad = home.folder / "bad.zip"
        with zipfile.ZipFile(bad, "w") as z:
            for member, content in _members(path).items():
                info = zipfile.ZipInfo(member)
                info.external_attr = ((mode if member == name else stat.S_IFREG) | 0o777) << 16
                z.writestr(info, content)
        await _refused(home, bad, "folder or a link")


async def test_a_member_given_twice_is_refused(home: Home) -> None:
    path, _ = await home.export()
    bad = home.folder / "bad.zip"
    bad.write_bytes(path.read_bytes())
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(bad, "a") as z:
        z.writestr("edges.jsonl", b"")
    await _refused(home, bad, "twice")


async def test_a_zip_bomb_is_refused_before_it_is_unpacked(home: Home) -> None:
    path, _ = await home.export()
    members = _members(path)
    members["memories.jsonl"] = b" " * (300 << 20)
    await _refused(home, _write(home.folder / "bad.zip", members), "zip bomb")


async def test_a_member_that_lies_about_its_size_is_refused(home: Home) -> None:
    path, _ = await home.export()
    members = _members(path)
    size = len(members["memories.jsonl"])
    members["memories.jsonl"] = members["memories.jsonl"] + b"x" * 5_000
    bad = _write(home.folder / "bad.zip", members)
    with zipfile.ZipFile(bad) as z:
        claimed = z.getinfo("memories.jsonl").file_size
    assert claimed == size + 5_000
    bad.write_bytes(bad.read_bytes().replace(claimed.to_bytes(4, "little"), size.to_bytes(4, "little")))
    await _refused(home, bad, "memories.jsonl")


async def test_a_line_without_end_is_refused_while_it_is_read(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    path, _ = await home.export()
    monkeypatch.setattr(container, "MAX_LINE", 1 << 10)
    members = _members(path)
    members["memories.jsonl"] = b"[" + np.random.default_rng(0).bytes(600_000).hex().encode() + b"]\n"
    await _refused(home, _write(home.folder / "bad.zip", members), "line of more than")


async def test_too_many_members_are_refused(home: Home) -> None:
    bad = home.folder / "bad.zip"
    with zipfile.ZipFile(bad, "w") as z:
        for i in range(container.MAX_MEMBERS + 1):
            z.writestr(f"m{i}", b"")
    await _refused(home, bad, "members, at most")


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04", b"SQLite format 3\x00" + b"\0" * 100, b"hello", b"PK\x05\x06" + b"\0" * 18]
)
async def test_what_is_no_archive_is_refused(home: Home, content: bytes) -> None:
    bad = home.folder / "bad.zip"
    bad.write_bytes(content)
    await _refused(home, bad, "was not imported")


async def test_a_failure_while_filling_leaves_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    path, _ = await home.export()

    def full(*_: object) -> None:
        raise apsw.FullError("database or disk is full")

    monkeypatch.setattr(archive.transfer.CubeBuilder, "_edge", full)
    before = home.files()
    with pytest.raises(StorageError, match="no space left"):
        await home.restore(path)
    assert home.registry.find("copy") is None
    assert home.files() == before


async def test_a_name_taken_during_the_import_leaves_nothing_behind(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = await home.export()
    monkeypatch.setattr(home.registry, "create", lambda *a, **k: (home.info, False))
    before = home.files()
    with pytest.raises(InvalidInput, match="exists already"):
        await home.restore(path, "copy")
    assert home.files() == before


async def test_a_cancelled_import_leaves_nothing(home: Home) -> None:
    path, _ = await home.export()
    before = home.files()
    started, go_on = threading.Event(), threading.Event()

    def hold(*_: object) -> None:
        started.set()
        go_on.wait(10)

    task = asyncio.create_task(archive.restore(path, "copy", "bo", home.registry, home.pool, progress=hold))
    await asyncio.to_thread(started.wait, 10)
    task.cancel()
    await asyncio.sleep(0)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert home.registry.find("copy") is None
    assert home.files() == before


# -- lines -----------------------------------------------------------------------------------------------------


def test_every_field_of_a_memory_is_in_the_format() -> None:
    assert set(records._MEMORY) == set(Memory.__slots__)
    assert set(records._EDGE) == set(Edge.__slots__) | {"opened", "closed"}
    assert set(records._SOURCE) == set(Source.__slots__)


def test_reading_an_archive_streams(tmp_path: Path) -> None:
    content = b"".join(b'{"n":%d}\n' % i for i in range(200_000))
    path = tmp_path / "x.zip"
    with path.open("wb") as file:
        writer = container.ArchiveWriter(file)
        writer.write("lines", (content[i : i + 1000] for i in range(0, len(content), 1000)))
        writer.close()

    class Counting(io.FileIO):
        most = 0

        def read(self, size: int | None = -1, /) -> bytes:
            got = super().read(-1 if size is None else size)
            Counting.most = max(Counting.most, len(got))
            return got

    with Counting(path) as file:
        reader = container.ArchiveReader(file, path.stat().st_size)
        reader.expect("lines", writer.sums["lines"])
        Counting.most = 0
        assert b"\n".join([*reader.lines("lines"), b""]) == content
    assert Counting.most <= container.CHUNK


@pytest.mark.parametrize(
    ("member", "field"),
    [
        *(("memories.jsonl", f) for f in ("known_from", "recorded_at", "retracted_at", "known_to")),
        ("edges.jsonl", "known_from"),
    ],
)
async def test_a_clock_in_the_future_is_refused(home: Home, member: str, field: str) -> None:
    path, _ = await home.export()
    late = to_micros(utcnow() + timedelta(days=2))
    members = _members(path)
    _line(member, 0, **{field: late})(members)
    await _refused(home, _write(home.folder / "late.zip", members), field)
    soon = _members(path)
    _line(member, 0, **{field: to_micros(utcnow() + timedelta(hours=2))})(soon)
    if field in ("known_from", "recorded_at"):
        await home.restore(_write(home.folder / "soon.zip", soon))
