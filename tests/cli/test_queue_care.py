"""Looking after the queue from the command line: short ids, what cannot be done, the doctor, and whose queue it is."""

from __future__ import annotations

import asyncio
import socket
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest
from cli_helpers import Answer, Memos

from memos import MemOS
from memos.cli.variables import known_variables, unknown_variables
from memos.settings import Settings
from memos.storage.sqlite.queue import SqliteTaskQueue
from memos.storage.tasks import NewTask, Outcome, Verdict


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMOS_QUEUE", raising=False)


def make(home: Path, *tasks: NewTask, dead: Sequence[str] = ()) -> None:
    """Tasks in the queue of a data folder; those whose id is `dead` failed for good."""

    async def run() -> None:
        queue = SqliteTaskQueue(home)
        await queue.enqueue(tasks)
        for _ in dead:
            lease = await queue.lease("w", ["embed"])
            assert lease is not None
            await queue.settle(lease, [Outcome(t.id, Verdict.DEAD, error="no such model") for t in lease.tasks])
        await queue.close()

    asyncio.run(run())


def new(id: str, kind: str = "digest", user: str = "ann") -> NewTask:
    return NewTask(kind, user, f"{kind}:{id}", "ann", id=id)


ONE, TWO, THREE = (f"0190aaaa-0000-7000-8000-00000000{end}" for end in ("1111", "2222", "3333"))


@pytest.fixture
def queue(home: Path) -> None:
    """Two tasks that wait and one that failed."""
    make(home, new(ONE), new(TWO), new(THREE, "embed", "system"), dead=[THREE])


@pytest.mark.usefixtures("queue")
class TestIds:
    def test_a_task_is_meant_by_the_end_or_the_whole_of_its_id(self, answer: Answer) -> None:
        for text in (ONE, "001111", ONE[-9:], ONE.upper()[-8:]):
            assert answer("tasks", "show", text)["id"] == ONE

    def test_an_ambiguous_one_names_those_it_may_be(self, memos: Memos) -> None:
        said = memos("tasks", "show", "0190aaaa", code=2).stderr
        assert ONE in said and TWO in said and THREE in said

    def test_what_is_no_part_of_an_id_is_refused(self, memos: Memos) -> None:
        assert "is not a task id" in memos("tasks", "show", "12", code=2).stderr

    def test_the_list_shows_short_ids_and_whose_work_nobody_asked_for(self, memos: Memos) -> None:
        shown = memos("tasks", "list").stdout
        assert "00001111" in shown and ONE not in shown
        assert "(system)" in shown

    def test_retry_and_cancel_take_short_ids(self, answer: Answer) -> None:
        assert answer("tasks", "retry", "003333") == {"retried": 1}
        assert answer("tasks", "cancel", "001111", "003333") == {"cancelled": 2}
        assert [t["state"] for t in answer("tasks", "list", "--kind", "embed")] == ["cancelled"]

    @pytest.mark.parametrize("verb", ["retry", "cancel"])
    def test_a_task_that_is_not_there_is_said(self, memos: Memos, verb: str) -> None:
        assert "does not exist" in memos("tasks", verb, str(uuid.UUID(int=7)), code=2).stderr
        assert "no task has an id" in memos("tasks", verb, "abcdef12", code=2).stderr

    def test_a_task_in_no_state_for_it_is_said_and_nothing_is_changed(self, memos: Memos, answer: Answer) -> None:
        said = memos("tasks", "retry", THREE, ONE, code=2).stderr
        assert f"task {ONE} is waiting; only one that is failed can be tried again" in said
        assert answer("tasks", "show", THREE)["state"] == "failed"
        answer("tasks", "cancel", ONE)
        assert "is cancelled; only one that is failed or waiting" in memos("tasks", "cancel", ONE, code=2).stderr

    def test_ids_and_a_user_are_not_both_given(self, memos: Memos) -> None:
        assert "--of goes with --all" in memos("tasks", "retry", ONE, "--of", "ann", code=2).stderr


@pytest.mark.usefixtures("queue")
class TestWords:
    def test_a_kind_that_is_none_names_those_there_are(self, memos: Memos) -> None:
        assert "digest, embed" in memos("tasks", "list", "--kind", "foo", code=2).stderr

    def test_cancel_says_what_it_takes(self, memos: Memos) -> None:
        assert "cancelled 1 failed task;" in memos("tasks", "cancel", "--all").stdout
        assert "cancelled 1 task;" in memos("tasks", "cancel", ONE).stdout
        assert "1 failed task will" not in memos("tasks", "retry", "--all").stdout

    def test_what_was_not_measured_is_a_dash(self, memos: Memos) -> None:
        digest, embed = (
            line for line in memos("tasks", "stats").stdout.splitlines() if "kind" not in line and " " in line
        )
        assert digest.split()[0] == "digest" and "0.00" not in digest
        assert embed.split()[4:] == ["-", "0", "-"]

    def test_the_data_folder_and_the_queue_are_named(self, memos: Memos, home: Path) -> None:
        assert memos("tasks", "list").stderr == f"memos: data folder {home}, queue in it\n"
        assert memos("--json", "tasks", "list").stderr == ""

    def test_that_more_is_there_is_said(self, memos: Memos) -> None:
        assert "--limit shows more" in memos("tasks", "list", "--limit", "2").stderr


