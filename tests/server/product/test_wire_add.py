"""Adding over the wire: what is answered is stored, ids stay valid, and nothing is dropped without a word."""

from __future__ import annotations

import base64
from typing import Any

import httpx2

from memos import AsyncMemOS

Client = httpx2.AsyncClient


async def post(client: Client, path: str, body: Any, status: int = 200) -> Any:
    answer = await client.post(f"/product{path}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


async def texts(client: Client, cube: str, user: str | None = None) -> list[str]:
    data = (await post(client, "/get_memory", {"mem_cube_id": cube, "user_id": user}))["data"]
    return [m["memory"] for name in data for bucket in data[name] for m in bucket["memories"]]


async def found(client: Client, user: str, query: str, **more: Any) -> list[str]:
    data = (await post(client, "/search", {"user_id": user, "query": query, **more}))["data"]
    return [m["memory"] for bucket in data["text_mem"] for m in bucket["memories"]]


async def idle(client: Client, user: str) -> None:
    answer = await client.post(f"/product/scheduler/wait?user_name={user}&timeout_seconds=30&poll_interval=0.05")
    assert answer.json()["message"] == "idle"


async def test_r001_what_an_add_names_is_stored_and_found(app_client: Client) -> None:
    body = {
        "user_id": "u_alpha",
        "async_mode": "sync",
        "messages": [{"role": "user", "content": "My kayak is teal and lives in shed 4."}],
    }
    rows = (await post(app_client, "/add", body))["data"]
    assert rows
    assert rows[0]["memory_id"]
    assert "My kayak is teal and lives in shed 4." in await texts(app_client, "u_alpha")
    assert any("kayak is teal" in text for text in await found(app_client, "u_alpha", "kayak colour"))


async def test_r003_an_id_stays_valid_when_facts_are_derived(app_client: Client) -> None:
    rows = (await post(app_client, "/add", {"user_id": "u", "messages": "I live in Oslo."}))["data"]
    id = rows[0]["memory_id"]
    before = (await app_client.get(f"/product/get_memory/{id}")).json()
    await idle(app_client, "u")
    assert (await app_client.get(f"/product/get_memory/{id}")).json()["data"]["memory"] == before["data"]["memory"]
    assert len(await texts(app_client, "u")) > 1  # facts were derived
    answer = await post(app_client, "/delete_memory", {"memory_ids": [id]})
    assert answer["data"]["status"] == "success"
    assert await texts(app_client, "u") == []  # with what was derived from it


async def test_r008_a_long_text_is_stored_whole(app_client: Client) -> None:
    filler = "The quick report went on about nothing in particular for a while. " * 30
    text = f"HEAD-11 opens it. {filler}MID-22 is between. {filler}TAIL-33 ends it."
    rows = (await post(app_client, "/add", {"user_id": "u", "messages": [{"role": "user", "content": text}]}))["data"]
    assert len(rows) > 2
    assert "".join(row["memory"] for row in rows) == text
    await idle(app_client, "u")
    for token in ("HEAD-11", "MID-22", "TAIL-33"):
        assert any(token in hit for hit in await found(app_client, "u", token)), token


async def test_r008_a_file_is_found_by_its_pieces_and_replaced_as_a_whole(app_client: Client) -> None:
    filler = "Nothing in particular is said here. " * 60
    first = {"file_id": "doc-1", "filename": "notes.txt", "file_data": f"HEAD-11 {filler} MID-22 {filler} TAIL-33"}
    item = {"type": "file", "file": first}
    rows = (await post(app_client, "/add", {"user_id": "u", "async_mode": "sync", "messages": [item]}))["data"]
    assert [row["memory_type"] for row in rows] == ["RawFileMemory"]
    for token in ("HEAD-11", "MID-22", "TAIL-33"):
        assert any(token in hit for hit in await found(app_client, "u", token, search_memory_type="RawFileMemory")), (
            token
        )
    encoded = base64.b64encode(b"A new edition: NEW-44 only.").decode()
    again = {"type": "file", "file": {**first, "file_data": f"data:text/plain;base64,{encoded}"}}
    rows_again = (await post(app_client, "/add", {"user_id": "u", "async_mode": "sync", "messages": [again]}))["data"]
    assert rows_again[0]["memory_id"] == rows[0]["memory_id"]
    assert not any("MID-22" in hit for hit in await found(app_client, "u", "MID-22"))
    assert any("NEW-44" in hit for hit in await found(app_client, "u", "NEW-44"))
    answer = await post(app_client, "/delete_memory", {"user_id": "u", "file_ids": ["doc-1"]})
    assert answer["data"]["status"] == "success"
    assert await texts(app_client, "u") == []


async def test_a_file_that_is_only_named_is_kept_by_name_with_a_notice(app_client: Client) -> None:
    answer = await post(app_client, "/add", {"user_id": "u", "doc_path": "/etc/passwd"})
    assert "root:" not in answer["data"][0]["memory"]
    assert any("kept by its name" in notice for notice in answer["notices"])


CONTENTS: list[tuple[Any, bool]] = [
    (
        [
            {"type": "text", "text": "I own a lute"},
            {"type": "image_url", "image_url": {"url": "http://x.invalid/a.png"}},
        ],
        True,
    ),
    ([{"type": "text"}], False),
    (["I own a bare lute"], True),
    ([{"type": "hologram", "x": 1}], False),
    ([{"type": "hologram", "x": 1}, {"type": "text", "text": "I own a lute"}], True),
    ([], False),
    (None, False),
]


async def test_r073_content_in_parts_never_breaks(app_client: Client) -> None:
    for n, (content, stored) in enumerate(CONTENTS):
        body = {"user_id": f"u{n}", "messages": [{"role": "user", "content": content}]}
        answer = await app_client.post("/product/add", json=body)
        assert answer.status_code == (200 if stored else 400), (content, answer.text)
        assert (await texts(app_client, f"u{n}", f"u{n}") != []) is stored, content
        if stored:
            assert "lute" in answer.json()["data"][0]["memory"]


async def test_r075_blank_content_is_refused_and_leaves_nothing(app_client: Client) -> None:
    for content in ("", " ", "\u200b", "\u3000", "\n", []):
        messages = content if content == [] else [{"role": "user", "content": content}]
        answer = await post(app_client, "/add", {"user_id": "u", "messages": messages}, 400)
        assert answer["data"] is None
        assert await texts(app_client, "u", "u") == [], repr(content)


async def test_r075_of_a_good_and_a_blank_message_the_good_one_is_kept(app_client: Client) -> None:
    messages = [{"role": "user", "content": "I own a lute."}, {"role": "user", "content": " "}]
    answer = await post(app_client, "/add", {"user_id": "u", "messages": messages})
    assert [row["memory"] for row in answer["data"]] == ["I own a lute."]
    assert any("messages[1]" in notice for notice in answer["notices"])


async def test_an_add_is_read_your_writes(app_client: Client) -> None:
    for mode in ({"async_mode": "sync"}, {"async_mode": "sync", "mode": "fast"}, {"async_mode": "async"}):
        user = f"u-{'-'.join(mode.values())}"
        await post(app_client, "/add", {"user_id": user, "messages": "The locker is number 58.", **mode})
        assert any("58" in text for text in await found(app_client, user, "locker number", relativity=0))


async def test_sync_and_fine_names_what_was_derived_and_fast_does_not(app_client: Client) -> None:
    body = {"user_id": "u", "async_mode": "sync", "messages": "I live in Oslo."}
    assert "The user lives in Oslo." in [row["memory"] for row in (await post(app_client, "/add", body))["data"]]
    fast = {"user_id": "v", "async_mode": "sync", "mode": "fast", "messages": "I live in Oslo."}
    assert [row["memory"] for row in (await post(app_client, "/add", fast))["data"]] == ["I live in Oslo."]


async def test_the_same_message_again_is_one_record_with_one_id(app_client: Client) -> None:
    body = {"user_id": "u", "messages": [{"role": "user", "content": "I own a lute.", "message_id": "m1"}]}
    ids = {(await post(app_client, "/add", body))["data"][0]["memory_id"] for _ in range(3)}
    assert len(ids) == 1


async def test_every_name_that_an_add_answers_can_be_asked_for(app_client: Client) -> None:
    body = {"user_id": "u", "messages": [{"role": "user", "content": "I own a lute.", "message_id": "m1"}]}
    for more in ({"task_id": "t-1"}, {"task_id": "t-2"}, {"task_id": "t-3", "async_mode": "sync"}):
        assert (await post(app_client, "/add", body | more))["task_id"] == more["task_id"]
        await idle(app_client, "u")
        answer = await app_client.get("/product/scheduler/status", params={"user_id": "u", "task_id": more["task_id"]})
        assert answer.status_code == 200, answer.text
        assert [(row["task_id"], row["status"]) for row in answer.json()["data"]] == [(more["task_id"], "completed")]


async def test_a_cube_that_is_named_is_made_and_owned_by_who_writes(app_client: Client, memos: AsyncMemOS) -> None:
    await post(app_client, "/add", {"user_id": "u", "writable_cube_ids": ["shared"], "messages": "I own a lute."})
    assert await memos.owner_of("shared") == "u"


async def test_when_one_cube_is_refused_nothing_is_stored_in_any(app_client: Client) -> None:
    await post(app_client, "/add", {"user_id": "other", "messages": "I am other."})
    body = {"user_id": "u", "writable_cube_ids": ["u", "other", "fresh"], "messages": "I own a lute."}
    answer = await post(app_client, "/add", body, 403)
    assert "share" in answer["message"]
    assert await texts(app_client, "other") == ["I am other."]
    exists = (await post(app_client, "/exist_mem_cube_id", {"mem_cube_id": "fresh"}))["data"]
    assert exists == {"fresh": False}


async def test_a_cube_that_may_only_be_read_is_not_written(app_client: Client, memos: AsyncMemOS) -> None:
    await post(app_client, "/add", {"user_id": "other", "messages": "I am other."})
    await memos.share("other", "u", "read", user="other")
    assert await found(app_client, "u", "other", readable_cube_ids=["other"], relativity=0)
    await post(app_client, "/add", {"user_id": "u", "writable_cube_ids": ["other"], "messages": "Mine."}, 403)
    await memos.share("other", "u", "write", user="other")
    await post(app_client, "/add", {"user_id": "u", "writable_cube_ids": ["other"], "messages": "Mine."})


async def test_when_a_cube_fails_the_answer_says_which_and_what_is_stored(
    app_client: Client, memos: AsyncMemOS
) -> None:
    for cube in ("good", "bad"):
        await post(app_client, "/create_cube", {"cube_name": cube, "owner_id": "u"})
    info = await memos.open_cube("bad", user="u")
    (memos.settings.home / "cubes" / info.location).write_bytes(b"this is no cube" * 1000)
    text = "I own a lute made of old cherry wood."
    body = {"user_id": "u", "writable_cube_ids": ["good", "bad"], "messages": text}
    answer = await app_client.post("/product/add", json=body)
    assert answer.status_code >= 500
    told = answer.json()
    assert told["code"] == answer.status_code
    assert told["failed_cube_ids"] == ["bad"]
    assert "'good'" in told["message"]
    assert [row["cube_id"] for row in told["data"]] == ["good"]
    assert text in await texts(app_client, "good")
    again = await app_client.post("/product/add", json=body | {"writable_cube_ids": ["good"]})
    assert again.json()["data"][0]["memory_id"] == told["data"][0]["memory_id"]  # sent again, stored once


async def test_chat_history_is_context_and_no_memory(app_client: Client) -> None:
    history = [{"role": "assistant", "content": "Which city do you live in?"}]
    body = {
        "user_id": "u",
        "async_mode": "sync",
        "messages": [{"role": "user", "content": "Oslo."}],
        "chat_history": history,
    }
    await post(app_client, "/add", body)
    stored = await texts(app_client, "u")
    assert "The user lives in Oslo." in stored
    assert not any("Which city" in text for text in stored)


async def test_metadata_of_the_request_can_be_filtered_by_bare_name(app_client: Client) -> None:
    await post(
        app_client, "/add", {"user_id": "u", "messages": "I own a lute.", "manager_user_id": "boss", "project_id": "p1"}
    )
    await post(
        app_client, "/add", {"user_id": "u", "messages": "I own a harp.", "project_id": "p2", "info": {"mood": "calm"}}
    )
    assert [
        "lute" in t for t in await found(app_client, "u", "lute or harp", relativity=0, filter={"project_id": "p1"})
    ] == [True]
    assert [
        "harp" in t
        for t in await found(app_client, "u", "lute or harp", relativity=0, filter={"and": [{"mood": "calm"}]})
    ] == [True]
