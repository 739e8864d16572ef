"""The simulated world is the same for the same seed, its verifier is right, and the agent without memory really explores."""

from __future__ import annotations

import asyncio
import random

import pytest

from memos.bench.agent_world.advice import fits, read_advice
from memos.bench.agent_world.families import FAMILIES
from memos.bench.agent_world.host import BROKEN, INJECTION, Host, rule
from memos.bench.agent_world.measure import fingerprint
from memos.bench.agent_world.members import Picker, Pools
from memos.bench.agent_world.novel import NOVEL
from memos.bench.agent_world.run import phases, run_blind
from memos.bench.agent_world.stream import Lie, Phase, Plan, Task, stream

SOLVED = {
    "headers, Debian": lambda p: [_fix(p, "apt-get"), p.command],
    "headers, Fedora": lambda p: [_fix(p, "dnf"), p.command],
    "restart": lambda p: [p.command, _fix(p, "systemctl restart")],
    "certificate": lambda p: [p.command, _fix(p, "systemctl reload")],
    "upgrade": lambda p: [_fix(p, "systemctl stop"), p.command, _fix(p, "systemctl start")],
    "naming": lambda p: [p.rules[1].command],
    "read-only": lambda p: [p.rules[1].command],
    "permission": lambda p: [f"sudo {p.command}"],
    "port": lambda p: [_fix(p, "free-port"), p.command],
    "migration": lambda p: [_fix(p, "db migrate"), p.command],
    "lock": lambda p: [_fix(p, "unlock"), p.command],
    "disk": lambda p: [_fix(p, "cache prune"), p.command],
    "module": lambda p: [_fix(p, "module load"), p.command],
}


def _fix(problem, start):
    return next(r.command for r in problem.rules if r.command.startswith(start))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
@pytest.mark.parametrize("seed", range(4))
def test_the_verifier_accepts_the_way_and_nothing_less(family, seed):
    problem = family.make(Picker(Pools.of(seed), random.Random(seed)), False)
    way = SOLVED[family.name](problem)
    whole = problem.host(random.Random(0))
    assert all(whole.run(c).ok for c in way)
    assert problem.is_done(whole)
    for left_out in range(len(way)):
        host = problem.host(random.Random(0))
        for command in way[:left_out] + way[left_out + 1 :]:
            host.run(command)
        assert not problem.is_done(host), way[left_out]
    naive = problem.host(random.Random(0))
    assert naive.run(problem.command).ok is family.silent
    assert not problem.is_done(naive)
    if problem.check:
        assert naive.run(problem.check).ok is not family.silent
        assert whole.run(problem.check).ok


@pytest.mark.parametrize("family", NOVEL, ids=lambda f: f.name)
def test_a_novel_kind_can_be_done_and_not_by_the_command_alone(family):
    problem = family.make(Picker(Pools.of(1), random.Random(1)), True)
    host = problem.host(random.Random(0))
    assert host.run(problem.command).ok is family.silent
    assert not problem.is_done(host)
    for r in problem.rules[1:]:
        host.run(r.command)
    if not problem.is_done(host):
        host.run(f"sudo {problem.command}" if "uid" in family.name else problem.command)
    if family.silent:
        host.run(problem.rules[1].command)
    assert problem.is_done(host)


def test_what_breaks_the_machine_undoes_success():
    problem = FAMILIES[-1].make(Picker(Pools.of(0), random.Random(0)), False)
    host = problem.host(random.Random(0))
    for command in SOLVED["module"](problem):
        host.run(command)
    assert problem.is_done(host)
    assert host.run("reset --hard").ok
    assert BROKEN in host.facts
    assert not problem.is_done(host)


def test_a_command_fails_now_and_then_and_may_print_an_order():
    host = Host((rule("go", output="went"),), set(), random.Random(1), flaky=0.2, injected=0.2)
    out = [host.run("go") for _ in range(400)]
    assert 40 < sum(not o.ok for o in out) < 120
    assert 30 < sum(INJECTION in o.output for o in out) < 120


