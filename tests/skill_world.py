"""A cube with policies that episodes bear out, written by hand: what the tests of skills begin with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from memos.memory.episode import StepRole
from memos.memory.ids import new_id
from memos.memory.learned import Action, Form, Parameter, PolicyBody, State
from memos.memory.model import Edge, EdgeType, Kind, Memory, Status
from memos.storage.sqlite import lived
from memos.storage.sqlite.lived import Lesson

T0 = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
INSTALL = PolicyBody(
    form=Form.PATH,
    state=State.ACTIVE,
    trigger="a Python package is to be installed",
    goal="install the package {package}",
    procedure=(Action("shell", "pip install {package}"), Action("shell", 'python -c "import {package}"')),
    parameters=(Parameter("package", "goal", ("lxml", "numpy")),),
    verification="the import says nothing",
    environment="web1",
)
HEADERS = PolicyBody(
    form=Form.FIX,
    state=State.ACTIVE,
    trigger="a header is missing while a package is built",
    error="fatal error: {header}.h: No such file or directory",
    tool="shell",
    procedure=(Action("shell", "apt-get install -y {library}-dev"),),
    parameters=(Parameter("header", "error", ("libxml/xmlversion",)), Parameter("library", "error", ("libxml2",))),
    avoid="pip install again without the headers",
)


def policy(tx: Any, body: PolicyBody, **more: Any) -> str:
    """A policy as a memory."""
    memory = Memory(new_id(), Kind.POLICY, body.trigger, owner="ana", body=body.to_body(), **more)
    tx.put(memory)
    return memory.id


def change(tx: Any, id: str, **fields: Any) -> None:
    """A new version of a policy."""
    memory = tx.get(id)
    status = Status.ARCHIVED if fields.get("state") is State.RETIRED else Status.ACTIVE
    plain = {k: v for k, v in (PolicyBody(**fields).to_body()).items() if k in fields}
    tx.put(type(memory)(**{**_fields(memory), "status": status, "body": {**memory.body, **plain}}))


def _fields(memory: Memory) -> dict[str, Any]:
    return {name: getattr(memory, name) for name in Memory.__slots__}


def episode(
    tx: Any, goal: str, calls: Sequence[tuple[str, str | None]], minutes: float = 0, session: str = "s"
) -> tuple[str, list[int]]:
    """A closed episode: what was asked, and calls of the shell with their error, where there was one. Its step numbers."""
    id, at = new_id(), T0 + timedelta(minutes=minutes)
    lived.open_episode(tx, id, session=session, agent="a", owner="ana", environment="web1", at=at)
    asked = Memory(new_id(), Kind.TRACE, goal, role="user")
    tx.put(asked)
    numbers = [lived.add_step(tx, id, asked.id, StepRole.USER, 1, at)]
    for given, error in calls:
        use = {"tool": "shell", "input": given, "output": "", "error": error, "ok": error is None}
        call = Memory(new_id(), Kind.TOOL_CALL, given, body={"use": use})
        tx.put(call)
        numbers.append(lived.add_step(tx, id, call.id, StepRole.TOOL, 1, at, tool="shell", ok=error is None))
    lived.close_episode(tx, id, "ended", at, at)
    return id, numbers


def teaches(tx: Any, id: str, policy_id: str, form: Form, value: float = 0.8, **steps: Sequence[int]) -> None:
    """Have an episode be evidence of a policy, beside what it teaches already."""
    there = lived.lessons_of(tx.db, id)
    lesson = Lesson(id, form.value, policy_id.encode()[:16], {k: tuple(v) for k, v in steps.items()}, value, policy_id)
    lived.put_lessons(tx, id, [*there, lesson])
    for number in (n for numbers in steps.values() for n in numbers):
        found = lived.steps_by_number(tx.db, [number])
        tx.link(Edge(policy_id, found[number].id, EdgeType.DERIVED_FROM))


def installs(tx: Any, path: str, package: str, minutes: float = 0, *, fix: str | None = None, library: str = "") -> str:
    """An episode in which a package was installed; with a fix, after its headers were."""
    calls: list[tuple[str, str | None]] = [(f"pip install {package}", None), (f'python -c "import {package}"', None)]
    if fix is not None:
        error = f"building {package}\nfatal error: {library}.h: No such file or directory\nerror: failed"
        calls = [(f"pip install {package}", error), (f"apt-get install -y {library}-dev", None), *calls]
    id, numbers = episode(tx, f"install the package {package}", calls, minutes)
    teaches(tx, id, path, Form.PATH, goal=numbers[:1], done=numbers[-2:], failed=numbers[1:2] if fix else ())
    if fix is not None:
        teaches(tx, id, fix, Form.FIX, failed=numbers[1:2], done=numbers[2:3], resolved=numbers[3:4])
    return id


def tried(tx: Any, memory: str, outcome: str, minutes: float = 60, cube: str = "") -> str:
    """A trial of something learned in an episode of its own, and what came of it."""
    id, _ = episode(tx, "something else", (), minutes)
    at = T0 + timedelta(minutes=minutes)
    lived.hand_out(tx, memory, id, at, cube=cube)
    lived.resolve_trial(tx, memory, id, outcome, 1.0 if outcome == "pass" else -1.0, None, at, cube=cube)
    return id
