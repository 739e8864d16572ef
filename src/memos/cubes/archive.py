"""A cube as one portable file: every version with its clocks and who made it, every edge, vector, key and piece of
waiting work.

It is the same whatever home the cube has, and nothing of an archive is believed before all of it was checked (law 4:
an import creates one new cube or nothing).
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, TypeVar

import apsw
import numpy as np

from memos import __version__
from memos.cubes import records
from memos.cubes.container import MANIFEST, ArchiveReader, ArchiveWriter, Sum, whole_file
from memos.cubes.lived_records import RowCheck, reader, row_line
from memos.cubes.pool import CubePool
from memos.errors import ArchiveError, InvalidInput
from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.memory.time import to_micros
from memos.results import Report as Report
from memos.storage.ports import CubeInfo
from memos.storage.sqlite import transfer, transfer_lived
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.registry import SqliteRegistry, check_name
from memos.storage.sqlite.transfer import ModelInfo, StoredVector
from memos.storage.sqlite.transfer_lived import LIVED

FORMAT, FORMAT_VERSION = "memos-cube", 1
MEMORIES, EDGES, KEYS, TODO = "memories.jsonl", "edges.jsonl", "keys.jsonl", "todo.jsonl"
IMAGES = "images.jsonl"  # only in an archive of a cube that has some, as the files of `LIVED`
MAX_MODELS = 32
MAX_DIM = 65_536
_STEP = 1_000
_TEXT_ID = 20  # 16 bytes of the memory's id, 4 of its version

T = TypeVar("T")
Progress = Callable[[str, int, int], None]
"""Told what is being worked on, how many are done, and how many there are."""


async def export(
    store: SqliteCube,
    info: CubeInfo,
    path: Path,
    *,
    home: Path,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Write all of a cube, as it is at one moment, to `path`; the file appears when it is complete.

    Raises InvalidInput when the file exists (without `overwrite`), is no plain file or lies in the data folder `home`
    or in none, StorageError when it cannot be written.
    """
    check_outside(home, path)

    def run(db: apsw.Connection) -> Report:
        with whole_file(path, overwrite=overwrite) as file, transfer.snapshot(db):
            counts = _write(db, info, file, progress or _silent)
        return _report(info.name, counts, path)

    return await asyncio.to_thread(store.read_now, run)


async def restore(
    path: Path,
    name: str,
    user: str,
    registry: SqliteRegistry,
    pool: CubePool,
    *,
    progress: Progress | None = None,
) -> Report:
    """Make a new cube `name`, owned by `user`, of an archive.

    Raises ArchiveError when anything in it is damaged, missing, contradictory or hostile, InvalidInput when there is
    no such file or the name is taken; nothing is left behind then.
    """
    check_name(name, "cube")
    _readable(path)
    with registry.building() as target:
        building = asyncio.ensure_future(asyncio.to_thread(_build, path, name, target, progress or _silent))
        try:
            manifest, report = await asyncio.shield(building)
            found, new = registry.create(name, user, manifest.info, file=target.name)
            if not new:
                raise InvalidInput(f"a cube named {name!r} exists already; import under another name")
            async with pool.use(found):
                return report
        except BaseException:
            await asyncio.gather(building, return_exceptions=True)  # a thread cannot be cancelled, only waited for
            known = registry.find(name)
            if known is not None and known.location == target.name:
                await pool.remove(known)
            raise


def check_outside(home: Path, path: Path) -> None:
    """Raise InvalidInput for a path inside the data folder, or that is none."""
    if "\0" in str(path):
        raise InvalidInput(f"{str(path)!r:.100} holds a NUL character; name a file to write")
    try:
        inside = home.resolve()
        hit = any(p.is_relative_to(inside) for p in (path.resolve(), path.parent.resolve() / path.name))
    except (OSError, RuntimeError) as e:  # a loop of links
        raise InvalidInput(f"{path} cannot be written to ({e}); name a file to write") from None
    if hit:
        raise InvalidInput(f"{path} lies in the data folder {home}, which only MemOS writes to; name a file elsewhere")


def _readable(path: Path) -> None:
    if "\0" in str(path):
        raise InvalidInput(f"{str(path)!r:.100} holds a NUL character; name an archive file")
    if not path.is_file():
        raise InvalidInput(
            f"{path} {'is not a plain file' if path.exists() else 'does not exist'}; name an archive file"
        )


# -- writing ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Counts:
    """How many of each thing an archive holds."""

    memories: int = 0
    versions: int = 0
    edges: int = 0
    vectors: int = 0
    keys: int = 0
    todo: int = 0


_ALWAYS = tuple(Counts.__slots__)
_AT_TIMES = ("images", *LIVED)


