"""The OpenAPI description is true: schemathesis throws what it allows and what it forbids at a real server, and every answer
must be one that is documented.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from serving import Starter

from llm_server import LlmServer
from memos import MemOS

pytestmark = pytest.mark.slow
RANDOM = os.environ.get("MEMOS_TEST_RANDOM") == "1"  # as in conftest

# A request of the right shape is never answered 422. What no schema can say (a filter's fields, a time, a cursor) is 400.
ENDLESS = ("--exclude-path", "/v1/learning/stream")  # a stream without an end is tested in test_learning_stream.py
ACCEPTED = '"2xx", "3xx", "400", "401", "403", "404", "409", "412", "429"'
NATIVE = f"""
[checks.positive_data_acceptance]
expected-statuses = [{ACCEPTED}]
"""
# The wires of MemOS take more than they tell, and the cloud's tells of errors under 200; chat is 503 without a model.
OTHERS = """
[checks.positive_data_acceptance]
enabled = false
[checks.negative_data_rejection]
enabled = false
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "503"]
"""


@pytest.fixture
def llm() -> Iterator[LlmServer]:
    with LlmServer() as running:
        yield running


@pytest.mark.parametrize(
    ("routes", "config", "phases", "seconds"),
    [
        ("^/v1", NATIVE, "examples,coverage", 300),
        ("^/v1", NATIVE, "fuzzing", 15),
        ("^/v1", NATIVE, "stateful", 10),
        ("^/(product|api|compat|health|ready)", OTHERS, "examples,coverage,fuzzing", 35),
    ],
    ids=["v1-coverage", "v1-fuzzing", "v1-stateful", "others"],
)
def test_every_answer_is_a_documented_one(
    serve: Starter, llm: LlmServer, tmp_path: Path, routes: str, config: str, phases: str, seconds: int
) -> None:
    pytest.importorskip("schemathesis")
    with MemOS(tmp_path / "home", embedder="none") as memos:
        _, secret = memos.accounts.create_key("root", scopes=["admin"])
    live = serve(
        home=tmp_path / "home", MEMOS_LLM="openai-compatible:stub", MEMOS_LLM_URL=llm.url, MEMOS_READING="fast"
    )
    description = httpx2.get(f"{live.url}/openapi.json", timeout=60).json()
    (tmp_path / "openapi.json").write_text(json.dumps(flat(description)))
    (tmp_path / "st.toml").write_text(config)
    done = subprocess.run(
        [
            *(str(Path(sys.executable).with_name("st")), "--config-file", "st.toml", "run", "openapi.json"),
            *("--url", live.url, "--header", f"Authorization: Bearer {secret}", "--include-path-regex", routes),
            *("--phases", phases, "--max-examples", "10", "--max-time", str(seconds), "--request-timeout", "60"),
            *("--continue-on-failure", "--warnings", "off", "--no-color", *ENDLESS),
            *(("--generation-database", "none") if RANDOM else ("--generation-deterministic",)),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=seconds + 240,
    )
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]
    assert live.process.poll() is None


def flat(description: dict[str, Any]) -> dict[str, Any]:
    """The description with filters one level deep: their combinations, each in each, would be tried for hours."""
    made = copy.deepcopy(description)
    schemas = made["components"]["schemas"]
    leaf = copy.deepcopy(schemas["Filter"])
    leaf["title"] = "Leaf"
    del leaf["properties"]
    schemas["Leaf"] = leaf
    inner = {"$ref": "#/components/schemas/Leaf"}
    properties = schemas["Filter"]["properties"]
    properties["and"]["items"] = properties["or"]["items"] = properties["not"] = inner
    return made