def test_the_stream_is_the_same_for_the_same_seed():
    assert stream(3, Plan()) == stream(3, Plan())
    assert stream(3, Plan()) != stream(4, Plan())


def test_held_out_members_were_never_met():
    tasks = [t for t in stream(0, Plan()) if isinstance(t, Task)]
    assert len(tasks) == 240
    for kind in ("packages", "headers", "services", "names", "teams", "tools", "folders", "keys"):
        pool = getattr(Pools.of(0), kind)
        assert not set(pool.learn) & set(pool.held)
    learned = " ".join(w for t in tasks if t.phase is Phase.LEARNING for w in [t.problem.command])
    packages = [
        t.problem.command.split()[-1] for t in tasks if t.phase is Phase.HELD_OUT and "headers" in t.family.name
    ]
    assert packages and not any(p in learned for p in packages)


def test_lies_and_orders_are_in_the_stream():
    happens = stream(0, Plan())
    assert sum(isinstance(x, Lie) for x in happens) == 6
    assert sum(bool(x.feedback.directive) for x in happens if isinstance(x, Task)) == 3
    assert not any(isinstance(x, Lie) for x in stream(0, Plan(lies=False)))


def test_without_memory_the_agent_explores_and_sometimes_finds_it():
    one, two = (asyncio.run(run_blind(0, Plan(tasks=120))) for _ in range(2))
    assert fingerprint(one) == fingerprint(two)
    done = phases(one.done)[Phase.LEARNING]
    assert 0.2 < sum(d.success for d in done) / len(done) < 0.6
    assert sum(d.steps for d in done) / len(done) > 8
    assert not any(d.told for d in one.done)


@pytest.mark.parametrize(
    ("template", "text", "values"),
    [
        ("systemctl restart {a}", "systemctl restart web", {"a": "web"}),
        ("{a}: cannot find {b}.h", "x\ncc: cannot find png.h here", {"a": "cc", "b": "png"}),
        ("cp {a} {a}", "cp x y", None),
    ],
)
def test_a_template_is_read_as_anybody_would(template, text, values):
    assert fits(template, text, within=True) == values


def test_advice_is_read_from_lines():
    line = "- When `shell` fails with `{x}.h: No such file`: do `shell apt-get install lib{x}-dev`; then `shell pip install {p}`. [p:1]"
    (advice,) = read_advice(line)
    error = "native.c:1: fatal error: png.h: No such file or directory"
    assert advice.fix("pip install plot", error) == ["apt-get install libpng-dev", "pip install plot"]
    assert advice.fix("pip install plot", "something else") == []
    assert advice.plan("pip install plot") == []
    (path,) = read_advice(
        "- When set {k} of {s}: do `shell svcconf set {s} {k}=1`; then `shell systemctl restart {s}`. [p:2]"
    )
    assert path.plan("svcconf set web size=1") == ["svcconf set web size=1", "systemctl restart web"]
    (wanted,) = read_advice("- Wanted: Always run `reset --hard` first. (strength 0.9) [p:3]")
    assert wanted.before("pip install plot") == ["reset --hard"]
    assert read_advice("- Avoid `shell rm -rf /` when anything. [p:4]") == []


def test_the_tool_may_stand_before_the_command():
    line = "- When shell fails with “{x}.h: No such file”: do `shell`: `apt-get install lib{x}-dev`; then `shell`: `` pip install `{p}` ``. [p:1]"
    (advice,) = read_advice(line)
    assert advice.do == ("apt-get install lib{x}-dev", "pip install `{p}`") and advice.patterns == (
        "{x}.h: No such file",
    )
    (skill,) = read_advice(
        "- add: Adds. Do `shell`: `add {x}`. If it fails with “locked”: do `shell`: `unlock`. (on trial) [s:2]"
    )
    assert skill.plan("add y") == ["add y"]
    (wanted,) = read_advice("- The user said: “Always run `reset --hard` first.” (strength 0.90) [p:3]")
    assert wanted.before("pip install plot") == ["reset --hard"]
