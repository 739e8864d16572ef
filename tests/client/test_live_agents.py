"""An agent's verbs through the client: the same values as the library gives, skills as files here, and streams that break."""

from __future__ import annotations

import io
import itertools
import uuid
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from client_helpers import BadServer, answers, cuts, streams

from agent_script import GOAL, SKILL, learn
from memos import MemOS
from memos.client import Client
from memos.errors import AccessDenied, ArchiveError, Conflict, InvalidInput, NotFound, Unavailable
from memos.memory.episode import StepReport
from memos.memory.learned import Action, Parameter, State


@pytest.fixture(scope="module")
def library(live: Any) -> Iterator[MemOS]:
    with MemOS(live.home, embedder="none", background=False) as memos:
        yield memos


@pytest.fixture
def user() -> str:
    return f"ada-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def client(live: Any, user: str) -> Iterator[Client]:
    with Client(live.url, user=user, timeout=30) as client:
        yield client


@pytest.fixture(scope="module")
def worked(live: Any) -> Iterator[Client]:
    """The client of somebody whose agent has learned."""
    with Client(live.url, user="worked", timeout=30) as client:
        learn(client)
        yield client


def test_what_was_lived_is_that_of_the_library(worked: Client, library: MemOS) -> None:
    here, there = worked.episodes(limit=2), library.episodes(limit=2, user="worked")
    assert here == there and here.cursor is not None
    assert worked.episodes(cursor=here.cursor, is_open=False).items[0].session == "ci-pillow"
    detail = worked.episode(here.items[0].id)
    assert detail == library.episode(here.items[0].id, user="worked")
    assert detail.episode.outcome == "success" and detail.trials and detail.signals
    assert [s.role.value for s in detail.steps] == ["user", "tool", "tool", "tool", "assistant"]


def test_what_was_learned_is_that_of_the_library(worked: Client, library: MemOS) -> None:
    of = {"user": "worked"}
    policies = worked.policies()
    assert policies == library.policies(**of) and policies[0].record.support >= 2
    assert worked.policies(states=["active"], forms=["fix"]) == library.policies(states=["active"], forms=["fix"], **of)
    assert worked.policy(policies[0].id) == policies[0]
    assert worked.policies("library is missing", limit=1) == library.policies("library is missing", limit=1, **of)
    skills = worked.skills()
    assert skills == library.skills(**of) and skills
    assert worked.skill(skills[0].name) == worked.skill(skills[0].id) == skills[0]
    assert worked.lineage(skills[0].id) == library.lineage(skills[0].id, **of)
    world = worked.world("what does alpine need?", environment="alpine")
    assert world == library.world("what does alpine need?", environment="alpine", **of) and world.statements
    assert worked.world_statement(world.statements[0].id) == world.statements[0]
    assert worked.learning_events(after=3, limit=5) == library.learning_events(after=3, limit=5, **of)
    span = {"since": "2020-01-01", "until": datetime.now(UTC).isoformat()}
    assert worked.learning_report(**span) == library.learning_report(**span, **of)
    assert [e.number for e in itertools.islice(worked.follow_learning(after=2), 4)] == [3, 4, 5, 6]


def test_the_next_turn_is_told_what_was_learned(worked: Client) -> None:
    begun = worked.start_turn(GOAL.format("shapely"), session="next", environment="alpine")
    assert "apk add" in begun.recalled.context and any(i.trial for i in begun.recalled.items)
    found = worked.recall(GOAL.format("shapely"), tiers="skill", max_tokens=500)
    assert {i.tier.value for i in found.items} == {"skill"} and found.tokens <= 500


