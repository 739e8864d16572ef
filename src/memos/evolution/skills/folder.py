"""Skills in the agent-skills format: a folder named like the skill, with `SKILL.md` (front matter and a guide in Markdown), as
files or zipped. What was structured travels beside it in `memos.json` and is believed only where it says what the guide says.

What comes in is data of strangers: nothing is unpacked, no link is followed, every size is bounded, and characters that people do
not see are refused.
"""

from __future__ import annotations

import io
import json
import os
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from memos.errors import ArchiveError, InvalidInput
from memos.memory.learned import NAME_LENGTH, Skill, SkillBody, is_skill_name, skill_name
from memos.memory.model import Kind, Memory
from memos.storage.zipped import checked_members, readable
from memos.text import front_matter
from memos.text.applies import says_something
from memos.text.guide import one_line, render

FILE, FIELDS = "SKILL.md", "memos.json"
DESCRIPTION, LICENSE = 1_024, 500  # characters
MAX_FILE = 256 << 10  # bytes of one SKILL.md or memos.json
MAX_SKILLS, MAX_FILES = 500, 5_000
MAX_ZIP = 64 << 20  # bytes of a zip, and of what it unpacks to
_TIME = (1980, 1, 1, 0, 0, 0)

# What people do not see: controls, characters without width, those that turn the direction of reading, and tags.
_HIDDEN = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_PART = re.compile(r'[^\\/:*?"<>|\0-\x1f]{1,255}')


@dataclass(frozen=True, slots=True)
class Found:
    """A skill that was read. `left`: further files of its folder, which are not kept."""

    body: SkillBody
    left: int = 0


# -- out -------------------------------------------------------------------------------------------------------------


def files_of(skill: Skill) -> dict[str, bytes]:
    """The files of a skill's folder, by their path: `NAME/SKILL.md` and `NAME/memos.json`."""
    body = skill.body
    folder = body.name
    return {
        f"{folder}/{FILE}": skill_file(skill).encode(),
        f"{folder}/{FIELDS}": (json.dumps(_fields_of(body), ensure_ascii=False, indent=1) + "\n").encode(),
    }


def named_apart(skills: Iterable[Skill]) -> list[Skill]:
    """Skills of which no two share a folder: a name that came before gets a number."""
    out: list[Skill] = []
    taken: set[str] = set()
    for skill in skills:
        name, number = skill.body.name, 1
        while name in taken:
            number += 1
            name = f"{skill_name(skill.body.name, NAME_LENGTH - 5)}-{number}"
        taken.add(name)
        out.append(skill if name == skill.body.name else replace(skill, body=replace(skill.body, name=name)))
    return out


def skill_file(skill: Skill) -> str:
    """The text of a skill's `SKILL.md`."""
    body = skill.body
    values: dict[str, front_matter.Value] = {
        "name": body.name,
        "description": one_line(body.description)[:DESCRIPTION] or f"The skill {body.name}.",
    }
    if body.license:
        values["license"] = one_line(body.license)[:LICENSE]
    values["metadata"] = {
        "memos-id": skill.id,
        "memos-version": str(skill.memory.version),
        "memos-state": body.state.value,
        "memos-reliability": f"{skill.record.reliability:.2f}",
        "memos-support": str(skill.record.support),
        **({"memos-parameters": ", ".join(p.name for p in body.parameters)} if body.parameters else {}),
        **({"memos-environment": body.environment} if body.environment else {}),
    }
    return _seen(front_matter.join(values, render(body)))


def _seen(text: str) -> str:
    """A text with a mark for each character that people would not see."""
    return _HIDDEN.sub("\ufffd", text)


