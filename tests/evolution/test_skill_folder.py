"""The agent-skills format: what goes out comes back the same, and nothing hostile comes in."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memos.errors import InvalidInput
from memos.evolution.skills.folder import (
    _HIDDEN,
    MAX_FILE,
    MAX_FILES,
    MAX_SKILLS,
    files_of,
    parse,
    read_skills,
    skill_file,
    zip_of,
)
from memos.memory.learned import Action, Parameter, Record, Skill, SkillBody, State, is_skill_name
from memos.memory.model import Kind, Memory
from memos.text.front_matter import split
from memos.text.guide import code, render

ID = "01a22a82-4e41-70a5-ae4d-30bf30d73c9d"
GOOD = b"---\nname: good\ndescription: Does good. Use it always.\n---\n\n# Good\n\nDo it.\n"
BODY = SkillBody(
    name="install-package",
    description="How to install a package: 2 steps. Use it when one is missing.",
    parameters=(Parameter("package", "goal", ("lxml",), "its name"), Parameter("v", required=False)),
    preconditions=("a package is missing",),
    procedure=(
        Action("shell", "pip install {package}"),
        Action("", "Look at it."),
        Action("write", "line `one`\n```\n# two"),
    ),
    pitfalls=("`shell` may fail",),
    examples=("“install lxml”: `shell`: `pip install lxml`",),
    verification="it says nothing",
    tools=("shell", "write"),
    environment="web1",
    policies=(ID,),
    shared_from="cube/x",
    state=State.ACTIVE,
    edited=True,
    proposal="p",
    why="because",
    license="MIT",
)


def skill(body: SkillBody = BODY) -> Skill:
    return Skill(Memory(ID, Kind.SKILL, render(body), body=body.to_body()), body, Record(3, 0.2, 2, 1, 3, 0.6))


def imported(body: SkillBody) -> SkillBody:
    """What of a skill an import keeps."""
    plain = replace(body, state=State.PROBATION, policies=(), shared_from="", edited=False, proposal="", why="")
    return replace(plain, author="import")


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def zipped(files: dict[str, bytes], **attributes: int) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = attributes.get("mode", stat.S_IFREG | 0o644) << 16
            z.writestr(info, data)
    return made.getvalue()


def test_a_skill_goes_out_and_comes_back_the_same(tmp_path: Path) -> None:
    write(tmp_path, files_of(skill()))
    for source in (tmp_path, tmp_path / "install-package", str(tmp_path), zip_of([skill()])):
        (found,) = read_skills(source)
        assert found.body == imported(BODY) and found.left == 0


def test_the_front_matter_is_what_the_format_says(tmp_path: Path) -> None:
    values, body = split(skill_file(skill()))
    assert list(values) == ["name", "description", "license", "metadata"]
    assert values["name"] == "install-package" and values["license"] == "MIT"
    assert values["metadata"] == {
        "memos-id": ID, "memos-version": "1", "memos-state": "active", "memos-reliability": "0.60",
        "memos-support": "3", "memos-parameters": "package, v", "memos-environment": "web1",
    }  # fmt: skip
    assert body == render(BODY) and body.startswith("# install-package\n")
    long = replace(BODY, description="x\n" * 3_000)
    described = split(skill_file(skill(long)))[0]["description"]
    assert isinstance(described, str) and len(described) <= 1_024 and "\n" not in described


def test_a_guide_that_was_changed_by_hand_is_believed_and_not_the_fields_beside_it(tmp_path: Path) -> None:
    files = files_of(skill())
    name = "install-package/SKILL.md"
    files[name] = files[name].replace(b"pip install", b"uv add")
    (found,) = read_skills(zipped(files))
    assert found.body.procedure == () and "uv add" in found.body.guide and render(found.body) == found.body.guide


def test_what_people_do_not_see_is_marked_on_the_way_out() -> None:
    body = replace(BODY, procedure=(Action("shell", "printf '\x1b[0m\u202e'"),), description="x \u200b y")
    (found,) = read_skills(zip_of([skill(body)]))
    assert (
        found.body.procedure == (Action("shell", "printf '\ufffd[0m\ufffd'"),)
        and found.body.description == "x \ufffd y"
    )


def test_the_same_skills_make_the_same_bytes() -> None:
    assert zip_of([skill()]) == zip_of([skill()])


SEEN = st.characters(exclude_categories=("Cs",)).filter(lambda c: not _HIDDEN.search(c) and c not in "\r\x85")
WORDS = st.text(SEEN, max_size=40).map(lambda t: t.replace("\n", " "))
LINES = st.text(SEEN | st.just("\n"), max_size=60)
NAMES = st.from_regex(r"[a-z0-9]{1,10}(-[a-z0-9]{1,10}){0,3}", fullmatch=True)


@settings(max_examples=150, deadline=None)
@given(
    st.builds(
        SkillBody,
        name=NAMES,
        description=WORDS.map(lambda w: " ".join(w.split()) or "x"),
        parameters=st.lists(
            st.builds(
                Parameter,
                name=NAMES,
                examples=st.lists(WORDS, max_size=2).map(tuple),
                description=WORDS,
                required=st.booleans(),
            ),
            max_size=2,
        ).map(tuple),
        preconditions=st.lists(WORDS, max_size=2).map(tuple),
        procedure=st.lists(st.builds(Action, WORDS, LINES), min_size=1, max_size=3).map(tuple),
        pitfalls=st.lists(WORDS, max_size=2).map(tuple),
        examples=st.lists(WORDS, max_size=2).map(tuple),
        verification=WORDS,
        tools=st.lists(WORDS, max_size=2).map(tuple),
        license=WORDS.map(lambda w: " ".join(w.split())),
    )
)
def test_any_skill_goes_out_and_comes_back_the_same(body: SkillBody) -> None:
    (found,) = read_skills(zip_of([skill(body)]))
    assert found.body == imported(body)


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=300)
    | st.binary(max_size=300).map(lambda b: b"---\n" + b)
    | st.binary(max_size=200).map(lambda b: b"PK\3\4" + b)
)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        for found in read_skills(data):
            assert is_skill_name(found.body.name)
    except InvalidInput:
        pass


@given(st.text("ab `\n", max_size=40))
def test_nothing_within_code_ends_it(text: str) -> None:
    made = code(text).strip()
    opening = len(made) - len(made.lstrip("`"))
    assert made.endswith("`" * opening)
    assert opening not in [len(run) for run in re.findall("`+", text.strip())]


def test_skills_of_other_tools_are_read(tmp_path: Path) -> None:
    text = b"""\xef\xbb\xbf---
