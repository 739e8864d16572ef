"""What a user forbade is advised no more: only where words match plainly, and before or after it was learned."""

from __future__ import annotations

from pathlib import Path

import pytest

from memos import MemOS
from memos.evolution.policies.against import breaks
from memos.memory.learned import Action, Form, PolicyBody, State


def forbids(avoid: str, call: str, *, scope: str = "all", when: str = "") -> bool:
    procedure = (Action("shell", "ls"), Action("shell", call))
    directive = PolicyBody(form=Form.DIRECTIVE, avoid=avoid, scope=scope, trigger=when, state=State.ACTIVE)
    return breaks(PolicyBody(form=Form.PATH, procedure=procedure), directive)


@pytest.mark.parametrize(
    ("avoid", "call"),
    [
        ("delete log files", "rm /var/log/{service}.log.1"),
        ("use pip", "pip install {package}"),
        ("push to main", "git push origin main"),
        ("force push", "git push --force"),
        ("delete files", "rm /x"),
        ("use sudo", "sudo apt install x"),
        ("run `rm -rf /tmp/*`", "rm -rf /tmp/*"),
        ("删除日志文件", "rm -rf /var/log/x"),
    ],
)
def test_what_does_just_that_breaks_it(avoid: str, call: str) -> None:
    assert forbids(avoid, call)


@pytest.mark.parametrize(
    ("avoid", "call"),
    [
        ("delete log files", "logrotate -f /etc/logrotate.d/{service}"),
        ("push to main", "git push origin dev"),
        ("restart nginx", "systemctl restart {service}"),
        ("restart on failed health checks", "systemctl restart x"),
        ("deploy on Friday", "make deploy"),
        ("重启数据库", "systemctl restart nginx"),
        ("说脏话", "echo hi"),
    ],
)
def test_what_may_be_something_else_does_not(avoid: str, call: str) -> None:
    assert not forbids(avoid, call)


def test_what_holds_elsewhere_or_only_sometimes_forbids_nothing() -> None:
    assert not forbids("delete log files", "rm /var/log/x", when="before a backup")
    assert not forbids("delete log files", "rm /var/log/x", scope="environment:web1")
    assert not forbids("delete log files", "rm /var/log/x", scope="tool:browser")


def rotate(m: MemOS, service: str) -> str:
    begun = m.start_turn(f"rotate the logs of {service}", session=service)
    m.report_step("shell", f"logrotate -f /etc/logrotate.d/{service}", "", ok=True, session=service)
    m.report_step("shell", f"rm /var/log/{service}.log.1", "", ok=True, session=service)
    m.end_turn("Rotated.", session=service)
    m.report_outcome(1.0, session=service)
    m.end_session(service)
    m.evolve(now=True)
    return begun.episode


def test_what_was_learned_is_retired_when_the_user_forbids_it(tmp_path: Path) -> None:
    with MemOS(tmp_path, embedder="none", background=False, reward_window=0) as m:
        for service in ("redis", "vault", "consul"):
            rotate(m, service)
        (path,) = m.policies(forms=["path"])
        assert path.body.state is State.ACTIVE
        m.start_turn("Never delete log files.", session="other")
        (path,) = [p for p in m.policies() if p.body.form is Form.PATH]
        assert (path.body.state, path.body.why) == (State.RETIRED, "the user said: Never delete log files")
        rotate(m, "mimir")
        assert m.policy(path.memory.id).body.state is State.RETIRED


def test_what_is_learned_after_it_was_forbidden_is_never_advised(tmp_path: Path) -> None:
    with MemOS(tmp_path, embedder="none", background=False, reward_window=0) as m:
        m.start_turn("Never delete log files.", session="other")
        for service in ("redis", "vault", "consul"):
            rotate(m, service)
        assert [p.body.state for p in m.policies() if p.body.form is Form.PATH] == [State.RETIRED]
        assert not m.skills(states=["probation", "active"])


def test_a_policy_loses_the_tasks_that_are_judged_badly_after_all(tmp_path: Path) -> None:
    with MemOS(tmp_path, embedder="none", background=False, reward_window=0) as m:
        ids = [rotate(m, service) for service in ("redis", "vault", "consul", "grafana")]
        states = []
        for id in ids[:3]:
            m.report_outcome(-1.0, "you deleted logs that the audit needed", episode=id)
            m.evolve(now=True)
            assert m.episode(id).episode.outcome == "failure"
            (path,) = [p for p in m.policies() if p.body.form is Form.PATH]
            states.append((path.record.support, path.body.state))
        assert states == [(3, State.ACTIVE), (2, State.CANDIDATE), (1, State.RETIRED)]
