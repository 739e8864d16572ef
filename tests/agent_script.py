"""An agent that installs packages, as its reports: every package lacks a library, and what it lacks is in the error."""

from __future__ import annotations

from typing import Any

PACKAGES = (
    ("lxml", "libxml2"),
    ("psycopg", "libpq"),
    ("pillow", "libjpeg"),
    ("cffi", "libffi"),
    ("pynacl", "libsodium"),
)
GOAL = "Install the python package {} in this container."
SKILL = """---
name: boil-water
description: Boils water. Use it before making tea.
---

# Boil water

1. Fill the kettle.
2. Switch it on.
"""


def install(face: Any, package: str, library: str, *, session: str | None = None, **where: Any) -> Any:
    """One episode from the message to the end of its session, over a `MemOS` or a `Client`; what `start_turn` answered."""
    at = {"session": session or f"ci-{package}", **where}
    begun = face.start_turn(GOAL.format(package), environment="alpine", **at)
    face.report_step("bash", f"pip install {package}", error=f"error: library '{library}' is missing", ok=False, **at)
    face.report_step("bash", f"apk add {library}-dev", f"OK: installed {library}-dev", ok=True, **at)
    face.report_step("bash", f"pip install {package}", f"Successfully installed {package}", ok=True, **at)
    face.end_turn(f"{package} is installed.", **at)
    face.report_outcome(1, "Great, thanks!", **at)
    face.end_session(at["session"], **where)
    return begun


def learn(face: Any, **where: Any) -> list[Any]:
    """The whole of it: every package, each learned from before the next."""
    begun = []
    for package, library in PACKAGES:
        begun.append(install(face, package, library, **where))
        face.evolve(now=True, **where)
    return begun
