"""Without a framework, importing its adapter says what to install; the package itself needs none of them."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("langgraph", "langgraph", "langgraph"),
        ("openai_agents", "agents", "openai-agents"),
        ("anthropic_memory", "anthropic", "anthropic"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("llama_index", "llama_index", "llamaindex"),
        ("crewai", "crewai", "crewai"),
    ],
)
def test_a_missing_framework_is_named(module: str, package: str, extra: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; import memos.compat.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert f"pip install '.[{extra}]'" in done.stderr.strip().splitlines()[-1]


def test_importing_the_package_loads_no_framework() -> None:
    code = (
        "import sys, memos.compat, memos.door, memos.compat.memory_files, memos.compat.items, memos.compat.matching; "
    )
    code += "print(sorted({'langgraph', 'langchain_core', 'agents', 'openai', 'anthropic', 'pydantic_ai'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr
