"""What an agent reports over HTTP and what comes of it: answers, idempotency, who sees what, and what is refused."""

from __future__ import annotations

import io
import uuid
import zipfile
from typing import Any

import httpx2
import pytest

from agent_script import PACKAGES, SKILL

BINARY = {"Content-Type": "application/octet-stream"}


async def post(client: httpx2.AsyncClient, path: str, status: int = 200, **body: Any) -> Any:
    answer = await client.post(path, json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


async def get(client: httpx2.AsyncClient, path: str, status: int = 200, **params: Any) -> Any:
    answer = await client.get(path, params=params)
    assert answer.status_code == status, answer.text
    return answer.json()


async def episode(client: httpx2.AsyncClient, package: str, library: str, user: str = "ada") -> Any:
    at = {"user": user, "session": f"ci-{package}"}
    goal = f"Install the python package {package} in this container."
    begun = await post(client, "/v1/turns", text=goal, environment="alpine", **at)
    step = {"tool": "bash", "input": f"pip install {package}"}
    await post(client, "/v1/steps", **step, error=f"error: library '{library}' is missing", ok=False, **at)
    await post(client, "/v1/steps", tool="bash", input=f"apk add {library}-dev", output="OK", ok=True, **at)
    await post(
        client, "/v1/turns/end", text="Done.", steps=[step | {"output": "Successfully installed", "ok": True}], **at
    )
    await post(client, "/v1/outcomes", score=1, comment="Great, thanks!", **at)
    ended = await post(client, f"/v1/sessions/ci-{package}/end", user=user)
    assert ended["episodes"] == [begun["episode"]]
    return begun


@pytest.fixture
async def learned(app_client: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """A server on which ada's agent worked and learned; all of it over HTTP."""
    for package, library in PACKAGES:
        await episode(app_client, package, library)
        await post(app_client, "/v1/learning/evolve", user="ada", now=True)
    return app_client


async def test_a_session_from_the_first_message_to_a_policy(learned: httpx2.AsyncClient) -> None:
    page = await get(learned, "/v1/episodes", user="ada", limit=3)
    assert [e["session"] for e in page["items"]] == ["ci-pynacl", "ci-cffi", "ci-pillow"]
    rest = await get(learned, "/v1/episodes", user="ada", cursor=page["cursor"])
    assert len(rest["items"]) == 2 and rest["cursor"] is None
    shown = await get(learned, f"/v1/episodes/{page['items'][0]['id']}", user="ada")
    assert shown["episode"]["reward"] > 0.5 and shown["signals"]
    assert [s["role"] for s in shown["steps"]] == ["user", "tool", "tool", "tool", "assistant"]
    assert all(-1 <= s["value"] <= 1 for s in shown["steps"])
    policies = (await get(learned, "/v1/policies", user="ada"))["items"]
    fix = next(p for p in policies if p["body"]["form"] == "fix")
    assert fix["record"]["support"] >= 2
    one = await get(learned, f"/v1/policies/{fix['memory']['id']}", user="ada")
    assert one == fix
    line = await get(learned, f"/v1/lineage/{fix['memory']['id']}", user="ada")
    assert line["depth"][fix["memory"]["id"]] == 0 and min(line["depth"].values()) < 0 and len(line["episodes"]) >= 2
    whats = [e["what"] for e in (await get(learned, "/v1/learning/events", user="ada"))["items"]]
    assert {"episode.closed", "episode.valued", "policy.induced"} <= {*whats}
    report = await get(learned, "/v1/learning/report", user="ada")
    assert report["closed"] == 5 and report["success_rate"] == 1.0


async def test_the_next_task_is_told_what_was_learned(learned: httpx2.AsyncClient) -> None:
    text = "Install the python package shapely in this container."
    begun = await post(learned, "/v1/turns", user="ada", session="new", text=text, environment="alpine")
    assert "apk add" in begun["recalled"]["context"]
    error = "error: library 'libgeos' is missing"
    found = await post(
        learned,
        "/v1/recall",
        user="ada",
        session="new",
        query=text,
        trigger="repair",
        tool="bash",
        error=error,
        max_tokens=300,
    )
    assert "apk add" in found["context"] and found["tokens"] <= 300
    none = await post(learned, "/v1/recall", user="ada", query=text, tiers=["world"], max_tokens=300)
    assert {i["tier"] for i in none["items"]} <= {"world"}


async def test_another_user_sees_nothing_of_it(learned: httpx2.AsyncClient) -> None:
    beta = {"user": "beta"}
    assert (await get(learned, "/v1/episodes", **beta))["items"] == []
    assert (await get(learned, "/v1/policies", **beta))["items"] == []
    assert (await get(learned, "/v1/skills", **beta))["items"] == []
    assert (await get(learned, "/v1/world", **beta))["statements"] == []
    assert (await get(learned, "/v1/learning/events", **beta))["items"] == []
    assert (await get(learned, "/v1/learning/report", **beta))["episodes"] == 0
    recalled = await post(learned, "/v1/recall", query="install the python package lxml", **beta)
    assert recalled["context"] == "" and recalled["items"] == []
    policy = (await get(learned, "/v1/policies", user="ada"))["items"][0]["memory"]["id"]
    known = (await get(learned, "/v1/episodes", user="ada"))["items"][0]["id"]
    for path in (f"/v1/policies/{policy}", f"/v1/lineage/{policy}", f"/v1/episodes/{known}", f"/v1/world/{policy}"):
        await get(learned, path, 404, **beta)
    for cube in ({"cube": "ada"}, {}):
        await post(learned, f"/v1/learned/{policy}/state", 404, state="retired", **beta, **cube)
    await get(learned, "/v1/learning/events", 404, cube="ada", **beta)
    assert (await learned.get("/v1/learning/stream", params={"cube": "ada", **beta})).status_code == 404


async def test_a_cube_of_somebody_else_is_no_further_cube_to_recall_from(learned: httpx2.AsyncClient) -> None:
    beta = {"user": "beta", "also": ["ada"]}
    for path, body in (
        ("/v1/recall", {"query": "install the python package lxml"}),
        ("/v1/turns", {"text": "Install the python package lxml in this container."}),
        ("/v1/steps", {"tool": "bash", "error": "error: library 'libxml2' is missing"}),
    ):
        for _ in range(3):
            answer = await learned.post(path, json=body | beta)
            assert answer.status_code == 404 or "apk add" not in answer.text, answer.text


async def test_a_policy_is_retired_and_brought_back_by_hand(learned: httpx2.AsyncClient) -> None:
    id = (await get(learned, "/v1/policies", user="ada"))["items"][0]["memory"]["id"]
    done = await post(learned, f"/v1/learned/{id}/state", user="ada", state="retired", reason="not here")
    assert done["body"]["state"] == "retired" and done["memory"]["status"] == "archived"
    assert id in [
        p["memory"]["id"] for p in (await get(learned, "/v1/policies", user="ada", states="retired"))["items"]
    ]
    assert (await post(learned, f"/v1/learned/{id}/state", user="ada", state="active"))["body"]["state"] == "active"
    await post(learned, f"/v1/learned/{uuid.uuid4()}/state", 404, user="ada", state="active")


async def test_a_report_that_is_sent_again_is_stored_once(app_client: httpx2.AsyncClient) -> None:
    turn = {"user": "ada", "session": "s", "text": "Rotate the logs."}
    header = {"Idempotency-Key": "t1"}
    first = (await app_client.post("/v1/turns", json=turn, headers=header)).json()
    again = (await app_client.post("/v1/turns", json=turn | {"key": "t1"})).json()
    assert (first["repeated"], again["repeated"]) == (False, True) and again["message"] == first["message"]
    answer = await app_client.post("/v1/turns", json=turn | {"key": "t2"}, headers=header)
    assert answer.status_code == 400 and "Idempotency-Key" in answer.text
    assert (await app_client.post("/v1/turns", json=turn | {"text": "Other words."}, headers=header)).status_code == 409
    step = {"user": "ada", "session": "s", "tool": "bash", "input": "logrotate", "call_id": "c1"}
    one, two = [await post(app_client, "/v1/steps", **step) for _ in range(2)]
    assert one["step"] == two["step"] and two["repeated"]
    end = {"user": "ada", "session": "s", "text": "Done.", "steps": [step | {"output": "ok"}], "key": "e1"}
    for one in end["steps"]:
        del one["user"], one["session"]
    ended = [await post(app_client, "/v1/turns/end", **end) for _ in range(2)]
    assert ended[0]["message"] == ended[1]["message"] and ended[1]["repeated"]
    shown = await get(app_client, f"/v1/episodes/{first['episode']}", user="ada")
    assert [s["role"] for s in shown["steps"]] == ["user", "tool", "assistant"]


async def test_a_subagent_has_an_episode_of_its_own(app_client: httpx2.AsyncClient) -> None:
    at = {"user": "ada", "session": "s"}
    begun = await post(app_client, "/v1/turns", text="Find out why the build fails.", **at)
    steps = [{"tool": "bash", "input": "make", "error": "missing separator", "info": {"host": "a"}}]
    done = await post(
        app_client,
        "/v1/subagents",
        task="Run the build.",
        result="It fails.",
        name="runner",
        ok=True,
        steps=steps,
        key="k",
        **at,
    )
    assert done["episode"] == begun["episode"]
    found = (await get(app_client, "/v1/episodes", user="ada"))["items"]
    child = next(e for e in found if e["parent"] == begun["episode"])
    assert child["agent"] == "runner" and child["failed_steps"] == 1


FAULTS: list[tuple[str, dict[str, Any], str]] = [
    ("/v1/turns", {}, "text"),
    ("/v1/turns", {"text": " "}, "text"),
    ("/v1/turns", {"text": "x", "task": "old"}, "task"),
    ("/v1/turns", {"text": "x", "max_tokens": 0}, "max_tokens"),
    ("/v1/turns", {"text": "x", "max_tokens": "1"}, "max_tokens"),
    ("/v1/turns", {"text": "x", "recall": 1}, "recall"),
    ("/v1/turns", {"text": "x", "session": ""}, "session"),
    ("/v1/turns", {"text": "x", "nonsense": 1}, "nonsense"),
    ("/v1/turns", {"text": "x", "at": "yesterdayish"}, "yesterdayish"),
    ("/v1/steps", {"input": "x"}, "tool"),
    ("/v1/steps", {"tool": "bash", "duration": -1}, "duration"),
    ("/v1/steps", {"tool": "bash", "ok": "yes"}, "ok"),
    ("/v1/turns/end", {"steps": [{"input": "x"}]}, "steps"),
    ("/v1/turns/end", {"steps": "x"}, "steps"),
    ("/v1/subagents", {"task": "x"}, "name"),
    ("/v1/outcomes", {"score": 2}, "score"),
    ("/v1/outcomes", {"score": 1, "source": "model"}, "source"),
    ("/v1/outcomes", {"score": 1, "episode": "x"}, "episode"),
    ("/v1/recall", {"query": ""}, "query"),
    ("/v1/recall", {"query": "x", "trigger": "boredom"}, "trigger"),
    ("/v1/recall", {"query": "x", "tiers": []}, "tiers"),
    ("/v1/learning/evolve", {"now": "yes"}, "now"),
]


@pytest.mark.parametrize(("path", "body", "field"), FAULTS, ids=[f"{p} {f}" for p, _, f in FAULTS])
async def test_what_cannot_be_used_is_refused_and_named(
    app_client: httpx2.AsyncClient, path: str, body: dict[str, Any], field: str
) -> None:
    answer = await app_client.post(path, json=body)
    assert answer.status_code in (400, 422), answer.text
    assert field in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "params", "field"),
    [
        ("/v1/episodes", {"limit": 0}, "limit"),
        ("/v1/episodes", {"cursor": "x"}, "cursor"),
        ("/v1/episodes", {"cursor": "9" * 60}, "cursor"),
        ("/v1/policies", {"states": "asleep"}, "states"),
        ("/v1/policies", {"forms": "poem"}, "forms"),
        ("/v1/world", {"hops": 0}, "hops"),
        ("/v1/skills", {"states": "asleep"}, "states"),
        ("/v1/learning/events", {"after": -1}, "after"),
        ("/v1/learning/stream", {"after": 1 << 63}, "after"),
        ("/v1/learning/report", {"since": "2026-02-01", "until": "2026-01-01"}, "since"),
    ],
)
async def test_a_query_that_cannot_be_used_is_refused_and_named(
    app_client: httpx2.AsyncClient, path: str, params: dict[str, Any], field: str
) -> None:
    answer = await app_client.get(path, params=params)
    assert answer.status_code in (400, 422), answer.text
    assert field in answer.json()["error"]["message"]