def test_a_turn_with_all_its_parts(client: Client, library: MemOS, user: str) -> None:
    at = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=1)  # of an old one nobody would think it goes on
    begun = client.start_turn("Rotate the logs.", session="ops", key="k1", at=at, recall=False)
    assert client.start_turn("Rotate the logs.", session="ops", key="k1", at=at, recall=False).repeated
    with pytest.raises(Conflict):
        client.start_turn("Something else.", session="ops", key="k1")
    step = client.report_step("bash", {"cmd": ["logrotate", "-f"]}, {"lines": 3}, ok=True, duration=0.25, session="ops")
    done = client.end_turn(
        "Done.",
        steps=[StepReport("bash", "ls", "a.log.1", ok=True), {"tool": "df", "output": "20 %", "info": {"host": "a"}}],
        reflection="That was quick.",
        session="ops",
    )
    assert len(done.steps) == 2 and done.episode == step.episode == begun.episode
    told = client.report_outcome(comment="That is wrong, it did not work.", session="ops")
    assert told.score < 0
    assert client.report_outcome(1, source="verifier", episode=begun.episode).episode == begun.episode
    sub = client.report_subagent("Check the disk.", "It is fine.", name="checker", ok=True, session="ops")
    assert sub.episode == begun.episode
    assert client.end_session("ops").episodes == (begun.episode,)
    detail = client.episode(begun.episode)
    assert detail == library.episode(begun.episode, user=user)
    uses = [s.use for s in detail.steps if s.use is not None]
    assert [u.tool for u in uses[:3]] == ["bash", "bash", "df"] and uses[0].duration == 0.25
    assert "logrotate" in uses[0].input and detail.episode.opened_at == at
    assert client.evolve(now=True).learned == 1


def test_something_learned_is_retired_and_brought_back(live: Any, user: str) -> None:
    with Client(live.url, user=user, timeout=30) as client:
        learn(client)
        policy, skill = client.policies()[0], client.skills()[0]
        assert client.set_state(policy.id, "retired", reason="not here").body.state is State.RETIRED
        retired = client.set_state(skill.id, State.RETIRED)
        assert type(retired) is type(skill) and retired.body.state is State.RETIRED
        assert client.skills() == [] and client.skills(states=["retired"]) != []
        assert client.set_state(skill.id, "probation").body.state is State.PROBATION
        with pytest.raises(NotFound):
            client.set_state(str(uuid.uuid4()), "retired")


def test_skills_are_files_here(client: Client, library: MemOS, user: str, tmp_path: Path) -> None:
    source = tmp_path / "source" / "boil-water"
    source.mkdir(parents=True)
    (source / "SKILL.md").write_text(SKILL)
    assert [s.name for s in client.import_skills(source.parent, dry_run=True)] == ["boil-water"]
    assert client.skills() == []
    (kept,) = client.import_skills(source)
    assert library.skills(user=user) == [kept] == client.import_skills(SKILL)
    folders = client.export_skills(tmp_path / "out")
    assert folders == [tmp_path / "out" / "boil-water"]
    assert {p.name for p in folders[0].iterdir()} == {"SKILL.md", "memos.json"}
    there = library.export_skills(tmp_path / "there", user=user)
    assert [(a / "SKILL.md").read_bytes() for a in folders] == [(b / "SKILL.md").read_bytes() for b in there]
    with pytest.raises(InvalidInput, match="exists already"):
        client.export_skills(tmp_path / "out")
    assert client.export_skills(tmp_path / "out", overwrite=True) == folders
    (file,) = client.export_skills(tmp_path / "skills.zip", zip=True, names="boil-water")
    data = client.export_skills(zip=True)
    assert isinstance(data, bytes) and zipfile.is_zipfile(file) and zipfile.is_zipfile(io.BytesIO(data))
    assert (
        [s.name for s in client.import_skills(data)] == [s.name for s in client.import_skills(file)] == ["boil-water"]
    )
    with pytest.raises(NotFound):
        client.export_skills(zip=True, names=["nothing"])


@pytest.mark.parametrize("source", ["nowhere", 7, b"\x00", b"PK\x03\x04 broken"])
def test_what_is_no_skill_is_refused_here_or_there(client: Client, source: Any) -> None:
    with pytest.raises(InvalidInput):
        client.import_skills(source)


def test_a_link_is_not_followed_out_of_a_folder(client: Client, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SKILL)
    (tmp_path / "boil-water").mkdir()
    (tmp_path / "boil-water" / "SKILL.md").symlink_to(tmp_path / "secret")
    for source in (tmp_path / "boil-water", tmp_path):
        with pytest.raises(InvalidInput, match="link"):
            client.import_skills(source)


def test_a_skill_is_edited_with_values_of_the_library(client: Client) -> None:
    (kept,) = client.import_skills(SKILL)
    changes = {"procedure": (Action("bash", "kettle {place}"),), "parameters": [Parameter("place")], "guide": ""}
    done = client.edit_skill("boil-water", changes, if_version=kept.memory.version)
    assert done.body.procedure == (Action("bash", "kettle {place}"),) and done.body.edited
    with pytest.raises(Conflict):
        client.edit_skill("boil-water", changes, if_version=kept.memory.version)
    for bad in ({"state": "active"}, {"user": "eve"}, {}):
        with pytest.raises(InvalidInput):
            client.edit_skill("boil-water", bad)


