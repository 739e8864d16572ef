"""`memos reread`, `memos cubes configure` and `memos add --reading`, with a model that a server of the test plays."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import Answer, Memos

from llm_server import LlmServer
from stubs import child_env

FED = "Tom is fed at seven."
FACT = {
    "facts": [{"kind": "fact", "who": "Tom", "what": "feeding time", "value": "seven", "text": FED, "by": [1]}],
    "names": [],
}


@pytest.fixture
def server() -> Iterator[LlmServer]:
    with LlmServer() as made:
        made.otherwise = json.dumps(FACT)
        yield made


def run(home: Path, server: LlmServer, *words: str, code: int = 0) -> Any:
    env = child_env() | {"MEMOS_LLM": "openai-compatible:stub", "MEMOS_LLM_URL": server.url, "MEMOS_EMBEDDER": "none"}
    done = subprocess.run(
        [sys.executable, "-m", "memos.cli", "--home", str(home), "--user", "ann", "--json", *words],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, (done.stdout, done.stderr)
    return json.loads(done.stdout or done.stderr)


def texts(home: Path, server: LlmServer) -> list[str]:
    return [m["text"] for m in run(home, server, "list", "--all")["items"]]


def test_a_model_that_is_configured_reads_what_is_added_and_reads_it_anew(tmp_path: Path, server: LlmServer) -> None:
    assert run(tmp_path, server, "add", "Tom gets his food at seven.", "--reading", "fast")["pending"] is False
    assert FED not in texts(tmp_path, server) and not server.requests
    done = run(tmp_path, server, "reread", "--all")
    assert (done["records"], done["pending"]) == (1, False)
    assert FED in texts(tmp_path, server)
    run(tmp_path, server, "add", "At seven Tom is fed, as I said.")
    assert len(server.requests) == 2


def test_an_add_does_not_wait_long_for_a_model_that_is_away(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server takes no connection: each try would wait for seconds, and is made again."""
    monkeypatch.setenv("MEMOS_LLM", "openai-compatible:stub")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setenv("MEMOS_LLM_URL", f"http://127.0.0.1:{nobody.getsockname()[1]}")
        monkeypatch.setattr("memos.models.resilience.RetryPolicy.wait", lambda *_: 4.0)  # patient as with a slow net
        begun = time.monotonic()
        added = answer("add", "I live in Oslo.")
        assert time.monotonic() - begun < 6.0
    (notice,) = added["notices"]
    assert notice.startswith("stored; not read by the model yet, only by rules: ") and "memos flush" in notice
    assert added["pending"] and answer("list", "--kind", "profile")["items"][0]["text"].endswith("lives in Oslo.")


def test_a_cube_is_configured_and_shown(memos: Memos, answer: Answer) -> None:
    answer("add", "I live in Oslo.", "--user", "ann", "--no-wait")
    shown = answer(
        "cubes", "configure", "--user", "ann", "--mode", "fast", "-i", "Only cats.", "-t", "pet", "-t", "vet"
    )
    assert shown == {"mode": "fast", "instructions": "Only cats.", "tags": ["pet", "vet"]}
    assert answer("cubes", "configure", "--user", "ann") == shown
    assert answer("cubes", "configure", "--user", "ann", "--no-tags")["tags"] == []
    assert "Only cats." in memos("cubes", "configure", "--user", "ann").stdout
    memos("cubes", "configure", "--user", "ann", "--mode", "quick", code=2)


def test_without_a_model_it_is_said_what_to_set(memos: Memos, answer: Answer) -> None:
    added = answer("add", "I live in Oslo.", "--user", "ann", "--reading", "fine")
    assert any("MEMOS_LLM" in notice for notice in added["notices"])
    assert "MEMOS_LLM" in memos("reread", "--all", "--user", "ann").stdout
    later = memos("reread", "--everything", "--no-wait", "--user", "ann").stdout
    assert "1 message to be read anew" in later and "`memos flush`" in later and "flush()" not in later
    memos("add", "x", "--reading", "slow", code=2)