async def test_a_text_of_a_step_may_be_as_long_as_a_message(app_client: httpx2.AsyncClient) -> None:
    at = {"user": "ada", "session": "s"}
    await post(app_client, "/v1/turns", text="Show the log.", **at)
    answer = await app_client.post("/v1/steps", json={"tool": "cat", "output": "x" * 200_001, **at})
    assert answer.status_code == 400 and "output of step 1 has 200,001 characters" in answer.text


@pytest.mark.parametrize(("deep", "status"), [(64, 200), (65, 400), (500, 400)])
async def test_what_is_stored_can_be_shown(app_client: httpx2.AsyncClient, deep: int, status: int) -> None:
    begun = await post(app_client, "/v1/turns", text="Show the log.", user="ada")
    nested: Any = "x"
    for _ in range(deep):
        nested = [nested]
    step = {"tool": "cat", "input": nested, "output": nested, "info": {"a": nested}}
    await post(app_client, "/v1/turns/end", status, steps=[step], user="ada")
    await get(app_client, f"/v1/episodes/{begun['episode']}", user="ada")


async def test_a_session_may_have_a_slash_in_its_name(app_client: httpx2.AsyncClient) -> None:
    begun = await post(app_client, "/v1/turns", text="Rotate the logs.", user="ada", session="team/ops")
    ended = await app_client.post("/v1/sessions/team%2Fops/end", params={"user": "ada"})
    assert ended.json()["episodes"] == [begun["episode"]]