class TestDoctor:
    def test_a_failed_task_is_a_problem_with_the_command_that_shows_it(
        self, memos: Memos, answer: Answer, home: Path
    ) -> None:
        memos("add", "hello", "--user", "ann")
        make(home, new(ONE), new(THREE, "embed"), dead=[THREE])
        shown = memos("doctor", code=1).stdout
        assert "1 task failed for good (1 embed): `memos tasks list --state failed`" in " ".join(shown.split())
        found = answer("doctor", code=1)["queue"]
        assert (found["home"], found["reachable"]) == (str(home / "control.db"), True)
        assert (found["waiting"], found["failed"]) == (1, {"embed": 1})

    def test_a_queue_that_cannot_be_reached_is_a_problem_without_its_password(
        self, memos: Memos, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("redis")
        memos("add", "hello")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # nobody listens
            monkeypatch.setenv("MEMOS_QUEUE", f"redis://:hunter2@127.0.0.1:{taken.getsockname()[1]}/0")
            said = memos("doctor", code=1)
        assert "cannot be used" in said.stdout
        assert "hunter2" not in said.stdout + said.stderr

    def test_texts_without_vectors_are_a_problem_when_no_task_makes_them(
        self, memos: Memos, answer: Answer, home: Path
    ) -> None:
        memos("add", "The boiler was serviced.", "--user", "ann")
        assert answer("doctor")["problems"] == []  # without an embedder nothing lacks
        found = answer("doctor", "--embedder", "default", code=1)
        assert "cube ann: 1 text without a vector" in found["problems"][0]
        make(home, new(ONE, "embed"))
        assert answer("doctor", "--embedder", "default")["problems"] == []


class TestWhoseQueue:
    def test_another_queue_than_the_servers_is_warned_of(
        self, memos: Memos, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asyncio.run(_start(home))
        assert "warning" not in memos("tasks", "list").stderr
        _note(home, Settings(home, embedder="default", queue="redis://:hunter2@cache:6379/0#team"))
        said = memos("tasks", "list").stderr
        assert (
            f"the server that last ran on {home} uses the queue redis://***@cache:6379/0#team, this command sqlite"
            in said
        )
        assert "set MEMOS_QUEUE" in said
        said = memos("worker", "--drain").stderr
        assert "uses the queue redis://***@cache" in said
        assert "uses the embedder default, this command none; set MEMOS_EMBEDDER" in said
        assert "redis://***@cache" in memos("tasks", "stats").stderr  # the worker's word does not replace the server's
        assert b"hunter2" not in b"".join(file.read_bytes() for file in home.glob("control.db*"))

    def test_a_worker_names_its_place(self, memos: Memos, home: Path) -> None:
        assert f"memos worker: 2 slots, data folder {home}, queue in it" in memos("worker", "--drain").stderr


async def _start(home: Path) -> None:
    from memos import AsyncMemOS

    async with AsyncMemOS(home, embedder="none") as memos:
        await memos.start("server")


def _note(home: Path, settings: Settings) -> None:
    from memos.cubes.last_use import note_use
    from memos.storage.sqlite.registry import SqliteRegistry

    registry = SqliteRegistry(home)
    note_use(registry, "server", settings)
    registry.close()


class TestVariables:
    def test_a_slip_in_a_name_is_told_with_what_was_meant(self) -> None:
        env = {"MEMOS_SERVER_PROT": "1", "MEMOS_QUEU": "x", "MEMOS_PORT": "1", "MEMOS_SERVER_QUEUE": "x", "OTHER": "1"}
        said = "\n".join(unknown_variables(env))
        assert "unknown variable MEMOS_SERVER_PROT; did you mean MEMOS_SERVER_PORT?" in said
        assert "unknown variable MEMOS_QUEU; did you mean MEMOS_QUEUE?" in said
        assert "unknown variable MEMOS_PORT; did you mean MEMOS_SERVER_PORT?" in said
        assert "unknown variable MEMOS_SERVER_QUEUE; did you mean MEMOS_QUEUE?" in said
        assert "OTHER" not in said

    def test_every_known_one_is_fine(self) -> None:
        assert unknown_variables(dict.fromkeys(known_variables(), "1")) == []

    def test_config_and_worker_warn_and_go_on(self, memos: Memos, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MEMOS_SERVER_FOO", "1")
        for command in (("config",), ("worker", "--drain")):
            assert "warning: unknown variable MEMOS_SERVER_FOO" in memos(*command).stderr

    def test_config_shows_no_password(self, memos: Memos, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MEMOS_QUEUE", "redis://:hunter2@cache:6379/0")
        shown = memos("config").stdout
        assert "***@cache" in shown and "hunter2" not in shown


def test_a_task_of_a_real_add_is_found_by_its_short_id(memos: Memos, home: Path) -> None:
    with MemOS(home, embedder="none", workers=0) as system:
        added = system.add("I moved to Oslo.", user="ann", task_id="mine")
    assert added.task is not None
    assert "task id of the caller" in memos("tasks", "show", added.task[-8:]).stdout
