"""Golden files: requests and the answers expected, written by hand from the description of the wire.

A file is a list of steps. `expect` is compared field by field. Marks in it: `<id>`, `<time>`, `<text>`, `<number>`, `<any>`;
`<ref id>`; a field `"..."` lets an object have more fields, an item `"..."` a list more items. `save` keeps values of the answer
by their path ("data.0.memory_id") for later steps, where `{{name}}` stands for them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx2

FOLDER = Path(__file__).parent / "golden"
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_MARKS = {
    "<id>": lambda v: isinstance(v, str) and _ID.fullmatch(v),
    "<ref id>": lambda v: isinstance(v, str) and re.fullmatch(r"\[[0-9a-f]{8}\]", v),
    "<time>": lambda v: isinstance(v, str) and re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d", v),
    "<text>": lambda v: isinstance(v, str) and v,
    "<number>": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "<any>": lambda _: True,
}


async def run(client: httpx2.AsyncClient, file: Path) -> None:
    """Every step of a file, in order."""
    saved: dict[str, Any] = {}
    for step in json.loads(file.read_text(encoding="utf-8")):
        step = _filled(step, saved)
        answer = await client.request(step.get("method", "POST"), "/product" + step["path"], json=step.get("json"))
        where = f"{file.name}: {step['name']}"
        assert answer.status_code == step.get("status", 200), f"{where}: {answer.status_code} {answer.text[:500]}"
        problems = list(differences(step["expect"], answer.json(), "answer"))
        assert not problems, f"{where}:\n  " + "\n  ".join(problems)
        for name, path in step.get("save", {}).items():
            saved[name] = _at(answer.json(), path)


def differences(want: Any, have: Any, where: str):
    """What of `have` is not as expected, one sentence each."""
    if isinstance(want, str) and want in _MARKS:
        if not _MARKS[want](have):
            yield f"{where}: expected {want}, got {have!r:.80}"
    elif isinstance(want, str) and want.startswith("<has>"):
        if not (isinstance(have, str) and want.removeprefix("<has>") in have):
            yield f"{where}: expected to hold {want.removeprefix('<has>')!r}, got {have!r:.200}"
    elif isinstance(want, dict) and isinstance(have, dict):
        for key in want.keys() - {"..."}:
            if key in have:
                yield from differences(want[key], have[key], f"{where}.{key}")
            else:
                yield f"{where}.{key} is missing"
        if "..." not in want and (more := have.keys() - want.keys()):
            yield f"{where} has more: {sorted(more)}"
    elif isinstance(want, list) and isinstance(have, list):
        items = [item for item in want if item != "..."]
        if len(have) != len(items) and not ("..." in want and len(have) > len(items)):
            yield f"{where} has {len(have)} items, expected {len(items)}: {have!r:.300}"
        for i, (one, other) in enumerate(zip(items, have, strict=False)):
            yield from differences(one, other, f"{where}.{i}")
    elif want != have or type(want) is not type(have):
        yield f"{where}: expected {want!r}, got {have!r:.200}"


def _filled(value: Any, saved: dict[str, Any]) -> Any:
    if isinstance(value, str):
        whole = re.fullmatch(r"\{\{(\w+)\}\}", value)
        return saved[whole[1]] if whole else re.sub(r"\{\{(\w+)\}\}", lambda m: str(saved[m[1]]), value)
    if isinstance(value, dict):
        return {_filled(key, saved): _filled(item, saved) for key, item in value.items()}
    return [_filled(item, saved) for item in value] if isinstance(value, list) else value


def _at(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value