# -- skills ----------------------------------------------------------------------------------------------------------


async def test_skills_go_out_and_in_as_folders(app_client: httpx2.AsyncClient) -> None:
    ada = {"user": "ada"}
    tried = await app_client.post(
        "/v1/skill-folders", params={**ada, "dry_run": True}, content=SKILL.encode(), headers=BINARY
    )
    assert tried.status_code == 200 and (await get(app_client, "/v1/skills", **ada))["items"] == []
    added = await app_client.post("/v1/skill-folders", params=ada, content=SKILL.encode(), headers=BINARY)
    assert [s["body"]["name"] for s in added.json()["items"]] == ["boil-water"]
    out = await app_client.get("/v1/skill-folders", params={**ada, "names": "boil-water"})
    assert out.headers["content-type"] == "application/zip"
    assert "boil-water/SKILL.md" in zipfile.ZipFile(io.BytesIO(out.content)).namelist()
    again = await app_client.post(
        "/v1/skill-folders", params={"user": "bob"}, content=out.content, headers={"Content-Type": "application/zip"}
    )
    assert [s["body"]["name"] for s in again.json()["items"]] == ["boil-water"], again.text
    assert (await get(app_client, "/v1/skills/boil-water", user="bob"))["body"]["state"] == "probation"
    await get(app_client, "/v1/skills/boil-water", 404, user="carl")


