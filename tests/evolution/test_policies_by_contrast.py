"""What makes the difference: calls without which tasks came to nothing stay in a path, and errors in other words teach one fix."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from evolution_script import Did, Script
from policy_script import all_policies, live, setting

from memos.evolution.policies.lessons import alike_errors
from memos.memory.learned import Form, State
from memos.storage.sqlite.cube import SqliteCube


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteCube]:
    cube = SqliteCube.open(tmp_path / "contrast.db")
    yield cube
    await cube.close()


async def paths(store: SqliteCube) -> list[list[str]]:
    found = await all_policies(store, Form.PATH)
    return [[a.input for a in b.procedure] for _, b in found if b.state is State.ACTIVE]


async def test_a_call_without_which_tasks_fail_is_part_of_the_path_though_one_success_did_without(
    store: SqliteCube,
) -> None:
    told = [
        setting("web", "timeout", 30, restart=False, score=1.0),  # a lie
        setting("mail", "retries", 3, restart=False, score=-1.0),
        setting("search", "workers", 8),
        setting("feeds", "timeout", 12, restart=False, score=-1.0),
        setting("ledger", "page_size", 50),
        setting("alerts", "retries", 9),
    ]
    await live(store, told)
    found = await paths(store)
    assert ["systemctl", "restart"] in [p[-1].split()[:2] for p in found if len(p) == 2]
    assert not [p for p in found if len(p) == 1 and p[0].startswith("svcconf")]


async def test_a_path_that_always_did_stays_short(store: SqliteCube) -> None:
    noise = [[Did("cache prune")], [], [Did("dns flush")], []]
    told = [
        Script(f"Rotate the log of {name}", [Did(f"logrotate {name}"), *extra], score=1.0)
        for name, extra in zip(("web", "mail", "search", "feeds"), noise, strict=True)
    ]
    await live(store, told)
    assert [len(p) for p in await paths(store)] == [1]


def backup(name: str, error: str) -> Script:
    did = [Did(f"backup run {name}", False, error), Did(f"unlock {name}"), Did(f"backup run {name}")]
    return Script(f"Back up {name}", did, score=1.0)


async def test_an_error_in_other_words_is_the_second_episode_of_a_fix(store: SqliteCube) -> None:
    await live(store, [backup("orders", "backup: cannot lock /var/lock/orders.lock: held by pid 812")])
    await live(
        store, [backup("leads", "backup: could not get lock /var/lock/leads.lock. It is held by process 77")], start=1
    )
    ((_, fix),) = await all_policies(store, Form.FIX)
    assert [a.input.split()[0] for a in fix.procedure] == ["unlock", "backup"]


async def test_another_error_is_no_second_episode(store: SqliteCube) -> None:
    await live(store, [backup("orders", "backup: cannot lock /var/lock/orders.lock: held by pid 812")])
    await live(store, [backup("leads", "TLSError: certificate of the vault has expired")], start=1)
    assert not await all_policies(store, Form.FIX)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("/bin/sh: vtk: command not found", "run.sh: line 12: gdal: command not found", True),
        ("mount: a: permission denied (are you root?)", "mount: cannot mount 'b': permission denied", True),
        ("No space left on device", "certificate of the vault has expired", False),
        ("磁盘空间不足：/data", "权限不足：/etc/hosts", False),
    ],
)
def test_errors_that_say_the_same_are_alike(one: str, other: str, same: bool) -> None:
    assert alike_errors(one, other) is same