@dataclass(slots=True)
class AllCounts(Counts):
    """The same, with what not every archive holds."""

    images: int = 0
    episodes: int = 0
    steps: int = 0
    signals: int = 0
    lessons: int = 0
    trials: int = 0
    hints: int = 0
    learned: int = 0


def _write(db: apsw.Connection, info: CubeInfo, file: IO[bytes], progress: Progress) -> Counts:
    counts = AllCounts()
    total = int(db.execute("SELECT count(*) FROM memories").get)
    writer = ArchiveWriter(file)

    def memories() -> Iterator[bytes]:
        for v in _told(transfer.versions(db), "memories", total, progress):
            counts.versions += 1
            counts.memories += v.memory.known_to is None
            yield records.version_line(v)

    def lines(what: str, found: Iterable[T], line: Callable[[T], bytes]) -> Iterator[bytes]:
        for one in found:
            setattr(counts, what, getattr(counts, what) + 1)
            yield line(one)

    writer.write(MEMORIES, _joined(memories()))
    writer.write(EDGES, _joined(lines("edges", transfer.edges(db), records.edge_line)))
    writer.write(KEYS, _joined(lines("keys", transfer.keys(db), records.key_line)))
    writer.write(TODO, _joined(lines("todo", transfer.todos(db), records.todo_line)))
    if transfer.has_images(db):
        writer.write(IMAGES, lines("images", transfer.images(db), records.image_line), packed=False)
    for name, table in LIVED.items():
        if transfer_lived.count(db, table):
            writer.write(_lived_member(name), _joined(lines(name, transfer_lived.rows(db, table), row_line)))
    models = transfer.models(db)
    for i, model in enumerate(models):
        numbers, ids = _vector_members(i)
        told = _told(transfer.vectors(db, model.name), "vectors", model.vectors, progress)
        writer.write(numbers, _joined(v.data for v in told), packed=False)
        writer.write(ids, _joined(_text_id(v.id, v.version) for v in transfer.vectors(db, model.name)))
        counts.vectors += model.vectors
    writer.write(MANIFEST, [records.dump(_manifest(info, counts, models, writer.sums))])
    writer.close()
    return counts


def _manifest(info: CubeInfo, counts: AllCounts, models: list[ModelInfo], sums: Mapping[str, Sum]) -> Mapping[str, Any]:
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "memos": __version__,
        "cube": {
            "name": info.name,
            "owner": info.owner,
            "created_at": to_micros(info.created_at),
            "info": dict(info.info),
        },
        "counts": {name: n for name in (*_ALWAYS, *_AT_TIMES) if (n := getattr(counts, name)) or name in _ALWAYS},
        "models": [{"name": m.name, "dim": m.dim, "vectors": m.vectors} for m in models],
        "members": {name: {"bytes": s.bytes, "sha256": s.sha256} for name, s in sums.items()},
    }


def _lived_member(table: str) -> str:
    return f"{table}.jsonl"


def _vector_members(index: int) -> tuple[str, str]:
    return f"vectors-{index}.f16", f"vectors-{index}.ids"


def _text_id(id: str, version: int) -> bytes:
    return id_to_bytes(id) + version.to_bytes(4, "little")


