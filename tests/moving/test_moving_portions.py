"""What a turn did is told in portions that a server takes, whatever tools printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memos.hosts.catchup import helper_run
from memos.moving.transcript import MOST_OUTPUT, portions


def test_steps_come_in_order_in_portions_of_so_many_and_so_many_bytes() -> None:
    steps = [{"tool": "Bash", "call_id": str(n), "output": "港" * (MOST_OUTPUT if n % 2 else 1)} for n in range(450)]
    told = list(portions(steps))
    assert [step for portion in told for step in portion] == steps
    assert all(len(portion) <= 200 and len(json.dumps(portion)) < 10 << 20 for portion in told)
    assert list(portions([])) == [] and len(list(portions(steps[:1]))) == 1


def test_of_a_sub_agent_that_did_too_much_the_last_is_told(tmp_path: Path) -> None:
    path = tmp_path / "agent-a.jsonl"
    lines: list[dict[str, Any]] = [
        {"type": "user", "isSidechain": True, "message": {"role": "user", "content": "Look"}}
    ]
    for n in range(150):
        use = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": f"cat {n}"}}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": "港" * MOST_OUTPUT}
        lines.append({"type": "assistant", "isSidechain": True, "message": {"role": "assistant", "content": [use]}})
        lines.append({"type": "user", "isSidechain": True, "message": {"role": "user", "content": [result]}})
    path.write_text("".join(f"{json.dumps({'uuid': str(at), **line})}\n" for at, line in enumerate(lines)))
    run = helper_run("claude-code", str(path), "a", "Explore", "Seen.")
    assert run is not None and len(json.dumps(run)) < 16 << 20
    assert run["steps"][-1]["input"] == "cat 149" and 50 < len(run["steps"]) < 150
