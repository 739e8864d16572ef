"""Who speaks to OpenClaw: users, channels, groups, other agents, sub-agents, OpenClaw itself; and whose memory that is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from openclaw_world import Gateway, Gateways, Session, a_turn, client, node, of_turn, told

pytestmark = pytest.mark.skipif(node() is None, reason="NOT TESTED: the plugin for OpenClaw needs Node 20 or later")


@pytest.mark.parametrize("trigger", ["heartbeat", "cron", "memory"])
def test_runs_that_nobody_asked_for_are_left_out(trigger: str, gateway: Gateway, live: Path, user: str) -> None:
    session = Session(gateway)
    a_turn(session, 1)
    session.more = {"trigger": trigger}
    assert session.prompt("Read HEARTBEAT.md") == ""
    session.bash("cat HEARTBEAT.md", "nothing")
    session.say("HEARTBEAT_OK")
    session.end()
    session.more = {"inputProvenance": {"kind": "internal_system"}}
    session.prompt("System: something happened")
    session.say("Seen.")
    session.end()
    session.more = {}
    a_turn(session, 2)
    assert told(live, user) == of_turn(1) + of_turn(2)


def test_what_other_agents_say_is_not_what_the_user_says(gateway: Gateway, live: Path, user: str) -> None:
    session = Session(gateway)
    a_turn(session, 1)
    session.more = {"inputProvenance": {"kind": "inter_session", "sourceSessionKey": "agent:other:main"}}
    session.prompt("Your sub-agent says: it is done")
    session.say("It is done.")
    session.end()
    assert told(live, user) == [*of_turn(1), "It is done."]


def test_what_channels_put_around_a_message_is_not_stored(gateway: Gateway, live: Path, user: str) -> None:
    session = Session(gateway)
    run = "run-of-telegram"
    gateway.hook(
        "message_received", {"from": "1", "content": "Where is Nora?", "runId": run}, {"channelId": "telegram"}
    )
    session.run = run
    session.live = [
        {"role": "user", "content": [{"type": "text", "text": "[Telegram 1] Where is Nora?"}], "timestamp": 5}
    ]
    session.build("[Telegram 1] Where is Nora?")
    session.say("In Bergen.")
    session.end()
    session.prompt("[WebChat] And Ada?", currentUserMessage="And Ada?")
    session.end()
    assert told(live, user) == ["Where is Nora?", "In Bergen.", "And Ada?"]


def test_a_sub_agent_is_an_episode_of_its_own(gateway: Gateway, live: Path, user: str) -> None:
    parent = Session(gateway)
    parent.prompt("Why is the build slow?")
    child = Session(gateway)
    whose = {"requesterSessionKey": parent.key, "childSessionKey": child.key}
    gateway.hook(
        "subagent_spawned",
        {"childSessionKey": child.key, "agentId": "main", "label": "finder", "runId": "r", "mode": "run"},
        whose,
    )
    parent.call("sessions_spawn", {"task": "Find the slowest test"}, "{}", details={"childSessionKey": child.key})
    child.prompt("[Context] You are a sub-agent. Find the slowest test")
    child.bash("pytest --durations=5", "40s test_crash")
    child.say("test_crash takes 40 s")
    child.end(times=2)
    gateway.hook(
        "subagent_ended",
        {"targetSessionKey": child.key, "targetKind": "subagent", "runId": "r", "outcome": "ok"},
        whose,
    )
    parent.say("test_crash is slow.")
    parent.end()
    texts = Counter(told(live, user))
    assert texts["Bash: pytest --durations=5\nok\n40s test_crash"] == 1
    assert sum(text.startswith("subagent:finder: Find the slowest test") for text in texts) == 1
    assert texts["test_crash is slow."] == 1 and not any("You are a sub-agent" in text for text in texts)
    assert not any(text.startswith("sessions_spawn") for text in texts)
    with client(live, user) as m:
        assert {e.agent for e in m.episodes().items} == {"openclaw", "finder"}


def test_a_sub_agent_that_fails_is_told_as_failed(gateway: Gateway, live: Path, user: str) -> None:
    parent = Session(gateway)
    parent.prompt("Look it up")
    whose = {"requesterSessionKey": parent.key, "childSessionKey": "agent:main:subagent:1"}
    gateway.hook(
        "subagent_spawned",
        {"childSessionKey": "agent:main:subagent:1", "agentId": "main", "runId": "r1", "mode": "run"},
        whose,
    )
    parent.call("sessions_spawn", {"task": "Search"}, "{}", details={"childSessionKey": "agent:main:subagent:1"})
    gateway.hook(
        "subagent_ended", {"targetSessionKey": "agent:main:subagent:1", "runId": "r1", "outcome": "timeout"}, whose
    )
    parent.end()
    assert "subagent:main: Search\nerror: timeout" in told(live, user)


# -- one gateway, many senders -----------------------------------------------------------------------------------------------

ADA, BOB, TEAM = "agent:main:telegram:direct:1", "agent:main:telegram:direct:2", "agent:main:telegram:group:-7"


def said_in(key: str, gateway: Gateway, text: str) -> str:
    """A turn in the session of a key; the block that came before it."""
    session = Session(gateway, more={"sessionKey": key, "channel": "telegram"})
    block = session.prompt(text)
    session.bash(f"grep -c {len(text)}", "1")
    session.end()
    session.close()
    return block


def test_with_the_scope_sender_each_direct_peer_and_each_group_has_a_memory_of_its_own(
    gateways: Gateways, live: Path
) -> None:
    gateway = gateways(scope="sender", user="owner")
    said_in(ADA, gateway, "My safe opens with 4417")
    for key in (BOB, TEAM, "agent:main:main", "agent:main:slack:channel:c9:thread:5"):
        assert "4417" not in said_in(key, gateway, "What does my safe open with?")
        ctx = {"sessionKey": key, "sessionId": "other"}
        assert "4417" not in str(gateway.ask("tool", name="memos_search", args={"query": "safe"}, ctx=ctx))
    assert "4417" in said_in(ADA, gateway, "What does my safe open with?")
    assert "4417" in said_in(f"{ADA}:thread:9", gateway, "And what does the safe open with?")
    found = gateway.ask(
        "tool", name="memos_search", args={"query": "safe 4417"}, ctx={"sessionKey": ADA, "sessionId": "a"}
    )
    assert "My safe opens with 4417" in str(found)
    assert told(live, "owner")[0] == "What does my safe open with?"
    assert told(live, "openclaw:telegram:direct:1")[0] == "My safe opens with 4417"


def test_a_sub_agent_has_the_memory_of_whom_it_works_for(gateways: Gateways, live: Path) -> None:
    gateway = gateways(scope="sender", user="owner2")
    said_in(ADA.replace(":1", ":11"), gateway, "Always use uv instead of pip.")
    parent = Session(gateway, more={"sessionKey": ADA.replace(":1", ":11")})
    child, orphan = (Session(gateway, more={"sessionKey": f"agent:main:subagent:{n}"}) for n in ("known", "unknown"))
    whose = {"requesterSessionKey": parent.ctx["sessionKey"], "childSessionKey": child.ctx["sessionKey"]}
    event = {"childSessionKey": child.ctx["sessionKey"], "agentId": "main", "runId": "r", "mode": "run"}
    parent.prompt("Install lxml")
    gateway.hook("subagent_spawned", event, whose)
    assert "use uv" in child.prompt("Install lxml with pip or uv") and "use uv" not in orphan.prompt("Install lxml")
    assert told(live, "owner2") == []


def test_by_default_all_who_speak_in_a_gateway_share_one_memory(gateway: Gateway, live: Path, user: str) -> None:
    said_in(ADA, gateway, "My safe opens with 4417")
    assert "4417" in said_in(BOB, gateway, "What does my safe open with?")
    assert len(told(live, user)) == 4