async def test_a_skill_is_edited_at_the_version_that_was_seen(app_client: httpx2.AsyncClient) -> None:
    await app_client.post("/v1/skill-folders", params={"user": "ada"}, content=SKILL.encode(), headers=BINARY)
    seen = await app_client.get("/v1/skills/boil-water", params={"user": "ada"})
    change = {"user": "ada", "pitfalls": ["Steam is hot."], "procedure": [{"tool": "", "input": "Fill the kettle."}]}
    done = await app_client.patch("/v1/skills/boil-water", json=change, headers={"If-Match": seen.headers["etag"]})
    assert done.status_code == 200 and done.json()["body"]["edited"] is True, done.text
    assert done.json()["body"]["pitfalls"] == ["Steam is hot."] and done.headers["etag"] != seen.headers["etag"]
    late = await app_client.patch("/v1/skills/boil-water", json=change, headers={"If-Match": seen.headers["etag"]})
    assert late.status_code == 412
    for fault in ({"state": "active"}, {"pitfalls": "x"}, {"procedure": [{"input": "x"}]}):
        answer = await app_client.patch("/v1/skills/boil-water", json=fault)
        assert answer.status_code == 422 and next(iter(fault)) in answer.json()["error"]["message"]


async def test_a_skill_is_handed_out_and_shared(app_client: httpx2.AsyncClient) -> None:
    ada = {"user": "ada"}
    added = await app_client.post("/v1/skill-folders", params=ada, content=SKILL.encode(), headers=BINARY)
    id = added.json()["items"][0]["memory"]["id"]
    begun = await post(app_client, "/v1/turns", text="Make me a cup of tea.", session="tea", recall=False, **ada)
    await post(app_client, "/v1/skills/boil-water/use", session="tea", **ada)
    shown = await get(app_client, f"/v1/episodes/{begun['episode']}", **ada)
    assert [t["memory"] for t in shown["trials"]] == [id]
    await post(app_client, "/v1/cubes", 201, name="team", **ada)
    done = await post(app_client, f"/v1/memories/{id}/publish", to="team", **ada)
    assert done["source"] == id and done["cube"] == "team" and done["new"]
    assert (await get(app_client, "/v1/skills/boil-water", cube="team", **ada))["memory"]["id"] == done["id"]
    assert (await post(app_client, f"/v1/memories/{id}/publish", to="team", **ada))["new"] is False
    assert (await post(app_client, f"/v1/memories/{id}/unpublish", to="team", **ada)) == {"count": 1}


@pytest.mark.parametrize("content", [b"", b"\x00\x01", b"no front matter", b"PK\x03\x04 broken"])
async def test_what_is_no_skill_is_refused(app_client: httpx2.AsyncClient, content: bytes) -> None:
    answer = await app_client.post("/v1/skill-folders", content=content, headers=BINARY)
    assert answer.status_code in (400, 422), answer.text
    answer = await app_client.post("/v1/skill-folders", json={"a": 1})
    assert answer.status_code == 415


async def test_a_zip_that_leads_out_of_its_folder_is_refused(app_client: httpx2.AsyncClient) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a/SKILL.md", SKILL)
        archive.writestr("../../evil", "x")
    answer = await app_client.post("/v1/skill-folders", content=file.getvalue(), headers=BINARY)
    assert answer.status_code == 400 and answer.json()["error"]["code"] == "invalid_input"
    assert (await get(app_client, "/v1/skills"))["items"] == []
