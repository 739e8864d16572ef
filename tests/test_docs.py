"""The documentation is true: every example runs as printed, every link leads somewhere, the site builds."""

from __future__ import annotations

import inspect
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memos import AsyncMemOS, Settings, errors
from memos.cli.main import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [str(p.relative_to(ROOT)) for p in PAGES]
NEEDS_VECTORS = "<!-- test: embedder=default -->"
_NEEDS = re.compile(
    r"<!-- test: needs=(?P<module>[\w.]+) -->"
)  # a package of an extra, without which a page is left out
_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```[ \t]*$", re.MULTILINE | re.DOTALL
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LINK = re.compile(r"\]\((?!https?://|#|mailto:)(?P<to>[^)#\s]+)(?:#[^)\s]*)?\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: the words after the fence, its text without the indentation, and the line it begins on."""

    info: str
    body: str
    line: int

    @property
    def language(self) -> str:
        return self.info.strip("{} .").split(" ")[0]

    @property
    def title(self) -> str | None:
        found = re.search(r'title="([^"]+)"', self.info)
        return found[1] if found else None


def blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    out = []
    for found in _FENCE.finditer(text):
        indent = len(found["indent"])
        body = "".join(line[indent:] if line.strip() else "\n" for line in found["body"].splitlines(keepends=True))
        out.append(Block(found["info"].strip(), body, text.count("\n", 0, found.start()) + 2))
    return out


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_example_of_a_page_runs_in_order(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One data folder and one namespace for each page; files are those that the page prints under a title."""
    for needed in _NEEDS.finditer(page.read_text("utf-8")):
        pytest.importorskip(needed["module"], reason=f"{page.name} needs {needed['module']}")
    for variable in ("MEMOS_USER", "MEMOS_CUBE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("MEMOS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMOS_EMBEDDER", "default" if NEEDS_VECTORS in page.read_text("utf-8") else "none")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__docs__"}
    last_id = ""
    for block in blocks(page):
        if block.title:
            Path(block.title).write_text(block.body, "utf-8")
        if block.language == "python":
            code = compile("\n" * (block.line - 1) + block.body, str(page), "exec", dont_inherit=True)
            if "no-run" not in block.info:
                exec(code, namespace)
        elif block.language == "console":
            for command in _commands(block.body):
                last_id = _run(command, last_id, f"{page.name}:{block.line}")
    close = getattr(namespace.get("m"), "close", None)
    if close is not None:
        close()


def _commands(body: str) -> list[str]:
    """The commands of a console block: lines that begin with a prompt, with their continuations."""
    joined = body.replace("\\\n", " ")
    return [line[2:] for line in joined.splitlines() if line.startswith("$ memos")]


def _run(command: str, last_id: str, where: str) -> str:
    """Run a command, with `ID` standing for the first id that the commands before it printed last."""
    args = shlex.split(command.split(" #")[0])[1:]
    if "ID" in args:
        assert last_id, f"{where}: no command before `{command}` printed an id"
    result = CliRunner().invoke(app, [last_id if a == "ID" else a for a in args])
    assert result.exit_code == 0, f"{where}: {command}\n{result.stdout}\n{result.stderr}\n{result.exception!r}"
    found = _UUID.search(result.stdout)
    return found[0] if found else last_id


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    text = _FENCE.sub("", page.read_text("utf-8"))
    broken = [m["to"] for m in _LINK.finditer(text) if not (page.parent / m["to"]).exists()]
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_marker_of_a_table_is_closed(page: Path) -> None:
    marks = re.findall(r"<!-- (bench:[\w-]+|/bench) -->", page.read_text("utf-8"))
    assert [m != "/bench" for m in marks] == [True, False] * (len(marks) // 2)


def test_the_examples_that_are_not_run_are_few() -> None:
    python = [b for page in PAGES for b in blocks(page) if b.language == "python"]
    skipped = [b for b in python if "no-run" in b.info]
    assert len(python) >= 20
    assert len(skipped) <= len(python) // 5


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix("")
        html = tmp_path / "site" / ("index.html" if name.name == "index" else f"{name}/index.html")
        assert html.is_file()
        assert "```" not in html.read_text("utf-8"), f"{page.name} has a fence that is not rendered"


def test_the_api_page_names_every_parameter_of_every_verb() -> None:
    text = (ROOT / "docs" / "api.md").read_text("utf-8")
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL))
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?)$", text.partition("## Cubes")[2], re.MULTILINE))
    missing = []
    for name, verb in inspect.getmembers(AsyncMemOS, inspect.iscoroutinefunction):
        if name.startswith("_") or name == "close":
            continue
        told = sections.get(name) or rows.get(name) or text.partition(f"`{name}(")[2].partition("\n")[0]
        missing += [f"{name}({p})" for p in inspect.signature(verb).parameters if p != "self" and p not in _words(told)]
    assert missing == []


def test_the_api_page_names_every_error_and_every_setting() -> None:
    text = (ROOT / "docs" / "api.md").read_text("utf-8")
    wanted = [n for n, e in vars(errors).items() if inspect.isclass(e) and issubclass(e, errors.MemosError)]
    wanted += [f.name for f in fields(Settings)]
    assert [n for n in wanted if f"`{n}`" not in text] == []


def _words(text: str) -> set[str]:
    """The names that stand in code spans."""
    return {word for span in re.findall(r"`([^`]+)`", text) for word in re.findall(r"\w+", span)}


def test_every_test_that_a_page_names_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", "".join(p.read_text("utf-8") for p in PAGES))
    assert len(named) >= 40
    assert [f"{f}::{t}" for f, t in named if not _has_test(ROOT / "tests" / f, t)] == []


def _has_test(file: Path, name: str) -> bool:
    return file.is_file() and re.search(rf"def {name}\b", file.read_text("utf-8")) is not None
