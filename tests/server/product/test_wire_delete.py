"""Deleting over the wire: exactly what is named, only where one may, and never by accident everything."""

from __future__ import annotations

from typing import Any

import httpx2
from test_wire_add import found, idle, post, texts

from memos import AsyncMemOS

Client = httpx2.AsyncClient


async def add(client: Client, user: str, text: Any, **more: Any) -> str:
    body = {"user_id": user, "async_mode": "sync", "messages": text, **more}
    return (await post(client, "/add", body))["data"][0]["memory_id"]


async def delete(client: Client, status: int = 200, **body: Any) -> Any:
    return await post(client, "/delete_memory", body, status)


async def test_a_user_and_her_cube_alone_empty_the_cube(app_client: Client) -> None:
    await add(app_client, "u", "I live in Oslo and I like strawberry ice cream. My sister Anna works in Hamburg.")
    await add(app_client, "u", "I moved to Bergen.", session_id="s2")
    await add(app_client, "other", "I live in Paris.")
    answer = await delete(app_client, user_id="u", writable_cube_ids=["u"])
    assert answer["message"] == "Memories deleted successfully"
    assert await texts(app_client, "u") == []
    assert await found(app_client, "u", "Oslo Bergen ice cream", relativity=0) == []
    graph = await post(app_client, "/get_all", {"user_id": "u", "memory_type": "text_mem"})
    assert graph["data"][0]["memories"][0]["nodes"] == []  # names of people and places too
    assert "I live in Paris." in await texts(app_client, "other")


async def test_deleting_from_a_cube_that_was_never_used_is_a_success_and_makes_none(app_client: Client) -> None:
    answer = await delete(app_client, user_id="new", writable_cube_ids=["new"])
    assert answer["data"] == {"status": "success", "deleted": 0, "restored": []}
    assert (await post(app_client, "/exist_mem_cube_id", {"mem_cube_id": "new"}))["data"] == {"new": False}


async def test_in_a_shared_cube_a_user_deletes_her_own(app_client: Client, memos: AsyncMemOS) -> None:
    await add(app_client, "a", "The lute is Anna's.", writable_cube_ids=["team"])
    await memos.share("team", "b", "write", user="a")
    await add(app_client, "b", "The harp is Ben's.", writable_cube_ids=["team"])
    await delete(app_client, user_id="b", writable_cube_ids=["team"])
    left = await texts(app_client, "team", "a")
    assert any("lute" in text for text in left)
    assert not any("harp" in text for text in left)


async def test_by_session_and_its_other_name(app_client: Client) -> None:
    for session in ("s1", "s2", "s3"):
        await add(app_client, "u", f"The {session} boat floats.", session_id=session)
    await delete(app_client, user_id="u", session_id="s1")
    await delete(app_client, writable_cube_ids=["u"], conversation_id="s2")
    await delete(app_client, writable_cube_ids=["u"], session_id="s9", conversation_id="s9")
    assert await texts(app_client, "u") == ["The s3 boat floats."]
    await delete(app_client, 400, user_id="u", session_id="")


async def test_selectors_narrow_each_other(app_client: Client) -> None:
    for tag in ("old", "new"):
        for session in ("s1", "s2"):
            await add(app_client, "u", f"The {tag} {session} boat floats.", session_id=session, custom_tags=[tag])
    await delete(app_client, user_id="u", session_id="s1", filter={"tags": "old"})
    assert len(await texts(app_client, "u")) == 3


async def test_by_ids_the_cubes_are_found_and_unknown_ids_are_named(app_client: Client) -> None:
    one = await add(app_client, "u", "The red boat floats.", writable_cube_ids=["a"])
    two = await add(app_client, "u", "The blue boat floats.", writable_cube_ids=["b"])
    kept = await add(app_client, "u", "The green boat floats.", writable_cube_ids=["b"])
    answer = await delete(app_client, memory_ids=[one, "nope", two.upper(), one])
    assert answer["data"]["status"] == "success"
    assert answer["data"]["missing"] == ["nope"]
    assert await texts(app_client, "a") == []
    assert await texts(app_client, "b") == ["The green boat floats."]
    only_a = await delete(app_client, memory_ids=[kept], writable_cube_ids=["a"])
    assert only_a["data"]["status"] == "failure"
    assert await texts(app_client, "b") == ["The green boat floats."]
    assert (await delete(app_client, memory_ids=[kept], user_id="u"))["data"]["status"] == "success"


async def test_deleting_what_replaced_something_brings_that_back(app_client: Client) -> None:
    await add(app_client, "u", [{"role": "user", "content": "I live in Oslo.", "chat_time": "2025-01-01"}])
    later = await add(app_client, "u", [{"role": "user", "content": "I live in Bergen.", "chat_time": "2025-02-01"}])
    answer = await delete(app_client, memory_ids=[later])
    assert len(answer["data"]["restored"]) == 1
    assert "The user lives in Oslo." in await texts(app_client, "u")