def zip_of(skills: Iterable[Skill]) -> bytes:
    """The folders of skills as a zip; the same skills give the same bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for skill in skills:
            for name, data in files_of(skill).items():
                info = zipfile.ZipInfo(name, _TIME)
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = (stat.S_IFREG | 0o644) << 16
                info.create_system = 3
                archive.writestr(info, data)
    return made.getvalue()


def _fields_of(body: SkillBody) -> Mapping[str, Any]:
    plain = body.to_body()
    return {name: _all_seen(plain[name]) for name in _TRAVELS if plain[name]}


def _all_seen(value: Any) -> Any:
    if isinstance(value, str):
        return _seen(value)
    if isinstance(value, dict):
        return {k: _all_seen(v) for k, v in value.items()}
    return [_all_seen(v) for v in value] if isinstance(value, list) else value


_SAID = ("parameters", "preconditions", "procedure", "pitfalls", "examples", "verification", "tools", "environment")
_FOUND_BY = (
    "goals",
    "errors",
    "failing",
)  # what no guide shows: it only tells for which requests the skill is handed out
_TRAVELS = (*_SAID, *_FOUND_BY)
_PATTERNS, _PATTERN = 16, 400  # of those, and characters of each


# -- in --------------------------------------------------------------------------------------------------------------


def read_skills(source: str | Path | bytes) -> list[Found]:
    """The skills of a folder with `SKILL.md`, of a folder of such folders, of a zip of them (a path or its bytes), or of the text
    of one `SKILL.md`; on probation, in order of their names. Raises InvalidInput for what is hostile or cannot be read.
    """
    try:
        found = list(_read(source))
    except ArchiveError as e:
        raise InvalidInput(f"the zip of skills was not imported: {e}") from e
    if not found:
        raise InvalidInput(f"there is no {FILE} in it; name a folder with one, a folder of such folders, or a zip")
    twice = {f.body.name for f in found if sum(o.body.name == f.body.name for o in found) > 1}
    if twice:
        raise InvalidInput(f"there are two skills named {min(twice)!r}; nothing was imported")
    return sorted(found, key=lambda f: f.body.name)


def _read(source: str | Path | bytes) -> Iterator[Found]:
    if isinstance(source, bytes):
        yield from _read_zip(source) if source.startswith(b"PK") else [parse(source)]
        return
    if isinstance(source, str) and (source.lstrip("\ufeff").startswith("---") or "\n" in source):
        yield parse(source.encode("utf-8", "surrogatepass"))
        return
    if not isinstance(source, (str, Path)) or "\0" in str(source):
        raise InvalidInput(f"{str(source)!r:.100} is no path, zip or {FILE}")
    path = Path(source)
    kind = stat.S_IFMT(_lstat(path).st_mode)
    if kind == stat.S_IFDIR:
        yield from _read_folder(path)
    elif kind == stat.S_IFREG:
        data = _file(path, MAX_ZIP)
        yield from _read_zip(data) if data.startswith(b"PK") else [parse(data)]
    else:
        raise InvalidInput(f"{path} is a link or no plain file; name the folder, zip or {FILE} itself")


def parse(skill: bytes, fields: bytes | None = None, *, folder: str | None = None, left: int = 0) -> Found:
    """One skill from its `SKILL.md`, and its `memos.json` where there is one. `folder`: its name. Raises InvalidInput."""
    where = f"{folder}/{FILE}" if folder else FILE
    try:
        values, guide = front_matter.split(_text(skill))
        return Found(_body(values, guide, fields, folder), left)
    except InvalidInput as e:
        raise InvalidInput(f"{where!r:.150} was not read: {e}") from None


def _body(values: Mapping[str, front_matter.Value], guide: str, fields: bytes | None, folder: str | None) -> SkillBody:
    name, description = values.get("name"), values.get("description")
    if not isinstance(name, str) or not is_skill_name(name):
        raise InvalidInput(
            f"its name is {str(name)!r:.80}; a name has lower-case letters (a to z), digits and single dashes between them, at "
            f"most {NAME_LENGTH} characters"
        )
    if folder is not None and folder != name:
        raise InvalidInput(f"it names itself {name!r} and lies in the folder {folder!r:.80}; give both one name")
    if not isinstance(description, str) or not description.strip():
        raise InvalidInput("it has no description of what it does and when to use it")
    if len(description) > DESCRIPTION:
        raise InvalidInput(f"its description has {len(description)} characters, at most {DESCRIPTION} are allowed")
    license = values.get("license", "")
    if not isinstance(license, str) or len(license) > LICENSE:
        raise InvalidInput(f"its license is no text of at most {LICENSE} characters")
    body = SkillBody(name=name, description=one_line(description), license=one_line(license), author="import")
    for said in (name, body.description, body.license):
        _visible(said)
    known = _structured(body, fields)
    if known is not None and render(known).strip() == guide.strip():
        return known
    body = replace(body, guide=guide.strip() or f"# {name}\n\n{body.description}")
    if known is None:
        return body
    return replace(body, parameters=known.parameters, goals=known.goals, errors=known.errors, failing=known.failing)


def _structured(body: SkillBody, fields: bytes | None) -> SkillBody | None:
    """The skill with the fields of a `memos.json`; None where there is none. What it says of state or evidence is not read."""
    if fields is None:
        return None
    try:
        given = json.loads(_text(fields))
    except (ValueError, RecursionError):
        return None
    if not isinstance(given, dict) or not all(isinstance(p, dict) for p in given.get("parameters") or ()):
        return None
    try:
        found = SkillBody.of(Memory("", Kind.SKILL, "", body={**body.to_body(), **{k: given.get(k) for k in _TRAVELS}}))
        ok = all(
            type(p.required) is bool and all(type(t) is str for t in (p.name, p.source, p.description, *p.examples))
            for p in found.parameters
        )
    except (TypeError, ValueError, AttributeError):
        return None
    for said in (
        *found.tools,
        *found.goals,
        *found.errors,
        *found.failing,
        found.environment,
        *(p.source for p in found.parameters),
    ):
        _visible(said)
    return replace(found, goals=_telling(found.goals), errors=_telling(found.errors)) if ok else None


def _telling(patterns: Iterable[str]) -> tuple[str, ...]:
    """Of the patterns of a stranger, those that say something: one that is all parameters would fit every request."""
    return tuple(p for p in patterns if len(p) <= _PATTERN and says_something(p))[:_PATTERNS]


def _text(data: bytes) -> str:
    if len(data) > MAX_FILE:
        raise InvalidInput(f"it has {len(data)} bytes, at most {MAX_FILE} are read")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise InvalidInput("it is no text in UTF-8") from None
    _visible(text.removeprefix("\ufeff"))
    return text


def _visible(text: str) -> None:
    hidden = _HIDDEN.search(text)
    if hidden is not None:
        raise InvalidInput(f"it holds a character that is not seen (U+{ord(hidden[0]):04X}); take it out")


# -- folders ---------------------------------------------------------------------------------------------------------


def _read_folder(path: Path) -> Iterator[Found]:
    own = _entries(path)
    if FILE in own:
        yield _read_one(path, own)
        return
    folders = [name for name, kind in own.items() if kind == stat.S_IFDIR]
    seen = len(own)
    for name in folders:
        inside = _entries(path / name)
        seen += len(inside)
        if seen > MAX_FILES:
            raise InvalidInput(f"{path} holds more than {MAX_FILES} files; name a folder of skills")
        if FILE in inside:
            yield _read_one(path / name, inside)


def _read_one(path: Path, inside: Mapping[str, int]) -> Found:
    fields = _file(path / FIELDS, MAX_FILE) if FIELDS in inside else None
    left = len(set(inside) - {FILE, FIELDS})
    return parse(_file(path / FILE, MAX_FILE), fields, folder=path.resolve().name, left=left)


def _entries(path: Path) -> dict[str, int]:
    """Names in a folder, with what each is. A link among them is refused: it could lead anywhere."""
    try:
        with os.scandir(path) as listed:
            found = {}
            for entry in listed:
                if entry.is_symlink():
                    raise InvalidInput(f"{entry.path!r:.200} is a link; skills with links are not imported")
                found[entry.name] = stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode)
                if len(found) > MAX_FILES:
                    raise InvalidInput(f"{path} holds more than {MAX_FILES} files; name a folder of skills")
            return dict(sorted(found.items()))
    except OSError as e:
        raise InvalidInput(f"{path} cannot be read: {e.strerror or e}") from None


def _file(path: Path, most: int) -> bytes:
    """The content of a plain file that is no link and not too large."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as e:
        raise InvalidInput(f"{path} cannot be read: {e.strerror or e}") from None
    with open(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise InvalidInput(f"{path} is no plain file")
        data = file.read(most + 1)
    if len(data) > most:
        raise InvalidInput(f"{path} has more than {most} bytes")
    return data


def _lstat(path: Path) -> os.stat_result:
    try:
        return path.lstat()
    except (OSError, ValueError) as e:
        reason = e.strerror if isinstance(e, OSError) else e
        raise InvalidInput(f"{str(path)!r:.200} cannot be read: {reason}") from None


# -- zips ------------------------------------------------------------------------------------------------------------


def _read_zip(data: bytes) -> Iterator[Found]:
    if len(data) > MAX_ZIP:
        raise InvalidInput(f"the zip has {len(data)} bytes, at most {MAX_ZIP} are read")
    with readable():
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = checked_members(archive.infolist(), len(data), most=MAX_FILES, most_bytes=MAX_ZIP, folders=True)
    paths = {name: _inside(name) for name in members}
    skills = [name for name, path in paths.items() if path.name == FILE]
    if len(skills) > MAX_SKILLS:
        raise InvalidInput(f"the zip holds {len(skills)} skills, at most {MAX_SKILLS} are imported at once")
    homes = {paths[name].parent for name in skills}
    beside = Counter(next((p for p in path.parents if p in homes), None) for path in paths.values())
    for name in sorted(skills):
        parent = paths[name].parent
        info = members.get(str(parent / FIELDS))
        fields = None if info is None else _member(archive, info)
        left = beside[parent] - (1 if info is None else 2)
        yield parse(_member(archive, members[name]), fields, folder=parent.name or None, left=left)


def _inside(name: str) -> PurePosixPath:
    """The path of a member, which could not lead out of a folder even if it were unpacked."""
    path = PurePosixPath(name)
    if name.startswith("/") or not path.parts or len(path.parts) > 16 or name != str(path):
        raise InvalidInput(f"the zip holds a path that is none of a folder of skills: {name!r:.100}")
    for part in path.parts:
        if part in (".", "..") or not _PART.fullmatch(part) or _HIDDEN.search(part):
            raise InvalidInput(f"the zip holds a path that is none of a folder of skills: {name!r:.100}")
    return path


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    if info.file_size > MAX_FILE:
        raise InvalidInput(f"{info.filename!r:.100} has {info.file_size} bytes, at most {MAX_FILE} are read")
    with readable(), archive.open(info) as file:
        data = file.read(MAX_FILE + 1)
    if len(data) != info.file_size:
        raise InvalidInput(f"{info.filename!r:.100} unpacks to another size than it claims")
    return data