def _joined(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in fewer, larger parts."""
    source = iter(parts)
    while batch := b"".join(islice(source, _STEP)):
        yield batch


# -- reading ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Manifest:
    counts: AllCounts
    models: tuple[ModelInfo, ...]
    sums: Mapping[str, Sum]
    info: Mapping[str, Any]


@dataclass(slots=True)
class _Checked:
    """What was seen of the memories so far, to check what points at them."""

    last: dict[bytes, tuple[int, bool]] = field(default_factory=dict)  # id -> last version, and whether it is current
    sources: dict[bytes, int] = field(default_factory=dict)  # id -> how many the last version has, while others follow
    texts: set[bytes] = field(default_factory=set)


def _build(path: Path, name: str, target: Path, progress: Progress) -> tuple[_Manifest, Report]:
    """Check the whole archive, then fill the file `target` from it."""
    try:
        file = path.open("rb")
    except OSError as e:
        raise InvalidInput(f"{path} cannot be read: {e.strerror or e}") from e
    try:
        with file:
            archive = ArchiveReader(file, path.stat().st_size)
            manifest = _read_manifest(archive)
            _check(archive, manifest, progress)
            with transfer.CubeBuilder(target) as builder:
                _fill(archive, manifest, builder, progress)
                builder.finish()
        return manifest, _report(name, manifest.counts, path)
    except ArchiveError as e:
        raise ArchiveError(f"{path.name} was not imported: {e}") from e


def _read_manifest(archive: ArchiveReader) -> _Manifest:
    value = _has(records.load(archive.manifest(), MANIFEST), MANIFEST, {"format": str, "format_version": int})
    if value["format"] != FORMAT:
        raise ArchiveError(f"it is of the format {value['format']!r:.60}, not {FORMAT!r}")
    if value["format_version"] != FORMAT_VERSION:
        raise ArchiveError(
            f"its format version is {value['format_version']}, this MemOS ({__version__}) reads {FORMAT_VERSION}; "
            "upgrade MemOS (pip install . in a newer checkout)"
        )
    _has(value, MANIFEST, {"cube": dict, "counts": dict, "models": list, "members": dict, "memos": str})
    named = (*_ALWAYS, *(name for name in _AT_TIMES if name in value["counts"]))
    counts = _has(value["counts"], "counts", dict.fromkeys(named, int))
    _exactly(counts, named, "counts")
    models = tuple(_model(m, f"models[{i}]") for i, m in enumerate(value["models"]))
    if len(models) > MAX_MODELS or len({m.name for m in models}) != len(models):
        raise ArchiveError(f"models holds {len(models)} models, possible are {MAX_MODELS} different ones")
    also = [_lived_member(name) for name in _AT_TIMES if name in named]  # that of images too
    members = [MEMORIES, EDGES, KEYS, TODO, *also, *chain.from_iterable(_vector_members(i) for i in range(len(models)))]
    _exactly(archive.names, [MANIFEST, *members], "the archive")
    _exactly(value["members"], members, "members")
    sums = {name: _sum(value["members"][name], name) for name in members}
    for i, model in enumerate(models):
        for member, width in zip(_vector_members(i), (2 * model.dim, _TEXT_ID), strict=True):
            if sums[member].bytes != width * model.vectors:
                raise ArchiveError(
                    f"{member} has {sums[member].bytes} bytes, {model.vectors} entries need {width} each"
                )
    for name, wanted in sums.items():
        archive.expect(name, wanted)
    info = _has(value["cube"], "cube", {"info": dict})["info"]
    read = AllCounts(**{name: records.whole(counts[name], f"counts.{name}") for name in named})
    if read.vectors != sum(m.vectors for m in models):
        raise ArchiveError(f"counts says {read.vectors} vectors, its models have {sum(m.vectors for m in models)}")
    return _Manifest(read, models, sums, info)


def _model(value: Any, what: str) -> ModelInfo:
    found = _has(value, what, {"name": str, "dim": int, "vectors": int})
    _exactly(found, ("name", "dim", "vectors"), what)
    if not 1 <= found["dim"] <= MAX_DIM:
        raise ArchiveError(f"{what}.dim is {found['dim']}, possible are 1 to {MAX_DIM}")
    try:
        check_name(found["name"], f"{what}.name")
    except InvalidInput as e:
        raise ArchiveError(str(e)) from None
    return ModelInfo(found["name"], found["dim"], records.whole(found["vectors"], f"{what}.vectors", 1))


def _sum(value: Any, name: str) -> Sum:
    found = _has(value, name, {"bytes": int, "sha256": str})
    return Sum(records.whole(found["bytes"], f"{name}: bytes"), found["sha256"])


def _has(value: Any, what: str, types: Mapping[str, type]) -> dict[str, Any]:
    """The object, once it is known to have these keys with values of these types."""
    if not isinstance(value, dict):
        raise ArchiveError(f"{what} is not an object")
    for key, wanted in types.items():
        if type(value.get(key)) is not wanted:
            raise ArchiveError(f"{what} has no valid {key}")
    return value


def _exactly(found: Iterable[str], wanted: Iterable[str], what: str) -> None:
    there, needed = set(found), set(wanted)
    if extra := sorted(there - needed):
        raise ArchiveError(f"{what} holds {extra[0]!r:.60}, which does not belong there")
    if missing := sorted(needed - there):
        raise ArchiveError(f"{what} lacks {missing[0]!r}")


def _check(archive: ArchiveReader, manifest: _Manifest, progress: Progress) -> None:
    """Read everything once: checksums, form, counts, and that nothing points to what is not there."""
    seen, counts = _Checked(), manifest.counts
    read = _told(_records(archive, MEMORIES, records.read_version), "checking", counts.versions, progress)
    _each(MEMORIES, counts.versions, read, lambda v: _check_version(v, seen))
    gone = [i for i, (_, current) in seen.last.items() if not current]
    if gone:
        raise ArchiveError(f"memory {id_from_bytes(gone[0])} has no current version")
    if len(seen.last) != counts.memories:
        raise ArchiveError(f"{MEMORIES} holds {len(seen.last)} memories, the manifest says {counts.memories}")

    def known(*ids: str) -> None:
        for id in ids:
            if id_to_bytes(id) not in seen.last:
                raise ArchiveError(f"memory {id}, which something points to, is not in the archive")

    edges = _records(archive, EDGES, records.read_edge)
    _each(EDGES, counts.edges, edges, lambda e: known(e.edge.src, e.edge.dst))
    _each(KEYS, counts.keys, _records(archive, KEYS, records.read_key), lambda k: known(k.id))
    _each(TODO, counts.todo, _records(archive, TODO, records.read_todo), lambda t: known(t.id))
    if counts.images:
        images = _records(archive, IMAGES, records.read_image)
        _each(IMAGES, counts.images, images, lambda i: known(*i.records))
    check = RowCheck(known)
    for name, table in LIVED.items():
        if count := getattr(counts, name):
            _each(_lived_member(name), count, _records(archive, _lived_member(name), reader(table)), check.row)
    for i, model in enumerate(manifest.models):
        what = f"vectors of {model.name!r}"
        _each(what, model.vectors, _vectors(archive, i, model), lambda v: _check_vector(v, seen))


def _check_version(v: transfer.StoredVersion, seen: _Checked) -> None:
    m, ident = v.memory, id_to_bytes(v.memory.id)
    last, current = seen.last.get(ident, (0, False))
    if m.version <= last or m.version >= 1 << 32:
        raise ArchiveError(f"version {m.version} of memory {m.id} comes after version {last}")
    if current:
        raise ArchiveError(f"version {last} of memory {m.id} has no end although version {m.version} follows")
    there = seen.sources.pop(ident, 0)
    if v.sources_kept not in (0, there):
        raise ArchiveError(
            f"version {m.version} of memory {m.id} keeps {v.sources_kept} sources, the version before it has {there}"
        )
    if m.known_to is not None:
        seen.sources[ident] = v.sources_kept + len(m.sources)
    seen.last[ident] = (m.version, m.known_to is None)
    if v.text_version == m.version:
        seen.texts.add(_text_id(m.id, m.version))
    elif v.text_version > m.version or _text_id(m.id, v.text_version) not in seen.texts:
        raise ArchiveError(
            f"version {m.version} of memory {m.id} has the text of version {v.text_version}, which is not there"
        )


def _check_vector(v: StoredVector, seen: _Checked) -> None:
    if _text_id(v.id, v.version) not in seen.texts:
        raise ArchiveError(f"a vector belongs to version {v.version} of memory {v.id}, which has no text of its own")
    if not np.isfinite(np.frombuffer(v.data, "<f2")).all():
        raise ArchiveError(f"the vector of memory {v.id} holds numbers that are not finite")


def _fill(archive: ArchiveReader, manifest: _Manifest, builder: transfer.CubeBuilder, progress: Progress) -> None:
    versions = _records(archive, MEMORIES, records.read_version)
    builder.add_versions(_told(versions, "memories", manifest.counts.versions, progress))
    builder.add_edges(_records(archive, EDGES, records.read_edge))
    builder.add_keys(_records(archive, KEYS, records.read_key))
    builder.add_todos(_records(archive, TODO, records.read_todo))
    if manifest.counts.images:
        builder.add_images(_records(archive, IMAGES, records.read_image))
    for name, table in LIVED.items():
        if getattr(manifest.counts, name):
            builder.add_lived(_records(archive, _lived_member(name), reader(table)))
    for i, model in enumerate(manifest.models):
        builder.add_vectors(model, _told(_vectors(archive, i, model), "vectors", model.vectors, progress))


def _records(archive: ArchiveReader, name: str, read: Callable[[Any], T]) -> Iterator[T]:
    for number, line in enumerate(archive.lines(name), 1):
        try:
            yield read(records.load(line, "the line"))
        except ArchiveError as e:
            raise ArchiveError(f"{name}, line {number}: {e}") from None


def _vectors(archive: ArchiveReader, index: int, model: ModelInfo) -> Iterator[StoredVector]:
    numbers, ids = _vector_members(index)
    blocks = zip(archive.blocks(ids, _TEXT_ID), archive.blocks(numbers, 2 * model.dim), strict=True)
    for text_id, data in blocks:
        yield StoredVector(id_from_bytes(text_id[:16]), int.from_bytes(text_id[16:], "little"), data)


def _each(what: str, wanted: int, read: Iterable[T], check: Callable[[T], None]) -> None:
    found = 0
    for one in read:
        found += 1
        check(one)
    if found != wanted:
        raise ArchiveError(f"{what}: {found} entries, the manifest says {wanted}")


def _told(found: Iterable[T], what: str, total: int, progress: Progress) -> Iterator[T]:
    done = 0
    for done, one in enumerate(found, 1):
        yield one
        if done % _STEP == 0:
            progress(what, done, total)
    progress(what, done, total)


def _silent(what: str, done: int, total: int) -> None:
    """Nobody is told."""


def _report(cube: str, counts: Counts, path: Path) -> Report:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    size = path.stat().st_size
    return Report(cube, counts.memories, counts.versions, counts.edges, counts.vectors, size, digest)
