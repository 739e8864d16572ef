"""MemOS goes into Hermes' settings beside what is there, and comes out as if it had never been in."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memos.errors import InvalidInput
from memos.hosts.hermes import examining, installing
from memos.hosts.hermes.shim import files
from memos.hosts.hermes.yaml_line import value_of, with_value, without_value
from memos.hosts.places import Reach

CONFIG = """\
# my settings
model:
  default: gpt-5   # the fast one
memory:
  # built in
  memory_enabled: true
  provider: honcho  # for now

  user_char_limit: 1_375
# the end"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a Hermes."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "hermes"))
    (tmp_path / "hermes").mkdir()
    return tmp_path / "hermes"


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_it_goes_in_beside_what_is_there_and_out_to_the_byte(root: Path, tmp_path: Path) -> None:
    (root / "config.yaml").write_bytes(CONFIG.encode())
    (root / "plugins" / "mine").mkdir(parents=True)
    (root / "plugins" / "mine" / "__init__.py").write_text("# mine\n")
    before, home = tree(root), tmp_path / "home"
    would = installing.install(Reach(), home, dry_run=True)
    assert tree(root) == before and not home.exists()
    done = installing.install(Reach(user="ada", max_tokens=900), home)
    assert set(would.files) < set(done.files)
    assert any("'honcho'" in note for note in done.notes)
    assert (root / "config.yaml").read_text() == CONFIG.replace("honcho", "memos")
    assert json.loads((root / "memos" / "config.json").read_text()) == {"user": "ada", "max_tokens": 900}
    compile((root / "plugins" / "memos" / "__init__.py").read_text(), "shim", "exec")
    assert installing.install(Reach(user="ada", max_tokens=900), home).files == ()
    assert installing.standing().events == ("provider", "plugin") and installing.standing().problem is None
    installing.uninstall(home)
    assert tree(root) == before
    assert installing.standing().events == () and installing.uninstall(home).files == ()
    assert not list((home / "hosts").rglob("*hermes*"))


def test_what_changed_since_stays_and_only_the_provider_goes_back(root: Path, tmp_path: Path) -> None:
    (root / "config.yaml").write_text(CONFIG)
    installing.install(Reach(), tmp_path)
    changed = (root / "config.yaml").read_text().replace("gpt-5 ", "gpt-6 ")
    (root / "config.yaml").write_text(changed)
    installing.install(Reach(cube="shop"), tmp_path)  # again, over what changed
    installing.uninstall(tmp_path)
    assert (root / "config.yaml").read_text() == CONFIG.replace("gpt-5 ", "gpt-6 ")
    assert tree(root).keys() == {"config.yaml"}


def test_a_hermes_without_settings_has_none_afterwards(root: Path, tmp_path: Path) -> None:
    installing.install(Reach(), tmp_path)
    assert (root / "config.yaml").read_text() == "memory:\n  provider: memos\n"
    installing.uninstall(tmp_path)
    assert tree(root) == {}
    installing.install(Reach(), tmp_path)
    (root / "config.yaml").write_text("memory:\n  provider: other\n")  # somebody chose another since
    assert "memory.provider is other" in str(installing.standing().problem)
    installing.uninstall(tmp_path)
    assert (root / "config.yaml").read_text() == "memory:\n  provider: other\n" and tree(root).keys() == {"config.yaml"}


def test_options_that_are_there_stay_beside_those_that_are_asked(root: Path, tmp_path: Path) -> None:
    (root / "memos").mkdir()
    (root / "memos" / "config.json").write_text('{"prefetch_seconds": 2, "mine": [1]}')
    installing.install(Reach(url="http://127.0.0.1:8000", key_file=Path("/keys/memos")), tmp_path)
    assert json.loads((root / "memos" / "config.json").read_text()) == {
        "prefetch_seconds": 2, "mine": [1], "url": "http://127.0.0.1:8000", "key_file": "/keys/memos",
    }  # fmt: skip


