"""A hard deletion leaves no word of a step in what was learned from it, and what the rest teaches is learned again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from policy_script import all_policies, header, learn_in, live, only

from memos.memory.learned import PolicyBody, State
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteCube]:
    cube = SqliteCube.open(tmp_path / "forgetting.db")
    yield cube
    await cube.close()


async def steps_of(store: SqliteCube, id: str) -> list[str]:
    return [s.id for s in await store.lived(lived.steps, id)]


async def learn_due(store: SqliteCube) -> list[str]:
    """Learn from what is due, as the background does; returns which episodes that were."""
    out = []
    while due := await store.lived(lived.due, None, 1):
        await store.write(partial(learn_in, id=due[0]))
        out.append(due[0])
    return out


async def no_word_of(store: SqliteCube, word: str) -> None:
    def count(db: object) -> int:
        found = 0
        for (table,) in db.execute(
            "SELECT name FROM sqlite_schema WHERE type='table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
        ):  # type: ignore[attr-defined]
            for row in db.execute(f'SELECT * FROM "{table}"'):  # type: ignore[attr-defined]
                for value in row:
                    raw = value if isinstance(value, bytes) else str(value).encode()
                    found += word.encode() in raw
        return found

    assert await store.read_lived(count) == 0


async def test_a_deleted_episode_takes_the_words_of_the_policy_along_and_the_rest_tells_it_again(
    store: SqliteCube,
) -> None:
    ids = await live(store, [header("psycopg2", "libpq"), header("secretpack", "libsecret"), header("lxml", "libxml2")])
    before, body = await only(store, "fix")
    assert "libsecret" in str(body)
    await learn_due(store)
    doomed = await steps_of(store, ids[1])
    await store.write(lambda tx: tx.purge(doomed))
    assert await all_policies(store) == []
    await no_word_of(store, "secret")
    assert set(await learn_due(store)) == {ids[0], ids[2]}
    after, body = await only(store, "fix")
    assert after.id == before.id and (await store.lived(lived.counted, after.id)).support == 2
    assert body.state is State.ACTIVE and "secret" not in str(body)


async def test_a_deleted_step_takes_the_lesson_that_needs_it(store: SqliteCube) -> None:
    ids = await live(store, [header("psycopg2", "libpq"), header("secretpack", "libsecret")])
    steps = await store.lived(lived.steps, ids[1])
    fix = next(s for s in steps if s.use is not None and s.use.input.startswith("apt-get"))
    await store.write(lambda tx: tx.purge([fix.id]))
    assert await all_policies(store) == []
    await learn_due(store)
    assert await all_policies(store, "fix") == []  # one episode is left that shows it


async def test_former_versions_of_a_policy_keep_no_word_either(store: SqliteCube) -> None:
    ids = await live(store, [header("psycopg2", "libpq"), header("secretpack", "libsecret")])
    await live(store, [header(f"pack{n}x", f"lib{c}{c}x") for n, c in enumerate("abcdefghijklmnopqrst")], start=5)
    doomed = await steps_of(store, ids[1])
    await store.write(lambda tx: tx.purge(doomed))
    await learn_due(store)
    await no_word_of(store, "secret")
    memory, body = await only(store, "fix")
    assert body.state is State.ACTIVE and (await store.lived(lived.counted, memory.id)).support == 21


async def test_other_policies_stay_as_they_are(store: SqliteCube) -> None:
    from policy_script import setting

    ids = await live(
        store, [header("psycopg2", "libpq"), header("lxml", "libxml2"), setting("web", "a1", 3), setting("db", "b1", 4)]
    )
    kept, _ = await only(store, "path")
    await learn_due(store)
    doomed = await steps_of(store, ids[0])
    await store.write(lambda tx: tx.purge(doomed))
    await learn_due(store)
    ((memory, body),) = await all_policies(store)
    assert memory == kept and PolicyBody.of(memory) == body