async def test_by_file_ids_any_of_them(app_client: Client) -> None:
    def image(url: str) -> list[dict[str, Any]]:
        return [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": f"See {url[-5:]}"},
                    {"type": "image_url", "image_url": {"url": url}},
                ],
            }
        ]

    await add(app_client, "u", image("http://x.invalid/a.png"))
    await add(app_client, "u", image("http://x.invalid/b.png"))
    await add(app_client, "u", "A note about the file.", info={"file_id": "f-1"})
    await add(app_client, "u", "A note about no file.")
    answer = await delete(app_client, user_id="u", file_ids=["http://x.invalid/a.png", "f-1", "f-2"])
    assert answer["data"]["status"] == "success"
    assert answer["data"]["missing"] == ["f-2"]
    assert len(await texts(app_client, "u")) == 2
    assert (await delete(app_client, user_id="u", file_ids=["f-2"]))["data"]["status"] == "failure"


UNCLEAR: list[dict[str, Any]] = [
    {},
    {"memory_ids": []},
    {"file_ids": []},
    {"writable_cube_ids": ["u"]},
    {"auto_cleanup_working": True},
    {"filter": {}, "user_id": "u"},
    {"filter": {"tags": "x"}},
    {"session_id": "s"},
    {"memory_ids": ["x"], "file_ids": ["y"]},
    {"memory_ids": ["x"], "session_id": "s"},
    {"file_ids": ["x"], "filter": {"tags": "x"}},
    {"user_id": "u", "filter": {"memory": {"like": ""}}},
]


async def test_what_does_not_say_what_to_delete_deletes_nothing(app_client: Client) -> None:
    await add(app_client, "u", "The red boat floats.")
    for body in UNCLEAR:
        await delete(app_client, 400, **body)
    assert await texts(app_client, "u") == ["The red boat floats."]


async def test_one_refused_cube_keeps_the_others_whole(app_client: Client) -> None:
    await add(app_client, "u", "The red boat floats.", writable_cube_ids=["mine"])
    await add(app_client, "other", "The blue boat floats.", writable_cube_ids=["theirs"])
    await delete(app_client, 403, user_id="u", writable_cube_ids=["mine", "theirs"])
    assert await texts(app_client, "mine") == ["The red boat floats."]
    assert await texts(app_client, "theirs") == ["The blue boat floats."]


async def test_a_record_takes_what_is_there_and_recovering_brings_exactly_that_back(app_client: Client) -> None:
    await add(app_client, "u", [{"role": "user", "content": "I live in Oslo.", "chat_time": "2025-01-01"}])
    await add(app_client, "u", [{"role": "user", "content": "I live in Bergen.", "chat_time": "2025-02-01"}])
    before = sorted(await texts(app_client, "u"))
    taken = await post(
        app_client, "/delete_memory_by_record_id", {"mem_cube_id": "u", "record_id": "r1", "user_id": "u"}
    )
    assert await texts(app_client, "u") == []
    await add(app_client, "u", "A note between.")
    await post(app_client, "/delete_memory_by_record_id", {"mem_cube_id": "u", "record_id": "r2"})
    back = await post(app_client, "/recover_memory_by_record_id", {"mem_cube_id": "u", "delete_record_id": "r1"})
    assert back["data"]["memories"] == taken["data"]["memories"]
    assert sorted(await texts(app_client, "u")) == before
    assert any("[outdated]" in text for text in await found(app_client, "u", "Where do I live?", relativity=0))


async def test_what_was_not_digested_when_it_was_taken_is_digested_when_it_is_back(app_client: Client) -> None:
    await post(app_client, "/add", {"user_id": "u", "messages": "I live in Oslo."})
    await post(app_client, "/delete_memory_by_record_id", {"mem_cube_id": "u", "record_id": "r1"})
    await idle(app_client, "u")
    await post(app_client, "/recover_memory_by_record_id", {"mem_cube_id": "u", "delete_record_id": "r1"})
    await idle(app_client, "u")
    assert "The user lives in Oslo." in await texts(app_client, "u")


async def test_records_of_a_cube_that_is_not_there(app_client: Client) -> None:
    await post(app_client, "/delete_memory_by_record_id", {"mem_cube_id": "nowhere", "record_id": "r"}, 404)
    await post(app_client, "/recover_memory_by_record_id", {"mem_cube_id": "nowhere", "delete_record_id": "r"}, 404)


async def test_ids_are_the_same_in_capitals(app_client: Client, memos: AsyncMemOS) -> None:
    [id] = (await memos.add("I like tea.", user="u")).ids
    both = [id.upper(), id]
    homes = await app_client.post("/product/get_user_names_by_memory_ids", json={"memory_ids": both})
    assert homes.json()["data"] == dict.fromkeys(both, "u")
    gone = await app_client.post("/product/delete_memory", json={"memory_ids": both})
    assert gone.json()["data"] == {"status": "success", "deleted": 1, "restored": []}