def test_a_skill_is_used_and_shared(client: Client, user: str) -> None:
    (kept,) = client.import_skills(SKILL)
    begun = client.start_turn("Make tea.", session="tea", recall=False)
    assert client.skill("boil-water", use=True, session="tea").id == kept.id
    assert [t.memory for t in client.episode(begun.episode).trials] == [kept.id]
    client.create_cube(f"team-{user}")
    shared = client.publish(kept.id, f"team-{user}")
    assert shared.new and client.skill("boil-water", cube=f"team-{user}").id == shared.id
    client.share(f"team-{user}", "bob", "read")
    assert client.skill("boil-water", user="bob", cube=f"team-{user}").name == "boil-water"
    with pytest.raises(AccessDenied):
        client.edit_skill("boil-water", {"guide": "x"}, user="bob", cube=f"team-{user}")
    assert client.unpublish(kept.id, f"team-{user}") == 1


def test_two_users_share_nothing_they_did_not_share(worked: Client, client: Client) -> None:
    assert client.episodes().items == () and client.policies() == [] and client.skills() == []
    assert client.world().statements == () and client.learning_events().items == ()
    assert client.recall(GOAL.format("lxml")).context == ""
    for id in (worked.policies()[0].id, worked.skills()[0].id):
        with pytest.raises(NotFound):
            client.lineage(id)
        with pytest.raises(NotFound):
            client.policies(cube="worked")


# -- against a server that behaves badly -----------------------------------------------------------------------------

EVENT = {
    "at": "2026-01-01T00:00:00Z",
    "what": "policy.induced",
    "memory": None,
    "episode": None,
    "numbers": {"support": 2},
}


def event(number: int) -> dict[str, Any]:
    return {"number": number, **EVENT}


def test_a_stream_that_breaks_goes_on_after_the_last_event(bad: BadServer) -> None:
    bad.behaviours = [streams(event(1), event(2)), streams(event(2), event(3)), cuts, streams(event(4))]
    with Client(bad.url, attempts=1) as client:
        assert [e.number for e in itertools.islice(client.follow_learning(), 4)] == [1, 2, 3, 4]
    asked = [r.path.partition("after=")[2] for r in bad.requests]
    assert asked[:4] == ["0", "2", "3", "3"]


def test_a_stream_that_only_breaks_is_unavailable(bad: BadServer) -> None:
    bad.behaviours = [streams()]
    with Client(bad.url, attempts=1) as client, pytest.raises(Unavailable):
        next(client.follow_learning())
    assert 2 < len(bad.requests) < 10


def test_a_report_is_sent_again_under_the_same_key(bad: BadServer) -> None:
    ended = {"cube": "ada", "episode": "e", "turn": 1, "message": "m"}
    bad.behaviours = [cuts, answers(ended)]
    with Client(bad.url) as client:
        assert client.end_turn("Done.").episode == "e"
    first, second = (r.json for r in bad.requests)
    assert first == second and len(first["key"]) >= 16


def test_a_step_without_an_id_of_its_own_is_sent_once(bad: BadServer) -> None:
    bad.behaviours = [cuts]
    with Client(bad.url) as client, pytest.raises(Unavailable, match="not known whether"):
        client.report_step("bash")
    assert len(bad.requests) == 1


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil", "a\\..\\evil", "C:/evil", "evil"])
def test_a_zip_of_a_server_writes_nothing_elsewhere(bad: BadServer, tmp_path: Path, name: str) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a/SKILL.md", SKILL)
        archive.writestr(name, "x")
    bad.behaviours = [answers(file.getvalue())]
    with Client(bad.url) as client, pytest.raises(ArchiveError):
        client.export_skills(tmp_path / "out")
    assert list(tmp_path.rglob("*")) == []


def test_reports_of_steps_need_no_server_to_be_wrong(bad: BadServer) -> None:
    bad.behaviours = [answers({})]
    with Client(bad.url) as client, pytest.raises(InvalidInput):
        client.report_step("bash", output=b"bytes")
    assert bad.requests == []