@pytest.mark.parametrize(
    "text", ["memory: {provider: x}\n", "memory:\n- a\n", "{memory: 1}\n", "a: 1\n---\n---\n", "memory:\n\tprovider: x\n", "memory: &m\n  a: 1\n",
             "memory:\n  provider: >\n    x\n", "memory:\n  provider: a\n    b\n", "memory: 1\nmemory: 2\n"]
)  # fmt: skip
def test_what_cannot_be_edited_as_lines_is_left_alone(root: Path, tmp_path: Path, text: str) -> None:
    (root / "config.yaml").write_text(text)
    with pytest.raises(InvalidInput, match="nothing was changed"):
        installing.install(Reach(), tmp_path)
    assert tree(root) == {"config.yaml": text.encode()}


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", "memory:\n  provider: memos\n"),
        ("{}\n", "memory:\n  provider: memos\n"),
        ("a: 1", "a: 1\nmemory:\n  provider: memos\n"),
        ("memory:\n", "memory:\n  provider: memos\n"),
        ("memory: {}  # none\nb: 1\n", "memory:  # none\n  provider: memos\nb: 1\n"),
        ("memory:\n    a: 1\nb: 2\n", "memory:\n    provider: memos\n    a: 1\nb: 2\n"),
        ('memory:\r\n  provider: "honcho"\r\n', "memory:\r\n  provider: memos\r\n"),
        ("memory:\n  provider: ''  # none\n", "memory:\n  provider: memos  # none\n"),
        ("memory:\n  provider:\n  a: 1\n", "memory:\n  provider: memos\n  a: 1\n"),
        ("memory:\n  a: |\n    provider: no\n", "memory:\n  provider: memos\n  a: |\n    provider: no\n"),
        ("memory:\n  a:\n    provider: no\n", "memory:\n  provider: memos\n  a:\n    provider: no\n"),
        ('"memory":\n  "provider": x\n', '"memory":\n  "provider": memos\n'),
        ("x:\n  memory:\n    provider: no\n", "x:\n  memory:\n    provider: no\nmemory:\n  provider: memos\n"),
    ],
)
def test_one_value_of_yaml_is_set_in_its_text(text: str, after: str) -> None:
    assert with_value(text, "memory", "provider", "memos") == after
    assert value_of(after, "memory", "provider") == "memos"
    assert value_of(without_value(after, "memory", "provider"), "memory", "provider") is None


def test_a_hermes_in_another_python_says_what_to_do(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = next(v for p, v in files(root).items() if p.name == "__init__.py").decode()
    names: dict[str, object] = {}
    exec(source.replace(f"PYTHON = {tuple(sys.version_info[:2])}", "PYTHON = (2, 7)"), names)
    monkeypatch.setattr("importlib.import_module", _no_module)
    given: list[object] = []
    context = type("Context", (), {"register_memory_provider": lambda self, one: given.append(one)})()
    register = names["register"]
    assert isinstance(register, Callable)  # type: ignore[arg-type]
    register(context)  # type: ignore[operator]
    missing = given[0]
    assert not missing.is_available() and missing.get_tool_schemas() == []  # type: ignore[attr-defined]
    assert "2.7" in missing.unavailable_reason() and "-m pip install ." in missing.unavailable_reason()  # type: ignore[attr-defined]


def test_a_folder_called_memos_where_hermes_was_started_is_no_package(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installing.install(Reach(), tmp_path)
    (tmp_path / "work" / "memos").mkdir(parents=True)
    code = (
        "import importlib.util, sys\n"
        f"sys.path[:] = ['', *(p for p in sys.path if p.endswith(('python{sys.version_info[0]}.{sys.version_info[1]}', 'lib-dynload')))]\n"
        f"spec = importlib.util.spec_from_file_location('shim', {str(root / 'plugins' / 'memos' / '__init__.py')!r})\n"
        "shim = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(shim)\nprint(shim._plugin().__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=tmp_path / "work", env={}, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "memos.hosts.hermes.plugin", done.stderr


def _no_module(name: str) -> object:
    raise ImportError(name)


def test_the_doctor_says_what_is_wrong(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "memos hosts install hermes" in examining.examine(tmp_path).problems[-1]
    installing.install(Reach(), tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    assert "not tried" in examining.examine(tmp_path).problems[-1]
    command = tmp_path / "bin" / "hermes"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\n")  # a Python without Hermes
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent))
    assert examining.python_of_hermes() == Path(sys.executable)
    assert "ModuleNotFoundError" in examining.examine(tmp_path).problems[-1]
    (root / "plugins" / "memos" / "__init__.py").unlink()
    assert "is not there" in examining.examine(tmp_path).problems[0]
