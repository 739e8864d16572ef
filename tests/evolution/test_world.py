"""Statements about an environment: made from policies and calls, merged, and corrected by what later episodes show."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from evolution_script import Did, Script, play

from memos.evolution.by_hand import set_state
from memos.evolution.learn import CaseBuilder
from memos.evolution.world import world
from memos.evolution.world.facts import things
from memos.evolution.world.world import restate
from memos.memory.ids import new_id
from memos.memory.learned import Action, Form, Parameter, PolicyBody, State, WorldBody
from memos.memory.model import Edge, EdgeType, Kind, Memory, Status
from memos.storage.ports import ANY_STATUS, View
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.lived import Lesson

HEADER = "fatal error: {header}.h: No such file or directory"
FIX = PolicyBody(
    form=Form.FIX,
    state=State.ACTIVE,
    trigger="a header is missing",
    error=HEADER,
    tool="shell",
    procedure=(Action("shell", "apt-get install lib{header}-dev"),),
    parameters=(Parameter("package", "goal", ("lxml", "pillow")), Parameter("header", "error", ("xml2", "jpeg"))),
)
AVOID = PolicyBody(
    form=Form.AVOID,
    state=State.ACTIVE,
    trigger="a file is to be written to /opt",
    error="write: cannot create '/opt/{name}': Read-only file system",
    tool="shell",
    procedure=(Action("shell", "write /opt/{name}"),),
    parameters=(Parameter("name", "input", ("a.txt", "b.txt")),),
)
LOCK = PolicyBody(
    form=Form.FIX,
    state=State.CANDIDATE,
    trigger="the app does not start",
    error="RuntimeError: pending migrations",
    tool="shell",
    procedure=(Action("shell", "db migrate"),),
)


class World:
    """A cube in which episodes are played and learned from."""

    def __init__(self, store: SqliteCube) -> None:
        self.store, self.n = store, 0

    async def do(self, fn: Callable[[Any], Any]) -> Any:
        return await self.store.write(fn)

    async def policy(self, body: PolicyBody) -> str:
        memory = Memory(new_id(), Kind.POLICY, body.trigger, owner="u", body=body.to_body())
        await self.do(lambda tx: tx.put(memory))
        return memory.id

    async def episode(
        self, did: Sequence[Did], policy: str | None = None, *, environment: str = "web1", score: float | None = None
    ) -> str:
        """Play an episode and learn from it; with a policy, its failed call, what came next and the retry are evidence of it."""
        self.n += 1
        script = Script("do it", did, environment=environment, score=score)

        def run(tx: Any) -> str:
            id = play(tx, script, self.n)
            if policy is not None:
                teach(tx, id, policy)
            self.restate(tx, id, [policy] if policy else [])
            return id

        found: str = await self.do(run)
        return found

    def restate(self, tx: Any, id: str, policies: Sequence[str]) -> None:
        case = CaseBuilder(tx.db).case(id)
        assert case is not None
        lived.set_reward(tx, id, case.reward.value, case.reward.confidence, tx.now)
        restate(tx, case, policies)

    async def again(self, id: str, *policies: str) -> None:
        await self.do(lambda tx: self.restate(tx, id, policies))

    async def change(self, id: str, **fields: Any) -> None:
        def run(tx: Any) -> None:
            memory = tx.get(id)
            body = replace(PolicyBody.of(memory), **fields)
            status = Status.ARCHIVED if body.state is State.RETIRED else Status.ACTIVE
            tx.put(replace(memory, status=status, body={**memory.body, **body.to_body()}))

        await self.do(run)

    async def statements(self, section: str | None = None, *, all_: bool = False) -> list[Memory]:
        view = View(statuses=ANY_STATUS) if all_ else View()
        found = (await self.store.list(view=view)).items
        kept = [m for m in found if m.kind is Kind.WORLD_MODEL and section in (None, WorldBody.of(m).section)]
        return sorted(kept, key=lambda m: m.text)

    async def one(self, section: str, *, all_: bool = True) -> Memory:
        (found,) = await self.statements(section, all_=all_)
        return found

    async def events(self) -> list[str]:
        return [
            e.what for e in await self.store.lived(lived.events, after=0, limit=1_000) if e.what.startswith("world")
        ]


def teach(tx: Any, id: str, policy: str) -> None:
    steps = [s for s in lived.steps(tx.db, id) if s.use is not None]
    failed = next(s for s in steps if s.use is not None and s.use.ok is False)
    later = [s.number for s in steps if s.number > failed.number]
    numbers = {"failed": (failed.number,), "done": tuple(later[:-1]), "resolved": tuple(later[-1:])}
    numbers = {k: v for k, v in numbers.items() if v}
    lived.put_lessons(tx, id, [Lesson(id, "fix", policy.encode()[:16], numbers, 0.8, policy)])
    tx.link(Edge(policy, failed.id, EdgeType.DERIVED_FROM))


def install(package: str, header: str) -> list[Did]:
    error = f"building {package}\nfatal error: {header}.h: No such file or directory\nerror: failed"
    return [
        Did(f"pip install {package}", False, error),
        Did(f"apt-get install lib{header}-dev"),
        Did(f"pip install {package}"),
    ]


def migrate() -> list[Did]:
    return [Did("app start", False, "RuntimeError: pending migrations"), Did("db migrate"), Did("app start")]


def written(name: str, ok: bool) -> list[Did]:
    return [Did(f"write /opt/{name}", ok, "" if ok else f"write: cannot create '/opt/{name}': Read-only file system")]


@pytest.fixture
async def web(tmp_path: Path) -> AsyncIterator[World]:
    store = SqliteCube.open(tmp_path / "w.cube")
    yield World(store)
    await store.close()


async def test_a_fix_says_what_fails_without_what(web: World) -> None:
    fix = await web.policy(FIX)
    await web.episode(install("lxml", "xml2"), fix)
    await web.episode(install("pillow", "jpeg"), fix)
    statement = await web.one("inference")
    assert statement.text == (
        "On web1, `shell`: `pip install {package}` fails with “fatal error: {header}.h: No such file or directory” unless "
        "`shell`: `apt-get install lib{header}-dev` ran before it."
    )
    body = WorldBody.of(statement)
    assert (body.environment, body.policies, body.holds, body.fails) == ("web1", (fix,), 2, 0)
    assert statement.slot is not None and statement.slot.startswith("env:web1|inference|shell|")
    edges = [link.edge for link in await web.store.neighbors([statement.id], direction="out")]
    assert [(e.type, e.dst) for e in edges] == [(EdgeType.DERIVED_FROM, fix)]


async def test_an_avoid_says_what_is_refused_there(web: World) -> None:
    avoid = await web.policy(AVOID)
    await web.episode(written("a.txt", False), avoid)
    await web.episode(written("b.txt", False), avoid)
    statement = await web.one("constraint")
    assert statement.text.startswith(
        "On web1, /opt is read-only: `shell`: `write /opt/{name}` is refused with “write: cannot"
    )
    assert WorldBody.of(statement).subject == "/opt"


async def test_a_different_call_that_works_instead_is_told_as_such(web: World) -> None:
    body = replace(
        FIX,
        error="queue: invalid name '{name}': must begin with 'ops-'",
        procedure=(Action("shell", "queue create ops-{name}"),),
        parameters=(Parameter("name", "goal", ("mail", "jobs")),),
    )
    fix = await web.policy(body)
    for name in ("mail", "jobs"):
        error = f"queue: invalid name '{name}': must begin with 'ops-'"
        await web.episode([Did(f"queue create {name}", False, error), Did(f"queue create ops-{name}")], fix)
    statement = await web.one("constraint")
    assert statement.text == (
        "On web1, `shell`: `queue create {name}` fails with “queue: invalid name '{name}': must begin with 'ops-'”; "
        "`shell`: `queue create ops-{name}` works there."
    )


async def test_a_statement_falls_when_what_fails_by_it_works_without_and_comes_back_when_it_holds(web: World) -> None:
    fix = await web.policy(LOCK)
    await web.episode(migrate(), fix)
    await web.episode(migrate(), fix)
    first = await web.one("inference")
    await web.episode([Did("app start")])
    shaken = await web.one("inference")
    assert shaken.status is Status.ACTIVE and shaken.confidence < first.confidence
    assert (WorldBody.of(shaken).holds, WorldBody.of(shaken).fails) == (2, 1)
    await web.episode([Did("app start")])
    await web.episode([Did("app start")])
    fallen = await web.one("inference")
    assert fallen.status is Status.ARCHIVED and fallen.valid_to is not None and fallen.confidence < 0.5
    edges = [link.edge for link in await web.store.neighbors([fallen.id], types=[EdgeType.CONTRADICTS])]
    assert len(edges) == 3 and all(e.dst == fallen.id for e in edges)
    await web.episode(migrate(), fix)
    await web.episode(migrate(), fix)
    back = await web.one("inference")
    assert back.id == first.id and back.status is Status.ACTIVE and back.valid_to is None
    assert (await web.events()).count("world.contradicted") == 3
    assert [w for w in await web.events() if w in ("world.retired", "world.held_again")] == [
        "world.retired",
        "world.held_again",
    ]


async def test_what_works_after_its_fix_or_for_another_object_or_elsewhere_contradicts_nothing(web: World) -> None:
    fix = await web.policy(FIX)
    await web.episode(install("lxml", "xml2"), fix)
    await web.episode(install("pillow", "jpeg"), fix)
    await web.episode([Did("pip install requests")])
    await web.episode([Did("apt-get install libxml2-dev"), Did("pip install lxml")])
    await web.episode([Did("pip install lxml")], environment="web2")
    assert WorldBody.of(await web.one("inference")).fails == 0
    await web.episode([Did("pip install lxml")])
    assert WorldBody.of(await web.one("inference")).fails == 1


async def test_an_avoid_is_contradicted_by_any_call_of_its_pattern_that_works(web: World) -> None:
    avoid = await web.policy(AVOID)
    await web.episode(written("a.txt", False), avoid)
    await web.episode(written("b.txt", False), avoid)
    for name in ("c.txt", "d.txt", "e.txt"):
        await web.episode(written(name, True))
    fallen = await web.one("constraint")
    assert fallen.status is Status.ARCHIVED and WorldBody.of(fallen).fails == 3


async def test_policies_that_say_the_same_share_a_statement(web: World) -> None:
    one, two = await web.policy(LOCK), await web.policy(replace(LOCK, trigger="it does not start"))
    await web.episode(migrate(), one)
    await web.episode(migrate(), two)
    statement = await web.one("inference")
    assert set(WorldBody.of(statement).policies) == {one, two} and WorldBody.of(statement).holds == 2
    await web.change(one, state=State.RETIRED)
    last = await web.episode([Did("uptime")])
    await web.again(last, one)
    assert (await web.one("inference")).status is Status.ACTIVE
    await web.change(two, state=State.RETIRED)
    await web.again(last, two)
    assert (await web.one("inference")).status is Status.ARCHIVED


async def test_a_policy_that_is_reworded_gives_its_statement_a_new_version(web: World) -> None:
    fix = await web.policy(LOCK)
    await web.episode(migrate(), fix)
    first = await web.one("inference")
    await web.change(fix, error="RuntimeError: pending migrations, schema is at revision {number}")
    await web.episode(migrate(), fix)
    second = await web.one("inference")
    assert second.id == first.id and second.version > first.version and "revision {number}" in second.text
    texts = {v.memory.text for v in await web.store.history(first.id)}
    assert texts == {first.text, second.text}


async def test_learning_twice_changes_nothing(web: World) -> None:
    fix = await web.policy(LOCK)
    await web.episode(migrate(), fix)
    id = await web.episode(migrate(), fix)
    against = await web.episode([Did("app start")])
    before = await web.statements(all_=True)
    events = await web.events()
    for _ in range(2):
        await web.again(id, fix)
        await web.again(against)
    assert await web.statements(all_=True) == before
    assert await web.events() == events


async def test_what_a_person_retired_stays_retired_and_what_one_edited_keeps_its_words(web: World) -> None:
    fix, avoid = await web.policy(LOCK), await web.policy(AVOID)
    await web.episode(migrate(), fix)
    await web.episode(written("a.txt", False), avoid)
    lock, ro = await web.one("inference"), await web.one("constraint")
    await web.do(lambda tx: set_state(tx, lock.id, State.RETIRED, "wrong"))

    def edit(tx: Any) -> None:
        memory = tx.get(ro.id)
        tx.put(replace(memory, text="/opt is a snapshot.", body={**memory.body, "edited": True}))

    await web.do(edit)
    await web.episode(migrate(), fix)
    await web.change(avoid, error="write: Read-only file system")
    await web.episode(written("b.txt", False), avoid)
    assert (await web.one("inference")).status is Status.ARCHIVED
    kept = next(m for m in await web.statements("constraint") if m.id == ro.id)
    assert kept.text == "/opt is a snapshot." and WorldBody.of(kept).holds == 2


async def test_deleted_steps_take_the_policy_and_its_statement_along(web: World) -> None:
    fix = await web.policy(LOCK)
    await web.episode(migrate(), fix)
    assert await web.statements("inference")
    steps = [link.edge.dst for link in await web.store.neighbors([fix], direction="out")]
    await web.do(lambda tx: tx.purge(steps))
    assert await web.statements("inference", all_=True) == []


async def test_a_copy_of_a_policy_states_nothing_here(web: World) -> None:
    avoid = await web.policy(AVOID)
    last = await web.episode([Did("uptime")])
    await web.again(last, avoid)
    assert await web.statements("constraint", all_=True) == []


# -- what is there -------------------------------------------------------------------------------------------------


async def test_tools_paths_hosts_and_services_are_stated_once_two_episodes_show_them(web: World) -> None:
    did = [
        Did("systemctl restart nginx"),
        Did("cp a.conf /etc/nginx/sites/a.conf"),
        Did("curl http://db.internal/health"),
    ]
    await web.episode(did)
    assert await web.statements("environment") == []
    await web.episode([*did, Did("ls /srv/only/once")])
    texts = [m.text for m in await web.statements("environment")]
    assert texts == [
        "On web1, the host `db.internal` is reached.",
        "On web1, there is `/etc/nginx/sites/a.conf`.",
        "On web1, there is `/etc/nginx/sites`.",
        "On web1, there is the service `nginx`.",
        "On web1, there is the tool `shell`, used for `cp`, `curl`, `systemctl restart`; nearly all of its calls work.",
    ]


async def test_a_path_that_is_gone_is_not_stated_any_more_until_it_is_seen_again(web: World) -> None:
    for _ in range(2):
        await web.episode([Did("cat /srv/app/run.sh")])
    lost = [Did("cat /srv/app/run.sh", False, "cat: /srv/app/run.sh: No such file or directory")]
    for _ in range(3):
        await web.episode(lost)
    assert "On web1, there is `/srv/app/run.sh`." not in [m.text for m in await web.statements("environment")]
    for _ in range(3):
        await web.episode([Did("cat /srv/app/run.sh")])
    assert "On web1, there is `/srv/app/run.sh`." in [m.text for m in await web.statements("environment")]


async def test_what_is_seen_in_every_episode_gets_few_versions(web: World) -> None:
    for _ in range(20):
        await web.episode([Did("cat /srv/app/run.sh")])
    versions = [m.version for m in await web.statements("environment")]
    assert max(versions) <= 6


def test_things_are_read_from_calls_and_not_from_words() -> None:
    found = things('{"command": "scp /srv/a/b.txt deploy@build7:/srv/c && docker restart web-1"}')
    assert set(found) == {
        ("path", "/srv/a/b.txt"),
        ("path", "/srv/a"),
        ("path", "/srv/c"),
        ("path", "/srv"),
        ("host", "build7"),
        ("service", "web-1"),
    }
    assert things("and/or 3/4 of https") == ()
    assert things("ls /tmp/x /dev/null") == ()


def test_newer_episodes_weigh_more() -> None:
    held = {str(n): (n, True) for n in range(20)}
    assert world._weighed(held).confidence > 0.9
    changed = {**held, **{str(n): (n, False) for n in range(20, 24)}}
    assert world._weighed(changed).confidence < 0.5
    assert world._weighed(changed).holds == 20