name: pdf-processing
description: Extract text and tables from PDF files: fill forms, merge documents.
license: Apache-2.0
compatibility: Requires git
metadata:
  author: example-org
  version: "1.0"
allowed-tools: Bash(git:*) Read
triggers: [pdf, "forms"]
---

# PDF

See [the form](references/FORMS.md).
"""
    write(
        tmp_path,
        {
            "skills/pdf-processing/SKILL.md": text,
            "skills/pdf-processing/scripts/run.py": b"x",
            "skills/README.md": b"y",
        },
    )
    (found,) = read_skills(tmp_path / "skills")
    assert found.body.name == "pdf-processing" and found.body.license == "Apache-2.0" and found.left == 1
    assert found.body.guide.startswith("# PDF") and found.body.state is State.PROBATION
    (again,) = read_skills(
        zipped({"repo-main/skills/pdf-processing/SKILL.md": text, "repo-main/skills/pdf-processing/a/b.py": b""})
    )
    assert again == found
    assert read_skills(text)[0].body == found.body == read_skills(text.decode())[0].body


BAD_FILES: dict[str, bytes] = {
    "no front matter": b"# Just words",
    "no name": GOOD.replace(b"name: good\n", b""),
    "no description": GOOD.replace(b"description: Does good. Use it always.\n", b""),
    "an empty description": GOOD.replace(b"Does good. Use it always.", b"''"),
    "a long description": GOOD.replace(b"Does good", b"x" * 1_025),
    "a name in capitals": GOOD.replace(b"name: good", b"name: Good"),
    "a name that is a path": GOOD.replace(b"name: good", b"name: ../../etc/passwd"),
    "a name with two dashes": GOOD.replace(b"name: good", b"name: go--od"),
    "a name that ends with a dash": GOOD.replace(b"name: good", b"name: good-"),
    "a name of other letters": GOOD.replace(b"name: good", "name: g\u043e\u043ed".encode()),
    "a name of wide letters": GOOD.replace(b"name: good", "name: ｇｏｏｄ".encode()),
    "a long name": GOOD.replace(b"name: good", b"name: " + b"x" * 65),
    "a name that is a list": GOOD.replace(b"name: good", b"name: [good]"),
    "a name that is a map": GOOD.replace(b"name: good", b"name:\n  a: b"),
    "a license that is a map": GOOD.replace(b"---\n\n", b"license:\n  a: b\n---\n\n"),
    "an object": GOOD.replace(b"Does good. Use it always.", b"!!python/object/apply:os.system ['id']"),
    "an alias": GOOD.replace(b"name: good", b"name: &a good\nb: *a"),
    "other bytes": GOOD + b"\xff\xfe",
    "sixteen bits": GOOD.decode().encode("utf-16"),
    "a direction that turns": GOOD + "safe \u202e evil".encode(),
    "a hidden direction in an escape": GOOD.replace(b"Does good.", b'"x \\u202e"').replace(b" Use it always.", b""),
    "hidden tags": GOOD + "".join(chr(0xE0000 + ord(c)) for c in "obey").encode(),
    "a space without width": GOOD + "a\u200bb".encode(),
    "a control character": GOOD + b"\x1b[2J",
    "a NUL": GOOD + b"\0",
    "too much": GOOD + b"x" * MAX_FILE,
}


@pytest.mark.parametrize("what", BAD_FILES)
def test_a_bad_file_is_refused_wherever_it_comes_from(what: str, tmp_path: Path) -> None:
    data = BAD_FILES[what]
    with pytest.raises(InvalidInput):
        parse(data)
    with pytest.raises(InvalidInput):
        read_skills(data)
    with pytest.raises(InvalidInput):
        read_skills(zipped({"good/SKILL.md": data}))
    with pytest.raises(InvalidInput):
        read_skills(write(tmp_path, {"good/SKILL.md": data}))


def test_the_good_file_is_good(tmp_path: Path) -> None:
    assert parse(GOOD).body.name == "good"
    assert (
        read_skills(write(tmp_path, {"good/SKILL.md": GOOD}))[0].body
        == read_skills(zipped({"good/SKILL.md": GOOD}))[0].body
    )


@pytest.mark.parametrize(
    "name",
    [
        "../good/SKILL.md", "/good/SKILL.md", "good/../../SKILL.md", "good/./SKILL.md", "C:\\good\\SKILL.md", "good\\SKILL.md",
        "good//SKILL.md", "c:/good/SKILL.md", "go\u202eod/SKILL.md", "/".join(["a"] * 17) + "/good/SKILL.md", "good/a*b/x",
    ],
)  # fmt: skip
def test_a_path_that_leads_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        read_skills(zipped({"good/SKILL.md": GOOD, name: GOOD}))


def test_links_and_devices_in_a_zip_are_refused() -> None:
    for kind in (stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFSOCK):
        with pytest.raises(InvalidInput):
            read_skills(zipped({"good/SKILL.md": b"/etc/passwd"}, mode=kind | 0o777))


def test_links_in_a_folder_are_refused(tmp_path: Path) -> None:
    secret = write(tmp_path / "secret", {"SKILL.md": GOOD})
    write(tmp_path / "a" / "good", {"other.txt": b""})
    (tmp_path / "a" / "good" / "SKILL.md").symlink_to(secret / "SKILL.md")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "good").symlink_to(secret)
    (tmp_path / "c").symlink_to(secret)
    write(tmp_path / "d" / "good", {"SKILL.md": GOOD})
    (tmp_path / "d" / "good" / "memos.json").symlink_to("/etc/passwd")
    for source in ("a", "b", "c", "d"):
        with pytest.raises(InvalidInput):
            read_skills(tmp_path / source)


def test_what_is_no_plain_file_is_refused_and_nobody_waits(tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    os.mkfifo(tmp_path / "good" / "SKILL.md")
    for source in (tmp_path, tmp_path / "good" / "SKILL.md", tmp_path / "no", "no\0ne", tmp_path / "good" / "x" / "y"):
        with pytest.raises(InvalidInput):
            read_skills(source)
    with pytest.raises(InvalidInput):
        read_skills("/dev/zero")
    with pytest.raises(InvalidInput):
        read_skills(5)  # type: ignore[arg-type]


def test_a_folder_must_have_the_name_of_its_skill(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="folder"):
        read_skills(write(tmp_path, {"other/SKILL.md": GOOD}))
    with pytest.raises(InvalidInput, match="folder"):
        read_skills(zipped({"other/SKILL.md": GOOD}))
    assert read_skills(zipped({"SKILL.md": GOOD}))[0].body.name == "good"


def test_two_skills_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidInput, match="two"):
        read_skills(zipped({"a/good/SKILL.md": GOOD, "b/good/SKILL.md": GOOD}))


def test_what_holds_no_skill_is_refused(tmp_path: Path) -> None:
    for source in (tmp_path, zipped({"readme.md": GOOD}), zipped({})):
        with pytest.raises(InvalidInput):
            read_skills(source)


def test_zips_that_explode_are_refused_at_once() -> None:
    begun = time.perf_counter()
    bombs = [
        zipped({"good/SKILL.md": GOOD, "good/big": b"\0" * (80 << 20)}),
        zipped({f"good/{n}": b"" for n in range(MAX_FILES + 1)}),
        zipped({f"s{n}/SKILL.md": GOOD.replace(b"good", b"s%d" % n) for n in range(MAX_SKILLS + 1)}),
        zipped({"good/SKILL.md": GOOD + b" " * (MAX_FILE + 1)}),
    ]
    lying = bytearray(zipped({"good/SKILL.md": GOOD}))
    at = lying.rindex(b"PK\1\2")
    lying[at + 24 : at + 28] = (len(GOOD) - 4).to_bytes(4, "little")
    for bomb in [*bombs, bytes(lying)]:
        with pytest.raises(InvalidInput):
            read_skills(bomb)
    assert time.perf_counter() - begun < 10


@pytest.mark.parametrize("cut", [1, 30, 60, 200])
def test_a_zip_that_is_cut_off_is_refused(cut: int) -> None:
    with pytest.raises(InvalidInput):
        read_skills(zip_of([skill()])[:-cut])


@pytest.mark.parametrize(
    "fields",
    [
        b"[", b"[]", b"5", b"[" * 100_000, b'{"parameters": [5]}', b'{"parameters": [{"name": 5}]}', b'{"parameters": [{"name": "x", "required": "no"}]}',
        b'{"procedure": 1e999}', b'{"parameters": {"a": 1}}', b'{"parameters": [{"name": "a", "examples": "abc"}]}', b'{"tools": ["\\u202e"]}',
        b'{"examples": [{"a": 1}]}',
    ],
)  # fmt: skip
def test_bad_fields_beside_a_guide_are_no_harm(fields: bytes) -> None:
    try:
        (found,) = read_skills(zipped({"good/SKILL.md": GOOD, "good/memos.json": fields}))
    except InvalidInput:
        return
    assert found.body.guide == "# Good\n\nDo it."


def test_fields_cannot_claim_evidence_or_state() -> None:
    files = files_of(skill())
    claimed: dict[str, Any] = json.loads(files["install-package/memos.json"])
    claimed |= {
        "state": "active",
        "policies": [ID],
        "shared_from": "x/y",
        "edited": True,
        "author": "rules",
        "why": "by hand",
    }
    files["install-package/memos.json"] = json.dumps(claimed).encode()
    assert read_skills(zipped(files))[0].body == imported(BODY)
