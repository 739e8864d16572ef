"""The same import and exports, through a server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from exports import chats, written
from typer.testing import CliRunner

from memos.cli.main import app
from memos.client.client import AsyncClient
from memos.client.sync import Client
from memos.moving.bring import bring, bring_now
from memos.moving.items import Call, Source, Worked
from memos.moving.jsonl_out import write_jsonl_now
from memos.moving.markdown_out import write_markdown_now


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("fastapi")
    from serving import Starter

    start = Starter(tmp_path_factory.mktemp("served"))
    try:
        yield start().url
    finally:
        start.end()


def test_a_client_imports_and_exports(url: str, tmp_path: Path) -> None:
    path = written(tmp_path / "conversations.json", chats(15, 10))
    with Client(url, user="ada") as client:
        assert bring_now(client, path, dry_run=True).new == 150
        assert client.count(kinds=["trace"]) == 0
        assert bring_now(client, path).new == 150
        assert bring_now(client, path).known == 150
        client.flush()
        assert client.count(kinds=["trace"]) == 150
        done = write_jsonl_now(client, tmp_path / "out.jsonl")
        assert done.memories == client.count()
        assert bring_now(client, tmp_path / "out.jsonl", user="bob").messages == 150
        assert write_markdown_now(client, tmp_path / "md").files >= 15


def test_the_command_works_on_a_server(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMOS_HOME", str(tmp_path / "home"))
    path = written(tmp_path / "conversations.json", chats(2))
    for new in (8, 0):
        done = CliRunner().invoke(app, ["import", str(path), "--url", url, "--user", "dave", "--json"])
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["new"] == new
    out = ["export", str(tmp_path / "o.jsonl"), "--format", "jsonl", "--url", url, "--user", "dave", "--json"]
    assert json.loads(CliRunner().invoke(app, out).stdout)["memories"] >= 8
    assert not (tmp_path / "home").exists()


async def test_an_asynchronous_client_reports_turns(url: str) -> None:
    turn = Worked(
        "w",
        "t1",
        "Fix the build",
        "Done",
        (Call("bash", "make", "ok", ok=True),),
        "2025-06-26T15:00:00Z",
        over=True,
        reward=1.0,
    )
    source = Source("stub", "a stub", lambda _: True, lambda _: iter((turn,)))
    async with AsyncClient(url, user="carol") as client:
        assert (await bring(client, "-", source=source)).new == 1
        assert (await bring(client, "-", source=source)).new == 0
        assert len((await client.episodes()).items) == 1
