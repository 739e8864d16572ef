"""docs/rest.md is true: every curl command is sent as it stands, and answers what the page shows of it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import httpx2
import pytest

PAGE = Path(__file__).parents[3] / "docs" / "rest.md"
SKILL = "---\nname: boil-water\ndescription: Boils water. Use it before making tea.\n---\n\n# Boil water\n\n1. Fill the kettle.\n"
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples() -> list[tuple[str, str]]:
    """Commands, and what the page shows of their answers."""
    found: list[tuple[str, str]] = []
    for block in _BLOCK.findall(PAGE.read_text("utf-8")):
        for example in block.split("$ curl ")[1:]:
            command, _, shown = example.partition("\n{") if "\n{" in example else (example, "", "")
            if command.count("'") % 2:  # the command goes on in further lines, which begin with a brace
                end = example.index("'", example.rindex(" -d '") + 6)
                command, shown = example[: end + 1], example[end + 1 :].strip()[1:]
            found.append((command, f"{{{shown}" if shown.strip() else ""))
    return found


async def send(client: httpx2.AsyncClient, command: str, folder: Path) -> httpx2.Response:
    """What curl would send."""
    method, headers, content, url, saved = None, {}, None, "", None
    words = iter(shlex.split(command))
    for word in words:
        match word:
            case "-s" | "-N":
                pass
            case "-X":
                method = next(words)
            case "-H":
                name, _, value = next(words).partition(": ")
                headers[name] = value
            case "-d":
                content, method = next(words).encode(), method or "POST"
            case "-o":
                saved = next(words)
            case "-T":
                content, method = (folder / next(words)).read_bytes(), method or "PUT"
            case _:
                assert word.startswith("localhost:8000/v1/"), word
                url = word.removeprefix("localhost:8000")
    answer = await client.request(method or "GET", url, headers=headers, content=content)
    if saved is not None:
        (folder / saved).write_bytes(answer.content)
    return answer


def shows(shown: Any, real: Any) -> bool:
    """Whether an answer holds what the page shows of it; "…" stands for anything."""
    if shown == "…":
        return True
    if isinstance(shown, dict):
        return isinstance(real, dict) and all(k in real and shows(v, real[k]) for k, v in shown.items())
    if isinstance(shown, list):
        return isinstance(real, list) and len(shown) == len(real) and all(map(shows, shown, real))
    return bool(shown == real)


def test_the_page_has_examples_of_every_part() -> None:
    commands = [command for command, _ in examples()]
    assert len(commands) >= 20
    for part in ("/memories", "/search", "/explain", "/cubes", "/tasks", "/keys", "/me"):
        assert any(part in command for command in commands), part


@pytest.mark.parametrize("shown", [{"a": 1}, {"a": "…", "b": [1]}])
def test_a_difference_would_be_seen(shown: dict[str, Any]) -> None:
    assert not shows(shown, {"a": 2, "b": [1, 2]})


async def test_every_command_answers_what_the_page_shows(app_client: httpx2.AsyncClient, tmp_path: Path) -> None:
    known: dict[str, str] = {}
    (tmp_path / "guide.md").write_text("# Tea\n\nBoil the water first.")
    (tmp_path / "SKILL.md").write_text(SKILL)
    for command, shown in examples():
        for name, value in known.items():
            command = command.replace(name, value)
        answer = await send(app_client, command, tmp_path)
        assert answer.status_code < 300, f"{command}\n{answer.text}"
        if shown:
            assert shows(json.loads(shown), answer.json()), f"{command}\nshown: {shown}\nreal: {answer.text}"
        if "task" in (told := answer.json() if shown else {}) and isinstance(told.get("records"), list):
            known = {"TASK": told["task"], "ID": told["records"][0]["id"]}
